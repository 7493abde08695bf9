/* SPDX-License-Identifier: MIT */
/* The output of a cell as text and pictures. */
#include "kernel/cell_text.h"

#include "base/enc.h"
#include "base/utf8.h"

#include <stdlib.h>
#include <string.h>

enum { OTHER_MAX = 256, BYTES_MAX = 192 << 20 };

/* Pictures that are shown as such. */
static const char *const pictures[] = {"image/png", "image/jpeg", "image/gif"};
enum { NPICTURES = sizeof(pictures) / sizeof(*pictures) };

void cell_text_init(struct cell_text *t, size_t max)
{
    *t = (struct cell_text){0};
    buf_init(&t->text, max);
    buf_init(&t->other, OTHER_MAX);
}

void cell_text_release(struct cell_text *t)
{
    buf_release(&t->text);
    buf_release(&t->other);
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
                                 s.p[end] == ';' || s.p[end] == ':' || s.p[end] == '?'))
                end++;
            if (end < s.n && (s.p[end] == 'm' || s.p[end] == 'h' || s.p[end] == 'l')) {
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

bool cell_text_displays(struct str type)
{
    return str_eq(type, STR("execute_result")) || str_eq(type, STR("display_data")) ||
           str_eq(type, STR("update_display_data")) || str_eq(type, STR("error"));
}

/* Returns the text of a display; NULL if it has none. */
static const struct json *text_of(const struct json *data)
{
    static const char *const types[] = {"text/plain", "text/markdown", "text/latex"};
    const struct json *v = NULL;
    for (size_t i = 0; i < 3 && !v; i++)
        v = json_get(data, types[i]);
    return v;
}

/* Returns the first of its pictures; NULL if it has none. */
static const struct json *picture_of(const struct json *data)
{
    const struct json *v = NULL;
    for (size_t i = 0; i < NPICTURES && !v; i++)
        v = json_get(data, pictures[i]);
    return v;
}

static bool is_media(struct str mime)
{
    return str_starts(mime, STR("image/")) || str_starts(mime, STR("video/")) ||
           str_starts(mime, STR("audio/")) || str_eq(mime, STR("application/pdf"));
}

static const struct json *other_of(const struct json *data)
{
    const struct json *text = text_of(data), *other = NULL;
    struct str words = json_str_value(text, "");
    bool is_named = !text || (str_starts(words, STR("<")) &&
                              str_ends(words, STR(" object>")));
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        struct str mime = str_of(json_name(v));
        if (is_media(mime))
            return v;
        if (!other && is_named && v != text && !json_is_null(v))
            other = v;
    }
    return other;
}

/* The ending: letters and digits of the subtype, as in image/svg+xml. */
static void set_names(struct cell_other *o, struct str mime)
{
    size_t n = 0;
    mime = str_sub(mime, 0, utf8_cut(mime, sizeof(o->mime) - 1));
    for (size_t i = 0; i < mime.n; i++)
        o->mime[i] = mime.p[i] < ' ' || strchr("[]", mime.p[i]) ? '?' : mime.p[i];
    long slash = str_chr(mime, '/');
    for (struct str s = str_sub(mime, (size_t)(slash + 1), mime.n);
         n < sizeof(o->ending) - 1 && n < s.n && strchr("abcdefghijklmnopqrstuvwxyz"
                                                        "0123456789", s.p[n]);
         n++)
        o->ending[n] = s.p[n];
}

bool cell_other_of(struct cell_other *o, struct str type, const struct json *content,
                   bool with_pictures)
{
    const struct json *data = json_get(content, "data"), *v = NULL;
    if (cell_text_displays(type) && (with_pictures || !picture_of(data)))
        v = other_of(data);
    struct buf text = BUF_INIT(BYTES_MAX);
    if (!v)
        return false;
    *o = (struct cell_other){.bytes = BUF_INIT(BYTES_MAX)};
    set_names(o, str_of(json_name(v)));
    bool base64 = is_media(str_of(o->mime)) && !str_ends(str_of(o->mime), STR("+xml"));
    if (json_is_string(v) || (json_is_array(v) && json_is_string(json_first(v)) &&
                              !str_ends(str_of(o->mime), STR("json"))))
        add_value(&text, v);
    else
        json_print(&text, v);
    if (!base64 || dec_base64(&o->bytes, str_trim(buf_str(&text))) < 0) {
        buf_reset(&o->bytes);
        buf_adds(&o->bytes, buf_str(&text));
    }
    buf_release(&text);
    return true;
}

void cell_other_release(struct cell_other *o) { buf_release(&o->bytes); }

void cell_other_put(struct buf *out, const struct cell_other *o, const char *place)
{
    buf_addf(out, "[%s, %zu bytes%s%s]", o->mime, o->bytes.n, place[0] ? ": " : "",
             place);
}

bool cell_text_of(struct buf *out, struct str type, const struct json *content)
{
    size_t at = out->n;
    if (str_eq(type, STR("stream"))) {
        buf_adds(out, json_str(content, "text", ""));
    } else if (cell_text_displays(type) && !str_eq(type, STR("error"))) {
        add_value(out, text_of(json_get(content, "data")));
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
    const struct json *v = picture_of(json_get(content, "data"));
    struct buf url = BUF_INIT(192 << 20), raw = BUF_INIT(192 << 20);
    if (!v)
        return;
    add_value(&raw, v);
    buf_addf(&url, "data:%s;base64,", json_name(v));
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

static void add_part(struct cell_text *t, bool display, struct str text)
{
    if (t->open && t->apart)
        buf_addc(&t->text, '\n');
    if (cell_text_plain(&t->text, text) < 0)
        t->lost += text.n;
    t->open = display && !str_ends(text, STR("\n"));
}

void cell_text_say(struct cell_text *t, struct str text) { add_part(t, true, text); }

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
        t->clear = t->open = false;
    }
    struct buf part = BUF_INIT(BYTES_MAX);
    struct cell_other o;
    if (cell_text_of(&part, type, content))
        add_part(t, cell_text_displays(type), buf_str(&part));
    buf_release(&part);
    if (cell_other_of(&o, type, content, false)) {
        buf_reset(&t->other);
        cell_other_put(&t->other, &o, "");
        cell_other_release(&o);
    }
    add_image(t, content);
}
