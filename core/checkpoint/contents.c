/* SPDX-License-Identifier: MIT */
/*
 * From one store to another: a checkpoint's contents that are missing there, and then its
 * record. Contents are records of packs, one after another; one without bytes asks
 * whether it is there. What has arrived stays when the sender is cut off, and is not sent
 * again; nothing is swept within an hour of it (keep.c). A checkpoint appears when the
 * store has all of it.
 */
#include "base/enc.h"
#include "checkpoint/own.h"

#include <unistd.h>

enum {
    QUESTIONS = 8192,      /* contents that are asked for at once */
    BATCH = 4 << 20,       /* bytes of contents that are sent at once */
    ENTRIES_MAX = 20000000 /* of a checkpoint that arrives */
};

/* ---- there ---- */

struct json *do_contents(const struct checkpoint_call *q, struct err *e)
{
    struct store *s = store_open(q->store, true, e);
    struct json *out = json_object(), *missing = json_array();
    struct str rest = q->bytes;
    struct content_sum sum;
    int64_t taken = 0;
    int rc = s ? 1 : -1;
    json_put(out, "missing", missing);
    if (s && q->budget && store_size(s) / 2 > q->budget)
        rc = err_set(e, ERR_LIMIT, "the store has twice its budget: drop checkpoints");
    while (rc > 0 && (rc = packed_take(s, &rest, &sum, e)) > 0) {
        taken += rc == 1;
        if (rc == 3 && json_count(missing) == QUESTIONS)
            rc = err_set(e, ERR_LIMIT, "ask for %d contents at once", QUESTIONS);
        if (rc == 3) {
            struct buf hex = BUF_INIT(2 * SUM_SIZE);
            enc_hex(&hex, str_n(sum.b, SUM_SIZE));
            json_push_str(missing, buf_str(&hex));
            buf_release(&hex);
        }
    }
    /* Those before a bad one stay, too. */
    struct err why = ERR_INIT;
    if (taken > 0 && (store_write_file(s, STORE_ARRIVING, STR(""), false, &why) < 0 ||
                      store_commit(s, false, &why) < 0)) {
        rc = -1;
        *e = why;
    }
    json_put_int(out, "taken", taken);
    store_close(s);
    if (rc == 0)
        return out;
    json_free(out);
    return NULL;
}

struct arrived {
    struct store *s;
    size_t trees, entries;
    struct scanned n;
};

static int is_there(void *arg, const struct content_sum *sum, struct err *e)
{
    return store_has(arg, sum)
               ? 0
               : err_set(e, ERR_NOTFOUND, "a content of the checkpoint is missing");
}

static int on_arrived(void *arg, struct str path, const struct file_node *none,
                      const struct file_node *y, struct err *e)
{
    struct arrived *a = arg;
    bool folder = y->type == ENTRY_FOLDER;
    char name[16];
    (void)none;
    if (str_chr(path, '/') < 0) {
        buf_fill(name, sizeof(name), "%zu", 10 + a->trees++);
        if (!folder || !str_eq(path, str_of(name)))
            return err_set(e, ERR_INVALID, "the tree has something other than folders");
    }
    size_t depth = 0;
    for (size_t i = 0; i < path.n; i++)
        depth += path.p[i] == '/';
    if (++a->entries > ENTRIES_MAX || depth > LEVELS_MAX)
        return err_set(e, ERR_LIMIT, "the checkpoint has too many files, or levels");
    a->n.files += y->type == ENTRY_FILE;
    a->n.folders += folder;
    a->n.others += y->type != ENTRY_FILE && !folder;
    a->n.gaps += y->gap != GAP_NONE;
    a->n.bytes += y->size;
    return content_names(a->s, &y->content, is_there, a->s, e);
}

/* A sender that was cut off before the answer sends the same again. */
static struct json *last_same(struct store *s, const struct trees *t, int64_t uid,
                              const struct content_ref *tree)
{
    struct json *last = trees_last(s, t, uid);
    struct content_ref was;
    struct err e = ERR_INIT;
    if (last && str_eq(json_str(last, "why", ""), STR("import")) &&
        record_tree(last, &was, &e) == 0 && content_eq(&was, tree))
        return last;
    json_free(last);
    return NULL;
}

struct json *do_arrive(const struct checkpoint_call *q, struct err *e)
{
    struct store *s = call_store(q, true, e);
    struct arrived a = {.s = s};
    struct pairs p = {.s = s, .fn = on_arrived, .arg = &a};
    struct json *dirs = json_object(), *r = NULL, *out = NULL;
    const struct json *given = json_get(q->args, "dirs_base64");
    struct trees t = {0};
    struct content_ref tree;
    bool same = false;
    json_put(dirs, "dirs", given ? json_copy(given) : json_array());
    if (s && record_tree(q->args, &tree, e) == 0 && trees_of_record(dirs, &t, e) == 0 &&
        content_names(s, &tree, is_there, s, e) == 0 &&
        pairs_walk(&p, NULL, &tree, e) == 0) {
        if (a.trees != t.n || a.trees == 0)
            err_set(e, ERR_INVALID, "the tree has %zu folders, dirs_base64 has %zu",
                    a.trees, t.n);
        else
            r = last_same(s, &t, call_uid(q), &tree);
        same = r != NULL;
        if (!same && !e->code)
            r = record_make(q, s, &t, &tree, &a.n, "import", e);
    }
    if (r) {
        out = record_shown(r);
        json_put_bool(out, "same", same);
        store_enter(s);
        unlinkat(store_folder(s), STORE_ARRIVING, 0);
        store_leave(s);
    }
    bool full = s && q->budget && store_size(s) > q->budget;
    json_free(r);
    json_free(dirs);
    trees_release(&t);
    store_close(s);
    if (out && full)
        call_tidy(q, out);
    return out;
}

/* ---- here ---- */

struct contents_sending {
    struct store *s;
    const struct checkpoint_peer *peer;
    struct buf ask, data;
    size_t questions;
    bool fresh;
};

/* Sends bytes, and gets the contents that are missing for the next time. */
static int tell(struct contents_sending *x, struct buf *bytes, struct err *e)
{
    struct json *answer = x->peer->ask(x->peer->arg, "/checkpoints/contents",
                                       buf_str(bytes), e);
    const struct json *i = json_first(json_get(answer, "missing"));
    int rc = answer ? 0 : -1;
    buf_reset(bytes);
    for (; rc == 0 && i; i = json_next(i)) {
        struct content_sum sum;
        if (sum_parse(json_str_value(i, ""), &sum) < 0)
            rc = err_set(e, ERR_INVALID, "the server's answer is not that of od");
        else
            rc = packed_get(x->s, &sum, &x->data, e);
        if (rc == 0 && x->data.n >= BATCH)
            rc = tell(x, &x->data, e);
    }
    json_free(answer);
    return rc;
}

static int ask_for(void *arg, const struct content_sum *sum, struct err *e)
{
    struct contents_sending *x = arg;
    uint64_t bytes = 0;
    int is = store_mark(x->s, sum, &bytes);
    if (is < 0)
        return err_set(e, ERR_NOTFOUND, "a content is missing from the store");
    if (is == 0)
        return 0;
    x->fresh = true;
    packed_ask(&x->ask, sum);
    if (++x->questions < QUESTIONS)
        return 0;
    x->questions = 0;
    return tell(x, &x->ask, e);
}

/* A folder whose manifest was asked for before has nothing new in it. */
static int on_entry(void *arg, struct str path, const struct file_node *none,
                    const struct file_node *y, struct err *e)
{
    struct contents_sending *x = arg;
    (void)path, (void)none;
    x->fresh = false;
    if (content_names(x->s, &y->content, ask_for, x, e) < 0)
        return -1;
    return x->fresh ? 0 : 1;
}

static int send_all(struct contents_sending *x, const struct content_ref *tree,
                    struct err *e)
{
    const struct pairs p = {.s = x->s, .fn = on_entry, .arg = x};
    if (content_names(x->s, tree, ask_for, x, e) < 0 ||
        pairs_walk(&p, NULL, tree, e) < 0 || (x->ask.n && tell(x, &x->ask, e) < 0))
        return -1;
    return x->data.n ? tell(x, &x->data, e) : 0;
}

static struct json *send_record(const struct contents_sending *x,
                                const struct json *record, const char *label,
                                struct err *e)
{
    struct buf b = BUF_INIT(RECORD_MAX);
    struct json *args = json_object(), *out = NULL;
    json_put_str(args, "tree", json_str(record, "tree", ""));
    json_put(args, "dirs_base64", json_copy(json_get(record, "dirs")));
    json_put_str(args, "label", json_str(record, "label", ""));
    if (label)
        json_put_z(args, "label", label);
    if (json_print(&b, args) == 0)
        out = x->peer->ask(x->peer->arg, "/checkpoints/import", buf_str(&b), e);
    buf_release(&b);
    json_free(args);
    return out;
}

struct json *checkpoint_send(const struct checkpoint_call *q, int64_t id,
                             const struct checkpoint_peer *peer, struct err *e)
{
    struct contents_sending x = {.s = call_store(q, false, e),
                                 .peer = peer,
                                 .ask = BUF_INIT(QUESTIONS * 64),
                                 .data = BUF_INIT(CHECKPOINT_CONTENTS)};
    struct json *r = x.s ? record_read(x.s, id, e) : NULL, *out = NULL;
    struct content_ref tree;
    if (r && call_may(q, r, e) == 0 && record_tree(r, &tree, e) == 0 &&
        send_all(&x, &tree, e) == 0)
        out = send_record(
            &x, r, json_has(q->args, "label") ? json_str(q->args, "label", "").p : NULL,
            e);
    json_free(r);
    buf_release(&x.ask);
    buf_release(&x.data);
    store_close(x.s);
    return out;
}
