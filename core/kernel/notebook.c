/* SPDX-License-Identifier: MIT */
#include "kernel/notebook.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum {
    COPY_MAX = 256 << 20,
    SHOWN_MAX = 1000, /* outputs that can still be updated */
    ERROR_MAX = 500   /* bytes of each of its parts */
};

struct notebook {
    struct json *book, *cells;
    struct json *cell, *outputs; /* of the cell that runs; borrowed from book */
    struct json *last;           /* of its outputs */
    struct buf stream;           /* last's text so far, if it is a stream */
    bool clear;                  /* before the next output */
    struct shown {
        char *id;
        struct json *output, *of; /* borrowed; of: the list that contains it */
    } shown[SHOWN_MAX];
    int nshown;
};

/* ---- reading ---- */

static bool has_tag(const struct json *cell, struct str tag)
{
    const struct json *tags = json_get(json_get(cell, "metadata"), "tags");
    for (const struct json *t = json_first(tags); t; t = json_next(t)) {
        if (str_eq(json_str_value(t, ""), tag))
            return true;
    }
    return false;
}

/* Whether the cell is to be run; nbclient has the same tag. */
static bool is_code(const struct json *cell)
{
    return str_eq(json_str(cell, "cell_type", ""), STR("code")) &&
           !has_tag(cell, STR("skip-execution"));
}

static int check(const struct json *book, const char *name, struct err *e)
{
    if (!book) {
        struct err why = *e;
        return err_set(e, ERR_INVALID, "%s is not a notebook: %s", name, why.text);
    }
    int64_t format = json_int(book, "nbformat", json_has(book, "worksheets") ? 3 : 4);
    if (format < 4)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s is a notebook of format %lld, which Jupyter left in 2015: "
                       "jupyter nbconvert --to notebook makes one of format 4 of it",
                       name, (long long)format);
    if (format > 4)
        return err_set(e, ERR_UNSUPPORTED,
                       "%s is a notebook of format %lld, and format 4 is what is known "
                       "here",
                       name, (long long)format);
    if (!json_is_array(json_get(book, "cells")))
        return err_set(e, ERR_INVALID, "%s is not a notebook: it has no cells", name);
    return 0;
}

struct notebook *notebook_parse(struct str text, const char *name, struct err *e)
{
    struct json *book = json_parse(text, e);
    if (check(book, name, e) < 0) {
        json_free(book);
        return NULL;
    }
    struct notebook *b = xnew(struct notebook);
    b->book = book;
    b->cells = json_get(book, "cells");
    buf_init(&b->stream, COPY_MAX);
    return b;
}

void notebook_free(struct notebook *b)
{
    if (!b)
        return;
    for (int i = 0; i < b->nshown; i++)
        free(b->shown[i].id);
    buf_release(&b->stream);
    json_free(b->book);
    free(b);
}

struct str notebook_kernel(const struct notebook *b)
{
    return json_str(json_get(json_get(b->book, "metadata"), "kernelspec"), "name", "");
}

int notebook_cells(const struct notebook *b)
{
    int n = 0;
    for (struct json *c = json_first(b->cells); c; c = json_next(c))
        n += is_code(c);
    return n;
}

bool notebook_next(struct notebook *b, struct buf *source)
{
    struct json *c = b->cell ? json_next(b->cell) : json_first(b->cells);
    while (c && !is_code(c))
        c = json_next(c);
    buf_reset(source);
    if (!c)
        return false;
    const struct json *s = json_get(c, "source");
    buf_adds(source, json_str_value(s, ""));
    if (json_is_array(s)) {
        for (struct json *line = json_first(s); line; line = json_next(line))
            buf_adds(source, json_str_value(line, ""));
    }
    b->cell = c;
    b->outputs = json_array();
    b->last = NULL;
    b->clear = false;
    buf_reset(&b->stream);
    json_put_null(c, "execution_count");
    json_put(c, "outputs", b->outputs);
    return true;
}

bool notebook_may_fail(const struct notebook *b)
{
    return has_tag(b->cell, STR("raises-exception"));
}

/* The first line of a text, cut, without what would move a terminal's cursor. */
static void put_first_line(struct buf *out, struct str text)
{
    text = str_trim(text);
    text = str_sub(text, 0, utf8_cut(text, ERROR_MAX));
    for (size_t i = 0; i < text.n && text.p[i] != '\n'; i++)
        buf_addc(out, (unsigned char)text.p[i] < ' ' ? ' ' : text.p[i]);
}

void notebook_error(const struct notebook *b, struct buf *out)
{
    for (const struct json *o = json_first(b->outputs); o; o = json_next(o)) {
        if (!str_eq(json_str(o, "output_type", ""), STR("error")))
            continue;
        buf_addz(out, out->n ? "; " : "");
        put_first_line(out, json_str(o, "ename", ""));
        buf_addz(out, ": ");
        put_first_line(out, json_str(o, "evalue", ""));
    }
}

/* ---- outputs ---- */

static struct json *copy_of(const struct json *j)
{
    struct buf b = BUF_INIT(COPY_MAX);
    struct json *copy = j && json_print(&b, j) == 0
                            ? json_parse(buf_str(&b), &(struct err){0})
                            : NULL;
    buf_release(&b);
    return copy;
}

static struct json *object_of(const struct json *j)
{
    struct json *copy = json_is_object(j) ? copy_of(j) : NULL;
    return copy ? copy : json_object();
}

/* Makes an output with exactly the members that nbformat allows for this type; NULL if a
   notebook has no such output. */
static struct json *output_of(struct str type, const struct json *content)
{
    struct json *j = json_object();
    if (str_eq(type, STR("stream"))) {
        json_put_str(j, "name", json_str(content, "name", "stdout"));
        json_put_z(j, "output_type", "stream");
        json_put_z(j, "text", "");
    } else if (str_eq(type, STR("execute_result")) || str_eq(type, STR("display_data"))) {
        json_put(j, "data", object_of(json_get(content, "data")));
        if (str_eq(type, STR("execute_result")))
            json_put_int(j, "execution_count", json_int(content, "execution_count", 0));
        json_put(j, "metadata", object_of(json_get(content, "metadata")));
        json_put_str(j, "output_type", type);
    } else if (str_eq(type, STR("error"))) {
        struct json *trace = json_array();
        const struct json *lines = json_get(content, "traceback");
        for (struct json *l = json_is_array(lines) ? json_first(lines) : NULL; l;
             l = json_next(l))
            json_push_str(trace, json_str_value(l, ""));
        json_put_str(j, "ename", json_str(content, "ename", ""));
        json_put_str(j, "evalue", json_str(content, "evalue", ""));
        json_put_z(j, "output_type", "error");
        json_put(j, "traceback", trace);
    } else {
        json_free(j);
        j = NULL;
    }
    return j;
}

static void end_stream(struct notebook *b)
{
    if (b->last && b->stream.n)
        json_put_str(b->last, "text", buf_str(&b->stream));
    buf_reset(&b->stream);
}

/* Further text of the same stream belongs to the previous output. */
static bool joins(struct notebook *b, struct str type, const struct json *content)
{
    return b->last && str_eq(type, STR("stream")) &&
           str_eq(json_str(b->last, "output_type", ""), type) &&
           str_eq(json_str(b->last, "name", ""), json_str(content, "name", "stdout"));
}

/* Updates outputs that were shown with this display_id, in earlier cells, too. */
static void update(struct notebook *b, struct str id, const struct json *content)
{
    for (int i = 0; i < b->nshown; i++) {
        if (!str_eq(str_of(b->shown[i].id), id))
            continue;
        json_put(b->shown[i].output, "data", object_of(json_get(content, "data")));
        json_put(b->shown[i].output, "metadata",
                 object_of(json_get(content, "metadata")));
    }
}

/* clear_output: removes the outputs of the running cell. */
static void forget(struct notebook *b)
{
    int kept = 0;
    for (int i = 0; i < b->nshown; i++) {
        if (b->shown[i].of == b->outputs)
            free(b->shown[i].id);
        else
            b->shown[kept++] = b->shown[i];
    }
    b->nshown = kept;
    for (struct json *c; (c = json_first(b->outputs));)
        json_drop(b->outputs, c);
    b->last = NULL;
    buf_reset(&b->stream);
}

static void remember(struct notebook *b, struct str id, struct json *output)
{
    if (id.n == 0 || b->nshown == SHOWN_MAX)
        return;
    b->shown[b->nshown++] = (struct shown){xstrndup(id.p, id.n), output, b->outputs};
}

static void add(struct notebook *b, struct str type, struct str id,
                const struct json *content)
{
    struct json *j = output_of(type, content);
    if (!j)
        return;
    if (b->clear)
        forget(b);
    b->clear = false;
    if (joins(b, type, content)) {
        json_free(j);
    } else {
        end_stream(b);
        json_push(b->outputs, j);
        b->last = j;
        if (!str_eq(type, STR("stream")) && !str_eq(type, STR("error")))
            remember(b, id, j);
    }
    if (str_eq(type, STR("stream")))
        buf_adds(&b->stream, json_str(content, "text", ""));
}

void notebook_output(struct notebook *b, struct str type, const struct json *content)
{
    struct str id = json_str(json_get(content, "transient"), "display_id", "");
    if (!b->outputs)
        return;
    if (str_eq(type, STR("clear_output"))) {
        b->clear = json_bool(content, "wait", false);
        if (!b->clear)
            forget(b);
    } else if (str_eq(type, STR("update_display_data")))
        update(b, id, content);
    else
        add(b, type, id, content);
}

void notebook_ended(struct notebook *b, int64_t count)
{
    if (!b->cell)
        return;
    end_stream(b);
    if (count)
        json_put_int(b->cell, "execution_count", count);
}

/* ---- writing ---- */

int notebook_print(struct buf *out, const struct notebook *b)
{
    struct buf text = BUF_INIT(COPY_MAX);
    size_t before = out->n;
    int rc = json_print(&text, b->book) < 0 ? -1
                                            : notebook_write(out, buf_str(&text), true);
    if (rc < 0)
        buf_truncate(out, before);
    buf_release(&text);
    return rc;
}
