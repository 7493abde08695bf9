/* SPDX-License-Identifier: MIT */
#include "front/mcp/link.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/state.h"
#include "front/mcp/own.h"

#include <stdio.h>
#include <stdlib.h>

enum { UNKEPT_MAX = 128 << 10 /* of an incomplete message, left at the client */ };

/*
 * Output offsets start from the current time, in units that pass faster than output can
 * be written, so that the next worker's offsets are greater than this worker's.
 */
static uint64_t first_offset(void) { return (uint64_t)clock_wall_ms() * 4096; }

static const char prefix[] = "mcp/p/";

/* ---- input ---- */

/*
 * Keeps an accepted but incomplete message for the next worker: its offset, then its
 * bytes.
 */
static void keep_part(struct mcp_link *l)
{
    struct buf b = BUF_INIT(MCP_MESSAGE_MAX + 64);
    if (l->part_kept || l->accepted > l->in_from) {
        if (l->in.n > 0 && l->accepted > l->in_from) {
            buf_addf(&b, "%llu\n", (unsigned long long)l->in_from);
            buf_adds(&b, buf_str(&l->in));
        }
        state_put_text(l->m->en, prefix, l->session->id, buf_str(&b));
        l->part_kept = b.n > 0;
    }
    buf_release(&b);
}

static void load_one(void *arg, struct str id, struct str state)
{
    struct mcp_session *s = mcp_session_by_id(arg, id);
    struct str from = str_cut(&state, '\n');
    if (!s || !s->link || str_to_u64(from, &s->link->in_from) < 0)
        return;
    buf_adds(&s->link->in, state);
    s->link->accepted = s->link->in_from + state.n;
    s->link->part_kept = true;
}

void mcp_links_load(struct mcp *m) { state_each_text(m->en, prefix, load_one, m); }

static void refuse_line(struct mcp_link *l, int code, struct str text)
{
    struct buf b = BUF_INIT(4096);
    rpc_put_error(&b, NULL, code, text, NULL);
    l->out->waiting++;
    mcp_stream_put(l->out, buf_str(&b), true);
    buf_release(&b);
}

static void take_line(struct mcp_link *l, struct str line)
{
    struct err e = ERR_INIT;
    line = str_trim(line);
    if (line.n == 0)
        return;
    struct json *message = json_parse(line, &e);
    l->session->used_ms = clock_ms();
    if (!message)
        refuse_line(l, RPC_PARSE, str_of(e.text));
    else if (json_is_array(message) && (l->session->revision > MCP_2025_03_26 ||
                                        json_count(message) > MCP_BATCH_MAX))
        refuse_line(l, RPC_INVALID, STR("a batch is not accepted"));
    else if (json_is_array(message))
        for (const struct json *v = json_first(message); v; v = json_next(v))
            mcp_take_message(l->session, l->out, v);
    else
        mcp_take_message(l->session, l->out, message);
    json_free(message);
}

/* Takes the complete lines. */
static void take_lines(struct mcp_link *l)
{
    long end;
    while (!l->closed && (end = str_chr(buf_str(&l->in), '\n')) >= 0) {
        struct buf line = BUF_INIT(MCP_MESSAGE_MAX + 1);
        buf_adds(&line, str_sub(buf_str(&l->in), 0, (size_t)end));
        buf_consume(&l->in, (size_t)end + 1);
        l->in_from += (uint64_t)end + 1;
        if (l->skips)
            l->skips = false;
        else
            take_line(l, buf_str(&line));
        buf_release(&line);
    }
}

uint64_t mcp_link_input(struct mcp_link *l, uint64_t offset, struct str bytes)
{
    uint64_t have = l->in_from + l->in.n;
    if (offset > have) { /* a previous worker took the input before it */
        buf_reset(&l->in);
        l->in_from = have = offset;
    }
    bytes = str_sub(bytes, have - offset < bytes.n ? (size_t)(have - offset) : bytes.n,
                    bytes.n);
    while (bytes.n > 0 && !l->closed) {
        size_t room = buf_room(&l->in), n = bytes.n < room ? bytes.n : room;
        buf_add(&l->in, bytes.p, n);
        bytes = str_sub(bytes, n, bytes.n);
        take_lines(l);
        if (buf_room(&l->in) > 0)
            continue;
        if (!l->skips)
            refuse_line(l, RPC_INVALID, STR("a message is at most 4 MiB long"));
        l->skips = true;
        l->in_from += l->in.n;
        buf_reset(&l->in);
    }
    uint64_t to = l->in_from + (l->in.n > UNKEPT_MAX ? l->in.n : 0);
    l->accepted = to > l->accepted ? to : l->accepted;
    keep_part(l);
    return l->accepted;
}

/* ---- output ---- */

bool mcp_link_send(struct mcp_link *l, uint64_t number, struct str message)
{
    struct buf line = BUF_INIT(MCP_ANSWER_BYTES + 1);
    bool sent = false;
    if (l->ev) {
        buf_adds(&line, message);
        buf_addc(&line, '\n');
        sent = l->ev->send(l->arg, number, buf_str(&line));
    }
    buf_release(&line);
    return sent;
}

void mcp_link_room(struct mcp_link *l) { mcp_stream_pump(l->out); }

/* ---- life ---- */

struct mcp_link *mcp_link_new(struct mcp_session *s)
{
    struct mcp_link *l = xnew(struct mcp_link);
    *l = (struct mcp_link){.m = s->m, .session = s};
    buf_init(&l->in, MCP_MESSAGE_MAX);
    s->link = l;
    l->out = mcp_session_stream_made(s, STR(MCP_LINE_STREAM));
    l->out->link = l;
    l->out->settled = true;
    l->out->next = first_offset();
    return l;
}

static void link_free(void *p)
{
    struct mcp_link *l = p;
    buf_release(&l->in);
    free(l);
}

void mcp_link_free(struct mcp_link *l)
{
    const struct mcp_link_events *ev = l->ev;
    l->ev = NULL;
    l->closed = true;
    if (l->part_kept)
        state_drop(l->m->en, prefix, l->session->id);
    l->session->link = NULL;
    if (ev)
        ev->over(l->arg);
    loop_bury(l->m->en->loop, l, link_free);
}

static int read_number(const struct json *q, const char *name, int64_t min, int64_t max,
                       int64_t *out, struct err *e)
{
    int64_t n = json_int(q, name, 0);
    if (n && (n < min || n > max))
        return err_set(e, ERR_INVALID, "%s is a number from %lld to %lld", name,
                       (long long)min, (long long)max);
    *out = n ? n : *out;
    return 0;
}

/*
 * Reads {"tools", "structured", "here", "answer_bytes", "max_wait"}. Returns 0; -1 and
 * sets *e.
 */
static int mcp_wish_read(struct mcp_wish *w, const struct json *q, struct err *e)
{
    struct str tools = json_str(q, "tools", "");
    if (tools.n > 0 && mcp_wish_tools(w, tools, e) < 0)
        return -1;
    w->structured = json_bool(q, "structured", w->structured);
    w->here = json_bool(q, "here", w->here);
    if (read_number(q, "answer_bytes", 2000, TOOL_ANSWER_MAX, &w->answer, e) < 0)
        return -1;
    return read_number(q, "max_wait", 1, 600, &w->max_wait_s, e);
}

struct mcp_link *mcp_link_open(struct mcp *m, struct str id, uid_t uid,
                               const struct json *q, const struct mcp_link_events *ev,
                               void *arg, struct err *e)
{
    char credential[65];
    struct mcp_wish wish = m->wish;
    snprintf(credential, sizeof(credential), "uid:%u", (unsigned)uid);
    if (id.n != MCP_ID || mcp_wish_read(&wish, json_get(q, "mcp"), e) < 0) {
        if (!e->code)
            err_set(e, ERR_INVALID, "mcp needs an id of %d hex digits", MCP_ID);
        return NULL;
    }
    struct mcp_session *s = mcp_session_find(m, id, credential);
    if (!s && !mcp_session_by_id(m, id)) {
        s = mcp_session_named(m, credential, id);
        if (s) {
            s->wish = wish;
            mcp_link_new(s);
            s->lines = true;
            mcp_session_keep(s);
        }
    }
    struct mcp_link *l = s ? s->link : NULL;
    if (!l) {
        err_set(e, ERR_LIMIT, "there is no room for one more session");
        return NULL;
    }
    if (l->ev)
        l->ev->over(l->arg);
    l->ev = ev;
    l->arg = arg;
    uint64_t from = (uint64_t)json_int(q, "output_from", 0);
    l->out->sent = from;
    if (from > l->out->next)
        l->out->next = from;
    mcp_stream_pump(l->out);
    return l;
}

void mcp_link_close(struct mcp_link *l, bool end)
{
    l->ev = NULL;
    l->lost_ms = clock_ms();
    if (end)
        mcp_session_free(l->session);
}
