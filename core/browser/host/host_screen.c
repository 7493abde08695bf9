/* SPDX-License-Identifier: MIT */
/*
 * The screen: a unix socket in the host's folder through which one worker at a time
 * watches the active tab and passes on what people do in it (browser/driver/screen.c).
 *
 * In, lines of JSON:
 *
 *   {"want": {quality, width}}   pictures are wanted, until the socket closes
 *   {"next": true}               the next picture newer than the last one: one at a time
 *   {"drive": bool}              a person has the browser: dialogs wait for an answer
 *   others                       as in browser_screen_input
 *
 * Out, each after its length in 4 bytes, the highest first, and a byte for its kind:
 *
 *   1  a picture: its number in 4 bytes; width, height and scroll offsets of the viewport
 *      in 2 bytes each; a JPEG
 *   2  JSON: {"tabs": [{id, url, title, active}]}, {"dialog": {kind, text} or null},
 *      {"cursor": {x, y}} in fractions of the viewport, {"trouble": TEXT},
 *      {"mode": "chromium" or "", "none"}, {"mode": "text", "text": …}
 *
 * A worker that reads slowly gets fewer of each: unchanged values are not repeated, and
 * a picture is only sent after {"next"}.
 */
#include "base/enc.h"
#include "base/utf8.h"
#include "browser/host/host_own.h"
#include "net/addr.h"
#include "webpage/weboutline.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LINE_MAX_BYTES = 512 << 10,
    OUT_MAX = 6 << 20,
    OUT_LOW = 256 << 10, /* nothing is added while more than this waits */
    JPEG_MAX = 1 << 20,
    HEAD = 5,
    URL_SHOWN = 2048,
    TITLE_SHOWN = 300,
    TEXT_SHOWN = 64 << 10,
    READ_AT_ONCE = 64 << 10
};
enum { KIND_FRAME = 1, KIND_JSON = 2 };

static struct browser *browser_of(const struct host *h)
{
    return h->b && !h->b->cdp.ended ? h->b : NULL;
}

/* ---- the socket ---- */

static void watch(struct host *h, int fd, bool out, int op)
{
    struct epoll_event ev = {.events = EPOLLIN | (out ? EPOLLOUT : 0), .data.fd = fd};
    epoll_ctl(h->screen.watch, op, fd, &ev);
}

void host_screen_open(struct host *h)
{
    struct host_screen *s = &h->screen;
    struct buf path = BUF_INIT(PATH_MAX);
    struct addr a;
    struct err e = ERR_INIT;
    s->listener = s->fd = s->watch = -1;
    buf_init(&s->in, LINE_MAX_BYTES);
    buf_init(&s->out, OUT_MAX);
    buf_init(&s->tabs, OUT_MAX);
    buf_init(&s->dialog, OUT_LOW);
    buf_addf(&path, "unix:%s/" HOST_SCREEN_SOCKET, h->dir);
    if (h->dir[0] && addr_parse(&a, buf_str(&path), &e) == 0)
        s->listener = addr_listen(&a, &e);
    s->watch = s->listener >= 0 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (s->watch >= 0) {
        watch(h, STDIN_FILENO, false, EPOLL_CTL_ADD);
        watch(h, s->listener, false, EPOLL_CTL_ADD);
        h->halt.fds[1] = s->watch;
    }
    buf_release(&path);
}

static void set_driven(struct host *h, bool driven)
{
    struct host_screen *s = &h->screen;
    struct browser *b = browser_of(h);
    if (s->driven == driven)
        return;
    s->driven = driven;
    if (b && driven) {
        s->asked_before = b->asks;
        b->asks = true;
    } else if (b && !b->dialog.type[0]) {
        b->asks = s->asked_before;
    }
}

/* The worker no longer watches. */
static void hang_up(struct host *h)
{
    struct host_screen *s = &h->screen;
    struct browser *b = browser_of(h);
    if (s->fd < 0)
        return;
    set_driven(h, false);
    close(s->fd);
    s->fd = -1;
    s->wanted = s->next = s->waits_to_write = false;
    s->mode = NULL;
    buf_release(&s->in);
    buf_release(&s->out);
    buf_release(&s->tabs);
    buf_release(&s->dialog);
    if (b)
        browser_screen_stop(b);
}

void host_screen_close(struct host *h)
{
    hang_up(h);
    if (h->screen.listener >= 0)
        close(h->screen.listener);
    if (h->screen.watch >= 0)
        close(h->screen.watch);
    h->screen.listener = h->screen.watch = -1;
}

/* The newest connection counts: that of a killed worker may still be open. */
static void accept_one(struct host *h)
{
    struct host_screen *s = &h->screen;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0)
        return;
    hang_up(h);
    s->fd = fd;
    s->sent = 0;
    watch(h, fd, false, EPOLL_CTL_ADD);
}

static void flush(struct host *h)
{
    struct host_screen *s = &h->screen;
    while (s->fd >= 0 && s->out.n > 0) {
        ssize_t n = send(s->fd, s->out.p, s->out.n, MSG_NOSIGNAL);
        if (n > 0)
            buf_consume(&s->out, (size_t)n);
        else if (n < 0 && errno == EAGAIN)
            break;
        else if (n == 0 || errno != EINTR)
            hang_up(h);
    }
    bool waits = s->out.n > 0;
    if (s->fd >= 0 && waits != s->waits_to_write)
        watch(h, s->fd, waits, EPOLL_CTL_MOD);
    s->waits_to_write = waits;
}

/* ---- out ---- */

static void put_head(struct buf *out, int kind, size_t n)
{
    const unsigned char head[HEAD] = {(unsigned char)kind, (unsigned char)(n >> 24),
                                      (unsigned char)(n >> 16), (unsigned char)(n >> 8),
                                      (unsigned char)n};
    buf_add(out, head, HEAD);
}

static void put_number(struct buf *out, unsigned v, int bytes)
{
    while (bytes-- > 0)
        buf_addc(out, (char)(v >> (8 * bytes)));
}

static void send_text(struct host *h, struct str text)
{
    if (buf_room(&h->screen.out) < text.n + HEAD)
        return;
    put_head(&h->screen.out, KIND_JSON, text.n);
    buf_adds(&h->screen.out, text);
}

static void send_json(struct host *h, struct json *take)
{
    struct buf text = BUF_INIT(OUT_MAX / 2);
    if (json_print(&text, take) == 0)
        send_text(h, buf_str(&text));
    json_free(take);
    buf_release(&text);
}

static void send_frame(struct host *h, struct browser *b)
{
    struct host_screen *s = &h->screen;
    const struct browser_screen *f = &b->screen;
    struct buf jpeg = BUF_INIT(JPEG_MAX);
    if (!s->next || f->seq == s->sent || f->frame.n == 0)
        return;
    s->sent = f->seq;
    if (dec_base64(&jpeg, buf_str(&f->frame)) == 0) {
        put_head(&s->out, KIND_FRAME, jpeg.n + 12);
        put_number(&s->out, f->seq, 4);
        put_number(&s->out, (unsigned)f->width, 2);
        put_number(&s->out, (unsigned)f->height, 2);
        put_number(&s->out, (unsigned)f->scroll_x, 2);
        put_number(&s->out, (unsigned)f->scroll_y, 2);
        buf_adds(&s->out, buf_str(&jpeg));
        s->next = false;
    }
    buf_release(&jpeg);
}

static struct str shown(struct str s, size_t max)
{
    return str_sub(s, 0, utf8_cut(s, s.n < max ? s.n : max));
}

/* Sends take, unless it equals the last value sent. */
static void send_changed(struct host *h, struct buf *last, struct json *take)
{
    struct buf text = BUF_INIT(OUT_MAX / 2);
    bool fits = json_print(&text, take) == 0;
    if (fits && !str_eq(buf_str(&text), buf_str(last))) {
        send_text(h, buf_str(&text));
        buf_release(last);
        *last = text;
        text = (struct buf)BUF_INIT(0);
    }
    buf_release(&text);
    json_free(take);
}

static void send_tabs(struct host *h, const struct browser *b)
{
    struct json *j = json_object(), *list = json_array();
    for (const struct list *it = b ? b->targets.next : NULL; b && it != &b->targets;
         it = it->next) {
        const struct target *t = list_entry(it, struct target, node);
        if (!t->page)
            continue;
        struct json *tab = json_object();
        json_put_z(tab, "id", t->id);
        json_put_str(tab, "url", shown(buf_str(&t->url), URL_SHOWN));
        json_put_str(tab, "title", shown(buf_str(&t->title), TITLE_SHOWN));
        json_put_bool(tab, "active", t == b->active);
        json_push(list, tab);
    }
    json_put(j, "tabs", list);
    send_changed(h, &h->screen.tabs, j);
}

static void send_dialog(struct host *h, const struct browser *b)
{
    struct json *j = json_object(), *d = NULL;
    if (b && b->dialog.type[0]) {
        d = json_object();
        json_put_z(d, "kind", b->dialog.type);
        json_put_str(d, "text", shown(buf_str(&b->dialog.text), BROWSER_ERROR_MAX));
        json_put_str(d, "fill", shown(buf_str(&b->dialog.fill), BROWSER_ERROR_MAX));
    }
    if (d)
        json_put(j, "dialog", d);
    else
        json_put_null(j, "dialog");
    if (d || h->screen.dialog.n > 0)
        send_changed(h, &h->screen.dialog, j);
    else
        json_free(j);
}

static void send_cursor(struct host *h, const struct browser *b)
{
    struct json *j, *at;
    if (b->screen.moves == h->screen.moves)
        return;
    h->screen.moves = b->screen.moves;
    j = json_object();
    at = json_object();
    json_put_num(at, "x", b->screen.x / b->width);
    json_put_num(at, "y", b->screen.y / b->height);
    json_put(j, "cursor", at);
    send_json(h, j);
}

static void send_mode(struct host *h, const struct browser *b)
{
    const char *mode = b ? "chromium" : h->reading ? "text" : "";
    bool text = h->reading && !h->calling;
    if (h->screen.mode && strcmp(mode, h->screen.mode) == 0 && !text)
        return;
    struct json *j = json_object();
    json_put_z(j, "mode", mode);
    if (h->reading) {
        struct buf page = BUF_INIT(17 << 20);
        weboutline_text(h->reader.web, h->page.base, &page);
        json_put_str(j, "text", shown(buf_str(&page), TEXT_SHOWN));
        buf_release(&page);
    }
    if (text)
        send_changed(h, &h->screen.tabs, j);
    else
        send_json(h, j);
    h->screen.mode = mode;
}

/* Sends everything that has changed since. */
static void send_news(struct host *h)
{
    struct browser *b = browser_of(h);
    if (h->screen.out.n > OUT_LOW)
        flush(h);
    if (h->screen.fd < 0 || h->screen.out.n > OUT_LOW)
        return;
    send_mode(h, b);
    if (!h->reading) {
        send_tabs(h, b);
        send_dialog(h, b);
    }
    if (b) {
        send_cursor(h, b);
        send_frame(h, b);
    }
    if (b && b->screen.trouble.n > 0) {
        struct json *j = json_object();
        json_put_str(j, "trouble", buf_str(&b->screen.trouble));
        send_json(h, j);
        buf_release(&b->screen.trouble);
    }
    flush(h);
}

static void on_changed(void *owner) { send_news(owner); }

/* ---- in ---- */

static int within(int64_t v, int from, int to)
{
    return v < from ? from : v > to ? to : (int)v;
}

static void take_message(struct host *h, const struct json *q)
{
    struct host_screen *s = &h->screen;
    struct browser *b = browser_of(h);
    const struct json *want = json_get(q, "want");
    if (want) {
        s->wanted = true;
        s->quality = within(json_int(want, "quality", 60), 10, 90);
        s->width = within(json_int(want, "width", 1280), 160, 4096);
        if (b)
            browser_screen_start(b, s->quality, s->width, on_changed, h);
    } else if (json_has(q, "next")) {
        s->next = true;
    } else if (json_has(q, "drive")) {
        set_driven(h, json_bool(q, "drive", false));
    } else if (b) {
        browser_screen_input(b, q);
    }
}

static void take_lines(struct host *h)
{
    struct host_screen *s = &h->screen;
    struct err e = ERR_INIT;
    long nl;
    while (s->fd >= 0 && (nl = str_chr(buf_str(&s->in), '\n')) >= 0) {
        struct json *j = json_parse(str_n(s->in.p, (size_t)nl), &e);
        buf_consume(&s->in, (size_t)nl + 1);
        take_message(h, j);
        json_free(j);
    }
}

static void read_some(struct host *h)
{
    struct host_screen *s = &h->screen;
    char *p = s->fd >= 0 ? buf_reserve(&s->in, READ_AT_ONCE) : NULL;
    ssize_t n = p ? recv(s->fd, p, READ_AT_ONCE, 0) : -1;
    if (n > 0) {
        buf_commit(&s->in, (size_t)n);
        take_lines(h);
    } else if (s->fd >= 0 && (!p || n == 0 || (errno != EAGAIN && errno != EINTR))) {
        hang_up(h);
    }
}

void host_screen_turn(struct host *h)
{
    struct host_screen *s = &h->screen;
    struct browser *b = browser_of(h);
    if (s->listener < 0)
        return;
    if (!s->quiet) {
        accept_one(h);
        read_some(h);
    }
    b = browser_of(h);
    if (b && s->fd >= 0 && s->driven)
        b->asks = true;
    if (b && s->fd >= 0 && s->wanted && !b->screen.on) {
        s->sent = 0; /* another Chromium numbers its pictures from 1 */
        browser_screen_start(b, s->quality, s->width, on_changed, h);
    }
    send_news(h);
}
