/* SPDX-License-Identifier: MIT */
/*
 * The page as a tree of text, and the bids.
 *
 * Two things are asked of every session of the tab, a snapshot of the DOM and each
 * frame's accessibility tree. The snapshot gives the order of the elements, and so the
 * bids; the trees are printed with them (reference/browser.md 1.5, 2.2). A frame's tree
 * stands where its element stands, whichever process it has.
 */
#include "base/clock.h"
#include "base/xalloc.h"
#include "engine/browser_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SESSIONS_MAX = 32, FRAMES_MAX = 48, NODES_MAX = 500000, DEPTH_MAX = 1000 };

enum { IS_ELEMENT = 1, IS_FRAME = 2, IS_CLICKABLE = 4, IS_PRIVATE = 8, IS_BODY = 16 };

struct node {
    int64_t id; /* backendNodeId */
    int parent, content;
    unsigned char flags;
};

/* A document of a snapshot. */
struct frame {
    char id[BROWSER_ID], session[BROWSER_ID];
    struct node *nodes; /* owned */
    int n;
    char owner_session[BROWSER_ID];
    int64_t owner; /* backendNodeId of its element there; 0: none */
    struct document *document;
    struct json *tree; /* owned: the answer */
    struct map by_id;  /* nodeId → struct ax, owned */
    int asked;
    bool printed;
};

struct ax {
    const struct json *j;
    bool seen;
};

struct look {
    struct browser *b;
    struct frame frames[FRAMES_MAX];
    int n;
    struct buf *out;
    struct buf *focused;
    bool full;
};

/* ---- documents and elements ---- */

static struct str node_key(const int64_t *id) { return str_n(id, sizeof(*id)); }

static void drop_document(struct document *d)
{
    struct str key;
    void *value;
    for (void *it = NULL; (it = map_next(&d->bids, it, &key, &value));)
        free(value);
    map_release(&d->bids);
    list_del(&d->node);
    free(d);
}

void browser_forget(struct browser *b)
{
    while (!list_empty(&b->documents))
        drop_document(list_first(&b->documents, struct document, node));
}

struct element *browser_element(struct browser *b, struct str bid)
{
    return map_get(&b->elements, bid);
}

static struct document *document_of(struct browser *b, const struct frame *f)
{
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->documents) {
        struct document *d = list_entry(pos, struct document, node);
        if (d->root == f->nodes[0].id && strcmp(d->session, f->session) == 0)
            return d;
    }
    struct document *d = xnew(struct document);
    memcpy(d->session, f->session, sizeof(d->session));
    memcpy(d->frame, f->id, sizeof(d->frame));
    d->root = f->nodes[0].id;
    map_init(&d->bids);
    list_add_tail(&b->documents, &d->node);
    return d;
}

/* a … z, aA … zZ, aAA …: every letter but the first is a capital. */
static void letters(unsigned n, char out[8])
{
    char back[8];
    int k = 0, at = 0;
    for (n++; n > 0 && k < 6; n = (n - 1) / 26)
        back[k++] = (char)('A' + (n - 1) % 26);
    while (k > 0)
        out[at++] = back[--k];
    out[at] = '\0';
    out[0] = (char)(out[0] | 0x20);
}

static struct element *number(struct document *d, const struct node *n)
{
    struct element *el = map_get(&d->bids, node_key(&n->id));
    char local[16];
    if (el)
        return el;
    el = xnew(struct element);
    el->document = d;
    el->node = n->id;
    if (n->flags & IS_FRAME)
        letters(d->frames++, local);
    else
        snprintf(local, sizeof(local), "%u", d->numbers++);
    snprintf(el->bid, sizeof(el->bid), "%s%s", d->prefix, local);
    map_put(&d->bids, node_key(&n->id), el);
    return el;
}

/* Frames come behind those that hold them. */
static void number_frame(struct look *l, struct frame *f)
{
    struct browser *b = l->b;
    f->document = document_of(b, f);
    for (int i = 0; i < l->n && f->owner; i++) {
        struct frame *up = &l->frames[i];
        struct element *el = up->document && strcmp(up->session, f->owner_session) == 0
                                 ? map_get(&up->document->bids, node_key(&f->owner))
                                 : NULL;
        if (el && strlen(el->bid) < sizeof(f->document->prefix))
            memcpy(f->document->prefix, el->bid, strlen(el->bid) + 1);
    }
    for (int i = 0; i < f->n; i++) {
        if ((f->nodes[i].flags & (IS_ELEMENT | IS_PRIVATE)) == IS_ELEMENT)
            number(f->document, &f->nodes[i])->clickable = (f->nodes[i].flags &
                                                            IS_CLICKABLE) != 0;
    }
    struct str key;
    void *el;
    for (void *it = NULL; (it = map_next(&f->document->bids, it, &key, &el));)
        map_put(&b->elements, str_of(((struct element *)el)->bid), el);
}

/* Documents of this tab that are no more. */
static void drop_old(struct look *l)
{
    struct list *pos, *tmp;
    list_each (pos, tmp, &l->b->documents) {
        struct document *d = list_entry(pos, struct document, node);
        bool lives = browser_session(l->b, str_of(d->session)) != NULL, seen = false;
        bool ours = false;
        for (int i = 0; i < l->n; i++) {
            ours |= strcmp(l->frames[i].session, d->session) == 0;
            seen |= l->frames[i].document == d;
        }
        if (!lives || (ours && !seen))
            drop_document(d);
    }
}

/* ---- snapshots ---- */

static void set_flags(struct frame *f, const struct json *list, unsigned char flag)
{
    for (const struct json *j = json_first(json_get(list, "index")); j;
         j = json_next(j)) {
        int64_t i = json_int_value(j, -1);
        if (i >= 0 && i < f->n)
            f->nodes[i].flags |= flag;
    }
}

/* Strings of a snapshot that mean something here: their numbers, -1 if absent. */
struct words {
    int64_t iframe, frame, body, agent;
};

static struct words find_words(const struct json *strings)
{
    struct words w = {-1, -1, -1, -1};
    int64_t i = 0;
    for (const struct json *j = json_first(strings); j; j = json_next(j), i++) {
        struct str s = json_str_value(j, "");
        if (str_eq(s, STR("IFRAME")))
            w.iframe = i;
        else if (str_eq(s, STR("FRAME")))
            w.frame = i;
        else if (str_eq(s, STR("BODY")))
            w.body = i;
        else if (str_eq(s, STR("user-agent")))
            w.agent = i;
    }
    return w;
}

static struct str string_at(const struct json *strings, int64_t i)
{
    const struct json *j = json_first(strings);
    while (j && i-- > 0)
        j = json_next(j);
    return json_str_value(j, "");
}

static void read_names(struct frame *f, const struct json *nodes, const struct words *w)
{
    int i = 0;
    for (const struct json *j = json_first(json_get(nodes, "nodeName")); j && i < f->n;
         j = json_next(j), i++) {
        int64_t s = json_int_value(j, -1);
        if (s >= 0 && (s == w->iframe || s == w->frame))
            f->nodes[i].flags |= IS_FRAME;
        else if (s >= 0 && s == w->body)
            f->nodes[i].flags |= IS_BODY;
    }
    const struct json *roots = json_get(nodes, "shadowRootType");
    const struct json *value = json_first(json_get(roots, "value"));
    for (const struct json *j = json_first(json_get(roots, "index")); j && value;
         j = json_next(j), value = json_next(value)) {
        int64_t at = json_int_value(j, -1);
        if (at >= 0 && at < f->n && w->agent >= 0 &&
            json_int_value(value, -2) == w->agent)
            f->nodes[at].flags |= IS_PRIVATE;
    }
}

/* The columns of a document's nodes. false: it has none. */
static bool read_nodes(struct frame *f, const struct json *nodes, const struct words *w)
{
    int count = json_count(json_get(nodes, "backendNodeId")), i = 0;
    f->n = count < NODES_MAX ? count : NODES_MAX;
    f->nodes = xcalloc((size_t)f->n + 1, sizeof(*f->nodes));
    for (const struct json *j = json_first(json_get(nodes, "backendNodeId"));
         j && i < f->n; j = json_next(j), i++) {
        f->nodes[i] = (struct node){json_int_value(j, 0), -1, -1, 0};
    }
    i = 0;
    for (const struct json *j = json_first(json_get(nodes, "parentIndex")); j && i < f->n;
         j = json_next(j), i++)
        f->nodes[i].parent = (int)json_int_value(j, -1);
    i = 0;
    for (const struct json *j = json_first(json_get(nodes, "nodeType")); j && i < f->n;
         j = json_next(j), i++)
        f->nodes[i].flags = json_int_value(j, 0) == 1 ? IS_ELEMENT : 0;
    const struct json *content = json_get(nodes, "contentDocumentIndex");
    const struct json *value = json_first(json_get(content, "value"));
    for (const struct json *j = json_first(json_get(content, "index")); j && value;
         j = json_next(j), value = json_next(value)) {
        int64_t at = json_int_value(j, -1);
        if (at >= 0 && at < f->n)
            f->nodes[at].content = (int)json_int_value(value, -1);
    }
    set_flags(f, json_get(nodes, "isClickable"), IS_CLICKABLE);
    set_flags(f, json_get(nodes, "pseudoType"), IS_PRIVATE);
    read_names(f, nodes, w);
    for (i = 0; i < f->n; i++) {
        int up = f->nodes[i].parent;
        if (up >= 0 && up < i)
            f->nodes[i].flags |= f->nodes[up].flags & IS_PRIVATE;
    }
    return f->n > 0;
}

/*
 * The element in another session that shows this session's page. The target by value: it
 * may be gone when the answer is there.
 */
static void find_owner(struct look *l, struct frame *f, struct target t)
{
    struct err e = ERR_INIT;
    struct json *p = json_object();
    json_put_z(p, "frameId", t.id);
    struct json *j = browser_ask(l->b, str_of(t.parent), "DOM.getFrameOwner", p, &e);
    f->owner = json_int(json_get(j, "result"), "backendNodeId", 0);
    memcpy(f->owner_session, t.parent, sizeof(f->owner_session));
    json_free(j);
}

static void read_snapshot(struct look *l, struct target t, const struct json *j)
{
    const struct json *strings = json_get(j, "strings");
    struct words w = find_words(strings);
    int base = l->n, i = 0;
    for (const struct json *d = json_first(json_get(j, "documents"));
         d && l->n < FRAMES_MAX; d = json_next(d), i++) {
        struct frame *f = &l->frames[l->n];
        memcpy(f->session, t.session, sizeof(f->session));
        struct str id = string_at(strings, json_int(d, "frameId", -1));
        if (id.n == 0 || id.n >= BROWSER_ID || !read_nodes(f, json_get(d, "nodes"), &w)) {
            free(f->nodes);
            *f = (struct frame){0};
            return;
        }
        memcpy(f->id, id.p, id.n);
        map_init(&f->by_id);
        l->n++;
        if (i == 0 && !t.page)
            find_owner(l, f, t);
        for (int up = base; up < base + i; up++) {
            for (int k = 0; k < l->frames[up].n; k++) {
                if (l->frames[up].nodes[k].content != i)
                    continue;
                f->owner = l->frames[up].nodes[k].id;
                memcpy(f->owner_session, t.session, sizeof(f->owner_session));
            }
        }
    }
}

/* Is t the active page, or a frame of it? */
static bool is_within(struct browser *b, const struct target *t)
{
    for (int depth = 0; t && depth < SESSIONS_MAX; depth++) {
        if (t == b->active)
            return true;
        if (t->page)
            return false;
        t = browser_session(b, str_of(t->parent));
    }
    return false;
}

static int snapshots(struct look *l, struct err *e)
{
    struct browser *b = l->b;
    char sessions[SESSIONS_MAX][BROWSER_ID];
    int asked[SESSIONS_MAX], n = 0, r = 0;
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (n == SESSIONS_MAX || !t->session[0] || !is_within(b, t))
            continue;
        struct json *p = json_object();
        json_put(p, "computedStyles", json_array());
        memcpy(sessions[n], t->session, BROWSER_ID);
        asked[n++] = cdp_send(&b->cdp, str_of(t->session), "DOMSnapshot.captureSnapshot",
                              p);
    }
    for (int i = 0; i < n; i++) {
        struct json *j = cdp_wait(&b->cdp, asked[i], browser_in(BROWSER_CALL_MS), e);
        struct target *t = browser_session(b, str_of(sessions[i]));
        if (j && t)
            read_snapshot(l, *t, json_get(j, "result"));
        else if (t && t == b->active)
            r = -1;
        json_free(j);
    }
    return r;
}

/* ---- accessibility trees ---- */

static void ask_trees(struct look *l)
{
    for (int i = 0; i < l->n; i++) {
        struct frame *f = &l->frames[i];
        struct json *p = json_object();
        json_put_z(p, "frameId", f->id);
        f->asked = cdp_send(&l->b->cdp, str_of(f->session), "Accessibility.getFullAXTree",
                            p);
    }
}

static int get_trees(struct look *l, struct err *e)
{
    for (int i = 0; i < l->n; i++) {
        struct frame *f = &l->frames[i];
        f->tree = cdp_wait(&l->b->cdp, f->asked, browser_in(BROWSER_CALL_MS), e);
        if (!f->tree && i == 0)
            return -1;
        const struct json *nodes = json_get(json_get(f->tree, "result"), "nodes");
        for (const struct json *j = json_first(nodes); j; j = json_next(j)) {
            struct str id = json_str(j, "nodeId", "");
            struct ax *a = map_get(&f->by_id, id);
            if (id.n == 0 || id.n > BROWSER_ID || a)
                continue;
            a = xnew(struct ax);
            a->j = j;
            map_put(&f->by_id, id, a);
        }
    }
    return 0;
}

static bool is_one_of(struct str s, const char *const *names)
{
    for (; *names; names++) {
        if (str_eq(s, str_of(*names)))
            return true;
    }
    return false;
}

static void put_json(struct buf *out, const struct json *v)
{
    if (json_is_string(v)) {
        browse_repr_text(out, json_str_value(v, ""));
    } else if (json_is_bool(v)) {
        struct buf z = BUF_INIT(16);
        json_print(&z, v);
        buf_addz(out, str_eq(buf_str(&z), STR("true")) ? "True" : "False");
        buf_release(&z);
    } else if (json_is_number(v)) {
        json_print(out, v);
    } else {
        buf_addz(out, "None");
    }
}

static bool is_true(const struct json *v)
{
    struct buf z = BUF_INIT(64);
    bool yes = json_print(&z, v) < 0 ||
               (!str_eq(buf_str(&z), STR("false")) && !str_eq(buf_str(&z), STR("0")) &&
                !str_eq(buf_str(&z), STR("\"\"")) && !str_eq(buf_str(&z), STR("null")));
    buf_release(&z);
    return yes;
}

/* Appends the attributes, each behind a comma; says whether focus is here. */
static bool put_attributes(struct buf *out, const struct json *node, bool clickable)
{
    static const char *const never[] = {"editable",  "readonly", "level",     "settable",
                                        "multiline", "invalid",  "focusable", NULL};
    static const char *const bare[] = {"required", "focused", "atomic", NULL};
    bool focused = false;
    if (clickable)
        buf_addz(out, ", clickable");
    for (const struct json *p = json_first(json_get(node, "properties")); p;
         p = json_next(p)) {
        struct str name = json_str(p, "name", "");
        const struct json *v = json_get(json_get(p, "value"), "value");
        if (!v || is_one_of(name, never))
            continue;
        if (is_one_of(name, bare)) {
            if (!is_true(v))
                continue;
            focused |= str_eq(name, STR("focused"));
            buf_addf(out, ", %.*s", STR_ARG(name));
        } else {
            buf_addf(out, ", %.*s=", STR_ARG(name));
            put_json(out, v);
        }
    }
    return focused;
}

/* Python's strip(): all that is white. */
static struct str strip(struct str s)
{
    static const struct str nbsp = {"\xc2\xa0", 2};
    for (size_t before = s.n + 1; s.n < before;) {
        before = s.n;
        while (s.n > 0 && strchr(" \t\n\r\v\f", s.p[0]) && s.p[0])
            s = str_sub(s, 1, s.n);
        while (s.n > 0 && strchr(" \t\n\r\v\f", s.p[s.n - 1]) && s.p[s.n - 1])
            s.n--;
        if (str_starts(s, nbsp))
            s = str_sub(s, 2, s.n);
        if (str_ends(s, nbsp))
            s.n -= 2;
    }
    return s;
}

static void print_line(struct look *l, struct frame *f, const struct json *node,
                       int depth, struct str role, struct str name)
{
    size_t before = l->out->n;
    int64_t id = json_int(node, "backendDOMNodeId", 0);
    struct element *el = f->document ? map_get(&f->document->bids, node_key(&id)) : NULL;
    const struct json *value = json_get(json_get(node, "value"), "value");
    if (before)
        buf_addc(l->out, '\n');
    for (int i = 0; i < depth; i++)
        buf_addc(l->out, '\t');
    if (el)
        buf_addf(l->out, "[%s] ", el->bid);
    buf_adds(l->out, role);
    if (name.n > 0 || !str_eq(role, STR("generic"))) {
        buf_addc(l->out, ' ');
        browse_repr_text(l->out, strip(name));
    }
    if (value) {
        buf_addz(l->out, " value=");
        put_json(l->out, value);
    }
    if (put_attributes(l->out, node, el && el->clickable) && el) {
        buf_reset(l->focused);
        buf_addz(l->focused, el->bid);
    }
    if (buf_room(l->out) < 4096) {
        buf_truncate(l->out, before);
        l->full = true;
    }
}

static void print_frame(struct look *l, struct frame *f, int depth, struct str above);

static void print_inner(struct look *l, struct frame *f, int64_t id, int depth)
{
    for (int i = 0; id && i < l->n; i++) {
        struct frame *in = &l->frames[i];
        if (in->owner == id && !in->printed && strcmp(in->owner_session, f->session) == 0)
            print_frame(l, in, depth, STR(""));
    }
}

static void print_node(struct look *l, struct frame *f, struct ax *a, int depth,
                       int level, struct str above)
{
    const struct json *node = a->j, *name_of = json_get(node, "name");
    struct str role = json_str(json_get(node, "role"), "value", "");
    struct str name = json_str(name_of, "value", "");
    /* Chromium's boxes of lines only repeat the StaticText they are in. */
    if (a->seen || l->full || level > DEPTH_MAX || str_eq(role, STR("InlineTextBox")))
        return;
    a->seen = true;
    bool skip = !name_of || str_eq(role, STR("LineBreak")) ||
                (str_eq(role, STR("StaticText")) && str_find(above, name) >= 0);
    if (!skip)
        print_line(l, f, node, depth, role, name);
    for (const struct json *c = json_first(json_get(node, "childIds")); c;
         c = json_next(c)) {
        struct ax *child = map_get(&f->by_id, json_str_value(c, ""));
        if (child)
            print_node(l, f, child, depth + !skip, level + 1, name);
    }
    print_inner(l, f, json_int(node, "backendDOMNodeId", 0), depth + !skip);
}

static void print_frame(struct look *l, struct frame *f, int depth, struct str above)
{
    const struct json *nodes = json_get(json_get(f->tree, "result"), "nodes");
    struct ax *root = map_get(&f->by_id, json_str(json_first(nodes), "nodeId", ""));
    f->printed = true;
    if (root && depth < DEPTH_MAX)
        print_node(l, f, root, depth, depth, above);
}

/* ---- all of it ---- */

/* With nothing in focus it is the body. */
static void default_focus(struct look *l)
{
    const struct frame *f = &l->frames[0];
    for (int i = 0; i < f->n && l->n; i++) {
        struct element *el = f->nodes[i].flags & IS_BODY
                                 ? map_get(&f->document->bids, node_key(&f->nodes[i].id))
                                 : NULL;
        if (el) {
            buf_addz(l->focused, el->bid);
            return;
        }
    }
}

static void release(struct look *l)
{
    for (int i = 0; i < l->n; i++) {
        struct frame *f = &l->frames[i];
        struct str key;
        void *a;
        for (void *it = NULL; (it = map_next(&f->by_id, it, &key, &a));)
            free(a);
        map_release(&f->by_id);
        json_free(f->tree);
        free(f->nodes);
    }
    free(l);
}

int browser_tree(struct browser *b, struct browser_seen *out, struct err *e)
{
    struct look *l = xnew(struct look);
    l->b = b;
    l->out = &out->tree;
    l->focused = &out->focused;
    int r = snapshots(l, e);
    if (r == 0) {
        ask_trees(l);
        map_release(&b->elements);
        map_init(&b->elements);
        for (int i = 0; i < l->n; i++)
            number_frame(l, &l->frames[i]);
        drop_old(l);
        r = get_trees(l, e);
    }
    if (r == 0 && l->n > 0) {
        print_frame(l, &l->frames[0], 0, STR(""));
        if (l->full)
            buf_addf(l->out, "\n[the tree goes on: it is longer than %zu bytes]",
                     l->out->max);
        if (!out->focused.n)
            default_focus(l);
    }
    release(l);
    return r;
}
