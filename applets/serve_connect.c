/* SPDX-License-Identifier: MIT */
/*
 * What od serve was told of the backend to dial: checked here, where somebody reads
 * what is wrong, and handed to the worker as JSON.
 */
#include "base/enc.h"
#include "front/connect/ask.h"
#include "serve.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

static void put_proxy(struct json *o, const char *name, const struct proxy *p)
{
    struct json *j = json_object();
    json_put_z(j, "host", p->host);
    json_put_int(j, "port", p->port);
    json_put_z(j, "auth", p->auth);
    json_put(o, name, j);
}

/* With TLS and without: a redirect may turn one into the other. 1: a is proxied. */
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

/* The worker works in another directory than we were started in. */
static int put_file(struct json *o, const char *name, const char *option,
                    const char *path, struct err *e)
{
    char full[PATH_MAX];
    if (!path)
        return 0;
    if (!realpath(path, full))
        return err_sys(e, errno, "cannot use %s %.200s", option, path);
    json_put_z(o, name, full);
    return 0;
}

static void put_env(struct json *o, const char *name)
{
    char full[PATH_MAX];
    const char *value = getenv(name);
    if (value && *value)
        json_put_z(o, name, !strchr(value, ':') && realpath(value, full) ? full : value);
}

/* "name:password@" of the URL: RFC 7617. */
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

static int put_fields(struct json *o, const struct serve_connect *c, const struct ask *a,
                      struct err *e)
{
    struct buf fields = BUF_INIT(ASK_FIELDS_MAX);
    int rc = a->at.user.p ? add_user(&fields, a->at.user, e) : 0;
    for (int i = 0; i < c->nheaders && rc == 0; i++)
        rc = ask_add_line(&fields, str_of(c->headers[i]), e);
    json_put_str(o, "fields", buf_str(&fields));
    buf_release(&fields);
    return rc;
}

static int put_token(struct json *o, const struct serve_connect *c, struct err *e)
{
    struct buf token = BUF_INIT(ASK_TOKEN_MAX);
    struct stat st;
    char full[PATH_MAX];
    int rc = 0;
    if (c->token) {
        if (!*c->token || buf_addz(&token, c->token) < 0)
            rc = err_set(e, ERR_INVALID, "the token of --connect-token has 1 to %d bytes",
                         ASK_TOKEN_MAX);
    } else if (c->token_file) {
        rc = ask_read_token(c->token_file, true, &token, e);
        if (rc == 0 && realpath(c->token_file, full) && stat(full, &st) == 0 &&
            S_ISREG(st.st_mode))
            json_put_z(o, "token_file", full);
    }
    for (size_t i = 0; rc == 0 && c->token && i < token.n; i++) {
        if (token.p[i] <= ' ' || token.p[i] > 0x7e)
            rc = err_set(e, ERR_INVALID,
                         "the token of --connect-token has a byte that no header can "
                         "carry: it takes printable ASCII without blanks");
    }
    json_put_str(o, "token", buf_str(&token));
    buf_release(&token);
    return rc;
}

static int put_all(struct json *o, const struct serve_connect *c, struct ask *a,
                   struct err *e)
{
    if (ask_begin(a, str_of(c->url), e) < 0)
        return -1;
    if (c->key && !c->cert)
        return err_set(e, ERR_INVALID,
                       "--connect-key is of a certificate: give --connect-cert too");
    if (c->token && c->token_file)
        return err_set(e, ERR_INVALID,
                       "--connect-token and --connect-token-file are two tokens: give "
                       "one");
    bool named = c->token || c->token_file;
    if (named && a->at.user.p)
        return err_set(e, ERR_INVALID,
                       "a token and a name in --connect's URL are two ways to say who we "
                       "are: give one");
    json_put_z(o, "url", c->url);
    json_put_int(o, "wait_ms", c->wait_ms);
    json_put_int(o, "timeout_ms", c->timeout_ms);
    json_put_int(o, "ping_ms", c->ping_ms);
    struct json *env = json_object();
    put_env(env, "SSL_CERT_FILE");
    put_env(env, "SSL_CERT_DIR");
    json_put(o, "env", env);
    int proxied = put_proxies(o, a, e);
    if (proxied < 0 || put_fields(o, c, a, e) < 0 || put_token(o, c, e) < 0 ||
        put_file(o, "ca", "--ca", c->ca, e) < 0 ||
        put_file(o, "cert", "--connect-cert", c->cert, e) < 0 ||
        put_file(o, "key", "--connect-key", c->key, e) < 0)
        return -1;
    bool secret = named || c->nheaders > 0 || a->at.user.p;
    return secret && !c->insecure ? ask_allow_secret(a, proxied > 0, e) : 0;
}

struct json *serve_connect(const struct serve_connect *c, struct err *e)
{
    struct json *o = json_object();
    struct ask a;
    if (put_all(o, c, &a, e) == 0)
        return o;
    json_free(o);
    return NULL;
}
