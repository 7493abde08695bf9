/* SPDX-License-Identifier: MIT */
/*
 * Connecting, and starting the server when there is none.
 *
 * A started server reports on a pipe, "ready" or "error SENTENCE", after lines
 * about what it listens on, so no client polls or sleeps. The pipe is its
 * standard output, because spawn_start passes only three descriptors. When two
 * clients start one server each, one of these fails with an error, and both
 * clients find the other: after any error the socket is tried once more.
 */
#include "ipc/client.h"

#include "base/called.h"
#include "base/clock.h"
#include "base/limits.h"
#include "ipc/remote.h"
#include "os/null.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_SIZE     (64u << 10)
#define START_WAIT_MS 30000 /* enough for a loaded machine */
#define START_WORDS   4096  /* bytes of a failing server's error */
#define GREETING_MAX  4096  /* bytes of the relay's frame */
#define GREET_MS      45000 /* for a relay to connect, each step of which has a limit */

/*
 * Our own file: its real name, which process lists show, unless it was replaced
 * since; then the link in /proc, which leads to the old file as long as we run.
 */
static const char *own_file(char *space, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", space, size - 1);
    if (n > 0) {
        space[n] = '\0';
        if (access(space, X_OK) == 0)
            return space;
        return "/proc/self/exe";
    }
    return (const char *)(uintptr_t)getauxval(AT_EXECFN);
}

enum { START_MORE = 8 }; /* words of a caller */

/* more: further words for od serve, which NULL ends; NULL: it ends when it is idle. */
static int start_server(const char *socket, const char *const *more, pid_t *pid,
                        int *report, int *words, struct err *e)
{
    char self[4096], seconds[16];
    const char *file = own_file(self, sizeof(self));
    if (!file)
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot start a server: the name of this program is not known");
    snprintf(seconds, sizeof(seconds), "%d", LIMIT_IDLE_EXIT_S);
    const char *idle[] = {"--idle-exit", seconds, NULL};
    const char *argv[8 + START_MORE] = {"od", "serve", "--daemon", "--ready-fd", "1"};
    size_t n = 5;
    for (more = more ? more : idle; *more && n < 5 + START_MORE; more++)
        argv[n++] = *more;
    if (socket) {
        argv[n++] = "--socket";
        argv[n++] = socket;
    }
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0)
        return err_sys(e, errno, "cannot start a server");
    int null = null_open();
    struct spawn s = {
        .path = file,
        .argv = (char *const *)(uintptr_t)argv,
        .envp = environ,
        .fds = {null < 0 ? p[0] : null, p[1], p[1]},
    };
    int got = spawn_start(&s, pid, report);
    if (got < 0)
        err_sys(e, errno, "cannot start a server");
    if (null >= 0)
        close(null);
    close(p[1]);
    *words = p[0];
    if (got < 0)
        close(p[0]);
    return got;
}

/* The line that decides, or end of file. 0: ready; -1 and e. */
static int await_ready(int fd, struct err *e)
{
    int64_t deadline = clock_ms() + START_WAIT_MS;
    char text[START_WORDS];
    struct str last = {"it said nothing", 15};
    size_t have = 0, done = 0;
    for (;;) {
        const char *end = memchr(text + done, '\n', have - done);
        if (end) {
            struct str line = str_n(text + done, (size_t)(end - text) - done);
            done += line.n + 1;
            if (str_eq(line, STR("ready")))
                return 0;
            bool final = str_starts(line, STR("error "));
            if (!str_starts(line, STR("listening ")))
                last = final ? str_sub(line, 6, line.n) : line;
            if (final)
                return err_set(e, ERR_IO, "cannot start a server: %.*s", STR_ARG(last));
            continue;
        }
        int64_t left = deadline - clock_ms();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return err_set(e, ERR_TIMEOUT,
                           "started a server, but it was not ready within %d s",
                           START_WAIT_MS / 1000);
        ssize_t got = have < sizeof(text) ? read(fd, text + have, sizeof(text) - have)
                                          : 0;
        if (got <= 0)
            return err_set(e, ERR_IO, "started a server, but it ended: %.*s",
                           STR_ARG(last));
        have += (size_t)got;
    }
}

/* If the report holds anything, exec failed. */
static int await_exec(int report, struct err *e)
{
    struct spawn_failure f;
    ssize_t n;
    do
        n = read(report, &f, sizeof(f));
    while (n < 0 && errno == EINTR);
    if (n == (ssize_t)sizeof(f))
        return err_sys(e, f.errnum, "cannot start a server");
    return 0;
}

static int start_and_wait(const char *socket, const char *const *more, struct err *e)
{
    pid_t pid = -1;
    int report = -1, words = -1;
    if (start_server(socket, more, &pid, &report, &words, e) < 0)
        return -1;
    int ok = await_exec(report, e);
    if (ok == 0)
        ok = await_ready(words, e);
    close(report);
    close(words);
    /* The started process leaves a daemon and ends; if it is slow, init reaps it. */
    waitpid(pid, NULL, WNOHANG);
    return ok;
}

/* ---- a server elsewhere ---- */

bool client_is_remote(const struct client *c) { return remote_is(c->server.path); }

/* The relay of an earlier connection, which has lost its client or its server. */
static void end_relay(struct client *c)
{
    if (c->relay <= 0)
        return;
    kill(c->relay, SIGKILL);
    while (waitpid(c->relay, NULL, 0) < 0 && errno == EINTR)
        ;
    c->relay = 0;
}

static int start_relay(struct client *c, struct err *e)
{
    char self[4096];
    const char *file = own_file(self, sizeof(self));
    const char *argv[] = {"od-relay", c->server.path, c->id[0] ? c->id : NULL, NULL};
    int p[2], report;
    if (!file)
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot connect: the name of this program is not known");
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, p) < 0)
        return err_sys(e, errno, "cannot connect to %.200s", c->server.path);
    int null = null_open();
    struct spawn s = {
        .path = file,
        .argv = (char *const *)(uintptr_t)argv,
        .envp = environ,
        .fds = {p[1], p[1], null < 0 ? p[1] : null},
    };
    int got = spawn_start(&s, &c->relay, &report);
    if (got < 0)
        err_sys(e, errno, "cannot connect to %.200s", c->server.path);
    if (null >= 0)
        close(null);
    close(p[1]);
    if (got == 0)
        got = await_exec(report, e);
    if (report >= 0)
        close(report);
    if (got < 0)
        close(p[0]);
    else
        c->fd = p[0];
    return got;
}

/* Reads the content of the relay's first frame. */
static int take_greeting(struct client *c, const struct frame *f, struct err *e)
{
    struct json *j = json_parse(f->payload, NULL);
    struct str id = json_str(j, "server", ""), code = json_str(j, "code", "");
    int rc = 0;
    if (f->type == '+' && id.n > 0 && id.n < sizeof(c->id)) {
        memcpy(c->id, id.p, id.n);
        c->id[id.n] = 0;
    } else {
        char name[32] = "";
        memcpy(name, code.p, code.n < sizeof(name) ? code.n : 0);
        bool again = json_bool(j, "again", false);
        enum err_code why = code.n > 0 ? err_from_name(name) : ERR_INTERNAL;
        c->refused = why == ERR_GONE || why == ERR_NOTFOUND;
        rc = err_set(e, again ? ERR_BUSY : why, "%.*s",
                     STR_ARG(json_str(j, "text", "the relay said nothing")));
    }
    json_free(j);
    return rc;
}

/* Reads no more than the frame: poll must still report the bytes after it. */
static int read_greeting(struct client *c)
{
    uint32_t n = 0;
    if (c->in.n >= FRAME_HEAD)
        for (int i = 3; i >= 0; i--)
            n = n << 8 | (unsigned char)c->in.p[i];
    size_t want = (c->in.n < FRAME_HEAD ? FRAME_HEAD : FRAME_HEAD + (size_t)n) - c->in.n;
    char *at = n <= GREETING_MAX ? buf_reserve(&c->in, want) : NULL;
    ssize_t got = at ? recv(c->fd, at, want, 0) : 0;
    buf_commit(&c->in, got > 0 ? (size_t)got : 0);
    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -1;
}

static int await_relay(struct client *c, struct err *e)
{
    int64_t deadline = clock_ms() + GREET_MS;
    struct frame f;
    for (;;) {
        int whole = client_frame(c, &f);
        if (whole > 0)
            return take_greeting(c, &f, e);
        int64_t left = deadline - clock_ms();
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int n = left > 0 ? poll(&p, 1, (int)left) : 0;
        if (n < 0 && errno == EINTR)
            return err_set(e, ERR_CANCELLED,
                           "a signal came before the server at %.200s had answered",
                           c->server.path);
        if (n <= 0)
            return err_set(e, ERR_BUSY,
                           "the server at %.200s has not answered within %d s",
                           c->server.path, GREET_MS / 1000);
        if (whole < 0 || read_greeting(c) < 0)
            return err_set(e, ERR_BUSY, "the process that connects to %.200s has ended",
                           c->server.path);
    }
}

/* Returns -1 as client_reopen; CANCELLED. */
static int connect_remote(struct client *c, struct err *e)
{
    end_relay(c);
    c->refused = false;
    if (start_relay(c, e) == 0 && await_relay(c, e) == 0)
        return 0;
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    end_relay(c);
    return -1;
}

static int open_remote(struct client *c, const char *where, struct err *e)
{
    if (strlen(where) >= sizeof(c->server.path))
        return err_set(e, ERR_INVALID,
                       "the address of the server is longer than %d bytes",
                       REMOTE_URL_MAX);
    memcpy(c->server.path, where, strlen(where) + 1);
    if (connect_remote(c, e) == 0)
        return 0;
    if (e->code == ERR_BUSY ||
        e->code == ERR_NOTFOUND) /* NOTFOUND would be "none runs" */
        e->code = ERR_GONE;
    return -1;
}

static int reopen_remote(struct client *c, struct err *e)
{
    if (connect_remote(c, e) == 0)
        return 0;
    if (e->code == ERR_CANCELLED) /* the caller looks at its signals, and comes again */
        e->code = ERR_BUSY;
    return -1;
}

/* ---- a server of this machine ---- */

/* Whether the folder of a socket's path exists; an abstract socket needs none. */
static bool has_folder(const char *path)
{
    char dir[SOCKPATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (path[0] == '@' || n == 0 || n >= sizeof(dir))
        return n < sizeof(dir);
    memcpy(dir, path, n);
    dir[n] = 0;
    return access(dir, X_OK) == 0;
}

/* No server runs, and none was to be started: sets *e to how to start one. */
static int not_started(const char *where, struct err *e)
{
    bool path = where[0] == '@' || strchr(where, '/');
    struct err why = *e;
    return err_set(e, why.code, "%s; %s --daemon --%s %s starts it", why.text,
                   called("serve").z, path ? "socket" : "name", where);
}

int client_open(struct client *c, const char *where, bool start, struct err *e)
{
    char space[SOCKPATH_MAX];
    *c = (struct client){
        .fd = -1,
        .in = BUF_INIT(FRAME_MAX + FRAME_HEAD + READ_SIZE),
        .out = BUF_INIT(FRAME_MAX + FRAME_HEAD + 2 * FRAME_INPUT_WINDOW),
    };
    const char *named = where ? where : sockpath_of_environment(space);
    if (remote_is(named))
        return open_remote(c, named, e);
    c->fd = sockpath_connect(where, &c->server, e);
    if (c->fd >= 0)
        return 0;
    if (e->code == ERR_BUSY)
        return 0; /* the first call of client_reopen goes on from here */
    if (e->code != ERR_NOTFOUND || !start)
        return -1;
    if (where)
        return not_started(where, e);
    where = sockpath_of_environment(space);
    if (where && (!(where[0] == '@' || strchr(where, '/')) || !has_folder(where)))
        return not_started(where, e);
    int started = start_and_wait(where, NULL, e);
    struct err again = ERR_INIT;
    c->fd = sockpath_connect(where, &c->server, &again);
    if (c->fd >= 0)
        return 0;
    if (started == 0)
        *e = again;
    return -1;
}

int client_start(struct client *c, const char *path, const char *const *words,
                 struct err *e)
{
    struct err again = ERR_INIT;
    client_close(c);
    int started = start_and_wait(path, words, e);
    c->fd = sockpath_connect(path, &c->server, &again);
    if (c->fd >= 0)
        return 0;
    if (started == 0)
        *e = again;
    return -1;
}

int client_reopen(struct client *c, struct err *e)
{
    struct sockpath_server before = c->server;
    client_close(c);
    if (client_is_remote(c))
        return reopen_remote(c, e);
    c->fd = sockpath_connect(before.path, &c->server, e);
    memcpy(c->server.name, before.name, sizeof(before.name));
    if (c->fd < 0) {
        c->server = before;
        if (e->code == ERR_BUSY)
            return -1;
        return err_set(e, ERR_GONE, "the server has ended, and with it what it ran");
    }
    if (before.pid != 0 && before.pid != c->server.pid) {
        client_close(c);
        return err_set(e, ERR_GONE,
                       "the server has ended, and with it what it ran; "
                       "another one runs now");
    }
    return 0;
}

void client_close(struct client *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->parsed = 0;
    buf_release(&c->in);
    buf_release(&c->out);
    /* The relay ends by itself when it has passed on the written bytes. */
    if (c->relay > 0 && waitpid(c->relay, NULL, WNOHANG) == c->relay)
        c->relay = 0;
}

int client_frame(struct client *c, struct frame *f)
{
    buf_consume(&c->in, c->parsed);
    c->parsed = 0;
    return frame_parse(buf_str(&c->in), f, &c->parsed);
}

int client_read(struct client *c)
{
    buf_consume(&c->in, c->parsed);
    c->parsed = 0;
    char *at = buf_reserve(&c->in, READ_SIZE);
    if (!at)
        return -1;
    ssize_t n = recv(c->fd, at, READ_SIZE, 0);
    buf_commit(&c->in, n > 0 ? (size_t)n : 0);
    if (n > 0)
        return 1;
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

int client_flush(struct client *c)
{
    while (c->out.n > 0) {
        ssize_t n = send(c->fd, c->out.p, c->out.n, MSG_NOSIGNAL);
        if (n > 0)
            buf_consume(&c->out, (size_t)n);
        else if (errno == EAGAIN)
            return 0;
        else if (errno != EINTR)
            return -1;
    }
    return 0;
}
