/* SPDX-License-Identifier: MIT */
/*
 * tools/call: a running call of a tool.
 *
 *   begin ─▶ at the keeper ─▶ tool.start ─▶ tool_act … ─▶ tool_end ─▶ its stream
 *                                               └─ the action's end, at the end of a turn
 *
 * A step is an action with the client_id mcp:KEY:STEP, so a repeated one is found in the
 * log (actions_do), also by another worker.
 */
#include "front/mcp/own.h"

#include "action/log.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "front/mcp/tools/straight.h"

#include <stdio.h>
#include <stdlib.h>

enum { PROGRESS_LINE = 100, PROGRESS_LEAST_MS = 1000 };

static struct mcp_call *call_of(struct tool_call *c)
{
    return container_of(c, struct mcp_call, c);
}

/* ---- life ---- */

static void call_release(void *p)
{
    struct mcp_call *k = p;
    json_free(k->c.args);
    buf_release(&k->c.notes);
    json_free(k->id);
    json_free(k->token);
    free(k);
}

/* Frees the call at the end of the turn; no callback follows. */
static void mcp_call_free(struct mcp_call *k)
{
    if (k->over)
        return;
    k->over = true;
    k->m->ncalls--;
    list_del(&k->node);
    task_cancel(&k->step);
    timer_stop(&k->progress);
    loop_bury(k->m->en->loop, k, call_release);
}

static void on_step(struct task *t);

struct mcp_call *mcp_call_new(struct mcp *m, struct mcp_session *s,
                              struct mcp_stream *out)
{
    struct mcp_call *k = xnew(struct mcp_call);
    *k = (struct mcp_call){.m = m, .session = s, .out = out};
    k->c.en = m->en;
    k->c.actions = m->actions;
    k->c.fronts = m->fronts;
    k->c.since_ms = clock_wall_ms();
    buf_init(&k->c.notes, TOOL_ERROR_MAX);
    random_hex(k->c.key, ACTION_KEY);
    task_init(&k->step, on_step);
    list_add_tail(&m->calls, &k->node);
    m->ncalls++;
    return k;
}

/* Sends the answer, and frees the call, but not its entry at the keeper. */
static void answer(struct mcp_call *k, struct str message)
{
    struct mcp_stream *t = k->out;
    uint64_t number = mcp_stream_number(t);
    mcp_answer_keep(k, number, message);
    mcp_call_free(k);
    mcp_stream_put(t, message, true);
}

void tool_end(struct tool_call *c, struct tool_result *r)
{
    struct mcp_call *k = call_of(c);
    struct buf b = BUF_INIT(MCP_ANSWER_BYTES);
    BUG_ON(k->over);
    mcp_put_tool_result(&b, k, r);
    if (buf_full(&b)) {
        struct tool_result much = {
            .text = STR("the answer is longer than a message may be"), .failed = true};
        buf_reset(&b);
        mcp_put_tool_result(&b, k, &much);
    }
    answer(k, buf_str(&b));
    buf_release(&b);
}

void tool_fail(struct tool_call *c, const struct err *e)
{
    struct tool_result r = {.text = str_of(e->text), .failed = true};
    tool_end(c, &r);
}

static void end_early(struct mcp_call *k, enum tool_stop why)
{
    if (k->c.tool->stop)
        k->c.tool->stop(&k->c, why);
    mcp_kept_free(k->m, k->kept);
    mcp_call_free(k);
}

void mcp_call_stop(struct mcp_call *k, enum tool_stop why)
{
    struct mcp_stream *t = k->out;
    end_early(k, why);
    mcp_stream_withdraw(t);
}

void mcp_calls_stop(struct mcp *m, const struct mcp_session *s,
                    const struct mcp_stream *t, enum tool_stop why)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->calls) {
        struct mcp_call *k = list_entry(it, struct mcp_call, node);
        if ((s && k->session != s) || (t && k->out != t))
            continue;
        end_early(k, why);
    }
}

struct mcp_call *mcp_call_find(struct mcp *m, const struct mcp_session *s,
                               const struct json *id)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->calls) {
        struct mcp_call *k = list_entry(it, struct mcp_call, node);
        if (k->session == s && rpc_same_id(k->id, id))
            return k;
    }
    return NULL;
}

/* ---- steps ---- */

static void on_step(struct task *task)
{
    struct mcp_call *k = container_of(task, struct mcp_call, step);
    struct buf line = BUF_INIT(2 * LIMIT_EVENT_MAX);
    struct err e = k->err;
    struct json *event = NULL;
    k->waits = k->stepped = false;
    if (!e.code && actions_line(k->m->actions, k->end, &line) < 0)
        err_set(&e, ERR_GONE, "the result of action %llu is no longer kept",
                (unsigned long long)k->c.action);
    if (!e.code)
        event = json_parse(buf_str(&line), &e);
    buf_release(&line);
    if (event) {
        actions_error(event, &e);
        mcp_call_observed(k, event);
    }
    k->fn(&k->c, e.code ? NULL : event, e.code ? &e : NULL);
    json_free(event);
}

static void step_over(struct mcp_call *k)
{
    k->stepped = true;
    task_defer(k->m->en->loop, &k->step);
}

void tool_act(struct tool_call *c, unsigned step, struct str session,
              struct json *message, tool_observed *fn)
{
    struct mcp_call *k = call_of(c);
    char id[ACTION_KEY + 24];
    struct action_taken t = {0};
    BUG_ON(k->waits || step >= TOOL_STEPS);
    ASSERT(!k->over && json_is_object(message) && message != c->args);
    snprintf(id, sizeof(id), "mcp:%s:%u", c->key, step);
    json_put_z(message, "client_id", id);
    if (session.n > 0)
        json_put_str(message, "session", session);
    k->fn = fn;
    k->waits = true;
    k->stepped = false;
    k->end = 0;
    k->err = (struct err)ERR_INIT;
    int rc = actions_do(k->m->actions, message, ACTION_SOURCE_MCP, &t, &k->err);
    c->action = t.id;
    k->end = t.end;
    if (rc < 0 || (t.end && actions_check_end(&t, &k->err) < 0) || t.end)
        step_over(k);
}

void mcp_calls_ended(struct mcp *m, uint64_t cause, uint64_t end, const struct err *e)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->calls) {
        struct mcp_call *k = list_entry(it, struct mcp_call, node);
        if (!k->waits || k->stepped || k->c.action != cause)
            continue;
        k->end = end;
        if (!end)
            k->err = *e;
        step_over(k);
    }
}

/* ---- progress ---- */

static void tell_progress(struct mcp_call *k)
{
    struct buf line = BUF_INIT(4 * PROGRESS_LINE), b = BUF_INIT(8 << 10);
    struct json *params = json_object();
    double now = (double)(clock_wall_ms() - k->c.since_ms) / 1000;
    k->told = now > k->told ? now : k->told + 0.001;
    k->told_ms = clock_ms();
    json_put(params, "progressToken", json_copy(k->token));
    json_put_num(params, "progress", k->told);
    if (k->c.tool->progress)
        k->c.tool->progress(&k->c, &line);
    if (line.n > 0)
        json_put_str(params, "message", buf_str(&line));
    rpc_put_notification(&b, "notifications/progress", params);
    mcp_stream_put(k->out, buf_str(&b), false);
    json_free(params);
    buf_release(&line);
    buf_release(&b);
}

static void on_progress(struct timer *t)
{
    struct mcp_call *k = container_of(t, struct mcp_call, progress);
    timer_begin(k->m->en->loop, t, MCP_PROGRESS_MS, on_progress);
    tell_progress(k);
}

void tool_progress(struct tool_call *c)
{
    struct mcp_call *k = call_of(c);
    int64_t left = k->told_ms ? k->told_ms + PROGRESS_LEAST_MS - clock_ms() : 0;
    if (!k->token || k->over)
        return;
    timer_begin(k->m->en->loop, &k->progress, left > 0 ? left : 0, on_progress);
}

/* ---- beginning ---- */

void mcp_call_start(struct mcp_call *k)
{
    if (k->token)
        timer_begin(k->m->en->loop, &k->progress, MCP_PROGRESS_MS, on_progress);
    k->c.tool->start(&k->c);
}

/* Sets the limits that known clients accept; see README.md. */
static void know_client(struct mcp_call *k, const struct mcp_ask *a)
{
    bool patient = strcmp(a->client, "claude-code") == 0 ||
                   strncmp(a->client, "gemini-cli", 10) == 0 ||
                   strncmp(a->client, "qwen-cli", 8) == 0;
    bool narrow = strncmp(a->client, "codex", 5) == 0;
    int64_t answer = a->wish->answer ? a->wish->answer : narrow ? 9500 : TOOL_ANSWER;
    k->c.client.max_wait_s = a->wish->max_wait_s ? (int)a->wish->max_wait_s
                             : patient           ? 240
                                                 : 50;
    k->c.client.answer_max = (size_t)answer;
    snprintf(k->c.client.credential, sizeof(k->c.client.credential), "%s", a->credential);
}

void mcp_call_begin(struct mcp_ask *a)
{
    struct err e = ERR_INIT;
    struct str name = json_str(a->in->params, "name", "");
    const struct json *args = json_get(a->in->params, "arguments");
    const struct json *token = json_get(a->in->meta, "progressToken");
    const struct tool *t = mcp_tool(a->wish, name);
    if (!t) {
        mcp_error(a, RPC_PARAMS, "unknown tool: %.*s", (int)(name.n < 100 ? name.n : 100),
                  name.p ? name.p : "");
        return;
    }
    if (args && !json_is_object(args) && !json_is_null(args)) {
        mcp_error(a, RPC_PARAMS, "arguments must be an object");
        return;
    }
    struct mcp_call *k = mcp_call_new(a->m, a->session, a->out);
    k->c.tool = t;
    k->id = json_copy(a->in->id);
    k->token = json_is_string(token) || json_is_number(token) ? json_copy(token) : NULL;
    k->revision = a->revision;
    k->level = a->revision == MCP_2026_07_28
                   ? mcp_level(json_str(a->in->meta, MCP_META "logLevel", ""))
                   : a->session->level;
    k->structured = a->wish->structured;
    know_client(k, a);
    if (a->m->ncalls > MCP_CALLS_MAX)
        err_set(&e, ERR_BUSY, "%d calls are running already; wait for one to end",
                MCP_CALLS_MAX);
    else
        k->c.args = tool_straighten(t, args, k->c.client.max_wait_s, &k->c.notes, &e);
    if (!k->c.args) {
        tool_fail(&k->c, &e);
        return;
    }
    mcp_call_keep(k);
    mcp_call_start(k);
}
