/* SPDX-License-Identifier: MIT */
#include "kernel/notebook.h"

#include "base/jsontext.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

/* What a value is, by its place in the notebook. */
enum notebook_where {
    ANY,
    NOTEBOOK,
    OF_NOTEBOOK, /* its metadata */
    CELLS,
    CELL,
    OF_CELL, /* its metadata */
    ATTACHMENTS,
    OUTPUTS,
    OUTPUT,
    BUNDLE, /* data by its media type */
    TEXT
};

struct notebook_print {
    struct buf *out;
    bool file; /* as a file; else for a client */
};

struct notebook_field {
    struct str name, value;
    char *shown; /* owned: the name as it is written, with its first quote */
    size_t at;   /* its place among the others */
};

static const struct notebook_child {
    enum notebook_where at;
    const char *name; /* NULL: any, or an item */
    enum notebook_where is;
} children[] = {{NOTEBOOK, "cells", CELLS},  {NOTEBOOK, "metadata", OF_NOTEBOOK},
                {CELLS, NULL, CELL},         {CELL, "source", TEXT},
                {CELL, "metadata", OF_CELL}, {CELL, "attachments", ATTACHMENTS},
                {CELL, "outputs", OUTPUTS},  {ATTACHMENTS, NULL, BUNDLE},
                {OUTPUTS, NULL, OUTPUT},     {OUTPUT, "data", BUNDLE},
                {OUTPUT, "text", TEXT}};

static bool is_text(struct str type, bool file)
{
    if (file)
        return str_starts(type, STR("text/")) ||
               str_eq(type, STR("application/javascript")) ||
               str_eq(type, STR("image/svg+xml"));
    return !str_eq(type, STR("application/json")) &&
           !(str_starts(type, STR("application/")) && str_ends(type, STR("+json")));
}

static enum notebook_where below(const struct notebook_print *w, enum notebook_where at,
                                 struct str name)
{
    if (at == BUNDLE)
        return is_text(name, w->file) ? TEXT : ANY;
    for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++) {
        const struct notebook_child *c = &children[i];
        if (c->at == at && (!c->name || str_eq(name, str_of(c->name))))
            return c->is;
    }
    return ANY;
}

/* Members that are about one program's memory, not about the notebook. */
static bool is_passing(enum notebook_where at, struct str name)
{
    return at == OF_CELL ? str_eq(name, STR("trusted"))
                         : at == OF_NOTEBOOK && (str_starts(name, STR("orig_nbformat")) ||
                                                 str_eq(name, STR("signature")));
}

static void line(const struct notebook_print *w, int level)
{
    if (!w->file)
        return;
    buf_addc(w->out, '\n');
    for (int i = 0; i < level; i++)
        buf_addc(w->out, ' ');
}

/* A string again, with what can be written as it is. */
static void put_string(const struct notebook_print *w, struct str value)
{
    struct buf text = BUF_INIT(value.n + 16);
    jsontext_string(&text, value);
    json_quote(w->out, buf_str(&text));
    buf_release(&text);
}

/* How long the line break at the beginning of s is, as Python's splitlines knows it. */
static size_t line_break(struct str s)
{
    unsigned char c = (unsigned char)s.p[0];
    if (c == '\r')
        return s.n > 1 && s.p[1] == '\n' ? 2 : 1;
    if ((c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e))
        return 1;
    if (s.n > 1 && memcmp(s.p, "\xc2\x85", 2) == 0)
        return 2;
    return s.n > 2 && c == 0xe2 &&
                   (memcmp(s.p, "\xe2\x80\xa8", 3) == 0 ||
                    memcmp(s.p, "\xe2\x80\xa9", 3) == 0)
               ? 3
               : 0;
}

static void put_lines(const struct notebook_print *w, struct str value, int level)
{
    struct buf text = BUF_INIT(value.n + 16);
    jsontext_string(&text, value);
    buf_addc(w->out, '[');
    for (struct str rest = buf_str(&text); rest.n;) {
        size_t n = 0, end = 0;
        while (n < rest.n && !(end = line_break(str_sub(rest, n, rest.n))))
            n++;
        if (rest.p != text.p)
            buf_addc(w->out, ',');
        line(w, level + 1);
        json_quote(w->out, str_sub(rest, 0, n + end));
        rest = str_sub(rest, n + end, rest.n);
    }
    if (text.n)
        line(w, level);
    buf_addc(w->out, ']');
    buf_release(&text);
}

/* Joins an array of strings. Returns false, and appends nothing, if it has others. */
static bool put_joined(const struct notebook_print *w, struct str value)
{
    struct buf text = BUF_INIT(value.n + 16);
    struct str inside = jsontext_inside(value), one;
    bool all = true;
    while (all && jsontext_item(&inside, &one))
        all = jsontext_string(&text, one) == 0;
    if (all)
        json_quote(w->out, buf_str(&text));
    buf_release(&text);
    return all;
}

static void put(const struct notebook_print *w, struct str value, enum notebook_where at,
                int level);

static void put_array(const struct notebook_print *w, struct str value,
                      enum notebook_where at, int level)
{
    struct str inside = jsontext_inside(value), one;
    bool any = false;
    buf_addc(w->out, '[');
    for (; jsontext_item(&inside, &one); any = true) {
        if (any)
            buf_addc(w->out, ',');
        line(w, level + 1);
        put(w, one, below(w, at, STR("")), level + 1);
    }
    if (any)
        line(w, level);
    buf_addc(w->out, ']');
}

static int by_name(const void *a, const void *b)
{
    const struct notebook_field *x = a, *y = b;
    int c = strcmp(x->shown, y->shown);
    return c ? c : (x->at > y->at) - (x->at < y->at); /* a name may be there twice */
}

static char *shown(struct str name)
{
    struct notebook_print w = {.out = &(struct buf)BUF_INIT(6 * name.n + 64)};
    put_string(&w, str_n(name.p - 1, name.n + 2));
    if (w.out->n)
        buf_truncate(w.out, w.out->n - 1);
    return buf_take(w.out);
}

static void put_object(const struct notebook_print *w, struct str value,
                       enum notebook_where at, int level)
{
    struct str inside = jsontext_inside(value);
    struct notebook_field *all = NULL, one;
    size_t n = 0, cap = 0;
    while (jsontext_member(&inside, &one.name, &one.value)) {
        if (w->file && is_passing(at, one.name))
            continue;
        if (n == cap)
            all = xrealloc(all, cap = cap ? 2 * cap : 16, sizeof(*all));
        one.at = n;
        one.shown = shown(one.name);
        all[n++] = one;
    }
    if (w->file && n)
        qsort(all, n, sizeof(*all), by_name);
    buf_addc(w->out, '{');
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_addc(w->out, ',');
        line(w, level + 1);
        buf_addz(w->out, all[i].shown);
        buf_addz(w->out, w->file ? "\": " : "\":");
        free(all[i].shown);
        put(w, all[i].value, below(w, at, all[i].name), level + 1);
    }
    if (n)
        line(w, level);
    buf_addc(w->out, '}');
    free(all);
}

static void put(const struct notebook_print *w, struct str value, enum notebook_where at,
                int level)
{
    char first = value.n ? value.p[0] : 0;
    if (first == '{')
        put_object(w, value, at, level);
    else if (first == '[' && (at != TEXT || w->file || !put_joined(w, value)))
        put_array(w, value, at, level);
    else if (first == '"' && at == TEXT && w->file)
        put_lines(w, value, level);
    else if (first == '"')
        put_string(w, value);
    else if (first != '[')
        buf_adds(w->out, value);
}

int notebook_write(struct buf *out, struct str book, bool file)
{
    struct notebook_print w = {.out = out, .file = file};
    put(&w, book, NOTEBOOK, 0);
    if (file)
        buf_addc(out, '\n');
    return buf_full(out) ? -1 : 0;
}
