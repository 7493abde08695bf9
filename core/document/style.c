/* SPDX-License-Identifier: MIT */
#include "document/style.h"

#include <ctype.h>

enum {
    MEMORY = 16 << 20,
    ID_MAX = 256,
    URL_MAX = 2048,
    BASED_MAX = 16,     /* styles that are based on one another */
    COUNT_MAX = 1 << 20 /* number of a list's first item */
};

struct style {
    struct docx_paragraph paragraph; /* without the list */
    char *list, *based;              /* ids, or NULL */
};

/* Letters in either case, without spaces: "heading 1", "Heading1". */
static bool is_called(struct str s, const char *word)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != ' ' && tolower((unsigned char)s.p[i]) != *word++)
            return false;
    }
    return *word == 0;
}

static int heading_of(struct str name)
{
    char last = name.n ? name.p[name.n - 1] : 0;
    if (is_called(name, "title"))
        return 1;
    return last >= '1' && last <= '6' &&
                   is_called(str_sub(name, 0, name.n - 1), "heading")
               ? last - '0'
               : 0;
}

/* Returns an attribute as a number from 0 to max; -1 if it is not one. */
static int number_in(const struct xml *x, const char *name, int max)
{
    uint64_t n = xml_attr_number(x, name, UINT64_MAX);
    return n <= (uint64_t)max ? (int)n : -1;
}

/* 17.3.1.20: 0 is the first level, 9 is not a heading. */
static int outline_of(const struct xml *x)
{
    int level = number_in(x, "val", 9);
    return level < 0 ? 0 : level < 6 ? level + 1 : -1;
}

/*
 * Returns a copy of an attribute, with a zero at its end; NULL if there is none, or no
 * memory.
 */
static char *text_of(struct docx_styles *s, const struct xml *x, const char *attr,
                     size_t max)
{
    struct buf id = BUF_INIT(max);
    char *copy = xml_attr(x, attr, &id)
                     ? arena_copy(&s->memory, str_n(buf_z(&id), id.n + 1))
                     : NULL;
    buf_release(&id);
    return copy;
}

static char *id_of(struct docx_styles *s, const struct xml *x, const char *attr)
{
    return text_of(s, x, attr, ID_MAX);
}

/* ---- styles ---- */

static struct style *add_style(struct docx_styles *s, const struct xml *x)
{
    char *id = id_of(s, x, "styleId");
    struct style *style = id ? arena_get(&s->memory, sizeof(*style)) : NULL;
    if (!style)
        return NULL;
    style->paragraph.heading = heading_of(str_of(id));
    map_put(&s->styles, str_of(id), style);
    return style;
}

/* Takes a property that both styles and paragraphs have; false: it is another one. */
static bool take_common(struct docx_paragraph *p, const struct xml *x)
{
    if (xml_is(x, "outlineLvl"))
        p->heading = outline_of(x);
    else if (xml_is(x, "numPr"))
        p->item = true;
    else if (xml_is(x, "ilvl"))
        p->level = number_in(x, "val", LIST_LEVELS - 1) + 1;
    else
        return false;
    return true;
}

static void take_property(struct docx_styles *s, struct style *style, const struct xml *x)
{
    char *name;
    if (take_common(&style->paragraph, x))
        return;
    if (xml_is(x, "name") && (name = id_of(s, x, "val")) != NULL &&
        !style->paragraph.heading)
        style->paragraph.heading = heading_of(str_of(name));
    else if (xml_is(x, "basedOn"))
        style->based = id_of(s, x, "val");
    else if (xml_is(x, "numId"))
        style->list = id_of(s, x, "val");
}

static void read_styles(struct docx_styles *s, struct str part)
{
    struct xml x = XML_INIT(part);
    struct style *style = NULL;
    enum xml_kind k;
    while ((k = xml_next(&x)) != XML_END && k != XML_BAD) {
        if (k == XML_TEXT)
            continue;
        if (xml_is(&x, "style"))
            style = k == XML_OPEN ? add_style(s, &x) : NULL;
        else if (k == XML_OPEN && style)
            take_property(s, style, &x);
    }
}

/* Puts a paragraph into a list; a list may have the levels of a style's. */
static void set_list(const struct docx_styles *s, struct docx_paragraph *p,
                     const char *id)
{
    const struct style *style;
    if (!id)
        return;
    p->list = map_get(&s->lists, str_of(id));
    if (p->list && p->list->link &&
        (style = map_get(&s->styles, str_of(p->list->link))) != NULL && style->list)
        p->list = map_get(&s->lists, str_of(style->list));
    p->item = !str_eq(str_of(id), STR("0")); /* 17.9.18: not in the style's list */
}

/* Applies a style, and of the styles that it is based on what it leaves open. */
static void apply(const struct docx_styles *s, char *id, struct docx_paragraph *p)
{
    const struct style *style = id ? map_get(&s->styles, str_of(id)) : NULL;
    const char *list = NULL;
    if (id && !style)
        p->heading = heading_of(str_of(id));
    for (int i = 0; style && i < BASED_MAX; i++) {
        if (p->heading == 0)
            p->heading = style->paragraph.heading;
        if (!p->level)
            p->level = style->paragraph.level;
        list = list ? list : style->list;
        p->item = p->item || style->paragraph.item;
        style = style->based ? map_get(&s->styles, str_of(style->based)) : NULL;
    }
    set_list(s, p, list);
}

void docx_styles_take(struct docx_styles *s, const struct xml *x,
                      struct docx_paragraph *p)
{
    struct arena_mark mark = arena_mark(&s->memory);
    p->past = p->past || xml_is(x, "pPrChange");
    if (p->past || take_common(p, x))
        return;
    if (xml_is(x, "pStyle"))
        apply(s, id_of(s, x, "val"), p);
    else if (xml_is(x, "numId"))
        set_list(s, p, id_of(s, x, "val"));
    else if (xml_is(x, "del") || xml_is(x, "moveFrom")) /* its end is gone */
        p->item = false;
    arena_back(&s->memory, mark);
}

/* ---- lists ---- */

static struct items *add_list(struct docx_styles *s, struct map *to, const struct xml *x,
                              const char *attr)
{
    char *id = id_of(s, x, attr);
    struct items *l = id ? arena_get(&s->memory, sizeof(*l)) : NULL;
    if (l)
        map_put(to, str_of(id), l);
    return l;
}

/* Reads a level of a kind of list, or of a list that differs from its kind. */
static void take_level(struct docx_styles *s, struct items *l, int level,
                       const struct xml *x)
{
    /* What other formats show is not English digits only. */
    static const char formats[] =
        "\1bullet\2-\1none\2_\1ordinal\2o\1lowerLetter\2a\1upperLetter\2A"
        "\1lowerRoman\2i\1upperRoman\2I\1decimalZero\0020\1";
    struct items_level *v = &l->levels[level];
    struct buf format = BUF_INIT(ID_MAX);
    int n = number_in(x, "val", COUNT_MAX);
    if (xml_is(x, "numFmt") && xml_attr(x, "val", &format)) {
        v->format = *docread_word(formats, buf_str(&format));
        v->format = v->format ? v->format : '1';
    } else if (xml_is(x, "lvlText")) {
        v->text = id_of(s, x, "val");
    } else if (xml_is(x, "lvlRestart")) {
        v->after = (char)(number_in(x, "val", LIST_LEVELS) + 1);
    } else if (xml_is(x, "isLgl")) {
        v->legal = true;
    } else if (xml_is(x, "numStyleLink")) {
        l->link = id_of(s, x, "val");
    } else if (n >= 0 && (xml_is(x, "start") || xml_is(x, "startOverride"))) {
        v->start = n;
        v->again = x->name.n > 5; /* where the list is first used */
    }
    buf_release(&format);
}

static void take_kind(struct docx_styles *s, struct items *l, const struct xml *x)
{
    char *id = id_of(s, x, "val");
    struct items *kind = id ? map_get(&s->kinds, str_of(id)) : NULL;
    if (kind) {
        *l = *kind;
        l->counted = kind;
    }
}

static void read_lists(struct docx_styles *s, struct str part)
{
    struct xml x = XML_INIT(part);
    struct items *l = NULL;
    int level = 0;
    while (xml_open(&x)) {
        if (xml_is(&x, "abstractNum"))
            l = add_list(s, &s->kinds, &x, "abstractNumId");
        else if (xml_is(&x, "num"))
            l = add_list(s, &s->lists, &x, "numId");
        else if (l && xml_is(&x, "abstractNumId"))
            take_kind(s, l, &x);
        else if (xml_is(&x, "lvl") || xml_is(&x, "lvlOverride"))
            level = number_in(&x, "ilvl", LIST_LEVELS - 1);
        else if (l && level >= 0)
            take_level(s, l, level, &x);
    }
}

/* ---- links ---- */

static void read_links(struct docx_styles *s, struct str rels)
{
    struct xml x = XML_INIT(rels);
    struct buf type = BUF_INIT(ID_MAX);
    while (xml_open(&x)) {
        buf_reset(&type);
        if (!xml_is(&x, "Relationship") || !xml_attr(&x, "Type", &type) ||
            !str_ends(buf_str(&type), STR("/hyperlink")))
            continue;
        char *id = id_of(s, &x, "Id"), *target = text_of(s, &x, "Target", URL_MAX);
        if (id && target)
            map_put(&s->links, str_of(id), target);
    }
    buf_release(&type);
}

const char *docx_styles_link(struct docx_styles *s, const struct xml *x)
{
    struct buf id = BUF_INIT(ID_MAX);
    const char *target = NULL;
    if (xml_attr_prefixed(x, "id", &id))
        target = map_get(&s->links, buf_str(&id));
    buf_release(&id);
    return target;
}

/* ---- all ---- */

void docx_styles_init(struct docx_styles *s)
{
    arena_init(&s->memory, MEMORY);
    map_init(&s->styles);
    map_init(&s->kinds);
    map_init(&s->lists);
    map_init(&s->links);
}

void docx_styles_release(struct docx_styles *s)
{
    map_release(&s->styles);
    map_release(&s->kinds);
    map_release(&s->lists);
    map_release(&s->links);
    arena_release(&s->memory);
}

void docx_styles_read(struct docx_styles *s, struct package *p, struct str name,
                      struct str rels)
{
    struct buf part = BUF_INIT(PACKAGE_PART_MAX);
    read_links(s, rels);
    if (package_follow(p, rels, name, STR(""), "/numbering", &part))
        read_lists(s, buf_str(&part));
    if (package_follow(p, rels, name, STR(""), "/styles", &part))
        read_styles(s, buf_str(&part));
    buf_release(&part);
}
