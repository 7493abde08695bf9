/* SPDX-License-Identifier: MIT */
/* Queries, paths and bodies of requests, as FastAPI reads them, and the answer 422. */
#include "front/model/own.h"

#include <string.h>

enum { ANSWER_MAX = 12 << 20 }; /* has room for a body of 1 MiB with every byte escaped */

/* Adds one parameter of a query: the last of its name counts; for STRINGS, all. */
static void put_param(const struct model *m, struct json *out, struct str name,
                      struct str value)
{
    const struct model_field *f = m->fields;
    while (f->name && !str_eq(name, str_of(f->name)))
        f++;
    if (!f->name)
        return;
    if (f->type != MODEL_STRINGS) {
        json_put_str(out, f->name, value);
        return;
    }
    if (!json_has(out, f->name))
        json_put(out, f->name, json_array());
    json_push_str(json_get(out, f->name), value);
}

struct json *model_query(const struct model *m, const struct req *r, struct json **errors)
{
    struct json *given = json_object();
    struct str rest = req_head(r)->query;
    struct buf name = BUF_INIT(HTTP_LINE_MAX), value = BUF_INIT(HTTP_LINE_MAX);
    while (rest.n > 0) {
        struct str pair = str_cut(&rest, '&'), key = str_cut(&pair, '=');
        buf_reset(&name);
        buf_reset(&value);
        /* A bad escape stays as it is, as in Python's parse_qsl. */
        if (http_decode(&name, key, true) < 0) {
            buf_reset(&name);
            buf_adds(&name, key);
        }
        if (http_decode(&value, pair, true) < 0) {
            buf_reset(&value);
            buf_adds(&value, pair);
        }
        put_param(m, given, buf_str(&name), buf_str(&value));
    }
    struct json *out = model_members(m, given, "query", errors);
    buf_release(&name);
    buf_release(&value);
    json_free(given);
    return out;
}

struct json *model_path(const struct model_field *f, struct str text,
                        struct json **errors)
{
    struct json *holder = json_object();
    json_put_str(holder, "v", text);
    struct json *v = model_value(f, json_get(holder, "v"), "path", errors);
    json_free(holder);
    return v;
}

/*
 * Returns where the parser stopped, from "… at byte N: …"; 0 if the text has no offset.
 */
static uint64_t offset_in(const char *text)
{
    const char *at = strstr(text, " at byte ");
    uint64_t n = 0;
    struct str rest = str_of(at ? at + strlen(" at byte ") : "");
    str_to_u64(str_cut(&rest, ':'), &n);
    return n;
}

/*
 * Adds {"type": "json_invalid", "loc": ["body", OFFSET], …}; the offset counts
 * characters. For an unknown word it is that of the word's beginning, as in Python's
 * json.
 */
void model_not_json(struct json **errors, struct str body, const struct err *why)
{
    struct json *e = json_object(), *loc = json_array(), *ctx = json_object();
    bool word = strstr(why->text, "no value begins so") != NULL;
    size_t at = (size_t)offset_in(why->text), chars = 0;
    at = at < body.n ? at : body.n;
    while (word && at > 0 && (body.p[at - 1] | 32) >= 'a' && (body.p[at - 1] | 32) <= 'z')
        at--;
    for (size_t i = 0; i < at; i++)
        chars += (body.p[i] & 0xc0) != 0x80;
    json_push_str(loc, STR("body"));
    json_push_int(loc, (int64_t)chars);
    bool name = word && str_ends(str_trim(str_sub(body, 0, at)), STR("{"));
    json_put_z(ctx, "error",
               name   ? "Expecting property name enclosed in double quotes"
               : word ? "Expecting value"
                      : why->text);
    json_put_z(e, "type", "json_invalid");
    json_put(e, "loc", loc);
    json_put_z(e, "msg", "JSON decode error");
    json_put(e, "input", json_object());
    json_put(e, "ctx", ctx);
    if (!*errors)
        *errors = json_array();
    json_push(*errors, e);
}

struct json *model_body(const struct model *m, const struct req *r, struct json **errors)
{
    struct err e = ERR_INIT;
    struct json *out = NULL;
    if (req_body(r).n == 0) {
        model_error(errors, "missing", "body", NULL, "Field required", NULL);
        return NULL;
    }
    struct json *body = json_parse(req_body(r), &e);
    if (!body)
        model_not_json(errors, req_body(r), &e);
    else if (!json_is_object(body))
        model_error(errors, "model_attributes_type", "body", NULL,
                    "Input should be a valid dictionary or object to extract fields from",
                    body);
    else
        out = model_members(m, body, "body", errors);
    json_free(body);
    return out;
}

void model_refuse(struct req *r, struct json *errors)
{
    struct json *j = json_object();
    struct buf b = BUF_INIT(ANSWER_MAX);
    json_put(j, "detail", errors ? errors : json_array());
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, 422, "application/json", &b);
}
