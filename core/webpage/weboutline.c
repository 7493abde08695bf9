/* SPDX-License-Identifier: MIT */
/*
 * Makes the outline from the page's Markdown: each line becomes a line, in which
 * `[text][3]` and `[4: textbox 'Name']` are items and the rest is text.
 */
#include "webpage/weboutline.h"

#include "base/map.h"
#include "webpage/webtext_own.h"

enum { OPTIONS_SHOWN = 12, LINE_BYTES = 1 << 20 };

struct making {
    struct outline *o;
    struct map items; /* bid → item */
    unsigned base, line;
    struct buf text; /* text that is not yet added */
    size_t link;     /* offset in it of a link's text */
};

/* Returns the digits at i; sets *end after them. */
static struct str number_at(struct str s, size_t i, size_t *end)
{
    size_t n = i;
    while (n < s.n && s.p[n] >= '0' && s.p[n] <= '9')
        n++;
    *end = n;
    return str_sub(s, i, n - i);
}

/*
 * Returns the number of `][3]` at i, and sets *end after it; empty if it is anything
 * else.
 */
static struct str link_at(struct str s, size_t i, size_t *end)
{
    if (s.p[i] != ']' || i + 1 >= s.n || s.p[i + 1] != '[')
        return STR("");
    struct str bid = number_at(s, i + 2, end);
    if (!bid.n || *end >= s.n || s.p[*end] != ']')
        return STR("");
    ++*end;
    return bid;
}

/* The same for `[4: textbox 'Name' value='a]b']`. */
static struct str field_at(struct str s, size_t i, size_t *end)
{
    bool quoted = false;
    if (s.p[i] != '[')
        return STR("");
    struct str bid = number_at(s, i + 1, end);
    if (!bid.n || *end + 1 >= s.n || s.p[*end] != ':' || s.p[*end + 1] != ' ')
        return STR("");
    for (size_t k = *end; k < s.n; k++) {
        bool mark = s.p[k] == '\'' && s.p[k - 1] != '\\';
        if (mark && !quoted)
            quoted = s.p[k - 1] == ' ' || s.p[k - 1] == '=';
        else if (mark)
            quoted = !(k + 1 == s.n || strchr(" ],(", s.p[k + 1]));
        if (s.p[k] == ']' && !quoted) {
            *end = k + 1;
            return bid;
        }
    }
    return STR("");
}

static unsigned ref_of(unsigned base, struct str bid)
{
    uint64_t n = 0;
    return str_to_u64(bid, &n) == 0 && n < 1u << 30 ? base + (unsigned)n : 0;
}

static void flush(struct making *m)
{
    struct outline_put p = {
        .line = m->line, .role = STR("text"), .name = buf_str(&m->text)};
    if (str_trim(p.name).n)
        outline_add(m->o, &p);
    buf_reset(&m->text);
    m->link = 0;
}

static void put_options(const struct json *item, struct buf *rest)
{
    int n = 0;
    for (const struct json *o = json_first(json_get(item, "options")); o;
         o = json_next(o)) {
        if (json_bool(o, "selected", false)) {
            buf_addz(rest, " = ");
            outline_quote(rest, json_str(o, "label", ""));
        }
    }
    for (const struct json *o = json_first(json_get(item, "options")); o;
         o = json_next(o)) {
        if (n++ >= OPTIONS_SHOWN)
            continue;
        buf_addz(rest, n == 1 ? " of " : ", ");
        outline_quote(rest, json_str(o, "label", ""));
    }
    if (n > OPTIONS_SHOWN)
        buf_addf(rest, " and %d more", n - OPTIONS_SHOWN);
}

static void put_rest(const struct json *item, struct buf *rest)
{
    struct str role = json_str(item, "role", "");
    bool box = str_eq(role, STR("checkbox")) || str_eq(role, STR("radio"));
    bool button = str_eq(role, STR("button"));
    if (json_has(item, "options")) {
        put_options(item, rest);
    } else if (box) {
        buf_addz(rest, json_bool(item, "checked", false) ? " checked" : " unchecked");
    } else if (json_has(item, "field") && !button) {
        bool secret = webpage_is_word(json_str(item, "type", ""), "password");
        struct str value = json_str(item, "value", "");
        if (value.n) {
            buf_addz(rest, " = ");
            outline_quote(rest, secret ? STR("****") : value);
        }
    }
    if (json_bool(item, "disabled", false))
        buf_addz(rest, " disabled");
}

static void add_item(struct making *m, struct str bid)
{
    const struct json *item = map_get(&m->items, bid);
    struct buf rest = BUF_INIT(4 * OUTLINE_NAME_MAX);
    if (!item)
        return;
    put_rest(item, &rest);
    struct outline_put p = {.ref = ref_of(m->base, bid),
                            .line = m->line,
                            .role = json_str(item, "role", ""),
                            .name = json_str(item, "name", ""),
                            .rest = buf_str(&rest)};
    p.key = p.ref;
    outline_add(m->o, &p);
    buf_release(&rest);
}

/* Returns line without the marks of quotes, lists and rules. */
static struct str without_marks(struct str line)
{
    for (;;) {
        line = str_trim(line);
        size_t n;
        struct str number = number_at(line, 0, &n);
        if (str_starts(line, STR("> ")) || str_starts(line, STR("- ")) ||
            str_starts(line, STR("* ")) || str_starts(line, STR("| ")))
            line = str_sub(line, 2, line.n);
        else if (number.n && str_starts(str_sub(line, n, line.n), STR(". ")))
            line = str_sub(line, n + 2, line.n);
        else
            break;
    }
    size_t i = 0;
    while (i < line.n && strchr("-|:=*_` ", line.p[i]))
        i++;
    return i == line.n ? STR("") : line;
}

static void put_line(struct making *m, struct str line)
{
    size_t marks = 0, end;
    line = without_marks(line);
    while (marks < line.n && line.p[marks] == '#')
        marks++;
    bool heading = marks > 0 && marks < line.n && line.p[marks] == ' ';
    line = heading ? str_sub(line, marks + 1, line.n) : line;
    m->line++;
    for (size_t i = 0; i < line.n; i = end) {
        struct str bid = link_at(line, i, &end);
        if (bid.n && map_get(&m->items, bid)) {
            buf_truncate(&m->text, m->link ? m->link - 1 : 0);
            flush(m);
            add_item(m, bid);
            continue;
        }
        bid = field_at(line, i, &end);
        if (bid.n && map_get(&m->items, bid)) {
            flush(m);
            add_item(m, bid);
            continue;
        }
        end = i + 1;
        bool strong = line.p[i] == '*' && end < line.n && line.p[end] == '*';
        if (line.p[i] == '[')
            m->link = m->text.n + 1;
        if (strong)
            end++;
        else if (line.p[i] == '|')
            flush(m);
        else if (line.p[i] != '\\')
            buf_addc(&m->text, line.p[i]);
    }
    if (heading && str_trim(buf_str(&m->text)).n) {
        struct outline_put p = {
            .line = m->line, .role = STR("heading"), .name = buf_str(&m->text)};
        outline_add(m->o, &p);
        buf_reset(&m->text);
    }
    flush(m);
}

void weboutline_make(const struct webtext *w, unsigned base, struct outline *o)
{
    struct making m = {.o = o, .base = base};
    const struct webpage *page = &w->tab->page;
    map_init(&m.items);
    buf_init(&m.text, LINE_BYTES);
    for (struct json *i = json_first(page->items); i; i = json_next(i)) {
        if (json_str(i, "bid", "").n)
            map_put(&m.items, json_str(i, "bid", ""), i);
    }
    for (struct str rest = buf_str(&page->text); rest.n > 0;)
        put_line(&m, str_cut(&rest, '\n'));
    map_release(&m.items);
    buf_release(&m.text);
}

int weboutline_text(const struct webtext *w, unsigned base, struct buf *out)
{
    struct buf page = BUF_INIT(WEBPAGE_TEXT_MAX + (1 << 20));
    int rc = webtext_observe(w, &page);
    struct str s = buf_str(&page);
    for (size_t i = 0, end; rc == 0 && i < s.n; i = end) {
        struct str bid = link_at(s, i, &end);
        if (bid.n) {
            rc = buf_addf(out, "][e%u]", ref_of(base, bid));
            continue;
        }
        struct str name = s.p[i] == '[' ? number_at(s, i + 1, &end) : STR("");
        if (name.n && end + 1 < s.n && s.p[end] == ':' && s.p[end + 1] == ' ') {
            rc = buf_addf(out, "[e%u", ref_of(base, name));
            continue;
        }
        end = i + 1;
        rc = buf_addc(out, s.p[i]);
    }
    buf_release(&page);
    return rc;
}
