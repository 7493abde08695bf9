/* SPDX-License-Identifier: MIT */
/*
 * V0's uploads and downloads, streamed. An upload is stored completely or not at all.
 *
 * An upload is written next to its target, under a name of ours that the keeper knows,
 * and renamed when the last byte of the form has arrived; a helper unpacks a zip from
 * there. After a worker has died, the next one removes unfinished uploads.
 */
#include "front/v0/own.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "file/archive.h"
#include "http/multipart.h"
#include "os/file.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LEN = 4096, READABLE = 0644 };

/* ---- upload ---- */

struct upload {
    struct v0 *v;
    struct req *req;        /* NULL: gone */
    struct multipart *form; /* owned */
    struct job *job;        /* borrowed; unpacks */
    char dir[NAME_LEN], name[256], temp[NAME_LEN + 48];
    char note[48]; /* the state at the keeper that names temp */
    int fd;        /* -1: not open */
    bool recursive, had, in_file;
    struct err e; /* the error; the rest of the body is skipped */
    int status;   /* of the answer; 0: no error */
};

static int query_bool(struct req *r, const char *name, bool *out)
{
    static const char *const words[2][6] = {{"false", "0", "no", "off", "f", "n"},
                                            {"true", "1", "yes", "on", "t", "y"}};
    struct buf b = BUF_INIT(64);
    int got = req_query(r, name, &b), known = got == 0 ? 0 : -1;
    for (int i = 0; got > 0 && i < 12; i++) {
        if (strcasecmp(buf_z(&b), words[i / 6][i % 6]) == 0) {
            *out = i / 6;
            known = 0;
        }
    }
    buf_release(&b);
    return known;
}

static void upload_fail(struct upload *u, int status) { u->status = status; }

static int upload_error(struct upload *u, enum err_code code, const char *text)
{
    err_set(&u->e, code, "%s", text);
    upload_fail(u, code == ERR_INVALID ? 400 : 500);
    return -1;
}

static int make_dirs(char *path)
{
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != 0)
            continue;
        char c = *p;
        *p = 0;
        int r = mkdir(path, 0777);
        int why = errno;
        *p = c;
        if (r < 0 && why != EEXIST && why != EISDIR && why != EROFS)
            return errno = why, -1;
        if (c == 0)
            return 0;
    }
}

/* Makes the folder and opens the temporary file. Sets u->fd; -1: u->e. */
static void make_temp(void *arg)
{
    struct upload *u = arg;
    if (make_dirs(u->dir) < 0) {
        err_sys(&u->e, errno, "cannot make the directory %s", u->dir);
        return;
    }
    u->fd = file_make(AT_FDCWD, u->temp, O_RDWR | O_TRUNC, READABLE);
    if (u->fd < 0)
        err_sys(&u->e, errno, "cannot write in %s", u->dir);
}

/* Opens the temporary file next to its target, after storing its name at the keeper. */
static int open_temp(struct upload *u)
{
    struct v0 *v = u->v;
    snprintf(u->temp, sizeof(u->temp), "%s/.od-upload-%d-%llu", u->dir, (int)getpid(),
             (unsigned long long)++v->uploads);
    snprintf(u->note, sizeof(u->note), "v0/upload/%llu", (unsigned long long)v->uploads);
    keeper_client_put(v->en->keeper, str_of(u->note), str_of(u->temp));
    if (within_call(make_temp, u) < 0)
        err_sys(&u->e, errno, "cannot write in %s within the fence", u->dir);
    return u->fd < 0 ? -1 : 0;
}

static void forget_temp(struct upload *u, bool remove)
{
    if (u->fd >= 0)
        close(u->fd);
    u->fd = -1;
    if (u->note[0]) {
        if (remove)
            unlink(u->temp);
        keeper_client_put(u->v->en->keeper, str_of(u->note), STR(""));
    }
    u->note[0] = 0;
}

static void upload_free(void *p)
{
    struct upload *u = p;
    multipart_free(u->form);
    free(u);
}

static void upload_bury(struct upload *u)
{
    forget_temp(u, true);
    loop_bury(u->v->en->loop, u, upload_free);
}

/* Returns the last part of a name; "" if it has none. */
static struct str base_of(struct str name)
{
    for (size_t i = name.n; i > 0; i--) {
        if (name.p[i - 1] == '/' || name.p[i - 1] == '\\') {
            name = str_sub(name, i, name.n);
            break;
        }
    }
    return str_eq(name, STR(".")) || str_eq(name, STR("..")) ? STR("") : name;
}

static int on_part(void *arg, const struct multipart_part *p)
{
    struct upload *u = arg;
    struct str name = base_of(p->filename);
    u->in_file = !u->had && str_eq(p->name, STR("file")) && p->filename.p;
    if (!u->in_file)
        return 0;
    u->had = true;
    if (name.n == 0 || name.n >= sizeof(u->name))
        return upload_error(u, ERR_INVALID, "The file has no usable name");
    memcpy(u->name, name.p, name.n);
    if (u->recursive && !str_ends(name, STR(".zip")))
        return upload_error(u, ERR_INVALID, "Recursive uploads must be zip files");
    if (open_temp(u) < 0) {
        upload_fail(u, 500);
        return -1;
    }
    return 0;
}

static int on_part_data(void *arg, struct str bytes)
{
    struct upload *u = arg;
    if (!u->in_file || file_write_all(u->fd, bytes) == 0)
        return 0;
    err_sys(&u->e, errno, "cannot write %s in %s", u->name, u->dir);
    upload_fail(u, 500);
    return -1;
}

static int on_part_end(void *arg)
{
    struct upload *u = arg;
    u->in_file = false;
    return 0;
}

static const struct multipart_events form_events = {on_part, on_part_data, on_part_end};

static void upload_answer(struct upload *u)
{
    struct req *r = u->req;
    u->req = NULL;
    if (u->status) {
        v0_refuse(r, u->status, u->e.text);
    } else {
        struct json *j = json_object();
        json_put_z(j, "filename", u->name);
        json_put_z(j, "destination", u->dir);
        json_put_bool(j, "recursive", u->recursive);
        v0_answer_json(r, 200, j);
    }
    upload_bury(u);
}

static void on_unpacked(void *arg, const struct archive_result *res)
{
    struct upload *u = arg;
    if (res->warnings_n > 0)
        log_warn("%s: %.*s", u->name, STR_ARG(res->warnings));
    u->job = NULL;
    if (res->err.code) {
        u->e = res->err;
        upload_fail(u, 500);
    }
    if (u->req)
        upload_answer(u);
    else
        upload_bury(u);
}

static void unpack(struct upload *u)
{
    struct archive_unzip_spec spec = {.fd = u->fd, .dir = u->dir};
    v0_owner(u->v, &spec.uid, &spec.gid);
    u->job = archive_unzip(u->v->en->loop, &spec, on_unpacked, u, &u->e);
    if (!u->job) {
        upload_fail(u, 500);
        upload_answer(u);
    }
}

static void rename_temp(void *arg)
{
    struct upload *u = arg;
    char path[NAME_LEN + 260];
    snprintf(path, sizeof(path), "%s/%s", u->dir, u->name);
    if (rename(u->temp, path) < 0)
        err_sys(&u->e, errno, "cannot put %s in place", path);
}

static void put_in_place(struct upload *u)
{
    char path[NAME_LEN + 260];
    uid_t uid;
    gid_t gid;
    snprintf(path, sizeof(path), "%s/%s", u->dir, u->name);
    v0_owner(u->v, &uid, &gid);
    if (uid != u->v->en->uid && fchown(u->fd, uid, gid) < 0)
        log_debug("cannot give %s to uid %u: %m", path, (unsigned)uid);
    if (within_call(rename_temp, u) < 0)
        err_sys(&u->e, errno, "cannot put %s in place within the fence", path);
    if (u->e.code) {
        upload_fail(u, 500);
    } else {
        forget_temp(u, false);
    }
    upload_answer(u);
}

static size_t on_body(struct req *r, struct str bytes, void *owner)
{
    struct upload *u = owner;
    (void)r;
    if (!u->status && multipart_feed(u->form, bytes, &u->e) < 0 && !u->status)
        upload_fail(u, 400);
    return bytes.n;
}

static void on_body_end(struct req *r, void *owner)
{
    struct upload *u = owner;
    (void)r;
    if (!u->status && multipart_finish(u->form, &u->e) < 0)
        upload_fail(u, 400);
    if (!u->status && !u->had) {
        err_set(&u->e, ERR_INVALID, "the form has no part `file` with a file name");
        upload_fail(u, 422);
    }
    if (u->status)
        upload_answer(u);
    else if (str_ends(str_of(u->name), STR(".zip")))
        unpack(u);
    else
        put_in_place(u);
}

static void on_upload_gone(struct req *r, void *owner)
{
    struct upload *u = owner;
    (void)r;
    u->req = NULL;
    if (!u->job) /* a complete zip is still unpacked */
        upload_bury(u);
}

void v0_upload(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct err e = ERR_INIT;
    struct buf dir = BUF_INIT(NAME_LEN - 1);
    bool recursive = false;
    int got = req_query(r, "destination", &dir);
    struct upload *u = NULL;
    engine_touch(v->en);
    if (got == 0)
        buf_addz(&dir, "/");
    if (query_bool(r, "recursive", &recursive) < 0)
        v0_refuse(r, 422, "recursive is neither true nor false");
    else if (got < 0)
        v0_refuse(r, 400, "Destination is malformed, or longer than a path can be");
    else if (buf_z(&dir)[0] != '/')
        v0_refuse(r, 400, "Destination must be an absolute path");
    else
        u = xnew(struct upload);
    if (u &&
        !(u->form = multipart_new(req_header(r, "Content-Type"), &form_events, u, &e))) {
        v0_refuse(r, 422, e.text);
        free(u);
        u = NULL;
    }
    if (u) {
        u->v = v;
        u->req = r;
        u->fd = -1;
        u->recursive = recursive;
        memcpy(u->dir, dir.p, dir.n + 1);
        req_own(r, u, on_upload_gone);
        req_on_body(r, on_body, on_body_end);
    }
    buf_release(&dir);
}

void v0_upload_resume(struct v0 *v)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&v->en->states, it, &key, &value));) {
        if (!str_starts(key, STR("v0/upload/")))
            continue;
        log_info("an upload was cut off: %s is removed", buf_z(value));
        unlink(buf_z(value));
        keeper_client_put(v->en->keeper, key, STR(""));
    }
}

/* ---- download ---- */

struct download {
    struct v0 *v;
    struct req *req;
    struct job *job;
    bool begun;
    char name[256];
};

static void on_zip_done(void *arg, const struct archive_result *res)
{
    struct download *d = arg;
    struct req *r = d->req;
    if (res->warnings_n > 0)
        log_warn("%s.zip: %.*s", d->name, STR_ARG(res->warnings));
    if (r && d->begun && res->err.code)
        req_abort(r);
    else if (r && res->err.code)
        v0_refuse(r, 500, res->err.text);
    else if (r)
        req_end(r);
    loop_bury(d->v->en->loop, d, free);
}

static size_t on_zip_data(void *arg, struct str bytes)
{
    struct download *d = arg;
    if (!d->begun) {
        char disposition[320];
        snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s.zip\"",
                 d->name);
        req_header_add(d->req, "Content-Disposition", disposition);
        req_begin(d->req, 200, "application/zip", -1);
        d->begun = true;
    }
    return req_send(d->req, bytes);
}

static void on_download_room(struct req *r, void *owner)
{
    struct download *d = owner;
    (void)r;
    if (d->job)
        job_resume(d->job);
}

static void on_download_gone(struct req *r, void *owner)
{
    struct download *d = owner;
    (void)r;
    d->req = NULL;
    if (d->job)
        job_cancel(d->job);
    loop_bury(d->v->en->loop, d, free);
}

/* Writes the name of a path for a header: printable, without quotes. */
static void name_of(struct str path, char *out, size_t size)
{
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    struct str base = base_of(path);
    size_t n = 0;
    for (size_t i = 0; i < base.n && n + 1 < size; i++)
        out[n++] = base.p[i] < ' ' || base.p[i] == '"' || base.p[i] == '\\' ||
                           (unsigned char)base.p[i] > 126
                       ? '_'
                       : base.p[i];
    out[n] = 0;
}

/* Sends the file itself, or a range of it if r asks for one. */
static void send_raw(struct req *r, const char *path, const char *name)
{
    char disposition[320];
    int fd = within_open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC, 0);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
        struct err e = ERR_INIT;
        err_sys(&e, fd < 0 ? errno : EISDIR, "cannot send %s", path);
        if (fd >= 0)
            close(fd);
        v0_refuse(r, 500, e.text);
        return;
    }
    snprintf(disposition, sizeof(disposition), "attachment; filename=\"%s\"", name);
    req_header_add(r, "Content-Disposition", disposition);
    req_answer_file(r, fd, "application/octet-stream");
}

void v0_download(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct buf path = BUF_INIT(NAME_LEN);
    struct stat st;
    bool raw = false;
    engine_touch(v->en);
    int got = req_query(r, "path", &path);
    if (got == 0 || query_bool(r, "raw", &raw) < 0) {
        v0_refuse(r, 422, "path is missing, or raw is neither true nor false");
    } else if (got < 0) {
        v0_refuse(r, 400, "Path is malformed, or longer than a path can be");
    } else if (buf_z(&path)[0] != '/') {
        v0_refuse(r, 400, "Path must be an absolute path");
    } else if (stat(buf_z(&path), &st) < 0) {
        v0_refuse(r, 404, "File not found");
    } else {
        struct download *d = xnew(struct download);
        struct err e = ERR_INIT;
        *d = (struct download){.v = v, .req = r};
        name_of(buf_str(&path), d->name, sizeof(d->name));
        if (raw) {
            send_raw(r, buf_z(&path), d->name);
            free(d);
        } else {
            struct archive_zip_spec spec = {.path = buf_z(&path)};
            req_own(r, d, on_download_gone);
            req_on_room(r, on_download_room);
            d->job = archive_zip(v->en->loop, &spec, on_zip_data, on_zip_done, d, &e);
            if (!d->job) {
                v0_refuse(r, 500, e.text);
                loop_bury(v->en->loop, d, free);
            }
        }
    }
    buf_release(&path);
}
