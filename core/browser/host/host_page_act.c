/* SPDX-License-Identifier: MIT */
/*
 * An act on a page, and the differences after it.
 *
 *   outline before ─▶ which element ─▶ act ─▶ outline after ─▶ differences from what the
 *                                              │    ▲          caller last saw
 *                                              └────┘ nothing is different: for CHANGE_MS
 */
#include "base/clock.h"
#include "browser/host/host_page_own.h"
#include "browser/host/js/changed.js.h"
#include "browser/driver/page.h"

#include <stdio.h>
#include <string.h>

enum {
    DIFF_MAX = 4000, /* bytes of differences, and of another page after an act */
    CHANGE_MS = 2000,
    APPEAR_MS = 600, /* for an element that the page may be about to show */
    TEXT_BYTES = 17 << 20
};

/* ---- differences ---- */

static bool is_same(const struct outline *a, const struct outline *b)
{
    struct buf none = BUF_INIT(0);
    struct outline_change change;
    outline_compare(a, b, 0, &none, &change);
    buf_release(&none);
    return !change.added && !change.removed && !change.changed;
}

/* Waits for a change of the document, ms at most. */
static void await_mutation(struct browser *b, int ms)
{
    char text[16];
    struct err gone = ERR_INIT;
    snprintf(text, sizeof(text), "%d", ms);
    struct json *p = browser_script(changed_js, text);
    json_free(cdp_call(&b->cdp, browser_session_of(b->active), "Runtime.evaluate", p,
                       browser_in(ms + BROWSER_ELEMENT_MS), &gone));
}

/*
 * Waits for an effect of the act. Another title is one; of another address, more is to
 * come.
 */
static int await_change(struct page_call *c, const char *document, struct err *e)
{
    struct browser *b = c->h->b;
    char now[2 * BROWSER_ID];
    int64_t end = browser_in(c->wait_ms < CHANGE_MS ? c->wait_ms : CHANGE_MS);
    for (;;) {
        int64_t left = end - clock_ms();
        host_page_name(c->h, now);
        if (left <= 0 || halt_over(&c->h->halt) || b->cdp.held ||
            strcmp(now, document) != 0 || c->retitled || !is_same(&c->before, &c->after))
            return 0;
        await_mutation(b, (int)left);
        browser_settle(b, BROWSE_CLICK);
        if (host_page_peek(c, &c->after, e) < 0)
            return -1;
    }
}

/* Appends as many lines of the new page as there is room for; counts their refs. */
static void put_beginning(struct page_call *c)
{
    struct buf page = BUF_INIT(TEXT_BYTES);
    struct str part;
    unsigned shown = 0;
    char ref[16];
    host_page_put_title(c, &page);
    outline_print(&c->after, &page);
    browser_page_of(buf_str(&page), DIFF_MAX, 1, &part);
    size_t at = 0;
    for (size_t i = 0; i < c->after.n; i++) {
        if (!c->after.items[i].ref)
            continue;
        snprintf(ref, sizeof(ref), " e%u", c->after.items[i].ref);
        long found = str_find(str_sub(part, at, part.n), str_of(ref));
        if (found < 0)
            break;
        at += (size_t)found;
        shown++;
    }
    json_put_str(c->out, "text", part);
    json_put_int(c->out, "shown", shown);
    buf_release(&page);
}

static void put_changes(struct page_call *c, const struct outline *from)
{
    struct buf text = BUF_INIT(DIFF_MAX + 1024);
    struct outline_change change;
    outline_compare(from, &c->after, DIFF_MAX, &text, &change);
    json_put_str(c->out, "text", buf_str(&text));
    json_put_int(c->out, "added", change.added);
    json_put_int(c->out, "removed", change.removed);
    json_put_int(c->out, "changed", change.changed);
    json_put_int(c->out, "shown", change.shown);
    buf_release(&text);
}

static void put_scroll_place(struct page_call *c)
{
    struct buf place = BUF_INIT(80);
    if (c->act != SCROLL || !c->h->b || c->h->b->cdp.held)
        return;
    host_page_scroll_box(c, &place);
    if (place.n)
        json_put_str(c->out, "scrolled", buf_str(&place));
    buf_release(&place);
}

/* Tells of a tab that the page opened, which is the active one now, or closed. */
static void put_tab_change(struct page_call *c)
{
    int active, n = host_page_tabs(c->h, &active);
    const struct target *t;
    int back = 0;
    if (!c->h->b || !c->tab[0] || c->act >= NEW_TAB)
        return;
    for (int i = 0; !back && (t = browser_page(c->h->b, i)); i++)
        back = strcmp(t->id, c->tab) == 0 ? i + 1 : 0;
    if (n > c->tabs_n && back && back != active)
        json_put_int(c->out, "opened_from", back);
    if (!back)
        json_put_bool(c->out, "tab_closed", true);
}

/* ---- acting ---- */

/* An open dialog takes only Enter, Esc and the text of a prompt. Returns 1 if it took
 * the act.
 */
static int answer_dialog(struct page_call *c)
{
    struct browser *b = c->h->b;
    struct str key = str_trim(c->text);
    bool enter = str_eq(key, STR("Enter")),
         leave = str_eq(key, STR("Esc")) || str_eq(key, STR("Escape"));
    bool fill = c->act == FILL && strcmp(b->dialog.type, "prompt") == 0;
    if (!fill && !(c->act == PRESS && (enter || leave))) {
        struct buf text = BUF_INIT(1000);
        buf_addz(&text, "a dialog is open: ");
        outline_quote(&text, buf_str(&b->dialog.text));
        buf_addz(&text, "; press text=\"Enter\" or \"Esc\" first");
        host_page_refuse(c, ERR_BUSY, buf_z(&text));
        buf_release(&text);
        return -1;
    }
    if (fill) {
        buf_reset(&b->dialog.fill);
        buf_adds(&b->dialog.fill, str_sub(c->text, 0, b->dialog.fill.max));
        if (!json_bool(c->q, "submit", false))
            return 1;
    }
    browser_answer_dialog(b, fill || enter);
    browser_settle(b, BROWSE_CLICK);
    return 1;
}

/* A failed act leaves the page as it was. */
static int tell_failed(struct page_call *c, struct str error, struct err *e)
{
    host_page_refuse_failed(c, error);
    if (!json_has(c->out, "disabled"))
        return 0;
    if (host_page_see(c, false, e) < 0)
        return -1;
    put_changes(c, &c->after);
    host_page_put_place(c);
    return 0;
}

static int refuse_late(struct page_call *c, struct err *e)
{
    struct buf text = BUF_INIT(1000);
    if (host_page_see(c, false, e) < 0)
        return -1;
    const struct outline_item *near = outline_near(&c->after, c->text, false);
    buf_addf(&text, "not there after %g s: ", c->wait_ms / 1000.0);
    outline_quote(&text, c->text);
    if (near) {
        buf_addz(&text, "; nearest: ");
        outline_quote(&text, outline_name(&c->after, near));
    }
    host_page_refuse(c, ERR_TIMEOUT, buf_z(&text));
    host_page_remember(c);
    buf_release(&text);
    return 0;
}

/* After the action: compares the page with what the caller last saw of it. */
static int tell_after(struct page_call *c, const char *document, struct err *e)
{
    struct host *h = c->h;
    char now[2 * BROWSER_ID];
    bool waits = c->act == CLICK || c->act == PRESS || c->act == SELECT ||
                 c->act == FILL || c->act == HOVER;
    if (!h->reading && waits && !h->b->cdp.held &&
        (host_page_peek(c, &c->after, e) < 0 || await_change(c, document, e) < 0))
        return -1;
    if (host_page_see(c, false, e) < 0)
        return -1;
    host_page_name(h, now);
    struct str url = h->reading ? str_of(webtext_url(h->reader.web))
                                : buf_str(&c->seen.url);
    bool known = h->page.known.n && strcmp(h->page.document, document) == 0;
    bool moved = strcmp(now, document) != 0;
    if (h->b && h->b->cdp.held)
        json_put_z(c->out, "text", "");
    else if (moved)
        put_beginning(c);
    else
        put_changes(c, known ? &h->page.known : &c->before);
    json_put_bool(c->out, "moved", moved);
    json_put_bool(c->out, "went", moved || !str_eq(url, buf_str(&c->was)));
    put_scroll_place(c);
    put_tab_change(c);
    host_page_put_place(c);
    if (!(h->b && h->b->cdp.held))
        host_page_remember(c);
    return 0;
}

/* Finds the element; one that is not there may come a little later, as choices do.
 * Returns -1 if there is none; the answer has the reason. -2: sets *e. */
static int find_bid(struct page_call *c, struct buf *bid, struct err *e)
{
    const struct host *h = c->h;
    int rc = host_page_find_bid(c, bid);
    if (rc == 0 || h->reading || json_int(c->out, "code", 0) != ERR_NOTFOUND)
        return rc;
    await_mutation(h->b, APPEAR_MS);
    if (host_page_peek(c, &c->before, e) < 0)
        return -2;
    json_drop(c->out, json_get(c->out, "error"));
    json_drop(c->out, json_get(c->out, "code"));
    return host_page_find_bid(c, bid);
}

int host_page_act(struct page_call *c, struct err *e)
{
    struct host *h = c->h;
    struct buf bid = BUF_INIT(64), actions = BUF_INIT(2 * BROWSE_TEXT_MAX);
    struct str error = {0};
    char document[2 * BROWSER_ID];
    int rc = host_page_check(c);
    bool dialog = h->b && h->b->dialog.type[0];
    host_page_name(h, document);
    buf_adds(&c->was, h->reading     ? str_of(webtext_url(h->reader.web))
                      : h->b->active ? buf_str(&h->b->active->url)
                                     : STR(""));
    int active;
    c->tabs_n = host_page_tabs(h, &active);
    if (h->b && h->b->active)
        memcpy(c->tab, h->b->active->id, sizeof(c->tab));
    if (rc == 0 && host_page_is_blank(h) && c->act < NEW_TAB) {
        host_page_refuse_blank(c);
        rc = -1;
    }
    if (rc == 0 && dialog) {
        rc = answer_dialog(c);
        rc = rc > 0 ? (h->page.known.n ? 0 : host_page_peek(c, &c->before, e)) : rc;
        rc = rc == 0 ? (tell_after(c, document, e) < 0 ? -2 : -1) : rc;
    }
    if (rc == 0)
        rc = host_page_peek(c, &c->before, e) < 0 ? -2 : 0;
    if (rc == 0 && c->ref.n)
        rc = find_bid(c, &bid, e);
    if (rc == 0)
        rc = host_page_compose(c, buf_str(&bid), &actions);
    if (rc == 0 && host_page_carry_out(c, buf_str(&actions), &error) < 0) {
        bool late = c->act == WAIT && str_find(error, STR("Timeout")) >= 0;
        rc = 0;
        if (halt_over(&h->halt) ||
            (late ? refuse_late(c, e) : tell_failed(c, error, e)) < 0)
            rc = -2;
    } else if (rc == 0) {
        rc = tell_after(c, document, e) < 0 ? -2 : 0;
    }
    buf_release(&bid);
    buf_release(&actions);
    return rc == -2 ? -1 : 0;
}
