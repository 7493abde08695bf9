/* SPDX-License-Identifier: MIT */
#include "front/guard.h"

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "front/front.h"
#include "front/hosts.h"
#include "front/logins.h"
#include "http/httpd.h"
#include "net/tls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEYLESS_MAX = 8 };

/* The listeners of one front-end, or of the native set. */
struct server {
    struct list node; /* in guard.servers */
    struct guard *g;
    const struct front *only;       /* NULL: the native set */
    void *f;                        /* the object of only */
    const struct http_front *words; /* of refusals */
    struct httpd *httpd;
};

/* A listener, by the name that keys and people use for it. */
struct guard_place {
    struct list node;          /* in guard.places */
    char name[KEY_AT_MAX + 1]; /* "127.0.0.1:3000", "NAME@unix:/path" */
};

struct guard {
    struct engine *en;
    struct list servers, places; /* owned */
    struct keys keys;
    struct logins *logins;
    struct tls_server *tls; /* NULL: there is no certificate */
    struct hosts hosts;
    char *origin; /* owned; the origin whose pages may read answers; "": none */
    void (*drained)(void *arg);
    void *drained_arg;
    unsigned draining; /* servers that are not done */
    const struct front *keyless[KEYLESS_MAX];
    unsigned nkeyless;
    const struct front *apps; /* the front-end that passes on requests for apps' hosts;
                               * NULL: none */
    void *apps_f;             /* the object of apps */
};

/* ---- which requests are allowed ---- */

bool guard_from_a_page(const struct req *r)
{
    struct str site = req_header(r, "Sec-Fetch-Site");
    return req_header(r, "Origin").p ||
           (site.p && !str_eq(site, STR("same-origin")) && !str_eq(site, STR("none")));
}

static const struct {
    int status;
    const char *text;
} refusals[] = {
    [REFUSE_MISSING] = {403, "Invalid API Key"},
    [REFUSE_WRONG] = {403, "Invalid API Key"},
    [REFUSE_DOUBLED] = {400, "The request has its key twice"},
    [REFUSE_MANY] = {429, "Too many wrong API keys. Try again in a second"},
    [REFUSE_RIGHT] = {403, "This API key may follow what happens, and not do that"},
    [REFUSE_PAGE] = {403, "A request from a web page was refused: this server has no "
                          "key. Start it with --api-key-file to serve pages"},
    [REFUSE_BROWSER] = {403, "A browser's request was refused: this server has no key"},
    [REFUSE_OPAQUE] = {403, "A request from a page without an origin of its own was "
                            "refused: Origin is null"},
    [REFUSE_HOST] = {403, "The name in the Host header is not one of this server's, "
                          "which has no key. Use an address or localhost, start it "
                          "with --allow-host NAME, or with --api-key-file"},
};

static void close_if_many(struct req *r, enum refusal why)
{
    if (why == REFUSE_MANY) {
        req_header_add(r, "Retry-After", "1");
        req_close_after(r);
    }
}

static void refuse(struct server *s, struct req *r, enum refusal why)
{
    close_if_many(r, why);
    const struct http_front *f = req_served_by(r);
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    if (s->only && s->only->refuse)
        s->only->refuse(s->f, r, why, refusals[why].text);
    else if (f && req_key_in_path(r))
        f->fail(r, refusals[why].status, refusals[why].text);
    else if (f && f->challenge)
        f->fail(r, unknown ? 401 : refusals[why].status, refusals[why].text);
    else
        s->words->fail(r, refusals[why].status, refusals[why].text);
}

/* Does its front-end need no key, even if the server has keys? */
static bool is_keyless(const struct server *s)
{
    for (unsigned i = 0; s->only && i < s->g->nkeyless; i++) {
        if (s->g->keyless[i] == s->only)
            return true;
    }
    return false;
}

/*
 * Does r go to an open route of the page, sent by a person who follows a link to it, or
 * by the form or script there? The handler decides what it may do, by the cookie.
 */
static bool comes_to_page(const struct server *s, const struct req *r)
{
    struct str origin = req_header(r, "Origin");
    return req_of_page(r) && req_open(r) && logins_is_from_here(s->g->logins, r) &&
           (!origin.p || str_eq(req_method(r), STR("POST")) ||
            logins_by_cookie(s->g->logins, r, LOGIN_COOKIE_PAGE) != RIGHT_NONE);
}

/* A server without a key refuses every web page, and of a browser all but a few
 * requests. */
static bool allow_keyless(struct server *s, struct req *r)
{
    /* A name of an attacker's that leads here is not in our certificate. */
    struct str host = req_header(r, "Host");
    bool named = req_is_unix(r) || req_is_secure(r) || hosts_has(&s->g->hosts, host) ||
                 (is_keyless(s) && host_is_private(host));
    if (guard_from_a_page(r) && !comes_to_page(s, r))
        refuse(s, r, REFUSE_PAGE);
    /* Browsers add this field to requests to this machine; so does an agent's browser. */
    else if (!req_open(r) && req_header(r, "Sec-Fetch-Site").p)
        refuse(s, r, REFUSE_BROWSER);
    else if (!named)
        refuse(s, r, REFUSE_HOST);
    else
        req_grant(r, RIGHT_USE);
    return req_right(r) == RIGHT_USE;
}

bool guard_is_origin(struct str text)
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

/*
 * Adds the fields by which a browser lets pages of --cors-origin read the answer. Returns
 * true if r was a preflight, which cannot have a key: it has been answered, for all paths
 * in the same way.
 */
static bool answer_cors(const struct server *s, struct req *r)
{
    if (s->only)
        return s->only->preflight && s->only->preflight(s->f, r);
    if (!s->g->origin[0])
        return false;
    req_header_add(r, "Vary", "Origin");
    if (!str_eq(req_header(r, "Origin"), str_of(s->g->origin)))
        return false;
    req_header_add(r, "Access-Control-Allow-Origin", s->g->origin);
    if (!str_eq(req_method(r), STR("OPTIONS")) ||
        !req_header(r, "Access-Control-Request-Method").p) {
        req_header_add(r, "Access-Control-Expose-Headers",
                       "Content-Disposition, Content-Range, ETag, Last-Event-ID, "
                       "Last-Modified, Retry-After");
        return false;
    }
    req_header_add(r, "Access-Control-Allow-Methods",
                   "GET, HEAD, POST, PUT, PATCH, DELETE");
    req_header_add(r, "Access-Control-Allow-Headers",
                   "Authorization, X-Session-API-Key, Content-Type, If-None-Match, "
                   "If-Modified-Since, If-Range, Range");
    req_header_add(r, "Access-Control-Max-Age", "600");
    req_answer(r, 204, NULL, STR(""));
    return true;
}

/*
 * Judges the login of a person's page. Returns false if r has no login that counts: its
 * key is to be judged. Otherwise sets *allowed to whether r may go on.
 */
static bool judge_page(struct server *s, struct req *r, bool *allowed)
{
    const struct logins *logins = s->g->logins;
    if (!req_of_page(r) || req_open(r))
        return false;
    enum right right = logins_by_page(logins, r);
    bool in_message = right == RIGHT_NONE && req_key_in_message(r) &&
                      !req_header(r, "X-OD-Page").p &&
                      logins_by_cookie(logins, r, LOGIN_COOKIE_PAGE) != RIGHT_NONE;
    req_grant(r, right);
    *allowed = in_message || right >= req_needs(r);
    if (right == RIGHT_NONE)
        return in_message;
    if (!*allowed)
        refuse(s, r, REFUSE_RIGHT);
    return true;
}

/*
 * The same for a token in the path: it allows its holder to see that app, also from a
 * page with an opaque origin, as the app's own page has. Without a token, a person's
 * cookie lets r go on without a right: it is redirected to the path with a token.
 */
static bool judge_path(struct server *s, struct req *r, bool *allowed)
{
    const struct logins *logins = s->g->logins;
    struct str token;
    uint16_t port;
    if (!req_key_in_path(r) || !logins_app_of(r, &port, &token))
        return false;
    if (!token.p) {
        *allowed = str_eq(req_method(r), STR("GET")) &&
                   logins_by_cookie(logins, r, LOGIN_COOKIE_PAGE) == RIGHT_USE;
        return *allowed;
    }
    struct str origin = req_header(r, "Origin");
    if (!origin.p || str_eq(origin, STR("null")) ||
        logins_is_own_origin(logins, r, origin))
        req_grant(r, logins_by_path(logins, r));
    *allowed = req_right(r) >= req_needs(r);
    if (!*allowed)
        refuse(s, r, REFUSE_MISSING);
    return true;
}

/* Judges the key of r. Returns false if r was refused. */
static bool allow_key(struct server *s, struct req *r)
{
    struct keys *keys = &s->g->keys;
    enum right right = RIGHT_NONE, needs = req_needs(r);
    bool allowed;
    if (judge_page(s, r, &allowed) || judge_path(s, r, &allowed))
        return allowed;
    enum keys_given given = s->only && s->only->credential
                                ? s->only->credential(s->f, keys, r, &right)
                                : keys_of(keys, r, &right);
    if (given == KEYS_NONE_NEEDED || is_keyless(s))
        return allow_keyless(s, r);
    if (given == KEYS_RIGHT)
        req_grant(r, right);
    bool may = req_right(r) >= needs || (given == KEYS_MISSING && req_key_in_message(r));
    if (given == KEYS_DOUBLED)
        refuse(s, r, REFUSE_DOUBLED);
    else if (may)
        return true;
    else if (given == KEYS_WRONG)
        refuse(s, r, keys_wrong(keys, clock_ms()) ? REFUSE_WRONG : REFUSE_MANY);
    else
        refuse(s, r, given == KEYS_RIGHT ? REFUSE_RIGHT : REFUSE_MISSING);
    return false;
}

/* An app's host has no form for the key: the app's service worker would see it. */
static bool refuse_app(const struct guard *g, struct req *r, uint16_t port,
                       enum refusal why)
{
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    close_if_many(r, why);
    g->apps->app(g->apps_f, r, port, unknown ? 401 : refusals[why].status,
                 unknown ? "Apps are opened from the page of this server, under Ports. "
                           "Programs send a key that may do everything, in "
                           "X-Session-API-Key"
                         : refusals[why].text);
    return false;
}

/* Turns the token in an address into a cookie, so that the app does not see the token. */
static bool enter_app(struct guard *g, struct req *r, uint16_t port)
{
    struct str token;
    if (!logins_app_link(r, &token) || !str_eq(req_method(r), STR("GET")) ||
        !logins_app_enter(g->logins, r, port, token))
        return false;
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Referrer-Policy", "no-referrer");
    req_header_add(r, "Location", "/");
    req_answer(r, 303, NULL, STR(""));
    return true;
}

/*
 * Judges a request to an app's host, which serves only the app: open routes of the native
 * set do not exist there, and the cookie is needed even if the server has no key.
 */
static bool allow_app(struct guard *g, struct req *r, uint16_t port)
{
    struct str token;
    enum right right = logins_by_app(g->logins, r, port);
    enum keys_given given = right == RIGHT_USE ? KEYS_RIGHT
                                               : keys_of(&g->keys, r, &right);
    if (logins_app_link(r, &token)) /* its token does not count */
        return refuse_app(g, r, port, REFUSE_MISSING);
    if (given == KEYS_DOUBLED)
        return refuse_app(g, r, port, REFUSE_DOUBLED);
    if (given == KEYS_WRONG)
        return refuse_app(g, r, port,
                          keys_wrong(&g->keys, clock_ms()) ? REFUSE_WRONG : REFUSE_MANY);
    if (given != KEYS_RIGHT)
        return refuse_app(g, r, port, REFUSE_MISSING);
    if (right != RIGHT_USE)
        return refuse_app(g, r, port, REFUSE_RIGHT);
    req_grant(r, right);
    return true;
}

/* Passes on or answers r if it is for an app's host. Returns false if it is not. */
static bool pass_app(struct server *s, struct req *r)
{
    struct guard *g = s->g;
    uint16_t port;
    if (s->only || !g->apps || !hosts_app(&g->hosts, req_head(r)->host, &port))
        return false;
    if (!enter_app(g, r, port) && allow_app(g, r, port))
        g->apps->app(g->apps_f, r, port, 0, NULL);
    return true;
}

/*
 * The one place that decides which requests are allowed, before any handler runs: a key
 * is needed unless the row of the route says otherwise, also if there is no route.
 */
static bool allow(struct req *r, void *arg)
{
    struct server *s = arg;
    if (pass_app(s, r) || answer_cors(s, r))
        return false;
    if (!s->only && !req_key_in_path(r) && str_eq(req_header(r, "Origin"), STR("null"))) {
        refuse(s, r, REFUSE_OPAQUE);
        return false;
    }
    if (!allow_key(s, r))
        return false;
    return !(s->only && s->only->instead && s->only->instead(s->f, r));
}

/* ---- life ---- */

static void on_count(void *arg, int change)
{
    struct server *s = arg;
    s->g->en->clients += (unsigned)change;
    engine_touch(s->g->en);
}

static struct tls_server *tls_of(const struct json *o)
{
    const char *cert = json_str(o, "tls_cert", "").p;
    const char *key = json_str(o, "tls_key", "").p;
    const char *ca = json_str(o, "tls_client_ca", "").p;
    struct tls_files f = {cert, *key ? key : NULL, *ca ? ca : NULL};
    return *cert ? tls_server_later(&f) : NULL;
}

static int put_tls(struct stream *s, void (*ready)(struct stream *s), void *arg)
{
    if (tls_accept(arg, s, 0, ready) < 0)
        return -1;
    tls_take_cut(s);
    return 0;
}

struct guard *guard_open(struct engine *en, const struct json *options)
{
    struct guard *g = xnew(struct guard);
    g->en = en;
    list_init(&g->servers);
    list_init(&g->places);
    g->tls = tls_of(options);
    hosts_init(&g->hosts, options);
    struct str origin = json_str(options, "cors_origin", "");
    g->origin = xstrndup(origin.p, origin.n);
    keys_init(&g->keys, options);
    g->keys.hold = en->hold;
    g->logins = logins_open(en, &g->keys);
    return g;
}

void guard_add_key(struct guard *g, const struct front *only, struct str key)
{
    char at[KEY_AT_MAX + 1];
    snprintf(at, sizeof(at), "%s@", only->name);
    keys_begin(&g->keys, only->name, at, key);
}

void guard_open_for(struct guard *g, const struct front *only)
{
    BUG_ON(g->nkeyless == KEYLESS_MAX);
    g->keyless[g->nkeyless++] = only;
}

void guard_pass_apps(struct guard *g, const struct front *by, void *f)
{
    g->apps = by;
    g->apps_f = f;
}

int guard_app_host(const struct guard *g, uint16_t port, struct buf *out)
{
    if (!g->hosts.app)
        return -1;
    buf_addf(out, "%u%s", port, g->hosts.app);
    return 0;
}

void guard_load(struct guard *g)
{
    struct err e = ERR_INIT;
    const struct buf *kept = map_get(&g->en->states, STR("keys/all"));
    if (kept && keys_load(&g->keys, buf_str(kept), &e) < 0)
        log_error("%s: only those of the start count", e.text);
    logins_load(g->logins);
}

struct keys *guard_keys(struct guard *g) { return &g->keys; }

struct logins *guard_logins(struct guard *g) { return g->logins; }

/*
 * Returns the name of a listener as keys have it; text may have http:// in it. "": every
 * listener; "NAME@": those of a front-end. Returns NULL if no listener has that name.
 */
static const char *find_place(const struct guard *g, struct str text)
{
    static const struct str schemes[] = {STR("https://"), STR("http://"), STR("tls://")};
    struct list *it, *tmp;
    struct buf plain = BUF_INIT(KEY_AT_MAX);
    struct str rest = text;
    const char *found = text.n == 0 ? "" : NULL;
    if (fronts_cut(&rest))
        buf_adds(&plain, str_sub(text, 0, text.n - rest.n));
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (str_starts(rest, schemes[i]))
            rest = str_sub(rest, schemes[i].n, rest.n);
    }
    buf_adds(&plain, rest);
    list_each (it, tmp, &g->places) {
        const struct guard_place *p = list_entry(it, struct guard_place, node);
        if (!found && strcmp(p->name, buf_z(&plain)) == 0)
            found = p->name;
    }
    buf_release(&plain);
    return found;
}

static int fail_place(const struct guard *g, struct str text, struct err *e)
{
    struct list *it, *tmp;
    struct buf names = BUF_INIT(400);
    list_each (it, tmp, &g->places)
        buf_addf(&names, "%s%s", names.n ? ", " : "",
                 list_entry(it, struct guard_place, node)->name);
    err_set(e, ERR_NOTFOUND, "no listener is %.*s; there are %s",
            (int)(text.n < 100 ? text.n : 100), text.p, names.n ? buf_z(&names) : "none");
    buf_release(&names);
    return -1;
}

static struct json *add_key(struct guard *g, const struct json *q, struct err *e)
{
    char key[KEY_SIZE], of[KEY_AT_MAX + 1];
    struct str text = json_str(q, "listener", ""), rest = text;
    const char *at = find_place(g, text);
    const struct front *only = fronts_cut(&rest);
    if (only && rest.n == 0) {
        snprintf(of, sizeof(of), "%s@", only->name);
        at = of;
    }
    if (!at) {
        fail_place(g, text, e);
        return NULL;
    }
    bool view = str_eq(json_str(q, "right", "use"), STR("view"));
    const struct key *made = keys_add(&g->keys, json_str(q, "name", ""), at,
                                      view ? RIGHT_VIEW : RIGHT_USE, key, e);
    if (!made)
        return NULL;
    log_info("the key %s was added: it may %s%s%s", made->name, right_name(made->right),
             *at ? " at " : "", at);
    struct json *j = json_object();
    json_put_z(j, "name", made->name);
    json_put_z(j, "right", right_name(made->right));
    json_put_z(j, "listener", made->at);
    json_put_z(j, "key", key);
    memset(key, 0, sizeof(key));
    return j;
}

struct json *guard_ask(struct guard *g, const struct json *q, struct err *e)
{
    struct str verb = json_str(q, "verb", "list"), name = json_str(q, "name", "");
    struct json *j = NULL;
    if (str_eq(verb, STR("add")))
        return add_key(g, q, e);
    if (str_eq(verb, STR("list")) ||
        (str_eq(verb, STR("remove")) && keys_remove(&g->keys, name, e) == 0)) {
        j = json_object();
        json_put(j, "keys", keys_list(&g->keys));
    }
    if (j && !str_eq(verb, STR("list")))
        log_info("the key %.*s was removed", STR_ARG(name));
    return j;
}

static struct server *server_of(struct guard *g, const struct front *only, void *f,
                                const struct http_front *const *tables, size_t n)
{
    struct list *it, *tmp;
    list_each (it, tmp, &g->servers) {
        struct server *s = list_entry(it, struct server, node);
        if (s->only == only)
            return s;
    }
    struct server *s = xnew(struct server);
    struct httpd_config c = {.fronts = NULL};
    if (only && only->limits)
        c = *only->limits;
    c.fronts = tables;
    c.nfronts = n;
    c.allow = allow;
    c.count = on_count;
    c.arg = s;
    c.prefix = only ? NULL : logins_prefix(g->logins);
    s->g = g;
    s->only = only;
    s->f = f;
    s->words = tables[0];
    s->httpd = httpd_open(g->en->loop, &c);
    list_add_tail(&g->servers, &s->node);
    return s;
}

void guard_listen(struct guard *g, const struct front *only, void *f,
                  const struct http_front *const *tables, size_t n, struct str name,
                  int fd, bool tls)
{
    struct server *s = server_of(g, only, f, tables, n);
    struct guard_place *p = xnew(struct guard_place);
    snprintf(p->name, sizeof(p->name), "%.*s", STR_ARG(name));
    list_add_tail(&g->places, &p->node);
    if (httpd_listen_under(s->httpd, fd, p->name, tls ? put_tls : NULL, g->tls) < 0)
        log_error("cannot listen for HTTP: %m");
}

static void on_drained(void *arg)
{
    struct guard *g = arg;
    ASSERT(g->draining > 0); /* each calls it once */
    if (--g->draining == 0)
        g->drained(g->drained_arg);
}

void guard_drain(struct guard *g, void (*fn)(void *arg), void *arg)
{
    struct list *it, *tmp;
    ASSERT(fn && !g->drained); /* once */
    g->drained = fn;
    g->drained_arg = arg;
    g->draining = 1;
    list_each (it, tmp, &g->servers) {
        g->draining++;
        httpd_drain(list_entry(it, struct server, node)->httpd, on_drained, g);
    }
    on_drained(g);
}
