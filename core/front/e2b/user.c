/* SPDX-License-Identifier: MIT */
/* The user that a request names, and paths as that user writes them. */
#include "front/e2b/own.h"

#include "base/enc.h"

#include <stdio.h>
#include <strings.h>

enum { PATH_BYTES = 4096 };

int e2b_user(const struct e2b *f, struct str name, struct sandbox_place *out,
             struct err *e)
{
    if (name.n == 0)
        name = str_of(f->default_user);
    return sandbox_place_of(f->en->sandbox, name, out, e);
}

/* RFC 7617 2: the user is what precedes the first colon. */
static int basic_user(struct str header, char name[E2B_USER_MAX + 1], struct err *e)
{
    static const struct str basic = STR("Basic ");
    struct buf b = BUF_INIT(512);
    if (header.n < basic.n || strncasecmp(header.p, basic.p, basic.n) != 0)
        return 0; /* other schemes name no user */
    int rc = dec_base64(&b, str_trim(str_sub(header, basic.n, header.n)));
    struct str rest = buf_str(&b), user = str_cut(&rest, ':');
    if (rc < 0 || user.n > E2B_USER_MAX || memchr(buf_z(&b), 0, b.n))
        rc = err_set(e, ERR_INVALID,
                     "Authorization: Basic must be base64 of USER:, whose "
                     "name has at most %d bytes",
                     E2B_USER_MAX);
    else
        snprintf(name, E2B_USER_MAX + 1, "%.*s", STR_ARG(user));
    buf_release(&b);
    return rc;
}

int e2b_rpc_user(const struct e2b *f, const struct req *r, char name[E2B_USER_MAX + 1],
                 struct sandbox_place *out, struct err *e)
{
    name[0] = 0;
    if (basic_user(req_header(r, "Authorization"), name, e) < 0 ||
        e2b_user(f, str_of(name), out, e) < 0)
        return -1;
    return 0;
}

/* Appends path to an absolute path, without empty parts, "." and "..". */
static void join(struct buf *out, size_t root, struct str path)
{
    while (path.n > 0) {
        struct str part = str_cut(&path, '/');
        if (str_eq(part, STR(".."))) {
            while (out->n > root && out->p[out->n - 1] != '/')
                buf_truncate(out, out->n - 1);
            if (out->n > root)
                buf_truncate(out, out->n - 1);
        } else if (part.n > 0 && !str_eq(part, STR("."))) {
            buf_addf(out, "/%.*s", STR_ARG(part));
        }
    }
    if (out->n == root)
        buf_addc(out, '/');
}

int e2b_path(const struct e2b *f, const struct sandbox_place *user, struct str path,
             struct buf *out, struct err *e)
{
    size_t before = out->n;
    if (memchr(path.p ? path.p : "", 0, path.n))
        return err_set(e, ERR_INVALID, "a path has no zero byte");
    if (path.n == 0 && f->workdir[0])
        path = str_of(f->workdir);
    if (str_eq(path, STR("~")) || str_starts(path, STR("~/"))) {
        buf_adds(out,
                 str_eq(str_of(user->home), STR("/")) ? STR("") : str_of(user->home));
        path = str_sub(path, 1, path.n);
        buf_adds(out, path.n || out->n > before ? path : STR("/"));
    } else if (str_starts(path, STR("~"))) {
        return err_set(
            e, ERR_INVALID,
            "the path %.*s begins with ~NAME: only ~, the home of the user, is known",
            (int)(path.n < 200 ? path.n : 200), path.p);
    } else if (str_starts(path, STR("/"))) {
        buf_adds(out, path);
    } else {
        join(out, before, str_of(user->home));
        if (out->n == before + 1)
            buf_truncate(out, before);
        join(out, before, path);
    }
    if (buf_full(out) || out->n - before >= PATH_BYTES)
        return err_set(e, ERR_INVALID, "a path has at most %d bytes", PATH_BYTES - 1);
    return 0;
}

int e2b_files_query(const struct e2b *f, struct req *r, struct sandbox_place *user,
                    struct buf *path, struct err *e)
{
    struct buf name = BUF_INIT(E2B_USER_MAX), given = BUF_INIT(8192);
    int got_name = req_query(r, "username", &name), got = req_query(r, "path", &given);
    int status = 0;
    if (got_name < 0 || got < 0) {
        status = 400;
        err_set(e, ERR_INVALID, "%s in the query is malformed, or too long",
                got < 0 ? "path" : "username");
    } else if (e2b_user(f, buf_str(&name), user, e) < 0) {
        status = 401;
    } else if (given.n > 0 && e2b_path(f, user, buf_str(&given), path, e) < 0) {
        status = 400;
    }
    buf_release(&name);
    buf_release(&given);
    if (status)
        e2b_fail(r, status, e->text);
    return status ? -1 : 0;
}
