/* SPDX-License-Identifier: MIT */
#include "front/e2b/rpc.h"

#include "base/enc.h"
#include "front/e2b/envelope.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    KEEPALIVE_S = 90,
    KEEPALIVE_MAX_S = 3600,
    REST_MAX = 4 * E2B_RPC_EVENT_MAX /* frames on the way: a message, and the last two */
};

/* ---- errors ---- */

const char *e2b_rpc_code(enum err_code code)
{
    return code == ERR_CANCELLED ? "unavailable" : err_words(code)->connect;
}

/* Returns the HTTP status of a code (connectrpc.com/docs/protocol, "Error Codes"). */
static int status_of(const char *code)
{
    static const struct {
        const char *code;
        int status;
    } all[] = {{"canceled", 499},
               {"invalid_argument", 400},
               {"deadline_exceeded", 504},
               {"not_found", 404},
               {"already_exists", 409},
               {"permission_denied", 403},
               {"resource_exhausted", 429},
               {"failed_precondition", 400},
               {"aborted", 409},
               {"out_of_range", 400},
               {"unimplemented", 501},
               {"unavailable", 503},
               {"unauthenticated", 401}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].code, code) == 0)
            return all[i].status;
    }
    return 500;
}

static void put_error(struct buf *b, const char *code, const char *text)
{
    buf_addf(b, "{\"code\":\"%s\",\"message\":", code);
    json_quote(b, str_of(text));
    buf_addc(b, '}');
}

void e2b_rpc_fail(struct req *r, const char *code, const char *text)
{
    struct buf b = BUF_INIT(4096);
    put_error(&b, code, text);
    req_answer_take(r, status_of(code), "application/json", &b);
}

void e2b_rpc_refuse(struct req *r, const struct err *e)
{
    e2b_rpc_fail(r, e2b_rpc_code(e->code), e->text);
}

/* ---- requests ---- */

/* Whether this is the media type. Parameters are ignored. */
static bool is_type(struct str given, const char *type)
{
    struct str rest = given, name = str_trim(str_cut(&rest, ';'));
    return name.n == strlen(type) && strncasecmp(name.p, type, name.n) == 0;
}

static bool refuse_type(struct req *r, const char *type)
{
    struct str given = req_header(r, "Content-Type");
    char text[300];
    if (is_type(given, type))
        return false;
    snprintf(
        text, sizeof(text),
        "the content type \"%.*s\" is not served: this server has the JSON codec, %s",
        (int)(given.n < 100 ? given.n : 100), given.n ? given.p : "", type);
    struct buf b = BUF_INIT(1024);
    put_error(&b, "unimplemented", text);
    req_header_add(r, "Accept-Post", type);
    req_answer_take(r, 415, "application/json", &b);
    return true;
}

/* Checks the fields that all requests have. */
static int check_head(const struct req *r, const char *encoding, struct err *e)
{
    struct str version = req_header(r, "Connect-Protocol-Version");
    struct str coding = req_header(r, encoding);
    if (version.p && !str_eq(version, STR("1")))
        return err_set(e, ERR_INVALID, "connect-protocol-version must be \"1\": got %.*s",
                       (int)(version.n < 40 ? version.n : 40), version.p);
    if (coding.n > 0 && !str_eq(coding, STR("identity")))
        return err_set(e, ERR_UNSUPPORTED,
                       "unknown compression %.*s: supported encodings are identity",
                       (int)(coding.n < 40 ? coding.n : 40), coding.p);
    return 0;
}

static struct json *parse(struct str text, struct err *e)
{
    struct json *m = str_trim(text).n ? json_parse(text, e) : json_object();
    if (m && !json_is_object(m)) {
        json_free(m);
        m = NULL;
        err_set(e, ERR_INVALID, "the message must be a JSON object");
    }
    return m;
}

struct json *e2b_rpc_read(struct req *r)
{
    struct err e = ERR_INIT;
    int64_t ms;
    if (refuse_type(r, "application/json"))
        return NULL;
    struct json *m = check_head(r, "Content-Encoding", &e) == 0 &&
                             e2b_rpc_timeout(r, &ms, &e) == 0
                         ? parse(req_body(r), &e)
                         : NULL;
    if (!m)
        e2b_rpc_refuse(r, &e);
    return m;
}

void e2b_rpc_answer(struct req *r, struct buf *take)
{
    req_answer_take(r, 200, "application/json", take);
}

void e2b_rpc_answer_nothing(struct req *r)
{
    req_answer(r, 200, "application/json", STR("{}"));
}

int e2b_rpc_timeout(const struct req *r, int64_t *ms, struct err *e)
{
    struct str given = req_header(r, "Connect-Timeout-Ms");
    uint64_t n = 0;
    if (given.p && (given.n > 10 || str_to_u64(given, &n) < 0))
        return err_set(e, ERR_INVALID,
                       "Connect-Timeout-Ms must be a number of at most 10 digits, not "
                       "%.*s",
                       (int)(given.n < 40 ? given.n : 40), given.p);
    *ms = (int64_t)n;
    return 0;
}

int64_t e2b_rpc_keepalive(const struct req *r)
{
    uint64_t n = KEEPALIVE_S;
    struct str given = req_header(r, "Keepalive-Ping-Interval");
    if (str_to_u64(given, &n) < 0 || n == 0 || n > KEEPALIVE_MAX_S)
        n = KEEPALIVE_S;
    return (int64_t)n * 1000;
}

/* ---- members ---- */

const struct json *e2b_rpc_get(const struct json *m, const char *name, const char *other)
{
    const struct json *v = json_get(m, name);
    if (!v && other)
        v = json_get(m, other);
    return v && !json_is_null(v) ? v : NULL;
}

int e2b_rpc_str(const struct json *m, const char *name, const char *other,
                struct str *out, struct err *e)
{
    const struct json *v = e2b_rpc_get(m, name, other);
    if (v && !json_is_string(v))
        return err_set(e, ERR_INVALID, "%s must be a string", name);
    if (v)
        *out = json_str_value(v, "");
    return 0;
}

int e2b_rpc_bool(const struct json *m, const char *name, const char *other, bool *out,
                 struct err *e)
{
    const struct json *v = e2b_rpc_get(m, name, other);
    if (v && !json_is_bool(v))
        return err_set(e, ERR_INVALID, "%s must be true or false", name);
    if (v)
        *out = json_bool(m, json_name(v), false);
    return 0;
}

int e2b_rpc_uint(const struct json *m, const char *name, uint64_t max, uint64_t *out,
                 struct err *e)
{
    const struct json *v = e2b_rpc_get(m, name, NULL);
    if (!v)
        return 0;
    uint64_t n = 0;
    double d = json_num_value(v, -1);
    bool good = json_is_string(v) ? str_to_u64(json_str_value(v, ""), &n) == 0
                                  : d >= 0 && d <= 9e15 && d == (double)(uint64_t)d;
    if (good && !json_is_string(v))
        n = (uint64_t)d;
    if (!good || n > max)
        return err_set(e, ERR_INVALID, "%s must be an integer from 0 to %llu", name,
                       (unsigned long long)max);
    *out = n;
    return 0;
}

int e2b_rpc_bytes(const struct json *m, const char *name, struct buf *out, struct err *e)
{
    const struct json *v = e2b_rpc_get(m, name, NULL);
    struct str text = json_str_value(v, "");
    struct buf padded = BUF_INIT(E2B_RPC_BODY_MAX + 4);
    int rc = v && !json_is_string(v) ? -1 : 0;
    for (size_t i = 0; i < text.n && rc == 0; i++) {
        char c = text.p[i];
        rc = buf_addc(&padded, c == '-' ? '+' : c == '_' ? '/' : c);
    }
    while (padded.n % 4 && rc == 0)
        rc = buf_addc(&padded, '=');
    if (rc == 0 && padded.n > 0)
        rc = dec_base64(out, buf_str(&padded));
    buf_release(&padded);
    return rc < 0 ? err_set(e, ERR_INVALID, "%s must be base64", name) : 0;
}

/* ---- streams ---- */

static const char stream_type[] = "application/connect+json";

bool e2b_rpc_stream_head(struct req *r)
{
    struct err e = ERR_INIT;
    int64_t ms;
    if (refuse_type(r, stream_type))
        return false;
    if (check_head(r, "Connect-Content-Encoding", &e) == 0 &&
        e2b_rpc_timeout(r, &ms, &e) == 0)
        return true;
    e2b_rpc_stream_refuse(r, e2b_rpc_code(e.code), e.text);
    return false;
}

struct json *e2b_rpc_stream_read(struct req *r)
{
    struct err e = ERR_INIT;
    struct str in = req_body(r), message;
    bool none = in.n == 0;
    const char *code = NULL;
    if (!e2b_rpc_stream_head(r))
        return NULL;
    int got = envelope_cut(&in, &message, &e);
    struct json *m = got == 1 && in.n == 0 ? parse(message, &e) : NULL;
    if (m)
        return m;
    if (!e.code) {
        code = got == 1 || none ? "unimplemented" : "invalid_argument";
        err_set(&e, ERR_INVALID,
                got == 1 ? "the request has more than one message"
                : none   ? "the request has no message"
                         : "protocol error: an envelope of the request is cut short");
    }
    e2b_rpc_stream_refuse(r, code ? code : e2b_rpc_code(e.code), e.text);
    return NULL;
}

static void put_end(struct buf *out, const char *code, const char *text)
{
    struct buf b = BUF_INIT(4096);
    buf_addz(&b, code ? "{\"error\":" : "{");
    if (code)
        put_error(&b, code, text);
    buf_addc(&b, '}');
    envelope_put(out, ENVELOPE_END, buf_str(&b));
    buf_release(&b);
}

void e2b_rpc_stream_refuse(struct req *r, const char *code, const char *text)
{
    struct buf b = BUF_INIT(4096 + ENVELOPE_HEAD);
    put_end(&b, code, text);
    req_answer_take(r, 200, stream_type, &b);
}

static void finish(struct e2b_rpc_stream *s)
{
    timer_stop(&s->keep);
    buf_release(&s->rest);
    s->req = NULL;
    s->over(s->owner);
}

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    finish(owner);
}

/* A client that ends its side while a stream is open has left. */
static void on_half_closed(struct req *r, void *owner)
{
    struct e2b_rpc_stream *s = owner;
    if (s->last)
        return;
    s->req = NULL;
    req_abort(r);
    finish(s);
}

static void flush(struct e2b_rpc_stream *s)
{
    while (s->rest.n > 0) {
        size_t n = req_send(s->req, buf_str(&s->rest));
        if (n == 0)
            return;
        buf_consume(&s->rest, n);
    }
    if (s->last) {
        req_end(s->req);
        finish(s);
    }
}

static void on_room(struct req *r, void *owner)
{
    struct e2b_rpc_stream *s = owner;
    (void)r;
    flush(s);
    if (s->req && s->rest.n == 0 && !s->last && s->room)
        s->room(s->owner);
}

static void on_keep(struct timer *t)
{
    struct e2b_rpc_stream *s = container_of(t, struct e2b_rpc_stream, keep);
    timer_begin(s->loop, t, s->keep_ms, on_keep);
    if (e2b_rpc_stream_room(s))
        e2b_rpc_stream_send(s, str_of(s->keepalive));
}

void e2b_rpc_stream_begin(struct e2b_rpc_stream *s, struct req *r)
{
    s->req = r;
    buf_init(&s->rest, REST_MAX);
    req_own(r, s, on_gone);
    req_on_room(r, on_room);
    req_on_half_closed(r, on_half_closed);
    req_begin(r, 200, stream_type, -1);
    if (s->keep_ms > 0)
        timer_begin(s->loop, &s->keep, s->keep_ms, on_keep);
}

bool e2b_rpc_stream_room(const struct e2b_rpc_stream *s)
{
    return s->req && !s->last && s->rest.n == 0;
}

void e2b_rpc_stream_send(struct e2b_rpc_stream *s, struct str message)
{
    if (!s->req || s->last)
        return;
    envelope_put(&s->rest, 0, message);
    if (timer_active(&s->keep))
        timer_begin(s->loop, &s->keep, s->keep_ms, on_keep);
    flush(s);
}

void e2b_rpc_stream_end(struct e2b_rpc_stream *s, const char *code, const char *text)
{
    if (!s->req || s->last)
        return;
    put_end(&s->rest, code, text);
    s->last = true;
    flush(s);
}
