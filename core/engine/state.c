/* SPDX-License-Identifier: MIT */
#include "engine/state.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct json *state_json(const struct state_field *list, const void *thing)
{
    struct json *j = json_object();
    for (const struct state_field *f = list; f->name; f++) {
        const void *p = (const char *)thing + f->at;
        switch (f->type) {
        case STATE_BOOL:
            json_put_bool(j, f->name, *(const bool *)p);
            break;
        case STATE_INT:
            json_put_int(j, f->name, *(const int *)p);
            break;
        case STATE_UNSIGNED:
            json_put_int(j, f->name, *(const unsigned *)p);
            break;
        case STATE_INT64:
        case STATE_UINT64:
            json_put_int(j, f->name, *(const int64_t *)p);
            break;
        case STATE_CHARS:
            json_put_z(j, f->name, p);
            break;
        case STATE_TEXT:
            if (*(char *const *)p)
                json_put_z(j, f->name, *(char *const *)p);
            break;
        case STATE_JSON:
            if (*(struct json *const *)p)
                json_put(j, f->name, json_copy(*(struct json *const *)p));
            break;
        }
    }
    return j;
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

static void put(struct engine *en, const char *prefix, const char *id, struct str state)
{
    struct buf key = BUF_INIT(LIMIT_BLOB_MAX);
    buf_addf(&key, "%s%s", prefix, id);
    hold_put(en->hold, buf_str(&key), state);
    buf_release(&key);
}

bool state_put(struct engine *en, const char *prefix, const char *id,
               const struct json *j)
{
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    bool fits = json_print(&state, j) == 0;
    if (fits)
        put(en, prefix, id, buf_str(&state));
    buf_release(&state);
    return fits;
}

bool state_keep(struct engine *en, const char *prefix, const char *id,
                const struct state_field *list, const void *thing)
{
    struct json *j = state_json(list, thing);
    bool fits = state_put(en, prefix, id, j);
    json_free(j);
    return fits;
}

void state_drop(struct engine *en, const char *prefix, const char *id)
{
    put(en, prefix, id, STR(""));
}

void state_each(struct engine *en, const char *prefix,
               void (*fn)(void *arg, struct str id, struct json *j), void *arg)
{
    struct str key, head = str_of(prefix);
    void *value;
    for (void *it = NULL; (it = map_next(&en->states, it, &key, &value));) {
        struct err e = ERR_INIT;
        struct str id = str_sub(key, head.n, key.n);
        if (!str_starts(key, head) || memchr(id.p, '/', id.n))
            continue;
        struct json *j = json_parse_kept(buf_str((const struct buf *)value), &e);
        if (j)
            fn(arg, id, j);
        else
            log_error("the state %.*s is unreadable: %s", STR_ARG(key), e.text);
        json_free(j);
    }
}
