/* SPDX-License-Identifier: MIT */
/* The opening handshake of WebSocket (RFC 6455 section 4). */
#include "http/ws_hello.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "http/httpd.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* section 1.3 */

int ws_accept_key(struct str key, char out[WS_ACCEPT_SIZE])
{
    struct buf raw = BUF_INIT(16), text = BUF_INIT(WS_ACCEPT_SIZE - 1);
    uint8_t sum[HASH_SHA1_SIZE];
    int ok = key.n == WS_KEY_SIZE - 1 && dec_base64(&raw, key) == 0 && raw.n == 16;
    if (ok) {
        struct hash h;
        hash_begin_sha1(&h);
        hash_add(&h, key);
        hash_add(&h, STR(GUID));
        hash_end(&h, sum);
        ok = enc_base64(&text, str_n(sum, sizeof(sum))) == 0;
    }
    if (ok)
        memcpy(out, text.p, WS_ACCEPT_SIZE);
    buf_release(&raw);
    buf_release(&text);
    return ok ? 0 : -1;
}

/* A list of names: the next one, without the blanks around it. */
static bool next_name(struct str *list, struct str *name)
{
    while (list->n > 0) {
        *name = str_trim(str_cut(list, ','));
        if (name->n > 0)
            return true;
    }
    return false;
}

static bool is_offered(struct str offered, struct str wanted)
{
    struct str name;
    while (next_name(&offered, &name)) {
        if (str_eq(name, wanted))
            return true;
    }
    return false;
}

static int refuse(struct err *e, int status, const char *why)
{
    err_set(e, status == 426 ? ERR_UNSUPPORTED : ERR_INVALID,
            "cannot open a WebSocket: %s", why);
    return status;
}

int ws_check_request(const struct ws_hello *q, char accept[WS_ACCEPT_SIZE], struct err *e)
{
    if (!http_has_token(q->upgrade, "websocket"))
        return refuse(e, 426, "the request has no Upgrade: websocket");
    if (!http_has_token(q->connection, "upgrade"))
        return refuse(e, 400, "the request has no Connection: Upgrade");
    if (!str_eq(q->version, STR(WS_VERSION)))
        return refuse(e, 426, "its version (Sec-WebSocket-Version) must be " WS_VERSION);
    if (ws_accept_key(q->key, accept) < 0)
        return refuse(e, 400, "Sec-WebSocket-Key is not 16 bytes in base64");
    return 0;
}

struct str ws_choose(struct str offered, const char *const *known)
{
    struct str name;
    while (next_name(&offered, &name)) {
        for (const char *const *k = known; k && *k; k++) {
            if (str_eq(name, str_of(*k)))
                return name;
        }
    }
    return (struct str){0};
}

int ws_check_req(struct req *r, const char *const *known, const char **chosen,
                 char accept[WS_ACCEPT_SIZE], struct err *e)
{
    struct buf offered = BUF_INIT(4096);
    http_joined(req_head(r), "Sec-WebSocket-Protocol", &offered);
    struct ws_hello h = {.upgrade = req_header(r, "Upgrade"),
                         .connection = req_header(r, "Connection"),
                         .key = req_header(r, "Sec-WebSocket-Key"),
                         .version = req_header(r, "Sec-WebSocket-Version"),
                         .protocol = buf_str(&offered)};
    int status = ws_check_request(&h, accept, e);
    struct str name = ws_choose(h.protocol, known);
    *chosen = NULL;
    for (; name.p && *known && !*chosen; known++)
        *chosen = str_eq(name, str_of(*known)) ? *known : NULL;
    buf_release(&offered);
    if (status) {
        req_header_add(r, "Sec-WebSocket-Version", WS_VERSION);
        req_header_add(r, "Upgrade", "websocket");
    }
    return status;
}

void ws_new_key(char out[WS_KEY_SIZE])
{
    uint8_t raw[16];
    struct buf text = BUF_INIT(WS_KEY_SIZE - 1);
    random_bytes(raw, sizeof(raw));
    enc_base64(&text, str_n(raw, sizeof(raw)));
    memcpy(out, text.p, WS_KEY_SIZE);
    buf_release(&text);
}

int ws_add_request(struct buf *out, const char *key, struct str offered)
{
    size_t before = out->n;
    if (buf_addf(out,
                 "Upgrade: websocket\r\nConnection: Upgrade\r\n"
                 "Sec-WebSocket-Version: " WS_VERSION "\r\nSec-WebSocket-Key: %s\r\n",
                 key) < 0)
        return -1;
    if (offered.n > 0 &&
        buf_addf(out, "Sec-WebSocket-Protocol: %.*s\r\n", STR_ARG(offered)) < 0) {
        buf_truncate(out, before);
        return -1;
    }
    return 0;
}

static int distrust(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "cannot open a WebSocket: %s", why);
}

int ws_check_answer(int status, const struct ws_hello *a, const char *key,
                    struct str offered, struct err *e)
{
    char accept[WS_ACCEPT_SIZE];
    if (status != 101)
        return err_set(e, status == 401 || status == 403 ? ERR_DENIED : ERR_INVALID,
                       "cannot open a WebSocket: the server answers with status %d, "
                       "not 101",
                       status);
    if (!http_has_token(a->upgrade, "websocket"))
        return distrust(e, "the answer has no Upgrade: websocket");
    if (!http_has_token(a->connection, "upgrade"))
        return distrust(e, "the answer has no Connection: Upgrade");
    if (ws_accept_key(str_of(key), accept) < 0 || !str_eq(a->accept, str_of(accept)))
        return distrust(e, "Sec-WebSocket-Accept does not answer our key; "
                           "is there a cache in between?");
    if (a->extensions.n > 0)
        return distrust(e, "the server uses an extension that was not offered");
    if (a->protocol.p && !is_offered(offered, a->protocol))
        return distrust(e, "the server chose a protocol that was not offered");
    return 0;
}
