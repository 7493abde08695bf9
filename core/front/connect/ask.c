/* SPDX-License-Identifier: MIT */
#include "front/connect/ask.h"

#include "base/clock.h"

#include <stdio.h>
#include <strings.h>

enum { SHOWN = 120, LATER_MAX_S = 300 };

const char *connect_outcome_name(enum connect_outcome o)
{
    static const char *const names[CONNECT_OUTCOMES] = {
        [CONNECT_LOCAL] = "local",
        [CONNECT_NO_ADDRESS] = "no-address",
        [CONNECT_UNREACHABLE] = "unreachable",
        [CONNECT_PROXY] = "proxy",
        [CONNECT_TLS] = "tls",
        [CONNECT_SILENT] = "silent",
        [CONNECT_REFUSED] = "refused",
        [CONNECT_NOT_FOUND] = "not-found",
        [CONNECT_BUSY] = "busy",
        [CONNECT_REDIRECT] = "redirect",
        [CONNECT_NO_WEBSOCKET] = "no-websocket",
        [CONNECT_GARBAGE] = "garbage",
        [CONNECT_FUTURE] = "future-id",
        [CONNECT_CLOSED] = "closed",
        [CONNECT_CUT] = "cut",
        [CONNECT_DEAD] = "dead",
    };
    return names[o];
}

/* ---- where ---- */

static bool same_host(struct str a, struct str b)
{
    return a.n == b.n && strncasecmp(a.p, b.p, a.n) == 0;
}

/* text is "" on failure. */
static int set_url(struct ask *a, struct str url, struct err *e)
{
    a->text[0] = 0;
    if (url.n > ASK_URL_MAX)
        return err_set(e, ERR_LIMIT, "cannot use a URL: it is longer than %d bytes",
                       ASK_URL_MAX);
    memcpy(a->text, url.p, url.n);
    a->text[url.n] = 0;
    return url_parse(&a->at, str_n(a->text, url.n), e);
}

int ask_begin(struct ask *a, struct str url, struct err *e)
{
    a->hops = 0;
    return set_url(a, url, e);
}

void ask_print(const struct ask *a, struct buf *out)
{
    buf_addf(out, "%s://%.*s", a->at.tls ? "wss" : "ws", STR_ARG(a->at.authority));
}

/* ---- the request ---- */

int ask_fields(struct ask *a, const char *user_agent, struct str token, struct str more,
               struct buf *out, struct err *e)
{
    ws_new_key(a->key);
    if (ws_add_request(out, a->key, STR(ASK_PROTOCOL)) < 0 ||
        buf_addf(out, "User-Agent: %s\r\n", user_agent) < 0 ||
        (token.n > 0 &&
         buf_addf(out, "Authorization: Bearer %.*s\r\n", STR_ARG(token)) < 0) ||
        buf_adds(out, more) < 0)
        return err_set(e, ERR_LIMIT,
                       "cannot ask the backend: token and headers are longer than %zu "
                       "bytes",
                       out->max);
    return 0;
}

/* ---- the answer ---- */

/* Appends "; its answer: …" with the first line of the body, which may have any bytes. */
static void add_shown(struct buf *out, struct str body)
{
    body = str_trim(body);
    long end = str_chr(body, '\n');
    body = str_trim(str_sub(body, 0, end >= 0 ? (size_t)end : body.n));
    if (body.n == 0 || body.p[0] == '<') /* HTML does not help */
        return;
    buf_addz(out, "; its answer: ");
    for (size_t i = 0; i < body.n && i < SHOWN; i++)
        buf_addc(out, body.p[i] >= ' ' && body.p[i] < 0x7f ? body.p[i] : '?');
}

static int refuse(struct ask_result *r, enum connect_outcome o, enum err_code code,
                  const char *words, int status, struct str body)
{
    struct buf b = BUF_INIT(SHOWN + 20);
    add_shown(&b, body);
    r->outcome = o;
    err_set(&r->e, code, "%s (%d%s%s)%s", words, status, *http_reason(status) ? " " : "",
            http_reason(status), buf_z(&b));
    buf_release(&b);
    return -1;
}

static int refuse_status(struct ask_result *r, int status, struct str body)
{
    switch (status) {
    case 401:
        return refuse(r, CONNECT_REFUSED, ERR_DENIED,
                      "the backend refuses our credentials: is the token of "
                      "--connect-token-file the right one?",
                      status, body);
    case 403:
        return refuse(r, CONNECT_REFUSED, ERR_DENIED, "the backend refuses access",
                      status, body);
    case 404:
    case 410:
        return refuse(r, CONNECT_NOT_FOUND, ERR_NOTFOUND,
                      "the backend has nothing at the path of --connect's URL", status,
                      body);
    case 426:
        return refuse(r, CONNECT_NO_WEBSOCKET, ERR_UNSUPPORTED,
                      "the backend requires another protocol, or a version of WebSocket "
                      "other than " WS_VERSION,
                      status, body);
    case 408:
    case 429:
        return refuse(r, CONNECT_BUSY, ERR_BUSY, "the backend asks to try again later",
                      status, body);
    default:
        if (status >= 500)
            return refuse(r, CONNECT_BUSY, ERR_BUSY, "the backend is not able to answer",
                          status, body);
        return refuse(r, CONNECT_NO_WEBSOCKET, ERR_INVALID,
                      "the backend answers, but not as a WebSocket: is the path of "
                      "--connect's URL right?",
                      status, body);
    }
}

/*
 * Resolves a reference against the current URL (RFC 3986 5.2); the server removes dots.
 */
static int resolve(const struct ask *a, struct str to, struct buf *out)
{
    const struct url *u = &a->at;
    long colon = str_find(to, STR("://"));
    struct str path = u->target, q = path;
    path = str_cut(&q, '?');
    if (colon > 0 && str_chr(str_sub(to, 0, (size_t)colon), '/') < 0)
        return buf_adds(out, to);
    const char *scheme = u->tls ? "wss" : "ws";
    if (str_starts(to, STR("//")))
        return buf_addf(out, "%s:%.*s", scheme, STR_ARG(to));
    size_t keep = 0;
    if (to.n > 0 && to.p[0] == '?')
        keep = path.n;
    else if (to.n > 0 && to.p[0] != '/')
        for (size_t i = 0; i < path.n; i++)
            keep = path.p[i] == '/' ? i + 1 : keep;
    return buf_addf(out, "%s://%.*s%.*s%.*s", scheme, STR_ARG(u->authority),
                    STR_ARG(str_sub(path, 0, keep)), STR_ARG(to));
}

static int stay(struct ask_result *r, const char *why, const struct ask *to)
{
    struct buf b = BUF_INIT(400);
    if (to && to->text[0])
        ask_print(to, &b);
    r->outcome = CONNECT_REDIRECT;
    err_set(&r->e, ERR_DENIED, "the backend redirects%s%s, %s", b.n > 0 ? " to " : "",
            buf_z(&b), why);
    buf_release(&b);
    return -1;
}

static int redirect(struct ask *a, const struct http_head *h, struct ask_result *r)
{
    struct str to = http_field(h, "Location");
    struct buf url = BUF_INIT(ASK_URL_MAX);
    struct ask next;
    next.text[0] = 0;
    if (!to.p || to.n == 0)
        return stay(r, "without an address", NULL);
    if (resolve(a, to, &url) < 0 || set_url(&next, buf_str(&url), NULL) < 0) {
        buf_release(&url);
        return stay(r, "to an address that is not a WebSocket URL", NULL);
    }
    int rc = 0;
    if (a->at.tls && !next.at.tls)
        rc = stay(r, "from TLS to none, which is not allowed", &next);
    else if (!same_host(a->at.host, next.at.host))
        rc = stay(r, "which is another host; if that is meant, give it to --connect",
                  &next);
    else if (!next.at.tls && next.at.port != a->at.port)
        rc = stay(r,
                  "which is another port without TLS; if that is meant, give it to "
                  "--connect",
                  &next);
    else if (++a->hops > ASK_HOPS_MAX)
        rc = stay(r, "too many times", &next);
    else
        rc = set_url(a, buf_str(&url), &r->e);
    buf_release(&url);
    return rc;
}

static int judge_handshake(const struct ask *a, const struct http_head *h,
                           struct ask_result *r)
{
    struct buf connection = BUF_INIT(HTTP_LINE_MAX), extensions = BUF_INIT(HTTP_LINE_MAX);
    int joined = http_joined(h, "Connection", &connection);
    int extended = http_joined(h, "Sec-WebSocket-Extensions", &extensions);
    struct ws_hello hello = {.upgrade = http_field(h, "Upgrade"),
                             .connection = buf_str(&connection),
                             .accept = http_field(h, "Sec-WebSocket-Accept"),
                             .protocol = http_field(h, "Sec-WebSocket-Protocol"),
                             .extensions = buf_str(&extensions)};
    r->outcome = CONNECT_NO_WEBSOCKET;
    int rc = joined < 0 || extended < 0
                 ? err_set(&r->e, ERR_LIMIT, "the backend's answer is too long")
                 : ws_check_answer(h->status, &hello, a->key, STR(ASK_PROTOCOL), &r->e);
    buf_release(&connection);
    buf_release(&extensions);
    return rc < 0 ? -1 : 1;
}

int ask_judge(struct ask *a, const struct http_head *h, struct str body,
              struct ask_result *r)
{
    uint64_t seconds;
    int s = h->status;
    *r = (struct ask_result){.e = ERR_INIT};
    if (s == 101)
        return judge_handshake(a, h, r);
    if (s == 301 || s == 302 || s == 303 || s == 307 || s == 308)
        return redirect(a, h, r);
    if (str_to_u64(http_field(h, "Retry-After"), &seconds) == 0)
        r->later_ms = (int64_t)(seconds < LATER_MAX_S ? seconds : LATER_MAX_S) * 1000;
    return refuse_status(r, s, body);
}

/* ---- checks of options ---- */

static bool is_ours(struct str name)
{
    static const char *const names[] = {
        "Host",    "Connection",      "Upgrade", "Content-Length", "Transfer-Encoding",
        "Trailer", "Proxy-Connection"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (same_host(name, str_of(names[i])))
            return true;
    }
    return name.n >= 14 && strncasecmp(name.p, "Sec-WebSocket-", 14) == 0;
}

/* RFC 9110 5.6.2 */
static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!(c >= '0' && c <= '9') && !((c | 32) >= 'a' && (c | 32) <= 'z') &&
            !(c && strchr("!#$%&'*+-.^_`|~", c)))
            return false;
    }
    return s.n > 0;
}

int ask_add_line(struct buf *out, struct str line, struct err *e)
{
    struct str value = line, name = str_cut(&value, ':');
    if (name.n == line.n || !is_token(name))
        return err_set(e, ERR_INVALID,
                       "a header is NAME: VALUE, with a name of letters, digits and - "
                       "right before the colon");
    if (is_ours(name))
        return err_set(e, ERR_INVALID, "the header %.*s is set by od itself",
                       (int)(name.n < 100 ? name.n : 100), name.p);
    value = str_trim(value);
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < ' ' && c != '\t') || c == 0x7f)
            return err_set(e, ERR_INVALID, "the header %.*s has a control character",
                           (int)(name.n < 100 ? name.n : 100), name.p);
    }
    if (buf_addf(out, "%.*s: %.*s\r\n", STR_ARG(name), STR_ARG(value)) < 0)
        return err_set(e, ERR_LIMIT, "the headers are longer than %zu bytes", out->max);
    return 0;
}

int ask_allow_secret(const struct ask *a, bool proxied, struct err *e)
{
    if (a->at.tls || (url_is_loopback(a->at.host) && !proxied))
        return 0;
    struct buf b = BUF_INIT(400);
    ask_print(a, &b);
    err_set(e, ERR_DENIED,
            "cannot send a token, header or password to %s: without TLS everybody on the "
            "way reads it; use wss://, or allow it with --connect-insecure",
            buf_z(&b));
    buf_release(&b);
    return -1;
}
