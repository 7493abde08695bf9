/* SPDX-License-Identifier: MIT */
/*
 * Tokens to a tree: HTML standard, 13.2.6. The html element is always open; "text" is not
 * a mode of its own, and the content of a template is its children.
 *
 * The stack of open elements has at most HTML_DEPTH_MAX entries, the list of formatting
 * elements HTML_ACTIVE_MAX: an element that would be deeper becomes a sibling, and the
 * oldest formatting element is dropped from a full list.
 */
#include "html/own.h"

#include <strings.h>

enum mode {
    INITIAL,
    BEFORE_HTML,
    BEFORE_HEAD,
    IN_HEAD,
    IN_NOSCRIPT,
    AFTER_HEAD,
    IN_BODY,
    IN_TABLE,
    IN_CAPTION,
    IN_COLGROUP,
    IN_TBODY,
    IN_ROW,
    IN_CELL,
    IN_TEMPLATE,
    AFTER_BODY,
    IN_FRAMESET,
    AFTER_FRAMESET,
    AFTER_AFTER_BODY,
    AFTER_AFTER_FRAMESET,
};

struct tree {
    struct html_tokens tokens;
    struct html_token t; /* the current token */
    struct arena *a;
    struct html_node *html, *head, *form;
    struct html_node *document; /* NULL: the html element is the top */
    struct html_node *context;  /* of a fragment; else NULL */
    struct html_node *open[HTML_DEPTH_MAX + 1];
    unsigned char within[HTML_DEPTH_MAX + 1]; /* of each open template: its mode */
    int opens;
    struct html_node *active[HTML_ACTIVE_MAX + 1]; /* NULL: a marker */
    int actives;
    enum mode mode;
    bool foster; /* new nodes are put before the table (foster parenting) */
    bool quirks; /* quirks mode: a table does not end a paragraph */
    bool scripting;
    bool frames_fine; /* a frameset may still replace the body */
    bool skip_line;   /* drop the first line end of a pre */
    bool full;
};

static void in_body(struct tree *t);
static void in_mode(struct tree *t);

/* ---- nodes ---- */

static void unlink_node(struct html_node *n)
{
    struct html_node *p = n->parent;
    if (!p)
        return;
    *(n->prev ? &n->prev->next : &p->first) = n->next;
    *(n->next ? &n->next->prev : &p->last) = n->prev;
    n->parent = n->prev = n->next = NULL;
}

static void link_before(struct html_node *parent, struct html_node *n,
                        struct html_node *before)
{
    n->parent = parent;
    n->next = before;
    n->prev = before ? before->prev : parent->last;
    *(n->prev ? &n->prev->next : &parent->first) = n;
    *(before ? &before->prev : &parent->last) = n;
}

static struct html_node *node_new(struct tree *t, enum html_tag tag, struct str name)
{
    struct html_node *n = arena_get(t->a, sizeof(*n));
    if (!n) {
        t->full = true;
        return NULL;
    }
    n->tag = tag;
    n->name = name;
    return n;
}

static struct html_node *top(const struct tree *t) { return t->open[t->opens - 1]; }

static bool is_html(const struct html_node *n, enum html_tag tag)
{
    return n->tag == tag && !n->foreign;
}

/* Returns the adjusted current node: the context, if only a fragment's root is open. */
static const struct html_node *adjusted_top(const struct tree *t)
{
    return t->opens == 1 && t->context ? t->context : top(t);
}

static bool is_rows(const struct html_node *n)
{
    return is_html(n, HTML_table) || is_html(n, HTML_tbody) || is_html(n, HTML_tfoot) ||
           is_html(n, HTML_thead) || is_html(n, HTML_tr);
}

/* Inserts n at the appropriate place (13.2.6.1), below `over` or the current node. */
static void place(struct tree *t, struct html_node *n, struct html_node *over)
{
    struct html_node *target = over ? over : top(t);
    if (t->foster && is_rows(target)) {
        int i = t->opens - 1;
        while (i > 0 && !is_html(t->open[i], HTML_table) &&
               !is_html(t->open[i], HTML_template))
            i--;
        struct html_node *table = t->open[i];
        if (is_html(table, HTML_table) && table->parent) {
            link_before(table->parent, n, table);
            return;
        }
        target = is_html(table, HTML_table) ? t->open[i - 1] : table;
    }
    link_before(target, n, NULL);
}

static void push(struct tree *t, struct html_node *n) { t->open[t->opens++] = n; }

static void pop(struct tree *t)
{
    if (t->opens > 1)
        t->opens--;
}

static struct html_node *insert_node(struct tree *t, struct html_node *n)
{
    if (t->opens >= HTML_DEPTH_MAX)
        t->opens--;
    place(t, n, NULL);
    push(t, n);
    return n;
}

/* Without memory nothing is inserted, and parsing ends soon after. */
static struct html_node *insert_as(struct tree *t, enum html_tag tag, struct str name,
                                   struct html_attr *attrs)
{
    struct html_node *n = node_new(t, tag, name);
    if (!n)
        return NULL;
    n->attrs = attrs;
    return insert_node(t, n);
}

static struct html_node *insert(struct tree *t)
{
    return insert_as(t, t->t.tag, t->t.text, t->t.attrs);
}

static struct html_node *insert_void(struct tree *t)
{
    struct html_node *n = insert(t);
    if (n)
        pop(t);
    return n;
}

/* Inserts an element that has no tag in the page. */
static struct html_node *imply(struct tree *t, enum html_tag tag, struct str name)
{
    return insert_as(t, tag, name, NULL);
}

/* Inserts a comment or a doctype into parent, before `before` or as the last child. */
static void insert_note(struct tree *t, struct html_node *parent,
                        struct html_node *before)
{
    struct html_node *n = node_new(t, HTML_NOTE, t->t.text);
    if (n)
        link_before(parent, n, before);
}

static void insert_comment(struct tree *t)
{
    struct html_node *n = node_new(t, HTML_NOTE, t->t.text);
    if (n)
        place(t, n, NULL);
}

/* Removes U+0000 from the text, or replaces it by U+FFFD. */
static void drop_nuls(struct tree *t, bool replace)
{
    struct str s = t->t.text;
    if (!memchr(s.p, '\0', s.n))
        return;
    char *p = arena_get(t->a, s.n * 3);
    size_t n = 0;
    t->full = t->full || !p;
    for (size_t i = 0; p && i < s.n; i++) {
        if (s.p[i]) {
            p[n++] = s.p[i];
        } else if (replace) {
            memcpy(p + n, "\xEF\xBF\xBD", 3);
            n += 3;
        }
    }
    t->t.text = str_n(p, n);
}

static void insert_text(struct tree *t, struct str s)
{
    if (s.n == 0)
        return;
    struct html_node *n = node_new(t, HTML_TEXT, s);
    if (n)
        place(t, n, NULL);
}

/* ---- the stack ---- */

static int find_open(const struct tree *t, const struct html_node *n)
{
    for (int i = t->opens - 1; i >= 0; i--) {
        if (t->open[i] == n)
            return i;
    }
    return -1;
}

static void drop_open(struct tree *t, const struct html_node *n)
{
    int i = find_open(t, n);
    if (i <= 0)
        return;
    memmove(&t->open[i], &t->open[i + 1],
            (size_t)(t->opens - i - 1) * sizeof(struct html_node *));
    memmove(&t->within[i], &t->within[i + 1], (size_t)(t->opens - i - 1));
    t->opens--;
}

enum scope { ANY_SCOPE, ITEM_SCOPE, BUTTON_SCOPE, TABLE_SCOPE };

static bool is_special(const struct html_node *n)
{
    if (n->foreign)
        return html_is_foreign_text(n) || html_is_annotation(n) ||
               (!n->math && html_is_foreign_html(n));
    return html_flags(n->tag) & HTML_IS_SPECIAL;
}

static bool ends_scope(const struct html_node *n, enum scope scope)
{
    if (scope == TABLE_SCOPE)
        return is_html(n, HTML_table) || is_html(n, HTML_template);
    if (n->foreign)
        return is_special(n);
    if ((html_flags(n->tag) & HTML_IS_SCOPE) == HTML_IS_SCOPE)
        return true;
    if (n->tag == HTML_select)
        return true;
    if (scope == ITEM_SCOPE)
        return n->tag == HTML_ol || n->tag == HTML_ul || n->tag == HTML_menu;
    return scope == BUTTON_SCOPE && n->tag == HTML_button;
}

static bool in_scope(const struct tree *t, enum html_tag tag, enum scope scope)
{
    for (int i = t->opens - 1; i > 0; i--) {
        if (is_html(t->open[i], tag))
            return true;
        if (ends_scope(t->open[i], scope))
            return false;
    }
    return false;
}

static bool has_open(const struct tree *t, enum html_tag tag)
{
    for (int i = t->opens - 1; i > 0; i--) {
        if (is_html(t->open[i], tag))
            return true;
    }
    return false;
}

static void pop_to(struct tree *t, enum html_tag tag)
{
    while (t->opens > 1) {
        bool it = is_html(top(t), tag);
        pop(t);
        if (it)
            return;
    }
}

/* Closes elements whose end tag may be missing (13.2.6, "generate implied end tags"). */
static void end_implied(struct tree *t, enum html_tag but)
{
    for (;;) {
        enum html_tag tag = top(t)->foreign ? HTML_OTHER : top(t)->tag;
        bool implied = tag == HTML_dd || tag == HTML_dt || tag == HTML_li ||
                       tag == HTML_optgroup || tag == HTML_option || tag == HTML_p ||
                       tag == HTML_rb || tag == HTML_rp || tag == HTML_rt ||
                       tag == HTML_rtc;
        if (!implied || tag == but)
            return;
        pop(t);
    }
}

/* The same, and the parts of tables too ("thoroughly"). */
static void end_implied_all(struct tree *t)
{
    for (;;) {
        end_implied(t, HTML_OTHER);
        const struct html_node *n = top(t);
        if (t->opens < 2 || n->foreign ||
            !(n->tag == HTML_caption || n->tag == HTML_colgroup || n->tag == HTML_tbody ||
              n->tag == HTML_td || n->tag == HTML_tfoot || n->tag == HTML_th ||
              n->tag == HTML_thead || n->tag == HTML_tr))
            return;
        pop(t);
    }
}

static void end_p(struct tree *t)
{
    if (!in_scope(t, HTML_p, BUTTON_SCOPE))
        return;
    end_implied(t, HTML_p);
    pop_to(t, HTML_p);
}

/* ---- formatting elements: 13.2.4.3 ---- */

static int find_active(const struct tree *t, const struct html_node *n)
{
    for (int i = t->actives - 1; i >= 0; i--) {
        if (t->active[i] == n)
            return i;
    }
    return -1;
}

static void drop_active(struct tree *t, int i)
{
    if (i < 0)
        return;
    memmove(&t->active[i], &t->active[i + 1],
            (size_t)(t->actives - i - 1) * sizeof(struct html_node *));
    t->actives--;
}

static void add_active_at(struct tree *t, int i, struct html_node *n)
{
    memmove(&t->active[i + 1], &t->active[i],
            (size_t)(t->actives - i) * sizeof(struct html_node *));
    t->active[i] = n;
    t->actives++;
}

static bool same_attrs(const struct html_node *a, const struct html_node *b)
{
    size_t n = 0, m = 0;
    for (const struct html_attr *y = b->attrs; y; y = y->next)
        m++;
    for (const struct html_attr *x = a->attrs; x; x = x->next, n++) {
        const struct html_attr *y = b->attrs;
        while (y && !(str_eq(x->name, y->name) && str_eq(x->value, y->value)))
            y = y->next;
        if (!y)
            return false;
    }
    return n == m;
}

static void add_active(struct tree *t, struct html_node *n)
{
    int same = 0, first = -1;
    for (int i = t->actives - 1; n && i >= 0 && t->active[i]; i--) {
        if (t->active[i]->tag == n->tag && str_eq(t->active[i]->name, n->name) &&
            same_attrs(t->active[i], n)) {
            same++;
            first = i;
        }
    }
    if (same >= 3)
        drop_active(t, first);
    if (t->actives >= HTML_ACTIVE_MAX)
        drop_active(t, 0);
    add_active_at(t, t->actives, n);
}

static void to_marker(struct tree *t)
{
    while (t->actives > 0 && t->active[--t->actives])
        continue;
}

static struct html_node *active_named(const struct tree *t, enum html_tag tag)
{
    for (int i = t->actives - 1; i >= 0 && t->active[i]; i--) {
        if (t->active[i]->tag == tag)
            return t->active[i];
    }
    return NULL;
}

/* Opens again what a block or a cell has ended. */
static void reconstruct(struct tree *t)
{
    int i = t->actives;
    while (i > 0 && t->active[i - 1] && find_open(t, t->active[i - 1]) < 0)
        i--;
    for (; i < t->actives; i++) {
        const struct html_node *old = t->active[i];
        struct html_node *n = insert_as(t, old->tag, old->name, old->attrs);
        if (!n)
            return;
        t->active[i] = n;
    }
}

/* ---- the adoption agency: 13.2.6.4.7 ---- */

/* Any other end tag. */
static void end_other(struct tree *t, enum html_tag tag, struct str name)
{
    for (int i = t->opens - 1; i > 0; i--) {
        struct html_node *n = t->open[i];
        if (!n->foreign && n->tag == tag && str_eq(n->name, name)) {
            end_implied(t, tag);
            t->opens = t->opens > i ? i : t->opens;
            return;
        }
        if (is_special(n))
            return;
    }
}

/* The inner loop: clones the elements in between. Returns the last of them. */
static struct html_node *adopt_between(struct tree *t, struct html_node *format,
                                       struct html_node *furthest, int *bookmark)
{
    struct html_node *last = furthest;
    int at = find_open(t, furthest);
    for (int count = 1;; count++) {
        struct html_node *n = t->open[--at];
        if (n == format)
            return last;
        int active = find_active(t, n);
        if (active >= 0 && count > 3) {
            drop_active(t, active);
            *bookmark -= active < *bookmark;
            active = -1;
        }
        if (active < 0) {
            drop_open(t, n);
            continue;
        }
        struct html_node *copy = node_new(t, n->tag, n->name);
        if (!copy)
            return NULL;
        copy->attrs = n->attrs;
        t->active[active] = copy;
        t->open[at] = copy;
        if (last == furthest)
            *bookmark = active + 1;
        unlink_node(last);
        link_before(copy, last, NULL);
        last = copy;
    }
}

static struct html_node *furthest_block(const struct tree *t, int from)
{
    for (int i = from + 1; i < t->opens; i++) {
        if (is_special(t->open[i]))
            return t->open[i];
    }
    return NULL;
}

/* One round of the outer loop. Returns false if there is nothing more to do. */
static bool adopt_once(struct tree *t, enum html_tag tag, struct str name)
{
    struct html_node *format = active_named(t, tag);
    if (!format) {
        end_other(t, tag, name);
        return false;
    }
    int at = find_open(t, format), bookmark = find_active(t, format);
    if (at <= 0) {
        drop_active(t, bookmark);
        return false;
    }
    if (!in_scope(t, tag, ANY_SCOPE))
        return false;
    struct html_node *furthest = furthest_block(t, at), *common = t->open[at - 1];
    if (!furthest) {
        t->opens = at;
        drop_active(t, bookmark);
        return false;
    }
    struct html_node *last = adopt_between(t, format, furthest, &bookmark);
    struct html_node *copy = last ? node_new(t, format->tag, format->name) : NULL;
    if (!copy)
        return false;
    unlink_node(last);
    bool foster = t->foster;
    t->foster = true;
    place(t, last, common);
    t->foster = foster;
    copy->attrs = format->attrs;
    for (struct html_node *n = furthest->first; (n = furthest->first);) {
        unlink_node(n);
        link_before(copy, n, NULL);
    }
    link_before(furthest, copy, NULL);
    int old = find_active(t, format);
    drop_active(t, old);
    bookmark -= old >= 0 && old < bookmark;
    add_active_at(t, bookmark, copy);
    drop_open(t, format);
    int below = find_open(t, furthest) + 1;
    memmove(&t->open[below + 1], &t->open[below],
            (size_t)(t->opens - below) * sizeof(struct html_node *));
    t->open[below] = copy;
    t->opens++;
    return true;
}

static void adopt(struct tree *t, enum html_tag tag, struct str name)
{
    if (top(t)->tag == tag && str_eq(top(t)->name, name) && find_active(t, top(t)) < 0) {
        pop(t);
        return;
    }
    for (int i = 0; i < 8 && adopt_once(t, tag, name); i++)
        continue;
}

/* ---- modes ---- */

static enum mode mode_of(const struct tree *t, int i)
{
    const struct html_node *n = i == 0 && t->context ? t->context : t->open[i];
    switch (n->foreign ? HTML_OTHER : n->tag) {
    case HTML_td:
    case HTML_th:
        return i ? IN_CELL : IN_BODY;
    case HTML_tr:
        return IN_ROW;
    case HTML_tbody:
    case HTML_thead:
    case HTML_tfoot:
        return IN_TBODY;
    case HTML_caption:
        return IN_CAPTION;
    case HTML_colgroup:
        return IN_COLGROUP;
    case HTML_table:
        return IN_TABLE;
    case HTML_template:
        return i ? (enum mode)t->within[i] : IN_TEMPLATE;
    case HTML_head:
        return i ? IN_HEAD : IN_BODY;
    case HTML_body:
        return IN_BODY;
    case HTML_frameset:
        return IN_FRAMESET;
    case HTML_html:
        return t->head ? AFTER_HEAD : BEFORE_HEAD;
    default:
        return i ? INITIAL : IN_BODY;
    }
}

static void reset_mode(struct tree *t)
{
    int i = t->opens - 1;
    while (i > 0 && mode_of(t, i) == INITIAL)
        i--;
    t->mode = mode_of(t, i);
}

/*
 * An element written as <iframe/>, as in XML, is empty if it has no end tag; by the
 * standard, all the rest of the page would be its text.
 */
static void insert_raw(struct tree *t)
{
    unsigned flags = html_flags(t->t.tag);
    if (t->t.closed && !html_token_ends(&t->tokens, t->t.tag, t->t.text)) {
        insert_void(t);
    } else if (insert(t)) {
        t->tokens.raw = t->t.text;
        t->tokens.raw_refs = flags & HTML_IS_TEXT & ~1U;
        t->skip_line = t->t.tag == HTML_textarea;
    }
}

/* Handles the start tag of an element of the head, anywhere in the page. */
static void start_head(struct tree *t)
{
    unsigned flags = html_flags(t->t.tag);
    if ((flags & HTML_IS_VOID) == HTML_IS_VOID)
        insert_void(t);
    else
        insert_raw(t);
}

static void start_template(struct tree *t)
{
    if (insert(t)) {
        add_active(t, NULL);
        t->frames_fine = false;
        t->mode = IN_TEMPLATE;
        t->within[t->opens - 1] = IN_TEMPLATE;
    }
}

static void end_template(struct tree *t)
{
    if (!has_open(t, HTML_template))
        return;
    end_implied_all(t);
    pop_to(t, HTML_template);
    to_marker(t);
    reset_mode(t);
}

static bool is_heady(const struct tree *t)
{
    return (html_flags(t->t.tag) & HTML_IS_HEAD) == HTML_IS_HEAD;
}

/* Cuts leading white space off the current text. */
static struct str take_blanks(struct tree *t)
{
    size_t n = 0;
    while (n < t->t.text.n && strchr(" \t\n\f\r", t->t.text.p[n]))
        n++;
    struct str blanks = str_sub(t->t.text, 0, n);
    t->t.text = str_sub(t->t.text, n, t->t.text.n);
    return blanks;
}

static bool is_blank_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr(" \t\n\f\r", s.p[i]) || !s.p[i])
            return false;
    }
    return true;
}

static void to_body(struct tree *t)
{
    imply(t, HTML_body, STR("body"));
    t->mode = IN_BODY;
    in_mode(t);
}

static void add_attrs(struct tree *t, struct html_node *to)
{
    struct html_attr *next;
    for (struct html_attr *a = t->t.attrs; a; a = next) {
        next = a->next;
        char name[64];
        if (a->name.n >= sizeof(name))
            continue;
        memcpy(name, a->name.p, a->name.n);
        name[a->name.n] = '\0';
        if (!html_get(to, name).p) {
            a->next = to->attrs;
            to->attrs = a;
        }
    }
    t->t.attrs = NULL;
}

static bool is_start(const struct tree *t, enum html_tag tag)
{
    return t->t.kind == HTML_START && t->t.tag == tag;
}

static bool is_end(const struct tree *t, enum html_tag tag)
{
    return t->t.kind == HTML_END && t->t.tag == tag;
}

/*
 * Whether the token is an end tag to ignore: not </body>, </html> or </br>, which imply
 * the body.
 */
static bool is_stray_end(const struct tree *t)
{
    return t->t.kind == HTML_END && t->t.tag != HTML_body && t->t.tag != HTML_html &&
           t->t.tag != HTML_br;
}

/* Drops leading blanks. Returns true if there was nothing else. */
static bool is_blank_now(struct tree *t)
{
    if (t->t.kind != HTML_CHARS)
        return false;
    take_blanks(t);
    return t->t.text.n == 0;
}

static void initial(struct tree *t)
{
    if (is_blank_now(t))
        return;
    t->mode = BEFORE_HTML;
    t->quirks = t->t.kind != HTML_DOCTYPE || html_is_quirky(&t->t);
    if (t->t.kind != HTML_DOCTYPE) {
        in_mode(t);
    } else if (t->document) {
        insert_note(t, t->document, t->html);
        struct html_node *n = t->html->prev;
        struct html_attr *a = t->full ? NULL : arena_get(t->a, sizeof(*a) * 2);
        t->full = !a;
        if (t->full)
            return;
        n->doctype = true;
        a[0] = (struct html_attr){STR("public"), t->t.doctype.public_id, &a[1]};
        a[1] = (struct html_attr){STR("system"), t->t.doctype.system_id, NULL};
        n->attrs = a;
    }
}

static void before_html(struct tree *t)
{
    if (is_blank_now(t) || (is_stray_end(t) && t->t.tag != HTML_head))
        return;
    t->mode = BEFORE_HEAD;
    if (is_start(t, HTML_html))
        add_attrs(t, t->html);
    else
        in_mode(t);
}

static void before_head(struct tree *t)
{
    if (is_blank_now(t))
        return;
    if (is_start(t, HTML_html)) {
        in_body(t);
        return;
    }
    if (is_stray_end(t) && t->t.tag != HTML_head)
        return;
    t->mode = IN_HEAD;
    if (is_start(t, HTML_head)) {
        t->head = insert(t);
        return;
    }
    t->head = imply(t, HTML_head, STR("head"));
    in_mode(t);
}

static void in_head(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        insert_text(t, take_blanks(t));
        if (t->t.text.n == 0)
            return;
    }
    if (is_start(t, HTML_html)) {
        in_body(t);
    } else if (t->t.kind == HTML_START && is_heady(t)) {
        start_head(t);
    } else if (is_start(t, HTML_noscript)) {
        if (t->scripting) {
            insert_raw(t);
        } else if (insert(t)) {
            t->mode = IN_NOSCRIPT;
        }
    } else if (is_start(t, HTML_template)) {
        start_template(t);
    } else if (is_end(t, HTML_template)) {
        end_template(t);
    } else if (is_start(t, HTML_head)) {
        return;
    } else if (is_end(t, HTML_head)) {
        pop_to(t, HTML_head);
        t->mode = AFTER_HEAD;
    } else if (!is_stray_end(t)) {
        pop_to(t, HTML_head);
        t->mode = AFTER_HEAD;
        in_mode(t);
    }
}

static void in_noscript(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    if (t->t.kind == HTML_CHARS) {
        insert_text(t, take_blanks(t));
        if (t->t.text.n == 0)
            return;
    }
    if (is_end(t, HTML_noscript)) {
        pop(t);
        t->mode = IN_HEAD;
    } else if (t->t.kind == HTML_START &&
               (tag == HTML_html || tag == HTML_basefont || tag == HTML_bgsound ||
                tag == HTML_link || tag == HTML_meta || tag == HTML_noframes ||
                tag == HTML_style)) {
        in_head(t);
    } else if (!is_start(t, HTML_head) && !is_start(t, HTML_noscript) &&
               (t->t.kind != HTML_END || tag == HTML_br)) {
        pop(t);
        t->mode = IN_HEAD;
        in_mode(t);
    }
}

static void after_head(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        insert_text(t, take_blanks(t));
        if (t->t.text.n == 0)
            return;
    }
    if (is_start(t, HTML_html)) {
        in_body(t);
    } else if (is_start(t, HTML_body)) {
        t->frames_fine = false;
        insert(t);
        t->mode = IN_BODY;
    } else if (is_start(t, HTML_frameset)) {
        insert(t);
        t->mode = IN_FRAMESET;
    } else if (t->t.kind == HTML_START && t->head &&
               (is_heady(t) || t->t.tag == HTML_template)) {
        push(t, t->head);
        if (is_heady(t))
            start_head(t);
        else
            start_template(t);
        drop_open(t, t->head);
    } else if (is_end(t, HTML_template)) {
        end_template(t);
    } else if (is_start(t, HTML_head)) {
        return;
    } else if (!is_stray_end(t)) {
        to_body(t);
    }
}

/* ---- framesets, and what follows the body: 13.2.6.4.19 and on ---- */

/* Inserts the blanks of a text and drops the rest. */
static void insert_blanks(struct tree *t)
{
    while (t->t.text.n) {
        struct str blanks = take_blanks(t);
        if (blanks.n)
            insert_text(t, blanks);
        else
            t->t.text = str_sub(t->t.text, 1, t->t.text.n);
    }
}

static void in_frameset(struct tree *t)
{
    if (t->t.kind == HTML_CHARS)
        insert_blanks(t);
    else if (is_start(t, HTML_html))
        in_body(t);
    else if (is_start(t, HTML_frameset))
        insert(t);
    else if (is_start(t, HTML_frame))
        insert_void(t);
    else if (is_start(t, HTML_noframes))
        start_head(t);
    if (!is_end(t, HTML_frameset) || t->opens < 2)
        return;
    pop(t);
    if (!t->context && !is_html(top(t), HTML_frameset))
        t->mode = AFTER_FRAMESET;
}

static void after_frameset(struct tree *t)
{
    bool last = t->mode == AFTER_AFTER_FRAMESET;
    if (t->t.kind == HTML_CHARS)
        insert_blanks(t);
    else if (is_start(t, HTML_html))
        in_body(t);
    else if (is_start(t, HTML_noframes))
        start_head(t);
    else if (is_end(t, HTML_html) && !last)
        t->mode = AFTER_AFTER_FRAMESET;
}

static void after_body(struct tree *t)
{
    bool last = t->mode == AFTER_AFTER_BODY;
    if (t->t.kind == HTML_END_OF_FILE)
        return;
    if ((t->t.kind == HTML_CHARS && is_blank_text(t->t.text)) || is_start(t, HTML_html)) {
        in_body(t);
    } else if (is_end(t, HTML_html) && !last) {
        t->mode = t->context ? AFTER_BODY : AFTER_AFTER_BODY;
    } else {
        t->mode = IN_BODY;
        in_mode(t);
    }
}

/* In a fragment too: an open element below the template is never the context. */
static void in_template(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    enum mode mode = IN_BODY;
    int i = t->opens - 1;
    if (t->t.kind == HTML_END) {
        if (tag == HTML_template)
            end_template(t);
        return;
    }
    if (t->t.kind != HTML_START) {
        in_body(t);
        return;
    }
    if (is_heady(t) || tag == HTML_template) {
        in_head(t);
        return;
    }
    if (tag == HTML_caption || tag == HTML_colgroup || tag == HTML_tbody ||
        tag == HTML_tfoot || tag == HTML_thead)
        mode = IN_TABLE;
    else if (tag == HTML_col)
        mode = IN_COLGROUP;
    else if (tag == HTML_tr)
        mode = IN_TBODY;
    else if (tag == HTML_td || tag == HTML_th)
        mode = IN_ROW;
    while (i > 0 && !is_html(t->open[i], HTML_template))
        i--;
    t->within[i] = (unsigned char)mode;
    t->mode = mode;
    in_mode(t);
}

/* ---- in body: 13.2.6.4.7 ---- */

static bool is_heading(enum html_tag tag) { return tag >= HTML_h1 && tag <= HTML_h6; }

static void start_item(struct tree *t)
{
    bool li = t->t.tag == HTML_li;
    t->frames_fine = false;
    for (int i = t->opens - 1; i > 0; i--) {
        struct html_node *n = t->open[i];
        bool same = li ? is_html(n, HTML_li) : is_html(n, HTML_dd) || is_html(n, HTML_dt);
        if (same) {
            enum html_tag tag = n->tag;
            end_implied(t, tag);
            pop_to(t, tag);
            break;
        }
        if (is_special(n) && !is_html(n, HTML_address) && !is_html(n, HTML_div) &&
            !is_html(n, HTML_p))
            break;
    }
    end_p(t);
    insert(t);
}

static void start_format(struct tree *t)
{
    struct html_node *a;
    if (t->t.tag == HTML_a && (a = active_named(t, HTML_a))) {
        adopt(t, HTML_a, STR("a"));
        drop_active(t, find_active(t, a));
        drop_open(t, a);
    }
    reconstruct(t);
    if (t->t.tag == HTML_nobr && in_scope(t, HTML_nobr, ANY_SCOPE)) {
        adopt(t, HTML_nobr, STR("nobr"));
        reconstruct(t);
    }
    struct html_node *n = insert(t);
    if (n)
        add_active(t, n);
}

static void insert_foreign(struct tree *t, bool math)
{
    html_foreign_names(&t->t, math);
    struct html_node *n = insert(t);
    if (!n)
        return;
    n->foreign = true;
    n->math = math;
    if (t->t.closed)
        pop(t);
}

static void start_foreign(struct tree *t)
{
    reconstruct(t);
    insert_foreign(t, t->t.tag == HTML_math);
}

static void start_body_again(struct tree *t)
{
    if (t->opens < 2 || t->open[1]->tag != HTML_body || has_open(t, HTML_template))
        return;
    t->frames_fine = false;
    add_attrs(t, t->open[1]);
}

static void start_frameset_late(struct tree *t)
{
    if (!t->frames_fine || t->opens < 2 || t->open[1]->tag != HTML_body)
        return;
    unlink_node(t->open[1]);
    t->opens = 1;
    insert(t);
    t->mode = IN_FRAMESET;
}

static void start_option(struct tree *t)
{
    if (in_scope(t, HTML_select, ANY_SCOPE))
        end_implied(t, t->t.tag == HTML_optgroup ? HTML_OTHER : HTML_optgroup);
    else if (is_html(top(t), HTML_option))
        pop(t);
    reconstruct(t);
    insert(t);
}

/* Whether the text is the content of a select. */
static bool is_of_select(const struct tree *t)
{
    return t->context && is_html(t->context, HTML_select);
}

static void start_select(struct tree *t)
{
    if (is_of_select(t))
        return;
    if (in_scope(t, HTML_select, ANY_SCOPE)) {
        pop_to(t, HTML_select);
        return;
    }
    reconstruct(t);
    insert(t);
    t->frames_fine = false;
}

static void start_table(struct tree *t)
{
    if (!t->quirks)
        end_p(t);
    insert(t);
    t->frames_fine = false;
    t->mode = IN_TABLE;
}

static bool is_hidden_input(const struct tree *t)
{
    struct str type = html_get(&(struct html_node){.attrs = t->t.attrs}, "type");
    return t->t.tag == HTML_input && type.n == 6 && strncasecmp(type.p, "hidden", 6) == 0;
}

static void start_void(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    bool plain = tag == HTML_param || tag == HTML_source || tag == HTML_track;
    if (tag == HTML_input && is_of_select(t))
        return;
    if (tag == HTML_input && in_scope(t, HTML_select, ANY_SCOPE))
        pop_to(t, HTML_select);
    if (tag == HTML_hr) {
        end_p(t);
        if (in_scope(t, HTML_select, ANY_SCOPE))
            end_implied(t, HTML_OTHER);
    } else if (!plain) {
        reconstruct(t);
    }
    if (!plain && !is_hidden_input(t))
        t->frames_fine = false;
    insert_void(t);
}

static void start_block(struct tree *t)
{
    if (is_heading(t->t.tag)) {
        end_p(t);
        if (is_heading(top(t)->tag) && !top(t)->foreign)
            pop(t);
        insert(t);
        return;
    }
    end_p(t);
    insert(t);
}

static void start_form(struct tree *t)
{
    if (t->form && !has_open(t, HTML_template))
        return;
    end_p(t);
    struct html_node *n = insert(t);
    if (!has_open(t, HTML_template))
        t->form = n;
}

static void start_button(struct tree *t)
{
    if (in_scope(t, HTML_button, ANY_SCOPE)) {
        end_implied(t, HTML_OTHER);
        pop_to(t, HTML_button);
    }
    reconstruct(t);
    t->frames_fine = false;
    insert(t);
}

static void start_ruby(struct tree *t)
{
    if (in_scope(t, HTML_ruby, ANY_SCOPE))
        end_implied(t,
                    t->t.tag == HTML_rp || t->t.tag == HTML_rt ? HTML_rtc : HTML_OTHER);
    insert(t);
}

static void start_raw(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    if (tag == HTML_xmp) {
        end_p(t);
        reconstruct(t);
    }
    if (tag != HTML_noembed)
        t->frames_fine = false;
    insert_raw(t);
}

static void start_in_body(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    unsigned flags = html_flags(tag);
    switch (tag) {
    case HTML_html:
        if (!has_open(t, HTML_template))
            add_attrs(t, t->html);
        return;
    case HTML_body:
        start_body_again(t);
        return;
    case HTML_frameset:
        start_frameset_late(t);
        return;
    case HTML_template:
        start_template(t);
        return;
    case HTML_noscript:
        if (t->scripting) {
            insert_raw(t);
            return;
        }
        break;
    case HTML_pre:
    case HTML_listing:
        start_block(t);
        t->skip_line = true;
        t->frames_fine = false;
        return;
    case HTML_h1:
    case HTML_h2:
    case HTML_h3:
    case HTML_h4:
    case HTML_h5:
    case HTML_h6:
    case HTML_p:
        start_block(t);
        return;
    case HTML_form:
        start_form(t);
        return;
    case HTML_li:
    case HTML_dd:
    case HTML_dt:
        start_item(t);
        return;
    case HTML_plaintext:
        end_p(t);
        insert(t);
        t->tokens.raw = t->t.text;
        t->tokens.rest = true;
        return;
    case HTML_button:
        start_button(t);
        return;
    case HTML_applet:
    case HTML_marquee:
    case HTML_object:
        reconstruct(t);
        insert(t);
        add_active(t, NULL);
        t->frames_fine = false;
        return;
    case HTML_table:
        start_table(t);
        return;
    case HTML_image:
        t->t.tag = HTML_img;
        t->t.text = STR("img");
        start_void(t);
        return;
    case HTML_select:
        start_select(t);
        return;
    case HTML_optgroup:
    case HTML_option:
        start_option(t);
        return;
    case HTML_rb:
    case HTML_rtc:
    case HTML_rp:
    case HTML_rt:
        start_ruby(t);
        return;
    case HTML_svg:
    case HTML_math:
        start_foreign(t);
        return;
    case HTML_caption:
    case HTML_col:
    case HTML_colgroup:
    case HTML_frame:
    case HTML_head:
    case HTML_tbody:
    case HTML_td:
    case HTML_tfoot:
    case HTML_th:
    case HTML_thead:
    case HTML_tr:
        return;
    default:
        break;
    }
    if (is_heady(t)) {
        start_head(t);
    } else if (flags & HTML_IS_FORMAT) {
        start_format(t);
    } else if ((flags & HTML_IS_BLOCK) == HTML_IS_BLOCK) {
        start_block(t);
    } else if ((flags & HTML_IS_VOID) == HTML_IS_VOID) {
        start_void(t);
    } else if (flags & (HTML_IS_RAW | HTML_IS_TEXT) & ~1U) {
        start_raw(t);
    } else {
        reconstruct(t);
        insert(t);
    }
}

static void end_form(struct tree *t)
{
    struct html_node *n = t->form;
    if (has_open(t, HTML_template)) {
        if (in_scope(t, HTML_form, ANY_SCOPE)) {
            end_implied(t, HTML_OTHER);
            pop_to(t, HTML_form);
        }
        return;
    }
    t->form = NULL;
    if (!n || find_open(t, n) < 0 || !in_scope(t, HTML_form, ANY_SCOPE))
        return;
    end_implied(t, HTML_OTHER);
    drop_open(t, n);
}

static void end_heading(struct tree *t)
{
    bool some = false;
    for (enum html_tag h = HTML_h1; h <= HTML_h6; h++)
        some = some || in_scope(t, h, ANY_SCOPE);
    if (!some)
        return;
    end_implied(t, HTML_OTHER);
    while (t->opens > 1) {
        bool it = is_heading(top(t)->tag) && !top(t)->foreign;
        pop(t);
        if (it)
            return;
    }
}

/* Ends the element of that name if it is in scope. */
static void end_scoped(struct tree *t, enum html_tag tag, enum scope scope)
{
    if (!in_scope(t, tag, scope))
        return;
    end_implied(t, scope == ITEM_SCOPE || tag == HTML_dd || tag == HTML_dt ? tag
                                                                           : HTML_OTHER);
    pop_to(t, tag);
}

static void end_in_body(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    unsigned flags = html_flags(tag);
    switch (tag) {
    case HTML_template:
        end_template(t);
        return;
    case HTML_body:
    case HTML_html:
        if (!in_scope(t, HTML_body, ANY_SCOPE))
            return;
        t->mode = AFTER_BODY;
        if (tag == HTML_html)
            in_mode(t);
        return;
    case HTML_form:
        end_form(t);
        return;
    case HTML_p:
        if (!in_scope(t, HTML_p, BUTTON_SCOPE))
            imply(t, HTML_p, STR("p"));
        end_p(t);
        return;
    case HTML_li:
        end_scoped(t, tag, ITEM_SCOPE);
        return;
    case HTML_dd:
    case HTML_dt:
    case HTML_button:
    case HTML_pre:
    case HTML_listing:
    case HTML_select:
        end_scoped(t, tag, ANY_SCOPE);
        return;
    case HTML_h1:
    case HTML_h2:
    case HTML_h3:
    case HTML_h4:
    case HTML_h5:
    case HTML_h6:
        end_heading(t);
        return;
    case HTML_applet:
    case HTML_marquee:
    case HTML_object:
        if (in_scope(t, tag, ANY_SCOPE)) {
            end_scoped(t, tag, ANY_SCOPE);
            to_marker(t);
        }
        return;
    case HTML_br:
        reconstruct(t);
        t->t = (struct html_token){.kind = HTML_START, .tag = HTML_br, .text = STR("br")};
        insert_void(t);
        return;
    default:
        break;
    }
    if (flags & HTML_IS_FORMAT)
        adopt(t, tag, t->t.text);
    else if ((flags & HTML_IS_BLOCK) == HTML_IS_BLOCK)
        end_scoped(t, tag, ANY_SCOPE);
    else
        end_other(t, tag, t->t.text);
}

static void in_body(struct tree *t)
{
    switch (t->t.kind) {
    case HTML_CHARS:
        drop_nuls(t, false);
        if (t->t.text.n == 0)
            return;
        reconstruct(t);
        if (!is_blank_text(t->t.text))
            t->frames_fine = false;
        insert_text(t, t->t.text);
        return;
    case HTML_START:
        start_in_body(t);
        return;
    case HTML_END:
        end_in_body(t);
        return;
    default:
        return;
    }
}

/* ---- tables: 13.2.6.4.9 and on ---- */

static bool is_part(enum html_tag tag)
{
    return tag == HTML_caption || tag == HTML_col || tag == HTML_colgroup ||
           tag == HTML_tbody || tag == HTML_td || tag == HTML_tfoot || tag == HTML_th ||
           tag == HTML_thead || tag == HTML_tr;
}

/* Closes what is open within a row, within rows or within a table. */
static void clear_to(struct tree *t, enum mode mode)
{
    for (; t->opens > 1; pop(t)) {
        const struct html_node *n = top(t);
        enum html_tag tag = n->foreign ? HTML_OTHER : n->tag;
        if (tag == HTML_template || (mode == IN_TABLE && tag == HTML_table) ||
            (mode == IN_ROW && tag == HTML_tr) ||
            (mode == IN_TBODY &&
             (tag == HTML_tbody || tag == HTML_thead || tag == HTML_tfoot)))
            return;
    }
}

static void fostered(struct tree *t)
{
    t->foster = true;
    in_body(t);
    t->foster = false;
}

static void end_table(struct tree *t)
{
    if (!in_scope(t, HTML_table, TABLE_SCOPE))
        return;
    pop_to(t, HTML_table);
    reset_mode(t);
}

static void start_in_table(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    switch (tag) {
    case HTML_caption:
        clear_to(t, IN_TABLE);
        add_active(t, NULL);
        insert(t);
        t->mode = IN_CAPTION;
        return;
    case HTML_colgroup:
        clear_to(t, IN_TABLE);
        insert(t);
        t->mode = IN_COLGROUP;
        return;
    case HTML_col:
        clear_to(t, IN_TABLE);
        imply(t, HTML_colgroup, STR("colgroup"));
        t->mode = IN_COLGROUP;
        in_mode(t);
        return;
    case HTML_tbody:
    case HTML_tfoot:
    case HTML_thead:
        clear_to(t, IN_TABLE);
        insert(t);
        t->mode = IN_TBODY;
        return;
    case HTML_td:
    case HTML_th:
    case HTML_tr:
        clear_to(t, IN_TABLE);
        imply(t, HTML_tbody, STR("tbody"));
        t->mode = IN_TBODY;
        in_mode(t);
        return;
    case HTML_table:
        if (in_scope(t, HTML_table, TABLE_SCOPE)) {
            end_table(t);
            in_mode(t);
        }
        return;
    case HTML_style:
    case HTML_script:
        start_head(t);
        return;
    case HTML_template:
        start_template(t);
        return;
    case HTML_form:
        if (!t->form && !has_open(t, HTML_template))
            t->form = insert_void(t);
        return;
    default:
        break;
    }
    if (is_hidden_input(t))
        insert_void(t);
    else
        fostered(t);
}

static void in_table(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    if (t->t.kind == HTML_CHARS) {
        drop_nuls(t, false);
        if (is_rows(top(t)) && is_blank_text(t->t.text))
            insert_text(t, t->t.text);
        else
            fostered(t);
    } else if (t->t.kind == HTML_START) {
        start_in_table(t);
    } else if (t->t.kind == HTML_END) {
        if (tag == HTML_table)
            end_table(t);
        else if (tag == HTML_template)
            end_template(t);
        else if (!is_part(tag) && tag != HTML_body && tag != HTML_html)
            fostered(t);
    }
}

static void in_caption(struct tree *t)
{
    bool ends = is_end(t, HTML_caption) || is_end(t, HTML_table) ||
                (t->t.kind == HTML_START && is_part(t->t.tag));
    if (!ends) {
        if (!(t->t.kind == HTML_END && is_part(t->t.tag)))
            in_body(t);
        return;
    }
    if (!in_scope(t, HTML_caption, TABLE_SCOPE))
        return;
    end_implied(t, HTML_OTHER);
    pop_to(t, HTML_caption);
    to_marker(t);
    t->mode = IN_TABLE;
    if (!is_end(t, HTML_caption))
        in_mode(t);
}

static void in_colgroup(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        insert_text(t, take_blanks(t));
        if (t->t.text.n == 0)
            return;
    }
    if (is_start(t, HTML_col)) {
        insert_void(t);
        return;
    }
    if (is_start(t, HTML_template)) {
        start_template(t);
        return;
    }
    if (is_start(t, HTML_html)) {
        in_body(t);
        return;
    }
    if (is_end(t, HTML_template)) {
        end_template(t);
        return;
    }
    if (is_end(t, HTML_col) || t->t.kind == HTML_END_OF_FILE)
        return;
    if (!is_html(top(t), HTML_colgroup))
        return;
    pop(t);
    t->mode = IN_TABLE;
    if (!is_end(t, HTML_colgroup))
        in_mode(t);
}

/* Closes the open tbody, thead or tfoot. Returns false if none is open. */
static bool end_rows(struct tree *t)
{
    if (!in_scope(t, HTML_tbody, TABLE_SCOPE) && !in_scope(t, HTML_thead, TABLE_SCOPE) &&
        !in_scope(t, HTML_tfoot, TABLE_SCOPE))
        return false;
    clear_to(t, IN_TBODY);
    pop(t);
    t->mode = IN_TABLE;
    return true;
}

static void in_tbody(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    bool start = t->t.kind == HTML_START, end = t->t.kind == HTML_END;
    bool rows = tag == HTML_tbody || tag == HTML_thead || tag == HTML_tfoot;
    if (start && (tag == HTML_tr || tag == HTML_td || tag == HTML_th)) {
        clear_to(t, IN_TBODY);
        t->mode = IN_ROW;
        if (tag == HTML_tr) {
            insert(t);
        } else {
            imply(t, HTML_tr, STR("tr"));
            in_mode(t);
        }
    } else if (end && rows) {
        if (in_scope(t, tag, TABLE_SCOPE))
            end_rows(t);
    } else if ((start && (rows || is_part(tag))) || is_end(t, HTML_table)) {
        if (end_rows(t))
            in_mode(t);
    } else if (!(end && is_part(tag))) {
        in_table(t);
    }
}

static bool end_row(struct tree *t)
{
    if (!in_scope(t, HTML_tr, TABLE_SCOPE))
        return false;
    clear_to(t, IN_ROW);
    pop(t);
    t->mode = IN_TBODY;
    return true;
}

static void in_row(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    bool start = t->t.kind == HTML_START, end = t->t.kind == HTML_END;
    bool rows = tag == HTML_tbody || tag == HTML_thead || tag == HTML_tfoot;
    if (start && (tag == HTML_td || tag == HTML_th)) {
        clear_to(t, IN_ROW);
        insert(t);
        add_active(t, NULL);
        t->mode = IN_CELL;
    } else if (is_end(t, HTML_tr)) {
        end_row(t);
    } else if ((start && is_part(tag)) || is_end(t, HTML_table) ||
               (end && rows && in_scope(t, tag, TABLE_SCOPE))) {
        if (end_row(t))
            in_mode(t);
    } else if (!(end && is_part(tag))) {
        in_table(t);
    }
}

static void end_cell(struct tree *t)
{
    end_implied(t, HTML_OTHER);
    while (t->opens > 1) {
        bool it = is_html(top(t), HTML_td) || is_html(top(t), HTML_th);
        pop(t);
        if (it)
            break;
    }
    to_marker(t);
    t->mode = IN_ROW;
}

static void in_cell(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    bool cell = in_scope(t, HTML_td, TABLE_SCOPE) || in_scope(t, HTML_th, TABLE_SCOPE);
    if (t->t.kind == HTML_END && (tag == HTML_td || tag == HTML_th)) {
        if (in_scope(t, tag, TABLE_SCOPE))
            end_cell(t);
    } else if (t->t.kind == HTML_START && is_part(tag)) {
        if (cell) {
            end_cell(t);
            in_mode(t);
        }
    } else if (t->t.kind == HTML_END && (tag == HTML_table || is_part(tag))) {
        if (tag != HTML_caption && tag != HTML_col && tag != HTML_colgroup &&
            in_scope(t, tag, TABLE_SCOPE) && cell) {
            end_cell(t);
            in_mode(t);
        }
    } else {
        in_body(t);
    }
}

/* ---- foreign content: 13.2.6.5 ---- */

static bool breaks_out(const struct tree *t)
{
    enum html_tag tag = t->t.tag;
    struct html_node n = {.attrs = t->t.attrs};
    switch (tag) {
    case HTML_b:
    case HTML_big:
    case HTML_blockquote:
    case HTML_body:
    case HTML_br:
    case HTML_center:
    case HTML_code:
    case HTML_dd:
    case HTML_div:
    case HTML_dl:
    case HTML_dt:
    case HTML_em:
    case HTML_embed:
    case HTML_head:
    case HTML_hr:
    case HTML_i:
    case HTML_img:
    case HTML_li:
    case HTML_listing:
    case HTML_menu:
    case HTML_meta:
    case HTML_nobr:
    case HTML_ol:
    case HTML_p:
    case HTML_pre:
    case HTML_ruby:
    case HTML_s:
    case HTML_small:
    case HTML_strong:
    case HTML_strike:
    case HTML_sub:
    case HTML_sup:
    case HTML_table:
    case HTML_tt:
    case HTML_u:
    case HTML_ul:
    case HTML_var:
        return true;
    case HTML_font:
        return html_get(&n, "color").p || html_get(&n, "face").p ||
               html_get(&n, "size").p;
    default:
        return is_heading(tag);
    }
}

/* Whether the current token is handled as foreign content (13.2.6). */
static bool is_foreign_now(const struct tree *t)
{
    const struct html_node *n = adjusted_top(t);
    bool start = t->t.kind == HTML_START, chars = t->t.kind == HTML_CHARS;
    if (!n->foreign || t->t.kind == HTML_END_OF_FILE)
        return false;
    if (html_is_foreign_text(n) &&
        (chars || (start && !str_eq(t->t.text, STR("mglyph")) &&
                   !str_eq(t->t.text, STR("malignmark")))))
        return false;
    if (html_is_annotation(n) && is_start(t, HTML_svg))
        return false;
    return !(html_is_foreign_html(n) && (start || chars));
}

static bool is_named(const struct html_node *n, struct str name)
{
    return n->name.n == name.n && strncasecmp(n->name.p, name.p, name.n) == 0;
}

static void in_foreign(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        bool blank = true;
        for (size_t i = 0; i < t->t.text.n; i++)
            blank = blank && (!t->t.text.p[i] || strchr(" \t\n\f\r", t->t.text.p[i]));
        t->frames_fine = t->frames_fine && blank;
        drop_nuls(t, true);
        insert_text(t, t->t.text);
        return;
    }
    if (t->t.kind == HTML_COMMENT) {
        insert_comment(t);
        return;
    }
    if (t->t.kind == HTML_DOCTYPE)
        return;
    if (t->t.kind == HTML_START ? breaks_out(t)
                                : t->t.tag == HTML_br || t->t.tag == HTML_p) {
        while (t->opens > 1 && top(t)->foreign && !html_is_foreign_text(top(t)) &&
               !html_is_foreign_html(top(t)))
            pop(t);
        in_mode(t);
        return;
    }
    if (t->t.kind == HTML_START) {
        insert_foreign(t, adjusted_top(t)->math);
        return;
    }
    for (int i = t->opens - 1; i > 0; i--) {
        if (!t->open[i]->foreign) {
            in_mode(t);
            return;
        }
        if (is_named(t->open[i], t->t.text)) {
            t->opens = i;
            return;
        }
    }
}

/* ---- all of it ---- */

static void in_mode(struct tree *t)
{
    if (t->full)
        return;
    switch (t->mode) {
    case INITIAL:
        initial(t);
        break;
    case BEFORE_HTML:
        before_html(t);
        break;
    case BEFORE_HEAD:
        before_head(t);
        break;
    case IN_HEAD:
        in_head(t);
        break;
    case IN_NOSCRIPT:
        in_noscript(t);
        break;
    case AFTER_HEAD:
        after_head(t);
        break;
    case IN_BODY:
        in_body(t);
        break;
    case IN_TABLE:
        in_table(t);
        break;
    case IN_CAPTION:
        in_caption(t);
        break;
    case IN_COLGROUP:
        in_colgroup(t);
        break;
    case IN_TBODY:
        in_tbody(t);
        break;
    case IN_ROW:
        in_row(t);
        break;
    case IN_CELL:
        in_cell(t);
        break;
    case IN_TEMPLATE:
        in_template(t);
        break;
    case IN_FRAMESET:
        in_frameset(t);
        break;
    case AFTER_FRAMESET:
    case AFTER_AFTER_FRAMESET:
        after_frameset(t);
        break;
    case AFTER_BODY:
    case AFTER_AFTER_BODY:
        after_body(t);
        break;
    }
}

/* Comments go into the current node, except before and after the elements of the page. */
static void comment(struct tree *t)
{
    bool early = t->mode == INITIAL || t->mode == BEFORE_HTML;
    bool late = t->mode == AFTER_AFTER_BODY || t->mode == AFTER_AFTER_FRAMESET;
    if ((early || late) && t->document)
        insert_note(t, t->document, early ? t->html : NULL);
    else if (t->mode == AFTER_BODY)
        insert_note(t, t->html, NULL);
    else
        insert_comment(t);
}

/* Raw text elements have one piece of text and then possibly their end tag. */
static bool in_raw(struct tree *t)
{
    const struct html_node *n = top(t);
    bool raw = html_flags(n->tag) & (HTML_IS_RAW | HTML_IS_TEXT) & ~1U ||
               (n->tag == HTML_noscript && t->scripting);
    if (n->foreign || !raw || t->opens < 2)
        return false;
    if (t->t.kind == HTML_CHARS) {
        insert_text(t, t->t.text);
        return true;
    }
    pop(t);
    return t->t.kind == HTML_END && str_eq(t->t.text, n->name);
}

static void one(struct tree *t)
{
    if (t->skip_line) {
        t->skip_line = false;
        if (t->t.kind == HTML_CHARS && t->t.text.n && *t->t.text.p == '\n')
            t->t.text = str_sub(t->t.text, 1, t->t.text.n);
    }
    if (t->t.kind == HTML_CHARS && t->t.text.n == 0)
        return;
    if (in_raw(t))
        return;
    if (is_foreign_now(t))
        in_foreign(t);
    else if (t->t.kind == HTML_COMMENT)
        comment(t);
    else if (t->t.kind != HTML_DOCTYPE || t->mode == INITIAL)
        in_mode(t);
}

/* Starts parsing the content of an element (13.4). */
static void start_fragment(struct tree *t, const struct html_opts *o)
{
    enum html_tag tag = o->foreign ? HTML_OTHER : html_tag_of(o->context);
    struct html_node *n = t->context = node_new(t, tag, o->context);
    if (!n)
        return;
    n->foreign = o->foreign;
    n->math = o->math;
    t->within[0] = IN_TEMPLATE;
    reset_mode(t);
    if (tag == HTML_form)
        t->form = n;
    unsigned flags = html_flags(tag) & ~1U;
    if (flags & (HTML_IS_RAW | HTML_IS_TEXT) || tag == HTML_plaintext ||
        (tag == HTML_noscript && t->scripting)) {
        t->tokens.raw = o->context;
        t->tokens.raw_refs = flags & HTML_IS_TEXT;
        t->tokens.rest = true; /* no start tag was read, so no end tag can match */
    }
}

static struct tree *tree_new(struct arena *a, struct str text, const struct html_opts *o)
{
    struct tree *t = arena_get(a, sizeof(*t));
    if (!t)
        return NULL;
    *t = (struct tree){.a = a,
                       .tokens = {.a = a, .s = text, .notes = o->notes},
                       .frames_fine = true,
                       .scripting = o->scripting};
    t->html = node_new(t, HTML_html, STR("html"));
    if (o->notes && !o->context.p)
        t->document = node_new(t, HTML_OTHER, STR("#document"));
    if (!t->full) {
        push(t, t->html);
        if (t->document)
            link_before(t->document, t->html, NULL);
        if (o->context.p)
            start_fragment(t, o);
    }
    return t->full ? NULL : t;
}

/* Closes the templates that are open at the end of the page. */
static void end_templates(struct tree *t)
{
    while (!t->full && has_open(t, HTML_template)) {
        pop_to(t, HTML_template);
        to_marker(t);
        reset_mode(t);
        in_mode(t);
    }
}

struct html_node *html_parse_as(struct arena *a, struct str text,
                                const struct html_opts *o, struct err *e)
{
    struct tree *t = tree_new(a, text, o);
    if (!t) {
        err_set(e, ERR_LIMIT, "cannot read the page: there is no memory for it");
        return NULL;
    }
    do {
        t->tokens.cdata = adjusted_top(t)->foreign;
        if (!html_token(&t->tokens, &t->t))
            t->full = true;
        else
            one(t);
    } while (!t->full && t->t.kind != HTML_END_OF_FILE);
    end_templates(t);
    if (t->full) {
        err_set(e, ERR_LIMIT,
                "cannot read the page: its tree takes more than %zu MiB of memory",
                a->max >> 20);
        return NULL;
    }
    return t->document ? t->document : t->html;
}

struct html_node *html_parse(struct arena *a, struct str text, struct err *e)
{
    return html_parse_as(a, text, &(struct html_opts){0}, e);
}

struct str html_get(const struct html_node *n, const char *name)
{
    struct str s = str_of(name);
    for (const struct html_attr *a = n->attrs; a; a = a->next) {
        if (str_eq(a->name, s))
            return a->value;
    }
    return (struct str){0};
}

struct html_node *html_past(const struct html_node *n, const struct html_node *top)
{
    for (; n && n != top; n = n->parent) {
        if (n->next)
            return n->next;
    }
    return NULL;
}

struct html_node *html_after(const struct html_node *n, const struct html_node *top)
{
    return n->first ? n->first : html_past(n, top);
}
