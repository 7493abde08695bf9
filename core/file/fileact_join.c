/* SPDX-License-Identifier: MIT */
/*
 * join of fileact.h: files become one, in their order, and are removed. The new file is
 * made next to its place, so the old files stay until it is whole. A helper that takes
 * up a call whose new file is in its place only removes the remaining old ones.
 */
#include "file/fileact_own.h"

#include "base/xalloc.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOURCES_MAX = 10000 };

struct sources {
    char **v; /* owned, as are the paths */
    size_t n;
};

static void sources_free(struct sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->v[i]);
    free(s->v);
}

static int read_sources(const struct fa *f, struct sources *s, struct err *e)
{
    char path[PATH_MAX];
    const struct json *from = json_get(f->q->args, "from");
    size_t n = (size_t)json_count(from);
    if (n == 0 || n > SOURCES_MAX)
        return err_set(e, ERR_INVALID, "from must have 1 to %d paths", SOURCES_MAX);
    s->v = xcalloc(n, sizeof(*s->v));
    for (const struct json *v = json_first(from); v; v = json_next(v)) {
        struct str given = json_str_value(v, "");
        if (fa_path_of(f, "a path of from", given, path, e) < 0)
            return -1;
        s->v[s->n++] = xstrndup(path, strlen(path));
    }
    return 0;
}

/* Each must be a regular file, and not the one that is made. */
static int check_sources(const struct sources *s, const char *to, struct err *e)
{
    struct stat st, own;
    bool there = stat(to, &own) == 0;
    for (size_t i = 0; i < s->n; i++) {
        if (stat(s->v[i], &st) < 0)
            return fa_fail(e, errno, "join", s->v[i]);
        if (file_check_kind(st.st_mode, "join", s->v[i], e) < 0)
            return -1;
        if (there && st.st_dev == own.st_dev && st.st_ino == own.st_ino)
            return err_set(e, ERR_INVALID, "cannot join %.200s to itself", to);
    }
    return 0;
}

static int append(struct fa *f, const char *path, int out, struct err *e)
{
    bool by_memory = false;
    ssize_t n = 0;
    int in = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (in < 0)
        return fa_fail(e, errno, "read", path);
    while ((n = fa_move_bytes(f, in, out, FA_PIPE, &by_memory)) > 0)
        ;
    int why = errno;
    close(in);
    return n < 0 ? fa_fail(e, why, "join", path) : 0;
}

static int make(struct fa *f, struct fa_stage *stage, const struct sources *s,
                struct err *e)
{
    int rc = 0;
    int out = open(stage->part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   0666);
    if (out < 0)
        return fa_fail(e, errno, "write", stage->part);
    for (size_t i = 0; rc == 0 && i < s->n; i++)
        rc = append(f, s->v[i], out, e);
    if (close(out) < 0 && rc == 0)
        rc = fa_fail(e, errno, "write", stage->part);
    return rc == 0 ? fa_stage_whole(stage, e) : rc;
}

static int join(struct fa *f, const struct sources *s, const char *to, struct err *e)
{
    struct fa_stage stage = {.state = STAGE_NEW};
    struct stat st;
    if (fa_stage_beside(f, &stage, to, e) < 0 ||
        (stage.state == STAGE_NEW && check_sources(s, to, e) < 0) ||
        (fa_bool(f, "parents") && fa_parents(to, e) < 0) ||
        (stage.state == STAGE_NEW && make(f, &stage, s, e) < 0) ||
        (stage.state != STAGE_PLACED &&
         fa_place(stage.part, to, fa_bool(f, "overwrite"), e) < 0))
        return -1;
    for (size_t i = 0; i < s->n; i++) {
        if (unlink(s->v[i]) < 0 && errno != ENOENT)
            fa_warn(f, "%s is not removed: %s", s->v[i], strerror(errno));
    }
    if (stat(to, &st) < 0)
        return fa_fail(e, errno, "look at", to);
    fa_put_path(&f->out, "to", str_of(to));
    buf_addf(&f->out, ",\"size\":%llu,\"joined\":%zu", (unsigned long long)st.st_size,
             s->n);
    return 0;
}

int fa_join(struct fa *f, struct err *e)
{
    char to[PATH_MAX];
    struct sources s = {0};
    int rc = f->q->root
                 ? err_set(e, ERR_UNSUPPORTED, "files within a root cannot be joined")
                 : fa_path(f, "to", to, e);
    if (rc == 0)
        rc = read_sources(f, &s, e);
    if (rc == 0)
        rc = join(f, &s, to, e);
    sources_free(&s);
    return rc;
}
