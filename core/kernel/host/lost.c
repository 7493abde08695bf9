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
 * Between cells nothing is reported: the answer to a request comes on another channel
 * than its "busy", which has a smaller number, so the "busy" is missing for a moment.
 * Messages that are still missing at the end of the next cell are reported then.
 *
 * The idle may be dropped, too. If it has not come some time after the reply, and a
 * message is missing, the kernel is made to send another idle, which comes after it.
 */
#include "kernel/host/own.h"

#include <stdio.h>
#include <string.h>

enum { ASK_MS = 1000 };
enum { ASKED = 1, ANSWERED = 2, IDLE = 4 };

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

static void count(struct lost *l, struct str id)
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
    if (n >= l->next) {
        l->missing += n - l->next;
        l->next = n + 1;
    } else if (l->missing > 0) {
        l->missing--; /* it came later, by another channel */
    }
}

/*
 * Returns the number of missing messages without late ones: of a question of ours (an
 * interrupt has one, too) either the answer or its "busy" has come, and the other has
 * not.
 */
static uint64_t missed(const struct lost *l)
{
    uint64_t late = l->answers > l->begun ? l->answers - l->begun : l->begun - l->answers;
    return l->missing > late ? l->missing - late : 0;
}

/* Counts the answers to our questions, and the "busy" of these. */
static void count_ours(struct lost *l, enum host_channel from, bool idle)
{
    if (from != CH_IOPUB)
        l->answers++;
    else if (!idle || !l->open) /* an idle alone: its busy was dropped */
        l->begun++;
    if (from == CH_IOPUB)
        l->open = !idle;
}

static void tell(struct kernel_host *h)
{
    char text[160];
    snprintf(text, sizeof(text),
             "%llu messages of the kernel are missing: it dropped them, because they "
             "were not taken as fast as it sent them",
             (unsigned long long)missed(&h->lost));
    h->lost.missing = 0;
    host_say(h, "gap", text);
}

static void on_ask(struct timer *t)
{
    struct kernel_host *h = container_of(t, struct kernel_host, lost.ask);
    if (h->state != HOST_READY || !h->busy || !h->lost.missing || h->lost.strangers)
        return;
    h->lost.asked = ASKED;
    host_zmtp_ask(h, CH_SHELL, "kernel_info_request", "{}");
}

/* All messages of the cell have come before this. */
static void idle_instead(struct kernel_host *h)
{
    struct json *content = json_object();
    json_put_z(content, "execution_state", "idle");
    h->lost.asked = 0;
    h->lost.missing--; /* the idle itself */
    if (missed(&h->lost))
        tell(h);
    host_idle(h);
    host_iopub(h, "status", content);
}

void host_lost_look(struct kernel_host *h, enum host_channel from, const struct jmsg *m,
                    bool ours)
{
    struct lost *l = &h->lost;
    bool idle = ours && str_find(m->content, STR("\"idle\"")) >= 0;
    /* A message with a smaller number may come when it is ready, on another channel. */
    if (h->state == HOST_STARTING)
        count(l, id_of(m->header));
    if (h->state != HOST_READY)
        return;
    l->strangers = l->strangers || is_strange(h, m->parent);
    count(l, id_of(m->header));
    if (ours)
        count_ours(l, from, idle);
    if (from == CH_SHELL && str_find(m->header, STR("\"execute_reply\"")) >= 0) {
        l->replied = true;
        if (h->busy)
            timer_begin(h->loop, &l->ask, ASK_MS, on_ask);
    }
    if (!h->busy)
        timer_stop(&l->ask);
    if (l->replied && !h->busy && !l->over) {
        l->over = true;
        if (missed(l) && !l->strangers)
            tell(h);
    }
    if (!l->asked || !ours)
        return;
    if (from == CH_SHELL)
        l->asked |= ANSWERED;
    else if (from == CH_IOPUB && idle)
        l->asked |= IDLE;
    if ((l->asked & ANSWERED) && (l->asked & IDLE) && h->busy && l->missing)
        idle_instead(h);
}

void host_lost_cell(struct kernel_host *h)
{
    timer_stop(&h->lost.ask);
    if (!h->lost.over) /* else it was dropped after the last cell */
        h->lost.missing = 0;
    h->lost.replied = h->lost.over = h->lost.open = false;
    h->lost.asked = h->lost.answers = h->lost.begun = 0;
}

void host_lost_reset(struct kernel_host *h)
{
    timer_stop(&h->lost.ask);
    h->lost = (struct lost){0};
}
