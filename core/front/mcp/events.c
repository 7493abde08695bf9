/* SPDX-License-Identifier: MIT */
/*
 * od://events?from=N: the log of actions and observations, a page of lines from event N
 * on; without N, of the last events. tell.c, which follows the log, reports changes.
 */
#include "front/mcp/own.h"

#include "action/log.h"
#include "http/http.h"

enum {
    PAGE_BYTES = 256 << 10, /* of events; a single one may be longer */
    LAST = 100              /* events of a page without a number */
};

static const char prefix[] = "od://events";

/* Finds the event that a page begins with. Returns -1 and sets *e if there is none. */
static int first_of(const struct mcp *m, struct str uri, uint64_t *out, struct err *e)
{
    const struct eventlog *log = actions_log(m->actions);
    struct str query = str_sub(uri, sizeof(prefix) - 1, uri.n);
    uint64_t first = eventlog_first(log), next = eventlog_next(log);
    struct buf b = BUF_INIT(64);
    int64_t from = -LAST;
    int rc = query.n == 0 ? 0 : query.p[0] == '?' ? 1 : -2;
    if (rc == 1)
        rc = http_query(str_sub(query, 1, query.n), "from", &b);
    if (rc == 1 && (str_to_i64(buf_str(&b), &from) < 0 || from == 0))
        rc = -1;
    buf_release(&b);
    if (rc == -2)
        return err_set(e, ERR_NOTFOUND, "no such resource: there is od://events?from=N");
    if (rc < 0)
        return err_set(e, ERR_INVALID,
                       "from is the number of an event, from 1, or how many of the last "
                       "ones, as -100");
    if (from > 0)
        *out = (uint64_t)from;
    else
        *out = (uint64_t)-from < next ? next - (uint64_t)-from : first;
    if (from < 0 && *out < first)
        *out = first;
    return 0;
}

static void read_events(struct mcp_ask *a, struct str uri)
{
    struct err e = ERR_INIT;
    struct event_cursor at = {0};
    struct eventlog *log = actions_log(a->m->actions);
    struct buf lines = BUF_INIT(PAGE_BYTES + 2 * LIMIT_EVENT_MAX), next = BUF_INIT(64);
    if (first_of(a->m, uri, &at.next, &e) < 0 ||
        (eventlog_read(log, &at, &lines, PAGE_BYTES, &e) < 0 && lines.n == 0)) {
        mcp_resource_fail(a, uri, &e);
    } else {
        struct json *meta = json_object();
        buf_addf(&next, "%s?from=%llu", prefix, (unsigned long long)at.next);
        json_put_str(meta, "od/next", buf_str(&next));
        json_put_bool(meta, "od/more", at.next < eventlog_next(log));
        mcp_result(a, mcp_contents(a->revision, uri, "application/x-ndjson",
                                   buf_str(&lines), meta));
    }
    buf_release(&lines);
    buf_release(&next);
}

static void list(struct mcp *m, struct json *items)
{
    (void)m;
    mcp_resource_put(items, str_of(prefix), STR("events"),
                     "The last 100 lines of the log of actions and observations",
                     "application/x-ndjson");
}

/* Follows changes, only without a query: a full page does not change. */
static int watch(struct mcp_sub *s, struct err *e)
{
    if (strcmp(s->uri, prefix) != 0)
        return err_set(e, ERR_UNSUPPORTED, "subscribe to %s, without a number", prefix);
    mcp_sub_ready(s);
    return 0;
}

const struct mcp_resource mcp_resource_events = {
    .prefix = prefix,
    .pattern = "od://events{?from}",
    .name = "events",
    .about = "The log of actions and observations, a JSON object a line, from the event "
             "`from` on (negative: that many of the last ones). A page has at most 256 "
             "KiB; read on from the last id + 1, which _meta[\"od/next\"] names",
    .type = "application/x-ndjson",
    .arguments = "from",
    .list = list,
    .read = read_events,
    .watch = watch};
