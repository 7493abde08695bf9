/* SPDX-License-Identifier: MIT */
/*
 * Code for kernels: the code that Python's kernels run when they start, and cells that
 * set the variables of one execution and reset them. Values are JSON, which is a literal
 * in Python and JavaScript, or have escapes: no value can be executed as code.
 */
#include "front/interpreter/own.h"

#include "archive/zip_text.h"
#include "base/words.h"
#include "front/interpreter/python/charts.py.gz.h"
#include "front/interpreter/python/results.py.gz.h"

#include <string.h>

enum { SOURCE_MAX = 64 << 10 };

static void quote_packed(struct buf *out, const unsigned char *gz, size_t n)
{
    struct buf text = BUF_INIT(SOURCE_MAX);
    zip_text(&text, str_n(gz, n));
    json_quote(out, buf_str(&text));
    buf_release(&text);
}

void code_init(struct buf *out, const char *language)
{
    if (strcmp(language, "python") != 0)
        return;
    buf_addz(out, "exec(");
    quote_packed(out, results_py_gz, sizeof(results_py_gz));
    buf_addz(out, ", {'CHARTS': ");
    quote_packed(out, charts_py_gz, sizeof(charts_py_gz));
    buf_addz(out, "})\n");
}

/* How a language sets variables; JSON of them comes in the middle. */
struct env_words {
    const char *language;
    const char *before, *after; /* set: around an object, or a list of NAME = VALUE */
    const char *unset;          /* gives each the value that it had before */
    bool list;
};

static const struct env_words all[] = {
    {"python",
     "exec(\"import os, sys\\n"
     "sys.od_env = {k: os.environ.get(k) for k in v}\\n"
     "os.environ.update(v)\", {\"v\": ",
     "})",
     "exec(\"import os, sys\\n"
     "for k, v in sys.__dict__.pop('od_env', {}).items():\\n"
     " if v is None: os.environ.pop(k, None)\\n"
     " else: os.environ[k] = v\", {})",
     false},
    {"javascript", "{ const v = ",
     "; globalThis[Symbol.for(\"od.env\")] = "
     "Object.keys(v).map(k => [k, process.env[k]]); Object.assign(process.env, v); }",
     "for (const [k, v] of globalThis[Symbol.for(\"od.env\")] ?? []) "
     "{ if (v === undefined) delete process.env[k]; else process.env[k] = v; }",
     false},
    {"r", "invisible(local({ v <- list(",
     "); options(od.env = Sys.getenv(names(v), NA, names = TRUE)); "
     "do.call(Sys.setenv, v) }))",
     "invisible(local({ o <- getOption(\"od.env\"); for (n in names(o)) "
     "if (is.na(o[[n]])) Sys.unsetenv(n) else "
     "do.call(Sys.setenv, setNames(list(o[[n]]), n)) }))",
     true},
};

static const struct env_words *env_words_of(const char *language)
{
    if (strcmp(language, "typescript") == 0)
        language = "javascript";
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].language, language) == 0)
            return &all[i];
    }
    return NULL;
}

/* Appends bytes as escapes, because R in the C locale would change characters. */
static void put_r(struct buf *out, struct str s)
{
    buf_addc(out, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c >= ' ' && c < 0x7f && c != '"' && c != '\\')
            buf_addc(out, (char)c);
        else
            buf_addf(out, "\\x%02x", c);
    }
    buf_addc(out, '"');
}

/* ---- bash ---- */

static void put_exports(struct buf *out, const struct json *env)
{
    for (const struct json *v = json_first(env); v; v = json_next(v)) {
        if (!code_is_name("bash", json_name(v)))
            continue;
        buf_addf(out, "; export %s=", json_name(v));
        words_quote(out, json_str_value(v, ""));
    }
}

static void put_names(struct buf *out, const struct json *env)
{
    for (const struct json *v = json_first(env); v; v = json_next(v))
        buf_addf(out, " %s", json_name(v));
}

void code_shell(struct buf *out, const char *cwd, const struct json *env)
{
    buf_addc(out, ':');
    put_exports(out, env);
    buf_addz(out, "; cd -- ");
    words_quote(out, str_of(cwd));
}

bool code_is_name(const char *language, const char *name)
{
    if (strcmp(language, "bash") != 0)
        return name[0] && !strchr(name, '=');
    size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
                            "0123456789");
    return n > 0 && !name[n] && (name[0] < '0' || name[0] > '9');
}

/* ---- any ---- */

bool code_set(struct buf *out, const char *language, const struct json *env)
{
    const struct env_words *w = env_words_of(language);
    if (strcmp(language, "bash") == 0) {
        buf_addz(out, "od_env=$(declare -p");
        put_names(out, env);
        buf_addz(out, " 2>/dev/null)");
        put_exports(out, env);
        return true;
    }
    if (!w)
        return false;
    buf_addz(out, w->before);
    if (!w->list)
        json_print(out, env);
    for (const struct json *v = w->list ? json_first(env) : NULL; v; v = json_next(v)) {
        put_r(out, str_of(json_name(v)));
        buf_addc(out, '=');
        put_r(out, json_str_value(v, ""));
        buf_addz(out, json_next(v) ? "," : "");
    }
    buf_addz(out, w->after);
    return true;
}

bool code_unset(struct buf *out, const char *language, const struct json *env)
{
    const struct env_words *w = env_words_of(language);
    if (strcmp(language, "bash") == 0) {
        buf_addz(out, "unset");
        put_names(out, env);
        buf_addz(out, "; eval \"$od_env\"; unset od_env");
        return true;
    }
    if (w)
        buf_addz(out, w->unset);
    return w != NULL;
}
