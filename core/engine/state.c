/* SPDX-License-Identifier: MIT */
#include "engine/state.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t number_of(const struct state_field *f, const void *p)
{
    switch (f->type) {
    case STATE_INT:
        return *(const int *)p;
    case STATE_UNSIGNED:
        return *(const unsigned *)p;
    default:
        return *(const int64_t *)p;
    }
}

/* Is it a pointer that is NULL? */
static bool is_none(const struct state_field *f, const void *p)
{
    return (f->type == STATE_TEXT && !*(char *const *)p) ||
           (f->type == STATE_JSON && !*(struct json *const *)p);
}

struct json *state_json(const struct state_field *list, const void *thing)
{
    struct json *j = json_object();
    for (const struct state_field *f = list; f->name; f++) {
        const void *p = (const char *)thing + f->at;
        if (is_none(f, p))
            continue;
        switch (f->type) {
        case STATE_BOOL:
            json_put_bool(j, f->name, *(const bool *)p);
            break;
        case STATE_CHARS:
            json_put_z(j, f->name, p);
            break;
        case STATE_TEXT:
            json_put_z(j, f->name, *(char *const *)p);
            break;
        case STATE_JSON:
            json_put(j, f->name, json_copy(*(struct json *const *)p));
            break;
        default:
            json_put_int(j, f->name, number_of(f, p));
        }
    }
    return j;
}

void state_print(struct buf *out, const struct state_field *list, const void *thing)
{
    const char *before = "\""; /* the next name */
    for (const struct state_field *f = list; f->name; f++) {
        const void *p = (const char *)thing + f->at;
        if (is_none(f, p))
            continue;
        buf_addz(out, before);
        buf_addz(out, f->name);
        buf_addz(out, "\":");
        before = ",\"";
        switch (f->type) {
        case STATE_BOOL:
            buf_addz(out, *(const bool *)p ? "true" : "false");
            break;
        case STATE_CHARS:
            json_quote(out, str_of(p));
            break;
        case STATE_TEXT:
            json_quote(out, str_of(*(char *const *)p));
            break;
        case STATE_JSON:
            json_print(out, *(struct json *const *)p);
            break;
        default:
            buf_addi(out, number_of(f, p));
        }
    }
}

static void read_text(const struct state_field *f, void *p, struct str s)
{
    if (f->type == STATE_CHARS) {
        snprintf(p, f->size, "%.*s", STR_ARG(s));
        return;
    }
    free(*(char **)p);
    *(char **)p = xstrndup(s.p, s.n);
}

void state_read(const struct state_field *list, void *thing, struct json *j)
{
    for (const struct state_field *f = list; f->name; f++) {
        void *p = (char *)thing + f->at;
        struct json *v = json_get(j, f->name);
        switch (f->type) {
        case STATE_BOOL:
            *(bool *)p = json_bool(j, f->name, *(bool *)p);
            break;
        case STATE_INT:
            *(int *)p = (int)json_int(j, f->name, *(int *)p);
            break;
        case STATE_UNSIGNED:
            *(unsigned *)p = (unsigned)json_int(j, f->name, *(unsigned *)p);
            break;
        case STATE_INT64:
        case STATE_UINT64:
            *(int64_t *)p = json_int(j, f->name, *(int64_t *)p);
            break;
        case STATE_CHARS:
        case STATE_TEXT:
            if (json_is_string(v))
                read_text(f, p, json_str_value(v, ""));
            break;
        case STATE_JSON:
            if (v) {
                json_free(*(struct json **)p);
                *(struct json **)p = json_take(j, f->name);
            }
            break;
        }
    }
}

void state_put_text(struct engine *en, const char *prefix, const char *id,
                    struct str state)
{
    struct buf key = BUF_INIT(LIMIT_BLOB_MAX);
    buf_addf(&key, "%s%s", prefix, id);
    keeper_client_put(en->keeper, buf_str(&key), state);
    buf_release(&key);
}

bool state_put(struct engine *en, const char *prefix, const char *id,
               const struct json *j)
{
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    bool fits = json_print(&state, j) == 0;
    if (fits)
        state_put_text(en, prefix, id, buf_str(&state));
    buf_release(&state);
    return fits;
}

bool state_keep(struct engine *en, const char *prefix, const char *id,
                const struct state_field *list, const void *thing)
{
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    buf_addc(&state, '{');
    state_print(&state, list, thing);
    buf_addc(&state, '}');
    bool fits = !buf_full(&state);
    if (fits)
        state_put_text(en, prefix, id, buf_str(&state));
    buf_release(&state);
    return fits;
}

void state_drop(struct engine *en, const char *prefix, const char *id)
{
    state_put_text(en, prefix, id, STR(""));
}

void state_each_text(struct engine *en, const char *prefix, state_text_fn *fn, void *arg)
{
    struct str key, head = str_of(prefix);
    void *value;
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        if (str_starts(key, head))
            fn(arg, str_sub(key, head.n, key.n), buf_str((const struct buf *)value));
    }
}

struct state_reading {
    const char *prefix;
    state_fn *fn;
    void *arg;
};

static void read_one(void *arg, struct str id, struct str state)
{
    const struct state_reading *r = arg;
    struct err e = ERR_INIT;
    if (memchr(id.p, '/', id.n))
        return;
    struct json *j = json_parse_kept(state, &e);
    if (j)
        r->fn(r->arg, id, j);
    else
        log_error("the state %s%.*s is unreadable: %s", r->prefix, STR_ARG(id), e.text);
    json_free(j);
}

void state_each(struct engine *en, const char *prefix, state_fn *fn, void *arg)
{
    struct state_reading r = {.prefix = prefix, .fn = fn, .arg = arg};
    state_each_text(en, prefix, read_one, &r);
}
