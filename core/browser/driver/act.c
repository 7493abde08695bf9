/* SPDX-License-Identifier: MIT */
/*
 * The actions. An action on an element first waits in the page, up to BROWSER_ELEMENT_MS,
 * until the element can be acted on ("Actionability" in Playwright's documentation).
 * Errors have the texts of Playwright and BrowserGym, which agents know.
 */
#include "base/clock.h"
#include "base/utf8.h"
#include "browser/driver/js.h"
#include "browser/driver/driver.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    REASON_MS = 200,
    AGAIN_MS = 50,
    LIST_MS = 1500, /* for the list of a field to open */
    TYPED_MAX = 64  /* bytes typed into a field that is too short for them */
};

#define DETACHED "element was detached" /* how js/ready.js begins to say so */

/* The conditions that js/ready.js waits for. */
enum need {
    VISIBLE = 1,
    STABLE = 2,
    HIT = 4,
    ENABLED = 8,
    EDITABLE = 16,
    SCROLLED = 32 /* like STABLE, without the wait for a frame */
};

/* The element that a call acts on. */
struct hand {
    const char *api; /* "Locator.click" */
    char session[BROWSER_ID], object[256];
    int64_t node;
};

/* ---- errors ---- */

static int api_error(struct err *e, const char *api, const char *text)
{
    return err_set(e, ERR_INVALID, "Error: %s: %.400s", api, text);
}

static int waited(struct err *e, const char *api, struct str why)
{
    return err_set(e, ERR_TIMEOUT,
                   "TimeoutError: %s: Timeout %dms exceeded.\nCall log:\n  - %.*s", api,
                   BROWSER_ELEMENT_MS, (int)(why.n > 300 ? 300 : why.n), why.p);
}

static int no_element(struct err *e, struct str bid)
{
    return err_set(e, ERR_NOTFOUND,
                   "ValueError: Could not find element with bid \"%.*s\"",
                   (int)(bid.n > 100 ? 100 : bid.n), bid.p);
}

/* Adds a class to a failure of the browser itself, since every error has one. */
static int broke(struct err *e, const char *api)
{
    char text[400];
    snprintf(text, sizeof(text), "%.390s", e->text);
    return api_error(e, api, text);
}

/* ---- elements ---- */

/* Asks for the elements of the page, without its frames, that have this role and name
 * (Accessibility.queryAXTree); name.p NULL: any name. Returns the answer, or NULL. */
static struct json *query(struct browser *b, struct str role, struct str name,
                          struct err *e)
{
    struct str session = browser_session_of(b->active);
    struct json *p = json_object();
    json_put_z(p, "expression", "document");
    json_put_z(p, "objectGroup", "od");
    struct json *j = browser_ask(b, session, "Runtime.evaluate", p, e);
    p = json_object();
    json_put_str(p, "objectId",
                 json_str(json_get(json_get(j, "result"), "result"), "objectId", ""));
    json_put_str(p, "role", role);
    if (name.p)
        json_put_str(p, "accessibleName", name);
    json_free(j);
    return browser_ask(b, session, "Accessibility.queryAXTree", p, e);
}

/* The next node of a list that is an element of the page; node 0: the list has ended. */
static const struct json *next_element(const struct json *at, int64_t *node)
{
    *node = 0;
    for (; at && !*node; at = json_next(at)) {
        if (!json_bool(at, "ignored", false))
            *node = json_int(at, "backendDOMNodeId", 0);
        if (*node)
            return at;
    }
    return NULL;
}

static int none_named(struct browser *b, struct str role, struct str name, struct err *e)
{
    enum { SHOWN = 6 };
    struct buf text = BUF_INIT(600);
    struct err late = ERR_INIT;
    struct json *j = query(b, role, (struct str){0}, &late);
    int64_t node;
    int n = 0;
    buf_addf(&text, "ValueError: Could not find element %.*s \"%.*s\"", STR_ARG(role),
             STR_ARG(str_sub(name, 0, 100)));
    const struct json *at = json_first(json_get(json_get(j, "result"), "nodes"));
    for (; (at = next_element(at, &node)) && n < SHOWN; at = json_next(at), n++)
        buf_addf(&text, "%s \"%.*s\"", n ? "," : "; there are",
                 STR_ARG(str_sub(json_str(json_get(at, "name"), "value", ""), 0, 60)));
    json_free(j);
    err_set(e, ERR_NOTFOUND, "%s", buf_z(&text));
    buf_release(&text);
    return -1;
}

/* Finds the one element with this role and name. Returns -1 and sets *e if there are
 * none or several. */
static int find_named(struct browser *b, struct hand *h, struct str role, struct str name,
                      struct err *e)
{
    struct json *j = query(b, role, name, e);
    int64_t node;
    int n = 0;
    if (!j)
        return broke(e, h->api);
    const struct json *at = json_first(json_get(json_get(j, "result"), "nodes"));
    for (; (at = next_element(at, &node)); at = json_next(at), n++)
        h->node = node;
    json_free(j);
    snprintf(h->session, sizeof(h->session), "%.*s",
             STR_ARG(browser_session_of(b->active)));
    if (n == 0)
        return none_named(b, role, name, e);
    if (n == 1)
        return 0;
    return err_set(e, ERR_INVALID,
                   "Error: %s: strict mode violation: %.*s \"%.*s\" resolved to %d "
                   "elements; give the bid of one",
                   h->api, STR_ARG(role), STR_ARG(str_sub(name, 0, 100)), n);
}

/* Finds the element with a bid, or with a role and a name. */
static int find(struct browser *b, struct hand *h, struct str bid, struct err *e)
{
    struct element *el = browser_element(b, bid);
    struct str role, name;
    if (!el && browse_split_named(bid, &role, &name))
        return find_named(b, h, role, name, e);
    if (!el || !browser_session(b, str_of(el->document->session)))
        return no_element(e, bid);
    memcpy(h->session, el->document->session, sizeof(h->session));
    h->node = el->node;
    return 0;
}

static int resolve(struct browser *b, struct hand *h, const char *api, struct str bid,
                   struct err *e)
{
    *h = (struct hand){.api = api};
    if (find(b, h, bid, e) < 0)
        return -1;
    struct json *p = json_object();
    json_put_int(p, "backendNodeId", h->node);
    json_put_z(p, "objectGroup", "od");
    struct json *j = browser_ask(b, str_of(h->session), "DOM.resolveNode", p, e);
    struct str id = json_str(json_get(json_get(j, "result"), "object"), "objectId", "");
    bool ok = id.n > 0 && id.n < sizeof(h->object);
    if (ok)
        memcpy(h->object, id.p, id.n);
    else
        b->gone = true;
    json_free(j);
    return ok ? 0 : no_element(e, bid);
}

/*
 * Starts a function on the element, with up to three arguments (taken). Returns the
 * call's id.
 */
static int begin(struct browser *b, const struct hand *h, const char *function,
                 struct json *const take[3])
{
    struct json *p = json_object(), *args = json_array();
    for (int i = 0; i < 3; i++) {
        struct json *a = json_object();
        if (take[i])
            json_put(a, "value", take[i]);
        json_push(args, a);
    }
    json_put_z(p, "functionDeclaration", function);
    json_put_z(p, "objectId", h->object);
    json_put(p, "arguments", args);
    json_put_bool(p, "returnByValue", true);
    json_put_bool(p, "awaitPromise", true);
    json_put_bool(p, "userGesture", true);
    return cdp_send(&b->cdp, str_of(h->session), "Runtime.callFunctionOn", p);
}

/* Gets the result of that call: its text, or "". */
static int finish(struct browser *b, const struct hand *h, int id, struct buf *answer,
                  struct err *e)
{
    struct json *j = cdp_wait(&b->cdp, id, browser_in(BROWSER_CALL_MS), e);
    buf_reset(answer);
    buf_adds(answer,
             str_sub(json_str(json_get(json_get(j, "result"), "result"), "value", ""), 0,
                     answer->max));
    bool threw = json_has(json_get(j, "result"), "exceptionDetails");
    if (!j)
        return broke(e, h->api);
    json_free(j);
    return threw ? api_error(e, h->api, "the page's own scripts prevent it") : 0;
}

static int apply(struct browser *b, const struct hand *h, const char *function,
                 struct json *one, struct json *two, struct buf *answer, struct err *e)
{
    int id = begin(b, h, function, (struct json *[3]){one, two, NULL});
    return finish(b, h, id, answer, e);
}

/* Returns an argument: a list with one number, as the functions expect. */
static struct json *number_json(int64_t v)
{
    struct json *a = json_array();
    json_push_int(a, v);
    return a;
}

/* Reads the answer of our script: an error, a timeout, or neither. */
static int judge(struct browser *b, const struct hand *h, const struct buf *answer,
                 struct err *e)
{
    struct str s = buf_str(answer);
    if (s.n == 0 || str_eq(s, STR("done")) || str_eq(s, STR("late")) ||
        str_eq(s, STR("type")))
        return 0;
    b->gone |= str_starts(s, STR(DETACHED));
    if (s.p[0] == '!')
        return api_error(e, h->api, buf_z(answer) + 1);
    return waited(e, h->api, s);
}

static int begin_ready(struct browser *b, const struct hand *h, int need, int ms)
{
    return begin(b, h, ready_js,
                 (struct json *[3]){number_json(need), number_json(ms), NULL});
}

static int await_ready(struct browser *b, const struct hand *h, int need, struct err *e)
{
    struct buf answer = BUF_INIT(1024);
    int id = begin_ready(b, h, need, BROWSER_ELEMENT_MS);
    int r = finish(b, h, id, &answer, e);
    if (r == 0)
        r = judge(b, h, &answer, e);
    buf_release(&answer);
    return r;
}

static int begin_point(struct browser *b, const struct hand *h)
{
    struct json *p = json_object();
    json_put_int(p, "backendNodeId", h->node);
    return cdp_send(&b->cdp, str_of(h->session), "DOM.getContentQuads", p);
}

/* Gets the middle of the element's first box with an area, in the viewport of its
 * session. */
static int finish_point(struct browser *b, const struct hand *h, int id, double *x,
                        double *y, struct err *e)
{
    struct json *j = cdp_wait(&b->cdp, id, browser_in(BROWSER_CALL_MS), e);
    const struct json *quads = json_get(json_get(j, "result"), "quads");
    int r = -1;
    for (const struct json *q = json_first(quads); q && r < 0; q = json_next(q)) {
        double v[8] = {0}, left = 1e9, right = 0, top = 1e9, bottom = 0;
        int i = 0;
        for (const struct json *n = json_first(q); n && i < 8; n = json_next(n), i++)
            v[i] = json_num_value(n, 0);
        for (i = 0; i < 8; i += 2) {
            left = v[i] < left ? v[i] : left;
            right = v[i] > right ? v[i] : right;
            top = v[i + 1] < top ? v[i + 1] : top;
            bottom = v[i + 1] > bottom ? v[i + 1] : bottom;
        }
        left = left < 0 ? 0 : left;
        top = top < 0 ? 0 : top;
        right = right > b->width ? b->width : right;
        bottom = bottom > b->height ? b->height : bottom;
        if ((right - left) * (bottom - top) < 0.99) /* as Playwright */
            continue;
        *x = (left + right) / 2;
        *y = (top + bottom) / 2;
        r = 0;
    }
    json_free(j);
    return r < 0 ? waited(e, h->api, STR("element is not visible")) : 0;
}

static int point(struct browser *b, const struct hand *h, double *x, double *y,
                 struct err *e)
{
    return finish_point(b, h, begin_point(b, h), x, y, e);
}

/* ---- arguments ---- */

static struct str text_of(const struct browse_value *v)
{
    return v && v->kind == BROWSE_STR ? v->text : STR("");
}

static double number_of(const struct browse_value *v, double dflt)
{
    return v && (v->kind == BROWSE_INT || v->kind == BROWSE_REAL) ? v->number : dflt;
}

static const char *button_of(const struct browse_value *v, const char *api, struct err *e)
{
    static const char *const names[] = {"left", "right", "middle"};
    for (int i = 0; v && i < 3; i++) {
        if (str_eq(text_of(v), str_of(names[i])))
            return names[i];
    }
    if (!v)
        return names[0];
    api_error(e, api, "button: expected one of (left|right|middle)");
    return NULL;
}

static int modifiers_of(const struct browse_value *v, const char *api, struct err *e)
{
    static const char *const names[] = {"Alt", "Control", "Meta", "Shift",
                                        "ControlOrMeta"};
    static const int bits[] = {1, 2, 4, 8, 2};
    int all = 0, at = 0;
    char text[160];
    if (!v || v->kind == BROWSE_NONE)
        return 0;
    if (v->kind != BROWSE_LIST && v->kind != BROWSE_TUPLE) {
        snprintf(text, sizeof(text), "modifiers: expected array, got %s",
                 v->kind == BROWSE_STR    ? "string"
                 : v->kind == BROWSE_BOOL ? "boolean"
                 : v->kind == BROWSE_DICT ? "object"
                                          : "number");
        return api_error(e, api, text);
    }
    for (const struct browse_value *i = v->items; i; i = i->next, at++) {
        int k = 0;
        while (k < 5 && !str_eq(text_of(i), str_of(names[k])))
            k++;
        if (k == 5) {
            snprintf(
                text, sizeof(text),
                "modifiers[%d]: expected one of (Alt|Control|ControlOrMeta|Meta|Shift)",
                at);
            return api_error(e, api, text);
        }
        all |= bits[k];
    }
    return all;
}

/* ---- element actions ---- */

static int do_noop(struct browser *b, double ms, struct err *e);

/* Presses (1) or releases (2) the keys of modifiers, in Playwright's order. */
static int press_modifiers(struct browser *b, struct str session, int bits, int step,
                           struct err *e)
{
    static const char *const names[] = {"Alt", "Control", "Meta", "Shift"};
    for (int i = 0; i < 4; i++) {
        if ((bits & 1 << i) && browser_keys(b, session, str_of(names[i]), step, e) < 0)
            return -1;
    }
    return 0;
}

static int move_to(struct browser *b, const struct hand *h, struct err *e)
{
    double x, y;
    if (point(b, h, &x, &y, e) < 0)
        return -1;
    return browser_move(b, str_of(h->session), x, y, e) < 0 ? broke(e, h->api) : 0;
}

/*
 * Waits until the element is ready, and moves the pointer there. Moving the pointer
 * takes a frame, and so does checking that nothing moves: for an element that looks
 * ready both are done at once.
 */
static int aim(struct browser *b, const struct hand *h, int need, struct err *e)
{
    struct err first = ERR_INIT;
    if (b->held[0]) /* the move may begin a drag, or is one */
        return await_ready(b, h, need, e) < 0 ? -1 : move_to(b, h, e);
    struct buf answer = BUF_INIT(1024);
    double x, y;
    int looked = begin_ready(b, h, (need & ~STABLE) | SCROLLED, 0);
    int pointed = begin_point(b, h);
    bool sure = finish(b, h, looked, &answer, &first) == 0 && answer.n == 0;
    if (finish_point(b, h, pointed, &x, &y, &first) < 0 || !sure) {
        buf_release(&answer);
        return await_ready(b, h, need, e) < 0 ? -1 : move_to(b, h, e);
    }
    looked = begin_ready(b, h, need, BROWSER_ELEMENT_MS);
    int moved = browser_begin_move(b, str_of(h->session), x, y);
    int r = finish(b, h, looked, &answer, e);
    if (browser_finish_move(b, moved, &first) < 0 && r == 0) {
        *e = first;
        r = broke(e, h->api);
    }
    if (r == 0)
        r = judge(b, h, &answer, e);
    if (r == 0 && answer.n > 0)
        r = move_to(b, h, e);
    buf_release(&answer);
    return r;
}

static int do_click(struct browser *b, const struct browse_bound *a, int count,
                    struct err *e)
{
    const char *api = count > 1 ? "Locator.dblclick" : "Locator.click";
    struct hand h;
    const char *button = button_of(a->arg[1], api, e);
    int modifiers = button ? modifiers_of(a->arg[2], api, e) : -1, held = b->modifiers;
    if (modifiers < 0 || resolve(b, &h, api, a->arg[0]->text, e) < 0)
        return -1;
    if (press_modifiers(b, str_of(h.session), modifiers, 1, e) < 0)
        return broke(e, api);
    int r = aim(b, &h, VISIBLE | STABLE | HIT | ENABLED, e);
    if (r == 0 && browser_clicks(b, str_of(h.session), button, count, e) < 0)
        r = broke(e, api);
    if (press_modifiers(b, str_of(h.session), modifiers, 2, e) < 0 && r == 0)
        r = broke(e, api);
    b->modifiers = held;
    return r;
}

static int do_hover(struct browser *b, struct hand *h, const char *api, struct str bid,
                    int need, struct err *e)
{
    return resolve(b, h, api, bid, e) < 0 ? -1 : aim(b, h, need, e);
}

static int do_fill(struct browser *b, struct str bid, struct str value, const char *api,
                   struct err *e)
{
    struct hand h;
    struct buf answer = BUF_INIT(1024), both = BUF_INIT(16 << 10);
    /* In one call, so that no script of the page runs in between. */
    buf_addz(&both, "function(...list){\n");
    buf_addz(&both, ready_js);
    buf_addz(&both, prepare_fill_js);
    buf_addz(&both, fill_js);
    buf_addz(&both, "return fill.apply(this,list)}");
    int r = resolve(b, &h, api, bid, e);
    if (r == 0) {
        struct json *v = json_array();
        json_push_str(v, value);
        int id = begin(b, &h, buf_z(&both),
                       (struct json *[3]){number_json(VISIBLE | ENABLED | EDITABLE),
                                          number_json(BROWSER_ELEMENT_MS), v});
        r = finish(b, &h, id, &answer, e);
    }
    buf_release(&both);
    if (r == 0)
        r = judge(b, &h, &answer, e);
    if (r == 0 && str_eq(buf_str(&answer), STR("type"))) {
        value = str_sub(value, 0, utf8_cut(value, TYPED_MAX));
        r = browser_type(b, str_of(h.session), value, e) < 0 ? broke(e, api) : 0;
    } else if (r == 0 && answer.n == 0 && value.n == 0) {
        r = browser_keys(b, str_of(h.session), STR("Delete"), 3, e) < 0 ? broke(e, api)
                                                                        : 0;
    } else if (r == 0 && answer.n == 0) {
        struct json *p = json_object();
        json_put_str(p, "text", value);
        struct json *j = browser_ask(b, str_of(h.session), "Input.insertText", p, e);
        r = j ? 0 : broke(e, api);
        json_free(j);
    }
    buf_release(&answer);
    return r;
}

/* answer: the result of js/is_checked.js. */
static int snap_checked(struct browser *b, const struct hand *h, bool want, int ms,
                        struct buf *answer, struct err *e)
{
    struct json *list = json_array();
    json_push_str(list, str_of(want ? "on" : "off"));
    buf_reset(answer);
    return apply(b, h, is_checked_js, list, number_json(ms), answer, e);
}

static int do_check(struct browser *b, const struct browse_bound *a, bool on,
                    struct err *e)
{
    struct hand h;
    struct buf answer = BUF_INIT(64);
    struct str want = str_of(on ? "on" : "off");
    struct browse_bound click = {.arg = {a->arg[0]}};
    const char *api = on ? "Locator.check" : "Locator.uncheck", *wrong = NULL;
    int r = resolve(b, &h, api, a->arg[0]->text, e);
    if (r == 0)
        r = snap_checked(b, &h, on, 0, &answer, e);
    if (r == 0 && str_eq(buf_str(&answer), STR("none")))
        wrong = "Error: Not a checkbox or radio button";
    else if (r == 0 && str_eq(buf_str(&answer), STR("radio")))
        wrong = "Error: Cannot uncheck radio button. Radio buttons can only be unchecked "
                "by selecting another radio button in the same group.";
    else if (r == 0 && !str_eq(buf_str(&answer), want)) {
        r = do_click(b, &click, 1, e);
        /* If the page navigated, the click did its work. */
        if (r == 0 && snap_checked(b, &h, on, BROWSER_ELEMENT_MS, &answer, e) == 0 &&
            !str_eq(buf_str(&answer), want))
            wrong = "Error: Clicking the checkbox did not change its state";
    }
    buf_release(&answer);
    return r == 0 && wrong ? api_error(e, api, wrong) : r;
}

static int click_option(struct browser *b, struct str name, struct err *e)
{
    struct buf bid = BUF_INIT(BROWSE_TEXT_MAX);
    buf_addf(&bid, "option \"%.*s\"", STR_ARG(name));
    struct browse_value option = {.kind = BROWSE_STR, .text = buf_str(&bid)};
    int r = do_click(b, &(struct browse_bound){.arg = {&option}}, 1, e);
    buf_release(&bid);
    return r;
}

/*
 * Chooses from a list that the page has made of other elements: clicks the option if it
 * is there, else the field, which opens the list, and then the option.
 */
static int choose_made(struct browser *b, const struct browse_bound *a, struct str name,
                       struct err *e)
{
    struct browse_bound click = {.arg = {a->arg[0]}};
    int64_t end = browser_in(LIST_MS);
    if (click_option(b, name, e) == 0)
        return 0;
    if (e->code != ERR_NOTFOUND)
        return -1;
    int r = do_click(b, &click, 1, e);
    while (r == 0 && click_option(b, name, e) < 0) {
        if (e->code != ERR_NOTFOUND || clock_ms() >= end || do_noop(b, AGAIN_MS, e) < 0)
            r = -1;
    }
    return r;
}

static int do_select(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct hand h;
    struct buf answer = BUF_INIT(1024);
    const char *api = "Locator.select_option";
    struct json *list = json_array();
    const struct browse_value *v = a->arg[1];
    if (v->kind == BROWSE_STR)
        json_push_str(list, v->text);
    for (const struct browse_value *i = v->items; i; i = i->next)
        json_push_str(list, text_of(i));
    int r = resolve(b, &h, api, a->arg[0]->text, e);
    if (r == 0)
        r = await_ready(b, &h, VISIBLE | ENABLED, e);
    if (r == 0)
        r = apply(b, &h, choose_js, list, number_json(BROWSER_ELEMENT_MS), &answer, e);
    else
        json_free(list);
    if (r == 0 && str_eq(buf_str(&answer), STR("made")) && v->kind == BROWSE_STR)
        r = choose_made(b, a, v->text, e);
    else if (r == 0 && str_eq(buf_str(&answer), STR("made")))
        r = api_error(e, api, "Error: Element is not a <select> element");
    else if (r == 0)
        r = judge(b, &h, &answer, e);
    buf_release(&answer);
    return r;
}

static int focus(struct browser *b, struct hand *h, const char *api, struct str bid,
                 struct err *e)
{
    struct buf answer = BUF_INIT(16);
    int r = resolve(b, h, api, bid, e);
    if (r == 0)
        r = apply(b, h, focus_js, NULL, NULL, &answer, e);
    buf_release(&answer);
    return r;
}

static int do_press(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct hand h;
    if (focus(b, &h, "Locator.press", a->arg[0]->text, e) < 0)
        return -1;
    return browser_keys(b, str_of(h.session), text_of(a->arg[1]), 3, e) < 0
               ? broke(e, "Locator.press")
               : 0;
}

static int do_drag(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct hand from, to;
    if (do_hover(b, &from, "Locator.hover", a->arg[0]->text, VISIBLE | STABLE | HIT, e) <
        0)
        return -1;
    browser_hold(b, str_of(from.session));
    if (browser_press(b, str_of(from.session), "left", 1, true, e) < 0)
        return broke(e, "Mouse.down");
    int r = do_hover(b, &to, "Locator.hover", a->arg[1]->text, VISIBLE | STABLE, e);
    struct err late = ERR_INIT;
    browser_press(b, str_of(r < 0 ? from.session : to.session), "left", 1, false, &late);
    return r;
}

static int add_file(struct json *list, struct str name, struct err *e)
{
    char path[PATH_MAX], full[PATH_MAX];
    snprintf(path, sizeof(path), "%.*s", (int)(name.n < PATH_MAX ? name.n : 0), name.p);
    if (!realpath(path, full) || access(full, R_OK) < 0)
        return err_set(e, ERR_NOTFOUND, "FileNotFoundError: [Errno %d] %s: '%.300s'",
                       errno, strerror(errno), path);
    json_push_str(list, str_of(full));
    return 0;
}

/* Returns the files of a value as absolute paths; NULL if one does not exist. */
static struct json *file_list(const struct browse_value *v, struct err *e)
{
    struct json *list = json_array();
    int r = v->kind == BROWSE_STR ? add_file(list, v->text, e) : 0;
    for (const struct browse_value *i = v->items; i && r == 0; i = i->next)
        r = add_file(list, text_of(i), e);
    if (r == 0)
        return list;
    json_free(list);
    return NULL;
}

/* Takes the list. Returns -1 and sets *e to Chromium's own message. */
static int set_files(struct browser *b, struct str session, int64_t node,
                     struct json *take, struct err *e)
{
    struct json *p = json_object();
    json_put(p, "files", take);
    json_put_int(p, "backendNodeId", node);
    struct json *j = browser_ask(b, session, "DOM.setFileInputFiles", p, e);
    int rc = j ? 0 : -1;
    json_free(j);
    return rc;
}

/* Waits until the page has done what came before. */
static void ask_page(struct browser *b, struct str session)
{
    struct err e = ERR_INIT;
    struct json *p = json_object();
    json_put_z(p, "expression", "0");
    json_free(browser_ask(b, session, "Runtime.evaluate", p, &e));
}

static void intercept_choosers(struct browser *b, struct str session, bool on)
{
    struct json *p = json_object();
    json_put_bool(p, "enabled", on);
    cdp_tell(&b->cdp, session, "Page.setInterceptFileChooserDialog", p);
    b->chooser.node = 0;
    b->chooser.many = false;
}

/*
 * Gives the files (taken) to the page's file chooser, after a click with
 * intercept_choosers on. clicked: the result of that click.
 */
static int use_chooser(struct browser *b, struct str session, int clicked,
                       struct json *take, struct err *e)
{
    int64_t end = browser_in(BROWSER_ELEMENT_MS);
    char in[BROWSER_ID];
    snprintf(in, sizeof(in), "%.*s", STR_ARG(session));
    while (clicked == 0 && !b->chooser.node && cdp_turn(&b->cdp, end) > 0)
        ;
    if (clicked == 0 && !b->chooser.node)
        ask_page(b, str_of(in)); /* a slow page answers after what the click did */
    int64_t node = b->chooser.node;
    bool many = b->chooser.many;
    intercept_choosers(b, str_of(in), false);
    if (clicked < 0 || !node || (!many && json_count(take) > 1)) {
        bool several = clicked == 0 && node;
        json_free(take);
        return clicked < 0 ? clicked
               : several
                   ? api_error(
                         e, "FileChooser.set_files",
                         "Error: Non-multiple file input can only accept single file")
                   : err_set(e, ERR_TIMEOUT,
                             "TimeoutError: Timeout %dms exceeded while waiting for "
                             "event \"filechooser\"",
                             BROWSER_ELEMENT_MS);
    }
    return set_files(b, str_of(in), node, take, e) < 0 ? broke(e, "FileChooser.set_files")
                                                       : 0;
}

/* With an empty list, CDP does not change the field. */
static int clear_files(struct browser *b, const struct hand *h, struct err *e)
{
    struct buf answer = BUF_INIT(256);
    int r = apply(b, h, clear_files_js, NULL, NULL, &answer, e);
    if (r == 0)
        r = judge(b, h, &answer, e);
    buf_release(&answer);
    return r;
}

static int drag_files(struct browser *b, const struct hand *h, const char *type, double x,
                      double y, const struct json *files, struct err *e)
{
    struct json *p = json_object(), *data = json_object();
    json_put_z(p, "type", type);
    json_put_num(p, "x", x);
    json_put_num(p, "y", y);
    json_put(data, "items", json_array());
    json_put(data, "files", json_copy(files));
    json_put_int(data, "dragOperationsMask", 1); /* copy */
    json_put(p, "data", data);
    struct json *j = browser_ask(b, str_of(h->session), "Input.dispatchDragEvent", p, e);
    int rc = j ? 0 : -1;
    json_free(j);
    return rc;
}

/*
 * Sends a step of a drag of files. Returns 1 if the page handled its event, 0 if it did
 * not; -1 and sets *e.
 */
static int drag_step(struct browser *b, const struct hand *h, const char *type,
                     const char *event, const double at[2], const struct json *files,
                     struct err *e)
{
    struct buf answer = BUF_INIT(64);
    struct json *name = json_array();
    json_push_str(name, str_of(event));
    int id = begin(b, h, dropped_js,
                   (struct json *[3]){name, number_json(BROWSER_ELEMENT_MS), NULL});
    ask_page(b, str_of(h->session)); /* it listens when this is answered */
    int r = drag_files(b, h, type, at[0], at[1], files, e);
    if (r < 0)
        cdp_forget(&b->cdp, id);
    else
        r = finish(b, h, id, &answer, e) < 0 ? -1 : answer.n > 0;
    buf_release(&answer);
    return r;
}

/*
 * Drops the files on the element, if the page accepts the drag: otherwise the browser
 * would open the file in its place. Returns as drag_step.
 */
static int drop_files(struct browser *b, const struct hand *h, const struct json *files,
                      struct err *e)
{
    struct err late = ERR_INIT;
    double at[2];
    if (await_ready(b, h, VISIBLE | STABLE | HIT, e) < 0 ||
        point(b, h, &at[0], &at[1], e) < 0 ||
        drag_files(b, h, "dragEnter", at[0], at[1], files, e) < 0)
        return -1;
    int r = drag_step(b, h, "dragOver", "dragover", at, files, e);
    if (r > 0)
        return drag_step(b, h, "drop", "drop", at, files, e);
    drag_files(b, h, "dragCancel", at[0], at[1], files, &late);
    return r;
}

/*
 * A file input takes the files directly, even a hidden one; other elements open a
 * chooser, or the files are dropped on them.
 */
static int do_upload(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct hand h;
    struct err first = ERR_INIT;
    struct json *list = file_list(a->arg[1], e);
    if (!list || resolve(b, &h, "Locator.set_input_files", a->arg[0]->text, e) < 0) {
        json_free(list);
        return -1;
    }
    if (json_count(list) == 0) {
        json_free(list);
        return clear_files(b, &h, e);
    }
    if (set_files(b, str_of(h.session), h.node, list, &first) == 0)
        return 0;
    if (str_find(str_of(first.text), STR("file input")) < 0) {
        *e = first;
        return broke(e, h.api);
    }
    struct browse_bound click = {.arg = {a->arg[0]}};
    if (!(list = file_list(a->arg[1], e)))
        return -1;
    struct json *files = json_copy(list);
    intercept_choosers(b, str_of(h.session), true);
    int r = do_click(b, &click, 1, e);
    bool clicked = r == 0;
    r = use_chooser(b, str_of(h.session), r, list, e);
    if (r < 0 && clicked && e->code == ERR_TIMEOUT) {
        struct err late = ERR_INIT;
        r = drop_files(b, &h, files, &late) > 0 ? 0 : -1;
        if (r < 0)
            err_set(e, ERR_TIMEOUT,
                    "TimeoutError: Timeout %dms exceeded while waiting for event "
                    "\"filechooser\"; nor did the element take files that were dropped "
                    "on it",
                    BROWSER_ELEMENT_MS);
    }
    json_free(files);
    return r;
}

static int do_mouse_upload(struct browser *b, const struct browse_bound *a, struct err *e)
{
    struct str session = browser_session_of(b->active);
    struct json *list = file_list(a->arg[2], e);
    if (!list)
        return -1;
    intercept_choosers(b, session, true);
    int clicked = browser_move(b, session, number_of(a->arg[0], 0),
                               number_of(a->arg[1], 0), e);
    if (clicked == 0)
        clicked = browser_clicks(b, session, "left", 1, e);
    if (clicked < 0)
        broke(e, "Mouse.click");
    return use_chooser(b, browser_session_of(b->active), clicked, list, e);
}

/* ---- navigation ---- */

/* Does the active tab show the document of that loader, or, with NULL, any document? */
static bool is_at(struct browser *b, const char *loader)
{
    struct err e = ERR_INIT;
    struct str session = browser_session_of(b->active);
    struct json *j = loader ? browser_ask(b, session, "Page.getFrameTree", NULL, &e)
                            : NULL;
    const struct json *tree = json_get(json_get(j, "result"), "frameTree");
    bool is = !loader ||
              str_eq(json_str(json_get(tree, "frame"), "loaderId", ""), str_of(loader));
    json_free(j);
    return is;
}

static bool is_loaded(const struct target *t, const char *loader, unsigned moves)
{
    return loader ? strcmp(t->loaded, loader) == 0 : t->moves != moves;
}

/*
 * Waits for the reason of an aborted navigation, which arrives in another event, perhaps
 * later; or never, if the navigation ended before we listened to its process.
 */
static void await_reason(struct browser *b, const char *loader, unsigned moves)
{
    int64_t end = browser_in(REASON_MS);
    while (!b->cut && b->active && !is_loaded(b->active, loader, moves)) {
        if (cdp_turn(&b->cdp, end) <= 0) {
            browser_note(b, "the page stopped loading before its end");
            return;
        }
    }
}

/* When a call that has a time limit stops to wait for a document, so that there is time
 * left to look at what has come; INT64_MAX: it has none. */
static int64_t load_until(const struct browser *b)
{
    const struct halt *stop = b->cdp.stop;
    int64_t now = clock_ms();
    return stop && stop->end_ms > now ? stop->end_ms - (stop->end_ms - now) / 3
                                      : INT64_MAX;
}

/* was: the previous tab. An aborted document stops loading without the event. */
static int await_load(struct browser *b, const char *api, const char *loader,
                      struct target was, struct err *e)
{
    int64_t end = browser_in(BROWSER_GOTO_MS), soon = load_until(b);
    for (;;) {
        struct target *t = b->active;
        if (!t || t->crashed)
            return api_error(e, api, t ? "Page crashed" : "the tab was closed");
        if (is_loaded(t, loader, was.moves) || b->cdp.held)
            return 0; /* or a dialog blocks it */
        if (!t->loading && t->stops != was.stops) {
            was.stops = t->stops;
            if (!is_at(b, loader))
                continue;
            await_reason(b, loader, was.moves);
            return 0;
        }
        int r = cdp_turn(&b->cdp, soon < end ? soon : end);
        if (r == 0 && clock_ms() >= soon && clock_ms() < end) {
            soon = INT64_MAX;
            if (!is_at(b, loader))
                continue;
            b->loads_on = true;
            browser_note(b, "the page still loads: this is what has come of it");
            return 0;
        }
        if (r == 0)
            return err_set(e, ERR_TIMEOUT, "TimeoutError: %s: Timeout %dms exceeded.",
                           api, BROWSER_GOTO_MS);
        if (r < 0)
            return api_error(e, api, b->cdp.why.text);
    }
}

static int do_goto(struct browser *b, struct str url, struct err *e)
{
    char text[400], loader[BROWSER_ID] = "";
    if (!browser_deny_begin(b, url)) {
        snprintf(text, sizeof(text),
                 "net::ERR_BLOCKED_BY_ADMINISTRATOR at %.*s: while addresses are denied "
                 "(--deny, OD_BROWSE_DENY) only http, https, file, data, blob and "
                 "about:blank are opened",
                 (int)(url.n > 200 ? 200 : url.n), url.p);
        return api_error(e, "Page.goto", text);
    }
    struct json *p = json_object();
    struct target was = b->active ? *b->active : (struct target){0};
    json_put_str(p, "url", url);
    if (b->active)
        b->active->crashed = false; /* a navigation starts it again */
    struct json *j = cdp_call(&b->cdp, browser_session_of(b->active), "Page.navigate", p,
                              browser_in(BROWSER_GOTO_MS), e);
    if (!j) {
        char why[200];
        snprintf(why, sizeof(why), "%.190s", e->text);
        snprintf(text, sizeof(text), "%s%s",
                 e->code == ERR_INVALID ? "Protocol error (Page.navigate): " : "", why);
        return api_error(e, "Page.goto", text);
    }
    const struct json *result = json_get(j, "result");
    struct str bad = json_str(result, "errorText", ""),
               id = json_str(result, "loaderId", "");
    int r = 0;
    if (json_bool(result, "isDownload", false)) {
        r = api_error(e, "Page.goto", "Download is starting");
    } else if (bad.n > 0) {
        struct buf why = BUF_INIT(1000);
        browser_deny_explain(b, bad, url, &why);
        r = api_error(e, "Page.goto", buf_z(&why));
        buf_release(&why);
    }
    bool wait = r == 0 && id.n > 0 && id.n < sizeof(loader);
    if (wait)
        memcpy(loader, id.p, id.n);
    json_free(j);
    return wait ? await_load(b, "Page.goto", loader, was, e) : r;
}

/* Does nothing if there is no entry to go to. */
static int do_history(struct browser *b, int step, struct err *e)
{
    const char *api = step < 0 ? "Page.go_back" : "Page.go_forward";
    struct str session = browser_session_of(b->active);
    struct target was = b->active ? *b->active : (struct target){0};
    struct json *j = browser_ask(b, session, "Page.getNavigationHistory", NULL, e);
    if (!j)
        return broke(e, api);
    const struct json *result = json_get(j, "result");
    int64_t at = json_int(result, "currentIndex", 0) + step;
    const struct json *entry = at < 0 ? NULL : json_first(json_get(result, "entries"));
    while (entry && at-- > 0)
        entry = json_next(entry);
    struct json *p = json_object();
    json_put_int(p, "entryId", json_int(entry, "id", 0));
    bool there = entry != NULL;
    json_free(j);
    if (!there) {
        json_free(p);
        return 0;
    }
    j = browser_ask(b, browser_session_of(b->active), "Page.navigateToHistoryEntry", p,
                    e);
    if (!j)
        return broke(e, api);
    json_free(j);
    return await_load(b, api, NULL, was, e);
}

static int do_reload(struct browser *b, struct err *e)
{
    struct target was = b->active ? *b->active : (struct target){0};
    struct json *j = browser_ask(b, browser_session_of(b->active), "Page.reload", NULL,
                                 e);
    if (!j)
        return broke(e, "Page.reload");
    json_free(j);
    return await_load(b, "Page.reload", NULL, was, e);
}

static int do_tab_close(struct browser *b, struct err *e)
{
    struct json *p = json_object();
    char id[BROWSER_ID] = "";
    if (b->active)
        memcpy(id, b->active->id, sizeof(id));
    json_put_z(p, "targetId", id);
    json_free(browser_ask(b, STR(""), "Target.closeTarget", p, e));
    int64_t end = browser_in(BROWSER_CALL_MS);
    while (browser_target(b, str_of(id))) {
        if (cdp_turn(&b->cdp, end) <= 0)
            return api_error(e, "Page.close", "the tab does not close");
    }
    return b->active ? 0 : browser_new_tab(b, e);
}

static int do_tab_focus(struct browser *b, const struct browse_value *v, struct err *e)
{
    struct target *t = v->kind == BROWSE_INT && v->number > -1e6 && v->number < 1e6
                           ? browser_page(b, (int64_t)v->number)
                           : NULL;
    if (!t)
        return err_set(e, ERR_NOTFOUND, "IndexError: list index out of range");
    browser_activate(b, t);
    return 0;
}

/* ---- scrolling and waiting ---- */

/* The wheel is acknowledged before the page has scrolled; an event reports the scroll. */
static int do_scroll(struct browser *b, double dx, double dy, struct err *e)
{
    struct str session = browser_session_of(b->active);
    struct json *p = json_object();
    int asked = cdp_send(&b->cdp, session, "Runtime.evaluate",
                         browser_script(scrolled_js, ""));
    json_put_z(p, "type", "mouseWheel");
    json_put_num(p, "x", b->x);
    json_put_num(p, "y", b->y);
    json_put_num(p, "deltaX", dx);
    json_put_num(p, "deltaY", dy);
    json_put_int(p, "modifiers", b->modifiers);
    struct json *j = browser_ask(b, session, "Input.dispatchMouseEvent", p, e);
    struct err late = ERR_INIT;
    json_free(cdp_wait(&b->cdp, asked, browser_in(BROWSER_CALL_MS), &late));
    if (!j)
        return broke(e, "Mouse.wheel");
    json_free(j);
    return 0;
}

static int do_noop(struct browser *b, double ms, struct err *e)
{
    int64_t end = browser_in(ms < 0                 ? 0
                             : ms > BROWSER_GOTO_MS ? BROWSER_GOTO_MS
                                                    : (int)ms);
    while (cdp_turn(&b->cdp, end) > 0)
        ;
    return clock_ms() < end ? api_error(e, "Page.wait_for_timeout", "it was interrupted")
                            : 0;
}

static int do_say(struct browser *b, const struct browse_value *v, struct err *e)
{
    if (v->kind != BROWSE_STR) {
        struct buf repr = BUF_INIT(200);
        browse_repr(&repr, v);
        err_set(e, ERR_INVALID, "ValueError: Forbidden value: %s is not a string",
                buf_z(&repr));
        buf_release(&repr);
        return -1;
    }
    if (v->text.n + 1 > buf_room(&b->said))
        return err_set(e, ERR_LIMIT, "the messages are longer than %zu bytes",
                       b->said.max);
    buf_adds(&b->said, v->text);
    buf_addc(&b->said, '\n');
    return 0;
}

/* ---- by coordinate and key ---- */

static int do_mouse(struct browser *b, const struct browse_call *c,
                    const struct browse_bound *a, struct err *e)
{
    struct str s = browser_session_of(b->active);
    double x = number_of(a->arg[0], 0), y = number_of(a->arg[1], 0);
    bool drags = c->what == BROWSE_MOUSE_DRAG;
    const char *button = button_of(drags ? NULL : a->arg[2], "Mouse", e);
    if (!button || browser_move(b, s, x, y, e) < 0)
        return button ? broke(e, "Mouse.move") : -1;
    int r = 0;
    if (c->what == BROWSE_MOUSE_CLICK || c->what == BROWSE_MOUSE_DBLCLICK)
        r = browser_clicks(b, s, button, c->what == BROWSE_MOUSE_CLICK ? 1 : 2, e);
    if (c->what == BROWSE_MOUSE_DOWN || drags)
        browser_hold(b, s);
    if (c->what == BROWSE_MOUSE_DOWN || drags)
        r = browser_press(b, s, button, 1, true, e);
    if (drags && r == 0)
        r = browser_move(b, s, number_of(a->arg[2], 0), number_of(a->arg[3], 0), e);
    if (r == 0 && (c->what == BROWSE_MOUSE_UP || drags))
        r = browser_press(b, s, button, 1, false, e);
    return r < 0 ? broke(e, "Mouse") : 0;
}

static int do_keyboard(struct browser *b, const struct browse_call *c, struct str text,
                       struct err *e)
{
    struct str s = browser_session_of(b->active);
    if (c->what == BROWSE_KEY_TYPE)
        return browser_type(b, s, text, e) < 0 ? broke(e, "Keyboard.type") : 0;
    if (c->what == BROWSE_KEY_INSERT) {
        struct json *p = json_object();
        json_put_str(p, "text", text);
        struct json *j = browser_ask(b, s, "Input.insertText", p, e);
        if (!j)
            return broke(e, "Keyboard.insert_text");
        json_free(j);
        return 0;
    }
    int steps = c->what == BROWSE_KEY_DOWN ? 1 : c->what == BROWSE_KEY_UP ? 2 : 3;
    const char *api = steps == 1   ? "Keyboard.down"
                      : steps == 2 ? "Keyboard.up"
                                   : "Keyboard.press";
    return browser_keys(b, s, text, steps, e) < 0 ? broke(e, api) : 0;
}

static int act(struct browser *b, const struct browse_call *c, struct err *e)
{
    struct browse_bound a;
    struct hand h;
    if (browse_bind(&a, c, e) < 0)
        return -1;
    struct str one = text_of(a.arg[0]);
    switch (c->what) {
    case BROWSE_NOOP:
        return do_noop(b, number_of(a.arg[0], 1000), e);
    case BROWSE_SEND_MSG:
    case BROWSE_INFEASIBLE:
        return do_say(b, a.arg[0], e);
    case BROWSE_GOTO:
        return do_goto(b, one, e);
    case BROWSE_GO_BACK:
        return do_history(b, -1, e);
    case BROWSE_GO_FORWARD:
        return do_history(b, 1, e);
    case BROWSE_NEW_TAB:
        return browser_new_tab(b, e) < 0 ? broke(e, "BrowserContext.new_page") : 0;
    case BROWSE_TAB_CLOSE:
        return do_tab_close(b, e);
    case BROWSE_TAB_FOCUS:
        return do_tab_focus(b, a.arg[0], e);
    case BROWSE_CLICK:
        return do_click(b, &a, 1, e);
    case BROWSE_DBLCLICK:
        return do_click(b, &a, 2, e);
    case BROWSE_HOVER:
        return do_hover(b, &h, "Locator.hover", one, VISIBLE | STABLE | HIT, e);
    case BROWSE_FILL:
        return do_fill(b, one, text_of(a.arg[1]), "Locator.fill", e);
    case BROWSE_CLEAR:
        return do_fill(b, one, STR(""), "Locator.clear", e);
    case BROWSE_CHECK:
        return do_check(b, &a, true, e);
    case BROWSE_UNCHECK:
        return do_check(b, &a, false, e);
    case BROWSE_SELECT:
        return do_select(b, &a, e);
    case BROWSE_PRESS:
        return do_press(b, &a, e);
    case BROWSE_FOCUS:
        return focus(b, &h, "Locator.focus", one, e);
    case BROWSE_DRAG:
        return do_drag(b, &a, e);
    case BROWSE_UPLOAD:
        return do_upload(b, &a, e);
    case BROWSE_SCROLL:
        return do_scroll(b, number_of(a.arg[0], 0), number_of(a.arg[1], 0), e);
    case BROWSE_SCROLL_AT:
        b->x = number_of(a.arg[0], 0);
        b->y = number_of(a.arg[1], 0);
        return do_scroll(b, number_of(a.arg[2], 0), number_of(a.arg[3], 0), e);
    case BROWSE_MOUSE_MOVE:
    case BROWSE_MOUSE_DOWN:
    case BROWSE_MOUSE_UP:
    case BROWSE_MOUSE_CLICK:
    case BROWSE_MOUSE_DBLCLICK:
    case BROWSE_MOUSE_DRAG:
        return do_mouse(b, c, &a, e);
    case BROWSE_MOUSE_UPLOAD:
        return do_mouse_upload(b, &a, e);
    case BROWSE_WAIT_FOR:
        return browser_wait_for(b, &a, e);
    case BROWSE_RELOAD:
        return do_reload(b, e);
    default:
        return do_keyboard(b, c, one, e);
    }
}

int browser_do(struct browser *b, const struct browse_call *c, struct err *e)
{
    int64_t end = browser_in(BROWSER_ELEMENT_MS);
    b->loads_on = false;
    for (;;) {
        struct err why = ERR_INIT;
        b->gone = false;
        int r = act(b, c, &why);
        if (r < 0 && b->gone) {
            bool again = browser_find_again(b);
            while (!again && clock_ms() < end && do_noop(b, AGAIN_MS, &why) == 0)
                again = browser_find_again(b);
            if (again && clock_ms() < end)
                continue;
        }
        if (r < 0)
            *e = why;
        return r;
    }
}
