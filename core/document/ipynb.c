/* SPDX-License-Identifier: MIT */
/*
 * Notebooks (nbformat 4): cells after a mark with their number and type, and the output
 * of the code. Of a picture only the type is shown.
 */
#include "document/own.h"

#include "base/json.h"

enum { JSON_MAX = 64 << 20 };

/* Appends a text, or a list of lines. */
static int add_text(struct buf *out, const struct json *j)
{
    int rc = 0;
    if (json_is_string(j))
        return buf_adds(out, json_str_value(j, ""));
    for (const struct json *x = json_first(j); rc == 0 && x; x = json_next(x))
        rc = buf_adds(out, json_str_value(x, ""));
    return rc;
}

static int end_line(struct buf *out)
{
    return out->n && out->p[out->n - 1] != '\n' ? buf_addc(out, '\n') : 0;
}

static int add_output(struct buf *out, const struct json *o)
{
    struct str type = json_str(o, "output_type", "");
    int rc = 0;
    if (str_eq(type, STR("stream"))) {
        rc = add_text(out, json_get(o, "text"));
    } else if (str_eq(type, STR("error"))) {
        rc = buf_addf(out, "%.*s: %.*s", STR_ARG(json_str(o, "ename", "")),
                      STR_ARG(json_str(o, "evalue", "")));
    } else {
        const struct json *data = json_get(o, "data");
        if (json_has(data, "text/plain"))
            rc = add_text(out, json_get(data, "text/plain"));
        for (const struct json *x = json_first(data); rc == 0 && x; x = json_next(x)) {
            struct str name = str_of(json_name(x));
            rc = end_line(out);
            if (rc == 0 && str_starts(name, STR("image/")))
                rc = buf_addf(out, "[%.*s]\n", STR_ARG(name));
        }
    }
    return rc < 0 ? rc : end_line(out);
}

static int add_cell(struct buf *out, const struct json *cell, size_t number)
{
    const struct json *outputs = json_get(cell, "outputs");
    int rc = buf_addf(out, "@@ Cell %zu (%.*s) @@\n", number,
                      STR_ARG(json_str(cell, "cell_type", "unknown")));
    if (rc == 0)
        rc = add_text(out, json_get(cell, "source"));
    if (rc == 0)
        rc = end_line(out);
    if (rc == 0 && json_first(outputs))
        rc = buf_addz(out, "Output:\n");
    for (const struct json *o = json_first(outputs); rc == 0 && o; o = json_next(o))
        rc = add_output(out, o);
    return rc < 0 ? rc : buf_addc(out, '\n');
}

int docread_ipynb(struct str bytes, struct buf *out, struct err *e)
{
    if (bytes.n > JSON_MAX)
        return err_set(e, ERR_LIMIT, "a notebook of more than %d MiB", JSON_MAX >> 20);
    struct json *j = json_parse(bytes, e);
    if (!j)
        return -1;
    const struct json *cells = json_get(j, "cells");
    int rc = 0;
    if (!json_is_array(cells)) {
        json_free(j);
        return err_set(e, ERR_INVALID,
                       "it has no cells: it is not a notebook of nbformat 4");
    }
    size_t number = 0, before = out->n;
    for (const struct json *c = json_first(cells); rc == 0 && c; c = json_next(c))
        rc = add_cell(out, c, ++number);
    if (rc == 0 && out->n > before)
        buf_truncate(out, out->n - 1);
    json_free(j);
    return rc < 0 ? docread_too_long(out, e) : 0;
}
