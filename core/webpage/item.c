/* SPDX-License-Identifier: MIT */
/* Links, fields and forms of a page: HTML standard, 4.10 and 4.6. */
#include "webpage/own.h"

#include "base/utf8.h"
#include "http/url_join.h"

#include <stdio.h>
#include <stdlib.h>

bool webpage_is_word(struct str s, const char *word)
{
    if (s.n != strlen(word))
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
        if (c != word[i])
            return false;
    }
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f';
}

bool webpage_has_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is_blank(s.p[i]))
            return true;
    }
    return false;
}

/* Appends s with its blanks folded, also with those at the end of out. */
static void add_folded(struct buf *out, struct str s, size_t max)
{
    for (size_t i = 0; i < s.n && out->n < max; i++) {
        if (!is_blank(s.p[i]))
            buf_addc(out, s.p[i]);
        else if (out->n && out->p[out->n - 1] != ' ')
            buf_addc(out, ' ');
    }
}

void webpage_text_of(const struct html_node *top, struct buf *out, size_t max)
{
    const struct html_node *n = top;
    while (n && out->n < max) {
        if (n->tag == HTML_TEXT)
            add_folded(out, n->name, max);
        else if (n->tag == HTML_img)
            add_folded(out, html_get(n, "alt"), max);
        /* The content of a field is not part of its name. */
        bool past = n->tag == HTML_select || n->tag == HTML_textarea ||
                    webpage_is_hidden(n);
        n = n != top && past ? html_past(n, top) : html_after(n, top);
    }
    while (out->n && out->p[out->n - 1] == ' ')
        buf_truncate(out, out->n - 1);
    if (out->n >= max)
        buf_truncate(out, utf8_cut(buf_str(out), max));
}

int webpage_quote(struct buf *out, struct str text)
{
    char quote = str_chr(text, '\'') >= 0 && str_chr(text, '"') < 0 ? '"' : '\'';
    int rc = buf_addc(out, quote);
    for (size_t i = 0; rc == 0 && i < text.n; i++) {
        char c = text.p[i];
        if (c == '\n')
            rc = buf_addz(out, "\\n");
        else if (c == '\t')
            rc = buf_addz(out, "\\t");
        else if ((unsigned char)c < 32 || c == 127)
            rc = buf_addf(out, "\\x%02x", (unsigned)(unsigned char)c);
        else
            rc = (c == quote || c == '\\') && buf_addc(out, '\\') < 0 ? -1
                                                                      : buf_addc(out, c);
    }
    return rc < 0 ? rc : buf_addc(out, quote);
}

/* ---- names ---- */

static const struct html_node *above(const struct html_node *n, enum html_tag tag)
{
    for (int i = 0; n && i < HTML_DEPTH_MAX; i++, n = n->parent) {
        if (n->tag == tag)
            return n;
    }
    return NULL;
}

static bool name_from(struct buf *out, struct str s)
{
    add_folded(out, s, WEBPAGE_NAME_MAX);
    return out->n > 0;
}

/* Appends the name that a person would use: label, description, or text. */
static void name_of(const struct reading *r, const struct html_node *n, struct buf *out)
{
    if (name_from(out, html_get(n, "aria-label")))
        return;
    struct str id = html_get(n, "id");
    const struct html_node *label = id.n && id.n < 256 ? map_get(&r->labels, id) : NULL;
    label = label ? label : above(n->parent, HTML_label);
    bool field = n->tag == HTML_input || n->tag == HTML_select || n->tag == HTML_textarea;
    if (field && label) {
        webpage_text_of(label, out, WEBPAGE_NAME_MAX);
        if (out->n)
            return;
    }
    if (!field && n->tag != HTML_iframe) {
        webpage_text_of(n, out, WEBPAGE_NAME_MAX);
        if (out->n)
            return;
    }
    if (!name_from(out, html_get(n, "placeholder")) &&
        !name_from(out, html_get(n, "title")) && field)
        name_from(out, html_get(n, "name"));
}

/* ---- fields ---- */

static const char *role_of_input(struct str type)
{
    static const struct {
        const char *type, *role;
    } roles[] = {{"submit", "button"},     {"button", "button"},
                 {"reset", "button"},      {"image", "button"},
                 {"checkbox", "checkbox"}, {"radio", "radio"},
                 {"file", "file"},         {"range", "slider"},
                 {"number", "spinbutton"}, {"search", "searchbox"}};
    for (size_t i = 0; i < sizeof(roles) / sizeof(*roles); i++) {
        if (webpage_is_word(type, roles[i].type))
            return roles[i].role;
    }
    return "textbox";
}

static int form_of(const struct reading *r, const struct html_node *n)
{
    struct str id = html_get(n, "form");
    const struct html_node *form = id.n && id.n < 256 ? map_get(&r->forms, id)
                                                      : above(n, HTML_form);
    return form ? (int)form->mark - 1 : -1;
}

static bool has(const struct html_node *n, const char *name)
{
    return html_get(n, name).p != NULL;
}

static void put_text(struct json *j, const char *name, const struct html_node *n)
{
    struct buf text = BUF_INIT(1 << 20);
    for (const struct html_node *c = n->first; c; c = html_after(c, n)) {
        if (c->tag == HTML_TEXT && buf_adds(&text, c->name) < 0)
            break;
    }
    json_put_str(j, name, buf_str(&text));
    buf_release(&text);
}

static void put_options(struct json *item, const struct html_node *select)
{
    struct json *options = json_array();
    bool some = false, multiple = has(select, "multiple");
    int count = 0;
    for (struct html_node *n = select->first; n; n = html_after(n, select)) {
        if (n->tag != HTML_option || ++count > WEBPAGE_OPTIONS_MAX)
            continue;
        struct buf label = BUF_INIT(WEBPAGE_NAME_MAX + 8);
        struct json *o = json_object();
        if (!name_from(&label, html_get(n, "label")))
            webpage_text_of(n, &label, WEBPAGE_NAME_MAX);
        json_put_str(o, "value",
                     has(n, "value") ? html_get(n, "value") : buf_str(&label));
        json_put_str(o, "label", buf_str(&label));
        if (has(n, "selected")) {
            json_put_bool(o, "selected", true);
            some = true;
        }
        if (has(n, "disabled"))
            json_put_bool(o, "disabled", true);
        json_push(options, o);
        buf_release(&label);
    }
    struct json *first = json_first(options);
    if (!some && !multiple && first)
        json_put_bool(first, "selected", true);
    json_put(item, "options", options);
    json_put_bool(item, "multiple", multiple);
}

static void put_field(const struct reading *r, struct json *item,
                      const struct html_node *n)
{
    struct str type = html_get(n, "type"), value = html_get(n, "value");
    const char *role = n->tag == HTML_select ? has(n, "multiple") ? "listbox" : "combobox"
                       : n->tag == HTML_textarea ? "textbox"
                       : n->tag == HTML_button   ? "button"
                                                 : role_of_input(type);
    bool tick = strcmp(role, "checkbox") == 0 || strcmp(role, "radio") == 0;
    struct str given = r->given ? html_get(n, WEBPAGE_ROLE) : STR("");
    tick = tick && !given.n;
    json_put_str(item, "role", given.n ? given : str_of(role));
    json_put_str(item, "field", html_get(n, "name"));
    json_put_int(item, "form", form_of(r, n));
    if (n->tag == HTML_textarea)
        put_text(item, "value", n);
    else if (n->tag == HTML_select)
        put_options(item, n);
    else if (tick && !value.p)
        json_put_z(item, "value", "on");
    else
        json_put_str(item, "value", value);
    if (n->tag == HTML_button && !type.n)
        type = STR("submit");
    json_put_str(item, "type", n->tag == HTML_textarea ? STR("textarea") : type);
    if ((tick || given.n) && has(n, "checked"))
        json_put_bool(item, "checked", true);
    if (has(n, "disabled"))
        json_put_bool(item, "disabled", true);
    if (has(n, "readonly"))
        json_put_bool(item, "readonly", true);
    if (n->tag == HTML_button || n->tag == HTML_input) {
        if (has(n, "formaction")) {
            struct buf url = BUF_INIT(URL_JOIN_MAX);
            if (url_join(&url, r->base, html_get(n, "formaction")) == 0)
                json_put_str(item, "action", buf_str(&url));
            buf_release(&url);
        }
        if (has(n, "formmethod"))
            json_put_str(item, "method", html_get(n, "formmethod"));
    }
}

/* ---- the list ---- */

static void put_name(const struct reading *r, struct json *item,
                     const struct html_node *n)
{
    struct buf name = BUF_INIT(WEBPAGE_NAME_MAX + 8);
    bool named = n->tag == HTML_input &&
                 strcmp(role_of_input(html_get(n, "type")), "button") == 0;
    if (!named || !name_from(&name, html_get(n, "value")))
        name_of(r, n, &name);
    if (!name.n && named)
        buf_addz(&name, "Submit");
    json_put_str(item, "name", buf_str(&name));
    buf_release(&name);
}

static struct json *item_new(struct reading *r, struct html_node *n)
{
    char bid[16];
    struct json *item = json_object();
    n->bid = ++r->bids;
    snprintf(bid, sizeof(bid), "%u", n->bid);
    json_put_str(item, "bid", r->given ? html_get(n, WEBPAGE_BID) : str_of(bid));
    put_name(r, item, n);
    return item;
}

static struct str target_of(const struct html_node *n)
{
    switch (n->tag) {
    case HTML_a:
    case HTML_area:
        return html_get(n, "href");
    case HTML_iframe:
    case HTML_frame:
        return html_get(n, "src");
    default:
        return (struct str){0};
    }
}

/* Adds a link. Returns false if it cannot be followed. */
static bool put_link(struct reading *r, struct html_node *n)
{
    struct str target = target_of(n);
    struct buf url = BUF_INIT(URL_JOIN_MAX);
    bool script = url_scheme_is(str_trim(target), "javascript") ||
                  url_scheme_is(str_trim(target), "data");
    bool fine = target.p && (r->given ? html_get(n, WEBPAGE_BID).n > 0 : !script) &&
                url_join(&url, r->base, target) == 0;
    if (fine) {
        struct json *item = item_new(r, n);
        bool frame = n->tag == HTML_iframe || n->tag == HTML_frame;
        json_put_z(item, "role", frame ? "frame" : "link");
        json_put_str(item, "url", buf_str(&url));
        json_push(r->page->items, item);
    }
    buf_release(&url);
    return fine;
}

static void put_item(struct reading *r, struct html_node *n)
{
    bool field = n->tag == HTML_input || n->tag == HTML_select ||
                 n->tag == HTML_textarea || n->tag == HTML_button;
    if (!field && !target_of(n).p)
        return;
    if (field && r->given && !html_get(n, WEBPAGE_BID).n)
        return;
    if (r->bids >= WEBPAGE_ITEMS_MAX) {
        r->page->more++;
        return;
    }
    if (!field) {
        put_link(r, n);
        return;
    }
    bool hidden = n->tag == HTML_input && webpage_is_word(html_get(n, "type"), "hidden");
    struct json *item = hidden ? json_object() : item_new(r, n);
    put_field(r, item, n);
    json_push(r->page->items, item);
}

static void put_form(struct reading *r, struct html_node *n)
{
    struct buf url = BUF_INIT(URL_JOIN_MAX);
    struct json *form = json_object();
    struct str id = html_get(n, "id");
    n->mark = ++r->nforms;
    if (id.n && id.n < 256 && !map_get(&r->forms, id))
        map_put(&r->forms, id, n);
    if (url_join(&url, r->base, html_get(n, "action")) == 0)
        json_put_str(form, "action", buf_str(&url));
    bool post = webpage_is_word(html_get(n, "method"), "post");
    bool parts = webpage_is_word(html_get(n, "enctype"), "multipart/form-data");
    json_put_z(form, "method", post ? "POST" : "GET");
    json_put_bool(form, "multipart", parts);
    json_push(r->page->forms, form);
    buf_release(&url);
}

void webpage_number(struct reading *r)
{
    for (struct html_node *n = r->html; n; n = html_after(n, r->html)) {
        struct str of = html_get(n, "for");
        if (n->tag == HTML_form && r->nforms < WEBPAGE_ITEMS_MAX)
            put_form(r, n);
        else if (n->tag == HTML_label && of.n && of.n < 256)
            map_put(&r->labels, of, n);
    }
    for (struct html_node *n = r->html->first; n;) {
        if (n->tag != HTML_TEXT && !n->foreign)
            put_item(r, n);
        n = n->tag == HTML_template || (webpage_is_hidden(n) && n->tag != HTML_input)
                ? html_past(n, r->html)
                : html_after(n, r->html);
    }
}

/* ---- as text ---- */

static int add_options(const struct json *item, struct buf *out)
{
    const struct json *options = json_get(item, "options");
    int shown = 0, rc = 0;
    for (const struct json *o = json_first(options); o && rc == 0; o = json_next(o)) {
        if (!json_bool(o, "selected", false))
            continue;
        rc = buf_addz(out, " value=");
        rc = rc < 0 ? rc : webpage_quote(out, json_str(o, "label", ""));
    }
    for (const struct json *o = json_first(options);
         o && rc == 0 && shown < WEBPAGE_OPTIONS_SHOWN; o = json_next(o)) {
        rc = buf_addz(out, shown++ ? ", " : " of ");
        rc = rc < 0 ? rc : webpage_quote(out, json_str(o, "label", ""));
    }
    int more = json_count(options) - shown;
    return rc == 0 && more > 0 ? buf_addf(out, " and %d more", more) : rc;
}

int webpage_field_text(const struct json *item, struct buf *out)
{
    struct str role = json_str(item, "role", ""), bid = json_str(item, "bid", "");
    struct str value = json_str(item, "value", "");
    int rc = buf_addf(out, "[%.*s: %.*s ", STR_ARG(bid), STR_ARG(role));
    rc = rc < 0 ? rc : webpage_quote(out, json_str(item, "name", ""));
    bool text = json_has(item, "field") && !json_has(item, "options") &&
                !str_eq(role, STR("button")) && !str_eq(role, STR("checkbox")) &&
                !str_eq(role, STR("radio"));
    if (rc == 0 && text && value.n) {
        rc = buf_addz(out, " value=");
        bool secret = webpage_is_word(json_str(item, "type", ""), "password");
        rc = rc < 0 ? rc : webpage_quote(out, secret ? STR("****") : value);
    }
    if (rc == 0 && json_has(item, "options"))
        rc = add_options(item, out);
    if (rc == 0 && json_bool(item, "checked", false))
        rc = buf_addz(out, " checked");
    if (rc == 0 && json_bool(item, "disabled", false))
        rc = buf_addz(out, " disabled");
    return rc < 0 ? rc : buf_addc(out, ']');
}

int webpage_links(const struct json *items, struct buf *out)
{
    int rc = 0;
    for (const struct json *j = json_first(items); j && rc == 0; j = json_next(j)) {
        struct str url = json_str(j, "url", ""), bid = json_str(j, "bid", "");
        if (url.n)
            rc = buf_addf(out, "[%.*s]: %.*s\n", STR_ARG(bid), STR_ARG(url));
    }
    return rc;
}
