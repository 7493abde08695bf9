/* SPDX-License-Identifier: MIT */
/*
 * What POST /init sets, and the routes that report the machine.
 *
 * The first call sets the token, unless --e2b-token has set it; later calls must send the
 * same one. The keeper holds the state for the next worker.
 */
#include "front/e2b/own.h"

#include "access/access.h"
#include "action/log.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "os/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct str state_key = STR("e2b/init");
static const char json_type[] = "application/json; charset=utf-8";

/* ---- the state ---- */

static void set(char **text, struct str to)
{
    free(*text);
    *text = xstrndup(to.p, to.n);
}

/* Makes the token valid at all listeners of this front-end. Returns -1 and sets *e if
 * there can be no more keys: then there is no token. */
static int use_token(struct e2b *f, struct str token, bool again, struct err *e)
{
    struct access *a = fronts_access(f->fronts);
    if (token.n == 0)
        return 0;
    if ((again ? access_give_again(a, "e2b-init", "e2b@", token, e)
               : access_give(a, "e2b-init", "e2b@", token, e)) < 0)
        return -1;
    set(&f->token, token);
    actions_own_secret(f->actions, token, "the token of E2B's listeners");
    return 0;
}

static void put_state(struct buf *out, const struct e2b *f)
{
    struct json *j = json_object();
    if (f->token)
        json_put_z(j, "token", f->token);
    json_put_z(j, "user", f->default_user);
    json_put_z(j, "workdir", f->workdir);
    json_put_num(j, "at", f->init_at);
    json_put(j, "env", json_copy(f->env));
    json_print(out, j);
    json_free(j);
}

void e2b_init_open(struct e2b *f, const struct json *options)
{
    struct str token = json_str(options, "token", "");
    if (token.n > 0)
        set(&f->token, token);
    set(&f->default_user, STR(""));
    set(&f->workdir, STR(""));
    f->env = json_object();
    json_put_z(f->env, "E2B_SANDBOX", "true");
}

void e2b_init_load(struct e2b *f)
{
    struct err e = ERR_INIT;
    const struct buf *kept = map_get(&f->en->states, state_key);
    struct json *j = kept ? json_parse_kept(buf_str(kept), &e) : NULL;
    if (kept && !j)
        log_error("the kept state of POST /init cannot be read: %s", e.text);
    if (!j)
        return;
    if (use_token(f, json_str(j, "token", ""), true, &e) < 0)
        log_error("the token of POST /init does not count: %s", e.text);
    set(&f->default_user, json_str(j, "user", ""));
    set(&f->workdir, json_str(j, "workdir", ""));
    f->init_at = json_num(j, "at", 0);
    struct json *env = json_take(j, "env");
    if (env) {
        json_free(f->env);
        f->env = env;
    }
    json_free(j);
}

/* ---- POST /init ---- */

/* Returns a time of RFC 3339 5.6 in seconds since 1970; -1 if it is malformed. */
static double seconds_of(struct str text)
{
    struct tm tm = {0};
    double fraction = 0;
    int hours = 0, minutes = 0, n = 0;
    char z[48] = "", sign = 'Z';
    if (text.n >= sizeof(z) - 1)
        return -1;
    memcpy(z, text.p, text.n);
    if (sscanf(z, "%4d-%2d-%2dT%2d:%2d:%2d%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
               &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 6)
        return -1;
    char *rest = z + n;
    if (*rest == '.')
        fraction = strtod(rest, &rest);
    sign = *rest++;
    if (sign != 'Z' && sign != '+' && sign != '-')
        return -1;
    if (sign != 'Z' && sscanf(rest, "%2d:%2d", &hours, &minutes) != 2)
        return -1;
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    double offset = (sign == '-' ? -1 : 1) * (hours * 3600.0 + minutes * 60.0);
    return (double)timegm(&tm) + fraction - offset;
}

/* Returns why the request may not change anything; NULL if it may. given: its
 * accessToken; p NULL: none. */
static const char *refused(struct e2b *f, struct req *r, struct str given, bool *many)
{
    enum late said = LATE_COUNTS;
    if (given.n > 0 && f->token) {
        said = access_late(fronts_access(f->fronts), &e2b_door, r, "accessToken", given);
        *many = said == LATE_MANY;
    }
    if (said != LATE_COUNTS)
        return "access token validation failed";
    if (req_right(r) >= RIGHT_SETUP)
        return NULL;
    return f->token ? "access token reset not authorized"
                    : "unauthorized access: another key of this listener is needed in "
                      "X-Access-Token";
}

static int check(const struct json *m, struct err *e)
{
    static const char *const texts[] = {"accessToken", "timestamp", "defaultUser",
                                        "defaultWorkdir"};
    struct str text, token = json_str(m, "accessToken", "");
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (json_want_str(m, texts[i], &text, e) < 0)
            return -1;
    }
    if (token.n > LIMIT_API_KEY_MAX)
        return err_set(e, ERR_INVALID, "accessToken has at most %d bytes",
                       LIMIT_API_KEY_MAX);
    if (json_str(m, "timestamp", "").n > 0 &&
        seconds_of(json_str(m, "timestamp", "")) < 0)
        return err_set(e, ERR_INVALID, "timestamp must be a time of RFC 3339");
    const struct json *env = json_get(m, "envVars");
    if (env && !json_is_object(env) && !json_is_null(env))
        return err_set(e, ERR_INVALID, "envVars must be an object of strings");
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        const char *name = json_name(v);
        if (!json_is_string(v) || !name[0] || strchr(name, '='))
            return err_set(e, ERR_INVALID, "envVars must be an object of strings");
    }
    return 0;
}

static struct json *merged(const struct json *old, const struct json *more)
{
    struct json *env = json_copy(old);
    for (const struct json *v = json_first(more); v; v = json_next(v))
        json_put(env, json_name(v), json_copy(v));
    return env;
}

/* Sets the members of m and stores them. If they are too long for a state, changes
 * nothing and returns -1. */
static int apply(struct e2b *f, const struct json *m, struct err *e)
{
    struct e2b next = *f;
    struct buf state = BUF_INIT(LIMIT_BLOB_MAX - 64);
    struct str token = json_str(m, "accessToken", "");
    struct str user = json_str(m, "defaultUser", "");
    struct str workdir = json_str(m, "defaultWorkdir", "");
    double at = seconds_of(json_str(m, "timestamp", ""));
    bool stale = at >= 0 && at < f->init_at;
    next.token = token.n ? (char *)token.p : f->token;
    next.env = merged(f->env, stale ? NULL : json_get(m, "envVars"));
    next.default_user = user.n && !stale ? (char *)user.p : f->default_user;
    next.workdir = workdir.n && !stale ? (char *)workdir.p : f->workdir;
    next.init_at = at > f->init_at ? at : f->init_at;
    put_state(&state, &next);
    if (buf_full(&state)) {
        json_free(next.env);
        buf_release(&state);
        return err_set(e, ERR_LIMIT,
                       "variables, user and directory have at most %d bytes in all",
                       LIMIT_BLOB_MAX - 64);
    }
    if (!f->token && use_token(f, token, false, e) < 0) {
        json_free(next.env);
        buf_release(&state);
        return -1;
    }
    keeper_client_put(f->en->keeper, state_key, buf_str(&state));
    buf_release(&state);
    json_free(f->env);
    f->env = next.env;
    f->init_at = next.init_at;
    if (user.n && !stale)
        set(&f->default_user, user);
    if (workdir.n && !stale)
        set(&f->workdir, workdir);
    return 0;
}

void e2b_post_init(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct err e = ERR_INIT;
    struct json *m = req_body(r).n ? json_parse(req_body(r), &e) : json_object();
    const char *why = NULL;
    bool many = false;
    engine_touch(f->en);
    if (m && !json_is_object(m))
        err_set(&e, ERR_INVALID, "the body must be an object");
    if (!e.code && check(m, &e) == 0 &&
        !(why = refused(f, r, json_str(m, "accessToken", ""), &many)) &&
        apply(f, m, &e) == 0) {
        req_header_add(r, "Cache-Control", "no-store");
        req_answer(r, 204, NULL, STR(""));
    } else if (why) {
        e2b_fail(r, many ? 429 : 401, why);
    } else {
        e2b_refuse(r, &e);
    }
    json_free(m);
}

/* ---- reports ---- */

void e2b_get_health(struct req *r)
{
    req_header_add(r, "Cache-Control", "no-store");
    req_answer(r, 204, NULL, STR(""));
}

void e2b_get_envs(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct buf b = BUF_INIT(LIMIT_BLOB_MAX);
    json_print(&b, f->env);
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 200, json_type, &b);
}

void e2b_get_metrics(struct req *r)
{
    struct e2b *f = req_arg(r);
    struct machine now;
    struct buf b = BUF_INIT(1024);
    machine_measure(&now);
    uint64_t used = now.mem_total - now.mem_available;
    buf_addf(&b,
             "{\"ts\":%lld,\"cpu_count\":%u,\"cpu_used_pct\":%.2f,\"mem_total\":%llu,"
             "\"mem_used\":%llu,\"mem_cache\":%llu,",
             (long long)(clock_wall_ms() / 1000), now.cpus, machine_busy(&f->seen, &now),
             (unsigned long long)now.mem_total, (unsigned long long)used,
             (unsigned long long)now.mem_cache);
    buf_addf(&b,
             "\"mem_total_mib\":%llu,\"mem_used_mib\":%llu,\"disk_used\":%llu,"
             "\"disk_total\":%llu}",
             (unsigned long long)now.mem_total >> 20, (unsigned long long)used >> 20,
             (unsigned long long)now.disk_used, (unsigned long long)now.disk_total);
    f->seen = now;
    req_header_add(r, "Cache-Control", "no-store");
    req_answer_take(r, 200, json_type, &b);
}
