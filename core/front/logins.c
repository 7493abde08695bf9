/* SPDX-License-Identifier: MIT */
#include "front/logins.h"

#include "base/clock.h"
#include "base/enc.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define STATE  "logins/all"
#define SECURE "__Secure-"
#define PAGE_SALT \
    "od page " /* what precedes a cookie's token in its page token's hash \
                */

enum { STATE_MAX = 64 << 10, COOKIE_MAX = 512 };

struct login {
    uint8_t hash[HASH_SHA256_SIZE]; /* of the token */
    int64_t until_ms;               /* since 1970 */
    enum right right;
    bool secure;             /* its browser reaches this server by TLS */
    char at[KEY_AT_MAX + 1]; /* the listener where it counts; "" for a link */
};

struct logins {
    struct engine *en;     /* borrowed */
    struct keys *keys;     /* borrowed */
    char *origin, *prefix; /* owned; "": none */
    bool framed;
    struct login v[LOGINS_MAX], once[LOGIN_ONCE_MAX]; /* the oldest first */
    unsigned n, nonce;
};

/* ---- at the keeper ---- */

static void store(const struct logins *l)
{
    struct json *list = json_array();
    struct buf text = BUF_INIT(STATE_MAX);
    for (unsigned i = 0; i < l->n + l->nonce; i++) {
        const struct login *one = i < l->n ? &l->v[i] : &l->once[i - l->n];
        struct json *row = json_object();
        struct buf hash = BUF_INIT(2 * HASH_SHA256_SIZE);
        enc_base64(&hash, str_n((const char *)one->hash, sizeof(one->hash)));
        json_put_str(row, "hash", buf_str(&hash));
        json_put_int(row, "until_ms", one->until_ms);
        json_put_bool(row, "view", one->right == RIGHT_VIEW);
        json_put_bool(row, "once", i >= l->n);
        json_put_bool(row, "secure", one->secure);
        json_put_z(row, "at", one->at);
        json_push(list, row);
        buf_release(&hash);
    }
    json_print(&text, list);
    hold_put(l->en->hold, STR(STATE), buf_str(&text));
    json_free(list);
    buf_release(&text);
}

static int read_login(const struct json *row, struct login *l)
{
    struct buf hash = BUF_INIT(HASH_SHA256_SIZE);
    int rc = dec_base64(&hash, json_str(row, "hash", ""));
    *l = (struct login){.until_ms = json_int(row, "until_ms", 0),
                        .right = json_bool(row, "view", true) ? RIGHT_VIEW : RIGHT_USE,
                        .secure = json_bool(row, "secure", false)};
    snprintf(l->at, sizeof(l->at), "%.*s", STR_ARG(json_str(row, "at", "")));
    if (rc == 0 && hash.n == sizeof(l->hash))
        memcpy(l->hash, hash.p, sizeof(l->hash));
    else
        rc = -1;
    buf_release(&hash);
    return rc;
}

struct logins *logins_open(struct engine *en, struct keys *keys)
{
    struct logins *l = xnew(struct logins);
    l->en = en;
    l->keys = keys;
    l->origin = xstrndup("", 0);
    l->prefix = xstrndup("", 0);
    return l;
}

void logins_load(struct logins *l)
{
    const struct buf *kept = map_get(&l->en->states, STR(STATE));
    struct err e = ERR_INIT;
    struct json *list = kept ? json_parse_kept(buf_str(kept), &e) : NULL;
    for (const struct json *v = json_first(list); v; v = json_next(v)) {
        bool once = json_bool(v, "once", false);
        if (once && l->nonce < LOGIN_ONCE_MAX)
            l->nonce += read_login(v, &l->once[l->nonce]) == 0;
        else if (!once && l->n < LOGINS_MAX)
            l->n += read_login(v, &l->v[l->n]) == 0;
    }
    if (kept && !list)
        log_error("the logins that were kept are unreadable: %s", e.text);
    json_free(list);
}

void logins_set_outside(struct logins *l, struct str origin, struct str prefix,
                        bool framed)
{
    free(l->origin);
    free(l->prefix);
    l->origin = xstrndup(origin.p, origin.n);
    l->prefix = xstrndup(prefix.p, prefix.n);
    l->framed = framed;
}

const char *logins_prefix(const struct logins *l) { return l->prefix; }

unsigned logins_count(const struct logins *l)
{
    unsigned n = 0;
    for (unsigned i = 0; i < l->n; i++)
        n += l->v[i].until_ms > clock_wall_ms();
    return n;
}

/* ---- requests ---- */

bool logins_is_own_origin(const struct logins *l, const struct req *r, struct str origin)
{
    struct str host = req_head(r)->host;
    struct str scheme = str_of(req_is_secure(r) ? "https://" : "http://");
    if (l->origin[0] && str_eq(origin, str_of(l->origin)))
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

bool logins_is_from_here(const struct logins *l, const struct req *r)
{
    struct str origin = req_header(r, "Origin");
    return (!origin.p || logins_is_own_origin(l, r, origin)) && is_of_site(r, l->framed);
}

static void cookie_name(const struct req *r, const char *name, char out[64])
{
    snprintf(out, 64, "%s%s", req_is_secure(r) ? SECURE : "", name);
}

/* Walks over all cookies of a name: pages of neighbouring hosts can add some. */
struct cookie_walk {
    const struct http_head *h;
    char wanted[64];
    int field;
    struct str rest;
};

static struct cookie_walk cookies_of(const struct req *r, const char *name)
{
    struct cookie_walk w = {.h = req_head(r)};
    cookie_name(r, name, w.wanted);
    return w;
}

/* Returns the next value; p is NULL after the last one. */
static struct str next_value(struct cookie_walk *w)
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

/* Returns the value of our cookie; p is NULL if there is none. */
static struct str token_of(const struct req *r, const char *name)
{
    struct cookie_walk w = cookies_of(r, name);
    return next_value(&w);
}

static bool is_same(const uint8_t a[HASH_SHA256_SIZE], const uint8_t b[HASH_SHA256_SIZE])
{
    uint8_t differs = 0;
    for (size_t k = 0; k < HASH_SHA256_SIZE; k++)
        differs |= (uint8_t)(a[k] ^ b[k]);
    return !differs;
}

/* Returns the login of this token if it counts at the listener, else NULL. */
static const struct login *find(const struct logins *l, struct str token, const char *at)
{
    const struct login *found = NULL;
    uint8_t hash[HASH_SHA256_SIZE];
    if (token.n != LOGIN_TOKEN_HEX)
        return NULL;
    hash_sha256(token, hash);
    for (unsigned i = 0; i < l->n; i++) {
        const struct login *one = &l->v[i];
        if (is_same(hash, one->hash) && one->until_ms > clock_wall_ms() &&
            strcmp(one->at, at) == 0)
            found = one;
    }
    return found;
}

enum right logins_by_cookie(const struct logins *l, const struct req *r, const char *name)
{
    struct str token = token_of(r, name);
    const struct login *one = token.p && logins_is_from_here(l, r)
                                  ? find(l, token, req_at(r))
                                  : NULL;
    return one ? one->right : RIGHT_NONE;
}

/* The page token is derived from the cookie's, so it need not be stored. */
static void page_token(struct str token, char out[LOGIN_TOKEN_HEX + 1])
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

int logins_page_token(const struct logins *l, const struct req *r,
                      char out[LOGIN_TOKEN_HEX + 1])
{
    if (logins_by_cookie(l, r, LOGIN_COOKIE_PAGE) == RIGHT_NONE)
        return -1;
    page_token(token_of(r, LOGIN_COOKIE_PAGE), out);
    return 0;
}

enum right logins_by_page(const struct logins *l, const struct req *r)
{
    char wanted[LOGIN_TOKEN_HEX + 1];
    uint8_t a[HASH_SHA256_SIZE], b[HASH_SHA256_SIZE];
    struct str given = req_header(r, "X-OD-Page");
    if (!given.p || logins_page_token(l, r, wanted) < 0)
        return RIGHT_NONE;
    hash_sha256(str_of(wanted), a);
    hash_sha256(given, b);
    return is_same(a, b) ? logins_by_cookie(l, r, LOGIN_COOKIE_PAGE) : RIGHT_NONE;
}

/* Did r arrive by TLS, ours or that of a proxy in front? --ui-origin tells the latter,
 * not a field of the request, as anybody can send X-Forwarded-Proto. */
static bool is_by_tls(const struct logins *l, const struct req *r, const char *name)
{
    struct str origin = req_header(r, "Origin");
    return req_is_secure(r) ||
           (strcmp(name, LOGIN_COOKIE_PAGE) == 0 && str_starts(origin, STR("https://")) &&
            str_eq(origin, str_of(l->origin)));
}

static void set_cookie(const struct logins *l, struct req *r, const char *name,
                       const char *token, int seconds, bool secure)
{
    struct buf cookie = BUF_INIT(COOKIE_MAX);
    bool page = strcmp(name, LOGIN_COOKIE_PAGE) == 0;
    /* A link of our page leads to an app's host, which may be another site. */
    bool lax = strcmp(name, LOGIN_COOKIE_APP) == 0;
    char whole[64];
    cookie_name(r, name, whole);
    buf_addf(&cookie, "%s=%s; HttpOnly; SameSite=%s; Path=%s/; Max-Age=%d%s", whole,
             token, lax ? "Lax" : "Strict", page ? l->prefix : "", seconds,
             secure ? "; Secure" : "");
    req_header_add(r, "Set-Cookie", buf_z(&cookie));
    buf_release(&cookie);
}

/* ---- addresses of apps ---- */

/* Only the server and its browser know the hash of a login; an app does not. */
static void app_token(const struct login *one, uint16_t port, char out[LOGIN_APP_HEX + 1])
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

int logins_app_token(const struct logins *l, const struct req *r, uint16_t port,
                     char out[LOGIN_APP_HEX + 1])
{
    if (logins_by_cookie(l, r, LOGIN_COOKIE_PAGE) != RIGHT_USE)
        return -1;
    app_token(find(l, token_of(r, LOGIN_COOKIE_PAGE), req_at(r)), port, out);
    return 0;
}

bool logins_app_of(const struct req *r, uint16_t *port, struct str *token)
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

/* Returns the login that a token for a port is derived from; NULL if none counts. */
static const struct login *find_by_app(const struct logins *l, const struct req *r,
                                       uint16_t port, struct str token)
{
    const struct login *found = NULL;
    char wanted[LOGIN_APP_HEX + 1];
    if (token.n != LOGIN_APP_HEX)
        return NULL;
    for (unsigned i = 0; i < l->n; i++) {
        const struct login *one = &l->v[i];
        if (one->until_ms <= clock_wall_ms() || strcmp(one->at, req_at(r)) != 0)
            continue;
        app_token(one, port, wanted);
        if (hash_equal(wanted, token.p, LOGIN_APP_HEX))
            found = one;
    }
    return found;
}

static enum right by_app_token(const struct logins *l, const struct req *r, uint16_t port,
                               struct str token)
{
    const struct login *one = find_by_app(l, r, port, token);
    return one ? one->right : RIGHT_NONE;
}

enum right logins_by_path(const struct logins *l, const struct req *r)
{
    struct str token;
    uint16_t port;
    return logins_app_of(r, &port, &token) && token.p ? by_app_token(l, r, port, token)
                                                      : RIGHT_NONE;
}

bool logins_app_link(const struct req *r, struct str *token)
{
    struct str path = req_head(r)->path;
    *token = str_sub(path, 2, path.n > 3 ? path.n - 3 : 0);
    return str_starts(path, STR("/~")) && str_ends(path, STR("/")) &&
           token->n == LOGIN_APP_HEX;
}

bool logins_app_enter(const struct logins *l, struct req *r, uint16_t port,
                      struct str token)
{
    char value[LOGIN_APP_HEX + 1];
    const struct login *one = find_by_app(l, r, port, token);
    if (!one || one->right != RIGHT_USE)
        return false;
    snprintf(value, sizeof(value), "%.*s", STR_ARG(token));
    /* The page's link has the page's own scheme. */
    set_cookie(l, r, LOGIN_COOKIE_APP, value, LOGIN_S, req_is_secure(r) || one->secure);
    return true;
}

/* A proxy in front may have taken TLS away, so the scheme of Origin is not compared. */
enum right logins_by_app(const struct logins *l, const struct req *r, uint16_t port)
{
    struct str origin = req_header(r, "Origin"), value, host = req_head(r)->host;
    struct cookie_walk w = cookies_of(r, LOGIN_COOKIE_APP);
    long end = str_find(origin, STR("://"));
    enum right right = RIGHT_NONE;
    if (origin.p)
        origin = str_sub(origin, end < 0 ? origin.n : (size_t)end + 3, origin.n);
    if ((origin.p &&
         (origin.n != host.n || strncasecmp(origin.p, host.p, host.n) != 0)) ||
        !is_of_site(r, false))
        return RIGHT_NONE;
    while (right == RIGHT_NONE && (value = next_value(&w)).p)
        right = by_app_token(l, r, port, value);
    return right;
}

uint64_t logins_viewer(const struct logins *l, const struct req *r, uint16_t port)
{
    struct cookie_walk w = cookies_of(r, LOGIN_COOKIE_APP);
    const struct login *one = NULL;
    struct str token;
    uint16_t of;
    uint64_t number = 0;
    if (req_key_in_path(r) && logins_app_of(r, &of, &token) && token.p)
        one = find_by_app(l, r, of, token);
    while (!one && (token = next_value(&w)).p)
        one = find_by_app(l, r, port, token);
    if (!one)
        one = find(l, token_of(r, LOGIN_COOKIE_PREVIEW), req_at(r));
    if (one)
        memcpy(&number, one->hash, sizeof(number));
    return number;
}

/* ---- WebSockets ---- */

void logins_guest(const struct logins *l, const struct req *r, struct guest *out)
{
    char wanted[LOGIN_TOKEN_HEX + 1];
    *out = (struct guest){.right = req_right(r)};
    snprintf(out->at, sizeof(out->at), "%s", req_at(r));
    if (logins_page_token(l, r, wanted) < 0)
        return;
    out->by_page = logins_by_cookie(l, r, LOGIN_COOKIE_PAGE);
    hash_sha256(str_of(wanted), out->page);
}

enum guest_said guest_says(struct logins *l, struct guest *a, const struct json *m)
{
    uint8_t hash[HASH_SHA256_SIZE];
    struct str page = json_str(m, "page", "");
    if (!json_has(m, "page") && !json_has(m, "api_key"))
        return GUEST_WRONG; /* no key was sent, so this is not a wrong one */
    hash_sha256(page, hash);
    if (page.n > 0)
        a->right = is_same(hash, a->page) ? a->by_page : RIGHT_NONE;
    else
        a->right = keys_right(l->keys, a->at, json_str(m, "api_key", ""));
    if (a->right != RIGHT_NONE)
        return GUEST_KNOWN;
    return keys_wrong(l->keys, clock_ms()) ? GUEST_WRONG : GUEST_MANY;
}

/* ---- making and ending them ---- */

static struct login *push(struct login *v, unsigned *n, unsigned max, enum right right,
                          int64_t seconds, char token[LOGIN_TOKEN_HEX + 1])
{
    if (*n == max) {
        memmove(&v[0], &v[1], sizeof(v[0]) * (max - 1));
        --*n;
    }
    struct login *one = &v[(*n)++];
    *one = (struct login){.until_ms = clock_wall_ms() + seconds * 1000, .right = right};
    random_hex(token, LOGIN_TOKEN_HEX);
    hash_sha256(str_n(token, LOGIN_TOKEN_HEX), one->hash);
    return one;
}

void logins_add(struct logins *l, struct req *r, const char *name, enum right right)
{
    char token[LOGIN_TOKEN_HEX + 1] = "";
    struct login *one = push(l->v, &l->n, LOGINS_MAX, right, LOGIN_S, token);
    snprintf(one->at, sizeof(one->at), "%s", req_at(r));
    one->secure = is_by_tls(l, r, name);
    store(l);
    set_cookie(l, r, name, token, LOGIN_S, one->secure);
    memset(token, 0, sizeof(token));
}

bool logins_end(struct logins *l, struct req *r, const char *name)
{
    const struct login *one = find(l, token_of(r, name), req_at(r));
    if (!one)
        return false;
    size_t i = (size_t)(one - l->v);
    bool secure = one->secure || is_by_tls(l, r, name);
    memmove(&l->v[i], &l->v[i + 1], sizeof(l->v[0]) * (l->n - i - 1));
    l->n--;
    store(l);
    set_cookie(l, r, name, "", 0, secure);
    return true;
}

void logins_once(struct logins *l, enum right right, char out[LOGIN_TOKEN_HEX + 1])
{
    memset(out, 0, LOGIN_TOKEN_HEX + 1);
    push(l->once, &l->nonce, LOGIN_ONCE_MAX, right, LOGIN_ONCE_S, out);
    store(l);
}

void logins_put_once(struct logins *l, enum right right,
                     const uint8_t hash[HASH_SHA256_SIZE])
{
    char token[LOGIN_TOKEN_HEX + 1];
    struct login *one = push(l->once, &l->nonce, LOGIN_ONCE_MAX, right, LOGIN_ONCE_S,
                             token);
    memcpy(one->hash, hash, HASH_SHA256_SIZE);
    store(l);
}

enum right logins_use_once(struct logins *l, struct str token)
{
    uint8_t hash[HASH_SHA256_SIZE];
    hash_sha256(token, hash);
    for (unsigned i = 0; i < l->nonce; i++) {
        struct login one = l->once[i];
        if (!is_same(hash, one.hash))
            continue;
        memmove(&l->once[i], &l->once[i + 1], sizeof(l->once[0]) * (l->nonce - i - 1));
        l->nonce--;
        store(l);
        return one.until_ms > clock_wall_ms() ? one.right : RIGHT_NONE;
    }
    return RIGHT_NONE;
}
