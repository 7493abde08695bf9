/* SPDX-License-Identifier: MIT */
/*
 * WatchDir: a stream of the changes in a directory. A helper of core/file reports lines,
 * which become events here. watcher.c has watchers, which clients poll.
 *
 * Events wait in a queue of QUEUE_MAX bytes. When it is full, the newest are left out.
 * This, an overflow in the kernel and a restart of the worker are reported as a gap: a
 * member of a keepalive message, or of the answer to a poll, which clients ignore.
 */
#include "front/e2b/own.h"

#include "action/files.h"
#include "base/clock.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

enum { WATCHES_MAX = 256 };

struct e2b_watch *e2b_watch_new(struct e2b *f)
{
    struct e2b_watch *w = xnew(struct e2b_watch);
    *w = (struct e2b_watch){.f = f};
    buf_init(&w->path, 8192);
    buf_init(&w->queue, E2B_WATCH_QUEUE_MAX);
    list_add_tail(&f->watches, &w->node);
    f->nwatches++;
    return w;
}

static void watch_free(void *p)
{
    struct e2b_watch *w = p;
    buf_release(&w->path);
    buf_release(&w->queue);
    free(w);
}

void e2b_watch_forget(struct e2b_watch *w)
{
    list_del(&w->node);
    w->f->nwatches--;
    if (w->helper)
        fileact_cancel(w->helper);
    w->helper = NULL;
    loop_bury(w->f->en->loop, w, watch_free);
}

static void on_over(void *owner) { e2b_watch_forget(owner); }

/* ---- events ---- */

static const char *type_of(struct e2b_watch *w, struct str kind, struct str name)
{
    static const struct {
        const char *kind, *type;
    } all[] = {{"created", "EVENT_TYPE_CREATE"},  {"moved_to", "EVENT_TYPE_CREATE"},
               {"removed", "EVENT_TYPE_REMOVE"},  {"moved_from", "EVENT_TYPE_RENAME"},
               {"modified", "EVENT_TYPE_WRITE"},  {"written", "EVENT_TYPE_WRITE"},
               {"attributes", "EVENT_TYPE_CHMOD"}};
    /* A new file that was closed without a write has not changed. */
    bool closed = str_eq(kind, STR("written")) && str_eq(name, str_of(w->made));
    if (closed || str_eq(kind, STR("modified")))
        w->made[0] = 0;
    if (str_eq(kind, STR("created")) && name.n < sizeof(w->made)) {
        memcpy(w->made, name.p, name.n);
        w->made[name.n] = 0;
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]) && !closed; i++) {
        if (str_eq(kind, str_of(all[i].kind)))
            return all[i].type;
    }
    return NULL;
}

/* Returns why changes may be missing, for a kind that reports this; otherwise NULL. */
static const char *gap_of(struct str kind)
{
    return str_eq(kind, STR("overflow"))
               ? "there were too many changes at once, and some are not reported"
           : str_eq(kind, STR("unwatched"))
               ? "changes in some directories are not reported: the system's limit of "
                 "watches is reached, or they are not readable"
           : str_eq(kind, STR("restarted"))
               ? "the server's worker was replaced; changes at that moment may be missing"
               : NULL;
}

/* {"name", "type", "entry"?} */
static bool put_event(struct e2b_watch *w, struct buf *b, const struct json *change)
{
    struct str name = json_str(change, "path", "");
    const char *type = type_of(w, json_str(change, "kind", ""), name);
    const struct json *entry = json_get(change, "entry");
    /* Files that this server is still making (file/fileact.h) have no event. */
    if (!type || str_eq(name, STR(".")) || str_starts(e2b_base_name(name), STR(".od-")))
        return false;
    buf_addz(b, "{\"name\":");
    json_quote(b, name);
    buf_addf(b, ",\"type\":\"%s\"", type);
    if (entry && w->entries) {
        buf_addz(b, ",\"entry\":");
        e2b_put_entry(b, json_str(entry, "path", ""), entry);
    }
    buf_addz(b, "}\n");
    return true;
}

static void add(struct e2b_watch *w, const struct json *change)
{
    struct buf b = BUF_INIT(E2B_RPC_EVENT_MAX);
    const char *gap = gap_of(json_str(change, "kind", ""));
    if (gap)
        w->gap = gap;
    if (put_event(w, &b, change)) {
        if (!buf_full(&b) && b.n <= buf_room(&w->queue))
            buf_adds(&w->queue, buf_str(&b));
        else
            w->gap = "too many changes wait to be read, and later ones are not reported";
    }
    buf_release(&b);
}

void e2b_watch_put_gap(struct buf *b, const struct e2b_watch *w)
{
    buf_addz(b, "\"gap\":{\"message\":");
    json_quote(b, str_of(w->gap));
    buf_addc(b, '}');
}

static void send_gap(struct e2b_watch *w)
{
    struct buf b = BUF_INIT(512);
    buf_addz(&b, "{\"keepalive\":{},");
    e2b_watch_put_gap(&b, w);
    buf_addc(&b, '}');
    w->gap = NULL;
    e2b_rpc_stream_send(&w->out, buf_str(&b));
    buf_release(&b);
}

static void flush(struct e2b_watch *w)
{
    while (w->queue.n > 0 && e2b_rpc_stream_room(&w->out)) {
        struct buf b = BUF_INIT(E2B_RPC_EVENT_MAX + 64);
        struct str rest = buf_str(&w->queue), line = str_cut(&rest, '\n');
        size_t used = w->queue.n - rest.n;
        buf_addf(&b, "{\"filesystem\":%.*s}", STR_ARG(line));
        buf_consume(&w->queue, used);
        e2b_rpc_stream_send(&w->out, buf_str(&b));
        buf_release(&b);
    }
    if (w->queue.n == 0 && w->gap && e2b_rpc_stream_room(&w->out))
        send_gap(w);
    if (w->queue.n == 0 && !w->gap && !w->helper && w->out.req)
        e2b_rpc_stream_end(&w->out, NULL, NULL);
}

static void on_room(void *owner) { flush(owner); }

/* ---- the helper ---- */

/* The helper's first line reports that the directory is watched. */
static size_t on_lines(void *arg, struct str bytes)
{
    struct e2b_watch *w = arg;
    struct str rest = bytes;
    if (!w->begun && !w->id[0])
        e2b_rpc_stream_send(&w->out, STR("{\"start\":{}}"));
    w->begun = true;
    while (rest.n > 0) {
        struct json *change = json_parse(str_cut(&rest, '\n'), NULL);
        add(w, change);
        json_free(change);
    }
    if (w->id[0])
        e2b_watcher_changed(w);
    else
        flush(w);
    return bytes.n;
}

static void on_done(void *arg, struct str result, const struct err *e)
{
    struct e2b_watch *w = arg;
    (void)result;
    w->helper = NULL;
    if (w->id[0])
        e2b_watcher_ended(w, e);
    else if (e->code)
        e2b_rpc_stream_end(&w->out, e2b_rpc_code(e->code), e->text);
    else
        flush(w);
}

int e2b_watch_start(struct e2b_watch *w, bool again, struct err *e)
{
    static const struct fileact_events events = {.data = on_lines, .done = on_done};
    char token[33];
    struct json *args = json_object();
    json_put_str(args, "path", buf_str(&w->path));
    json_put_bool(args, "recursive", w->recursive);
    json_put_bool(args, "full", w->entries);
    random_hex(token, 32);
    struct files_ask q = {.verb = "watch",
                          .args = args,
                          .place = &w->user,
                          .token = token,
                          .resumed = again};
    int rc = fileact_check("watch", args, false, false, e);
    if (rc == 0)
        rc = files_start(w->f->actions, &q, &events, w, &w->helper, e);
    json_free(args);
    return rc;
}

/* ---- beginning ---- */

/* Whether the file system does not report changes by other machines (the magic numbers
 * are those of statfs(2)). */
static bool is_network(const char *path)
{
    static const unsigned long types[] = {0x6969 /* NFS */,
                                          0x517b /* SMB */,
                                          0xff534d42 /* CIFS */,
                                          0xfe534d42 /* SMB2 */,
                                          0x65735546 /* FUSE */,
                                          0xc36400 /* Ceph */,
                                          0x5346414f /* AFS */};
    struct statfs s;
    if (statfs(path, &s) < 0)
        return false;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if ((unsigned long)s.f_type == types[i])
            return true;
    }
    return false;
}

/*
 * Checks that path is a directory before the helper starts, which would also watch a
 * file.
 */
static int check_folder(const char *path, bool mounts, struct err *e)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return err_sys(e, errno, "cannot watch %.200s", path);
    if (!S_ISDIR(st.st_mode))
        return err_set(e, ERR_INVALID, "cannot watch %.200s: it is not a directory",
                       path);
    if (!mounts && is_network(path))
        return err_set(e, ERR_INVALID,
                       "cannot watch %.200s: it is on a network file system, which does "
                       "not report all changes; ask with allowNetworkMounts",
                       path);
    return 0;
}

/* Reads the message and starts the helper. Returns -1 and sets *code and *e. */
static int begin(struct e2b_watch *w, const struct req *r, const struct json *m,
                 const char **code, struct err *e)
{
    struct str path = STR("");
    bool mounts = false;
    if (e2b_rpc_user(w->f, r, w->user_name, &w->user, e) < 0) {
        *code = e->code == ERR_INVALID ? "invalid_argument" : "unauthenticated";
        return -1;
    }
    if (!w->user_name[0])
        snprintf(w->user_name, sizeof(w->user_name), "%s", w->f->default_user);
    if (e2b_rpc_str(m, "path", NULL, &path, e) == 0 &&
        e2b_rpc_bool(m, "recursive", NULL, &w->recursive, e) == 0 &&
        e2b_rpc_bool(m, "includeEntry", "include_entry", &w->entries, e) == 0 &&
        e2b_rpc_bool(m, "allowNetworkMounts", "allow_network_mounts", &mounts, e) == 0 &&
        e2b_path(w->f, &w->user, path, &w->path, e) == 0 &&
        check_folder(buf_z(&w->path), mounts, e) == 0 && w->f->nwatches > WATCHES_MAX)
        err_set(e, ERR_LIMIT, "%d directories are watched already", WATCHES_MAX);
    if (!e->code && e2b_watch_start(w, false, e) == 0)
        return 0;
    *code = e2b_rpc_code(e->code);
    return -1;
}

struct e2b_watch *e2b_watch_open(struct req *r, bool stream)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    const char *code;
    struct json *m = stream ? e2b_rpc_stream_read(r) : e2b_rpc_read(r);
    engine_touch(f->en);
    if (!m)
        return NULL;
    struct e2b_watch *w = e2b_watch_new(f);
    int rc = begin(w, r, m, &code, &e);
    json_free(m);
    if (rc == 0)
        return w;
    e2b_watch_forget(w);
    if (stream)
        e2b_rpc_stream_refuse(r, code, e.text);
    else
        e2b_rpc_fail(r, code, e.text);
    return NULL;
}

void e2b_fs_watch_dir(struct req *r)
{
    struct e2b_watch *w = e2b_watch_open(r, true);
    if (!w)
        return;
    w->out = (struct e2b_rpc_stream){.loop = w->f->en->loop,
                                     .owner = w,
                                     .room = on_room,
                                     .over = on_over,
                                     .keep_ms = e2b_rpc_keepalive(r),
                                     .keepalive = "{\"keepalive\":{}}"};
    e2b_rpc_stream_begin(&w->out, r);
}

void e2b_watches_close(struct e2b *f)
{
    struct list *it, *tmp;
    list_each (it, tmp, &f->watches) {
        struct e2b_watch *w = list_entry(it, struct e2b_watch, node);
        if (!w->id[0])
            e2b_rpc_stream_end(&w->out, "unavailable",
                               "the server ends or is replaced; watch again");
    }
}
