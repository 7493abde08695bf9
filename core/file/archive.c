/* SPDX-License-Identifier: MIT */
/*
 * The parent's side of archive.h. Files and folders are opened here, so that a missing
 * one is an error of the call, before any answer begins.
 */
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "file/archive_own.h"
#include "os/within.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    WARNINGS_MAX = 64 << 10,
    TELL_FILES = 256,
    TELL_BYTES = 4 << 20,
    JOB_MEMORY = 256 << 20,
    JOB_NICE = 5
};

/* Owned by the job: freed when that is gone. */
struct archive {
    archive_data_fn *data;
    archive_done_fn *done;
    void *arg;
    struct archive_result result;
    struct buf warnings;
    int dir; /* owned; -1: nothing to clean */
    char token[ARCHIVE_TOKEN + 1];
};

/* ---- notes of the children ---- */

void archive_tell(struct archive_count *c, uint64_t files, uint64_t bytes, bool now)
{
    c->files += files;
    c->bytes += bytes;
    if (!now && c->files - c->told_files < TELL_FILES &&
        c->bytes - c->told_bytes < TELL_BYTES)
        return;
    c->told_files = c->files;
    c->told_bytes = c->bytes;
    char note[1 + 2 * sizeof(uint64_t)] = "P";
    memcpy(note + 1, &c->files, sizeof(c->files));
    memcpy(note + 1 + sizeof(c->files), &c->bytes, sizeof(c->bytes));
    job_note(c->child, str_n(note, sizeof(note)));
}

void archive_warn(struct archive_count *c, const char *fmt, ...)
{
    char note[JOB_NOTE_MAX] = "W";
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(note + 1, sizeof(note) - 1, fmt, ap);
    va_end(ap);
    for (char *p = note; *p; p++) {
        if (*p == '\n')
            *p = '?';
    }
    if (n > 0)
        job_note(c->child, str_of(note));
}

static void on_note(struct job *j, struct str note)
{
    struct archive *a = job_owner(j);
    uint64_t counts[2];
    if (note.n == 1 + sizeof(counts) && note.p[0] == 'P') {
        memcpy(counts, note.p + 1, sizeof(counts));
        a->result.files = counts[0];
        a->result.bytes = counts[1];
    } else if (note.n > 1 && note.p[0] == 'W') {
        a->result.warnings_n++;
        /* The others are only counted: warnings_n is more than there are lines. */
        if (note.n <= buf_room(&a->warnings)) {
            buf_adds(&a->warnings, str_sub(note, 1, note.n));
            buf_addc(&a->warnings, '\n');
        }
    }
}

static void on_data(struct job *j, struct buf *in)
{
    struct archive *a = job_owner(j);
    size_t n = a->data ? a->data(a->arg, buf_str(in)) : in->n;
    BUG_ON(n > in->n);
    if (n < in->n)
        job_pause(j);
    buf_consume(in, n);
}

static void on_done(struct job *j, const struct err *e)
{
    struct archive *a = job_owner(j);
    a->result.err = *e;
    a->result.warnings = buf_str(&a->warnings);
    a->done(a->arg, &a->result);
}

static void on_gone(void *owner)
{
    struct archive *a = owner;
    if (a->dir >= 0) {
        archive_unzip_clean(a->dir, a->token);
        close(a->dir);
    }
    buf_release(&a->warnings);
    free(a);
}

static const struct job_events events = {on_data, NULL, on_note, on_done, on_gone};

void archive_progress(const struct job *j, uint64_t *files, uint64_t *bytes)
{
    const struct archive *a = job_owner(j);
    *files = a->result.files;
    *bytes = a->result.bytes;
}

/* ---- starting ---- */

static struct archive *new_archive(archive_data_fn *data, archive_done_fn *done,
                                   void *arg)
{
    struct archive *a = xnew(struct archive);
    *a = (struct archive){.data = data, .done = done, .arg = arg, .dir = -1};
    buf_init(&a->warnings, WARNINGS_MAX);
    return a;
}

static struct job *start(struct loop *l, struct archive *a, const char *what, job_fn *fn,
                         void *arg, const int *fds, unsigned fds_n, struct err *e)
{
    struct job_spec spec = {.what = what,
                            .fn = fn,
                            .arg = arg,
                            .fds = fds,
                            .fds_n = fds_n,
                            .memory = JOB_MEMORY,
                            .nice = JOB_NICE,
                            .ev = &events,
                            .owner = a};
    struct job *j = job_start(l, &spec, e);
    if (!j) {
        if (a->dir >= 0)
            close(a->dir);
        buf_release(&a->warnings);
        free(a);
    }
    return j;
}

static void sentence(char *out, size_t n, const char *doing, const char *path)
{
    snprintf(out, n, "%s %.200s", doing, path);
}

static void last_name(char *out, size_t n, const char *path)
{
    struct str s = str_of(path);
    while (s.n > 1 && s.p[s.n - 1] == '/')
        s.n--;
    size_t from = s.n;
    while (from > 0 && s.p[from - 1] != '/')
        from--;
    snprintf(out, n, "%.*s", (int)(s.n - from), s.p + from);
}

struct job *archive_zip(struct loop *l, const struct archive_zip_spec *spec,
                        archive_data_fn *data, archive_done_fn *done, void *arg,
                        struct err *e)
{
    struct archive_zip_job child = {.level = spec->level, .folders = spec->folders};
    /* Not the opening of a pipe or a device: that may block, or do something. */
    if (stat(spec->path, &child.st) < 0) {
        err_sys(e, errno, "cannot open %.200s", spec->path);
        return NULL;
    }
    if (!S_ISREG(child.st.st_mode) && !S_ISDIR(child.st.st_mode)) {
        err_set(e, ERR_INVALID, "%.200s is neither a file nor a folder", spec->path);
        return NULL;
    }
    int fd = within_open(spec->path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0);
    if (fd < 0 || fstat(fd, &child.st) < 0) {
        err_sys(e, errno, "cannot open %.200s", spec->path);
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    last_name(child.name, sizeof(child.name), spec->path);
    char what[256];
    sentence(what, sizeof(what), "zipping", spec->path);
    struct job *j = start(l, new_archive(data, done, arg), what, archive_zip_child,
                          &child, &fd, 1, e);
    close(fd);
    return j;
}

struct job *archive_unzip(struct loop *l, const struct archive_unzip_spec *spec,
                          archive_done_fn *done, void *arg, struct err *e)
{
    struct archive_unzip_job child = {.spec = *spec};
    int dir = open(spec->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) {
        err_sys(e, errno, "cannot unpack into %.200s", spec->dir);
        return NULL;
    }
    struct archive *a = new_archive(NULL, done, arg);
    random_hex(child.token, ARCHIVE_TOKEN);
    memcpy(a->token, child.token, sizeof(a->token));
    a->dir = dir;
    char what[256];
    sentence(what, sizeof(what), "unpacking into", spec->dir);
    int fds[] = {[ARCHIVE_PATH] = dir, [ARCHIVE_FILE] = spec->fd};
    return start(l, a, what, archive_unzip_child, &child, fds, 2, e);
}
