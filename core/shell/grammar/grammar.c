/* SPDX-License-Identifier: MIT */
/*
 * Bash's grammar (parse.y of bash 5.2, as its manual describes it), read once
 * from left to right. There is no table of tokens: whether `if`, `{` or a
 * newline means anything depends on where it stands, so each function reads one
 * construct, and a word is only looked at as a keyword where a command may begin.
 */
#include "shell/grammar/own.h"

#include <ctype.h>

/* `((` may turn out to be two subshells, read again: this often in all. */
#define AGAIN_MAX 16

/* ---- keywords ---- */

enum grammar_key {
    K_NONE,
    K_IF,
    K_THEN,
    K_ELIF,
    K_ELSE,
    K_FI,
    K_FOR,
    K_SELECT,
    K_WHILE,
    K_UNTIL,
    K_IN,
    K_DO,
    K_DONE,
    K_CASE,
    K_ESAC,
    K_FUNCTION,
    K_COPROC,
    K_TIME,
    K_NOT,
    K_OPEN,
    K_CLOSE,
    K_TEST,
    K_TESTED
};

static const struct str keys[] = {
    [K_NONE] = {"", 0},         [K_IF] = {"if", 2},
    [K_THEN] = {"then", 4},     [K_ELIF] = {"elif", 4},
    [K_ELSE] = {"else", 4},     [K_FI] = {"fi", 2},
    [K_FOR] = {"for", 3},       [K_SELECT] = {"select", 6},
    [K_WHILE] = {"while", 5},   [K_UNTIL] = {"until", 5},
    [K_IN] = {"in", 2},         [K_DO] = {"do", 2},
    [K_DONE] = {"done", 4},     [K_CASE] = {"case", 4},
    [K_ESAC] = {"esac", 4},     [K_FUNCTION] = {"function", 8},
    [K_COPROC] = {"coproc", 6}, [K_TIME] = {"time", 4},
    [K_NOT] = {"!", 1},         [K_OPEN] = {"{", 1},
    [K_CLOSE] = {"}", 1},       [K_TEST] = {"[[", 2},
    [K_TESTED] = {"]]", 2},
};

/* The short plain word here, or an empty one; sets key_end to its end. */
static struct str look(struct grammar_scan *s, char lit[KEY_MAX])
{
    size_t n = 0;
    scan_blanks(s);
    size_t at = s->at;
    while (n < KEY_MAX && !scan_is_break(scan_cur(s)))
        lit[n++] = s->text.p[s->at++];
    s->key_end = s->at;
    bool pattern = n == 1 && lit[0] == '!' && scan_cur(s) == '(';
    s->at = at;
    return str_n(lit, n == KEY_MAX || pattern ? 0 : n);
}

static enum grammar_key key(struct grammar_scan *s)
{
    char lit[KEY_MAX];
    struct str is = look(s, lit);
    for (int k = K_IF; is.n > 0 && k <= K_TESTED; k++)
        if (str_eq(is, keys[k]))
            return (enum grammar_key)k;
    return K_NONE;
}

static bool take_key(struct grammar_scan *s, enum grammar_key k)
{
    if (key(s) != k)
        return false;
    s->at = s->key_end;
    s->key_ok = true;
    return true;
}

/* Reads the keyword that ends the construct around the last list. */
static void want_key(struct grammar_scan *s, enum grammar_key k)
{
    if (!s->key_ok || !take_key(s, k))
        scan_fail(s);
}

/* ---- redirections ---- */

/* Is the operator of a redirection here? */
static bool at_redirection(struct grammar_scan *s)
{
    int c = scan_cur(s), next = scan_ahead(s);
    return ((c == '<' || c == '>') && next != '(') || (c == '&' && next == '>');
}

/* Reads the operator and the word after it. */
static void redirect(struct grammar_scan *s)
{
    bool document = false, tabs = false;
    if (scan_take(s, '&')) {
        scan_take(s, '>');
        scan_take(s, '>');
    } else if (scan_take(s, '<')) {
        if (scan_take(s, '<')) {
            document = !scan_take(s, '<');
            tabs = document && scan_take(s, '-');
        } else if (!scan_take(s, '&')) {
            scan_take(s, '>');
        }
    } else {
        scan_take(s, '>');
        if (!scan_take(s, '>') && !scan_take(s, '&'))
            scan_take(s, '|');
    }
    struct word w;
    scan_blanks(s);
    if (!scan_argument(s, &w, 0))
        scan_fail(s);
    else if (document)
        scan_document(s, w.from, w.to, tabs);
}

/* Reads the redirections after a compound command. */
static void redirections(struct grammar_scan *s)
{
    for (scan_blanks(s);; scan_blanks(s)) {
        struct word w;
        size_t at = s->at;
        if (isdigit(scan_cur(s)) || scan_cur(s) == '{') {
            if (!scan_word(s, &w, 0) || !scan_is_descriptor(s, &w)) {
                if (!s->bad)
                    s->at = at;
                return;
            }
        } else if (!at_redirection(s)) {
            return;
        }
        redirect(s);
        s->key_ok = false;
    }
}

/* ---- [[ … ]] ---- */

static void condition(struct grammar_scan *s);

static bool is_unary(struct str op)
{
    return op.n == 2 && op.p[0] == '-' && strchr("abcdefghknoprstuvwxzGLNORS", op.p[1]);
}

static bool is_binary(struct str op)
{
    static const char *const ops[] = {"=",   "==",  "!=",  "=~",  "-nt", "-ot", "-ef",
                                      "-eq", "-ne", "-lt", "-le", "-gt", "-ge"};
    for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
        if (str_eq(op, str_of(ops[i])))
            return true;
    return false;
}

static void operand(struct grammar_scan *s, int flags)
{
    struct word w;
    scan_blanks(s);
    if (key(s) == K_TESTED || !scan_argument(s, &w, flags))
        scan_fail(s);
}

/* A word, a unary or a binary test; newlines may stand only between tests. */
static void test(struct grammar_scan *s)
{
    struct word w, op;
    if (key(s) == K_TESTED || !scan_argument(s, &w, 0)) {
        scan_fail(s);
        return;
    }
    if (is_unary(scan_plain(&w))) {
        operand(s, 0);
        return;
    }
    scan_blanks(s);
    int c = scan_cur(s);
    if (c == ')' || c == '&' || c == '|' || key(s) == K_TESTED)
        return;
    if ((c == '<' || c == '>') && scan_ahead(s) != '(') {
        s->at++;
        operand(s, 0);
    } else if (scan_argument(s, &op, 0) && is_binary(scan_plain(&op))) {
        operand(s, str_eq(scan_plain(&op), STR("=~")) ? W_REGEX : 0);
    } else {
        scan_fail(s);
    }
}

static void term(struct grammar_scan *s)
{
    for (scan_newlines(s); take_key(s, K_NOT); scan_newlines(s))
        ;
    if (scan_take(s, '(')) {
        scan_enter(s);
        condition(s);
        scan_want(s, ')');
        scan_leave(s);
    } else {
        test(s);
    }
    scan_newlines(s);
}

static void condition(struct grammar_scan *s)
{
    for (;;) {
        term(s);
        int c = scan_cur(s);
        if ((c != '&' && c != '|') || scan_ahead(s) != c)
            return;
        scan_take(s, c);
        scan_take(s, c);
    }
}

/* ---- compound commands ---- */

static void group(struct grammar_scan *s, enum grammar_key end)
{
    scan_commands(s);
    want_key(s, end);
}

/* `do …; done`, or for some also `{ …; }`. */
static void body(struct grammar_scan *s, bool braces)
{
    scan_newlines(s);
    if (braces && take_key(s, K_OPEN)) {
        group(s, K_CLOSE);
    } else if (take_key(s, K_DO)) {
        group(s, K_DONE);
    } else {
        scan_fail(s);
    }
}

static void if_command(struct grammar_scan *s)
{
    do {
        scan_commands(s);
        want_key(s, K_THEN);
        scan_commands(s);
    } while (s->key_ok && take_key(s, K_ELIF));
    if (s->key_ok && take_key(s, K_ELSE))
        scan_commands(s);
    want_key(s, K_FI);
}

/* After `for`: ((a; b; c)), then optional `;` and newlines. */
static void for_arithmetic(struct grammar_scan *s)
{
    scan_beyond(s, B_ARITHMETIC);
    scan_take(s, '(');
    scan_take(s, '(');
    scan_pair(s, '(', ')');
    bool three = s->semicolons == 2;
    scan_want(s, ')');
    scan_blanks(s);
    scan_take(s, ';');
    body(s, true);
    if (!three)
        scan_refuse(s); /* as bash: not before the end is seen */
}

static void for_command(struct grammar_scan *s, bool select)
{
    struct word w;
    if (select)
        scan_beyond(s, B_SELECT);
    scan_blanks(s);
    if (scan_cur(s) == '(' && scan_ahead(s) == '(' && !select) {
        for_arithmetic(s);
        return;
    }
    if (!scan_argument(s, &w, 0)) {
        scan_fail(s);
        return;
    }
    scan_blanks(s);
    if (scan_take(s, ';')) {
        body(s, true);
        return;
    }
    scan_newlines(s);
    if (take_key(s, K_IN)) {
        for (scan_blanks(s); scan_argument(s, &w, 0); scan_blanks(s))
            ;
        scan_line_end(s);
        if (!scan_take(s, ';') && scan_cur(s) != '\n')
            scan_fail(s);
    }
    body(s, true);
}

/* `;;`, `;&`, `;;&`. */
static bool at_clause_end(struct grammar_scan *s)
{
    return scan_cur(s) == ';' && (scan_ahead(s) == ';' || scan_ahead(s) == '&');
}

static void patterns(struct grammar_scan *s)
{
    struct word w;
    do {
        scan_blanks(s);
        if (!scan_argument(s, &w, 0))
            scan_fail(s);
        scan_blanks(s);
    } while (scan_take(s, '|'));
    scan_want(s, ')');
}

static void case_command(struct grammar_scan *s)
{
    struct word w;
    scan_beyond(s, B_CASE);
    scan_blanks(s);
    if (!scan_argument(s, &w, 0))
        scan_fail(s);
    scan_newlines(s);
    if (!take_key(s, K_IN))
        scan_fail(s);
    for (scan_newlines(s); !s->bad; scan_newlines(s)) {
        if (take_key(s, K_ESAC))
            return;
        scan_take(s, '(');
        patterns(s);
        scan_newlines(s);
        s->key_ok = true;
        if (!at_clause_end(s) && key(s) != K_ESAC)
            scan_commands(s);
        scan_blanks(s);
        if (!at_clause_end(s)) {
            want_key(s, K_ESAC);
            return;
        }
        scan_take(s, ';');
        scan_take(s, ';');
        scan_take(s, '&');
    }
}

/* (( … )), if it ends in both parentheses; else it is read again as a subshell. */
static bool arithmetic(struct grammar_scan *s)
{
    size_t from = s->at;
    scan_take(s, '(');
    if (!scan_take(s, '(')) {
        s->at = from;
        return false;
    }
    scan_pair(s, '(', ')');
    if (s->bad || scan_take(s, ')')) {
        scan_beyond(s, B_ARITHMETIC);
        return true;
    }
    s->again += s->at - from;
    s->at = from;
    if (s->again / AGAIN_MAX > s->text.n)
        scan_refuse(s);
    return false;
}

static void subshell(struct grammar_scan *s)
{
    scan_take(s, '(');
    scan_commands(s);
    scan_blanks(s);
    scan_want(s, ')');
}

static void while_command(struct grammar_scan *s)
{
    s->single = false;
    scan_commands(s);
    if (s->single)
        scan_beyond(s, B_WHILE);
    if (!s->key_ok)
        scan_fail(s);
    body(s, false);
}

static void test_command(struct grammar_scan *s)
{
    scan_beyond(s, B_TEST);
    condition(s);
    if (!take_key(s, K_TESTED))
        scan_fail(s);
}

/* Reads the rest of the command that begins with the keyword k. */
static void keyword_command(struct grammar_scan *s, enum grammar_key k)
{
    switch (k) {
    case K_OPEN:
        group(s, K_CLOSE);
        break;
    case K_IF:
        if_command(s);
        break;
    case K_FOR:
    case K_SELECT:
        for_command(s, k == K_SELECT);
        break;
    case K_WHILE:
    case K_UNTIL:
        while_command(s);
        break;
    case K_CASE:
        case_command(s);
        break;
    default:
        test_command(s);
    }
}

static bool begins_compound(enum grammar_key k)
{
    return k == K_OPEN || k == K_IF || k == K_FOR || k == K_SELECT || k == K_WHILE ||
           k == K_UNTIL || k == K_CASE || k == K_TEST;
}

/* Reads a compound command; false if there is none. */
static bool compound(struct grammar_scan *s)
{
    enum grammar_key k = key(s);
    if (scan_cur(s) != '(' && !begins_compound(k))
        return false;
    scan_enter(s);
    if (k != K_NONE) {
        take_key(s, k);
        keyword_command(s, k);
    } else if (!arithmetic(s)) {
        subshell(s);
    }
    scan_leave(s);
    s->key_ok = true;
    redirections(s);
    return true;
}

/* After `function NAME` or NAME(). */
static void function_body(struct grammar_scan *s)
{
    scan_newlines(s);
    if (!compound(s))
        scan_fail(s);
}

static void function_command(struct grammar_scan *s)
{
    struct word w;
    scan_blanks(s);
    if (!scan_argument(s, &w, 0))
        scan_fail(s);
    scan_blanks(s);
    if (scan_cur(s) == '(') {
        size_t at = s->at;
        s->at++;
        scan_blanks(s);
        if (!scan_take(s, ')'))
            s->at = s->bad ? s->at : at; /* the body is a subshell */
    }
    function_body(s);
}

/* ---- commands ---- */

static bool takes_arrays(struct str name)
{
    static const char *const names[] = {"alias", "declare", "eval",     "export",
                                        "let",   "local",   "readonly", "typeset"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (str_eq(name, str_of(names[i])))
            return true;
    return false;
}

/*
 * Assignments, redirections and words; or NAME() and its body. `first` is a word
 * that was read already, or NULL.
 */
static void simple(struct grammar_scan *s, const struct word *first)
{
    size_t parts = 0;
    int flags = W_COMMAND;
    for (;; parts++) {
        struct word w;
        bool again = parts == 0 && first;
        if (again)
            w = *first;
        else
            scan_blanks(s);
        if (!again && at_redirection(s)) {
            redirect(s);
            continue;
        }
        if (!again && !scan_word(s, &w, flags))
            break;
        if (scan_is_descriptor(s, &w)) {
            redirect(s);
            continue;
        }
        if ((flags & W_COMMAND) && w.assigns)
            continue;
        scan_blanks(s);
        if (parts == 0 && scan_take(s, '(')) {
            scan_blanks(s);
            scan_want(s, ')');
            function_body(s);
            return;
        }
        if (flags & W_COMMAND)
            flags = takes_arrays(scan_plain(&w)) ? W_ASSIGNS : 0;
    }
    if (parts == 0)
        scan_fail(s);
    s->key_ok = false;
}

/* `coproc COMMAND`, or `coproc NAME` and a compound one. */
static void coprocess(struct grammar_scan *s)
{
    struct word w;
    scan_beyond(s, B_COPROC);
    if (compound(s))
        return;
    bool named = scan_word(s, &w, W_COMMAND);
    if (named && scan_is_break(scan_cur(s)) && !at_redirection(s) && compound(s))
        return;
    simple(s, named ? &w : NULL);
}

static void command(struct grammar_scan *s)
{
    if (s->bad || compound(s))
        return;
    switch (key(s)) {
    case K_FUNCTION:
        take_key(s, K_FUNCTION);
        function_command(s);
        break;
    case K_COPROC:
        take_key(s, K_COPROC);
        coprocess(s);
        break;
    case K_TIME: /* no keyword behind a | */
        scan_beyond(s, B_TIME);
        simple(s, NULL);
        break;
    case K_NONE:
        simple(s, NULL);
        break;
    default:
        scan_fail(s); /* the keyword belongs to a construct that was not begun */
    }
}

/* Passes over the word, if it is here. */
static void take_option(struct grammar_scan *s, struct str option)
{
    char lit[KEY_MAX];
    if (str_eq(look(s, lit), option))
        s->at = s->key_end;
}

/* `!` and `time [-p] [--]`, in any number; true: no command need follow. */
static bool prefixes(struct grammar_scan *s)
{
    bool any = false;
    for (;; any = true) {
        if (take_key(s, K_NOT))
            continue;
        if (!take_key(s, K_TIME))
            break;
        scan_beyond(s, B_TIME);
        take_option(s, STR("-p"));
        take_option(s, STR("--"));
    }
    scan_blanks(s);
    int c = scan_cur(s);
    bool none = any && (c == END || c == '\n' || c == ';');
    if (none)
        scan_beyond(s, B_NOT);
    return none;
}

static void pipeline(struct grammar_scan *s)
{
    if (prefixes(s))
        return;
    for (;;) {
        command(s);
        scan_blanks(s);
        if (scan_cur(s) != '|' || scan_ahead(s) == '|')
            return;
        scan_take(s, '|');
        scan_take(s, '&');
        scan_newlines(s);
    }
}

/* Pipelines joined by && and ||; sets `joined` if there is more than one. */
static void and_or(struct grammar_scan *s)
{
    for (bool joined = false;; joined = true) {
        pipeline(s);
        scan_blanks(s);
        int c = scan_cur(s);
        s->joined = joined;
        if ((c != '&' && c != '|') || scan_ahead(s) != c)
            return;
        scan_take(s, c);
        scan_take(s, c);
        scan_newlines(s);
    }
}

/* Does the list of scan_commands() end here, after a separator? */
static bool at_list_end(struct grammar_scan *s)
{
    if (scan_cur(s) == END || scan_cur(s) == ')' || at_clause_end(s))
        return true;
    switch (key(s)) {
    case K_THEN:
    case K_ELIF:
    case K_ELSE:
    case K_FI:
    case K_DO:
    case K_DONE:
    case K_ESAC:
    case K_CLOSE:
        return true;
    default:
        return false;
    }
}

void scan_commands(struct grammar_scan *s)
{
    bool background = false, first = true, later = false;
    scan_newlines(s);
    do {
        and_or(s);
        int c = scan_cur(s);
        s->single = first && !s->joined && c == '\n';
        first = false;
        s->joined = !later && (s->joined || background);
        background = c == '&';
        if (c == '\n') {
            scan_newlines(s);
            s->joined = false;
            later = true; /* of a substitution, the first line is parsed */
        } else if ((c == ';' || c == '&') && !at_clause_end(s)) {
            s->at++;
            scan_blanks(s);
            s->joined = !later && scan_cur(s) == ')';
            later = later || scan_cur(s) == '\n';
            scan_newlines(s);
        } else {
            scan_line_end(s);
            return;
        }
        s->key_ok = true;
    } while (!s->bad && !at_list_end(s));
}

/* What bash reads before it runs anything: commands up to the end of a line. */
static void complete_command(struct grammar_scan *s)
{
    for (;;) {
        and_or(s);
        int c = scan_cur(s);
        if (c == END || c == '\n')
            return;
        if ((c != ';' && c != '&') || at_clause_end(s)) {
            scan_fail(s);
            return;
        }
        s->at++;
        scan_blanks(s);
        if (scan_cur(s) == END || scan_cur(s) == '\n')
            return;
    }
}

void scan_all(struct grammar_scan *s)
{
    for (scan_newlines(s); scan_cur(s) != END; scan_newlines(s))
        complete_command(s);
}

size_t v0_scan(struct str text, struct v0_piece *out, size_t max)
{
    struct grammar_scan s = {.text = text};
    size_t count = 0, from = 0;
    if (str_chr(text, '\n') < 0) { /* most texts: one command, whatever it is */
        if (max > 0)
            out[0].text = text;
        return 1;
    }
    for (scan_newlines(&s); scan_cur(&s) != END; scan_newlines(&s)) {
        if (count > 0 && count <= max)
            out[count - 1].text = str_sub(text, from, s.at - from);
        from = count > 0 ? s.at : 0;
        count++;
        complete_command(&s);
    }
    if (s.bad || s.late || s.heres > 0 || count <= 1) {
        count = 1;
        from = 0;
    }
    if (count <= max)
        out[count - 1].text = str_sub(text, from, text.n);
    return count;
}

/* Takes a newline and, before it, a backslash from the end: whether there is one. */
static bool take_backslash(struct str *text)
{
    size_t n = text->n, slashes = 0;
    n -= n > 0 && text->p[n - 1] == '\n';
    while (slashes < n && text->p[n - 1 - slashes] == '\\')
        slashes++;
    if (slashes % 2 == 0)
        return false;
    text->n = n - 1;
    return true;
}

/*
 * The original server divides a text with bashlex 0.18 (a public parser of bash's
 * grammar in Python), and runs the text whole if that raises an error. These are the
 * constructs for which it does, as its source, tests and issues show. They may be
 * anywhere in the text, also in a function or a substitution.
 *
 *   B_TEST        `[[` is a token of its own that no rule takes
 *   B_CASE        patterns: NotImplementedError
 *   B_SELECT, B_COPROC, B_TIME   NotImplementedError
 *   B_NOT         `!` without a command: AttributeError
 *   B_ARITHMETIC  the tokenizer has no `((`; what it makes of it mostly does not parse
 *   B_EXPANSION   $((…)) and $[…]: NotImplementedError (README, "Limitations")
 *   B_ARRAY       a word is not joined to the `(` behind it
 *   B_PATTERN     the same, of ?(…) and its kind
 *   B_DOCUMENT    the delimiter is looked for with its quotes
 *   B_LIST        before the `)` of a substitution, only commands joined by `;` or `|`
 *                 are reduced: not a && b, not a & b, no `;` at the end, not nothing
 *   B_HASH        in a substitution, `#` within a word begins a comment
 *   B_QUOTES      unless the whole word is quoted, single quotes do not keep $( and `
 *                 from being parsed, nor do double quotes within the word keep <(
 *   B_WHILE       asserts that a separator other than a newline is before `do`
 *   B_END         a backslash at the end joins the last line to nothing
 */
const char *v0_scan_beyond(struct str text)
{
    static const char *const names[B_COUNT] = {
        [B_TEST] = "[[ … ]]",
        [B_CASE] = "case",
        [B_SELECT] = "select",
        [B_COPROC] = "coproc",
        [B_TIME] = "time",
        [B_NOT] = "! without a command",
        [B_ARITHMETIC] = "((…))",
        [B_EXPANSION] = "$((…))",
        [B_ARRAY] = "an array",
        [B_PATTERN] = "an extended pattern",
        [B_DOCUMENT] = "a here document with a quoted delimiter",
        [B_LIST] = "a list at the end of a substitution",
        [B_HASH] = "# in a substitution",
        [B_QUOTES] = "a substitution in quotes",
        [B_WHILE] = "while without a separator before do",
        [B_END] = "a backslash at the end"};
    struct grammar_scan s = {.text = text};
    scan_all(&s);
    if (take_backslash(&text))
        scan_beyond(&s, B_END);
    return names[s.beyond];
}

bool v0_scan_lacks_document(struct str text)
{
    struct grammar_scan s = {.text = text};
    if (str_find(text, STR("<<")) < 0)
        return false;
    scan_all(&s);
    return !s.bad && s.heres > 0;
}

/* Is the text bad only because of a word at its end? */
static bool bad_word_last(const struct grammar_scan *s)
{
    if (s->bad_at > s->text.n)
        return false;
    for (size_t i = s->bad_at; i < s->text.n; i++)
        if (scan_is_break(s->text.p[i]))
            return false;
    return true;
}

bool v0_scan_open(struct str text)
{
    bool goes_on = take_backslash(&text);
    struct grammar_scan s = {.text = text};
    scan_all(&s);
    if (s.bad ? s.more : s.heres > 0)
        return true;
    return goes_on && !s.comment && (!s.bad || bad_word_last(&s));
}
