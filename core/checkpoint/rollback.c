/* SPDX-License-Identifier: MIT */
/*
 * A rollback:
 *
 *   the files as they are become a checkpoint, the "safety"
 *   the plan, rollback.json: which checkpoint, which paths
 *   the changes, each in one step
 *   the plan goes
 *
 * The changes are found by comparing, so whoever finds a plan can do it again: to the
 * checkpoint, or back to the safety.
 */
#include "base/clock.h"
#include "base/enc.h"
#include "base/xalloc.h"
#include "checkpoint/own.h"
#include "checkpoint/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

static const char plan_file[] = "rollback.json";

enum { PROBLEMS_SHOWN = 100 };

struct undo {
    const struct checkpoint_call *q;
    struct store *s;
    struct json *record; /* owned: of the checkpoint */
    struct json *plan;   /* owned */
    struct trees t;
    struct chosen chosen;
    struct content_ref now, want;
    struct holders held;
    struct json *problems; /* borrowed: in the result */
    const char *root;
    uint64_t made, removed, replaced, adjusted, failed;
};

struct json *rollback_plan(const struct store *s)
{
    struct buf b = BUF_INIT(2 * RECORD_MAX);
    store_enter(s);
    int fd = openat(store_folder(s), plan_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    store_leave(s);
    char *p = fd >= 0 ? buf_reserve(&b, RECORD_MAX) : NULL;
    ssize_t n = p ? read(fd, p, RECORD_MAX) : -1;
    struct json *j = n > 0 ? json_parse(str_n(p, (size_t)n), NULL) : NULL;
    if (fd >= 0)
        close(fd);
    buf_release(&b);
    return j;
}

static void plan_remove(const struct store *s)
{
    store_enter(s);
    unlinkat(store_folder(s), plan_file, 0);
    store_leave(s);
}

static int plan_write(struct undo *u, struct err *e)
{
    struct buf b = BUF_INIT(RECORD_MAX);
    int rc = json_print(&b, u->plan) < 0
                 ? err_set(e, ERR_LIMIT, "there are too many paths for one rollback")
                 : store_write_file(u->s, plan_file, buf_str(&b), true, e);
    buf_release(&b);
    return rc;
}

static void on_problem(void *arg, struct str path, const char *why)
{
    struct undo *u = arg;
    u->failed++;
    if (json_count(u->problems) >= PROBLEMS_SHOWN)
        return;
    struct json *o = json_object();
    struct buf b = BUF_INIT(8 << 20);
    buf_addf(&b, "%s/", strcmp(u->root, "/") == 0 ? "" : u->root);
    buf_adds(&b, path);
    put_path(o, "path", buf_str(&b));
    json_put_z(o, "why", why);
    json_push(u->problems, o);
    buf_release(&b);
}

static void on_gone(void *arg, const struct file_node *x)
{
    struct undo *u = arg;
    holders_add(&u->held, x);
}

static bool is_privileged(const struct undo *u)
{
    return geteuid() == 0 && (!u->q->user || u->q->user->uid == 0);
}

/* Restores each folder. */
static int apply(struct undo *u, struct err *e)
{
    struct buf a = BUF_INIT(RECORD_MAX), b = BUF_INIT(RECORD_MAX);
    struct str token = json_str(u->plan, "token", "");
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < u->t.n; i++) {
        struct file_node now, want;
        struct pairs_filter f = {u->chosen.paths[i], u->chosen.n[i]};
        if (u->chosen.any && f.n == 0)
            continue;
        if (tree_entry(u->s, &u->now, i, &a, &now, e) < 0 ||
            tree_entry(u->s, &u->want, i, &b, &want, e) < 0) {
            rc = -1;
            break;
        }
        struct restore r = {.s = u->s,
                            .root = u->t.fd[i],
                            .now = &now,
                            .want = &want,
                            .filter = u->chosen.any ? &f : NULL,
                            .token = token.p,
                            .privileged = is_privileged(u),
                            .problem = on_problem,
                            .gone = on_gone,
                            .arg = u};
        u->root = u->t.path[i];
        rc = restore_tree(&r, e);
        u->made += r.made, u->removed += r.removed;
        u->replaced += r.replaced, u->adjusted += r.adjusted;
    }
    buf_release(&a);
    buf_release(&b);
    return rc;
}

/* Reads the plan of a rollback that has not ended; its files in the tree go. */
static int clean_up(struct undo *u, struct err *e)
{
    struct str token = json_str(u->plan, "token", "");
    for (size_t i = 0; i < u->t.n && token.n == RESTORE_TOKEN; i++) {
        if (restore_clean(u->t.fd[i], token.p) < 0)
            return err_sys(e, errno, "cannot remove " SCAN_OURS "%s", token.p);
    }
    return 0;
}

/* Which checkpoint: that of the call, or of a plan. Sets *safety if there is one. */
static int64_t find_target(struct undo *u, int64_t *safety, struct err *e)
{
    const struct json *args = u->q->args;
    struct str unfinished = json_str(args, "unfinished", "");
    struct str key = json_str(u->plan, "key", "");
    if (u->plan && u->q->key && str_eq(key, str_of(u->q->key)))
        unfinished = STR("finish");
    if (unfinished.n == 0)
        return json_int(args, "to", 0);
    if (!u->plan)
        return err_set(e, ERR_NOTFOUND, "there is no rollback that has not ended");
    *safety = json_int(u->plan, "safety", 0);
    return str_eq(unfinished, STR("back")) ? *safety : json_int(u->plan, "to", 0);
}

static int prepare(struct undo *u, bool dry, int64_t *safety, struct err *e)
{
    u->s = call_store(u->q, !dry, e);
    if (!u->s)
        return -1;
    u->plan = rollback_plan(u->s);
    int64_t to = find_target(u, safety, e);
    if (to < 0)
        return -1;
    if (to == 0)
        return err_set(e, ERR_INVALID, "rollback needs `to`, the number of a checkpoint");
    u->record = record_read(u->s, to, e);
    if (!u->record || call_may(u->q, u->record, e) < 0 ||
        record_tree(u->record, &u->want, e) < 0 ||
        trees_of_record(u->record, &u->t, e) < 0 || trees_open(&u->t, e) < 0)
        return -1;
    /* Of a plan, they are from the root. */
    return chosen_of_call(u->q, *safety ? u->plan : u->q->args, &u->t, &u->chosen, e);
}

/* The files as they are, as a checkpoint. */
static int64_t keep_now(struct undo *u, struct json *out, struct err *e)
{
    struct json *last = trees_last(u->s, &u->t, call_uid(u->q));
    struct checkpoint_call same = *u->q;
    struct scanned n = {0};
    struct scan_watch *watch = NULL;
    struct json *record = NULL;
    same.exclude = json_get(u->record, "exclude");
    int rc = trees_scan(&same, u->s, &u->t, last, 0, &watch, &u->now, &n, e);
    json_free(last);
    if (n.list)
        json_put(out, "gaps", n.list);
    if (rc == 0 && store_commit(u->s, true, e) == 0)
        record = record_make(&same, u->s, &u->t, &u->now, &n, "rollback", e);
    watch_end(watch, record ? &u->now : NULL);
    int64_t id = record ? json_int(record, "id", 0) : -1;
    json_free(record);
    return id;
}

static int scan_now(struct undo *u, struct err *e)
{
    struct checkpoint_call same = *u->q;
    struct scanned n = {0};
    same.exclude = json_get(u->record, "exclude");
    store_only_read(u->s);
    int rc = trees_scan(&same, u->s, &u->t, u->record,
                        json_bool(u->q->args, "diff", false) ? CHECKPOINT_DIFF_FILE : 0,
                        NULL, &u->now, &n, e);
    json_free(n.list);
    return rc;
}

static void make_plan(struct undo *u, int64_t safety)
{
    char token[RESTORE_TOKEN + 1];
    struct json *p = json_object();
    struct json *paths = json_array();
    random_hex(token, RESTORE_TOKEN);
    json_put_int(p, "to", json_int(u->record, "id", 0));
    json_put_int(p, "safety", safety);
    json_put_z(p, "token", token);
    json_put_z(p, "key", u->q->key ? u->q->key : "");
    for (size_t i = 0; i < u->t.n; i++)
        for (size_t j = 0; j < u->chosen.n[i]; j++) {
            struct buf whole = BUF_INIT(8 << 20), text = BUF_INIT(16 << 20);
            buf_addf(&whole, "%s/", u->t.path[i]);
            buf_adds(&whole, u->chosen.paths[i][j]);
            enc_base64(&text, buf_str(&whole));
            json_push_str(paths, buf_str(&text));
            buf_release(&whole);
            buf_release(&text);
        }
    json_put(p, "paths_base64", paths);
    json_free(u->plan);
    u->plan = p;
}

static int run(struct undo *u, struct json *out, struct err *e)
{
    bool dry = json_bool(u->q->args, "dry_run", false);
    int64_t safety = 0;
    if (prepare(u, dry, &safety, e) < 0)
        return -1;
    json_put_int(out, "to", json_int(u->record, "id", 0));
    json_put_bool(out, "dry_run", dry);
    if (!dry && clean_up(u, e) < 0)
        return -1;
    int64_t now = dry ? scan_now(u, e) : keep_now(u, out, e);
    if (now < 0)
        return -1;
    if (!dry && !safety)
        make_plan(u, safety = now);
    struct changes_listing list = {u->s,
                                   &u->t,
                                   &u->chosen,
                                   (size_t)json_int(u->q->args, "limit",
                                                    CHECKPOINT_LINES),
                                   dry && json_bool(u->q->args, "diff", false),
                                   false};
    if (changes_list(&list, &u->now, &u->want, out, e) < 0)
        return -1;
    if (dry)
        return 0;
    json_put_int(out, "safety", safety);
    if (plan_write(u, e) < 0 || apply(u, e) < 0)
        return -1;
    plan_remove(u->s);
    return 0;
}

struct json *do_rollback(const struct checkpoint_call *q, struct err *e)
{
    struct undo u = {.q = q};
    struct json *out = json_object();
    u.problems = json_array();
    json_put(out, "problems", u.problems);
    int rc = run(&u, out, e);
    if (rc == 0 && !json_bool(out, "dry_run", false)) {
        json_put_int(out, "failed", (int64_t)u.failed);
        json_put(out, "held", holders_list(&u.held, &u.t));
    }
    if (rc < 0 && json_has(out, "safety")) {
        char why[sizeof(e->text)];
        buf_fill(why, sizeof(why), "%.300s", e->text);
        err_set(e, e->code,
                "%s; checkpoint %lld has the files as they were before: the rollback can "
                "be finished or taken back",
                why, (long long)json_int(out, "safety", 0));
    }
    holders_release(&u.held);
    chosen_release(&u.chosen);
    trees_release(&u.t);
    json_free(u.record);
    json_free(u.plan);
    store_close(u.s);
    if (rc == 0)
        return out;
    json_free(out);
    return NULL;
}
