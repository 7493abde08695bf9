/* SPDX-License-Identifier: MIT */
/*
 * Messages that a kernel dropped. A PUB socket silently drops what the queue of its
 * subscriber has no room for (ZeroMQ RFC 29, "The PUB Socket Type"; libzmq's holds
 * 1,000), so a host that gets no CPU time, or waits for its reader, loses some. Kernels
 * made of jupyter_client number what they send, on all channels together
 * (jupyter_client/session.py, msg_id: SESSION_PID_NUMBER): the number of messages that
 * are missing when the reply and idle have come is reported once, before the later of
 * the two. Without such numbers nothing is reported.
 *
 * A message that is missing may also be late, on another channel than those that came.
 * Each channel by itself is in order, so a smaller number than the last one on iopub is
 * not late there. The other channels carry the cell's reply, which has come then, and
 * answers to questions of our own: while one of these is awaited, only numbers that the
 * answer cannot have are reported. The others are reported at the end of the next cell
 * if they are still missing, as are those that are dropped between cells.
 *
 * The idle may be dropped, too. If it has not come some time after the reply, and a
 * message is missing, the kernel is made to send another idle, which comes after it.
 */
#include "kernel/host/own.h"

#include <stdio.h>
#include <string.h>

enum { ASK_MS = 1000 };

/* The value of msg_id, as it is in the header's JSON; n 0: none. */
static struct str id_of(struct str header)
{
    static const struct str name = {"\"msg_id\"", 8};
    long at = str_find(header, name);
    if (at < 0)
        return STR("");
    struct str rest = str_trim(str_sub(header, (size_t)at + name.n, header.n));
    if (!str_starts(rest, STR(":")))
        return STR("");
    rest = str_trim(str_sub(rest, 1, rest.n));
    if (!str_starts(rest, STR("\"")))
        return STR("");
    rest = str_sub(rest, 1, rest.n);
    return str_cut(&rest, '"');
}

/* Splits SERIES_NUMBER. Returns false for another kind of id. */
static bool split(struct str id, struct str *series, uint64_t *number)
{
    size_t n = id.n;
    while (n > 0 && id.p[n - 1] >= '0' && id.p[n - 1] <= '9')
        n--;
    *series = str_sub(id, 0, n);
    return n > 1 && id.p[n - 1] == '_' && n < sizeof(((struct lost *)0)->series) &&
           str_to_u64(str_sub(id, n, id.n), number) == 0;
}

/* If another client is connected, too, answers to it are not missing. */
static bool is_strange(const struct kernel_host *h, struct str parent)
{
    return parent.n > 2 && str_find(parent, STR("\"od\"")) < 0 &&
           str_find(parent, str_of(h->session)) < 0;
}

/* ---- which are missing ---- */

static void remove_gaps(struct lost *l, unsigned at, unsigned n)
{
    memmove(l->gaps + at, l->gaps + at + n, (l->n - at - n) * sizeof(*l->gaps));
    l->n -= n;
}

/* If there are too many gaps, the oldest two are joined: their sum is what is needed. */
static void add_gap(struct lost *l, uint64_t from, uint64_t to)
{
    if (l->n == LOST_GAPS) {
        l->gaps[1].from = l->gaps[0].from;
        l->gaps[1].missing += l->gaps[0].missing;
        remove_gaps(l, 0, 1);
    }
    l->gaps[l->n++] = (struct lost_gap){from, to, to - from};
}

/* Number n, which is in the gap but at neither end, came: it parts the gap in two. */
static void part_gap(struct lost *l, unsigned at, uint64_t n)
{
    struct lost_gap *g = &l->gaps[at];
    memmove(g + 1, g, (l->n - at) * sizeof(*g));
    l->n++;
    g[0] = (struct lost_gap){g->from, n, n - g->from};
    g[1] = (struct lost_gap){n + 1, g[1].to, g[1].to - n - 1};
}

/* Number n came late. Those from before the first cell are in no gap. */
static void fill_gap(struct lost *l, uint64_t n)
{
    unsigned i = 0;
    while (i < l->n && n >= l->gaps[i].to)
        i++;
    struct lost_gap *g = &l->gaps[i];
    if (i == l->n || n < g->from)
        return;
    bool joined = g->missing < g->to - g->from;
    if (--g->missing == 0)
        remove_gaps(l, i, 1);
    else if (n == g->from)
        g->from++;
    else if (n == g->to - 1)
        g->to--;
    else if (!joined && l->n < LOST_GAPS)
        part_gap(l, i, n);
}

static void count(struct lost *l, enum host_channel from, struct str id, bool started)
{
    struct str series;
    uint64_t n;
    if (!split(id, &series, &n))
        return;
    if (l->series[0] == 0) {
        memcpy(l->series, series.p, series.n);
        l->next = n;
    }
    if (!str_eq(series, str_of(l->series)))
        return; /* of a process that the kernel forked */
    if (n < l->next)
        fill_gap(l, n);
    else {
        if (n > l->next && started)
            add_gap(l, l->next, n);
        l->next = n + 1;
    }
    if (l->in[from].least <= n)
        l->in[from].least = n + 1;
}

static bool awaited(const struct lost_channel *c) { return c->answered < c->asked; }

/* When the cell's reply has come: missing messages below this number were dropped. */
static uint64_t certain(const struct lost *l)
{
    uint64_t least = l->in[CH_IOPUB].least;
    for (int i = 0; i < CHANNELS; i++) {
        if (awaited(&l->in[i]) && l->in[i].least < least)
            least = l->in[i].least;
    }
    return least;
}

/* Forgets the gaps below that number, and returns how many messages they lack. */
static uint64_t take_certain(struct lost *l)
{
    uint64_t least = certain(l), sum = 0;
    unsigned n = 0;
    for (; n < l->n && l->gaps[n].to <= least; n++)
        sum += l->gaps[n].missing;
    remove_gaps(l, 0, n);
    return sum;
}

/* ---- when it is reported ---- */

static void tell(struct kernel_host *h, uint64_t missing)
{
    char text[160];
    snprintf(text, sizeof(text),
             "%llu messages of the kernel are missing: it dropped them, because they "
             "were not taken as fast as it sent them",
             (unsigned long long)missing);
    host_say(h, "gap", text);
}

static void on_ask(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, lost.ask);
    if (h->state != HOST_READY || !h->busy || !h->lost.n || h->lost.strangers)
        return;
    host_zmtp_ask(h, CH_SHELL, "kernel_info_request", "{}");
    h->lost.proof = h->lost.in[CH_SHELL].asked;
}

/* All messages of the cell have come before this. */
static void idle_instead(struct kernel_host *h)
{
    struct json *content = json_object();
    json_put_z(content, "execution_state", "idle");
    uint64_t missing = take_certain(&h->lost);
    if (missing > 1) /* the idle itself is one */
        tell(h, missing - 1);
    h->lost.proof = 0;
    host_idle(h);
    host_iopub(h, "status", content);
}

static void look_for_proof(struct kernel_host *h, enum host_channel from, bool idle)
{
    struct lost *l = &h->lost;
    if (from == CH_SHELL)
        l->proof_reply = true;
    else if (idle)
        l->proof_idle = true;
    if (l->proof_reply && l->proof_idle && h->busy && l->n)
        idle_instead(h);
}

void host_lost_asked(struct kernel_host *h, enum host_channel to, unsigned number)
{
    struct lost_channel *c = &h->lost.in[to];
    if (!awaited(c) && c->least < h->lost.next)
        c->least = h->lost.next;
    c->asked = number;
}

void host_lost_take(struct kernel_host *h, enum host_channel from, const struct jmsg *m,
                    unsigned ours)
{
    struct lost *l = &h->lost;
    if (h->state != HOST_STARTING && h->state != HOST_READY)
        return;
    count(l, from, id_of(m->header), h->state == HOST_READY);
    if (from != CH_IOPUB && l->in[from].answered < ours)
        l->in[from].answered = ours;
    if (h->state != HOST_READY)
        return;
    l->strangers = l->strangers || is_strange(h, m->parent);
    if (from == CH_SHELL && str_find(m->header, STR("\"execute_reply\"")) >= 0 &&
        host_is_of_cell(h, m->parent)) {
        l->replied = true;
        if (h->busy)
            timer_begin(h->loop, &l->ask, ASK_MS, on_ask);
    }
    if (!h->busy)
        timer_stop(&l->ask);
    if (l->replied && !h->busy && !l->over) {
        l->over = true;
        uint64_t missing = l->strangers ? 0 : take_certain(l);
        if (missing)
            tell(h, missing);
    }
    if (ours && ours == l->proof)
        look_for_proof(h, from, str_find(m->content, STR("\"idle\"")) >= 0);
}

void host_lost_cell(struct kernel_host *h)
{
    struct lost *l = &h->lost;
    timer_stop(&l->ask);
    l->replied = l->over = l->proof_reply = l->proof_idle = false;
    l->proof = 0;
    /* Earlier answers come before the cell's reply, or never. */
    for (int i = 0; i < CHANNELS; i++)
        l->in[i].answered = l->in[i].asked;
}

void host_lost_reset(struct kernel_host *h)
{
    timer_stop(&h->lost.ask);
    h->lost = (struct lost){0};
}
