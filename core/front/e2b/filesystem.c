/* SPDX-License-Identifier: MIT */
/*
 * filesystem.Filesystem: Stat, ListDir, MakeDir, Move, Remove. Changes of files are
 * actions. The answer is the entry, which is examined after the action.
 */
#include "front/e2b/own.h"

#include "base/xalloc.h"

#include <stdlib.h>

enum {
    LISTING_MAX = 15 << 20, /* bytes of an answer */
    PAGE = 10000
};

struct e2b_files {
    struct e2b *f;
    struct req *req; /* NULL: the client has disconnected */
    struct sandbox_place user;
    char user_name[E2B_USER_MAX + 1];
    struct buf path, to; /* owned: paths from the root */
    struct buf out;      /* owned: entries of a listing */
    uint64_t depth;
    struct e2b_read *read; /* NULL: none runs */
    struct action_ask ask;
    e2b_done *then; /* the action's */
};

static void files_free(void *p)
{
    struct e2b_files *s = p;
    buf_release(&s->path);
    buf_release(&s->to);
    buf_release(&s->out);
    free(s);
}

static void bury(struct e2b_files *s) { loop_bury(s->f->en->loop, s, files_free); }

static void on_gone(struct req *r, void *owner)
{
    struct e2b_files *s = owner;
    (void)r;
    s->req = NULL;
    if (s->read)
        e2b_read_drop(s->read);
    action_ask_drop(&s->ask);
    bury(s);
}

static void fail(struct e2b_files *s, const char *code, const char *text)
{
    e2b_rpc_fail(s->req, code, text);
    bury(s);
}

static void refuse(struct e2b_files *s, const struct err *e)
{
    fail(s, e2b_rpc_code(e->code), e->text);
}

/*
 * Reads a request: its message, its user and its paths. Returns NULL if it was refused.
 */
static struct e2b_files *begin(struct req *r, struct json **m, const char *from,
                               const char *to)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct str path = STR(""), dest = STR("");
    engine_touch(f->en);
    if (!(*m = e2b_rpc_read(r)))
        return NULL;
    struct e2b_files *s = xnew(struct e2b_files);
    *s = (struct e2b_files){.f = f, .req = r};
    buf_init(&s->path, 8192);
    buf_init(&s->to, 8192);
    buf_init(&s->out, LISTING_MAX);
    const char *code = NULL;
    if (e2b_rpc_user(f, r, s->user_name, &s->user, &e) < 0)
        code = e.code == ERR_INVALID ? "invalid_argument" : "unauthenticated";
    else if (e2b_rpc_str(*m, from, NULL, &path, &e) < 0 ||
             (to && e2b_rpc_str(*m, to, NULL, &dest, &e) < 0) ||
             e2b_path(f, &s->user, path, &s->path, &e) < 0 ||
             (to && e2b_path(f, &s->user, dest, &s->to, &e) < 0))
        code = e2b_rpc_code(e.code);
    if (!code) {
        req_own(r, s, on_gone);
        return s;
    }
    json_free(*m);
    *m = NULL;
    files_free(s);
    e2b_rpc_fail(r, code, e.text);
    return NULL;
}

/* ---- the entry that is the answer ---- */

static void on_entry(void *owner, const struct json *facts, const struct err *e)
{
    struct e2b_files *s = owner;
    struct buf b = BUF_INIT(64 << 10);
    s->read = NULL;
    if (e->code) {
        refuse(s, e);
        return;
    }
    buf_addz(&b, "{\"entry\":");
    e2b_put_entry(&b, buf_str(&s->path), facts);
    buf_addc(&b, '}');
    e2b_rpc_answer(s->req, &b);
    bury(s);
}

static void read_there(struct e2b_files *s, e2b_done *fn)
{
    struct json *args = json_object();
    json_put_str(args, "path", buf_str(&s->path));
    json_put_bool(args, "full", true);
    s->read = e2b_read(s->f, &s->user, "stat", args, fn, s);
}

void e2b_fs_stat(struct req *r)
{
    struct json *m;
    struct e2b_files *s = begin(r, &m, "path", NULL);
    json_free(m);
    if (s)
        read_there(s, on_entry);
}

/* ---- ListDir ---- */

static void list_page(struct e2b_files *s, struct str cursor);

static void on_page(void *owner, const struct json *page, const struct err *e)
{
    struct e2b_files *s = owner;
    struct buf path = BUF_INIT(16 << 10);
    s->read = NULL;
    if (e->code) {
        refuse(s, e);
        return;
    }
    const struct json *v = json_first(json_get(page, "entries"));
    for (; v; v = json_next(v)) {
        struct str root = buf_str(&s->path);
        buf_reset(&path);
        buf_addf(&path, "%.*s/%.*s",
                 (int)(str_ends(root, STR("/")) ? root.n - 1 : root.n), root.p,
                 STR_ARG(json_str(v, "path", "")));
        buf_addz(&s->out, s->out.n ? "," : "{\"entries\":[");
        e2b_put_entry(&s->out, buf_str(&path), v);
    }
    buf_release(&path);
    struct str cursor = json_str(page, "cursor", "");
    if (buf_full(&s->out)) {
        fail(s, "resource_exhausted",
             "the listing is too long for one answer: list with a smaller depth");
    } else if (cursor.n > 0) {
        list_page(s, cursor);
    } else {
        buf_addz(&s->out, s->out.n ? "]}" : "{}");
        e2b_rpc_answer(s->req, &s->out);
        bury(s);
    }
}

static void list_page(struct e2b_files *s, struct str cursor)
{
    struct json *args = json_object();
    json_put_str(args, "path", buf_str(&s->path));
    json_put_int(args, "depth", (int64_t)s->depth);
    json_put_int(args, "limit", PAGE);
    json_put_bool(args, "full", true);
    if (cursor.n > 0)
        json_put_str(args, "cursor", cursor);
    s->read = e2b_read(s->f, &s->user, "list", args, on_page, s);
}

void e2b_fs_list(struct req *r)
{
    struct err e = ERR_INIT;
    struct json *m;
    struct e2b_files *s = begin(r, &m, "path", NULL);
    if (s && e2b_rpc_uint(m, "depth", UINT32_MAX, &s->depth, &e) < 0) {
        refuse(s, &e);
    } else if (s) {
        s->depth = s->depth ? s->depth : 1;
        list_page(s, STR(""));
    }
    json_free(m);
}

/* ---- changes ---- */

static struct json *args_of(const struct e2b_files *s)
{
    struct json *args = json_object();
    const char *user = s->user_name[0] ? s->user_name : s->f->default_user;
    if (user[0])
        json_put_z(args, "user", user);
    return args;
}

static void on_done(struct action_ask *q, const struct json *observation,
                    const struct err *e)
{
    struct e2b_files *s = container_of(q, struct e2b_files, ask);
    s->then(s, json_get(observation, "extras"), e);
}

static void act(struct e2b_files *s, const char *verb, struct json *args, e2b_done *fn)
{
    struct err e = ERR_INIT;
    s->then = fn;
    s->ask.done = on_done;
    if (e2b_act(s->f, &s->ask, verb, args, &e) < 0)
        fn(s, NULL, &e);
}

static void on_made(void *owner, const struct json *extras, const struct err *e)
{
    struct e2b_files *s = owner;
    if (e->code == ERR_EXISTS)
        fail(s, "invalid_argument", e->text);
    else if (e->code)
        refuse(s, e);
    else if (!json_bool(extras, "created", true))
        fail(s, "already_exists", "the directory already exists");
    else
        read_there(s, on_entry);
}

/* Does the action on the path of the request. */
static void change(struct req *r, const char *verb, bool recursive, e2b_done *fn)
{
    struct json *m;
    struct e2b_files *s = begin(r, &m, "path", NULL);
    json_free(m);
    if (!s)
        return;
    struct json *args = args_of(s);
    json_put_str(args, "path", buf_str(&s->path));
    if (recursive)
        json_put_bool(args, "recursive", true);
    act(s, verb, args, fn);
}

void e2b_fs_make_dir(struct req *r) { change(r, "mkdir", false, on_made); }

static void on_removed(void *owner, const struct json *extras, const struct err *e)
{
    struct e2b_files *s = owner;
    (void)extras;
    if (e->code && e->code != ERR_NOTFOUND) {
        refuse(s, e);
        return;
    }
    e2b_rpc_answer_nothing(s->req);
    bury(s);
}

void e2b_fs_remove(struct req *r) { change(r, "remove", true, on_removed); }

/* Returns false, after answering the request, if the action has failed. */
static bool acted(struct e2b_files *s, const struct err *e)
{
    if (e->code)
        refuse(s, e);
    return !e->code;
}

static void on_moved(void *owner, const struct json *extras, const struct err *e)
{
    struct e2b_files *s = owner;
    (void)extras;
    if (!acted(s, e))
        return;
    buf_reset(&s->path);
    buf_adds(&s->path, buf_str(&s->to));
    read_there(s, on_entry);
}

static void on_parent(void *owner, const struct json *extras, const struct err *e)
{
    struct e2b_files *s = owner;
    (void)extras;
    if (!acted(s, e))
        return;
    struct json *args = args_of(s);
    json_put_str(args, "from", buf_str(&s->path));
    json_put_str(args, "to", buf_str(&s->to));
    json_put_bool(args, "overwrite", true);
    act(s, "move", args, on_moved);
}

/* Makes the folders only if the source exists. */
static void on_source(void *owner, const struct json *facts, const struct err *e)
{
    struct e2b_files *s = owner;
    struct str to = buf_str(&s->to), base = e2b_base_name(to);
    (void)facts;
    s->read = NULL;
    if (e->code) {
        refuse(s, e);
        return;
    }
    struct json *args = args_of(s);
    struct str parent = str_sub(to, 0, (size_t)(base.p - to.p));
    json_put_str(args, "path", parent.n ? parent : STR("/"));
    act(s, "mkdir", args, on_parent);
}

void e2b_fs_move(struct req *r)
{
    struct json *m;
    struct e2b_files *s = begin(r, &m, "source", "destination");
    json_free(m);
    if (s)
        read_there(s, on_source);
}
