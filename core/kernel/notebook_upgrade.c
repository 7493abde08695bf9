/* SPDX-License-Identifier: MIT */
/*
 * A notebook of nbformat 3 as one of nbformat 4.5, as nbformat/v4/convert.py makes it:
 * its worksheets become one list of cells, and inputs, prompts and outputs get the names
 * and MIME types of today. The id of a cell is by its place, so it is the same each time.
 */
#include "kernel/notebook.h"

#include "base/str.h"

#include <stdio.h>

/* Gives a member another name. Does nothing if it is not there. */
static void rename_member(struct json *o, const char *from, const char *to)
{
    struct json *value = json_take(o, from);
    if (value)
        json_put(o, to, value);
}

/* A text, or a list of its lines. */
static void add_text(struct buf *out, const struct json *text)
{
    const struct json *x = json_is_array(text) ? json_first(text) : NULL;
    if (json_is_string(text))
        buf_adds(out, json_str_value(text, ""));
    for (; x; x = json_next(x))
        buf_adds(out, json_str_value(x, ""));
}

static struct json *metadata_of(struct json *o)
{
    if (!json_is_object(json_get(o, "metadata")))
        json_put(o, "metadata", json_object());
    return json_get(o, "metadata");
}

static void to_mime(struct json *o)
{
    static const char *const names[][2] = {{"text", "text/plain"},
                                           {"html", "text/html"},
                                           {"svg", "image/svg+xml"},
                                           {"png", "image/png"},
                                           {"jpeg", "image/jpeg"},
                                           {"latex", "text/latex"},
                                           {"json", "application/json"},
                                           {"javascript", "application/javascript"}};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        rename_member(o, names[i][0], names[i][1]);
}

/* In nbformat 3 the value of JSON is its text. */
static void parse_json(struct json *data)
{
    static const char name[] = "application/json";
    struct err e = ERR_INIT;
    struct json *text = json_get(data, name), *value = NULL;
    struct buf b = BUF_INIT(NOTEBOOK_JSON_MAX);
    if (text) {
        add_text(&b, text);
        value = json_parse(buf_str(&b), &e);
    }
    if (value)
        json_put(data, name, value);
    buf_release(&b);
}

static bool stays_beside(const char *name)
{
    return str_eq(str_of(name), STR("output_type")) ||
           str_eq(str_of(name), STR("execution_count")) ||
           str_eq(str_of(name), STR("metadata"));
}

static void upgrade_output(struct json *o)
{
    struct str type = json_str(o, "output_type", "");
    bool result = str_eq(type, STR("pyout"));
    if (str_eq(type, STR("stream"))) {
        rename_member(o, "stream", "name");
        if (!json_has(o, "name"))
            json_put_z(o, "name", "stdout");
        return;
    }
    if (str_eq(type, STR("pyerr"))) {
        json_put_z(o, "output_type", "error");
        return;
    }
    if (!result && !str_eq(type, STR("display_data")))
        return;
    to_mime(metadata_of(o));
    if (result) {
        json_put_z(o, "output_type", "execute_result");
        rename_member(o, "prompt_number", "execution_count");
        if (!json_has(o, "execution_count"))
            json_put_null(o, "execution_count");
    }
    struct json *data = json_object();
    for (struct json *x = json_first(o), *next; x; x = next) {
        next = json_next(x);
        if (!stays_beside(json_name(x))) {
            json_put(data, json_name(x), json_copy(x));
            json_drop(o, x);
        }
    }
    to_mime(data);
    parse_json(data);
    json_put(o, "data", data);
}

static void upgrade_code(struct json *cell)
{
    struct json *collapsed = json_take(cell, "collapsed");
    json_free(json_take(cell, "language"));
    if (collapsed)
        json_put(metadata_of(cell), "collapsed", collapsed);
    rename_member(cell, "input", "source");
    if (!json_has(cell, "source"))
        json_put_z(cell, "source", "");
    rename_member(cell, "prompt_number", "execution_count");
    if (!json_has(cell, "execution_count"))
        json_put_null(cell, "execution_count");
    if (!json_is_array(json_get(cell, "outputs")))
        json_put(cell, "outputs", json_array());
    for (struct json *o = json_first(json_get(cell, "outputs")); o; o = json_next(o)) {
        if (json_is_object(o))
            upgrade_output(o);
    }
}

/* "## Title": its level as hashes, its lines as one. */
static void upgrade_heading(struct json *cell)
{
    enum { LEVEL_MAX = 6 };
    struct buf text = BUF_INIT(NOTEBOOK_JSON_MAX), out = BUF_INIT(NOTEBOOK_JSON_MAX);
    int64_t level = json_int(cell, "level", 1);
    add_text(&text, json_get(cell, "source"));
    for (int64_t i = 0; i < level && i < LEVEL_MAX; i++)
        buf_addc(&out, '#');
    for (struct str rest = buf_str(&text); rest.n > 0;) {
        buf_addc(&out, ' ');
        buf_adds(&out, str_cut(&rest, '\n'));
    }
    json_free(json_take(cell, "level"));
    json_put_z(cell, "cell_type", "markdown");
    json_put_str(cell, "source", buf_str(&out));
    buf_release(&text);
    buf_release(&out);
}

static void upgrade_cell(struct json *cell, int place)
{
    struct str type = json_str(cell, "cell_type", "");
    char id[24];
    snprintf(id, sizeof(id), "cell-%d", place);
    json_put_z(cell, "id", id);
    metadata_of(cell);
    if (str_eq(type, STR("code")))
        upgrade_code(cell);
    else if (str_eq(type, STR("heading")))
        upgrade_heading(cell);
    else if (str_eq(type, STR("html")))
        json_put_z(cell, "cell_type", "markdown");
}

int notebook_upgrade(struct str text, struct buf *out)
{
    struct err e = ERR_INIT;
    struct json *book = json_parse(text, &e), *cells = json_array();
    const struct json *sheet = json_first(json_get(book, "worksheets"));
    int place = 0, rc = -1;
    for (; sheet; sheet = json_next(sheet)) {
        const struct json *x = json_first(json_get(sheet, "cells"));
        for (; x; x = json_next(x)) {
            struct json *cell = json_copy(x);
            if (json_is_object(cell))
                upgrade_cell(cell, place++);
            json_push(cells, cell);
        }
    }
    if (json_is_object(book)) {
        struct json *metadata = metadata_of(book);
        json_free(json_take(book, "worksheets"));
        json_free(json_take(metadata, "name"));
        json_free(json_take(metadata, "signature"));
        json_put_int(metadata, "orig_nbformat", json_int(book, "orig_nbformat", 3));
        json_put_int(metadata, "orig_nbformat_minor",
                     json_int(book, "orig_nbformat_minor", 0));
        json_free(json_take(book, "orig_nbformat"));
        json_free(json_take(book, "orig_nbformat_minor"));
        json_put_int(book, "nbformat", 4);
        json_put_int(book, "nbformat_minor", 5);
        json_put(book, "cells", cells);
        cells = NULL;
        rc = json_print(out, book);
    }
    json_free(cells);
    json_free(book);
    return rc;
}
