/* SPDX-License-Identifier: MIT */
/*
 * The active tab for people: a screencast (CDP, Page.startScreencast) and what they do.
 *
 * Chromium sends a picture when something has changed, and the next one after we have
 * acknowledged it, which we do at once. Only the newest picture is kept. Nothing here
 * waits for an answer, so it works while an action runs; calls reach the page in the
 * order in which they were sent.
 *
 * While a visit is committed Chromium refuses both calls that begin a screencast ("Not
 * attached to an active page"). They are sent again after the next event, and the commit
 * itself is one (Target.targetInfoChanged).
 */
#include "browser/driver/driver.h"

#include <stdio.h>
#include <string.h>

enum { FRAME_BASE64_MAX = 4 << 20, ADDRESS_MAX = 64 << 10, SIDE_MAX = 0xffff };

/* ---- pictures ---- */

static void forget_frame(struct browser_screen *s)
{
    buf_release(&s->frame);
    buf_init(&s->frame, FRAME_BASE64_MAX);
    s->width = s->height = 0;
}

static void stop_cast(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    if (s->session[0] && !b->cdp.ended)
        cdp_tell(&b->cdp, str_of(s->session), "Page.stopScreencast", NULL);
    cdp_forget(&b->cdp, s->cast);
    cdp_forget(&b->cdp, s->shot);
    s->cast = s->shot = 0;
    s->session[0] = '\0';
    forget_frame(s);
}

static void start_cast(struct browser *b, struct str session)
{
    struct browser_screen *s = &b->screen;
    struct json *p = json_object();
    json_put_z(p, "format", "jpeg");
    json_put_int(p, "quality", s->quality);
    json_put_int(p, "maxWidth", s->max_width);
    json_put_int(p, "maxHeight", s->max_width);
    json_put_int(p, "everyNthFrame", 1);
    snprintf(s->session, sizeof(s->session), "%.*s", STR_ARG(session));
    s->cast = cdp_send(&b->cdp, session, "Page.startScreencast", p);
    /* A page that does not change sends no picture, so one is requested. */
    p = json_object();
    json_put_z(p, "format", "jpeg");
    json_put_int(p, "quality", s->quality);
    s->shot = cdp_send(&b->cdp, session, "Page.captureScreenshot", p);
    if (s->cast < 0)
        stop_cast(b); /* too many calls wait for Chromium: retried after the next event */
}

void browser_screen_start(struct browser *b, int quality, int width,
                          void (*changed)(void *owner), void *owner)
{
    struct browser_screen *s = &b->screen;
    if (s->on && (s->quality != quality || s->max_width != width))
        stop_cast(b);
    else if (!s->on)
        forget_frame(s);
    s->on = true;
    s->quality = quality;
    s->max_width = width;
    s->changed = changed;
    s->owner = owner;
    browser_screen_follow(b);
}

void browser_screen_stop(struct browser *b)
{
    stop_cast(b);
    b->screen.on = false;
    b->screen.buttons = 0;
}

void browser_screen_end(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    s->session[0] = '\0';
    s->on = false;
    s->asked = s->cast = s->shot = s->titled = s->buttons = 0;
    buf_release(&s->frame);
    buf_release(&s->address);
    buf_release(&s->trouble);
}

static int side(const struct json *j, const char *name)
{
    double v = json_num(j, name, 0);
    return v <= 0 ? 0 : v >= SIDE_MAX ? SIDE_MAX : (int)v;
}

/* Chromium reports addresses but no titles: these are requested after each navigation. */
void browser_screen_retitle(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    if (!s->on)
        return;
    if (s->titled > 0 || !b->active) {
        s->retitle = s->titled > 0;
        return;
    }
    struct json *p = json_object();
    json_put_z(p, "targetId", b->active->id);
    s->retitle = false;
    s->titled = cdp_send(&b->cdp, STR(""), "Target.getTargetInfo", p);
}

static void take_title(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    struct err e = ERR_INIT;
    if (s->titled <= 0 || !cdp_answered(&b->cdp, s->titled))
        return;
    struct json *j = cdp_wait(&b->cdp, s->titled, 0, &e);
    browser_update(b, json_get(json_get(j, "result"), "targetInfo"));
    json_free(j);
    s->titled = 0;
    if (s->on && s->retitle)
        browser_screen_retitle(b);
    if (s->on)
        s->changed(s->owner);
}

/* Takes the answer of a call and sets *call to 0. Returns false if there is none yet. */
static bool take_answer(struct browser *b, int *call, struct json **answer)
{
    struct err e = ERR_INIT;
    if (*call <= 0 || !cdp_answered(&b->cdp, *call))
        return false;
    *answer = cdp_wait(&b->cdp, *call, 0, &e);
    *call = 0;
    return true;
}

/* Refused: both calls are sent again after the next event (browser_screen_follow). */
static void take_cast(struct browser *b)
{
    struct json *j;
    if (!take_answer(b, &b->screen.cast, &j))
        return;
    if (!j)
        stop_cast(b);
    json_free(j);
}

/* Takes the picture requested when the screencast began, unless a newer one has come. */
static void take_shot(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    struct json *j;
    if (!take_answer(b, &s->shot, &j))
        return;
    struct str data = json_str(json_get(j, "result"), "data", "");
    if (!j && s->frame.n == 0) {
        stop_cast(b);
    } else if (s->on && s->session[0] && s->frame.n == 0 && data.n > 0 &&
               buf_adds(&s->frame, data) == 0) {
        s->width = b->width;
        s->height = b->height;
        s->scroll_x = s->scroll_y = 0;
        s->seq++;
        s->changed(s->owner);
    }
    json_free(j);
}

void browser_screen_frame(struct browser *b, const struct target *t, const struct json *p)
{
    struct browser_screen *s = &b->screen;
    const struct json *about = json_get(p, "metadata");
    struct json *seen = json_object();
    struct str data = json_str(p, "data", "");
    json_put_int(seen, "sessionId", json_int(p, "sessionId", 0));
    cdp_tell(&b->cdp, str_of(t->session), "Page.screencastFrameAck", seen);
    take_cast(b);
    if (s->cast > 0)
        return; /* of the previous screencast: the page before a visit */
    if (!s->on || strcmp(t->session, s->session) != 0 || data.n > FRAME_BASE64_MAX)
        return;
    buf_reset(&s->frame);
    buf_adds(&s->frame, data);
    s->width = side(about, "deviceWidth");
    s->height = side(about, "deviceHeight");
    s->scroll_x = side(about, "scrollOffsetX");
    s->scroll_y = side(about, "scrollOffsetY");
    s->seq++;
    browser_screen_retitle(b);
}

void browser_screen_navigated(struct browser *b, const struct target *t,
                              const struct json *frame)
{
    if (!b->screen.on || strcmp(t->session, b->screen.session) != 0 ||
        !str_eq(json_str(frame, "id", ""), str_of(t->id)))
        return;
    stop_cast(b);
    start_cast(b, str_of(t->session));
    browser_screen_retitle(b);
}

void browser_screen_follow(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    const struct target *t = b->active;
    struct str wanted = t && !t->crashed ? browser_session_of(t) : STR("");
    if (!s->on || b->cdp.ended)
        return;
    take_cast(b);
    take_shot(b);
    if (!str_eq(wanted, str_of(s->session))) {
        stop_cast(b);
        if (wanted.n > 0)
            start_cast(b, wanted);
    }
    s->changed(s->owner);
}

/* ---- visits ---- */

static void set_trouble(struct browser *b, struct str why)
{
    buf_init(&b->screen.trouble, BROWSER_ERROR_MAX);
    buf_adds(&b->screen.trouble, str_sub(why, 0, BROWSER_ERROR_MAX));
}

/* Makes a call of a visit. The answer to an earlier visit is then ignored. */
static void ask(struct browser *b, const char *method, struct json *take, int steps)
{
    struct browser_screen *s = &b->screen;
    struct str session = browser_session_of(b->active);
    cdp_forget(&b->cdp, s->asked);
    s->asked = cdp_send(&b->cdp, session, method, take);
    s->steps = steps;
}

static void visit(struct browser *b, struct str url)
{
    struct json *p = json_object();
    buf_release(&b->screen.trouble);
    if (!browser_deny_begin(b, url)) {
        json_free(p);
        set_trouble(b, STR("this page of the browser itself is denied (--browse-deny)"));
        return;
    }
    buf_release(&b->screen.address);
    buf_init(&b->screen.address, ADDRESS_MAX);
    buf_adds(&b->screen.address, str_sub(url, 0, ADDRESS_MAX));
    json_put_str(p, "url", url);
    ask(b, "Page.navigate", p, 0);
}

static void step_history(struct browser *b, const struct json *result, int steps)
{
    int64_t to = json_int(result, "currentIndex", 0) + steps;
    const struct json *entry = json_first(json_get(result, "entries"));
    for (int64_t i = 0; entry && i < to; i++)
        entry = json_next(entry);
    if (!entry || to < 0) {
        set_trouble(b, steps < 0 ? STR("this is the first page of the tab")
                                 : STR("this is the last page of the tab"));
        return;
    }
    struct json *p = json_object();
    json_put_int(p, "entryId", json_int(entry, "id", 0));
    cdp_tell(&b->cdp, browser_session_of(b->active), "Page.navigateToHistoryEntry", p);
}

void browser_screen_turn(struct browser *b)
{
    struct browser_screen *s = &b->screen;
    struct buf why = BUF_INIT(BROWSER_ERROR_MAX);
    struct err e = ERR_INIT;
    take_title(b);
    take_shot(b);
    if (s->asked <= 0 || !cdp_answered(&b->cdp, s->asked))
        return;
    struct json *j = cdp_wait(&b->cdp, s->asked, 0, &e);
    const struct json *result = json_get(j, "result");
    struct str error = json_str(result, "errorText", "");
    s->asked = 0;
    if (!j)
        set_trouble(b, str_of(e.text));
    else if (s->steps)
        step_history(b, result, s->steps);
    else if (error.n > 0 && !str_eq(error, STR("net::ERR_ABORTED"))) {
        browser_deny_explain(b, error, buf_str(&s->address), &why);
        set_trouble(b, buf_str(&why));
    }
    json_free(j);
    buf_release(&why);
    if (s->on)
        s->changed(s->owner);
}

/* ---- what a person does ---- */

static int button_bit(struct str button)
{
    return str_eq(button, STR("left"))     ? 1
           : str_eq(button, STR("right"))  ? 2
           : str_eq(button, STR("middle")) ? 4
                                           : 0;
}

static void mouse(struct browser *b, const struct json *m)
{
    struct browser_screen *s = &b->screen;
    struct str kind = json_str(m, "kind", ""), button = json_str(m, "button", "none");
    struct json *p = json_object();
    bool down = str_eq(kind, STR("down")), wheel = str_eq(kind, STR("wheel"));
    bool up = str_eq(kind, STR("up"));
    int bit = button_bit(button);
    if (down)
        s->buttons |= bit;
    else if (up)
        s->buttons &= ~bit;
    else
        button = s->buttons & 1 ? STR("left") : STR("none");
    json_put_z(p, "type",
               down    ? "mousePressed"
               : up    ? "mouseReleased"
               : wheel ? "mouseWheel"
                       : "mouseMoved");
    json_put_num(p, "x", json_num(m, "x", 0));
    json_put_num(p, "y", json_num(m, "y", 0));
    json_put_str(p, "button", button);
    json_put_int(p, "buttons", s->buttons);
    json_put_int(p, "modifiers", json_int(m, "mods", 0));
    if (down || up)
        json_put_int(p, "clickCount", json_int(m, "clicks", 1));
    if (wheel) {
        json_put_num(p, "deltaX", json_num(m, "dx", 0));
        json_put_num(p, "deltaY", json_num(m, "dy", 0));
    }
    cdp_tell(&b->cdp, browser_session_of(b->active), "Input.dispatchMouseEvent", p);
}

static void dialog(struct browser *b, const struct json *q)
{
    if (!b->dialog.type[0])
        return;
    if (json_has(q, "text")) {
        buf_reset(&b->dialog.fill);
        buf_adds(&b->dialog.fill,
                 str_sub(json_str(q, "text", ""), 0, b->dialog.fill.max));
    }
    browser_answer_dialog(b, json_bool(q, "dialog", false));
    browser_screen_follow(b);
}

static void insert(struct browser *b, struct str text)
{
    struct json *p = json_object();
    json_put_str(p, "text", text);
    cdp_tell(&b->cdp, browser_session_of(b->active), "Input.insertText", p);
}

static void tab(struct browser *b, struct str id)
{
    struct target *t = browser_target(b, id);
    if (t && t->page && t->session[0]) {
        browser_activate(b, t);
        browser_screen_follow(b);
    }
}

void browser_screen_input(struct browser *b, const struct json *q)
{
    const struct json *key = json_get(q, "key");
    if (b->cdp.ended || !b->active)
        return;
    if (json_has(q, "dialog"))
        dialog(b, q);
    else if (json_has(q, "tab"))
        tab(b, json_str(q, "tab", ""));
    else if (b->cdp.held)
        return; /* the page takes no input until its dialog is answered */
    else if (json_has(q, "mouse"))
        mouse(b, json_get(q, "mouse"));
    else if (key)
        browser_tell_key(b, browser_session_of(b->active), json_str(key, "key", ""),
                         json_str(key, "code", ""), (int)json_int(key, "mods", 0),
                         str_eq(json_str(key, "kind", ""), STR("down")));
    else if (json_has(q, "text"))
        insert(b, json_str(q, "text", ""));
    else if (json_has(q, "go"))
        visit(b, json_str(q, "go", ""));
    else if (json_has(q, "back"))
        ask(b, "Page.getNavigationHistory", NULL, -(int)json_int(q, "back", 1));
    else if (json_has(q, "reload"))
        cdp_tell(&b->cdp, browser_session_of(b->active), "Page.reload", NULL);
}
