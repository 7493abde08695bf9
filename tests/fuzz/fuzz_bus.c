/* SPDX-License-Identifier: MIT */
/*
 * Replies of a Redis server: whatever comes, they are the same whether the bytes come at
 * once or one by one, and none is larger than what is kept. The first line is a URL of
 * --bus, too.
 */
#include "base/buf.h"
#include "base/log.h"
#include "front/bus/outcome.h"
#include "front/bus/reply.h"
#include "front/bus/where.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void show(const struct reply *r, struct buf *out, unsigned depth, size_t *nodes)
{
    size_t members = 0;
    BUG_ON(depth > REPLY_DEPTH_MAX || ++*nodes > REPLY_NODES_MAX);
    buf_addf(out, "%d %lld %d %zu:", r->kind, (long long)r->number, r->cut, r->text.n);
    buf_adds(out, r->text);
    for (const struct reply *m = r->first; m; m = m->next) {
        show(m, out, depth + 1, nodes);
        members++;
    }
    BUG_ON(members != r->n || (members > 0 && r->kind != REPLY_LIST));
    BUG_ON(reply_at(r, members) != NULL);
    uint64_t id;
    BUG_ON(reply_stream_id(r, &id) == 0 && r->text.n < 3);
    BUG_ON(!bus_outcome_name(bus_outcome_of(reply_text(r))));
    reply_member(r, STR("length"));
    buf_addc(out, ';');
}

/* Feeds `step` bytes at a time; returns how it ended. */
static int hear(struct str in, size_t step, struct buf *out)
{
    struct replies *r = replies_new();
    const struct reply *reply;
    struct err e = ERR_INIT;
    int rc = 0;
    for (size_t i = 0; i < in.n && rc >= 0; i += step) {
        size_t nodes = 0;
        rc = replies_feed(r, str_sub(in, i, step), &e);
        while (rc >= 0 && (rc = replies_next(r, &reply, &e)) > 0) {
            show(reply, out, 0, &nodes);
            nodes = 0;
        }
    }
    BUG_ON(rc < 0 && (e.code == ERR_NONE || !e.text[0]));
    replies_free(r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str in = str_n(data, n), rest = in;
    struct buf all = BUF_INIT(64 << 20), parts = BUF_INIT(64 << 20), host = BUF_INIT(400);
    struct bus_where w;
    int rc = hear(in, n ? n : 1, &all);
    BUG_ON(hear(in, 1, &parts) != rc);
    BUG_ON(!str_eq(buf_str(&all), buf_str(&parts)));
    if (bus_where(&w, str_cut(&rest, '\n'), NULL) == 0) {
        BUG_ON(w.n == 0 || w.n > BUS_HOSTS_MAX || !w.prefix[0] || w.db > BUS_DB_MAX);
        for (unsigned i = 0; i < w.n; i++)
            bus_host_print(&w.hosts[i], &host);
        BUG_ON(buf_full(&host) && w.n < 2);
    }
    buf_release(&all);
    buf_release(&parts);
    buf_release(&host);
    return 0;
}
