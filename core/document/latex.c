/* SPDX-License-Identifier: MIT */
/*
 * LaTeX to text, as a reader of the page would see it, without running TeX. Commands that
 * only set something are left out with their arguments; of others the argument stays.
 * Formulas keep their form, with Unicode signs.
 */
#include "document/own.h"

#include "base/utf8.h"
#include "text/glyph.h"

enum { DEPTH_MAX = 64, NAME_ROOM = 32 };

struct tex {
    struct buf *out;
    size_t from; /* where the text begins in out */
    struct str title, author, date;
    int64_t work; /* bytes that may still be read: arguments are read twice */
    int rc;
};

/* ---- what commands do ---- */

enum what {
    KEEP = 'k',  /* keeps the last of n arguments */
    DROP = 'd',  /* n arguments */
    TEXT = 't',  /* stands for this text */
    FOOT = 'f',  /* puts the argument in brackets */
    HEAD = 'h',  /* makes a heading: the text, then the argument */
    BEGIN = 'b', /* begins an environment */
    END = 'e',
    ITEM = 'i',
    VERB = 'v',
    FRAC = 'F',
    ROOT = 'r',
    TITLE = 'T',
    ACCENT = 'a', /* puts an accent on a letter: the text is the glyph's ending */
    LINE = 'l'
};

enum { COMMAND_TEXT = 24 };

struct latex_command {
    char what;
    int n;
    char text[COMMAND_TEXT];
};

/* The commands: what each does, its number of arguments, and the text. */
static const char commands[] =
    "\1documentclass\2d1\1usepackage\2d1\1RequirePackage\2d1\1newcommand\2d2"
    "\1renewcommand\2d2\1providecommand\2d2\1newenvironment\2d3\1newtheorem\2d2"
    "\1DeclareMathOperator\2d2\1setlength\2d2\1addtolength\2d2\1setcounter\2d2"
    "\1addtocounter\2d2\1label\2d1\1index\2d1\1pagestyle\2d1\1thispagestyle\2d1"
    "\1bibliographystyle\2d1\1bibliography\2d1\1includegraphics\2d1\1input\2d1"
    "\1include\2d1\1vspace\2d1\1hspace\2d1\1hypersetup\2d1\1geometry\2d1"
    "\1graphicspath\2d1\1definecolor\2d3\1color\2d1\1title\2d1\1author\2d1\1date\2d1"
    "\1pagenumbering\2d1\1hyphenation\2d1\1textcolor\2k2\1href\2k2\1colorbox\2k2"
    "\1parbox\2k2\1raisebox\2k2\1hypertarget\2k2\1footnote\2f1\1multicolumn\2k3"
    "\1multirow\2k3\1ref\2t1<ref>\1eqref\2t1(<ref>)\1pageref\2t1<ref>\1autoref\2t1<ref>"
    "\1cref\2t1<ref>\1cite\2t1<cit.>\1citet\2t1<cit.>\1citep\2t1<cit.>\1part\2h1PART: "
    "\1chapter\2h1CHAPTER: \1section\2h1§ \1subsection\2h1§.§ \1subsubsection\2h1§.§.§ "
    "\1paragraph\2h1\1begin\2b1\1end\2e1\1item\2i0\1verb\2v0\1frac\2F2\1dfrac\2F2"
    "\1tfrac\2F2\1sqrt\2r1\1maketitle\2T0\1'\2a1acute\1`\2a1grave\1^\2a1circumflex"
    "\1\"\2a1dieresis\1~\2a1tilde\1c\2a1cedilla\1v\2a1caron\1u\2a1breve"
    "\1H\2a1hungarumlaut\1r\2a1ring\1k\2a1ogonek\1=\2a1macron\1.\2a1dotaccent\1\\\2l0"
    "\1newline\2l0\1linebreak\2l0\1par\2t0\n\n\1LaTeX\2t0LaTeX\1TeX\2t0TeX"
    "\1today\2t0<today>\1ldots\2t0…\1dots\2t0…\1cdots\2t0⋯\1textbackslash\2t0\\"
    "\1textasciitilde\2t0~\1textasciicircum\2t0^\1textbar\2t0|\1textless\2t0<"
    "\1textgreater\2t0>\1textendash\2t0–\1textemdash\2t0—\1S\2t0§\1P\2t0¶\1ss\2t0ß"
    "\1o\2t0ø\1O\2t0Ø\1l\2t0ł\1L\2t0Ł\1aa\2t0å\1AA\2t0Å\1i\2t0ı\1j\2t0ȷ\1quad\2t0 "
    "\1qquad\2t0 \1,\2t0 \1;\2t0 \1:\2t0 \1 \2t0 \1!\2t0\1-\2t0\1/\2t0\1le\2t0≤"
    "\1leq\2t0≤\1ge\2t0≥\1geq\2t0≥\1ne\2t0≠\1neq\2t0≠\1times\2t0×\1cdot\2t0·\1pm\2t0±"
    "\1infty\2t0∞\1sum\2t0∑\1prod\2t0∏\1int\2t0∫\1partial\2t0∂\1to\2t0→"
    "\1rightarrow\2t0→\1leftarrow\2t0←\1Rightarrow\2t0⇒\1Leftarrow\2t0⇐"
    "\1Leftrightarrow\2t0⇔\1approx\2t0≈\1equiv\2t0≡\1sim\2t0∼\1in\2t0∈\1notin\2t0∉"
    "\1subset\2t0⊂\1subseteq\2t0⊆\1cup\2t0∪\1cap\2t0∩\1forall\2t0∀\1exists\2t0∃"
    "\1land\2t0∧\1lor\2t0∨\1neg\2t0¬\1circ\2t0∘\1langle\2t0⟨\1rangle\2t0⟩\1left\2t0"
    "\1right\2t0\1varepsilon\2t0ε\1varphi\2t0φ\1vartheta\2t0ϑ\1ell\2t0ℓ\1";

static bool find_command(struct str name, struct latex_command *c)
{
    const char *found = docread_word(commands, name);
    if (!*found)
        return false;
    *c = (struct latex_command){.what = *found, .n = found[1] - '0'};
    memcpy(c->text, found + 2, strcspn(found + 2, "\1"));
    return true;
}

/* ---- arguments ---- */

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/* Cuts the text between two braces; s begins with the first. */
static struct str group(struct tex *t, struct str *s, char open, char close)
{
    int depth = 0;
    size_t i = 0;
    for (; i < s->n; i++) {
        char c = s->p[i];
        if (c == '\\')
            i++;
        else if (c == open)
            depth++;
        else if (c == close && --depth == 0)
            break;
    }
    t->work -= (int64_t)i;
    struct str inside = str_sub(*s, 1, i > 0 ? i - 1 : 0);
    *s = str_sub(*s, i + 1, s->n);
    return inside;
}

static void skip_space(struct str *s)
{
    while (s->n && is_space(*s->p))
        *s = str_sub(*s, 1, s->n);
}

/* Cuts the name after a backslash. */
static struct str command_name(struct str *s)
{
    size_t n = 0;
    while (n < s->n && is_letter(s->p[n]))
        n++;
    n = n || !s->n ? n : 1;
    struct str name = str_sub(*s, 0, n);
    *s = str_sub(*s, n, s->n);
    return name;
}

/* Cuts the next argument: a group, a command, or one character. */
static struct str argument(struct tex *t, struct str *s)
{
    skip_space(s);
    if (!s->n)
        return *s;
    if (*s->p == '{')
        return group(t, s, '{', '}');
    struct str one = *s;
    if (*s->p == '\\') {
        *s = str_sub(*s, 1, s->n);
        one.n = 1 + command_name(s).n;
        return one;
    }
    uint32_t cp;
    int n = utf8_decode(*s, &cp);
    one.n = n > 0 ? (size_t)n : 1;
    *s = str_sub(*s, one.n, s->n);
    return one;
}

/* Skips all [options]. */
static void skip_options(struct tex *t, struct str *s)
{
    if (s->n && *s->p == '*')
        *s = str_sub(*s, 1, s->n);
    while (s->n && *s->p == '[' && t->work > 0)
        group(t, s, '[', ']');
}

/* ---- writing ---- */

static void put(struct tex *t, struct str s)
{
    if (t->rc == 0)
        t->rc = buf_adds(t->out, s);
}

static void putz(struct tex *t, const char *z) { put(t, str_of(z)); }

/* Appends c; never two empty lines in a row, and no blanks at the ends of lines. */
static void put_char(struct tex *t, char c)
{
    const char *p = t->out->p;
    size_t n = t->out->n;
    if (c == ' ' && (n == t->from || p[n - 1] == ' ' || p[n - 1] == '\n'))
        return;
    if (c == '\n') {
        while (t->out->n > t->from && t->out->p[t->out->n - 1] == ' ')
            buf_truncate(t->out, t->out->n - 1);
        n = t->out->n;
        if (n == t->from ||
            (n >= t->from + 2 && t->out->p[n - 1] == '\n' && t->out->p[n - 2] == '\n'))
            return;
    }
    put(t, str_n(&c, 1));
}

static void break_line(struct tex *t, int lines)
{
    while (lines-- > 0)
        put_char(t, '\n');
}

static void convert(struct tex *t, struct str s, int depth);

/* ---- commands ---- */

static void accent(struct tex *t, const char *ending, struct str letter, int depth)
{
    char name[NAME_ROOM], text[8];
    struct buf b = BUF_INIT(sizeof(name));
    if (letter.n == 2 && letter.p[0] == '\\') /* \i is an i without its dot */
        letter = str_sub(letter, 1, 1);
    if (letter.n == 1)
        buf_addf(&b, "%c%s", letter.p[0], ending);
    size_t n = letter.n == 1 ? glyph_text(buf_str(&b), text, sizeof(text)) : 0;
    buf_release(&b);
    if (n)
        put(t, str_n(text, n));
    else
        convert(t, letter, depth + 1);
}

static bool is_verbatim(struct str name)
{
    return str_eq(name, STR("verbatim")) || str_eq(name, STR("verbatim*")) ||
           str_eq(name, STR("lstlisting")) || str_eq(name, STR("minted")) ||
           str_eq(name, STR("Verbatim"));
}

/* Appends the text up to \end{name} unchanged. */
static void verbatim(struct tex *t, struct str *s, struct str name)
{
    struct buf end = BUF_INIT(256);
    buf_addf(&end, "\\end{%.*s}", STR_ARG(name));
    long at = str_find(*s, buf_str(&end));
    size_t n = at < 0 ? s->n : (size_t)at;
    break_line(t, 1);
    put(t, str_trim(str_sub(*s, 0, n)));
    break_line(t, 1);
    *s = str_sub(*s, n + end.n, s->n);
    buf_release(&end);
}

static void begin(struct tex *t, struct str *s, int depth)
{
    struct str name = argument(t, s);
    (void)depth;
    skip_options(t, s);
    if (is_verbatim(name)) {
        if (str_eq(name, STR("minted")))
            argument(t, s);
        verbatim(t, s, name);
        return;
    }
    if (str_starts(name, STR("tabular")) || str_eq(name, STR("array")) ||
        str_starts(name, STR("longtable")) || str_eq(name, STR("minipage")) ||
        str_eq(name, STR("thebibliography"))) {
        if (str_eq(name, STR("tabular*")) || str_eq(name, STR("tabularx")))
            argument(t, s);
        argument(t, s);
    }
    break_line(t, 1);
}

static void verb(struct tex *t, struct str *s)
{
    if (!s->n)
        return;
    char end = *s->p;
    *s = str_sub(*s, 1, s->n);
    put(t, str_cut(s, end));
}

static void title(struct tex *t, int depth)
{
    struct str parts[] = {t->title, t->author, t->date};
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].n) {
            convert(t, parts[i], depth + 1);
            break_line(t, 1);
        }
    }
    break_line(t, 2);
}

static void arguments(struct tex *t, const struct latex_command *c, struct str *s,
                      int depth)
{
    struct str arg[3] = {{NULL, 0}};
    for (int i = 0; i < c->n; i++) {
        arg[i] = argument(t, s);
        skip_options(t, s);
    }
    switch (c->what) {
    case KEEP:
        convert(t, arg[c->n - 1], depth + 1);
        break;
    case TEXT:
        if (c->text[0] == '\n')
            break_line(t, 2);
        else
            putz(t, c->text);
        break;
    case HEAD:
        break_line(t, 2);
        putz(t, c->text);
        convert(t, arg[0], depth + 1);
        break_line(t, 2);
        break;
    case FRAC:
        convert(t, arg[0], depth + 1);
        putz(t, "/");
        convert(t, arg[1], depth + 1);
        break;
    case FOOT:
        putz(t, "[");
        convert(t, arg[0], depth + 1);
        putz(t, "]");
        break;
    case ROOT:
        putz(t, "√(");
        convert(t, arg[0], depth + 1);
        putz(t, ")");
        break;
    case ACCENT:
        accent(t, c->text, arg[0], depth);
        break;
    case END:
        break_line(t, 1);
        break;
    default:
        break;
    }
}

/* Appends the sign of a name such as \alpha; of \textbf only the argument stays. */
static void unknown(struct tex *t, struct str name)
{
    char text[16];
    size_t n = name.n > 1 ? glyph_text(name, text, sizeof(text)) : 0;
    if (n)
        put(t, str_n(text, n));
    else if (name.n == 1 && !is_letter(name.p[0]))
        put(t,
            name.p[0] == '(' || name.p[0] == ')' || name.p[0] == '[' || name.p[0] == ']'
                ? STR("")
                : name);
}

/* \def\name#1{…} */
static void skip_definition(struct tex *t, struct str *s)
{
    long brace = str_chr(str_sub(*s, 0, 256), '{');
    if (brace < 0)
        return;
    *s = str_sub(*s, (size_t)brace, s->n);
    group(t, s, '{', '}');
}

static void command(struct tex *t, struct str *s, int depth)
{
    struct str name = command_name(s);
    struct latex_command found, *c = find_command(name, &found) ? &found : NULL;
    bool word = name.n && is_letter(name.p[0]);
    if (word && (!c || (c->what != VERB && c->what != ITEM && (c->what != TEXT || c->n))))
        skip_options(t, s);
    if (str_eq(name, STR("def"))) {
        skip_definition(t, s);
    } else if (!c) {
        unknown(t, name);
        while (word && s->n && is_space(*s->p) && *s->p != '\n')
            *s = str_sub(*s, 1, s->n);
    } else if (c->what == BEGIN) {
        begin(t, s, depth);
    } else if (c->what == ITEM) {
        skip_space(s);
        bool label = s->n && *s->p == '[';
        break_line(t, 1);
        putz(t, label ? "  " : "  * ");
        if (label) {
            convert(t, group(t, s, '[', ']'), depth + 1);
            putz(t, " ");
            skip_space(s);
        }
    } else if (c->what == VERB) {
        verb(t, s);
    } else if (c->what == TITLE) {
        title(t, depth);
    } else if (c->what == LINE) {
        skip_options(t, s);
        break_line(t, 1);
    } else {
        arguments(t, c, s, depth);
        while (word && c->n == 0 && s->n && *s->p == ' ')
            *s = str_sub(*s, 1, s->n);
    }
}

/* ---- text ---- */

static bool replaced(struct tex *t, struct str *s)
{
    static const struct {
        const char *tex, *text;
    } some[] = {{"---", "—"}, {"--", "–"}, {"``", "“"}, {"''", "”"}, {"~", " "}};
    for (size_t i = 0; i < sizeof(some) / sizeof(*some); i++) {
        struct str from = str_of(some[i].tex);
        if (str_starts(*s, from)) {
            putz(t, some[i].text);
            *s = str_sub(*s, from.n, s->n);
            return true;
        }
    }
    return false;
}

/* Skips the rest of the line, and the blanks at the start of the next one. */
static void skip_comment(struct str *s)
{
    str_cut(s, '\n');
    while (s->n && (*s->p == ' ' || *s->p == '\t'))
        *s = str_sub(*s, 1, s->n);
}

static void convert(struct tex *t, struct str s, int depth)
{
    if (depth > DEPTH_MAX)
        return;
    while (s.n && t->rc == 0 && t->work > 0) {
        char c = *s.p;
        t->work--;
        if (c == '\\') {
            s = str_sub(s, 1, s.n);
            command(t, &s, depth);
            continue;
        }
        if (c == '%') {
            skip_comment(&s);
            continue;
        }
        if (memchr("-`'~", c, 4) && replaced(t, &s))
            continue;
        s = str_sub(s, 1, s.n);
        if (c == '&') {
            while (t->out->n > t->from && t->out->p[t->out->n - 1] == ' ')
                buf_truncate(t->out, t->out->n - 1);
            put_char(t, '\t');
            skip_space(&s);
        } else if (c == '\r' || c == '{' || c == '}' || c == '$')
            continue;
        else
            put_char(t, c == '\t' ? ' ' : c);
    }
}

/* Returns the length of the verbatim text that s begins with; 0 if there is none. */
static size_t shown_as_it_is(struct str s, bool *endless)
{
    static const struct str begin = {"\\begin{verbatim}", 16};
    if (*endless || !str_starts(s, begin))
        return 0;
    long end = str_find(s, STR("\\end{verbatim}"));
    *endless = end < 0; /* it is searched for once */
    return end < 0 ? 0 : (size_t)end;
}

/* Returns where a command is, outside of comments and examples; -1 if it is missing. */
static long seek_command(struct str s, struct str command)
{
    bool endless = false;
    for (size_t i = 0; i < s.n; i++) {
        struct str rest = str_sub(s, i, s.n);
        long line = *rest.p == '%' ? str_chr(rest, '\n') : 0;
        if (line < 0)
            return -1;
        if (*rest.p == '\\' && str_starts(rest, command))
            return (long)i;
        i += *rest.p == '\\' ? shown_as_it_is(rest, &endless) + 1 : (size_t)line;
    }
    return -1;
}

/* Returns the argument of a command before the document, for \maketitle. */
static struct str setting(struct tex *t, struct str head, const char *name)
{
    long at = str_find(head, str_of(name));
    if (at < 0)
        return str_n(NULL, 0);
    struct str s = str_sub(head, (size_t)at + strlen(name), head.n);
    skip_options(t, &s);
    skip_space(&s);
    return s.n && *s.p == '{' ? group(t, &s, '{', '}') : str_n(NULL, 0);
}

int docread_latex(struct str bytes, struct buf *out, struct err *e)
{
    struct tex t = {.out = out, .from = out->n, .work = 64 * (int64_t)bytes.n + 65536};
    struct str body = bytes;
    long at = seek_command(bytes, STR("\\begin{document}"));
    if (at >= 0) {
        struct str head = str_sub(bytes, 0, (size_t)at);
        t.title = setting(&t, head, "\\title");
        t.author = setting(&t, head, "\\author");
        t.date = setting(&t, head, "\\date");
        body = str_sub(bytes, (size_t)at + 16, bytes.n);
        long end = seek_command(body, STR("\\end{document}"));
        body = end < 0 ? body : str_sub(body, 0, (size_t)end);
    }
    convert(&t, body, 0);
    while (out->n > t.from && is_space(out->p[out->n - 1]))
        buf_truncate(out, out->n - 1);
    if (t.rc == 0)
        t.rc = buf_addc(out, '\n');
    if (t.rc == 0 && t.work <= 0)
        return err_set(e, ERR_LIMIT, "its groups are nested too deeply");
    return t.rc < 0 ? docread_too_long(out, e) : 0;
}
