/* SPDX-License-Identifier: MIT */
#include "checkpoint/checkpoint.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/xalloc.h"
#include "checkpoint/own.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 1000 };

/* ---- calls ---- */

struct store *call_store(const struct checkpoint_call *q, bool write, struct err *e)
{
    struct store *s = store_open(q->store, write, e);
    if (s && q->user && q->user->uid != geteuid() && store_become(s, q->user, e) < 0) {
        store_close(s);
        return NULL;
    }
    return s;
}

int64_t call_uid(const struct checkpoint_call *q)
{
    return q->user ? q->user->uid : geteuid();
}

int call_may(const struct checkpoint_call *q, const struct json *record, struct err *e)
{
    int64_t uid = call_uid(q), owner = json_int(record, "uid", 0);
    return uid == 0 || uid == owner
               ? 0
               : err_set(e, ERR_DENIED, "checkpoint %lld belongs to user %lld",
                         (long long)json_int(record, "id", 0), (long long)owner);
}

/* ---- checkpoint ---- */

static struct json *dirs_of(const struct trees *t)
{
    struct json *dirs = json_array();
    for (size_t i = 0; i < t->n; i++) {
        struct buf b = BUF_INIT(2 * PATH_MAX);
        enc_base64(&b, str_of(t->path[i]));
        json_push_str(dirs, buf_str(&b));
        buf_release(&b);
    }
    return dirs;
}

struct json *record_make(const struct checkpoint_call *q, struct store *s,
                         const struct trees *t, const struct content_ref *tree,
                         const struct scanned *n, const char *why, struct err *e)
{
    int64_t id = record_next(s, e);
    if (id < 0)
        return NULL;
    struct json *r = json_object();
    json_put_int(r, "id", id);
    json_put_int(r, "time", clock_wall_ms());
    json_put(r, "dirs", dirs_of(t));
    json_put_str(r, "label", json_str(q->args, "label", ""));
    json_put_bool(r, "pinned", json_bool(q->args, "pin", false));
    json_put_z(r, "why", why);
    json_put_int(r, "action", q->action);
    json_put_z(r, "key", q->key ? q->key : "");
    json_put_int(r, "uid", call_uid(q));
    json_put_int(r, "files", (int64_t)n->files);
    json_put_int(r, "folders", (int64_t)n->folders);
    json_put_int(r, "others", (int64_t)n->others);
    json_put_int(r, "bytes", (int64_t)n->bytes);
    json_put_int(r, "read", (int64_t)n->read);
    json_put_int(r, "added", (int64_t)store_added(s));
    json_put_int(r, "gaps", (int64_t)n->gaps);
    if (q->exclude)
        json_put(r, "exclude", json_copy(q->exclude));
    record_set_tree(r, tree);
    if (record_write(s, r, strcmp(why, "rollback") == 0, e) == 0)
        return r;
    json_free(r);
    return NULL;
}

struct json *record_shown(const struct json *record)
{
    struct json *o = json_copy(record), *dirs = json_array();
    struct trees t;
    struct err e = ERR_INIT;
    static const char *const hidden[] = {"tree", "key"};
    char time[25];
    if (trees_of_record(record, &t, &e) == 0)
        for (size_t i = 0; i < t.n; i++)
            json_push_str(dirs, str_of(t.path[i]));
    trees_release(&t);
    json_put(o, "dirs", dirs);
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
        json_free(json_take(o, hidden[i]));
    clock_iso(json_int(record, "time", 0), time);
    json_put_z(o, "time", time);
    return o;
}

static void on_dropped(void *arg, int64_t id) { json_push_int(arg, id); }

/* Makes room. The store may hold twice as many packs as one sweep leaves. */
void call_tidy(const struct checkpoint_call *q, struct json *out)
{
    struct err e = ERR_INIT;
    struct store *s = store_open(q->store, true, &e);
    struct json *dropped = json_array();
    if (s && keep_within(s, q->budget, on_dropped, dropped, &e) < 0)
        json_put_z(out, "trouble", e.text);
    store_close(s);
    if (json_count(dropped) > 0)
        json_put(out, "dropped", dropped);
    else
        json_free(dropped);
}

/* Changes label or pin of a checkpoint that is there. */
static struct json *relabel(const struct checkpoint_call *q, int64_t id, struct err *e)
{
    struct store *s = call_store(q, true, e);
    struct json *r = s ? record_read(s, id, e) : NULL, *out = NULL;
    if (r && call_may(q, r, e) == 0) {
        if (json_has(q->args, "label"))
            json_put_str(r, "label", json_str(q->args, "label", ""));
        if (json_has(q->args, "pin"))
            json_put_bool(r, "pinned", json_bool(q->args, "pin", false));
        if (record_write(s, r, false, e) == 0)
            out = record_shown(r);
    }
    json_free(r);
    store_close(s);
    return out;
}

/* An automatic checkpoint of what the last one has already is that one. */
static bool is_same(const struct checkpoint_call *q, const struct json *last,
                    const struct content_ref *tree)
{
    struct content_ref was;
    struct err e = ERR_INIT;
    return q->why && last && record_tree(last, &was, &e) == 0 && content_eq(&was, tree);
}

static struct json *keep(const struct checkpoint_call *q, struct store *s,
                         struct trees *t, bool *full, struct err *e)
{
    struct json *last = trees_last(s, t, call_uid(q)), *r = NULL, *out = NULL;
    struct scanned n = {0};
    struct content_ref tree;
    struct scan_watch *watch = NULL;
    bool same = false;
    if (last && q->key && q->key[0] &&
        str_eq(json_str(last, "key", ""), str_of(q->key))) {
        /* A worker before this one made it. */
        out = record_shown(last);
    } else if (trees_scan(q, s, t, last, 0, &watch, &tree, &n, e) == 0) {
        same = is_same(q, last, &tree);
        if (same)
            r = json_copy(last);
        else if (store_commit(s, false, e) == 0)
            r = record_make(q, s, t, &tree, &n, q->why ? q->why : "request", e);
        out = r ? record_shown(r) : NULL;
    }
    watch_end(watch, out ? &tree : NULL);
    if (out) {
        json_put_bool(out, "same", same);
        json_put_int(out, "store", (int64_t)store_size(s));
        *full = q->budget && store_size(s) > q->budget;
    }
    if (out && n.list)
        json_put(out, "gap_list", n.list);
    else
        json_free(n.list);
    json_free(r);
    json_free(last);
    return out;
}

static struct json *do_checkpoint(const struct checkpoint_call *q, struct err *e)
{
    int64_t id = json_int(q->args, "id", 0), began = clock_ms();
    struct trees t = {0};
    struct json *out = NULL;
    bool full = false;
    if (id > 0)
        return relabel(q, id, e);
    struct store *s = call_store(q, true, e);
    if (s && trees_of_call(q, &t, e) == 0 && trees_open(&t, e) == 0)
        out = keep(q, s, &t, &full, e);
    full |= s && store_packs(s) > STORE_PACKS_MAX;
    store_close(s);
    trees_release(&t);
    if (out && full)
        call_tidy(q, out);
    if (out)
        json_put_int(out, "ms", clock_ms() - began);
    return out;
}

/* ---- the other verbs ---- */

struct gap_list {
    struct trees t;
    struct json *list; /* borrowed */
};

static int find_gap(void *arg, struct str path, const struct file_node *x,
                    const struct file_node *y, struct err *e)
{
    struct gap_list *g = arg;
    struct str in = path, number = str_cut(&in, '/');
    uint64_t tree;
    (void)x, (void)e;
    if (y->gap == GAP_NONE || str_to_u64(number, &tree) < 0 || tree >= g->t.n ||
        json_count(g->list) >= GAPS_SHOWN)
        return 0;
    struct json *o = json_object();
    struct buf b = BUF_INIT(8 << 20);
    buf_addf(&b, "%s/", strcmp(g->t.path[tree], "/") == 0 ? "" : g->t.path[tree]);
    buf_adds(&b, in);
    put_path(o, "path", buf_str(&b));
    json_put_z(o, "why", gap_words(y->gap));
    json_push(g->list, o);
    buf_release(&b);
    return 0;
}

/* One checkpoint, with the files that are not whole in it. */
static struct json *show_one(const struct checkpoint_call *q, int64_t id, struct err *e)
{
    struct store *s = call_store(q, false, e);
    struct json *r = s ? record_read(s, id, e) : NULL, *out = NULL;
    struct gap_list g = {.list = NULL};
    struct content_ref tree;
    if (r && call_may(q, r, e) == 0 && record_tree(r, &tree, e) == 0 &&
        trees_of_record(r, &g.t, e) == 0) {
        const struct pairs p = {.s = s, .fn = find_gap, .arg = &g};
        struct json *list = json_array();
        g.list = json_array();
        out = json_object();
        json_push(list, record_shown(r));
        json_put(out, "checkpoints", list);
        json_put_int(out, "store", (int64_t)store_size(s));
        json_put(out, "gap_list", g.list);
        if (json_int(r, "gaps", 0) > 0 && pairs_walk(&p, NULL, &tree, e) < 0) {
            json_free(out);
            out = NULL;
        }
    }
    trees_release(&g.t);
    json_free(r);
    store_close(s);
    return out;
}

static struct json *do_checkpoints(const struct checkpoint_call *q, struct err *e)
{
    if (json_int(q->args, "id", 0) > 0)
        return show_one(q, json_int(q->args, "id", 0), e);
    struct store *s = call_store(q, false, e);
    int64_t *ids, limit = json_int(q->args, "limit", 100);
    long n = s ? record_list(s, &ids, e) : -1;
    struct json *out = NULL, *list = json_array();
    for (long i = n; i-- > 0 && json_count(list) < limit;) {
        struct err damage = ERR_INIT;
        struct json *r = record_read(s, ids[i], &damage);
        if (r && call_may(q, r, &damage) == 0)
            json_push(list, record_shown(r));
        json_free(r);
    }
    if (n >= 0) {
        out = json_object();
        json_put_int(out, "store", (int64_t)store_size(s));
        json_put(out, "checkpoints", list);
        struct json *plan = rollback_plan(s);
        if (plan)
            json_put(out, "unfinished", plan);
        free(ids);
    } else {
        json_free(list);
    }
    store_close(s);
    return out;
}

static struct json *do_drop(const struct checkpoint_call *q, struct err *e)
{
    struct json *out = json_object(), *dropped = json_array();
    struct store *s = call_store(q, true, e);
    int rc = s ? 0 : -1;
    const struct json *ids = json_get(q->args, "ids");
    for (const struct json *i = json_first(ids); rc == 0 && i; i = json_next(i)) {
        int64_t id = json_int_value(i, 0);
        struct json *r = record_read(s, id, e);
        rc = r && call_may(q, r, e) == 0 ? record_remove(s, id, e) : -1;
        json_free(r);
        if (rc == 0)
            json_push_int(dropped, id);
    }
    if (json_count(dropped) > 0) {
        struct err why = ERR_INIT;
        store_close(s);
        s = store_open(q->store, true, &why);
        if (s && keep_within(s, 0, on_dropped, dropped, &why) < 0)
            json_put_z(out, "trouble", why.text);
    }
    if (s)
        json_put_int(out, "store", (int64_t)store_size(s));
    store_close(s);
    json_put(out, "dropped", dropped);
    if (rc == 0)
        return out;
    json_free(out);
    return NULL;
}

/* ---- verify ---- */

struct damage {
    struct content_sum *v; /* owned */
    size_t n;
    struct store *s;
    struct json *files; /* borrowed */
    int64_t id;
};

static void on_bad(void *arg, const struct content_sum *sum)
{
    struct damage *d = arg;
    d->v = xrealloc(d->v, d->n + 1, sizeof(*d->v));
    d->v[d->n++] = *sum;
}

static int find_damage(void *arg, const struct content_sum *sum, struct err *e)
{
    struct damage *d = arg;
    bool bad = !store_has(d->s, sum);
    for (size_t i = 0; !bad && i < d->n; i++)
        bad = sum_eq(&d->v[i], sum);
    return bad ? err_set(e, ERR_IO, "damaged") : 0;
}

static int hit(void *arg, struct str path, const struct file_node *x,
               const struct file_node *y, struct err *e)
{
    struct damage *d = arg;
    struct err why = ERR_INIT;
    (void)x, (void)e;
    if (content_names(d->s, &y->content, find_damage, d, &why) == 0)
        return 0;
    if (json_count(d->files) < LIST_MAX) {
        struct json *o = json_object();
        struct str in = path;
        str_cut(&in, '/'); /* the folder's number */
        json_put_int(o, "id", d->id);
        put_path(o, "path", in);
        json_put_z(o, "kind", entry_type_name(y->type));
        json_push(d->files, o);
    }
    return 1;
}

static struct json *do_verify(const struct checkpoint_call *q, struct err *e)
{
    struct store *s = store_open(q->store, true, e);
    struct damage d = {.s = s, .files = json_array()};
    struct json *out = json_object();
    int64_t *ids = NULL;
    json_put(out, "files", d.files);
    int64_t bad = s ? store_verify(s, on_bad, &d, e) : -1;
    long n = bad >= 0 ? record_list(s, &ids, e) : -1;
    for (long i = 0; i < n; i++) {
        struct err why = ERR_INIT;
        struct content_ref tree;
        struct pairs p = {.s = s, .fn = hit, .arg = &d};
        struct json *r = record_read(s, ids[i], &why);
        d.id = ids[i];
        if (!r || record_tree(r, &tree, &why) < 0 ||
            pairs_walk(&p, NULL, &tree, &why) < 0) {
            struct json *o = json_object();
            json_put_int(o, "id", ids[i]);
            json_put_z(o, "why", why.text);
            json_push(d.files, o);
        }
        json_free(r);
    }
    json_put_int(out, "damaged", bad);
    json_put_int(out, "checkpoints", n);
    free(ids);
    free(d.v);
    store_close(s);
    if (n >= 0)
        return out;
    json_free(out);
    return NULL;
}

struct json *checkpoint_do(const struct checkpoint_call *q, struct err *e)
{
    static const struct {
        const char *verb;
        struct json *(*fn)(const struct checkpoint_call *q, struct err *e);
    } verbs[] = {{"checkpoint", do_checkpoint},   {"checkpoints", do_checkpoints},
                 {"changes", do_changes},         {"rollback", do_rollback},
                 {"checkpoint_drop", do_drop},    {"verify", do_verify},
                 {"import", do_import},           {"contents", do_contents},
                 {"checkpoint_import", do_arrive}};
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++)
        if (strcmp(verbs[i].verb, q->verb) == 0)
            return verbs[i].fn(q, e);
    err_set(e, ERR_INTERNAL, "no verb %s", q->verb);
    return NULL;
}
