/* SPDX-License-Identifier: MIT */
/* The output of a cell as text and pictures. */
#include "kernel/cell_text.h"

#include <stdlib.h>

void cell_text_init(struct cell_text *t, size_t max)
{
    *t = (struct cell_text){0};
    buf_init(&t->text, max);
}

void cell_text_release(struct cell_text *t)
{
    buf_release(&t->text);
    json_free(t->images);
    t->images = NULL;
}

/* Removes the last character after `from` if `next`, printed over it, hides it. */
static bool overstruck(struct buf *out, size_t from, struct str next)
{
    size_t at = out->n;
    while (at > from && (out->p[--at] & 0xc0) == 0x80) {
    }
    struct str last = str_sub(buf_str(out), at, out->n);
    if (last.n == 0 || next.n == 0 || (unsigned char)next.p[0] < ' ' ||
        !(str_eq(last, STR("_")) || str_starts(next, last)))
        return false;
    buf_truncate(out, at);
    return true;
}

int cell_text_plain(struct buf *out, struct str s)
{
    size_t from = out->n;
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        while (i + n < s.n && s.p[i + n] != 033 && s.p[i + n] != '\b')
            n++;
        if (buf_add(out, s.p + i, n) < 0)
            return -1;
        i += n;
        if (i == s.n)
            break;
        if (s.p[i] == '\b') {
            if (!overstruck(out, from, str_sub(s, i + 1, s.n)) && buf_addc(out, '\b') < 0)
                return -1;
            i++;
            continue;
        }
        size_t end = i + 1;
        if (end < s.n && s.p[end] == '[') {
            end++;
            while (end < s.n && ((s.p[end] >= '0' && s.p[end] <= '9') ||
                                 s.p[end] == ';' || s.p[end] == ':'))
                end++;
            if (end < s.n && s.p[end] == 'm') {
                i = end + 1;
                continue;
            }
        }
        if (buf_addc(out, 033) < 0)
            return -1;
        i++;
    }
    return 0;
}

/* A value of MIME data: a string or, in notebooks, a list of strings. */
static void add_value(struct buf *out, const struct json *v)
{
    if (json_is_array(v)) {
        for (struct json *c = json_first(v); c; c = json_next(c))
            buf_adds(out, json_str_value(c, ""));
    } else
        buf_adds(out, json_str_value(v, ""));
}

bool cell_text_of(struct buf *out, struct str type, const struct json *content)
{
    size_t at = out->n;
    if (str_eq(type, STR("stream"))) {
        buf_adds(out, json_str(content, "text", ""));
    } else if (str_eq(type, STR("execute_result")) || str_eq(type, STR("display_data")) ||
               str_eq(type, STR("update_display_data"))) {
        add_value(out, json_get(json_get(content, "data"), "text/plain"));
    } else if (str_eq(type, STR("page"))) {
        add_value(out, json_get(content, "text/plain"));
    } else if (str_eq(type, STR("error"))) {
        const struct json *lines = json_get(content, "traceback");
        for (struct json *c = json_first(lines); c; c = json_next(c)) {
            if (out->n > at)
                buf_addc(out, '\n');
            buf_adds(out, json_str_value(c, ""));
        }
        if (out->n == at)
            buf_addf(out, "%.*s: %.*s", STR_ARG(json_str(content, "ename", "")),
                     STR_ARG(json_str(content, "evalue", "")));
    }
    return out->n > at;
}

static void add_image(struct cell_text *t, const struct json *content)
{
    const struct json *v = json_get(json_get(content, "data"), "image/png");
    struct buf url = BUF_INIT(192 << 20), raw = BUF_INIT(192 << 20);
    if (!v)
        return;
    add_value(&raw, v);
    buf_addz(&url, "data:image/png;base64,");
    for (size_t i = 0; i < raw.n; i++) {
        if ((unsigned char)raw.p[i] > ' ')
            buf_addc(&url, raw.p[i]);
    }
    if (!t->images)
        t->images = json_array();
    json_push_str(t->images, buf_str(&url));
    buf_release(&url);
    buf_release(&raw);
}

void cell_text_add(struct cell_text *t, struct str type, const struct json *content)
{
    if (str_eq(type, STR("clear_output"))) {
        t->clear = true;
        if (json_bool(content, "wait", false))
            return;
    }
    if (str_eq(type, STR("note")))
        return;
    if (t->clear) {
        buf_reset(&t->text);
        json_free(t->images);
        t->images = NULL;
        t->clear = false;
    }
    struct buf part = BUF_INIT(192 << 20);
    if (cell_text_of(&part, type, content) &&
        cell_text_plain(&t->text, buf_str(&part)) < 0)
        t->lost += part.n;
    buf_release(&part);
    add_image(t, content);
}
