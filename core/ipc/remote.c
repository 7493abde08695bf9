/* SPDX-License-Identifier: MIT */
#include "ipc/remote.h"

#include "base/json.h"
#include "http/httpc.h"
#include "net/trust.h"
#include "os/file.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { DIAL_MS = 10000, SHOWN = 200, SENTENCE = 300 };

bool remote_is(const char *where) { return where && strstr(where, "://"); }

/* ---- what is given ---- */

static int read_address(struct remote *r, const char *where, struct err *e)
{
    size_t n = strlen(where);
    if (n > REMOTE_URL_MAX)
        return err_set(e, ERR_INVALID,
                       "the address of the server is longer than %d bytes",
                       REMOTE_URL_MAX);
    memcpy(r->text, where, n + 1);
    bool known = strncasecmp(where, "http://", 7) == 0 ||
                 strncasecmp(where, "https://", 8) == 0;
    if (!known)
        return err_set(
            e, ERR_INVALID,
            "cannot use the server %.200s: it takes https://HOST[:PORT]/PREFIX "
            "or http://…",
            where);
    if (strpbrk(where, "?#"))
        return err_set(e, ERR_INVALID,
                       "cannot use the server %.200s: its address has no ? and no #",
                       where);
    if (url_parse(&r->at, str_n(r->text, n), e) < 0)
        return -1;
    if (r->at.user.p)
        return err_set(e, ERR_INVALID,
                       "the address of a server has no name and no password in it: the "
                       "key goes into OD_SERVER_KEY_FILE or OD_SERVER_KEY");
    r->prefix = r->at.target;
    while (r->prefix.n > 0 && r->prefix.p[r->prefix.n - 1] == '/')
        r->prefix.n--;
    return 0;
}

static int check_key(struct str key, const char *whence, struct err *e)
{
    if (key.n == 0)
        return err_set(e, ERR_INVALID, "there is no key in %.200s", whence);
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] <= ' ' || key.p[i] > 0x7e)
            return err_set(e, ERR_INVALID,
                           "the key in %.200s has a byte that no header can carry: it "
                           "takes printable ASCII without blanks",
                           whence);
    }
    return 0;
}

static int read_key(struct remote *r, struct err *e)
{
    const char *file = getenv("OD_SERVER_KEY_FILE"), *key = getenv("OD_SERVER_KEY");
    if (file && *file) {
        struct buf text = BUF_INIT(REMOTE_KEY_MAX + 1024);
        int rc = file_read(file, REMOTE_KEY_MAX + 1000, &text, e);
        struct str rest = buf_str(&text), line = str_trim(str_cut(&rest, '\n'));
        if (rc == 0)
            rc = check_key(line, file, e);
        if (rc == 0 && buf_adds(&r->key, line) < 0)
            rc = err_set(e, ERR_LIMIT, "the key in %.200s is longer than %d bytes", file,
                         REMOTE_KEY_MAX);
        buf_release(&text);
        return rc;
    }
    if (!key || !*key)
        return 0;
    if (buf_addz(&r->key, key) < 0)
        return err_set(e, ERR_LIMIT, "the key in OD_SERVER_KEY is longer than %d bytes",
                       REMOTE_KEY_MAX);
    return check_key(buf_str(&r->key), "OD_SERVER_KEY", e);
}

static int check_clear(const struct remote *r, struct err *e)
{
    const char *allowed = getenv("OD_SERVER_INSECURE");
    if (r->at.tls || r->key.n == 0 || (url_is_loopback(r->at.host) && !r->proxied) ||
        (allowed && strcmp(allowed, "1") == 0))
        return 0;
    return err_set(
        e, ERR_DENIED,
        "cannot send the key to %.200s: without TLS everybody on the way reads "
        "it; use https://, or allow it with OD_SERVER_INSECURE=1",
        r->text);
}

int remote_open(struct remote *r, const char *where, struct err *e)
{
    *r = (struct remote){.key = BUF_INIT(REMOTE_KEY_MAX)};
    if (read_address(r, where, e) < 0 || read_key(r, e) < 0)
        return -1;
    int proxied = url_proxy(&r->proxy, &r->at, getenv, e);
    if (proxied < 0)
        return -1;
    r->proxied = proxied > 0;
    if (check_clear(r, e) < 0)
        return -1;
    if (!r->at.tls)
        return 0;
    const char *ca = getenv("OD_CA");
    struct trust_where at = {.ca = ca && *ca ? ca : NULL};
    struct trust *trust = trust_new(&at, e);
    if (trust)
        r->tls = tls_client_new(trust, NULL, e);
    return r->tls ? 0 : -1;
}

void remote_release(struct remote *r)
{
    if (r->key.p)
        explicit_bzero(r->key.p, r->key.n);
    buf_release(&r->key);
    tls_client_free(r->tls);
    r->tls = NULL;
}

/* ---- the request ---- */

void remote_target(const struct remote *r, const char *path, struct buf *out)
{
    buf_adds(out, r->prefix);
    buf_addz(out, path);
}

void remote_fields(const struct remote *r, struct buf *out)
{
    if (r->key.n > 0)
        buf_addf(out, "Authorization: Bearer %.*s\r\n", STR_ARG(buf_str(&r->key)));
    httpc_add_field(out, "User-Agent", STR("od"));
}

struct dial *
remote_dial(const struct remote *r, struct loop *l, size_t in_max, size_t out_max,
            void (*on_done)(struct dial *d, struct stream *s, const struct err *e),
            void *owner, struct err *e)
{
    struct dial_spec spec = {.host = r->at.host,
                             .port = r->at.port,
                             .tls = r->tls,
                             .proxy = r->proxied ? &r->proxy : NULL,
                             .timeout_ms = DIAL_MS,
                             .in_max = in_max,
                             .out_max = out_max,
                             .on_done = on_done,
                             .owner = owner};
    return dial_start(l, &spec, e);
}

/* ---- what went wrong ---- */

bool remote_dial_failed(const struct remote *r, const struct dial *d,
                        const struct err *why, struct err *e)
{
    const char *hint;
    char host[100];
    size_t n = r->at.host.n < sizeof(host) - 1 ? r->at.host.n : sizeof(host) - 1;
    memcpy(host, r->at.host.p, n);
    host[n] = 0;
    switch (dial_fault(d)) {
    case TLS_FAULT_AUTHORITY:
        hint = strstr(why->text, "; if it is to be trusted");
        err_set(e, ERR_DENIED,
                "%.*s. To trust it, name a file with the certificate of who signed the "
                "server's, in PEM: --ca FILE, or OD_CA=FILE",
                hint && hint - why->text < SENTENCE ? (int)(hint - why->text) : SENTENCE,
                why->text);
        return false;
    case TLS_FAULT_NAME:
        err_set(e, ERR_DENIED,
                "%.270s. To trust it, put a name that the certificate has into --server, "
                "or give the server a certificate for %s",
                why->text, host);
        return false;
    case TLS_FAULT_DATE:
        err_set(e, ERR_DENIED, "%.400s", why->text);
        return false;
    case TLS_FAULT_NONE:
        break;
    }
    *e = *why;
    return why->code != ERR_INVALID && why->code != ERR_UNSUPPORTED;
}

/* Appends od's own error, or the first line of a short text; an HTML page is left out. */
static void add_words(struct buf *out, struct str body)
{
    struct json *j = json_parse(body, NULL);
    struct str said = json_str(json_get(j, "error"), "message", "");
    if (!said.p || said.n == 0) {
        struct str rest = str_trim(body);
        said = str_trim(str_cut(&rest, '\n'));
        if (said.n > 0 && (said.p[0] == '<' || said.p[0] == '{'))
            said.n = 0;
    }
    if (said.n > 0)
        buf_addz(out, "; it says: ");
    for (size_t i = 0; i < said.n && i < SHOWN; i++)
        buf_addc(out, said.p[i] >= ' ' && said.p[i] < 0x7f ? said.p[i] : '?');
    json_free(j);
}

bool remote_refused(const struct remote *r, int status, struct str to, struct str body,
                    struct err *e)
{
    struct buf words = BUF_INIT(SHOWN + 20);
    add_words(&words, body);
    bool again = status == 408 || status == 429 || (status >= 500 && status != 501);
    enum err_code code = again ? ERR_BUSY : ERR_INVALID;
    const char *what = "answers, but not as an od server does: is the prefix of its "
                       "address right, and does a proxy before it pass WebSockets on?";
    if (status == 401 || (status == 403 && r->key.n == 0)) {
        code = ERR_DENIED;
        what = r->key.n > 0 ? "does not accept the key: is the one in OD_SERVER_KEY_FILE "
                              "or OD_SERVER_KEY the right one?"
                            : "wants a key: put it into the file that OD_SERVER_KEY_FILE "
                              "names, or into OD_SERVER_KEY";
    } else if (status == 403) {
        code = ERR_DENIED;
        what = "does not accept the key, or does not allow that with it: is the one in "
               "OD_SERVER_KEY_FILE or OD_SERVER_KEY the right one?";
    } else if (status == 404) {
        code = ERR_NOTFOUND;
        what = "has nothing at " REMOTE_PATH
               ": is the prefix of its address right, and is "
               "it an od of this version?";
    } else if (status == 410) {
        code = ERR_GONE;
        what = "has ended, and with it what it ran; another one runs there now";
        buf_reset(&words);
    } else if (status >= 300 && status < 400) {
        what = "sends us on to another address; if that is meant, give it to --server";
        buf_reset(&words);
        if (to.n > 0 && to.n < SHOWN)
            buf_addf(&words, ": %.*s", STR_ARG(to));
    } else if (again) {
        what = "is not able to answer";
    }
    err_set(e, code, "the server at %.100s %s (%d%s%s)%s", r->text, what, status,
            *http_reason(status) ? " " : "", http_reason(status), buf_z(&words));
    buf_release(&words);
    return again;
}
