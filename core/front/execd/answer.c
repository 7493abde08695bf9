/* SPDX-License-Identifier: MIT */
/* Answers, paths and times in execd's form. */
#include "front/execd/own.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "setup/sandbox.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define JSON_TYPE "application/json; charset=utf-8"

void execd_say(struct req *r, int status, const char *code, const char *fmt, ...)
{
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    struct json *j = json_object();
    if (code)
        json_put_z(j, "code", code);
    json_put_z(j, "message", text);
    execd_json(r, status, j);
}

void execd_fail(struct req *r, int status, const char *text)
{
    if (status == 404 || status == 405)
        req_answer(r, 404, "text/plain", STR("404 page not found"));
    else
        execd_say(r, status,
                  status == 413  ? "INVALID_REQUEST_BODY"
                  : status < 500 ? "INVALID_REQUEST_BODY"
                                 : "RUNTIME_ERROR",
                  "%s", text);
}

void execd_ok(struct req *r) { req_answer(r, 200, JSON_TYPE, STR("")); }

/* Appends JSON with escapes for characters that are not fit for a line or a web page. */
static void put_escaped(struct buf *out, struct str json)
{
    for (size_t i = 0; i < json.n; i++) {
        unsigned char c = (unsigned char)json.p[i];
        const unsigned char *p = (const unsigned char *)json.p + i;
        if (c == '<' || c == '>' || c == '&' || c == 0x7f) {
            buf_addf(out, "\\u%04x", c);
        } else if (c == 0xc2 && i + 1 < json.n && p[1] < 0xa0) {
            buf_addf(out, "\\u%04x", p[1]); /* a control character of 8 bits */
            i++;
        } else if (c == 0xe2 && i + 2 < json.n && p[1] == 0x80 && (p[2] | 1) == 0xa9) {
            buf_addf(out, "\\u20%02x", p[2] - 0x80);
            i += 2;
        } else {
            buf_addc(out, json.p[i]);
        }
    }
}

void execd_quote(struct buf *out, struct str s)
{
    struct buf b = BUF_INIT(6 * s.n + 16);
    json_quote(&b, s);
    put_escaped(out, buf_str(&b));
    buf_release(&b);
}

int execd_put_json(struct buf *out, const struct json *j)
{
    struct buf b = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    int rc = json_print(&b, j);
    put_escaped(out, buf_str(&b));
    buf_release(&b);
    return rc;
}

void execd_json(struct req *r, int status, struct json *take)
{
    struct buf b = BUF_INIT(8 << 20);
    ASSERT(take);
    execd_put_json(&b, take);
    json_free(take);
    req_answer_take(r, status, JSON_TYPE, &b);
}

struct json *execd_body(struct req *r, bool array, bool empty)
{
    struct err e = ERR_INIT;
    struct str body = str_trim(req_body(r));
    struct json *j = body.n ? json_parse(body, &e) : empty ? json_object() : NULL;
    if (j && (array ? json_is_array(j) : json_is_object(j)))
        return j;
    execd_say(r, 400, "INVALID_REQUEST_BODY", "error parsing request. %s",
              j         ? "it is of another type"
              : !body.n ? "EOF"
                        : e.text);
    json_free(j);
    return NULL;
}

static bool is_type(const struct json *v, char type)
{
    double n = json_is_number(v) ? json_num_value(v, 0) : 0;
    if (!v || json_is_null(v))
        return true;
    if (type == 'm') {
        for (struct json *m = json_first(v); m; m = json_next(m)) {
            if (!json_is_string(m))
                return false;
        }
        return json_is_object(v);
    }
    if (type == 's' || type == 'b')
        return type == 's' ? json_is_string(v) : json_is_bool(v);
    return json_is_number(v) && n > -9e15 && n < 9e15 && n == (double)(int64_t)n &&
           (type == 'i' || (n >= 0 && n <= UINT32_MAX));
}

bool execd_typed(struct req *r, const struct json *body, const char *types)
{
    struct str rest = str_of(types);
    while (rest.n > 0) {
        struct str word = str_cut(&rest, ' ');
        char name[32];
        snprintf(name, sizeof(name), "%.*s", (int)word.n - 2, word.p + 2);
        if (is_type(json_get(body, name), word.p[0]))
            continue;
        execd_say(r, 400, "INVALID_REQUEST_BODY",
                  "error parsing request. %s is of another type", name);
        return false;
    }
    return true;
}

bool execd_query_next(struct str *query, const char *name, struct buf *value)
{
    while (query->n > 0) {
        struct str pair = str_cut(query, '&'), key = str_cut(&pair, '=');
        buf_reset(value);
        if (str_eq(key, str_of(name)) && http_decode(value, pair, true) == 0)
            return true;
    }
    return false;
}

/* Appends the value of the variable with which text begins, and cuts the name off. */
static void put_variable(const struct execd *f, const struct json *envs, struct str *text,
                         struct buf *out, struct buf *missing)
{
    bool braces = text->n > 0 && text->p[0] == '{';
    size_t i = braces, from = i;
    while (i < text->n &&
           (text->p[i] == '_' || (text->p[i] >= '0' && text->p[i] <= '9') ||
            ((text->p[i] | 32) >= 'a' && (text->p[i] | 32) <= 'z')))
        i++;
    char name[256];
    snprintf(name, sizeof(name), "%.*s", (int)(i - from), text->p + from);
    const char *value = env_get(f->en->env, name);
    struct str own = json_str(envs, name, "");
    if (i == from) {
        buf_addc(out, '$');
        return;
    }
    if (envs && json_has(envs, name))
        buf_adds(out, own);
    else if (value)
        buf_addz(out, value);
    else
        buf_addf(missing, "%s%s", missing->n ? "," : "", name);
    *text = str_sub(*text, i + (braces && i < text->n && text->p[i] == '}'), text->n);
}

static void expand(const struct execd *f, const struct json *envs, struct str text,
                   struct buf *out, struct buf *missing)
{
    while (text.n > 0) {
        char c = text.p[0];
        text = str_sub(text, 1, text.n);
        if (c == '$')
            put_variable(f, envs, &text, out, missing);
        else
            buf_addc(out, c);
    }
}

void execd_expand(const struct execd *f, struct str text, struct buf *out)
{
    struct buf missing = BUF_INIT(1024);
    expand(f, NULL, text, out, &missing);
    buf_release(&missing);
}

int execd_path(const struct execd *f, const struct json *envs, struct str text,
               struct buf *out, struct err *e)
{
    struct buf b = BUF_INIT(8 << 10), missing = BUF_INIT(1024);
    expand(f, envs, text, &b, &missing);
    const char *home = env_get(f->en->env, "HOME");
    size_t from = 0;
    if (b.n > 0 && b.p[0] == '~' && (b.n == 1 || b.p[1] == '/')) {
        buf_addz(out, home ? home : "/");
        from = 1;
    } else if (b.n == 0 || b.p[0] != '/') {
        buf_addz(out, sandbox_cwd(f->en->sandbox, STR("main")));
        buf_addc(out, '/');
    }
    if (b.n > from)
        buf_add(out, b.p + from, b.n - from);
    int rc = missing.n ? err_set(e, ERR_INVALID,
                                 "path references undefined environment variables: %s",
                                 buf_z(&missing))
                       : 0;
    buf_release(&b);
    buf_release(&missing);
    return rc;
}

void execd_put_time(struct buf *out, double seconds)
{
    time_t at = (time_t)seconds;
    long micros = (long)((seconds - (double)at) * 1e6);
    char text[40];
    struct tm tm;
    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&at, &tm));
    buf_addf(out, "\"%s.%06ldZ\"", text, micros < 0 ? 0 : micros);
}

void execd_uuid(char out[EXECD_UUID + 1])
{
    char hex[33];
    random_hex(hex, 32);
    hex[12] = '4';
    hex[16] = "89ab"[hex[16] & 3];
    snprintf(out, EXECD_UUID + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12,
             hex + 16, hex + 20);
}

const char *execd_shell(const struct execd *f, char space[4096], bool *is_bash)
{
    const char *path = env_get(f->en->env, "PATH");
    struct str rest = str_of(path ? path : "/usr/bin:/bin");
    *is_bash = false;
    while (rest.n > 0) {
        struct str dir = str_cut(&rest, ':');
        int n = snprintf(space, 4096, "%.*s/bash", STR_ARG(dir));
        if (n > 0 && n < 4096 && access(space, X_OK) == 0) {
            *is_bash = true;
            return space;
        }
    }
    return "sh";
}

void execd_end_text(int exit, int signo, char out[48])
{
    static const struct {
        int signo;
        const char *text;
    } names[] = {{SIGHUP, "hangup"},       {SIGINT, "interrupt"},
                 {SIGQUIT, "quit"},        {SIGABRT, "aborted"},
                 {SIGKILL, "killed"},      {SIGSEGV, "segmentation fault"},
                 {SIGPIPE, "broken pipe"}, {SIGTERM, "terminated"}};
    if (!signo) {
        snprintf(out, 48, "exit status %d", exit);
        return;
    }
    snprintf(out, 48, "signal: %d", signo);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].signo == signo)
            snprintf(out, 48, "signal: %s", names[i].text);
    }
}
