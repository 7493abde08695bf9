/* SPDX-License-Identifier: MIT */
/* OpenHands' agent-server as a front-end of od serve (front/front.h). */
#include "front/v1/own.h"

#include "access/access.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/v1/bash.h"
#include "front/v1/work.h"
#include "text/pattern.h"

#include <stdlib.h>
#include <string.h>

/* Searched in this order. */
static const struct http_front *const tables[] = {
    &v1_server_table,  &v1_openapi_table, &v1_init_table,
    &v1_static_table,  &v1_bash_table,    &v1_file_table,
    &v1_archive_table, &v1_git_table,     &v1_elsewhere_table,
};

enum { TABLES = sizeof(tables) / sizeof(tables[0]) };

static char *text_of(const struct json *o, const char *name)
{
    struct str s = json_str(o, name, "");
    return xstrndup(s.p, s.n);
}

/* Returns the expression for allowed origins. It already matches only whole ones. */
static struct pattern *origins_like(const struct json *o)
{
    struct err e = ERR_INIT;
    struct str given = json_str(o, "origin_regex", "");
    struct buf whole = BUF_INIT(PATTERN_MAX);
    struct pattern *p = NULL;
    buf_addf(&whole, "^(?:%.*s)$", STR_ARG(given));
    if (given.n > 0 && !(p = pattern_new(buf_str(&whole), false, false, &e)))
        log_error("v1: no page may read answers by --v1-cors-origin-regex: %s", e.text);
    buf_release(&whole);
    return p;
}

/*
 * Sets the environment of commands as openhands-agent-server bash_service.py does, for
 * every program of a server that speaks its protocol.
 */
static void put_env(struct engine *en)
{
    const char *agent = env_get(en->env, "AI_AGENT");
    const char *libs = env_get(en->env, "LD_LIBRARY_PATH_ORIG");
    struct buf b = BUF_INIT(64 << 10);
    if (str_trim(str_of(agent)).n == 0) {
        buf_addz(&b, "AI_AGENT=openhands");
        buf_addc(&b, 0);
    }
    if (libs && !libs[0])
        engine_env_remove(en, "LD_LIBRARY_PATH");
    else if (libs) {
        buf_addf(&b, "LD_LIBRARY_PATH=%s", libs);
        buf_addc(&b, 0);
    }
    if (b.n > 0 && !buf_full(&b))
        engine_env_add(en, buf_str(&b));
    buf_release(&b);
}

static void put_keys(struct v1 *v, const struct json *o)
{
    struct err e = ERR_INIT;
    struct str secret = json_str(o, "secret_key", "");
    for (struct json *k = json_first(json_get(o, "keys")); k; k = json_next(k)) {
        if (access_begin(v->access, "v1", "v1@", json_str_value(k, ""), &e) < 0)
            log_error("v1: a key does not count: %s", e.text);
    }
    access_secret(v->access, "v1@", secret.n > 0 ? secret : json_str(o, "api_key", ""));
}

static double idle_timeout(const struct json *o)
{
    const char *text = json_str(o, "idle_timeout", "").p;
    char *end;
    double n = strtod(text, &end);
    return end != text && *end == 0 && n > 0 && n < 1e12 ? n : 0;
}

static void *open_v1(struct fronts *all, const struct json *options)
{
    const struct json *o = json_get(options, "v1");
    struct v1 *v = xnew(struct v1);
    v->all = all;
    v->en = fronts_engine(all);
    v->access = fronts_access(all);
    v->busy_ms = v->en->started_ms;
    v->docker_host = text_of(o, "docker_host");
    v->static_dir = text_of(o, "static_dir");
    v->web_url = text_of(o, "web_url");
    v->git_sha = text_of(o, "git_sha");
    v->git_ref = text_of(o, "git_ref");
    struct json *origins = json_get(o, "origins");
    v->origins = origins ? json_copy(origins) : json_array();
    v->origin_like = origins_like(o);
    v->idle_timeout = idle_timeout(o);
    v->deferred = json_bool(o, "deferred_init", false);
    v->state = v->deferred ? V1_DORMANT : V1_READY;
    put_keys(v, o);
    if (json_bool(o, "served", false))
        put_env(v->en);
    v->ntables = TABLES;
    for (size_t i = 0; i < TABLES; i++) {
        v->tables[i] = *tables[i];
        v->tables[i].arg = v;
    }
    v->bash = bash_open(v, json_str(o, "bash_events_dir", ""),
                        json_int(o, "retention_ms", 0));
    return v;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct v1 *v = f;
    return i >= TABLES ? NULL : v ? &v->tables[i] : tables[i];
}

static void load(void *f)
{
    struct v1 *v = f;
    v1_init_load(v);
    bash_load(v->bash);
}

static void start(void *f)
{
    struct v1 *v = f;
    work_start(v->en);
    bash_start(v->bash);
}

static void close_v1(void *f, bool another)
{
    struct v1 *v = f;
    bash_close(v->bash, another);
}

static void metrics(const void *f, struct buf *out)
{
    bash_metrics(((const struct v1 *)f)->bash, out);
}

static void format(struct buf *out) { buf_addz(out, "v1 2"); }

static const char *const claims[] = {"v1/", NULL};

const struct front front_v1 = {
    .name = "v1",
    .also = "openhands",
    .options = &v1_options,
    .claims = claims,
    .format = format,
    .open = open_v1,
    .http = http,
    .programs = v1_programs,
    .key = "api_key",
    .door = &v1_door,
    .preflight = v1_preflight,
    .instead = v1_instead,
    .refuse = v1_refuse,
    .load = load,
    .start = start,
    .close = close_v1,
    .metrics = metrics,
};
