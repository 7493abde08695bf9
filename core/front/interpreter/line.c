/* SPDX-License-Identifier: MIT */
/*
 * Lines of /execute. Lines are ASCII, because a client decodes each chunk separately,
 * which loses a character that is in two chunks, and splits lines at every line separator
 * of Unicode.
 */
#include "front/interpreter/own.h"

#include "base/clock.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* ---- ASCII ---- */

/* Appends JSON with each character above U+007F as an escape (RFC 8259 7). */
static void add_ascii(struct buf *out, struct str json)
{
    size_t i = 0;
    while (i < json.n) {
        size_t from = i;
        while (i < json.n && (unsigned char)json.p[i] < 0x80)
            i++;
        buf_add(out, json.p + from, i - from);
        if (i == json.n)
            return;
        uint32_t c;
        int n = utf8_decode(str_sub(json, i, json.n), &c);
        i += n > 0 ? (size_t)n : 1;
        c = n > 0 ? c : 0xfffd;
        if (c >= 0x10000)
            buf_addf(out, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)),
                     (unsigned)(0xdc00 + ((c - 0x10000) & 0x3ff)));
        else
            buf_addf(out, "\\u%04x", (unsigned)c);
    }
}

/* Adds line, which is JSON, and a newline. Releases line. */
static int add_line(struct buf *out, struct buf *line)
{
    size_t at = out->n;
    bool full = buf_full(line);
    if (!full) {
        add_ascii(out, buf_str(line));
        buf_addc(out, '\n');
    }
    buf_release(line);
    if (!full && !buf_full(out))
        return 0;
    buf_truncate(out, at);
    buf_resume(out);
    return -1;
}

/* ---- lines ---- */

int line_type(struct buf *out, const char *type)
{
    return buf_addf(out, "{\"type\": \"%s\"}\n", type);
}

int line_count(struct buf *out, int64_t count)
{
    return buf_addf(out,
                    "{\"type\": \"number_of_executions\", \"execution_count\": %lld}\n",
                    (long long)count);
}

static int add_text(struct buf *out, const char *type, struct str text)
{
    struct buf b = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    char when[40];
    int64_t ms = clock_wall_ms();
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    gmtime_r(&seconds, &tm);
    size_t n = strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(when + n, sizeof(when) - n, ".%06lld+00:00", (long long)(ms % 1000) * 1000);
    buf_addf(&b, "{\"type\": \"%s\", \"text\": ", type);
    json_quote(&b, text);
    buf_addf(&b, ", \"timestamp\": \"%s\"}", when);
    return add_line(out, &b);
}

int line_error(struct buf *out, const char *name, struct str value)
{
    struct buf b = BUF_INIT(64 << 10);
    buf_addf(&b, "{\"type\": \"error\", \"name\": \"%s\", \"value\": ", name);
    json_quote(&b, value);
    buf_addz(&b, ", \"traceback\": \"\"}");
    return add_line(out, &b);
}

int line_note(struct buf *out, const char *text)
{
    struct buf b = BUF_INIT(4096);
    buf_addf(&b, "[%s]\n", text);
    int rc = add_text(out, "stderr", buf_str(&b));
    buf_release(&b);
    return rc;
}

/* Adds an error. The parts of the traceback are joined without a separator. */
static int add_error(struct buf *out, const struct json *content)
{
    struct buf b = BUF_INIT(LIMIT_KERNEL_MESSAGE), all = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    const struct json *parts = json_get(content, "traceback");
    for (const struct json *p = json_first(parts); p; p = json_next(p))
        buf_adds(&all, json_str_value(p, ""));
    buf_addz(&b, "{\"type\": \"error\", \"name\": ");
    json_quote(&b, json_str(content, "ename", ""));
    buf_addz(&b, ", \"value\": ");
    json_quote(&b, json_str(content, "evalue", ""));
    buf_addz(&b, ", \"traceback\": ");
    json_quote(&b, buf_str(&all));
    buf_addc(&b, '}');
    buf_release(&all);
    return add_line(out, &b);
}

/* ---- results ---- */

static const struct {
    const char *mime, *field;
} fields[] = {
    {"text/plain", "text"},        {"text/html", "html"},
    {"text/markdown", "markdown"}, {"image/svg+xml", "svg"},
    {"image/png", "png"},          {"image/jpeg", "jpeg"},
    {"application/pdf", "pdf"},    {"text/latex", "latex"},
    {"application/json", "json"},  {"application/javascript", "javascript"},
    {"e2b/data", "data"},          {"e2b/chart", "chart"},
};

static const char *field_of(const char *mime)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (strcmp(mime, fields[i].mime) == 0)
            return fields[i].field;
    }
    return NULL;
}

/* Returns s without one pair of surrounding quotes. */
static struct str unquoted(struct str s)
{
    bool pair = s.n >= 2 && s.p[0] == s.p[s.n - 1] && (s.p[0] == '\'' || s.p[0] == '"');
    return pair ? str_sub(s, 1, s.n - 2) : s;
}

static void add_value(struct buf *b, const char *field, const struct json *v)
{
    struct buf joined = BUF_INIT(LIMIT_KERNEL_MESSAGE);
    bool lines = json_is_array(v) &&
                 strcmp(field, "json") != 0; /* a list of lines, as in notebooks */
    for (const struct json *p = lines ? json_first(v) : NULL; p; p = json_next(p))
        buf_adds(&joined, json_str_value(p, ""));
    if (lines)
        json_quote(b, buf_str(&joined));
    else if (strcmp(field, "text") == 0 && json_is_string(v))
        json_quote(b, unquoted(json_str_value(v, "")));
    else
        json_print(b, v);
    buf_release(&joined);
}

static int add_result(struct buf *out, const struct json *data, bool main)
{
    struct buf b = BUF_INIT(2 * (size_t)LIMIT_KERNEL_MESSAGE);
    const char *field;
    bool more = false;
    buf_addz(&b, "{\"type\": \"result\"");
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        if (!(field = field_of(json_name(v))) || json_is_null(v))
            continue;
        buf_addf(&b, ", \"%s\": ", field);
        add_value(&b, field, v);
    }
    buf_addz(&b, ", \"extra\": {");
    for (const struct json *v = json_first(data); v; v = json_next(v)) {
        if (field_of(json_name(v)) || json_is_null(v))
            continue;
        buf_addz(&b, more ? ", " : "");
        json_quote(&b, str_of(json_name(v)));
        buf_addz(&b, ": ");
        json_print(&b, v);
        more = true;
    }
    buf_addf(&b, "}, \"is_main_result\": %s}", main ? "true" : "false");
    return add_line(out, &b);
}

int line_message(struct buf *out, struct str type, const struct json *content)
{
    if (str_eq(type, STR("stream"))) {
        bool err = str_eq(json_str(content, "name", ""), STR("stderr"));
        return add_text(out, err ? "stderr" : "stdout", json_str(content, "text", ""));
    }
    if (str_eq(type, STR("execute_result")))
        return add_result(out, json_get(content, "data"), true);
    if (str_eq(type, STR("display_data")))
        return add_result(out, json_get(content, "data"), false);
    if (str_eq(type, STR("error")))
        return add_error(out, content);
    if (str_eq(type, STR("page")))
        return add_text(out, "stdout", json_str(content, "text/plain", ""));
    if (str_eq(type, STR("note")))
        return line_note(out, json_str(content, "text", "").p);
    return 0;
}
