/* SPDX-License-Identifier: MIT */
/*
 * Records the requests of all tabs, and their answers, as an HTTP Archive: HAR 1.2
 * (w3c.github.io/web-performance/specs/HAR/Overview.html) from the events of DevTools'
 * Network domain. data: and blob: addresses are left out.
 *
 *   requestWillBeSent ─▶ entry ─responseReceived─▶ its answer ─loadingFinished─▶ its body
 * is │ a redirect ends the entry                            asked for, ASKED_MAX at once
 *
 * Chromium keeps bodies until the page navigates, BODY_MAX bytes each: others are
 * missing.
 */
#include "browser/driver/driver.h"

#include "base/clock.h"
#include "base/xalloc.h"
#include "http/http.h"
#include "webpage/webpage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ENTRIES_MAX = 5000,
    ASKED_MAX = 16,
    BODY_MAX = 8 << 20,
    BODIES_MAX = 40 << 20, /* of all entries; then no more requests are recorded */
    END_MS = 5000          /* for bodies, when the recording ends */
};

struct har_entry {
    struct list node;
    struct json *j;     /* owned: the entry; NULL: only its fields have come so far */
    struct json *sent;  /* owned: the fields as they were sent, until j has them */
    struct json *next;  /* owned: the same for the request after a redirect */
    bool told;          /* j has them */
    struct json *extra; /* owned: the fields of the answer as it came, with cookies */
    char session[BROWSER_ID];
    char request[BROWSER_ID];
    double began, answered, ended; /* seconds, of the browser's clock; 0: not yet */
    double send, wait;             /* milliseconds; < 0: not known */
    enum { HAR_OPEN, HAR_WANTS, HAR_ASKED, HAR_DONE } body;
    int call;               /* with HAR_ASKED */
    char frame[BROWSER_ID]; /* whose document it is; "": it is none */
    bool of_page;           /* the page was asked for the body, not the network */
};

struct browser_har {
    struct list entries;
    struct map by_id; /* id of a request → its newest entry */
    size_t n, asked, wants;
    size_t bytes; /* of addresses, fields and bodies so far */
    int lost;
    struct json *pages; /* owned: [{id …}] */
};

/* ---- parts of an entry ---- */

/* Microseconds are enough. */
static double round3(double v)
{
    return v > 0 && v < 1e12 ? (double)(int64_t)(v * 1000 + 0.5) / 1000 : 0;
}

static struct json *pair(struct str name, struct str value)
{
    struct json *j = json_object();
    json_put_str(j, "name", name);
    json_put_str(j, "value", value);
    return j;
}

/* DevTools joins fields of the same name by newlines. */
static struct json *fields_of(struct browser_har *har, const struct json *headers)
{
    struct json *list = json_array();
    for (const struct json *h = json_first(headers); h; h = json_next(h)) {
        struct str rest = json_str_value(h, "");
        har->bytes += rest.n;
        do {
            json_push(list, pair(str_of(json_name(h)), str_cut(&rest, '\n')));
        } while (rest.n);
    }
    return list;
}

/* "a=1; b=2" of Cookie, or the first pair of each Set-Cookie. */
static struct json *cookies_of(const struct json *fields, const char *name, bool all)
{
    struct json *list = json_array();
    for (const struct json *f = json_first(fields); f; f = json_next(f)) {
        struct str rest = json_str(f, "value", "");
        if (!webpage_is_word(json_str(f, "name", ""), name))
            continue;
        do {
            struct str one = str_trim(str_cut(&rest, ';')), key = str_cut(&one, '=');
            json_push(list, pair(key, one));
        } while (all && rest.n);
    }
    return list;
}

static struct json *query_of(struct str url)
{
    struct json *list = json_array();
    struct str rest = url;
    str_cut(&rest, '?');
    while (rest.n) {
        struct str value = str_cut(&rest, '&'), key = str_cut(&value, '=');
        struct buf k = BUF_INIT(1 << 16), v = BUF_INIT(1 << 20);
        if (http_decode(&k, key, true) == 0 && http_decode(&v, value, true) == 0)
            json_push(list, pair(buf_str(&k), buf_str(&v)));
        buf_release(&k);
        buf_release(&v);
    }
    return list;
}

static void put_fields(struct browser_har *har, struct json *part,
                       const struct json *headers, const char *cookie)
{
    struct json *fields = fields_of(har, headers);
    json_put(part, "cookies", cookies_of(fields, cookie, strcmp(cookie, "cookie") == 0));
    json_put(part, "headers", fields);
}

static const char *version_of(struct str protocol)
{
    return str_starts(protocol, STR("h2"))     ? "HTTP/2.0"
           : str_starts(protocol, STR("h3"))   ? "HTTP/3.0"
           : str_eq(protocol, STR("http/1.0")) ? "HTTP/1.0"
                                               : "HTTP/1.1";
}

static struct json *request_of(struct browser_har *har, const struct json *r)
{
    struct json *j = json_object();
    struct str post = json_str(r, "postData", "");
    har->bytes += post.n + json_str(r, "url", "").n;
    json_put_str(j, "method", json_str(r, "method", ""));
    json_put_str(j, "url", json_str(r, "url", ""));
    json_put_z(j, "httpVersion", "HTTP/1.1");
    put_fields(har, j, json_get(r, "headers"), "cookie");
    json_put(j, "queryString", query_of(json_str(r, "url", "")));
    json_put_int(j, "headersSize", -1);
    json_put_int(j, "bodySize", (int64_t)post.n);
    if (json_has(r, "postData")) {
        struct json *data = json_object();
        struct str type = STR("");
        for (const struct json *h = json_first(json_get(r, "headers")); h;
             h = json_next(h))
            type = webpage_is_word(str_of(json_name(h)), "content-type")
                       ? json_str_value(h, "")
                       : type;
        json_put_str(data, "mimeType", type);
        json_put(data, "params", json_array());
        json_put_str(data, "text", post);
        json_put(j, "postData", data);
    }
    return j;
}

/* r NULL: no answer has come. */
static struct json *response_of(struct browser_har *har, const struct json *r,
                                struct str redirect)
{
    struct json *j = json_object(), *content = json_object();
    json_put_int(content, "size", 0);
    json_put_str(content, "mimeType", json_str(r, "mimeType", "x-unknown"));
    json_put_int(j, "status", json_int(r, "status", 0));
    json_put_str(j, "statusText", json_str(r, "statusText", ""));
    json_put_z(j, "httpVersion", version_of(json_str(r, "protocol", "")));
    put_fields(har, j, json_get(r, "headers"), "set-cookie");
    json_put(j, "content", content);
    json_put_str(j, "redirectURL", redirect);
    json_put_int(j, "headersSize", -1);
    json_put_int(j, "bodySize", -1);
    return j;
}

/* ---- pages ---- */

/* A tab is a page of the archive. Returns its id. */
static const char *page_of(struct browser *b, const struct target *t, double wall)
{
    char began[25];
    while (t && !t->page)
        t = browser_session(b, str_of(t->parent));
    if (!t)
        return "";
    for (const struct json *p = json_first(b->har->pages); p; p = json_next(p)) {
        if (str_eq(json_str(p, "id", ""), str_of(t->id)))
            return t->id;
    }
    struct json *page = json_object(), *timings = json_object();
    clock_iso((int64_t)(wall * 1000), began);
    json_put_z(page, "startedDateTime", began);
    json_put_z(page, "id", t->id);
    json_put_z(page, "title", "");
    json_put_int(timings, "onContentLoad", -1);
    json_put_int(timings, "onLoad", -1);
    json_put(page, "pageTimings", timings);
    json_push(b->har->pages, page);
    return t->id;
}

/* ---- events ---- */

static void entry_free(struct har_entry *x)
{
    list_del(&x->node);
    json_free(x->j);
    json_free(x->extra);
    json_free(x->sent);
    json_free(x->next);
    free(x);
}

static void close_entry(struct browser_har *har, struct har_entry *x, double at,
                        bool body)
{
    if (x->body != HAR_OPEN)
        return;
    x->ended = at;
    x->body = body ? HAR_WANTS : HAR_DONE;
    har->wants += body;
}

static void use_extra(struct browser_har *har, struct har_entry *x)
{
    if (x->extra)
        put_fields(har, json_get(x->j, "response"), x->extra, "set-cookie");
    json_free(x->extra);
    x->extra = NULL;
}

/* Takes the times of an answer, which are in milliseconds from requestTime on. */
static void take_response(struct browser_har *har, struct har_entry *x,
                          const struct json *r, struct str redirect, double at)
{
    const struct json *timing = json_get(r, "timing");
    x->answered = at;
    json_put(x->j, "response", response_of(har, r, redirect));
    use_extra(har, x);
    struct str address = json_str(r, "remoteIPAddress", "");
    if (address.n)
        json_put_str(x->j, "serverIPAddress", address);
    if (!timing)
        return;
    x->send = json_num(timing, "sendEnd", 0) - json_num(timing, "sendStart", 0);
    x->wait = json_num(timing, "receiveHeadersEnd", 0) - json_num(timing, "sendEnd", 0);
    x->answered = json_num(timing, "requestTime", 0) +
                  json_num(timing, "receiveHeadersEnd", 0) / 1000;
}

/* Makes an entry, and makes it the newest one of its request. Returns NULL if there are
 * too many. */
static struct har_entry *entry_new(struct browser_har *har, struct str id)
{
    if (har->n == ENTRIES_MAX || har->bytes > BODIES_MAX || id.n >= BROWSER_ID || !id.n)
        return NULL;
    struct har_entry *x = xnew(struct har_entry);
    x->send = x->wait = -1;
    memcpy(x->request, id.p, id.n);
    list_add_tail(&har->entries, &x->node);
    map_put(&har->by_id, id, x);
    har->n++;
    return x;
}

/* Fields as they are sent, with cookies, come before or after the request itself. */
static void use_sent(struct browser_har *har, struct har_entry *x)
{
    if (!x->sent || !x->j)
        return;
    put_fields(har, json_get(x->j, "request"), x->sent, "cookie");
    json_free(x->sent);
    x->sent = NULL;
    x->told = true;
}

static void on_request(struct browser *b, struct target *t, const struct json *p)
{
    struct browser_har *har = b->har;
    struct str id = json_str(p, "requestId", "");
    const struct json *r = json_get(p, "request");
    struct har_entry *x = map_get(&har->by_id, id);
    struct json *sent = NULL;
    double wall = json_num(p, "wallTime", 0), at = json_num(p, "timestamp", 0);
    struct str url = json_str(r, "url", "");
    char began[25];
    if (x && x->j && json_has(p, "redirectResponse")) {
        take_response(har, x, json_get(p, "redirectResponse"), url, at);
        close_entry(har, x, at, false);
        sent = x->next;
        x->next = NULL;
    }
    bool skip = str_starts(url, STR("data:")) || str_starts(url, STR("blob:"));
    if (!skip && (!x || x->j))
        x = entry_new(har, id);
    if (skip || !x) {
        har->lost += !skip;
        json_free(sent);
        return;
    }
    x->sent = sent ? sent : x->sent;
    x->j = json_object();
    x->began = at;
    memcpy(x->session, t->session, sizeof(x->session));
    if (str_eq(json_str(p, "type", ""), STR("Document")))
        buf_fill(x->frame, sizeof(x->frame), "%.*s", STR_ARG(json_str(p, "frameId", "")));
    clock_iso((int64_t)(wall * 1000), began);
    json_put_z(x->j, "pageref", page_of(b, t, wall));
    json_put_z(x->j, "startedDateTime", began);
    json_put_int(x->j, "time", 0);
    json_put(x->j, "request", request_of(har, r));
    json_put(x->j, "response", response_of(har, NULL, STR("")));
    json_put(x->j, "cache", json_object());
    use_sent(har, x);
}

/* The fields of a request or an answer, from the process that has the network. */
static void on_fields(struct browser_har *har, struct har_entry *x, bool request,
                      const struct json *p)
{
    struct json **at = !request ? &x->extra : x->told ? &x->next : &x->sent;
    json_free(*at);
    *at = json_copy(json_get(p, "headers"));
    if (request)
        use_sent(har, x);
    else if (x->answered > 0)
        use_extra(har, x);
}

void browser_har_event(struct browser *b, struct target *t, struct str method,
                       const struct json *p)
{
    struct browser_har *har = b->har;
    struct str id = json_str(p, "requestId", "");
    double at = json_num(p, "timestamp", 0);
    if (str_eq(method, STR("Network.requestWillBeSent"))) {
        on_request(b, t, p);
        return;
    }
    bool request = str_eq(method, STR("Network.requestWillBeSentExtraInfo"));
    bool fields = request || str_eq(method, STR("Network.responseReceivedExtraInfo"));
    struct har_entry *x = map_get(&har->by_id, id);
    if (fields && (x || (x = entry_new(har, id)) != NULL))
        on_fields(har, x, request, p);
    if (fields || !x || !x->j)
        return;
    if (str_eq(method, STR("Network.responseReceived"))) {
        take_response(har, x, json_get(p, "response"), STR(""), at);
    } else if (str_eq(method, STR("Network.loadingFinished"))) {
        json_put_num(json_get(x->j, "response"), "bodySize",
                     json_num(p, "encodedDataLength", -1));
        close_entry(har, x, at, true);
    } else if (str_eq(method, STR("Network.loadingFailed"))) {
        json_put_str(json_get(x->j, "response"), "_error", json_str(p, "errorText", ""));
        close_entry(har, x, at, false);
    }
}

/* ---- bodies ---- */

static void take_body(struct browser_har *har, struct har_entry *x, struct json *take)
{
    struct json *content = json_get(json_get(x->j, "response"), "content");
    struct json *result = json_get(take, "result"),
                *body = result ? json_take(result, x->of_page ? "content" : "body")
                               : NULL;
    struct str text = json_str_value(body, "");
    bool base64 = json_bool(result, "base64Encoded", false);
    size_t pad = text.n >= 2 ? (text.p[text.n - 1] == '=') + (text.p[text.n - 2] == '=')
                             : 0;
    if (body && har->bytes + text.n <= BODIES_MAX) {
        har->bytes += text.n;
        json_put_int(content, "size", (int64_t)(base64 ? text.n / 4 * 3 - pad : text.n));
        json_put(content, "text", body);
        if (base64)
            json_put_z(content, "encoding", "base64");
    } else {
        json_free(body);
        json_put_z(content, "comment", "the body was not kept");
    }
    json_free(take);
    x->body = HAR_DONE;
}

static void ask_body(struct browser *b, struct har_entry *x)
{
    struct json *p = json_object();
    json_put_z(p, "requestId", x->request);
    x->call = cdp_send(&b->cdp, str_of(x->session), "Network.getResponseBody", p);
    x->body = x->call > 0 ? HAR_ASKED : HAR_DONE;
    b->har->asked += x->call > 0;
    b->har->wants--;
}

/*
 * A first document that comes while its tab goes to another process: Chromium may neither
 * tell its end nor give its body, but the page has it.
 */
static void ask_page(struct browser *b, struct har_entry *x)
{
    struct json *p = json_object();
    json_put_z(p, "frameId", x->frame);
    json_put_str(p, "url", json_str(json_get(x->j, "request"), "url", ""));
    x->call = cdp_send(&b->cdp, str_of(x->session), "Page.getResourceContent", p);
    x->body = x->call > 0 ? HAR_ASKED : HAR_DONE;
    x->of_page = true;
    b->har->asked += x->call > 0;
}

void browser_har_turn(struct browser *b)
{
    struct browser_har *har = b->har;
    struct list *pos, *tmp;
    struct err e = ERR_INIT;
    if (!har || (!har->asked && !har->wants))
        return;
    list_each (pos, tmp, &har->entries) {
        struct har_entry *x = list_entry(pos, struct har_entry, node);
        if (x->body == HAR_WANTS && har->asked < ASKED_MAX)
            ask_body(b, x);
        if (x->body == HAR_ASKED && cdp_answered(&b->cdp, x->call)) {
            struct json *take = cdp_wait(&b->cdp, x->call, clock_ms(), &e);
            har->asked--;
            if (x->frame[0] && !x->of_page &&
                !json_has(json_get(take, "result"), "body")) {
                json_free(take);
                ask_page(b, x);
            } else {
                take_body(har, x, take);
            }
        }
    }
}

/* ---- beginning and end ---- */

static struct json *sizes(void)
{
    struct json *p = json_object();
    json_put_int(p, "maxTotalBufferSize", BODIES_MAX);
    json_put_int(p, "maxResourceBufferSize", BODY_MAX);
    return p;
}

void browser_har_watch(struct browser *b, struct str session)
{
    cdp_tell(&b->cdp, session, "Network.enable", sizes());
}

/*
 * Waits for the answers: if a tab goes to another process before, Chromium enables the
 * domains there too late for the first requests. Handlers of events may drop targets.
 */
void browser_har_begin(struct browser *b)
{
    struct err e = ERR_INIT;
    struct target *t;
    browser_har_drop(b);
    b->har = xnew(struct browser_har);
    list_init(&b->har->entries);
    map_init(&b->har->by_id);
    b->har->pages = json_array();
    for (int i = 0; (t = browser_page(b, i)); i++) {
        char session[BROWSER_ID];
        memcpy(session, t->session, sizeof(session));
        if (!session[0])
            continue;
        json_free(cdp_call(&b->cdp, str_of(session), "Network.enable", sizes(),
                           browser_in(BROWSER_ELEMENT_MS), &e));
        browser_watch_papers(b, str_of(session), BROWSER_ELEMENT_MS);
    }
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets) {
        const struct target *frame = list_entry(pos, struct target, node);
        if (!frame->page && frame->session[0])
            browser_har_watch(b, str_of(frame->session));
    }
}

/* Puts time and timings, which add up to it. */
static void put_times(struct har_entry *x)
{
    struct json *timings = json_object();
    double end = x->ended > 0 ? x->ended : x->answered > 0 ? x->answered : x->began;
    double answered = x->answered > 0 ? x->answered : end;
    double before = (answered - x->began) * 1000;
    double send = round3(x->send), wait = x->wait < 0 ? round3(before) : round3(x->wait);
    double receive = round3((end - answered) * 1000);
    double blocked = round3(before - send - wait);
    json_put_num(timings, "blocked", blocked);
    json_put_num(timings, "send", send);
    json_put_num(timings, "wait", wait);
    json_put_num(timings, "receive", receive);
    json_put_num(x->j, "time", round3(blocked + send + wait + receive));
    json_put(x->j, "timings", timings);
}

static struct json *log_of(struct browser *b)
{
    struct json *log = json_object(), *entries = json_array(), *by = json_object();
    struct list *pos, *tmp;
    json_put_z(by, "name", "od");
    json_put_z(by, "version", "1");
    for (struct json *p = json_first(b->har->pages); p; p = json_next(p)) {
        const struct target *t = browser_target(b, json_str(p, "id", ""));
        if (t)
            json_put_str(p, "title", buf_str(&t->title));
    }
    list_each (pos, tmp, &b->har->entries) {
        struct har_entry *x = list_entry(pos, struct har_entry, node);
        if (!x->j)
            continue;
        put_times(x);
        json_push(entries, x->j);
        x->j = NULL;
    }
    json_put_z(log, "version", "1.2");
    json_put(log, "creator", by);
    json_put(log, "pages", b->har->pages);
    b->har->pages = NULL;
    json_put(log, "entries", entries);
    return log;
}

int browser_har_end(struct browser *b, struct buf *out)
{
    int64_t end = browser_in(END_MS);
    struct list *pos, *tmp;
    if (!b->har)
        return 0;
    list_each (pos, tmp, &b->har->entries) {
        struct har_entry *x = list_entry(pos, struct har_entry, node);
        if (x->body == HAR_OPEN && x->j && x->frame[0] && x->answered > 0)
            ask_page(b, x);
    }
    browser_har_turn(b);
    while (b->har->asked + b->har->wants > 0 && cdp_turn(&b->cdp, end) > 0)
        browser_har_turn(b);
    list_each (pos, tmp, &b->har->entries) {
        struct har_entry *x = list_entry(pos, struct har_entry, node);
        if (x->body == HAR_ASKED)
            cdp_forget(&b->cdp, x->call);
    }
    if (b->har->lost)
        browser_note(b, "the archive has the first %zu requests, and not %d more",
                     b->har->n, b->har->lost);
    struct json *j = json_object();
    json_put(j, "log", log_of(b));
    int r = json_print(out, j);
    json_free(j);
    browser_har_drop(b);
    return r;
}

void browser_har_drop(struct browser *b)
{
    struct list *pos, *tmp;
    if (!b->har)
        return;
    while (!list_empty(&b->har->entries))
        entry_free(list_first(&b->har->entries, struct har_entry, node));
    map_release(&b->har->by_id);
    json_free(b->har->pages);
    free(b->har);
    b->har = NULL;
    list_each (pos, tmp, &b->targets) {
        const struct target *t = list_entry(pos, struct target, node);
        if (!b->cdp.ended && t->session[0])
            cdp_tell(&b->cdp, str_of(t->session), "Network.disable", NULL);
    }
}
