/* SPDX-License-Identifier: MIT */
/*
 * The mouse, and what is dragged with it.
 *
 * While a button is held, an HTML drag may begin. The browser leaves the drag to us
 * (Input.setInterceptDrags): it sends no more mouse events, and we send those of the
 * drag.
 */
#include "browser/driver/driver.h"

#include <stdio.h>
#include <string.h>

enum { DRAG_MS = 2000, PROCESSES_MAX = 48 };

/* ---- events ---- */

static int begin_mouse(struct browser *b, struct str session, const char *type,
                       const char *button, int clicks)
{
    struct json *p = json_object();
    json_put_z(p, "type", type);
    json_put_num(p, "x", b->x);
    json_put_num(p, "y", b->y);
    json_put_z(p, "button", button);
    json_put_int(p, "buttons", b->buttons);
    json_put_int(p, "modifiers", b->modifiers);
    json_put_int(p, "clickCount", clicks);
    return cdp_send(&b->cdp, session, "Input.dispatchMouseEvent", p);
}

int browser_begin_move(struct browser *b, struct str session, double x, double y)
{
    b->x = x;
    b->y = y;
    if (str_eq(session, browser_session_of(b->active))) {
        b->screen.x = x;
        b->screen.y = y;
        b->screen.moves++;
        browser_screen_follow(b);
    }
    /* A move without the button begins no drag. */
    return begin_mouse(b, session, "mouseMoved", b->buttons & 1 ? "left" : "none", 0);
}

int browser_finish_move(struct browser *b, int id, struct err *e)
{
    struct json *j = cdp_wait(&b->cdp, id, browser_in(BROWSER_CALL_MS), e);
    int rc = j ? 0 : -1;
    json_free(j);
    return rc;
}

static int mouse(struct browser *b, struct str session, const char *type,
                 const char *button, int clicks, struct err *e)
{
    return browser_finish_move(b, begin_mouse(b, session, type, button, clicks), e);
}

static int button_bit(const char *button)
{
    return strcmp(button, "right") == 0 ? 2 : strcmp(button, "middle") == 0 ? 4 : 1;
}

/* ---- drags ---- */

static void intercept(struct browser *b, bool on)
{
    struct json *p = json_object();
    json_put_bool(p, "enabled", on);
    cdp_tell(&b->cdp, str_of(b->held), "Input.setInterceptDrags", p);
    buf_reset(&b->drag);
}

void browser_hold(struct browser *b, struct str session)
{
    snprintf(b->held, sizeof(b->held), "%.*s", STR_ARG(session));
    intercept(b, true);
}

static int drag(struct browser *b, struct str session, const char *type, struct err *e)
{
    struct json *p = json_object(), *data = json_parse(buf_str(&b->drag), e);
    json_put_z(p, "type", type);
    json_put_num(p, "x", b->x);
    json_put_num(p, "y", b->y);
    json_put_int(p, "modifiers", b->modifiers);
    json_put(p, "data", data ? data : json_object());
    struct json *j = browser_ask(b, session, "Input.dispatchDragEvent", p, e);
    int rc = j ? 0 : -1;
    json_free(j);
    return rc;
}

/*
 * Finds out whether the move began a drag. The move is answered after the page has
 * handled it, and the page's process reports a drag before it answers the next call. The
 * process that handled the move is not known, so every session of the tab gets a call.
 */
static void await_drag(struct browser *b)
{
    struct list *pos, *tmp;
    struct err e = ERR_INIT;
    int asked[PROCESSES_MAX], n = 0;
    list_each (pos, tmp, &b->targets) {
        const struct target *t = list_entry(pos, struct target, node);
        if (!t->session[0] || (t->page && t != b->active) || n == PROCESSES_MAX)
            continue;
        struct json *p = json_object();
        json_put_z(p, "expression", "0");
        asked[n++] = cdp_send(&b->cdp, str_of(t->session), "Runtime.evaluate", p);
    }
    int64_t end = browser_in(DRAG_MS);
    for (int i = 0; i < n; i++)
        json_free(cdp_wait(&b->cdp, asked[i], b->drag.n ? 0 : end, &e));
}

/* ---- moving and pressing ---- */

int browser_press(struct browser *b, struct str session, const char *button, int clicks,
                  bool down, struct err *e)
{
    if (down)
        b->buttons |= button_bit(button);
    else
        b->buttons &= ~button_bit(button);
    if (down || !b->held[0])
        return mouse(b, session, down ? "mousePressed" : "mouseReleased", button, clicks,
                     e);
    int r = b->drag.n ? drag(b, session, "drop", e)
                      : mouse(b, session, "mouseReleased", button, clicks, e);
    intercept(b, false);
    b->held[0] = '\0';
    return r;
}

int browser_move(struct browser *b, struct str session, double x, double y, struct err *e)
{
    if (b->drag.n) {
        b->x = x;
        b->y = y;
        return drag(b, session, "dragOver", e);
    }
    int r = browser_finish_move(b, browser_begin_move(b, session, x, y), e);
    if (r < 0 || !b->held[0] || !(b->buttons & 1))
        return r;
    await_drag(b);
    if (b->drag.n)
        r = drag(b, session, "dragEnter", e) < 0 ? -1 : drag(b, session, "dragOver", e);
    return r;
}

int browser_clicks(struct browser *b, struct str session, const char *button, int count,
                   struct err *e)
{
    for (int i = 1; i <= count; i++) {
        if (browser_press(b, session, button, i, true, e) < 0 ||
            browser_press(b, session, button, i, false, e) < 0)
            return -1;
    }
    return 0;
}
