/* SPDX-License-Identifier: MIT */
#include "document/math.h"

#include "base/utf8.h"
#include "document/own.h"

enum { ARGS = 3, DEPTH_MAX = 48, CHAR_MAX_BYTES = 16, ARG_MAX = 1 << 20 };

/*
 * Elements, and how they are written. T: their text; N: not at all; L: parts between the
 * brackets of their properties; M: rows of a matrix; E: lines; R: cells of a row; S: the
 * root of all parts. Others are forms. 0, 1, 2 there: a part, in parentheses unless it is
 * one letter, number or name; a, b, c: a part as it is; C: the sign of the properties. A
 * _ or ^ before an empty part is left out, as are brackets around one.
 */
static const char shapes[] =
    "\1f\0020/1\1sSup\0020^1\1sSub\0020_1\1sSubSup\0020_1^2\1sPre\2_0^1c\1rad\2√[a]1"
    "\1nary\2C_0^1 c\1func\2a 1\1limLow\0020_1\1limUpp\0020^1\1bar\2¯0\1acc\0020C\1d\2L"
    "\1m\2M\1mr\2R\1eqArr\2E\1t\2T\1mfrac\0020/1\1msup\0020^1\1msub\0020_1"
    "\1msubsup\0020_1^2\1mover\0020^1\1munder\0020_1 \1munderover\0020_1^2 "
    "\1mroot\2√[b]0\1msqrt\2S\1mfenced\2L\1mtable\2M\1mtr\2R\1mi\2T\1mn\2T\1mo\2T"
    "\1mtext\2T\1ms\2T\1mphantom\2N\1annotation\2N\1annotation-xml\2N\1";

struct math {
    struct xml *x;
    const struct buf *tail; /* where the last structure ended: which text, */
    size_t tail_n;          /* and its length then */
    bool full;              /* some part was too long */
};

/* The properties of an element: 22.1.2.20, 22.1.2.24. */
struct math_look {
    char sign[CHAR_MAX_BYTES], begin[CHAR_MAX_BYTES], end[CHAR_MAX_BYTES],
        between[CHAR_MAX_BYTES];
    bool no_degree;
};

static void element(struct math *m, struct buf *out, int depth);

static bool is_part(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
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

static void group(struct buf *out, struct str s)
{
    bool one = is_one(s);
    buf_addz(out, one ? "" : "(");
    buf_adds(out, s);
    buf_addz(out, one ? "" : ")");
}

/* Separates what follows a fraction or an index from it: x^2 y. */
static void apart(const struct math *m, struct buf *out, struct str next)
{
    if (m->tail == out && m->tail_n == out->n && out->n && next.n && is_part(*next.p) &&
        out->p[out->n - 1] != ' ')
        buf_addc(out, ' ');
}

/* Moves on in an element. Returns false after its end. */
static bool next(struct math *m, size_t inside, enum xml_kind *k)
{
    *k = xml_next(m->x);
    return *k != XML_END && *k != XML_BAD && m->x->depth >= inside;
}

/* Appends the texts inside an element, or skips them. */
static void token(struct math *m, struct buf *out, bool skip)
{
    struct buf text = BUF_INIT(ARG_MAX);
    bool trim = !xml_is(m->x, "t");
    size_t inside = m->x->depth;
    enum xml_kind k;
    while (next(m, inside, &k)) {
        if (k == XML_TEXT && !skip)
            xml_text(m->x, &text);
    }
    struct str s = trim ? str_trim(buf_str(&text)) : buf_str(&text);
    if (s.n == 3 && memcmp(s.p, "\xe2\x81\xa1", 2) == 0 &&
        (unsigned char)s.p[2] - 0xa1u < 4)
        s = s.p[2] == '\xa1' ? STR(" ") : STR(""); /* signs that are not shown */
    apart(m, out, s);
    buf_adds(out, s);
    m->full = m->full || buf_full(&text);
    buf_release(&text);
}

/* ---- properties ---- */

static void take_attr(const struct xml *x, const char *name, char to[CHAR_MAX_BYTES])
{
    struct buf value = BUF_INIT(256);
    if (xml_attr(x, name, &value))
        buf_fill(to, CHAR_MAX_BYTES, "%s", buf_z(&value));
    buf_release(&value);
}

static void look_init(struct math_look *l, const struct xml *x)
{
    bool fenced = xml_is(x, "mfenced");
    *l = (struct math_look){.begin = "(", .end = ")", .between = "|", .sign = "\xcc\x82"};
    if (fenced)
        l->between[0] = ',';
    if (xml_is(x, "nary"))
        memcpy(l->sign, "∫", sizeof("∫"));
    if (fenced) {
        take_attr(x, "open", l->begin);
        take_attr(x, "close", l->end);
    }
}

/* Reads the properties if the element just opened has them, up to their end. */
static bool take_look(struct math *m, struct math_look *l)
{
    struct xml *x = m->x;
    size_t inside = x->depth;
    char hide[CHAR_MAX_BYTES] = "1";
    enum xml_kind k;
    if (!str_ends(x->name, STR("Pr")))
        return false;
    while (next(m, inside, &k)) {
        if (k != XML_OPEN)
            continue;
        char *to = xml_is(x, "chr")       ? l->sign
                   : xml_is(x, "begChr")  ? l->begin
                   : xml_is(x, "endChr")  ? l->end
                   : xml_is(x, "sepChr")  ? l->between
                   : xml_is(x, "degHide") ? hide
                                          : NULL;
        if (to)
            take_attr(x, "val", to);
        l->no_degree = l->no_degree || (to == hide && !strchr("0of", *hide));
    }
    return true;
}

/* ---- elements ---- */

/* Appends the parts as the form says. */
static void put_form(struct buf *out, const char *f, const struct buf *arg,
                     const struct math_look *l)
{
    for (; *f != 1; f++) {
        if (*f >= '0' && *f <= '2')
            group(out, buf_str(&arg[*f - '0']));
        else if (*f >= 'a' && *f <= 'c')
            buf_adds(out, buf_str(&arg[*f - 'a']));
        else if (*f == 'C')
            buf_addz(out, l->sign);
        else if ((*f == '_' || *f == '^') && arg[f[1] - '0'].n == 0)
            f++;
        else if (*f == '[' && (l->no_degree || arg[f[1] - 'a'].n == 0))
            f += 2;
        else
            buf_addc(out, *f);
    }
}

/* Reads the parts of an element: the first two apart, the others after one another. */
static void parts(struct math *m, struct buf *out, const char *form, int depth)
{
    struct buf arg[ARGS];
    struct math_look l;
    size_t inside = m->x->depth, n = 0, last = strchr("LMERS", *form) ? 0 : ARGS - 1;
    enum xml_kind k;
    m->tail = NULL;
    look_init(&l, m->x);
    for (size_t i = 0; i < ARGS; i++)
        buf_init(&arg[i], ARG_MAX);
    while (next(m, inside, &k)) {
        if (k != XML_OPEN || take_look(m, &l))
            continue;
        if (last == 0 && n && *form != 'S')
            buf_addz(arg, *form == 'L' ? l.between : *form == 'R' ? ", " : "; ");
        element(m, &arg[n < last ? n : last], depth + 1);
        n++;
    }
    if (last) {
        put_form(out, form, arg, &l);
    } else if (*form == 'S') {
        buf_addz(out, "√");
        group(out, buf_str(arg));
    } else {
        buf_addz(out, *form == 'L' ? l.begin : *form == 'M' ? "[" : "");
        buf_adds(out, buf_str(arg));
        buf_addz(out, *form == 'L' ? l.end : *form == 'M' ? "]" : "");
    }
    for (size_t i = 0; i < ARGS; i++) {
        m->full = m->full || buf_full(&arg[i]);
        buf_release(&arg[i]);
    }
}

/* Appends the element that was just opened, and reads up to its end. */
static void element(struct math *m, struct buf *out, int depth)
{
    const char *form = depth > DEPTH_MAX ? "N" : docread_word(shapes, m->x->name);
    size_t inside = m->x->depth;
    struct math_look ignored = {.no_degree = false};
    enum xml_kind k;
    if (*form == 'T' || *form == 'N') {
        token(m, out, *form == 'N');
    } else if (*form) {
        apart(m, out, STR("x"));
        parts(m, out, form, depth);
        m->tail = out;
        m->tail_n = out->n;
    } else {
        while (next(m, inside, &k)) {
            if (k == XML_OPEN && !take_look(m, &ignored))
                element(m, out, depth + 1);
        }
    }
}

int math_line(struct xml *x, struct buf *out)
{
    struct math m = {.x = x};
    element(&m, out, 0);
    return m.full || buf_full(out) ? -1 : 0;
}
