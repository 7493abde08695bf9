/* SPDX-License-Identifier: MIT */
/*
 * `od exec --put` and `--get`: one file to a server elsewhere, or from it.
 *
 * The bytes go by the HTTP routes to the content of files (front/events/FILES.md),
 * without sessions and their output. Up: LOOK asks how much the server has under the
 * token, which identifies the local file and its place, so that a later call continues an
 * earlier one. Down: the bytes are collected next to the target, and a range of the same
 * ETag continues. Either way the target gets the whole file or stays as it was.
 */
#include "base/clock.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exec_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PIECE = 256 << 10, /* bytes that are read from a file at once */
    TARGET_MAX = 16 << 10,
    TOKEN = 32
};

struct put_get {
    struct copy_link link;
    char near[PATH_MAX];      /* the path here; "-": standard input or output */
    char part[PATH_MAX + 64]; /* the incomplete file here; "": none */
    int fd;                   /* the file here, owned unless standard output */
    struct stat st;           /* of the file that is sent */
    char token[TOKEN + 1], etag[80];
    unsigned mode;
    bool looking; /* the request asks how much the server has */
    bool odd;     /* there is something other than a file, maybe a folder */
    char piece[PIECE];
};

/* ---- requests ---- */

static void add_path(struct buf *out, const char *route, const struct put_get *c)
{
    remote_target(&c->link.remote, route, out);
    exec_add_path(out, '?', "path", str_of(c->link.far));
    exec_add_session(out, c->link.o);
}

/* The name of the file here, for those who listen there to what comes. */
static void add_name(struct buf *out, const struct put_get *c)
{
    struct str name = str_of(exec_base_name(c->near));
    if (strcmp(c->near, "-") != 0 && utf8_valid(name))
        exec_add_query(out, '&', "name", name);
}

/* Sends as much of the file as the connection takes. */
static void pump(struct put_get *c)
{
    struct copy_link *l = &c->link;
    while (!l->over && l->asking && l->at < l->size) {
        size_t want = l->size - l->at < PIECE ? (size_t)(l->size - l->at) : PIECE;
        ssize_t n = pread(c->fd, c->piece, want, (off_t)l->at);
        if (n <= 0) {
            if (n < 0)
                err_sys(&l->e, errno, "cannot read %.200s", c->near);
            else
                err_set(&l->e, ERR_IO, "%.200s became shorter while it was sent",
                        c->near);
            copy_fail(l);
            return;
        }
        size_t took = httpc_put(&l->http, str_n(c->piece, (size_t)n));
        if (took > 0)
            copy_got(l, took);
        if (took < (size_t)n)
            return;
    }
}

static void ask_put(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX);
    c->looking = false;
    add_path(&target, "/files/content", c);
    add_name(&target, c);
    buf_addf(&target, "&mode=%04o&token=%s&size=%llu&offset=%llu", c->mode, c->token,
             (unsigned long long)c->link.size, (unsigned long long)c->link.at);
    struct httpc_request q = {.method = "PUT",
                              .target = buf_str(&target),
                              .streams = true,
                              .length = c->link.size - c->link.at};
    copy_send(&c->link, &q, STR(""));
    buf_release(&target);
    pump(c);
}

static void ask_look(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX);
    c->looking = true;
    add_path(&target, "/files/upload", c);
    add_name(&target, c);
    exec_add_query(&target, '&', "token", str_of(c->token));
    struct httpc_request q = {.method = "GET", .target = buf_str(&target)};
    copy_send(&c->link, &q, STR(""));
    buf_release(&target);
}

static void ask_get(struct put_get *c)
{
    struct buf target = BUF_INIT(TARGET_MAX), more = BUF_INIT(256);
    add_path(&target, "/files/content", c);
    if (c->link.at > 0)
        buf_addf(&more, "Range: bytes=%llu-\r\nIf-Range: %s\r\n",
                 (unsigned long long)c->link.at, c->etag);
    struct httpc_request q = {.method = "GET", .target = buf_str(&target)};
    copy_send(&c->link, &q, buf_str(&more));
    buf_release(&target);
    buf_release(&more);
}

static void ask(void *arg)
{
    struct put_get *c = arg;
    if (c->link.put)
        ask_look(c);
    else
        ask_get(c);
}

/* ---- answers ---- */

/* The file there has changed: starts again. Returns -1 if that is not possible. */
static int start_over(struct put_get *c)
{
    if (!c->part[0])
        return err_set(&c->link.e, ERR_IO,
                       "%.200s was changed there while it was read, and a part of it was "
                       "printed",
                       c->link.far);
    if (ftruncate(c->fd, 0) < 0 || lseek(c->fd, 0, SEEK_SET) < 0)
        return err_sys(&c->link.e, errno, "cannot write %.200s", c->part);
    c->link.at = 0;
    return 0;
}

static bool gives_file(const struct copy_link *l)
{
    int status = l->http.head.status;
    return !l->put && (status == 200 || status == 206);
}

static void on_head(struct httpc *h)
{
    struct put_get *c = copy_arg(h);
    struct copy_link *l = &c->link;
    l->connected_ever = true;
    if (!gives_file(l))
        return;
    struct str etag = http_field(&h->head, "ETag"),
               mode = http_field(&h->head, "Od-Mode");
    bool same = etag.n < sizeof(c->etag) && str_eq(etag, str_of(c->etag));
    bool rest = h->head.status == 206;
    if (!h->head.has_length || etag.n == 0 || etag.n >= sizeof(c->etag) ||
        (rest && (l->at == 0 || !same))) {
        copy_is_odd(l);
        return;
    }
    if (!rest && l->at > 0 && start_over(c) < 0) {
        copy_fail(l);
        return;
    }
    memcpy(c->etag, etag.p, etag.n);
    c->etag[etag.n] = 0;
    l->size = l->at + h->head.length;
    l->known = true;
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
            return err_sys(&c->link.e, errno, "cannot write %.200s",
                           c->part[0] ? c->part : "the output");
        copy_got(&c->link, (size_t)n);
        bytes = str_sub(bytes, (size_t)n, bytes.n);
    }
    return 0;
}

static size_t on_body(struct httpc *h, struct str piece)
{
    struct put_get *c = copy_arg(h);
    if (!gives_file(&c->link))
        buf_adds(&c->link.answer, str_sub(piece, 0, buf_room(&c->link.answer)));
    else if (write_all(c, piece) < 0)
        copy_fail(&c->link);
    return piece.n;
}

/* Takes the answer about how much the server has, before and after the transfer. */
static void put_answered(struct put_get *c)
{
    struct copy_link *l = &c->link;
    struct json *j = json_parse(buf_str(&l->answer), NULL);
    int64_t there = json_int(j, "size", -1);
    json_free(j);
    if (there < 0 || (!c->looking && (uint64_t)there != l->size)) {
        copy_is_odd(l);
    } else if (c->looking) {
        l->at = (uint64_t)there <= l->size ? (uint64_t)there : 0;
        ask_put(c);
    } else {
        copy_stop(l);
    }
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct put_get *c = copy_arg(h);
    struct copy_link *l = &c->link;
    int status = h->head.status;
    if (l->over || copy_broke(l, e))
        return;
    if (status != 200 && status != 206)
        c->odd = copy_refused(l) && !l->put && l->at == 0;
    else if (l->put)
        put_answered(c);
    else
        copy_stop(l);
}

static void on_room(struct httpc *h) { pump(copy_arg(h)); }

static const struct httpc_events requests = {
    .on_head = on_head, .on_body = on_body, .on_done = on_answer, .on_room = on_room};
static const struct copy_calls calls = {.ask = ask, .requests = &requests};

/* ---- the file here ---- */

/* Copies standard input to a nameless file, so that it can be sent twice. */
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

/* Makes the token, which identifies file and place: another one is another upload. */
static void make_token(struct put_get *c)
{
    uint8_t sum[HASH_SHA256_SIZE];
    struct buf text = BUF_INIT(16 << 10), hex = BUF_INIT(2 * HASH_SHA256_SIZE + 1);
    buf_addf(&text, "%llx %llx %llx %llx.%lx %s %s", (unsigned long long)c->st.st_dev,
             (unsigned long long)c->st.st_ino, (unsigned long long)c->st.st_size,
             (unsigned long long)c->st.st_mtim.tv_sec,
             (unsigned long)c->st.st_mtim.tv_nsec, c->link.remote.text, c->link.far);
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
    if (!standard && stat(c->near, &c->st) == 0 && S_ISDIR(c->st.st_mode)) {
        c->odd = true;
        return err_set(e, ERR_INVALID, "%.200s is a folder", c->near);
    }
    c->fd = standard ? spool_input(c, e) : open(c->near, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (c->fd < 0)
        return standard ? -1 : err_sys(e, errno, "cannot read %.200s", c->near);
    if (fstat(c->fd, &c->st) < 0)
        return err_sys(e, errno, "cannot read %.200s", c->near);
    if (!S_ISREG(c->st.st_mode))
        return err_set(e, ERR_INVALID,
                       "cannot send %.200s: it is neither a file nor a folder", c->near);
    c->link.size = (uint64_t)c->st.st_size;
    c->link.known = true;
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
        snprintf(c->near + n, sizeof(c->near) - n, "/%s", exec_base_name(c->link.far));
    } else if (stat(c->near, &st) == 0 && !S_ISREG(st.st_mode)) {
        return err_set(e, ERR_INVALID, "cannot write %.200s: it is not a file", c->near);
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

/* After the last byte: checks that the file did not change, or moves it to its place. */
static int finish(struct put_get *c, struct err *e)
{
    struct stat now;
    if (c->link.put) {
        bool changed = fstat(c->fd, &now) < 0 || now.st_size != c->st.st_size ||
                       now.st_mtim.tv_sec != c->st.st_mtim.tv_sec ||
                       now.st_mtim.tv_nsec != c->st.st_mtim.tv_nsec;
        return changed
                   ? err_set(e, ERR_IO, "%.200s was changed while it was sent", c->near)
                   : 0;
    }
    if (c->link.at != c->link.size)
        return err_set(e, ERR_IO, "only %llu of the %llu bytes of %.200s came",
                       (unsigned long long)c->link.at, (unsigned long long)c->link.size,
                       c->link.far);
    if (!c->part[0])
        return 0;
    if (fchmod(c->fd, c->mode & 0777) < 0 || rename(c->part, c->near) < 0)
        return err_sys(e, errno, "cannot put %.200s in its place", c->near);
    c->part[0] = 0;
    return 0;
}

static void report(const struct put_get *c)
{
    if (!c->link.o->json)
        return;
    struct json *r = json_object();
    json_put_bool(r, "ok", true);
    json_put_int(r, "bytes", (int64_t)c->link.size);
    json_put_int(r, "duration_ms", clock_ms() - c->link.began);
    exec_report(c->link.o, r);
    json_free(r);
}

int exec_copy(const struct exec_options *o, int signals, struct err *e)
{
    struct put_get *c = calloc(1, sizeof(*c));
    char space[SOCKPATH_MAX];
    const char *server = o->server ? o->server : sockpath_of_environment(space);
    int status = 0, rc;
    if (!c)
        return err_set(e, ERR_LIMIT, "no memory"), exec_fail(o, e);
    copy_init(&c->link, o, &calls, c);
    c->fd = -1;
    snprintf(c->near, sizeof(c->near), "%s", c->link.put ? o->copy : o->words[0]);
    if (!remote_is(server))
        rc = err_set(
            e, ERR_INVALID,
            "--put and --get are for a server elsewhere, --server https://…: here "
            "cp does it");
    else
        rc = remote_open(&c->link.remote, server, e);
    if (rc == 0)
        rc = c->link.put ? open_put(c, e) : open_get(c, e);
    if (rc == 0)
        rc = copy_run(&c->link, signals, e);
    if (rc == 0 && c->link.status == 0)
        rc = finish(c, e);
    if (c->part[0])
        unlink(c->part);
    c->part[0] = 0;
    if (rc < 0 && c->odd && strcmp(c->near, "-") != 0)
        status = exec_folder(o, signals, e);
    else if (rc < 0)
        status = exec_fail(o, e);
    else if (c->link.status != 0)
        status = c->link.status;
    else
        report(c);
    if (c->fd > STDERR_FILENO)
        close(c->fd);
    copy_release(&c->link);
    free(c);
    return status;
}
