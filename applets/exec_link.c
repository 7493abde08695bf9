/* SPDX-License-Identifier: MIT */
/* The connection of `od exec --put` and `--get`. */
#include "base/called.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exec_copy.h"
#include "os/sig.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum {
    OUT_MAX = 1 << 20,
    IN_MAX = 256 << 10,
    IDLE_MS = 30000,
    LOST_MS = 60000,
    SHOW_MS = 250,
    BODY_MAX = 8 << 10 /* of an answer other than the content */
};

static void dial(struct copy_link *l);

void copy_init(struct copy_link *l, const struct exec_options *o,
               const struct copy_calls *calls, void *arg)
{
    bool put = o->verbs & V_PUT;
    *l = (struct copy_link){.o = o,
                            .calls = calls,
                            .arg = arg,
                            .put = put,
                            .far = put ? o->words[0] : o->copy,
                            .signals.fd = -1,
                            .backoff = {.first_ms = 100, .most_ms = 2000}};
    buf_init(&l->answer, BODY_MAX);
}

void copy_release(struct copy_link *l)
{
    io_stop(&l->signals);
    buf_release(&l->answer);
    remote_release(&l->remote);
    if (l->loop)
        loop_free(l->loop);
}

void *copy_arg(struct httpc *h) { return container_of(h, struct copy_link, http)->arg; }

/* ---- ends ---- */

static void drop(struct copy_link *l)
{
    if (l->asking)
        httpc_release(&l->http);
    l->asking = false;
    if (l->calls->drop)
        l->calls->drop(l->arg);
}

void copy_stop(struct copy_link *l)
{
    l->over = true;
    if (l->dial)
        dial_cancel(l->dial);
    l->dial = NULL;
    drop(l);
    timer_stop(&l->wait);
    timer_stop(&l->show);
    loop_stop(l->loop);
}

void copy_fail(struct copy_link *l)
{
    if (l->over)
        return;
    l->status = 1;
    copy_stop(l);
}

void copy_is_odd(struct copy_link *l)
{
    err_set(&l->e, ERR_INVALID, "the server at %.200s is not an od server",
            l->remote.text);
    copy_fail(l);
}

static void on_wait(struct timer *t) { dial(container_of(t, struct copy_link, wait)); }

/* The connection was lost for this reason: another one is tried, or the copy fails. */
static void copy_lost(struct copy_link *l, const struct err *e)
{
    struct err why = *e; /* e may be the client's */
    drop(l);
    if (!l->connected_ever) {
        l->e = why;
        copy_fail(l);
    } else if (clock_ms() - l->got_on > LOST_MS) {
        err_set(&l->e, ERR_GONE,
                "the connection to the server was lost, and %d s of trying did not bring "
                "it back: %.300s",
                LOST_MS / 1000, why.text);
        copy_fail(l);
    } else {
        timer_begin(l->loop, &l->wait, backoff_next(&l->backoff), on_wait);
    }
}

void copy_again(struct copy_link *l)
{
    httpc_release(&l->http);
    l->asking = false;
    dial(l);
}

void copy_got(struct copy_link *l, size_t n)
{
    l->at += n;
    l->got_on = clock_ms();
    backoff_reset(&l->backoff);
}

/* ---- requests and their answers ---- */

static void add_escaped(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];
        bool plain = (ch >= '0' && ch <= '9') || ((ch | 32) >= 'a' && (ch | 32) <= 'z') ||
                     (ch && strchr("-_.~/", ch));
        if (plain)
            buf_addc(out, ch);
        else
            buf_addf(out, "%%%02X", (unsigned char)ch);
    }
}

void exec_add_query(struct buf *out, char first, const char *name, struct str value)
{
    buf_addf(out, "%c%s=", first, name);
    add_escaped(out, value);
}

void exec_add_path(struct buf *out, char first, const char *name, struct str path)
{
    char other[32];
    if (utf8_valid(path)) {
        exec_add_query(out, first, name, path);
    } else {
        struct buf text = BUF_INIT(2 * PATH_MAX);
        snprintf(other, sizeof(other), "%s_base64", name);
        enc_base64(&text, path);
        exec_add_query(out, first, other, buf_str(&text));
        buf_release(&text);
    }
}

void exec_add_session(struct buf *out, const struct exec_options *o)
{
    if (o->session)
        exec_add_query(out, '&', "session", str_of(o->session));
}

const char *exec_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

void copy_send(struct copy_link *l, struct httpc_request *q, struct str more)
{
    struct buf fields = BUF_INIT(REMOTE_FIELDS_MAX + 1024);
    remote_fields(&l->remote, &fields);
    buf_adds(&fields, more);
    buf_reset(&l->answer);
    q->host = l->remote.at.authority;
    q->fields = buf_str(&fields);
    if (httpc_send(&l->http, q, &l->e) < 0)
        copy_fail(l);
    buf_release(&fields);
}

bool copy_broke(struct copy_link *l, const struct err *e)
{
    if (!e)
        return false;
    if (e->code != ERR_INVALID && e->code != ERR_LIMIT) {
        copy_lost(l, e);
    } else {
        err_set(&l->e, e->code, "the server at %.150s is not an od server: %.250s",
                l->remote.text, e->text);
        copy_fail(l);
    }
    return true;
}

bool copy_refused(struct copy_link *l)
{
    int status = l->http.head.status;
    struct json *j = json_parse(buf_str(&l->answer), NULL);
    const struct json *error = json_get(j, "error");
    struct str code = json_str(error, "code", ""), text = json_str(error, "message", "");
    struct err e = ERR_INIT;
    char name[32] = "";
    bool ours = code.n > 0 && code.n < sizeof(name) && text.n > 0 && status != 401 &&
                status != 403;
    memcpy(name, code.p, ours ? code.n : 0);
    bool again = remote_refused(&l->remote, status, http_field(&l->http.head, "Location"),
                                buf_str(&l->answer), &e);
    if (status == 403 && code.n > 0 && str_eq(code, STR("DENIED"))) /* of the file */
        ours = true;
    if (ours && (status < 502 || status == 507)) {
        bool busy = str_eq(code, STR("BUSY")); /* earlier bytes are not all there yet */
        err_set(&e, name[0] ? err_from_name(name) : ERR_DENIED, "%.*s", STR_ARG(text));
        again = busy;
    }
    json_free(j);
    if (again) {
        copy_lost(l, &e);
        return false;
    }
    l->e = e;
    copy_fail(l);
    return ours;
}

/* ---- the connection ---- */

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct copy_link *l = dial_owner(d);
    struct err why;
    l->dial = NULL;
    if (s) {
        httpc_start(&l->http, s, IDLE_MS, l->calls->requests);
        l->asking = true;
        l->calls->ask(l->arg);
    } else if (remote_dial_failed(&l->remote, d, e, &why)) {
        copy_lost(l, &why);
    } else {
        l->e = why;
        copy_fail(l);
    }
}

static void dial(struct copy_link *l)
{
    l->dial = remote_dial(&l->remote, l->loop, IN_MAX, OUT_MAX, on_dialled, l, &l->e);
    if (!l->dial)
        copy_fail(l);
}

static void on_signal(struct io *io, uint32_t events)
{
    struct copy_link *l = container_of(io, struct copy_link, signals);
    (void)events;
    int signo = sig_next(io->fd);
    if (signo == 0)
        return;
    l->status = 128 + signo;
    copy_stop(l);
}

static void show(const struct copy_link *l, bool last)
{
    double mb = (double)l->at / 1e6, all = (double)l->size / 1e6;
    double seconds = (double)(clock_ms() - l->began) / 1000;
    fputc('\r', stderr);
    called_add("%s %.60s  %.1f", l->put ? "put" : "get", l->far, mb);
    if (l->known && l->size > 0)
        fprintf(stderr, " of %.1f MB, %d %%", all,
                (int)((double)l->at * 100 / (double)l->size));
    else
        fprintf(stderr, " MB");
    if (seconds > 0)
        fprintf(stderr, ", %.0f MB/s", mb / seconds);
    fprintf(stderr, "\033[K%s", last ? "\n" : "");
}

static void on_show(struct timer *t)
{
    struct copy_link *l = container_of(t, struct copy_link, show);
    show(l, false);
    timer_begin(l->loop, t, SHOW_MS, on_show);
}

int copy_run(struct copy_link *l, int signals, struct err *e)
{
    bool shows = isatty(STDERR_FILENO) && !l->o->quiet && !l->o->json;
    if (!(l->loop = loop_new()) ||
        io_start(l->loop, &l->signals, signals, EPOLLIN, on_signal) < 0)
        return err_sys(e, errno, "cannot begin");
    l->began = l->got_on = clock_ms();
    if (shows)
        timer_begin(l->loop, &l->show, SHOW_MS, on_show);
    dial(l);
    if (!l->over && loop_run(l->loop) < 0)
        return err_sys(e, errno, "cannot wait");
    if (shows && clock_ms() - l->began >= SHOW_MS)
        show(l, true);
    *e = l->e;
    return l->status == 1 ? -1 : 0;
}
