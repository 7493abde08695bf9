/* SPDX-License-Identifier: MIT */
/*
 * The pattern's text to a tree, by recursive descent:
 *
 *   either: both { "|" both }     both: { repeat }     repeat: atom { quantifier }
 *
 * Unknown syntax ends the parse: nothing is guessed, and the matcher decides.
 */
#include "base/utf8.h"
#include "text/automaton_own.h"

struct pattern_parser {
    struct pattern_tree *t;
    struct str text;
    size_t at;
    int depth;
};

static int either(struct pattern_parser *p);

static bool more(const struct pattern_parser *p) { return p->at < p->text.n; }
static char peek(const struct pattern_parser *p)
{
    return more(p) ? p->text.p[p->at] : '\0';
}

static bool accept(struct pattern_parser *p, const char *z)
{
    struct str s = str_of(z);
    if (!str_starts(str_sub(p->text, p->at, p->text.n), s))
        return false;
    p->at += s.n;
    return true;
}

/* ---- nodes: -1 is passed on, so that a chain of calls needs one check ---- */

static int node(struct pattern_parser *p, struct tree_node n)
{
    if (p->t->n == TREE_NODES_MAX)
        return -1;
    p->t->nodes[p->t->n] = n;
    return p->t->n++;
}

static int two(struct pattern_parser *p, enum tree_kind kind, int a, int b)
{
    if (a < 0 || b < 0)
        return -1;
    return node(p, (struct tree_node){.kind = kind, .a = a, .b = b});
}

static int repeated(struct pattern_parser *p, int a, int low, int high)
{
    if (a < 0)
        return -1;
    return node(
        p, (struct tree_node){.kind = TREE_REPEAT, .a = a, .low = low, .high = high});
}

static int plain(struct pattern_parser *p, enum tree_kind kind)
{
    return node(p, (struct tree_node){.kind = kind});
}

static int set_node(struct pattern_parser *p, struct tree_set s)
{
    return node(p, (struct tree_node){.kind = TREE_SET, .set = s});
}

static int one_byte(struct pattern_parser *p, unsigned char c)
{
    struct tree_set s = {{0}};
    set_add(&s, c);
    bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
    if (p->t->fold && letter)
        set_add(&s, c ^ 32);
    return set_node(p, s);
}

/* Any character beyond ASCII, or some of them. */
static int high_bytes(struct pattern_parser *p)
{
    struct tree_set s = {{0, 0, ~0ull, ~0ull}};
    return repeated(p, set_node(p, s), 1, TREE_MANY);
}

static int character(struct pattern_parser *p, uint32_t cp)
{
    char bytes[4];
    if (cp < 128)
        return one_byte(p, (unsigned char)cp);
    /* U+FFFD also matches bytes that are not UTF-8. */
    if (p->t->fold || cp > 0x10ffff || (cp >= 0xd800 && cp < 0xe000) || cp == 0xfffd)
        return high_bytes(p);
    int n = utf8_encode(cp, bytes), all = one_byte(p, (unsigned char)bytes[0]);
    for (int i = 1; i < n; i++)
        all = two(p, TREE_BOTH, all, one_byte(p, (unsigned char)bytes[i]));
    return all;
}

/* ---- classes ---- */

struct members {
    struct tree_set set; /* of ASCII */
    bool high;           /* and something beyond */
};

static void add_range(struct members *m, uint32_t low, uint32_t high)
{
    for (uint32_t c = low; c <= high && c < 128; c++)
        set_add(&m->set, (unsigned char)c);
    m->high |= high >= 128;
}

static void negate(struct members *m)
{
    m->set.has[0] = ~m->set.has[0];
    m->set.has[1] = ~m->set.has[1];
    m->high = true;
}

static void add_members(struct members *m, const struct members *other)
{
    m->set.has[0] |= other->set.has[0];
    m->set.has[1] |= other->set.has[1];
    m->high |= other->high;
}

/* \d \w \s \h and their opposites. */
static bool class_escape(char c, struct members *m)
{
    *m = (struct members){{{0}}, false};
    switch (c | 32) {
    case 'd':
        add_range(m, '0', '9');
        break;
    case 'w':
        add_range(m, '0', '9');
        add_range(m, 'A', 'Z');
        add_range(m, 'a', 'z');
        add_range(m, '_', '_');
        break;
    case 's':
        add_range(m, '\t', '\r');
        add_range(m, ' ', ' ');
        break;
    case 'h':
        add_range(m, '\t', '\t');
        add_range(m, ' ', ' ');
        m->high = true; /* other spaces */
        break;
    default:
        return false;
    }
    if (!(c & 32))
        negate(m);
    return true;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                 ? c - '0'
           : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                : -1;
}

/* Parses \x41 and \x{41}, after the x. */
static bool hex_escape(struct pattern_parser *p, uint32_t *cp)
{
    bool braces = accept(p, "{");
    int digits = 0, most = braces ? 6 : 2;
    for (*cp = 0; digits < most && hex(peek(p)) >= 0; digits++)
        *cp = *cp * 16 + (uint32_t)hex(p->text.p[p->at++]);
    return digits > 0 && (!braces || accept(p, "}"));
}

/*
 * Gets the character of an escape, after the backslash. Returns false if it is not one.
 */
static bool character_escape(struct pattern_parser *p, uint32_t *cp)
{
    static const char names[] = "tnrfea", values[] = "\t\n\r\f\033\a";
    char c = peek(p);
    const char *name = c ? strchr(names, c) : NULL;
    if (!c || (unsigned char)c >= 128)
        return false;
    p->at++;
    if (name)
        *cp = (unsigned char)values[name - names];
    else if (c == 'x')
        return hex_escape(p, cp);
    else if ((c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'))
        return false;
    else
        *cp = (unsigned char)c;
    return true;
}

static bool take_character(struct pattern_parser *p, uint32_t *cp)
{
    int n = utf8_decode(str_sub(p->text, p->at, p->text.n), cp);
    if (n <= 0)
        return false;
    p->at += (size_t)n;
    return true;
}

/* [:alpha:], at the bracket. */
static bool named_class(struct pattern_parser *p, struct members *m)
{
    static const struct {
        const char *name, *ranges; /* pairs: first and last */
    } classes[] = {{"[:alpha:]", "AZaz"},    {"[:digit:]", "09"},
                   {"[:alnum:]", "09AZaz"},  {"[:upper:]", "AZ"},
                   {"[:lower:]", "az"},      {"[:space:]", "\t\r  "},
                   {"[:blank:]", "\t\t  "},  {"[:xdigit:]", "09AFaf"},
                   {"[:word:]", "09AZaz__"}, {"[:punct:]", "!/:@[`{~"}};
    for (size_t i = 0; i < sizeof(classes) / sizeof(*classes); i++) {
        if (!accept(p, classes[i].name))
            continue;
        for (const char *r = classes[i].ranges; *r; r += 2)
            add_range(m, (unsigned char)r[0], (unsigned char)r[1]);
        return true;
    }
    return false;
}

/* One member, or a whole class of them (*single false). */
static bool member(struct pattern_parser *p, struct members *m, uint32_t *cp,
                   bool *single)
{
    struct members other;
    *single = false;
    if (peek(p) == '[' && p->at + 1 < p->text.n && strchr(":.=", p->text.p[p->at + 1]))
        return named_class(p, m);
    *single = true;
    if (peek(p) != '\\')
        return take_character(p, cp);
    p->at++;
    if (class_escape(peek(p), &other)) {
        p->at++;
        add_members(m, &other);
        *single = false;
        return true;
    }
    if (accept(p, "b")) {
        *cp = '\b';
        return true;
    }
    return character_escape(p, cp);
}

static void fold_members(struct members *m)
{
    for (unsigned char c = 'a'; c <= 'z'; c++) {
        if (set_has(&m->set, c) || set_has(&m->set, c ^ 32)) {
            set_add(&m->set, c);
            set_add(&m->set, c ^ 32);
        }
    }
}

static int of_members(struct pattern_parser *p, struct members *m)
{
    m->set.has[0] &= ~(1ull << '\n');
    int ascii = set_node(p, m->set);
    return m->high ? two(p, TREE_EITHER, ascii, high_bytes(p)) : ascii;
}

/* Behind the opening bracket. */
static int class(struct pattern_parser *p)
{
    struct members m = {{{0}}, false};
    bool negated = accept(p, "^"), single, second;
    uint32_t low = 0, high;
    for (bool first = true; first || peek(p) != ']'; first = false) {
        if (!more(p) || !member(p, &m, &low, &single))
            return -1;
        high = low;
        if (peek(p) == '-' && p->at + 1 < p->text.n && p->text.p[p->at + 1] != ']') {
            p->at++;
            if (!single || !member(p, &m, &high, &second) || !second || high < low)
                return -1;
        }
        if (single)
            add_range(&m, low, high);
    }
    p->at++;
    if (p->t->fold)
        fold_members(&m);
    if (negated)
        negate(&m);
    return of_members(p, &m);
}

/* ---- atoms ---- */

/*
 * After \Q: parses up to \E or the end. If it is empty, a quantifier is for the atom
 * before.
 */
static int quoted(struct pattern_parser *p)
{
    int all = plain(p, TREE_EMPTY);
    uint32_t cp;
    if (accept(p, "\\E"))
        return -1;
    while (more(p) && !accept(p, "\\E")) {
        if (!take_character(p, &cp))
            return -1;
        all = two(p, TREE_BOTH, all, character(p, cp));
        if (all < 0)
            return -1;
    }
    return all;
}

static int any_of_line(struct pattern_parser *p)
{
    struct members m = {{{0}}, false};
    negate(&m);
    return of_members(p, &m);
}

static int left_out(struct pattern_parser *p)
{
    p->t->exact = false;
    return plain(p, TREE_EMPTY);
}

/* Behind the backslash. */
static int escape(struct pattern_parser *p)
{
    struct members m;
    uint32_t cp;
    char c = peek(p);
    if (class_escape(c, &m)) {
        p->at++;
        return of_members(p, &m);
    }
    if (accept(p, "b") || accept(p, "B"))
        return left_out(p);
    if (accept(p, "A"))
        return plain(p, TREE_BEGIN);
    if (accept(p, "z") || accept(p, "Z"))
        return plain(p, TREE_END);
    if (c >= '1' && c <= '9') {
        while (peek(p) >= '0' && peek(p) <= '9')
            p->at++;
        p->t->exact = false;
        return repeated(p, any_of_line(p), 0, TREE_MANY);
    }
    return character_escape(p, &cp) ? character(p, cp) : -1;
}

/* Parses (?<name>, (?P<name> and (?'name', after the sign that opens it. */
static bool group_name(struct pattern_parser *p, char close)
{
    while (more(p) && peek(p) != close)
        p->at++;
    return more(p) && p->text.p[p->at++] == close;
}

static int group(struct pattern_parser *p)
{
    bool around = accept(p, "?=") || accept(p, "?!") || accept(p, "?<=") ||
                  accept(p, "?<!");
    if (around)
        p->t->exact = false;
    else if (accept(p, "?P<") || accept(p, "?<")) {
        if (!group_name(p, '>'))
            return -1;
    } else if (!accept(p, "?:") && (peek(p) == '?' || peek(p) == '*')) {
        return -1;
    }
    if (++p->depth > TREE_DEPTH_MAX)
        return -1;
    int inner = either(p);
    p->depth--;
    if (inner < 0 || !accept(p, ")"))
        return -1;
    return around ? plain(p, TREE_EMPTY) : inner;
}

static int atom(struct pattern_parser *p)
{
    uint32_t cp;
    if (accept(p, "("))
        return group(p);
    if (accept(p, "["))
        return class(p);
    if (accept(p, "."))
        return any_of_line(p);
    if (accept(p, "^"))
        return plain(p, TREE_BEGIN);
    if (accept(p, "$"))
        return plain(p, TREE_END);
    if (accept(p, "\\Q"))
        return quoted(p);
    if (accept(p, "\\"))
        return escape(p);
    if (strchr("*+?", peek(p)))
        return -1;
    return take_character(p, &cp) ? character(p, cp) : -1;
}

/* ---- quantifiers ---- */

static int number(struct pattern_parser *p)
{
    int v = -1;
    while (peek(p) >= '0' && peek(p) <= '9' && v <= TREE_REPEAT_MAX)
        v = (v < 0 ? 0 : v) * 10 + (p->text.p[p->at++] - '0');
    return v;
}

/* {n}, {n,}, {n,m}; anything else leaves p where it is: a literal brace. */
static bool braces(struct pattern_parser *p, int *low, int *high)
{
    size_t start = p->at;
    if (accept(p, "{")) {
        *low = *high = number(p);
        if (*low >= 0 && accept(p, ","))
            *high = number(p);
        if (*low >= 0 && accept(p, "}"))
            return true;
    }
    p->at = start;
    return false;
}

static bool quantifier(struct pattern_parser *p, int *low, int *high)
{
    *low = 0;
    *high = TREE_MANY;
    if (accept(p, "*"))
        return true;
    if (accept(p, "+")) {
        *low = 1;
        return true;
    }
    if (accept(p, "?")) {
        *high = 1;
        return true;
    }
    return braces(p, low, high);
}

static int repeat(struct pattern_parser *p)
{
    bool quotes = str_starts(str_sub(p->text, p->at, p->text.n), STR("\\Q"));
    int a = atom(p), low, high;
    while (a >= 0 && quantifier(p, &low, &high)) {
        /* After quoted text the quantifier is for the last character. */
        if (quotes || low > TREE_REPEAT_MAX || high > TREE_REPEAT_MAX ||
            (high != TREE_MANY && high < low))
            return -1;
        a = repeated(p, a, low, high);
        if (accept(p, "+"))
            p->t->exact = false;
        else
            accept(p, "?");
    }
    /* pcre2 reads {,3} and { 3 }, with blanks or tabs, as quantifiers since 10.43. */
    if (peek(p) == '{' && p->at + 1 < p->text.n &&
        strchr(", \t0123456789", p->text.p[p->at + 1]))
        return -1;
    return a;
}

static int both(struct pattern_parser *p)
{
    int all = -1;
    while (more(p) && peek(p) != '|' && peek(p) != ')') {
        int next = repeat(p);
        if (next < 0)
            return -1;
        all = all < 0 ? next : two(p, TREE_BOTH, all, next);
        if (all < 0)
            return -1;
    }
    return all < 0 ? plain(p, TREE_EMPTY) : all;
}

static int either(struct pattern_parser *p)
{
    int all = both(p);
    while (all >= 0 && accept(p, "|"))
        all = two(p, TREE_EITHER, all, both(p));
    return all;
}

int tree_parse(struct pattern_tree *t, struct str pattern, bool fold)
{
    struct pattern_parser p = {.t = t, .text = pattern};
    t->n = 0;
    t->exact = true;
    t->fold = fold;
    /* Verbs, (*LIMIT_MATCH=…), and all but one of the options at the beginning. */
    if (memchr(pattern.p ? pattern.p : "", 0, pattern.n) || accept(&p, "(*"))
        return -1;
    if (accept(&p, "(?i)"))
        t->fold = true;
    t->root = either(&p);
    return t->root >= 0 && !more(&p) ? 0 : -1;
}
