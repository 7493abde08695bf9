/* SPDX-License-Identifier: MIT */
/*
 * Waits until a page shows the effect of actions.
 *
 * No event reports that, and a fixed sleep is too long for most pages and too short for
 * some. There are four waits, each with a limit: for a moment without changes; for the
 * answers to requests that scripts made since the actions began; after typing into a
 * field with completion, for the list that it opens; and on a page that scripts have not
 * filled yet, for some content.
 */
#include "base/clock.h"
#include "browser/driver/js.h"
#include "browser/driver/driver.h"

#include <stdio.h>
#include <string.h>

enum {
    SETTLE_MS = 3000,
    ASKED_MS = 1000,   /* for answers to requests of scripts */
    EMPTY_MS = 1200,   /* for content of a page that only scripts fill */
    REQUESTS_MAX = 256 /* counted at once */
};

static void stop_listening(struct browser *b)
{
    if (b->heard[0] && !b->cdp.ended && !b->har)
        cdp_tell(&b->cdp, str_of(b->heard), "Network.disable", json_object());
    b->heard[0] = '\0';
    map_release(&b->requests);
    map_init(&b->requests);
}

void browser_listen(struct browser *b)
{
    struct str session = browser_session_of(b->active);
    if (session.n == 0 || session.n >= sizeof(b->heard) ||
        str_eq(session, str_of(b->heard)))
        return;
    stop_listening(b);
    memcpy(b->heard, session.p, session.n);
    b->heard[session.n] = '\0';
    if (b->har)
        return; /* it reports them already */
    browser_watch_papers(b, session, 0);
    /* Chromium would keep bodies of answers for Network.getResponseBody, which we do not
     * use. */
    struct json *p = json_object();
    json_put_int(p, "maxTotalBufferSize", 0);
    json_put_int(p, "maxResourceBufferSize", 0);
    cdp_tell(&b->cdp, session, "Network.enable", p);
}

/* Do scripts wait for the answer? Not for pictures and beacons. */
static bool is_awaited(struct str type)
{
    return str_eq(type, STR("XHR")) || str_eq(type, STR("Fetch")) ||
           str_eq(type, STR("Script"));
}

/*
 * The received part of a document is shown, and looks complete. The id of its request is
 * that of its loader.
 */
static void note_cut(struct browser *b, struct str error, struct str id)
{
    bool cut = str_eq(error, STR("net::ERR_CONTENT_LENGTH_MISMATCH")) ||
               str_eq(error, STR("net::ERR_INCOMPLETE_CHUNKED_ENCODING"));
    if (!cut || str_find(id, STR(".")) >= 0)
        return;
    b->cut = true;
    browser_note(b, "the page broke off before its end: %.*s", STR_ARG(error));
}

void browser_on_request(struct browser *b, struct str method, const struct json *p)
{
    struct str id = json_str(p, "requestId", "");
    if (str_eq(method, STR("Network.requestWillBeSent"))) {
        if (is_awaited(json_str(p, "type", "")) && b->requests.count < REQUESTS_MAX)
            map_put(&b->requests, id, b);
    } else if (str_eq(method, STR("Network.loadingFinished")) ||
               str_eq(method, STR("Network.loadingFailed"))) {
        map_del(&b->requests, id);
        note_cut(b, json_str(p, "errorText", ""), id);
    }
}

/* Waits until a function of js/ resolves in the page, or the end. */
static void be_quiet(struct browser *b, const char *function, const char *arguments,
                     int64_t end)
{
    struct err e = ERR_INIT;
    json_free(cdp_call(&b->cdp, str_of(b->active->session), "Runtime.evaluate",
                       browser_script(function, arguments), end, &e));
}

/* A popup begins as a blank page; its content comes next. */
static bool is_blank(const struct target *t)
{
    return !t->session[0] || t->url.n == 0 ||
           str_eq(buf_str(&t->url), STR("about:blank")) ||
           str_eq(buf_str(&t->url), STR(":"));
}

static bool is_there(const struct browser *b)
{
    return b->active && !b->active->crashed && !b->cdp.ended && !b->cdp.held;
}

/* Waits for answers, and for further requests that the page makes because of them. */
static void await_answers(struct browser *b, int64_t end)
{
    int64_t limit = browser_in(ASKED_MS);
    limit = limit < end ? limit : end;
    while (is_there(b) && b->requests.count > 0) {
        while (is_there(b) && b->requests.count > 0) {
            if (cdp_turn(&b->cdp, limit) <= 0)
                return;
        }
        if (is_there(b))
            be_quiet(b, quiet_loaded_js, "", end);
    }
}

/* Waits for content, then for the answers to its requests, then for a quiet moment. */
static void await_content(struct browser *b, int64_t end)
{
    char limit[16];
    unsigned before = b->active->moves;
    int64_t began = clock_ms();
    snprintf(limit, sizeof(limit), "%d", EMPTY_MS);
    be_quiet(b, filled_js, limit, end);
    bool waited = clock_ms() - began > 40 || (b->active && b->active->moves != before);
    if (!waited || !is_there(b))
        return;
    if (strcmp(b->active->session, b->heard) == 0)
        await_answers(b, end);
    if (is_there(b))
        be_quiet(b, quiet_loaded_js, "", end);
}

static const char *script_for(enum browse_do last)
{
    if ((last >= BROWSE_GOTO && last <= BROWSE_GO_FORWARD) || last == BROWSE_RELOAD)
        return quiet_loaded_js;
    if (last == BROWSE_FILL || last == BROWSE_KEY_TYPE || last == BROWSE_KEY_INSERT)
        return quiet_typed_js;
    return quiet_acted_js;
}

void browser_settle(struct browser *b, enum browse_do last)
{
    int64_t end = browser_in(SETTLE_MS);
    while (b->active && b->active->fresh && is_blank(b->active)) {
        if (cdp_turn(&b->cdp, end) <= 0)
            b->active->fresh = false;
    }
    if (is_there(b))
        be_quiet(b, script_for(last), "", end);
    while (is_there(b) && !b->loads_on && b->active->loading && !b->active->ready) {
        if (cdp_turn(&b->cdp, end) <= 0)
            break;
    }
    if (is_there(b) && !b->loads_on && strcmp(b->active->session, b->heard) == 0)
        await_answers(b, end);
    if (is_there(b) && !b->loads_on)
        await_content(b, end);
    stop_listening(b);
}
