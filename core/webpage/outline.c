/* SPDX-License-Identifier: MIT */
#include "webpage/outline.h"

#include "base/map.h"
#include "base/utf8.h"
#include "base/xalloc.h"

#include <stdlib.h>

enum { AROUND = 2, PATH_MAX_BYTES = 200, NEAR_MAX = 400 };

static const struct str dot = {" \xc2\xb7 ", 4};

void outline_init(struct outline *o)
{
    *o = (struct outline){.text = BUF_INIT(OUTLINE_TEXT_MAX)};
}

void outline_release(struct outline *o)
{
    buf_release(&o->text);
    free(o->items);
    *o = (struct outline){.text = BUF_INIT(OUTLINE_TEXT_MAX)};
}

/*
 * Appends s without blanks at its ends; inner blanks become one. Returns the number of
 * bytes.
 */
static size_t add_folded(struct buf *out, struct str s, size_t max)
{
    size_t before = out->n;
    bool blank = false;
    s = str_sub(s, 0, utf8_cut(s, max < s.n ? max : s.n));
    for (size_t i = 0; i < s.n; i++) {
        bool nbsp = i + 1 < s.n && s.p[i] == '\xc2' && s.p[i + 1] == '\xa0';
        if ((unsigned char)s.p[i] <= ' ' || nbsp) {
            blank = out->n > before;
            i += nbsp;
            continue;
        }
        if (blank)
            buf_addc(out, ' ');
        blank = false;
        buf_addc(out, s.p[i]);
    }
    return out->n - before;
}

void outline_add(struct outline *o, const struct outline_put *p)
{
    struct outline_item *last = o->n ? &o->items[o->n - 1] : NULL;
    size_t before = o->text.n;
    if (o->full || o->n == OUTLINE_ITEMS_MAX) {
        o->full = true;
        return;
    }
    if (o->n == o->room) {
        o->room = o->room ? 2 * o->room : 64;
        o->items = xrealloc(o->items, o->room, sizeof(*o->items));
        last = o->n ? &o->items[o->n - 1] : NULL;
    }
    struct outline_item *i = &o->items[o->n];
    *i = (struct outline_item){.key = p->key, .ref = p->ref, .line = p->line};
    struct str path = str_sub(p->path, 0, utf8_cut(p->path, PATH_MAX_BYTES));
    if (last && str_eq(outline_path(o, last), path)) {
        i->path_at = last->path_at;
    } else {
        i->path_at = o->text.n;
        buf_adds(&o->text, path);
    }
    i->path = path.n;
    i->at = o->text.n;
    i->role = add_folded(&o->text, p->role, OUTLINE_NAME_MAX);
    i->name = add_folded(&o->text, p->name, OUTLINE_NAME_MAX);
    i->rest = p->rest.n < OUTLINE_NAME_MAX ? p->rest.n : OUTLINE_NAME_MAX;
    i->rest = utf8_cut(p->rest, i->rest);
    buf_adds(&o->text, str_sub(p->rest, 0, i->rest));
    if (buf_full(&o->text)) {
        buf_truncate(&o->text, before);
        o->full = true;
        return;
    }
    o->refs += i->ref != 0;
    o->n++;
}

struct str outline_role(const struct outline *o, const struct outline_item *i)
{
    return str_sub(buf_str(&o->text), i->at, i->role);
}

struct str outline_name(const struct outline *o, const struct outline_item *i)
{
    return str_sub(buf_str(&o->text), i->at + i->role, i->name);
}

struct str outline_rest(const struct outline *o, const struct outline_item *i)
{
    return str_sub(buf_str(&o->text), i->at + i->role + i->name, i->rest);
}

struct str outline_path(const struct outline *o, const struct outline_item *i)
{
    return str_sub(buf_str(&o->text), i->path_at, i->path);
}

/* Returns the whole label: role, name and the rest. */
static struct str label_of(const struct outline *o, const struct outline_item *i)
{
    return str_sub(buf_str(&o->text), i->at, i->role + i->name + i->rest);
}

void outline_quote(struct buf *out, struct str s)
{
    size_t n = s.n > OUTLINE_SHOWN ? utf8_cut(s, OUTLINE_SHOWN) : s.n;
    buf_addc(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (s.p[i] == '"')
            buf_addc(out, '\\');
        buf_addc(out, (unsigned char)s.p[i] < ' ' ? ' ' : s.p[i]);
    }
    buf_addz(out, n < s.n ? "…\"" : "\"");
}

void outline_put_item(const struct outline *o, const struct outline_item *i,
                      struct buf *out)
{
    buf_adds(out, outline_role(o, i));
    if (i->name) {
        buf_addc(out, ' ');
        outline_quote(out, outline_name(o, i));
    }
    if (i->ref)
        buf_addf(out, " e%u", i->ref);
    buf_adds(out, outline_rest(o, i));
}

/* ---- lines ---- */

/* Returns the end of the line that begins with item i; it is about OUTLINE_LINE long. */
static size_t line_end(const struct outline *o, size_t i)
{
    size_t bytes = 0, end = i;
    do {
        const struct outline_item *x = &o->items[end++];
        bytes += x->role + x->rest + dot.n +
                 (x->name < OUTLINE_SHOWN ? x->name : OUTLINE_SHOWN);
    } while (end < o->n && o->items[end].line == o->items[i].line &&
             bytes < OUTLINE_LINE);
    return end;
}

static void print_line(const struct outline *o, size_t from, size_t to, struct buf *out)
{
    for (size_t i = from; i < to; i++) {
        if (i > from)
            buf_adds(out, dot);
        outline_put_item(o, &o->items[i], out);
    }
    buf_addc(out, '\n');
}

void outline_print(const struct outline *o, struct buf *out)
{
    for (size_t i = 0; i < o->n;) {
        size_t end = line_end(o, i);
        print_line(o, i, end, out);
        i = end;
    }
}

/* ---- finding ---- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static bool starts_with(struct str s, struct str prefix)
{
    size_t i = 0;
    while (i < prefix.n && i < s.n && lower(s.p[i]) == lower(prefix.p[i]))
        i++;
    return i == prefix.n;
}

static bool contains(struct str s, struct str part)
{
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (starts_with(str_sub(s, i, s.n), part))
            return true;
    }
    return false;
}

/* Appends a place if it fits; else out stays unchanged. */
static bool place_fits(struct buf *out, size_t before, size_t begin, size_t max)
{
    if (out->n - begin <= max && !buf_full(out))
        return true;
    if (before > begin) {
        buf_truncate(out, before);
        buf_resume(out);
        return false;
    }
    buf_truncate(out, begin + utf8_cut(str_sub(buf_str(out), begin, max), max));
    buf_resume(out);
    return true;
}

/* Lines as the numbers of their first items. */
struct lines {
    size_t *at; /* owned */
    size_t n;
};

static void split(const struct outline *o, struct lines *l)
{
    l->at = xcalloc(o->n + 1, sizeof(*l->at));
    for (size_t i = 0; i < o->n; i = line_end(o, i))
        l->at[l->n++] = i;
    l->at[l->n] = o->n;
}

static bool line_has(const struct outline *o, const struct lines *l, size_t k,
                     struct str text)
{
    for (size_t i = l->at[k]; i < l->at[k + 1]; i++) {
        if (contains(outline_name(o, &o->items[i]), text) ||
            contains(outline_rest(o, &o->items[i]), text))
            return true;
    }
    return false;
}

/* How many lines are shown around an item; none around a row of a table. */
static size_t around(const struct outline *o, size_t item)
{
    return str_find(outline_path(o, &o->items[item]), STR(" row ")) >= 0 ? 0 : AROUND;
}

unsigned outline_find(const struct outline *o, struct str text, size_t max,
                      struct buf *out, unsigned *shown, size_t *at)
{
    struct lines l = {NULL, 0};
    size_t begin = out->n, done = 0; /* lines before `done` are in out */
    unsigned found = 0;
    bool open = true;
    *shown = 0;
    *at = 0;
    split(o, &l);
    for (size_t k = 0; k < l.n; k++) {
        if (!line_has(o, &l, k, text))
            continue;
        if (found++ == 0) {
            struct buf before = BUF_INIT(OUTLINE_TEXT_MAX * 2);
            for (size_t i = 0; i < k; i++)
                print_line(o, l.at[i], l.at[i + 1], &before);
            *at = before.n;
            buf_release(&before);
        }
        if (!open)
            continue;
        size_t before = out->n, more = around(o, l.at[k]);
        size_t from = k > more ? k - more : 0;
        size_t to = k + more < l.n - 1 ? k + more : l.n - 1;
        struct str path = outline_path(o, &o->items[l.at[k]]);
        from = from < done ? done : from;
        if (before > begin && from > done && more)
            buf_addz(out, "…\n");
        for (size_t i = from; i <= to; i++) {
            if (i == k && path.n)
                buf_addf(out, "%.*s: ", STR_ARG(path));
            print_line(o, l.at[i], l.at[i + 1], out);
        }
        open = place_fits(out, before, begin, max);
        *shown += open;
        done = to + 1 > done ? to + 1 : done;
    }
    free(l.at);
    return found;
}

unsigned outline_find_text(struct str page, struct str text, size_t max, struct buf *out,
                           unsigned *shown, size_t *at)
{
    size_t begin = out->n, done = 0;
    unsigned found = 0;
    bool open = true;
    *shown = 0;
    *at = 0;
    for (size_t line = 0; line < page.n;) {
        long nl = str_chr(str_sub(page, line, page.n), '\n');
        size_t end = nl < 0 ? page.n : line + (size_t)nl + 1, from = line, to = end;
        bool has = contains(str_sub(page, line, end - line), text);
        if (has && found++ == 0)
            *at = line;
        for (int i = 0; has && i < AROUND; i++) {
            if (from > done && from > 0)
                from--;
            while (from > done && page.p[from - 1] != '\n')
                from--;
            while (to < page.n && page.p[to++] != '\n')
                ;
        }
        if (has && open) {
            size_t before = out->n;
            from = from < done ? done : from;
            if (before > begin && from > done)
                buf_addz(out, "…\n");
            buf_adds(out, str_sub(page, from, to > from ? to - from : 0));
            if (out->n && out->p[out->n - 1] != '\n')
                buf_addc(out, '\n');
            open = place_fits(out, before, begin, max);
            *shown += open;
            done = to > done ? to : done;
        }
        line = end;
    }
    return found;
}

/* ---- differences ---- */

struct comparing {
    const struct outline *a, *b;
    bool *seen;   /* of a's items: it is in b, too */
    size_t *was;  /* of b's items: 1 + the same item of a; 0: it is new */
    size_t *next; /* of a's items: 1 + the next with the same label */
};

static struct str key_of(const struct outline_item *i)
{
    return str_n(&i->key, sizeof(i->key));
}

/* Matches items by their keys; maps link items of a by `next`. */
static void match_keys(struct comparing *c)
{
    struct map keys;
    map_init(&keys);
    for (size_t i = 0; i < c->a->n; i++) {
        if (c->a->items[i].key)
            map_put(&keys, key_of(&c->a->items[i]), &c->next[i]);
    }
    for (size_t j = 0; j < c->b->n; j++) {
        const struct outline_item *x = &c->b->items[j];
        size_t *at = x->key ? map_get(&keys, key_of(x)) : NULL;
        if (at && !c->seen[at - c->next]) {
            c->was[j] = (size_t)(at - c->next) + 1;
            c->seen[at - c->next] = true;
        }
    }
    map_release(&keys);
}

static void match_labels(struct comparing *c)
{
    struct map labels;
    map_init(&labels);
    for (size_t i = c->a->n; i-- > 0;) {
        if (c->seen[i])
            continue;
        size_t *later = map_put(&labels, label_of(c->a, &c->a->items[i]), &c->next[i]);
        c->next[i] = later ? (size_t)(later - c->next) + 1 : 0;
    }
    for (size_t j = 0; j < c->b->n; j++) {
        struct str label = label_of(c->b, &c->b->items[j]);
        size_t *at = c->was[j] ? NULL : map_get(&labels, label);
        if (!at)
            continue;
        c->was[j] = (size_t)(at - c->next) + 1;
        c->seen[at - c->next] = true;
        if (*at)
            map_put(&labels, label, &c->next[*at - 1]);
        else
            map_del(&labels, label);
    }
    map_release(&labels);
}

/* Appends a line if it fits. */
static void tell(const struct outline *o, const struct outline_item *i, const char *mark,
                 unsigned was, size_t end, struct buf *out, struct outline_change *change)
{
    size_t before = out->n;
    buf_addz(out, mark);
    outline_put_item(o, i, out);
    if (was)
        buf_addf(out, ", was e%u", was);
    buf_addc(out, '\n');
    if (out->n > end || buf_full(out)) {
        buf_truncate(out, before);
        buf_resume(out);
        return;
    }
    change->shown++;
}

void outline_compare(const struct outline *a, const struct outline *b, size_t max,
                     struct buf *out, struct outline_change *change)
{
    struct comparing c = {.a = a, .b = b};
    size_t end = out->n + max;
    *change = (struct outline_change){0};
    c.seen = xcalloc(a->n + 1, sizeof(*c.seen));
    c.next = xcalloc(a->n + 1, sizeof(*c.next));
    c.was = xcalloc(b->n + 1, sizeof(*c.was));
    match_keys(&c);
    match_labels(&c);
    for (size_t j = 0; j < b->n; j++) {
        const struct outline_item *x = &b->items[j];
        const struct outline_item *old = c.was[j] ? &a->items[c.was[j] - 1] : NULL;
        if (!old) {
            change->added++;
            tell(b, x, "+ ", 0, end, out, change);
        } else if (old->ref != x->ref || !str_eq(label_of(a, old), label_of(b, x))) {
            change->changed++;
            tell(b, x, "~ ", old->ref != x->ref ? old->ref : 0, end, out, change);
        }
    }
    for (size_t i = 0; i < a->n; i++) {
        if (c.seen[i])
            continue;
        change->removed++;
        tell(a, &a->items[i], "- ", 0, end, out, change);
    }
    free(c.seen);
    free(c.next);
    free(c.was);
}

/* ---- refs ---- */

const struct outline_item *outline_ref(const struct outline *o, unsigned ref)
{
    for (size_t i = 0; ref && i < o->n; i++) {
        if (o->items[i].ref == ref)
            return &o->items[i];
    }
    return NULL;
}

/* Cuts the role off `button "Buy"`; text becomes the name. */
static struct str split_role(struct str *text)
{
    long quote = str_find(*text, STR(" \""));
    if (quote <= 0 || !str_ends(*text, STR("\"")) || (size_t)quote + 3 > text->n)
        return STR("");
    struct str role = str_sub(*text, 0, (size_t)quote);
    *text = str_sub(*text, (size_t)quote + 2, text->n - (size_t)quote - 3);
    return role;
}

unsigned outline_match(const struct outline *o, struct str text,
                       const struct outline_item **found, unsigned max)
{
    unsigned n = 0;
    text = str_trim(text);
    struct str role = split_role(&text);
    for (int part = 0; part < 2 && n == 0 && text.n; part++) {
        for (size_t i = 0; i < o->n; i++) {
            const struct outline_item *x = &o->items[i];
            struct str name = outline_name(o, x);
            bool fits = part ? contains(name, text)
                             : name.n == text.n && starts_with(name, text);
            if (!x->ref || !fits || (role.n && !str_eq(role, outline_role(o, x))))
                continue;
            if (n < max)
                found[n] = x;
            n++;
        }
    }
    return n;
}

/* Returns how many of a thousand pairs of characters of a are in b. */
static unsigned alike(struct str a, struct str b)
{
    unsigned same = 0;
    b = str_sub(b, 0, NEAR_MAX);
    for (size_t i = 0; i + 1 < a.n; i++)
        same += contains(b, str_sub(a, i, 2));
    return a.n > 1 ? same * 1000 / (unsigned)(a.n - 1) : 0;
}

const struct outline_item *outline_near(const struct outline *o, struct str text,
                                        bool refs)
{
    const struct outline_item *best = NULL;
    unsigned most = 299; /* less is not similar */
    text = str_sub(str_trim(text), 0, NEAR_MAX);
    for (size_t i = 0; i < o->n; i++) {
        struct str name = outline_name(o, &o->items[i]);
        if (!name.n || (refs && !o->items[i].ref))
            continue;
        unsigned is = alike(text, name);
        /* Of two that contain all of it, the shorter one is more similar. */
        if (is > most || (best && is == most && name.n < outline_name(o, best).n)) {
            most = is;
            best = &o->items[i];
        }
    }
    return best;
}
