/* SPDX-License-Identifier: MIT */
#include "document/math.h"

#include "base/utf8.h"

enum { ARGS = 3, DEPTH_MAX = 48, CHAR_MAX_BYTES = 16, ARG_MAX = 1 << 20 };

/*
 * How the parts of an element are written. 0, 1, 2: a part, in parentheses unless it is
 * one letter or number; a, b, c: a part as it is; C: the operator of the properties. A _
 * or ^ is left out with an empty part.
 */
struct shape {
    const char *name, *form;
};

#define ROW    NULL
#define TOKEN  "t"
#define LIST   ","  /* parts, in brackets that the properties name */
#define MATRIX "[;" /* rows */
#define LINES  ";"
#define CELLS  ", "
#define SQRT   "√" /* of all parts */
#define NONE   "-"

static const struct shape shapes[] = {
    {"f", "0/1"},
    {"sSup", "0^1"},
    {"sSub", "0_1"},
    {"sSubSup", "0_1^2"},
    {"sPre", "_0^1c"},
    {"rad", "√[a]1"},
    {"nary", "C_0^1 c"},
    {"func", "a 1"},
    {"limLow", "0_1"},
    {"limUpp", "0^1"},
    {"bar", "¯0"},
    {"acc", "0C"},
    {"d", LIST},
    {"m", MATRIX},
    {"mr", CELLS},
    {"eqArr", LINES},
    {"t", TOKEN},
    {"mfrac", "0/1"},
    {"msup", "0^1"},
    {"msub", "0_1"},
    {"msubsup", "0_1^2"},
    {"mover", "0^1"},
    {"munder", "0_1 "},
    {"munderover", "0_1^2 "},
    {"mroot", "√[b]0"},
    {"msqrt", SQRT},
    {"mfenced", LIST},
    {"mtable", MATRIX},
    {"mtr", CELLS},
    {"mi", TOKEN},
    {"mn", TOKEN},
    {"mo", TOKEN},
    {"mtext", TOKEN},
    {"ms", TOKEN},
    {"mphantom", NONE},
    {"annotation", NONE},
    {"annotation-xml", NONE},
};

struct math {
    struct xml *x;
    const struct buf *tail; /* where the last structure ended: which text, */
    size_t tail_n;          /* and its length then */
};

/* The properties of an element: 22.1.2.20, 22.1.2.24. */
struct look {
    struct buf sign, begin, end, between;
    bool no_degree;
};

static const char *form_of(struct str name)
{
    for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
        if (str_eq(name, str_of(shapes[i].name)))
            return shapes[i].form;
    }
    return ROW;
}

static bool is_part(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80 || c == '.';
}

/* Whether a part needs no parentheses: one character, a number or a name. */
static bool is_one(struct str s)
{
    uint32_t c;
    if (s.n && utf8_decode(s, &c) == (int)s.n)
        return true;
    for (size_t i = 0; i < s.n; i++) {
        if (!is_part(s.p[i]) || (unsigned char)s.p[i] >= 0x80)
            return false;
    }
    return true;
}

static int group(struct buf *out, struct str s)
{
    bool one = is_one(s);
    int rc = one ? 0 : buf_addc(out, '(');
    rc = rc < 0 ? rc : buf_adds(out, s);
    return rc < 0 || one ? rc : buf_addc(out, ')');
}

/* Separates what follows a fraction or an index from it: x^2 y. */
static int apart(struct math *m, struct buf *out, struct str next)
{
    bool here = m->tail == out && m->tail_n == out->n && out->n && next.n;
    return here && is_part(*next.p) && out->p[out->n - 1] != ' ' ? buf_addc(out, ' ') : 0;
}

static int put_token(struct math *m, struct buf *out, bool trim)
{
    struct buf text = BUF_INIT(ARG_MAX);
    int rc = xml_text(m->x, &text);
    struct str s = trim ? str_trim(buf_str(&text)) : buf_str(&text);
    if (str_eq(s, STR("\xe2\x81\xa1"))) /* applies a function */
        s = STR(" ");
    else if (str_eq(s, STR("\xe2\x81\xa2")) || str_eq(s, STR("\xe2\x81\xa3")))
        s = STR(""); /* times, and a comma, that are not shown */
    rc = rc < 0 ? rc : apart(m, out, s);
    rc = rc < 0 ? rc : buf_adds(out, s);
    buf_release(&text);
    return rc;
}

static void take_attr(const struct xml *x, const char *name, struct buf *to)
{
    struct buf value = BUF_INIT(256);
    if (xml_attr(x, name, &value) && value.n <= CHAR_MAX_BYTES) {
        buf_reset(to);
        buf_adds(to, buf_str(&value));
    }
    buf_release(&value);
}

/* Reads an element's properties, up to their end. */
static void take_look(struct math *m, struct look *l)
{
    struct xml *x = m->x;
    size_t depth = x->depth;
    enum xml_kind k;
    while ((k = xml_next(x)) != XML_END && k != XML_BAD && x->depth >= depth) {
        if (k != XML_OPEN)
            continue;
        struct buf hide = BUF_INIT(CHAR_MAX_BYTES);
        if (xml_is(x, "chr"))
            take_attr(x, "val", &l->sign);
        else if (xml_is(x, "begChr"))
            take_attr(x, "val", &l->begin);
        else if (xml_is(x, "endChr"))
            take_attr(x, "val", &l->end);
        else if (xml_is(x, "sepChr"))
            take_attr(x, "val", &l->between);
        else if (xml_is(x, "degHide"))
            l->no_degree = !xml_attr(x, "val", &hide) ||
                           (!str_eq(buf_str(&hide), STR("0")) &&
                            !str_eq(buf_str(&hide), STR("off")) &&
                            !str_eq(buf_str(&hide), STR("false")));
        buf_release(&hide);
    }
}

static void look_init(struct look *l, const struct xml *x)
{
    bool fenced = xml_is(x, "mfenced");
    struct buf *all[] = {&l->sign, &l->begin, &l->end, &l->between};
    const char *const first[] = {xml_is(x, "nary") ? "∫" : "\xcc\x82", "(", ")",
                                 fenced ? "," : "|"};
    *l = (struct look){.no_degree = false};
    for (size_t i = 0; i < 4; i++) {
        buf_init(all[i], CHAR_MAX_BYTES);
        buf_addz(all[i], first[i]);
    }
    if (fenced) {
        take_attr(x, "open", &l->begin);
        take_attr(x, "close", &l->end);
    }
}

static void look_release(struct look *l)
{
    buf_release(&l->sign);
    buf_release(&l->begin);
    buf_release(&l->end);
    buf_release(&l->between);
}

static int element(struct math *m, struct buf *out, int depth);

static bool is_properties(const struct xml *x)
{
    return str_ends(x->name, STR("Pr")) || xml_is(x, "argSz");
}

/* Appends the elements inside, one after the other. */
static int row(struct math *m, struct buf *out, int depth, const char *between,
               struct look *l)
{
    struct xml *x = m->x;
    size_t inside = x->depth, n = 0;
    enum xml_kind k;
    int rc = 0;
    while (rc == 0 && (k = xml_next(x)) != XML_END && k != XML_BAD &&
           x->depth >= inside) {
        if (k != XML_OPEN)
            continue;
        if (is_properties(x)) {
            take_look(m, l);
            continue;
        }
        if (n++ && between)
            rc = buf_addz(out, between);
        rc = rc < 0 ? rc : element(m, out, depth + 1);
    }
    return rc;
}

/* Appends the parts as the form says. */
static int put_form(struct buf *out, const char *form, const struct buf *arg,
                    const struct look *l)
{
    int rc = 0;
    for (const char *f = form; rc == 0 && *f; f++) {
        int i = *f >= '0' && *f <= '2' ? *f - '0' : *f >= 'a' && *f <= 'c' ? *f - 'a' : -1;
        char next = f[1];
        int of = next >= '0' && next <= '2' ? next - '0' : -1;
        if (i >= 0)
            rc = *f >= 'a' ? buf_adds(out, buf_str(&arg[i])) : group(out, buf_str(&arg[i]));
        else if (*f == 'C')
            rc = buf_adds(out, buf_str(&l->sign));
        else if ((*f == '_' || *f == '^') && of >= 0 && arg[of].n == 0)
            f++;
        else if (*f == '[' && (l->no_degree || arg[next - 'a'].n == 0))
            f += 2;
        else
            rc = buf_addc(out, *f);
    }
    return rc;
}

/* Reads the parts of an element, and appends them as the form says. */
static int parts(struct math *m, struct buf *out, const char *form, int depth)
{
    struct xml *x = m->x;
    struct buf arg[ARGS];
    struct look l;
    size_t inside = x->depth, n = 0;
    enum xml_kind k;
    int rc = 0;
    m->tail = NULL;
    look_init(&l, x);
    for (size_t i = 0; i < ARGS; i++)
        buf_init(&arg[i], ARG_MAX);
    while (rc == 0 && (k = xml_next(x)) != XML_END && k != XML_BAD &&
           x->depth >= inside) {
        if (k != XML_OPEN)
            continue;
        if (is_properties(x)) {
            take_look(m, &l);
            continue;
        }
        rc = element(m, &arg[n < ARGS ? n : ARGS - 1], depth + 1);
        n++;
    }
    rc = rc < 0 ? rc : put_form(out, form, arg, &l);
    for (size_t i = 0; i < ARGS; i++)
        buf_release(&arg[i]);
    look_release(&l);
    return rc;
}

/* Appends the parts between brackets: those of the properties, or of a matrix. */
static int fence(struct math *m, struct buf *out, const char *form, int depth)
{
    struct buf inner = BUF_INIT(ARG_MAX);
    struct look l;
    bool list = strcmp(form, LIST) == 0, matrix = strcmp(form, MATRIX) == 0;
    m->tail = NULL;
    look_init(&l, m->x);
    int rc = row(m, &inner, depth,
                 list                       ? buf_z(&l.between)
                 : strcmp(form, CELLS) == 0 ? CELLS
                 : strcmp(form, SQRT) == 0  ? NULL
                                            : "; ",
                 &l);
    if (rc == 0 && strcmp(form, SQRT) == 0) {
        rc = buf_addz(out, SQRT);
        rc = rc < 0 ? rc : group(out, buf_str(&inner));
    } else if (rc == 0) {
        rc = list ? buf_adds(out, buf_str(&l.begin)) : matrix ? buf_addc(out, '[') : 0;
        rc = rc < 0 ? rc : buf_adds(out, buf_str(&inner));
        if (rc == 0)
            rc = list ? buf_adds(out, buf_str(&l.end)) : matrix ? buf_addc(out, ']') : 0;
    }
    buf_release(&inner);
    look_release(&l);
    return rc;
}

/* Appends the texts inside a token, or skips an element. */
static int token(struct math *m, struct buf *out, bool skip)
{
    struct xml *x = m->x;
    bool trim = !xml_is(x, "t");
    size_t inside = x->depth;
    enum xml_kind k;
    int rc = 0;
    while (rc == 0 && (k = xml_next(x)) != XML_END && k != XML_BAD && x->depth >= inside)
        rc = k == XML_TEXT && !skip ? put_token(m, out, trim) : 0;
    return rc;
}

/* Appends the element that was just opened, and reads up to its end. */
static int element(struct math *m, struct buf *out, int depth)
{
    const char *form = form_of(m->x->name);
    struct look l;
    int rc;
    if (depth > DEPTH_MAX || (form && strcmp(form, NONE) == 0))
        return token(m, out, depth <= DEPTH_MAX);
    if (form && strcmp(form, TOKEN) == 0)
        return token(m, out, false);
    if (!form) {
        look_init(&l, m->x);
        rc = row(m, out, depth, NULL, &l);
        look_release(&l);
        return rc;
    }
    rc = apart(m, out, STR("x"));
    if (rc == 0)
        rc = strchr(LIST MATRIX LINES, *form) || strcmp(form, SQRT) == 0
                 ? fence(m, out, form, depth)
                 : parts(m, out, form, depth);
    m->tail = out;
    m->tail_n = out->n;
    return rc;
}

int math_line(struct xml *x, struct buf *out)
{
    struct math m = {.x = x};
    return element(&m, out, 0);
}
