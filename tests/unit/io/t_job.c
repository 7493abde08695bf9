/* SPDX-License-Identifier: MIT */
/*
 * Jobs: what the child finds, what comes back and when, and that nothing is
 * left of a child that ended, crashed, was cancelled or lost its parent.
 */
#include "io/job.h"

#include "io/job_run.h"

#include "t.h"
#include "t_kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

enum { TOTAL = 3 << 20 };

/* One job and all that was heard of it. */
struct heard {
    struct job *job;
    struct buf data, notes; /* notes: a line each */
    int dones, notes_n;
    struct err result;
    size_t take; /* bytes that on_data takes at most; 0: all */
    bool cancel_on_data, cancel_on_note, stop_on_note;
    size_t taken_at_note; /* bytes taken when the last note came */
    size_t to_write;      /* bytes that on_room still has to give */
};

static struct loop *loop;
static struct timer poll_timer;
static int running;
static bool (*until)(void);

static void finish_one(void)
{
    if (--running == 0)
        loop_stop(loop);
}

static void on_data(struct job *j, struct buf *in)
{
    struct heard *h = job_owner(j);
    CHECK_INT(h->dones, 0);
    CHECK(in->n > 0 && in->n <= JOB_BUFFER);
    size_t some = h->take && h->take < in->n ? h->take : in->n;
    CHECK_INT(buf_add(&h->data, in->p, some), 0);
    buf_consume(in, some);
    if (h->cancel_on_data) {
        job_cancel(j);
        h->job = NULL;
        finish_one();
    } else if (h->take) {
        job_pause(j);
        job_resume(j);
    }
}

static void on_note(struct job *j, struct str note)
{
    struct heard *h = job_owner(j);
    CHECK_INT(h->dones, 0);
    h->notes_n++;
    h->taken_at_note = h->data.n;
    CHECK_INT(buf_adds(&h->notes, note), 0);
    CHECK_INT(buf_addc(&h->notes, '\n'), 0);
    if (h->cancel_on_note) {
        job_cancel(j);
        finish_one();
    }
    if (h->stop_on_note)
        loop_stop(loop);
}

static void give(struct heard *h, struct job *j)
{
    static char block[10000];
    while (h->to_write > 0) {
        size_t n = h->to_write < sizeof(block) ? h->to_write : sizeof(block);
        for (size_t i = 0; i < n; i++)
            block[i] = (char)((h->to_write - i) * 31 >> 3);
        if (job_write(j, str_n(block, n)) < 0) {
            CHECK(job_room(j) < n);
            return;
        }
        h->to_write -= n;
    }
    job_end_input(j);
}

static void on_room(struct job *j) { give(job_owner(j), j); }

static void on_done(struct job *j, const struct err *e)
{
    struct heard *h = job_owner(j);
    CHECK_INT(h->dones, 0);
    h->dones++;
    h->result = *e;
    finish_one();
}

static int gone;
static void on_gone(void *owner)
{
    struct heard *h = owner;
    CHECK(h->dones <= 1);
    gone++;
}

static const struct job_events events = {on_data, on_room, on_note, on_done, on_gone};

static struct heard *start(struct job_spec s)
{
    struct heard *h = calloc(1, sizeof(*h));
    struct err e = ERR_INIT;
    if (!loop)
        loop = loop_new();
    CHECK(h && loop);
    buf_init(&h->data, 64 << 20);
    buf_init(&h->notes, 1 << 20);
    s.what = s.what ? s.what : "the work";
    s.ev = &events;
    s.owner = h;
    h->job = job_start(loop, &s, &e);
    if (!h->job)
        T_FAIL("%s", e.text);
    running++;
    return h;
}

static void drop(struct heard *h)
{
    buf_release(&h->data);
    buf_release(&h->notes);
    free(h);
}

static void run(void) { CHECK_INT(loop_run(loop), 0); }

/* One more look at a condition that no callback announces. */
static void look_again(struct timer *t)
{
    if (until())
        loop_stop(loop);
    else
        timer_begin(loop, t, 2, look_again);
}

static void run_until(bool (*cond)(void))
{
    until = cond;
    timer_begin(loop, &poll_timer, 1, look_again);
    run();
}

static bool no_child_left(void)
{
    siginfo_t info = {0};
    return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD;
}

static struct heard *run_one(struct job_spec s)
{
    struct heard *h = start(s);
    run();
    CHECK_INT(h->dones, 1);
    CHECK(no_child_left());
    CHECK_INT(gone, 1);
    gone = 0;
    return h;
}

static void check_ok(struct heard *h)
{
    if (h->result.code != ERR_NONE)
        T_FAIL("the job failed: %s", h->result.text);
}

static void end_test(struct heard *h)
{
    drop(h);
    loop_free(loop);
}

/* ---- bytes and results ---- */

static int put_pattern(const struct job_child *c, size_t n)
{
    char block[5000];
    for (size_t at = 0; at < n; at += sizeof(block)) {
        for (size_t i = 0; i < sizeof(block); i++)
            block[i] = (char)((at + i) * 7 >> 2);
        size_t some = n - at < sizeof(block) ? n - at : sizeof(block);
        if (job_put(c, str_n(block, some)) < 0)
            return -1;
    }
    return 0;
}

static void check_pattern(const struct buf *b, size_t n)
{
    CHECK_INT(b->n, n);
    for (size_t i = 0; i < n; i++)
        if (b->p[i] != (char)(i * 7 >> 2))
            T_FAIL("byte %zu is wrong", i);
}

static int put_much(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg;
    if (put_pattern(c, TOTAL) < 0)
        return err_sys(e, errno, "cannot write");
    job_note(c, STR("written"));
    return 0;
}

TEST(bytes_and_a_result)
{
    struct heard *h = run_one((struct job_spec){.fn = put_much});
    check_ok(h);
    check_pattern(&h->data, TOTAL);
    CHECK_STR(buf_z(&h->notes), "written\n");
    end_test(h);
}

TEST(the_child_waits_for_a_slow_reader)
{
    struct job_spec s = {.fn = put_much};
    struct heard *h = start(s);
    h->take = 3001;
    run();
    check_ok(h);
    check_pattern(&h->data, TOTAL);
    /* What the child had written when it said so is here, ours, or in the pipe. */
    CHECK(h->taken_at_note >= TOTAL - JOB_BUFFER - (1 << 20));
    end_test(h);
}

static int fail_with_words(void *arg, const struct job_child *c, struct err *e)
{
    if (job_put(c, str_of(arg)) < 0)
        return -1;
    return err_set(e, ERR_NOTFOUND, "cannot find %s", (const char *)arg);
}

TEST(an_error_comes_back_with_its_code_after_the_bytes)
{
    char name[] = "the needle";
    struct heard *h = run_one((struct job_spec){.fn = fail_with_words, .arg = name});
    CHECK_INT(h->result.code, ERR_NOTFOUND);
    CHECK_STR(h->result.text, "cannot find the needle");
    CHECK_STR(buf_z(&h->data), "the needle");
    end_test(h);
}

/* ---- programs ---- */

static struct heard *run_program(const char *script, const int *fd)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    struct job_spec s = {
        .program = (char *const *)argv, .fds = fd, .fds_n = fd != NULL, .cpu_s = 1};
    return run_one(s);
}

TEST(a_child_that_becomes_a_program)
{
    int fd = memfd_create("input", MFD_CLOEXEC);
    CHECK(write(fd, "in", 2) == 2 && lseek(fd, 0, SEEK_SET) == 0);
    struct heard *h = run_program("echo lost; cat >&2; echo ' and more' >&2", &fd);
    check_ok(h);
    CHECK_STR(buf_z(&h->data), "in and more\n");
    drop(h);
    close(fd);
    h = run_program("cat; ls /proc/self/fd >&2", NULL);
    check_ok(h);
    CHECK_STR(buf_z(&h->data), "0\n1\n2\n3\n"); /* 3: of ls itself */
    drop(h);
    h = run_program("echo no >&2; exit 7", NULL);
    CHECK_INT(h->result.code, ERR_INVALID);
    CHECK(str_ends(str_of(h->result.text), STR(" ended with status 7")));
    CHECK_STR(buf_z(&h->data), "no\n");
    drop(h);
    h = run_program("kill -SEGV $$", NULL);
    CHECK_INT(h->result.code, ERR_INTERNAL);
    drop(h);
    h = run_program("while :; do :; done", NULL);
    CHECK_INT(h->result.code, ERR_LIMIT);
    drop(h);
    const char *none[] = {"od-no-such-program", NULL};
    h = run_one((struct job_spec){.program = (char *const *)none});
    CHECK_INT(h->result.code, ERR_NOTFOUND);
    CHECK(str_starts(str_of(h->result.text), STR("cannot run od-no-such-program for ")));
    end_test(h);
}

/* job_run in this process, which has no loop here. */
static int run_here(const char *script, struct job_run q, int *status, struct err *e)
{
    const char *argv[] = {"sh", "-c", script, NULL};
    q.argv = (char *const *)argv;
    return job_run(&q, status, e);
}

TEST(a_program_in_a_job_is_run_to_its_end)
{
    struct buf out = BUF_INIT(64), err = BUF_INIT(8);
    struct err e = ERR_INIT;
    int status = -1;
    struct job_run q = {.in = -1, .out = &out, .out_fd = -1, .err = &err, .err_fd = -1};
    CHECK_INT(run_here("cat; echo out; echo a long error >&2; exit 3", q, &status, &e),
              0);
    CHECK_INT(WEXITSTATUS(status), 3);
    CHECK_STR(buf_z(&out), "out\n");
    CHECK_STR(buf_z(&err), "a long e");

    const char *const env[] = {"PATH=/usr/bin:/bin", "OD_ONLY=1", NULL};
    buf_reset(&out);
    q.env = (char *const *)env;
    q.cwd = "/";
    CHECK_INT(run_here("echo $OD_ONLY $HOME; pwd", q, &status, &e), 0);
    CHECK_STR(buf_z(&out), "1\n/\n");

    q.cwd = "/no/such/folder";
    CHECK_INT(run_here("true", q, &status, &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
    CHECK(str_starts(str_of(e.text), STR("cannot enter /no/such/folder for sh")));
    q.cwd = NULL;

    buf_reset(&out);
    CHECK_INT(run_here("while :; do echo 0123456789; done", q, &status, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);

    /* A descriptor that what it left behind keeps open is not waited for. */
    buf_reset(&out);
    CHECK_INT(run_here("sleep 1000 & echo done; exit 0", q, &status, &e), 0);
    CHECK_STR(buf_z(&out), "done\n");

    q.within_ms = 50;
    CHECK_INT(run_here("exec sleep 1000", q, &status, &e), -1);
    CHECK_INT(e.code, ERR_TIMEOUT);
    CHECK(WIFSIGNALED(status));

    /* Output that is passed on may take as long as it goes on. */
    int fd[2];
    CHECK_INT(pipe(fd), 0);
    struct job_run pass = {
        .in = -1, .out_fd = fd[1], .err_fd = -1, .quiet_ms = 30000, .within_ms = 1};
    CHECK_INT(run_here("echo first; sleep .1; echo last", pass, &status, &e), 0);
    char text[64];
    CHECK_INT(read(fd[0], text, sizeof(text)), 11);
    buf_release(&out);
    buf_release(&err);
}

TEST(what_a_program_leaves_behind_ends_with_it)
{
    T_NEEDS(subreaper);
    const char *argv[] = {"sh", "-c", "sleep 600 & echo $! >&2", NULL};
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    struct heard *h = start((struct job_spec){.program = (char *const *)argv});
    run();
    check_ok(h);
    CHECK(WIFSIGNALED(t_reap((pid_t)strtol(buf_z(&h->data), NULL, 10))));
    end_test(h);
}

static int fail_silently(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c, (void)e;
    return -1;
}

TEST(a_failure_without_words_is_one)
{
    struct heard *h = run_one((struct job_spec){.fn = fail_silently, .what = "digging"});
    CHECK_INT(h->result.code, ERR_INTERNAL);
    CHECK_STR(h->result.text, "digging failed and did not say why");
    end_test(h);
}

static int many_notes(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    for (int i = 0; i < 2000; i++) {
        char text[20];
        int n = snprintf(text, sizeof(text), "%d", i);
        job_note(c, str_n(text, (size_t)n));
    }
    static char wide[JOB_NOTE_MAX + 100];
    memset(wide, 'w', sizeof(wide));
    job_note(c, str_n(wide, sizeof(wide)));
    job_note(c, STR(""));
    return 0;
}

TEST(notes_come_in_order_and_long_ones_are_cut)
{
    struct heard *h = run_one((struct job_spec){.fn = many_notes});
    check_ok(h);
    CHECK_INT(h->notes_n, 2002);
    struct str rest = buf_str(&h->notes);
    for (int i = 0; i < 2000; i++) {
        uint64_t v = 0;
        CHECK_INT(str_to_u64(str_cut(&rest, '\n'), &v), 0);
        CHECK_INT(v, i);
    }
    CHECK_INT(str_cut(&rest, '\n').n, JOB_NOTE_MAX);
    CHECK_INT(rest.n, 1);
    end_test(h);
}

/* ---- input ---- */

static int echo_input(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg;
    char block[7000];
    ssize_t n;
    while ((n = read(c->in, block, sizeof(block))) > 0) {
        if (job_put(c, str_n(block, (size_t)n)) < 0)
            return err_sys(e, errno, "cannot echo");
    }
    return n < 0 ? err_sys(e, errno, "cannot read") : 0;
}

TEST(input_goes_through_a_child_that_is_slower)
{
    struct heard *h = start((struct job_spec){.fn = echo_input, .input = true});
    h->take = 20000;
    h->to_write = TOTAL;
    give(h, h->job);
    CHECK(h->to_write > 0); /* it did not all fit */
    run();
    check_ok(h);
    CHECK_INT(h->to_write, 0);
    CHECK_INT(h->data.n, TOTAL);
    size_t left = TOTAL;
    for (size_t i = 0; i < TOTAL; i++, left--) {
        /* As `give` made them, block by block from the end. */
        if (h->data.p[i] != (char)(left * 31 >> 3))
            T_FAIL("byte %zu is wrong", i);
    }
    end_test(h);
}

static int refuse_input(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg;
    close(c->in);
    return err_set(e, ERR_INVALID, "not like this");
}

TEST(a_child_that_reads_no_more_takes_everything_and_says_why)
{
    struct heard *h = start((struct job_spec){.fn = refuse_input, .input = true});
    h->to_write = TOTAL;
    give(h, h->job);
    run();
    CHECK_INT(h->result.code, ERR_INVALID);
    end_test(h);
}

static int read_nothing(void *arg, const struct job_child *c, struct err *e)
{
    char byte;
    (void)arg;
    return read(c->in, &byte, 1) == 0 ? 0 : err_set(e, ERR_INVALID, "there was input");
}

TEST(without_input_the_child_reads_end_of_file)
{
    struct heard *h = run_one((struct job_spec){.fn = read_nothing});
    check_ok(h);
    end_test(h);
}

/* ---- what the child finds ---- */

static int list_fds(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg;
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return err_sys(e, errno, "cannot list");
    char open[64] = "", line[64] = "";
    for (struct dirent *x; (x = readdir(d));) {
        long fd = strtol(x->d_name, NULL, 10);
        if (x->d_name[0] != '.' && fd != dirfd(d) && fd < 63)
            open[fd] = 1;
    }
    size_t n = 0;
    for (int fd = 0; fd < 63; fd++)
        n += open[fd] ? (size_t)snprintf(line + n, sizeof(line) - n, "%d ", fd) : 0;
    job_note(c, str_n(line, n));
    char first = 0, second = 0;
    if (read(c->fds[0], &first, 1) != 1 || read(c->fds[1], &second, 1) != 1)
        return err_sys(e, errno, "cannot read");
    return job_put(c, str_n((char[]){first, second}, 2));
}

TEST(only_the_named_descriptors_are_there_in_their_order)
{
    int a[2], b[2];
    CHECK(pipe(a) == 0 && pipe(b) == 0);
    CHECK(write(a[1], "a", 1) == 1 && write(b[1], "b", 1) == 1);
    /* A number that the other one is moved to, and standard input's own. */
    CHECK_INT(dup2(a[0], 0), 0);
    CHECK_INT(dup2(b[0], 4), 4);
    int fds[] = {4, 0};
    struct heard *h = run_one((struct job_spec){.fn = list_fds, .fds = fds, .fds_n = 2});
    check_ok(h);
    CHECK_STR(buf_z(&h->data), "ba");
    CHECK_STR(buf_z(&h->notes), "0 1 2 3 4 5 \n");
    end_test(h);
}

static int look_around(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c;
    sigset_t mask;
    struct sigaction pipe_action;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigaction(SIGPIPE, NULL, &pipe_action);
    struct rlimit core;
    getrlimit(RLIMIT_CORE, &core);
    if (sigismember(&mask, SIGTERM) || pipe_action.sa_handler != SIG_DFL)
        return err_set(e, ERR_INVALID, "signals");
    if (getpgrp() != getpid())
        return err_set(e, ERR_INVALID, "process group");
    if (core.rlim_max != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
        return err_set(e, ERR_INVALID, "core or privileges");
    if (getpriority(PRIO_PROCESS, 0) != 7)
        return err_set(e, ERR_INVALID, "nice");
    char cwd[300];
    if (!getcwd(cwd, sizeof(cwd)) || strcmp(cwd, "/") != 0)
        return err_set(e, ERR_INVALID, "directory");
    return 0;
}

TEST(signals_group_directory_and_privileges_of_the_child)
{
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, NULL);
    signal(SIGPIPE, SIG_IGN);
    setpriority(PRIO_PROCESS, 0, 2);
    struct heard *h = run_one(
        (struct job_spec){.fn = look_around, .cwd = "/", .nice = 5});
    check_ok(h);
    end_test(h);
}

static int look_at_user(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c;
    gid_t groups[10];
    int n = getgroups(10, groups), death = 0;
    prctl(PR_GET_PDEATHSIG, &death, 0, 0, 0);
    if (getuid() != 65534 || geteuid() != 65534 || getgid() != 65533)
        return err_set(e, ERR_INVALID, "ids");
    if (n != 1 || groups[0] != 65532)
        return err_set(e, ERR_INVALID, "groups");
    return death == SIGKILL ? 0 : err_set(e, ERR_INVALID, "it would outlive its parent");
}

TEST(as_another_user_or_an_error)
{
    gid_t groups[] = {65532};
    struct heard *h = run_one((struct job_spec){.fn = look_at_user,
                                                .as_user = true,
                                                .uid = 65534,
                                                .gid = 65533,
                                                .groups = groups,
                                                .groups_n = 1});
    if (geteuid() == 0) {
        check_ok(h);
    } else {
        CHECK_INT(h->result.code, ERR_DENIED);
        CHECK(str_find(str_of(h->result.text), STR("cannot become user 65534")) == 0);
    }
    end_test(h);
}

TEST(a_directory_that_is_not_there)
{
    struct heard *h = run_one((struct job_spec){.fn = look_around, .cwd = "/no/such"});
    CHECK_INT(h->result.code, ERR_NOTFOUND);
    CHECK(str_find(str_of(h->result.text), STR("cannot enter /no/such for the work")) ==
          0);
    end_test(h);
}

/* ---- limits ---- */

static int write_big_file(void *arg, const struct job_child *c, struct err *e)
{
    (void)c;
    char block[3000] = "";
    int fd = open(arg, O_WRONLY | O_CREAT, 0600);
    for (int i = 0; i < 10; i++) {
        if (write(fd, block, sizeof(block)) < 0)
            return err_sys(e, errno, "cannot write");
    }
    return 0;
}

TEST(the_size_of_a_file)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/big", t_dir());
    struct job_spec s = {.fn = write_big_file, .arg = path, .file_size = 10000};
    struct heard *h = run_one(s);
    CHECK(strstr(h->result.text, strerror(EFBIG)) != NULL);
    struct stat st;
    CHECK(stat(path, &st) == 0 && st.st_size == 10000);
    drop(h);
    s.file_size = 0;
    h = run_one(s);
    check_ok(h);
    end_test(h);
}

static int take_memory(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c;
    void *p = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
    return p == MAP_FAILED ? err_sys(e, errno, "cannot map") : 0;
}

TEST(memory)
{
    T_NEEDS(memory_limit);
    struct heard *h = run_one((struct job_spec){.fn = take_memory, .memory = 16 << 20});
    CHECK(strstr(h->result.text, strerror(ENOMEM)) != NULL);
    drop(h);
    h = run_one((struct job_spec){.fn = take_memory, .memory = 128 << 20});
    check_ok(h);
    end_test(h);
}

static int open_files(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c;
    for (int i = 0; i < 20; i++)
        if (open("/dev/null", O_RDONLY) < 0)
            return err_sys(e, errno, "cannot open");
    return 0;
}

TEST(open_files_are_limited)
{
    struct heard *h = run_one((struct job_spec){.fn = open_files, .files = 12});
    CHECK(strstr(h->result.text, strerror(EMFILE)) != NULL);
    end_test(h);
}

static int spin(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    volatile unsigned turns = 0;
    while (c->out == 1)
        turns++;
    return 0;
}

TEST(processor_time)
{
    struct heard *h = run_one((struct job_spec){.fn = spin, .cpu_s = 1});
    CHECK_INT(h->result.code, ERR_LIMIT);
    end_test(h);
}

/* ---- ends ---- */

static int crash(void *arg, const struct job_child *c, struct err *e)
{
    (void)c, (void)e;
    raise(*(int *)arg);
    return 0;
}

static int leave_quietly(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)c, (void)e;
    _exit(0);
}

TEST(a_child_that_ends_without_a_word)
{
    int segv = SIGSEGV, kill9 = SIGKILL;
    struct heard *h = run_one(
        (struct job_spec){.fn = crash, .arg = &segv, .what = "digging"});
    CHECK_INT(h->result.code, ERR_INTERNAL);
    CHECK_STR(h->result.text, "digging crashed: signal 11");
    drop(h);
    h = run_one((struct job_spec){.fn = crash, .arg = &kill9});
    CHECK_INT(h->result.code, ERR_LIMIT);
    drop(h);
    h = run_one((struct job_spec){.fn = leave_quietly});
    CHECK_STR(h->result.text, "the work ended without a result");
    end_test(h);
}

static int tell_pid_and_stay(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    signal(SIGTERM, SIG_IGN);
    job_note(c, STR("here"));
    while (put_pattern(c, TOTAL) == 0)
        ;
    return pause();
}

TEST(cancelled_before_during_and_in_every_callback)
{
    struct heard *h = start((struct job_spec){.fn = tell_pid_and_stay});
    job_cancel(h->job);
    run_until(no_child_left);
    CHECK_INT(h->dones + h->notes_n + (int)h->data.n, 0);
    CHECK_INT(gone, 1);
    drop(h);
    for (int i = 0; i < 2; i++) {
        running = 0;
        h = start((struct job_spec){.fn = tell_pid_and_stay});
        h->cancel_on_data = i == 0;
        h->cancel_on_note = i == 1;
        run();
        run_until(no_child_left);
        CHECK_INT(h->dones, 0);
        CHECK(i == 0 ? h->data.n <= JOB_BUFFER : h->notes_n == 1);
        CHECK_INT(gone, i + 2);
        drop(h);
    }
    loop_free(loop);
}

TEST(cancelled_while_paused)
{
    struct heard *h = start((struct job_spec){.fn = tell_pid_and_stay});
    h->stop_on_note = true;
    job_pause(h->job);
    run();
    CHECK_INT(h->data.n, 0);
    job_cancel(h->job);
    run_until(no_child_left);
    end_test(h);
}

static struct heard *paused;
static void resume_it(struct timer *t)
{
    (void)t;
    CHECK_INT(paused->dones, 0);
    CHECK_INT(paused->data.n, 0);
    job_resume(paused->job);
}

static struct timer resume_timer;
static bool zombie_reaped(void)
{
    if (!no_child_left())
        return false;
    timer_begin(loop, &resume_timer, 1, resume_it);
    return true;
}

/* The child is gone long before its bytes are wanted. */
static int put_little(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    return put_pattern(c, 50000);
}

TEST(what_a_paused_job_wrote_outlives_it)
{
    paused = start((struct job_spec){.fn = put_little});
    job_pause(paused->job);
    run_until(zombie_reaped);
    run();
    CHECK_INT(paused->dones, 1);
    check_ok(paused);
    check_pattern(&paused->data, 50000);
    end_test(paused);
}

static int leave_someone(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    if (fork() == 0) {
        signal(SIGHUP, SIG_IGN);
        pause();
    }
    return job_put(c, STR("done"));
}

TEST(what_it_leaves_behind_ends_with_it)
{
    T_NEEDS(subreaper);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    struct heard *h = start((struct job_spec){.fn = leave_someone});
    run();
    check_ok(h);
    CHECK_STR(buf_z(&h->data), "done");
    CHECK(WIFSIGNALED(t_reap(-1))); /* the orphan, which came to us */
    end_test(h);
}

static int keeper_client_a_pipe(void *arg, const struct job_child *c, struct err *e)
{
    (void)arg, (void)e;
    job_note(c, STR("here"));
    return pause();
}

TEST(it_dies_with_its_parent)
{
    int p[2];
    char byte;
    CHECK_INT(pipe(p), 0);
    pid_t pid = t_fork();
    if (pid == 0) {
        close(p[0]);
        struct heard *h = start(
            (struct job_spec){.fn = keeper_client_a_pipe, .fds = &p[1], .fds_n = 1});
        h->stop_on_note = true;
        run();
        kill(getpid(), SIGKILL);
    }
    close(p[1]);
    CHECK(WIFSIGNALED(t_reap(pid)));
    CHECK_INT(read(p[0], &byte, 1), 0);
}

/* Reads its input and reports its end, even if the parent is gone. */
static int look_at_the_end(void *arg, const struct job_child *c, struct err *e)
{
    char bytes[64];
    (void)arg, (void)e;
    prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0);
    job_note(c, STR("here"));
    while (read(c->in, bytes, sizeof(bytes)) > 0)
        ;
    const char *how = job_input_whole(c) ? "whole" : "cut";
    return write(c->fds[0], how, strlen(how)) < 0 ? -1 : 0;
}

TEST(an_end_of_input_is_told_from_the_end_of_the_parent)
{
    for (int dies = 0; dies < 2; dies++) {
        char how[8] = "";
        int p[2];
        CHECK_INT(pipe(p), 0);
        pid_t pid = t_fork();
        if (pid == 0) {
            struct heard *h = start((struct job_spec){
                .fn = look_at_the_end, .fds = &p[1], .fds_n = 1, .input = true});
            h->stop_on_note = true;
            run();
            job_write(h->job, STR("some"));
            if (dies)
                kill(getpid(), SIGKILL);
            job_end_input(h->job);
            run();
            _exit(0);
        }
        close(p[1]);
        t_reap(pid);
        CHECK(read(p[0], how, sizeof(how) - 1) > 0);
        CHECK_STR(how, dies ? "cut" : "whole");
        close(p[0]);
    }
}

TEST(many_at_once)
{
    enum { MANY = 40 };
    struct heard *h[MANY];
    for (int i = 0; i < MANY; i++) {
        h[i] = start(
            (struct job_spec){.fn = i % 4 == 3 ? tell_pid_and_stay : put_little});
        if (i % 4 == 3) {
            job_cancel(h[i]->job);
            running--;
        }
    }
    run();
    run_until(no_child_left);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(h[i]->dones, i % 4 != 3);
        if (i % 4 != 3) {
            check_ok(h[i]);
            check_pattern(&h[i]->data, 50000);
        }
        drop(h[i]);
    }
    loop_free(loop);
}

static int lowest_free(void)
{
    int fd = open("/dev/null", O_RDONLY);
    close(fd);
    return fd;
}

TEST(a_start_that_is_refused_leaves_nothing)
{
    loop = loop_new();
    int first = lowest_free();
    struct job_spec s = {.what = "digging", .fn = put_little, .ev = &events};
    for (int room = 0; room < 4; room++) {
        struct rlimit before, r;
        struct err e = ERR_INIT;
        getrlimit(RLIMIT_NOFILE, &before);
        r = before;
        r.rlim_cur = (rlim_t)(first + room);
        CHECK_INT(setrlimit(RLIMIT_NOFILE, &r), 0);
        CHECK(job_start(loop, &s, &e) == NULL);
        CHECK(str_find(str_of(e.text), STR("cannot start digging: ")) == 0);
        setrlimit(RLIMIT_NOFILE, &before);
        CHECK_INT(lowest_free(), first);
    }
    loop_free(loop);
}

T_MAIN
