/* SPDX-License-Identifier: MIT */
/*
 * A call about one page, as a model makes it ("page" in host.h): it is opened, looked at
 * as an outline with refs, or acted on, and what is different then is told.
 *
 *   outline before ─▶ which element ─▶ act ─▶ outline after ─▶ differences from what the
 *                                              │    ▲          caller has seen last
 *                                              └────┘ nothing is different: for CHANGE_MS
 *
 * Without a Chromium the same is done with the reader's page.
 */
#include "base/clock.h"
#include "base/enc.h"
#include "base/utf8.h"
#include "browser/host/host_own.h"
#include "browser/host/js/changed.js.h"
#include "browser/host/js/scroll_place.js.h"
#include "browser/host/page.h"
#include "file/files.h"
#include "webpage/weboutline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 16000, /* bytes of a part, where the caller names none */
    SIZE_MAX_BYTES = 100000,
    DIFF_MAX = 4000, /* bytes of differences, and of another page after an act */
    CHANGE_MS = 2000,
    WAIT_MS = 10000,
    WAIT_MS_MAX = 100000,
    STALLED_MS = 3000, /* a download that does not move */
    FITS_SHOWN = 6,
    PICTURE_SIDE = 1568,
    PICTURE_MAX = 700000, /* bytes of base64 */
    SHOT_BYTES = 48 << 20,
    TEXT_BYTES = 17 << 20,
    PICTURES_KEPT = 16
};

enum act {
    LOOK,
    CLICK,
    HOVER,
    FILL,
    SELECT,
    PRESS,
    SCROLL,
    UPLOAD,
    BACK,
    FORWARD,
    RELOAD,
    WAIT
};
static const char *const act_names[] = {"",       "click",   "hover",  "fill",
                                        "select", "press",   "scroll", "upload",
                                        "back",   "forward", "reload", "wait"};

struct page_call {
    struct host *h;
    const struct json *q;
    struct json *out;
    enum act act;
    struct str ref, text;
    size_t size;
    int part, wait_ms;
    char name[24]; /* "e12": of the element that is acted on; "": none */
    struct outline before, after;
    struct buf was;           /* the address before the act */
    struct browser_seen seen; /* of Chromium, the last look */
    bool looked;              /* it is filled */
};

/* ---- errors, which are answers ---- */

static int refuse(struct page_call *c, enum err_code code, const char *text)
{
    json_put_z(c->out, "error", text);
    json_put_int(c->out, "code", code);
    return 0;
}

static int refuse_blank(struct page_call *c)
{
    return refuse(c, ERR_NOTFOUND, "no page is open yet: open one with url");
}

static struct str strip(struct str s, const char *word)
{
    return str_starts(s, str_of(word)) ? str_sub(s, strlen(word), s.n) : s;
}

/* "Error: Locator.click: …" without what says where in a library it arose. */
static struct str without_class(struct str s)
{
    s = strip(strip(strip(s, "TimeoutError: "), "ValueError: "), "Error: ");
    long colon = str_find(s, STR(": "));
    struct str head = str_sub(s, 0, colon > 0 ? (size_t)colon : 0);
    bool api = str_starts(head, STR("Page.")) || str_starts(head, STR("Locator.")) ||
               str_starts(head, STR("Keyboard.")) || str_starts(head, STR("Mouse.")) ||
               str_starts(head, STR("FileChooser."));
    s = api ? str_sub(s, (size_t)colon + 2, s.n) : s;
    return strip(s, "Error: ");
}

/* Without a browser an error has the bid that the ref stands for. */
static void put_why(const struct page_call *c, struct buf *out, struct str why)
{
    char bid[16];
    long at = -1;
    if (c->h->reading && c->name[0]) {
        snprintf(bid, sizeof(bid), "\"%ld\"",
                 strtol(c->name + 1, NULL, 10) - (long)c->h->page.base);
        at = str_find(why, str_of(bid));
    }
    buf_adds(out, str_sub(why, 0, at < 0 ? why.n : (size_t)at));
    if (at < 0)
        return;
    buf_addz(out, c->name);
    buf_adds(out, str_sub(why, (size_t)at + strlen(bid), why.n));
}

static int refuse_failed(struct page_call *c, struct str error)
{
    struct buf text = BUF_INIT(2048);
    struct str log = STR("Call log:\n  - ");
    long at = str_find(error, log);
    struct str why = at >= 0 ? str_sub(error, (size_t)at + log.n, error.n)
                             : without_class(error);
    struct str element = STR("element ");
    if (str_starts(why, STR("element is not enabled"))) {
        json_put_z(c->out, "disabled", c->name);
        buf_release(&text);
        return 0;
    }
    if (str_starts(why, STR("<")))
        buf_addf(&text, "%s is covered: %.*s; close that first, or act on it", c->name,
                 STR_ARG(why));
    else if (at >= 0 && c->name[0] && str_starts(why, element))
        buf_addf(&text, "%s %.*s", c->name, STR_ARG(str_sub(why, element.n, why.n)));
    else
        put_why(c, &text, str_sub(why, 0, 1500));
    refuse(c, at >= 0 ? ERR_TIMEOUT : ERR_INVALID, buf_z(&text));
    buf_release(&text);
    return 0;
}

/* ---- looking ---- */

static void done_looking(struct page_call *c)
{
    if (c->looked)
        browser_seen_release(&c->seen);
    c->looked = false;
}

/* A look whose notes are for a later one. */
static int peek(struct page_call *c, struct outline *o, struct err *e)
{
    struct host *h = c->h;
    struct browser_seen seen;
    outline_release(o);
    if (h->reading) {
        weboutline_make(h->reader.web, h->page.base, o);
        return 0;
    }
    int rc = browser_see(h->b, &(struct browser_look){.outline = o}, &seen, e);
    json_free(h->b->notes);
    h->b->notes = seen.notes;
    seen.notes = NULL;
    if (h->b->console) {
        json_free(h->b->console);
        h->b->console = seen.console;
        seen.console = NULL;
    }
    browser_seen_release(&seen);
    return rc == 0 || h->b->cdp.held ? 0 : -1;
}

/* Refs of another page without a browser are others. */
static void follow_reader(struct host *h)
{
    unsigned load = webtext_load(h->reader.web);
    if (load == h->page.load)
        return;
    h->page.load = load;
    h->page.base = h->page.next;
    h->page.next += (unsigned)json_count(webtext_items(h->reader.web)) + 1;
}

/* Which document the active tab shows: another one has another name. */
static void name_document(struct host *h, char out[2 * BROWSER_ID])
{
    const struct target *t = h->b ? h->b->active : NULL;
    if (h->reading)
        snprintf(out, 2 * BROWSER_ID, "%u", h->page.load);
    else
        snprintf(out, 2 * BROWSER_ID, "%s %s", t ? t->id : "", t ? t->loader : "");
}

static bool is_blank_page(struct host *h)
{
    struct str url = h->reading     ? str_of(webtext_url(h->reader.web))
                     : h->b->active ? buf_str(&h->b->active->url)
                                    : STR("");
    return url.n == 0 || str_eq(url, STR("about:blank")) || str_eq(url, STR(":"));
}

static void put_console(struct page_call *c)
{
    int n = 0;
    for (const struct json *i = json_first(c->seen.console); i; i = json_next(i)) {
        struct str kind = json_str(i, "kind", ""), text = json_str(i, "text", "");
        if (!str_eq(kind, STR("error")) && !str_eq(kind, STR("exception")) &&
            !str_eq(kind, STR("assert")))
            continue;
        text = strip(text, "Uncaught ");
        long line = str_chr(text, '\n');
        text = str_sub(text, 0, line > 0 ? (size_t)line : text.n);
        if (n++ == 0)
            json_put_str(c->out, "console",
                         str_sub(text, 0, utf8_cut(text, text.n < 200 ? text.n : 200)));
    }
    if (n)
        json_put_int(c->out, "console_errors", n);
}

static void put_dialog(struct page_call *c)
{
    const struct browser *b = c->h->b;
    if (!b || !b->dialog.type[0])
        return;
    struct json *j = json_object();
    json_put_z(j, "type", b->dialog.type);
    json_put_str(j, "text", buf_str(&b->dialog.text));
    json_put(c->out, "dialog", j);
}

/* What is the same in each answer. */
static void put_place(struct page_call *c)
{
    struct host *h = c->h;
    struct json *notes;
    json_put_z(c->out, "mode", h->reading ? "text" : "chromium");
    if (h->reading) {
        json_put_z(c->out, "url", webtext_url(h->reader.web));
        json_put_z(c->out, "title", webtext_title(h->reader.web));
        json_put_int(c->out, "status", webtext_status(h->reader.web));
        notes = webtext_notes(h->reader.web);
    } else {
        json_put_str(c->out, "url", buf_str(&c->seen.url));
        json_put_str(c->out, "title", buf_str(&c->seen.title));
        json_put_int(c->out, "status",
                     h->b->cdp.held && h->b->active ? h->b->active->status
                                                    : c->seen.status);
        json_put_int(c->out, "tabs", json_count(c->seen.tabs));
        notes = c->seen.notes;
        c->seen.notes = NULL;
        put_console(c);
        put_dialog(c);
    }
    json_put_int(c->out, "refs", c->after.refs);
    host_put_notes(h, c->out, notes);
}

/* ---- pictures ---- */

static void save_picture(struct page_call *c, struct str shot, const char *format)
{
    struct buf path = BUF_INIT(PATH_MAX);
    struct err e = ERR_INIT;
    if (!c->h->dir[0])
        return;
    buf_addf(&path, "%s/page-%u.%s", c->h->dir, c->h->page.pictures++ % PICTURES_KEPT,
             strcmp(format, "jpeg") == 0 ? "jpg" : format);
    if (files_replace(buf_z(&path), shot, &(struct files_put){.mode = 0600}, &e) == 0)
        json_put_str(c->out, "picture", buf_str(&path));
    buf_release(&path);
}

/* Of the kind and the size that fit; 1: this one does not. */
static int take_picture(struct page_call *c, const char *format, double scale,
                        struct err *e)
{
    struct browser *b = c->h->b;
    struct browser_seen seen;
    struct outline none;
    struct buf text = BUF_INIT(SHOT_BYTES / 3 * 4 + 16);
    char type[24];
    int side = b->width > b->height ? b->width : b->height;
    scale *= side > PICTURE_SIDE ? (double)PICTURE_SIDE / side : 1;
    struct browser_look look = {.shot = true,
                                .marks = true,
                                .refs = true,
                                .outline = &none,
                                .format = format,
                                .scale = scale};
    outline_init(&none);
    int rc = browser_see(b, &look, &seen, e);
    if (rc == 0)
        rc = enc_base64(&text, buf_str(&seen.shot)) < 0 || text.n > PICTURE_MAX;
    if (rc == 0) {
        snprintf(type, sizeof(type), "image/%s", format);
        json_put_str(c->out, "shot", buf_str(&text));
        json_put_z(c->out, "shot_type", type);
        json_put_int(c->out, "width", (int64_t)(b->width * scale));
        json_put_int(c->out, "height", (int64_t)(b->height * scale));
        save_picture(c, buf_str(&seen.shot), format);
    }
    outline_release(&none);
    browser_seen_release(&seen);
    buf_release(&text);
    return rc;
}

static int put_picture(struct page_call *c, struct err *e)
{
    if (c->h->reading)
        return refuse(c, ERR_UNSUPPORTED,
                      "there is no picture without Chromium; look with view=\"text\"");
    int rc = take_picture(c, "png", 1, e);
    if (rc > 0)
        rc = take_picture(c, "jpeg", 1, e);
    if (rc > 0)
        rc = take_picture(c, "jpeg", 0.5, e);
    return rc > 0
               ? refuse(c, ERR_LIMIT, "the picture is too large; look with view=\"text\"")
               : rc;
}

/* ---- a page ---- */

static const char *title_of(const struct page_call *c)
{
    return c->h->reading ? webtext_title(c->h->reader.web) : buf_z(&c->seen.title);
}

/* The part that is wanted of all that the view has, or what is around a text. */
static void put_part(struct page_call *c, const struct buf *page, size_t head,
                     bool outline)
{
    struct str find = json_str(c->q, "find", ""), all = buf_str(page), part;
    struct buf text = BUF_INIT(SIZE_MAX_BYTES + 64);
    unsigned shown = 0, found = 0;
    size_t at = 0;
    int number = c->part;
    if (find.n && outline)
        found = outline_find(&c->after, find, c->size, &text, &shown, &at);
    else if (find.n)
        found = outline_find_text(str_sub(all, head, all.n), find, c->size, &text, &shown,
                                  &at);
    if (find.n)
        number = browser_page_at(all, c->size, head + at);
    int parts = browser_page_of(all, c->size, number, &part);
    if (find.n) {
        const struct outline_item *near = found ? NULL
                                                : outline_near(&c->after, find, false);
        json_put_int(c->out, "places", found);
        json_put_int(c->out, "shown", shown);
        if (near) {
            buf_reset(&text);
            outline_put_item(&c->after, near, &text);
            json_put_str(c->out, "near", buf_str(&text));
            buf_reset(&text);
        }
        part = buf_str(&text);
    }
    json_put_str(c->out, "text", part);
    json_put_int(c->out, "part", number);
    json_put_int(c->out, "parts", parts);
    buf_release(&text);
}

static int see_page(struct page_call *c, bool text, struct err *e)
{
    struct host *h = c->h;
    done_looking(c);
    outline_release(&c->after);
    if (h->reading) {
        follow_reader(h);
        weboutline_make(h->reader.web, h->page.base, &c->after);
        return 0;
    }
    struct browser_look look = {.outline = &c->after, .text = text, .refs = true};
    int rc = browser_see(h->b, &look, &c->seen, e);
    c->looked = true;
    return rc == 0 || h->b->cdp.held ? 0 : -1;
}

static void put_title(const struct page_call *c, struct buf *out)
{
    struct str title = str_trim(str_of(title_of(c)));
    if (title.n)
        buf_addf(out, "%.*s\n", STR_ARG(str_sub(title, 0, 200)));
}

static int put_page(struct page_call *c, struct err *e)
{
    struct str view = json_str(c->q, "view", "");
    bool text = str_eq(view, STR("text")), picture = str_eq(view, STR("image"));
    if (see_page(c, text, e) < 0)
        return -1;
    /* What is no HTML is nothing but its text. */
    if (!text && !picture && c->h->b && !c->seen.is_html && !c->h->b->cdp.held) {
        json_free(c->h->b->notes);
        c->h->b->notes = c->seen.notes;
        c->seen.notes = NULL;
        text = true;
        if (see_page(c, true, e) < 0)
            return -1;
    }
    if (picture && !(c->h->b && c->h->b->cdp.held)) {
        int rc = put_picture(c, e);
        put_place(c);
        return rc;
    }
    struct buf page = BUF_INIT(TEXT_BYTES);
    put_title(c, &page);
    size_t head = page.n;
    if (text && c->h->reading)
        weboutline_text(c->h->reader.web, c->h->page.base, &page);
    else if (text)
        buf_adds(&page, buf_str(&c->seen.text));
    else
        outline_print(&c->after, &page);
    put_part(c, &page, head, !text);
    json_put_z(c->out, "view", text ? "text" : "outline");
    put_place(c);
    buf_release(&page);
    return 0;
}

/* ---- which element ---- */

/* What was known of a ref that is not on the page now. */
static int refuse_gone(struct page_call *c, unsigned ref)
{
    struct host *h = c->h;
    struct buf text = BUF_INIT(1000);
    const struct outline_item *known = outline_ref(&h->page.known, ref), *near = NULL;
    struct element *el = h->b ? browser_element_of_ref(h->b, ref) : NULL;
    if (el && el->seen == h->b->looks) {
        buf_addf(&text, "e%u is hidden now", ref);
    } else {
        buf_addf(&text, "e%u %s", ref,
                 known ? "was removed from the page" : "is not on the page");
        if (known && known->name)
            near = outline_near(&c->before, outline_name(&h->page.known, known), true);
        if (near) {
            buf_addz(&text, "; now there: ");
            outline_put_item(&c->before, near, &text);
        } else {
            buf_addz(&text, "; browse shows what is there");
        }
    }
    refuse(c, ERR_NOTFOUND, buf_z(&text));
    buf_release(&text);
    return -1;
}

/* Where an item is, in a word or two. */
static void put_where(const struct outline *o, const struct outline_item *i,
                      struct buf *out)
{
    struct str path = outline_path(o, i);
    long row = -1;
    for (size_t k = 0; k + 5 < path.n; k++) {
        if (str_starts(str_sub(path, k, path.n), STR(" row ")))
            row = (long)k + 1;
    }
    if (row < 0) {
        for (size_t k = 0; k + 3 < path.n; k++) {
            if (str_starts(str_sub(path, k, path.n), STR(" > ")))
                row = (long)k + 3;
        }
    }
    buf_addf(out, "e%u %.*s", i->ref, STR_ARG(outline_role(o, i)));
    if (path.n)
        buf_addf(out, " in %.*s", STR_ARG(str_sub(path, row > 0 ? (size_t)row : 0, 80)));
}

static int refuse_many(struct page_call *c, const struct outline_item **found, unsigned n)
{
    struct buf text = BUF_INIT(2048);
    outline_quote(&text, c->ref);
    buf_addf(&text, " fits %u elements: ", n);
    for (unsigned i = 0; i < n && i < FITS_SHOWN; i++) {
        if (i)
            buf_addz(&text, ", ");
        put_where(&c->before, found[i], &text);
    }
    if (n > FITS_SHOWN)
        buf_addf(&text, " and %u more", n - FITS_SHOWN);
    buf_addz(&text, ". Give one ref.");
    refuse(c, ERR_INVALID, buf_z(&text));
    buf_release(&text);
    return -1;
}

static int refuse_none(struct page_call *c)
{
    struct buf text = BUF_INIT(1000);
    const struct outline_item *near = outline_near(&c->before, c->ref, true);
    buf_addz(&text, "nothing with a ref says ");
    outline_quote(&text, c->ref);
    if (near) {
        buf_addz(&text, "; nearest: ");
        outline_put_item(&c->before, near, &text);
    } else {
        buf_addz(&text, "; browse shows what has one");
    }
    refuse(c, ERR_NOTFOUND, buf_z(&text));
    buf_release(&text);
    return -1;
}

/* e12, [e12] and @e12; 0: it is no ref. */
static unsigned ref_number(struct str s)
{
    uint64_t n = 0;
    s = strip(strip(str_trim(s), "["), "@");
    if (s.n && s.p[s.n - 1] == ']')
        s.n--;
    bool is = s.n > 1 && s.p[0] == 'e' && str_to_u64(str_sub(s, 1, s.n), &n) == 0;
    return is && n < 1u << 31 ? (unsigned)n : 0;
}

/* The bid of what c->ref names; -1: the answer says why not. */
static int find_bid(struct page_call *c, struct buf *bid)
{
    const struct outline_item *found[FITS_SHOWN];
    unsigned ref = ref_number(c->ref), n = 0;
    const struct outline_item *it = ref ? outline_ref(&c->before, ref) : NULL;
    if (ref && !it)
        return refuse_gone(c, ref);
    if (!ref) {
        n = outline_match(&c->before, c->ref, found, FITS_SHOWN);
        if (n != 1)
            return n ? refuse_many(c, found, n) : refuse_none(c);
        it = found[0];
    }
    snprintf(c->name, sizeof(c->name), "e%u", it->ref);
    if (c->h->reading) {
        buf_addf(bid, "%u", it->ref - c->h->page.base);
        return 0;
    }
    const struct element *el = browser_element_of_ref(c->h->b, it->ref);
    if (!el)
        return refuse_gone(c, it->ref);
    buf_addz(bid, el->bid);
    return 0;
}

/* ---- what is done ---- */

static void put_call(struct buf *out, const char *name, struct str one, struct str two)
{
    buf_addf(out, "%s(", name);
    if (one.p)
        browse_repr_text(out, one);
    if (two.p) {
        buf_addz(out, ", ");
        browse_repr_text(out, two);
    }
    buf_addz(out, ") ");
}

/* "C-a", "S-Tab", "Esc" in the words of the action language. */
static void put_key(struct buf *out, struct str key)
{
    static const char *const words[][2] = {{"Esc", "Escape"},       {"Up", "ArrowUp"},
                                           {"Down", "ArrowDown"},   {"Left", "ArrowLeft"},
                                           {"Right", "ArrowRight"}, {"PgUp", "PageUp"},
                                           {"PgDn", "PageDown"},    {"Del", "Delete"},
                                           {"BS", "Backspace"},     {"Return", "Enter"}};
    static const char *const held[][2] = {{"C-", "Control+"},
                                          {"S-", "Shift+"},
                                          {"M-", "Alt+"},
                                          {"A-", "Alt+"},
                                          {"Ctrl+", "Control+"}};
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++) {
        struct str prefix = str_of(held[i][0]);
        if (str_starts(key, prefix) && key.n > prefix.n) {
            buf_addz(out, held[i][1]);
            key = str_sub(key, prefix.n, key.n);
            i = (size_t)-1; /* there may be another one */
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(key, str_of(words[i][0])))
            key = str_of(words[i][1]);
    }
    buf_adds(out, key);
}

/* Keys with blanks between; the first is for the element, if one is named. */
static void put_keys(struct buf *out, struct str bid, struct str keys)
{
    for (keys = str_trim(keys); keys.n;) {
        struct buf key = BUF_INIT(1 << 16);
        put_key(&key, str_trim(str_cut(&keys, ' ')));
        if (bid.n)
            put_call(out, "press", bid, buf_str(&key));
        else
            put_call(out, "keyboard_press", buf_str(&key), (struct str){0});
        bid.n = 0;
        keys = str_trim(keys);
        buf_release(&key);
    }
}

static int put_scroll(struct page_call *c, struct buf *out, struct str bid)
{
    int height = c->h->b ? c->h->b->height : 0, width = c->h->b ? c->h->b->width : 0;
    int step = height * 9 / 10;
    struct str way = str_trim(c->text);
    if (bid.n)
        put_call(out, "hover", bid, (struct str){0});
    if (str_eq(way, STR("up")))
        step = -step;
    else if (str_eq(way, STR("top")) || str_eq(way, STR("bottom")))
        step = way.p[0] == 't' ? -1000000 : 1000000;
    else if (way.n && !str_eq(way, STR("down")))
        return refuse(c, ERR_INVALID, "text is up, down, top or bottom") - 1;
    if (!bid.n)
        buf_addf(out, "scroll_at(%d, %d, 0, %d)", width / 2, height / 2, step);
    else if (way.n)
        buf_addf(out, "scroll(0, %d)", step);
    return 0;
}

/* The action as a text of the action language. -1: the answer says why not. */
static int compose(struct page_call *c, struct str bid, struct buf *out)
{
    const struct str none = {0};
    switch (c->act) {
    case CLICK:
    case HOVER:
        put_call(out, act_names[c->act], bid, none);
        break;
    case FILL:
        put_call(out, "fill", bid, c->text.p ? c->text : STR(""));
        if (json_bool(c->q, "submit", false))
            put_call(out, "press", bid, STR("Enter"));
        break;
    case SELECT:
        put_call(out, "select_option", bid, c->text);
        break;
    case UPLOAD:
        put_call(out, "upload_file", bid, c->text);
        break;
    case PRESS:
        put_keys(out, bid, c->text);
        break;
    case SCROLL:
        return put_scroll(c, out, bid);
    case BACK:
        put_call(out, "go_back", none, none);
        break;
    case FORWARD:
        put_call(out, "go_forward", none, none);
        break;
    case RELOAD:
        put_call(out, "reload", none, none);
        break;
    default:
        buf_addz(out, "wait_for(text=");
        browse_repr_text(out, c->text);
        buf_addf(out, ", ms=%d)", c->wait_ms);
    }
    return 0;
}

/* Returns -1 if the action needs what was not given; the answer says so. */
static int check_given(struct page_call *c)
{
    if (c->h->reading && (c->act == SCROLL || c->act == HOVER)) {
        refuse(c, ERR_UNSUPPORTED,
               "the page is read without Chromium: there is no pointer and nothing to "
               "scroll; browse has all parts of it");
        return -1;
    }
    char text[160];
    bool dialog = c->h->b && c->h->b->dialog.type[0];
    bool named = c->act == CLICK || c->act == HOVER || c->act == SELECT ||
                 c->act == UPLOAD || (c->act == FILL && !dialog);
    bool worded = c->act == SELECT || c->act == UPLOAD || c->act == PRESS ||
                  c->act == WAIT;
    if (named && !c->ref.n) {
        snprintf(text, sizeof(text),
                 "ref is missing; %s needs the ref of an element, such as e12, or its "
                 "visible text",
                 act_names[c->act]);
        return refuse(c, ERR_INVALID, text) - 1;
    }
    if (worded && !c->text.n) {
        snprintf(text, sizeof(text), "text is missing; %s needs %s", act_names[c->act],
                 c->act == SELECT   ? "the option"
                 : c->act == UPLOAD ? "the path of a file"
                 : c->act == PRESS  ? "a key, such as Enter or C-a"
                                    : "the text to wait for");
        return refuse(c, ERR_INVALID, text) - 1;
    }
    return 0;
}

/* ---- differences ---- */

static bool is_same(const struct outline *a, const struct outline *b)
{
    struct buf none = BUF_INIT(0);
    struct outline_change change;
    outline_compare(a, b, 0, &none, &change);
    buf_release(&none);
    return !change.added && !change.removed && !change.changed;
}

/* Something may come of it yet. */
static int await_change(struct page_call *c, const char *document, struct err *e)
{
    struct browser *b = c->h->b;
    char now[2 * BROWSER_ID], ms[16];
    int64_t end = browser_in(c->wait_ms < CHANGE_MS ? c->wait_ms : CHANGE_MS);
    for (;;) {
        int64_t left = end - clock_ms();
        name_document(c->h, now);
        if (left <= 0 || halt_over(&c->h->halt) || b->cdp.held ||
            strcmp(now, document) != 0 || !is_same(&c->before, &c->after))
            return 0;
        snprintf(ms, sizeof(ms), "%d", (int)left);
        struct json *p = browser_script(changed_js, ms);
        struct err gone = ERR_INIT;
        json_free(cdp_call(&b->cdp, browser_session_of(b->active), "Runtime.evaluate", p,
                           end + BROWSER_ELEMENT_MS, &gone));
        browser_settle(b, BROWSE_CLICK);
        if (peek(c, &c->after, e) < 0)
            return -1;
    }
}

/* As many lines of another page as there is room for, and how many refs they have. */
static void put_beginning(struct page_call *c)
{
    struct buf page = BUF_INIT(TEXT_BYTES);
    struct str part;
    unsigned shown = 0;
    char ref[16];
    put_title(c, &page);
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
    struct err e = ERR_INIT;
    if (c->act != SCROLL || !c->h->b || c->h->b->cdp.held)
        return;
    struct json *j = browser_run_script(c->h->b, scroll_place_js, "", &e);
    struct str place = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    if (place.n)
        json_put_str(c->out, "scrolled", str_sub(place, 0, 80));
    json_free(j);
}

static void remember(struct page_call *c)
{
    struct host *h = c->h;
    outline_release(&h->page.known);
    h->page.known = c->after;
    outline_init(&c->after);
    name_document(h, h->page.document);
}

/* ---- acting ---- */

/* Carries out a text; -1: it failed, and why is in error. */
static int carry_out(struct page_call *c, struct str actions, struct str *error)
{
    struct host *h = c->h;
    int rc;
    if (h->reading) {
        rc = webreader_act(&h->reader, actions);
        *error = str_of(h->reader.why.text);
    } else {
        rc = browser_act(h->b, actions);
        *error = buf_str(&h->b->error);
        if (rc < 0 && h->b->cdp.held)
            rc = 0; /* what opened the dialog is not answered before it is closed */
        if (!h->b->cdp.held && h->b->downloads > 0)
            browser_finish_downloads(h->b, STALLED_MS);
    }
    return rc;
}

/* An open dialog takes Enter, Esc and the text of a prompt, and nothing else. 1: it did
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
        refuse(c, ERR_BUSY, buf_z(&text));
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

/* What has not been done leaves the page as it was. */
static int tell_failed(struct page_call *c, struct str error, struct err *e)
{
    refuse_failed(c, error);
    if (!json_has(c->out, "disabled"))
        return 0;
    if (see_page(c, false, e) < 0)
        return -1;
    put_changes(c, &c->after);
    put_place(c);
    return 0;
}

static int refuse_late(struct page_call *c, struct err *e)
{
    struct buf text = BUF_INIT(1000);
    if (see_page(c, false, e) < 0)
        return -1;
    const struct outline_item *near = outline_near(&c->after, c->text, false);
    buf_addf(&text, "not there after %g s: ", c->wait_ms / 1000.0);
    outline_quote(&text, c->text);
    if (near) {
        buf_addz(&text, "; nearest: ");
        outline_quote(&text, outline_name(&c->after, near));
    }
    refuse(c, ERR_TIMEOUT, buf_z(&text));
    remember(c);
    buf_release(&text);
    return 0;
}

/* Behind the action: what the page is now, against what the caller has seen of it. */
static int tell_after(struct page_call *c, const char *document, struct err *e)
{
    struct host *h = c->h;
    char now[2 * BROWSER_ID];
    bool waits = c->act == CLICK || c->act == PRESS || c->act == SELECT ||
                 c->act == FILL || c->act == HOVER;
    if (!h->reading && waits && !h->b->cdp.held &&
        (peek(c, &c->after, e) < 0 || await_change(c, document, e) < 0))
        return -1;
    if (see_page(c, false, e) < 0)
        return -1;
    name_document(h, now);
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
    put_place(c);
    if (!(h->b && h->b->cdp.held))
        remember(c);
    return 0;
}

static int act_on_page(struct page_call *c, struct err *e)
{
    struct host *h = c->h;
    struct buf bid = BUF_INIT(64), actions = BUF_INIT(2 * BROWSE_TEXT_MAX);
    struct str error = {0};
    char document[2 * BROWSER_ID];
    int rc = check_given(c);
    bool dialog = h->b && h->b->dialog.type[0];
    name_document(h, document);
    buf_adds(&c->was, h->reading     ? str_of(webtext_url(h->reader.web))
                      : h->b->active ? buf_str(&h->b->active->url)
                                     : STR(""));
    if (rc == 0 && is_blank_page(h)) {
        refuse_blank(c);
        rc = -1;
    }
    if (rc == 0 && dialog) {
        rc = answer_dialog(c);
        rc = rc > 0 ? (h->page.known.n ? 0 : peek(c, &c->before, e)) : rc;
        rc = rc == 0 ? (tell_after(c, document, e) < 0 ? -2 : -1) : rc;
    }
    if (rc == 0)
        rc = peek(c, &c->before, e) < 0 ? -2 : 0;
    if (rc == 0 && c->ref.n)
        rc = find_bid(c, &bid);
    if (rc == 0)
        rc = compose(c, buf_str(&bid), &actions);
    if (rc == 0 && carry_out(c, buf_str(&actions), &error) < 0) {
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

static int open_page(struct page_call *c, struct str url, struct err *e)
{
    struct host *h = c->h;
    struct buf go = BUF_INIT(2 << 20);
    struct str error = {0};
    if (h->b)
        browser_dismiss_dialog(h->b);
    put_call(&go, "goto", url, (struct str){0});
    int rc = carry_out(c, buf_str(&go), &error);
    buf_release(&go);
    bool file = str_find(error, STR("Download is starting")) >= 0;
    if (rc < 0 && halt_over(&h->halt))
        return -1;
    if (rc < 0 && !file)
        return refuse_failed(c, error);
    if (rc == 0)
        return put_page(c, e);
    /* It became a file: the page is the one before, and notes say where the file is. */
    if (see_page(c, false, e) < 0)
        return -1;
    json_put_bool(c->out, "downloaded", true);
    json_put_z(c->out, "text", "");
    put_place(c);
    return 0;
}

static enum act act_of(struct str name)
{
    for (size_t i = 1; i < sizeof(act_names) / sizeof(*act_names); i++) {
        if (str_eq(name, str_of(act_names[i])))
            return (enum act)i;
    }
    return LOOK;
}

static void begin(struct page_call *c, struct host *h, const struct json *q,
                  struct json *out)
{
    int64_t size = json_int(q, "size", SIZE), wait = json_int(q, "wait_ms", WAIT_MS);
    *c = (struct page_call){.h = h,
                            .q = q,
                            .out = out,
                            .act = act_of(json_str(q, "act", "")),
                            .ref = json_str(q, "ref", ""),
                            .text = json_str(q, "text", ""),
                            .part = (int)json_int(q, "part", 1)};
    c->size = (size_t)(size < 1000             ? 1000
                       : size > SIZE_MAX_BYTES ? SIZE_MAX_BYTES
                                               : size);
    c->wait_ms = (int)(wait < 0 ? 0 : wait > WAIT_MS_MAX ? WAIT_MS_MAX : wait);
    c->part = c->part < 1 ? 1 : c->part;
    buf_init(&c->was, 1 << 20);
    outline_init(&c->before);
    outline_init(&c->after);
}

int host_page(struct host *h, const struct json *q, struct json *out, struct err *e)
{
    struct page_call c;
    struct str url = json_str(q, "url", "");
    int rc;
    begin(&c, h, q, out);
    if (h->b) {
        browser_read_documents(h->b, true);
        h->b->reads_all = true;
        h->b->asks = true;
    } else {
        follow_reader(h);
    }
    if (c.act != LOOK)
        rc = act_on_page(&c, e);
    else if (url.n)
        rc = open_page(&c, url, e);
    else if (is_blank_page(h))
        rc = refuse_blank(&c);
    else
        rc = put_page(&c, e);
    if (rc == 0 && c.act == LOOK && c.after.n)
        remember(&c);
    done_looking(&c);
    buf_release(&c.was);
    outline_release(&c.before);
    outline_release(&c.after);
    return rc;
}
