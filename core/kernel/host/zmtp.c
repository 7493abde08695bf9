/* SPDX-License-Identifier: MIT */
/*
 * ZMTP 3. The states, in the order in which bytes come:
 *
 *   GREETING  64 bytes (ZeroMQ RFC 23 "Greeting")
 *   HEAD      flags, and 1 or 8 bytes of length ("Framing")
 *   BODY      of a part: added to msg as it comes
 *   COMMAND   a command's body, when all of it has arrived; then HEAD again
 */
#include "kernel/host/zmtp.h"

#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <string.h>

enum { OFF, GREETING, HEAD, BODY, COMMAND };
enum { GREETING_LEN = 64, COMMAND_MAX = 4096 };
enum { MORE = 1, LONG = 2, IS_COMMAND = 4, RESERVED = 0xf8 };

static const char *const role_name[] = {"DEALER", "SUB", "REQ"};

static void end(struct zmtp *z, const struct err *e)
{
    const struct zmtp_events *ev = z->ev;
    ASSERT(z->state != OFF); /* once */
    zmtp_release(z);
    ev->on_end(z, e);
}

static void broken(struct zmtp *z, const char *what)
{
    struct err e = ERR_INIT;
    err_set(&e, ERR_INVALID, "the peer of a %s socket speaks no ZMTP 3: %s",
            role_name[z->role], what);
    end(z, &e);
}

static uint64_t be(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

/* ---- writing ---- */

static size_t head_of(uint8_t *head, uint8_t flags, size_t n)
{
    if (n < 256) {
        head[0] = flags;
        head[1] = (uint8_t)n;
        return 2;
    }
    head[0] = flags | LONG;
    for (int i = 0; i < 8; i++)
        head[1 + i] = (uint8_t)((uint64_t)n >> (56 - 8 * i));
    return 9;
}

int zmtp_send(struct zmtp *z, const struct str *parts, int n)
{
    size_t need = 2;
    for (int i = 0; i < n; i++)
        need += 9 + parts[i].n;
    if (z->state == OFF || n <= 0 || stream_room(&z->s) < need) {
        if (z->state != OFF)
            stream_want_room(&z->s);
        return -1;
    }
    if (z->role == ZMTP_REQ)
        buf_add(&z->s.out, "\1\0", 2);
    for (int i = 0; i < n; i++) {
        uint8_t head[9];
        size_t k = head_of(head, i + 1 < n ? MORE : 0, parts[i].n);
        buf_add(&z->s.out, head, k);
        buf_adds(&z->s.out, parts[i]);
    }
    stream_flush(&z->s);
    return 0;
}

static void property(struct buf *b, const char *key, struct str value)
{
    uint8_t n[4] = {0, 0, (uint8_t)(value.n >> 8), (uint8_t)value.n};
    buf_addc(b, (char)strlen(key));
    buf_addz(b, key);
    buf_add(b, n, sizeof(n));
    buf_adds(b, value);
}

/*
 * Greeting and READY go out at once. The subscription waits for the peer's READY:
 * libzmq 4.3 closes a connection of which it reads both in one piece.
 */
static int greet(struct zmtp *z)
{
    struct buf *out = &z->s.out, ready = BUF_INIT(512);
    uint8_t g[GREETING_LEN] = {0xff, 0,    0, 0, 0,   0,   0,   0,
                               0,    0x7f, 3, 0, 'N', 'U', 'L', 'L'};
    buf_addc(&ready, 5);
    buf_addz(&ready, "READY");
    property(&ready, "Socket-Type", str_of(role_name[z->role]));
    if (z->role != ZMTP_SUB)
        property(&ready, "Identity", str_of(z->identity));
    uint8_t head[9];
    size_t k = head_of(head, IS_COMMAND, ready.n);
    buf_add(out, g, sizeof(g));
    buf_add(out, head, k);
    buf_adds(out, buf_str(&ready));
    int r = buf_full(&ready) || buf_full(out) ? -1 : 0;
    buf_release(&ready);
    stream_flush(&z->s);
    return r;
}

/* ---- reading ---- */

/* Returns false if the connection has ended. */
static bool on_command(struct zmtp *z, struct str c)
{
    size_t name = c.n ? (uint8_t)c.p[0] : 0;
    if (c.n < 1 + name) {
        broken(z, "a command without a name");
        return false;
    }
    struct str what = str_sub(c, 1, name), rest = str_sub(c, 1 + name, c.n);
    if (str_eq(what, STR("READY"))) {
        if (z->role == ZMTP_SUB)
            stream_write(&z->s, str_n("\0\1\1", 3));
        if (z->ev->on_ready)
            z->ev->on_ready(z);
        return z->state != OFF;
    }
    if (str_eq(what, STR("ERROR"))) {
        struct err e = ERR_INIT;
        struct str why = str_sub(rest, 1, rest.n ? (uint8_t)rest.p[0] : 0);
        err_set(&e, ERR_DENIED, "the peer of a %s socket refused: %.*s",
                role_name[z->role], (int)(why.n < 200 ? why.n : 200), why.p ? why.p : "");
        end(z, &e);
        return false;
    }
    if (str_eq(what, STR("PING")) && rest.n >= 2 && rest.n <= 18) {
        uint8_t pong[2 + 5 + 16] = {
            IS_COMMAND, (uint8_t)(5 + rest.n - 2), 4, 'P', 'O', 'N', 'G'};
        memcpy(pong + 7, rest.p + 2, rest.n - 2);
        stream_write(&z->s, str_n(pong, 7 + rest.n - 2));
    }
    return true; /* others are for other types of sockets */
}

static bool on_whole(struct zmtp *z)
{
    struct str parts[ZMTP_PARTS_MAX];
    size_t at = 0;
    for (int i = 0; i < z->parts; i++) {
        parts[i] = str_n(buf_z(&z->msg) + at, z->part[i]);
        at += z->part[i];
    }
    int skip = z->role == ZMTP_REQ && z->parts > 1 && parts[0].n == 0;
    z->ev->on_message(z, parts + skip, z->parts - skip);
    if (z->state == OFF)
        return false;
    z->parts = 0;
    if (z->msg.cap > LIMIT_ZMTP_IN)
        buf_release(&z->msg);
    else
        buf_reset(&z->msg);
    return true;
}

static bool read_greeting(struct zmtp *z)
{
    const uint8_t *p = (const uint8_t *)z->s.in.p;
    size_t n = z->s.in.n;
    if ((n > 0 && p[0] != 0xff) || (n > 9 && p[9] != 0x7f) || (n > 10 && p[10] < 3)) {
        broken(z, n > 9 && p[0] == 0xff ? "its version is older"
                                        : "its greeting is another");
        return false;
    }
    if (n < GREETING_LEN)
        return false;
    if (memcmp(p + 12, "NULL\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20) != 0) {
        struct err e = ERR_INIT;
        err_set(&e, ERR_UNSUPPORTED,
                "the peer wants the security mechanism %.20s, and NULL is the only one "
                "that is spoken here",
                (const char *)p + 12);
        end(z, &e);
        return false;
    }
    buf_consume(&z->s.in, GREETING_LEN);
    z->state = HEAD;
    return true;
}

static bool too_long(struct zmtp *z, uint64_t n)
{
    struct err e = ERR_INIT;
    err_set(&e, ERR_LIMIT,
            "a message of more than %zu bytes (a part has %llu) came on a %s "
            "socket",
            z->message_max, (unsigned long long)n, role_name[z->role]);
    end(z, &e);
    return false;
}

static bool read_head(struct zmtp *z)
{
    const uint8_t *p = (const uint8_t *)z->s.in.p;
    size_t n = z->s.in.n, k = n && (p[0] & LONG) ? 9 : 2;
    if (n && ((p[0] & RESERVED) || ((p[0] & IS_COMMAND) && (p[0] & MORE)))) {
        broken(z, "a frame with unknown flags");
        return false;
    }
    if (n < k)
        return false;
    z->flags = p[0];
    z->left = be(p + 1, (int)k - 1);
    if (z->flags & IS_COMMAND) {
        if (z->left > COMMAND_MAX) {
            broken(z, "a command of more than 4096 bytes");
            return false;
        }
        z->state = COMMAND;
    } else {
        if (z->left > z->message_max - z->msg.n)
            return too_long(z, z->left);
        if (z->parts == ZMTP_PARTS_MAX) {
            broken(z, "a message of more than 64 parts");
            return false;
        }
        z->part[z->parts++] = (size_t)z->left;
        z->state = BODY;
    }
    buf_consume(&z->s.in, k);
    return true;
}

static bool read_body(struct zmtp *z)
{
    size_t n = z->left < z->s.in.n ? (size_t)z->left : z->s.in.n;
    if (n && buf_add(&z->msg, z->s.in.p, n) < 0)
        return too_long(z, z->left);
    buf_consume(&z->s.in, n);
    z->left -= n;
    if (z->left > 0)
        return false;
    z->state = HEAD;
    return (z->flags & MORE) || on_whole(z);
}

static bool read_command(struct zmtp *z)
{
    if (z->s.in.n < z->left)
        return false;
    z->state = HEAD;
    if (!on_command(z, str_n(z->s.in.p, (size_t)z->left)))
        return false;
    buf_consume(&z->s.in, (size_t)z->left);
    return true;
}

static void on_data(struct stream *s)
{
    struct zmtp *z = container_of(s, struct zmtp, s);
    bool more = true;
    while (more && !z->s.paused) {
        switch (z->state) {
        case GREETING:
            more = read_greeting(z);
            break;
        case HEAD:
            more = read_head(z);
            break;
        case BODY:
            more = read_body(z);
            break;
        case COMMAND:
            more = read_command(z);
            break;
        default:
            return;
        }
    }
    if (z->state != OFF && !z->s.paused)
        stream_resume(&z->s);
}

static void on_room(struct stream *s)
{
    struct zmtp *z = container_of(s, struct zmtp, s);
    if (z->ev->on_room)
        z->ev->on_room(z);
}

static void on_end(struct stream *s, int errnum)
{
    struct zmtp *z = container_of(s, struct zmtp, s);
    struct err e = ERR_INIT;
    if (errnum)
        err_sys(&e, errnum, "the connection of a %s socket broke", role_name[z->role]);
    else
        err_set(&e, ERR_GONE, "the peer of a %s socket closed the connection",
                role_name[z->role]);
    end(z, &e);
}

static const struct stream_events stream_events = {on_data, on_room, on_end, NULL};

int zmtp_start(struct zmtp *z, struct loop *l, int fd, enum zmtp_role role,
               const char *identity, size_t message_max, const struct zmtp_events *ev)
{
    ASSERT(fd >= 0 && z->state == OFF); /* takes fd; z is unused */
    memset(z, 0, sizeof(*z));
    if (strlen(identity) > ZMTP_IDENTITY_MAX) {
        errno = EINVAL;
        return -1;
    }
    if (stream_open(&z->s, l, fd, LIMIT_ZMTP_IN, ZMTP_QUEUE, &stream_events) < 0)
        return -1;
    z->s.low = ZMTP_FULL;
    z->ev = ev;
    z->role = role;
    memcpy(z->identity, identity, strlen(identity) + 1);
    z->message_max = message_max;
    buf_init(&z->msg, message_max);
    z->state = GREETING;
    greet(z);
    return 0;
}

void zmtp_take(struct zmtp *z, struct buf *to)
{
    *to = z->msg;
    buf_init(&z->msg, z->message_max);
}

void zmtp_pause(struct zmtp *z)
{
    if (z->state != OFF)
        stream_pause(&z->s);
}

void zmtp_resume(struct zmtp *z)
{
    if (z->state == OFF || !z->s.paused)
        return;
    stream_resume(&z->s);
    on_data(&z->s);
}

void zmtp_release(struct zmtp *z)
{
    if (z->state == OFF)
        return;
    z->state = OFF;
    stream_close(&z->s);
    buf_release(&z->msg);
}
