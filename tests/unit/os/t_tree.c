/* SPDX-License-Identifier: MIT */
/*
 * Trees of real processes that do what trees do to get away: daemons, forks
 * at full speed, ignored signals, stopped processes, other users'.
 */
#include "os/tree.h"

#include "os/procfs.h"

#include "t_kernel.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>

/* Of this case only: orphans that came to init are found by every test there is. */
static const char *tag(void)
{
    static char text[32];
    snprintf(text, sizeof(text), "t_tree-%ld", (long)getpid());
    return text;
}

static void signal_tree(pid_t root, const char *session_tag, int sig, bool with_root,
                        struct tree_result *out)
{
    tree_signal(&(struct tree_of){.root = root, .tag = session_tag}, sig, with_root, out);
}

static int count_tree(pid_t root, const char *session_tag)
{
    return tree_count(&(struct tree_of){.root = root, .tag = session_tag});
}

/* The name of a file in the private directory. */
static const char *file(const char *name)
{
    static char path[4][512];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", t_dir(), name);
    return path[i];
}

static bool exists(const char *name)
{
    return access(file(name), F_OK) == 0;
}

/* Shells that were started, so that nothing of them stays behind. */
static pid_t shells[32];
static int shells_n;

static void end_shells(void)
{
    struct tree_result r;
    for (int i = 0; i < shells_n; i++)
        if (waitpid(shells[i], NULL, WNOHANG) == 0)
            signal_tree(shells[i], NULL, SIGKILL, true, &r);
}

/* What the shell of a session is: leader, subreaper, tagged. */
static pid_t start_shell(const char *script, const char *session_tag, bool subreaper)
{
    const char *dir = t_dir();
    pid_t pid = t_fork();
    if (pid == 0) {
        setsid();
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_CHILD_SUBREAPER, subreaper);
        int null = open("/dev/null", O_RDWR);
        if (chdir(dir) < 0 || null < 0)
            _exit(1);
        for (int i = 0; i < 3; i++)
            dup2(null, i);
        if (session_tag)
            setenv("OD_SESSION_TAG", session_tag, 1);
        execlp("sh", "sh", "-c", script, (char *)NULL);
        _exit(127);
    }
    if (shells_n == 0)
        atexit(end_shells);
    if (shells_n < (int)(sizeof(shells) / sizeof(shells[0])))
        shells[shells_n++] = pid;
    return pid;
}

static char state_of(pid_t pid)
{
    struct procfs_stat s;
    return procfs_stat(pid, &s) == 0 ? s.state : '-';
}

static bool alive(pid_t pid)
{
    return !strchr("-ZX", state_of(pid));
}

/* A pid that a script wrote into a file, 0 as long as it has not. */
static pid_t pid_in(const char *name)
{
    char text[32] = "";
    FILE *f = fopen(file(name), "r");
    if (f && !fgets(text, sizeof(text), f))
        text[0] = '\0';
    if (f)
        fclose(f);
    uint64_t pid = 0;
    struct str s = str_of(text);
    if (s.n > 0 && s.p[s.n - 1] == '\n' && str_to_u64(str_trim(s), &pid) < 0)
        pid = 0;
    return (pid_t)pid;
}

TEST(count_and_kill_without_the_root)
{
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & sh -c 'sleep 1000 & sleep 1000 & wait' &"
                             "wait; >on; sleep 1000", NULL, true);
    T_WAIT(count_tree(root, NULL) == 4);
    signal_tree(root, NULL, SIGKILL, false, &r);
    CHECK_INT(r.found, 4);
    CHECK_INT(r.denied, 0);
    CHECK(!r.no_proc);
    /* The shell goes on: it was stopped only meanwhile. */
    T_WAIT(exists("on"));
    T_WAIT(count_tree(root, NULL) == 1);
    CHECK(alive(root));
}

/* As a shell with jobs waits; 0 when it heard of nothing but the death. */
static void wait_like_a_shell(int ready)
{
    pid_t child = fork();
    int status = 0;
    if (child == 0) {
        for (;;)
            pause();
    }
    if (child < 0 || write(ready, "x", 1) != 1 || waitpid(child, &status, WUNTRACED) < 0)
        _exit(2);
    _exit(WIFSTOPPED(status) ? 1 : 0);
}

TEST(a_shell_that_waits_hears_of_no_stop)
{
    for (int i = 0; i < 200; i++) {
        struct tree_result r;
        int p[2];
        char byte;
        CHECK_INT(pipe(p), 0);
        pid_t root = t_fork();
        if (root == 0)
            wait_like_a_shell(p[1]);
        CHECK_INT(read(p[0], &byte, 1), 1);
        close(p[0]);
        close(p[1]);
        signal_tree(root, NULL, SIGKILL, false, &r);
        CHECK_INT(r.found, 1);
        int status = t_reap(root);
        CHECK(WIFEXITED(status));
        CHECK_INT(WEXITSTATUS(status), 0);
    }
}

TEST(kill_with_the_root)
{
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & echo $! >a; sleep 1000", NULL, true);
    T_WAIT(count_tree(root, NULL) == 2 && pid_in("a"));
    signal_tree(root, NULL, SIGKILL, true, &r);
    CHECK_INT(r.found, 2);
    T_WAIT(!alive(pid_in("a")));
    int status = t_reap(root);
    CHECK(WIFSIGNALED(status));
    CHECK_INT(WTERMSIG(status), SIGKILL);
}

TEST(nobody_below)
{
    struct tree_result r;
    pid_t root = start_shell("exec sleep 1000", NULL, true);
    CHECK_INT(count_tree(root, NULL), 0);
    signal_tree(root, NULL, SIGKILL, false, &r);
    CHECK_INT(r.found, 0);
    T_WAIT(state_of(root) == 'S');
    kill(root, SIGKILL);
    t_reap(root);
    /* Nor does a root that is gone harm anybody. */
    signal_tree(root, NULL, SIGKILL, true, &r);
    CHECK_INT(r.found, 0);
    signal_tree(0, NULL, SIGKILL, true, &r);
    CHECK_INT(r.found, 0);
    CHECK_INT(count_tree(0, NULL), 0);
}

/* setsid and double fork: a session and a group of its own, the parent gone. */
#define DAEMON \
    "setsid sh -c '(sleep 1000 & echo $! >\"$1.tmp\"; mv \"$1.tmp\" \"$1\") &' x "

TEST(a_daemon_does_not_get_away)
{
    T_NEEDS(subreaper);
    struct tree_result r;
    pid_t a = start_shell(DAEMON "a; sleep 1000", NULL, true);
    pid_t b = start_shell(DAEMON "b; sleep 1000", NULL, true);
    T_WAIT(pid_in("a") && pid_in("b"));
    pid_t mine = pid_in("a"), others = pid_in("b");
    struct procfs_stat s;
    T_WAIT(procfs_stat(mine, &s) == 0 && s.ppid == a);
    CHECK(s.session != a);
    signal_tree(a, NULL, SIGKILL, true, &r);
    T_WAIT(!alive(mine));
    CHECK(alive(others));
    CHECK(alive(b));
    signal_tree(b, NULL, SIGKILL, true, &r);
    T_WAIT(!alive(others));
}

TEST(an_orphan_elsewhere_is_known_by_its_tag)
{
    T_NEEDS(subreaper);
    /* Shells that are no subreapers: their orphans come to us. */
    struct tree_result r;
    char longer[40];
    snprintf(longer, sizeof(longer), "%s0", tag());
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t a = start_shell(DAEMON "a; sleep 1000", tag(), false);
    pid_t b = start_shell(DAEMON "b; sleep 1000", longer, false);
    T_WAIT(pid_in("a") && pid_in("b"));
    pid_t mine = pid_in("a"), others = pid_in("b");
    struct procfs_stat s;
    T_WAIT(procfs_stat(mine, &s) == 0 && s.ppid == getpid());
    T_WAIT(count_tree(a, NULL) == 1);
    T_WAIT(count_tree(a, tag()) == 2);
    signal_tree(a, tag(), SIGKILL, false, &r);
    CHECK_INT(r.found, 2);
    T_WAIT(!alive(mine));
    CHECK(alive(others));
    CHECK(alive(b));
    kill(others, SIGKILL);
}

TEST(the_tag_outlives_the_shell)
{
    struct tree_result r;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    pid_t root = start_shell(DAEMON "a; exec sleep 1000", tag(), true);
    T_WAIT(pid_in("a"));
    pid_t daemon_pid = pid_in("a");
    kill(root, SIGKILL);
    t_reap(root);
    CHECK(alive(daemon_pid));
    /* In the middle of its exec it shows no environment, and so no tag. */
    T_WAIT(count_tree(0, tag()) == 1);
    signal_tree(0, tag(), SIGTERM, true, &r);
    CHECK_INT(r.found, 1);
    T_WAIT(!alive(daemon_pid));
}

/* The start that a process has which begins now or later. */
static uint64_t from_now_on(void)
{
    uint64_t now = procfs_ticks(0);
    T_WAIT(procfs_ticks(0) > now);
    return now + 1;
}

TEST(what_began_before_is_let_be)
{
    struct tree_result r;
    pid_t root = start_shell("sh -c 'while :; do sleep 1000; done' & >a; "
                             "while ! [ -e go ]; do sleep 0.01; done; >b; "
                             "sh -c 'sleep 1000 & wait' & wait; >c; sleep 1000",
                             NULL, true);
    T_WAIT(exists("a") && count_tree(root, NULL) == 3);
    struct tree_of of = {.root = root, .from = from_now_on()};
    CHECK_INT(close(open(file("go"), O_WRONLY | O_CREAT, 0600)), 0);
    T_WAIT(exists("b") && tree_count(&of) == 2);
    CHECK_INT(count_tree(root, NULL), 4);
    struct tree_of until = {.root = root, .to = of.from};
    CHECK_INT(tree_count(&until), 2);
    tree_signal(&of, SIGKILL, false, &r);
    CHECK_INT(r.found, 2);
    T_WAIT(count_tree(root, NULL) == 2);
    tree_signal(&of, SIGTERM, false, &r);
    CHECK_INT(r.found, 0);
    /* Its time does not count for who is in the foreground: here all are, with root. */
    of.group = getpgid(root);
    CHECK_INT(tree_count(&of), 2);
    of.group = 0;
    /* A time before the root's own says that starts are no times here. */
    of.from = 1;
    CHECK_INT(tree_count(&of), 2);
    tree_signal(&until, SIGKILL, false, &r);
    T_WAIT(exists("c"));
}

TEST(ignored_signals)
{
    struct tree_result r;
    pid_t root = start_shell("(trap '' TERM HUP INT; echo >up; exec sleep 1000) &"
                             "nohup sleep 1000 >/dev/null 2>&1 & wait", NULL, true);
    T_WAIT(exists("up"));
    T_WAIT(count_tree(root, NULL) == 2);
    /* Both have become sleep: then nohup and the trap have had their effect. */
    struct procfs_list l = {0};
    T_WAIT(procfs_below(&l, root, 10) == 0 && l.n == 3 &&
           strcmp(l.v[1].comm, "sleep") == 0 && strcmp(l.v[2].comm, "sleep") == 0);
    procfs_release(&l);
    signal_tree(root, NULL, SIGHUP, false, &r);
    CHECK_INT(r.found, 2);
    CHECK_INT(count_tree(root, NULL), 2);
    signal_tree(root, NULL, SIGTERM, false, &r);
    T_WAIT(count_tree(root, NULL) == 1);
    signal_tree(root, NULL, SIGKILL, false, &r);
    T_WAIT(count_tree(root, NULL) <= 0);
}

TEST(a_stopped_process_can_act_on_its_signal)
{
    struct tree_result r;
    pid_t root = start_shell("sh -c 'trap \">got; exit\" TERM; echo $$ >a;"
                             "while :; do sleep 0.01; done' & wait; sleep 1000",
                             NULL, true);
    T_WAIT(pid_in("a"));
    pid_t stopped = pid_in("a");
    kill(stopped, SIGSTOP);
    T_WAIT(state_of(stopped) == 'T');
    signal_tree(root, NULL, SIGTERM, false, &r);
    CHECK(r.found >= 1);
    T_WAIT(exists("got"));
    T_WAIT(!alive(stopped));
}

TEST(a_stopped_process_can_be_killed)
{
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & echo $! >a; wait; sleep 1000", NULL, true);
    T_WAIT(pid_in("a"));
    kill(pid_in("a"), SIGSTOP);
    T_WAIT(state_of(pid_in("a")) == 'T');
    signal_tree(root, NULL, SIGKILL, false, &r);
    T_WAIT(!alive(pid_in("a")));
}

TEST(stop_and_continue_do_only_that)
{
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & echo $! >a; wait", NULL, true);
    T_WAIT(pid_in("a"));
    T_WAIT(state_of(pid_in("a")) == 'S');
    signal_tree(root, NULL, SIGSTOP, false, &r);
    T_WAIT(state_of(pid_in("a")) == 'T');
    signal_tree(root, NULL, SIGSTOP, false, &r);
    CHECK_INT(r.found, 1);
    t_pause_ms(20);
    CHECK_INT(state_of(pid_in("a")), 'T');
    CHECK(state_of(root) != 'T');
    signal_tree(root, NULL, SIGCONT, false, &r);
    T_WAIT(state_of(pid_in("a")) == 'S');
}

TEST(parents_before_children)
{
    /* A script whose command dies must not come to its next line. */
    struct tree_result r;
    for (int i = 0; i < 10; i++) {
        pid_t root = start_shell("sh -c 'sleep 1000; >next; sleep 1000' & wait", NULL,
                                 true);
        T_WAIT(count_tree(root, NULL) == 2);
        signal_tree(root, NULL, SIGTERM, true, &r);
        CHECK_INT(r.found, 2);
        t_reap(root);
        CHECK(!exists("next"));
    }
}

TEST(the_dead_do_not_count)
{
    struct tree_result r;
    /* exec: a parent that never waits. */
    pid_t root = start_shell("true & true & exec sleep 1000", NULL, true);
    struct procfs_list l = {0};
    T_WAIT(procfs_below(&l, root, 10) == 0 && l.n == 3 && l.v[1].state == 'Z' &&
           l.v[2].state == 'Z');
    procfs_release(&l);
    CHECK_INT(count_tree(root, NULL), 0);
    signal_tree(root, NULL, SIGKILL, false, &r);
    CHECK_INT(r.found, 0);
}

/* How often something was forked, seen by everybody. */
static _Atomic int *forks;
#define FORKS_MAX 100000 /* so that a failure ends by itself */

static void relay_race(void)
{
    /* Each one forks its successor and ends: a moving target. */
    while ((*forks)++ < FORKS_MAX && fork() == 0)
        ;
    _exit(0);
}

static void thicket(void)
{
    /* Everybody forks on and stays. */
    while ((*forks)++ < 400)
        fork();
    for (;;)
        pause();
}

static pid_t start_forks(void (*fn)(void), int first)
{
    forks = mmap(NULL, sizeof(*forks), PROT_READ | PROT_WRITE,
                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(forks != MAP_FAILED);
    pid_t root = t_fork();
    if (root == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        signal(SIGCHLD, SIG_IGN); /* who ends is gone at once */
        for (int i = 0; i < first; i++)
            if (fork() == 0)
                fn();
        for (;;)
            pause();
    }
    return root;
}

static void kill_forks(void (*fn)(void), int first, int from)
{
    struct tree_result r;
    pid_t root = start_forks(fn, first);
    T_WAIT(*forks > from);
    signal_tree(root, NULL, SIGKILL, false, &r);
    T_WAIT(count_tree(root, NULL) == 0);
    int now = *forks;
    t_pause_ms(50);
    CHECK_INT(*forks, now);
    CHECK(now < FORKS_MAX);
    CHECK(alive(root));
    CHECK(state_of(root) != 'T');
    kill(root, SIGKILL);
}

TEST(forks_that_run_away)
{
    T_NEEDS(subreaper);
    kill_forks(relay_race, 4, 100);
}

TEST(forks_that_multiply)
{
    kill_forks(thicket, 1, 40);
}

TEST(the_caller_goes_on)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGTERM, SIG_IGN);
        for (;;)
            pause();
    }
    struct tree_result r;
    signal_tree(getpid(), NULL, SIGKILL, false, &r);
    int status;
    CHECK_INT(waitpid(pid, &status, 0), pid);
    CHECK_INT(WTERMSIG(status), SIGKILL);
    CHECK_INT(r.found, 1);
}

TEST(refused_signals_are_counted)
{
    if (geteuid() != 0)
        T_SKIP("only root has something that is refused to others");
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & sleep 1000 & wait", NULL, true);
    T_WAIT(count_tree(root, NULL) == 2);
    pid_t other = t_fork();
    if (other == 0) {
        if (setuid(65534) < 0)
            _exit(1);
        signal_tree(root, NULL, SIGKILL, false, &r);
        _exit(r.found == 2 && r.denied == 2 ? 0 : 2);
    }
    CHECK_INT(t_reap(other), 0);
    CHECK_INT(count_tree(root, NULL), 2);
}

TEST(without_proc_the_session_is_signalled)
{
    T_NEEDS(subreaper);
    struct tree_result r;
    pid_t root = start_shell("sleep 1000 & echo $! >a;" DAEMON
                             "b; while :; do sleep 1000; done", NULL, true);
    T_WAIT(pid_in("a") && pid_in("b"));
    pid_t inside = pid_in("a"), outside = pid_in("b");
    pid_t blind = t_fork();
    if (blind == 0) {
        if (unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("none", "/proc", "tmpfs", 0, NULL) < 0)
            _exit(3);
        if (count_tree(root, NULL) != -1)
            _exit(4);
        signal_tree(root, tag(), SIGKILL, false, &r);
        _exit(r.no_proc && r.found >= 1 && r.denied == 0 ? 0 : 5);
    }
    int status = t_reap(blind);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3)
        T_SKIP("not allowed to mount");
    CHECK_INT(status, 0);
    T_WAIT(!alive(inside));
    CHECK(alive(root));
    CHECK(alive(outside));
    signal_tree(root, NULL, SIGKILL, true, &r);
    T_WAIT(!alive(outside));
}

T_MAIN
