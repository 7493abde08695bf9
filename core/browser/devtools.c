/* SPDX-License-Identifier: MIT */
#include "browser/devtools.h"

#include "base/clock.h"
#include "base/limits.h"
#include "browser/browsing_own.h"
#include "net/addr.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    IN_MAX = LIMIT_CDP_MESSAGE + (1 << 20),
    OUT_MAX = DEVTOOLS_IN + (2 << 20),
    OUT_LOW = 256 << 10,
    START_MS = 60000
};

static struct devtools_link *link_of(struct stream *s)
{
    return container_of(s, struct devtools_link, s);
}

/* ---- the end ---- */

static void unlink_host(struct devtools_link *k)
{
    if (k->linked)
        stream_close(&k->s);
    k->linked = false;
}

void devtools_close(struct devtools_link *k)
{
    if (k->state == DEVTOOLS_OVER)
        return;
    unlink_host(k);
    if (k->call)
        browsing_drop(k->call);
    k->call = NULL;
    k->state = DEVTOOLS_OVER;
    task_cancel(&k->later);
    if (k->b) {
        k->b->used_ms = clock_wall_ms();
        list_del(&k->node);
        if (list_empty(&k->b->links) && list_empty(&k->b->host.calls))
            browsing_idle(k->b, LIMIT_BROWSER_IDLE_MS);
    }
    k->b = NULL;
}

static void over(struct devtools_link *k, enum err_code code, const char *text)
{
    struct err e = ERR_INIT;
    err_set(&e, code, "%s", text);
    devtools_close(k);
    k->calls->over(k, &e);
}

void devtools_leave_all(struct browsing *b)
{
    struct list *it, *tmp;
    list_each (it, tmp, &b->links) {
        struct devtools_link *k = list_entry(it, struct devtools_link, node);
        over(k, ERR_GONE, "the browser was closed");
    }
}

/* ---- start ---- */

static void connect_to(struct devtools_link *k);

static void on_started(void *owner, const struct json *answer, const struct err *e)
{
    struct devtools_link *k = owner;
    k->call = NULL;
    k->started = true;
    if (!answer)
        over(k, e->code, e->text);
    else if (!str_eq(json_str(answer, "mode", ""), STR("chromium")))
        over(k, ERR_UNSUPPORTED,
             "there is no Chromium in this sandbox: install the package chromium or "
             "chromium-headless-shell, or name one in OD_BROWSER");
    else
        connect_to(k);
}

static void start(struct devtools_link *k)
{
    struct err e = ERR_INIT;
    struct json *what = json_object();
    struct browsing_ask q = {.id = "", .what = what, .timeout_ms = START_MS};
    if (k->started) {
        json_free(what);
        over(k, ERR_UNSUPPORTED,
             "this browser takes no DevTools clients: it was not started here (--cdp, "
             "OD_BROWSER), and its own address does");
        return;
    }
    k->state = DEVTOOLS_STARTING;
    json_put_bool(what, "open", true);
    k->call = browsing_ask(k->b, &q, on_started, k, &e);
    json_free(what);
    if (!k->call)
        over(k, e.code, e.text);
}

/* ---- in ---- */

/* Handles a message of the host. Returns false if the owner does not take it. */
static bool take(struct devtools_link *k, struct str text)
{
    struct err e = ERR_INIT;
    char first = text.n ? text.p[0] : 0;
    if (first == '{' && k->state == DEVTOOLS_OPEN)
        return k->calls->message(k, text);
    if (first == '+') {
        k->state = DEVTOOLS_OPEN;
        k->calls->ready(k);
    } else if (first == '-') {
        unlink_host(k);
        start(k);
    } else if (first == '@') {
        struct json *j = json_parse(str_sub(text, 1, text.n), &e);
        if (j)
            k->calls->event(k, j);
        json_free(j);
    } else if (first == '!') {
        err_set(&k->why, ERR_GONE, "%.*s", (int)(text.n > 300 ? 300 : text.n) - 1,
                text.p + 1);
    }
    return true;
}

static void on_data(struct stream *s)
{
    struct devtools_link *k = link_of(s);
    while (k->state >= DEVTOOLS_LINKING && !k->held) {
        const char *zero = s->in.n > k->scanned
                               ? memchr(s->in.p + k->scanned, 0, s->in.n - k->scanned)
                               : NULL;
        if (!zero) {
            k->scanned = s->in.n;
            break;
        }
        size_t n = (size_t)(zero - s->in.p);
        if (!take(k, str_n(s->in.p, n))) {
            k->held = true;
            k->scanned = n;
            stream_pause(s);
            return;
        }
        if (k->state < DEVTOOLS_LINKING)
            return;
        buf_consume(&s->in, n + 1);
        k->scanned = 0;
    }
    if (k->state < DEVTOOLS_LINKING || k->held)
        return;
    if (s->in.n == s->in.max)
        over(k, ERR_LIMIT, "the browser's host sent a message that is too long");
    else
        stream_resume(s);
}

static void on_later(struct task *t)
{
    struct devtools_link *k = container_of(t, struct devtools_link, later);
    if (k->linked)
        on_data(&k->s);
    else if (k->state == DEVTOOLS_STARTING && !k->call)
        connect_to(k);
}

void devtools_again(struct devtools_link *k)
{
    if (!k->held)
        return;
    k->held = false;
    task_defer(k->en->loop, &k->later);
}

static void on_room(struct stream *s)
{
    struct devtools_link *k = link_of(s);
    if (!k->full)
        return;
    k->full = false;
    k->calls->room(k);
}

static void on_end(struct stream *s, int errnum)
{
    struct devtools_link *k = link_of(s);
    (void)errnum;
    if (k->why.code)
        over(k, k->why.code, k->why.text);
    else if (k->held)
        over(k, ERR_LIMIT, "the client does not read, and too much waits for it");
    else
        over(k, ERR_GONE, "the browser's host has ended");
}

static const struct stream_events calls = {on_data, on_room, on_end, NULL};

/* ---- out ---- */

bool devtools_send(struct devtools_link *k, struct str text)
{
    if (k->state != DEVTOOLS_OPEN)
        return true;
    if (buf_room(&k->s.out) <= text.n) {
        err_set(&k->why, ERR_LIMIT, "the message is longer than 30 MiB");
        stream_fail(&k->s, EMSGSIZE);
        return true;
    }
    buf_adds(&k->s.out, text);
    stream_write(&k->s, str_n("", 1));
    k->full = k->s.out.n > OUT_LOW;
    if (k->full)
        stream_want_room(&k->s);
    return !k->full;
}

/* Connects to the host; without one, the browser is started. */
static void connect_to(struct devtools_link *k)
{
    struct buf path = BUF_INIT(PATH_MAX), hello = BUF_INIT(256);
    struct addr a;
    struct err e = ERR_INIT;
    int fd = -1;
    k->held = k->full = false;
    k->scanned = 0;
    buf_addf(&path, "unix:%s/devtools", k->b->dir);
    if (k->b->dir[0] && companion_state(&k->b->host) == COMPANION_RUNS &&
        addr_parse(&a, buf_str(&path), &e) == 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    buf_release(&path);
    if (fd >= 0 && (connect(fd, (const struct sockaddr *)&a.ss, a.len) < 0 ||
                    stream_open(&k->s, k->en->loop, fd, IN_MAX, OUT_MAX, &calls) < 0)) {
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        start(k);
        return;
    }
    k->linked = true;
    k->s.low = OUT_LOW;
    k->state = DEVTOOLS_LINKING;
    buf_addf(&hello, "{\"target\":\"%s\",\"closes\":%s}", k->target,
             k->closes ? "true" : "false");
    buf_addc(&hello, '\0');
    stream_write(&k->s, buf_str(&hello));
    buf_release(&hello);
}

int devtools_open(struct engine *en, struct devtools_link *k, struct str browser,
                  struct str target, const struct browsing_opts *o, struct err *e)
{
    for (size_t i = 0; i < target.n; i++) {
        char c = target.p[i];
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') && c != '-')
            return err_set(e, ERR_NOTFOUND, "No such target id");
    }
    if (target.n > DEVTOOLS_TARGET)
        return err_set(e, ERR_NOTFOUND, "No such target id");
    struct browsing *b = browsing_open(en, browser, o, e);
    if (!b)
        return -1;
    k->en = en;
    k->b = b;
    snprintf(k->target, sizeof(k->target), "%.*s", STR_ARG(target));
    list_add_tail(&b->links, &k->node);
    timer_stop(&b->idle);
    k->state = DEVTOOLS_STARTING;
    task_init(&k->later, on_later);
    task_defer(en->loop, &k->later);
    return 0;
}
