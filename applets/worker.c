/* SPDX-License-Identifier: MIT */
/*
 * `od-worker`: the process of od serve that does everything but hold on to
 * things. It may be killed at any instant; the keeper starts the next one and
 * hands over what there is on descriptor 3. `od-worker --check FORMAT` says
 * whether it could take over what is kept in that format, and touches nothing.
 */
#include "applet.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "build_info.h"
#include "engine/engine.h"
#include "front/events.h"
#include "front/http.h"
#include "front/local.h"
#include "net/sockpath.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { KEEPER_FD = 3, LISTENERS_MAX = 16 };

struct worker {
    struct engine engine;
    struct local *local;
    struct http *http;
    int listening; /* of the local front, until ready */
    int web[LISTENERS_MAX];
    bool tls[LISTENERS_MAX]; /* spoken there */
    int webs;
    int viewer; /* the file viewer's; -1: none */
    int memory; /* of the event log, where there is no directory; -1: none */
    struct timer drain;
    bool leaving; /* for another worker, not for good */
    char socket[SOCKPATH_MAX];
};

static void on_held(void *arg, struct str name, int fd)
{
    struct worker *w = arg;
    if (str_eq(name, STR("local")) && w->listening < 0)
        w->listening = fd;
    else if ((str_starts(name, STR("http ")) || str_starts(name, STR("https "))) &&
             w->webs < LISTENERS_MAX) {
        w->tls[w->webs] = str_starts(name, STR("https "));
        w->web[w->webs++] = fd;
    } else if (str_starts(name, STR("viewer ")) && w->viewer < 0)
        w->viewer = fd;
    else if (str_eq(name, STR("events")) && w->memory < 0)
        w->memory = fd;
    else
        close(fd);
}

static void on_state(void *arg, struct str key, struct str value)
{
    struct worker *w = arg;
    if (str_eq(key, STR("options"))) {
        struct err e = ERR_INIT;
        struct json *o = json_parse(value, &e);
        if (!o) {
            log_error("the options are unreadable: %s", e.text);
            return;
        }
        log_init("worker", 2, (enum log_level)json_int(o, "log_level", LOG_INFO),
                 json_bool(o, "log_json", false));
        engine_configure(&w->engine, o);
        json_put_z(o, "version", OD_VERSION); /* not that of the first worker */
        w->http = http_open(&w->engine, o);
        struct str path = json_str(o, "socket", "");
        if (path.n < sizeof(w->socket))
            memcpy(w->socket, path.p, path.n + 1);
        json_free(o);
        return;
    }
    struct buf *b = xnew(struct buf);
    buf_init(b, LIMIT_BLOB_MAX + LIMIT_SPAWN_MAX);
    buf_adds(b, value);
    map_put(&w->engine.states, key, b);
}

static void on_ready(void *arg)
{
    struct worker *w = arg;
    if (w->http)
        http_load(w->http, w->memory);
    engine_resume(&w->engine);
    for (int i = 0; w->http && i < w->webs; i++)
        http_listen(w->http, w->web[i], w->tls[i]);
    if (w->http && w->viewer >= 0)
        http_view(w->http, w->viewer);
    if (w->http)
        http_start(w->http);
    if (w->listening >= 0)
        w->local = local_open(&w->engine, w->http, w->listening);
    if (!w->local)
        log_error("there is nothing to listen on");
    hold_serving(w->engine.hold);
}

/* Nothing new comes in; what is asked already gets its answer, or DRAIN_MS. */
static void on_drained(void *arg)
{
    struct worker *w = arg;
    timer_stop(&w->drain);
    if (w->leaving)
        loop_stop(w->engine.loop);
    else
        engine_stop(&w->engine, LIMIT_GRACE_MS);
}

static void on_drain_late(struct timer *t)
{
    on_drained(container_of(t, struct worker, drain));
}

static void on_signal(void *arg, int signo)
{
    struct worker *w = arg;
    if ((signo != SIGTERM && signo != SIGINT && signo != SIGHUP) ||
        timer_active(&w->drain))
        return;
    /* Clients of the local socket come back by themselves to the next worker. */
    w->leaving = signo == SIGHUP;
    if (!w->leaving) {
        local_close(w->local);
        w->local = NULL;
    }
    timer_begin(w->engine.loop, &w->drain, w->leaving ? LIMIT_LEAVE_MS : LIMIT_DRAIN_MS,
                on_drain_late);
    if (w->http)
        http_drain(w->http, on_drained, w);
    else
        on_drained(w);
}

static const struct hold_events events = {on_held, on_state, on_ready, on_signal};

static int check(const char *format)
{
    struct buf ours = BUF_INIT(256);
    engine_format(&ours);
    http_format(&ours);
    bool same = strcmp(format, buf_z(&ours)) == 0;
    if (same)
        printf("ready\n");
    else
        printf(
            "it takes over %s, and what is kept is %s: start a server with it instead\n",
            buf_z(&ours), format);
    buf_release(&ours);
    return same && fflush(stdout) == 0 ? 0 : 1;
}

static int worker_main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check(argv[2]);
    struct err e = ERR_INIT;
    struct worker *w = xnew(struct worker);
    w->listening = w->memory = w->viewer = -1;
    log_init("worker", 2, LOG_INFO, false);
    log_trace_init(getenv("OD_TRACE"));
    /* Environments and, one day, keys: not for a child of the same uid to read. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like any other */
    signal(SIGINT, SIG_IGN);  /* the keeper says when */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    struct loop *l = loop_new();
    if (!l || engine_open(&w->engine, l, &e) < 0 ||
        !(w->engine.hold = hold_open(l, KEEPER_FD, &events, w))) {
        log_error("cannot start: %m");
        return 1;
    }
    int r = loop_run(l);
    /* No client comes any more; those in the queue see the end and say so. */
    if (w->engine.stopping)
        sockpath_remove(w->socket);
    return r < 0 ? 1 : 0;
}

const struct applet applet_worker = {
    .name = "worker",
    .brief = "the process of od serve that answers requests",
    .usage = "Started by od serve.\n",
    .main = worker_main,
    .hidden = true,
};
