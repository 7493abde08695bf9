/* SPDX-License-Identifier: MIT */
#include "cast/cast.h"

#include "base/json.h"
#include "base/utf8.h"
#include "term/picture.h"

#include <stdio.h>
#include <string.h>

/* ---- the header ---- */

static void put_member(struct buf *out, bool spaced, const char *name, struct str value)
{
    if (value.n == 0)
        return;
    buf_addf(out, spaced ? ", \"%s\": " : ",\"%s\":", name);
    buf_adds(out, value);
}

void cast_put_header(struct buf *out, enum cast_format format,
                     const struct cast_header *h)
{
    char time[24];
    bool v2 = format == CAST_V2;
    if (!v2 && format != CAST_V3)
        return;
    snprintf(time, sizeof(time), "%lld", (long long)h->timestamp);
    if (v2) {
        buf_addf(out, "{\"version\": 2, \"width\": %d, \"height\": %d", h->cols, h->rows);
    } else {
        buf_addf(out, "{\"version\":3,\"term\":{\"cols\":%d,\"rows\":%d", h->cols,
                 h->rows);
        put_member(out, false, "type", h->type);
        put_member(out, false, "theme", h->theme);
        buf_addc(out, '}');
    }
    put_member(out, v2, "timestamp", h->timestamp > 0 ? str_of(time) : STR(""));
    put_member(out, v2, "idle_time_limit", h->idle);
    put_member(out, v2, "command", h->command);
    if (!v2)
        put_member(out, v2, "title", h->title);
    put_member(out, v2, "env", h->env);
    if (v2) {
        put_member(out, v2, "title", h->title);
        put_member(out, v2, "theme", h->theme);
    }
    buf_addz(out, "}\n");
}

/* ---- as text ---- */

static void end_line(struct cast_writer *w)
{
    size_t n = w->line.n;
    while (n > 0 && w->line.p[n - 1] == ' ')
        n--;
    if (n == 0) {
        w->blank++;
    } else {
        for (; w->blank > 0; w->blank--)
            buf_addc(w->out, '\n');
        buf_add(w->out, w->line.p, n);
        buf_addc(w->out, '\n');
    }
    buf_reset(&w->line);
}

/* A row of the screen, without its pens (term/picture.h). */
static void on_row(void *arg, struct str form, bool wrapped)
{
    struct cast_writer *w = arg;
    for (size_t i = 0; i < form.n; i++) {
        if (form.p[i] != '\033') {
            buf_addc(&w->line, form.p[i]);
            continue;
        }
        while (i < form.n && form.p[i] != 'm')
            i++;
    }
    /* A line longer than the buffer is cut there. */
    if (!wrapped || buf_room(&w->line) < (64 << 10))
        end_line(w);
}

static void feed_picture(struct cast_writer *w, struct buf *out, struct str bytes)
{
    struct buf answers = BUF_INIT(64 << 10);
    w->out = out;
    while (bytes.n > 0) {
        struct str part = str_sub(bytes, 0, 1024);
        picture_answer(w->pic, part, &answers);
        buf_reset(&answers);
        bytes = str_sub(bytes, part.n, bytes.n);
    }
    w->out = NULL;
    buf_release(&answers);
}

static void end_picture(struct cast_writer *w, struct buf *out)
{
    struct buf row = BUF_INIT(1 << 20);
    int rows, cols;
    picture_size(w->pic, &rows, &cols);
    w->out = out;
    for (int y = 0; y < rows; y++) {
        bool wrapped = false;
        picture_row(w->pic, y, false, &row, &wrapped);
        on_row(w, buf_str(&row), wrapped && y + 1 < rows);
        buf_reset(&row);
    }
    w->out = NULL;
    buf_release(&row);
}

static void resize_picture(struct cast_writer *w, struct buf *out, struct str size)
{
    struct buf moves = BUF_INIT(64 << 10);
    int cols, rows;
    w->out = out;
    if (cast_size(size, &cols, &rows))
        picture_resize(w->pic, rows, cols, &moves);
    w->out = NULL;
    buf_release(&moves);
}

/* ---- events ---- */

static const struct picture_events txt_events = {.row = on_row};

void cast_begin(struct cast_writer *w, enum cast_format format, int cols, int rows)
{
    *w = (struct cast_writer){.format = format};
    buf_init(&w->line, 1 << 20);
    if (format != CAST_TXT)
        return;
    w->pic = picture_new(rows, cols);
    picture_watch(w->pic, &txt_events, w);
}

void cast_release(struct cast_writer *w)
{
    picture_free(w->pic);
    w->pic = NULL;
    buf_release(&w->line);
}

/* Writes a time as 12.3, with at least one digit after the point. */
static void put_time(struct buf *out, int64_t us)
{
    char fraction[8];
    size_t n = 6;
    snprintf(fraction, sizeof(fraction), "%06d", (int)(us % 1000000));
    while (n > 1 && fraction[n - 1] == '0')
        n--;
    buf_addi(out, us / 1000000);
    buf_addc(out, '.');
    buf_add(out, fraction, n);
}

static void put_event(struct cast_writer *w, struct buf *out, int64_t us, char code,
                      struct str text)
{
    us = us < w->last_us ? w->last_us : us;
    buf_addc(out, '[');
    put_time(out, w->format == CAST_V3 ? us - w->last_us : us);
    w->last_us = us;
    buf_addf(out, ", \"%c\", ", code);
    json_quote(out, text);
    buf_addz(out, "]\n");
}

void cast_put(struct cast_writer *w, struct buf *out, int64_t us, char code,
              struct str bytes)
{
    int side = code == 'i';
    if (w->format == CAST_RAW || w->format == CAST_TXT) {
        if (code == 'o' && w->format == CAST_RAW)
            buf_adds(out, bytes);
        else if (code == 'o')
            feed_picture(w, out, bytes);
        else if (code == 'r' && w->format == CAST_TXT)
            resize_picture(w, out, bytes);
        return;
    }
    if (code != 'o' && code != 'i') {
        put_event(w, out, us, code, bytes);
        return;
    }
    struct buf text = BUF_INIT(CAST_LINE_MAX + 4);
    buf_add(&text, w->held[side], w->nheld[side]);
    buf_adds(&text, bytes);
    size_t n = utf8_cut(buf_str(&text), text.n);
    w->nheld[side] = (unsigned)(text.n - n);
    if (text.n > n)
        memcpy(w->held[side], text.p + n, text.n - n);
    if (n > 0)
        put_event(w, out, us, code, str_sub(buf_str(&text), 0, n));
    buf_release(&text);
}

void cast_end(struct cast_writer *w, struct buf *out, int64_t us)
{
    for (int side = 0; side < 2; side++) {
        if (w->nheld[side] > 0)
            put_event(w, out, us, side ? 'i' : 'o', str_n(w->held[side], w->nheld[side]));
        w->nheld[side] = 0;
    }
    if (w->pic)
        end_picture(w, out);
}
