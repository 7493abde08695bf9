/* SPDX-License-Identifier: MIT */
/*
 * The matching of match.h: lines are compared one by one, with a limit on compared bytes.
 */
#include "edit/match.h"

#include "base/utf8.h"
#include "base/xalloc.h"
#include "edit/edit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

const char *match_name(enum match_how how)
{
    static const char *const names[] = {"exact", "eol", "numbers", "trailing", "indent"};
    return names[how];
}

/* ---- lines ---- */

static bool is_blank(char c) { return c == ' ' || c == '\t'; }

static struct str without_end(struct str s)
{
    while (s.n > 0 && is_blank(s.p[s.n - 1]))
        s.n--;
    return s;
}

/* Returns the blanks at the beginning of s. */
static struct str run_of(struct str s)
{
    size_t n = 0;
    while (n < s.n && is_blank(s.p[n]))
        n++;
    return str_n(s.p, n);
}

static struct str without_run(struct str s) { return str_sub(s, run_of(s).n, s.n); }

/* The lines of a text; a newline at its end does not begin another one. */
struct match_lines {
    struct str *of; /* owned; borrows the text */
    size_t n;
    bool ended; /* by a newline */
};

static bool take_lines(struct str text, struct match_lines *l)
{
    size_t n = (size_t)edit_count_lines(text);
    *l = (struct match_lines){.n = n, .ended = text.n > 0 && text.p[text.n - 1] == '\n'};
    if (n == 0 || n > MATCH_LINES_MAX)
        return false;
    l->of = xcalloc(n, sizeof(*l->of));
    for (size_t i = 0; i < n; i++)
        l->of[i] = str_cut(&text, '\n');
    return true;
}

/* Walks a text line by line, with the offset of each. */
struct line_walk {
    struct str text;
    size_t at;       /* the next line's first byte */
    uint64_t *steps; /* that are still allowed */
};

static bool next_line(struct line_walk *w, struct str *line)
{
    if (w->at >= w->text.n)
        return false;
    const char *nl = memchr(w->text.p + w->at, '\n', w->text.n - w->at);
    size_t end = nl ? (size_t)(nl - w->text.p) : w->text.n;
    *line = str_n(w->text.p + w->at, end - w->at);
    w->at = end + 1;
    return true;
}

static bool spend(uint64_t *steps, size_t n)
{
    n++;
    bool left = *steps >= n;
    *steps = left ? *steps - n : 0;
    return left;
}

/* ---- line numbers ---- */

/*
 * Returns the length of a line number as of `view` and `cat -n`: blanks, digits and a
 * tab; 0 if there is none.
 */
static size_t number_of(struct str line)
{
    size_t i = run_of(line).n, first = i;
    while (i < line.n && isdigit((unsigned char)line.p[i]))
        i++;
    return i > first && i < line.n && line.p[i] == '\t' ? i + 1 : 0;
}

/* all: only if every line has one, and the first is not part of the text. */
static bool strip_numbers(struct str text, bool all, struct buf *out)
{
    bool ended = text.n > 0 && text.p[text.n - 1] == '\n';
    for (struct str rest = text; all && rest.n > 0;)
        if (!number_of(str_cut(&rest, '\n')))
            return false;
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        buf_adds(out, str_sub(line, number_of(line), line.n));
        if (text.n > 0 || ended)
            buf_addc(out, '\n');
    }
    return !buf_full(out) && out->n > 0;
}

/* ---- one place ---- */

static bool find_once(struct str text, struct str wanted, size_t *at)
{
    long first = wanted.n > 0 ? str_find(text, wanted) : -1;
    if (first < 0)
        return false;
    *at = (size_t)first;
    struct str rest = str_sub(text, *at + 1, text.n);
    return str_find(rest, wanted) < 0;
}

/* How lines are compared, and where the place begins in the first one. */
struct match_comparing {
    struct str text;
    const struct match_lines *old;
    bool indent; /* ignore blanks at both ends; else only those at the end */
    uint64_t steps;
};

/*
 * Whether line i of the old text fits this line; *from and *to are its place in the line.
 */
static bool fits(struct match_comparing *c, struct str line, size_t i, size_t *from,
                 size_t *to)
{
    struct str want = without_end(c->old->of[i]), here = without_end(line);
    bool first = i == 0, last = i + 1 == c->old->n && !c->old->ended;
    if (!spend(&c->steps, here.n))
        return false;
    *from = 0;
    *to = line.n;
    if (c->indent)
        return str_eq(without_run(here), without_run(want));
    if (first && want.n > 0 && want.n <= here.n && str_ends(here, want)) {
        *from = here.n - want.n;
        return true;
    }
    if (last && want.n > 0 && want.n < here.n && !first && str_starts(here, want)) {
        *to = want.n;
        return true;
    }
    return str_eq(here, want);
}

/* Whether the place begins with the line at `at`. */
static bool fits_at(struct match_comparing *c, size_t at, size_t *from, size_t *to)
{
    struct line_walk w = {c->text, at, &c->steps};
    struct str line;
    for (size_t i = 0; i < c->old->n; i++) {
        size_t a, b, start = w.at;
        if (!next_line(&w, &line) || !fits(c, line, i, &a, &b))
            return false;
        if (i == 0)
            *from = start + a;
        *to = start + b;
    }
    if (c->old->ended)
        *to = w.at < c->text.n ? w.at : c->text.n;
    return true;
}

static bool find_lines(struct match_comparing *c, size_t *from, size_t *to)
{
    struct line_walk w = {c->text, 0, &c->steps};
    struct str line;
    size_t a = 0, b = 0, places = 0;
    for (size_t at = 0; places < 2 && next_line(&w, &line); at = w.at) {
        if (!fits_at(c, at, &a, &b))
            continue;
        *from = places ? *from : a;
        *to = places ? *to : b;
        places++;
    }
    return places == 1 && c->steps > 0;
}

/* ---- indentation ---- */

enum match_rule { RULE_NONE, RULE_MORE, RULE_LESS, RULE_TABS, RULE_SPACES };

struct pair {
    struct str old, here;
};

/* Maps leading blanks of the old text to those in the file. */
struct mapping {
    struct pair *of; /* owned: each run of the old text once */
    size_t n;
    enum match_rule rule;
    struct str shift; /* MORE: is added, LESS: is removed */
    size_t unit;      /* spaces for a tab */
};

static bool only(struct str s, char c) { return str_count(s, c) == s.n; }

/* Returns false if the same run is two different ones in the file. */
static bool add_pair(struct mapping *m, struct str old, struct str here)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->of[i].old, old))
            return str_eq(m->of[i].here, here);
    m->of[m->n++] = (struct pair){old, here};
    return true;
}

/* Whether all lines of one side are those of the other with the same blanks in front. */
static bool is_shift(const struct mapping *m, bool more, struct str *shift)
{
    for (size_t i = 0; i < m->n; i++) {
        struct str a = more ? m->of[i].here : m->of[i].old;
        struct str b = more ? m->of[i].old : m->of[i].here;
        if (!str_ends(a, b))
            return false;
        struct str s = str_n(a.p, a.n - b.n);
        if (i > 0 && !str_eq(s, *shift))
            return false;
        *shift = s;
    }
    return m->n > 0;
}

/*
 * Returns how many spaces of one text are a tab of the other, on all lines; 0 if that
 * differs.
 */
static size_t unit_of(const struct mapping *m, bool here)
{
    size_t unit = 0;
    for (size_t i = 0; i < m->n; i++) {
        struct str tabs = here ? m->of[i].here : m->of[i].old;
        struct str spaces = here ? m->of[i].old : m->of[i].here;
        if (!only(tabs, '\t') || !only(spaces, ' ') || (tabs.n == 0) != (spaces.n == 0))
            return 0;
        if (tabs.n == 0)
            continue;
        size_t one = spaces.n / tabs.n;
        if (one * tabs.n != spaces.n || (unit && one != unit))
            return 0;
        unit = one;
    }
    return unit;
}

static void find_rule(struct mapping *m)
{
    m->unit = unit_of(m, true);
    m->rule = m->unit ? RULE_TABS : RULE_NONE;
    if (m->rule == RULE_NONE && (m->unit = unit_of(m, false)))
        m->rule = RULE_SPACES;
    if (m->rule == RULE_NONE && is_shift(m, true, &m->shift))
        m->rule = RULE_MORE;
    else if (m->rule == RULE_NONE && is_shift(m, false, &m->shift))
        m->rule = RULE_LESS;
}

static void add_many(struct buf *out, char c, size_t n)
{
    while (n-- > 0 && buf_addc(out, c) == 0)
        continue;
}

/*
 * Returns the leading blanks of a new line in the file's form. Returns false if that is
 * not known.
 */
static bool map_run(const struct mapping *m, struct str run, struct buf *out)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->of[i].old, run))
            return buf_adds(out, m->of[i].here) == 0;
    switch (m->rule) {
    case RULE_MORE:
        buf_adds(out, m->shift);
        return buf_adds(out, run) == 0;
    case RULE_LESS:
        return str_starts(run, m->shift) &&
               buf_adds(out, str_sub(run, m->shift.n, run.n)) == 0;
    case RULE_TABS:
        if (only(run, '\t')) /* already in the file's form */
            return buf_adds(out, run) == 0;
        add_many(out, '\t', run.n / m->unit);
        add_many(out, ' ', run.n % m->unit);
        return only(run, ' ');
    case RULE_SPACES:
        if (only(run, ' '))
            return buf_adds(out, run) == 0;
        add_many(out, ' ', run.n * m->unit);
        return only(run, '\t');
    case RULE_NONE:
        break;
    }
    return false;
}

static bool map_text(const struct mapping *m, struct str new, struct buf *out)
{
    while (new.n > 0) {
        long nl = str_chr(new, '\n');
        struct str line = str_sub(new, 0, nl < 0 ? new.n : (size_t)nl);
        new = str_sub(new, nl < 0 ? new.n : (size_t)nl + 1, new.n);
        struct str run = run_of(line);
        if (run.n < line.n && !map_run(m, run, out))
            return false;
        buf_adds(out, run.n < line.n ? str_sub(line, run.n, line.n) : line);
        if (nl >= 0)
            buf_addc(out, '\n');
    }
    return !buf_full(out);
}

static void name_rule(const struct mapping *m, char words[MATCH_WORDS])
{
    const char *what = only(m->shift, '\t')  ? "tab"
                       : only(m->shift, ' ') ? "space"
                                             : "blank";
    if (m->rule == RULE_TABS || m->rule == RULE_SPACES)
        snprintf(words, MATCH_WORDS, "%s put for %s in both strings",
                 m->rule == RULE_TABS ? "tabs" : "spaces",
                 m->rule == RULE_TABS ? "spaces" : "tabs");
    else if (m->rule == RULE_NONE)
        snprintf(words, MATCH_WORDS, "the file's indentation put in both strings");
    else
        snprintf(words, MATCH_WORDS, "%zu %s%s %s each line of both strings", m->shift.n,
                 what, m->shift.n == 1 ? "" : "s",
                 m->rule == RULE_MORE ? "put before" : "taken off");
}

static bool bend_indent(struct match_comparing *c, struct str new, struct match_bent *out)
{
    struct mapping m = {.of = xcalloc(c->old->n, sizeof(*m.of))};
    bool good = find_lines(c, &out->from, &out->to);
    struct line_walk w = {c->text, good ? out->from : c->text.n, &c->steps};
    struct str line;
    for (size_t i = 0; good && i < c->old->n && next_line(&w, &line); i++) {
        struct str old = without_end(c->old->of[i]);
        if (old.n > run_of(old).n)
            good = add_pair(&m, run_of(old), run_of(line));
    }
    find_rule(&m);
    good = good && m.n > 0 && map_text(&m, new, &out->text);
    if (good)
        name_rule(&m, out->words);
    free(m.of);
    return good;
}

/* ---- all forms ---- */

static bool bend_lines(struct str text, struct str old, struct str new, bool indent,
                       struct match_bent *out)
{
    struct match_lines l;
    bool good = false;
    if (take_lines(old, &l)) {
        struct match_comparing c = {text, &l, indent, MATCH_STEPS};
        buf_reset(&out->text);
        if (indent)
            good = bend_indent(&c, new, out);
        else
            good = find_lines(&c, &out->from, &out->to) && buf_adds(&out->text, new) == 0;
    }
    free(l.of);
    out->how = indent ? MATCH_INDENT : MATCH_TRAILING;
    if (good && !indent)
        snprintf(out->words, sizeof(out->words), "blanks at line ends not compared");
    return good;
}

bool match_bend(struct str text, struct str old, struct str new, size_t max,
                struct match_bent *out)
{
    struct buf bare = BUF_INIT(max), fresh = BUF_INIT(max);
    char words[MATCH_WORDS];
    bool good = false, numbers = strip_numbers(old, true, &bare);
    *out = (struct match_bent){.text = BUF_INIT(max)};
    if (edit_strip(old).n == 0)
        return false;
    if (numbers) {
        strip_numbers(new, false, &fresh);
        old = buf_str(&bare);
        new = str_n(buf_z(&fresh), fresh.n);
        out->how = MATCH_NUMBERS;
        good = find_once(text, old, &out->from) && buf_adds(&out->text, new) == 0;
        out->to = out->from + old.n;
    }
    for (int indent = 0; !good && indent < 2; indent++)
        good = bend_lines(text, old, new, indent, out);
    if (good && numbers) {
        memcpy(words, out->words, sizeof(words));
        snprintf(out->words, sizeof(out->words), "line numbers taken off%s%.100s",
                 words[0] ? "; " : "", words);
    }
    buf_release(&bare);
    buf_release(&fresh);
    if (!good)
        buf_release(&out->text);
    return good;
}

/* ---- the nearest lines ---- */

enum { PAIRS = 512, LINES_LOOKED_AT = 64, SHOWN_LINES = 12, SHOWN_BYTES = 300 };

/* The number of times that each pair of bytes occurs in a line without outer blanks. */
struct profile {
    uint16_t of[PAIRS];
    size_t n;
};

static unsigned pair_at(struct str s, size_t i)
{
    return ((unsigned)(unsigned char)s.p[i] * 31 + (unsigned char)s.p[i + 1]) % PAIRS;
}

static void make_profile(struct str s, struct profile *p)
{
    *p = (struct profile){.n = s.n ? s.n - 1 : 0};
    for (size_t i = 0; i + 1 < s.n; i++)
        if (p->of[pair_at(s, i)] < UINT16_MAX)
            p->of[pair_at(s, i)]++;
}

/* Returns how many pairs of both lines are shared, in thousandths. */
static unsigned likeness(const struct profile *want, struct str s)
{
    struct profile left = *want;
    size_t shared = 0, n = s.n ? s.n - 1 : 0;
    for (size_t i = 0; i < n; i++) {
        uint16_t *one = &left.of[pair_at(s, i)];
        shared += *one > 0;
        *one -= *one > 0;
    }
    return want->n + n ? (unsigned)(2000 * shared / (want->n + n)) : 0;
}

static struct str core_of(struct str s) { return without_run(without_end(s)); }

/* Returns how many of old's lines, from the first on, equal the lines from `at` on. */
static unsigned equal_lines(const struct match_lines *old, struct str text, size_t at,
                            uint64_t *steps)
{
    struct line_walk w = {text, at, steps};
    struct str line;
    unsigned equal = 0;
    for (size_t i = 0; i < old->n && i < LINES_LOOKED_AT && next_line(&w, &line); i++) {
        struct str want = core_of(old->of[i]);
        if (!spend(steps, 0))
            return equal;
        equal += want.n > 0 && str_eq(want, core_of(line));
    }
    return equal;
}

/* Returns the most distinctive line of old: the longest of its first ones. */
static size_t telling_line(const struct match_lines *old)
{
    size_t best = 0;
    for (size_t i = 1; i < old->n && i < LINES_LOOKED_AT; i++)
        if (core_of(old->of[i]).n > core_of(old->of[best]).n)
            best = i;
    return best;
}

/*
 * Finds the nearest line by equal lines; else by similarity to the most distinctive line.
 * Returns 0 if there is none.
 */
static int64_t nearest_line(struct str text, const struct match_lines *old)
{
    enum { LIKE_ENOUGH = 300 };
    uint64_t steps = MATCH_STEPS;
    size_t tell = telling_line(old);
    struct profile want;
    struct line_walk w = {text, 0, &steps};
    struct str line;
    unsigned best = 0, best_like = LIKE_ENOUGH;
    int64_t found = 0, like = 0, number = 1;
    make_profile(core_of(old->of[tell]), &want);
    for (size_t at = 0; steps > 0 && next_line(&w, &line); at = w.at, number++) {
        struct str core = core_of(line);
        unsigned equal = old->n > 1 ? equal_lines(old, text, at, &steps) : 0;
        if (equal > best) {
            best = equal;
            found = number;
        }
        if (best > 0 || core.n > 4 * (want.n + 8) || !spend(&steps, core.n + PAIRS / 8))
            continue;
        unsigned score = likeness(&want, core);
        if (score > best_like) {
            best_like = score;
            like = number;
        }
    }
    if (found)
        return found;
    return like > (int64_t)tell ? like - (int64_t)tell : like > 0 ? 1 : 0;
}

static size_t same_bytes(struct str a, struct str b)
{
    size_t n = 0;
    while (n < a.n && n < b.n && a.p[n] == b.p[n])
        n++;
    return utf8_cut(a, n);
}

/*
 * Whether line i of the old text differs from the file; form: blanks at its ends count.
 */
static bool differs(struct str text, const struct match_lines *l, size_t i, bool form,
                    struct match_near *out)
{
    out->at = out->line + (int64_t)i;
    out->here = edit_lines(text, out->at, out->at);
    out->here.n -= out->here.n > 0 && out->here.p[out->here.n - 1] == '\n';
    out->there = l->of[i];
    size_t a = form ? 0 : run_of(out->here).n, b = form ? 0 : run_of(out->there).n;
    struct str here = str_sub(out->here, a, out->here.n);
    struct str there = str_sub(out->there, b, out->there.n);
    size_t same = same_bytes(here, there);
    bool part = i + 1 == l->n && !l->ended && same == there.n;
    out->here_at = a + same;
    out->there_at = b + same;
    return form ? !str_eq(here, there) && !part
                : !str_eq(without_end(here), without_end(there)) && !part;
}

bool match_nearest(struct str text, struct str old, struct match_near *out)
{
    struct match_lines l;
    bool found = false;
    *out = (struct match_near){0};
    if (take_lines(old, &l))
        out->line = nearest_line(text, &l);
    /* Words first: a difference in blanks alone would have been bent. */
    for (int form = 0; !found && out->line && form < 2; form++)
        for (size_t i = 0; !found && i < l.n; i++)
            found = differs(text, &l, i, form, out);
    free(l.of);
    return out->line > 0;
}

static void add_line(struct buf *out, int64_t number, struct str line)
{
    size_t n = line.n > SHOWN_BYTES ? utf8_cut(line, SHOWN_BYTES) : line.n;
    buf_addf(out, "%lld\t", (long long)number);
    utf8_repair(out, str_sub(line, 0, n), true);
    buf_addz(out, n < line.n ? "\xe2\x80\xa6\n" : "\n");
}

/* Appends the word around the place, or the blanks there as a count. */
static void add_word(struct buf *out, struct str line, size_t at)
{
    enum { WORD = 60 };
    size_t from = at, to = at;
    if (at >= line.n) {
        buf_addz(out, "end of line");
        return;
    }
    if (is_blank(line.p[at])) {
        bool tab = line.p[at] == '\t';
        while (to < line.n && line.p[to] == line.p[at])
            to++;
        buf_addf(out, "%zu %s%s", to - at, tab ? "tab" : "space", to - at > 1 ? "s" : "");
        return;
    }
    while (from > 0 && at - from < WORD &&
           (isalnum((unsigned char)line.p[from - 1]) || strchr("_.", line.p[from - 1])))
        from--;
    while (to < line.n && to - at < WORD &&
           (isalnum((unsigned char)line.p[to]) || line.p[to] == '_'))
        to++;
    if (to == at)
        to = at + 1;
    while (to < line.n && ((unsigned char)line.p[to] & 0xc0) == 0x80)
        to++;
    utf8_repair(out, str_sub(line, from, to - from), true);
}

void match_show(struct buf *out, struct str text, const struct match_near *n,
                const char *name)
{
    int64_t from = n->at - n->line < SHOWN_LINES ? n->line : n->at - SHOWN_LINES + 1;
    char number[24];
    for (int64_t i = from; i < n->at; i++) {
        struct str line = edit_lines(text, i, i);
        line.n -= line.n > 0 && line.p[line.n - 1] == '\n';
        add_line(out, i, line);
    }
    add_line(out, n->at, n->here);
    if (n->here_at > SHOWN_BYTES)
        return;
    /* Keeps the blanks of the line above, so that the mark stands below its place. */
    add_many(out, ' ',
             (size_t)snprintf(number, sizeof(number), "%lld", (long long)n->at));
    buf_addc(out, '\t');
    for (size_t i = 0; i < n->here_at; i++)
        if (((unsigned char)n->here.p[i] & 0xc0) != 0x80)
            buf_addc(out, n->here.p[i] == '\t' ? '\t' : ' ');
    buf_addz(out, "^ file: ");
    add_word(out, n->here, n->here_at);
    buf_addf(out, "   %s: ", name);
    add_word(out, n->there, n->there_at);
    buf_addc(out, '\n');
}
