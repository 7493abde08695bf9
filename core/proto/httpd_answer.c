/* SPDX-License-Identifier: MIT */
/* Answers: whole, by pieces, or a file; and whether they arrived. */
#include "proto/httpd_own.h"

#include "base/clock.h"
#include "base/xalloc.h"

#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- head ---- */

static const char *date(struct httpd *d)
{
    time_t now = (time_t)(clock_wall_ms() / 1000);
    if (now != d->date_at)
        http_date(d->date, now);
    d->date_at = now;
    return d->date;
}

void req_header_add(struct req *r, const char *name, const char *value)
{
    buf_addf(&r->fields, "%s: %s\r\n", name, value);
}

/* RFC 9110 6.4.1: these have no body, whatever is said. */
static bool bodiless(int status)
{
    return status < 200 || status == 204 || status == 304;
}

static void put_head(struct req *r, int status, const char *type, int64_t length)
{
    struct conn *c = r->conn;
    struct buf *out = &c->stream.out;
    if (!r->body_over && !r->on_data)
        r->discard = true; /* see discard() in httpd.c */
    if (!r->head.keep_alive || c->d->draining)
        r->close = true;
    r->begun = true;
    r->head_only = str_eq(r->head.method, STR("HEAD")) || bodiless(status);
    r->chunked = length < 0 && r->head.minor > 0 && !r->head_only;
    if (length < 0 && r->head.minor == 0)
        r->close = true;
    r->out_left = length > 0 ? (uint64_t)length : 0;
    buf_addf(out, "HTTP/1.1 %d %s\r\nDate: %s\r\n", status, http_reason(status),
             date(c->d));
    if (type)
        buf_addf(out, "Content-Type: %s\r\n", type);
    if (length >= 0 && !bodiless(status))
        buf_addf(out, "Content-Length: %lld\r\n", (long long)length);
    else if (length < 0 && r->head.minor > 0)
        buf_addz(out, "Transfer-Encoding: chunked\r\n");
    if (r->close)
        buf_addz(out, "Connection: close\r\n");
    else if (r->head.minor == 0)
        buf_addz(out, "Connection: keep-alive\r\n");
    buf_adds(out, buf_str(&r->fields));
    buf_addz(out, "\r\n");
}

/* The answer is over: a handler that goes is not told of anything any more. */
static void over(struct req *r)
{
    struct conn *c = r->conn;
    r->ended = true;
    r->gone = NULL;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    if (r->receipt)
        list_add_tail(&c->receipts, &r->receipt->node);
    r->receipt = NULL;
    stream_flush(&c->stream);
    conn_answered(c);
}

void req_answer(struct req *r, int status, const char *type, struct str body)
{
    struct buf *out = &r->conn->stream.out;
    put_head(r, status, type, (int64_t)body.n);
    if (!r->head_only && buf_adds(out, body) < 0)
        r->close = true; /* what was promised cannot be kept: the peer sees that */
    over(r);
}

void req_answer_take(struct req *r, int status, const char *type, struct buf *take)
{
    req_answer(r, status, type, buf_str(take));
    buf_release(take);
}

/* ---- by pieces ---- */

void req_begin(struct req *r, int status, const char *type, int64_t length)
{
    put_head(r, status, type, length);
    stream_flush(&r->conn->stream);
}

size_t req_send(struct req *r, struct str bytes)
{
    struct conn *c = r->conn;
    struct buf *out = &c->stream.out;
    if (r->head_only)
        return bytes.n;
    if (out->n >= OUT_MARK) {
        conn_wait(c, WAIT_WRITE);
        stream_want_room(&c->stream);
        return 0;
    }
    size_t n = bytes.n < OUT_MARK ? bytes.n : OUT_MARK;
    if (!r->chunked && n > r->out_left && r->head.minor > 0)
        n = (size_t)r->out_left;
    if (n == 0)
        return bytes.n; /* more than was said is not sent */
    if (r->chunked)
        buf_addf(out, "%zx\r\n", n);
    buf_add(out, bytes.p, n);
    if (r->chunked)
        buf_addz(out, "\r\n");
    r->out_left -= r->out_left ? n : 0;
    stream_flush(&c->stream);
    if (n < bytes.n)
        stream_want_room(&c->stream);
    return n;
}

void req_on_room(struct req *r, void (*fn)(struct req *r, void *owner))
{
    r->on_room = fn;
}

void req_end(struct req *r)
{
    if (r->chunked && !r->head_only)
        buf_addz(&r->conn->stream.out, "0\r\n\r\n");
    if (!r->chunked && r->out_left > 0)
        r->close = true;
    over(r);
}

void req_abort(struct req *r)
{
    struct conn *c = r->conn;
    r->gone = NULL;
    /* Closing with unread or unsent bytes is what a peer cannot mistake. */
    conn_close(c);
}

/* ---- files ---- */

enum { FILE_STEP = 1 << 20 };

/* Straight from the file while the stream has nothing of its own to send. */
static void send_file(struct req *r)
{
    struct conn *c = r->conn;
    size_t turn = 0;
    stream_flush(&c->stream);
    while (r->out_left > 0 && c->stream.out.n == 0 && turn < FILE_STEP) {
        size_t want = r->out_left < FILE_STEP ? (size_t)r->out_left : FILE_STEP;
        ssize_t n = sendfile(c->stream.io.fd, r->fd, &r->fd_at, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) { /* the file became shorter, or the peer went */
            req_abort(r);
            return;
        }
        r->out_left -= (uint64_t)n;
        turn += (size_t)n;
    }
    if (r->out_left == 0) {
        over(r);
        return;
    }
    conn_wait(c, WAIT_WRITE);
    stream_want_room(&c->stream);
}

/* RFC 9110 13.1.5: is the file still the one of which the peer has a part? */
static bool if_range(const struct req *r, const char *etag, const char *modified)
{
    struct str v = req_header(r, "If-Range");
    return !v.p || str_eq(v, str_of(etag)) || str_eq(v, str_of(modified));
}

void req_answer_file(struct req *r, int fd, const char *type)
{
    struct stat st;
    char etag[64], modified[32], range[96];
    uint64_t from = 0, n;
    if (fstat(fd, &st) < 0) {
        close(fd);
        req_fail(r, 500, "The file cannot be looked at");
        return;
    }
    snprintf(etag, sizeof(etag), "\"%llx-%llx-%llx\"", (unsigned long long)st.st_ino,
             (unsigned long long)st.st_size,
             (unsigned long long)st.st_mtim.tv_sec * 1000000000ull +
                 (unsigned long long)st.st_mtim.tv_nsec);
    http_date(modified, st.st_mtim.tv_sec);
    n = (uint64_t)st.st_size;
    int part = 0;
    struct str asked = req_header(r, "Range");
    if (asked.p && str_eq(r->head.method, STR("GET")) && if_range(r, etag, modified))
        part = http_range(asked, n, &from, &n);
    req_header_add(r, "Accept-Ranges", "bytes");
    req_header_add(r, "ETag", etag);
    req_header_add(r, "Last-Modified", modified);
    if (part < 0) {
        snprintf(range, sizeof(range), "bytes */%lld", (long long)st.st_size);
        req_header_add(r, "Content-Range", range);
        close(fd);
        req_fail(r, 416, "The file has no such range");
        return;
    }
    if (part > 0) {
        snprintf(range, sizeof(range), "bytes %llu-%llu/%lld", (unsigned long long)from,
                 (unsigned long long)(from + n - 1), (long long)st.st_size);
        req_header_add(r, "Content-Range", range);
    }
    put_head(r, part > 0 ? 206 : 200, type, (int64_t)n);
    r->fd = fd;
    r->fd_at = (off_t)from;
    if (r->head_only)
        r->out_left = 0;
    send_file(r);
}

/* ---- progress ---- */

void answer_room(struct conn *c)
{
    struct req *r = c->req;
    if (!r || r->ended)
        return;
    if (r->fd >= 0)
        send_file(r);
    else if (r->begun && r->on_room)
        r->on_room(r, r->owner);
}

void req_on_delivered(struct req *r, void (*fn)(void *owner, bool whole), void *owner)
{
    r->receipt = xnew(struct receipt);
    list_init(&r->receipt->node);
    r->receipt->fn = fn;
    r->receipt->owner = owner;
}

bool answer_arrived(const struct conn *c)
{
    int left = 0;
    if (c->stream.out.n > 0 || c->stream.io.fd < 0)
        return false;
    /* SIOCOUTQ of a socket: what the peer has not acknowledged. */
    return c->unix_peer || (ioctl(c->stream.io.fd, TIOCOUTQ, &left) == 0 && left == 0);
}

void answer_receipts(struct conn *c, bool whole)
{
    while (!list_empty(&c->receipts)) {
        struct receipt *k = list_first(&c->receipts, struct receipt, node);
        list_del(&k->node);
        k->fn(k->owner, whole);
        free(k);
    }
}
