/* SPDX-License-Identifier: MIT */
/*
 * Chromium's questions of HTTP (content/browser/devtools/devtools_http_handler.cc of
 * Chromium's sources): each is one or two calls to the browser, over a link of its own.
 */
#include "front/devtools/own.h"

#include "base/jsontext.h"
#include "base/xalloc.h"
#include "engine/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 60000, ANSWER_MAX = 4 << 20, URL_MAX = 64 << 10 };

enum dt_question { ASK_VERSION, ASK_LIST, ASK_NEW, ASK_INFO, ASK_ACTIVATE, ASK_CLOSE };

struct dt_ask {
    struct dt_user u;
    struct req *r; /* borrowed; NULL: it is answered, or its sender has gone */
    enum dt_question what;
    struct timer late;
    struct buf url; /* of ASK_NEW */
    char id[DEVTOOLS_TARGET + 1];
};

static struct dt_ask *ask_of(struct devtools_link *k)
{
    return container_of(k, struct dt_ask, u.link);
}

static void ask_free(void *p)
{
    struct dt_ask *a = p;
    buf_release(&a->url);
    free(a);
}

static void ask_end(struct dt_ask *a)
{
    timer_stop(&a->late);
    dt_end(&a->u);
    loop_bury(a->u.f->en->loop, a, ask_free);
}

static void refuse(struct dt_ask *a, int status, const char *text)
{
    dt_fail(a->r, status, text);
    ask_end(a);
}

/* ---- answers ---- */

static void answer_json(struct dt_ask *a, struct json *take)
{
    struct buf b = BUF_INIT(ANSWER_MAX);
    req_header_add(a->r, "Cache-Control", "no-store");
    if (json_print(&b, take) < 0) {
        buf_release(&b);
        dt_fail(a->r, 507, "The answer is longer than 4 MiB");
    } else {
        req_answer_take(a->r, 200, "application/json; charset=UTF-8", &b);
    }
    json_free(take);
    ask_end(a);
}

static void put_address(struct dt_ask *a, struct json *to, const char *kind,
                        const char *id)
{
    struct buf url = BUF_INIT(URL_MAX);
    bool page = strcmp(kind, "page") == 0;
    dt_put_origin(a->u.f, a->r, &url);
    buf_addf(&url, "/devtools/%s/%s", kind, id);
    dt_put_query(a->r, page, &url);
    json_put_str(to, "webSocketDebuggerUrl", buf_str(&url));
    buf_release(&url);
}

static void answer_version(struct dt_ask *a, const struct json *result)
{
    struct json *j = json_object();
    struct buf kit = BUF_INIT(200);
    buf_addf(&kit, "537.36 (%.*s)", STR_ARG(json_str(result, "revision", "")));
    json_put_str(j, "Browser", json_str(result, "product", ""));
    json_put_str(j, "Protocol-Version", json_str(result, "protocolVersion", "1.3"));
    json_put_str(j, "User-Agent", json_str(result, "userAgent", ""));
    json_put_str(j, "V8-Version", json_str(result, "jsVersion", ""));
    json_put_str(j, "WebKit-Version", buf_str(&kit));
    put_address(a, j, "browser", a->u.browser);
    buf_release(&kit);
    answer_json(a, j);
}

static struct json *target_json(struct dt_ask *a, const struct json *info)
{
    struct json *j = json_object();
    json_put_z(j, "description", "");
    json_put_str(j, "id", json_str(info, "targetId", ""));
    json_put_str(j, "title", json_str(info, "title", ""));
    json_put_str(j, "type", json_str(info, "type", ""));
    json_put_str(j, "url", json_str(info, "url", ""));
    put_address(a, j, "page", json_str(info, "targetId", "").p);
    return j;
}

static void answer_list(struct dt_ask *a, const struct json *result)
{
    struct json *list = json_array();
    const struct json *all = json_get(result, "targetInfos");
    for (const struct json *t = json_first(all); t; t = json_next(t)) {
        struct str type = json_str(t, "type", "");
        if (!str_eq(type, STR("browser")) && !str_eq(type, STR("tab")))
            json_push(list, target_json(a, t));
    }
    answer_json(a, list);
}

static void answer_text(struct dt_ask *a, const char *text)
{
    req_answer(a->r, 200, "text/html; charset=UTF-8", str_of(text));
    ask_end(a);
}

/* ---- the browser ---- */

static void send_question(struct dt_ask *a)
{
    static const char *const methods[] = {
        [ASK_VERSION] = "Browser.getVersion",     [ASK_LIST] = "Target.getTargets",
        [ASK_NEW] = "Target.createTarget",        [ASK_INFO] = "Target.getTargetInfo",
        [ASK_ACTIVATE] = "Target.activateTarget", [ASK_CLOSE] = "Target.closeTarget"};
    struct buf b = BUF_INIT(URL_MAX * 6 + 512);
    buf_addf(&b, "{\"id\":%d,\"method\":\"%s\",\"params\":{", a->what + 1,
             methods[a->what]);
    if (a->what == ASK_NEW) {
        buf_addz(&b, "\"url\":");
        json_quote(&b, buf_str(&a->url));
    } else if (a->id[0]) {
        buf_addz(&b, "\"targetId\":");
        json_quote(&b, str_of(a->id));
    }
    buf_addz(&b, "}}");
    if (buf_full(&b))
        refuse(a, 400, "The address is too long");
    else
        devtools_send(&a->u.link, buf_str(&b));
    buf_release(&b);
}

static void on_ready(struct devtools_link *k) { send_question(ask_of(k)); }

static void on_result(struct dt_ask *a, const struct json *result)
{
    struct str id = json_str(result, "targetId", "");
    switch (a->what) {
    case ASK_VERSION:
        answer_version(a, result);
        break;
    case ASK_LIST:
        answer_list(a, result);
        break;
    case ASK_NEW:
        snprintf(a->id, sizeof(a->id), "%.*s", STR_ARG(id));
        a->what = ASK_INFO;
        send_question(a);
        break;
    case ASK_INFO:
        answer_json(a, target_json(a, json_get(result, "targetInfo")));
        break;
    case ASK_ACTIVATE:
        answer_text(a, "Target activated");
        break;
    case ASK_CLOSE:
        answer_text(a, "Target is closing");
        break;
    }
}

static bool on_message(struct devtools_link *k, struct str text)
{
    struct dt_ask *a = ask_of(k);
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    char why[300];
    if (json_int(j, "id", 0) == (int)a->what + 1 && json_has(j, "result")) {
        on_result(a, json_get(j, "result"));
    } else if (json_int(j, "id", 0) == (int)a->what + 1) {
        snprintf(why, sizeof(why), a->id[0] ? "No such target id: %s" : "The browser: %s",
                 a->id[0] ? a->id
                          : json_str(json_get(j, "error"), "message", "no reason").p);
        refuse(a, a->id[0] ? 404 : 500, why);
    }
    json_free(j);
    return true;
}

static void on_nothing(struct devtools_link *k) { (void)k; }

static void on_failed(struct dt_user *u, const struct err *e)
{
    refuse(container_of(u, struct dt_ask, u), err_words(e->code)->http, e->text);
}

static void on_over(struct devtools_link *k, const struct err *why)
{
    on_failed(&ask_of(k)->u, why);
}

static const struct devtools_calls link_calls = {.ready = on_ready,
                                                 .message = on_message,
                                                 .room = on_nothing,
                                                 .event = dt_on_event,
                                                 .over = on_over};

/* ---- requests ---- */

static void on_gone(struct req *r, void *owner)
{
    (void)r;
    ask_end(owner);
}

static void on_late(struct timer *t)
{
    refuse(container_of(t, struct dt_ask, late), 504,
           "The browser did not answer within 60 s");
}

/* Returns the question, which begins in a later turn; NULL after r was refused. */
static struct dt_ask *ask(struct req *r, enum dt_question what)
{
    char browser[DT_BROWSER + 1];
    struct dt_front *f = req_arg(r);
    if (dt_browser_of(r, browser) < 0)
        return NULL;
    struct dt_ask *a = xnew(struct dt_ask);
    *a = (struct dt_ask){.r = r,
                         .what = what,
                         .url = BUF_INIT(URL_MAX),
                         .u = {.f = f, .number = ++f->last, .failed = on_failed}};
    a->u.link.calls = &link_calls;
    memcpy(a->u.browser, browser, sizeof(browser));
    snprintf(a->u.key, sizeof(a->u.key), "%s", req_key(r));
    struct str target = req_param(r, "target");
    snprintf(a->id, sizeof(a->id), "%.*s",
             (int)(target.n < sizeof(a->id) ? target.n : sizeof(a->id) - 1),
             target.n ? target.p : "");
    engine_touch(f->en);
    req_own(r, a, on_gone);
    timer_begin(f->en->loop, &a->late, ANSWER_MS, on_late);
    dt_begin(&a->u);
    return a;
}

void dt_get_version(struct req *r) { ask(r, ASK_VERSION); }
void dt_get_list(struct req *r) { ask(r, ASK_LIST); }
void dt_get_activate(struct req *r) { ask(r, ASK_ACTIVATE); }
void dt_get_close(struct req *r) { ask(r, ASK_CLOSE); }

/* The query is the address, percent-encoded or not; parameters of ours are none of it. */
void dt_put_new(struct req *r)
{
    struct str left = req_head(r)->query;
    struct dt_ask *a = ask(r, ASK_NEW);
    if (!a)
        return;
    while (left.n > 0) {
        struct str one = str_cut(&left, '&');
        if (str_starts(one, STR("api_key=")) || str_starts(one, STR("browser=")) ||
            str_eq(one, STR("close=browser")))
            continue;
        if (a->url.n > 0)
            buf_addc(&a->url, '&');
        http_decode(&a->url, one, false);
    }
    if (a->url.n == 0)
        buf_addz(&a->url, "about:blank");
}

void dt_get_protocol(struct req *r)
{
    dt_fail(r, 501,
            "This browser has no port, and so not its description of the protocol: "
            "clients have one of their own (chrome-remote-interface: local: true)");
}
