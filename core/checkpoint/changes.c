/* SPDX-License-Identifier: MIT */
/* What differs between two trees, as JSON. */
#include "base/utf8.h"
#include "base/xalloc.h"
#include "checkpoint/own.h"
#include "text/diff.h"

#include <stdlib.h>
#include <unistd.h>

enum { LINES_BYTES = 500 << 10 }; /* an answer fits an event */

struct lister {
    const struct changes_listing *q;
    const struct links *links;
    const char *root;
    struct json *lines; /* borrowed */
    size_t texts;       /* bytes of diffs */
    size_t shown;
    size_t bytes; /* of all lines, about */
    uint64_t added, removed, changed, left;
};

static int count_file(void *arg, struct str path, const struct file_node *x,
                      const struct file_node *y, struct err *e)
{
    (void)path, (void)e;
    *(uint64_t *)arg += (x ? x : y)->type != ENTRY_FOLDER;
    return 0;
}

static uint64_t files_in(struct store *s, const struct content_ref *folder)
{
    uint64_t n = 0;
    struct err e = ERR_INIT;
    struct pairs p = {.s = s, .fn = count_file, .arg = &n};
    pairs_walk(&p, folder, NULL, &e);
    return n;
}

/* Gets a file's text. Returns false if it is large, binary, or not kept. */
static bool text_of(struct lister *l, const struct file_node *x, struct buf *out)
{
    struct err e = ERR_INIT;
    if (!x)
        return true;
    return x->type == ENTRY_FILE && !gap_is_empty(x->gap) &&
           x->size <= CHECKPOINT_DIFF_FILE &&
           content_get(l->q->s, &x->content, out, &e) == 0 && utf8_valid(buf_str(out)) &&
           !(out->n && memchr(out->p, 0, out->n));
}

static void put_diff(struct lister *l, struct json *o, struct str path,
                     const struct file_node *x, const struct file_node *y)
{
    struct buf a = BUF_INIT(CHECKPOINT_DIFF_FILE + 1),
               b = BUF_INIT(CHECKPOINT_DIFF_FILE + 1);
    struct buf d = BUF_INIT(CHECKPOINT_DIFF_MAX - l->texts);
    if (text_of(l, x, &a) && text_of(l, y, &b)) {
        if (diff_unified(&d, buf_str(&a), buf_str(&b), path) == 0)
            json_put_str(o, "diff", str_n(buf_z(&d), d.n));
        l->texts += d.n;
    }
    buf_release(&a);
    buf_release(&b);
    buf_release(&d);
}

static void put_what(struct json *o, unsigned differs)
{
    static const char *const names[] = {"type", "content",    "mode", "owner",
                                        "time", "attributes", "links"};
    struct json *what = json_array();
    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (differs & 1u << i)
            json_push_str(what, str_of(names[i]));
    json_put(o, "what", what);
}

static void put_line(struct lister *l, struct str path, const struct file_node *x,
                     const struct file_node *y, unsigned differs)
{
    const struct file_node *any = y ? y : x;
    l->bytes += 2 * path.n + 300;
    if (l->shown >= l->q->limit || l->bytes > LINES_BYTES) {
        l->left++;
        return;
    }
    struct json *o = json_object();
    struct buf full = BUF_INIT(8 << 20);
    buf_addf(&full, "%s/", strcmp(l->root, "/") == 0 ? "" : l->root);
    buf_adds(&full, path);
    put_path(o, "path", buf_str(&full));
    buf_release(&full);
    json_put_z(o, "change", !x ? "added" : !y ? "removed" : "changed");
    json_put_z(o, "kind", entry_type_name(any->type));
    if (x && y)
        put_what(o, differs);
    if ((!x || !y) && any->type == ENTRY_FOLDER && !l->q->each)
        json_put_int(o, "files", (int64_t)files_in(l->q->s, &any->content));
    if (x && x->type == ENTRY_FILE && (differs & DIFFERS_CONTENT || !y))
        json_put_int(o, "size_before", (int64_t)x->size);
    if (y && y->type == ENTRY_FILE && (differs & DIFFERS_CONTENT || !x))
        json_put_int(o, "size", (int64_t)y->size);
    if (l->q->diff && any->type == ENTRY_FILE &&
        (!x || !y || differs & DIFFERS_CONTENT) && l->texts < CHECKPOINT_DIFF_MAX)
        put_diff(l, o, path, x, y);
    if (any->gap)
        json_put_z(o, "gap", gap_words(any->gap));
    json_push(l->lines, o);
    l->shown++;
}

static int on_pair(void *arg, struct str path, const struct file_node *x,
                   const struct file_node *y, struct err *e)
{
    struct lister *l = arg;
    unsigned differs = x && y ? entry_differs(x, y) : 0;
    (void)e;
    if (x && y && x->type == ENTRY_FOLDER)
        differs &= ~(unsigned)DIFFERS_TIME;
    if (x && y && !differs && x->type != ENTRY_FOLDER && !links_agree(l->links, x, y))
        differs = DIFFERS_NAMES;
    if (x && y && !differs)
        return 0;
    put_line(l, path, x, y, differs);
    l->added += !x;
    l->removed += !y;
    l->changed += x && y;
    return l->q->each || (x && y && !(differs & DIFFERS_TYPE)) ? 0 : 1;
}

/* Entries above the chosen paths are passed, not listed. */
struct filtered {
    struct lister *l;
    const struct pairs_filter *f;
};

static int on_filtered(void *arg, struct str path, const struct file_node *x,
                       const struct file_node *y, struct err *e)
{
    struct filtered *q = arg;
    if (pairs_relation(q->f, path) == PAIRS_ABOVE)
        return 0;
    return on_pair(q->l, path, x, y, e);
}

int changes_list(const struct changes_listing *q, const struct content_ref *a,
                 const struct content_ref *b, struct json *out, struct err *e)
{
    struct buf s1 = BUF_INIT(RECORD_MAX), s2 = BUF_INIT(RECORD_MAX);
    struct lister l = {.q = q, .lines = json_array()};
    json_put(out, "changes", l.lines);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < q->t->n; i++) {
        struct file_node x, y;
        struct links links = {.exact = false};
        struct pairs_filter f = {NULL, 0};
        if (q->chosen && q->chosen->any) {
            f = (struct pairs_filter){q->chosen->paths[i], q->chosen->n[i]};
            if (f.n == 0)
                continue;
        }
        struct filtered to = {&l, &f};
        struct pairs p = {.s = q->s, .filter = &f, .fn = on_filtered, .arg = &to};
        if (tree_entry(q->s, a, i, &s1, &x, e) < 0 ||
            tree_entry(q->s, b, i, &s2, &y, e) < 0) {
            rc = -1;
            break;
        }
        l.links = &links;
        l.root = q->t->path[i];
        rc = links_find(&links, q->s, &x.content, &y.content, e);
        if (rc == 0 && !content_eq(&x.content, &y.content))
            rc = pairs_walk(&p, &x.content, &y.content, e);
        links_release(&links);
    }
    buf_release(&s1);
    buf_release(&s2);
    json_put_int(out, "added", (int64_t)l.added);
    json_put_int(out, "removed", (int64_t)l.removed);
    json_put_int(out, "changed", (int64_t)l.changed);
    json_put_int(out, "more", (int64_t)l.left);
    return rc;
}

/* The tree of `to`, or of the files as they are. */
static int other_tree(const struct checkpoint_call *q, struct store *s, struct trees *t,
                      const struct json *from, struct content_ref *out,
                      struct json *result, struct err *e)
{
    int64_t to = json_int(q->args, "to", 0);
    struct scanned n = {0};
    if (to > 0) {
        struct json *record = record_read(s, to, e);
        int rc = !record || call_may(q, record, e) < 0 ? -1 : record_tree(record, out, e);
        json_free(record);
        json_put_int(result, "to", to);
        return rc;
    }
    /* By the checkpoint's patterns: files that it left out are not changes. */
    struct checkpoint_call same = *q;
    same.exclude = json_get(from, "exclude");
    store_only_read(s);
    int rc = trees_open(t, e);
    if (rc == 0)
        rc = trees_scan(&same, s, t, from,
                        json_bool(q->args, "diff", false) ? CHECKPOINT_DIFF_FILE : 0,
                        NULL, out, &n, e);
    if (n.list)
        json_put(result, "gaps", n.list);
    return rc;
}

struct json *do_changes(const struct checkpoint_call *q, struct err *e)
{
    struct store *s = call_store(q, false, e);
    struct json *from = NULL, *out = json_object();
    struct trees t = {0};
    struct chosen chosen = {0};
    struct content_ref a, b;
    int64_t id = json_int(q->args, "from", 0);
    int rc = s ? 0 : -1;
    if (rc == 0 && id > 0) {
        from = record_read(s, id, e);
    } else if (rc == 0 && (rc = trees_of_call(q, &t, e)) == 0) {
        from = trees_last(s, &t, call_uid(q));
        trees_release(&t);
        if (!from)
            err_set(e, ERR_NOTFOUND, "there is no checkpoint of this folder yet");
    }
    if (rc < 0 || !from || call_may(q, from, e) < 0 || record_tree(from, &a, e) < 0 ||
        trees_of_record(from, &t, e) < 0 ||
        chosen_of_call(q, q->args, &t, &chosen, e) < 0)
        rc = -1;
    if (rc == 0) {
        json_put_int(out, "from", json_int(from, "id", 0));
        rc = other_tree(q, s, &t, from, &b, out, e);
    }
    struct changes_listing list = {s, &t, &chosen,
                                   (size_t)json_int(q->args, "limit", CHECKPOINT_LINES),
                                   json_bool(q->args, "diff", false),
                                   json_bool(q->args, "each", false)};
    if (rc == 0)
        rc = changes_list(&list, &a, &b, out, e);
    chosen_release(&chosen);
    trees_release(&t);
    json_free(from);
    store_close(s);
    if (rc == 0)
        return out;
    json_free(out);
    return NULL;
}
