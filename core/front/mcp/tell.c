/* SPDX-License-Identifier: MIT */
/*
 * Log messages for clients: events that a client may have to act on. A session of the
 * legacy era gets messages from the level of its logging/setLevel up, about all events in
 * the log. A modern request gets messages from the level in its _meta up, about its own
 * actions.
 *
 *   warning  a shell ended, so the next command begins in a fresh one; output, or events,
 *            are lost; the worker was started again; a subscription ended
 *   error    a kernel died
 */
#include "front/mcp/own.h"

#include "action/log.h"
#include "eventlog/line.h"

enum { PIECE = 64 << 10 /* bytes of the log that are read in one turn */ };

/* ---- messages ---- */

static void put_message(struct mcp_stream *t, int level, const char *logger,
                        struct str text)
{
    struct buf b = BUF_INIT(64 << 10);
    struct json *params = json_object();
    json_put_z(params, "level", mcp_level_name(level));
    json_put_z(params, "logger", logger);
    json_put_str(params, "data", text);
    rpc_put_notification(&b, "notifications/message", params);
    mcp_stream_put(t, buf_str(&b), false);
    json_free(params);
    buf_release(&b);
}

static bool wants(int least, int level) { return least >= 0 && level >= least; }

void mcp_tell(struct mcp *m, struct mcp_session *s, int level, const char *logger,
              const char *fmt, ...)
{
    struct list *it, *tmp;
    struct buf text = BUF_INIT(8 << 10);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&text, fmt, ap);
    va_end(ap);
    list_each (it, tmp, &m->sessions) {
        struct mcp_session *each = list_entry(it, struct mcp_session, node);
        if ((!s || s == each) && wants(each->level, level))
            put_message(mcp_session_own_stream(each), level, logger, buf_str(&text));
    }
    buf_release(&text);
}

void mcp_call_tell(struct mcp_call *k, int level, const char *logger, struct str text)
{
    if (wants(k->level, level) && !k->over)
        put_message(k->out, level, logger, text);
}

/* ---- messages about events ---- */

/* Appends the message about an event. Returns its level; -1 if there is none. */
static int message_of(const struct json *event, struct buf *text, const char **logger)
{
    const struct json *extras = json_get(event, "extras");
    struct str session = json_str(event, "session", "main");
    unsigned long long cause = (unsigned long long)json_int(event, "cause", 0);
    *logger = "session";
    if (str_eq(json_str(event, "observation", ""), STR("gap"))) {
        *logger = "events";
        buf_addf(text, "events %lld to %lld of the log are lost: %s",
                 (long long)json_int(extras, "from", 0),
                 (long long)json_int(extras, "to", 0), json_str(extras, "reason", "").p);
        return MCP_WARNING;
    }
    if (json_bool(extras, "shell_ended", false)) {
        buf_addf(text,
                 "the shell of session %.*s ended with command %llu: the next command "
                 "runs in a fresh one, in the same directory and environment; variables "
                 "that were not exported and functions are gone",
                 STR_ARG(session), cause);
        return MCP_WARNING;
    }
    if (str_eq(json_str(extras, "end", ""), STR("died"))) {
        *logger = "kernel";
        buf_addf(text, "the kernel died in cell %llu: its variables are gone", cause);
        return MCP_ERROR;
    }
    if (json_count(json_get(extras, "gone")) > 0) {
        buf_addf(text, "some output of command %llu in session %.*s was not kept", cause,
                 STR_ARG(session));
        return MCP_WARNING;
    }
    return -1;
}

void mcp_call_observed(struct mcp_call *k, const struct json *event)
{
    struct buf text = BUF_INIT(4096);
    const char *logger;
    /* Other clients get the message from the log of events. */
    int level = k->revision == MCP_2026_07_28 && k->level >= 0
                    ? message_of(event, &text, &logger)
                    : -1;
    if (level >= 0)
        mcp_call_tell(k, level, logger, buf_str(&text));
    buf_release(&text);
}

/* ---- the log ---- */

static bool is_followed(const struct mcp *m)
{
    struct list *it, *tmp;
    list_each (it, tmp, &m->sessions) {
        if (list_entry(it, struct mcp_session, node)->level >= 0)
            return true;
    }
    return false;
}

/* Rules out most lines by their words, without parsing them. */
static bool may_matter(struct str line)
{
    static const struct str words[] = {STR("\"observation\":\"gap\""),
                                       STR("\"shell_ended\":true"),
                                       STR("\"end\":\"died\""), STR("\"gone\":[")};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (str_find(line, words[i]) >= 0)
            return true;
    }
    return false;
}

static void take_line(struct mcp *m, struct str line)
{
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT(4096);
    const char *logger;
    struct json *event = may_matter(line) ? json_parse(line, &e) : NULL;
    int level = json_is_string(json_get(event, "observation"))
                    ? message_of(event, &text, &logger)
                    : -1;
    if (level >= 0)
        mcp_tell(m, NULL, level, logger, "%s", buf_z(&text));
    json_free(event);
    buf_release(&text);
}

static void on_step(struct task *t)
{
    struct mcp *m = container_of(t, struct mcp, log_step);
    struct eventlog *log = actions_log(m->actions);
    struct buf lines = BUF_INIT(PIECE + 2 * LIMIT_EVENT_MAX);
    struct event_line line;
    if (!is_followed(m)) {
        m->log_at = (struct event_cursor){.next = eventlog_next(log)};
        return;
    }
    long n = eventlog_read(log, &m->log_at, &lines, PIECE, NULL);
    struct str rest = buf_str(&lines);
    while (rest.n > 0 && event_line(rest, &line) == EVENT_LINE_GOOD) {
        take_line(m, str_sub(rest, 0, line.n));
        rest = str_sub(rest, line.n, rest.n);
    }
    buf_release(&lines);
    if (n > 0 && m->log_at.next < eventlog_next(log))
        task_defer(m->en->loop, &m->log_step);
}

static void on_events(struct event_sub *s)
{
    struct mcp *m = container_of(s, struct mcp, log_sub);
    task_defer(m->en->loop, &m->log_step);
    mcp_subs_changed(m, &mcp_resource_events);
}

void mcp_tell_start(struct mcp *m)
{
    struct eventlog *log = actions_log(m->actions);
    task_init(&m->log_step, on_step);
    m->log_at.next = eventlog_next(log);
    eventlog_subscribe(log, &m->log_sub, on_events);
}

void mcp_tell_stop(struct mcp *m)
{
    if (!m->log_sub.wake)
        return;
    eventlog_unsubscribe(&m->log_sub);
    task_cancel(&m->log_step);
}
