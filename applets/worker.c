/* SPDX-License-Identifier: MIT */
/*
 * `od-worker`: the process of od serve that does everything except keep state. It may be
 * killed at any instant; the keeper starts the next one and hands its state over on
 * descriptor 3. `od-worker --check FORMAT` reports whether it could take over state in
 * that format, and changes nothing.
 */
#include "applet.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "net/addr.h"
#include "net/sockpath.h"
#include "version.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/*
 * Listeners: those of the options and of front-ends, and those that front-ends have kept.
 */
enum { KEEPER_FD = 3, HELD_MAX = LIMIT_LISTENERS_MAX + 16 };

struct worker {
    struct engine engine;
    struct fronts *fronts;
    struct worker_held {
        char *name; /* owned */
        int fd;
    } held[HELD_MAX]; /* until ready */
    int nheld;
    struct timer drain;
    bool flushing;
    bool leaving; /* for another worker, not forever */
    char socket[SOCKPATH_MAX];
    struct json *about; /* owned; for fronts_about */
};

static bool is_web(struct str name)
{
    return str_starts(name, STR("http ")) || str_starts(name, STR("https "));
}

/* Adds "http ADDRESS", the keeper's name of a listener, in the form of clients. */
static void add_address(struct json *list, struct str name)
{
    struct buf text = BUF_INIT(512);
    struct str scheme = str_cut(&name, ' '), address = name;
    if (fronts_cut(&address))
        buf_adds(&text, str_sub(name, 0, name.n - address.n));
    bool path = str_starts(address, STR("unix:")) || str_starts(address, STR("@"));
    if (!path)
        buf_addf(&text, "%.*s://", STR_ARG(scheme));
    buf_adds(&text, address);
    json_push_str(list, buf_str(&text));
    buf_release(&text);
}

static void on_held(void *arg, struct str name, int fd)
{
    struct worker *w = arg;
    if (w->nheld == HELD_MAX) {
        close(fd);
        return;
    }
    w->held[w->nheld++] = (struct worker_held){xstrndup(name.p, name.n), fd};
}

/* Hands each kept item to its part or front-end. */
static void hand_over(struct worker *w)
{
    for (int i = 0; i < w->nheld; i++) {
        struct worker_held *h = &w->held[i];
        if (!engine_take(&w->engine, str_of(h->name), h->fd) &&
            !fronts_take(w->fronts, str_of(h->name), h->fd))
            close(h->fd);
        free(h->name);
    }
    w->nheld = 0;
}

static void put_about(struct worker *w, const struct json *o)
{
    json_put_z(w->about, "version", build_info.version);
    json_put_str(w->about, "socket", json_str(o, "socket", ""));
    json_put_str(w->about, "name", json_str(o, "name", ""));
}

/*
 * A server of an earlier version, whose worker we replace, has no name and no record in
 * its state folder. The record that is written here identifies the folder
 * (applets/serve_state.c).
 */
static void name_earlier(struct worker *w)
{
    char path[256], name[32] = SOCKPATH_DEFAULT;
    struct addr a;
    struct buf text = BUF_INIT(SOCKPATH_MAX + 256);
    if (json_str(w->about, "name", "").n > 0)
        return;
    const struct worker_held *web = w->held, *end = w->held + w->nheld;
    while (web < end && !is_web(str_of(web->name)))
        web++;
    if (web < end && addr_of(web->fd, &a) == 0 && addr_port(&a) > 0)
        snprintf(name, sizeof(name), "%u", addr_port(&a));
    json_drop(w->about, json_get(w->about, "name"));
    json_put_z(w->about, "name", name);
    json_put_int(w->about, "pid", getppid());
    snprintf(path, sizeof(path), "%.200s/" SOCKPATH_RECORD, w->engine.state_dir);
    int fd = w->engine.state_dir[0]
                 ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
                 : -1;
    if (fd >= 0 && json_print(&text, w->about) == 0 &&
        write(fd, text.p, text.n) != (ssize_t)text.n)
        log_debug("cannot write %s: %m", path);
    if (fd >= 0)
        close(fd);
    buf_release(&text);
    /* Clients look for it at the place of the default server. */
    json_drop(w->about, json_get(w->about, "name"));
    json_put_z(w->about, "name", SOCKPATH_DEFAULT);
}

static void on_state(void *arg, struct str key, struct str value)
{
    struct worker *w = arg;
    if (w->engine.resumed) {
        engine_late_state(&w->engine, key, value);
        return;
    }
    if (str_eq(key, STR("options"))) {
        struct err e = ERR_INIT;
        struct json *o = json_parse_kept(value, &e);
        if (!o) {
            log_error("the options are unreadable: %s", e.text);
            return;
        }
        log_init("worker", 2, (enum log_level)json_int(o, "log_level", LOG_INFO),
                 json_bool(o, "log_json", false));
        engine_configure(&w->engine, o);
        json_put_z(o, "version",
                   build_info.version); /* ours, not that of the first worker */
        w->fronts = fronts_open(&w->engine, o, w->about);
        struct str path = json_str(o, "socket", "");
        if (path.n < sizeof(w->socket))
            memcpy(w->socket, path.p, path.n + 1);
        put_about(w, o);
        json_free(o);
        return;
    }
    struct buf *b = xnew(struct buf);
    buf_init(b, value.n);
    if (buf_adds(b, value) < 0)
        xalloc_failed(
            value.n); /* with half of a state, what it describes would be lost */
    map_put(&w->engine.states, key, b);
}

static void on_ready(void *arg)
{
    struct worker *w = arg;
    name_earlier(w);
    struct json *addresses = json_array(), *ports = json_array();
    for (int i = 0; i < w->nheld; i++) {
        struct addr a;
        if (addr_of(w->held[i].fd, &a) == 0 && !addr_is_unix(&a) && addr_port(&a) > 0)
            json_push_int(ports, addr_port(&a));
        if (is_web(str_of(w->held[i].name)))
            add_address(addresses, str_of(w->held[i].name));
    }
    json_put(w->about, "addresses", addresses);
    json_put(w->about, "ports", ports); /* the viewer's, too */
    if (!w->fronts) { /* no options were stored: od exec can still report it */
        struct json *none = json_object();
        engine_configure(&w->engine, none);
        w->fronts = fronts_open(&w->engine, none, w->about);
        json_free(none);
    }
    hand_over(w);
    fronts_load(w->fronts);
    engine_resume(&w->engine);
    fronts_start(w->fronts);
    keeper_client_serving(w->engine.keeper);
}

/* Front-ends have flushed: ends what runs, and then this process. */
static void on_flushed(void *arg)
{
    struct worker *w = arg;
    engine_stop(&w->engine, LIMIT_GRACE_MS);
}

/* Requests in flight have their answers, or LIMIT_DRAIN_MS (LIMIT_LEAVE_MS) are over. */
static void on_drained(void *arg)
{
    struct worker *w = arg;
    timer_stop(&w->drain);
    if (w->leaving)
        loop_stop(w->engine.loop);
    else if (!w->flushing && w->fronts)
        fronts_flush(w->fronts, on_flushed, w);
    else if (!w->flushing)
        on_flushed(w);
    w->flushing = true;
}

static void on_drain_late(struct timer *t)
{
    on_drained(container_of(t, struct worker, drain));
}

/*
 * Removes the name of od exec's socket, while it still accepts: once it refuses, another
 * server may take the name.
 */
static void remove_name(struct worker *w)
{
    sockpath_remove(w->socket);
    w->socket[0] = 0;
}

static void on_signal(void *arg, int signo)
{
    struct worker *w = arg;
    if ((signo != SIGTERM && signo != SIGINT && signo != SIGHUP) ||
        timer_active(&w->drain) || w->flushing)
        return;
    w->leaving = signo == SIGHUP;
    timer_begin(w->engine.loop, &w->drain, w->leaving ? LIMIT_LEAVE_MS : LIMIT_DRAIN_MS,
                on_drain_late);
    if (!w->leaving)
        remove_name(w);
    if (w->fronts)
        fronts_drain(w->fronts, w->leaving, on_drained, w);
    else
        on_drained(w);
}

static const struct keeper_client_events events = {on_held, on_state, on_ready,
                                                   on_signal};

/*
 * Returns the first key of the list that no part and no front-end claims; "" if each is
 * claimed.
 */
static struct str unclaimed(struct str keys)
{
    while (keys.n > 0) {
        struct str key = str_cut(&keys, ' ');
        if (key.n > 0 && !str_eq(key, STR("options")) && !engine_claims(key) &&
            !fronts_claims(key))
            return key;
    }
    return STR("");
}

/* Cuts both at the first of their comma-separated items that differ. */
static void difference(struct str *a, struct str *b)
{
    struct str x = *a, y = *b;
    do {
        *a = str_cut(&x, ',');
        *b = str_cut(&y, ',');
    } while (str_eq(*a, *b) && (x.n > 0 || y.n > 0));
    *a = str_trim(*a);
    *b = str_trim(*b);
}

static int check(struct str kept)
{
    struct buf ours = BUF_INIT(1024);
    engine_format(&ours);
    fronts_format(&ours);
    long end = str_find(kept, STR("; keys "));
    struct str format = end < 0 ? kept : str_sub(kept, 0, (size_t)end);
    struct str keys = end < 0 ? STR("") : str_sub(kept, (size_t)end + 7, kept.n);
    struct str key = unclaimed(keys);
    bool same = str_eq(format, buf_str(&ours)) && key.n == 0;
    if (same) {
        printf("ready\n");
    } else if (key.n > 0) {
        printf("it has no part that takes over what is kept as %.*s: start a server with "
               "it instead\n",
               STR_ARG(key));
    } else {
        struct str own = buf_str(&ours);
        difference(&own, &format);
        printf("it takes over \"%.*s\" where \"%.*s\" is kept: start a server with it "
               "instead\n",
               STR_ARG(own), STR_ARG(format));
    }
    buf_release(&ours);
    return same && fflush(stdout) == 0 ? 0 : 1;
}

static int worker_main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "--check") == 0)
        return check(str_of(argv[2]));
    struct err e = ERR_INIT;
    struct worker *w = xnew(struct worker);
    w->about = json_object();
    log_init("worker", 2, LOG_INFO, false);
    log_trace_init(getenv("OD_TRACE"));
    /* Environments and keys must not be readable for a child of the same uid. */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error like any other */
    signal(SIGINT, SIG_IGN);  /* the keeper decides when to end */
    signal(SIGTERM, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    struct loop *l = loop_new();
    if (!l || engine_open(&w->engine, l, &e) < 0 ||
        !(w->engine.keeper = keeper_client_open(l, KEEPER_FD, &events, w))) {
        log_error("cannot start: %m");
        return 1;
    }
    int r = loop_run(l);
    /* No client comes any more; those in the queue see the end and report it. */
    if (w->engine.stopping && w->socket[0] && w->engine.socket[0])
        remove_name(w);
    else if (w->engine.stopping && w->socket[0])
        sockpath_remove_left(w->socket);
    return r < 0 ? 1 : 0;
}

const struct applet applet_worker = {
    .name = "worker",
    .brief = "the process of od serve that answers requests",
    .usage = "Started by od serve.\n",
    .main = worker_main,
    .hidden = true,
};
