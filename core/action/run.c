/* SPDX-License-Identifier: MIT */
/*
 * Commands of sessions as actions.
 *
 * An action never holds output: its observation has the first 16 KiB and the last 48 KiB,
 * read from the spool at the end, and the offsets of the whole. The session reports the
 * end of each command (session_watch), whether or not a caller waits for it:
 *
 *   of od exec (outside.h): the front-end gives its caller's op to the session, with its
 *     time limits and its output. The op's id is the id of the request, and the client_id
 *     is "exec:" and that id. The session runs its commands in turn, and knows the ids of
 *     the last 16 that ended. After a restart of the worker
 *       a command that the session knows is followed, or observed at once if it ended;
 *       an unknown command never began. It is run once, from its line in the log. If the
 *       line is incomplete (--env, standard input, a secret), it waits for its caller;
 *       the op of a caller that comes back attaches to the command.
 *   of a program, with `until`: the op is our own, and its end makes the observation. If
 *     the command goes on after that, it is in the background until the event `ended`.
 */
#include "action/run.h"

#include "action/outside_own.h"
#include "action/background.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "shell/spool.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- output in observations ---- */

/* Returns how many bytes from `before` on belong to a secret that begins before it. */
static size_t secret_over(const struct actions *all, struct str text, size_t before)
{
    size_t end = before;
    for (unsigned i = 0; i < all->nsecrets; i++) {
        struct str secret = all->plain[i];
        size_t from = before > secret.n ? before - secret.n + 1 : 0;
        for (size_t at = from; at < before && at + secret.n <= text.n; at++) {
            if (memcmp(text.p + at, secret.p, secret.n) == 0 && at + secret.n > end)
                end = at + secret.n;
        }
    }
    return end - before;
}

static void put_ranges(struct json *j, const char *name, const struct spool_range *v,
                       unsigned n)
{
    struct json *list = json_array();
    for (unsigned i = 0; i < n; i++) {
        struct json *one = json_array();
        json_push_int(one, (int64_t)v[i].from);
        json_push_int(one, (int64_t)v[i].to);
        json_push(list, one);
    }
    json_put(j, name, list);
}

/* Cuts an excerpt at its ends so that no character and no secret is split. */
static void put_excerpt(const struct actions *all, const struct spool_excerpt *x,
                        size_t before, struct buf *text, struct json *extras)
{
    struct spool_range left = x->left_out;
    struct str head = buf_str(&x->head);
    if (left.to == 0) {
        buf_adds(text, head);
    } else {
        size_t n = utf8_cut(head, head.n);
        n -= actions_secret_tail(all, str_sub(head, 0, n));
        struct str tail = buf_str(&x->tail);
        size_t skip = before < tail.n ? before : tail.n;
        skip += secret_over(all, tail, skip);
        for (int i = 0; i < 3 && skip < tail.n && (tail.p[skip] & 0xc0) == 0x80; i++)
            skip++;
        left.from -= head.n - n;
        left.to += skip;
        buf_adds(text, str_sub(head, 0, n));
        buf_addf(text, "\n[... %llu bytes left out ...]\n",
                 (unsigned long long)(left.to - left.from));
        buf_adds(text, str_sub(tail, skip, tail.n));
        put_ranges(extras, "left_out", &left, 1);
    }
    if (x->ngone)
        put_ranges(extras, "gone", x->gone, x->ngone);
}

static size_t longest_secret(const struct actions *all)
{
    size_t n = 1;
    for (unsigned i = 0; i < all->nsecrets; i++)
        n = all->plain[i].n > n ? all->plain[i].n : n;
    return n;
}

void run_put_stream(const struct actions *all, int fd, const struct keep_stream *s,
                    uint64_t from, uint64_t to, struct buf *text, struct json *extras)
{
    struct spool_excerpt x;
    /* A little more, to recognize a secret that the beginning of the tail cuts. */
    size_t before = longest_secret(all) - 1;
    spool_excerpt(fd, s, from, to, RUN_HEAD, RUN_TAIL + before, &x);
    put_excerpt(all, &x, before, text, extras);
    spool_excerpt_release(&x);
}

void run_put_output(const struct actions *all, const char *session, uint64_t from,
                    uint64_t to, struct buf *text, struct json *extras)
{
    struct session *s = session_find(all->en, str_of(session));
    struct session_view v = {0};
    struct spool_range all_of_it = {from, to};
    if (to <= from)
        return;
    if (s)
        session_view(s, &v);
    if (v.stream)
        run_put_stream(all, v.fd, v.stream, from, to, text, extras);
    else /* the session is gone, and its output with it */
        put_ranges(extras, "gone", &all_of_it, 1);
}

void run_put_end(struct json *extras, int64_t duration_ms, int signo, bool shell_ended)
{
    json_put_int(extras, "duration_ms", duration_ms);
    if (signo)
        json_put_int(extras, "signal", signo);
    if (shell_ended)
        json_put_bool(extras, "shell_ended", true);
}

/* ---- of od exec ---- */

static struct action *by_command(const struct actions *all, const char *session,
                                 const char *id)
{
    for (struct action *a = NULL; id[0] && (a = actions_next(all, a));) {
        if (a->source && strcmp(a->source, ACTION_SOURCE_EXEC) == 0 &&
            strcmp(a->command, id) == 0 && strcmp(a->session, session) == 0)
            return a;
    }
    return NULL;
}

void run_result(struct outside *x, struct action_result *r)
{
    const struct command_seen *c = &x->seen;
    if (!x->extras) {
        x->extras = json_object();
        run_put_output(x->a->all, x->a->session, c->from, c->to, &x->text, x->extras);
    }
    run_put_end(x->extras, c->duration_ms, c->signo, c->shell_ended);
    r->has_output = true;
    r->from = c->from;
    r->to = c->to;
}

/* Ends x, whose command has ended. Reads the output now if the session may end, too. */
static void finish(struct outside *x, const struct command_seen *c)
{
    struct action *a = x->a;
    if (x->ending)
        return;
    if (c->failed) {
        outside_fail(a, c->failed);
        return;
    }
    struct json *extras = NULL;
    x->ended = true;
    x->seen = *c;
    if (c->shell_ended) {
        extras = json_object();
        run_put_output(a->all, a->session, c->from, c->to, &x->text, extras);
    }
    outside_end(a, STR(""), extras);
}

void run_begins(struct action *a, const char *id)
{
    struct outside *x = a->own;
    buf_fill(a->command, sizeof(a->command), "%s", id);
    timer_stop(&x->back);
    if (x->op) { /* our own op is not needed: the caller's op takes its place */
        op_drop(x->op);
        x->op = NULL;
    }
}

static bool goes_on(const struct action *a)
{
    struct command_seen seen;
    struct session *s = session_find(a->all->en, str_of(a->session));
    return s && (session_command(s, a->command, &seen) || session_queued(s, a->command));
}

void run_left(struct actions *all, const char *key, const struct err *e)
{
    struct action *a = outside_find(all, key);
    struct err left = ERR_INIT;
    struct outside *x = a ? a->own : NULL;
    if (!x || x->ending || strcmp(a->kind->name, "run") != 0 || goes_on(a))
        return;
    err_set(&left, ERR_CANCELLED, "The caller left before the command began");
    outside_fail(a, e && e->code ? e : &left);
}

bool run_cancel(struct action *a)
{
    struct session *s = session_find(a->all->en, str_of(a->session));
    if (!s || !session_running(s, a->command))
        return false;
    session_kill(s, SIGTERM, LIMIT_GRACE_MS, false, NULL, NULL);
    return true;
}

/* ---- after a restart ---- */

static void on_done(struct op *op)
{
    struct outside *x = op->owner;
    struct action *a = x->a;
    x->op = NULL;
    if (op->r.state == OP_FAILED && !x->ending && !goes_on(a))
        outside_fail(a, &op->r.err);
}

static const struct op_sink sink = {.done = on_done};

/* Does the log have all that is needed to run the command? */
static bool from_log(const struct action *a, bool whole)
{
    bool made = session_find(a->all->en, str_of(a->session)) != NULL;
    return whole && json_is_string(json_get(a->args, "command")) &&
           !json_bool(a->args, "stdin", false) && (made || !json_has(a->args, "env")) &&
           sandbox_ready(a->all->en->sandbox);
}

static void run_once(struct outside *x)
{
    struct action *a = x->a;
    struct engine *en = a->all->en;
    struct err e = ERR_INIT;
    struct session_opts o = {.cwd = json_str(a->args, "cwd", ""),
                             .user = json_str(a->args, "user", ""),
                             .shell = json_str(a->args, "shell", ""),
                             .rows = (int)json_int(a->args, "rows", 0),
                             .cols = (int)json_int(a->args, "cols", 0)};
    struct session *s = session_get(en, str_of(a->session), &o, &e);
    struct str parent = json_str(a->args, "parent", "");
    if (!s) {
        outside_fail(a, &e);
        return;
    }
    struct op *op = op_new(OP_RUN, &sink, x);
    memcpy(op->id, a->command, sizeof(op->id));
    if (parent.n <= LIMIT_ID)
        memcpy(op->parent, parent.p, parent.n);
    op->detach = true;
    buf_adds(&op->command, json_str(a->args, "command", ""));
    x->op = op;
    session_run(s, op);
}

void run_resume(struct action *a, bool new_server, bool whole)
{
    struct outside *x = a->own;
    struct session *s = session_find(a->all->en, str_of(a->session));
    struct command_seen c;
    if (s && session_command(s, a->command, &c)) {
        if (c.ended)
            finish(x, &c);
        else if (c.began)
            action_running(a, a->session, a->command, c.from);
    } else if (new_server) {
        struct err e = ERR_INIT;
        err_set(&e, ERR_GONE,
                "The server ended before this command did; how much of it "
                "was done cannot be known");
        outside_fail(a, &e);
    } else if (from_log(a, whole)) {
        run_once(x);
    } else {
        outside_await(a);
    }
}

/* ---- every command ---- */

static void on_began(void *arg, const struct command_seen *c)
{
    struct action *a = by_command(arg, session_name(c->session), c->id);
    if (a)
        action_running(a, session_name(c->session), c->id, c->from);
}

static void on_ended(void *arg, const struct command_seen *c)
{
    struct action *a = by_command(arg, session_name(c->session), c->id);
    if (a && a->own)
        finish(a->own, c);
    background_ended(arg, c);
}

void run_watch(struct actions *all)
{
    all->watch = (struct session_watch){on_began, on_ended, all};
    session_watch(all->en, &all->watch);
}
