/* SPDX-License-Identifier: MIT */
#include "front/tmux/screen.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHECKPOINT_MAX = 16 << 20 };

/* ---- what the picture reports ---- */

static void on_row(void *arg, struct str form, bool wrapped)
{
    struct pane_screen *s = arg;
    history_add(&s->history, form, wrapped);
}

static void on_forget(void *arg)
{
    struct pane_screen *s = arg;
    history_clear(&s->history);
}

static void on_rung(void *arg)
{
    struct pane_screen *s = arg;
    s->bells++;
    if (s->calls && s->calls->rung)
        s->calls->rung(s->arg);
}

static const struct picture_events events = {on_row, on_forget, on_rung};

/* ---- checkpoints ---- */

static bool file_of(const struct pane_screen *s, const char *ending, char *out,
                    size_t size)
{
    return s->dir && buf_fill(out, size, "%s/%s.%s", s->dir, s->name, ending);
}

/* A line of JSON, then the bytes that paint the screen. */
static void write_checkpoint(struct pane_screen *s)
{
    char path[512], temp[520];
    struct history_place at = history_save(&s->history);
    struct buf b = BUF_INIT(CHECKPOINT_MAX);
    int rows, cols;
    s->saved_at = s->at;
    if (!file_of(s, "screen", path, sizeof(path)))
        return;
    picture_size(s->pic, &rows, &cols);
    buf_addf(&b,
             "{\"rows\":%d,\"cols\":%d,\"at\":%llu,\"asked\":%llu,\"bells\":%llu,"
             "\"bytes\":%llu,\"lines\":%llu,\"first\":%llu}\n",
             rows, cols, (unsigned long long)s->at, (unsigned long long)s->asked,
             (unsigned long long)s->bells, (unsigned long long)at.bytes,
             (unsigned long long)at.rows, (unsigned long long)at.first);
    picture_paint(s->pic, &b, NULL, NULL);
    snprintf(temp, sizeof(temp), "%s.new", path);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0 && !buf_full(&b) && write(fd, b.p, b.n) == (ssize_t)b.n;
    if (fd >= 0)
        close(fd);
    if (!good || rename(temp, path) < 0)
        log_debug("tmux: a screen cannot be kept in %s: %m", path);
    buf_release(&b);
}

void screen_keep(struct pane_screen *s, uint64_t bytes)
{
    if (s->at - s->saved_at > bytes && picture_whole(s->pic))
        write_checkpoint(s);
}

/* Reads the checkpoint; false: there is none. */
static bool read_checkpoint(struct pane_screen *s, int *rows, int *cols,
                            struct history_place *at, struct buf *paint)
{
    char path[512];
    if (!file_of(s, "screen", path, sizeof(path)))
        return false;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool good = fd >= 0;
    for (ssize_t n = 1; good && n > 0;) {
        char *p = buf_reserve(paint, 64 << 10);
        n = p ? read(fd, p, 64 << 10) : -1;
        good = n >= 0;
        buf_commit(paint, n > 0 ? (size_t)n : 0);
    }
    if (fd >= 0)
        close(fd);
    struct str rest = buf_str(paint), line = str_cut(&rest, '\n');
    struct json *j = good ? json_parse(line, NULL) : NULL;
    if (!j)
        return false;
    *rows = (int)json_int(j, "rows", *rows);
    *cols = (int)json_int(j, "cols", *cols);
    s->at = s->saved_at = (uint64_t)json_int(j, "at", 0);
    s->asked = (uint64_t)json_int(j, "asked", 0);
    s->bells = (uint64_t)json_int(j, "bells", 0);
    at->bytes = (uint64_t)json_int(j, "bytes", 0);
    at->rows = (uint64_t)json_int(j, "lines", 0);
    at->first = (uint64_t)json_int(j, "first", 0);
    json_free(j);
    buf_consume(paint, line.n + 1);
    return true;
}

/* ---- life ---- */

void screen_open(struct pane_screen *s, const char *dir, const char *name, int rows,
                 int cols, uint64_t limit, bool again,
                 const struct pane_screen_calls *calls, void *arg)
{
    struct history_place at = {0};
    struct buf paint = BUF_INIT(CHECKPOINT_MAX);
    struct err e = ERR_INIT;
    *s = (struct pane_screen){.dir = dir ? xstrdup(dir) : NULL,
                              .name = xstrdup(name),
                              .plain = BUF_INIT(SIZE_MAX)};
    bool kept = again && read_checkpoint(s, &rows, &cols, &at, &paint);
    s->pic = picture_new_large(rows, cols);
    if (kept) {
        picture_feed(s->pic, buf_str(&paint), &s->plain);
        buf_reset(&s->plain);
    }
    picture_watch(s->pic, &events, s);
    if (history_open(&s->history, dir, name, &at, limit, &e) < 0 || e.code)
        log_warn("tmux: %s", e.text);
    s->calls = calls;
    s->arg = arg;
    buf_release(&paint);
}

void screen_close(struct pane_screen *s, bool remove)
{
    char path[512];
    if (!s->pic)
        return;
    if (!remove)
        write_checkpoint(s);
    picture_free(s->pic);
    history_close(&s->history);
    if (remove && s->dir) {
        history_remove(s->dir, s->name);
        if (file_of(s, "screen", path, sizeof(path)))
            unlink(path);
    }
    buf_release(&s->plain);
    free(s->dir);
    free(s->name);
    *s = (struct pane_screen){0};
}

void screen_feed(struct pane_screen *s, uint64_t offset, struct str bytes)
{
    if (offset < s->at)
        bytes = str_sub(bytes, (size_t)(s->at - offset), bytes.n);
    picture_answer(s->pic, bytes, &s->plain);
    s->asked += s->plain.n;
    if (s->plain.n > 0 && s->calls && s->calls->asked)
        s->calls->asked(s->arg, s->asked, buf_str(&s->plain));
    buf_reset(&s->plain);
    s->at = (offset < s->at ? s->at : offset) + bytes.n;
}

void screen_size(struct pane_screen *s, int rows, int cols)
{
    picture_resize(s->pic, rows, cols, &s->plain);
    buf_reset(&s->plain);
    write_checkpoint(s);
}

void screen_forget(struct pane_screen *s)
{
    history_clear(&s->history);
    write_checkpoint(s);
}

void screen_draw(struct pane_screen *s, struct str bytes)
{
    picture_feed(s->pic, bytes, &s->plain);
    buf_reset(&s->plain);
    write_checkpoint(s);
}

void screen_clear(struct pane_screen *s)
{
    picture_watch(s->pic, NULL, NULL);
    picture_reset(s->pic);
    picture_watch(s->pic, &events, s);
    write_checkpoint(s);
}

void screen_restart(struct pane_screen *s)
{
    s->at = s->saved_at = s->asked = s->bells = 0;
    screen_clear(s);
}
