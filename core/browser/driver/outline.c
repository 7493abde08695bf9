/* SPDX-License-Identifier: MIT */
/*
 * The outline (webpage/outline.h) of a page of Chromium, from its accessibility trees:
 * headings, texts, elements that can be acted on, and their places. The layout determines
 * which elements are on lines of their own, and which ones without a role take clicks.
 */
#include "base/jsontext.h"
#include "browser/driver/snapshot_own.h"

enum { NAME_BYTES = 64 << 10, GATHERED_MAX = 400, OPTIONS_SHOWN = 12, OPTION_DEPTH = 8 };

struct walk {
    struct snapshot *l;
    struct outline *o;
    struct buf path;
    struct buf text; /* adjacent text that is not yet added */
    uint64_t text_key;
    unsigned line;
    int inside;    /* depth in elements with a ref, whose names include this text */
    int row, rows; /* in a row of a table; the rows of this table so far */
};

/* Roles that can be acted on. */
static const char *const acts[] = {"link",
                                   "button",
                                   "textbox",
                                   "searchbox",
                                   "combobox",
                                   "listbox",
                                   "checkbox",
                                   "radio",
                                   "option",
                                   "menuitem",
                                   "menuitemcheckbox",
                                   "menuitemradio",
                                   "tab",
                                   "switch",
                                   "slider",
                                   "spinbutton",
                                   "treeitem",
                                   "DisclosureTriangle",
                                   "ColorWell",
                                   "Date",
                                   "DateTime",
                                   "InputTime",
                                   NULL};
/* Those of them whose content is their value. */
static const char *const fields[] = {"textbox",  "searchbox", "spinbutton",
                                     "slider",   "ColorWell", "Date",
                                     "DateTime", "InputTime", NULL};
/* Parts of a page that name a place in it. */
static const char *const places[] = {
    "main",    "navigation", "banner",   "contentinfo", "complementary",
    "search",  "form",       "region",   "dialog",      "alertdialog",
    "table",   "grid",       "treegrid", "menu",        "tablist",
    "toolbar", "article",    "group",    "radiogroup",  NULL};
/* Those of them that are useful in a path even without a name. */
static const char *const plain_places[] = {"main",  "navigation", "dialog", "alertdialog",
                                           "table", "grid",       "menu",   NULL};
static const char *const cells[] = {"cell", "gridcell", "columnheader", "rowheader",
                                    NULL};

unsigned snap_ref(struct browser *b, struct element *el)
{
    if (!el->ref)
        el->ref = ++b->refs;
    return el->ref;
}

struct element *browser_element_of_ref(struct browser *b, unsigned ref)
{
    struct str key;
    void *value;
    for (void *it = NULL; ref && (it = map_next(&b->elements, it, &key, &value));) {
        struct element *el = value;
        if (el->ref == ref)
            return el;
    }
    return NULL;
}

/* ---- the layout ---- */

void snap_read_styles(struct snap_frame *f, struct str document, const struct words *w)
{
    struct str layout = jsontext_get(document, STR("layout")), at, style, v;
    struct str places_in = jsontext_inside(jsontext_get(layout, STR("nodeIndex")));
    struct str styles = jsontext_inside(jsontext_get(layout, STR("styles")));
    while (jsontext_item(&places_in, &at) && jsontext_item(&styles, &style)) {
        int64_t i = jsontext_int(at, -1);
        struct str in = jsontext_inside(style);
        if (i < 0 || i >= f->n)
            continue;
        /* The pointer, the visibility and the display, in the order that snapshots()
         * requests. */
        for (int k = 0; k < 3 && jsontext_item(&in, &v); k++) {
            enum snap_word word = snap_word_at(w, jsontext_int(v, -1));
            if (k == 0 && word == SNAP_POINTER)
                f->nodes[i].flags |= IS_POINTER;
            if (k == 2 && word == SNAP_BLOCK)
                f->nodes[i].flags |= IS_BLOCK;
        }
    }
    /* The hand is inherited, so it counts for the outermost element. */
    for (int i = f->n - 1; i >= 0; i--) {
        int up = f->nodes[i].parent;
        if (up >= 0 && up < i && (f->nodes[up].flags & IS_POINTER))
            f->nodes[i].flags &= (unsigned short)~IS_POINTER;
    }
}

/* ---- items ---- */

/* The key of a node in its session, whose ids are valid as long as the node exists. */
static uint64_t key_of(const struct snap_frame *f, int64_t node)
{
    uint64_t h = 1469598103934665603ULL;
    for (const char *c = f->session; *c; c++)
        h = (h ^ (unsigned char)*c) * 1099511628211ULL;
    h ^= (uint64_t)node * 0x9e3779b97f4a7c15ULL;
    return node ? h | 1 : 0;
}

static void add(struct walk *w, uint64_t key, unsigned ref, const char *role_z,
                struct str role, struct str name, struct str rest)
{
    struct outline_put p = {.key = key,
                            .ref = ref,
                            .line = w->line,
                            .role = role_z ? str_of(role_z) : role,
                            .name = name,
                            .rest = rest,
                            .path = buf_str(&w->path)};
    outline_add(w->o, &p);
}

static void flush(struct walk *w)
{
    if (str_trim(buf_str(&w->text)).n)
        add(w, w->text_key, 0, "text", STR(""), buf_str(&w->text), STR(""));
    buf_reset(&w->text);
}

static void new_line(struct walk *w)
{
    flush(w);
    w->line += w->row == 0;
}

static void add_text(struct walk *w, const struct snap_frame *f,
                     const struct snap_part *p)
{
    if (!w->text.n)
        w->text_key = key_of(f, p->node);
    if (jsontext_string(&w->text, p->name) < 0)
        buf_resume(&w->text);
}

static struct element *element_of(const struct snap_frame *f, int64_t node)
{
    return f->document ? map_get(&f->document->bids, snap_key(&node)) : NULL;
}

/* Appends the text within a node. Returns whether something there can be acted on. */
static bool gather(const struct snap_frame *f, const struct ax *a, struct buf *text,
                   int level)
{
    struct snap_part p = snap_parse(a->text);
    struct str in = jsontext_inside(p.children), c;
    if (snap_is_one_of(p.role, acts) || str_eq(p.role, STR("Iframe")))
        return true;
    if (str_eq(p.role, STR("StaticText")) || str_eq(p.role, STR("image"))) {
        if (text->n)
            buf_addc(text, ' ');
        jsontext_string(text, p.name);
    }
    while (level < SNAP_DEPTH_MAX && jsontext_item(&in, &c)) {
        const struct ax *child = map_get(&f->by_id, jsontext_plain(c));
        if (child && gather(f, child, text, level + 1))
            return true;
    }
    return false;
}

static bool is_option(struct str role)
{
    return str_eq(role, STR("option")) || str_eq(role, STR("MenuListOption"));
}

/* Appends the choices of a drop-down list, as ` of "Small", "Large"`. A list that the
 * page styles (appearance: base-select) has them in generic nodes. */
static void put_options(const struct snap_frame *f, const struct snap_part *p,
                        struct buf *out, int *n, int level)
{
    struct str in = jsontext_inside(p->children), c;
    while (jsontext_item(&in, &c)) {
        const struct ax *child = map_get(&f->by_id, jsontext_plain(c));
        struct snap_part q = child ? snap_parse(child->text) : (struct snap_part){0};
        if (level < OPTION_DEPTH && child && !is_option(q.role))
            put_options(f, &q, out, n, level + 1);
        if (!is_option(q.role))
            continue;
        if (++*n > OPTIONS_SHOWN)
            continue;
        struct buf name = BUF_INIT(NAME_BYTES);
        jsontext_string(&name, q.name);
        buf_addz(out, *n == 1 ? " of " : ", ");
        outline_quote(out, buf_str(&name));
        buf_release(&name);
    }
}

/* Appends its value and its states. */
static void put_rest(const struct snap_frame *f, const struct snap_part *p,
                     struct buf *out)
{
    struct str in = jsontext_inside(p->properties), name, v;
    struct buf value = BUF_INIT(NAME_BYTES);
    if (p->value.p && jsontext_string(&value, p->value) < 0 && !value.n)
        buf_adds(&value, p->value); /* a number */
    if (p->value.p && (value.n || snap_is_one_of(p->role, fields))) {
        buf_addz(out, " = ");
        outline_quote(out, buf_str(&value));
    }
    buf_release(&value);
    while (snap_property(&in, &name, &v)) {
        const char *word = snap_state(name, v);
        if (word && !str_eq(name, STR("focused")) &&
            !(str_eq(name, STR("expanded")) && str_eq(p->role, STR("combobox"))))
            buf_addf(out, " %s", word);
        else if (str_eq(name, STR("readonly")) && str_eq(v, STR("true")))
            buf_addz(out, " readonly");
    }
    int n = 0;
    if (str_eq(p->role, STR("combobox")))
        put_options(f, p, out, &n, 0);
    if (n > OPTIONS_SHOWN)
        buf_addf(out, " and %d more", n - OPTIONS_SHOWN);
}

static void walk(struct walk *w, struct snap_frame *f, struct ax *a, int level);

static void walk_children(struct walk *w, struct snap_frame *f, const struct snap_part *p,
                          int level)
{
    struct str in = jsontext_inside(p->children), c;
    while (jsontext_item(&in, &c)) {
        struct ax *child = map_get(&f->by_id, jsontext_plain(c));
        if (child)
            walk(w, f, child, level + 1);
    }
    for (int i = 0; p->node && i < w->l->n; i++) {
        struct snap_frame *inner = &w->l->frames[i];
        if (inner->owner != p->node || inner->printed || !inner->ax_n ||
            strcmp(inner->owner_session, f->session) != 0)
            continue;
        inner->printed = true;
        new_line(w);
        walk(w, inner, &inner->ax[0], level + 1);
        new_line(w);
    }
}

/* Adds an element with a ref, then searches its content for others. */
static void walk_act(struct walk *w, struct snap_frame *f, const struct snap_part *p,
                     struct element *el, const char *role, struct str name, int level)
{
    struct buf rest = BUF_INIT(4 * OUTLINE_NAME_MAX);
    flush(w);
    put_rest(f, p, &rest);
    add(w, key_of(f, p->node), el ? snap_ref(w->l->b, el) : 0, role, p->role, name,
        buf_str(&rest));
    buf_release(&rest);
    if (snap_is_one_of(p->role, fields) || str_eq(p->role, STR("combobox")))
        return; /* its text is its value */
    w->inside++;
    walk_children(w, f, p, level);
    buf_reset(&w->text);
    w->inside--;
}

/* Adds a part of the page if it has a name; a dialog always. */
static void walk_place(struct walk *w, struct snap_frame *f, const struct snap_part *p,
                       struct str name, int level)
{
    size_t before = w->path.n;
    int rows = w->rows;
    bool dialog = str_eq(p->role, STR("dialog")) || str_eq(p->role, STR("alertdialog"));
    bool told = name.n || snap_is_one_of(p->role, plain_places);
    new_line(w);
    if (told) {
        if (before)
            buf_addz(&w->path, " > ");
        buf_adds(&w->path, p->role);
        if (name.n) {
            buf_addc(&w->path, ' ');
            outline_quote(&w->path, str_sub(name, 0, 60));
        }
        if (buf_full(&w->path))
            buf_resume(&w->path);
    }
    if (name.n || dialog) {
        add(w, key_of(f, p->node), 0, NULL, p->role, name, STR(""));
        new_line(w);
    }
    w->rows = 0;
    walk_children(w, f, p, level);
    new_line(w);
    w->rows = rows;
    buf_truncate(&w->path, before);
}

static void walk_row(struct walk *w, struct snap_frame *f, const struct snap_part *p,
                     int level)
{
    size_t before = w->path.n;
    new_line(w);
    w->rows++;
    buf_addf(&w->path, " row %d", w->rows);
    w->row++;
    walk_children(w, f, p, level);
    flush(w);
    w->row--;
    new_line(w);
    buf_truncate(&w->path, before);
}

/* contenteditable, for which Chromium has no role. */
static bool is_editor(const struct snap_part *p)
{
    struct str in = jsontext_inside(p->properties), name, v;
    bool rich = false, takes = false;
    while (snap_property(&in, &name, &v)) {
        rich |= str_eq(name, STR("editable")) && str_eq(v, STR("\"richtext\""));
        takes |= str_eq(name, STR("focusable")) && str_eq(v, STR("true"));
    }
    return rich && takes;
}

/* An element that takes clicks, with its text unless it contains others with refs. */
static bool is_clickable(const struct walk *w, const struct snap_frame *f,
                         const struct ax *a, const struct element *el, struct buf *text)
{
    if (!el || w->inside || !(el->clickable || el->pointer))
        return false;
    bool around = gather(f, a, text, 0);
    if (buf_full(text))
        buf_resume(text);
    return !around && str_trim(buf_str(text)).n > 0 && text->n < GATHERED_MAX;
}

static void walk_other(struct walk *w, struct snap_frame *f, struct ax *a,
                       const struct snap_part *p, struct element *el, struct str name,
                       int level)
{
    struct buf text = BUF_INIT(2 * GATHERED_MAX);
    bool cell = snap_is_one_of(p->role, cells);
    if (is_editor(p) && el) {
        gather(f, a, &text, 0);
        flush(w);
        buf_resume(&text);
        struct buf rest = BUF_INIT(4 * OUTLINE_NAME_MAX);
        buf_addz(&rest, " = ");
        outline_quote(&rest, buf_str(&text));
        add(w, key_of(f, p->node), snap_ref(w->l->b, el), "textbox", STR(""), name,
            buf_str(&rest));
        buf_release(&rest);
    } else if (!snap_is_one_of(p->role, places) && !str_eq(p->role, STR("RootWebArea")) &&
               !str_eq(p->role, STR("row")) && is_clickable(w, f, a, el, &text)) {
        struct str said = name.n ? name : buf_str(&text);
        walk_act(w, f, p, el, cell ? NULL : "clickable", said, level);
    } else if (cell && name.n && (buf_reset(&text), !gather(f, a, &text, 0))) {
        flush(w);
        add(w, key_of(f, p->node), 0, NULL, p->role, name, STR(""));
    } else if (cell || str_eq(p->role, STR("LayoutTableCell"))) {
        flush(w);
        walk_children(w, f, p, level);
        flush(w);
    } else if (snap_is_one_of(p->role, places)) {
        walk_place(w, f, p, name, level);
    } else if (str_eq(p->role, STR("row"))) {
        walk_row(w, f, p, level);
    } else if (str_eq(p->role, STR("progressbar")) || str_eq(p->role, STR("meter"))) {
        struct buf rest = BUF_INIT(4 * OUTLINE_NAME_MAX);
        put_rest(f, p, &rest);
        add(w, key_of(f, p->node), 0, NULL, p->role, name, buf_str(&rest));
        buf_release(&rest);
    } else {
        walk_children(w, f, p, level);
    }
    buf_release(&text);
}

static void walk(struct walk *w, struct snap_frame *f, struct ax *a, int level)
{
    if (a->seen || w->o->full || level > SNAP_DEPTH_MAX)
        return;
    a->seen = true;
    struct snap_part p = snap_parse(a->text);
    struct element *el = element_of(f, p.node);
    if (str_eq(p.role, STR("StaticText"))) {
        if (!w->inside)
            add_text(w, f, &p);
        return;
    }
    if (str_eq(p.role, STR("LineBreak")) || str_eq(p.role, STR("ListMarker"))) {
        if (w->text.n)
            buf_addc(&w->text, ' ');
        return;
    }
    bool block = ((el && el->block) || str_eq(p.role, STR("LayoutTableRow"))) &&
                 !w->inside;
    struct buf name = BUF_INIT(NAME_BYTES);
    if (p.name.p && jsontext_string(&name, p.name) < 0)
        buf_resume(&name);
    struct str said = str_trim(buf_str(&name));
    if (block)
        new_line(w);
    if (snap_is_one_of(p.role, acts) && el) {
        walk_act(w, f, &p, el, NULL, said, level);
    } else if (str_eq(p.role, STR("heading")) && said.n && !w->inside) {
        flush(w);
        add(w, key_of(f, p.node), 0, NULL, p.role, said, STR(""));
        w->inside++;
        walk_children(w, f, &p, level);
        w->inside--;
    } else if (str_eq(p.role, STR("image")) && said.n && !w->inside &&
               !(el && (el->clickable || el->pointer))) {
        flush(w);
        add(w, key_of(f, p.node), 0, NULL, p.role, said, STR(""));
    } else if (str_eq(p.role, STR("image")) && el && (el->clickable || el->pointer) &&
               !w->inside) {
        walk_act(w, f, &p, el, NULL, said, level);
    } else {
        walk_other(w, f, a, &p, el, said, level);
    }
    if (block)
        new_line(w);
    buf_release(&name);
}

void snap_outline(struct snapshot *l)
{
    struct walk w = {.l = l, .o = l->outline};
    buf_init(&w.path, 4096);
    buf_init(&w.text, NAME_BYTES);
    if (l->n > 0 && l->frames[0].ax_n > 0) {
        l->frames[0].printed = true;
        walk(&w, &l->frames[0], &l->frames[0].ax[0], 0);
    }
    flush(&w);
    buf_release(&w.path);
    buf_release(&w.text);
}
