/* SPDX-License-Identifier: MIT */
#include "front/guard.h"

#include "access/access.h"
#include "base/list.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/fronts.h"
#include "front/front.h"
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
    const struct front *only; /* NULL: the native set */
    struct entrance in;
    const struct http_front *words; /* of refusals */
};

/* A listener, by the name that keys and people use for it. */
struct guard_place {
    struct list node;          /* in guard.places */
    char name[KEY_AT_MAX + 1]; /* "127.0.0.1:3000", "NAME@unix:/path" */
};

struct guard {
    struct engine *en;
    struct list servers, places; /* owned */
    struct access *access;
    struct tls_server *tls; /* NULL: there is no certificate */
    void (*drained)(void *arg);
    void *drained_arg;
    unsigned draining; /* servers that are not done */
    const struct front *keyless[KEYLESS_MAX];
    unsigned nkeyless;
    const struct front *apps; /* the front-end that passes on requests for apps' hosts;
                               * NULL: none */
    void *apps_f;             /* the object of apps */
};

/* ---- refusals ---- */

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
    [REFUSE_CROWD] = {503, "Too many WebSockets wait for their key; send it in the head, "
                           "or try again"},
};

static void add_fields(struct req *r, enum refusal why)
{
    if (why == REFUSE_MANY || why == REFUSE_CROWD)
        req_header_add(r, "Retry-After", "1");
    if (why == REFUSE_MANY)
        req_close_after(r);
}

/* Answers a refused request, in the words of the front-end that it went to; a native one
 * that cannot name a scheme has those of V0. */
static void refuse(const struct server *s, struct req *r, enum refusal why)
{
    const struct http_front *f = req_served_by(r);
    const struct door *d = s->in.door;
    int status = refusals[why].status;
    const char *text = refusals[why].text;
    if (why == REFUSE_MISSING || why == REFUSE_WRONG) {
        int own = why == REFUSE_MISSING ? d->missing : d->wrong;
        const char *said = why == REFUSE_MISSING ? d->missing_text : d->wrong_text;
        status = own ? own : f && f->challenge ? 401 : status;
        text = said ? said : text;
    }
    add_fields(r, why);
    if (s->only && s->only->refuse)
        s->only->refuse(s->in.f, r, why, status, text);
    else if (f && (f->challenge || req_marks(r, ROUTE_PATH)))
        f->fail(r, status, text);
    else
        s->words->fail(r, status, text);
}

/*
 * Adds the fields by which a browser lets pages of --cors-origin read the answer. Returns
 * true if r was a preflight, which cannot have a key: it has been answered, for all paths
 * in the same way.
 */
static bool answer_cors(const struct server *s, struct req *r)
{
    if (s->only)
        return s->only->preflight && s->only->preflight(s->in.f, r);
    if (!s->g->access->cors[0])
        return false;
    req_header_add(r, "Vary", "Origin");
    if (!str_eq(req_header(r, "Origin"), str_of(s->g->access->cors)))
        return false;
    req_header_add(r, "Access-Control-Allow-Origin", s->g->access->cors);
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

/* An app's host has no form for the key: the app's service worker would see it. */
static void refuse_app(const struct guard *g, struct req *r, uint16_t port,
                       enum refusal why)
{
    bool unknown = why == REFUSE_MISSING || why == REFUSE_WRONG;
    add_fields(r, why);
    g->apps->app(g->apps_f, r, port, unknown ? 401 : refusals[why].status,
                 unknown ? "Apps are opened from the page of this server, under Ports. "
                           "Programs send a key that may do everything, in "
                           "X-Session-API-Key"
                         : refusals[why].text);
}

/* Turns the token in an address into a cookie, so that the app does not see the token. */
static bool enter_app(struct guard *g, struct req *r, uint16_t port)
{
    struct str token;
    if (!access_app_link(r, &token) || !str_eq(req_method(r), STR("GET")) ||
        !access_app_enter(g->access, r, port, token))
        return false;
    req_header_add(r, "Cache-Control", "no-store");
    req_header_add(r, "Referrer-Policy", "no-referrer");
    req_header_add(r, "Location", "/");
    req_answer(r, 303, NULL, STR(""));
    return true;
}

/*
 * Passes on or answers r if it is for an app's host, which serves only the app: open
 * routes of the native set do not exist there, and a proof is needed even if the server
 * has no key. Returns false if it is not.
 */
static bool pass_app(struct server *s, struct req *r)
{
    struct guard *g = s->g;
    uint16_t port;
    if (s->only || !g->apps || !hosts_app(&g->access->hosts, req_head(r)->host, &port))
        return false;
    if (enter_app(g, r, port))
        return true;
    enum refusal why = access_judge_app(g->access, r, port);
    if (why)
        refuse_app(g, r, port, why);
    else
        g->apps->app(g->apps_f, r, port, 0, NULL);
    return true;
}

/* Called for each request before any handler: its right is judged by access/judge.c. */
static bool allow(struct req *r, void *arg)
{
    struct server *s = arg;
    if (pass_app(s, r) || answer_cors(s, r))
        return false;
    enum refusal why = REFUSE_OPAQUE;
    if (s->only || req_marks(r, ROUTE_PATH) ||
        !str_eq(req_header(r, "Origin"), STR("null")))
        why = access_judge(s->g->access, &s->in, r);
    if (why) {
        refuse(s, r, why);
        return false;
    }
    return !(s->only && s->only->instead && s->only->instead(s->in.f, r));
}

/* ---- life ---- */

static void on_count(void *arg, int change)
{
    struct server *s = arg;
    s->g->en->clients += (unsigned)change;
    engine_touch(s->g->en);
}

static void on_upgraded(struct req *r, struct stream *to, void *arg)
{
    const struct server *s = arg;
    access_upgraded(s->g->access, &s->in, r, to);
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
    g->access = access_open(en, options);
    return g;
}

void guard_add_key(struct guard *g, const struct front *only, struct str key)
{
    char at[KEY_AT_MAX + 1];
    struct err e = ERR_INIT;
    snprintf(at, sizeof(at), "%s@", only->name);
    if (access_begin(g->access, only->name, at, key, &e) < 0)
        log_error("the key of %s does not count: %s", at, e.text);
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
    if (!g->access->hosts.app)
        return -1;
    buf_addf(out, "%u%s", port, g->access->hosts.app);
    return 0;
}

void guard_load(struct guard *g) { access_load(g->access); }

struct access *guard_access(struct guard *g) { return g->access; }

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
    const struct front *only = fronts_cut(&rest);
    if (only)
        buf_addf(&plain, "%s@", only->name);
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
    const struct key *made = keys_add(&g->access->keys, json_str(q, "name", ""), at,
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
        (str_eq(verb, STR("remove")) && access_remove_key(g->access, name, e) == 0)) {
        j = json_object();
        json_put(j, "keys", keys_list(&g->access->keys));
    }
    if (j && !str_eq(verb, STR("list")))
        log_info("the key %.*s was removed", STR_ARG(name));
    return j;
}

/* Does its front-end need no key, even if the server has keys? */
static bool is_keyless(const struct guard *g, const struct front *only)
{
    for (unsigned i = 0; only && i < g->nkeyless; i++) {
        if (g->keyless[i] == only)
            return true;
    }
    return false;
}

/* Adds the open routes of a table, which is one of its front-end's or of those it shares
 * with. */
static void add_opens(struct server *s, const struct http_front *table)
{
    for (size_t i = 0; front_list[i]; i++) {
        const struct front *f = front_list[i];
        if (s->only ? f == s->only || f == s->only->shares : f->native)
            entrance_add(&s->in, f->name, table);
    }
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
    c.upgraded = on_upgraded;
    c.count = on_count;
    c.arg = s;
    c.prefix = !only         ? access_prefix(g->access)
               : only->base ? only->base(f)
                            : NULL;
    s->g = g;
    s->only = only;
    s->words = tables[0];
    entrance_init(g->access, &s->in, only ? only->door : NULL, f);
    s->in.keyless = is_keyless(g, only);
    for (size_t i = 0; i < n; i++)
        add_opens(s, tables[i]);
    s->in.httpd = httpd_open(g->en->loop, &c);
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
    if (httpd_listen_under(s->in.httpd, fd, p->name, tls ? put_tls : NULL, g->tls) < 0)
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
        httpd_drain(list_entry(it, struct server, node)->in.httpd, on_drained, g);
    }
    on_drained(g);
}
