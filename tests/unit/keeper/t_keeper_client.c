/* SPDX-License-Identifier: MIT */
/*
 * The worker's end of the keeper, against a keeper that is this test: what is sent for
 * each call, and what becomes of the messages that come.
 */
#include "keeper/keeper_client.h"

#include "base/limits.h"

#include "t.h"

#include <fcntl.h>
#include <sys/resource.h>

enum { CAP = 1 << 20 };

static struct loop *loop;
static struct keeper_client *client;
static int keeper; /* its end of the pair */
static struct keep_msg got;
static char space[KEEP_DATA + sizeof(struct keep_head)];
static struct proc prog;
static int changes, answers, answer_errnum;

static void on_held(void *arg, struct str name, int fd)
{
    (void)arg;
    (void)name;
    close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    (void)arg;
    (void)key;
    (void)value;
}

static void on_ready(void *arg) { loop_stop(arg); }

static void on_signal(void *arg, int signo)
{
    (void)arg;
    (void)signo;
}

static void on_changed(struct proc *p)
{
    CHECK(p == &prog);
    changes++;
}

static void on_answer(void *arg, const struct reaper_answer *a, int errnum)
{
    (void)arg;
    (void)a;
    answers++;
    answer_errnum = errnum;
}

static void begin(void)
{
    static const struct keeper_client_events ev = {on_held, on_state, on_ready,
                                                   on_signal};
    int fds[2];
    CHECK_INT(keep_pair(fds), 0);
    loop = loop_new();
    CHECK(loop);
    client = keeper_client_open(loop, fds[0], &ev, loop);
    CHECK(client);
    keeper = fds[1];
    prog.changed = on_changed;
}

static void say(const struct keep_msg *m) { CHECK_INT(keep_send(keeper, m), 0); }

/* The worker deals with all that was said. */
static void turn(void)
{
    struct keep_msg m = {.h = {.type = KEEP_READY}};
    say(&m);
    CHECK_INT(loop_run(loop), 0);
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

static void say_record(const struct keep_proc *r)
{
    struct keep_msg m = {.h = {.type = KEEP_PROC, .id = r->id},
                         .body = str_n(r, sizeof(*r))};
    say(&m);
}

/* A program with pipes whose output the spool has from `offset` on; `whole` as there. */
static int spawn(char *const *env, uint64_t offset, bool whole, struct err *e)
{
    char name[] = "true", *argv[] = {name, NULL}, *none[] = {NULL};
    int in[2], out[2];
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    CHECK_INT(pipe2(out, O_CLOEXEC), 0);
    struct keeper_client_spawn s = {.program = "/bin/true",
                                    .cwd = "/",
                                    .argv = argv,
                                    .envp = env ? env : none,
                                    .kind = KEEP_IN,
                                    .child = {in[0], out[1], out[1]},
                                    .in = in[1],
                                    .out = {out[0], -1},
                                    .spool = {open("/dev/null", O_RDWR | O_CLOEXEC), -1},
                                    .spool_bytes = CAP,
                                    .offset = offset,
                                    .whole = whole};
    int r = keeper_client_spawn(client, &prog, &s, e);
    close(in[0]);
    close(out[1]);
    /* What it took is closed, except the spool of one that was started. */
    CHECK(fcntl(in[1], F_GETFD) < 0 && fcntl(out[0], F_GETFD) < 0);
    CHECK((fcntl(s.spool[0], F_GETFD) < 0) == (r < 0));
    return r;
}

static void spawn_well(uint64_t offset, bool whole)
{
    struct err e = ERR_INIT;
    CHECK_INT(spawn(NULL, offset, whole, &e), 0);
    hear(KEEP_SPAWN);
    CHECK_INT(got.h.id, prog.r.id);
    CHECK_INT(got.h.b, offset);
    CHECK_INT(got.h.kib, CAP >> 10);
    CHECK_INT(got.nfds, 6);
    CHECK((got.h.flags & (KEEP_WHOLE | KEEP_AWAITED)) ==
          (KEEP_AWAITED | (whole ? (unsigned)KEEP_WHOLE : 0u)));
    keep_release(&got);
}

TEST(input_acknowledges_each_record_once)
{
    begin();
    spawn_well(0, true);
    struct keep_proc r = prog.r;
    for (int i = 0; i < 3; i++)
        say_record(&r);
    turn();
    CHECK_INT(changes, 3);
    keeper_client_write(&prog, STR("hello"), STR("k"), STR("v"));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.a, 0);
    CHECK_INT(got.h.b, 3);
    CHECK_INT(got.h.flags, 0);
    CHECK_MEM(got.key.p, got.key.n, "k");
    CHECK_MEM(got.value.p, got.value.n, "v");
    CHECK_MEM(got.body.p, got.body.n, "hello");
    keeper_client_write_quietly(&prog, STR("x"), STR(""), STR(""));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.a, 5);
    CHECK_INT(got.h.b, 0);
    CHECK_INT(got.h.flags, KEEP_QUIET);
    hear_nothing();
}

TEST(half_the_window_of_records_is_acknowledged_without_input)
{
    begin();
    spawn_well(0, true);
    struct keep_proc r = prog.r;
    for (int i = 0; i < KEEP_AHEAD / 2 - 1; i++)
        say_record(&r);
    turn();
    hear_nothing();
    say_record(&r);
    turn();
    hear(KEEP_SEEN);
    CHECK_INT(got.h.id, prog.r.id);
    CHECK_INT(got.h.a, KEEP_AHEAD / 2);
    keeper_client_write(&prog, STR("x"), STR(""), STR(""));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.b, 0);
    hear_nothing();
}

TEST(that_no_caller_waits_is_told_when_there_is_much_to_hold)
{
    begin();
    spawn_well(1000, false);
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear_nothing(); /* there is no output yet */
    prog.r.out[0].offset = 1000 + LIMIT_SPOOL_FLOOR;
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear_nothing();
    prog.r.out[0].offset++;
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear(KEEP_FLOW);
    CHECK_INT(got.h.id, prog.r.id);
    CHECK_INT(got.h.b, 0);
    CHECK(got.h.a == HOLD_NOBODY);
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear_nothing(); /* it is told once */
    keeper_client_flow_again(&prog, 0);
    hear_nothing();
}

TEST(a_held_program_without_a_caller_is_released)
{
    begin();
    spawn_well(0, true);
    prog.r.out[0].offset = 10;
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear_nothing();
    prog.r.flags = KEEP_P_HELD;
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear(KEEP_FLOW);
    CHECK(got.h.a == HOLD_NOBODY);
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear_nothing(); /* nor by a worker that took over: callers may come back */
}

TEST(the_end_of_output_is_no_more_waited_for)
{
    begin();
    spawn_well(0, false);
    prog.r.out[0].eof = 1;
    CHECK(!keeper_client_flow(&prog, 0, HOLD_NOBODY));
    hear(KEEP_FLOW);
    CHECK(got.h.a == HOLD_NOBODY);
}

TEST(where_a_caller_is_is_told_in_steps_of_an_eighth)
{
    begin();
    spawn_well(0, false);
    prog.r.out[0].offset = CAP;
    CHECK(!keeper_client_flow(&prog, 0, CAP / 2)); /* not more than half behind */
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, CAP / 2);
    CHECK(!keeper_client_flow(&prog, 0, CAP / 2 + CAP / 8));
    hear_nothing();
    CHECK(!keeper_client_flow(&prog, 0, CAP / 2 + CAP / 8 + 1));
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, CAP / 2 + CAP / 8 + 1);
    CHECK(keeper_client_flow(&prog, 0, CAP / 2 - 1)); /* another caller, further behind */
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, CAP / 2 - 1);
    keeper_client_flow_again(&prog, 0);
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, CAP / 2 - 1);
    hear_nothing();
}

TEST(what_is_longer_than_the_kernel_takes_is_not_started)
{
    enum { STRINGS = LIMIT_SPAWN_MAX / (64 << 10) + 1 };
    static char text[64 << 10];
    static char *env[STRINGS + 1];
    struct err e = ERR_INIT;
    memset(text, 'x', sizeof(text) - 1);
    for (int i = 0; i < STRINGS; i++)
        env[i] = text;
    begin();
    CHECK_INT(spawn(env, 0, true, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK(strstr(e.text, "cannot start /bin/true: arguments and environment are longer"));
    CHECK(!prog.keeper);
    hear_nothing();
    spawn_well(0, true); /* the next one has the same number */
    CHECK_INT(prog.r.id, 1);
}

TEST(a_long_environment_without_a_descriptor_is_not_started)
{
    static char text[KEEP_DATA + 1];
    static char *env[] = {text, NULL};
    struct err e = ERR_INIT;
    memset(text, 'x', sizeof(text) - 1);
    begin();
    /* Four for the pipes, one for the spool, none for the memory of the message. */
    int lowest = dup(0);
    CHECK(lowest >= 0);
    close(lowest);
    struct rlimit few = {(rlim_t)lowest + 5, (rlim_t)lowest + 5};
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &few), 0);
    CHECK_INT(spawn(env, 0, true, &e), -1);
    char words[200];
    snprintf(words, sizeof(words), "cannot start /bin/true: %s", strerror(EMFILE));
    CHECK_STR(e.text, words);
    CHECK(!prog.keeper);
    hear_nothing();
}

/* A program of the worker before, with its input and its spool. */
static void hand_over(uint64_t id, int in, int spool)
{
    struct keep_proc r = {.id = id, .kind = KEEP_PTY, .input = 7, .input_pending = 2};
    struct keep_msg m = {.h = {.type = KEEP_PROC, .flags = KEEP_ALL, .id = id, .a = 3},
                         .body = str_n(&r, sizeof(r)),
                         .fds = {in, spool},
                         .nfds = 2};
    say(&m);
    turn();
    hear(KEEP_SEEN);
    CHECK_INT(got.h.id, id);
    CHECK_INT(got.h.a, 1);
}

TEST(a_program_of_before_goes_on_where_its_input_was)
{
    int in[2], spool = open("/dev/null", O_RDWR | O_CLOEXEC);
    begin();
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    hand_over(41, in[1], spool);
    close(in[1]);
    CHECK_INT(keeper_client_claim(client, &prog, 40), -1);
    CHECK_INT(keeper_client_claim(client, &prog, 41), 0);
    CHECK_INT(keeper_client_claim(client, &(struct proc){0}, 41), -1);
    CHECK_INT(keeper_client_next_id(client), 42);
    CHECK_INT(prog.r.kind, KEEP_PTY);
    CHECK(prog.in >= 0 && prog.spool[0] >= 0 && prog.spool[1] == -1);
    CHECK_INT(keeper_client_room(&prog), (192 << 10) - 2);
    keeper_client_write(&prog, STR("abc"), STR(""), STR(""));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.a, 7);
    CHECK_INT(keeper_client_room(&prog), (192 << 10) - 5);
    keeper_client_drop_unclaimed(client);
    hear_nothing(); /* it was claimed */
    keeper_client_close_input(&prog);
    hear(KEEP_CLOSE);
    CHECK_INT(got.h.id, 41);
    keeper_client_forget(&prog);
    hear(KEEP_FORGET);
    char c;
    CHECK_INT(read(in[0], &c, 1), 0); /* its input is closed */
    CHECK(!keeper_client_flow(&prog, 0, 0));
    keeper_client_forget(&prog);
    hear_nothing();
}

TEST(a_program_that_nobody_claims_is_forgotten)
{
    int in[2], spool = open("/dev/null", O_RDWR | O_CLOEXEC);
    char c;
    begin();
    CHECK_INT(pipe2(in, O_CLOEXEC), 0);
    hand_over(5, in[1], spool);
    close(in[1]);
    keeper_client_drop_unclaimed(client);
    hear(KEEP_FORGET);
    CHECK_INT(got.h.id, 5);
    CHECK_INT(read(in[0], &c, 1), 0);
    CHECK_INT(keeper_client_claim(client, &prog, 5), -1);
    keeper_client_drop_unclaimed(client);
    hear_nothing();
}

static void ask(int *arg, uint64_t *token)
{
    struct reaper_request q = {.verb = REAPER_COUNT_TREE};
    keeper_client_ask(client, 3, 4, &q, on_answer, arg);
    hear(KEEP_REAPER);
    CHECK_INT(got.h.a, 3 | (uint64_t)4 << 32);
    *token = got.h.id;
}

static void answer(uint64_t token, size_t n, int errnum)
{
    static const struct reaper_answer a;
    struct keep_msg m = {.h = {.type = KEEP_ANSWER, .id = token, .a = (uint64_t)errnum},
                         .body = str_n(&a, n)};
    say(&m);
    turn();
}

TEST(an_answer_goes_to_its_question_once)
{
    int a, b;
    uint64_t first, second, third;
    begin();
    ask(&a, &first);
    ask(&b, &second);
    ask(&b, &third);
    CHECK(first != second && second != third);
    answer(second, sizeof(struct reaper_answer), 0);
    CHECK_INT(answers, 1);
    CHECK_INT(answer_errnum, 0);
    answer(second, sizeof(struct reaper_answer), 0);
    CHECK_INT(answers, 1);
    keeper_client_ask_cancel(client, &b);
    answer(third, sizeof(struct reaper_answer), 0);
    CHECK_INT(answers, 1);
    answer(first, 3, 0); /* of another version */
    CHECK_INT(answers, 2);
    CHECK_INT(answer_errnum, EPROTO);
    ask(&a, &first);
    answer(first, 0, ESRCH);
    CHECK_INT(answers, 3);
    CHECK_INT(answer_errnum, ESRCH);
}

/* ---- what else is told ---- */

TEST(input_that_is_waited_for_begins_where_the_output_is)
{
    begin();
    spawn_well(1000, true);
    prog.flow[0].set = prog.flow[1].set = false;
    prog.r.out[0].offset = 1234;
    keeper_client_write_awaited(&prog, STR("ab"), STR("k"), STR(""));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.flags, KEEP_QUIET | KEEP_AWAITED);
    CHECK_MEM(got.body.p, got.body.n, "ab");
    CHECK(prog.flow[0].set && prog.flow[0].at == 1234);
    prog.r.out[0].offset = 2000;
    keeper_client_write_awaited(&prog, STR("c"), STR(""), STR(""));
    hear(KEEP_WRITE);
    CHECK_INT(got.h.a, 2);
    CHECK_INT(prog.flow[0].at, 1234);
    CHECK(!prog.flow[1].set);
}

TEST(a_program_that_is_held_back_is_told_each_step_after_a_while)
{
    begin();
    spawn_well(0, false);
    prog.r.out[0].offset = 10;
    CHECK(!keeper_client_flow(&prog, 0, 1));
    hear_nothing();
    prog.r.flags = KEEP_P_HELD;
    keeper_client_flow_again(&prog, 0);
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, 0);
    CHECK(keeper_client_flow(&prog, 0, 1)); /* told just now */
    hear_nothing();
    prog.flow[0].ms -= 10000;
    CHECK(keeper_client_flow(&prog, 0, 0)); /* nothing new */
    hear_nothing();
    CHECK(keeper_client_flow(&prog, 0, 1));
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, 1);
    prog.r.flags = KEEP_P_HELD | KEEP_P_FULL;
    CHECK(keeper_client_flow(&prog, 0, 2)); /* on a full disk at once */
    hear(KEEP_FLOW);
    CHECK_INT(got.h.a, 2);
    hear_nothing();
}

TEST(on_a_full_disk_a_caller_is_far_behind_sooner)
{
    begin();
    spawn_well(0, false);
    prog.r.out[0].cap = 4 * KEEP_RESERVED;
    prog.r.out[0].offset = 2 * KEEP_RESERVED;
    CHECK(!keeper_client_flow(&prog, 0, 0));
    prog.r.flags = KEEP_P_FULL;
    CHECK(keeper_client_flow(&prog, 0, 0));
    CHECK(keeper_client_flow(&prog, 0, 2 * KEEP_RESERVED - KEEP_RESERVED / 2 - 1));
    hear(KEEP_FLOW);
    CHECK(!keeper_client_flow(&prog, 0, 2 * KEEP_RESERVED - KEEP_RESERVED / 2));
    prog.r.out[0].cap = KEEP_RESERVED / 2;
    CHECK(keeper_client_flow(&prog, 0, 2 * KEEP_RESERVED - KEEP_RESERVED / 4 - 1));
    prog.r.flags = 0;
    CHECK(keeper_client_flow(&prog, 0, 2 * KEEP_RESERVED - KEEP_RESERVED / 4 - 1));
}

TEST(input_that_the_keeper_has_not_written_leaves_less_room)
{
    enum { ALL = 192 << 10 };
    begin();
    spawn_well(0, true);
    CHECK_INT(keeper_client_room(&prog), ALL);
    prog.sent = 100;
    prog.r.input = 40;
    CHECK_INT(keeper_client_room(&prog), ALL - 60);
    prog.r.input_pending = ALL - 61;
    CHECK_INT(keeper_client_room(&prog), 1);
    prog.r.input_pending = ALL - 60;
    CHECK_INT(keeper_client_room(&prog), 0);
    prog.r.input_pending = ALL;
    CHECK_INT(keeper_client_room(&prog), 0);
}

TEST(a_terminal_is_started_with_the_ids_of_its_user)
{
    char name[] = "true", *argv[] = {name, NULL}, *none[] = {NULL};
    struct err e = ERR_INIT;
    begin();
    struct keeper_client_spawn s = {.program = "/bin/true",
                                    .cwd = "/",
                                    .argv = argv,
                                    .envp = none,
                                    .uid = 3,
                                    .gid = 4,
                                    .kind = KEEP_PTY,
                                    .child = {open("/dev/null", O_RDWR | O_CLOEXEC), -1,
                                              -1},
                                    .in = open("/dev/null", O_RDWR | O_CLOEXEC),
                                    .spool = {open("/dev/null", O_RDWR | O_CLOEXEC), -1},
                                    .spool_bytes = CAP,
                                    .key = STR("k"),
                                    .value = STR("v")};
    s.out[0] = s.in;
    s.out[1] = -1;
    CHECK_INT(keeper_client_spawn(client, &prog, &s, &e), 0);
    hear(KEEP_SPAWN);
    CHECK(got.h.a == (3 | (uint64_t)4 << 32));
    CHECK_INT(got.h.flags & KEEP_PTY, KEEP_PTY);
    CHECK_INT(got.nfds, 3);
    CHECK_MEM(got.key.p, got.key.n, "k");
    CHECK_MEM(got.value.p, got.value.n, "v");
    keep_release(&got);
    /* It keeps the terminal for its size, and the spool for readers. */
    CHECK(prog.in == s.in && fcntl(s.in, F_GETFD) >= 0);
    CHECK(prog.spool[0] == s.spool[0] && prog.spool[1] == -1);
    CHECK(prog.uid == 3 && prog.gid == 4);
    CHECK(prog.r.out[0].cap == CAP && prog.r.kind == KEEP_PTY);
    CHECK_INT(keeper_client_next_id(client), prog.r.id + 1);
    keeper_client_forget(&prog);
    hear(KEEP_FORGET);
    CHECK(fcntl(s.in, F_GETFD) < 0 && fcntl(s.spool[0], F_GETFD) < 0);
}

TEST(input_of_a_command_is_a_program_without_one)
{
    begin();
    int fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    keeper_client_input_only(client, &prog, fd);
    CHECK(fcntl(fd, F_GETFD) < 0);
    hear(KEEP_SPAWN);
    CHECK_INT(got.h.flags, KEEP_BARE | KEEP_IN);
    CHECK(got.h.id == 1 && prog.r.id == 1 && keeper_client_next_id(client) == 2);
    CHECK_INT(got.nfds, 1);
    keep_release(&got);
    CHECK(prog.in == -1 && prog.spool[0] == -1 && prog.spool[1] == -1);
    say_record(&prog.r);
    turn();
    CHECK_INT(changes, 1);
    struct keep_msg bad = {.h = {.type = KEEP_PROC, .id = 1}, .body = STR("short")};
    say(&bad);
    turn();
    CHECK_INT(changes, 1);
    CHECK_INT(prog.unseen, 1);
    struct keep_proc late = prog.r; /* on its way when it was forgotten */
    keeper_client_forget(&prog);
    hear(KEEP_FORGET);
    say_record(&late);
    turn();
    CHECK_INT(changes, 1);
}

TEST(what_is_kept_and_the_end_are_told)
{
    begin();
    keeper_client_put(client, STR("key"), STR("value"));
    hear(KEEP_PUT);
    CHECK_MEM(got.key.p, got.key.n, "key");
    CHECK_MEM(got.value.p, got.value.n, "value");
    keeper_client_keep(client, STR("events"), 0);
    hear(KEEP_HOLD);
    CHECK_MEM(got.body.p, got.body.n, "events");
    CHECK_INT(got.nfds, 1);
    keep_release(&got);
    keeper_client_serving(client);
    hear(KEEP_SERVING);
    keeper_client_stop(client, 1234);
    hear(KEEP_STOP);
    CHECK_INT(got.h.a, 1234);
    hear_nothing();
}

static int outcomes;

static void on_outcome(void *arg, struct str outcome)
{
    CHECK(arg == &outcomes);
    CHECK_MEM(outcome.p, outcome.n, "refused");
    outcomes++;
}

static void say_upgraded(uint64_t token)
{
    struct keep_msg m = {.h = {.type = KEEP_UPGRADED, .id = token},
                         .body = STR("refused")};
    say(&m);
    turn();
}

TEST(the_outcome_of_an_upgrade_goes_to_who_asked)
{
    int a;
    uint64_t token;
    begin();
    ask(&a, &token);
    errno = ENOENT;
    keeper_client_upgrade(client, token, -1, STR("next"), on_outcome, &outcomes);
    hear(KEEP_UPGRADE);
    CHECK(got.h.id == token && got.h.a == ENOENT && got.nfds == 0);
    CHECK_MEM(got.body.p, got.body.n, "next");
    keeper_client_upgrade(client, token + 1, 0, STR("next"), on_outcome, &outcomes);
    hear(KEEP_UPGRADE);
    CHECK_INT(got.nfds, 1);
    keep_release(&got);
    answer(token + 1, sizeof(struct reaper_answer), 0); /* not a question's */
    CHECK(answers == 0 && outcomes == 0);
    say_upgraded(token);
    CHECK(answers == 0 && outcomes == 1);
    say_upgraded(token);
    CHECK_INT(outcomes, 1);
    answer(token, sizeof(struct reaper_answer), 0);
    CHECK(answers == 1 && outcomes == 1);
    keeper_client_ask_cancel(client, &a); /* the other one stays */
    say_upgraded(token + 1);
    CHECK_INT(outcomes, 2);
}

T_MAIN
