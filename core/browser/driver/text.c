/* SPDX-License-Identifier: MIT */
/*
 * A page of Chromium as text mode prints one (webpage.h): Markdown, in which links and
 * fields have their bids.
 *
 * The snapshot of the DOM that determines the bids becomes a tree of HTML elements with
 * only the visible parts: the layout decides what is hidden, fields have their current
 * values and choices, and frames and shadow trees are at their place. The page is not
 * changed. Memory is an arena's, of at most WEBPAGE_MEMORY.
 */
#include "browser/driver/snapshot_own.h"

#include "base/jsontext.h"
#include "base/xalloc.h"
#include "html/html.h"
#include "http/url_join.h"
#include "webpage/webpage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FRAMES_DEEP = 8,
    NAME_MAX_BYTES = 64,
    TEXT_NODE_MAX = 8 << 20,
    IS_A_TEXT = 3,
    IS_AN_ELEMENT = 1,
};

/* The values of a node in the columns of a snapshot. Strings are indices; -1: none. */
struct text_cell {
    int name, text, input;
    struct str attrs;
    enum html_tag tag;
    unsigned char type;
    bool laid;    /* it has a place on the page */
    bool shown;   /* it or something in it has a place */
    bool hidden;  /* it is nevertheless invisible */
    bool block;   /* it begins a line */
    bool row;     /* its content is in one row */
    bool checked; /* or selected */
    bool foreign;
    int acts; /* number of elements within that can be acted on */
};

struct text_making {
    struct snapshot *l;
    struct arena *a;
    struct buf scratch;
    int deep; /* frames in frames */
};

/* A document of the snapshot. */
struct doc {
    struct text_making *m;
    struct snap_frame *f;
    const struct strings *strings;
    struct text_cell *cells; /* owned */
    struct str base;
};

/* ---- strings ---- */

void snap_read_strings(struct strings *s, struct str array)
{
    struct str in = jsontext_inside(array), value;
    size_t room = 0;
    *s = (struct strings){0};
    while (jsontext_item(&in, &value)) {
        if (s->n == room) {
            room = room ? 2 * room : 4096;
            s->at = xrealloc(s->at, room, sizeof(*s->at));
        }
        s->at[s->n++] = value;
    }
}

/* Returns a decoded string, valid as long as the arena and the snapshot. */
static struct str string_of(const struct doc *d, int64_t i)
{
    if (i < 0 || (uint64_t)i >= d->strings->n)
        return STR("");
    struct str raw = d->strings->at[i], plain = jsontext_plain(raw);
    if (plain.n || raw.n <= 2)
        return plain;
    buf_reset(&d->m->scratch);
    if (jsontext_string(&d->m->scratch, raw) < 0)
        return STR("");
    size_t n = d->m->scratch.n;
    char *copy = arena_copy(d->m->a, buf_str(&d->m->scratch));
    return copy ? str_n(copy, n) : STR("");
}

/* ---- columns ---- */

static struct str inside(struct str object, const char *name)
{
    return jsontext_inside(jsontext_get(object, str_of(name)));
}

/* Reads the next entry of a rare column: its node, and its value (-1: none). */
static bool next_rare(struct str *places, struct str *values, const struct doc *d,
                      struct text_cell **cell, int64_t *value)
{
    struct str at, v;
    while (jsontext_item(places, &at)) {
        int64_t i = jsontext_int(at, -1);
        *value = jsontext_item(values, &v) ? jsontext_int(v, -1) : -1;
        if (i >= 0 && i < d->f->n) {
            *cell = &d->cells[i];
            return true;
        }
    }
    return false;
}

static void read_rare(struct doc *d, struct str nodes, const char *name)
{
    struct str column = jsontext_get(nodes, str_of(name));
    struct str places = inside(column, "index"), values = inside(column, "value");
    struct text_cell *c;
    int64_t value;
    bool mark = strcmp(name, "inputChecked") == 0 || strcmp(name, "optionSelected") == 0;
    while (next_rare(&places, &values, d, &c, &value)) {
        if (mark)
            c->checked = true;
        else
            c->input = (int)value;
    }
}

static enum html_tag tag_of(const struct doc *d, int name)
{
    char small[NAME_MAX_BYTES];
    struct str s = string_of(d, name);
    if (s.n == 0 || s.n > sizeof(small))
        return HTML_OTHER;
    for (size_t i = 0; i < s.n; i++)
        small[i] = s.p[i] >= 'A' && s.p[i] <= 'Z' ? (char)(s.p[i] + 32) : s.p[i];
    return html_tag_of(str_n(small, s.n));
}

static void read_nodes(struct doc *d, struct str nodes)
{
    struct str types = inside(nodes, "nodeType"), names = inside(nodes, "nodeName"),
               texts = inside(nodes, "nodeValue"), attrs = inside(nodes, "attributes"), v;
    for (int i = 0; i < d->f->n; i++) {
        struct text_cell *c = &d->cells[i];
        int up = d->f->nodes[i].parent;
        c->type = jsontext_item(&types, &v) ? (unsigned char)jsontext_int(v, 0) : 0;
        c->name = jsontext_item(&names, &v) ? (int)jsontext_int(v, -1) : -1;
        c->text = jsontext_item(&texts, &v) ? (int)jsontext_int(v, -1) : -1;
        c->attrs = jsontext_item(&attrs, &v) ? v : STR("");
        c->input = -1;
        if (c->type != IS_AN_ELEMENT)
            continue;
        c->tag = tag_of(d, c->name);
        c->foreign = c->tag == HTML_svg || c->tag == HTML_math ||
                     (up >= 0 && up < i && d->cells[up].foreign);
    }
    read_rare(d, nodes, "inputValue");
    read_rare(d, nodes, "textValue");
    read_rare(d, nodes, "inputChecked");
    read_rare(d, nodes, "optionSelected");
}

/* The styles that snapshot.c requests: the pointer, the visibility, the display. */
static void read_styles(const struct doc *d, struct text_cell *c, struct str styles)
{
    static const char *const blocks[] = {"block", "flex",      "grid", "flow-root",
                                         "table", "list-item", NULL};
    struct str in = jsontext_inside(styles), v, shown = {0}, display = {0};
    for (int i = 0; i < 3 && jsontext_item(&in, &v); i++) {
        if (i == 1)
            shown = string_of(d, jsontext_int(v, -1));
        if (i == 2)
            display = string_of(d, jsontext_int(v, -1));
    }
    c->laid = true;
    c->hidden = shown.n && !str_eq(shown, STR("visible"));
    for (const char *const *b = blocks; *b; b++)
        c->block = c->block || str_eq(display, str_of(*b));
    c->row = str_ends(display, STR("flex")) || str_ends(display, STR("grid"));
}

static void read_layout(struct doc *d, struct str layout)
{
    struct str places = inside(layout, "nodeIndex"), styles = inside(layout, "styles");
    struct str at, style;
    while (jsontext_item(&places, &at) && jsontext_item(&styles, &style)) {
        int64_t i = jsontext_int(at, -1);
        if (i >= 0 && i < d->f->n)
            read_styles(d, &d->cells[i], style);
    }
}

/* ---- attributes ---- */

/* Returns the value of an attribute; p is NULL if there is none. */
static struct str get(const struct doc *d, const struct text_cell *c, const char *name)
{
    struct str in = jsontext_inside(c->attrs), n, v;
    while (jsontext_item(&in, &n) && jsontext_item(&in, &v)) {
        if (webpage_is_word(string_of(d, jsontext_int(n, -1)), name)) {
            struct str s = string_of(d, jsontext_int(v, -1));
            return s.p ? s : STR("");
        }
    }
    return (struct str){0};
}

static void put(struct text_making *m, struct html_node *n, struct str name,
                struct str value)
{
    struct html_attr *a = n ? arena_get(m->a, sizeof(*a)) : NULL;
    if (!a)
        return;
    a->name = name;
    a->value = value;
    a->next = n->attrs;
    n->attrs = a;
}

static void put_url(const struct doc *d, struct html_node *n, struct str name,
                    struct str ref)
{
    struct buf url = BUF_INIT(URL_JOIN_MAX);
    if (url_join(&url, d->base, ref) == 0) {
        char *copy = arena_copy(d->m->a, buf_str(&url));
        if (copy)
            put(d->m, n, name, str_n(copy, url.n));
    }
    buf_release(&url);
}

/* Copies the attributes; the current value of a field is added later. */
static void put_attributes(const struct doc *d, struct html_node *n,
                           const struct text_cell *c)
{
    static const char *const kept[] = {
        "type", "name",     "placeholder", "aria-label", "aria-hidden", "title",
        "alt",  "disabled", "readonly",    "multiple",   "label",       "colspan",
        "id",   "for",      "start",       "value",      NULL};
    struct str in = jsontext_inside(c->attrs), name, value;
    while (jsontext_item(&in, &name) && jsontext_item(&in, &value)) {
        struct str key = string_of(d, jsontext_int(name, -1));
        bool wanted = false;
        for (const char *const *k = kept; *k && !wanted; k++)
            wanted = webpage_is_word(key, *k);
        struct str v = string_of(d, jsontext_int(value, -1));
        if (wanted)
            put(d->m, n, key, v.p ? v : STR(""));
        else if ((n->tag == HTML_a || n->tag == HTML_area) && str_eq(key, STR("href")))
            put_url(d, n, key, v);
        else if ((n->tag == HTML_iframe || n->tag == HTML_frame) &&
                 str_eq(key, STR("src")))
            put_url(d, n, key, v);
    }
}

/* ---- elements that can be acted on ---- */

static const char *role_of(const struct doc *d, const struct text_cell *c)
{
    static const char *const roles[] = {
        "button",   "link",       "checkbox",         "radio",         "switch",
        "tab",      "menuitem",   "menuitemcheckbox", "menuitemradio", "option",
        "combobox", "spinbutton", "treeitem",         "slider",        NULL};
    struct str role = c->foreign ? STR("") : get(d, c, "role");
    for (const char *const *r = roles; role.n && *r; r++) {
        if (webpage_is_word(role, *r))
            return *r;
    }
    return NULL;
}

static bool is_editable(const struct doc *d, const struct text_cell *c)
{
    struct str s = get(d, c, "contenteditable");
    return s.p && !webpage_is_word(s, "false");
}

static bool is_native(const struct doc *d, int i)
{
    const struct text_cell *c = &d->cells[i];
    if (c->foreign)
        return false;
    switch (c->tag) {
    case HTML_input:
    case HTML_select:
    case HTML_textarea:
    case HTML_button:
    case HTML_iframe:
        return true;
    case HTML_a:
        return get(d, c, "href").p || (d->f->nodes[i].flags & IS_CLICKABLE);
    default:
        return false;
    }
}

/*
 * Finds, from the leaves up, which nodes are shown, and how many elements within them can
 * be acted on.
 */
static void sum_up(struct doc *d)
{
    for (int i = d->f->n - 1; i >= 0; i--) {
        struct text_cell *c = &d->cells[i];
        int up = d->f->nodes[i].parent;
        c->shown = c->shown || c->laid;
        if (up < 0 || up >= i)
            continue;
        struct text_cell *p = &d->cells[up];
        p->shown = p->shown || (c->shown && c->tag != HTML_option);
        p->acts += c->acts;
        if (c->type == IS_AN_ELEMENT && c->shown && c->attrs.n > 2 &&
            (is_native(d, i) || role_of(d, c) || is_editable(d, c)))
            p->acts++;
    }
}

static struct str bid_of(const struct doc *d, int i)
{
    struct element *el = d->f->document ? map_get(&d->f->document->bids,
                                                  snap_key(&d->f->nodes[i].id))
                                        : NULL;
    char ref[16];
    if (!el || !d->m->l->refs)
        return el ? str_of(el->bid) : STR("");
    snprintf(ref, sizeof(ref), "e%u", snap_ref(d->m->l->b, el));
    const char *copy = arena_copy(d->m->a, str_of(ref));
    return copy ? str_of(copy) : STR("");
}

/* ---- the tree ---- */

static struct html_node *node_in(struct text_making *m, struct html_node *up,
                                 enum html_tag tag)
{
    struct html_node *n = arena_get(m->a, sizeof(*n));
    if (!n)
        return NULL;
    n->tag = tag;
    n->parent = up;
    n->prev = up->last;
    if (up->last)
        up->last->next = n;
    else
        up->first = n;
    up->last = n;
    return n;
}

static void text_in(struct text_making *m, struct html_node *up, struct str text)
{
    struct html_node *n = text.n ? node_in(m, up, HTML_TEXT) : NULL;
    if (n)
        n->name = text;
}

/* Adds the content of an element; the inner nodes of fields are left out. */
static struct str text_within(const struct doc *d, int i)
{
    struct buf all = BUF_INIT(TEXT_NODE_MAX);
    for (int k = i + 1; k < d->f->n && d->f->nodes[k].parent >= i; k++) {
        if (d->cells[k].type == IS_A_TEXT && d->cells[k].laid)
            buf_adds(&all, string_of(d, d->cells[k].text));
    }
    char *copy = arena_copy(d->m->a, buf_str(&all));
    struct str s = copy ? str_n(copy, all.n) : STR("");
    buf_release(&all);
    return s;
}

static void make_doc(struct text_making *m, struct snap_frame *f, struct html_node *up);

/* Adds the document of a frame in its place. Returns false if it was not read. */
static bool put_frame(const struct doc *d, int i, struct html_node *up)
{
    struct snapshot *l = d->m->l;
    for (int k = 0; k < l->n && d->m->deep < FRAMES_DEEP; k++) {
        struct snap_frame *f = &l->frames[k];
        if (f->owner != d->f->nodes[i].id || f == d->f ||
            strcmp(f->owner_session, d->f->session) != 0)
            continue;
        struct html_node *place = node_in(d->m, up, HTML_div);
        if (place)
            make_doc(d->m, f, place);
        return true;
    }
    return false;
}

/*
 * Adds the bid and the current value to a field or a link. Returns NULL if nothing is to
 * be added.
 */
static struct html_node *put_item(const struct doc *d, int i, struct html_node *up,
                                  enum html_tag tag, const char *role)
{
    const struct text_cell *c = &d->cells[i];
    struct html_node *n = node_in(d->m, up, tag);
    struct str value = string_of(d, c->input);
    if (!n)
        return NULL;
    /* If an attribute occurs twice, the last one that was added is found. */
    put_attributes(d, n, c);
    bool tick = webpage_is_word(get(d, c, "type"), "checkbox") ||
                webpage_is_word(get(d, c, "type"), "radio");
    if (tag == HTML_input && c->input >= 0 && !tick)
        put(d->m, n, STR("value"), value);
    if (tag == HTML_textarea && c->tag == HTML_textarea)
        text_in(d->m, n, value);
    else if (tag == HTML_textarea)
        text_in(d->m, n, text_within(d, i));
    if (c->checked || webpage_is_word(get(d, c, "aria-checked"), "true"))
        put(d->m, n, STR("checked"), STR(""));
    if (webpage_is_word(get(d, c, "aria-disabled"), "true"))
        put(d->m, n, STR("disabled"), STR(""));
    if (role)
        put(d->m, n, STR(WEBPAGE_ROLE), str_of(role));
    put(d->m, n, STR(WEBPAGE_BID), bid_of(d, i));
    return tag == HTML_textarea ? NULL : n;
}

/* Is it a container of Chromium's layout for which HTML has no block? */
static bool is_plain(enum html_tag tag)
{
    unsigned flags = html_flags(tag);
    return tag == HTML_OTHER || tag == HTML_label || tag == HTML_a ||
           tag == HTML_button || tag == HTML_input || tag == HTML_select ||
           tag == HTML_textarea || tag == HTML_img || (flags & HTML_IS_FORMAT);
}

/*
 * Returns the node to add an element to: a block of its own, or up, perhaps after a
 * blank.
 */
static struct html_node *place_of(const struct doc *d, int i, bool plain,
                                  struct html_node *up)
{
    int p = d->f->nodes[i].parent;
    if (!d->cells[i].block || d->cells[i].foreign || !plain)
        return up;
    if (p >= 0 && d->cells[p].row) {
        text_in(d->m, up, STR(" "));
        return up;
    }
    struct html_node *n = node_in(d->m, up, HTML_div);
    return n ? n : up;
}

static struct html_node *put_option(const struct doc *d, int i, struct html_node *up)
{
    struct html_node *n = node_in(d->m, up, d->cells[i].tag);
    if (!n)
        return NULL;
    put_attributes(d, n, &d->cells[i]);
    if (d->cells[i].checked)
        put(d->m, n, STR("selected"), STR(""));
    return n;
}

/* Adds an element. Returns the node for its content; NULL if nothing of it is visible. */
static struct html_node *put_element(const struct doc *d, int i, struct html_node *up)
{
    const struct text_cell *c = &d->cells[i];
    bool alone = c->laid && !c->hidden && c->acts == 0;
    if (d->f->nodes[i].flags & IS_PRIVATE)
        return NULL;
    switch (c->tag) {
    case HTML_script:
    case HTML_style:
    case HTML_noscript:
    case HTML_template:
    case HTML_head:
        return NULL;
    case HTML_option:
    case HTML_optgroup:
        return put_option(d, i, up);
    default:
        break;
    }
    if (!c->shown)
        return NULL;
    bool edited = alone && is_editable(d, c);
    const char *role = alone && c->tag != HTML_li ? role_of(d, c) : NULL;
    up = place_of(d, i, edited || role || is_plain(c->tag), up);
    if ((c->tag == HTML_iframe || c->tag == HTML_frame) && put_frame(d, i, up))
        return NULL;
    if (is_native(d, i)) {
        if (c->hidden || !c->laid)
            return c->tag == HTML_a ? node_in(d->m, up, HTML_OTHER) : NULL;
        bool link = c->tag == HTML_a && !get(d, c, "href").p;
        if (link && c->acts)
            return node_in(d->m, up, HTML_OTHER);
        return put_item(d, i, up, link ? HTML_button : c->tag, link ? "link" : NULL);
    }
    if (edited)
        return put_item(d, i, up, HTML_textarea, NULL);
    if (role)
        return put_item(d, i, up, HTML_button, role);
    struct html_node *n = node_in(d->m, up, c->tag);
    if (n) {
        n->foreign = c->foreign;
        put_attributes(d, n, c);
    }
    return n;
}

static void put_nodes(struct doc *d, struct html_node *top)
{
    /* For each node, the tree node that takes its content. */
    struct html_node **at = xcalloc((size_t)d->f->n + 1, sizeof(struct html_node *));
    for (int i = 0; i < d->f->n && !d->m->a->full; i++) {
        const struct text_cell *c = &d->cells[i];
        int p = d->f->nodes[i].parent;
        struct html_node *up = p < 0 ? top : p < i ? at[p] : NULL;
        if (!up)
            continue;
        if (c->type == IS_AN_ELEMENT) {
            at[i] = put_element(d, i, up);
        } else if (c->type == IS_A_TEXT) {
            bool listed = up->tag == HTML_option;
            if (listed || (c->laid && !c->hidden))
                text_in(d->m, up, string_of(d, c->text));
        } else {
            at[i] = up; /* the document, the root of a shadow tree */
        }
    }
    free(at);
}

static void make_doc(struct text_making *m, struct snap_frame *f, struct html_node *up)
{
    struct doc d = {.m = m,
                    .f = f,
                    .strings = f->strings,
                    .cells = xcalloc((size_t)f->n + 1, sizeof(*d.cells))};
    m->deep++;
    d.base = string_of(&d, jsontext_int(jsontext_get(f->snapshot, STR("baseURL")), -1));
    read_nodes(&d, jsontext_get(f->snapshot, STR("nodes")));
    read_layout(&d, jsontext_get(f->snapshot, STR("layout")));
    sum_up(&d);
    put_nodes(&d, up);
    m->deep--;
    free(d.cells);
}

int snap_text(struct snapshot *l, struct browser_seen *out, struct err *e)
{
    struct arena a;
    struct webpage page;
    struct text_making m = {.l = l, .a = &a};
    int rc = -1;
    arena_init(&a, WEBPAGE_MEMORY);
    webpage_init(&page);
    buf_init(&m.scratch, TEXT_NODE_MAX);
    struct html_node *top = arena_get(&a, sizeof(*top));
    if (top && l->n > 0) {
        top->tag = HTML_html;
        make_doc(&m, &l->frames[0], top);
    }
    if (!top || a.full)
        err_set(e, ERR_LIMIT, "the page is larger than %d MiB", WEBPAGE_MEMORY >> 20);
    else
        rc = webpage_tree(&page, top, buf_str(&out->url), e);
    struct str text = buf_str(&page.text);
    while (text.n && text.p[text.n - 1] == '\n')
        text.n--;
    if (rc == 0)
        rc = buf_adds(&out->text, text);
    if (rc == 0 && page.more)
        rc = buf_addf(&out->text, "\n\n(%u more links and fields have no number.)",
                      page.more);
    if (rc == 0)
        rc = webpage_links(page.items, &out->links);
    if (rc < 0) {
        buf_reset(&out->text);
        buf_reset(&out->links);
    }
    buf_release(&m.scratch);
    webpage_release(&page);
    arena_release(&a);
    return rc;
}
