/* SPDX-License-Identifier: MIT */
/*
 * `od exec --put` and `--get`: one file to a server elsewhere, or from it.
 *
 *   DIAL ─▶ [LOOK] ─▶ BODY ─▶ over
 *     ▲        └─ lost ─┘
 *     └── WAIT ◀──┘ (LOST_MS without a byte) ──▶ failed
 *
 * The bytes go by the HTTP routes to the content of files (front/events/FILES.md), past
 * sessions and their output. Up: LOOK asks how much is there under the token, which is
 * made of what the local file is, so that a later call goes on where an earlier one
 * ended. Down: the bytes are collected beside the place, and a range of the same ETag
 * goes on. Either way the file is in its place as a whole or not at all.
 */
#include "base/called.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exec.h"
#include "http/httpc.h"
#include "ipc/remote.h"
#include "net/backoff.h"
#include "os/sig.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 256 << 10, /* bytes that are read from a file at once */
    OUT_MAX = 1 << 20,
    IN_MAX = 256 << 10,
    IDLE_MS = 30000,
    LOST_MS = 60000,
    SHOW_MS = 250,
    TARGET_MAX = 16 << 10,
    BODY_MAX = 8 << 10, /* of an answer that is not the file */
    TOKEN = 32
};

struct put_get {
    struct loop *loop;
    const struct exec_options *o;
    struct remote remote;
    bool put;
    const char *far;          /* the path there */
    char near[PATH_MAX];      /* the path here; "-": standard input or output */
    char part[PATH_MAX + 64]; /* what is collected here; "": nothing */
    int fd;                   /* the file here, owned unless standard output */
    struct stat st;           /* of the file that goes up */
    char token[TOKEN + 1], etag[80];
    uint64_t at, size; /* bytes that are through, and all */
    bool known;        /* the size is */
    unsigned mode;

    struct dial *dial;
    struct httpc http;
    bool asking;  /* http is in use */
    bool looking; /* for what is there */
    bool connected_ever, over;
    struct timer wait, show;
    struct io signals;
    struct backoff backoff;
    int64_t began, got_on; /* clock_ms */
    struct buf answer;
    struct err e;
    int status;
    char piece[PIECE];
};

static void dial(struct put_get *c);

/* ---- ends ---- */

static void stop(struct put_get *c)
{
    c->over = true;
    if (c->dial)
        dial_cancel(c->dial);
    c->dial = NULL;
    if (c->asking)
        httpc_release(&c->http);
    c->asking = false;
    timer_stop(&c->wait);
    timer_stop(&c->show);
    loop_stop(c->loop);
}

/* c->e says why. */
static void fail(struct put_get *c)
{
    if (c->over)
        return;
    c->status = 1;
    stop(c);
}

static void show(struct put_get *c, bool last)
{
    double mb = (double)c->at / 1e6, all = (double)c->size / 1e6;
    double seconds = (double)(clock_ms() - c->began) / 1000;
    fprintf(stderr, "\r%s %.60s  %.1f", c->put ? "put" : "get", c->far, mb);
    if (c->known && c->size > 0)
        fprintf(stderr, " of %.1f MB, %d %%", all,
                (int)((double)c->at * 100 / (double)c->size));
    else
        fprintf(stderr, " MB");
    if (seconds > 0)
        fprintf(stderr, ", %.0f MB/s", mb / seconds);
    fprintf(stderr, "\033[K%s", last ? "\n" : "");
}

static void on_show(struct timer *t)
{
    struct put_get *c = container_of(t, struct put_get, show);
    show(c, false);
    timer_begin(c->loop, t, SHOW_MS, on_show);
}

static void on_wait(struct timer *t) { dial(container_of(t, struct put_get, wait)); }

/* The connection is gone, e says how; another one is tried. */
static void lost(struct put_get *c, const struct err *e)
{
    int64_t now = clock_ms();
    if (c->asking)
        httpc_release(&c->http);
    c->asking = false;
    if (!c->connected_ever) {
        c->e = *e;
        fail(c);
    } else if (now - c->got_on > LOST_MS) {
        err_set(&c->e, ERR_GONE,
                "the connection to the server was lost, and %d s of trying did not bring "
                "it back: %.300s",
                LOST_MS / 1000, e->text);
        fail(c);
    } else {
        timer_begin(c->loop, &c->wait, backoff_next(&c->backoff), on_wait);
    }
}

static void got_on(struct put_get *c, size_t n)
{
    c->at += n;
    c->got_on = clock_ms();
    backoff_reset(&c->backoff);
}

/* ---- requests ---- */

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

static void add_query(struct buf *out, char first, const char *name, struct str value)
{
    buf_addf(out, "%c%s=", first, name);
    add_escaped(out, value);
}

static void add_path(struct buf *out, const char *route, const struct put_get *c)
{
    struct str path = str_of(c->far);
    remote_target(&c->remote, route, out);
    if (utf8_valid(path)) {
        add_query(out, '?', "path", path);
    } else {
        struct buf text = BUF_INIT(2 * PATH_MAX);
        enc_base64(&text, path);
        add_query(out, '?', "path_base64", buf_str(&text));
        buf_release(&text);
    }
    if (c->o->session)
        add_query(out, '&', "session", str_of(c->o->session));
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void send_request(struct put_get *c, const char *method, struct str target,
                         struct str more, bool streams)
{
    struct buf fields = BUF_INIT(REMOTE_FIELDS_MAX + 1024);
    remote_fields(&c->remote, &fields);
    buf_adds(&fields, more);
    buf_reset(&c->answer);
    struct httpc_request q = {.method = method,
                              .target = target,
                              .host = c->remote.at.authority,
                              .fields = buf_str(&fields),
                              .streams = streams,
                              .length = c->size - c->at};
    if (httpc_send(&c->http, &q, &c->e) < 0)
        fail(c);
    buf_release(&fields);
}

/* As much of the file as the connection takes. */
static void pump(struct put_get *c)
{
    while (!c->over && c->asking && c->at < c->size) {
        size_t want = c->size - c->at < PIECE ? (size_t)(c->size - c->at) : PIECE;
        ssize_t n = pread(c->fd, c->piece, want, (off_t)c->at);
        if (n <= 0) {
            if (n < 0)
                err_sys(&c->e, errno, "cannot read %.200s", c->near);
            else
                err_set(&c->e, ERR_IO, "%.200s became shorter while it was sent",
                        c->near);
            fail(c);
            return;
        }
        size_t took = httpc_put(&c->http, str_n(c->piece, (size_t)n));
        if (took > 0)
            got_on(c, took);
        if (took < (size_t)n)
            return;
    }
}

static void ask_put(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX);
    c->looking = false;
    add_path(&target, "/files/content", c);
    if (strcmp(c->near, "-") != 0 && utf8_valid(str_of(base_name(c->near))))
        add_query(&target, '&', "name", str_of(base_name(c->near)));
    buf_addf(&target, "&mode=%04o&token=%s&size=%llu&offset=%llu", c->mode, c->token,
             (unsigned long long)c->size, (unsigned long long)c->at);
    send_request(c, "PUT", buf_str(&target), STR(""), true);
    buf_release(&target);
    pump(c);
}

static void ask_look(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX);
    c->looking = true;
    add_path(&target, "/files/upload", c);
    if (strcmp(c->near, "-") != 0 && utf8_valid(str_of(base_name(c->near))))
        add_query(&target, '&', "name", str_of(base_name(c->near)));
    add_query(&target, '&', "token", str_of(c->token));
    send_request(c, "GET", buf_str(&target), STR(""), false);
    buf_release(&target);
}

static void ask_get(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX), more = BUF_INIT(256);
    add_path(&target, "/files/content", c);
    if (c->at > 0)
        buf_addf(&more, "Range: bytes=%llu-\r\nIf-Range: %s\r\n",
                 (unsigned long long)c->at, c->etag);
    send_request(c, "GET", buf_str(&target), buf_str(&more), false);
    buf_release(&target);
    buf_release(&more);
}

/* ---- answers ---- */

/* The file there is another one than before: from the beginning. -1: it cannot be. */
static int start_over(struct put_get *c)
{
    if (!c->part[0])
        return err_set(&c->e, ERR_IO,
                       "%.200s was changed there while it was read, and a part of it was "
                       "printed",
                       c->far);
    if (ftruncate(c->fd, 0) < 0 || lseek(c->fd, 0, SEEK_SET) < 0)
        return err_sys(&c->e, errno, "cannot write %.200s", c->part);
    c->at = 0;
    return 0;
}

static void on_head(struct httpc *h)
{
    struct put_get *c = container_of(h, struct put_get, http);
    int status = h->head.status;
    c->connected_ever = true;
    if (c->put || (status != 200 && status != 206))
        return;
    struct str etag = http_field(&h->head, "ETag"),
               mode = http_field(&h->head, "Od-Mode");
    bool same = etag.n < sizeof(c->etag) && str_eq(etag, str_of(c->etag));
    if (!h->head.has_length || etag.n == 0 || etag.n >= sizeof(c->etag) ||
        (status == 206 && (c->at == 0 || !same))) {
        err_set(&c->e, ERR_INVALID, "what answers at %.200s is no od server",
                c->remote.text);
        fail(c);
        return;
    }
    if (status == 200 && c->at > 0 && start_over(c) < 0) {
        fail(c);
        return;
    }
    memcpy(c->etag, etag.p, etag.n);
    c->etag[etag.n] = 0;
    c->size = c->at + h->head.length;
    c->known = true;
    c->mode = 0;
    for (size_t i = 0; i < mode.n && mode.p[i] >= '0' && mode.p[i] <= '7'; i++)
        c->mode = (c->mode * 8 + (unsigned)(mode.p[i] - '0')) & 07777;
}

/* Writes to the file, or to standard output. */
static int write_all(struct put_get *c, struct str bytes)
{
    while (bytes.n > 0) {
        ssize_t n = write(c->fd, bytes.p, bytes.n);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(&c->e, errno, "cannot write %.200s",
                           c->part[0] ? c->part : "the output");
        got_on(c, (size_t)n);
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    return 0;
}

static size_t on_body(struct httpc *h, struct str piece)
{
    struct put_get *c = container_of(h, struct put_get, http);
    int status = h->head.status;
    if (c->put || (status != 200 && status != 206)) {
        buf_adds(&c->answer, str_sub(piece, 0, buf_room(&c->answer)));
    } else if (write_all(c, piece) < 0) {
        fail(c);
    }
    return piece.n;
}

/* The server refused; what it says is for people. */
static void refused(struct put_get *c)
{
    int status = c->http.head.status;
    struct json *j = json_parse(buf_str(&c->answer), NULL);
    const struct json *error = json_get(j, "error");
    struct str code = json_str(error, "code", ""), text = json_str(error, "message", "");
    struct err e = ERR_INIT;
    char name[32] = "";
    bool ours = code.n > 0 && code.n < sizeof(name) && text.n > 0 && status != 401 &&
                status != 403;
    memcpy(name, code.p, ours ? code.n : 0);
    bool again = remote_refused(&c->remote, status, http_field(&c->http.head, "Location"),
                                buf_str(&c->answer), &e);
    if (status == 403 && code.n > 0 && str_eq(code, STR("DENIED"))) /* of the file */
        ours = true;
    if (ours && (status < 502 || status == 507)) {
        bool busy = str_eq(code, STR("BUSY")); /* the bytes before are not all there */
        err_set(&e, name[0] ? err_from_name(name) : ERR_DENIED, "%.*s", STR_ARG(text));
        again = busy;
    }
    json_free(j);
    if (again) {
        lost(c, &e);
        return;
    }
    c->e = e;
    fail(c);
}

/* How much is there: before the bytes go up, and after them. */
static void put_answered(struct put_get *c)
{
    struct json *j = json_parse(buf_str(&c->answer), NULL);
    int64_t there = json_int(j, "size", -1);
    json_free(j);
    if (there < 0 || (!c->looking && (uint64_t)there != c->size)) {
        err_set(&c->e, ERR_INVALID, "what answers at %.200s is no od server",
                c->remote.text);
        fail(c);
    } else if (c->looking) {
        c->at = (uint64_t)there <= c->size ? (uint64_t)there : 0;
        ask_put(c);
    } else {
        stop(c);
    }
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct put_get *c = container_of(h, struct put_get, http);
    int status = h->head.status;
    if (c->over)
        return;
    if (e && e->code != ERR_INVALID && e->code != ERR_LIMIT) {
        struct err why = *e;
        lost(c, &why);
    } else if (e) {
        err_set(&c->e, e->code, "what answers at %.150s is no od server: %.250s",
                c->remote.text, e->text);
        fail(c);
    } else if (status != 200 && status != 206) {
        refused(c);
    } else if (c->put) {
        put_answered(c);
    } else {
        stop(c);
    }
}

static void on_room(struct httpc *h) { pump(container_of(h, struct put_get, http)); }

static const struct httpc_events http_calls = {
    .on_head = on_head, .on_body = on_body, .on_done = on_answer, .on_room = on_room};

/* ---- connections ---- */

static void on_dialled(struct dial *d, struct stream *s, const struct err *e)
{
    struct put_get *c = dial_owner(d);
    struct err why;
    c->dial = NULL;
    if (s) {
        httpc_start(&c->http, s, IDLE_MS, &http_calls);
        c->asking = true;
        if (!c->put)
            ask_get(c);
        else
            ask_look(c);
        return;
    }
    if (remote_dial_failed(&c->remote, d, e, &why)) {
        lost(c, &why);
        return;
    }
    c->e = why;
    fail(c);
}

static void dial(struct put_get *c)
{
    c->dial = remote_dial(&c->remote, c->loop, IN_MAX, OUT_MAX, on_dialled, c, &c->e);
    if (!c->dial)
        fail(c);
}

static void on_signal(struct io *io, uint32_t events)
{
    struct put_get *c = container_of(io, struct put_get, signals);
    (void)events;
    int signo = sig_next(io->fd);
    if (signo == 0)
        return;
    c->status = 128 + signo;
    stop(c);
}

/* ---- the file here ---- */

/* Standard input, so that it can be sent twice: a file without a name. */
static int spool_input(struct put_get *c, struct err *e)
{
    const char *dir = getenv("TMPDIR");
    char name[PATH_MAX];
    snprintf(name, sizeof(name), "%s/.od-XXXXXX", dir && *dir ? dir : "/tmp");
    int fd = mkostemp(name, O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "cannot keep standard input in %.200s", name);
    unlink(name);
    ssize_t n;
    while ((n = read(STDIN_FILENO, c->piece, PIECE)) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 || write(fd, c->piece, (size_t)n) != n) {
            err_sys(e, errno, "cannot keep standard input in %.200s", name);
            close(fd);
            return -1;
        }
    }
    return fd;
}

/* What the file is: another one, or another place, is another upload. */
static void make_token(struct put_get *c)
{
    uint8_t sum[HASH_SHA256_SIZE];
    struct buf text = BUF_INIT(16 << 10), hex = BUF_INIT(2 * HASH_SHA256_SIZE + 1);
    buf_addf(&text, "%llx %llx %llx %llx.%lx %s %s", (unsigned long long)c->st.st_dev,
             (unsigned long long)c->st.st_ino, (unsigned long long)c->st.st_size,
             (unsigned long long)c->st.st_mtim.tv_sec,
             (unsigned long)c->st.st_mtim.tv_nsec, c->remote.text, c->far);
    hash_sha256(buf_str(&text), sum);
    for (size_t i = 0; i < TOKEN / 2; i++)
        buf_addf(&hex, "%02x", sum[i]);
    memcpy(c->token, buf_z(&hex), TOKEN + 1);
    buf_release(&text);
    buf_release(&hex);
}

static int open_put(struct put_get *c, struct err *e)
{
    bool standard = strcmp(c->near, "-") == 0;
    c->fd = standard ? spool_input(c, e) : open(c->near, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (c->fd < 0)
        return standard ? -1 : err_sys(e, errno, "cannot read %.200s", c->near);
    if (fstat(c->fd, &c->st) < 0)
        return err_sys(e, errno, "cannot read %.200s", c->near);
    if (!S_ISREG(c->st.st_mode))
        return err_set(e, ERR_INVALID,
                       "cannot send %.200s: it is no file; a folder goes as tar c . | %s "
                       "--server URL --new tar x -C FOLDER",
                       c->near, called("exec").z);
    c->size = (uint64_t)c->st.st_size;
    c->known = true;
    c->mode = standard ? 0644 : (unsigned)c->st.st_mode & 07777;
    make_token(c);
    return 0;
}

static int open_get(struct put_get *c, struct err *e)
{
    struct stat st;
    if (strcmp(c->near, "-") == 0) {
        c->fd = STDOUT_FILENO;
        return 0;
    }
    if (stat(c->near, &st) == 0 && S_ISDIR(st.st_mode)) {
        size_t n = strlen(c->near);
        snprintf(c->near + n, sizeof(c->near) - n, "/%s", base_name(c->far));
    } else if (stat(c->near, &st) == 0 && !S_ISREG(st.st_mode)) {
        return err_set(e, ERR_INVALID, "cannot write %.200s: it is no file", c->near);
    }
    const char *slash = strrchr(c->near, '/');
    random_hex(c->token, TOKEN);
    snprintf(c->part, sizeof(c->part), "%.*s.od-%s",
             slash ? (int)(slash - c->near) + 1 : 0, c->near, c->token);
    c->fd = open(c->part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (c->fd >= 0)
        return 0;
    err_sys(e, errno, "cannot write %.200s", c->near);
    c->part[0] = 0;
    return -1;
}

/* After the last byte: the file is as it was, or in its place. */
static int finish(struct put_get *c, struct err *e)
{
    struct stat now;
    if (c->put) {
        bool changed = fstat(c->fd, &now) < 0 || now.st_size != c->st.st_size ||
                       now.st_mtim.tv_sec != c->st.st_mtim.tv_sec ||
                       now.st_mtim.tv_nsec != c->st.st_mtim.tv_nsec;
        return changed
                   ? err_set(e, ERR_IO, "%.200s was changed while it was sent", c->near)
                   : 0;
    }
    if (c->at != c->size)
        return err_set(e, ERR_IO, "only %llu of the %llu bytes of %.200s came",
                       (unsigned long long)c->at, (unsigned long long)c->size, c->far);
    if (!c->part[0])
        return 0;
    if (fchmod(c->fd, c->mode & 0777) < 0 || rename(c->part, c->near) < 0)
        return err_sys(e, errno, "cannot put %.200s in its place", c->near);
    c->part[0] = 0;
    return 0;
}

static void report(const struct put_get *c)
{
    if (!c->o->json)
        return;
    struct json *r = json_object();
    json_put_bool(r, "ok", true);
    json_put_int(r, "bytes", (int64_t)c->size);
    json_put_int(r, "duration_ms", clock_ms() - c->began);
    exec_report(c->o, r);
    json_free(r);
}

static int run(struct put_get *c, int signals, struct err *e)
{
    bool shows = isatty(STDERR_FILENO) && !c->o->quiet && !c->o->json;
    if (!(c->loop = loop_new()) ||
        io_start(c->loop, &c->signals, signals, EPOLLIN, on_signal) < 0)
        return err_sys(e, errno, "cannot begin");
    c->began = c->got_on = clock_ms();
    if (shows)
        timer_begin(c->loop, &c->show, SHOW_MS, on_show);
    dial(c);
    if (!c->over && loop_run(c->loop) < 0)
        return err_sys(e, errno, "cannot wait");
    if (shows && clock_ms() - c->began >= SHOW_MS)
        show(c, true);
    *e = c->e;
    return c->status == 1 ? -1 : c->status == 0 ? finish(c, e) : 0;
}

int exec_copy(const struct exec_options *o, int signals, struct err *e)
{
    struct put_get *c = calloc(1, sizeof(*c));
    char space[SOCKPATH_MAX];
    const char *server = o->server ? o->server : sockpath_of_environment(space);
    int status = 0, rc;
    if (!c)
        return err_set(e, ERR_LIMIT, "no memory"), exec_fail(o, e);
    c->o = o;
    c->put = o->verbs & V_PUT;
    c->far = c->put ? o->words[0] : o->copy;
    c->fd = -1;
    c->signals.fd = -1;
    c->backoff = (struct backoff){.first_ms = 100, .most_ms = 2000};
    buf_init(&c->answer, BODY_MAX);
    snprintf(c->near, sizeof(c->near), "%s", c->put ? o->copy : o->words[0]);
    if (!remote_is(server))
        rc = err_set(
            e, ERR_INVALID,
            "--put and --get are for a server elsewhere, --server https://…: here "
            "cp does it");
    else
        rc = remote_open(&c->remote, server, e);
    if (rc == 0)
        rc = c->put ? open_put(c, e) : open_get(c, e);
    if (rc == 0)
        rc = run(c, signals, e);
    if (rc < 0)
        status = exec_fail(o, e);
    else if (c->status != 0)
        status = c->status;
    else
        report(c);
    if (c->part[0])
        unlink(c->part);
    if (c->fd > STDERR_FILENO)
        close(c->fd);
    io_stop(&c->signals);
    buf_release(&c->answer);
    remote_release(&c->remote);
    if (c->loop)
        loop_free(c->loop);
    free(c);
    return status;
}
