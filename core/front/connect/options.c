/* SPDX-License-Identifier: MIT */
/*
 * The options about the backend to dial. od serve checks them, so that a person reads the
 * errors, and stores them for the worker.
 */
#include "front/connect/connect.h"

#include "base/enc.h"
#include "base/option.h"
#include "front/backend/secret.h"

#include <stdlib.h>

enum { DAY_MS = 86400000 };

#define A_TIME .min = 1, .max = DAY_MS, .takes = "more than nothing and at most a day"

static const struct option_row rows[] = {
    {.name = "connect",
     .type = OPTION_TEXT,
     .value = "URL",
     .env = "OD_CONNECT",
     .secret = true,
     .about = "dial out to a backend, wss://HOST/PATH, and keep the event stream to it "
              "open; through HTTPS_PROXY unless NO_PROXY has the host"},
    {.name = "connect-header",
     .type = OPTION_LINES,
     .value = "'NAME: VALUE'",
     .env = "OD_CONNECT_HEADER",
     .max = 32,
     .secret = true,
     .about = "send this header to the backend with the request for the link; give "
              "the option once for each (in the environment: one on each line)"},
    {.name = "connect-token",
     .type = OPTION_TEXT,
     .value = "TOKEN",
     .env = "OD_CONNECT_TOKEN",
     .secret = true,
     .about = "send this token to the backend, as Authorization: Bearer. Other users "
              "can see options while the server starts: use the environment or a file "
              "instead"},
    {.name = "connect-token-file",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_CONNECT_TOKEN_FILE",
     .about = "take the token from the first line of this file, which is read again "
              "for each try while it is there"},
    {.name = "ca",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_CA",
     .unset = "SSL_CERT_FILE, SSL_CERT_DIR, the system's",
     .about = "trust these authorities for the backend's certificate (PEM)"},
    {.name = "connect-cert",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_CONNECT_CERT",
     .about = "present this certificate to the backend, with its chain (PEM)"},
    {.name = "connect-key",
     .type = OPTION_TEXT,
     .value = "FILE",
     .env = "OD_CONNECT_KEY",
     .unset = "in --connect-cert",
     .about = "take its private key from this file (PEM)"},
    {.name = "connect-insecure",
     .type = OPTION_SWITCH,
     .env = "OD_CONNECT_INSECURE",
     .about = "send token and headers to other machines without TLS (ws://), too: "
              "everybody on the way can read them"},
    {.name = "connect-wait",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_CONNECT_WAIT",
     .member = "wait_ms",
     .dflt = "30",
     A_TIME,
     .about = "wait at most this long between tries; each wait is random, from zero to a "
              "bound that begins at 0.5 and doubles"},
    {.name = "connect-timeout",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_CONNECT_TIMEOUT",
     .member = "timeout_ms",
     .dflt = "30",
     A_TIME,
     .about = "give up a try when one of its steps takes longer: the connection, the "
              "handshake, the greeting"},
    {.name = "connect-ping",
     .type = OPTION_SECONDS,
     .value = "SECONDS",
     .env = "OD_CONNECT_PING",
     .member = "ping_ms",
     .dflt = "10",
     A_TIME,
     .about = "ping a backend that has been silent for this long; after three times "
              "that, the link is lost"},
    {.name = NULL},
};

static void put_proxy(struct json *o, const char *name, const struct proxy *p)
{
    struct json *j = json_object();
    json_put_z(j, "host", p->host);
    json_put_int(j, "port", p->port);
    json_put_z(j, "auth", p->auth);
    json_put(o, name, j);
}

/*
 * Stores the proxies with and without TLS, as a redirect may go from one to the other.
 * Returns 1 if there is a proxy for a's address, 0 if not, -1 and sets *e.
 */
static int put_proxies(struct json *o, const struct ask *a, struct err *e)
{
    struct proxy p;
    int proxied = 0;
    for (int tls = 0; tls < 2; tls++) {
        struct url u = a->at;
        u.tls = tls;
        int rc = url_proxy(&p, &u, getenv, e);
        if (rc < 0)
            return -1;
        if (rc > 0)
            put_proxy(o, tls ? "proxy_wss" : "proxy_ws", &p);
        if (a->at.tls == tls)
            proxied = rc;
    }
    return proxied;
}

/* Adds "name:password@" of the URL as a field (RFC 7617). */
static int add_user(struct buf *fields, struct str user, struct err *e)
{
    struct buf plain = BUF_INIT(1024), text = BUF_INIT(2048);
    int rc = 0;
    if (http_decode(&plain, user, false) < 0 || enc_base64(&text, buf_str(&plain)) < 0 ||
        buf_addf(fields, "Authorization: Basic %s\r\n", buf_z(&text)) < 0)
        rc = err_set(e, ERR_INVALID,
                     "the name and password in the URL of --connect are malformed or too "
                     "long");
    buf_release(&plain);
    buf_release(&text);
    return rc;
}

static int put_fields(struct json *o, const struct json *headers, const struct ask *a,
                      struct err *e)
{
    struct buf fields = BUF_INIT(ASK_FIELDS_MAX);
    int rc = a->at.user.p ? add_user(&fields, a->at.user, e) : 0;
    for (struct json *v = json_first(headers); v && rc == 0; v = json_next(v))
        rc = ask_add_line(&fields, json_str_value(v, ""), e);
    json_put_str(o, "fields", buf_str(&fields));
    buf_release(&fields);
    return rc;
}

static int put_token(struct json *o, const char *given, const char *file, struct err *e)
{
    struct buf token = BUF_INIT(BACKEND_SECRET_MAX);
    int rc = 0;
    if (given) {
        if (!*given || buf_addz(&token, given) < 0)
            rc = err_set(e, ERR_INVALID, "the token of --connect-token has 1 to %d bytes",
                         BACKEND_SECRET_MAX);
    } else if (file) {
        rc = backend_put_secret(o, "token_file", file, &token, e);
    }
    for (size_t i = 0; rc == 0 && given && i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > 0x7e)
            rc = err_set(e, ERR_INVALID,
                         "the token of --connect-token has a byte that no header can "
                         "carry: it takes printable ASCII without blanks");
    }
    json_put_str(o, "token", buf_str(&token));
    buf_release(&token);
    return rc;
}

/* An option has priority over the environment, also if the two have different names. */
static void choose_token(const struct options *given, const char **token,
                         const char **file)
{
    *token = option_text(given, "connect-token");
    *file = option_text(given, "connect-token-file");
    bool token_given = option_given(given, "connect-token");
    if (token_given && !option_given(given, "connect-token-file"))
        *file = NULL;
    else if (*file && !token_given)
        *token = NULL;
}

/* Fills o, in the form for the worker, from own, the values of the rows. */
static int put_all(struct json *o, const struct options *given, const struct json *own,
                   struct err *e)
{
    const char *token, *file, *url = option_text(given, "connect");
    struct ask a;
    choose_token(given, &token, &file);
    if (ask_begin(&a, str_of(url), e) < 0)
        return -1;
    if (option_text(given, "connect-key") && !option_text(given, "connect-cert"))
        return err_set(e, ERR_INVALID,
                       "--connect-key belongs to a certificate: give --connect-cert too");
    if (token && file)
        return err_set(e, ERR_INVALID,
                       "--connect-token and --connect-token-file are two tokens: give "
                       "one");
    if ((token || file) && a.at.user.p)
        return err_set(e, ERR_INVALID,
                       "a token and a name in --connect's URL are two credentials: give "
                       "one");
    json_put_z(o, "url", url);
    json_put_int(o, "wait_ms", json_int(own, "wait_ms", 0));
    json_put_int(o, "timeout_ms", json_int(own, "timeout_ms", 0));
    json_put_int(o, "ping_ms", json_int(own, "ping_ms", 0));
    struct json *headers = json_get(own, "connect_header");
    backend_put_env(o);
    int proxied = put_proxies(o, &a, e);
    if (proxied < 0 || put_fields(o, headers, &a, e) < 0 ||
        put_token(o, token, file, e) < 0 ||
        backend_put_file(o, "ca", "--ca", option_text(given, "ca"), e) < 0 ||
        backend_put_file(o, "cert", "--connect-cert", option_text(given, "connect-cert"),
                         e) < 0 ||
        backend_put_file(o, "key", "--connect-key", option_text(given, "connect-key"),
                         e) < 0)
        return -1;
    bool secret = token || file || json_count(headers) > 0 || a.at.user.p;
    bool insecure = json_bool(own, "connect_insecure", false);
    return secret && !insecure ? ask_allow_secret(&a, proxied > 0, e) : 0;
}

/*
 * Makes the options that connect_open reads from the rows:
 *
 *   url, fields, token, token_file, ca, cert, key  strings: fields are whole lines of
 *                                a request; files are named from the root
 *   proxy_ws, proxy_wss          {host, port, auth}, if there is one
 *   env                          {SSL_CERT_FILE, SSL_CERT_DIR}, those that are set
 *   wait_ms, timeout_ms, ping_ms numbers
 *
 * Makes nothing if no backend is given. An error has no secret.
 */
static int prepare(const struct options *given, struct json **own, struct err *e)
{
    return backend_prepare(given, "connect", put_all, own, e);
}

const struct option_table connect_options = {.heading = "Backend",
                                             .section = "connect",
                                             .needs = "connect",
                                             .what = "a backend",
                                             .rows = rows,
                                             .prepare = prepare};
