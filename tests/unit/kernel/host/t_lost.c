/* SPDX-License-Identifier: MIT */
/*
 * Messages that a kernel drops, counted whatever the order in which its channels are
 * read: a kernel that numbers its messages, in this process, whose channels are in
 * order each by itself. Every dropped message is reported once, and no other.
 */
#include "kernel/host/own.h"

#include "t.h"

enum { MOST = 4096 };

/* A message, as far as it matters here. */
struct said {
    unsigned number;
    unsigned ours; /* the question that it answers */
    bool reply, idle;
};

static struct kernel_host h;
static struct queue {
    struct said m[MOST];
    unsigned n, at;
} queues[CHANNELS];
static unsigned number, dropped, told;
static unsigned gaps; /* the most at a time */

static uint32_t chance_state;
static bool chance(unsigned percent)
{
    chance_state = chance_state * 1664525 + 1013904223;
    return (chance_state >> 16) % 100 < percent;
}

/* The kernel sends a message, which has the next number. */
static void send(enum host_channel to, struct said m)
{
    struct queue *q = &queues[to];
    CHECK(q->n < MOST);
    m.number = ++number;
    q->m[q->n++] = m;
}

static void drop(unsigned n)
{
    number += n;
    dropped += n;
}

static void answer(enum host_channel to, unsigned question)
{
    send(CH_IOPUB, (struct said){.ours = question});
    send(to, (struct said){.ours = question});
    send(CH_IOPUB, (struct said){.ours = question, .idle = true});
}

/* Adds what the host has reported since the last call. */
static void read_lines(void)
{
    struct str rest = buf_str(&h.pending);
    while (rest.n) {
        struct err e = ERR_INIT;
        struct json *j = json_parse(str_cut(&rest, '\n'), &e);
        CHECK(str_eq(json_str(j, "host", ""), STR("gap")));
        struct str text = json_str(j, "text", "");
        uint64_t n;
        CHECK_INT(str_to_u64(str_cut(&text, ' '), &n), 0);
        CHECK(n > 0);
        told += (unsigned)n;
        json_free(j);
    }
    buf_reset(&h.pending);
}

/* The host reads the next message of that channel. */
static bool read_one(enum host_channel from)
{
    struct queue *q = &queues[from];
    char header[100];
    if (q->at == q->n)
        return false;
    struct said m = q->m[q->at++];
    snprintf(header, sizeof(header), "{\"msg_id\":\"k_1_%u\",\"msg_type\":\"%s\"}",
             m.number, m.reply ? "execute_reply" : "other");
    struct jmsg j = {str_of(header), STR("{}"), STR("{}"),
                     m.idle ? STR("{\"execution_state\":\"idle\"}") : STR("{}"), NULL, 0};
    if (m.idle && !m.ours)
        h.busy = false;
    host_lost_take(&h, from, &j, m.ours);
    gaps = h.lost.n > gaps ? h.lost.n : gaps;
    read_lines();
    return true;
}

static void read_all(void)
{
    for (int i = 0; i < CHANNELS; i++) {
        while (read_one((enum host_channel)i))
            ;
        queues[i].n = queues[i].at = 0;
    }
}

static void read_some(void)
{
    static const enum host_channel some[] = {CH_SHELL, CH_IOPUB, CH_IOPUB, CH_CONTROL};
    for (unsigned i = 0; i < 4 && !h.lost.over; i++) {
        if (chance(50))
            read_one(some[i]);
    }
}

static unsigned ask(enum host_channel on)
{
    host_lost_asked(&h, on, ++h.asked);
    return h.asked;
}

/* A host whose first question was answered; the end of this is to be read. */
static void start(unsigned first)
{
    h = (struct kernel_host){.state = HOST_STARTING, .session = "s", .loop = loop_new()};
    buf_init(&h.pending, 1 << 20);
    memset(queues, 0, sizeof(queues));
    dropped = told = gaps = 0;
    number = first - 1;
    answer(CH_SHELL, ask(CH_SHELL));
    CHECK(read_one(CH_SHELL) && read_one(CH_IOPUB));
    h.state = HOST_READY;
}

static void end(void)
{
    buf_release(&h.pending);
    host_lost_reset(&h);
    loop_free(h.loop);
}

static void begin_cell(void)
{
    h.busy = true;
    host_lost_cell(&h);
    send(CH_IOPUB, (struct said){0});
}

static void end_cell(void)
{
    send(CH_SHELL, (struct said){.reply = true});
    send(CH_IOPUB, (struct said){.idle = true});
}

/* A cell without a question: all that was dropped up to its end is reported then. */
static void plain_cell(unsigned drops)
{
    begin_cell();
    drop(drops);
    end_cell();
    read_all();
    CHECK(h.lost.over);
    CHECK_INT(told, dropped);
}

/* A cell that is asked about in the middle, when it is interrupted for one. */
static void cell(unsigned drops_percent, unsigned asks_percent)
{
    unsigned questions[8], n = 0;
    begin_cell();
    for (int i = 0; i < 40; i++) {
        if (chance(drops_percent))
            drop(1);
        else
            send(CH_IOPUB, (struct said){0});
        if (n < 8 && chance(asks_percent))
            questions[n++] = ask(CH_SHELL);
        if (chance(asks_percent))
            answer(CH_CONTROL, ask(CH_CONTROL));
        read_some();
    }
    unsigned before = dropped;
    end_cell();
    for (unsigned i = 0; i < n; i++) {
        answer(CH_SHELL, questions[i]);
        read_some();
    }
    while (!h.lost.over)
        read_some();
    CHECK(told <= before);
    if (n == 0 && asks_percent == 0)
        CHECK_INT(told, before);
}

static void cells(unsigned drops_percent, unsigned asks_percent)
{
    for (chance_state = 1; chance_state < 1000; chance_state += 7) {
        uint32_t seed = chance_state;
        start(chance_state);
        for (int i = 0; i < 5; i++)
            cell(drops_percent, asks_percent);
        read_all();
        plain_cell(0);
        end();
        chance_state = seed;
    }
}

TEST(none) { cells(0, 10); }
TEST(some) { cells(10, 0); }
TEST(some_with_questions) { cells(10, 5); }
TEST(many_with_questions) { cells(70, 10); }

TEST(nothing_is_read_for_long)
{
    start(1);
    plain_cell(0);
    begin_cell();
    for (int i = 0; i < 1000; i++) {
        drop(1 + (unsigned)i % 3);
        send(CH_IOPUB, (struct said){0});
        read_one(CH_IOPUB);
        if (i % 100 == 50)
            answer(CH_CONTROL, ask(CH_CONTROL));
    }
    CHECK_INT(gaps, LOST_GAPS);
    end_cell();
    read_all();
    CHECK(h.lost.over);
    CHECK(told <= dropped);
    plain_cell(3);
    end();
}

TEST(dropped_between_cells)
{
    start(1);
    plain_cell(1);
    drop(4);
    answer(CH_SHELL, ask(CH_SHELL));
    read_all();
    CHECK_INT(told, 1);
    plain_cell(2);
    end();
}

/* Of a kernel that never answers: the next cell does not wait for it. */
TEST(an_answer_that_never_comes)
{
    start(1);
    plain_cell(0);
    begin_cell();
    drop(2);
    ask(CH_CONTROL);
    send(CH_IOPUB, (struct said){0});
    drop(3);
    end_cell();
    read_all();
    CHECK(told <= 2);
    plain_cell(1);
    end();
}

TEST(without_numbers)
{
    struct jmsg m = {STR("{\"msg_id\":\"5a1f-33\"}"), STR("{}"), STR("{}"), STR("{}"), NULL, 0};
    start(1);
    host_lost_reset(&h);
    begin_cell();
    host_lost_take(&h, CH_IOPUB, &m, 0);
    CHECK_STR(h.lost.series, "");
    end();
}

T_MAIN
