/* SPDX-License-Identifier: MIT */
#include "front/fronts.h"

#include "access/access.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/front.h"
#include "front/guard.h"

#include <string.h>

enum { FRONTS_MAX = 32, TABLES_MAX = 64 };

struct fronts {
    struct engine *en;
    const struct json *about; /* borrowed */
    struct guard *guard;
    void *v[FRONTS_MAX]; /* as in front_list; NULL: not open */
    void (*drained)(void *arg);
    void *drained_arg;
    unsigned draining;          /* front-ends that are not done */
    void (*flushed)(void *arg); /* the same; late calls of drain may still come */
    void *flushed_arg;
    unsigned flushing;
};

/* ---- what front-ends share ---- */

struct engine *fronts_engine(const struct fronts *all) { return all->en; }

struct access *fronts_access(struct fronts *all) { return guard_access(all->guard); }

struct json *fronts_ask_keys(struct fronts *all, const struct json *q, struct err *e)
{
    return guard_ask(all->guard, q, e);
}

int fronts_app_host(const struct fronts *all, uint16_t port, struct buf *out)
{
    return guard_app_host(all->guard, port, out);
}

const struct json *fronts_about(const struct fronts *all) { return all->about; }

void *fronts_find(const struct fronts *all, const char *name)
{
    for (size_t i = 0; front_list[i]; i++) {
        if (strcmp(front_list[i]->name, name) == 0)
            return all->v[i];
    }
    return NULL;
}

void fronts_metrics(const struct fronts *all, struct buf *out)
{
    for (size_t i = 0; front_list[i]; i++) {
        if (all->v[i] && front_list[i]->metrics)
            front_list[i]->metrics(all->v[i], out);
    }
}

void fronts_status(const struct fronts *all, struct json *out)
{
    for (size_t i = 0; front_list[i]; i++) {
        const struct front *f = front_list[i];
        struct json *j = all->v[i] && f->status ? f->status(all->v[i]) : NULL;
        if (j)
            json_put(out, f->name, j);
    }
}

/* ---- life ---- */

static size_t count(void)
{
    size_t n = 0;
    while (front_list[n])
        n++;
    BUG_ON(n > FRONTS_MAX);
    return n;
}

struct fronts *fronts_open(struct engine *en, const struct json *options,
                           const struct json *about)
{
    struct fronts *all = xnew(struct fronts);
    all->en = en;
    all->about = about;
    all->guard = guard_open(en, json_get(options, "http"));
    for (size_t i = 0; i < count(); i++) {
        const struct front *f = front_list[i];
        if (f->key)
            guard_add_key(all->guard, f,
                          json_str(fronts_options(f, options), f->key, ""));
        if (fronts_keyless(f, options))
            guard_open_for(all->guard, f);
        if (f->shares)
            keys_share(&fronts_access(all)->keys, f->name, f->shares->name);
    }
    for (size_t i = 0; i < count(); i++) /* each may look at the keys */
        all->v[i] = front_list[i]->open(all, options);
    for (size_t i = 0; i < count(); i++) {
        if (all->v[i] && front_list[i]->app)
            guard_pass_apps(all->guard, front_list[i], all->v[i]);
    }
    return all;
}

static void *object_of(const struct fronts *all, const struct front *f)
{
    return f ? fronts_find(all, f->name) : NULL;
}

/* Returns the number of route tables of one front-end, or of all native ones if only is
 * NULL. */
static size_t tables_of(const struct fronts *all, const struct front *only,
                        const struct http_front *out[TABLES_MAX])
{
    size_t n = 0;
    for (size_t i = 0; front_list[i]; i++) {
        const struct front *f = front_list[i];
        const struct http_front *table;
        if (!all->v[i] || !f->http || f->guards || (only ? f != only : !f->native))
            continue;
        bool own = only && f->own;
        for (unsigned k = 0; (table = (own ? f->own : f->http)(all->v[i], k)); k++) {
            BUG_ON(n == TABLES_MAX);
            out[n++] = table;
        }
    }
    return n;
}

bool fronts_take(struct fronts *all, struct str name, int fd)
{
    struct str address = name, scheme = str_cut(&address, ' ');
    size_t whole = address.n;
    bool tls = str_eq(scheme, STR("https"));
    if (tls || str_eq(scheme, STR("http"))) {
        const struct front *only = fronts_cut(&address);
        const struct http_front *tables[TABLES_MAX];
        size_t n = tables_of(all, only, tables);
        if (n > 0)
            guard_listen(all->guard, only, object_of(all, only), tables, n,
                         str_sub(name, name.n - whole, name.n), fd, tls);
        return n > 0;
    }
    for (size_t i = 0; front_list[i]; i++) {
        const struct front *f = front_list[i];
        if (all->v[i] && f->take && f->take(all->v[i], name, fd))
            return true;
    }
    return false;
}

void fronts_load(struct fronts *all)
{
    guard_load(all->guard);
    for (size_t i = count(); i-- > 0;) {
        if (all->v[i] && front_list[i]->load)
            front_list[i]->load(all->v[i]);
    }
}

void fronts_start(struct fronts *all)
{
    for (size_t i = count(); i-- > 0;) {
        if (all->v[i] && front_list[i]->start)
            front_list[i]->start(all->v[i]);
    }
}

static void on_drained(void *arg)
{
    struct fronts *all = arg;
    ASSERT(all->draining > 0); /* each calls it once */
    if (--all->draining == 0)
        all->drained(all->drained_arg);
}

void fronts_drain(struct fronts *all, bool another, void (*fn)(void *arg), void *arg)
{
    ASSERT(fn && !all->drained); /* once */
    all->drained = fn;
    all->drained_arg = arg;
    all->draining = 1;
    for (size_t i = count(); i-- > 0;) {
        const struct front *f = front_list[i];
        if (all->v[i] && f->close)
            f->close(all->v[i], another);
        if (!all->v[i] || !f->drain)
            continue;
        all->draining++;
        f->drain(all->v[i], on_drained, all);
    }
    guard_drain(all->guard, on_drained, all);
}

static void on_flushed(void *arg)
{
    struct fronts *all = arg;
    ASSERT(all->flushing > 0); /* each calls it once */
    if (--all->flushing == 0)
        all->flushed(all->flushed_arg);
}

void fronts_flush(struct fronts *all, void (*fn)(void *arg), void *arg)
{
    ASSERT(fn && !all->flushed); /* once */
    all->flushed = fn;
    all->flushed_arg = arg;
    all->flushing = 1;
    for (size_t i = 0; front_list[i]; i++) {
        if (!all->v[i] || !front_list[i]->flush)
            continue;
        all->flushing++;
        front_list[i]->flush(all->v[i], on_flushed, all);
    }
    on_flushed(all);
}

/* ---- of the table ---- */

const struct json *fronts_options(const struct front *f, const struct json *all)
{
    return json_get(all, f->options ? f->options->section : f->name);
}

bool fronts_keyless(const struct front *f, const struct json *all)
{
    return f->keyless && json_bool(fronts_options(f, all), f->keyless, false);
}

void fronts_format(struct buf *out)
{
    buf_addz(out, ", keys 1, logins 1");
    for (size_t i = 0; front_list[i]; i++) {
        if (front_list[i]->format) {
            buf_addz(out, ", ");
            front_list[i]->format(out);
        }
    }
}

bool fronts_claims(struct str prefix)
{
    if (str_eq(prefix, STR("keys/")) || str_eq(prefix, STR("logins/")))
        return true;
    for (size_t i = 0; front_list[i]; i++) {
        const char *const *c = front_list[i]->claims;
        for (; c && *c; c++) {
            if (str_eq(prefix, str_of(*c)))
                return true;
        }
    }
    return false;
}

/* Adds the names of the proofs that count at the route. */
static void list_proofs(struct json *row, const struct front *f, const struct route *t,
                        bool native)
{
    static const char *const places[] = {[PROOF_FIELD] = "field",
                                         [PROOF_BEARER] = "bearer",
                                         [PROOF_QUERY] = "query",
                                         [PROOF_COOKIE] = "cookie",
                                         [PROOF_PATH] = "path",
                                         [PROOF_BODY] = "body",
                                         [PROOF_MESSAGE] = "message",
                                         [PROOF_PEER] = "peer"};
    static const char *const kinds[] = {
        [PROOF_KEY] = "key",   [PROOF_LOGIN] = "login",   [PROOF_TOKEN] = "page",
        [PROOF_APP] = "app",   [PROOF_ONCE] = "once",     [PROOF_SECRET] = "secret",
        [PROOF_DERIVED] = "signature"};
    const struct proof *p = f->door && !native ? f->door->proofs : door_native.proofs;
    struct json *list = json_array();
    for (; p->place != PROOF_END && !f->guards; p++) {
        struct json *one = json_object();
        json_put_z(one, "place", places[p->place]);
        json_put_z(one, "name", p->name ? p->name : "");
        if (p->scheme)
            json_put_z(one, "scheme", p->scheme);
        json_put_z(one, "kind", p->place == PROOF_PEER ? "user" : kinds[p->kind]);
        if (!p->on || (p->on & t->marks))
            json_push(list, one);
        else
            json_free(one);
    }
    json_put(row, "proofs", list);
}

static void list_open(struct json *row, const struct open_row *open)
{
    static const char *const names[] = {[OPEN_NO] = "no",
                                        [OPEN_ALWAYS] = "always",
                                        [OPEN_UNTIL_KEYED] = "until keyed",
                                        [OPEN_LOCAL_UNTIL_KEYED] = "local until keyed"};
    json_put_z(row, "open", names[open ? open->when : OPEN_NO]);
    if (!open)
        return;
    json_put_z(row, "because", open->because);
    json_put_z(row, "changes", open->changes);
}

static void list_routes(struct json *list, const struct front *f,
                        const struct http_front *t, bool native)
{
    const char *key = f->guards ? "peer" : "head";
    for (size_t i = 0; i < t->nroutes; i++) {
        const struct route *a = &t->routes[i];
        const struct open_row *open = open_find(f->name, a);
        bool always = open && open->when == OPEN_ALWAYS;
        struct json *row = json_object(), *methods = json_array();
        for (unsigned bit = 0; http_method_names(bit); bit++) {
            struct str names = str_of(a->methods & (1u << bit) ? http_method_names(bit)
                                                               : "");
            while (names.n > 0)
                json_push_str(methods, str_trim(str_cut(&names, ',')));
        }
        json_put_z(row, "listener", native ? "http" : f->name);
        json_put_z(row, "front", f->name);
        json_put(row, "methods", methods);
        json_put_z(row, "path", a->path);
        json_put_z(row, "right", right_name(always     ? RIGHT_NONE
                                            : a->right ? a->right
                                                       : RIGHT_USE));
        json_put_z(row, "key",
                   always                       ? "none"
                   : a->marks & ROUTE_MESSAGE   ? "message"
                   : a->marks & ROUTE_LOGIN     ? "body"
                   : a->marks & ROUTE_COOKIE    ? "cookie"
                   : a->marks & ROUTE_PATH      ? "path"
                                                : key);
        list_open(row, open);
        list_proofs(row, f, a, native);
        json_push(list, row);
    }
}

struct json *fronts_routes(void)
{
    struct json *list = json_array();
    for (size_t i = 0; front_list[i]; i++) {
        const struct front *f = front_list[i];
        const struct http_front *table;
        for (unsigned k = 0; f->http && (table = f->http(NULL, k)); k++)
            list_routes(list, f, table, f->native);
        for (unsigned k = 0; f->own && (table = f->own(NULL, k)); k++)
            list_routes(list, f, table, false);
    }
    return list;
}

/* Returns the text before the first '@' if it is a word, unlike "unix:/a", "https://a"
 * and "". */
static struct str name_of(struct str text)
{
    size_t n = 0;
    while (n < text.n && ((text.p[n] >= 'a' && text.p[n] <= 'z') ||
                          (text.p[n] >= 'A' && text.p[n] <= 'Z') ||
                          (text.p[n] >= '0' && text.p[n] <= '9') || text.p[n] == '_' ||
                          text.p[n] == '-'))
        n++;
    return str_sub(text, 0, n > 0 && n < text.n && text.p[n] == '@' ? n : 0);
}

bool fronts_named(struct str text) { return name_of(text).n > 0; }

const struct front *fronts_cut(struct str *text)
{
    struct str name = name_of(*text);
    for (size_t i = 0; front_list[i] && name.n > 0; i++) {
        const struct front *f = front_list[i];
        if (f->http && (str_eq(name, str_of(f->name)) ||
                        (f->also && str_eq(name, str_of(f->also))))) {
            *text = str_sub(*text, name.n + 1, text->n);
            return f;
        }
    }
    return NULL;
}

void fronts_names(struct buf *out)
{
    const char *before = "";
    for (size_t i = 0; front_list[i]; i++) {
        if (!front_list[i]->http)
            continue;
        buf_addf(out, "%s%s", before, front_list[i]->name);
        if (front_list[i]->also)
            buf_addf(out, " or %s", front_list[i]->also);
        before = ", ";
    }
}
