/* SPDX-License-Identifier: MIT */
/*
 * DevTools clients of a browser (front/front.h): README.md.
 *
 *   /devtools/json/…         of the native set; at --listen devtools@ADDRESS /json/…
 *   /devtools/browser/NAME   a WebSocket, at both
 *   /devtools/page/ID        the same
 */
#include "front/devtools/own.h"

#include "action/action.h"
#include "action/log.h"
#include "base/member.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "front/answer.h"
#include "front/fronts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDER_MAX = 8192, EVENT_MAX = 8 << 10 };

void dt_fail(struct req *r, int status, const char *text)
{
    if (status == 401)
        req_header_add(r, "WWW-Authenticate", "Bearer");
    answer_error(r, status,
                 status == 404                    ? ERR_NOTFOUND
                 : status == 401 || status == 403 ? ERR_DENIED
                 : status == 501                  ? ERR_UNSUPPORTED
                 : status == 503 || status == 507 ? ERR_LIMIT
                 : status == 504                  ? ERR_TIMEOUT
                 : status == 410                  ? ERR_GONE
                                                  : ERR_INVALID,
                 text);
}

int dt_browser_of(struct req *r, char out[DT_BROWSER + 1])
{
    struct buf name = BUF_INIT(256);
    int got = req_query(r, "browser", &name);
    bool ok = got >= 0 && name.n <= DT_BROWSER && (got == 0 || name.n > 0);
    snprintf(out, DT_BROWSER + 1, "%s", got > 0 ? buf_z(&name) : "main");
    buf_release(&name);
    if (!ok)
        dt_fail(r, 400, "browser is a browser's name, 1 to 40 bytes");
    return ok ? 0 : -1;
}

int dt_closes_of(struct req *r, bool *closes)
{
    struct buf word = BUF_INIT(16);
    int got = req_query(r, "close", &word);
    *closes = got > 0;
    bool ok = got == 0 || (got > 0 && str_eq(buf_str(&word), STR("browser")));
    buf_release(&word);
    if (!ok)
        dt_fail(r, 400, "close is the word browser, or absent");
    return ok ? 0 : -1;
}

/* ---- links ---- */

static void on_sandbox(struct sandbox_wait *w)
{
    struct dt_user *u = container_of(w, struct dt_user, wait);
    struct engine *en = u->f->en;
    struct sandbox_place place;
    struct buf folder = BUF_INIT(FOLDER_MAX);
    struct err e = ERR_INIT;
    int rc = sandbox_place(en->sandbox, str_of(u->browser), &place, &e);
    u->waiting = false;
    if (rc == 0) {
        buf_addf(&folder, "%s/.downloads", place.cwd);
        struct browsing_opts o = {.downloads = buf_str(&folder),
                                  .cwd = str_of(place.cwd),
                                  .user = sandbox_user(en->sandbox)};
        rc = devtools_open(en, &u->link, str_of(u->browser), str_of(u->target), &o, &e);
    }
    buf_release(&folder);
    if (rc < 0)
        u->failed(u, &e);
}

void dt_begin(struct dt_user *u)
{
    u->waiting = true;
    sandbox_await(u->f->en->sandbox, &u->wait, on_sandbox);
}

void dt_end(struct dt_user *u)
{
    if (u->waiting)
        list_del(&u->wait.node);
    u->waiting = false;
    devtools_close(&u->link);
}

/* ---- the log ---- */

void dt_log(const struct dt_user *u, const char *event, struct str target, struct str url)
{
    struct buf b = BUF_INIT(EVENT_MAX);
    struct err e = ERR_INIT;
    buf_addz(&b, "{\"observation\":\"devtools\",\"session\":");
    json_quote(&b, str_of(u->browser));
    buf_addf(&b, ",\"content\":\"\",\"extras\":{\"event\":\"%s\",\"client\":%u,\"key\":",
             event, u->number);
    json_quote(&b, str_of(u->key));
    if (target.n) {
        buf_addz(&b, ",\"target\":");
        json_quote(&b, target);
    }
    if (url.n) {
        buf_addz(&b, ",\"url\":");
        json_quote(&b, url);
    }
    buf_addz(&b, "}}");
    if (!buf_full(&b))
        actions_tell(u->f->en->actions, &b, &e);
    buf_release(&b);
}

void dt_on_event(struct devtools_link *k, const struct json *event)
{
    static const char *const known[] = {"opened", "navigated", "closed"};
    const struct dt_user *u = container_of(k, struct dt_user, link);
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (str_eq(json_str(event, "event", ""), str_of(known[i])))
            dt_log(u, known[i], json_str(event, "target", ""),
                   json_str(event, "url", ""));
    }
}

/* ---- routes ---- */

static const struct param query[] = {
    {.name = "browser",
     .type = PARAM_STRING,
     .about = "The browser's name, which is that of its session; main if absent"},
    {0}};
static const struct param query_target[] = {
    {.name = "target",
     .type = PARAM_STRING,
     .required = true,
     .about = "The id of a target, as /json/list has it"},
    {.name = "browser",
     .type = PARAM_STRING,
     .about = "The browser's name, which is that of its session; main if absent"},
    {0}};
static const struct param query_browser[] = {
    {.name = "browser",
     .type = PARAM_STRING,
     .required = true,
     .about = "The browser's name, which is that of its session, 1 to 40 bytes"},
    {.name = "close",
     .type = PARAM_STRING,
     .about = "browser: the client's Browser.close closes the browser for all; without "
              "it, the client alone"},
    {0}};
static const struct route_answer upgraded[] = {
    {.status = 101, .type = "", .about = "A WebSocket of the DevTools protocol"}, {0}};
static const struct route_answer text[] = {
    {.status = 200, .type = "text/html", .about = "It is done"}, {0}};
static const struct route_answer none[] = {
    {.status = 501, .about = "There is no such description here", .schema = "Error"},
    {0}};
#define WORD(NAME, ABOUT) \
    { \
        .name = NAME, .type = MEMBER_STRING, .about = ABOUT \
    }
static const struct member version_members[] = {
    WORD("Browser", "Product and version"),
    WORD("Protocol-Version", "Version of the protocol"),
    WORD("User-Agent", "What pages get"),
    WORD("V8-Version", "Version of V8"),
    WORD("WebKit-Version", "Version of Blink, with its revision"),
    WORD("webSocketDebuggerUrl", "Address of the WebSocket"),
    {0}};
static const struct member target_members[] = {
    WORD("description", "Empty"),
    WORD("id", "Its id in the protocol"),
    WORD("title", "Its title"),
    WORD("type", "page, iframe, worker and others of the protocol"),
    WORD("url", "Its address"),
    WORD("webSocketDebuggerUrl", "Address of its WebSocket"),
    {0}};
#undef WORD
static const struct member version_value = {.type = MEMBER_OBJECT,
                                            .members = version_members};
static const struct member target_value = {.type = MEMBER_OBJECT,
                                           .members = target_members};
static const struct member list_value = {.type = MEMBER_OBJECTS,
                                         .members = target_members};
static const struct route_answer version[] = {{.status = 200, .value = &version_value},
                                              {0}};
static const struct route_answer target[] = {{.status = 200, .value = &target_value},
                                             {0}};
static const struct route_answer list[] = {{.status = 200, .value = &list_value}, {0}};

enum { MARKS = ROUTE_QUERY | ROUTE_LOCAL };

#define ROUTE(METHODS, PATH, RUN, QUERY, ANSWERS, ABOUT) \
    { \
        .methods = METHODS, .path = PATH, .run = RUN, .marks = MARKS, .query = QUERY, \
        .answers = ANSWERS, .about = ABOUT \
    }
#define ROUTES(P) \
    ROUTE(HTTP_GET, P "/json/version", dt_get_version, query, version, \
          "The browser's version, and the address of its WebSocket"), \
        ROUTE(HTTP_GET, P "/json/version/", dt_get_version, query, version, "The same"), \
        ROUTE(HTTP_GET, P "/json", dt_get_list, query, list, \
              "The browser's targets, with the addresses of their WebSockets"), \
        ROUTE(HTTP_GET, P "/json/", dt_get_list, query, list, "The same"), \
        ROUTE(HTTP_GET, P "/json/list", dt_get_list, query, list, "The same"), \
        ROUTE(HTTP_GET, P "/json/list/", dt_get_list, query, list, "The same"), \
        ROUTE(HTTP_GET, P "/json/protocol", dt_get_protocol, query, none, \
              "The description of the protocol, which only a browser with a port has"), \
        ROUTE(HTTP_PUT, P "/json/new", dt_put_new, query, target, \
              "Opens a tab with the address that is the query"), \
        ROUTE(HTTP_GET, P "/json/activate/{target}", dt_get_activate, query_target, \
              text, "Shows a tab"), \
        ROUTE(HTTP_GET, P "/json/close/{target}", dt_get_close, query_target, text, \
              "Closes a tab")

static const struct route native_routes[] = {ROUTES("/devtools")};
static const struct route own_routes[] = {ROUTES("")};
/* The addresses that /json/version and /json/list have. */
static const struct route sockets[] = {
    {.methods = HTTP_GET,
     .path = "/devtools/browser/{browser}",
     .run = dt_get_browser,
     .marks = MARKS,
     .query = query_browser,
     .answers = upgraded,
     .about = "The DevTools protocol with a browser, which starts if it does not run"},
    {.methods = HTTP_GET,
     .path = "/devtools/page/{target}",
     .run = dt_get_page,
     .marks = MARKS,
     .query = query_target,
     .answers = upgraded,
     .about = "The DevTools protocol with one tab"},
};

static const struct http_front bare[] = {
    {.routes = native_routes,
     .nroutes = sizeof(native_routes) / sizeof(native_routes[0]),
     .fail = dt_fail,
     .challenge = true},
    {.routes = sockets,
     .nroutes = sizeof(sockets) / sizeof(sockets[0]),
     .fail = dt_fail,
     .challenge = true},
    {.routes = own_routes,
     .nroutes = sizeof(own_routes) / sizeof(own_routes[0]),
     .fail = dt_fail,
     .challenge = true}};

/* Is uid the user of sessions, whose programs may use the listener without a key? */
static bool is_user(void *arg, uid_t uid)
{
    const struct dt_front *f = arg;
    struct sandbox_place at;
    struct err e = ERR_INIT;
    if (!f || !f->open || sandbox_place(f->en->sandbox, STR(""), &at, &e) < 0)
        return false;
    return uid == (at.as_user ? at.uid : f->en->uid);
}

static const struct proof proofs[] = {
    {.place = PROOF_FIELD, .name = "X-Session-API-Key"},
    {.place = PROOF_BEARER, .name = "Authorization"},
    {.place = PROOF_QUERY, .name = "api_key", .on = ROUTE_QUERY},
    {.place = PROOF_PEER, .on = ROUTE_LOCAL, .is_user = is_user},
    {.place = PROOF_END}};
static const struct door door = {.proofs = proofs, .missing = 401, .wrong = 401};

/* ---- life ---- */

static const struct option_row rows[] = {
    {.name = "devtools-open",
     .type = OPTION_SWITCH,
     .env = "OD_DEVTOOLS_OPEN",
     .member = "open",
     .about = "programs of the sandbox's user may drive its browsers without a key at "
              "--listen devtools@127.0.0.1:PORT, whose address sessions have in "
              "OD_DEVTOOLS_URL"},
    {.name = NULL},
};

static const struct option_table options_devtools = {
    .heading = "DevTools", .section = "devtools", .rows = rows};

static void *open_devtools(struct fronts *all, const struct json *options)
{
    struct dt_front *f = xnew(struct dt_front);
    for (int i = 0; i < 2; i++) {
        f->native[i] = bare[i];
        f->own[i] = bare[2 - i];
        f->native[i].arg = f->own[i].arg = f;
    }
    f->fronts = all;
    f->en = fronts_engine(all);
    f->access = fronts_access(all);
    f->open = json_bool(json_get(options, "devtools"), "open", false);
    list_init(&f->wires);
    return f;
}

static const struct http_front *http(const void *f, unsigned i)
{
    const struct dt_front *x = f;
    return i > 1 ? NULL : x ? &x->native[i] : &bare[i];
}

static const struct http_front *own(const void *f, unsigned i)
{
    const struct dt_front *x = f;
    return i > 1 ? NULL : x ? &x->own[i] : &bare[2 - i];
}

/* Appends OD_DEVTOOLS_URL by a TCP address, as programs of this machine see it. */
static bool put_variable(struct buf *out, struct str address, const char *path)
{
    static const struct str any = STR("0.0.0.0:"), any6 = STR("[::]:");
    struct str scheme = address, rest;
    long at = str_find(address, STR("://"));
    if (at < 0)
        return false;
    scheme.n = (size_t)at + 3;
    rest = str_sub(address, scheme.n, address.n);
    bool all = str_starts(rest, any) || str_starts(rest, any6);
    buf_addf(out, "OD_DEVTOOLS_URL=%.*s%s%.*s%s", STR_ARG(scheme), all ? "127.0.0.1" : "",
             STR_ARG(all ? str_sub(rest,
                                   (size_t)str_find(rest, STR(":")) +
                                       (rest.p[0] == '[' ? 3 : 0),
                                   rest.n)
                         : rest),
             path);
    buf_addc(out, '\0');
    return true;
}

/* Gives sessions the address of a listener of our own, else of the native set. */
static void load(void *arg)
{
    struct dt_front *f = arg;
    const struct json *all = json_get(fronts_about(f->fronts), "addresses");
    struct buf out = BUF_INIT(512);
    for (int own = 1; own >= 0 && out.n == 0; own--) {
        for (const struct json *a = json_first(all); a && out.n == 0; a = json_next(a)) {
            struct str at = json_str_value(a, "");
            if (own && str_starts(at, STR("devtools@")))
                put_variable(&out, str_sub(at, 9, at.n), "");
            else if (!own && str_starts(at, STR("http")))
                put_variable(&out, at, "/devtools");
        }
    }
    if (out.n > 0)
        engine_env_add(f->en, buf_str(&out));
    buf_release(&out);
}

static void close_devtools(void *f, bool another)
{
    (void)another;
    dt_wires_close(f);
}

static void metrics(const void *arg, struct buf *out)
{
    const struct dt_front *f = arg;
    buf_addf(out,
             "# HELP od_devtools_clients Open WebSockets of DevTools clients.\n"
             "# TYPE od_devtools_clients gauge\nod_devtools_clients %u\n"
             "# HELP od_devtools_messages_total Messages on these WebSockets.\n"
             "# TYPE od_devtools_messages_total counter\n"
             "od_devtools_messages_total{to=\"browser\"} %llu\n"
             "od_devtools_messages_total{to=\"client\"} %llu\n",
             f->nwires, (unsigned long long)f->in, (unsigned long long)f->out);
}

const struct front front_devtools = {
    .name = "devtools",
    .options = &options_devtools,
    .open = open_devtools,
    .http = http,
    .own = own,
    .native = true,
    .door = &door,
    .load = load,
    .close = close_devtools,
    .metrics = metrics,
};
