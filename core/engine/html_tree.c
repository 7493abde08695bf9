/* SPDX-License-Identifier: MIT */
/*
 * Tokens to a tree: HTML standard, 13.2.6. The insertion modes before the body are
 * one, those behind it are the body's; a select's are none, and a template is an
 * element like others that its own end tag ends.
 *
 * The stack of open elements is at most HTML_DEPTH_MAX, the list of formatting
 * elements HTML_ACTIVE_MAX: what would be deeper lies beside, what would be more is
 * forgotten.
 */
#include "engine/html_own.h"

enum mode {
    BEFORE_HEAD, /* and before html */
    IN_HEAD,
    AFTER_HEAD,
    IN_BODY,
    IN_TABLE,
    IN_CAPTION,
    IN_COLGROUP,
    IN_TBODY,
    IN_ROW,
    IN_CELL,
    IN_FRAMESET,
};

struct tree {
    struct html_tokens tokens;
    struct html_token t; /* the one at hand */
    struct arena *a;
    struct html_node *html, *head, *form;
    struct html_node *open[HTML_DEPTH_MAX + 1];
    int opens;
    struct html_node *active[HTML_ACTIVE_MAX + 1]; /* NULL: a marker */
    int actives;
    enum mode mode;
    bool foster;      /* what comes belongs before the table */
    bool quirks;      /* a table does not end a paragraph */
    bool frames_fine; /* a frameset may still replace the body */
    bool skip_line;   /* the first line end of a pre */
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

static bool is_rows(const struct html_node *n)
{
    return is_html(n, HTML_table) || is_html(n, HTML_tbody) || is_html(n, HTML_tfoot) ||
           is_html(n, HTML_thead) || is_html(n, HTML_tr);
}

/* The appropriate place (13.2.6.1), below over or what is open. */
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

/* Without memory nothing is inserted, and the whole ends soon. */
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

/* An element that no tag stands for. */
static struct html_node *imply(struct tree *t, enum html_tag tag, struct str name)
{
    return insert_as(t, tag, name, NULL);
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
    t->opens--;
}

enum scope { ANY_SCOPE, ITEM_SCOPE, BUTTON_SCOPE, TABLE_SCOPE };

/* Elements of SVG and MathML that have HTML in them. */
static bool takes_html(const struct html_node *n)
{
    static const char *const names[] = {
        "foreignobject", "desc", "title", "mi", "mo", "mn", "ms", "mtext"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (str_eq(n->name, str_of(names[i])))
            return true;
    }
    return false;
}

static bool ends_scope(const struct html_node *n, enum scope scope)
{
    if (scope == TABLE_SCOPE)
        return is_html(n, HTML_table) || is_html(n, HTML_template);
    if (n->foreign)
        return takes_html(n);
    if ((html_flags(n->tag) & HTML_IS_SCOPE) == HTML_IS_SCOPE)
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

/* Those whose end tag may be missing (13.2.6, "generate implied end tags"). */
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
    const struct html_attr *x = a->attrs, *y = b->attrs;
    for (; x && y; x = x->next, y = y->next) {
        if (!str_eq(x->name, y->name) || !str_eq(x->value, y->value))
            return false;
    }
    return !x && !y;
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

static bool is_special(const struct html_node *n)
{
    return !n->foreign && html_flags(n->tag) & HTML_IS_SPECIAL;
}

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

/* The inner loop: clones of what lies between; returns the last of them. */
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

/* False: there is nothing more to do. */
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

static void reset_mode(struct tree *t)
{
    for (int i = t->opens - 1; i > 0; i--) {
        const struct html_node *n = t->open[i];
        switch (n->foreign ? HTML_OTHER : n->tag) {
        case HTML_td:
        case HTML_th:
            t->mode = IN_CELL;
            return;
        case HTML_tr:
            t->mode = IN_ROW;
            return;
        case HTML_tbody:
        case HTML_thead:
        case HTML_tfoot:
            t->mode = IN_TBODY;
            return;
        case HTML_caption:
            t->mode = IN_CAPTION;
            return;
        case HTML_colgroup:
            t->mode = IN_COLGROUP;
            return;
        case HTML_table:
            t->mode = IN_TABLE;
            return;
        case HTML_head:
            t->mode = IN_HEAD;
            return;
        case HTML_frameset:
            t->mode = IN_FRAMESET;
            return;
        case HTML_body:
        case HTML_template:
            t->mode = IN_BODY;
            return;
        default:
            break;
        }
    }
    t->mode = t->head ? AFTER_HEAD : BEFORE_HEAD;
}

/*
 * One written as <iframe/>, as in XML, is empty if nothing ends it: the standard has all
 * that follows be its text.
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

/* What the head has, wherever it is met. */
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
        t->mode = IN_BODY;
    }
}

static void end_template(struct tree *t)
{
    if (!has_open(t, HTML_template))
        return;
    pop_to(t, HTML_template);
    to_marker(t);
    reset_mode(t);
}

static bool is_heady(const struct tree *t)
{
    return (html_flags(t->t.tag) & HTML_IS_HEAD) == HTML_IS_HEAD;
}

/* Cuts leading white space off the text at hand. */
static struct str take_blanks(struct tree *t)
{
    size_t n = 0;
    while (n < t->t.text.n && strchr(" \t\n\f\r", t->t.text.p[n]))
        n++;
    struct str blanks = str_sub(t->t.text, 0, n);
    t->t.text = str_sub(t->t.text, n, t->t.text.n);
    return blanks;
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

static void before_head(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        take_blanks(t);
        if (t->t.text.n == 0)
            return;
    }
    if (is_start(t, HTML_html)) {
        add_attrs(t, t->html);
        return;
    }
    if (t->t.kind == HTML_END && t->t.tag != HTML_head && t->t.tag != HTML_body &&
        t->t.tag != HTML_html && t->t.tag != HTML_br)
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
        add_attrs(t, t->html);
    } else if (t->t.kind == HTML_START && is_heady(t)) {
        start_head(t);
    } else if (is_start(t, HTML_noscript) && !has_open(t, HTML_noscript)) {
        insert(t);
    } else if (is_start(t, HTML_template)) {
        start_template(t);
    } else if (is_end(t, HTML_template)) {
        end_template(t);
    } else if (is_start(t, HTML_head)) {
        return;
    } else if (t->t.kind == HTML_END && has_open(t, HTML_noscript)) {
        if (t->t.tag == HTML_noscript)
            pop_to(t, HTML_noscript);
    } else if (is_end(t, HTML_head)) {
        pop_to(t, HTML_head);
        t->mode = AFTER_HEAD;
    } else if (t->t.kind != HTML_END || t->t.tag == HTML_body || t->t.tag == HTML_html ||
               t->t.tag == HTML_br) {
        pop_to(t, HTML_head);
        t->mode = AFTER_HEAD;
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
        add_attrs(t, t->html);
    } else if (is_start(t, HTML_body)) {
        t->frames_fine = false;
        insert(t);
        t->mode = IN_BODY;
    } else if (is_start(t, HTML_frameset)) {
        insert(t);
        t->mode = IN_FRAMESET;
    } else if (t->t.kind == HTML_START && is_heady(t) && t->head) {
        push(t, t->head);
        start_head(t);
        drop_open(t, t->head);
    } else if (is_start(t, HTML_template)) {
        start_template(t);
    } else if (is_end(t, HTML_template)) {
        end_template(t);
    } else if (is_start(t, HTML_head)) {
        return;
    } else if (t->t.kind != HTML_END || t->t.tag == HTML_body || t->t.tag == HTML_html ||
               t->t.tag == HTML_br) {
        to_body(t);
    }
}

static void in_frameset(struct tree *t)
{
    if (is_start(t, HTML_frameset))
        insert(t);
    else if (is_start(t, HTML_frame))
        insert_void(t);
    else if (is_end(t, HTML_frameset))
        pop(t);
    else if (is_start(t, HTML_noframes))
        start_head(t);
}

/* ---- in body: 13.2.6.4.7 ---- */

static bool is_heading(enum html_tag tag) { return tag >= HTML_h1 && tag <= HTML_h6; }

static void start_item(struct tree *t)
{
    bool li = t->t.tag == HTML_li;
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

static void start_foreign(struct tree *t)
{
    reconstruct(t);
    struct html_node *n = insert(t);
    if (!n)
        return;
    n->foreign = true;
    if (t->t.closed)
        pop(t);
}

static void start_body_again(struct tree *t)
{
    if (t->opens < 2 || t->open[1]->tag != HTML_body)
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
    bool group = t->t.tag == HTML_optgroup;
    if (has_open(t, HTML_select)) {
        end_implied(t, group ? HTML_OTHER : HTML_optgroup);
        if (group && is_html(top(t), HTML_optgroup))
            pop(t);
    } else if (is_html(top(t), HTML_option)) {
        pop(t);
    }
    reconstruct(t);
    insert(t);
}

static void start_select(struct tree *t)
{
    t->frames_fine = false;
    if (in_scope(t, HTML_select, ANY_SCOPE)) {
        pop_to(t, HTML_select);
        return;
    }
    reconstruct(t);
    insert(t);
}

static void start_table(struct tree *t)
{
    if (!t->quirks)
        end_p(t);
    insert(t);
    t->frames_fine = false;
    t->mode = IN_TABLE;
}

static void start_void(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    if (tag == HTML_input && in_scope(t, HTML_select, ANY_SCOPE))
        pop_to(t, HTML_select);
    if (tag == HTML_hr)
        end_p(t);
    else if (tag != HTML_param && tag != HTML_source && tag != HTML_track)
        reconstruct(t);
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
    if (tag == HTML_textarea && in_scope(t, HTML_select, ANY_SCOPE))
        pop_to(t, HTML_select);
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

static bool is_blank_text(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!strchr(" \t\n\f\r", s.p[i]) || !s.p[i])
            return false;
    }
    return true;
}

static void in_body(struct tree *t)
{
    switch (t->t.kind) {
    case HTML_CHARS:
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

/* Ends what is open in a row, in rows or in a table. */
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
    if (tag == HTML_input &&
        str_eq(html_get(&(struct html_node){.attrs = t->t.attrs}, "type"), STR("hidden")))
        insert_void(t);
    else
        fostered(t);
}

static void in_table(struct tree *t)
{
    enum html_tag tag = t->t.tag;
    if (t->t.kind == HTML_CHARS) {
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
    if (is_end(t, HTML_col) || t->t.kind == HTML_END_OF_FILE)
        return;
    if (!is_html(top(t), HTML_colgroup))
        return;
    pop(t);
    t->mode = IN_TABLE;
    if (!is_end(t, HTML_colgroup))
        in_mode(t);
}

/* The rows' element that is open ends; false: none is. */
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
    unsigned flags = html_flags(tag);
    if (tag == HTML_a || tag == HTML_title || tag == HTML_style || tag == HTML_script ||
        tag == HTML_OTHER || tag == HTML_svg || tag == HTML_math)
        return false;
    return (flags & HTML_IS_FORMAT) || (flags & HTML_IS_BLOCK) == HTML_IS_BLOCK ||
           is_heading(tag) || tag == HTML_p || tag == HTML_body || tag == HTML_head ||
           tag == HTML_br || tag == HTML_hr || tag == HTML_img || tag == HTML_embed ||
           tag == HTML_li || tag == HTML_dd || tag == HTML_dt || tag == HTML_meta ||
           tag == HTML_pre || tag == HTML_listing || tag == HTML_ruby ||
           tag == HTML_sub || tag == HTML_sup || tag == HTML_table || tag == HTML_var;
}

static bool is_foreign_now(const struct tree *t)
{
    const struct html_node *n = top(t);
    if (t->opens < 2 || !n->foreign || t->t.kind == HTML_END_OF_FILE)
        return false;
    if (takes_html(n) && t->t.kind != HTML_END)
        return false;
    return true;
}

static void in_foreign(struct tree *t)
{
    if (t->t.kind == HTML_CHARS) {
        if (!is_blank_text(t->t.text))
            t->frames_fine = false;
        insert_text(t, t->t.text);
        return;
    }
    if (t->t.kind == HTML_START ? breaks_out(t)
                                : t->t.tag == HTML_br || t->t.tag == HTML_p) {
        while (t->opens > 1 && top(t)->foreign && !takes_html(top(t)))
            pop(t);
        in_mode(t);
        return;
    }
    if (t->t.kind == HTML_START) {
        struct html_node *n = insert(t);
        if (n)
            n->foreign = true;
        if (n && t->t.closed)
            pop(t);
        return;
    }
    for (int i = t->opens - 1; i > 0; i--) {
        if (!t->open[i]->foreign) {
            in_mode(t);
            return;
        }
        if (str_eq(t->open[i]->name, t->t.text)) {
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
    case BEFORE_HEAD:
        before_head(t);
        break;
    case IN_HEAD:
        in_head(t);
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
    case IN_FRAMESET:
        in_frameset(t);
        break;
    }
}

/* Text elements have one piece of text and then, perhaps, their end tag. */
static bool in_raw(struct tree *t)
{
    const struct html_node *n = top(t);
    if (n->foreign || !(html_flags(n->tag) & (HTML_IS_RAW | HTML_IS_TEXT) & ~1U))
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
    else
        in_mode(t);
}

/* 13.2.6.4.1, in short: no doctype means quirks. */
static bool has_doctype(struct str s)
{
    s = str_sub(s, 0, 4096);
    for (size_t i = 0; i + 9 <= s.n; i++) {
        if (s.p[i] == '<' && s.p[i + 1] == '!' && (s.p[i + 2] | 32) == 'd')
            return true;
    }
    return false;
}

struct html_node *html_parse(struct arena *a, struct str text, struct err *e)
{
    struct tree *t = arena_get(a, sizeof(*t));
    if (t) {
        *t = (struct tree){.a = a,
                           .tokens = {.a = a, .s = text},
                           .frames_fine = true,
                           .quirks = !has_doctype(text)};
        t->html = node_new(t, HTML_html, STR("html"));
    }
    if (!t || !t->html) {
        err_set(e, ERR_LIMIT, "cannot read the page: there is no memory for it");
        return NULL;
    }
    push(t, t->html);
    do {
        t->tokens.cdata = top(t)->foreign;
        if (!html_token(&t->tokens, &t->t))
            t->full = true;
        else
            one(t);
    } while (!t->full && t->t.kind != HTML_END_OF_FILE);
    if (t->full) {
        err_set(e, ERR_LIMIT,
                "cannot read the page: its tree takes more than %zu MiB of memory",
                a->max >> 20);
        return NULL;
    }
    return t->html;
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
