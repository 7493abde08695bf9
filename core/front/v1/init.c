/* SPDX-License-Identifier: MIT */
/*
 * Deferred init, for pools of warm servers: the server listens, and POST /api/init gives
 * it keys and variables once. Until then /api/… answers 503. The given values are a state
 * at the keeper, so that the next worker has them.
 */
#include "front/v1/own.h"

#include "access/access.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdlib.h>
#include <string.h>

static const struct str state_key = STR("v1/init");

static const char *state_name(const struct v1 *v)
{
    static const char *const names[] = {"dormant", "initializing", "ready"};
    return names[v->state];
}

static void answer_state(struct req *r)
{
    struct json *j = json_object();
    json_put_z(j, "state", state_name(v1_of(r)));
    json_put_null(j, "error");
    v1_answer(r, 200, j);
}

/* Answers both methods if the server is not in this mode. Returns false if it is. */
static bool is_off(struct req *r)
{
    if (!v1_of(r)->deferred)
        v1_detail(r, 404,
                  "server is not running with deferred_init=True; the /api/init endpoint "
                  "is not available");
    return !v1_of(r)->deferred;
}

static void get_init(struct req *r)
{
    if (!is_off(r))
        answer_state(r);
}

static const struct model_field fields[] = {
    {.name = "session_api_keys", .type = MODEL_STRINGS, .nullable = true},
    {.name = "secret_key", .type = MODEL_STRING, .nullable = true},
    {.name = "conversations_path", .type = MODEL_STRING, .nullable = true},
    {.name = "bash_events_dir", .type = MODEL_STRING, .nullable = true},
    {.name = "conversation_worktree_root", .type = MODEL_STRING, .nullable = true},
    {.name = "webhooks", .type = MODEL_ANY, .nullable = true},
    {.name = "web_url", .type = MODEL_STRING, .nullable = true},
    {.name = "allow_cors_origins", .type = MODEL_STRINGS, .nullable = true},
    {.name = "max_concurrent_runs",
     .type = MODEL_INT,
     .nullable = true,
     .has_ge = true,
     .ge = 1},
    {.name = "env", .type = MODEL_MAP, .nullable = true},
    {.name = "telemetry", .type = MODEL_ANY, .nullable = true},
    {.name = NULL}};
static const struct model init_model = {.fields = fields, .closed = true};

/* Sets variables for programs that start from now on. */
static void put_env(struct v1 *v, const struct json *env)
{
    struct buf b = BUF_INIT(LIMIT_BLOB_MAX);
    for (struct json *e = json_first(env); e; e = json_next(e)) {
        struct str value = json_str_value(e, "");
        if (!json_name(e)[0] || strchr(json_name(e), '='))
            continue;
        buf_addf(&b, "%s=%.*s", json_name(e), STR_ARG(value));
        buf_addc(&b, 0);
    }
    if (b.n > 0 && !buf_full(&b))
        engine_env_add(v->en, buf_str(&b));
    buf_release(&b);
}

/* Applies values, which it takes. give: the function that adds a key. Where one cannot
 * be added, the server has those before it, and *e says why. */
static int take_values(struct v1 *v, struct json *take,
                       int (*give)(struct access *a, const char *name, const char *at,
                                   struct str key, struct err *e),
                       struct err *e)
{
    struct json *origins = json_get(take, "allow_cors_origins");
    int rc = 0;
    v->init = take;
    v->state = V1_READY;
    for (struct json *k = json_first(json_get(take, "session_api_keys")); k && rc == 0;
         k = json_next(k))
        rc = give(v->access, "v1", "v1@", json_str_value(k, ""), e);
    if (json_str(take, "secret_key", "").n > 0)
        access_secret(v->access, "v1@", json_str(take, "secret_key", ""));
    if (json_is_array(origins)) {
        json_free(v->origins);
        v->origins = json_copy(origins);
    }
    put_env(v, json_get(take, "env"));
    return rc;
}

void v1_init_load(struct v1 *v)
{
    struct err e = ERR_INIT;
    const struct buf *kept = map_get(&v->en->states, state_key);
    struct json *values = kept ? json_parse_kept(buf_str(kept), &e) : NULL;
    if (values && take_values(v, values, access_give_again, &e) < 0)
        log_error("v1: a key of POST /api/init does not count: %s", e.text);
    else if (kept && !values)
        log_error("v1: what POST /api/init gave is unreadable: %s", e.text);
}

/*
 * Refuses keys that cannot count, as they would leave the server open: returns false and
 * adds to *errors.
 */
static bool check_keys(const struct v1 *v, const struct json *values,
                       struct json **errors)
{
    const struct json *list = json_get(values, "session_api_keys");
    bool fit = (size_t)json_count(list) <= access_keys_left(v->access);
    for (struct json *k = json_first(list); k; k = json_next(k)) {
        size_t n = json_str_value(k, "").n;
        fit = fit && n > 0 && n <= LIMIT_API_KEY_MAX;
    }
    if (!fit)
        model_error(errors, "value_error", "body", "session_api_keys",
                    "Value error, a server has at most 64 keys of 1 to 1024 bytes", list);
    return fit;
}

static void post_init(struct req *r)
{
    struct v1 *v = v1_of(r);
    struct json *errors = NULL, *values = NULL;
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX);
    struct err e = ERR_INIT;
    if (is_off(r))
        return;
    if (req_body(r).n == 0)
        values = json_object();
    else
        values = model_body(&init_model, r, &errors);
    if (!values || !check_keys(v, values, &errors)) {
        model_refuse(r, errors);
        json_free(values);
    } else if (v->state != V1_DORMANT) {
        v1_detail(r, 400, "server already in state: ready");
        json_free(values);
    } else if (json_print(&state, values) < 0) {
        v1_broken(r, 500, "What was given is longer than 96 KiB, which is what is kept");
        json_free(values);
    } else {
        if (take_values(v, values, access_give, &e) < 0) /* check_keys has made sure */
            log_error("v1: a key of POST /api/init does not count: %s", e.text);
        keeper_client_put(v->en->keeper, state_key, buf_str(&state));
        answer_state(r);
    }
    buf_release(&state);
}

bool v1_instead(void *f, struct req *r)
{
    struct v1 *v = f;
    struct str path = req_head(r)->path;
    if (v->state == V1_READY || str_eq(path, STR("/api/init")) ||
        !(str_starts(path, STR("/api/")) || str_starts(path, STR("/sockets/"))))
        return false;
    v1_broken(r, 503,
              "server is in deferred-init state 'dormant'; call POST /api/init first");
    return true;
}

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/api/init",
     .run = get_init,
     .about = "Whether POST /api/init has been called"},
    {.methods = HTTP_POST,
     .path = "/api/init",
     .run = post_init,
     .body_max = 1 << 20,
     .right = RIGHT_SETUP,
     .marks = ROUTE_SETUP,
     .about = "Gives a server of a warm pool its keys and variables, once"},
};

const struct http_front v1_init_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
