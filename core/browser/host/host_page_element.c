/* SPDX-License-Identifier: MIT */
/* Finds the element of a page by its ref or its text, and composes the act on it. */
#include "browser/host/host_page_own.h"
#include "browser/driver/js.h"

#include <stdio.h>
#include <string.h>

enum { FITS_SHOWN = 6 };

/* ---- finding the element ---- */

/* Describes a ref that is no longer on the page. */
static int refuse_gone(struct page_call *c, unsigned ref)
{
    struct host *h = c->h;
    struct buf text = BUF_INIT(1000);
    const struct outline_item *known = outline_ref(&h->page.known, ref), *near = NULL;
    struct element *el = h->b ? browser_element_of_ref(h->b, ref) : NULL;
    if (el && el->seen == h->b->snapshots) {
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
    host_page_refuse(c, ERR_NOTFOUND, buf_z(&text));
    buf_release(&text);
    return -1;
}

/* Describes the place of an item in a word or two. */
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
    host_page_refuse(c, ERR_INVALID, buf_z(&text));
    buf_release(&text);
    return -1;
}

/* A choice of a drop-down list has no ref. Returns whether c->ref is one. */
static bool refuse_choice(struct page_call *c)
{
    struct buf text = BUF_INIT(1000), choice = BUF_INIT(300);
    const struct outline_item *list = NULL;
    outline_quote(&choice, str_trim(c->ref));
    for (size_t i = 0; i < c->before.n && !list && c->act == CLICK; i++) {
        const struct outline_item *it = &c->before.items[i];
        struct str rest = outline_rest(&c->before, it);
        long of = str_find(rest, STR(" of \""));
        if (it->ref && of >= 0 &&
            str_find(str_sub(rest, (size_t)of, rest.n), buf_str(&choice)) >= 0)
            list = it;
    }
    if (list) {
        buf_addf(&text, "%.*s is a choice of e%u: select ref=\"e%u\" text=%.*s",
                 STR_ARG(buf_str(&choice)), list->ref, list->ref,
                 STR_ARG(buf_str(&choice)));
        host_page_refuse(c, ERR_INVALID, buf_z(&text));
    }
    buf_release(&choice);
    buf_release(&text);
    return list != NULL;
}

static int refuse_none(struct page_call *c)
{
    if (refuse_choice(c))
        return -1;
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
    host_page_refuse(c, ERR_NOTFOUND, buf_z(&text));
    buf_release(&text);
    return -1;
}

/* The number in e12, [e12] or @e12; 0: not a ref. */
static unsigned ref_number(struct str s)
{
    uint64_t n = 0;
    s = host_page_strip(host_page_strip(str_trim(s), "["), "@");
    if (s.n && s.p[s.n - 1] == ']')
        s.n--;
    bool is = s.n > 1 && s.p[0] == 'e' && str_to_u64(str_sub(s, 1, s.n), &n) == 0;
    return is && n < 1u << 31 ? (unsigned)n : 0;
}

/* Finds the bid of c->ref. Returns -1 if there is none; the answer has the reason. */
int host_page_find_bid(struct page_call *c, struct buf *bid)
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

/* ---- composing the act ---- */

void host_page_put_call(struct buf *out, const char *name, struct str one, struct str two)
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
            i = (size_t)-1; /* it may contain another one */
        }
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(key, str_of(words[i][0])))
            key = str_of(words[i][1]);
    }
    buf_adds(out, key);
}

/* Keys, separated by blanks; the first goes to the element, if one is named. */
static void put_keys(struct buf *out, struct str bid, struct str keys)
{
    for (keys = str_trim(keys); keys.n;) {
        struct buf key = BUF_INIT(1 << 16);
        put_key(&key, str_trim(str_cut(&keys, ' ')));
        if (bid.n)
            host_page_put_call(out, "press", bid, buf_str(&key));
        else
            host_page_put_call(out, "keyboard_press", buf_str(&key), (struct str){0});
        bid.n = 0;
        keys = str_trim(keys);
        buf_release(&key);
    }
}

int host_page_scroll_box(struct page_call *c, struct buf *place)
{
    struct browser *b = c->h->b;
    struct err e = ERR_INIT;
    char at[64];
    uint64_t height = 0;
    snprintf(at, sizeof(at), "%d,%d", (int)b->x, (int)b->y);
    struct json *j = browser_run_script(b, scroll_box_js, at, &e);
    struct str rest = json_str(json_get(json_get(j, "result"), "result"), "value", "");
    if (str_to_u64(str_cut(&rest, ' '), &height) < 0 || height > 100000)
        height = 0;
    buf_adds(place, str_sub(rest, 0, place->max));
    json_free(j);
    return (int)height;
}

/* Moves the pointer to the element, or to the middle of the page. Returns -1 if it
 * cannot; the answer has the reason. */
static int point_at(struct page_call *c, struct str bid)
{
    struct browser *b = c->h->b;
    struct buf hover = BUF_INIT(1024);
    struct str error = {0};
    int r = 0;
    if (bid.n) {
        host_page_put_call(&hover, "hover", bid, (struct str){0});
        r = host_page_carry_out(c, buf_str(&hover), &error);
    } else {
        b->x = b->width / 2;
        b->y = b->height / 2;
    }
    buf_release(&hover);
    return r < 0 ? host_page_refuse_failed(c, error) - 1 : 0;
}

static int put_scroll(struct page_call *c, struct buf *out, struct str bid)
{
    struct buf place = BUF_INIT(80);
    struct str way = str_trim(c->text);
    if (point_at(c, bid) < 0)
        return -1;
    int height = host_page_scroll_box(c, &place);
    int step = (height > 0 && height < c->h->b->height ? height : c->h->b->height) * 9 /
               10;
    buf_release(&place);
    if (str_eq(way, STR("up")))
        step = -step;
    else if (str_eq(way, STR("top")) || str_eq(way, STR("bottom")))
        step = way.p[0] == 't' ? -1000000 : 1000000;
    else if (way.n && !str_eq(way, STR("down")))
        return host_page_refuse(c, ERR_INVALID, "text is up, down, top or bottom") - 1;
    if (!bid.n || way.n)
        buf_addf(out, "scroll(0, %d)", step);
    else
        buf_addz(out, "noop(0)");
    return 0;
}

/* Without a number, close_tab is about the active tab. */
static int put_tab(struct page_call *c, struct buf *out)
{
    int active, n = host_page_tabs(c->h, &active);
    uint64_t tab = (uint64_t)active;
    bool number = !c->text.n || str_to_u64(str_trim(c->text), &tab) == 0;
    if (!number || tab < 1 || tab > (uint64_t)n) {
        struct buf text = BUF_INIT(2048), tabs = BUF_INIT(1 << 16);
        host_page_put_tabs(c->h, &tabs);
        buf_addf(&text, "there is no tab %.*s; text is the number of one of these:\n%.*s",
                 STR_ARG(str_sub(c->text, 0, 100)),
                 STR_ARG(str_sub(str_trim(buf_str(&tabs)), 0, 1500)));
        host_page_refuse(c, ERR_NOTFOUND, buf_z(&text));
        buf_release(&text);
        buf_release(&tabs);
        return -1;
    }
    if ((int)tab != active || c->act == SWITCH_TAB)
        buf_addf(out, "tab_focus(%d) ", (int)tab - 1);
    if (c->act == CLOSE_TAB)
        buf_addz(out, "tab_close() ");
    if (c->act == CLOSE_TAB && (int)tab != active)
        buf_addf(out, "tab_focus(%d)", active - 1 - ((int)tab < active));
    return 0;
}

/*
 * Appends the action as a text of the action language. Returns -1 if it cannot; the
 * answer has the reason.
 */
int host_page_compose(struct page_call *c, struct str bid, struct buf *out)
{
    const struct str none = {0};
    switch (c->act) {
    case CLICK:
    case HOVER:
        host_page_put_call(out, host_page_acts[c->act], bid, none);
        break;
    case FILL:
        host_page_put_call(out, "fill", bid, c->text.p ? c->text : STR(""));
        if (json_bool(c->q, "submit", false))
            host_page_put_call(out, "press", bid, STR("Enter"));
        break;
    case SELECT:
        host_page_put_call(out, "select_option", bid, c->text);
        break;
    case UPLOAD:
        host_page_put_call(out, "upload_file", bid, c->text);
        break;
    case PRESS:
        put_keys(out, bid, c->text);
        break;
    case SCROLL:
        return put_scroll(c, out, bid);
    case BACK:
        host_page_put_call(out, "go_back", none, none);
        break;
    case FORWARD:
        host_page_put_call(out, "go_forward", none, none);
        break;
    case RELOAD:
        host_page_put_call(out, "reload", none, none);
        break;
    case NEW_TAB:
        host_page_put_call(out, "new_tab", none, none);
        if (c->text.n)
            host_page_put_call(out, "goto", c->text, none);
        break;
    case SWITCH_TAB:
    case CLOSE_TAB:
        return put_tab(c, out);
    default:
        buf_addz(out, "wait_for(text=");
        browse_repr_text(out, c->text);
        buf_addf(out, ", ms=%d)", c->wait_ms);
    }
    return 0;
}

/* Returns -1 if an argument that the action needs is missing; the answer reports it. */
int host_page_check(struct page_call *c)
{
    if (c->h->reading && (c->act == SCROLL || c->act == HOVER)) {
        host_page_refuse(
            c, ERR_UNSUPPORTED,
            "the page is read without Chromium: there is no pointer and nothing to "
            "scroll; browse has all parts of it");
        return -1;
    }
    char text[160];
    bool dialog = c->h->b && c->h->b->dialog.type[0];
    bool named = c->act == CLICK || c->act == HOVER || c->act == SELECT ||
                 c->act == UPLOAD || (c->act == FILL && !dialog);
    bool worded = c->act == SELECT || c->act == UPLOAD || c->act == PRESS ||
                  c->act == WAIT || c->act == SWITCH_TAB;
    if (named && !c->ref.n) {
        snprintf(text, sizeof(text),
                 "ref is missing; %s needs the ref of an element, such as e12, or its "
                 "visible text",
                 host_page_acts[c->act]);
        return host_page_refuse(c, ERR_INVALID, text) - 1;
    }
    if (worded && !c->text.n) {
        snprintf(text, sizeof(text), "text is missing; %s needs %s",
                 host_page_acts[c->act],
                 c->act == SELECT       ? "the option"
                 : c->act == UPLOAD     ? "the path of a file"
                 : c->act == PRESS      ? "a key, such as Enter or C-a"
                 : c->act == SWITCH_TAB ? "the number of a tab"
                                        : "the text to wait for");
        return host_page_refuse(c, ERR_INVALID, text) - 1;
    }
    return 0;
}
