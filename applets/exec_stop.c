/* SPDX-License-Identifier: MIT */
/* `od exec --stop`: ends the server, waits for its end, and reports what remains. */
#include "base/clock.h"
#include "base/json.h"
#include "exec.h"
#include "ipc/call.h"
#include "os/procfs.h"
#include "os/sys.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#define DYING_MS 500 /* between a KILL and the end of the process */

/*
 * The worker answers and ends; the keeper ends what ran, and then itself, which is what
 * we wait for. If the kernel does not report that end, a connection that is never
 * accepted does: it ends with the listening socket. Returns false if the keeper was still
 * there after the time.
 */
static bool await_end(struct client *c, int keeper, int64_t ms)
{
    int64_t deadline = clock_ms() + ms;
    struct err e;
    if (keeper >= 0) {
        struct pollfd p = {.fd = keeper, .events = POLLIN};
        return poll(&p, 1, (int)ms) > 0;
    }
    do {
        struct pollfd p = {.fd = c->fd, .events = POLLIN};
        int64_t left = deadline - clock_ms();
        if (c->fd < 0)
            return true;
        if (left <= 0 || poll(&p, 1, (int)left) == 0)
            return false;
    } while (client_read(c) >= 0 || client_reopen(c, &e) == 0);
    return true;
}

/* Whether a process still exists, a moment after it was killed. */
static bool stays(pid_t pid)
{
    struct procfs_stat stat;
    int fd = sys_pidfd(pid);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    if (fd >= 0) {
        bool ended = poll(&p, 1, DYING_MS) > 0;
        close(fd);
        return !ended;
    }
    if (errno == ESRCH)
        return false;
    int64_t end = clock_ms() + DYING_MS;
    while (procfs_stat(pid, &stat) == 0 && !procfs_dead(&stat)) {
        if (clock_ms() >= end)
            return true;
        poll(NULL, 0, DYING_MS / 50);
    }
    return false;
}

/* Appends the processes of the list that still run, as text. Returns how many. */
static int still_there(struct buf *out, const struct json *list)
{
    int n = 0;
    for (struct json *v = json_first(list); v; v = json_next(v)) {
        pid_t pid = (pid_t)json_int(v, "pid", 0);
        if (pid <= 0 || str_eq(json_str(v, "state", ""), STR("ended")) || !stays(pid))
            continue;
        struct str name = json_str(v, "name", "?");
        buf_addf(out, "%s%.*s (pid %d)", out->n ? ", " : "", STR_ARG(name), (int)pid);
        n++;
    }
    return n;
}

/* Checks whether everything ended. Returns 0, or 1 and sets *e to what remains. */
static int check_end(const struct json *before, struct err *e)
{
    struct buf names = BUF_INIT(4096);
    int n = still_there(&names, json_get(before, "sessions"));
    n += still_there(&names, json_get(before, "processes"));
    if (n > 0)
        err_set(e, ERR_BUSY, "the server has ended, but these processes still run: %s",
                buf_z(&names));
    buf_release(&names);
    return n > 0;
}

static int stop_server(struct client *client, const struct exec_options *o, struct err *e)
{
    int64_t ms = o->limit_ms && o->limit_ms < INT_MAX ? o->limit_ms : SMALL_MS;
    bool remote = client_is_remote(client);
    int keeper = remote ? -1 : sys_pidfd(client->server.pid);
    struct json *ask = exec_request("list"), *q = exec_request("stop");
    struct json *before = call_simple(client->server.path, ask, SMALL_MS, e);
    struct call c;
    call_init(&c, client, q, NULL);
    call_leave(&c, SMALL_MS);
    struct json *r = call_run(&c, e);
    call_release(&c);
    int status = 0;
    if (r ? !json_bool(r, "ok", false) : e->code != ERR_GONE) {
        status = r ? exec_report(o, r) : exec_fail(o, e);
    } else if (remote) { /* only the end of its connection can be seen */
        status = r ? exec_report(o, r) : 0;
    } else if (!await_end(client, keeper, ms)) {
        err_set(e, ERR_TIMEOUT,
                "the server was asked to end and still runs after %lld ms; kill -9 "
                "%d ends it, and what it runs is left behind",
                (long long)ms, (int)client->server.pid);
        status = 1;
        exec_fail(o, e);
    } else if (check_end(before, e) != 0) {
        status = 1;
        exec_fail(o, e);
    } else if (r) { /* it ended before it could answer, as requested */
        status = exec_report(o, r);
    }
    if (keeper >= 0)
        close(keeper);
    json_free(ask);
    json_free(before);
    json_free(q);
    json_free(r);
    return status;
}

int exec_stop(const struct exec_options *o, struct err *e)
{
    struct client client;
    int status = 0;
    if (client_open(&client, o->server, false, e) == 0)
        status = stop_server(&client, o, e);
    else if (e->code != ERR_NOTFOUND)
        status = exec_fail(o, e);
    else if (!o->quiet)
        exec_say(str_of(e->text));
    client_close(&client);
    return status;
}
