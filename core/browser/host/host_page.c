/* SPDX-License-Identifier: MIT */
/*
 * A call about one page, as a model makes it ("page" in host.h): opens it, looks at it as
 * an outline with refs, or acts on it (host_page_act.c). Without a Chromium, it uses the
 * reader's page.
 */
#include "base/enc.h"
#include "base/utf8.h"
#include "browser/host/host_page_own.h"
#include "browser/driver/page.h"
#include "file/files.h"
#include "webpage/weboutline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIZE = 16000, /* bytes of a part, by default */
    SIZE_MAX_BYTES = 100000,
    WAIT_MS = 10000,
    WAIT_MS_MAX = 100000,
    STALLED_MS = 3000, /* a download without progress */
    PICTURE_SIDE = 1568,
    PICTURE_MAX = 700000, /* bytes of base64 */
    SHOT_BYTES = 48 << 20,
    TEXT_BYTES = 17 << 20,
    PICTURES_KEPT = 16,
    TAB_URL_MAX = 300 /* bytes of an address in a list of tabs */
};

const char *const host_page_acts[] = {"",        "click",      "hover",    "fill",
                                      "select",  "press",      "scroll",   "upload",
                                      "back",    "forward",    "reload",   "wait",
                                      "new_tab", "switch_tab", "close_tab"};

/* ---- errors, which are answers ---- */

int host_page_refuse(struct page_call *c, enum err_code code, const char *text)
{
    json_put_z(c->out, "error", text);
    json_put_int(c->out, "code", code);
    return 0;
}

int host_page_refuse_blank(struct page_call *c)
{
    return host_page_refuse(c, ERR_NOTFOUND, "no page is open yet: open one with url");
}

struct str host_page_strip(struct str s, const char *word)
{
    return str_starts(s, str_of(word)) ? str_sub(s, strlen(word), s.n) : s;
}

/* "Error: Locator.click: …" without the part that names a place in a library. */
static struct str without_class(struct str s)
{
    s = host_page_strip(
        host_page_strip(host_page_strip(s, "TimeoutError: "), "ValueError: "), "Error: ");
    long colon = str_find(s, STR(": "));
    struct str head = str_sub(s, 0, colon > 0 ? (size_t)colon : 0);
    bool api = str_starts(head, STR("Page.")) || str_starts(head, STR("Locator.")) ||
               str_starts(head, STR("Keyboard.")) || str_starts(head, STR("Mouse.")) ||
               str_starts(head, STR("FileChooser."));
    s = api ? str_sub(s, (size_t)colon + 2, s.n) : s;
    return host_page_strip(s, "Error: ");
}

/* Without a browser, an error has the bid of the ref. */
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

int host_page_refuse_failed(struct page_call *c, struct str error)
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
    host_page_refuse(c, at >= 0 ? ERR_TIMEOUT : ERR_INVALID, buf_z(&text));
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

/* A look that keeps its notes for a later one. */
static void note_title(struct page_call *c, const struct browser_seen *seen)
{
    c->retitled = c->url.n > 0 && str_eq(buf_str(&c->url), buf_str(&seen->url)) &&
                  !str_eq(buf_str(&c->title), buf_str(&seen->title));
    buf_reset(&c->url);
    buf_adds(&c->url, buf_str(&seen->url));
    buf_reset(&c->title);
    buf_adds(&c->title, buf_str(&seen->title));
}

int host_page_peek(struct page_call *c, struct outline *o, struct err *e)
{
    struct host *h = c->h;
    struct browser_seen seen;
    outline_release(o);
    if (h->reading) {
        weboutline_make(h->reader.web, h->page.base, o);
        return 0;
    }
    int rc = browser_see(h->b, &(struct browser_want){.outline = o}, &seen, e);
    json_free(h->b->notes);
    h->b->notes = seen.notes;
    seen.notes = NULL;
    if (h->b->console) {
        json_free(h->b->console);
        h->b->console = seen.console;
        seen.console = NULL;
    }
    note_title(c, &seen);
    browser_seen_release(&seen);
    return rc == 0 || h->b->cdp.held ? 0 : -1;
}

/* Without a browser, refs of one page mean nothing on another. */
static void follow_reader(struct host *h)
{
    unsigned load = webtext_load(h->reader.web);
    if (load == h->page.load)
        return;
    h->page.load = load;
    h->page.base = h->page.next;
    h->page.next += (unsigned)json_count(webtext_items(h->reader.web)) + 1;
}

/* The name of the active tab's document: different documents have different names. */
void host_page_name(struct host *h, char out[2 * BROWSER_ID])
{
    const struct target *t = h->b ? h->b->active : NULL;
    if (h->reading)
        snprintf(out, 2 * BROWSER_ID, "%u", h->page.load);
    else
        snprintf(out, 2 * BROWSER_ID, "%s %s", t ? t->id : "", t ? t->loader : "");
}

bool host_page_is_blank(struct host *h)
{
    struct str url = h->reading     ? str_of(webtext_url(h->reader.web))
                     : h->b->active ? buf_str(&h->b->active->url)
                                    : STR("");
    return url.n == 0 || str_eq(url, STR("about:blank")) || str_eq(url, STR(":"));
}

int host_page_tabs(struct host *h, int *active)
{
    int n = 0;
    const struct target *t;
    if (h->reading) {
        struct json *all = webreader_tabs(&h->reader);
        n = (int)json_count(all);
        *active = webtext_tab_active(h->reader.web) + 1;
        json_free(all);
        return n;
    }
    *active = 0;
    while ((t = browser_page(h->b, n))) {
        n++;
        if (t == h->b->active)
            *active = n;
    }
    return n;
}

void host_page_put_tabs(struct host *h, struct buf *out)
{
    int active, n = 0;
    struct json *all = h->reading ? webreader_tabs(&h->reader) : json_array();
    const struct target *t;
    for (int i = 0; h->b && (t = browser_page(h->b, i)); i++) {
        struct json *tab = json_object();
        json_put_str(tab, "url", buf_str(&t->url));
        json_put_str(tab, "title", buf_str(&t->title));
        json_push(all, tab);
    }
    host_page_tabs(h, &active);
    for (const struct json *j = json_first(all); j; j = json_next(j)) {
        struct str url = json_str(j, "url", "");
        buf_addf(out, "%d ", ++n);
        outline_quote(out, str_trim(json_str(j, "title", "")));
        buf_addf(out, " %.*s%s\n", STR_ARG(str_sub(url, 0, TAB_URL_MAX)),
                 n == active ? " (current)" : "");
    }
    json_free(all);
}

static void put_console(struct page_call *c)
{
    int n = 0;
    for (const struct json *i = json_first(c->seen.console); i; i = json_next(i)) {
        struct str kind = json_str(i, "kind", ""), text = json_str(i, "text", "");
        if (!str_eq(kind, STR("error")) && !str_eq(kind, STR("exception")) &&
            !str_eq(kind, STR("assert")))
            continue;
        text = host_page_strip(text, "Uncaught ");
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

/* Adds the members that every answer has. */
void host_page_put_place(struct page_call *c)
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
        notes = c->seen.notes;
        c->seen.notes = NULL;
        put_console(c);
        put_dialog(c);
    }
    int active, tabs = host_page_tabs(h, &active);
    json_put_int(c->out, "tabs", tabs);
    json_put_int(c->out, "tab", active);
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

/* Makes a picture of a kind and size that fit. Returns 1 if this one does not. */
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
    struct browser_want want = {.shot = true,
                                .marks = true,
                                .refs = true,
                                .outline = &none,
                                .format = format,
                                .scale = scale};
    outline_init(&none);
    int rc = browser_see(b, &want, &seen, e);
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
        return host_page_refuse(
            c, ERR_UNSUPPORTED,
            "there is no picture without Chromium; try view=\"text\"");
    int rc = take_picture(c, "png", 1, e);
    if (rc > 0)
        rc = take_picture(c, "jpeg", 1, e);
    if (rc > 0)
        rc = take_picture(c, "jpeg", 0.5, e);
    return rc > 0 ? host_page_refuse(c, ERR_LIMIT,
                                     "the picture is too large; try view=\"text\"")
                  : rc;
}

/* ---- a page ---- */

static const char *title_of(const struct page_call *c)
{
    return c->h->reading ? webtext_title(c->h->reader.web) : buf_z(&c->seen.title);
}

/* Adds the requested part of the view, or the surroundings of a text. */
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

int host_page_see(struct page_call *c, bool text, struct err *e)
{
    struct host *h = c->h;
    done_looking(c);
    outline_release(&c->after);
    if (h->reading) {
        follow_reader(h);
        weboutline_make(h->reader.web, h->page.base, &c->after);
        return 0;
    }
    struct browser_want want = {.outline = &c->after, .text = text, .refs = true};
    int rc = browser_see(h->b, &want, &c->seen, e);
    c->looked = true;
    return rc == 0 || h->b->cdp.held ? 0 : -1;
}

void host_page_put_title(const struct page_call *c, struct buf *out)
{
    struct str title = str_trim(str_of(title_of(c)));
    if (title.n)
        buf_addf(out, "%.*s\n", STR_ARG(str_sub(title, 0, 200)));
}

static int put_page(struct page_call *c, struct err *e)
{
    struct str view = json_str(c->q, "view", "");
    bool tabs = str_eq(view, STR("tabs"));
    bool text = str_eq(view, STR("text")), picture = str_eq(view, STR("image"));
    if (host_page_see(c, text, e) < 0)
        return -1;
    /* A document that is not HTML has only a text. */
    if (!text && !picture && !tabs && c->h->b && !c->seen.is_html && !c->h->b->cdp.held) {
        json_free(c->h->b->notes);
        c->h->b->notes = c->seen.notes;
        c->seen.notes = NULL;
        text = true;
        if (host_page_see(c, true, e) < 0)
            return -1;
    }
    if (picture && !(c->h->b && c->h->b->cdp.held)) {
        int rc = put_picture(c, e);
        host_page_put_place(c);
        return rc;
    }
    struct buf page = BUF_INIT(TEXT_BYTES);
    if (!tabs)
        host_page_put_title(c, &page);
    size_t head = page.n;
    if (tabs)
        host_page_put_tabs(c->h, &page);
    else if (text && c->h->reading)
        weboutline_text(c->h->reader.web, c->h->page.base, &page);
    else if (text)
        buf_adds(&page, buf_str(&c->seen.text));
    else
        outline_print(&c->after, &page);
    put_part(c, &page, head, !text && !tabs);
    json_put_z(c->out, "view", tabs ? "tabs" : text ? "text" : "outline");
    host_page_put_place(c);
    buf_release(&page);
    return 0;
}

void host_page_remember(struct page_call *c)
{
    struct host *h = c->h;
    outline_release(&h->page.known);
    h->page.known = c->after;
    outline_init(&c->after);
    host_page_name(h, h->page.document);
}

/* Carries out a text. Returns -1 and sets *error if it failed. */
int host_page_carry_out(struct page_call *c, struct str actions, struct str *error)
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
            rc = 0; /* its act is answered when the dialog is closed */
        if (!h->b->cdp.held && h->b->downloads > 0)
            browser_finish_downloads(h->b, STALLED_MS);
    }
    return rc;
}

static int open_page(struct page_call *c, struct str url, struct err *e)
{
    struct host *h = c->h;
    struct buf go = BUF_INIT(2 << 20);
    struct str error = {0};
    if (h->b)
        browser_dismiss_dialog(h->b);
    host_page_put_call(&go, "goto", url, (struct str){0});
    int rc = host_page_carry_out(c, buf_str(&go), &error);
    buf_release(&go);
    bool file = str_find(error, STR("Download is starting")) >= 0;
    if (rc < 0 && halt_over(&h->halt))
        return -1;
    if (rc < 0 && !file)
        return host_page_refuse_failed(c, error);
    if (rc == 0)
        return put_page(c, e);
    /* It became a file: the page is the previous one, and notes name the file. */
    if (host_page_see(c, false, e) < 0)
        return -1;
    json_put_bool(c->out, "downloaded", true);
    json_put_z(c->out, "text", "");
    host_page_put_place(c);
    return 0;
}

static enum page_act act_of(struct str name)
{
    for (size_t i = 1; i < sizeof(host_page_acts) / sizeof(*host_page_acts); i++) {
        if (str_eq(name, str_of(host_page_acts[i])))
            return (enum page_act)i;
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
    buf_init(&c->url, 1 << 20);
    buf_init(&c->title, 1 << 20);
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
        rc = host_page_act(&c, e);
    else if (url.n)
        rc = open_page(&c, url, e);
    else if (host_page_is_blank(h) && !str_eq(json_str(q, "view", ""), STR("tabs")))
        rc = host_page_refuse_blank(&c);
    else
        rc = put_page(&c, e);
    if (rc == 0 && c.act == LOOK && c.after.n)
        host_page_remember(&c);
    done_looking(&c);
    buf_release(&c.was);
    buf_release(&c.url);
    buf_release(&c.title);
    outline_release(&c.before);
    outline_release(&c.after);
    return rc;
}
