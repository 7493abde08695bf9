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
    KEEP,  /* keeps the last of n arguments */
    DROP,  /* n arguments */
    TEXT,  /* stands for this text */
    FOOT,  /* puts the argument in brackets */
    HEAD,  /* makes a heading: the text, then the argument */
    BEGIN, /* begins an environment */
    END,
    ITEM,
    VERB,
    FRAC,
    ROOT,
    TITLE,
    ACCENT, /* puts an accent on a letter: the text is the glyph's ending */
    LINE
};

struct latex_command {
    const char *name;
    uint8_t what, n;
    const char *text;
};

static const struct latex_command commands[] = {
    {"documentclass", DROP, 1, ""},
    {"usepackage", DROP, 1, ""},
    {"RequirePackage", DROP, 1, ""},
    {"newcommand", DROP, 2, ""},
    {"renewcommand", DROP, 2, ""},
    {"providecommand", DROP, 2, ""},
    {"newenvironment", DROP, 3, ""},
    {"newtheorem", DROP, 2, ""},
    {"DeclareMathOperator", DROP, 2, ""},
    {"setlength", DROP, 2, ""},
    {"addtolength", DROP, 2, ""},
    {"setcounter", DROP, 2, ""},
    {"addtocounter", DROP, 2, ""},
    {"label", DROP, 1, ""},
    {"index", DROP, 1, ""},
    {"pagestyle", DROP, 1, ""},
    {"thispagestyle", DROP, 1, ""},
    {"bibliographystyle", DROP, 1, ""},
    {"bibliography", DROP, 1, ""},
    {"includegraphics", DROP, 1, ""},
    {"input", DROP, 1, ""},
    {"include", DROP, 1, ""},
    {"vspace", DROP, 1, ""},
    {"hspace", DROP, 1, ""},
    {"hypersetup", DROP, 1, ""},
    {"geometry", DROP, 1, ""},
    {"graphicspath", DROP, 1, ""},
    {"definecolor", DROP, 3, ""},
    {"color", DROP, 1, ""},
    {"title", DROP, 1, ""},
    {"author", DROP, 1, ""},
    {"date", DROP, 1, ""},
    {"pagenumbering", DROP, 1, ""},
    {"hyphenation", DROP, 1, ""},
    {"textcolor", KEEP, 2, ""},
    {"href", KEEP, 2, ""},
    {"colorbox", KEEP, 2, ""},
    {"parbox", KEEP, 2, ""},
    {"raisebox", KEEP, 2, ""},
    {"hypertarget", KEEP, 2, ""},
    {"footnote", FOOT, 1, ""},
    {"multicolumn", KEEP, 3, ""},
    {"multirow", KEEP, 3, ""},
    {"ref", TEXT, 1, "<ref>"},
    {"eqref", TEXT, 1, "(<ref>)"},
    {"pageref", TEXT, 1, "<ref>"},
    {"autoref", TEXT, 1, "<ref>"},
    {"cref", TEXT, 1, "<ref>"},
    {"cite", TEXT, 1, "<cit.>"},
    {"citet", TEXT, 1, "<cit.>"},
    {"citep", TEXT, 1, "<cit.>"},
    {"part", HEAD, 1, "PART: "},
    {"chapter", HEAD, 1, "CHAPTER: "},
    {"section", HEAD, 1, "§ "},
    {"subsection", HEAD, 1, "§.§ "},
    {"subsubsection", HEAD, 1, "§.§.§ "},
    {"paragraph", HEAD, 1, ""},
    {"begin", BEGIN, 1, ""},
    {"end", END, 1, ""},
    {"item", ITEM, 0, ""},
    {"verb", VERB, 0, ""},
    {"frac", FRAC, 2, ""},
    {"dfrac", FRAC, 2, ""},
    {"tfrac", FRAC, 2, ""},
    {"sqrt", ROOT, 1, ""},
    {"maketitle", TITLE, 0, ""},
    {"'", ACCENT, 1, "acute"},
    {"`", ACCENT, 1, "grave"},
    {"^", ACCENT, 1, "circumflex"},
    {"\"", ACCENT, 1, "dieresis"},
    {"~", ACCENT, 1, "tilde"},
    {"c", ACCENT, 1, "cedilla"},
    {"v", ACCENT, 1, "caron"},
    {"u", ACCENT, 1, "breve"},
    {"H", ACCENT, 1, "hungarumlaut"},
    {"r", ACCENT, 1, "ring"},
    {"k", ACCENT, 1, "ogonek"},
    {"=", ACCENT, 1, "macron"},
    {".", ACCENT, 1, "dotaccent"},
    {"\\", LINE, 0, ""},
    {"newline", LINE, 0, ""},
    {"linebreak", LINE, 0, ""},
    {"par", TEXT, 0, "\n\n"},
    {"LaTeX", TEXT, 0, "LaTeX"},
    {"TeX", TEXT, 0, "TeX"},
    {"today", TEXT, 0, "<today>"},
    {"ldots", TEXT, 0, "…"},
    {"dots", TEXT, 0, "…"},
    {"cdots", TEXT, 0, "⋯"},
    {"textbackslash", TEXT, 0, "\\"},
    {"textasciitilde", TEXT, 0, "~"},
    {"textasciicircum", TEXT, 0, "^"},
    {"textbar", TEXT, 0, "|"},
    {"textless", TEXT, 0, "<"},
    {"textgreater", TEXT, 0, ">"},
    {"textendash", TEXT, 0, "–"},
    {"textemdash", TEXT, 0, "—"},
    {"S", TEXT, 0, "§"},
    {"P", TEXT, 0, "¶"},
    {"ss", TEXT, 0, "ß"},
    {"o", TEXT, 0, "ø"},
    {"O", TEXT, 0, "Ø"},
    {"l", TEXT, 0, "ł"},
    {"L", TEXT, 0, "Ł"},
    {"aa", TEXT, 0, "å"},
    {"AA", TEXT, 0, "Å"},
    {"i", TEXT, 0, "ı"},
    {"j", TEXT, 0, "ȷ"},
    {"quad", TEXT, 0, " "},
    {"qquad", TEXT, 0, " "},
    {",", TEXT, 0, " "},
    {";", TEXT, 0, " "},
    {":", TEXT, 0, " "},
    {" ", TEXT, 0, " "},
    {"!", TEXT, 0, ""},
    {"-", TEXT, 0, ""},
    {"/", TEXT, 0, ""},
    {"le", TEXT, 0, "≤"},
    {"leq", TEXT, 0, "≤"},
    {"ge", TEXT, 0, "≥"},
    {"geq", TEXT, 0, "≥"},
    {"ne", TEXT, 0, "≠"},
    {"neq", TEXT, 0, "≠"},
    {"times", TEXT, 0, "×"},
    {"cdot", TEXT, 0, "·"},
    {"pm", TEXT, 0, "±"},
    {"infty", TEXT, 0, "∞"},
    {"sum", TEXT, 0, "∑"},
    {"prod", TEXT, 0, "∏"},
    {"int", TEXT, 0, "∫"},
    {"partial", TEXT, 0, "∂"},
    {"to", TEXT, 0, "→"},
    {"rightarrow", TEXT, 0, "→"},
    {"leftarrow", TEXT, 0, "←"},
    {"Rightarrow", TEXT, 0, "⇒"},
    {"Leftarrow", TEXT, 0, "⇐"},
    {"Leftrightarrow", TEXT, 0, "⇔"},
    {"approx", TEXT, 0, "≈"},
    {"equiv", TEXT, 0, "≡"},
    {"sim", TEXT, 0, "∼"},
    {"in", TEXT, 0, "∈"},
    {"notin", TEXT, 0, "∉"},
    {"subset", TEXT, 0, "⊂"},
    {"subseteq", TEXT, 0, "⊆"},
    {"cup", TEXT, 0, "∪"},
    {"cap", TEXT, 0, "∩"},
    {"forall", TEXT, 0, "∀"},
    {"exists", TEXT, 0, "∃"},
    {"land", TEXT, 0, "∧"},
    {"lor", TEXT, 0, "∨"},
    {"neg", TEXT, 0, "¬"},
    {"circ", TEXT, 0, "∘"},
    {"langle", TEXT, 0, "⟨"},
    {"rangle", TEXT, 0, "⟩"},
    {"left", TEXT, 0, ""},
    {"right", TEXT, 0, ""},
    {"varepsilon", TEXT, 0, "ε"},
    {"varphi", TEXT, 0, "φ"},
    {"vartheta", TEXT, 0, "ϑ"},
    {"ell", TEXT, 0, "ℓ"},
};

static const struct latex_command *find_command(struct str name)
{
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (str_eq(name, str_of(commands[i].name)))
            return &commands[i];
    }
    return NULL;
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
    const struct latex_command *c = find_command(name);
    bool word = name.n && is_letter(name.p[0]);
    if (word && (!c || (c->what != VERB && (c->what != TEXT || c->n))))
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
        break_line(t, 1);
        putz(t, "  * ");
        skip_space(s);
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
