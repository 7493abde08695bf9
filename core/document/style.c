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
    int heading; /* as in struct docx_look */
    bool item;
    int level;
    char *list, *based; /* ids, or NULL */
};

struct docx_list {
    bool ordered[LIST_LEVELS];
    int start[LIST_LEVELS], count[LIST_LEVELS];
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
    char *copy = xml_attr(x, attr, &id) ? arena_get(&s->memory, id.n + 1) : NULL;
    if (copy)
        memcpy(copy, buf_z(&id), id.n);
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
    style->heading = heading_of(str_of(id));
    map_put(&s->styles, str_of(id), style);
    return style;
}

static void take_property(struct docx_styles *s, struct style *style, const struct xml *x)
{
    char *name;
    if (xml_is(x, "name") && (name = id_of(s, x, "val")) != NULL && !style->heading)
        style->heading = heading_of(str_of(name));
    else if (xml_is(x, "basedOn"))
        style->based = id_of(s, x, "val");
    else if (xml_is(x, "outlineLvl"))
        style->heading = outline_of(x);
    else if (xml_is(x, "numPr"))
        style->item = true;
    else if (xml_is(x, "numId"))
        style->list = id_of(s, x, "val");
    else if (xml_is(x, "ilvl"))
        style->level = number_in(x, "val", LIST_LEVELS - 1);
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

static struct docx_list *list_of(const struct docx_styles *s, const char *id)
{
    return id ? map_get(&s->lists, str_of(id)) : NULL;
}

static void set_list(const struct docx_styles *s, struct docx_look *look, const char *id)
{
    look->list = list_of(s, id);
    if (id && str_eq(str_of(id), STR("0"))) /* 17.9.18: not in the style's list */
        look->item = false;
}

/* Applies a style, and of the styles that it is based on what it leaves open. */
static void apply(const struct docx_styles *s, char *id, struct docx_look *look)
{
    const struct style *style = id ? map_get(&s->styles, str_of(id)) : NULL;
    if (id && !style)
        look->heading = heading_of(str_of(id));
    for (int i = 0; style && i < BASED_MAX; i++) {
        if (look->heading == 0)
            look->heading = style->heading;
        if (!look->item && style->item) {
            look->item = true;
            look->level = style->level > 0 ? style->level : 0;
            set_list(s, look, style->list);
        }
        style = style->based ? map_get(&s->styles, str_of(style->based)) : NULL;
    }
}

void docx_styles_look(struct docx_styles *s, const struct xml *x, struct docx_look *look)
{
    struct arena_mark mark = arena_mark(&s->memory);
    int level;
    look->past = look->past || xml_is(x, "pPrChange");
    if (look->past)
        return;
    if (xml_is(x, "pStyle"))
        apply(s, id_of(s, x, "val"), look);
    else if (xml_is(x, "outlineLvl"))
        look->heading = outline_of(x);
    else if (xml_is(x, "numPr"))
        look->item = true;
    else if (xml_is(x, "numId"))
        set_list(s, look, id_of(s, x, "val"));
    else if (xml_is(x, "ilvl") && (level = number_in(x, "val", LIST_LEVELS - 1)) >= 0)
        look->level = level;
    arena_back(&s->memory, mark);
}

/* ---- lists ---- */

static struct docx_list *add_list(struct docx_styles *s, struct map *to,
                                  const struct xml *x, const char *attr)
{
    char *id = id_of(s, x, attr);
    struct docx_list *l = id ? arena_get(&s->memory, sizeof(*l)) : NULL;
    if (l)
        map_put(to, str_of(id), l);
    return l;
}

/* Reads a level of a kind of list, or of a list that differs from its kind. */
static void take_level(struct docx_list *l, int level, const struct xml *x)
{
    struct buf format = BUF_INIT(ID_MAX);
    int start = number_in(x, "val", COUNT_MAX);
    if (xml_is(x, "numFmt") && xml_attr(x, "val", &format))
        l->ordered[level] = !str_eq(buf_str(&format), STR("bullet")) &&
                            !str_eq(buf_str(&format), STR("none"));
    else if ((xml_is(x, "start") || xml_is(x, "startOverride")) && start >= 0)
        l->start[level] = start;
    buf_release(&format);
}

static void take_kind(struct docx_styles *s, struct docx_list *l, const struct xml *x)
{
    char *id = id_of(s, x, "val");
    const struct docx_list *kind = id ? map_get(&s->kinds, str_of(id)) : NULL;
    if (kind)
        *l = *kind;
}

static void read_lists(struct docx_styles *s, struct str part)
{
    struct xml x = XML_INIT(part);
    struct docx_list *l = NULL;
    int level = 0;
    enum xml_kind k;
    while ((k = xml_next(&x)) != XML_END && k != XML_BAD) {
        if (k != XML_OPEN)
            continue;
        if (xml_is(&x, "abstractNum"))
            l = add_list(s, &s->kinds, &x, "abstractNumId");
        else if (xml_is(&x, "num"))
            l = add_list(s, &s->lists, &x, "numId");
        else if (l && xml_is(&x, "abstractNumId"))
            take_kind(s, l, &x);
        else if (xml_is(&x, "lvl") || xml_is(&x, "lvlOverride"))
            level = number_in(&x, "ilvl", LIST_LEVELS - 1);
        else if (l && level >= 0)
            take_level(l, level, &x);
    }
}

int docx_list_next(struct docx_list *l, int level)
{
    if (!l)
        return 0;
    int n = l->start[level] + l->count[level]++;
    for (int below = level + 1; below < LIST_LEVELS; below++)
        l->count[below] = 0;
    return l->ordered[level] ? n : 0;
}

/* ---- links ---- */

static void read_links(struct docx_styles *s, struct str rels)
{
    struct xml x = XML_INIT(rels);
    struct buf type = BUF_INIT(ID_MAX);
    enum xml_kind k;
    while ((k = xml_next(&x)) != XML_END && k != XML_BAD) {
        buf_reset(&type);
        if (k != XML_OPEN || !xml_is(&x, "Relationship") ||
            !xml_attr(&x, "Type", &type) || !str_ends(buf_str(&type), STR("/hyperlink")))
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
    struct buf target = BUF_INIT(4096), part = BUF_INIT(PACKAGE_PART_MAX);
    struct err none = ERR_INIT;
    read_links(s, rels);
    if (package_target(rels, name, STR(""), "/numbering", &target) &&
        package_read(p, buf_str(&target), &part, &none) == 0)
        read_lists(s, buf_str(&part));
    if (package_target(rels, name, STR(""), "/styles", &target) &&
        package_read(p, buf_str(&target), &part, &none) == 0)
        read_styles(s, buf_str(&part));
    buf_release(&target);
    buf_release(&part);
}
