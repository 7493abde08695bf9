/* SPDX-License-Identifier: MIT */
/* What passes between DevTools clients and Chromium: host_devtools.h. */
#include "base/clock.h"
#include "base/jsontext.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/host/host_devtools_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TELL_MAX = 4096,
    CODE_INVALID = -32600,
    CODE_SESSION = -32001,
    CODE_SERVER = -32000
};
/* Ids of our calls for a client: its number, and what the call is for. */
enum { FOR_ATTACH = 1, FOR_PAGE = 2, FOR_DETACH = 3, FOR_ALL = 4 };

void devtools_set_id(char out[DEVTOOLS_ID], struct str id)
{
    size_t n = id.n < DEVTOOLS_ID ? id.n : 0;
    memcpy(out, id.n ? id.p : "", n);
    out[n] = '\0';
}

struct str devtools_member(struct str object, const char *name)
{
    return jsontext_plain(jsontext_get(object, str_of(name)));
}

static bool is_event(struct str text, const char *method)
{
    struct str head = STR("{\"method\":\"");
    size_t n = strlen(method);
    return str_starts(text, head) &&
           str_starts(str_sub(text, head.n, text.n), str_n(method, n)) &&
           text.n > head.n + n && text.p[head.n + n] == '"';
}

/* The session that Chromium puts at the end of a message; "": there is none. */
static struct str session_of(struct str text, size_t *from)
{
    struct str name = STR(",\"sessionId\":\"");
    size_t end = text.n > 2 ? text.n - 2 : 0, at = end;
    if (end == 0 || text.p[end] != '"' || text.p[end + 1] != '}')
        return STR("");
    while (at > 0 && end - at < DEVTOOLS_ID && text.p[at - 1] != '"')
        at--;
    if (at <= name.n || !str_eq(str_n(text.p + at - name.n, name.n), name))
        return STR("");
    *from = at - name.n;
    return str_n(text.p + at, end - at);
}

static struct devtools_session *find(const struct host *h, struct str id)
{
    return id.n ? map_get(&h->devtools.sessions, id) : NULL;
}

/* ---- our own calls ---- */

/* Sends a call for a client in that session, "": none; its answer comes to on_own. */
static void call_for(struct devtools_client *c, int what, const char *session,
                     const char *method, const char *name, const char *value)
{
    struct browser *b = devtools_browser(c->h);
    struct buf text = BUF_INIT(TELL_MAX);
    buf_addf(&text, "{\"id\":%u,\"method\":\"%s\",\"params\":{",
             c->number * FOR_ALL + what, method);
    if (name)
        buf_addf(&text, "\"%s\":\"%s\"%s", name, value,
                 what == FOR_PAGE ? ",\"flatten\":true" : "");
    buf_addz(&text, "}");
    if (session[0])
        buf_addf(&text, ",\"sessionId\":\"%s\"", session);
    buf_addz(&text, "}");
    if (b && !buf_full(&text))
        cdp_pass(&b->cdp, buf_str(&text), STR("}"));
    buf_release(&text);
}

void devtools_attach(struct devtools_client *c)
{
    c->state = DEVTOOLS_ASKED;
    call_for(c, FOR_ATTACH, "", "Target.attachToBrowserTarget", NULL, NULL);
}

static void tell(struct host *h, const char *session, const char *method,
                 const char *name, const char *value)
{
    struct browser *b = devtools_browser(h);
    struct json *p = json_object();
    if (name)
        json_put_z(p, name, value);
    if (b)
        cdp_tell(&b->cdp, str_of(session), method, p);
    else
        json_free(p);
}

/*
 * A client that leaves has Chromium forget what is done with downloads of the default
 * context. Sets it as the last other client did, else as the driver does.
 */
static void restore_downloads(struct host *h, struct browser *b)
{
    struct devtools_client *last = NULL;
    struct err e = ERR_INIT;
    struct list *it, *tmp;
    list_each (it, tmp, &h->devtools.clients) {
        struct devtools_client *c = list_entry(it, struct devtools_client, node);
        if (c->state == DEVTOOLS_OPEN && c->downloads.n && !buf_full(&c->downloads) &&
            (!last || c->downloads_turn > last->downloads_turn))
            last = c;
    }
    struct json *p = last ? json_parse(buf_str(&last->downloads), &e) : NULL;
    if (!p) {
        p = json_object();
        json_put_z(p, "behavior", h->downloads.n ? "allow" : "deny");
        if (h->downloads.n)
            json_put_str(p, "downloadPath", h->downloads);
        json_put_bool(p, "eventsEnabled", true);
    }
    cdp_tell(&b->cdp, str_of(last ? last->browser : ""), "Browser.setDownloadBehavior",
             p);
}

void devtools_detach(struct devtools_client *c)
{
    struct browser *b = devtools_browser(c->h);
    struct list *it, *tmp;
    if (!b) {
        c->done = true;
        return;
    }
    list_each (it, tmp, &c->contexts)
        tell(c->h, "", "Target.disposeBrowserContext", "browserContextId",
             list_entry(it, struct devtools_context, node)->id);
    call_for(c, FOR_DETACH, "", "Target.detachFromTarget", "sessionId", c->browser);
    if (c->downloads.n)
        restore_downloads(c->h, b);
    struct target *t = b->dialog.type[0] ? browser_session(b, str_of(b->dialog.session))
                                         : NULL;
    if (t && !c->h->screen.driven && !devtools_is_attached(c->h, t->id))
        browser_dismiss_dialog(b);
}

void devtools_forget(struct host *h, const struct devtools_client *c)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&h->devtools.sessions, it, &key, &value));) {
        if (c && ((struct devtools_session *)value)->client != c)
            continue;
        map_del(&h->devtools.sessions, key);
        free(value);
    }
    if (c && !list_empty(&h->devtools.clients))
        return;
    for (void *it = NULL; (it = map_next(&h->devtools.pages, it, &key, &value));) {
        map_del(&h->devtools.pages, key);
        free(value);
    }
}

int devtools_let_run(struct host *h)
{
    struct str key;
    void *value;
    int64_t now = clock_ms(), next = 0;
    for (void *it = NULL; (it = map_next(&h->devtools.sessions, it, &key, &value));) {
        struct devtools_session *s = value;
        char id[DEVTOOLS_ID];
        int64_t left = s->since_ms + DEVTOOLS_WAIT_MS - now;
        if (!s->since_ms)
            continue;
        if (left > 0) {
            next = next && next < left ? next : left;
            continue;
        }
        s->since_ms = 0;
        devtools_set_id(id, key);
        tell(h, id, "Runtime.runIfWaitingForDebugger", NULL, NULL);
    }
    return (int)next;
}

/* ---- from Chromium ---- */

static void add_session(struct devtools_client *c, struct str id, const char *target,
                        bool waits)
{
    struct devtools_session *s = find(c->h, id);
    if (!id.n || id.n >= DEVTOOLS_ID || s)
        return;
    s = xnew(struct devtools_session);
    s->client = c;
    snprintf(s->target, sizeof(s->target), "%s", target);
    s->since_ms = waits ? clock_ms() : 0;
    map_put(&c->h->devtools.sessions, id, s);
    if (waits)
        devtools_wait(c->h, DEVTOOLS_WAIT_MS);
}

static void greet(struct devtools_client *c)
{
    c->state = DEVTOOLS_OPEN;
    devtools_put(c, STR("+"), STR(""));
}

/* We made the call, or its session has ended. */
static void on_own(struct host *h, int64_t id, struct str text)
{
    struct str error = jsontext_get(text, STR("error"));
    bool stray = jsontext_int(jsontext_get(error, STR("code")), 0) == CODE_SESSION;
    struct devtools_client *c = devtools_client_by(h, (unsigned)(id / FOR_ALL));
    struct str session = devtools_member(jsontext_get(text, STR("result")), "sessionId");
    struct list *it, *tmp;
    if (stray)
        c = NULL; /* our own calls have no session that could have ended */
    if (c && id % FOR_ALL == FOR_ATTACH && !session.n) {
        devtools_end(c, "Chromium gave no session with the browser");
        c->done = true;
    } else if (c && id % FOR_ALL == FOR_ATTACH && c->state == DEVTOOLS_LEFT) {
        devtools_set_id(c->browser, session);
        add_session(c, session, "", false);
        devtools_detach(c);
    } else if (c && id % FOR_ALL == FOR_ATTACH && c->state == DEVTOOLS_ASKED) {
        devtools_set_id(c->browser, session);
        devtools_set_id(c->root, session);
        add_session(c, session, "", false);
        if (c->target[0])
            call_for(c, FOR_PAGE, c->browser, "Target.attachToTarget", "targetId",
                     c->target);
        else
            greet(c);
    } else if (c && id % FOR_ALL == FOR_DETACH && c->state == DEVTOOLS_LEFT) {
        c->done = true;
    } else if (stray) {
        list_each (it, tmp, &h->devtools.clients) {
            c = list_entry(it, struct devtools_client, node);
            for (size_t i = 0; i < sizeof(c->last) / sizeof(*c->last); i++) {
                if (c->last[i].session[0] && c->last[i].id == id &&
                    !find(h, str_of(c->last[i].session)))
                    devtools_put(c, text, STR(""));
            }
        }
    }
}

/* The answer to attachToTarget of a client that wants one page. */
static void on_page(struct devtools_client *c, struct str text)
{
    struct str session = devtools_member(jsontext_get(text, STR("result")), "sessionId");
    if (session.n) {
        devtools_set_id(c->root, session);
        greet(c);
    } else {
        devtools_end(c, "no such page: GET /json/list has those that there are");
    }
}

static void on_made(struct devtools_client *c, int64_t id, struct str text)
{
    for (size_t i = 0; i < sizeof(c->making) / sizeof(*c->making); i++) {
        struct str made = devtools_member(jsontext_get(text, STR("result")),
                                          "browserContextId");
        if (c->making[i] != id)
            continue;
        c->making[i] = 0;
        if (made.n && made.n < DEVTOOLS_ID) {
            struct devtools_context *x = xnew(struct devtools_context);
            devtools_set_id(x->id, made);
            list_add_tail(&c->contexts, &x->node);
        }
        return;
    }
}

/* A message of a client's session; bare is its text up to the session. */
static void on_theirs(struct host *h, struct devtools_session *s, struct str session,
                      struct str text, struct str bare)
{
    struct devtools_client *c = s->client;
    struct str params = STR("");
    bool own = c->root[0] && str_eq(session, str_of(c->root));
    if (is_event(text, "Target.attachedToTarget")) {
        char target[DEVTOOLS_ID];
        params = jsontext_get(text, STR("params"));
        devtools_set_id(target, devtools_member(jsontext_get(params, STR("targetInfo")),
                                                "targetId"));
        add_session(c, devtools_member(params, "sessionId"), target,
                    str_eq(jsontext_get(params, STR("waitingForDebugger")), STR("true")));
    } else if (is_event(text, "Target.detachedFromTarget")) {
        params = jsontext_get(text, STR("params"));
        struct str gone = devtools_member(params, "sessionId");
        struct devtools_session *old = find(h, gone);
        if (old && old->client == c && !str_eq(gone, str_of(c->browser)))
            free(map_del(&h->devtools.sessions, gone));
        if (c->target[0] && str_eq(gone, str_of(c->root))) {
            devtools_end(c, "the page was closed");
            return;
        }
    } else if (str_starts(text, STR("{\"id\":"))) {
        uint64_t id = 0;
        struct str rest = str_sub(text, 6, 24);
        bool number = str_to_u64(str_cut(&rest, ','), &id) == 0;
        if (number && id >= CDP_ID_FROM)
            return; /* we made the call */
        if (c->state == DEVTOOLS_ASKED) {
            on_page(c, text);
            return;
        }
        if (number)
            on_made(c, (int64_t)id, text);
    }
    if (c->state != DEVTOOLS_OPEN ||
        (is_event(text, "Page.javascriptDialogOpening") && !devtools_is_asked(s)))
        return;
    if (own)
        devtools_put(c, bare, STR("}"));
    else if (!c->target[0] || !str_eq(session, str_of(c->browser)))
        devtools_put(c, text, STR(""));
}

/* A message for the driver: what is in it for us? Returns whether it is ours alone. */
static bool on_drivers(struct host *h, struct str session, struct str text)
{
    struct str params;
    if (session.n)
        return is_event(text, "Page.javascriptDialogOpening") &&
               devtools_on_dialog(h, session);
    if (str_starts(text, STR("{\"id\":"))) {
        int64_t id = jsontext_int(jsontext_get(text, STR("id")), 0);
        if (id < CDP_ID_FROM)
            on_own(h, id, text);
        return id < CDP_ID_FROM;
    }
    if (!str_starts(text, STR("{\"method\":\"Target.")))
        return false;
    params = jsontext_get(text, STR("params"));
    struct str info = jsontext_get(params, STR("targetInfo"));
    if (is_event(text, "Target.targetCreated"))
        return devtools_on_created(h, info);
    if (is_event(text, "Target.targetInfoChanged"))
        devtools_on_changed(h, info);
    else if (is_event(text, "Target.targetDestroyed"))
        devtools_on_destroyed(h, devtools_member(params, "targetId"));
    return is_event(text, "Target.attachedToTarget") &&
           str_eq(devtools_member(info, "type"), STR("browser"));
}

bool devtools_hear(void *owner, struct str text, bool cut)
{
    struct host *h = owner;
    size_t from = 0;
    struct str session = session_of(text, &from);
    struct devtools_session *s = find(h, session);
    if (list_empty(&h->devtools.clients))
        return false;
    devtools_restore(h);
    if (!s)
        return !cut && on_drivers(h, session, text);
    if (cut)
        devtools_end(s->client, "a message of the browser is longer than 64 MiB");
    else
        on_theirs(h, s, session, text, str_sub(text, 0, from));
    return true;
}

/* ---- from a client ---- */

static void refuse(struct devtools_client *c, int64_t id, struct str session, int code,
                   const char *why)
{
    struct buf text = BUF_INIT(2048);
    buf_addf(&text, "{\"id\":%lld,\"error\":{\"code\":%d,\"message\":\"%s\"}",
             (long long)id, code, why);
    if (session.n) {
        buf_addz(&text, ",\"sessionId\":");
        json_quote(&text, str_sub(session, 0, DEVTOOLS_ID));
    }
    buf_addz(&text, "}");
    devtools_put(c, buf_str(&text), STR(""));
    buf_release(&text);
}

/* The first message. */
static void on_hello(struct devtools_client *c, struct str text)
{
    devtools_set_id(c->target, devtools_member(text, "target"));
    c->closes = str_eq(jsontext_get(text, STR("closes")), STR("true"));
    for (const char *p = c->target; *p; p++) {
        if (!strchr("-_", *p) && !(*p >= '0' && *p <= '9') &&
            !((*p | 32) >= 'a' && (*p | 32) <= 'z')) {
            devtools_end(c, "no such page: an id has only letters, digits and -");
            return;
        }
    }
    if (devtools_browser(c->h)) {
        devtools_attach(c);
    } else {
        devtools_put(c, STR("-"), STR(""));
        devtools_end(c, NULL);
    }
}

static bool is_action(struct str method)
{
    static const char *const acts[] = {"Page.navigate", "Page.reload", "Input.",
                                       "Runtime.evaluate", "Runtime.callFunctionOn"};
    for (size_t i = 0; i < sizeof(acts) / sizeof(*acts); i++) {
        if (str_starts(method, str_of(acts[i])))
            return true;
    }
    return false;
}

static void note_act(struct devtools_session *s, struct str method)
{
    if (!is_action(method))
        return;
    s->acted = true;
    s->turn = ++s->client->h->devtools.turn;
}

/* Notes what the answers and events that follow a call will mean. */
static void note(struct devtools_client *c, int64_t id, struct str method,
                 struct str text)
{
    if (str_eq(method, STR("Target.createBrowserContext"))) {
        size_t i = 0, n = sizeof(c->making) / sizeof(*c->making);
        while (i < n - 1 && c->making[i])
            i++;
        c->making[i] = id;
    } else if (str_eq(method, STR("Browser.setDownloadBehavior"))) {
        struct str params = jsontext_get(text, STR("params"));
        if (jsontext_get(params, STR("browserContextId")).p)
            return;
        buf_reset(&c->downloads);
        buf_adds(&c->downloads, params);
        c->downloads_turn = ++c->h->devtools.turn;
    } else if (str_eq(method, STR("Target.createTarget"))) {
        c->opening++;
    } else if (str_eq(method, STR("Target.disposeBrowserContext"))) {
        struct str gone = devtools_member(jsontext_get(text, STR("params")),
                                          "browserContextId");
        struct list *it, *tmp;
        list_each (it, tmp, &c->contexts) {
            struct devtools_context *x = list_entry(it, struct devtools_context, node);
            if (str_eq(gone, str_of(x->id))) {
                list_del(&x->node);
                free(x);
            }
        }
    }
}

/* A call in a session of the client. */
static bool note_session(struct devtools_client *c, int64_t id, struct str method,
                         struct str session)
{
    struct devtools_session *s = find(c->h, session);
    if (!s || s->client != c)
        return false;
    if (str_eq(method, STR("Runtime.runIfWaitingForDebugger")))
        s->since_ms = 0;
    note_act(s, method);
    size_t i = c->nlast++ % (sizeof(c->last) / sizeof(*c->last));
    c->last[i].id = id;
    devtools_set_id(c->last[i].session, session);
    return true;
}

void devtools_take(struct devtools_client *c, struct str text)
{
    struct browser *b = devtools_browser(c->h);
    struct str session, method;
    if (c->state == DEVTOOLS_NEW) {
        on_hello(c, text);
        return;
    }
    text = str_trim(text);
    if (!b || c->state != DEVTOOLS_OPEN)
        return;
    if (text.n < 2 || text.p[0] != '{' || !jsontext_valid(text)) {
        devtools_end(c, "a message of the client is not a JSON object");
        return;
    }
    int64_t id = jsontext_int(jsontext_get(text, STR("id")), INT64_MIN);
    session = jsontext_get(text, STR("sessionId"));
    struct str name = jsontext_plain(session);
    method = devtools_member(text, "method");
    if (id <= -CDP_ID_FROM || id >= CDP_ID_FROM || method.n == 0 ||
        (session.p && !name.n)) {
        refuse(c, id == INT64_MIN ? 0 : id, name, CODE_INVALID,
               "a message has an id of less than 2^30, a method, and if any a sessionId");
    } else if (str_eq(method, STR("Browser.close")) && !c->closes) {
        char answer[64];
        snprintf(answer, sizeof(answer), "{\"id\":%lld,\"result\":{}}", (long long)id);
        devtools_put(c, str_of(answer), STR(""));
        devtools_end(c, "Browser.close: the client's contexts are closed, and the "
                        "browser stays open for others");
    } else if (str_starts(method, STR("Browser.crash"))) {
        refuse(c, id, name, CODE_SERVER, "others use this browser: it is not crashed");
    } else if (session.p) {
        if (!note_session(c, id, method, name))
            refuse(c, id, STR(""), CODE_SESSION, "Session with given id not found.");
        else if (cdp_pass(&b->cdp, text, STR("}")) < 0)
            devtools_end(c, "the browser does not read");
    } else {
        char end[DEVTOOLS_ID + 24];
        struct devtools_session *root = find(c->h, str_of(c->root));
        if (root)
            note_act(root, method);
        snprintf(end, sizeof(end), ",\"sessionId\":\"%s\"}", c->root);
        note(c, id, method, text);
        if (cdp_pass(&b->cdp, text, str_of(end)) < 0)
            devtools_end(c, "the browser does not read");
    }
}
