/* SPDX-License-Identifier: MIT */
/*
 * The link to the host: a unix socket in its folder, with the messages of
 * browser/host/host_screen.c. A host reads untrusted pages, so its messages are bounded,
 * and a malformed one closes the link.
 */
#include "browser/screen_own.h"

#include "base/log.h"
#include "browser/browsing_own.h"
#include "net/addr.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    HEAD = 5,
    FRAME_HEAD = 12,
    JSON_MAX = 4 << 20,
    OUT_MAX = 256 << 10,
    KIND_FRAME = 1,
    KIND_JSON = 2
};

static struct audience *screen_of(struct stream *link)
{
    return container_of(link, struct audience, link);
}

static uint32_t number(const char *p, int bytes)
{
    uint32_t v = 0;
    for (int i = 0; i < bytes; i++)
        v = v << 8 | (unsigned char)p[i];
    return v;
}

/* ---- out ---- */

int screen_link_send(struct audience *s, struct json *take)
{
    struct buf line = BUF_INIT(OUT_MAX);
    int rc = -1;
    ASSERT(take);
    if (s->linked && json_print(&line, take) == 0 && buf_addc(&line, '\n') == 0)
        rc = stream_write(&s->link, buf_str(&line));
    json_free(take);
    buf_release(&line);
    return rc;
}

void screen_link_ask(struct audience *s)
{
    struct json *j;
    if (!s->linked || s->asked)
        return;
    j = json_object();
    json_put_bool(j, "next", true);
    s->asked = screen_link_send(s, j) == 0;
}

/*
 * All viewers share one screencast, with the highest quality and width that any of them
 * wants.
 */
void screen_link_want(struct audience *s)
{
    int quality = 0, width = 0;
    struct list *it, *tmp;
    list_each (it, tmp, &s->viewers) {
        const struct screen_viewer *v = list_entry(it, struct screen_viewer, node);
        quality = v->quality > quality ? v->quality : quality;
        width = v->width > width ? v->width : width;
    }
    if (!s->linked || !quality || (quality == s->quality && width == s->width))
        return;
    struct json *j = json_object(), *want = json_object();
    json_put_int(want, "quality", s->quality = quality);
    json_put_int(want, "width", s->width = width);
    json_put(j, "want", want);
    screen_link_send(s, j);
}

/* ---- in ---- */

static void take_frame(struct audience *s, struct str m)
{
    struct screen_frame f = {.seq = s->seq + 1};
    const char *p = m.p + 4; /* the host's number, which begins with 1 in each host */
    f.width = (uint16_t)number(p, 2);
    f.height = (uint16_t)number(p + 2, 2);
    f.scroll_x = (uint16_t)number(p + 4, 2);
    f.scroll_y = (uint16_t)number(p + 6, 2);
    s->asked = false;
    buf_reset(&s->frame);
    if (buf_adds(&s->frame, str_sub(m, FRAME_HEAD, m.n)) < 0) {
        buf_reset(&s->frame);
        return;
    }
    s->seq = f.seq;
    s->known[f.seq % SCREEN_FRAMES_KNOWN] = f;
    screen_offer(s);
}

static void take_mode(struct audience *s, const struct json *j)
{
    struct str mode = json_str(j, "mode", "");
    s->state = str_eq(mode, STR("chromium")) ? SCREEN_OPEN
               : str_eq(mode, STR("text"))   ? SCREEN_TEXT
                                             : SCREEN_NONE;
    buf_reset(&s->text);
    buf_adds(&s->text, json_str(j, "text", ""));
    if (s->state != SCREEN_OPEN)
        buf_reset(&s->frame);
}

static void take_json(struct audience *s, struct str m)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(m, &e), *v;
    unsigned news = 0;
    if (json_has(j, "mode")) {
        take_mode(s, j);
        news |= SCREEN_STATE;
    }
    if ((v = json_take(j, "tabs"))) {
        json_free(s->tabs);
        s->tabs = v;
        news |= SCREEN_TABS;
    }
    if ((v = json_take(j, "dialog"))) {
        json_free(s->dialog);
        s->dialog = json_is_object(v) ? v : NULL;
        if (!s->dialog)
            json_free(v);
        news |= SCREEN_DIALOG;
    }
    if ((v = json_get(j, "cursor"))) {
        s->x = json_num(v, "x", 0);
        s->y = json_num(v, "y", 0);
        news |= SCREEN_CURSOR;
    }
    if (json_has(j, "trouble")) {
        buf_reset(&s->trouble);
        buf_adds(&s->trouble, str_sub(json_str(j, "trouble", ""), 0, s->trouble.max));
        news |= SCREEN_TROUBLE;
    }
    json_free(j);
    if (news)
        screen_tell(s, news);
}

/* The link is gone; so is the state of the screen. */
static void lost(struct audience *s)
{
    screen_link_close(s);
    screen_tell(s, SCREEN_STATE | SCREEN_TABS);
}

static void on_data(struct stream *link)
{
    struct audience *s = screen_of(link);
    while (s->linked && link->in.n >= HEAD) {
        unsigned kind = (unsigned char)link->in.p[0];
        size_t n = number(link->in.p + 1, 4);
        if (n > (kind == KIND_FRAME ? SCREEN_FRAME_MAX + FRAME_HEAD : JSON_MAX) ||
            (kind == KIND_FRAME && n < FRAME_HEAD) || kind < KIND_FRAME ||
            kind > KIND_JSON) {
            log_error("the browser %s sent an invalid message", s->session);
            lost(s);
            return;
        }
        if (link->in.n < HEAD + n)
            break;
        if (kind == KIND_FRAME)
            take_frame(s, str_n(link->in.p + HEAD, n));
        else
            take_json(s, str_n(link->in.p + HEAD, n));
        if (s->linked)
            buf_consume(&link->in, HEAD + n);
    }
    if (s->linked)
        stream_resume(link);
}

static void on_end(struct stream *link, int errnum)
{
    (void)errnum;
    lost(screen_of(link));
}

static const struct stream_events calls = {on_data, NULL, on_end, NULL};

/* ---- life ---- */

void screen_link_open(struct audience *s)
{
    struct browsing *b = browsing_lookup(s->en, str_of(s->session));
    struct buf path = BUF_INIT(PATH_MAX);
    struct addr a;
    struct err e = ERR_INIT;
    int fd = -1;
    if (s->linked || list_empty(&s->viewers) || !b || !b->dir[0] ||
        companion_state(&b->host) != COMPANION_RUNS)
        return;
    buf_addf(&path, "unix:%s/screen", b->dir);
    if (addr_parse(&a, buf_str(&path), &e) == 0)
        fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    buf_release(&path);
    if (fd < 0)
        return;
    if (connect(fd, (const struct sockaddr *)&a.ss, a.len) < 0 ||
        stream_open(&s->link, s->en->loop, fd, JSON_MAX + HEAD, OUT_MAX, &calls) < 0) {
        close(fd);
        return;
    }
    s->linked = true;
    s->asked = false;
    s->quality = s->width = 0;
    screen_link_want(s);
    if (s->driver_name[0]) {
        struct json *j = json_object();
        json_put_bool(j, "drive", true);
        screen_link_send(s, j);
    }
    screen_offer(s);
}

void screen_link_close(struct audience *s)
{
    if (!s->linked)
        return;
    stream_close(&s->link);
    s->linked = s->asked = false;
    s->quality = s->width = 0;
    s->state = SCREEN_NONE;
    json_free(s->tabs);
    json_free(s->dialog);
    s->tabs = json_array();
    s->dialog = NULL;
    buf_release(&s->frame);
    buf_init(&s->frame, SCREEN_FRAME_MAX);
    buf_release(&s->text);
    buf_init(&s->text, 1 << 20);
}
