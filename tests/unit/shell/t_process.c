/* SPDX-License-Identifier: MIT */
/*
 * Plain processes, of which the keeper that is this test says what becomes: how they are
 * started, what their callers learn, input that is given once, and the next worker.
 */
#include "shell/process.h"

#include "base/clock.h"
#include "os/spawn.h"
#include "shell/spool.h"

#include "t.h"

#include <fcntl.h>
#include <pty.h>
#include <termios.h>

static struct loop *loop;
static struct engine en;
static int keeper;
static struct keep_msg got;
static char space[KEEP_DATA + sizeof(struct keep_head)];
static struct keep_proc r; /* the record of the newest process */
static int spools[2];      /* its spools */
static struct err e;
static char path_var[] = "PATH=/usr/bin", *env[] = {path_var, NULL};
static char word[] = "prog", *argv_of[] = {word, word, NULL};

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg, (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg, (void)key, (void)value;
}

static void on_ready(void *arg) { loop_stop(arg); }

static void on_signal(void *arg, int signo) { (void)arg, (void)signo; }

static void begin(void)
{
    static const struct keeper_client_events ev = {on_held, on_state, on_ready,
                                                   on_signal};
    int fds[2];
    CHECK_INT(keep_pair(fds), 0);
    keeper = fds[1];
    loop = loop_new();
    CHECK(loop && engine_open(&en, loop, &e) == 0);
    en.keeper = keeper_client_open(loop, fds[0], &ev, loop);
    CHECK(en.keeper);
    en.env = env;
    int n = snprintf(en.state_dir, sizeof(en.state_dir), "%s", t_dir());
    CHECK(n > 0 && (size_t)n < sizeof(en.state_dir));
    snprintf(en.home, sizeof(en.home), "/home/of");
    t_sh("mkdir spool");
}

static void turn(void)
{
    for (int i = 0; i < 2; i++) {
        struct keep_msg m = {.h = {.type = KEEP_READY}};
        CHECK_INT(keep_send(keeper, &m), 0);
        CHECK_INT(loop_run(loop), 0);
    }
}

static void hear(int type)
{
    CHECK_INT(keep_recv(keeper, &got, space), 1);
    CHECK_INT(got.h.type, type);
}

static void hear_nothing(void)
{
    CHECK_INT(keep_recv(keeper, &got, space), -1);
    CHECK_INT(errno, EAGAIN);
}

static void hear_all(void)
{
    while (keep_recv(keeper, &got, space) == 1)
        keep_release(&got);
}

static struct process *start_as(const struct process_opts *o)
{
    struct process *p = process_start(&en, o, &e);
    if (!p)
        T_FAIL("%s", e.text);
    hear(KEEP_SPAWN);
    r = (struct keep_proc){.id = got.h.id, .kind = got.h.flags & 7};
    r.out[0].cap = r.out[1].cap = (uint64_t)got.h.kib << 10;
    int at = (r.kind & KEEP_PTY) ? 2 : 4 + !!(r.kind & KEEP_IN);
    spools[0] = got.fds[at];
    spools[1] = (r.kind & KEEP_ERR) ? got.fds[at + 2] : -1;
    CHECK_INT(got.nfds, at + ((r.kind & KEEP_ERR) ? 3 : 1));
    return p;
}

static struct process *start(void)
{
    return start_as(&(struct process_opts){.argv = argv_of});
}

/* The record has changed. */
static void say(void)
{
    struct keep_msg m = {.h = {.type = KEEP_PROC, .id = r.id}, .body = str_n(&r, sizeof(r))};
    CHECK_INT(keep_send(keeper, &m), 0);
    turn();
}

static void say_flags(uint32_t flags)
{
    r.flags |= flags;
    say();
}

/* ---- callers ---- */

static struct seen {
    int done, windows;
    struct op_result r;
    char out[2][100];
} seen[4];

static size_t on_output(struct op *op, int stream, uint64_t offset, struct str bytes)
{
    struct seen *s = op->owner;
    if (offset + bytes.n < sizeof(s->out[0]))
        memcpy(s->out[stream] + offset, bytes.p, bytes.n);
    return bytes.n;
}

static void on_note(struct op *op, enum note_kind kind, const char *text, uint64_t from,
                    uint64_t to)
{
    struct seen *s = op->owner;
    (void)text, (void)to;
    if (kind == NOTE_WINDOW)
        s->windows = (int)from;
}

static void on_done(struct op *op)
{
    struct seen *s = op->owner;
    s->done++;
    s->r = op->r;
}

static const struct op_sink sink = {.output = on_output, .note = on_note, .done = on_done};

static struct op *caller(int i)
{
    struct op *op = op_new(OP_WAIT, &sink, &seen[i]);
    op->limit = UINT64_MAX;
    op->stream = true;
    return op;
}

static void put_output(int i, const char *text)
{
    size_t n = strlen(text);
    CHECK_INT(pwrite(spools[i], text, n, (off_t)r.out[i].offset), n);
    r.out[i].offset += n;
}

/* ---- starts ---- */

TEST(each_has_a_name_of_its_own)
{
    struct process_opts o = {.argv = argv_of, .name = STR("p2")};
    begin();
    CHECK_STR(process_name(start()), "p1");
    CHECK_STR(process_name(start_as(&o)), "p2");
    CHECK_STR(process_name(start()), "p3");
    CHECK(process_find(&en, STR("p3")) && !process_find(&en, STR("p4")));
    CHECK(!process_start(&en, &o, &e));
    CHECK_INT(e.code, ERR_EXISTS);
    char name[] = "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn";
    o.name = str_n(name, 41);
    CHECK(!process_start(&en, &o, &e) && e.code == ERR_INVALID);
    o.name = STR("a/b");
    CHECK(!process_start(&en, &o, &e) && e.code == ERR_INVALID);
    o.name = str_n(name, 40);
    start_as(&o);
    o = (struct process_opts){.argv = argv_of, .user = STR("no-such-user")};
    CHECK(!process_start(&en, &o, &e) && e.code != ERR_NONE);
    hear_nothing();
}

TEST(what_is_started_is_told_to_the_keeper)
{
    struct process_opts o = {.argv = argv_of, .call = "call-1", .cwd = STR("/"),
                             .with_stdin = true, .whole = true, .until_eof = true};
    begin();
    struct process *p = start_as(&o);
    CHECK_INT(r.kind, KEEP_IN | KEEP_ERR);
    CHECK(got.h.flags & KEEP_WHOLE);
    CHECK_MEM(got.key.p, got.key.n, "process/p1");
    struct json *j = json_parse(got.value, &e);
    CHECK_INT(json_int(j, "proc", 0), (long long)r.id);
    CHECK_STR(json_str(j, "head", "").p, "prog prog");
    CHECK_STR(json_str(j, "cwd", "").p, "/");
    CHECK_STR(json_str(j, "call", "").p, "call-1");
    CHECK_INT(json_int(j, "uid", -1), getuid());
    CHECK_INT(json_int(j, "gid", -1), getgid());
    CHECK(json_bool(j, "whole", false) && json_bool(j, "until_eof", false));
    CHECK_STR(json_str(j, "input", "none").p, "");
    json_free(j);
    CHECK(process_by_call(&en, "call-1") == p && !process_by_call(&en, "call-2"));
    CHECK(!process_has_tty(p) && !process_ended(p));
    struct process *q = start();
    CHECK_INT(r.kind, KEEP_ERR);
    CHECK(got.h.flags & KEEP_AWAITED);
    CHECK(!process_by_call(&en, ""));
    o = (struct process_opts){.argv = argv_of, .merge = true};
    start_as(&o);
    CHECK_INT(r.kind, 0);
    o = (struct process_opts){.argv = argv_of, .rows = 30, .cols = 100};
    struct process *t = start_as(&o);
    CHECK_INT(r.kind, KEEP_PTY);
    struct winsize size;
    CHECK_INT(ioctl(got.fds[0], TIOCGWINSZ, &size), 0);
    CHECK(size.ws_row == 30 && size.ws_col == 100);
    CHECK(process_has_tty(t));
    CHECK_INT(process_resize(t, 40, 90, &e), 0);
    CHECK_INT(ioctl(got.fds[0], TIOCGWINSZ, &size), 0);
    CHECK(size.ws_row == 40 && size.ws_col == 90);
    CHECK_INT(process_resize(t, 0, 90, &e), -1);
    CHECK_INT(process_resize(t, 90, 0, &e), -1);
    CHECK_INT(process_resize(t, 1, 1, &e), 0);
    CHECK_INT(process_resize(q, 40, 90, &e), -1);
    CHECK(strstr(e.text, "has no terminal"));
}

TEST(spools_of_those_that_are_read_whole_share_the_room)
{
    struct process_opts o = {.argv = argv_of, .whole = true};
    begin();
    CHECK_INT(process_spool_room(&en, false), LIMIT_SPOOL_MAX);
    CHECK_INT(process_spool_room(&en, true), LIMIT_SPOOL_MAX);
    start(); /* its own are shortened when there is no room */
    CHECK_INT(r.out[0].cap, LIMIT_SPOOL_MAX / 2);
    CHECK_INT(process_spool_room(&en, true), LIMIT_SPOOL_MAX);
    for (int i = 0; i < 12; i++) {
        start_as(&o);
        keep_release(&got);
    }
    /* 12 of 64 MiB leave 256 MiB, of which one more may have a quarter. */
    CHECK_INT(process_spool_room(&en, true), LIMIT_SPOOL_MAX);
    start_as(&o);
    uint64_t room = process_spool_room(&en, true);
    CHECK_INT(room, (LIMIT_SPOOL_TOTAL - 13ull * LIMIT_SPOOL_MAX) / 4);
    CHECK_INT(process_spool_room(&en, false), LIMIT_SPOOL_MAX);
    for (int i = 0; i < 60; i++) {
        start_as(&o);
        keep_release(&got);
    }
    CHECK_INT(process_spool_room(&en, true), 256 << 10);
    en.state_dir[0] = 0;
    CHECK_INT(process_spool_room(&en, false), LIMIT_SPOOL_MEMORY);
}

/* ---- ends ---- */

TEST(it_has_ended_when_its_output_has)
{
    begin();
    struct process *p = start();
    CHECK(!en.idle_since_ms || en.idle_since_ms <= clock_ms());
    process_wait(p, caller(0));
    r.pid = 4711;
    say_flags(KEEP_P_STARTED);
    CHECK_INT(process_pid(p), 4711);
    put_output(0, "out");
    put_output(1, "error");
    r.status = 7 << 8;
    say_flags(KEEP_P_EXITED);
    CHECK_STR(seen[0].out[0], "out");
    CHECK_STR(seen[0].out[1], "error");
    r.out[0].eof = 1;
    say();
    CHECK(!process_ended(p)); /* its error output is open */
    CHECK_INT(process_signal(p, 15, false, &e), -1);
    CHECK(!seen[0].done);
    r.out[1].eof = 1;
    say();
    CHECK(process_ended(p));
    CHECK_INT(seen[0].done, 1);
    CHECK(seen[0].r.state == OP_ENDED && seen[0].r.exit == 7 && seen[0].r.signo == 0);
    CHECK(seen[0].r.to == 3 && seen[0].r.seq == r.id);
    CHECK_INT(process_spool_bytes(p), 8);
    process_wait(p, caller(1)); /* who comes later gets the same */
    turn();
    CHECK(seen[1].done == 1 && seen[1].r.exit == 7);
    CHECK_STR(seen[1].out[0], "out");
    struct json *j = process_json(p);
    CHECK_STR(json_str(j, "state", "").p, "ended");
    CHECK_INT(json_int(j, "exit", -1), 7);
    CHECK_INT(json_int(j, "pid", -1), 4711);
    CHECK_INT(json_int(j, "output", -1), 3);
    CHECK_INT(json_int(j, "error_output", -1), 5);
    int64_t ms = json_int(j, "running_ms", -1);
    CHECK(ms >= 0 && ms < 60000);
    json_free(j);
    CHECK_INT(process_signal(p, 15, false, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK_INT(process_input(p, "id", STR("x"), false, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
}

TEST(a_child_that_holds_the_output_open_delays_the_end_for_a_while)
{
    begin();
    struct process *p = start_as(&(struct process_opts){.argv = argv_of, .until_eof = true});
    process_wait(p, caller(0));
    r.status = 9;
    say_flags(KEEP_P_STARTED | KEEP_P_EXITED | KEEP_P_HELD);
    process_let_go(p);
    turn();
    CHECK(!seen[0].done); /* its output is held back: the end is not near */
    r.flags &= ~(uint32_t)KEEP_P_HELD;
    say();
    while (!seen[0].done)
        turn();
    CHECK(process_ended(p));
    CHECK(seen[0].r.state == OP_ENDED && seen[0].r.signo == 9 && seen[0].r.exit == 137);
}

TEST(what_does_not_start_says_why)
{
    static const struct {
        int step, errnum, exit;
        const char *words;
    } rows[] = {{SPAWN_EXEC, ENOENT, 127, "cannot run prog prog: "},
                {SPAWN_EXEC, EACCES, 126, "cannot run prog prog: "},
                {SPAWN_CWD, ENOENT, 0, "cannot start prog prog in /home/of: "}};
    begin();
    for (size_t i = 0; i < 3; i++) {
        struct process *p = start();
        process_wait(p, caller((int)i));
        r.step = rows[i].step;
        r.errnum = rows[i].errnum;
        say_flags(KEEP_P_FAILED);
        CHECK(process_ended(p));
        CHECK(seen[i].done == 1 && seen[i].r.state == OP_FAILED);
        CHECK_INT(seen[i].r.exit, rows[i].exit);
        CHECK(strncmp(seen[i].r.err.text, rows[i].words, strlen(rows[i].words)) == 0);
        CHECK(strstr(seen[i].r.err.text, strerror(rows[i].errnum)));
        struct json *j = process_json(p);
        CHECK(!json_has(j, "exit") && !json_has(j, "pid"));
        json_free(j);
    }
}

TEST(the_oldest_that_has_ended_makes_room)
{
    struct process *p[3];
    begin();
    CHECK(!process_forget_oldest(&en));
    for (int i = 0; i < 3; i++) {
        p[i] = start();
        if (i < 2) {
            int64_t before = clock_wall_ms();
            say_flags(KEEP_P_FAILED);
            while (clock_wall_ms() == before) /* the next one ends later */
                ;
        }
    }
    hear_all();
    CHECK(process_forget_oldest(&en));
    CHECK(!process_find(&en, STR("p1")) && process_find(&en, STR("p2")) == p[1]);
    hear(KEEP_FORGET);
    hear(KEEP_PUT);
    CHECK_MEM(got.key.p, got.key.n, "process/p1");
    CHECK_INT(got.value.n, 0);
    t_sh("test ! -e spool/process-p1.out && test -e spool/process-p2.out");
    CHECK(process_forget_oldest(&en));
    CHECK(!process_forget_oldest(&en)); /* the last one runs */
    turn();
    struct process_opts o = {.argv = argv_of, .name = STR("p3")};
    CHECK(!process_start(&en, &o, &e));
    say_flags(KEEP_P_FAILED);
    CHECK(process_ended(p[2]));
    CHECK(process_start(&en, &o, &e)); /* its name is free again */
}

TEST(when_the_server_ends_its_callers_are_told)
{
    begin();
    struct process *p = start();
    process_wait(p, caller(0));
    process_cancel(p);
    turn();
    CHECK(seen[0].done == 1 && seen[0].r.state == OP_FAILED);
    CHECK_INT(seen[0].r.err.code, ERR_CANCELLED);
}

/* ---- waits ---- */

TEST(a_wait_ends_with_the_start_or_in_time)
{
    begin();
    struct process *p = start();
    struct op *op = caller(0);
    op->detach = true;
    process_wait(p, op);
    turn();
    CHECK(!seen[0].done);
    say_flags(KEEP_P_STARTED);
    CHECK(seen[0].done == 1 && seen[0].r.state == OP_RUNNING);
    CHECK(seen[0].r.why == OP_DETACHED && seen[0].r.seq == r.id);
    op = caller(1);
    op->detach = true;
    process_wait(p, op); /* it has started already */
    turn();
    CHECK(seen[1].done == 1 && seen[1].r.why == OP_DETACHED);
    put_output(0, "some");
    say();
    op = caller(2);
    op->timeout_ms = 1;
    process_wait(p, op);
    while (!seen[2].done)
        turn();
    CHECK(seen[2].r.state == OP_RUNNING && seen[2].r.why == OP_TIMEOUT);
    CHECK(seen[2].r.to == 4 && seen[2].r.duration_ms > 0);
    op = caller(3);
    op->idle_ms = 1;
    process_wait(p, op);
    while (!seen[3].done)
        turn();
    CHECK(seen[3].r.state == OP_RUNNING && seen[3].r.why == OP_IDLE);
    CHECK_INT(seen[3].r.seq, (long long)r.id);
}

TEST(a_reader_ends_at_its_limit_or_at_what_there_is)
{
    begin();
    struct process *p = start();
    put_output(0, "0123456789");
    say();
    for (int i = 0; i < 2; i++) {
        struct op *op = caller(i);
        op->kind = OP_LOGS;
        op->limit = i ? 100 : 4;
        process_wait(p, op);
        turn();
        CHECK(seen[i].done == 1 && seen[i].r.state == OP_ENDED);
        CHECK_INT(seen[i].r.to, i ? 10 : 4);
    }
    CHECK_STR(seen[0].out[0], "0123");
}

/* ---- signals and input ---- */

static void hear_signal(int verb, int sig)
{
    struct reaper_request q;
    hear(KEEP_REAPER);
    CHECK_INT(got.body.n, sizeof(q));
    memcpy(&q, got.body.p, sizeof(q));
    CHECK(q.verb == (unsigned)verb && q.sig == sig && q.pid == 4711 && q.root == 1);
}

TEST(a_signal_before_the_start_is_sent_after_it)
{
    begin();
    struct process *p = start();
    CHECK_INT(process_signal(p, 15, true, &e), 0);
    hear_nothing();
    r.pid = 4711;
    say_flags(KEEP_P_STARTED);
    hear_signal(REAPER_SIGNAL_TREE, 15);
    say();
    hear_nothing(); /* once */
    CHECK_INT(process_signal(p, 2, false, &e), 0);
    hear_signal(REAPER_SIGNAL_GROUP, 2);
    hear_nothing();
}

TEST(an_input_with_an_id_is_written_once)
{
    static char big[192 << 10];
    struct process_opts o = {.argv = argv_of, .with_stdin = true};
    uint64_t accepted;
    begin();
    struct process *q = start();
    CHECK_INT(process_input(q, "a", STR("x"), false, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(process_stdin_room(q, &accepted), 0);
    struct process *p = start_as(&o);
    CHECK_INT(process_stdin_room(p, &accepted), 192 << 10);
    CHECK_INT(accepted, 0);
    CHECK_INT(process_input(p, "a", STR("hello"), false, &e), 0);
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, "hello");
    CHECK_MEM(got.key.p, got.key.n, "process/p2");
    struct json *j = json_parse(got.value, &e);
    CHECK_STR(json_str(j, "input", "").p, "a");
    CHECK_INT(json_int(j, "input_at", -1), 0);
    json_free(j);
    hear_nothing();
    CHECK_INT(process_input(p, "a", STR("hello"), true, &e), 0);
    hear(KEEP_CLOSE); /* the bytes were there already */
    hear_nothing();
    process_stdin_room(p, &accepted);
    CHECK_INT(accepted, 5);
    process_stdin(p, 3, STR("lo, you"), false);
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, ", you");
    CHECK_INT(got.h.a, 5);
    memset(big, 'x', sizeof(big));
    CHECK_INT(process_input(p, "b", str_n(big, sizeof(big) - 9), false, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    hear_nothing();
    CHECK_INT(process_input(p, "b", str_n(big, sizeof(big) - 10), false, &e), 0);
    size_t n = 0;
    for (int i = 0; n < sizeof(big) - 10; i++) {
        hear(KEEP_WRITE);
        CHECK_INT(got.h.a, 10 + n);
        CHECK_INT(got.key.n > 0, i == 0);
        n += got.body.n;
    }
    CHECK_INT(n, sizeof(big) - 10);
    hear_nothing();
    CHECK_INT(process_stdin_room(p, &accepted), 0);
    r.input = 1000;
    struct op *op = caller(0);
    op->with_stdin = true;
    process_wait(p, op);
    say();
    CHECK_INT(seen[0].windows, 1000);
    CHECK_INT(process_stdin_room(p, &accepted), 1000);
}

TEST(a_terminal_ends_its_input_by_a_character)
{
    struct process_opts o = {.argv = argv_of, .rows = 5, .cols = 5};
    struct termios t;
    begin();
    struct process *p = start_as(&o);
    CHECK_INT(process_input(p, "a", STR("ignored"), true, &e), 0);
    int slave = dup(got.fds[0]);
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, "\4");
    hear_nothing(); /* and is not closed */
    CHECK_INT(tcgetattr(slave, &t), 0);
    t.c_cc[VEOF] = 'z';
    CHECK_INT(tcsetattr(slave, TCSANOW, &t), 0);
    CHECK_INT(process_input(p, "b", STR(""), true, &e), 0);
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, "z");
    CHECK_INT(process_input(p, "c", STR("text"), false, &e), 0);
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, "text");
}

TEST(a_question_and_its_state_are_one_step_if_they_fit)
{
    static char big[LIMIT_BLOB_MAX];
    struct process_opts o = {.argv = argv_of, .with_stdin = true};
    begin();
    struct process *p = start_as(&o);
    memset(big, 'x', sizeof(big));
    process_ask(p, str_n(big, sizeof(big) - 5), STR("ke"), STR("val"));
    hear(KEEP_WRITE);
    CHECK(got.key.n == 2 && got.value.n == 3 && got.body.n == sizeof(big) - 5);
    CHECK_INT(got.h.flags, KEEP_QUIET);
    process_ask(p, str_n(big, sizeof(big) - 4), STR("ke"), STR("val"));
    hear(KEEP_PUT);
    CHECK(got.key.n == 2 && got.value.n == 3);
    hear(KEEP_WRITE);
    CHECK_INT(got.body.n, 64 << 10);
    hear(KEEP_WRITE);
    CHECK_INT(got.body.n, sizeof(big) - 4 - (64 << 10));
    hear_nothing();
}

/* ---- the next worker ---- */

TEST(the_next_worker_takes_it_up)
{
    static const char state[] =
        "{\"proc\":41,\"head\":\"cat\",\"cwd\":\"/usr\",\"call\":\"c\",\"wall_ms\":5,"
        "\"uid\":3,\"gid\":4,\"whole\":true,\"until_eof\":true,\"input\":\"i\","
        "\"input_at\":2}";
    begin();
    r = (struct keep_proc){.id = 41, .kind = KEEP_IN, .input = 6, .flags = KEEP_P_STARTED,
                           .pid = 4711};
    struct keep_msg m = {.h = {.type = KEEP_PROC, .flags = KEEP_ALL, .id = 41, .a = 2},
                         .body = str_n(&r, sizeof(r)),
                         .fds = {open("/dev/null", O_RDWR | O_CLOEXEC)},
                         .nfds = 1};
    CHECK_INT(keep_send(keeper, &m), 0);
    turn();
    hear(KEEP_SEEN);
    process_resume(&en, STR("p7"), STR(state));
    process_resume(&en, STR("p8"), STR(state)); /* its program is taken */
    process_resume(&en, STR("pp"), STR("{"));
    CHECK(!process_find(&en, STR("p8")) && !process_find(&en, STR("pp")));
    struct process *p = process_find(&en, STR("p7"));
    CHECK(p && process_by_call(&en, "c") == p);
    CHECK_INT(process_since(p), 5);
    struct json *j = process_json(p);
    CHECK_STR(json_str(j, "command", "").p, "cat");
    CHECK_STR(json_str(j, "cwd", "").p, "/usr");
    CHECK_STR(json_str(j, "state", "").p, "running");
    json_free(j);
    hear_all();
    CHECK_INT(process_input(p, "i", STR("hello"), false, &e), 0); /* 4 of them are there */
    hear(KEEP_WRITE);
    CHECK_MEM(got.body.p, got.body.n, "o");
    CHECK_INT(got.h.a, 6);
    CHECK_INT(process_signal(p, 1, false, &e), 0);
    hear_signal(REAPER_SIGNAL_GROUP, 1);
    CHECK(got.h.a == (3 | (uint64_t)4 << 32));
    CHECK_STR(process_name(start()), "p9"); /* p8 was a name, too */
}

T_MAIN
