/* SPDX-License-Identifier: MIT */
/*
 * A request: its body against its model, and its answer.
 *
 * A client that got no answer repeats its request with the same X-Request-ID
 * (src/swerex/runtime/remote.py). The last answers are kept by id and path, so a file is
 * not written twice; for commands, the id identifies the action, also after a restart.
 * Ids are read after the key is judged.
 */
#include "front/swerex/own.h"

#include "base/xalloc.h"
#include "front/model/model.h"

#include <stdlib.h>
#include <string.h>

enum { TAGS_TEXT = 200 };

/* ---- repeated requests ---- */

void swerex_id(const struct req *r, char out[SWEREX_ID_MAX + 1])
{
    struct str id = req_header(r, "X-Request-ID");
    out[0] = 0;
    if (id.n == 0 || id.n > SWEREX_ID_MAX)
        return;
    for (size_t i = 0; i < id.n; i++) {
        if (id.p[i] <= ' ' || (unsigned char)id.p[i] >= 0x7f)
            return;
    }
    memcpy(out, id.p, id.n);
    out[id.n] = 0;
}

static void path_of(const struct req *r, char out[32])
{
    struct str path = req_head(r)->path;
    size_t n = path.n < 31 ? path.n : 31;
    memcpy(out, path.p, n);
    out[n] = 0;
}

bool swerex_repeats(struct req *r)
{
    struct swerex *w = req_arg(r);
    char id[SWEREX_ID_MAX + 1], path[32];
    engine_touch(w->en);
    swerex_id(r, id);
    path_of(r, path);
    for (unsigned i = 0; id[0] && i < SWEREX_KEPT; i++) {
        const struct swerex_kept *k = &w->kept[i];
        if (k->body && strcmp(k->id, id) == 0 && strcmp(k->path, path) == 0) {
            req_answer(r, k->status, "application/json", str_n(k->body, k->n));
            return true;
        }
    }
    return false;
}

void swerex_answer(struct req *r, int status, struct buf *take)
{
    struct swerex *w = req_arg(r);
    struct swerex_kept *k = &w->kept[w->kept_next];
    char id[SWEREX_ID_MAX + 1];
    swerex_id(r, id);
    if (id[0] && take->n <= SWEREX_KEPT_MAX) {
        free(k->body);
        memcpy(k->id, id, sizeof(id));
        path_of(r, k->path);
        k->status = status;
        k->body = xstrndup(buf_z(take), take->n);
        k->n = take->n;
        w->kept_next = (w->kept_next + 1) % SWEREX_KEPT;
    }
    req_answer_take(r, status, "application/json", take);
}

void swerex_answer_z(struct req *r, const char *body)
{
    struct buf b = BUF_INIT(SWEREX_KEPT_MAX);
    buf_addz(&b, body);
    swerex_answer(r, 200, &b);
}

/* ---- bodies ---- */

/* Puts the tag between "body" and the field's name, as FastAPI does. */
static void put_tag(struct json *error, const char *tag)
{
    struct json *place = json_array(), *loc = json_get(error, "loc");
    int i = 0;
    for (struct json *v = json_first(loc); v; v = json_next(v)) {
        json_push(place, json_copy(v));
        if (i++ == 0)
            json_push_str(place, str_of(tag));
    }
    json_put(error, "loc", place);
}

/* Answers 422 with the errors of front/model, which are taken. tag: part of their place,
 * or NULL. */
static void swerex_invalid(struct req *r, struct json *errors, const char *tag)
{
    for (struct json *v = json_first(errors); v && tag; v = json_next(v))
        put_tag(v, tag);
    model_refuse(r, errors);
}

static const struct model_field no_fields[] = {{.name = NULL}};
static const struct model any_object = {.fields = no_fields};

/* Returns the body as an object with all its members; NULL after answering r. */
static struct json *object_of(struct req *r)
{
    struct json *errors = NULL;
    struct err e = ERR_INIT;
    struct json *known = model_body(&any_object, r, &errors);
    struct json *whole = known ? json_parse(req_body(r), &e) : NULL;
    json_free(known);
    if (!whole)
        model_refuse(r, errors);
    return whole;
}

struct json *swerex_body(struct req *r, const struct model *m)
{
    struct json *errors = NULL;
    if (swerex_repeats(r))
        return NULL;
    struct json *j = model_body(m, r, &errors);
    if (!j)
        model_refuse(r, errors);
    return j;
}

/* The discriminator of a union of models is missing, or is none of the tags. */
static void refuse_tag(struct req *r, const char *by, const struct swerex_tag *tags,
                       const struct json *body)
{
    struct buf msg = BUF_INIT(TAGS_TEXT + 100), expected = BUF_INIT(TAGS_TEXT);
    struct str given = json_str(body, by, "");
    struct json *errors = NULL;
    for (size_t i = 0; tags[i].tag; i++)
        buf_addf(&expected, "%s'%s'", i ? ", " : "", tags[i].tag);
    if (json_has(body, by))
        buf_addf(&msg,
                 "Input tag '%.*s' found using '%s' does not match any of the expected "
                 "tags: %s",
                 (int)(given.n < 60 ? given.n : 60), given.p, by, buf_z(&expected));
    else
        buf_addf(&msg, "Unable to extract tag using discriminator '%s'", by);
    model_error(&errors, json_has(body, by) ? "union_tag_invalid" : "union_tag_not_found",
                "body", NULL, buf_z(&msg), body);
    model_refuse(r, errors);
    buf_release(&msg);
    buf_release(&expected);
}

struct json *swerex_tagged(struct req *r, const char *by, const struct swerex_tag *tags,
                           size_t *which)
{
    struct json *errors = NULL;
    struct json *body = swerex_repeats(r) ? NULL : object_of(r);
    if (!body)
        return NULL;
    size_t i = 0;
    while (tags[i].tag && !str_eq(json_str(body, by, ""), str_of(tags[i].tag)))
        i++;
    struct json *j = NULL;
    *which = i;
    if (!tags[i].tag)
        refuse_tag(r, by, tags, body);
    else if (!(j = model_members(tags[i].model, body, "body", &errors)))
        swerex_invalid(r, errors, tags[i].tag);
    json_free(body);
    return j;
}
