/* SPDX-License-Identifier: MIT */
/*
 * The keeper from the worker's side of its socket.
 *
 * The keeper runs in a process of its own and starts this very program again,
 * as worker and as reaper. The worker here does nothing but hand its socket to
 * the test (by a listening socket whose name it got as argument), so that the
 * test speaks in its place and can kill it at any instant; or it crashes.
 */
#include "keeper/keeper.h"

#include "base/clock.h"
#include "base/log.h"
#include "keeper/keepmsg.h"
#include "keeper/reaper.h"
#include "os/self.h"
#include "os/spawn.h"
#include "shell/spool.h"

#include "t.h"
#include "t_kernel.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

/* ---- the worker that is started ---- */

static int dial(const char *path)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
        return -1;
    return fd;
}

/* The worker's parent is the keeper: a child's orphan becomes the keeper's. */
static void make_orphans(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() == 0) {
            if (fork() == 0)
                t_pause_ms(20);
            _exit(0);
        }
        wait(NULL);
    }
}

enum { ORPHANS = 20 };

#define FORMAT "format 1"

static int worker_main(char **argv)
{
    const char *how = argv[1];
    if (strcmp(how, "--check") == 0) {
        const char before[] = FORMAT "; keys ";
        bool asked = strncmp(argv[2], before, sizeof(before) - 1) == 0;
        puts(asked ? "ready" : "not asked well");
        return 0;
    }
    if (strcmp(how, "exit") == 0)
        _exit(7);
    if (strcmp(how, "abort") == 0)
        raise(SIGABRT);
    if (strcmp(how, "orphans") == 0)
        make_orphans(ORPHANS);
    int fd = dial(argv[2]);
    struct keep_msg m = {.h = {.type = KEEP_HELD}, .fds = {3}, .nfds = 1};
    if (fd < 0 || keep_send(fd, &m) < 0)
        _exit(9);
    close(3);
    /* Until the test lets go of the other end. */
    struct pollfd p = {.fd = fd, .events = 0};
    poll(&p, 1, -1);
    _exit(0);
}

/* ---- the test's side ---- */

static pid_t keeper, worker;
static int listening = -1, lifeline = -1, sock = -1;
static char space[KEEP_DATA + sizeof(struct keep_head)];
static struct keep_proc proc; /* the last record */

static const char *file(const char *name)
{
    static char path[4][400];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", t_dir(), name);
    return path[i];
}

static void listen_for_workers(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    snprintf(a.sun_path, sizeof(a.sun_path), "%s", file("sock"));
    listening = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (listening < 0 || bind(listening, (struct sockaddr *)&a, sizeof(a)) < 0 ||
        listen(listening, 5) < 0)
        T_FAIL("cannot listen: %s", strerror(errno));
}

static uint64_t spool_total; /* 0: as it comes */

static void run_keeper(const char *how)
{
    char *argv[] = {(char *)(uintptr_t) "od-worker", (char *)(uintptr_t)how,
                    (char *)(uintptr_t)file("sock"), NULL};
    char *env[] = {(char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    int log = open(file("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    log_init("keeper", log, LOG_DEBUG, false);
    struct keeper_listener l[] = {{"local", open("/dev/zero", O_RDONLY | O_CLOEXEC)},
                                  {"http 127.0.0.1:1",
                                   open("/dev/null", O_RDONLY | O_CLOEXEC)}};
    struct keeper_config c = {.self = self_open(),
                              .fence = -1,
                              .reach = -1,
                              .spool_total = spool_total,
                              .worker = argv,
                              .worker_env = env,
                              .reaper_env = env,
                              .reaper = "od-reaper",
                              .path = file("next"),
                              .format = FORMAT,
                              .state_key = STR("options"),
                              .state = STR("the first state"),
                              .listeners = l,
                              .nlisteners = 2};
    _exit(keeper_run(&c));
}

static void end_keeper(void)
{
    if (keeper > 0)
        kill(keeper, SIGKILL);
}

static void start_keeper(const char *how)
{
    listen_for_workers();
    keeper = t_fork();
    if (keeper == 0)
        run_keeper(how);
    atexit(end_keeper);
}

/* Becomes the next worker that the keeper starts. */
static void be_worker(void)
{
    struct pollfd p = {.fd = listening, .events = POLLIN};
    if (poll(&p, 1, T_WAIT_MS) != 1)
        T_FAIL("the keeper starts no worker");
    lifeline = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    p.fd = lifeline;
    if (lifeline < 0 || poll(&p, 1, T_WAIT_MS) != 1)
        T_FAIL("the worker says nothing");
    struct keep_msg m;
    CHECK_INT(keep_recv(lifeline, &m, space), 1);
    CHECK_INT(m.nfds, 1);
    sock = m.fds[0];
    struct ucred who;
    socklen_t n = sizeof(who);
    CHECK_INT(getsockopt(lifeline, SOL_SOCKET, SO_PEERCRED, &who, &n), 0);
    worker = who.pid;
}

static void let_go(void)
{
    close(sock);
    close(lifeline);
    sock = lifeline = -1;
}

static void send_msg(const struct keep_msg *m)
{
    for (int i = 0; keep_send(sock, m) < 0; i++) {
        if (errno != EAGAIN || i > 1000)
            T_FAIL("keep_send: %s", strerror(errno));
        t_pause_ms(5);
    }
}

static void say(enum keep_type type, uint64_t id, uint64_t a)
{
    struct keep_msg m = {.h = {.type = (uint16_t)type, .id = id, .a = a}};
    send_msg(&m);
}

/* The next message; records are taken note of and acknowledged. */
static struct keep_msg hear(void)
{
    struct pollfd p = {.fd = sock, .events = POLLIN};
    struct keep_msg m;
    if (poll(&p, 1, T_WAIT_MS) != 1)
        T_FAIL("the keeper says nothing");
    int r = keep_recv(sock, &m, space);
    if (r != 1)
        T_FAIL("keep_recv: %d, %s", r, strerror(errno));
    if (m.h.type == KEEP_PROC) {
        CHECK_INT(m.body.n, sizeof(proc));
        memcpy(&proc, m.body.p, sizeof(proc));
        say(KEEP_SEEN, m.h.id, 1);
    }
    return m;
}

static struct keep_msg hear_type(enum keep_type type)
{
    for (;;) {
        struct keep_msg m = hear();
        if (m.h.type == type)
            return m;
        keep_close_fds(&m);
    }
}

static bool all_was_taken(void)
{
    int left = 1;
    return ioctl(sock, TIOCOUTQ, &left) == 0 && left == 0;
}

/* A signal that comes before the keeper took this note finds nobody serving. */
static void say_serving(void)
{
    say(KEEP_SERVING, 0, 0);
    T_WAIT(all_was_taken());
}

/* As a worker does when it begins, of which the details are in another case. */
static void serve(void)
{
    be_worker();
    struct keep_msg m = hear_type(KEEP_READY);
    CHECK_INT(m.nfds, 0);
    say_serving();
}

static bool in_log(const char *text)
{
    static char log[65536];
    int fd = open(file("log"), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, log, sizeof(log) - 1);
    if (fd >= 0)
        close(fd);
    log[n > 0 ? n : 0] = 0;
    return strstr(log, text) != NULL;
}

static void check_ends_well(void)
{
    int status = t_reap(keeper);
    keeper = 0;
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 0);
    CHECK(in_log("stopped"));
}

/* By signal, with a worker that leaves as it should. */
static void stop_well(void)
{
    kill(keeper, SIGTERM);
    struct keep_msg m = hear_type(KEEP_SIGNAL);
    CHECK_INT(m.h.a, SIGTERM);
    say(KEEP_STOP, 0, 300);
    let_go();
    check_ends_well();
}

/* ---- programs ---- */

/* What the test keeps of one. The spools are open as long as the case runs. */
struct program {
    uint64_t id;
    int spool[2];
};

enum { SPOOL_KIB = 64 };

static uint32_t spool_kib = SPOOL_KIB;
static const char *spool_dir; /* NULL: t_dir() */

static int new_spool(void)
{
    int fd = open(spool_dir ? spool_dir : t_dir(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    if (fd < 0)
        fd = memfd_create("spool", MFD_CLOEXEC);
    if (fd < 0)
        T_FAIL("no spool: %s", strerror(errno));
    return fd;
}

static void spawn_with(struct program *p, const int *fds, int nfds, uint32_t flags,
                       const char *path, const char *cwd, const char *script)
{
    char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "-c",
                    (char *)(uintptr_t)script, NULL};
    char *env[] = {(char *)(uintptr_t) "PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    struct buf body = BUF_INIT(KEEP_DATA);
    CHECK_INT(reaper_spawn_body(&body, path, cwd, argv, env), 0);
    struct keep_msg m = {.h = {.type = KEEP_SPAWN,
                               .id = p->id,
                               .a = (uint64_t)getuid() | (uint64_t)getgid() << 32,
                               .flags = flags,
                               .kib = spool_kib},
                         .body = buf_str(&body),
                         .nfds = nfds};
    memcpy(m.fds, fds, sizeof(int) * (size_t)nfds);
    send_msg(&m);
    buf_release(&body);
    for (int i = 0; i < nfds; i++)
        if (fds[i] != p->spool[0] && fds[i] != p->spool[1])
            close(fds[i]);
}

/* `sh -c script` in the private directory, with input and errors apart. */
static struct program spawn_script(uint64_t id, const char *script)
{
    struct program p = {id, {new_spool(), new_spool()}};
    int in[2], out[2], err[2];
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
        pipe2(err, O_CLOEXEC) < 0)
        T_FAIL("pipe: %s", strerror(errno));
    int fds[] = {in[0], out[1], err[1], in[1], out[0], p.spool[0], err[0], p.spool[1]};
    spawn_with(&p, fds, 8, KEEP_IN | KEEP_ERR, "sh", t_dir(), script);
    return p;
}

static struct program spawn_on_tty(uint64_t id, const char *script)
{
    struct program p = {id, {new_spool(), -1}};
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        T_SKIP("no terminals here");
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    int fds[] = {slave, master, p.spool[0]};
    spawn_with(&p, fds, 3, KEEP_PTY, "sh", t_dir(), script);
    return p;
}

static void write_input(const struct program *p, uint64_t at, const char *text)
{
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .id = p->id, .a = at},
                         .body = str_of(text)};
    send_msg(&m);
}

/* Until its record says so. */
static void wait_flags(const struct program *p, uint32_t flags)
{
    do
        hear_type(KEEP_PROC);
    while (proc.id != p->id || (proc.flags & flags) != flags);
}

/* Over, and all that it wrote has arrived. */
static void wait_end(const struct program *p)
{
    do
        hear_type(KEEP_PROC);
    while (proc.id != p->id || !(proc.flags & KEEP_P_EXITED) || !proc.out[0].eof ||
           !proc.out[1].eof);
}

static const char *in_spool(int fd)
{
    static char text[SPOOL_KIB << 10];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    text[n > 0 ? n : 0] = 0;
    return text;
}

/* State letter and parent of a process; 0: there is none. */
static char stat_of(pid_t pid, int *parent)
{
    char path[40], text[600], state = 0;
    snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    const char *end = strrchr(text, ')');
    return end && sscanf(end, ") %c %d", &state, parent) == 2 ? state : 0;
}

static bool alive(pid_t pid)
{
    int parent;
    char state = stat_of(pid, &parent);
    return state && state != 'Z' && state != 'X';
}

static void touch(const char *name)
{
    int fd = open(file(name), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    close(fd);
}

static pid_t pid_in(const char *name)
{
    char text[20] = "";
    int fd = open(file(name), O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    return n > 0 && text[n - 1] == '\n' ? (pid_t)strtol(text, NULL, 10) : 0;
}

/* Children of a process, zombies too; *other: one that is not `but`. */
static int children(pid_t parent, pid_t but, pid_t *other)
{
    DIR *d = opendir("/proc");
    struct dirent *e;
    int count = 0;
    while (d && (e = readdir(d))) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        int its = 0;
        if (pid <= 0 || !stat_of(pid, &its) || its != parent)
            continue;
        count++;
        if (pid != but && other)
            *other = pid;
    }
    if (d)
        closedir(d);
    return count;
}

/* ---- the worker's life ---- */

static void check_held_back(const char *how, const char *reason)
{
    start_keeper(how);
    T_WAIT(in_log("again in 400 ms"));
    char want[100];
    static const int pauses[] = {0, 100, 200, 400};
    for (int i = 0; i < 4; i++) {
        snprintf(want, sizeof(want), "; starting it again in %d ms", pauses[i]);
        if (!in_log(want))
            T_FAIL("not in the log: %s", want);
    }
    CHECK(in_log(reason));
    kill(keeper, SIGTERM);
    check_ends_well();
}

TEST(a_worker_that_exits_again_and_again_is_held_back)
{
    check_held_back("exit", "the worker ended with status 7 after");
}

TEST(a_worker_that_crashes_again_and_again_is_held_back)
{
    check_held_back("abort", "the worker was killed by signal 6");
}

TEST(a_serving_worker_that_was_killed_comes_back_at_once)
{
    start_keeper("relay");
    for (int i = 0; i < 6; i++) {
        serve();
        kill(worker, SIGKILL);
        let_go();
    }
    serve();
    CHECK(in_log("was killed by signal 9"));
    CHECK(!in_log("again in 100 ms"));
    stop_well();
}

static void put(const char *key, const char *value)
{
    struct keep_msg m = {
        .h = {.type = KEEP_PUT}, .key = str_of(key), .value = str_of(value)};
    send_msg(&m);
}

TEST(a_new_worker_gets_what_is_kept)
{
    start_keeper("relay");
    be_worker();
    struct keep_msg m = hear();
    CHECK_INT(m.h.type, KEEP_HELD);
    CHECK(str_eq(m.body, STR("local")));
    CHECK_INT(m.nfds, 1);
    char zeros[3] = "abc";
    CHECK_INT(read(m.fds[0], zeros, 3), 3); /* it is the one that was given */
    CHECK_MEM(zeros, 3, "\0\0\0");
    keep_close_fds(&m);
    m = hear();
    CHECK_INT(m.h.type, KEEP_HELD);
    CHECK(str_eq(m.body, STR("http 127.0.0.1:1")));
    CHECK_INT(m.nfds, 1);
    CHECK_INT(read(m.fds[0], zeros, 3), 0);
    keep_close_fds(&m);
    m = hear();
    CHECK_INT(m.h.type, KEEP_STATE);
    CHECK(str_eq(m.key, STR("options")) && str_eq(m.value, STR("the first state")));
    m = hear();
    CHECK_INT(m.h.type, KEEP_READY);
    say_serving();

    put("options", "another, longer than the first state was");
    put("a", "1");
    put("b", "2");
    put("a", "");
    /* Any message may carry a state. */
    m = (struct keep_msg){
        .h = {.type = KEEP_SEEN, .id = 99}, .key = STR("c"), .value = STR("with\0zero")};
    send_msg(&m);
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    m = (struct keep_msg){
        .h = {.type = KEEP_HOLD}, .body = STR("second"), .fds = {fd}, .nfds = 1};
    send_msg(&m);
    kill(worker, SIGKILL);
    let_go();

    be_worker();
    const char *held[] = {"local", "http 127.0.0.1:1", "second"};
    int helds = 0, states = 0;
    while ((m = hear()).h.type != KEEP_READY) {
        if (m.h.type == KEEP_HELD) {
            CHECK(helds < 3 && str_eq(m.body, str_of(held[helds])));
            helds++;
            CHECK_INT(m.nfds, 1);
            keep_close_fds(&m);
            continue;
        }
        CHECK_INT(m.h.type, KEEP_STATE);
        states++;
        if (str_eq(m.key, STR("options")))
            CHECK(str_eq(m.value, STR("another, longer than the first state was")));
        else if (str_eq(m.key, STR("b")))
            CHECK(str_eq(m.value, STR("2")));
        else
            CHECK(str_eq(m.key, STR("c")) && str_eq(m.value, STR("with\0zero")));
    }
    CHECK_INT(helds, 3);
    CHECK_INT(states, 3);
    say_serving();
    stop_well();
}

TEST(what_a_worker_sent_before_it_died_is_done)
{
    enum { MANY = 60 };
    start_keeper("relay");
    serve();
    char key[20];
    kill(keeper, SIGSTOP); /* it finds the messages and the death together */
    for (int i = 0; i < MANY; i++) {
        snprintf(key, sizeof(key), "key %d", i);
        put(key, "x");
    }
    kill(worker, SIGKILL);
    let_go();
    kill(keeper, SIGCONT);
    be_worker();
    struct keep_msg m;
    int states = 0;
    while ((m = hear()).h.type != KEEP_READY) {
        states += m.h.type == KEEP_STATE;
        keep_close_fds(&m);
    }
    CHECK_INT(states, MANY + 1);
    say_serving();
    stop_well();
}

TEST(what_is_no_message_does_no_harm)
{
    start_keeper("relay");
    serve();
    CHECK_INT(send(sock, "?", 1, 0), 1);
    struct keep_head h = {.version = KEEP_VERSION + 1, .type = KEEP_STOP};
    CHECK_INT(send(sock, &h, sizeof(h), 0), sizeof(h));
    say((enum keep_type)999, 1, 1);
    say(KEEP_SPAWN, 5, 0); /* without descriptors */
    hear_type(KEEP_PROC);
    CHECK_INT(proc.id, 5);
    CHECK_INT(proc.flags, KEEP_P_FAILED);
    CHECK_INT(proc.errnum, EMFILE);
    say(KEEP_HOLD, 0, 0);
    say(KEEP_WRITE, 12345, 0); /* of nobody */
    say(KEEP_FORGET, 12345, 0);
    struct program p = spawn_script(1, "exit 2");
    wait_end(&p);
    CHECK_INT(WEXITSTATUS(proc.status), 2);
    stop_well();
}

TEST(signals_are_passed_on)
{
    static const int signals[] = {SIGUSR1, SIGUSR2};
    start_keeper("relay");
    serve();
    for (int i = 0; i < 2; i++) {
        kill(keeper, signals[i]);
        CHECK_INT(hear_type(KEEP_SIGNAL).h.a, signals[i]);
    }
    stop_well();
}

/* A core of a keeper that hangs is for who asks for it; only a command gets the signal.
 */
TEST(a_quit_ends_a_keeper_without_a_command)
{
    int status = 0;
    start_keeper("relay");
    serve();
    kill(keeper, SIGQUIT);
    CHECK_INT(waitpid(keeper, &status, 0), keeper);
    keeper = 0;
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
}

/* ---- another file for the worker ---- */

/* What the keeper finds when it opens its own path again. */
static void put_next(void)
{
    char self[400];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = 0;
    CHECK_INT(symlink(self, file("next")), 0);
}

static void ask_upgrade(uint64_t token, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct keep_msg m = {.h = {.type = KEEP_UPGRADE, .id = token, .a = ENOENT},
                         .body = STR("a file"),
                         .fds = {fd},
                         .nfds = fd >= 0};
    send_msg(&m);
    if (fd >= 0)
        close(fd);
}

static void check_outcome(uint64_t token, const char *why)
{
    struct keep_msg m = hear_type(KEEP_UPGRADED);
    CHECK_INT(m.h.id, token);
    CHECK(str_eq(m.body, str_of(why)));
}

/* The worker is asked to leave, and has not ended before it does. */
static void leave_for_next(void)
{
    CHECK_INT(hear_type(KEEP_SIGNAL).h.a, SIGHUP);
    CHECK(alive(worker));
    let_go();
}

TEST(hup_starts_the_file_at_its_path_as_worker)
{
    put_next();
    start_keeper("relay");
    serve();
    pid_t before = worker;
    kill(keeper, SIGHUP);
    leave_for_next();
    serve();
    CHECK(worker != before);
    T_WAIT(in_log("the worker is"));
    stop_well();
}

TEST(hup_without_a_file_leaves_the_worker_alone)
{
    start_keeper("relay");
    serve();
    kill(keeper, SIGHUP);
    T_WAIT(in_log("No such file"));
    CHECK(alive(worker));
    stop_well();
}

TEST(a_worker_that_does_not_leave_is_made_to)
{
    put_next();
    start_keeper("relay");
    serve();
    pid_t before = worker;
    int sock_before = sock, lifeline_before = lifeline;
    kill(keeper, SIGHUP);
    CHECK_INT(hear_type(KEEP_SIGNAL).h.a, SIGHUP);
    serve();
    CHECK(!alive(before));
    close(sock_before);
    close(lifeline_before);
    stop_well();
}

TEST(who_asked_for_another_file_is_told)
{
    start_keeper("relay");
    serve();
    ask_upgrade(5, "/dev/null");
    check_outcome(5, "it is not a file");
    ask_upgrade(6, file("none"));
    check_outcome(6, "No such file or directory");
    ask_upgrade(7, "/proc/self/exe");
    leave_for_next();
    serve();
    ask_upgrade(7, "/proc/self/exe");
    check_outcome(7, "");
    CHECK(alive(worker));
    stop_well();
}

/* Somebody kills it: that is no fault of the new file's, however soon it comes. */
TEST(a_new_file_that_served_is_kept_though_its_workers_are_killed)
{
    start_keeper("relay");
    serve();
    ask_upgrade(7, "/proc/self/exe");
    leave_for_next();
    serve();
    for (int i = 0; i < 4; i++) {
        kill(worker, SIGKILL);
        let_go();
        serve();
    }
    ask_upgrade(7, "/proc/self/exe");
    check_outcome(7, "");
    CHECK(!in_log("its worker ended"));
    stop_well();
}

TEST(a_second_asker_is_told_to_wait)
{
    start_keeper("relay");
    serve();
    ask_upgrade(7, "/proc/self/exe");
    ask_upgrade(8, "/proc/self/exe");
    check_outcome(8, "another upgrade is under way; ask again when it is over");
    leave_for_next();
    serve();
    stop_well();
}

TEST(the_end_comes_before_an_upgrade)
{
    start_keeper("relay");
    serve();
    kill(keeper, SIGTERM);
    CHECK_INT(hear_type(KEEP_SIGNAL).h.a, SIGTERM);
    ask_upgrade(7, "/proc/self/exe");
    check_outcome(7, "the server is stopping");
    say(KEEP_STOP, 0, 300);
    let_go();
    check_ends_well();
}

/* ---- programs ---- */

TEST(a_program_from_start_to_end)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, "cat; echo errors >&2; exit 3");
    write_input(&p, 0, "hello\n");
    write_input(&p, 0, "hello\nmore\n"); /* repeated, as after a restart */
    write_input(&p, 100, "a hole before it");
    say(KEEP_CLOSE, 1, 0);
    wait_end(&p);
    CHECK(proc.flags & KEEP_P_STARTED);
    CHECK(proc.pid > 0);
    CHECK(WIFEXITED(proc.status));
    CHECK_INT(WEXITSTATUS(proc.status), 3);
    CHECK_INT(proc.input, 11);
    CHECK_INT(proc.input_pending, 0);
    CHECK_INT(proc.out[0].offset, 11);
    CHECK_INT(proc.out[0].cap, SPOOL_KIB << 10);
    CHECK_INT(proc.out[0].gaps, 0);
    CHECK_STR(in_spool(p.spool[0]), "hello\nmore\n");
    CHECK_STR(in_spool(p.spool[1]), "errors\n");
    stop_well();
}

/* Of a pipe each direction ends by itself. */
TEST(input_goes_on_after_the_output_has_ended)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1,
                                    "exec >&- 2>&-; read -r line && echo \"$line\" >got");
    do
        hear_type(KEEP_PROC);
    while (proc.id != p.id || !proc.out[0].eof || !proc.out[1].eof);
    write_input(&p, 0, "hello\n");
    wait_end(&p);
    int fd = open(file("got"), O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_STR(in_spool(fd), "hello\n");
    close(fd);
    stop_well();
}

/* want NULL: it is not whole. */
static bool is_program(struct str body, const char *want)
{
    struct reaper_program p;
    struct buf text = BUF_INIT(1000);
    bool whole = reaper_spawn_parse(body, &p) == 0;
    if (whole) {
        buf_addf(&text, "%s in '%s'", p.program, p.cwd);
        for (char **s = p.argv; *s; s++)
            buf_addf(&text, " '%s'", *s);
        buf_addz(&text, " with");
        for (char **s = p.envp; *s; s++)
            buf_addf(&text, " '%s'", *s);
        printf("# %s\n", buf_z(&text));
    }
    bool same = want ? whole && strcmp(buf_z(&text), want) == 0 : !whole;
    free(p.argv);
    buf_release(&text);
    return same;
}

TEST(a_program_is_read_as_it_was_written_and_only_whole)
{
    char none[] = "", x[] = "x", a[] = "a=1", b[] = "b=";
    char *nothing[] = {NULL}, *blank[] = {none, NULL}, *both[] = {x, none, NULL};
    char *env[] = {a, b, NULL};
    struct buf body = BUF_INIT(1000);
    CHECK_INT(reaper_spawn_body(&body, "p", "/d", both, env), 0);
    CHECK(is_program(buf_str(&body), "p in '/d' 'x' '' with 'a=1' 'b='"));
    for (size_t n = 0; n < body.n; n++)
        CHECK(is_program(str_sub(buf_str(&body), 0, n), NULL));
    buf_reset(&body);
    CHECK_INT(reaper_spawn_body(&body, "p", NULL, blank, nothing), 0);
    CHECK(is_program(buf_str(&body), "p in '' '' with"));
    buf_reset(&body);
    CHECK_INT(reaper_spawn_body(&body, "p", "", nothing, nothing), 0);
    CHECK(is_program(buf_str(&body), "p in '' with"));
    struct reaper_spawn many = {UINT32_MAX, UINT32_MAX};
    memcpy(body.p, &many, sizeof(many));
    CHECK(is_program(buf_str(&body), NULL));
    buf_release(&body);
    struct buf small = BUF_INIT(12);
    CHECK_INT(reaper_spawn_body(&small, "program", "/d", both, env), -1);
    buf_release(&small);
}

TEST(the_keeper_has_more_descriptors_than_its_programs)
{
    struct rlimit r;
    CHECK_INT(getrlimit(RLIMIT_NOFILE, &r), 0);
    r.rlim_cur = 100;
    CHECK_INT(setrlimit(RLIMIT_NOFILE, &r), 0);
    start_keeper("relay");
    serve();
    CHECK_INT(prlimit(keeper, RLIMIT_NOFILE, NULL, &r), 0);
    CHECK(r.rlim_cur == r.rlim_max && r.rlim_cur > 100);
    struct program p = spawn_script(1, "ulimit -n");
    wait_end(&p);
    CHECK_STR(in_spool(p.spool[0]), "100\n");
    stop_well();
}

TEST(a_program_on_a_terminal)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_on_tty(7, "stty -echo; echo ready; read x; echo \"got $x\"; "
                                       "[ -t 1 ] && kill -TERM $$");
    do
        hear_type(KEEP_PROC);
    while (!strstr(in_spool(p.spool[0]), "ready"));
    write_input(&p, 0, "line\n");
    wait_end(&p);
    CHECK(WIFSIGNALED(proc.status));
    CHECK_INT(WTERMSIG(proc.status), SIGTERM);
    CHECK_STR(in_spool(p.spool[0]), "ready\r\ngot line\r\n");
    stop_well();
}

TEST(programs_that_do_not_start_say_at_which_step)
{
    start_keeper("relay");
    serve();
    struct program p = {1, {new_spool(), -1}};
    for (int i = 0; i < 2; i++) {
        int out[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
        CHECK_INT(pipe2(out, O_CLOEXEC), 0);
        int err = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
        int fds[] = {null, out[1], err, out[0], p.spool[0]};
        p.id = (uint64_t)i + 1;
        spawn_with(&p, fds, 5, 0, i == 0 ? "sh" : "no-such-program",
                   i == 0 ? "/no/such/folder" : NULL, "echo ran");
        wait_flags(&p, KEEP_P_FAILED);
        CHECK_INT(proc.step, i == 0 ? SPAWN_CWD : SPAWN_EXEC);
        CHECK_INT(proc.errnum, ENOENT);
        CHECK(!(proc.flags & KEEP_P_STARTED));
    }
    CHECK_STR(in_spool(p.spool[0]), "");
    stop_well();
}

TEST(output_and_end_are_kept_while_there_is_no_worker)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(
        42, "echo early; while [ ! -e go ]; do sleep 0.02; done; echo late; exit 4");
    wait_flags(&p, KEEP_P_STARTED);
    kill(worker, SIGKILL);
    let_go();
    touch("go");
    T_WAIT(strcmp(in_spool(p.spool[0]), "early\nlate\n") == 0);

    be_worker();
    struct keep_msg m = hear_type(KEEP_PROC);
    CHECK_INT(m.h.id, 42);
    CHECK_INT(m.h.flags, KEEP_ALL);
    CHECK_INT(m.h.a, 1 << 1 | 1 << 2); /* both spools; never the input's pipe */
    CHECK_INT(m.nfds, 2);
    CHECK_STR(in_spool(m.fds[0]), "early\nlate\n");
    keep_close_fds(&m);
    hear_type(KEEP_READY);
    say_serving();
    if (!(proc.flags & KEEP_P_EXITED) || !proc.out[0].eof || !proc.out[1].eof)
        wait_end(&p);
    CHECK_INT(WEXITSTATUS(proc.status), 4);
    CHECK_INT(proc.out[0].offset, 11);
    stop_well();
}

TEST(a_slow_worker_gets_few_records_and_the_last_one)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(
        1, "i=0; while [ $i -lt 200 ]; do echo \"line $i\"; i=$((i+1)); done; "
           "echo the end; exec sleep 60");
    T_WAIT(strstr(in_spool(p.spool[0]), "the end") != NULL);
    int records = 0;
    struct keep_msg m;
    while (keep_recv(sock, &m, space) == 1) { /* none is acknowledged */
        records += m.h.type == KEEP_PROC;
        memcpy(&proc, m.body.p, sizeof(proc));
    }
    CHECK(records > 0 && records <= KEEP_AHEAD);
    say(KEEP_SEEN, 1, (uint64_t)records);
    while (proc.out[0].offset < strlen(in_spool(p.spool[0])))
        hear_type(KEEP_PROC);
    stop_well();
}

/* The read that finds nothing more must not forget what those before it have found. */
TEST(output_of_exactly_a_chunk_is_told)
{
    char chunk[64 << 10];
    memset(chunk, 'x', sizeof(chunk));
    start_keeper("relay");
    serve();
    struct program p = {1, {new_spool(), new_spool()}};
    int out[2], err[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_INT(pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    int ours = fcntl(out[1], F_DUPFD_CLOEXEC, 3);
    int fds[] = {null, out[1], err[1], out[0], p.spool[0], err[0], p.spool[1]};
    spawn_with(&p, fds, 7, KEEP_ERR, "sh", t_dir(), "echo begun; exec sleep 60");
    while (proc.out[0].offset < 6 || !(proc.flags & KEEP_P_STARTED))
        hear_type(KEEP_PROC);
    CHECK_INT(write(ours, chunk, sizeof(chunk)), sizeof(chunk));
    while (proc.out[0].offset < 6 + sizeof(chunk))
        hear_type(KEEP_PROC);
    stop_well();
}

/* ---- output and its readers ---- */

static void say_flow(uint64_t id, uint64_t stream, uint64_t at)
{
    struct keep_msg m = {.h = {.type = KEEP_FLOW, .id = id, .a = at, .b = stream}};
    send_msg(&m);
}

/* A program whose output is waited for, and that writes so many bytes. */
static struct program spawn_awaited(uint64_t id, uint32_t flags, long bytes)
{
    char script[100];
    struct program p = {id, {new_spool(), new_spool()}};
    int out[2], err[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_INT(pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    int fds[] = {null, out[1], err[1], out[0], p.spool[0], err[0], p.spool[1]};
    snprintf(script, sizeof(script), "exec head -c %ld /dev/zero", bytes);
    spawn_with(&p, fds, 7, KEEP_ERR | flags, "sh", t_dir(), script);
    return p;
}

/* What the number behind a ring says. */
static uint64_t valid_of(int fd)
{
    uint64_t valid = 0;
    CHECK_INT(pread(fd, &valid, sizeof(valid), (off_t)spool_kib << 10), sizeof(valid));
    return valid;
}

TEST(a_program_is_held_back_for_its_reader)
{
    enum { CAP = SPOOL_KIB << 10, ALL = 300000 };
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, KEEP_AWAITED, ALL);
    wait_flags(&p, KEEP_P_HELD);
    CHECK_INT(proc.out[0].offset, CAP);
    CHECK_INT(valid_of(p.spool[0]), 0);
    for (uint64_t at = 1; proc.out[0].offset < ALL; at += 9999) {
        say_flow(1, 0, at);
        do
            hear_type(KEEP_PROC);
        while (proc.out[0].offset < at + CAP && proc.out[0].offset < ALL);
        CHECK(proc.out[0].offset <= at + CAP);
        CHECK(valid_of(p.spool[0]) <= at);
    }
    say_flow(1, 0, UINT64_MAX);
    /* The record of the last bytes may be that of the end, too. */
    if (!(proc.flags & KEEP_P_EXITED) || !proc.out[0].eof || !proc.out[1].eof)
        wait_end(&p);
    CHECK_INT(proc.flags & KEEP_P_HELD, 0);
    stop_well();
}

TEST(one_without_a_reader_is_not_held_back)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, 0, 300000);
    wait_end(&p);
    CHECK_INT(proc.out[0].offset, 300000);
    p = spawn_awaited(2, KEEP_AWAITED, 300000);
    wait_flags(&p, KEEP_P_HELD);
    say_flow(2, 0, UINT64_MAX);
    wait_end(&p);
    CHECK_INT(proc.out[0].offset, 300000);
    stop_well();
}

TEST(a_worker_that_died_holds_nothing_back_for_long)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, KEEP_AWAITED, 300000);
    wait_flags(&p, KEEP_P_HELD);
    kill(worker, SIGKILL);
    let_go();
    be_worker();
    hear_type(KEEP_READY);
    say_serving(); /* and asks for nothing */
    wait_end(&p);
    CHECK_INT(proc.out[0].offset, 300000);
    stop_well();
}

TEST(a_reader_that_is_far_behind_gets_what_is_left)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, 0, 300000);
    wait_end(&p);
    say_flow(1, 0, 5); /* too late for that */
    say_flow(1, 7, 5); /* there is no such stream */
    say_flow(9, 0, 5); /* nor program */
    CHECK(valid_of(p.spool[0]) >= 300000 - (SPOOL_KIB << 10));
    stop_well();
}

static long kept_kib(int fd)
{
    struct stat st;
    CHECK_INT(fstat(fd, &st), 0);
    return (long)st.st_blocks / 2;
}

TEST(the_oldest_output_goes_when_all_of_it_exceeds_the_budget)
{
    enum { MIB = 1 << 20, FLOOR = 256 << 10 };
    spool_total = 4 * MIB;
    spool_kib = 4 * MIB >> 10;
    start_keeper("relay");
    serve();
    struct program old = spawn_awaited(1, 0, 2 * MIB);
    wait_end(&old);
    struct program ours = spawn_awaited(2, KEEP_WHOLE, 1 * MIB);
    wait_end(&ours);
    CHECK_INT(valid_of(old.spool[0]), 0);
    struct program next = spawn_awaited(3, 0, 2 * MIB);
    wait_end(&next);
    /* The first gave up what was missing, in steps, and no other did. */
    CHECK(valid_of(old.spool[0]) >= MIB && valid_of(old.spool[0]) <= 2 * MIB - FLOOR);
    CHECK_INT(valid_of(next.spool[0]), 0);
    CHECK(kept_kib(old.spool[0]) <= 1100);
    struct program last = spawn_awaited(4, 0, 2 * MIB);
    wait_end(&last);
    CHECK_INT(valid_of(old.spool[0]), 2 * MIB - FLOOR);
    CHECK(valid_of(next.spool[0]) > 0);
    CHECK_INT(valid_of(last.spool[0]), 0);
    CHECK_INT(valid_of(ours.spool[0]), 0);
    long all = kept_kib(old.spool[0]) + kept_kib(ours.spool[0]) +
               kept_kib(next.spool[0]) + kept_kib(last.spool[0]);
    CHECK(all <= (4 * MIB >> 10) + 64);
    /* What is forgotten makes room again. */
    say(KEEP_FORGET, 4, 0);
    struct program more = spawn_awaited(5, 0, MIB);
    wait_end(&more);
    CHECK(valid_of(next.spool[0]) <= 2 * MIB - FLOOR);
    CHECK_INT(valid_of(more.spool[0]), 0);
    stop_well();
}

TEST(output_that_was_overwritten_takes_nothing_of_the_budget)
{
    enum { MIB = 1 << 20 };
    spool_total = 3 * MIB;
    spool_kib = MIB >> 10;
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, 0, 6 * MIB);
    wait_end(&p);
    uint64_t valid = valid_of(p.spool[0]);
    CHECK(valid >= 5 * MIB && valid <= 5 * MIB + MIB / 8);
    struct program q = spawn_awaited(2, 0, MIB / 2);
    wait_end(&q);
    CHECK_INT(valid_of(p.spool[0]), valid);
    CHECK_INT(valid_of(q.spool[0]), 0);
    stop_well();
}

TEST(what_is_waited_for_is_not_given_up_for_the_budget)
{
    enum { MIB = 1 << 20 };
    spool_total = MIB;
    spool_kib = 16 * MIB >> 10;
    start_keeper("relay");
    serve();
    struct program p = spawn_awaited(1, KEEP_AWAITED, 8 * MIB);
    wait_flags(&p, KEEP_P_HELD);
    CHECK(proc.out[0].offset <= 4 * MIB);
    CHECK_INT(valid_of(p.spool[0]), 0);
    say_flow(1, 0, UINT64_MAX);
    wait_end(&p);
    CHECK_INT(proc.out[0].offset, 8 * MIB);
    CHECK(valid_of(p.spool[0]) >= 7 * MIB - (128 << 10));
    stop_well();
}

/* ---- a full disk ---- */

/* The lines 1 to LINES, as seq prints them: more than the disk has room for. */
enum { LINES = 100000, DISK_KIB = 256 };

static struct str lines_text(void)
{
    static char text[7 * LINES];
    static size_t n;
    for (int i = n ? LINES + 1 : 1; i <= LINES; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%d\n", i);
    return str_n(text, n);
}

/* A program that prints them, with a spool on a small disk as spool_new makes it. */
static struct program spawn_lines(uint64_t id, uint32_t flags)
{
    char script[64];
    lines_text(); /* made before its reader must be in time */
    spool_dir = t_small_disk(DISK_KIB);
    spool_kib = 1024;
    start_keeper("relay");
    serve();
    struct program p = {id, {new_spool(), new_spool()}};
    CHECK_INT(fallocate(p.spool[0], FALLOC_FL_KEEP_SIZE, 0, KEEP_RESERVED), 0);
    CHECK_INT(fallocate(p.spool[0], FALLOC_FL_KEEP_SIZE, (off_t)spool_kib << 10, 8), 0);
    int out[2], err[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);
    CHECK_INT(pipe2(out, O_CLOEXEC) | pipe2(err, O_CLOEXEC), 0);
    int fds[] = {null, out[1], err[1], out[0], p.spool[0], err[0], p.spool[1]};
    snprintf(script, sizeof(script), "exec seq %d", LINES);
    spawn_with(&p, fds, 7, KEEP_ERR | flags, "sh", t_dir(), script);
    return p;
}

/*
 * Reads what there is from *at on, which must be what was printed there. Returns how many
 * bytes had gone before they could be read.
 */
static uint64_t read_lines(const struct program *p, uint64_t *at)
{
    static char got[64 << 10];
    struct str all = lines_text();
    uint64_t lost = 0, from = *at;
    for (size_t n;
         (n = spool_read(p->spool[0], &proc.out[0], &from, got, sizeof(got))) > 0;
         *at = from += n) {
        lost += from - *at;
        CHECK(str_eq(str_n(got, n), str_sub(all, (size_t)from, n)));
    }
    return lost + from - *at;
}

TEST(a_full_disk_keeps_the_newest_output)
{
    uint64_t at = 0;
    struct program p = spawn_lines(1, 0);
    wait_end(&p);
    CHECK(proc.flags & KEEP_P_FULL);
    CHECK_INT(proc.out[0].offset, lines_text().n);
    CHECK_INT(proc.out[0].gaps, 0);
    uint64_t lost = read_lines(&p, &at);
    CHECK_INT(at, proc.out[0].offset);
    CHECK_INT(lost, valid_of(p.spool[0]));
    CHECK(lost > 0 && at - lost >= DISK_KIB << 9);
    stop_well();
}

TEST(a_full_disk_holds_a_program_back_for_its_reader)
{
    /* CHUNK was read already when the disk turned out to be full. It is held for FULL_MS.
     */
    enum { CHUNK = 64 << 10, FULL_MS = 250 };
    struct program p = spawn_lines(1, KEEP_AWAITED);
    int64_t from = clock_ms();
    wait_flags(&p, KEEP_P_HELD | KEEP_P_FULL);
    uint64_t end = proc.out[0].offset, at = 0, lost = read_lines(&p, &at), more = 0;
    bool late = false; /* this machine was busy: what is lost says nothing */
    while (!proc.out[0].eof || at < proc.out[0].offset) {
        say_flow(1, 0, at);
        late |= clock_ms() - from >= FULL_MS;
        from = clock_ms();
        hear_type(KEEP_PROC);
        more += read_lines(&p, &at);
    }
    CHECK(late || end <= (DISK_KIB << 10) + CHUNK);
    CHECK(late || lost <= CHUNK + CHUNK / 2); /* the oldest made room for it */
    CHECK(late || more == 0);
    CHECK_INT(at, lines_text().n);
    CHECK_INT(proc.out[0].gaps, 0);
    say_flow(1, 0, UINT64_MAX);
    stop_well();
}

static void fill_disk(int fd)
{
    char block[4096] = "";
    while (write(fd, block, sizeof(block)) > 0)
        continue;
    CHECK_INT(errno, ENOSPC);
}

TEST(what_a_full_disk_does_not_take_is_a_gap)
{
    enum { LOST = 100000 };
    char block[4096] = "";
    char script[100];
    spool_dir = t_small_disk(DISK_KIB);
    spool_kib = 1024;
    start_keeper("relay");
    serve();
    int others = new_spool();
    fill_disk(others);
    snprintf(script, sizeof(script),
             "head -c %d /dev/zero; until [ -e go ]; do sleep 0.01; done; echo after",
             LOST);
    struct program p = spawn_script(1, script);
    while (proc.out[0].offset < LOST)
        hear_type(KEEP_PROC);
    CHECK(proc.flags & KEEP_P_FULL);
    CHECK_INT(ftruncate(others, 0), 0);
    touch("go");
    wait_end(&p);
    CHECK_INT(proc.out[0].offset, LOST + 6);
    CHECK_INT(proc.out[0].gaps, 1);
    CHECK_INT(proc.out[0].gap[0].from, 0);
    CHECK_INT(proc.out[0].gap[0].to, LOST);
    uint64_t at = 0;
    size_t n = spool_read(p.spool[0], &proc.out[0], &at, block, sizeof(block));
    CHECK_INT(at, LOST);
    CHECK_MEM(block, n, "after\n");
    stop_well();
}

/* Is a byte of that range outside of all gaps? */
static bool believed(uint64_t from, uint64_t to)
{
    const struct keep_stream *o = &proc.out[0];
    for (uint32_t i = 0; i < o->gaps && from < to; i++) {
        if (o->gap[i].from <= from && o->gap[i].to > from)
            from = o->gap[i].to;
    }
    return from < to;
}

/* One gap more than are kept apart: the two oldest become one, and none is forgotten. */
TEST(nothing_of_many_gaps_is_taken_for_output)
{
    enum { LOST = 100000, AFTER = 6, BLOCK = 4096, ROUNDS = KEEP_GAPS + 2 };
    char script[300], name[20];
    /* A file system that gives nothing back: else the newest output has a place. */
    if (!t_refuse(SYS_fallocate, EOPNOTSUPP))
        T_SKIP("no seccomp filters here");
    spool_dir = t_small_disk(DISK_KIB);
    spool_kib = 2048;
    start_keeper("relay");
    serve();
    int others = new_spool();
    fill_disk(others);
    snprintf(script, sizeof(script),
             "for i in $(seq %d); do head -c %d /dev/zero; until [ -e go$i ]; do sleep "
             "0.01; done; "
             "echo after; until [ -e more$i ]; do sleep 0.01; done; done",
             ROUNDS, LOST);
    struct program p = spawn_script(1, script);
    for (uint64_t i = 1; i <= ROUNDS; i++) {
        while (proc.out[0].offset < i * LOST + (i - 1) * AFTER)
            hear_type(KEEP_PROC);
        CHECK_INT(ftruncate(others, 0), 0);
        snprintf(name, sizeof(name), "go%d", (int)i);
        touch(name);
        while (proc.out[0].offset < i * (LOST + AFTER))
            hear_type(KEEP_PROC);
        CHECK_INT(lseek(others, 0, SEEK_SET), 0);
        fill_disk(others);
        snprintf(name, sizeof(name), "more%d", (int)i);
        touch(name);
    }
    wait_end(&p);
    CHECK_INT(proc.out[0].gaps, KEEP_GAPS);
    CHECK_INT(proc.out[0].gap[0].from, 0);
    for (uint64_t i = 0; i < ROUNDS; i++) /* up to a block of each was taken */
        CHECK(!believed(i * (LOST + AFTER) + BLOCK, i * (LOST + AFTER) + LOST));
    stop_well();
}

TEST(quiet_input_is_told_with_the_next_record)
{
    start_keeper("relay");
    serve();
    spawn_script(1, "exec sleep 60");
    while (!(proc.flags & KEEP_P_STARTED))
        hear_type(KEEP_PROC);
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .flags = KEEP_QUIET, .id = 1},
                         .body = STR("two")};
    send_msg(&m);
    m.h.flags = 0;
    m.h.a = 3;
    send_msg(&m);
    hear_type(KEEP_PROC);
    CHECK_INT(proc.input, 6);
    CHECK_INT(proc.input_pending, 0);
    stop_well();
}

TEST(quiet_input_that_waits_is_told_at_once)
{
    static char much[100 << 10];
    start_keeper("relay");
    serve();
    spawn_script(1, "exec sleep 60");
    while (!(proc.flags & KEEP_P_STARTED))
        hear_type(KEEP_PROC);
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .flags = KEEP_QUIET, .id = 1},
                         .body = str_n(much, sizeof(much))};
    send_msg(&m);
    hear_type(KEEP_PROC);
    CHECK_INT(proc.input, sizeof(much));
    CHECK(proc.input_pending > 0);
    stop_well();
}

/* Input that was told as waiting, and is taken together with quiet input, is told of. */
TEST(quiet_input_that_ends_a_wait_is_told)
{
    static char much[200 << 10];
    start_keeper("relay");
    serve();
    spawn_script(1, "exec sleep 60");
    while (!(proc.flags & KEEP_P_STARTED))
        hear_type(KEEP_PROC);
    struct keep_msg m = {.h = {.type = KEEP_WRITE, .flags = KEEP_QUIET, .id = 1}};
    for (uint64_t n; m.h.a < sizeof(much); m.h.a += n) {
        n = sizeof(much) - m.h.a < 50 << 10 ? sizeof(much) - m.h.a : 50 << 10;
        m.body = str_n(much, n);
        send_msg(&m);
    }
    while (proc.input < sizeof(much))
        hear_type(KEEP_PROC);
    CHECK(proc.input_pending > 100 << 10);
    char path[40];
    snprintf(path, sizeof(path), "/proc/%d/fd/0", (int)proc.pid);
    int status, in = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(in >= 0);
    for (int queued = 1; queued > 0;)
        CHECK_INT(ioctl(sock, TIOCOUTQ, &queued), 0);
    kill(keeper, SIGSTOP); /* it finds the input before it finds that there is room */
    CHECK_INT(waitpid(keeper, &status, WUNTRACED), keeper);
    m.body = STR("x");
    send_msg(&m);
    CHECK(fcntl(in, F_SETPIPE_SZ, 1 << 20) >= (int)sizeof(much));
    kill(keeper, SIGCONT);
    while (proc.input_pending > 0)
        hear_type(KEEP_PROC);
    CHECK_INT(proc.input, sizeof(much) + 1);
    close(in);
    stop_well();
}

TEST(input_acknowledges_records)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, "while read -r line; do echo \"$line\"; done");
    struct keep_msg m;
    uint64_t at = 0, unseen = 0;
    for (int i = 0; i < 4 * KEEP_AHEAD; i++) {
        struct keep_msg w = {.h = {.type = KEEP_WRITE, .id = 1, .a = at, .b = unseen},
                             .body = STR("line\n")};
        send_msg(&w);
        at += w.body.n;
        unseen = 0;
        do {
            struct pollfd ready = {.fd = sock, .events = POLLIN};
            if (poll(&ready, 1, T_WAIT_MS) != 1 || keep_recv(sock, &m, space) != 1)
                T_FAIL("no record of line %d", i);
            if (m.h.type == KEEP_PROC)
                memcpy(&proc, m.body.p, sizeof(proc));
            unseen += m.h.type == KEEP_PROC;
        } while (proc.out[0].offset < at);
    }
    CHECK(strlen(in_spool(p.spool[0])) == at);
    say(KEEP_SEEN, 1, unseen);
    stop_well();
}

TEST(a_forgotten_program_loses_its_input_and_is_not_handed_over)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, "cat; trap '' PIPE; : >ended; exec sleep 60");
    wait_flags(&p, KEEP_P_STARTED);
    say(KEEP_FORGET, 1, 0);
    T_WAIT(access(file("ended"), F_OK) == 0);
    kill(worker, SIGKILL);
    let_go();
    be_worker();
    struct keep_msg m;
    while ((m = hear()).h.type != KEEP_READY) {
        CHECK(m.h.type != KEEP_PROC);
        keep_close_fds(&m);
    }
    say_serving();
    stop_well();
}

TEST(requests_to_a_reaper_are_answered)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, "exec sleep 60");
    wait_flags(&p, KEEP_P_STARTED);
    struct reaper_request q = {
        .verb = REAPER_SIGNAL_GROUP, .pid = proc.pid, .sig = SIGINT};
    struct keep_msg m = {.h = {.type = KEEP_REAPER,
                               .id = 8081,
                               .a = (uint64_t)getuid() | (uint64_t)getgid() << 32},
                         .body = str_n(&q, sizeof(q))};
    send_msg(&m);
    m = hear_type(KEEP_ANSWER);
    struct reaper_answer a;
    CHECK_INT(m.h.id, 8081);
    CHECK_INT(m.body.n, sizeof(a));
    memcpy(&a, m.body.p, sizeof(a));
    CHECK_INT(a.verb, REAPER_SIGNAL_GROUP);
    CHECK_INT(a.errnum, 0);
    if (!(proc.flags & KEEP_P_EXITED))
        wait_flags(&p, KEEP_P_EXITED);
    CHECK_INT(WTERMSIG(proc.status), SIGINT);
    stop_well();
}

TEST(a_lost_reaper_takes_nothing_with_it)
{
    T_NEEDS(subreaper);
    start_keeper("relay");
    serve();
    struct program p = spawn_script(
        1, "while [ ! -e go ]; do sleep 0.02; done; echo on; exit 5");
    wait_flags(&p, KEEP_P_STARTED);
    pid_t reaper = 0;
    CHECK_INT(children(keeper, worker, &reaper), 2);
    kill(reaper, SIGKILL);
    T_WAIT(in_log("its shells go on"));
    touch("go");
    wait_end(&p);
    CHECK_INT(WEXITSTATUS(proc.status), 5);
    CHECK_STR(in_spool(p.spool[0]), "on\n");
    struct program q = spawn_script(2, "exit 6");
    wait_end(&q);
    CHECK_INT(WEXITSTATUS(proc.status), 6);
    stop_well();
}

/* ---- orphans and the end ---- */

TEST(orphans_are_reaped)
{
    start_keeper("orphans");
    serve();
    T_WAIT(children(keeper, worker, NULL) == 1);
    stop_well();
}

TEST(without_a_serving_worker_a_signal_ends_it_at_once)
{
    start_keeper("relay");
    be_worker();
    hear_type(KEEP_READY);
    kill(keeper, SIGINT);
    let_go();
    check_ends_well();
}

/* Half a minute, should a case fail that had to end it. */
#define LINGER "i=0; while [ $i -lt 600 ]; do i=$((i+1)); sleep 0.05; done"

static const char stubborn[] =
    "trap 'echo hup' HUP; trap 'echo term' TERM; echo $$ >pid; " LINGER;

TEST(what_ignores_the_signals_is_killed_after_the_grace)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, stubborn);
    struct program q = spawn_on_tty(2, "exec sleep 60");
    T_WAIT(pid_in("pid"));
    wait_flags(&q, KEEP_P_STARTED);
    pid_t pid = pid_in("pid"), other = proc.pid;
    CHECK(alive(pid) && alive(other));
    kill(keeper, SIGTERM);
    hear_type(KEEP_SIGNAL);
    CHECK(alive(pid)); /* those who wait are answered first */
    say(KEEP_STOP, 0, 1500);
    T_WAIT(strstr(in_spool(p.spool[0]), "term") != NULL);
    CHECK(strstr(in_spool(p.spool[0]), "hup") != NULL);
    let_go();
    check_ends_well();
    CHECK(!alive(pid));
    CHECK(!alive(other));
}

TEST(asked_twice_it_does_not_wait_for_its_worker)
{
    start_keeper("relay");
    serve();
    kill(keeper, SIGTERM);
    hear_type(KEEP_SIGNAL);
    kill(keeper, SIGTERM);
    check_ends_well(); /* the worker never left: it was killed */
    T_WAIT(!alive(worker));
    struct keep_msg m;
    while (keep_recv(sock, &m, space) == 1)
        CHECK(m.h.type != KEEP_SIGNAL); /* it was not asked again */
}

TEST(a_worker_that_dies_while_it_drains_is_not_replaced)
{
    start_keeper("relay");
    serve();
    spawn_script(1,
                 "trap '' HUP; trap 'echo $$ >term; exit' TERM; echo $$ >pid; " LINGER);
    T_WAIT(pid_in("pid"));
    kill(keeper, SIGTERM);
    hear_type(KEEP_SIGNAL);
    CHECK(!pid_in("term"));
    kill(worker, SIGKILL);
    let_go();
    check_ends_well();
    CHECK(pid_in("term"));
    CHECK(!in_log("starting it again"));
}

/* A daemon of a program: another session, its parent gone, deaf to signals. */
static const char daemon_script[] =
    "(setsid sh -c 'trap \"\" HUP TERM INT; echo $$ >daemon; " LINGER "' "
    "</dev/null >/dev/null 2>&1 &); exit 0";

TEST(daemons_are_killed_too)
{
    start_keeper("relay");
    serve();
    struct program p = spawn_script(1, daemon_script);
    wait_end(&p);
    T_WAIT(pid_in("daemon"));
    pid_t pid = pid_in("daemon");
    CHECK(alive(pid));
    stop_well();
    T_WAIT(!alive(pid));
}

static void as_first_process(void)
{
    if (unshare(CLONE_NEWPID) < 0)
        T_SKIP("not allowed to make a namespace");
    listen_for_workers();
    keeper = t_fork();
    if (keeper == 0) {
        if (getpid() != 1 || unshare(CLONE_NEWNS) < 0 ||
            mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
            mount("proc", "/proc", "proc", 0, NULL) < 0)
            _exit(99);
        run_keeper("orphans");
    }
    serve();
    T_WAIT(children(keeper, worker, NULL) == 1);
    spawn_script(1, daemon_script);
    spawn_script(2, stubborn);
    T_WAIT(pid_in("daemon") && pid_in("pid"));
    stop_well();
}

/* In a process of its own: one whose namespace has ended can fork no more. */
TEST(as_the_first_process_it_reaps_and_ends_everything)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        as_first_process();
        _exit(0);
    }
    int status = t_reap(pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == T_EXIT_SKIP)
        _exit(T_EXIT_SKIP);
    CHECK_INT(status, 0);
}

int main(int argc, char **argv)
{
    if (strcmp(argv[0], "od-worker") == 0)
        return worker_main(argv);
    if (strcmp(argv[0], "od-reaper") == 0)
        _exit(reaper_main((uid_t)strtoul(argv[1], NULL, 10),
                          (gid_t)strtoul(argv[2], NULL, 10), strtol(argv[3], NULL, 10),
                          (int)strtol(argv[4], NULL, 10), (int)strtol(argv[5], NULL, 10),
                          (int)strtol(argv[6], NULL, 10)));
    return t_main(argc, argv);
}
