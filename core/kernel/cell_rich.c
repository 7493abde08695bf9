/* SPDX-License-Identifier: MIT */
/* The outputs of a cell, by their types. */
#include "kernel/cell_rich.h"

#include "base/limits.h"
#include "base/utf8.h"

enum { ENTRY = 256 /* bytes of an object besides its data, name and value */ };

const struct member cell_rich_members[] = {
    {.name = "output",
     .type = MEMBER_INT,
     .about = "The number of the output; its other types have the same number"},
    {.name = "type",
     .type = MEMBER_STRING,
     .choices = "stream execute_result display_data error",
     .about = "As in Jupyter messaging"},
    {.name = "mime", .type = MEMBER_STRING, .about = "The media type of data"},
    {.name = "data",
     .type = MEMBER_ANY,
     .optional = true,
     .about = "A text with its escapes of colour, a picture as base64, or the value of a "
              "JSON type; missing if there was no room"},
    {.name = "lost",
     .type = MEMBER_INT,
     .optional = true,
     .about = "Bytes that data lacks"},
    {.name = "name",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The name of a stream, stdout or stderr, or the class of an error"},
    {.name = "value",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The message of an error"},
    {.name = "display_id",
     .type = MEMBER_STRING,
     .optional = true,
     .about = "The id by which the code may change the output"},
    {0}};

void cell_rich_init(struct cell_rich *r)
{
    *r = (struct cell_rich){.list = json_array()};
    buf_init(&r->stream, CELL_RICH_STREAM);
}

void cell_rich_release(struct cell_rich *r)
{
    buf_release(&r->stream);
    json_free(r->list);
    r->list = r->last = NULL;
}

/* The length of a value as JSON. */
static size_t length_of(const struct json *v)
{
    struct buf b = BUF_INIT(2 * (size_t)LIMIT_KERNEL_MESSAGE);
    size_t n = json_print(&b, v) < 0 ? b.max : b.n;
    buf_release(&b);
    return n;
}

/* Removes the data from j if there is no room for it. */
static void fit(struct cell_rich *r, struct json *j)
{
    struct json *v = json_get(j, "data");
    size_t n = length_of(v);
    if (r->used + n > CELL_RICH_MAX) {
        json_drop(j, v);
        json_put_int(j, "lost", (int64_t)n);
    } else {
        r->used += n;
    }
}

/* Adds an object about output number `output`. Returns it, borrowed. */
static struct json *push(struct cell_rich *r, int output, struct str type,
                         const char *mime)
{
    struct json *j = json_object();
    json_put_int(j, "output", output);
    json_put_str(j, "type", type);
    json_put_z(j, "mime", mime);
    r->used += ENTRY;
    json_push(r->list, j);
    return j;
}

static void end_stream(struct cell_rich *r)
{
    if (r->last) {
        json_put_str(r->last, "data", buf_str(&r->stream));
        fit(r, r->last);
        if (r->lost)
            json_put_int(r->last, "lost",
                         (int64_t)r->lost + json_int(r->last, "lost", 0));
    }
    r->last = NULL;
    r->lost = 0;
    buf_reset(&r->stream);
}

static bool continues(const struct cell_rich *r, const struct json *content)
{
    return r->last &&
           str_eq(json_str(r->last, "name", ""), json_str(content, "name", "stdout"));
}

static void add_stream(struct cell_rich *r, const struct json *content)
{
    struct str name = json_str(content, "name", "stdout");
    struct str text = json_str(content, "text", "");
    if (!continues(r, content)) {
        end_stream(r);
        r->last = push(r, r->outputs++, STR("stream"), "text/plain");
        json_put_str(r->last, "name", str_sub(name, 0, utf8_cut(name, 16)));
    }
    size_t room = CELL_RICH_STREAM - r->stream.n;
    size_t n = r->lost ? 0 : text.n > room ? utf8_cut(text, room) : text.n;
    buf_add(&r->stream, text.p, n);
    r->lost += text.n - n;
}

static void add_error(struct cell_rich *r, const struct json *content)
{
    struct buf text = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    struct str name = json_str(content, "ename", "");
    struct str value = json_str(content, "evalue", "");
    struct json *j = push(r, r->outputs++, STR("error"), "text/plain");
    const struct json *lines = json_get(content, "traceback");
    for (const struct json *l = json_first(lines); l; l = json_next(l)) {
        buf_adds(&text, json_str_value(l, ""));
        buf_addz(&text, json_next(l) ? "\n" : "");
    }
    json_put_str(j, "name", str_sub(name, 0, utf8_cut(name, 256)));
    json_put_str(j, "value", str_sub(value, 0, utf8_cut(value, 4096)));
    json_put_str(j, "data", buf_str(&text));
    r->used += length_of(json_get(j, "name")) + length_of(json_get(j, "value"));
    fit(r, j);
    buf_release(&text);
}

/* Kernels may send a text as the list of its lines. */
static void put_value(struct json *j, const char *mime, const struct json *v)
{
    struct buf text = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    if (!json_is_array(v) || str_ends(str_of(mime), STR("json"))) {
        json_put(j, "data", json_copy(v));
        return;
    }
    for (const struct json *l = json_first(v); l; l = json_next(l))
        buf_adds(&text, json_str_value(l, ""));
    json_put_str(j, "data", buf_str(&text));
    buf_release(&text);
}

static void add_data(struct cell_rich *r, int output, struct str type,
                     const struct json *content)
{
    struct str id = json_str(json_get(content, "transient"), "display_id", "");
    const struct json *data = json_get(content, "data");
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        const char *mime = json_name(v);
        if (!mime || json_is_null(v) || strlen(mime) > ENTRY / 2)
            continue;
        if (r->used > CELL_RICH_MAX) {
            r->dropped++;
            return;
        }
        struct json *j = push(r, output, type, mime);
        if (id.n && id.n <= ENTRY / 4)
            json_put_str(j, "display_id", id);
        put_value(j, mime, v);
        fit(r, j);
    }
}

/*
 * Replaces the data of the outputs with that display_id; the data comes last in the
 * list.
 */
static void update(struct cell_rich *r, struct str id, const struct json *content)
{
    struct json *j = json_first(r->list), *next;
    int64_t done = -1;
    end_stream(r);
    for (int n = json_count(r->list); n > 0; n--, j = next) {
        next = json_next(j);
        if (!str_eq(json_str(j, "display_id", ""), id))
            continue;
        int64_t output = json_int(j, "output", 0);
        bool result = str_eq(json_str(j, "type", ""), STR("execute_result"));
        const struct json *data = json_get(j, "data");
        r->used -= ENTRY + (data ? length_of(data) : 0);
        json_drop(r->list, j);
        if (output > done)
            add_data(r, (int)output, result ? STR("execute_result") : STR("display_data"),
                     content);
        done = output > done ? output : done;
    }
}

static void forget(struct cell_rich *r)
{
    json_free(r->list);
    r->list = json_array();
    r->last = NULL;
    buf_reset(&r->stream);
    r->used = r->lost = 0;
    r->outputs = r->dropped = 0;
    r->clear = false;
}

void cell_rich_add(struct cell_rich *r, struct str type, const struct json *content)
{
    bool stream = str_eq(type, STR("stream")), error = str_eq(type, STR("error"));
    bool data = str_eq(type, STR("execute_result")) || str_eq(type, STR("display_data"));
    struct str id = json_str(json_get(content, "transient"), "display_id", "");
    if (str_eq(type, STR("clear_output"))) {
        r->clear = true;
        if (!json_bool(content, "wait", false))
            forget(r);
    } else if (str_eq(type, STR("update_display_data")) && id.n) {
        update(r, id, content);
    }
    if (!stream && !data && !error)
        return;
    if (r->clear)
        forget(r);
    if (stream && continues(r, content)) {
        add_stream(r, content);
    } else if (r->outputs >= CELL_RICH_OUTPUTS || r->used > CELL_RICH_MAX) {
        end_stream(r);
        r->dropped++;
    } else if (stream) {
        add_stream(r, content);
    } else {
        end_stream(r);
        if (error)
            add_error(r, content);
        else
            add_data(r, r->outputs++, type, content);
    }
}

struct json *cell_rich_take(struct cell_rich *r, int *dropped)
{
    struct json *list = r->list;
    end_stream(r);
    *dropped = r->dropped;
    r->list = NULL;
    return list;
}
