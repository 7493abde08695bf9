/* SPDX-License-Identifier: MIT */
/* Answers: whole, in pieces, or a file; and whether they arrived. */
#include "http/httpd_own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "http/precondition.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
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
    size_t at = r->fields.n;
    if (buf_addf(&r->fields, "%s: %s", name, value) < 0)
        return;
    for (size_t i = at; i < r->fields.n; i++) {
        unsigned char b = (unsigned char)r->fields.p[i];
        if (b < ' ' || b == 0x7f)
            r->fields.p[i] = ' ';
    }
    if (buf_addz(&r->fields, "\r\n") < 0)
        buf_truncate(&r->fields, at);
}

/* RFC 9110 6.4.1: answers with these statuses have no body. */
static bool bodiless(int status)
{
    return status < 200 || status == 204 || status == 304;
}

/* RFC 9112 4: on one line; other bytes than ASCII have no known charset. */
static void put_reason(struct buf *out, const char *text)
{
    enum { MOST = 400 };
    for (int i = 0; i < MOST && text[i]; i++) {
        char c = text[i] == '\n' ? ' ' : text[i];
        buf_addc(out, c < ' ' || c > '~' ? '?' : c);
    }
}

static void put_head(struct req *r, int status, const char *type, int64_t length)
{
    struct httpd_conn *c = r->conn;
    struct buf *out = &c->stream.out;
    ASSERT(!r->begun); /* one head for each request */
    if (!r->body_over && !r->on_data)
        r->discard = true; /* see give() in httpd_request.c */
    if (!r->head.keep_alive || c->d->draining)
        r->close = true;
    /* Without 100 (Continue), it is unknown whether the peer sends its body. */
    if (r->head.expect && !r->body_over && !r->continued)
        r->close = true;
    r->begun = true;
    r->head_only = str_eq(r->head.method, STR("HEAD")) || bodiless(status);
    r->chunked = length < 0 && r->head.minor > 0 && !r->head_only;
    if (length < 0 && r->head.minor == 0)
        r->close = true;
    r->sized = length >= 0;
    r->out_left = r->sized ? (uint64_t)length : 0;
    buf_addf(out, "HTTP/1.1 %d ", status);
    put_reason(out, r->reason ? r->reason : http_reason(status));
    r->reason = NULL;
    buf_addf(out, "\r\nDate: %s\r\n", date(c->d));
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

/* The answer is over: its handler gets no further calls. */
static void over(struct req *r)
{
    struct httpd_conn *c = r->conn;
    ASSERT(r->begun && !r->ended); /* once */
    r->ended = true;
    r->gone = NULL;
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
    if (r->receipt) {
        list_add_tail(&c->receipts, &r->receipt->node);
        list_del(&c->owing);
        list_add_tail(&c->d->owing, &c->owing);
    }
    r->receipt = NULL;
    stream_flush(&c->stream);
    conn_answered(c);
}

void req_reason(struct req *r, const char *text) { r->reason = text; }

void req_close_after(struct req *r) { r->close = true; }

enum {
    HEAD_ROOM = HTTP_HEAD_MAX + (8 << 10), /* the fields and the rest of the head */
    HEAD_USUAL = 192                       /* the rest of most heads */
};

void req_answer(struct req *r, int status, const char *type, struct str body)
{
    struct buf *out = &r->conn->stream.out;
    if (!r->head_only && body.n + HEAD_ROOM > buf_room(out)) {
        log_error("an answer of %zu bytes does not fit", body.n);
        status = 500;
        type = "text/plain";
        body = STR("The answer is larger than one answer can be.\n");
        r->close = true;
    }
    buf_reserve(out, HEAD_USUAL + r->fields.n + body.n); /* all of it at once */
    put_head(r, status, type, (int64_t)body.n);
    if (!r->head_only && buf_adds(out, body) < 0)
        r->close = true; /* the announced length is not reached: the peer sees that */
    over(r);
}

void req_answer_take(struct req *r, int status, const char *type, struct buf *take)
{
    ASSERT(!r->ended);
    if (buf_full(take)) { /* longer than its maximum, or out of memory */
        log_error("an answer could not be made");
        req_answer(r, 500, "text/plain", STR("There is no memory for the answer.\n"));
    } else {
        req_answer(r, status, type, buf_str(take));
    }
    buf_release(take);
}

/* ---- by pieces ---- */

void req_begin(struct req *r, int status, const char *type, int64_t length)
{
    put_head(r, status, type, length);
    stream_flush(&r->conn->stream);
}

static void wait_room(struct httpd_conn *c)
{
    conn_wait(c, WAIT_WRITE);
    stream_want_room(&c->stream);
}

size_t req_send(struct req *r, struct str bytes)
{
    struct httpd_conn *c = r->conn;
    struct buf *out = &c->stream.out;
    if (r->head_only)
        return bytes.n;
    /* A fast reader must not starve other connections. */
    if (out->n >= OUT_MARK || r->burst >= LIMIT_READ_PER_TURN) {
        wait_room(c);
        return 0;
    }
    size_t n = bytes.n < OUT_MARK ? bytes.n : OUT_MARK;
    if (r->sized && n > r->out_left)
        n = (size_t)r->out_left;
    if (n == 0)
        return bytes.n; /* bytes beyond the announced length are not sent */
    if (r->chunked)
        buf_addf(out, "%zx\r\n", n);
    buf_add(out, bytes.p, n);
    if (r->chunked)
        buf_addz(out, "\r\n");
    r->out_left -= r->sized ? n : 0;
    r->burst += n;
    stream_flush(&c->stream);
    if (r->sized && r->out_left == 0)
        return bytes.n;
    if (n < bytes.n)
        wait_room(c);
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
    if (r->out_left > 0 && !r->head_only)
        r->close = true;
    over(r);
}

void req_abort(struct req *r)
{
    struct httpd_conn *c = r->conn;
    r->gone = NULL;
    /* Without a length or chunks, an ordinary close would look like the end of the
     * answer. */
    if (!r->chunked && !r->sized)
        stream_break(&c->stream);
    conn_close(c);
}

int req_upgrade(struct req *r, const char *protocol, struct stream *to,
                const struct stream_events *ev)
{
    struct httpd_conn *c = r->conn;
    if (!r->body_over || r->head.minor == 0 || !str_eq(r->head.method, STR("GET")))
        return -1;
    buf_addf(&c->stream.out,
             "HTTP/1.1 101 Switching Protocols\r\nDate: %s\r\nConnection: Upgrade\r\n"
             "Upgrade: %s\r\n",
             date(c->d), protocol);
    buf_adds(&c->stream.out, buf_str(&r->fields));
    buf_addz(&c->stream.out, "\r\n");
    r->gone = NULL;
    stream_move(to, &c->stream, ev);
    if (c->d->c.upgraded)
        c->d->c.upgraded(r, to, c->d->c.arg);
    conn_close(c);
    stream_flush(to);
    return 0;
}

/* ---- files ---- */

/* A piece makes four records of TLS 1.3, which have at most 16,383 bytes. */
enum { FILE_STEP = 1 << 20, FILE_PIECE = 4 * 16383 };

/* Like sendfile(2), but through memory, as a layer requires. */
static ssize_t send_piece(struct req *r, size_t most)
{
    struct stream *s = &r->conn->stream;
    size_t want = most < FILE_PIECE ? most : FILE_PIECE;
    char *p = buf_reserve(&s->out, want);
    ssize_t n = p ? pread(r->fd, p, want, r->fd_at) : -1;
    if (n <= 0)
        return n;
    r->fd_at += n;
    buf_commit(&s->out, (size_t)n);
    stream_flush(s);
    return n;
}

/*
 * Sends directly from the file while the stream has no buffered bytes; with TLS, as much
 * as may be encrypted in a turn.
 */
static void send_file(struct req *r)
{
    struct httpd_conn *c = r->conn;
    size_t turn = 0, most = c->stream.layer ? LIMIT_READ_PER_TURN : FILE_STEP;
    stream_flush(&c->stream);
    while (r->out_left > 0 && c->stream.out.n == 0 && turn < most) {
        if (c->stream.errnum)
            break; /* its end is already being reported */
        size_t want = r->out_left < FILE_STEP ? (size_t)r->out_left : FILE_STEP;
        ssize_t n = c->stream.layer ? send_piece(r, want)
                                    : sendfile(c->stream.io.fd, r->fd, &r->fd_at, want);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            break;
        if (n <= 0) { /* the file became shorter, or the peer left */
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
    wait_room(c);
}

void req_answer_file(struct req *r, int fd, const char *type)
{
    struct stat st;
    char etag[64], modified[32], range[96];
    uint64_t from = 0, n;
    ASSERT(fd >= 0);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        req_fail(r, 500, "The file cannot be examined, or is not a regular file");
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
    int status = http_precondition(&r->head, etag, st.st_mtim.tv_sec);
    if (!status && asked.p && str_eq(r->head.method, STR("GET")) &&
        http_if_range(&r->head, etag, st.st_mtim.tv_sec))
        part = http_range(asked, n, &from, &n);
    req_header_add(r, "Accept-Ranges", "bytes");
    req_header_add(r, "ETag", etag);
    req_header_add(r, "Last-Modified", modified);
    if (status == 304) {
        close(fd);
        req_answer(r, 304, NULL, STR(""));
        return;
    }
    if (status) {
        close(fd);
        req_fail(r, status, "The file is not the one that the request is about");
        return;
    }
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

bool answer_whole(const struct httpd_conn *c)
{
    int why = 0;
    socklen_t n = sizeof(why);
    /* After a reset the answer was not read to its end, even after a half-close. */
    return c->stream.io.fd >= 0 && c->stream.eof && answer_unsent(c) == 0 &&
           getsockopt(c->stream.io.fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && why == 0;
}

void answer_room(struct httpd_conn *c)
{
    struct req *r = c->req;
    if (!r || r->ended)
        return;
    r->burst = 0;
    if (r->fd >= 0)
        send_file(r);
    else if (r->begun && r->on_room)
        r->on_room(r, r->owner);
}

void req_on_delivered(struct req *r, void (*fn)(void *owner, bool whole), void *owner)
{
    ASSERT(!r->receipt); /* once for each request */
    r->receipt = xnew(struct receipt);
    list_init(&r->receipt->node);
    r->receipt->fn = fn;
    r->receipt->owner = owner;
}

static int tcp_state(const struct httpd_conn *c)
{
    struct tcp_info info = {0};
    socklen_t n = sizeof(info);
    int r = getsockopt(c->stream.io.fd, IPPROTO_TCP, TCP_INFO, &info, &n);
    return r < 0 ? TCP_CLOSE : info.tcpi_state;
}

uint64_t answer_unsent(const struct httpd_conn *c)
{
    int left = 0;
    if (c->stream.errnum)
        return INT_MAX;
    /*
     * SIOCOUTQ by its other name: what the peer has not acknowledged. A unix
     * socket's bytes are the peer's when they are written.
     */
    if (!c->unix_peer && ioctl(c->stream.io.fd, TIOCOUTQ, &left) < 0)
        left = INT_MAX;
    if (left == 1) { /* perhaps our FIN, which is counted like a byte */
        int state = tcp_state(c);
        left -= state == TCP_FIN_WAIT1 || state == TCP_CLOSING || state == TCP_LAST_ACK;
    }
    return c->stream.out.n + (uint64_t)left + (c->req ? c->req->out_left : 0);
}

void answer_receipts(struct httpd_conn *c, bool whole)
{
    list_del(&c->owing);
    while (!list_empty(&c->receipts)) {
        struct receipt *k = list_first(&c->receipts, struct receipt, node);
        list_del(&k->node);
        k->fn(k->owner, whole);
        free(k);
    }
}

/* Reset, or closed by both: conn_close finds out whether the last bytes arrived. */
static bool is_over(const struct httpd_conn *c)
{
    return !c->unix_peer && tcp_state(c) == TCP_CLOSE;
}

void req_settle(const struct req *r)
{
    struct list *owing = &r->conn->d->owing, all = LIST_INIT(all);
    /* The owner of a receipt may close any connection. */
    while (!list_empty(owing)) {
        struct list *first = owing->next;
        list_del(first);
        list_add_tail(&all, first);
    }
    while (!list_empty(&all)) {
        struct httpd_conn *c = list_first(&all, struct httpd_conn, owing);
        list_del(&c->owing);
        list_add_tail(owing, &c->owing);
        if (answer_unsent(c) == 0 && !is_over(c))
            answer_receipts(c, true);
    }
}
