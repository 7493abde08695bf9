/* SPDX-License-Identifier: MIT */
/*
 * od://session/NAME/screen: what a user who is attached to the session sees, that is its
 * last lines as text, or the screen of a full-screen program.
 */
#include "front/mcp/own.h"

#include "base/xalloc.h"
#include "front/mcp/tools/output.h"
#include "http/http.h"
#include "shell/session.h"
#include "shell/spool.h"
#include "term/term.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ROWS = 50, /* of the terminals of sessions */
    COLS = 200,
    LAST = 256 << 10,   /* bytes of a session that go through the model of a terminal */
    TEXT_MAX = 64 << 10 /* of the resulting text */
};

static const char prefix[] = "od://session/";

/* A screen that is being read; `own` of a request. */
struct screen_reading {
    struct mcp_pending *p;
    struct output_showing *showing; /* of the running command; NULL: not used */
    struct op *op;                  /* of the session; NULL: not used */
    char session[ACTION_SESSION_MAX + 1];
};

static void stop(struct mcp_pending *p)
{
    struct screen_reading *r = p->own;
    output_show_stop(r->showing);
    if (r->op)
        op_drop(r->op);
    free(r);
}

static void answer(struct screen_reading *r, struct str text)
{
    struct mcp_pending *p = r->p;
    free(r);
    mcp_pending_result(p, mcp_contents(p->revision, str_of(p->uri), "text/plain", text,
                                       NULL));
}

static void fail(struct screen_reading *r, const struct err *e)
{
    struct mcp_pending *p = r->p;
    free(r);
    mcp_pending_fail(p, e);
}

/* ---- lines of the session ---- */

/* A screen has no note about what scrolled off. */
static void on_cut(struct buf *out, const struct term_text *info, void *arg)
{
    (void)out;
    (void)info;
    (void)arg;
}

static void on_done(struct op *op)
{
    struct screen_reading *r = op->owner;
    struct buf text = BUF_INIT(2 * TEXT_MAX);
    if (op->r.state == OP_FAILED) {
        fail(r, &op->r.err);
        return;
    }
    term_text(op->term, &text, NULL, on_cut, NULL);
    answer(r, buf_str(&text));
    buf_release(&text);
}

static void show_lines(struct screen_reading *r, struct session *s)
{
    static const struct op_sink sink = {.done = on_done};
    const struct term_opts o = {
        .rows = ROWS, .cols = COLS, .tail = TEXT_MAX, .keep_lines = ROWS};
    struct session_view v;
    session_view(s, &v);
    uint64_t start = v.stream ? spool_start(v.stream) : 0;
    uint64_t from = v.view > LAST ? v.view - LAST : 0;
    struct op *op = op_new(OP_LOGS, &sink, r);
    op->filter = op->skip_noise = true;
    op->term = term_new(&o);
    op->cursor = op->r.from = from > start ? from : start;
    op->limit = op->r.to = v.view;
    r->op = op;
    session_wait(s, op);
}

/* ---- a whole screen ---- */

static void on_shown(void *arg, const struct output_shown *shown)
{
    struct screen_reading *r = arg;
    struct session *s = session_find(r->p->m->en, str_of(r->session));
    struct err e = ERR_INIT;
    r->showing = NULL;
    if (shown->screen) {
        answer(r, shown->text);
    } else if (s) {
        show_lines(r, s);
    } else {
        err_set(&e, ERR_NOTFOUND, "the session %s ended", r->session);
        fail(r, &e);
    }
}

/* Finds the running command, if there is one. */
static bool running(struct session *s, struct command_seen *c)
{
    const char *id = session_call(s, STR(""));
    return session_busy(s) && id && session_command(s, id, c) && c->began && !c->ended;
}

static void read_screen(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct str at = str_sub(uri, sizeof(prefix) - 1, uri.n), end = STR("/screen");
    struct buf name = BUF_INIT(ACTION_SESSION_MAX);
    struct session *s = NULL;
    struct command_seen c;
    if (str_ends(at, end) && http_decode(&name, str_sub(at, 0, at.n - end.n), false) == 0)
        s = session_find(a->m->en, buf_str(&name));
    struct screen_reading *r = s ? xnew(struct screen_reading) : NULL;
    if (r)
        snprintf(r->session, sizeof(r->session), "%s", buf_z(&name));
    buf_release(&name);
    if (!s) {
        err_set(&e, ERR_NOTFOUND, "there is no such session");
        mcp_resource_fail(a, uri, &e);
        return;
    }
    r->p = mcp_pending_new(a, uri, r, stop);
    if (!r->p) {
        free(r);
        return;
    }
    session_catch_up(s);
    if (!running(s, &c)) {
        show_lines(r, s);
        return;
    }
    struct session_view v;
    session_view(s, &v);
    struct output_new what = {.session = r->session,
                              .begin = c.from,
                              .from = c.from,
                              .to = v.view > c.from ? v.view : c.from,
                              .max = TEXT_MAX};
    if (what.to - what.from > LAST)
        what.from = what.to - LAST;
    struct output_showing *o = output_show(a->m->en, &what, on_shown, r);
    if (o) /* otherwise r may be freed */
        r->showing = o;
}

static void list(struct mcp *m, struct json *items)
{
    struct json *names = mcp_session_names(m, STR(""));
    for (const struct json *v = json_first(names); v; v = json_next(v)) {
        struct buf uri = BUF_INIT(256), name = BUF_INIT(256);
        struct str session = json_str_value(v, "");
        buf_addf(&uri, "%s%.*s/screen", prefix, STR_ARG(session));
        buf_addf(&name, "screen of %.*s", STR_ARG(session));
        mcp_resource_put(items, buf_str(&uri), buf_str(&name),
                         "What the terminal of this session shows", "text/plain");
        buf_release(&uri);
        buf_release(&name);
    }
    json_free(names);
}

static void complete(struct mcp_ask *a, struct str variable, struct str value)
{
    struct json *names = mcp_session_names(a->m, value);
    (void)variable;
    mcp_result(a, mcp_complete_result(names, (size_t)json_count(names), false));
}

const struct mcp_resource mcp_resource_screen = {
    .prefix = prefix,
    .pattern = "od://session/{name}/screen",
    .name = "screen",
    .about = "What the terminal of a session shows: its last 50 lines as text, or the "
             "screen of the program that runs",
    .type = "text/plain",
    .arguments = "name",
    .list = list,
    .read = read_screen,
    .complete = complete};
