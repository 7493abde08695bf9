/* SPDX-License-Identifier: MIT */
/* V0's read and write actions, and the listing of a folder. */
#include "front/v0/own.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "file/files.h"
#include "os/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ENTRIES_MAX = 100000 };

/* ---- list ---- */

struct names {
    char **v;
    size_t n, cap;
};

static void add_name(struct names *l, const char *name, bool dir)
{
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 64;
        l->v = xrealloc(l->v, l->cap, sizeof(*l->v));
    }
    size_t n = strlen(name);
    char *copy = xcalloc(n + 2, 1);
    memcpy(copy, name, n);
    if (dir)
        copy[n] = '/';
    l->v[l->n++] = copy;
}

static int by_name(const void *a, const void *b)
{
    return strcasecmp(*(char *const *)a, *(char *const *)b);
}

static void push_names(struct json *list, struct names *l)
{
    if (l->n > 0)
        qsort(l->v, l->n, sizeof(*l->v), by_name);
    for (size_t i = 0; i < l->n; i++) {
        json_push_str(list, str_of(l->v[i]));
        free(l->v[i]);
    }
    free(l->v);
}

/* Lists a folder, folders first; entries without a status (a dangling link) are left
 * out. */
static struct json *list_dir(const char *path)
{
    struct names dirs = {0}, files = {0};
    struct json *list = json_array();
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    struct dirent *e;
    while (d && dirs.n + files.n < ENTRIES_MAX && (e = readdir(d))) {
        struct stat st;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
            fstatat(dirfd(d), e->d_name, &st, 0) < 0)
            continue;
        add_name(S_ISDIR(st.st_mode) ? &dirs : &files, e->d_name, S_ISDIR(st.st_mode));
    }
    if (d)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    push_names(list, &dirs);
    push_names(list, &files);
    return list;
}

void v0_list(struct req *r)
{
    struct v0 *v = req_arg(r);
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(8192);
    struct json *q = req_body(r).n > 0 ? json_parse(req_body(r), &e) : json_object();
    struct str wanted = STR("");
    if (!q || !json_is_object(q) || json_want_str(q, "path", &wanted, &e) < 0) {
        v0_refuse(r, 422, e.text[0] ? e.text : "the body must be an object");
    } else {
        /* Relative to --working-dir, not to the directory of the shell. */
        if (wanted.n == 0 || wanted.p[0] != '/')
            buf_addf(&path, "%s/", v->cwd[0] ? v->cwd : v->en->home);
        buf_adds(&path, wanted);
        v0_answer_json(r, 200, list_dir(buf_z(&path)));
    }
    buf_release(&path);
    json_free(q);
}

/* ---- read and write ---- */

enum { FILE_MAX_BYTES = 32 << 20, WRITE_MAX = 64 << 20 };

/* Makes an agent's path absolute, relative to its shell's directory. */
static int absolute(const struct v0_shell *sh, struct str path, struct buf *out)
{
    buf_reset(out);
    if (path.n == 0 || path.p[0] != '/')
        buf_addf(out, "%s/", v0_cwd(sh));
    return buf_adds(out, path);
}

void v0_owner(const struct v0 *v, uid_t *uid, gid_t *gid)
{
    struct session *s = session_find(v->en, STR("main"));
    *uid = v->en->uid == 0 && s ? session_uid(s) : v->en->uid;
    *gid = *uid == v->en->uid ? v->en->gid : (gid_t)*uid;
}

static void answer_text(struct v0_call *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void answer_text(struct v0_call *a, const char *fmt, ...)
{
    struct buf b = BUF_INIT(64 << 10);
    va_list ap;
    va_start(ap, fmt);
    buf_addv(&b, fmt, ap);
    va_end(ap);
    v0_answer_error(a, buf_str(&b));
    buf_release(&b);
}

/* Answers with the texts that the client matches, for other errors with our own. */
static void answer_failed(struct v0_call *a, const char *path, const struct err *e,
                          bool reading)
{
    if (e->code == ERR_NOTFOUND && reading)
        answer_text(a, "File not found: %s. Your current working directory is %s.", path,
                    v0_cwd(a->sh));
    else if (e->code == ERR_NOTFOUND)
        answer_text(a, "File not found: %s", path);
    else if (e->code == ERR_INVALID)
        answer_text(a, "Path is a directory: %s. You can only %s files", path,
                    reading ? "read" : "write to");
    else if (e->code == ERR_DENIED || e->code == ERR_IO)
        v0_answer_internal(a, e->text);
    else
        v0_answer_error(a, str_of(e->text));
}

static void answer_read(struct v0_call *a, const char *path, struct buf *bytes)
{
    struct buf url = BUF_INIT(ANSWER_MAX), out = BUF_INIT(ANSWER_MAX);
    const char *type = files_media_type(str_of(path));
    struct str content;
    if (!type && files_is_binary(str_sub(buf_str(bytes), 0, FILES_HEAD))) {
        v0_answer_error(a, v0_binary_file);
        return;
    }
    if (!type && !utf8_valid(buf_str(bytes))) {
        answer_text(a, "File could not be decoded as utf-8: %s.", path);
        return;
    }
    if (type) {
        files_data_url(&url, type, buf_str(bytes));
        content = buf_str(&url);
    } else {
        files_newlines(bytes);
        content = files_slice_lines(buf_str(bytes), a->a.read.start, a->a.read.end);
    }
    v0_put_read(&out, str_of(path), a->a.read.aci, content);
    buf_release(&url);
    v0_answer(a, 200, &out);
}

void v0_read(struct v0_call *a)
{
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(2 * 4096), bytes = BUF_INIT(FILE_MAX_BYTES);
    if (absolute(a->sh, a->a.read.path, &path) < 0)
        v0_answer_error(a, STR("The path is longer than a path can be"));
    else if (file_read(buf_z(&path), FILE_MAX_BYTES, &bytes, &e) < 0)
        answer_failed(a, buf_z(&path), &e, true);
    else
        answer_read(a, buf_z(&path), &bytes);
    buf_release(&path);
    buf_release(&bytes);
}

/*
 * Writing some lines twice does not give the same file. So the content that the file is
 * to have is stored before: a repeated action finds that it is done.
 */
static bool spliced_before(struct v0_call *a, struct str now)
{
    char sum[KEY_LEN + 1];
    struct buf wanted = BUF_INIT(2 * KEY_LEN + 2);
    v0_key_of(now, sum);
    buf_addf(&wanted, "%s %s", a->key, sum);
    bool same = str_eq(buf_str(&wanted), str_of(a->v->spliced));
    buf_release(&wanted);
    return same;
}

static void keep_splice(struct v0_call *a, struct str wanted)
{
    struct v0 *v = a->v;
    char sum[KEY_LEN + 1];
    v0_key_of(wanted, sum);
    char kept[sizeof(v->spliced)];
    snprintf(kept, sizeof(kept), "%s %s", a->key, sum);
    v->spliced[0] = 0; /* if this worker does it again, that is intended */
    keeper_client_put(v->en->keeper, STR("v0/spliced"), str_of(kept));
}

/* Appends the new text of the file. Returns -1 after answering, also if it was done
 * before. */
static int new_text(struct v0_call *a, const char *path, struct buf *out)
{
    struct err e = ERR_INIT;
    struct buf old = BUF_INIT(FILE_MAX_BYTES);
    bool whole = a->a.write.start <= 0 && a->a.write.end == -1;
    int r = whole ? 0 : file_read(path, FILE_MAX_BYTES, &old, &e);
    if (r < 0 && e.code == ERR_NOTFOUND)
        r = 0;
    if (r < 0) {
        answer_failed(a, path, &e, false);
    } else if (!utf8_valid(buf_str(&old))) {
        answer_text(a, "File could not be decoded as utf-8: %s", path);
        r = -1;
    } else if (!whole && spliced_before(a, buf_str(&old))) {
        buf_adds(out, buf_str(&old));
    } else {
        files_newlines(&old);
        r = files_splice_lines(out, buf_str(&old), a->a.write.content, a->a.write.start,
                               a->a.write.end);
        if (r < 0)
            answer_text(a, "The file %s would be longer than %d bytes", path, WRITE_MAX);
        else if (!whole)
            keep_splice(a, buf_str(out));
    }
    buf_release(&old);
    return r;
}

void v0_write(struct v0_call *a)
{
    struct err e = ERR_INIT;
    struct buf path = BUF_INIT(2 * 4096), text = BUF_INIT(WRITE_MAX);
    struct files_put put = {
        .token = a->key, .parents = true, .mode = 0664, .chown = true};
    v0_owner(a->v, &put.uid, &put.gid);
    if (absolute(a->sh, a->a.write.path, &path) < 0) {
        v0_answer_error(a, STR("The path is longer than a path can be"));
    } else if (new_text(a, buf_z(&path), &text) == 0) {
        struct buf out = BUF_INIT(64 << 10);
        if (files_replace(buf_z(&path), buf_str(&text), &put, &e) < 0) {
            answer_failed(a, buf_z(&path), &e, false);
        } else if (put.owner_errno && put.created) {
            answer_text(a,
                        "File %s written, but failed to change ownership and "
                        "permissions: %s",
                        buf_z(&path), strerror(put.owner_errno));
        } else {
            v0_put_write(&out, buf_str(&path));
            v0_answer(a, 200, &out);
        }
    }
    buf_release(&path);
    buf_release(&text);
}
