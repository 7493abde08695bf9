/* SPDX-License-Identifier: MIT */
/*
 * wait_for: until a text, an element or a selector's match is visible in the active tab.
 *
 * A script in the page looks for LOOK_MS at a time: a navigation ends the script, and it
 * is started again in the next document. Frames are searched one after the other, each
 * in a world isolated from the page's scripts.
 */
#include "base/clock.h"
#include "browser/driver/js.h"
#include "browser/driver/driver.h"

#include <string.h>

enum { LOOK_MS = 200, PAUSE_MS = 50, PLACES_MAX = 32 };

/* A document of the tab: its session, and its frame; "": the main one. */
struct place {
    char session[BROWSER_ID], frame[BROWSER_ID];
};

static int failed(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "Error: Page.wait_for: %.300s", why);
}

/*
 * Reads the answer of one of the scripts. Returns 1 if it was found; 0 if not; -1 and
 * sets *e.
 */
static int read_answer(const struct json *j, struct err *e)
{
    struct str said = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    if (str_starts(said, STR("!")))
        return failed(e, said.p + 1);
    return str_eq(said, STR("yes"));
}

/* Returns the id of an isolated world in a frame; 0 if the frame is gone. */
static int64_t world_in(struct browser *b, const struct place *at)
{
    struct err gone = ERR_INIT;
    struct json *p = json_object();
    json_put_z(p, "frameId", at->frame);
    json_put_z(p, "worldName", "od");
    struct json *j = browser_ask(b, str_of(at->session), "Page.createIsolatedWorld", p,
                                 &gone);
    int64_t id = json_int(json_get(j, "result"), "executionContextId", 0);
    json_free(j);
    return id;
}

/* Looks in one place for ms. Returns the same as read_answer. */
static int look_in(struct browser *b, const struct place *at, struct str script, int ms,
                   struct err *e)
{
    struct err gone = ERR_INIT;
    int64_t world = at->frame[0] ? world_in(b, at) : 0;
    if (at->frame[0] && !world)
        return 0;
    struct json *p = json_object();
    json_put_str(p, "expression", script);
    json_put_bool(p, "awaitPromise", true);
    if (world)
        json_put_int(p, "contextId", world);
    struct json *j = cdp_call(&b->cdp, str_of(at->session), "Runtime.evaluate", p,
                              browser_in(ms + BROWSER_ELEMENT_MS), &gone);
    int r = read_answer(j, e);
    json_free(j);
    return r;
}

static void add_place(struct place *all, int *n, struct str session, struct str frame)
{
    if (*n == PLACES_MAX || session.n >= BROWSER_ID || frame.n >= BROWSER_ID)
        return;
    all[*n] = (struct place){{0}, {0}};
    memcpy(all[*n].session, session.p, session.n);
    memcpy(all[*n].frame, frame.p, frame.n);
    ++*n;
}

/* The frames within a tree of Page.getFrameTree, in the order of their depth. */
static void add_frames(struct place *all, int *n, struct str session,
                       const struct json *tree)
{
    const struct json *level[PLACES_MAX] = {tree};
    int have = 1;
    for (int i = 0; i < have; i++) {
        for (const struct json *k = json_first(json_get(level[i], "childFrames")); k;
             k = json_next(k)) {
            add_place(all, n, session, json_str(json_get(k, "frame"), "id", ""));
            if (have < PLACES_MAX)
                level[have++] = k;
        }
    }
}

/* The documents of the active tab. */
static int places(struct browser *b, struct place all[PLACES_MAX])
{
    struct err gone = ERR_INIT;
    struct list *pos, *tmp;
    int n = 0;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (t->session[0] && browser_within(b, t))
            add_place(all, &n, str_of(t->session), STR(""));
    }
    for (int i = 0, sessions = n; i < sessions; i++) {
        struct str session = str_of(all[i].session);
        struct json *j = browser_ask(b, session, "Page.getFrameTree", NULL, &gone);
        add_frames(all, &n, session, json_get(json_get(j, "result"), "frameTree"));
        json_free(j);
    }
    return n;
}

static int look_round(struct browser *b, struct str text, struct str selector, int ms,
                      struct err *e)
{
    struct place all[PLACES_MAX];
    struct buf script = BUF_INIT(BROWSE_TEXT_MAX * 8);
    int n = places(b, all), r = 0;
    buf_addf(&script, "(%s)(", shows_js);
    json_quote(&script, text);
    buf_addc(&script, ',');
    json_quote(&script, selector);
    buf_addf(&script, ",%d)", n > 1 ? 0 : ms);
    for (int i = 0; i < n && r == 0; i++)
        r = look_in(b, &all[i], buf_str(&script), ms, e);
    buf_release(&script);
    return r;
}

/* Does an element with a bid become visible within ms? */
static int look_at(struct browser *b, const struct element *el, int ms)
{
    struct str session = str_of(el->document->session);
    struct err e = ERR_INIT;
    struct json *p = json_object(), *args = json_array(), *a = json_object();
    json_put_int(p, "backendNodeId", el->node);
    struct json *j = browser_ask(b, session, "DOM.resolveNode", p, &e);
    p = json_object();
    json_put_str(p, "objectId",
                 json_str(json_get(json_get(j, "result"), "object"), "objectId", ""));
    json_free(j);
    json_put_int(a, "value", ms);
    json_push(args, a);
    json_put(p, "arguments", args);
    json_put_z(p, "functionDeclaration", visible_js);
    json_put_bool(p, "awaitPromise", true);
    j = cdp_call(&b->cdp, session, "Runtime.callFunctionOn", p,
                 browser_in(ms + BROWSER_ELEMENT_MS), &e);
    int r = read_answer(j, &e);
    json_free(j);
    return r;
}

/* Does s look like a selector rather than a text? */
static bool is_selector(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] && strchr("#.[>:*", s.p[i]))
            return true;
    }
    return false;
}

static int look(struct browser *b, const struct browse_wanted *w, int ms, struct err *e)
{
    struct str bid = w->bid.p ? w->bid : w->any;
    struct element *el = bid.p ? browser_element(b, bid) : NULL;
    if (el && browser_session(b, str_of(el->document->session)))
        return look_at(b, el, ms);
    if (w->bid.p)
        return err_set(e, ERR_NOTFOUND,
                       "ValueError: Could not find element with bid \"%.*s\"",
                       (int)(bid.n > 100 ? 100 : bid.n), bid.p);
    struct str text = w->any.p ? w->any : w->text.p ? w->text : STR("");
    struct str selector = w->selector.p                     ? w->selector
                          : w->any.p && is_selector(w->any) ? w->any
                                                            : STR("");
    return look_round(b, text, selector, ms, e);
}

int browser_wait_for(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct browse_wanted w;
    if (browse_wanted(&w, a, e) < 0)
        return -1;
    for (int64_t end = browser_in(w.ms);;) {
        int64_t left = end - clock_ms();
        int r = look(b, &w, left < 0 ? 0 : left > LOOK_MS ? LOOK_MS : (int)left, e);
        if (r != 0)
            return r < 0 ? -1 : 0;
        if (b->cdp.ended || halt_over(b->cdp.stop))
            return failed(e, "it was interrupted");
        if (clock_ms() >= end)
            return browse_wanted_late(&w, w.ms, NULL, e);
        int64_t pause = browser_in(PAUSE_MS);
        while (cdp_turn(&b->cdp, pause < end ? pause : end) > 0)
            ;
    }
}
