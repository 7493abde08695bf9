/* SPDX-License-Identifier: MIT */
/*
 * The loop: what is due comes in order, and a handler may stop, start again or
 * bury whatever else the same turn was going to call.
 */
#include "io/loop.h"

#include "t.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/time.h>

static struct loop *loop;

static void run(void) { CHECK_INT(loop_run(loop), 0); }

static void open_loop(void)
{
    loop = loop_new();
    CHECK(loop != NULL);
}

/* Ends the loop if a test's own condition never does: the case then fails. */
static void too_long(struct timer *t)
{
    (void)t;
    T_FAIL("the loop went on without an event");
}
static struct timer guard;

static void on_quit(struct timer *t)
{
    (void)t;
    loop_stop(loop);
}
static struct timer quit;

/* One turn at least, with what is due now. */
static void run_a_little(void)
{
    timer_begin(loop, &quit, 5, on_quit);
    run();
}

/* ---- timers ---- */

enum { TIMERS = 300 };
static struct alarm {
    struct timer timer;
    int64_t due; /* 0: must not come */
    int fired;
} alarms[TIMERS];
static int left;
static int64_t last_due;

static void on_alarm(struct timer *t)
{
    struct alarm *a = container_of(t, struct alarm, timer);
    CHECK(!timer_active(t));
    CHECK(a->due != 0);
    CHECK(t->at_us >= last_due);
    last_due = t->at_us;
    a->fired++;
    if (--left == 0)
        loop_stop(loop);
}

static void begin_alarm(int i, int ms)
{
    timer_begin(loop, &alarms[i].timer, ms, on_alarm);
    CHECK(timer_active(&alarms[i].timer));
    alarms[i].due = alarms[i].timer.at_us;
}

TEST(timers_come_in_the_order_of_their_deadlines)
{
    open_loop();
    for (int i = 0; i < TIMERS; i++)
        begin_alarm(i, i * 7 % 40);
    left = TIMERS;
    run();
    for (int i = 0; i < TIMERS; i++)
        CHECK_INT(alarms[i].fired, 1);
    loop_free(loop);
}

TEST(stopped_and_moved_timers_keep_the_order)
{
    open_loop();
    unsigned r = 12345;
    for (int round = 0; round < 20 * TIMERS; round++) {
        r = r * 1103515245 + 12345;
        int i = (int)(r >> 16) % TIMERS;
        if (r & 0x1000) {
            timer_stop(&alarms[i].timer);
            timer_stop(&alarms[i].timer);
            CHECK(!timer_active(&alarms[i].timer));
            alarms[i].due = 0;
        } else {
            begin_alarm(i, (int)(r >> 8 & 31));
        }
    }
    for (int i = 0; i < TIMERS; i++)
        left += alarms[i].due != 0;
    CHECK(left > 0 && left < TIMERS);
    run();
    run_a_little();
    for (int i = 0; i < TIMERS; i++)
        CHECK_INT(alarms[i].fired, alarms[i].due != 0);
    loop_free(loop);
}

static struct timer first, second;
static int firsts, seconds;

static void on_second(struct timer *t)
{
    (void)t;
    seconds++;
}

static void on_first(struct timer *t)
{
    (void)t;
    firsts++;
    timer_stop(&second);
}

TEST(a_timer_stopped_by_one_that_is_due_with_it_does_not_come)
{
    open_loop();
    timer_begin(loop, &first, 0, on_first);
    timer_begin(loop, &second, 0, on_second);
    t_pause_ms(2); /* both are due in one turn */
    run_a_little();
    CHECK_INT(firsts, 1);
    CHECK_INT(seconds, 0);
    loop_free(loop);
}

TEST(starting_a_started_timer_moves_it)
{
    open_loop();
    timer_begin(loop, &guard, 60000, too_long);
    timer_begin(loop, &guard, 0, on_quit);
    run();
    CHECK(!timer_active(&guard));
    loop_free(loop);
}

static struct io reader;
static int readable[2];
static void on_always(struct timer *t) { timer_begin(loop, t, 0, on_always); }

static void quit_on_read(struct io *io, uint32_t events)
{
    CHECK(events & EPOLLIN);
    io_stop(io);
    loop_stop(loop);
}

static void open_readable(int p[2])
{
    if (pipe2(p, O_CLOEXEC | O_NONBLOCK) < 0 || write(p[1], "x", 1) != 1)
        T_FAIL("pipe: %s", strerror(errno));
}

TEST(a_timer_that_is_always_due_starves_no_descriptor)
{
    open_loop();
    open_readable(readable);
    CHECK_INT(io_start(loop, &reader, readable[0], EPOLLIN, quit_on_read), 0);
    timer_begin(loop, &first, 0, on_always);
    run();
    timer_stop(&first);
    loop_free(loop);
}

static void on_signal(int sig) { (void)sig; }

TEST(a_signal_does_not_end_the_wait)
{
    struct sigaction sa = {.sa_handler = on_signal};
    struct itimerval every = {{0, 1000}, {0, 1000}};
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
    open_loop();
    timer_begin(loop, &quit, 30, on_quit);
    run();
    CHECK(!timer_active(&quit));
    loop_free(loop);
}

/* ---- descriptors ---- */

enum { MANY = 150 }; /* more than the kernel is asked for at once */
static struct watched {
    struct io io;
    int p[2];
    int calls;
} many[MANY];
static int calls;

static void on_one_of_many(struct io *io, uint32_t events)
{
    struct watched *w = container_of(io, struct watched, io);
    char c;
    CHECK(events & EPOLLIN);
    CHECK_INT(read(io->fd, &c, 1), 1);
    w->calls++;
    if (++calls == MANY)
        loop_stop(loop);
}

TEST(all_that_are_ready_are_called)
{
    open_loop();
    timer_begin(loop, &guard, 10000, too_long);
    for (int i = 0; i < MANY; i++) {
        open_readable(many[i].p);
        CHECK_INT(io_start(loop, &many[i].io, many[i].p[0], EPOLLIN, on_one_of_many), 0);
    }
    run();
    for (int i = 0; i < MANY; i++)
        CHECK_INT(many[i].calls, 1);
    loop_free(loop);
}

static void stop_the_others(struct io *io, uint32_t events)
{
    (void)events;
    calls++;
    for (int i = 0; i < 10; i++) {
        if (&many[i].io == io)
            continue;
        io_stop(&many[i].io);
        close(many[i].p[0]); /* the number may be used again at once */
    }
    io_set(io, 0);
}

TEST(one_that_another_stopped_in_the_same_batch_is_not_called)
{
    open_loop();
    for (int i = 0; i < 10; i++) {
        open_readable(many[i].p);
        CHECK_INT(io_start(loop, &many[i].io, many[i].p[0], EPOLLIN, stop_the_others), 0);
    }
    run_a_little();
    CHECK_INT(calls, 1);
    loop_free(loop);
}

static int quiet[2];

static void never(struct io *io, uint32_t events)
{
    (void)io;
    T_FAIL("called with events %x of another descriptor", events);
}

static void move_the_other(struct io *io, uint32_t events)
{
    (void)events;
    int other = io == &many[0].io ? 1 : 0;
    calls++;
    io_stop(&many[other].io);
    CHECK_INT(io_start(loop, &many[other].io, quiet[0], EPOLLIN, never), 0);
    io_set(io, 0);
}

TEST(one_started_anew_in_the_same_batch_gets_no_old_event)
{
    open_loop();
    CHECK_INT(pipe2(quiet, O_CLOEXEC | O_NONBLOCK), 0);
    for (int i = 0; i < 2; i++) {
        open_readable(many[i].p);
        CHECK_INT(io_start(loop, &many[i].io, many[i].p[0], EPOLLIN, move_the_other), 0);
    }
    run_a_little();
    CHECK_INT(calls, 1);
    loop_free(loop);
}

static void called_as_the_third(struct io *io, uint32_t events)
{
    (void)events;
    CHECK(io == &many[2].io);
    calls += 10;
    io_set(io, 0);
}

static void hand_the_other_over(struct io *io, uint32_t events)
{
    (void)events;
    struct io *other = io == &many[0].io ? &many[1].io : &many[0].io;
    calls++;
    other->fn = called_as_the_third;
    io_move(&many[2].io, other);
    CHECK_INT(other->fd, -1);
    io_set(other, EPOLLIN);
    io_stop(other);
    io_set(io, 0);
}

TEST(one_handed_over_gets_the_events_of_the_same_batch_and_later_ones)
{
    open_loop();
    for (int i = 0; i < 2; i++) {
        open_readable(many[i].p);
        CHECK_INT(io_start(loop, &many[i].io, many[i].p[0], EPOLLIN, hand_the_other_over), 0);
    }
    run_a_little();
    CHECK_INT(calls, 11);
    io_set(&many[2].io, EPOLLIN);
    run_a_little();
    CHECK_INT(calls, 21);
    io_stop(&many[2].io);
    loop_free(loop);
}

static void count_only(struct io *io, uint32_t events)
{
    (void)io;
    (void)events;
    calls++;
}

static void quit_at_two(struct io *io, uint32_t events)
{
    count_only(io, events);
    if (calls == 2)
        loop_stop(loop);
}

static void mute(struct io *io, uint32_t events)
{
    (void)events;
    calls++;
    io_set(io, 0);
}

TEST(what_was_not_read_comes_again_until_it_is_muted)
{
    open_loop();
    open_readable(readable);
    CHECK_INT(io_start(loop, &reader, readable[0], EPOLLIN, quit_at_two), 0);
    run();
    CHECK_INT(calls, 2);
    calls = 0;
    reader.fn = mute;
    run_a_little();
    CHECK_INT(calls, 1);
    io_set(&reader, EPOLLIN);
    run_a_little();
    CHECK_INT(calls, 2);

    io_stop(&reader);
    io_stop(&reader);
    CHECK_INT(reader.fd, -1);
    io_set(&reader, EPOLLIN); /* of a stopped one: nothing */
    run_a_little();
    CHECK_INT(calls, 2);
    loop_free(loop);
}

static void on_hang_up(struct io *io, uint32_t events)
{
    CHECK_INT(events, EPOLLHUP);
    calls++;
    io_stop(io);
}

TEST(a_hang_up_is_told)
{
    open_loop();
    CHECK_INT(pipe2(quiet, O_CLOEXEC | O_NONBLOCK), 0);
    CHECK_INT(io_start(loop, &reader, quiet[0], EPOLLIN, mute), 0);
    run_a_little();
    CHECK_INT(calls, 0);
    close(quiet[1]);
    reader.fn = on_hang_up;
    run_a_little();
    CHECK_INT(calls, 1);
    loop_free(loop);
}

TEST(what_cannot_be_watched_is_an_error)
{
    open_loop();
    char path[400];
    snprintf(path, sizeof(path), "%s/file", t_dir());
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    CHECK(fd >= 0);
    CHECK_INT(io_start(loop, &reader, fd, EPOLLIN, count_only), -1);
    CHECK_INT(errno, EPERM);
    close(fd);
    CHECK_INT(io_start(loop, &reader, fd, EPOLLIN, count_only), -1);
    CHECK_INT(errno, EBADF);
    loop_free(loop);
}

/* ---- tasks ---- */

static char order[100];

static void note(char c)
{
    size_t n = strlen(order);
    CHECK(n + 1 < sizeof(order));
    order[n] = c;
}

static struct task task_a, task_b, task_c;
static bool again;

static void do_a(struct task *t)
{
    note('a');
    if (again)
        task_defer(loop, t);
    again = false;
}

static void do_b(struct task *t)
{
    (void)t;
    note('b');
    task_cancel(&task_c);
}

static void do_c(struct task *t)
{
    (void)t;
    note('c');
}

static void open_tasks(void)
{
    open_loop();
    task_init(&task_a, do_a);
    task_init(&task_b, do_b);
    task_init(&task_c, do_c);
}

TEST(tasks_run_once_and_in_their_order)
{
    open_tasks();
    task_defer(loop, &task_c);
    task_defer(loop, &task_a);
    task_defer(loop, &task_c);
    run_a_little();
    CHECK_STR(order, "ca");
    task_defer(loop, &task_a);
    task_cancel(&task_a);
    task_cancel(&task_a);
    run_a_little();
    CHECK_STR(order, "ca");
    loop_free(loop);
}

TEST(a_task_may_cancel_one_that_is_about_to_run)
{
    open_tasks();
    task_defer(loop, &task_b);
    task_defer(loop, &task_c);
    task_defer(loop, &task_a);
    run_a_little();
    CHECK_STR(order, "ba");
    loop_free(loop);
}

static void read_and_note(struct io *io, uint32_t events)
{
    (void)events;
    note('r');
    io_stop(io);
}

static void defer_and_open(struct timer *t)
{
    (void)t;
    note('t');
    again = true;
    task_defer(loop, &task_a);
    CHECK_INT(io_start(loop, &reader, readable[0], EPOLLIN, read_and_note), 0);
}

TEST(what_a_task_defers_waits_for_the_next_turn)
{
    open_tasks();
    open_readable(readable);
    timer_begin(loop, &first, 0, defer_and_open);
    run_a_little();
    CHECK_STR(order, "tara");
    loop_free(loop);
}

/* ---- burials ---- */

static void bury_note(void *p) { note(*(char *)p); }

static char x = 'x', y = 'y';

static void bury_another(void *p)
{
    note(*(char *)p);
    loop_bury(loop, &y, bury_note);
}

static void bury_and_defer(struct timer *t)
{
    (void)t;
    loop_bury(loop, &x, bury_another);
    task_defer(loop, &task_a);
    note('t');
    loop_stop(loop);
}

TEST(burials_come_last_in_the_turn_and_may_cause_others)
{
    open_tasks();
    timer_begin(loop, &first, 0, bury_and_defer);
    run();
    CHECK_STR(order, "taxy"); /* a stopped loop ends its turn */
    loop_free(loop);
    CHECK_STR(order, "taxy");
}

static void free_watched(void *p)
{
    struct watched *w = p;
    close(w->p[0]);
    close(w->p[1]);
    free(w);
    calls += 100;
}

static struct watched *heaped[2];

static void bury_both(struct io *io, uint32_t events)
{
    (void)io;
    (void)events;
    calls++;
    for (int i = 0; i < 2; i++) {
        io_stop(&heaped[i]->io);
        loop_bury(loop, heaped[i], free_watched);
    }
}

TEST(an_object_may_be_buried_in_its_own_handler)
{
    open_loop();
    for (int i = 0; i < 2; i++) {
        heaped[i] = calloc(1, sizeof(struct watched));
        open_readable(heaped[i]->p);
        CHECK_INT(io_start(loop, &heaped[i]->io, heaped[i]->p[0], EPOLLIN, bury_both), 0);
    }
    run_a_little();
    CHECK_INT(calls, 201);
    loop_free(loop);
}

TEST(what_was_buried_outside_of_a_turn_goes_with_the_loop)
{
    open_loop();
    for (int i = 0; i < 40; i++)
        loop_bury(loop, &x, bury_note);
    CHECK_STR(order, "");
    loop_free(loop);
    CHECK_INT(strlen(order), 40);
    loop_free(NULL);
}

TEST(a_stopped_loop_can_be_run_again)
{
    open_loop();
    for (int i = 0; i < 3; i++)
        run_a_little();
    loop_free(loop);
}

T_MAIN
