/* SPDX-License-Identifier: MIT */
/*
 * The browser's life, its targets and their events.
 *
 * Target.targetCreated reports pages, also popups, and we attach to them; frames with
 * processes of their own are attached by setAutoAttach of their parents, and wait until
 * we let them run.
 */
#include "browser/driver/driver.h"
#include "browser/driver/page.h"

#include "archive/zip_text.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/utf8.h"
#include "base/xalloc.h"
#include "browser/driver/js.h"
#include "webpage/login.h"
#include "webpage/webpage.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    START_MS = 30000,
    REACH_MS = 10000,
    CALM_MS = 30000, /* for the messages of a script that was terminated */
    TEXT_MAX = 8 << 20,
    SHOT_MAX = 48 << 20
};
enum { CONSOLE_TEXT_MAX = 2000, WHOLE_MAX = 16384 };

int64_t browser_in(int ms) { return clock_ms() + ms; }

void browser_note(struct browser *b, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    if (json_count(b->notes) >= BROWSER_NOTES_MAX)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    json_push_str(b->notes, str_of(text));
}

/* ---- targets ---- */

static void set_id(char out[BROWSER_ID], struct str id)
{
    size_t n = id.n < BROWSER_ID ? id.n : 0;
    memcpy(out, id.n ? id.p : "", n);
    out[n] = '\0';
}

struct target *browser_target(struct browser *b, struct str id)
{
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (id.n > 0 && str_eq(id, str_of(t->id)))
            return t;
    }
    return NULL;
}

struct target *browser_session(struct browser *b, struct str session)
{
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (session.n > 0 && str_eq(session, str_of(t->session)))
            return t;
    }
    return NULL;
}

struct str browser_session_of(const struct target *t)
{
    return str_of(t ? t->session : "");
}

struct target *browser_page(struct browser *b, int64_t index)
{
    struct list *pos, *tmp;
    int64_t n = 0;
    list_each (pos, tmp, &b->targets)
        n += list_entry(pos, struct target, node)->page;
    if (index < 0)
        index += n;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (t->page && index-- == 0)
            return t;
    }
    return NULL;
}

void browser_activate(struct browser *b, struct target *t)
{
    struct json *p = json_object();
    json_put_z(p, "targetId", t->id);
    cdp_tell(&b->cdp, STR(""), "Target.activateTarget", p);
    b->active = t;
}

static void set_text(struct buf *out, struct str s)
{
    buf_reset(out);
    buf_adds(out, str_sub(s, 0, out->max));
}

static struct target *add_target(struct browser *b, const struct json *info)
{
    struct str id = json_str(info, "targetId", "");
    struct target *t = browser_target(b, id);
    size_t n = 0;
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets)
        n++;
    if (!t && n < BROWSER_TARGETS_MAX && id.n > 0 && id.n < BROWSER_ID) {
        t = xnew(struct target);
        set_id(t->id, id);
        buf_init(&t->url, 1 << 20);
        buf_init(&t->title, 1 << 16);
        t->page = str_eq(json_str(info, "type", ""), STR("page"));
        list_add_tail(&b->targets, &t->node);
    }
    if (t) {
        set_text(&t->url, json_str(info, "url", ""));
        set_text(&t->title, json_str(info, "title", ""));
    }
    return t;
}

void browser_update(struct browser *b, const struct json *info)
{
    if (browser_target(b, json_str(info, "targetId", "")))
        add_target(b, info);
}

static void drop_target(struct browser *b, struct target *t)
{
    list_del(&t->node);
    browser_dialog_over(b, str_of(t->session));
    if (b->active == t) {
        b->active = browser_page(b, -1);
        if (b->active)
            browser_activate(b, b->active);
    }
    buf_release(&t->url);
    buf_release(&t->title);
    free(t);
}

static void tell_switch(struct browser *b, struct str session, const char *method,
                        const char *name)
{
    struct json *p = json_object();
    if (name)
        json_put_bool(p, name, true);
    cdp_tell(&b->cdp, session, method, p);
}

/* Is it our own page to draw in? */
static bool is_studio(const struct browser *b, const struct json *info)
{
    return b->studio.context[0] &&
           str_eq(json_str(info, "browserContextId", ""), str_of(b->studio.context));
}

static void set_viewport(struct browser *b, struct str session)
{
    struct json *p = json_object();
    json_put_int(p, "width", b->width);
    json_put_int(p, "height", b->height);
    json_put_int(p, "deviceScaleFactor", 1);
    json_put_bool(p, "mobile", false);
    cdp_tell(&b->cdp, session, "Emulation.setDeviceMetricsOverride", p);
}

static void on_attached(struct browser *b, struct str from, const struct json *p)
{
    struct str session = json_str(p, "sessionId", "");
    const struct json *info = json_get(p, "targetInfo");
    struct str type = json_str(info, "type", "");
    bool page = str_eq(type, STR("page"));
    if (is_studio(b, info))
        return;
    if (page || str_eq(type, STR("iframe"))) {
        struct target *t = add_target(b, info);
        if (t) {
            set_id(t->session, session);
            set_id(t->parent, page ? STR("") : from);
        }
        struct json *attach = json_object();
        json_put_bool(attach, "autoAttach", true);
        json_put_bool(attach, "waitForDebuggerOnStart", true);
        json_put_bool(attach, "flatten", true);
        tell_switch(b, session, "Page.enable", NULL);
        tell_switch(b, session, "Page.setLifecycleEventsEnabled", "enabled");
        tell_switch(b, session, "Inspector.enable", NULL);
        if (b->console) {
            tell_switch(b, session, "Runtime.enable", NULL);
            tell_switch(b, session, "Log.enable", NULL);
        }
        cdp_tell(&b->cdp, session, "Target.setAutoAttach", attach);
        if (b->har)
            browser_har_watch(b, session);
        if (page && (b->reads || b->reads_all))
            browser_watch_papers(b, session, 0);
        if (page) /* in some Chromiums --window-size counts the bars of a window */
            set_viewport(b, session);
    }
    tell_switch(b, session, "Runtime.runIfWaitingForDebugger", NULL);
}

static void on_created(struct browser *b, const struct json *p)
{
    const struct json *info = json_get(p, "targetInfo");
    bool ours = !b->guest || b->making ||
                browser_target(b, json_str(info, "openerId", ""));
    if (!str_eq(json_str(info, "type", ""), STR("page")) || is_studio(b, info) || !ours)
        return;
    struct target *t = add_target(b, info);
    if (!t)
        return;
    struct json *attach = json_object();
    t->fresh = true;
    json_put_z(attach, "targetId", t->id);
    json_put_bool(attach, "flatten", true);
    cdp_tell(&b->cdp, STR(""), "Target.attachToTarget", attach);
    browser_activate(b, t);
}

/* ---- pages ---- */

/* The tab now shows the document of that loader. A download answers with a loader of its
 * own, and changes nothing about the document that stays. */
static void set_loader(struct target *t, struct str loader)
{
    bool stays = str_eq(loader, str_of(t->loader));
    set_id(t->loader, loader);
    if (strcmp(t->loader, t->answered.loader) == 0)
        t->status = t->answered.status;
    else if (!stays)
        t->status = 0;
}

static void on_lifecycle(struct target *t, const struct json *p)
{
    struct str what = json_str(p, "name", "");
    if (!str_eq(json_str(p, "frameId", ""), str_of(t->id)))
        return;
    if (str_eq(what, STR("init"))) {
        t->ready = false;
        t->crashed = false;
    } else if (str_eq(what, STR("DOMContentLoaded"))) {
        t->ready = true;
        set_loader(t, json_str(p, "loaderId", ""));
    } else if (str_eq(what, STR("load"))) {
        set_loader(t, json_str(p, "loaderId", ""));
        set_id(t->loaded, json_str(p, "loaderId", ""));
        t->moves++;
    }
}

/* Notes how a page that asks for a login gets it. */
static void note_login(struct browser *b, const struct json *response)
{
    struct buf text = BUF_INIT(1000);
    for (const struct json *h = json_first(json_get(response, "headers")); h;
         h = json_next(h)) {
        if (webpage_is_word(str_of(json_name(h)), "www-authenticate"))
            login_explain(&text, json_str(response, "url", ""), json_str_value(h, ""));
    }
    if (text.n)
        browser_note(b, "%s", buf_z(&text));
    buf_release(&text);
}

/* This event may arrive before or after the one that makes the document the tab's. */
static void on_response(struct browser *b, struct target *t, const struct json *p)
{
    const struct json *response = json_get(p, "response");
    struct str url = json_str(response, "url", "");
    if (!str_eq(json_str(p, "type", ""), STR("Document")) ||
        !str_eq(json_str(p, "frameId", ""), str_of(t->id)))
        return;
    set_id(t->answered.loader, json_str(p, "loaderId", ""));
    t->answered.status = str_starts(url, STR("http")) /* Chromium says 200 for files */
                             ? (int)json_int(response, "status", 0)
                             : 0;
    if (strcmp(t->loader, t->answered.loader) == 0)
        t->status = t->answered.status;
    if (t->answered.status == 401)
        note_login(b, response);
}

/* Adds an entry, with its text cut. Entries without room are counted. */
static void add_console(struct browser *b, struct str kind, struct str text,
                        const struct json *place, int64_t line)
{
    if (!b->console || json_count(b->console) >= BROWSER_CONSOLE_MAX) {
        b->console_lost += b->console != NULL;
        return;
    }
    struct json *j = json_object();
    json_put_str(j, "kind", str_sub(kind, 0, 40));
    json_put_str(j, "text", str_sub(text, 0, utf8_cut(text, CONSOLE_TEXT_MAX)));
    json_put_str(j, "url", str_sub(json_str(place, "url", ""), 0, CONSOLE_TEXT_MAX));
    if (line >= 0)
        json_put_int(j, "line", line + 1);
    json_push(b->console, j);
}

/*
 * Appends arguments of console.log: strings as they are, other values by their
 * description.
 */
static void on_console(struct browser *b, const struct json *p)
{
    struct buf text = BUF_INIT(2 * CONSOLE_TEXT_MAX);
    const struct json *frame = json_first(
        json_get(json_get(p, "stackTrace"), "callFrames"));
    for (const struct json *a = json_first(json_get(p, "args")); a; a = json_next(a)) {
        const struct json *v = json_get(a, "value");
        if (text.n)
            buf_addc(&text, ' ');
        if (json_is_string(v))
            buf_adds(&text, str_sub(json_str_value(v, ""), 0, CONSOLE_TEXT_MAX));
        else if (json_has(a, "description"))
            buf_adds(&text, str_sub(json_str(a, "description", ""), 0, CONSOLE_TEXT_MAX));
        else if (v)
            json_print(&text, v);
        else
            buf_adds(&text, json_str(a, "type", ""));
    }
    add_console(b, json_str(p, "type", ""), buf_str(&text), frame,
                json_int(frame, "lineNumber", -1));
    buf_release(&text);
}

static void on_exception(struct browser *b, const struct json *p)
{
    const struct json *d = json_get(p, "exceptionDetails");
    struct str text = json_str(json_get(d, "exception"), "description", "");
    add_console(b, STR("exception"), text.n ? text : json_str(d, "text", ""), d,
                json_int(d, "lineNumber", -1));
}

static void on_log(struct browser *b, const struct json *p)
{
    const struct json *entry = json_get(p, "entry");
    bool request = str_eq(json_str(entry, "source", ""), STR("network"));
    add_console(b, request ? STR("request") : json_str(entry, "level", ""),
                json_str(entry, "text", ""), entry, json_int(entry, "lineNumber", -1));
}

static void on_page_event(struct browser *b, struct target *t, struct str method,
                          const struct json *p)
{
    bool own = str_eq(json_str(p, "frameId", ""), str_of(t->id));
    bool heard = strcmp(t->session, b->heard) == 0;
    if (b->har && str_starts(method, STR("Network.")))
        browser_har_event(b, t, method, p);
    if (str_eq(method, STR("Page.lifecycleEvent"))) {
        on_lifecycle(t, p);
        browser_screen_retitle(b);
    } else if (str_eq(method, STR("Page.screencastFrame")))
        browser_screen_frame(b, t, p);
    else if (str_eq(method, STR("Page.frameNavigated")))
        browser_screen_navigated(b, t, json_get(p, "frame"));
    else if (str_eq(method, STR("Page.frameStartedLoading")) && own)
        t->loading = true;
    else if (str_eq(method, STR("Page.frameStoppedLoading")) && own) {
        t->loading = false;
        t->stops++;
    } else if (str_eq(method, STR("Page.navigatedWithinDocument")) && own)
        t->moves++;
    else if (str_eq(method, STR("Network.responseReceived")))
        on_response(b, t, p);
    else if (str_starts(method, STR("Network.")) && heard)
        browser_on_request(b, method, p);
    else if (str_eq(method, STR("Fetch.requestPaused")))
        browser_on_paused(b, str_of(t->session), p);
    else if (str_eq(method, STR("Runtime.consoleAPICalled")))
        on_console(b, p);
    else if (str_eq(method, STR("Runtime.exceptionThrown")))
        on_exception(b, p);
    else if (str_eq(method, STR("Log.entryAdded")))
        on_log(b, p);
    else if (str_eq(method, STR("Input.dragIntercepted"))) {
        buf_reset(&b->drag);
        json_print(&b->drag, json_get(p, "data"));
    } else if (str_eq(method, STR("Page.fileChooserOpened"))) {
        b->chooser.node = json_int(p, "backendNodeId", 0);
        b->chooser.many = str_eq(json_str(p, "mode", ""), STR("selectMultiple"));
    } else if (str_eq(method, STR("Page.javascriptDialogOpening")))
        browser_on_dialog(b, str_of(t->session), p);
    else if (str_eq(method, STR("Page.javascriptDialogClosed")))
        browser_dialog_over(b, str_of(t->session));
    else if (str_eq(method, STR("Inspector.targetCrashed"))) {
        t->crashed = true;
        t->loading = false;
        browser_dialog_over(b, str_of(t->session));
        browser_note(b, "the page %s crashed; goto brings its tab back", buf_z(&t->url));
    }
}

static void on_download(struct browser *b, struct str method, const struct json *p)
{
    struct str name = json_str(p, "suggestedFilename", ""), url = json_str(p, "url", "");
    struct str path = json_str(p, "filePath", ""), state = json_str(p, "state", "");
    bool begins = str_eq(method, STR("Browser.downloadWillBegin"));
    b->moved_ms = clock_ms();
    if (begins && !b->refuses)
        b->downloads++;
    else if (!str_eq(state, STR("inProgress")) && !begins && b->downloads > 0)
        b->downloads--;
    if (begins)
        browser_note(b, "a download %s: %.*s of %.*s%s",
                     b->refuses ? "was refused" : "began",
                     (int)(name.n > 200 ? 200 : name.n), name.p,
                     (int)(url.n > 600 ? 600 : url.n), url.p,
                     b->refuses ? "; --downloads DIR keeps files" : "");
    else if (str_eq(state, STR("canceled")) && !b->refuses)
        browser_note(b, "a download broke off");
    else if (str_eq(state, STR("completed")))
        browser_note(b, "a download is complete: %.*s",
                     (int)(path.n > 900 ? 900 : path.n), path.n ? path.p : "");
}

void browser_finish_downloads(struct browser *b, int ms)
{
    int64_t end = browser_in(BROWSER_DOWNLOAD_MS);
    b->moved_ms = clock_ms();
    while (b->downloads > 0) {
        int64_t still = b->moved_ms + ms;
        if (cdp_turn(&b->cdp, still < end ? still : end) <= 0)
            return;
    }
}

static void on_event(void *owner, struct str session, struct str method,
                     const struct json *p)
{
    struct browser *b = owner;
    struct target *t = browser_session(b, session);
    if (str_eq(method, STR("Target.attachedToTarget")))
        on_attached(b, session, p);
    else if (str_eq(method, STR("Target.targetCreated")))
        on_created(b, p);
    else if (str_eq(method, STR("Target.targetInfoChanged"))) {
        browser_update(b, json_get(p, "targetInfo"));
        browser_screen_retitle(b);
    } else if (str_eq(method, STR("Target.targetDestroyed"))) {
        t = browser_target(b, json_str(p, "targetId", ""));
        if (t)
            drop_target(b, t);
    } else if (str_eq(method, STR("Target.detachedFromTarget"))) {
        t = browser_session(b, json_str(p, "sessionId", ""));
        if (t && !t->page)
            drop_target(b, t);
    } else if (str_starts(method, STR("Browser.download"))) {
        on_download(b, method, p);
    } else if (t) {
        on_page_event(b, t, method, p);
    }
    browser_screen_follow(b);
}

/* ---- calls ---- */

static void on_turn(void *owner)
{
    browser_screen_turn(owner);
    browser_read_papers(owner);
    browser_har_turn(owner);
}

void browser_read_documents(struct browser *b, bool on)
{
    b->reads = on && !b->keeps;
    b->reads_all = false;
}

struct json *browser_ask(struct browser *b, struct str session, const char *method,
                         struct json *take, struct err *e)
{
    return cdp_call(&b->cdp, session, method, take, browser_in(BROWSER_CALL_MS), e);
}

struct json *browser_script(const char *function, const char *arguments)
{
    struct buf text = BUF_INIT(strlen(function) + strlen(arguments) + 8);
    struct json *p = json_object();
    buf_addf(&text, "(%s)(%s)", function, arguments);
    json_put_str(p, "expression", buf_str(&text));
    json_put_bool(p, "awaitPromise", true);
    buf_release(&text);
    return p;
}

struct json *browser_run_script(struct browser *b, const char *function,
                                const char *arguments, struct err *e)
{
    struct json *p = browser_script(function, arguments);
    json_put_bool(p, "returnByValue", true);
    return browser_ask(b, browser_session_of(b->active), "Runtime.evaluate", p, e);
}

struct json *browser_run(struct browser *b, const char *text, struct err *e)
{
    struct json *p = json_object();
    json_put_z(p, "expression", text);
    json_put_bool(p, "returnByValue", true);
    json_put_bool(p, "awaitPromise", true);
    return browser_ask(b, browser_session_of(b->active), "Runtime.evaluate", p, e);
}

int browser_new_tab(struct browser *b, struct err *e)
{
    struct json *p = json_object();
    json_put_z(p, "url", "about:blank");
    b->making = true;
    struct json *j = browser_ask(b, STR(""), "Target.createTarget", p, e);
    b->making = false;
    if (!j)
        return -1;
    char id[BROWSER_ID];
    set_id(id, json_str(json_get(j, "result"), "targetId", ""));
    json_free(j);
    if (!id[0])
        return err_set(e, ERR_INVALID, "the browser did not report which tab it opened");
    int64_t end = browser_in(BROWSER_CALL_MS);
    struct target *t;
    while (!(t = browser_target(b, str_of(id))) || !t->session[0]) {
        int r = cdp_turn(&b->cdp, end);
        if (r <= 0)
            return err_set(e, r ? ERR_GONE : ERR_TIMEOUT,
                           r ? "the browser has ended" : "no tab could be opened");
    }
    t->fresh = false;
    b->active = t;
    return 0;
}

/* ---- life ---- */

void browser_keep_downloads(struct browser *b, const char *dir)
{
    b->keeps = dir != NULL;
    if (b->guest && !dir)
        return;
    struct json *p = json_object();
    b->refuses = !dir;
    json_put_z(p, "behavior", dir ? "allow" : "deny");
    if (dir)
        json_put_z(p, "downloadPath", dir);
    json_put_bool(p, "eventsEnabled", true);
    cdp_tell(&b->cdp, STR(""), "Browser.setDownloadBehavior", p);
}

static int greet(struct browser *b, const struct browser_opts *o, struct err *e)
{
    struct json *p = json_object();
    struct json *j = cdp_call(&b->cdp, STR(""), "Browser.getVersion", NULL,
                              browser_in(b->guest ? REACH_MS : START_MS), e);
    bool answered = j != NULL;
    json_free(j);
    if (answered) {
        browser_keep_downloads(b, o->downloads);
        json_put_bool(p, "discover", true);
        /* The answer comes after the events about existing tabs. */
        j = browser_ask(b, STR(""), "Target.setDiscoverTargets", p, e);
        json_free(j);
        p = NULL;
    }
    json_free(p);
    if (!j)
        browser_last_words(b, e);
    return j && browser_new_tab(b, e) == 0 ? browser_deny_check(b, e) : -1;
}

static int connect_to(struct browser *b, const struct browser_opts *o, struct err *e)
{
    const char *named = getenv("OD_BROWSER");
    const char *address = o->address                                     ? o->address
                          : !o->program && named && strstr(named, "://") ? named
                                                                         : NULL;
    b->guest = address != NULL;
    if (b->guest && browser_denied())
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot keep a browser that runs already (--cdp, OD_BROWSER) from "
                       "denied addresses (--deny, OD_BROWSE_DENY): leave one of the two "
                       "out, and deny them where that browser is started");
    if (!b->guest && browser_launch(b, o, e) < 0)
        return -1;
    cdp_open(&b->cdp, b->cdp.from, b->cdp.to, on_event, b);
    b->cdp.on_turn = on_turn;
    b->cdp.stop = o->stop;
    if (b->guest && cdp_dial(&b->cdp, address, browser_in(REACH_MS), e) < 0)
        return -1;
    return greet(b, o, e);
}

ZIP_TABLES(js)

struct browser *browser_open(const struct browser_opts *o, struct err *e)
{
    js_unpack();
    struct browser *b = xnew(struct browser);
    b->width = o->width ? o->width : BROWSER_WIDTH;
    b->height = o->height ? o->height : BROWSER_HEIGHT;
    list_init(&b->targets);
    list_init(&b->documents);
    map_init(&b->elements);
    map_init(&b->requests);
    buf_init(&b->error, BROWSER_ERROR_MAX);
    buf_init(&b->said, TEXT_MAX);
    buf_init(&b->marks, TEXT_MAX);
    buf_init(&b->drag, TEXT_MAX);
    buf_init(&b->dialog.text, BROWSER_ERROR_MAX);
    buf_init(&b->dialog.fill, BROWSE_TEXT_MAX);
    b->notes = json_array();
    b->console = o->console ? json_array() : NULL;
    b->cdp.from = b->cdp.to = b->deny.fd = b->profile = -1;
    if (connect_to(b, o, e) == 0)
        return b;
    browser_close(b);
    return NULL;
}

/* Closes our tabs in a browser that we did not start. */
static void close_tabs(struct browser *b)
{
    struct target *t;
    struct err e = ERR_INIT;
    int64_t end = browser_in(REACH_MS);
    int n = 0;
    while (browser_page(b, n))
        n++;
    while (n-- > 0 && (t = browser_page(b, n))) {
        struct json *p = json_object();
        json_put_z(p, "targetId", t->id);
        json_free(cdp_call(&b->cdp, STR(""), "Target.closeTarget", p, end, &e));
    }
}

void browser_close(struct browser *b)
{
    if (!b)
        return;
    if (b->guest && !b->cdp.ended)
        close_tabs(b);
    browser_end(b);
    browser_forget(b);
    browser_drop_papers(b);
    browser_har_drop(b);
    map_release(&b->elements);
    map_release(&b->requests);
    while (!list_empty(&b->targets)) {
        b->active = NULL;
        drop_target(b, list_first(&b->targets, struct target, node));
    }
    buf_release(&b->error);
    buf_release(&b->said);
    buf_release(&b->marks);
    buf_release(&b->drag);
    buf_release(&b->dialog.text);
    buf_release(&b->dialog.fill);
    json_free(b->notes);
    json_free(b->console);
    free(b);
}

int browser_act(struct browser *b, struct str actions)
{
    struct browse_text t;
    struct err e = ERR_INIT, why = ERR_INIT;
    enum browse_do last = BROWSE_NOOP;
    buf_reset(&b->error);
    buf_reset(&b->said);
    int r = browse_parse(&t, actions, &e, &why);
    if (r < 0)
        buf_addf(&b->error, "%s (%s)", e.text, why.text);
    b->did = (struct browse_progress){.all = r == 0 ? t.n : 0};
    b->cut = false;
    while (r == 0 && b->did.done < t.n) {
        browser_listen(b); /* the previous action may have led to another tab */
        b->call = &t.calls[b->did.done];
        b->did.name = b->call->name;
        if (halt_over(b->cdp.stop))
            r = err_set(&e, ERR_CANCELLED, "Error: it was interrupted");
        else
            r = browser_do(b, b->call, &e);
        if (r < 0)
            buf_addz(&b->error, e.text);
        last = b->call->what;
        b->did.done += r == 0;
    }
    b->call = NULL;
    browse_text_release(&t);
    if (!b->active && browser_new_tab(b, &e) < 0 && r == 0)
        r = buf_addz(&b->error, e.text);
    browser_settle(b, last);
    return b->error.n ? -1 : r;
}

/* Does the page answer within ms? Each event restarts the time. */
static bool speaks(struct browser *b, int ms, int all_ms)
{
    struct json *p = json_object();
    struct err e = ERR_INIT;
    int64_t end = browser_in(all_ms);
    json_put_z(p, "expression", "1");
    int id = cdp_send(&b->cdp, browser_session_of(b->active), "Runtime.evaluate", p);
    while (!cdp_answered(&b->cdp, id) && clock_ms() < end &&
           cdp_turn(&b->cdp, browser_in(ms)) > 0)
        ;
    struct json *j = cdp_wait(&b->cdp, id, clock_ms(), &e);
    bool spoke = j || e.code == ERR_INVALID;
    json_free(j);
    return spoke;
}

bool browser_calm(struct browser *b, int ms)
{
    struct str session = browser_session_of(b->active);
    if (!b->active || b->active->crashed)
        return !b->cdp.ended;
    cdp_tell(&b->cdp, session, "Page.stopLoading", NULL);
    if (speaks(b, ms, ms))
        return true;
    /* Chromium does this in parallel with the page's scripts; their messages are read
     * first. */
    cdp_tell(&b->cdp, session, "Runtime.terminateExecution", NULL);
    if (!speaks(b, ms, CALM_MS))
        return false;
    browser_note(b, "a script of the page did not end, and was ended");
    return true;
}

/* ---- looking ---- */

/* The size of a picture of the whole page: no side is longer than WHOLE_MAX. */
static struct json *whole_clip(struct browser *b, struct err *e)
{
    struct json *j = browser_ask(b, browser_session_of(b->active),
                                 "Page.getLayoutMetrics", NULL, e);
    const struct json *size = json_get(json_get(j, "result"), "cssContentSize");
    double w = json_num(size, "width", 0), h = json_num(size, "height", 0);
    if (!j)
        return NULL;
    json_free(j);
    if (w > WHOLE_MAX || h > WHOLE_MAX)
        browser_note(b, "the page is %.0f by %.0f pixels, the picture ends at %d", w, h,
                     WHOLE_MAX);
    struct json *clip = json_object();
    json_put_int(clip, "x", 0);
    json_put_int(clip, "y", 0);
    json_put_num(clip, "width", w < 1 ? 1 : w > WHOLE_MAX ? WHOLE_MAX : w);
    json_put_num(clip, "height", h < 1 ? 1 : h > WHOLE_MAX ? WHOLE_MAX : h);
    json_put_int(clip, "scale", 1);
    return clip;
}

/* The visible part, at another scale. */
static struct json *view_clip(struct browser *b, double scale, struct err *e)
{
    struct json *j = browser_ask(b, browser_session_of(b->active),
                                 "Page.getLayoutMetrics", NULL, e);
    const struct json *view = json_get(json_get(j, "result"), "cssVisualViewport");
    struct json *clip = j ? json_object() : NULL;
    if (!j)
        return NULL;
    json_put_num(clip, "x", json_num(view, "pageX", 0));
    json_put_num(clip, "y", json_num(view, "pageY", 0));
    json_put_num(clip, "width", json_num(view, "clientWidth", b->width));
    json_put_num(clip, "height", json_num(view, "clientHeight", b->height));
    json_put_num(clip, "scale", scale);
    json_free(j);
    return clip;
}

/*
 * Requests the picture, which is taken while the tree is read. Returns the call's id; -1
 * and sets *e.
 */
static int begin_shot(struct browser *b, const struct browser_want *want, struct err *e)
{
    struct json *p = json_object(), *clip = NULL;
    json_put_z(p, "format", want->format && !want->marks ? want->format : "png");
    bool scaled = want->scale > 0 && want->scale != 1;
    if ((want->whole && !(clip = whole_clip(b, e))) ||
        (scaled && !want->whole && !(clip = view_clip(b, want->scale, e)))) {
        json_free(p);
        return -1;
    }
    if (clip) {
        json_put(p, "clip", clip);
        json_put_bool(p, "captureBeyondViewport", want->whole);
    }
    return cdp_send(&b->cdp, browser_session_of(b->active), "Page.captureScreenshot", p);
}

static int finish_shot(struct browser *b, const struct browser_want *want, int id,
                       struct browser_seen *out, struct err *e)
{
    const char *format = want->format ? want->format : "png";
    struct json *j = cdp_wait(&b->cdp, id, browser_in(BROWSER_CALL_MS), e);
    int r = j ? dec_base64(&out->shot, json_str(json_get(j, "result"), "data", "")) : -1;
    if (j && r < 0)
        err_set(e, ERR_INVALID, "the browser's answer is not a picture");
    json_free(j);
    return r == 0 && want->marks ? browser_draw_marks(b, format, &out->shot, e) : r;
}

/* The answer is no longer needed. */
static void drop_shot(struct browser *b, int id)
{
    struct err e;
    json_free(cdp_wait(&b->cdp, id, 0, &e));
}

static int see_text(struct browser *b, struct browser_seen *out, struct err *e)
{
    struct json *j = browser_run_script(b, page_text_js, "", e);
    if (!j)
        return -1;
    struct str s = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    bool cut = s.n > TEXT_MAX;
    buf_adds(&out->text, str_sub(s, 0, TEXT_MAX));
    if (cut)
        buf_addf(&out->text, "\n[the first %d of %zu bytes]", TEXT_MAX, s.n);
    json_free(j);
    return 0;
}

static void see_tabs(struct browser *b, struct browser_seen *out)
{
    struct list *pos, *tmp;
    int i = 0;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (!t->page)
            continue;
        struct json *tab = json_object();
        json_put_str(tab, "url", buf_str(&t->url));
        json_put_str(tab, "title", buf_str(&t->title));
        json_push(out->tabs, tab);
        if (t == b->active)
            out->active = i;
        i++;
    }
}

/*
 * Sets the status if the tab shows the last document that a server sent, even if it was
 * not read completely. Chromium does not report every document that begins.
 */
static void see_status(struct browser *b, struct browser_seen *out)
{
    struct target *t = b->active;
    struct err e = ERR_INIT;
    if (t->answered.loader[0] && strcmp(t->loader, t->answered.loader) != 0) {
        struct json *j = browser_ask(b, browser_session_of(t), "Page.getFrameTree", NULL,
                                     &e);
        const struct json *tree = json_get(json_get(j, "result"), "frameTree");
        if (j && b->active == t)
            set_loader(t, json_str(json_get(tree, "frame"), "loaderId", ""));
        json_free(j);
    }
    if (b->active && b->active->status)
        out->status = b->active->status;
}

static void see_place(struct browser *b, struct browser_seen *out)
{
    struct err e = ERR_INIT;
    if (!b->active)
        return;
    struct json *j = browser_run(
        b,
        "[location.href,document.title,document.contentType,(()=>{try{return "
        "performance.getEntriesByType('navigation')[0].responseStatus}catch{}})()]",
        &e);
    struct json *v = json_first(
        json_get(json_get(json_get(j, "result"), "result"), "value"));
    if (b->active && v && json_next(v)) {
        set_text(&b->active->url, json_str_value(v, ""));
        set_text(&b->active->title, json_str_value(json_next(v), ""));
        out->is_html = str_find(json_str_value(json_next(json_next(v)), ""),
                                STR("html")) >= 0;
        /* No event has the answer to a document that a page opens in a new tab. */
        v = json_next(json_next(json_next(v)));
        if (str_starts(buf_str(&b->active->url), STR("http")))
            out->status = (int)json_int_value(v, 0);
    }
    json_free(j);
    if (!b->active)
        return;
    buf_adds(&out->url, buf_str(&b->active->url));
    buf_adds(&out->title, buf_str(&b->active->title));
}

static void see_console(struct browser *b, struct browser_seen *out)
{
    char text[80];
    snprintf(text, sizeof(text), "and %d more that were not kept", b->console_lost);
    out->console = b->console ? b->console : json_array();
    if (!b->console)
        return;
    if (b->console_lost) {
        struct json *j = json_object();
        json_put_z(j, "kind", "warning");
        json_put_z(j, "text", text);
        json_push(out->console, j);
    }
    b->console = json_array();
    b->console_lost = 0;
}

int browser_see(struct browser *b, const struct browser_want *want,
                struct browser_seen *out, struct err *e)
{
    *out = (struct browser_seen){.tabs = json_array(), .active = -1};
    buf_init(&out->url, 1 << 20);
    buf_init(&out->title, 1 << 16);
    buf_init(&out->error, BROWSER_ERROR_MAX);
    buf_init(&out->focused, 64);
    buf_init(&out->tree, TEXT_MAX + 4096);
    buf_init(&out->text, TEXT_MAX + 4096);
    buf_init(&out->links, TEXT_MAX);
    buf_init(&out->shot, SHOT_MAX);
    buf_init(&out->properties, SHOT_MAX);
    buf_init(&out->raw, SHOT_MAX);
    buf_init(&out->marks, TEXT_MAX);
    buf_init(&out->said, TEXT_MAX);
    buf_adds(&out->error, buf_str(&b->error));
    buf_adds(&out->said, buf_str(&b->said));
    int r = 0, shot = 0;
    if (b->active && !b->active->crashed && !b->cdp.held) {
        see_place(b, out);
        if (b->active)
            see_status(b, out);
        if (want->shot && b->active && (shot = begin_shot(b, want, e)) < 0)
            r = -1;
        if (r == 0 && (want->tree || want->marks || want->properties || want->outline))
            r = browser_tree(b, want, out, e);
        if (r == 0 && want->marks)
            buf_adds(&out->marks, buf_str(&b->marks));
        if (r == 0 && want->text && out->text.n == 0)
            r = see_text(b, out, e);
        if (r == 0 && shot > 0)
            r = finish_shot(b, want, shot, out, e);
        else if (shot > 0)
            drop_shot(b, shot);
    }
    if (b->cdp.held && b->active) {
        buf_adds(&out->url, buf_str(&b->active->url));
        buf_adds(&out->title, buf_str(&b->active->title));
    }
    see_tabs(b, out);
    browser_deny_hear(b);
    out->notes = b->notes;
    b->notes = json_array();
    b->deny.noted = 0;
    see_console(b, out);
    if (want->tree)
        out->pages = browser_page_cut(&out->tree, want->page_size, want->page);
    if (want->text || !want->tree)
        out->pages = browser_page_cut(&out->text, want->page_size, want->page);
    return b->cdp.ended ? err_set(e, b->cdp.why.code, "%s", b->cdp.why.text) : r;
}

void browser_seen_release(struct browser_seen *s)
{
    struct buf *all[] = {&s->url,        &s->title, &s->error, &s->focused,
                         &s->tree,       &s->text,  &s->shot,  &s->said,
                         &s->properties, &s->marks, &s->raw,   &s->links};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        buf_release(all[i]);
    json_free(s->tabs);
    json_free(s->notes);
    json_free(s->console);
    s->tabs = s->notes = s->console = NULL;
}
