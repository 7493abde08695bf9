/* SPDX-License-Identifier: MIT */
/*
 * Another file for the worker, with nothing lost.
 *
 *   NONE ─ask─► CHECKING ─"ready"─► LEAVING ─the old one ended─► TRIAL ─serving─► NONE
 *     ▲            │                                                │
 *     └──refused───┘◄──── the old file again, after 3 deaths or 5 s ┘
 *
 * CHECKING runs the file next to the worker as `od-worker --check FORMAT`, which
 * changes nothing: it reports whether it could take over what is kept here. FORMAT names
 * the versions, and the prefixes of all keys. LEAVING asks the worker to end
 * (KEEP_SIGNAL with SIGHUP), then kills it. So two workers never act at the same
 * time, and a file that cannot take over is never started as one. The old file is
 * kept until the new worker has lived for a while: if it serves and then crashes
 * three times, the old file comes back too. Keeper and reapers stay as they are.
 *
 * The client that asked loses its connection with the old worker. It asks the new
 * worker with the same token, and the outcome is kept for that request.
 */
#include "keeper/keeper_own.h"

#include "base/buf.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "os/null.h"
#include "os/self.h"
#include "os/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    CHECK_MS = 5000,                 /* for the check to answer */
    GONE_MS = LIMIT_LEAVE_MS + 1000, /* for the worker to end by itself */
    SERVE_MS = 5000,                 /* for the new one to serve */
    FORMAT_MAX = 4096,
    DEATHS_MAX = 3
};

void upgrade_init(struct keeper *k)
{
    k->upgrade = (struct upgrade){.fd = -1, .before = -1, .said = -1};
    k->file = k->conf->self;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Closes a file that was the worker's, unless it is conf->self. */
static void close_file(const struct keeper *k, int *fd)
{
    if (*fd == k->conf->self)
        *fd = -1;
    close_fd(fd);
}

bool upgrade_tell(struct keeper *k)
{
    struct upgrade *u = &k->upgrade;
    struct keep_msg m = {.h = {.type = KEEP_UPGRADED, .id = u->token},
                         .body = str_of(u->outcome)};
    if (u->due && keep_send(k->worker.fd, &m) < 0)
        return false;
    u->due = false;
    return true;
}

/* Ends the upgrade; why "": the new file serves. */
static void settle(struct keeper *k, const char *why)
{
    struct upgrade *u = &k->upgrade;
    u->state = UPGRADE_NONE;
    u->deadline = 0;
    u->due = u->token != 0;
    snprintf(u->outcome, sizeof(u->outcome), "%s", why);
    if (*why)
        log_error("cannot upgrade to %s: %s; the worker is as before", u->name, why);
    else
        log_info("the worker is %s now", u->name);
}

static void refuse(struct keeper *k, const char *why)
{
    close_fd(&k->upgrade.fd);
    close_fd(&k->upgrade.said);
    settle(k, why);
}

/* ---- the check ---- */

/*
 * Appends FORMAT, "; keys ", and the distinct prefixes of the keys that are stored: each
 * up to its first slash, or whole, and a blank.
 */
static void add_format(const struct keeper *k, struct buf *out)
{
    struct str key;
    void *value;
    struct buf word = BUF_INIT(FORMAT_MAX);
    buf_addf(out, "%s; keys ", k->conf->format);
    for (void *it = NULL; (it = map_next(&k->states, it, &key, &value));) {
        long slash = str_chr(key, '/');
        buf_reset(&word);
        buf_addf(&word, " %.*s ", slash < 0 ? (int)key.n : (int)slash + 1, key.p);
        if (str_find(buf_str(out), buf_str(&word)) < 0)
            buf_adds(out, str_sub(buf_str(&word), 1, word.n));
    }
    buf_release(&word);
}

static void check_child(struct keeper *k, int to)
{
    struct buf format = BUF_INIT(FORMAT_MAX);
    add_format(k, &format);
    char *argv[] = {(char *)(uintptr_t) "od-worker", (char *)(uintptr_t) "--check",
                    (char *)(uintptr_t)buf_z(&format), NULL};
    spawn_reset_signals();
    setsid();
    int null = null_open();
    if (null >= 0)
        dup2(null, 0);
    dup2(to, 1);
    dup2(to, 2);
    self_exec_other(k->upgrade.fd, argv, k->conf->worker_env);
    dprintf(1, "it cannot be run: %s\n", strerror(errno));
    _exit(127);
}

static void check_start(struct keeper *k)
{
    struct upgrade *u = &k->upgrade;
    int p[2];
    if (pipe2(p, O_CLOEXEC) < 0) {
        refuse(k, strerror(errno));
        return;
    }
    u->said = p[0];
    fcntl(u->said, F_SETFL, O_NONBLOCK);
    u->pid = fork();
    if (u->pid == 0)
        check_child(k, p[1]);
    close(p[1]);
    if (u->pid < 0) {
        u->pid = 0;
        refuse(k, "no process could be started to check it");
        return;
    }
    u->state = UPGRADE_CHECKING;
    u->deadline = clock_ms() + CHECK_MS;
}

/* The first line that the check printed, with ? for bytes that are not printable. */
static void first_line(int fd, char *out, size_t size)
{
    ssize_t n = read(fd, out, size - 1);
    out[n > 0 ? n : 0] = 0;
    out[strcspn(out, "\n")] = 0;
    for (char *p = out; *p; p++) {
        if (*p < ' ' || *p > '~')
            *p = '?';
    }
}

static void leave(struct keeper *k);

bool upgrade_reaped(struct keeper *k, pid_t pid, int status)
{
    struct upgrade *u = &k->upgrade;
    char said[256], why[sizeof(u->outcome)];
    if (pid != u->pid)
        return false;
    u->pid = 0;
    if (u->state != UPGRADE_CHECKING) /* it took too long, and is refused already */
        return true;
    first_line(u->said, said, sizeof(said));
    if (k->stopping || k->kill_at) {
        refuse(k, "the server is stopping");
        return true;
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && strcmp(said, "ready") == 0) {
        close_fd(&u->said);
        leave(k);
        return true;
    }
    if (WIFSIGNALED(status))
        snprintf(why, sizeof(why), "it was killed by signal %d (%s) when asked",
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (strncmp(said, "it ", 3) == 0)
        snprintf(why, sizeof(why), "%s", said);
    else
        snprintf(
            why, sizeof(why),
            "it does not answer as an od does: it ended with status %d and said \"%s\"",
            WEXITSTATUS(status), said);
    refuse(k, why);
    return true;
}

/* ---- from one worker to the next ---- */

/* The worker is gone: starts the next one from the new file. */
static void try_it(struct keeper *k)
{
    struct upgrade *u = &k->upgrade;
    close_file(k, &u->before);
    u->before = k->file;
    k->file = u->fd;
    u->fd = -1;
    u->deaths = 0;
    u->state = UPGRADE_TRIAL;
    u->deadline = clock_ms() + SERVE_MS;
    k->pause = 0;
    keeper_start_worker(k);
}

static void leave(struct keeper *k)
{
    struct upgrade *u = &k->upgrade;
    struct keep_msg m = {.h = {.type = KEEP_SIGNAL, .a = SIGHUP}};
    if (k->worker_pid == 0) { /* it crashed, and the next one is not due yet */
        try_it(k);
        return;
    }
    u->state = UPGRADE_LEAVING;
    u->deadline = clock_ms() + GONE_MS;
    if (!k->serving || k->worker.fd < 0 || keep_send(k->worker.fd, &m) < 0)
        kill(k->worker_pid, SIGKILL);
}

/* The worker of the new file has failed: goes back to the old file. */
static void go_back(struct keeper *k, const char *why)
{
    struct upgrade *u = &k->upgrade;
    bool told = u->state == UPGRADE_NONE; /* success was reported, and was true then */
    close_file(k, &k->file);
    k->file = u->before;
    u->before = -1;
    k->pause = 0;
    if (told)
        log_error("%s: %s; the worker is as before it", u->name, why);
    else
        settle(k, why);
    keeper_start_worker(k);
}

bool upgrade_worker_died(struct keeper *k, bool by_kill, int64_t lived_ms)
{
    struct upgrade *u = &k->upgrade;
    char why[128];
    if (u->state == UPGRADE_LEAVING) {
        try_it(k);
        return true;
    }
    if (u->before < 0)
        return false;
    bool trial = u->state == UPGRADE_TRIAL;
    if (!trial && lived_ms >= KEEPER_HEALTHY_MS) {
        close_file(k, &u->before);
        return false;
    }
    if (!trial && by_kill)
        return false;
    u->deaths++;
    if (trial && !u->deadline)
        snprintf(why, sizeof(why), "it did not serve within %d s", SERVE_MS / 1000);
    else
        snprintf(why, sizeof(why), "its worker ended %d times%s", u->deaths,
                 trial ? " before it served" : "");
    if ((trial && !u->deadline) || u->deaths >= DEATHS_MAX)
        go_back(k, why);
    else if (trial)
        keeper_start_worker(k);
    else
        return false;
    return true;
}

void upgrade_serving(struct keeper *k)
{
    if (k->upgrade.state == UPGRADE_TRIAL)
        settle(k, "");
}

void upgrade_deadline(struct keeper *k)
{
    struct upgrade *u = &k->upgrade;
    char why[64];
    u->deadline = 0;
    if (u->state == UPGRADE_CHECKING) {
        kill(-u->pid, SIGKILL);
        kill(u->pid, SIGKILL);
        snprintf(why, sizeof(why), "it did not answer within %d s", CHECK_MS / 1000);
        refuse(k, why);
    } else if (k->worker_pid > 0) {
        kill(k->worker_pid, SIGKILL);
    } else if (u->state == UPGRADE_TRIAL) {
        go_back(k, "no process could be started for it");
    }
}

/* ---- the request ---- */

static void busy(struct keeper *k, uint64_t token)
{
    static const char why[] = "another upgrade is under way; ask again when it is over";
    struct keep_msg m = {.h = {.type = KEEP_UPGRADED, .id = token}, .body = STR(why)};
    if (token == 0)
        log_warn("not upgraded: %s", why);
    else if (keep_send(k->worker.fd, &m) < 0)
        log_warn("cannot answer who asked for an upgrade: %m");
}

void upgrade_ask(struct keeper *k, uint64_t token, int fd, int errnum, struct str name)
{
    struct upgrade *u = &k->upgrade;
    struct stat st;
    bool again = token != 0 && token == u->token;
    if (again || u->state != UPGRADE_NONE || u->pid) {
        if (!again)
            busy(k, token);
        else
            u->due = u->state == UPGRADE_NONE;
        close_fd(&fd);
        return;
    }
    u->token = token;
    u->fd = fd;
    snprintf(u->name, sizeof(u->name), "%.*s", (int)(name.n < 255 ? name.n : 255),
             name.n ? name.p : "");
    if (k->stopping || k->kill_at)
        refuse(k, "the server is stopping");
    else if (fd < 0)
        refuse(k, strerror(errnum));
    else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        refuse(k, "it is not a file");
    else
        check_start(k);
}

void upgrade_by_signal(struct keeper *k)
{
    int fd = open(k->conf->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    upgrade_ask(k, 0, fd, errno, str_of(k->conf->path));
}
