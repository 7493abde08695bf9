/* SPDX-License-Identifier: MIT */
/*
 * Accessibility trees as text, one line a node.
 *
 * BrowserGym's form (flatten_axtree_to_str of its utils/obs.py) is for clients that
 * expect exactly that. The compact form has the same information in fewer characters:
 *
 *     [8] combobox 'Size' ='Small' collapsed
 *       [9] option 'Small' selected
 *     [15] status: what is written in it
 *
 * A value follows "=". Left out are states that are false by default, the mechanics of
 * live regions, "clickable" if the role implies it, containers without a name and a
 * state, and the common beginning of addresses of the page's own site. Text follows a
 * colon, on the line of the element that contains it if nothing else stands between.
 */
#include "base/jsontext.h"
#include "browser/driver/snapshot_own.h"

enum { LINE_ROOM = 4096, WORD_MAX = 200 };

static struct str value_of(struct str v) { return jsontext_get(v, STR("value")); }

struct snap_part snap_parse(struct str text)
{
    struct snap_part p = {0};
    struct str in = jsontext_inside(text), name, value;
    while (jsontext_member(&in, &name, &value)) {
        if (str_eq(name, STR("role"))) {
            p.role = jsontext_plain(value_of(value));
        } else if (str_eq(name, STR("name"))) {
            p.name = value_of(value);
            p.named = true;
        } else if (str_eq(name, STR("value"))) {
            p.value = value_of(value);
        } else if (str_eq(name, STR("properties"))) {
            p.properties = value;
        } else if (str_eq(name, STR("childIds"))) {
            p.children = value;
        } else if (str_eq(name, STR("backendDOMNodeId"))) {
            p.node = jsontext_int(value, 0);
        }
    }
    return p;
}

bool snap_is_one_of(struct str s, const char *const *names)
{
    for (; *names; names++) {
        if (str_eq(s, str_of(*names)))
            return true;
    }
    return false;
}

/* Appends a value as Python's repr() prints it. */
static void put_repr(struct buf *out, struct str value)
{
    struct buf text = BUF_INIT(1 << 20);
    if (jsontext_string(&text, value) == 0)
        browse_repr_text(out, buf_str(&text));
    else if (str_eq(value, STR("true")))
        buf_addz(out, "True");
    else if (str_eq(value, STR("false")))
        buf_addz(out, "False");
    else
        buf_adds(out,
                 jsontext_num(value, -1) == jsontext_num(value, 1) ? value : STR("None"));
    buf_release(&text);
}

static bool is_true(struct str value)
{
    static const char *const no[] = {"false", "0", "\"\"", "null", NULL};
    return value.n > 0 && !snap_is_one_of(value, no);
}

/* ---- BrowserGym's form ---- */

static const char *const never[] = {"editable",  "readonly", "level",     "settable",
                                    "multiline", "invalid",  "focusable", NULL};

/* Appends the attributes, each after a comma. */
static void put_attributes(struct buf *out, struct str properties, bool clickable)
{
    static const char *const bare[] = {"required", "focused", "atomic", NULL};
    struct str in = jsontext_inside(properties), p;
    if (clickable)
        buf_addz(out, ", clickable");
    while (jsontext_item(&in, &p)) {
        struct str name = jsontext_plain(jsontext_get(p, STR("name")));
        struct str v = value_of(jsontext_get(p, STR("value")));
        if (!v.p || snap_is_one_of(name, never))
            continue;
        if (snap_is_one_of(name, bare)) {
            if (is_true(v))
                buf_addf(out, ", %.*s", STR_ARG(name));
        } else {
            buf_addf(out, ", %.*s=", STR_ARG(name));
            put_repr(out, v);
        }
    }
}

static void put_line(struct buf *out, const struct snap_part *p, struct str name,
                     bool clickable)
{
    buf_adds(out, p->role);
    if (name.n > 0 || !str_eq(p->role, STR("generic"))) {
        buf_addc(out, ' ');
        browse_repr_text(out, name);
    }
    if (p->value.p) {
        buf_addz(out, " value=");
        put_repr(out, p->value);
    }
    put_attributes(out, p->properties, clickable);
}

/* ---- the compact form ---- */

/* Roles that mean nothing without a name. */
static const char *const containers[] = {
    "generic",   "paragraph",   "LabelText",   "MenuListPopup",  "none",    "strong",
    "emphasis",  "code",        "mark",        "rowgroup",       "Section", "Abbr",
    "subscript", "superscript", "LayoutTable", "LayoutTableRow", NULL};
/* Those of them that are within a line of text. */
static const char *const inlines[] = {"none", "strong",    "emphasis",    "code", "mark",
                                      "Abbr", "subscript", "superscript", NULL};
/* Roles that imply "clickable". */
static const char *const buttons[] = {"link",
                                      "button",
                                      "textbox",
                                      "searchbox",
                                      "combobox",
                                      "checkbox",
                                      "radio",
                                      "option",
                                      "menuitem",
                                      "tab",
                                      "switch",
                                      "menuitemcheckbox",
                                      "menuitemradio",
                                      "slider",
                                      "spinbutton",
                                      "RootWebArea",
                                      "DisclosureTriangle",
                                      NULL};

/* A state that has a word of its own: its name, its value, the word. */
static const struct {
    const char *name, *value, *word;
} states[] = {
    {"focused", "true", "focused"},
    {"required", "true", "required"},
    {"disabled", "true", "disabled"},
    {"selected", "true", "selected"},
    {"expanded", "true", "expanded"},
    {"expanded", "false", "collapsed"},
    {"checked", "\"true\"", "checked"},
    {"checked", "\"false\"", "unchecked"},
    {"checked", "\"mixed\"", "mixed"},
    {"pressed", "\"true\"", "pressed"},
    {"pressed", "\"false\"", "unpressed"},
    {"multiselectable", "true", "multiple"},
    {"modal", "true", "modal"},
    {"invalid", "\"true\"", "invalid"},
};
static const char *const untold[] = {
    "atomic",   "live",     "relevant",        "busy",         "autocomplete",
    "root",     "modal",    "multiselectable", "selected",     "focused",
    "required", "disabled", "hidden",          "errormessage", NULL};

/* Appends a value in as few characters as possible: quoted only if it has blanks. */
static void put_word(struct buf *out, struct str value)
{
    struct str plain = jsontext_plain(value);
    bool simple = plain.n > 0;
    for (size_t i = 0; i < plain.n && simple; i++)
        simple = (unsigned char)plain.p[i] > ' ' && !strchr("'\",=", plain.p[i]);
    if (!simple)
        put_repr(out, value);
    else
        buf_adds(out, str_sub(plain, 0, WORD_MAX));
    if (simple && plain.n > WORD_MAX)
        buf_addz(out, "…");
}

/* Appends an address; one of the page's own site begins with its path. */
static void put_url(const struct snapshot *l, struct str value)
{
    struct str plain = jsontext_plain(value);
    bool own = l->site.n && str_starts(plain, l->site) && plain.n > l->site.n &&
               plain.p[l->site.n] == '/';
    if (!plain.n) {
        put_word(l->out, value);
        return;
    }
    plain = own ? str_sub(plain, l->site.n, plain.n) : plain;
    buf_adds(l->out, str_sub(plain, 0, WORD_MAX));
    if (plain.n > WORD_MAX)
        buf_addz(l->out, "…");
}

const char *snap_state(struct str name, struct str value)
{
    for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
        if (str_eq(name, str_of(states[i].name)) &&
            str_eq(value, str_of(states[i].value)))
            return states[i].word;
    }
    return NULL;
}

static void put_state(const struct snapshot *l, struct str role, struct str name,
                      struct str value, bool root)
{
    const char *word = snap_state(name, value);
    if (word) {
        if (!root || !str_eq(name, STR("focused")))
            buf_addf(l->out, " %s", word);
        return;
    }
    if (snap_is_one_of(name, untold) || snap_is_one_of(name, never) ||
        (str_eq(name, STR("hasPopup")) && str_eq(role, STR("combobox"))))
        return;
    if (str_eq(name, STR("url"))) {
        bool page = str_eq(role, STR("RootWebArea"));
        buf_addc(l->out, ' ');
        if (page)
            buf_adds(l->out, jsontext_plain(value));
        else
            put_url(l, value);
        return;
    }
    buf_addf(l->out, " %.*s=", STR_ARG(name));
    put_word(l->out, value);
}

bool snap_property(struct str *inside, struct str *name, struct str *value)
{
    struct str p;
    while (jsontext_item(inside, &p)) {
        *name = jsontext_plain(jsontext_get(p, STR("name")));
        *value = value_of(jsontext_get(p, STR("value")));
        if (value->p)
            return true;
    }
    return false;
}

static void put_short(const struct snapshot *l, const struct snap_part *p,
                      struct str name, bool clickable, bool root)
{
    struct str in = jsontext_inside(p->properties), property, v;
    buf_adds(l->out, p->role);
    if (name.n > 0) {
        buf_addc(l->out, ' ');
        browse_repr_text(l->out, name);
    }
    if (p->value.p && !str_eq(p->value, STR("\"\""))) {
        buf_addz(l->out, " =");
        put_repr(l->out, p->value);
    }
    if (clickable && !snap_is_one_of(p->role, buttons))
        buf_addz(l->out, " clickable");
    while (snap_property(&in, &property, &v))
        put_state(l, p->role, property, v, root);
}

/*
 * Does a container without a name have a state, or the focus, which takes keys? Then it
 * is printed.
 */
static bool has_state(const struct snap_part *p)
{
    static const char *const told[] = {"focused", "disabled", "focusable", NULL};
    struct str in = jsontext_inside(p->properties), name, v;
    while (snap_property(&in, &name, &v)) {
        if (is_true(v) && snap_is_one_of(name, told))
            return true;
    }
    return p->value.p != NULL;
}

/* Appends text of a page on one line. */
static void put_text(struct buf *out, struct str text)
{
    bool blank = false;
    text = str_trim(text);
    for (size_t i = 0; i < text.n; i++) {
        bool is = (unsigned char)text.p[i] <= ' ' || text.p[i] == 0x7f;
        if (!is && blank)
            buf_addc(out, ' ');
        if (!is)
            buf_addc(out, text.p[i]);
        blank = is;
    }
}

/* ---- lines ---- */

/* Python's strip(): removes all white space. */
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

static void begin_line(struct snapshot *l, int depth)
{
    if (l->out->n)
        buf_addc(l->out, '\n');
    for (int i = 0; i < depth; i++)
        buf_addc(l->out, '\t');
}

/* Keeps what was printed after `before` if there is still room. */
static void end_line(struct snapshot *l, size_t before)
{
    if (buf_full(l->out) || buf_room(l->out) < LINE_ROOM) {
        buf_truncate(l->out, before);
        buf_resume(l->out);
        l->full = true;
    }
}

static bool is_focused(const struct snap_part *p)
{
    struct str in = jsontext_inside(p->properties), name, v;
    while (snap_property(&in, &name, &v)) {
        if (str_eq(name, STR("focused")))
            return is_true(v);
    }
    return false;
}

static void print_line(struct snapshot *l, struct snap_frame *f,
                       const struct snap_part *p, int depth, struct str name)
{
    size_t before = l->out->n;
    struct element *el = f->document ? map_get(&f->document->bids, snap_key(&p->node))
                                     : NULL;
    begin_line(l, depth);
    if (el)
        buf_addf(l->out, "[%s] ", el->bid);
    if (l->compact)
        put_short(l, p, strip(name), el && el->clickable, depth == 0);
    else
        put_line(l->out, p, strip(name), el && el->clickable);
    if (el && is_focused(p)) {
        buf_reset(l->focused);
        buf_addz(l->focused, el->bid);
    }
    end_line(l, before);
    l->text_line = l->compact && name.n == 0 && !p->value.p ? l->out->n : 0;
}

/*
 * Appends text to the line before if that has only text, or begins with an element
 * without a name.
 */
static void print_text(struct snapshot *l, int depth, struct str text)
{
    size_t before = l->out->n;
    if (str_trim(text).n == 0)
        return;
    bool on = l->text_line && l->text_line == l->out->n;
    bool of_text = on && l->text_goes_on;
    if (!on)
        begin_line(l, depth);
    buf_addz(l->out, of_text ? " " : ": ");
    put_text(l->out, text);
    end_line(l, before);
    l->text_line = l->out->n;
    l->text_goes_on = true;
}

/* ---- nodes ---- */

/* Whether only the content of the node is printed. */
static bool is_skipped(const struct snapshot *l, const struct snap_frame *f,
                       const struct snap_part *p, struct str name)
{
    if (!p->named || str_eq(p->role, STR("LineBreak")))
        return true;
    if (!l->compact || name.n > 0 || !snap_is_one_of(p->role, containers))
        return false;
    struct element *el = f->document ? map_get(&f->document->bids, snap_key(&p->node))
                                     : NULL;
    return !(el && el->clickable) && !has_state(p);
}

static void print_inner(struct snapshot *l, struct snap_frame *f, int64_t id, int depth)
{
    for (int i = 0; id && i < l->n; i++) {
        struct snap_frame *in = &l->frames[i];
        if (in->owner == id && !in->printed && strcmp(in->owner_session, f->session) == 0)
            snap_print(l, in, depth);
    }
}

/* Keeps the name of a node in l->names while its content is printed. */
struct tree_held {
    size_t at, n;
};

static struct str name_at(const struct snapshot *l, struct tree_held h)
{
    return str_sub(buf_str(&l->names), h.at, h.n);
}

static void print_node(struct snapshot *l, struct snap_frame *f, struct ax *a, int depth,
                       int level, struct tree_held above)
{
    if (a->seen || l->full || level > SNAP_DEPTH_MAX)
        return;
    a->seen = true;
    struct snap_part p = snap_parse(a->text);
    if (l->compact && str_eq(p.role, STR("ListMarker")))
        return;
    struct tree_held own = {.at = l->names.n};
    jsontext_string(&l->names, p.name);
    own.n = l->names.n - own.at;
    struct str name = name_at(l, own);
    bool text = str_eq(p.role, STR("StaticText"));
    bool skip = is_skipped(l, f, &p, name) ||
                (text && str_find(name_at(l, above), name) >= 0);
    /* The name of a row repeats all of its cells. */
    struct str shown = l->compact && str_eq(p.role, STR("row")) && p.children.n > 2
                           ? STR("")
                           : name;
    bool line = l->compact && !snap_is_one_of(p.role, inlines) && !text;
    if (line)
        l->text_goes_on = false;
    if (!skip && l->compact && text)
        print_text(l, depth, name);
    else if (!skip)
        print_line(l, f, &p, depth, shown);
    struct str in = jsontext_inside(p.children), c;
    while (jsontext_item(&in, &c)) {
        struct ax *child = map_get(&f->by_id, jsontext_plain(c));
        if (child)
            print_node(l, f, child, depth + !skip, level + 1, own);
    }
    print_inner(l, f, p.node, depth + !skip);
    buf_truncate(&l->names, own.at);
    if (line)
        l->text_line = 0;
}

void snap_print(struct snapshot *l, struct snap_frame *f, int depth)
{
    f->printed = true;
    if (f->ax_n > 0 && depth < SNAP_DEPTH_MAX)
        print_node(l, f, &f->ax[0], depth, depth, (struct tree_held){0});
}
