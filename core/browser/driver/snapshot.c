/* SPDX-License-Identifier: MIT */
/*
 * The page as a tree of text, and the bids.
 *
 * Every session of the tab returns a snapshot of the DOM and the accessibility tree of
 * each frame. The order of elements in the snapshot determines the bids; the trees are
 * printed with them. A frame's tree is printed at its element, whichever process it has.
 */
#include "base/clock.h"
#include "base/jsontext.h"
#include "base/xalloc.h"
#include "browser/driver/js.h"
#include "browser/driver/snapshot_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 500000, NAMES_MAX = 16 << 20, HASHED = 128 };

/* ---- documents and elements ---- */

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

static struct document *document_of(struct browser *b, const struct snap_frame *f)
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
    struct element *el = map_get(&d->bids, snap_key(&n->id));
    char local[16];
    if (el)
        return el;
    el = xnew(struct element);
    el->document = d;
    el->node = n->id;
    el->index = d->numbers + d->frames;
    if (n->flags & IS_FRAME)
        letters(d->frames++, local);
    else
        snprintf(local, sizeof(local), "%u", d->numbers++);
    snprintf(el->bid, sizeof(el->bid), "%s%s", d->prefix, local);
    map_put(&d->bids, snap_key(&n->id), el);
    return el;
}

static bool is_numbered(const struct node *n)
{
    return (n->flags & (IS_ELEMENT | IS_PRIVATE)) == IS_ELEMENT;
}

/* The element around the i-th node; NULL: there is none. */
static struct element *up_of(const struct snap_frame *f, int i)
{
    struct element *el = NULL;
    while (!el && (i = f->nodes[i].parent) >= 0)
        el = map_get(&f->document->bids, snap_key(&f->nodes[i].id));
    return el;
}

static void see_element(const struct snapshot *l, const struct snap_frame *f, int i,
                        struct element *el)
{
    unsigned flags = f->nodes[i].flags;
    el->clickable = (flags & IS_CLICKABLE) != 0;
    el->block = (flags & IS_BLOCK) != 0;
    el->pointer = (flags & IS_POINTER) != 0;
    el->seen = l->b->snapshots;
    el->form = f->nodes[i].form;
    el->up = up_of(f, i);
}

/* ---- elements that the page renders again ---- */

struct lost_key {
    const struct element *up;
    uintptr_t form; /* as wide as a pointer, so that no byte of the key is undefined */
};

static int by_index(const void *a, const void *b)
{
    const struct element *x = *(struct element *const *)a,
                         *y = *(struct element *const *)b;
    return (x->index > y->index) - (x->index < y->index);
}

/*
 * Puts the elements that the previous look at the document found, and this one did not,
 * into a map of lists, by what they look like; the lowest index is the first of a list.
 */
static void gather_lost(const struct snapshot *l, const struct document *d,
                        struct map *lost)
{
    struct str key;
    void *value;
    size_t n = 0, room = 0;
    struct element **all = NULL;
    for (void *it = NULL; (it = map_next(&d->bids, it, &key, &value));) {
        struct element *el = value;
        if (el->seen != d->seen || el->seen == l->b->snapshots)
            continue;
        if (n == room) {
            room = room ? 2 * room : 64;
            all = xrealloc(all, room, sizeof(*all));
        }
        all[n++] = el;
    }
    if (n)
        qsort(all, n, sizeof(*all), by_index);
    while (n > 0) {
        struct element *el = all[--n];
        struct lost_key k = {el->up, el->form};
        el->next = map_put(lost, str_n((const char *)&k, sizeof(k)), el);
    }
    free(all);
}

/*
 * Returns the element that looked like the i-th node and was at its place, of which it
 * gets the node; NULL: there is none.
 */
static struct element *find_lost(struct map *lost, const struct snap_frame *f, int i)
{
    struct lost_key k = {up_of(f, i), f->nodes[i].form};
    struct str key = str_n((const char *)&k, sizeof(k));
    struct element *el = f->nodes[i].flags & IS_FRAME ? NULL : map_del(lost, key);
    if (!el)
        return NULL;
    if (el->next)
        map_put(lost, key, el->next);
    map_del(&f->document->bids, snap_key(&el->node));
    el->node = f->nodes[i].id;
    map_put(&f->document->bids, snap_key(&el->node), el);
    return el;
}

/*
 * Gives elements their numbers. One whose node is new, and that looks like one that was
 * there at the previous look, at the same place, has that one's number: a page that draws
 * its lists again replaces every node.
 */
static void number_elements(struct snapshot *l, struct snap_frame *f)
{
    struct document *d = f->document;
    struct map lost;
    int fresh = 0;
    for (int i = 0; i < f->n; i++) {
        struct element *el = is_numbered(&f->nodes[i])
                                 ? map_get(&d->bids, snap_key(&f->nodes[i].id))
                                 : NULL;
        if (el)
            see_element(l, f, i, el);
        else
            fresh += is_numbered(&f->nodes[i]);
    }
    map_init(&lost);
    if (fresh && d->seen)
        gather_lost(l, d, &lost);
    for (int i = 0; i < f->n && fresh > 0; i++) {
        if (!is_numbered(&f->nodes[i]) || map_get(&d->bids, snap_key(&f->nodes[i].id)))
            continue;
        struct element *el = find_lost(&lost, f, i);
        l->b->found += el != NULL;
        see_element(l, f, i, el ? el : number(d, &f->nodes[i]));
        fresh--;
    }
    map_release(&lost);
    d->seen = l->b->snapshots;
}

/* Frames come after the frames that contain them. */
static void number_frame(struct snapshot *l, struct snap_frame *f)
{
    struct browser *b = l->b;
    f->document = document_of(b, f);
    for (int i = 0; i < l->n && f->owner; i++) {
        struct snap_frame *up = &l->frames[i];
        struct element *el = up->document && strcmp(up->session, f->owner_session) == 0
                                 ? map_get(&up->document->bids, snap_key(&f->owner))
                                 : NULL;
        if (el && strlen(el->bid) < sizeof(f->document->prefix))
            memcpy(f->document->prefix, el->bid, strlen(el->bid) + 1);
    }
    number_elements(l, f);
    struct str key;
    void *el;
    for (void *it = NULL; (it = map_next(&f->document->bids, it, &key, &el));)
        map_put(&b->elements, str_of(((struct element *)el)->bid), el);
}

/* Forgets documents that this tab no longer has. */
static void drop_old(struct snapshot *l)
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

static enum snap_word word_of(struct str s)
{
    static const struct {
        const char *text;
        enum snap_word word;
    } words[] = {
        {"IFRAME", SNAP_FRAME},      {"FRAME", SNAP_FRAME},
        {"BODY", SNAP_BODY},         {"A", SNAP_BUTTON},
        {"BUTTON", SNAP_BUTTON},     {"INPUT", SNAP_ACTIVE},
        {"TEXTAREA", SNAP_ACTIVE},   {"SELECT", SNAP_ACTIVE},
        {"VIDEO", SNAP_ACTIVE},      {"LI", SNAP_ACTIVE},
        {"TD", SNAP_ACTIVE},         {"OPTION", SNAP_ACTIVE},
        {"user-agent", SNAP_AGENT},  {"onclick", SNAP_ONCLICK},
        {"pointer", SNAP_POINTER},   {"hidden", SNAP_HIDDEN},
        {"collapse", SNAP_HIDDEN},   {"block", SNAP_BLOCK},
        {"flex", SNAP_BLOCK},        {"grid", SNAP_BLOCK},
        {"flow-root", SNAP_BLOCK},   {"table", SNAP_BLOCK},
        {"list-item", SNAP_BLOCK},   {"id", SNAP_NAMING},
        {"name", SNAP_NAMING},       {"type", SNAP_NAMING},
        {"role", SNAP_NAMING},       {"href", SNAP_NAMING},
        {"aria-label", SNAP_NAMING},
    };
    for (size_t i = 0; s.n && s.n < 11 && i < sizeof(words) / sizeof(*words); i++) {
        if (str_eq(s, str_of(words[i].text)))
            return words[i].word;
    }
    return SNAP_OTHER;
}

/* FNV-1a of the first bytes. */
static uint32_t hash_of(struct str s)
{
    uint32_t h = 2166136261U;
    for (size_t i = 0; i < s.n && i < HASHED; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619U;
    return h;
}

static void read_words(struct words *w, struct str strings)
{
    struct str in = jsontext_inside(strings), value;
    size_t room = 0;
    *w = (struct words){0};
    while (jsontext_item(&in, &value)) {
        if (w->n == room) {
            room = room ? 2 * room : 4096;
            w->word = xrealloc(w->word, room, 1);
            w->hash = xrealloc(w->hash, room, sizeof(*w->hash));
        }
        struct str plain = jsontext_plain(value);
        w->hash[w->n] = hash_of(plain);
        w->word[w->n++] = (unsigned char)word_of(plain);
    }
}

enum snap_word snap_word_at(const struct words *w, int64_t i)
{
    return i >= 0 && (uint64_t)i < w->n ? (enum snap_word)w->word[i] : SNAP_OTHER;
}

static struct str string_at(struct str strings, int64_t i)
{
    struct str in = jsontext_inside(strings), value = STR("");
    while (i-- >= 0 && jsontext_item(&in, &value))
        ;
    return jsontext_plain(value);
}

static struct str inside(struct str object, struct str name)
{
    return jsontext_inside(jsontext_get(object, name));
}

/*
 * Reads the next entry of a rare column: a node's index, and its value; -1 without
 * values.
 */
static bool next_rare(struct str *places, struct str *values, const struct snap_frame *f,
                      int64_t *at, int64_t *value)
{
    struct str a, v;
    if (!jsontext_item(places, &a))
        return false;
    *at = jsontext_int(a, -1);
    *value = jsontext_item(values, &v) ? jsontext_int(v, -1) : -1;
    if (*at < 0 || *at >= f->n)
        *at = f->n; /* an unused entry after the last node */
    return true;
}

static void set_flags(struct snap_frame *f, struct str column, unsigned char flag)
{
    struct str places = inside(column, STR("index")), none = STR("");
    int64_t at, value;
    while (next_rare(&places, &none, f, &at, &value))
        f->nodes[at].flags |= flag;
}

static unsigned char flags_of(enum snap_word tag)
{
    return tag == SNAP_FRAME    ? IS_FRAME | IS_ACTIVE
           : tag == SNAP_BODY   ? IS_BODY
           : tag == SNAP_BUTTON ? IS_BUTTON | IS_ACTIVE
           : tag == SNAP_ACTIVE ? IS_ACTIVE
                                : 0;
}

static uint32_t hash_at(const struct words *w, int64_t i)
{
    return i >= 0 && (uint64_t)i < w->n ? w->hash[i] : 0;
}

/* attributes: the strings of names and values, in turn. */
static uint32_t form_of_attributes(struct str attributes, const struct words *w)
{
    struct str in = jsontext_inside(attributes), name, value;
    uint32_t form = 0;
    while (jsontext_item(&in, &name) && jsontext_item(&in, &value)) {
        int64_t at = jsontext_int(name, -1);
        if (snap_word_at(w, at) == SNAP_NAMING)
            form += hash_at(w, at) * 31 + hash_at(w, jsontext_int(value, -1));
    }
    return form;
}

/* Reads a column with one value for each node. */
static void read_column(struct snap_frame *f, struct str name, struct str column,
                        const struct words *w)
{
    struct str in = jsontext_inside(column), v;
    char which = name.p[0];
    for (int i = 0; i < f->n && jsontext_item(&in, &v); i++) {
        struct node *n = &f->nodes[i];
        if (which == 'b') {
            n->id = jsontext_int(v, 0);
        } else if (which == 'p') {
            n->parent = (int)jsontext_int(v, -1);
        } else if (str_eq(name, STR("nodeType"))) {
            n->flags |= jsontext_int(v, 0) == 1 ? IS_ELEMENT : 0;
        } else if (which == 'a') {
            n->form += form_of_attributes(v, w);
        } else {
            int64_t at = jsontext_int(v, -1);
            n->form += hash_at(w, at);
            if (str_eq(name, STR("nodeName")))
                n->flags |= flags_of(snap_word_at(w, at));
        }
    }
}

static void read_rare(struct snap_frame *f, struct str name, struct str column,
                      const struct words *w)
{
    struct str places = inside(column, STR("index")),
               values = inside(column, STR("value"));
    int64_t at, value;
    bool content = str_eq(name, STR("contentDocumentIndex"));
    while (next_rare(&places, &values, f, &at, &value)) {
        if (content)
            f->nodes[at].content = (int)value;
        else if (snap_word_at(w, value) == SNAP_AGENT)
            f->nodes[at].flags |= IS_PRIVATE;
    }
}

static int count_items(struct str array)
{
    struct str in = jsontext_inside(array), v;
    int n = 0;
    while (n < NODES_MAX && jsontext_item(&in, &v))
        n++;
    return n;
}

/* Reads the columns of a document's nodes. Returns false if it has none. */
static bool read_nodes(struct snap_frame *f, struct str nodes, const struct words *w)
{
    static const struct str columns[] = {{"backendNodeId", 13}, {"parentIndex", 11},
                                         {"nodeType", 8},       {"nodeName", 8},
                                         {"nodeValue", 9},      {"attributes", 10}};
    struct str in = jsontext_inside(nodes), name, value;
    f->n = count_items(jsontext_get(nodes, STR("backendNodeId")));
    f->nodes = xcalloc((size_t)f->n + 1, sizeof(*f->nodes));
    for (int i = 0; i <= f->n; i++)
        f->nodes[i] = (struct node){.parent = -1, .content = -1};
    while (jsontext_member(&in, &name, &value)) {
        for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
            if (str_eq(name, columns[i]))
                read_column(f, name, value, w);
        }
        if (str_eq(name, STR("isClickable")))
            set_flags(f, value, IS_CLICKABLE);
        else if (str_eq(name, STR("pseudoType")))
            set_flags(f, value, IS_PRIVATE);
        else if (str_eq(name, STR("contentDocumentIndex")) ||
                 str_eq(name, STR("shadowRootType")))
            read_rare(f, name, value, w);
    }
    for (int i = 0; i < f->n; i++) {
        int up = f->nodes[i].parent;
        if (up >= 0 && up < i)
            f->nodes[i].flags |= f->nodes[up].flags & IS_PRIVATE;
    }
    for (int i = f->n - 1; i > 0; i--) {
        int up = f->nodes[i].parent;
        if (up >= 0 && up < i && !(f->nodes[i].flags & IS_PRIVATE))
            f->nodes[up].form += f->nodes[i].form * 16777619U;
    }
    return f->n > 0;
}

/*
 * Finds the element in another session that shows this session's page. t is a copy, as
 * the target may be gone when the answer comes.
 */
static void find_owner(struct snapshot *l, struct snap_frame *f, struct target t)
{
    struct err e = ERR_INIT;
    struct json *p = json_object();
    json_put_z(p, "frameId", t.id);
    struct json *j = browser_ask(l->b, str_of(t.parent), "DOM.getFrameOwner", p, &e);
    f->owner = json_int(json_get(j, "result"), "backendNodeId", 0);
    memcpy(f->owner_session, t.parent, sizeof(f->owner_session));
    json_free(j);
}

/* Finds the document of the same session that contains the i-th one. */
static void find_holder(struct snapshot *l, struct snap_frame *f, int base, int i)
{
    for (struct snap_frame *up = &l->frames[base]; up < f; up++) {
        for (int k = 0; k < up->n; k++) {
            if (up->nodes[k].content != i)
                continue;
            f->owner = up->nodes[k].id;
            memcpy(f->owner_session, f->session, sizeof(f->owner_session));
        }
    }
}

static void read_snapshot(struct snapshot *l, struct target t, struct str result)
{
    struct str strings = jsontext_get(result, STR("strings")), d;
    struct str documents = inside(result, STR("documents"));
    struct words w;
    int base = l->n;
    read_words(&w, strings);
    for (int i = 0; l->n < SNAP_FRAMES_MAX && jsontext_item(&documents, &d); i++) {
        struct snap_frame *f = &l->frames[l->n];
        struct str id = string_at(strings,
                                  jsontext_int(jsontext_get(d, STR("frameId")), -1));
        memcpy(f->session, t.session, sizeof(f->session));
        if (id.n == 0 || id.n >= BROWSER_ID ||
            !read_nodes(f, jsontext_get(d, STR("nodes")), &w)) {
            free(f->nodes);
            *f = (struct snap_frame){0};
            break;
        }
        memcpy(f->id, id.p, id.n);
        map_init(&f->by_id);
        if (l->boxes)
            snap_read_boxes(f, d, &w);
        if (l->outline)
            snap_read_styles(f, d, &w);
        f->snapshot = d;
        f->strings = l->texts ? &l->strings[l->kept_n] : NULL;
        l->n++;
        if (i == 0 && !t.page)
            find_owner(l, f, t);
        find_holder(l, f, base, i);
    }
    free(w.word);
    free(w.hash);
}

bool browser_within(struct browser *b, const struct target *t)
{
    for (int depth = 0; t && depth < SNAP_SESSIONS_MAX; depth++) {
        if (t == b->active)
            return true;
        if (t->page)
            return false;
        t = browser_session(b, str_of(t->parent));
    }
    return false;
}

static int snapshots(struct snapshot *l, struct err *e)
{
    struct browser *b = l->b;
    char sessions[SNAP_SESSIONS_MAX][BROWSER_ID];
    int asked[SNAP_SESSIONS_MAX], n = 0, r = 0;
    struct buf text = BUF_INIT(0);
    struct list *pos, *tmp;
    list_each (pos, tmp, &b->targets) {
        struct target *t = list_entry(pos, struct target, node);
        if (n == SNAP_SESSIONS_MAX || !t->session[0] || !browser_within(b, t))
            continue;
        struct json *p = json_object();
        struct json *styles = json_array();
        if (l->boxes || l->texts || l->outline) {
            json_push_str(styles, STR("cursor"));
            json_push_str(styles, STR("visibility"));
            json_push_str(styles, STR("display"));
        }
        json_put(p, "computedStyles", styles);
        memcpy(sessions[n], t->session, BROWSER_ID);
        asked[n++] = cdp_send_big(&b->cdp, str_of(t->session),
                                  "DOMSnapshot.captureSnapshot", p);
    }
    for (int i = 0; i < n; i++) {
        int got = cdp_wait_big(&b->cdp, asked[i], browser_in(BROWSER_CALL_MS), &text, e);
        struct target *t = browser_session(b, str_of(sessions[i]));
        struct str result = got == 0 && t
                                ? jsontext_get(str_trim(buf_str(&text)), STR("result"))
                                : STR("");
        if (got == 0 && t)
            read_snapshot(l, *t, result);
        if (got == 0 && t && l->texts) {
            snap_read_strings(&l->strings[l->kept_n],
                              jsontext_get(result, STR("strings")));
            l->kept[l->kept_n++] = text;
            text = (struct buf)BUF_INIT(0);
        }
        if (got == 0 && t)
            continue;
        if (t && t == b->active)
            r = -1;
    }
    buf_release(&text);
    return r;
}

/* ---- accessibility trees ---- */

static void ask_trees(struct snapshot *l)
{
    for (int i = 0; i < l->n; i++) {
        struct snap_frame *f = &l->frames[i];
        struct json *p = json_object();
        json_put_z(p, "frameId", f->id);
        f->asked = cdp_send_big(&l->b->cdp, str_of(f->session),
                                "Accessibility.getFullAXTree", p);
    }
}

/* Chromium's line boxes only repeat the StaticText that contains them. */
static bool is_line_box(struct str node)
{
    return str_eq(jsontext_plain(jsontext_get(jsontext_get(node, STR("role")), //
                                              STR("value"))),
                  STR("InlineTextBox"));
}

static void index_tree(struct snap_frame *f)
{
    struct str result = jsontext_get(str_trim(buf_str(&f->tree)), STR("result"));
    struct str nodes = inside(result, STR("nodes")), node;
    size_t room = 0;
    while (f->ax_n < NODES_MAX && jsontext_item(&nodes, &node)) {
        if (is_line_box(node))
            continue;
        if (f->ax_n == room) {
            room = room ? 2 * room : 256;
            f->ax = xrealloc(f->ax, room, sizeof(*f->ax));
        }
        f->ax[f->ax_n++] = (struct ax){.text = node};
    }
    for (size_t i = 0; i < f->ax_n; i++) {
        struct str id = jsontext_plain(jsontext_get(f->ax[i].text, STR("nodeId")));
        if (id.n > 0 && id.n <= BROWSER_ID && !map_get(&f->by_id, id))
            map_put(&f->by_id, id, &f->ax[i]);
    }
}

static int get_trees(struct snapshot *l, struct err *e)
{
    for (int i = 0; i < l->n; i++) {
        struct snap_frame *f = &l->frames[i];
        int r = cdp_wait_big(&l->b->cdp, f->asked, browser_in(BROWSER_CALL_MS), &f->tree,
                             e);
        if (r < 0 && i == 0)
            return -1;
        if (r == 0)
            index_tree(f);
    }
    return 0;
}

/* ---- the whole look ---- */

/* The calls of a session are carried out in turn: nothing waits for this one. */
static int begin_unskip(struct browser *b)
{
    struct json *p = browser_script(unskip_js, "");
    json_put_z(p, "objectGroup", "od");
    return cdp_send(&b->cdp, browser_session_of(b->active), "Runtime.evaluate", p);
}

static void end_unskip(struct browser *b, int asked)
{
    struct err e = ERR_INIT;
    struct json *j = cdp_wait(&b->cdp, asked, browser_in(BROWSER_CALL_MS), &e);
    struct str back = json_str(json_get(json_get(j, "result"), "result"), "objectId", "");
    if (back.n > 0) {
        struct json *p = json_object();
        json_put_z(p, "functionDeclaration", "function(){this()}");
        json_put_str(p, "objectId", back);
        cdp_tell(&b->cdp, browser_session_of(b->active), "Runtime.callFunctionOn", p);
    }
    json_free(j);
}

static void number_page(struct snapshot *l)
{
    struct browser *b = l->b;
    b->snapshots++;
    map_release(&b->elements);
    map_init(&b->elements);
    for (int i = 0; i < l->n; i++)
        number_frame(l, &l->frames[i]);
    drop_old(l);
}

/* Gives the focus to the body if nothing has it. */
static void default_focus(struct snapshot *l)
{
    const struct snap_frame *f = &l->frames[0];
    for (int i = 0; i < f->n && l->n; i++) {
        struct element *el = f->nodes[i].flags & IS_BODY
                                 ? map_get(&f->document->bids, snap_key(&f->nodes[i].id))
                                 : NULL;
        if (el) {
            buf_addz(l->focused, el->bid);
            return;
        }
    }
}

static void release(struct snapshot *l)
{
    for (int i = 0; i < l->n; i++) {
        struct snap_frame *f = &l->frames[i];
        map_release(&f->by_id);
        buf_release(&f->tree);
        free(f->ax);
        free(f->nodes);
        free(f->boxes);
    }
    for (int i = 0; i < l->kept_n; i++) {
        buf_release(&l->kept[i]);
        free(l->strings[i].at);
    }
    buf_release(&l->names);
    free(l);
}

/* Returns an address up to its path; "" if it does not have the usual form. */
static struct str site_of(struct str url)
{
    long slashes = str_find(url, STR("://"));
    if (slashes < 0)
        return STR("");
    struct str rest = str_sub(url, (size_t)slashes + 3, url.n);
    long path = str_chr(rest, '/');
    return path < 0 ? STR("") : str_sub(url, 0, (size_t)(slashes + 3 + path));
}

bool browser_find_again(struct browser *b)
{
    struct snapshot *l = xnew(struct snapshot);
    struct err e = ERR_INIT;
    unsigned found = b->found;
    l->b = b;
    buf_init(&l->names, NAMES_MAX);
    if (snapshots(l, &e) == 0)
        number_page(l);
    release(l);
    return b->found != found;
}

int browser_tree(struct browser *b, const struct browser_want *want,
                 struct browser_seen *out, struct err *e)
{
    struct snapshot *l = xnew(struct snapshot);
    struct err late = ERR_INIT;
    l->b = b;
    l->out = &out->tree;
    l->focused = &out->focused;
    l->compact = want->compact;
    l->boxes = want->marks || want->properties;
    l->texts = want->text && out->is_html;
    l->refs = want->refs;
    l->outline = want->outline;
    l->site = site_of(buf_str(&out->url));
    buf_init(&l->names, NAMES_MAX);
    int unskip = begin_unskip(b);
    int r = snapshots(l, e);
    if (r == 0) {
        ask_trees(l);
        number_page(l);
        if (l->boxes)
            snap_mark(l, want, out);
        r = get_trees(l, e);
    }
    end_unskip(b, unskip);
    if (r == 0 && l->texts && snap_text(l, out, &late) < 0)
        browser_note(b, "the page's links and fields have no numbers here: %s",
                     late.text);
    if (r == 0 && want->raw)
        snap_raw(l, &out->raw);
    if (r == 0 && l->outline)
        snap_outline(l);
    if (r == 0 && l->n > 0 && !l->outline) {
        snap_print(l, &l->frames[0], 0);
        if (l->full)
            buf_addf(l->out, "\n[the tree goes on: it is longer than %zu bytes]",
                     l->out->max);
        if (!out->focused.n)
            default_focus(l);
    }
    release(l);
    return r;
}
