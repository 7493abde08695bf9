/* SPDX-License-Identifier: MIT */
/* Actions and the page: what a browser would do with links and fields. */
#include "webpage/browse_action.h"
#include "webpage/webtext_own.h"

#include "base/xalloc.h"
#include "http/url_join.h"
#include "webpage/own.h"

#include <stdio.h>
#include <stdlib.h>

#define AGENT "Mozilla/5.0 (compatible; od; text mode without scripts)"

/* ---- tabs ---- */

static struct webtext_tab *tab_add(struct webtext *w)
{
    struct webtext_tab *t = xnew(struct webtext_tab);
    t->at = -1;
    t->url = xstrdup("about:blank");
    webpage_init(&t->page);
    w->tabs[w->tabs_n++] = t;
    return t;
}

static void tab_free(struct webtext_tab *t)
{
    for (int i = 0; i < t->pages; i++)
        webtext_ask_release(&t->history[i]);
    webpage_release(&t->page);
    free(t->url);
    free(t);
}

/* ---- life ---- */

static void release(void *p)
{
    struct webtext *w = p;
    for (int i = 0; i < w->tabs_n; i++)
        tab_free(w->tabs[i]);
    cookies_free(w->cookies);
    tls_client_free(w->tls);
    buf_release(&w->type);
    buf_release(&w->encoding);
    buf_release(&w->location);
    buf_release(&w->disposition);
    json_free(w->notes);
    free(w->saved);
    free(w->login);
    free(w->agent);
    free(w->ca);
    free(w);
}

struct webtext *webtext_new(const struct webtext_spec *spec, struct err *e)
{
    struct webtext *w = xnew(struct webtext);
    w->spec = *spec;
    w->tab = tab_add(w);
    w->cookies = cookies_new();
    w->agent = xstrdup(spec->agent ? spec->agent : AGENT);
    w->ca = spec->ca ? xstrdup(spec->ca) : NULL;
    buf_init(&w->type, 1024);
    buf_init(&w->encoding, 1024);
    buf_init(&w->location, URL_JOIN_MAX);
    buf_init(&w->disposition, 4096);
    w->notes = json_array();
    webtext_prepare(w);
    if (spec->deny && denied_parse(&w->deny, str_of(spec->deny), e) < 0) {
        release(w);
        return NULL;
    }
    return w;
}

void webtext_free(struct webtext *w)
{
    if (!w)
        return;
    webtext_stop(w);
    loop_bury(w->spec.loop, w, release);
}

void *webtext_owner(const struct webtext *w) { return w->spec.owner; }

static int is_free(const struct webtext *w, struct err *e)
{
    return webtext_is_busy(w)
               ? err_set(e, ERR_BUSY, "cannot act: the previous action is not done")
               : 0;
}

int webtext_tab_new(struct webtext *w, struct err *e)
{
    if (is_free(w, e) < 0)
        return -1;
    if (w->tabs_n == WEBTEXT_TABS_MAX)
        return err_set(e, ERR_LIMIT, "Error: BrowserContext.new_page: %d tabs are open",
                       WEBTEXT_TABS_MAX);
    w->tab = tab_add(w);
    return 0;
}

int webtext_tab_active(const struct webtext *w)
{
    int i = 0;
    while (w->tabs[i] != w->tab)
        i++;
    return i;
}

int webtext_tab_close(struct webtext *w, struct err *e)
{
    if (is_free(w, e) < 0)
        return -1;
    int i = webtext_tab_active(w);
    tab_free(w->tab);
    w->tabs_n--;
    memmove(&w->tabs[i], &w->tabs[i + 1], (size_t)(w->tabs_n - i) * sizeof(w->tabs[0]));
    w->tab = w->tabs_n ? w->tabs[w->tabs_n - 1] : tab_add(w);
    return 0;
}

int webtext_tab_focus(struct webtext *w, int64_t index, struct err *e)
{
    if (is_free(w, e) < 0)
        return -1;
    index += index < 0 ? w->tabs_n : 0;
    if (index < 0 || index >= w->tabs_n)
        return err_set(e, ERR_NOTFOUND, "IndexError: list index out of range");
    w->tab = w->tabs[index];
    return 0;
}

int webtext_tabs(const struct webtext *w) { return w->tabs_n; }

const char *webtext_tab_url(const struct webtext *w, int index)
{
    return w->tabs[index]->url;
}

const char *webtext_tab_title(const struct webtext *w, int index)
{
    return buf_z(&w->tabs[index]->page.title);
}

/* ---- going ---- */

static bool is_host_here(struct str s)
{
    return str_starts(s, STR("localhost")) || str_starts(s, STR("127.")) ||
           str_starts(s, STR("[::1]"));
}

/* "host:80/x" looks like a scheme; what follows the colon decides. */
static bool has_scheme(struct str url)
{
    struct str s = url_scheme(url);
    char next = s.n + 1 < url.n ? url.p[s.n + 1] : '\0';
    return s.n && !(next >= '0' && next <= '9');
}

int webtext_goto(struct webtext *w, struct str url, struct err *e)
{
    struct buf whole = BUF_INIT(URL_JOIN_MAX), text = BUF_INIT(URL_JOIN_MAX);
    url = str_trim(url);
    if (is_free(w, e) < 0)
        return -1;
    int rc = 0;
    if (url.n && *url.p == '/')
        rc = buf_addz(&text, "file://");
    else if (url.n && !has_scheme(url))
        rc = buf_addz(&text, is_host_here(url) ? "http://" : "https://");
    rc = rc < 0 ? rc : buf_adds(&text, url);
    rc = rc < 0 || !url.n ? -1 : url_join(&whole, STR("about:blank"), buf_str(&text));
    if (rc < 0) {
        err_set(e, ERR_INVALID,
                "Error: Page.goto: Protocol error (Page.navigate): Cannot navigate to "
                "invalid URL: it is %s",
                url.n ? "malformed or too long" : "empty");
    } else {
        struct str rest = buf_str(&whole), page = str_cut(&rest, '#');
        struct webtext_ask ask = {.url = xstrndup(page.p, page.n)};
        w->going_to = true;
        rc = webtext_fetch(w, &ask, -1, e);
    }
    buf_release(&whole);
    buf_release(&text);
    return rc;
}

static char *copy_of(const char *s, size_t n)
{
    char *p = s ? xcalloc(n + 1, 1) : NULL;
    if (p)
        memcpy(p, s, n);
    return p;
}

static int go_to(struct webtext *w, int at, struct err *e)
{
    if (is_free(w, e) < 0)
        return -1;
    if (at < 0 || at >= w->tab->pages) {
        w->e = (struct err)ERR_INIT;
        webtext_told(w);
        return 0;
    }
    const struct webtext_ask *old = &w->tab->history[at];
    struct webtext_ask ask = {.url = xstrdup(old->url),
                              .type = old->type ? xstrdup(old->type) : NULL,
                              .body = copy_of(old->body, old->body_n),
                              .body_n = old->body_n};
    return webtext_fetch(w, &ask, at, e);
}

int webtext_back(struct webtext *w, struct err *e) { return go_to(w, w->tab->at - 1, e); }

int webtext_forward(struct webtext *w, struct err *e)
{
    return go_to(w, w->tab->at + 1, e);
}

int webtext_reload(struct webtext *w, struct err *e) { return go_to(w, w->tab->at, e); }

bool webtext_can_reload(const struct webtext *w)
{
    return w->tab->at >= 0 && !w->tab->history[w->tab->at].type && !w->tab->changed;
}

/* ---- links and fields ---- */

static int no_element(struct str bid, struct err *e)
{
    return err_set(e, ERR_NOTFOUND,
                   "ValueError: Could not find element with bid \"%.*s\"",
                   bid.n < 60 ? (int)bid.n : 60, bid.p);
}

/* By a bid, or by a role and a name. */
static struct json *find(const struct webtext *w, struct str bid, struct err *e)
{
    struct json *found = NULL;
    struct str role, name;
    bool named = browse_split_named(bid, &role, &name);
    for (struct json *j = json_first(w->tab->page.items); j; j = json_next(j)) {
        if (bid.n && str_eq(json_str(j, "bid", ""), bid))
            return j;
        if (!named || !json_has(j, "bid") || !str_eq(json_str(j, "role", ""), role) ||
            !str_eq(json_str(j, "name", ""), name))
            continue;
        if (found) {
            err_set(e, ERR_INVALID,
                    "Error: strict mode violation: %.*s \"%.*s\" resolved to several "
                    "elements; give the bid of one",
                    STR_ARG(role), STR_ARG(str_sub(name, 0, 100)));
            return NULL;
        }
        found = j;
    }
    if (!found)
        no_element(bid, e);
    return found;
}

static bool is_role(const struct json *item, const char *role)
{
    return webpage_is_word(json_str(item, "role", ""), role);
}

/* Ends an action without a fetch: on_done is called in this turn. */
static int done(struct webtext *w)
{
    w->tab->changed = true;
    w->e = (struct err)ERR_INIT;
    webtext_told(w);
    return 0;
}

static int usable(const struct json *item, const char *what, struct err *e)
{
    if (!json_bool(item, "disabled", false))
        return 0;
    return err_set(
        e, ERR_INVALID,
        "TimeoutError: Locator.%s: Timeout 500ms exceeded.\nCall log:\n  - element "
        "is not enabled",
        what);
}

static int follow(struct webtext *w, const struct json *item, struct err *e)
{
    struct str url = json_str(item, "url", ""), rest = url;
    bool from_web = url_scheme_is(str_of(w->tab->url), "http") ||
                    url_scheme_is(str_of(w->tab->url), "https");
    if (from_web && url_scheme_is(url, "file"))
        return err_set(e, ERR_DENIED,
                       "Error: Locator.click: a page of the web may not lead "
                       "to a file of this machine");
    url = str_cut(&rest, '#');
    struct webtext_ask ask = {.url = xstrndup(url.p, url.n)};
    return webtext_fetch(w, &ask, -1, e);
}

static int send_form(struct webtext *w, const struct json *item,
                     const struct json *button, struct err *e)
{
    struct webtext_ask ask;
    if (webtext_form(w, item, button, &ask, e) < 0)
        return -1;
    return webtext_fetch(w, &ask, -1, e);
}

static int tick(struct webtext *w, struct json *item)
{
    bool radio = is_role(item, "radio");
    for (struct json *j = json_first(w->tab->page.items); radio && j; j = json_next(j)) {
        if (is_role(j, "radio") &&
            json_int(j, "form", -1) == json_int(item, "form", -1) &&
            str_eq(json_str(j, "field", ""), json_str(item, "field", "")))
            json_put_bool(j, "checked", false);
    }
    json_put_bool(item, "checked", radio || !json_bool(item, "checked", false));
    return done(w);
}

int webtext_click(struct webtext *w, struct str bid, struct err *e)
{
    struct json *item = is_free(w, e) < 0 ? NULL : find(w, bid, e);
    struct str type = json_str(item, "type", "");
    if (!item || usable(item, "click", e) < 0)
        return -1;
    if (json_has(item, "url"))
        return follow(w, item, e);
    if (is_role(item, "checkbox") || is_role(item, "radio"))
        return tick(w, item);
    if (!is_role(item, "button"))
        return done(w);
    if (webpage_is_word(type, "button") || webpage_is_word(type, "reset"))
        return err_set(e, ERR_UNSUPPORTED,
                       "Error: Locator.click: the button \"%.*s\" is handled by a "
                       "script, and text mode does not run scripts",
                       STR_ARG(json_str(item, "bid", "")));
    return send_form(w, item, item, e);
}

int webtext_fill(struct webtext *w, struct str bid, struct str value, struct err *e)
{
    struct json *item = is_free(w, e) < 0 ? NULL : find(w, bid, e);
    if (!item || usable(item, "fill", e) < 0)
        return -1;
    struct str type = json_str(item, "type", "");
    if (is_role(item, "checkbox") || is_role(item, "radio") || is_role(item, "file") ||
        (is_role(item, "button") && !webpage_is_word(type, "submit")))
        return err_set(
            e, ERR_INVALID,
            "Error: Locator.fill: Error: Input of type \"%.*s\" cannot be filled",
            STR_ARG(type));
    if (json_has(item, "url") || json_has(item, "options") || is_role(item, "button"))
        return err_set(
            e, ERR_INVALID,
            "Error: Locator.fill: Error: Element is not an <input>, <textarea>, "
            "<select> or [contenteditable] and does not have a role allowing "
            "[aria-readonly]");
    if (json_bool(item, "readonly", false))
        return err_set(
            e, ERR_INVALID,
            "TimeoutError: Locator.fill: Timeout 500ms exceeded.\nCall log:\n  - "
            "element is not editable");
    json_put_str(item, "value", value);
    json_put_bool(item, "changed", true);
    return done(w);
}

static bool is_one_of(const struct json *option, const struct str *options, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(json_str(option, "value", ""), options[i]) ||
            str_eq(json_str(option, "label", ""), options[i]))
            return true;
    }
    return false;
}

int webtext_select(struct webtext *w, struct str bid, const struct str *options, size_t n,
                   struct err *e)
{
    struct json *item = is_free(w, e) < 0 ? NULL : find(w, bid, e);
    if (!item || usable(item, "select_option", e) < 0)
        return -1;
    struct json *list = json_get(item, "options");
    if (!list)
        return err_set(e, ERR_INVALID,
                       "Error: Locator.select_option: Error: Element is not a "
                       "<select> element");
    bool multiple = json_bool(item, "multiple", false);
    size_t wanted = multiple ? n : n > 0, found = 0;
    for (struct json *o = json_first(list); o; o = json_next(o))
        found += is_one_of(o, options, wanted);
    if (found < wanted)
        return err_set(
            e, ERR_NOTFOUND,
            "TimeoutError: Locator.select_option: Timeout 500ms exceeded.\nCall "
            "log:\n  - did not find some options");
    bool one = false;
    for (struct json *o = json_first(list); o; o = json_next(o)) {
        bool it = is_one_of(o, options, wanted) && !(one && !multiple);
        json_put_bool(o, "selected", it);
        one = one || it;
    }
    json_put_bool(item, "changed", true);
    return done(w);
}

/* Finds the first button that sends the form of a field (4.10.21.2). */
static const struct json *default_button(const struct webtext *w, const struct json *item)
{
    for (const struct json *j = json_first(w->tab->page.items); j; j = json_next(j)) {
        struct str type = json_str(j, "type", "");
        if (is_role(j, "button") &&
            json_int(j, "form", -1) == json_int(item, "form", -1) &&
            (webpage_is_word(type, "submit") || webpage_is_word(type, "image")))
            return j;
    }
    return NULL;
}

int webtext_press(struct webtext *w, struct str bid, struct str key, struct err *e)
{
    struct json *item = is_free(w, e) < 0 ? NULL : find(w, bid, e);
    if (!item)
        return -1;
    if (!str_eq(key, STR("Enter")))
        return err_set(
            e, ERR_UNSUPPORTED,
            "Error: Locator.press: text mode supports only Enter, not \"%.*s\"",
            key.n < 60 ? (int)key.n : 60, key.p);
    if (json_has(item, "url") || is_role(item, "button"))
        return webtext_click(w, bid, e);
    if (webpage_is_word(json_str(item, "type", ""), "textarea"))
        return done(w);
    return send_form(w, item, default_button(w, item), e);
}

/* ---- the page ---- */

const char *webtext_url(const struct webtext *w) { return w->tab->url; }

const char *webtext_title(const struct webtext *w) { return buf_z(&w->tab->page.title); }

int webtext_status(const struct webtext *w) { return w->tab->status; }

unsigned webtext_load(const struct webtext *w) { return w->tab->load; }

struct str webtext_picture(const struct webtext *w)
{
    return buf_str(&w->tab->page.picture);
}

struct json *webtext_notes(struct webtext *w)
{
    struct json *notes = w->notes;
    w->notes = json_array();
    return notes;
}

const char *webtext_saved(const struct webtext *w) { return w->saved; }

const struct json *webtext_items(const struct webtext *w) { return w->tab->page.items; }

int webtext_links(const struct webtext *w, struct buf *out)
{
    return webpage_links(w->tab->page.items, out);
}

static int add_changes(const struct webtext *w, struct buf *out)
{
    int rc = buf_addz(out, "\nFilled in:\n");
    for (const struct json *j = json_first(w->tab->page.items); j && rc == 0;
         j = json_next(j)) {
        bool tick = is_role(j, "checkbox") || is_role(j, "radio");
        if (!json_has(j, "bid") || (!json_bool(j, "changed", false) &&
                                    !(tick && json_bool(j, "checked", false))))
            continue;
        rc = webpage_field_text(j, out);
        rc = rc < 0 ? rc : buf_addc(out, '\n');
    }
    return rc;
}

int webtext_observe(const struct webtext *w, struct buf *out)
{
    int rc = buf_adds(out, buf_str(&w->tab->page.text));
    if (rc == 0 && w->tab->page.needs_browser)
        rc = buf_addz(
            out, "\n(Scripts make this page, and text mode does not run them: it needs a "
                 "browser.)\n");
    if (rc == 0 && w->tab->page.more)
        rc = buf_addf(out, "\n(%u more links and fields have no number.)\n",
                      w->tab->page.more);
    return rc == 0 && w->tab->changed ? add_changes(w, out) : rc;
}
