/* SPDX-License-Identifier: MIT */
/* What browsers send: origins, cookies, page tokens, tokens of apps. */
#include "access/own.h"

#include "base/clock.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SECURE      "__Secure-"
#define XSRF_COOKIE "_xsrf" /* of Tornado, which Jupyter's clients know */
#define PAGE_SALT \
    "od page " /* what precedes a cookie's token in its page token's hash \
                */

enum { COOKIE_MAX = 512 };

void access_set_outside(struct access *a, struct str origin, struct str prefix,
                        bool framed)
{
    free(a->origin);
    free(a->prefix);
    a->origin = xstrndup(origin.p, origin.n);
    a->prefix = xstrndup(prefix.p, prefix.n);
    a->framed = framed;
}

const char *access_prefix(const struct access *a) { return a->prefix; }

/* ---- origins ---- */

bool access_is_origin(struct str text)
{
    long end = str_find(text, STR("://"));
    struct str scheme = str_sub(text, 0, end < 0 ? 0 : (size_t)end);
    struct str host = str_sub(text, scheme.n + 3, text.n);
    bool https = str_eq(scheme, STR("https"));
    size_t n = 0;
    while (n < host.n &&
           (strchr("abcdefghijklmnopqrstuvwxyz0123456789.-_[]:", host.p[n])))
        n++;
    return (https || str_eq(scheme, STR("http"))) && n > 0 && n == host.n &&
           host.p[0] != ':' && host.p[n - 1] != ':' &&
           !str_ends(host, https ? STR(":443") : STR(":80"));
}

bool access_from_a_page(const struct req *r)
{
    struct str site = req_header(r, "Sec-Fetch-Site");
    return req_header(r, "Origin").p ||
           (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")));
}

bool access_is_own_origin(const struct access *a, const struct req *r, struct str origin)
{
    struct str host = req_head(r)->host;
    struct str scheme = str_of(req_is_secure(r) ? "https://" : "http://");
    if (a->origin[0] && str_eq(origin, str_of(a->origin)))
        return true;
    return str_starts(origin, scheme) && origin.n == scheme.n + host.n &&
           strncasecmp(origin.p + scheme.n, host.p, host.n) == 0;
}

/* Did our own page send r, or did a person follow a link? framed: also into a frame. */
static bool is_of_site(const struct req *r, bool framed)
{
    struct str site = req_header(r, "Sec-Fetch-Site");
    bool navigates = str_eq(req_method(r), STR("GET")) &&
                     str_eq(req_header(r, "Sec-Fetch-Mode"), STR("navigate")) &&
                     (str_eq(req_header(r, "Sec-Fetch-Dest"), STR("document")) ||
                      (framed && str_eq(req_header(r, "Sec-Fetch-Dest"), STR("iframe"))));
    return !site.p || str_eq(site, STR("same-origin")) || str_eq(site, STR("none")) ||
           navigates;
}

bool access_from_here(const struct access *a, const struct req *r)
{
    struct str origin = req_header(r, "Origin");
    return (!origin.p || access_is_own_origin(a, r, origin)) && is_of_site(r, a->framed);
}

/* ---- cookies ---- */

static void cookie_name(const struct req *r, const char *name, char out[64])
{
    snprintf(out, 64, "%s%s", req_is_secure(r) ? SECURE : "", name);
}

struct cookie_walk cookies_of(const struct req *r, const char *name)
{
    struct cookie_walk w = {.h = req_head(r)};
    cookie_name(r, name, w.wanted);
    return w;
}

struct str cookies_next(struct cookie_walk *w)
{
    while (w->rest.n > 0 || w->field < w->h->nfields) {
        while (w->rest.n > 0) {
            struct str value = str_trim(str_cut(&w->rest, ';'));
            if (str_eq(str_cut(&value, '='), str_of(w->wanted)))
                return value;
        }
        if (w->field == w->h->nfields)
            break;
        const struct http_field *f = &w->h->fields[w->field++];
        if (f->name.n == 6 && strncasecmp(f->name.p, "Cookie", 6) == 0)
            w->rest = f->value;
    }
    return (struct str){0};
}

const struct grant *pages_login(const struct access *a, const struct req *r,
                                const char *cookie, struct str *token)
{
    struct cookie_walk w = cookies_of(r, cookie);
    const struct grant *best = NULL;
    struct str value;
    if (!access_from_here(a, r))
        return NULL;
    while ((value = cookies_next(&w)).p) {
        const struct grant *one = grants_find(&a->grants, GRANT_LOGIN, value, req_at(r));
        if (!one || (best && one->right <= best->right))
            continue;
        best = one;
        if (token)
            *token = value;
    }
    return best;
}

/* The page token is derived from the cookie's, so it need not be stored. */
void pages_token(struct str token, char out[LOGIN_TOKEN_HEX + 1])
{
    uint8_t hash[HASH_SHA256_SIZE];
    struct buf b = BUF_INIT(128);
    buf_addz(&b, PAGE_SALT);
    buf_adds(&b, token);
    hash_sha256(buf_str(&b), hash);
    buf_release(&b);
    for (size_t i = 0; i < sizeof(hash); i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

const struct grant *pages_by_token(const struct access *a, const struct req *r,
                                   const char *cookie, struct str given)
{
    struct cookie_walk w = cookies_of(r, cookie);
    const struct grant *best = NULL;
    char wanted[LOGIN_TOKEN_HEX + 1];
    struct str value;
    if (given.n != LOGIN_TOKEN_HEX || !access_from_here(a, r))
        return NULL;
    while ((value = cookies_next(&w)).p) {
        const struct grant *one = grants_find(&a->grants, GRANT_LOGIN, value, req_at(r));
        pages_token(value, wanted);
        if (one && hash_equal(wanted, given.p, given.n))
            best = one;
    }
    return best;
}

int access_page_token(const struct access *a, const struct req *r,
                      char out[LOGIN_TOKEN_HEX + 1])
{
    struct str token;
    if (!pages_login(a, r, LOGIN_COOKIE_PAGE, &token))
        return -1;
    pages_token(token, out);
    return 0;
}

/* Did r arrive by TLS, ours or that of a proxy in front? --ui-origin tells the latter,
 * not a field of the request, as anybody can send X-Forwarded-Proto. */
static bool is_by_tls(const struct access *a, const struct req *r, const char *name)
{
    struct str origin = req_header(r, "Origin");
    return req_is_secure(r) ||
           (strcmp(name, LOGIN_COOKIE_PAGE) == 0 && str_starts(origin, STR("https://")) &&
            str_eq(origin, str_of(a->origin)));
}

static void set_cookie(const struct access *a, struct req *r, const char *name,
                       const char *token, int seconds, bool secure)
{
    struct buf cookie = BUF_INIT(COOKIE_MAX);
    bool page = strcmp(name, LOGIN_COOKIE_PAGE) == 0;
    /* A link of our page leads to an app's host, which may be another site. */
    bool lax = strcmp(name, LOGIN_COOKIE_APP) == 0;
    char whole[64];
    cookie_name(r, name, whole);
    buf_addf(&cookie, "%s=%s; HttpOnly; SameSite=%s; Path=%s/; Max-Age=%d%s", whole,
             token, lax ? "Lax" : "Strict", page ? a->prefix : "", seconds,
             secure ? "; Secure" : "");
    req_header_add(r, "Set-Cookie", buf_z(&cookie));
    buf_release(&cookie);
}

/* The scripts of Jupyter's pages read this one, and send its value back. */
static void set_xsrf(struct req *r, const char *value, bool secure)
{
    struct buf cookie = BUF_INIT(COOKIE_MAX);
    buf_addf(&cookie, "%s=%s; SameSite=Strict; Path=/%s", XSRF_COOKIE, value,
             secure ? "; Secure" : "");
    req_header_add(r, "Set-Cookie", buf_z(&cookie));
    buf_release(&cookie);
}

static void set_xsrf_of(struct req *r, struct str token, bool secure)
{
    char page[LOGIN_TOKEN_HEX + 1];
    pages_token(token, page);
    set_xsrf(r, page, secure);
}

/* It becomes part of a page. */
static bool is_hex(struct str s)
{
    size_t n = 0;
    while (n < s.n && strchr("0123456789abcdef", s.p[n]) && s.p[n])
        n++;
    return n == s.n;
}

void access_form_token(struct req *r, char out[LOGIN_TOKEN_HEX + 1])
{
    struct cookie_walk w = {.h = req_head(r), .wanted = XSRF_COOKIE};
    struct str value = cookies_next(&w);
    memset(out, 0, LOGIN_TOKEN_HEX + 1);
    if (value.n == LOGIN_TOKEN_HEX && is_hex(value)) {
        memcpy(out, value.p, value.n);
        return;
    }
    random_hex(out, LOGIN_TOKEN_HEX);
    set_xsrf(r, out, req_is_secure(r));
}

bool access_is_own_form(const struct access *a, const struct req *r, struct str given)
{
    struct cookie_walk w = {.h = req_head(r), .wanted = XSRF_COOKIE};
    struct str value;
    bool same = false;
    while ((value = cookies_next(&w)).p)
        same |= value.n == LOGIN_TOKEN_HEX && given.n == value.n &&
                hash_equal(value.p, given.p, given.n);
    return same && access_from_here(a, r);
}

void access_log_in(struct access *a, struct req *r, const char *cookie)
{
    char token[LOGIN_TOKEN_HEX + 1];
    struct grant one = {.kind = GRANT_LOGIN,
                        .right = req_right(r),
                        .until_ms = clock_wall_ms() + a->login_ms,
                        .secure = is_by_tls(a, r, cookie)};
    BUG_ON(one.right == RIGHT_NONE);
    snprintf(one.key, sizeof(one.key), "%s", req_key(r));
    snprintf(one.at, sizeof(one.at), "%s", req_at(r));
    req_by(r)->login = 0; /* its answer is still to be sent if that login makes room */
    grants_add(&a->grants, &one, token);
    set_cookie(a, r, cookie, token, (int)(a->login_ms / 1000), one.secure);
    if (strcmp(cookie, LOGIN_COOKIE_JUPYTER) == 0)
        set_xsrf_of(r, str_n(token, LOGIN_TOKEN_HEX), one.secure);
    memset(token, 0, sizeof(token));
}

void access_enter_page(struct access *a, struct req *r, const char *parameter)
{
    struct buf key = BUF_INIT(LIMIT_API_KEY_MAX);
    struct str token;
    const struct grant *one = pages_login(a, r, LOGIN_COOKIE_JUPYTER, &token);
    if (req_query(r, parameter, &key) > 0 && req_key(r)[0] && !req_by(r)->login)
        access_log_in(a, r, LOGIN_COOKIE_JUPYTER);
    else if (one)
        set_xsrf_of(r, token, one->secure);
    buf_release(&key);
}

void access_log_out(struct access *a, struct req *r, const char *cookie)
{
    const struct grant *one = pages_login(a, r, cookie, NULL);
    if (!one || req_by(r)->login != grant_number(one))
        return; /* somebody with a key has another one's cookie */
    bool secure = one->secure || is_by_tls(a, r, cookie);
    *req_by(r) = (struct req_by){.login = 0}; /* its answer is still to be sent */
    grants_end(&a->grants, one);
    set_cookie(a, r, cookie, "", 0, secure);
}

/* ---- addresses of apps ---- */

/* Only the server and its browser know the hash of a login; an app does not. */
static void app_token(const struct grant *one, uint16_t port, char out[LOGIN_APP_HEX + 1])
{
    uint8_t hash[HASH_SHA256_SIZE];
    struct buf b = BUF_INIT(128);
    buf_addf(&b, "od app %u ", port);
    buf_add(&b, (const char *)one->hash, sizeof(one->hash));
    hash_sha256(buf_str(&b), hash);
    buf_release(&b);
    for (size_t i = 0; i < LOGIN_APP_HEX / 2; i++)
        snprintf(out + 2 * i, 3, "%02x", hash[i]);
}

int access_app_token(const struct access *a, const struct req *r, uint16_t port,
                     char out[LOGIN_APP_HEX + 1])
{
    const struct grant *one = pages_login(a, r, LOGIN_COOKIE_PAGE, NULL);
    if (!one || one->right != RIGHT_USE)
        return -1;
    app_token(one, port, out);
    return 0;
}

bool access_app_of(const struct req *r, uint16_t *port, struct str *token)
{
    struct str path = req_head(r)->path;
    uint64_t number;
    str_cut(&path, '/');
    str_cut(&path, '/');
    struct str rest = str_cut(&path, '/');
    bool tokened = str_chr(rest, '~') >= 0;
    struct str digits = str_cut(&rest, '~');
    if (digits.n > 5 || str_to_u64(digits, &number) < 0 || number == 0 ||
        number > 65535 || (tokened && rest.n != LOGIN_APP_HEX))
        return false;
    *port = (uint16_t)number;
    *token = tokened ? rest : (struct str){0};
    return true;
}

const struct grant *pages_app(const struct access *a, const struct req *r, uint16_t port,
                              struct str token)
{
    const struct grant *found = NULL;
    char wanted[LOGIN_APP_HEX + 1];
    if (token.n != LOGIN_APP_HEX)
        return NULL;
    for (unsigned i = 0; i < a->grants.n; i++) {
        const struct grant *one = &a->grants.v[i];
        if (one->kind != GRANT_LOGIN || one->until_ms <= clock_wall_ms() ||
            strcmp(one->at, req_at(r)) != 0)
            continue;
        app_token(one, port, wanted);
        if (hash_equal(wanted, token.p, LOGIN_APP_HEX))
            found = one;
    }
    return found;
}

bool access_app_link(const struct req *r, struct str *token)
{
    struct str path = req_head(r)->path;
    *token = str_sub(path, 2, path.n > 3 ? path.n - 3 : 0);
    return str_starts(path, STR("/~")) && str_ends(path, STR("/")) &&
           token->n == LOGIN_APP_HEX;
}

bool access_app_enter(const struct access *a, struct req *r, uint16_t port,
                      struct str token)
{
    char value[LOGIN_APP_HEX + 1];
    const struct grant *one = pages_app(a, r, port, token);
    if (!one || one->right != RIGHT_USE)
        return false;
    snprintf(value, sizeof(value), "%.*s", STR_ARG(token));
    /* The page's link has the page's own scheme. */
    set_cookie(a, r, LOGIN_COOKIE_APP, value, (int)(a->login_ms / 1000),
               req_is_secure(r) || one->secure);
    return true;
}

/* A proxy in front may have taken TLS away, so the scheme of Origin is not compared. */
const struct grant *pages_app_cookie(const struct access *a, const struct req *r,
                                     uint16_t port)
{
    struct str origin = req_header(r, "Origin"), value, host = req_head(r)->host;
    struct cookie_walk w = cookies_of(r, LOGIN_COOKIE_APP);
    const struct grant *one = NULL;
    long end = str_find(origin, STR("://"));
    if (origin.p)
        origin = str_sub(origin, end < 0 ? origin.n : (size_t)end + 3, origin.n);
    if ((origin.p &&
         (origin.n != host.n || strncasecmp(origin.p, host.p, host.n) != 0)) ||
        !is_of_site(r, false))
        return NULL;
    while (!one && (value = cookies_next(&w)).p)
        one = pages_app(a, r, port, value);
    return one;
}

uint64_t access_viewer(const struct access *a, const struct req *r, uint16_t port)
{
    struct cookie_walk w = cookies_of(r, LOGIN_COOKIE_APP);
    const struct grant *one = NULL;
    struct str token;
    uint16_t of;
    if (req_marks(r, ROUTE_PATH) && access_app_of(r, &of, &token) && token.p)
        one = pages_app(a, r, of, token);
    while (!one && (token = cookies_next(&w)).p)
        one = pages_app(a, r, port, token);
    if (!one)
        one = pages_login(a, r, LOGIN_COOKIE_PREVIEW, NULL);
    return one ? grant_number(one) : 0;
}
