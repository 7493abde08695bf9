/* SPDX-License-Identifier: MIT */
/*
 * Actions that a peer sends many of at once: what the log has of them and when, on a disk
 * that has room, has none, or has some, and after a crash of the worker at each write.
 */
#include "worker.h"

#include "base/log.h"

#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define RESIZE "\"action\":\"resize\",\"args\":{\"rows\":5,\"cols\":20}"

enum { MOST = 100 };

/* ---- the disk ---- */

static long room = -1;   /* bytes that the log may still grow by; -1: any number */
static unsigned writes;  /* to the log */
static unsigned dies_at; /* the write after which the process ends; 0: none */
static long dies_after;  /* and the bytes of it that are written; -1: all */

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    size_t all_bytes = 0, most = room < 0 ? SIZE_MAX : (size_t)room;
    bool dies = ++writes == dies_at;
    if (dies && dies_after >= 0)
        most = (size_t)dies_after;
    for (int i = 0; i < n && most > 0; i++) {
        size_t piece = v[i].iov_len < most ? v[i].iov_len : most;
        if (piece > 0 && pwrite(fd, v[i].iov_base, piece, at + (off_t)all_bytes) < 0)
            T_FAIL("pwrite: %s", strerror(errno));
        all_bytes += piece;
        most -= piece;
    }
    if (dies)
        _exit(0);
    if (room >= 0)
        room -= (long)all_bytes;
    if (all_bytes == 0) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)all_bytes;
}

int ftruncate(int fd, off_t size)
{
    struct stat st;
    if (room >= 0 && fstat(fd, &st) == 0 && st.st_size > size)
        room += (long)(st.st_size - size);
    return (int)syscall(SYS_ftruncate, fd, size);
}

/* ---- what a sender and a watcher see ---- */

static struct buf seen = BUF_INIT(1 << 16);
static uint64_t base; /* ids are counted from the one after it */

/* "A1 A2 O1": the log from an id on; other lines are "-". */
static const char *log_from(uint64_t id)
{
    static struct buf b = BUF_INIT(1 << 16);
    buf_reset(&b);
    for (; id <= last(); id++) {
        struct event_members l;
        event_members(str_of(line_of(id)), &l);
        buf_addz(&b, b.n ? " " : "");
        if (l.kind == EVENT_OTHER)
            buf_addz(&b, "-");
        else
            buf_addf(&b, "%c%llu", l.kind == EVENT_ACTION ? 'A' : 'O',
                     (unsigned long long)(l.kind == EVENT_ACTION ? l.id : l.cause) -
                         base);
    }
    return buf_z(&b);
}

/* How many observations the log has of each action. */
static void count_ends(unsigned ends[MOST])
{
    memset(ends, 0, MOST * sizeof(*ends));
    for (uint64_t id = 1; id <= last(); id++) {
        struct event_members l;
        event_members(str_of(line_of(id)), &l);
        if (l.kind == EVENT_END && l.cause < MOST)
            ends[l.cause]++;
    }
}

static void on_ended(struct action_watch *w, uint64_t cause, uint64_t end,
                     const struct err *why)
{
    (void)w;
    if (end) {
        struct event_members l;
        event_members(str_of(line_of(end)), &l);
        CHECK(l.kind == EVENT_END && l.cause == cause);
    } else {
        CHECK_INT(why->code, ERR_LIMIT);
    }
    CHECK(!actions_find(all, cause));
    buf_addf(&seen, " %llu%s", (unsigned long long)(cause - base), end ? "" : "?");
}

static void on_refused(struct action_sender *s, struct str client_id,
                       const struct err *why)
{
    CHECK(s == all->sender && client_id.n == 6);
    CHECK_INT(why->code, ERR_LIMIT);
    CHECK(strstr(why->text, "No space left") && strstr(why->text, "free some space"));
    buf_addf(&seen, " !%c", client_id.p[5]);
}

static struct action_sender sender = {.refused = on_refused};
static struct action_watch watch = {.ended = on_ended};

static void begin_watched(void)
{
    begin_worker("{}");
    actions_watch(all, &watch);
    writes = 0;
}

static int send_as(const char *text, struct action_taken *t)
{
    struct json *m = json_parse(str_of(text), &e);
    if (!m)
        T_FAIL("%s: %s", text, e.text);
    e = (struct err)ERR_INIT;
    return actions_send(all, m, &sender, t, &e);
}

/* Sends one, which waits for others. */
static void join(const char *text)
{
    struct action_taken t;
    CHECK_INT(send_as(text, &t), 1);
    CHECK(t.id == 0 && t.end == 0 && !t.repeated);
}

static void commit(void)
{
    actions_commit(all);
    CHECK(all->joined.n == 0 && all->ended.n == 0 && !all->beginning);
    take_sent();
}

/* ---- with room ---- */

TEST(a_group_is_one_write_and_so_are_its_observations)
{
    begin_watched();
    for (int i = 0; i < 3; i++)
        join("{" RESIZE "}");
    CHECK_INT(last(), 0);
    CHECK_INT(all->stats.pending, 0);
    commit();
    CHECK_STR(log_from(1), "A1 A2 A3 O1 O2 O3");
    CHECK_STR(buf_z(&seen), " 1 2 3");
    CHECK_INT(writes, 2);
    CHECK(strstr(event_of(1), RESIZE) && strstr(event_of(4), "\"cause\":1,"));
    CHECK(all->stats.actions == 3 && all->stats.observations == 3);
    CHECK(all->stats.errors == 3 && all->stats.pending == 0); /* there is no session */
    commit();
    join("{" RESIZE ",\"client_id\":\"one\"}");
    commit();
    CHECK_STR(log_from(7), "A7 O7");
    CHECK(known_find(all, 'c', STR("one"))->end == 8);
    CHECK_INT(writes, 4);
}

TEST(a_long_group_is_several)
{
    begin_watched();
    for (int i = 0; i < 2 * GROUP_MAX + 1; i++)
        join("{" RESIZE "}");
    CHECK_INT(last(), 4 * GROUP_MAX);
    commit();
    CHECK_INT(last(), 4 * GROUP_MAX + 2);
    CHECK_INT(writes, 6);
    unsigned ends[MOST];
    count_ends(ends);
    for (int i = 1; i <= GROUP_MAX; i++)
        CHECK_INT(ends[i], 1);
}

TEST(a_long_action_is_a_group_of_its_own)
{
    static char text[GROUP_BYTES + 200];
    struct action_taken t;
    begin_watched();
    memset(text, 'x', sizeof(text));
    memcpy(text, "{" RESIZE ",\"x\":\"", sizeof("{" RESIZE ",\"x\":\"") - 1);
    memcpy(text + sizeof(text) - 3, "\"}", 3);
    join("{" RESIZE "}");
    join("{" RESIZE "}");
    CHECK_INT(send_as(text, &t), 0);
    CHECK(t.id == 5 && !t.repeated);
    CHECK_STR(log_from(1), "A1 A2 O1 O2 A5 O5");
    join("{" RESIZE "}");
    commit();
    CHECK_STR(log_from(5), "A5 O5 A7 O7");
    CHECK_STR(buf_z(&seen), " 1 2 5 7");
}

TEST(other_kinds_begin_after_the_observations_before_them)
{
    begin_watched();
    join("{" RESIZE "}");
    join("{" WAITS "}");
    join("{" RESIZE "}");
    commit();
    CHECK_STR(log_from(1), "A1 A2 A3 O1 O3");
    CHECK_STR(buf_z(&seen), " 1 3");
    CHECK_INT(actions_find(all, 2)->begun, true);
    CHECK_INT(actions_cancel(all, 2, &e), 0);
    CHECK_STR(log_from(4), "O1 O3 O2");
    join("{" RESIZE "}");
    join("{\"action\":\"cancel\",\"args\":{\"id\":77}}");
    commit();
    CHECK_STR(log_from(7), "A7 A8 O7 O8");
}

TEST(a_name_is_found_in_the_group)
{
    struct action_taken t;
    begin_watched();
    join("{" RESIZE ",\"client_id\":\"one\"}");
    join("{" WAITS ",\"client_id\":\"two\"}");
    CHECK_INT(send_as("{" RUN ",\"client_id\":\"two\"}", &t), 0);
    CHECK(t.repeated && t.id == 2 && t.end == 0);
    CHECK_INT(send_as("{" RUN ",\"client_id\":\"one\"}", &t), 0);
    CHECK(t.repeated && t.id == 1 && t.end == 3);
    CHECK_STR(log_from(1), "A1 A2 O1");
}

TEST(what_is_wrong_is_refused_at_once)
{
    struct action_taken t;
    begin_watched();
    join("{" RESIZE "}");
    CHECK_INT(send_as("{\"action\":\"resize\",\"args\":{\"rows\":0,\"cols\":1}}", &t),
              -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(send_as("{\"action\":\"fly\"}", &t), -1);
    CHECK(strstr(e.text, "the action \"fly\" is not defined"));
    CHECK_INT(send_as("{" RESIZE ",\"session\":\"a b\"}", &t), -1);
    join("{" RESIZE "}");
    commit();
    CHECK_STR(log_from(1), "A1 O1 A3 O3"); /* written before the unknown one */
    all->stats.pending = ACTIONS_MAX - 2;
    for (int i = 0; i < 5; i++)
        join("{" RESIZE "}");
    commit();
    CHECK_INT(all->stats.pending, ACTIONS_MAX - 2);
    join("{" WAITS "}");
    join("{" WAITS "}");
    CHECK_INT(send_as("{" WAITS "}", &t), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(all->stats.pending, ACTIONS_MAX);
}

TEST(a_secret_is_hidden_from_the_action_that_brings_it_on)
{
    begin_watched();
    join("{" RESIZE ",\"note\":\"a word\"}");
    join("{" RESIZE ",\"secrets\":[\"word\"],\"note\":\"a word\"}");
    join("{" RESIZE ",\"note\":\"a word\"}");
    commit();
    CHECK(strstr(event_of(1), "\"note\":\"a word\"}"));
    CHECK(strstr(event_of(2), "\"note\":\"a <secret_hidden>\",\"masked\":1}"));
    CHECK(strstr(event_of(3), "\"note\":\"a <secret_hidden>\",\"masked\":1}"));
}

/* ---- without room ---- */

enum { SENT = 5, BEFORE = 1000 }; /* actions; so that all ids have four digits */

static char story[2][1 << 16];
static long line_bytes; /* of an action in the log */

/*
 * Sends five, as a group or one by one, to a disk with so much room. Writes what the
 * sender and the watcher saw, and the log, to out.
 */
static void send_five(bool group, long bytes, char out[1 << 16])
{
    static unsigned round;
    struct action_taken t;
    base = last();
    buf_reset(&seen);
    room = bytes;
    round++;
    for (int i = 0; i < SENT; i++) {
        char text[200];
        snprintf(text, sizeof(text), "{" RESIZE ",\"client_id\":\"c%04u%d\"}", round, i);
        if (group)
            join(text);
        else if (order_as(text, NULL, &t) < 0)
            buf_addf(&seen, " !%d", i);
    }
    if (group)
        commit();
    room = -1;
    snprintf(out, 1 << 16, "%s: %s", buf_z(&seen), log_from(base + 1));
}

TEST(a_disk_that_fills_refuses_what_does_not_fit)
{
    begin_watched();
    log_init("log", 2, LOG_ERROR, false);
    if (!freopen("/dev/null", "w", stderr)) /* each observation without room is logged */
        T_FAIL("/dev/null: %s", strerror(errno));
    for (int i = 0; i < BEFORE; i++)
        join("{" RESIZE "}");
    commit();
    join("{" RESIZE ",\"client_id\":\"c00000\"}");
    commit();
    line_bytes = (long)strlen(line_of(2 * BEFORE + 1)) + EVENT_SUM + 1;
    for (long bytes = 0; bytes < 20 * line_bytes; bytes += 61) {
        for (int group = 0; group < 2; group++) {
            uint64_t before = all->stats.refused;
            send_five(group, bytes, story[group]);
            uint64_t lost = all->stats.refused - before;
            /* Each action is in the log or was refused, and has ended or its end was. */
            unsigned got = 0, ended = 0, no = 0, unseen = 0;
            for (const char *c = story[group]; *c; c++) {
                got += *c == 'A';
                ended += *c == 'O';
                no += *c == '!';
                unseen += *c == '?';
            }
            CHECK(got + no == SENT && ended + unseen == got && lost == no + unseen);
            CHECK_INT(all->stats.pending, 0);
            order("{" RESIZE "}"); /* there is room again: one gap reports all of them */
            char want[40];
            snprintf(want, sizeof(want), "\"count\":%u,", (unsigned)lost);
            CHECK(lost == 0 || strstr(event_of(last() - 2), want));
        }
        if (bytes < SENT * line_bytes)
            CHECK_STR(story[1], story[0]);
        else
            CHECK(!strchr(story[1], '!'));
    }
    CHECK_STR(story[0], " 1 3 5 7 9: A1 O1 A3 O3 A5 O5 A7 O7 A9 O9");
    CHECK_STR(story[1], " 1 2 3 4 5: A1 A2 A3 A4 A5 O1 O2 O3 O4 O5");
}

/* ---- a crash ---- */

/* The worker ends at its write number `at`, of which `bytes` are written; -1: all. */
static void crash(unsigned at, long bytes, unsigned least, unsigned most)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        dies_at = writes + at;
        dies_after = bytes;
        for (int i = 0; i < SENT; i++)
            join("{" RESIZE "}");
        commit();
        _exit(9);
    }
    CHECK_INT(t_reap(pid), 0);
    uint64_t before = last();
    begin_worker("{}");
    be_ready();
    unsigned actions = 0, ends[MOST];
    count_ends(ends);
    for (uint64_t id = before + 1; id <= last(); id++) {
        struct event_members l;
        event_members(str_of(line_of(id)), &l);
        if (l.kind == EVENT_ACTION) {
            CHECK_INT(ends[id], 1);
            actions++;
        }
    }
    CHECK(actions >= least && actions <= most);
    CHECK_INT(all->stats.pending, 0);
}

static void begin_to_crash(void)
{
    begin_worker("{}");
    be_ready();
    order("{" RESIZE "}");
    turn();
    CHECK(*kept_text("events/open")); /* the next worker has the actions of this one */
}

TEST(each_action_of_a_group_has_one_observation_after_a_crash)
{
    begin_to_crash();
    crash(1, -1, SENT, SENT); /* they are in the log and have not begun */
    crash(2, -1, SENT, SENT); /* and so are all observations */
    crash(2, 0, SENT, SENT);  /* they have begun, and no observation is in the log */
}

TEST(a_group_may_be_torn_by_a_crash)
{
    begin_to_crash();
    crash(1, 300, 1, 2);       /* a part of the actions is in the log */
    crash(2, 300, SENT, SENT); /* and a part of the observations */
    crash(1, 0, 0, 0);
}

T_MAIN
