/* SPDX-License-Identifier: MIT */
/*
 * The search for calls, and the grammar of their values.
 *
 * The parser tries to read a call at every place where a name can begin; if that fails,
 * it goes on after the name, so that calls within broken ones are found as the reference
 * finds them. Each try may read to the end of the text, so all tries together have a
 * budget of work.
 */
#include "webpage/browse_action.h"

#include "base/utf8.h"
#include "base/xalloc.h"

#include <float.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORK_PER_BYTE = 64, WORK_MIN = 1 << 20 };

struct parser {
    struct str text;
    size_t i;
    size_t work, values;
    struct browse_value *all;
    int depth;
    size_t bad_at;       /* the furthest offset at which a try failed */
    const char *bad_why; /* NULL: none failed */
};

static int fail(struct parser *p, const char *why)
{
    if (!p->bad_why || p->i >= p->bad_at) {
        p->bad_at = p->i;
        p->bad_why = why;
    }
    return -1;
}

static int look(struct parser *p)
{
    if (p->work > 0)
        p->work--;
    return p->i < p->text.n && p->work > 0 ? (unsigned char)p->text.p[p->i] : -1;
}

static void skip_space(struct parser *p)
{
    for (int c; (c = look(p)) >= 0;) {
        if (c == '#') {
            while ((c = look(p)) >= 0 && c != '\n')
                p->i++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            p->i++;
        } else {
            return;
        }
    }
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static bool begins_name(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c >= 0x80;
}

static struct str name(struct parser *p)
{
    size_t from = p->i;
    while (begins_name(look(p)) || (p->i > from && is_digit(look(p))))
        p->i++;
    return str_sub(p->text, from, p->i - from);
}

static struct browse_value *new_value(struct parser *p, enum browse_kind kind)
{
    struct browse_value *v = xnew(struct browse_value);
    v->kind = kind;
    v->older = p->all;
    p->all = v;
    p->values++;
    return v;
}

/* Frees the values made since. */
static void forget(struct parser *p, struct browse_value *since)
{
    while (p->all != since) {
        struct browse_value *v = p->all;
        p->all = v->older;
        p->values--;
        free(v->own);
        free(v);
    }
}

/* ---- texts ---- */

static int hex_digits(struct parser *p, int n, uint32_t *out)
{
    *out = 0;
    for (int k = 0; k < n; k++, p->i++) {
        int c = look(p), low = c | 0x20;
        if (is_digit(c))
            *out = *out * 16 + (uint32_t)(c - '0');
        else if (c >= 0 && low >= 'a' && low <= 'f')
            *out = *out * 16 + (uint32_t)(low - 'a' + 10);
        else
            return fail(p, "an escape needs more hexadecimal digits");
    }
    return 0;
}

static void put_char(char *out, size_t *n, uint32_t c)
{
    if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
        c = 0xfffd;
    *n += (size_t)utf8_encode(c, out + *n);
}

/* Decodes what follows a backslash. The result is never longer than the escape. */
static int escape(struct parser *p, char *out, size_t *n)
{
    static const char from[] = "ntr\\'\"abfv", to[] = "\n\t\r\\'\"\a\b\f\v";
    int c = look(p);
    uint32_t code = 0;
    if (c < 0)
        return fail(p, "a text is not closed");
    p->i++;
    const char *simple = c ? strchr(from, c) : NULL;
    if (simple) {
        out[(*n)++] = to[simple - from];
    } else if (c == '\n') {
        return 0;
    } else if (c >= '0' && c <= '7') {
        code = (uint32_t)(c - '0');
        for (int k = 0; k < 2 && (c = look(p)) >= '0' && c <= '7'; k++, p->i++)
            code = code * 8 + (uint32_t)(c - '0');
        put_char(out, n, code);
    } else if (c == 'x' || c == 'u' || c == 'U') {
        if (hex_digits(p, c == 'x' ? 2 : c == 'u' ? 4 : 8, &code) < 0)
            return -1;
        put_char(out, n, code);
    } else {
        out[(*n)++] = '\\';
        p->i--;
        out[(*n)++] = p->text.p[p->i++];
    }
    return 0;
}

static bool closes(struct parser *p, int quote, bool triple)
{
    const char *q = p->text.p + p->i;
    if (*q != quote)
        return false;
    return !triple || (p->i + 2 < p->text.n && q[1] == quote && q[2] == quote);
}

/* Keeps a text; invalid UTF-8 is replaced. */
static void keep_text(struct browse_value *v, char *bytes, size_t n)
{
    struct buf b = BUF_INIT(3 * n + 1);
    v->own = bytes;
    v->text = str_n(bytes, n);
    if (utf8_valid(v->text))
        return;
    utf8_repair(&b, v->text, false);
    size_t length = b.n;
    free(v->own);
    v->own = buf_take(&b);
    v->text = str_n(v->own, length);
}

static struct browse_value *parse_text(struct parser *p, int quote)
{
    bool triple = p->i + 2 < p->text.n && p->text.p[p->i + 1] == quote &&
                  p->text.p[p->i + 2] == quote;
    size_t from = p->i + (triple ? 3 : 1), end = from;
    /* Finds the length first, so that a text without an end takes no memory. */
    for (p->i = from; look(p) >= 0 && !closes(p, quote, triple); p->i++) {
        if (p->text.p[p->i] == '\n' && !triple)
            break;
        if (p->text.p[p->i] == '\\')
            p->i++;
    }
    if (look(p) < 0 || !closes(p, quote, triple)) {
        p->i = p->i > p->text.n ? p->text.n : p->i;
        fail(p, triple ? "a text in triple quotes is not closed"
                       : "a text is not closed in its line");
        return NULL;
    }
    end = p->i;
    char *out = xcalloc(end - from + 4,
                        1); /* octal \377 is four bytes, and becomes two */
    size_t n = 0;
    for (p->i = from; p->i < end;) {
        char c = p->text.p[p->i++];
        if (c != '\\') {
            out[n++] = c;
        } else if (escape(p, out, &n) < 0) {
            free(out);
            return NULL;
        }
    }
    p->i = end + (triple ? 3 : 1);
    struct browse_value *v = new_value(p, BROWSE_STR);
    keep_text(v, out, n);
    return v;
}

/* ---- other values ---- */

static size_t digits(struct parser *p)
{
    size_t from = p->i;
    while (is_digit(look(p)))
        p->i++;
    return p->i - from;
}

static struct browse_value *parse_number(struct parser *p)
{
    char z[64];
    size_t from = p->i, n = 0;
    bool real = false;
    if (look(p) == '+' || look(p) == '-')
        p->i++;
    n = digits(p);
    if (look(p) == '.') {
        real = true;
        p->i++;
        n += digits(p);
    }
    if (n > 0 && (look(p) | 0x20) == 'e') {
        size_t before = p->i++;
        if (look(p) == '+' || look(p) == '-')
            p->i++;
        if (digits(p) > 0)
            real = true;
        else
            p->i = before;
    }
    if (n == 0 || p->i - from >= sizeof(z)) {
        fail(p, n ? "a number is too long"
                  : "a value is missing here: a text in quotes, "
                    "a number, a list, True, False or None");
        return NULL;
    }
    memcpy(z, p->text.p + from, p->i - from);
    z[p->i - from] = '\0';
    double number = strtod(z, NULL);
    if (number > DBL_MAX || number < -DBL_MAX) {
        fail(p, "a number is too large");
        return NULL;
    }
    struct browse_value *v = new_value(p, real ? BROWSE_REAL : BROWSE_INT);
    v->number = number;
    return v;
}

static struct browse_value *parse_value(struct parser *p);

static struct browse_value *parse_word(struct parser *p)
{
    struct str w = name(p);
    bool truth = str_eq(w, STR("True"));
    if (!truth && !str_eq(w, STR("False")) && !str_eq(w, STR("None"))) {
        fail(p, "a word without quotes is not a value");
        return NULL;
    }
    struct browse_value *v = new_value(p, str_eq(w, STR("None")) ? BROWSE_NONE
                                                                 : BROWSE_BOOL);
    v->truth = truth;
    return v;
}

/* Parses the key of a dict and its colon. */
static struct browse_value *parse_key(struct parser *p)
{
    int c = look(p);
    if (c != '\'' && c != '"') {
        fail(p, "a key should be a text in quotes");
        return NULL;
    }
    struct browse_value *v = parse_text(p, c);
    skip_space(p);
    if (v && look(p) != ':') {
        fail(p, "a colon is missing after a key");
        return NULL;
    }
    p->i++;
    skip_space(p);
    return v;
}

static struct browse_value *parse_items(struct parser *p, int close)
{
    struct browse_value *v = new_value(p, close == ']'   ? BROWSE_LIST
                                          : close == ')' ? BROWSE_TUPLE
                                                         : BROWSE_DICT);
    struct browse_value **last = &v->items;
    p->i++;
    for (skip_space(p); look(p) != close; skip_space(p)) {
        if (close == '}') {
            if (!(*last = parse_key(p)))
                return NULL;
            last = &(*last)->next;
        }
        if (!(*last = parse_value(p)))
            return NULL;
        last = &(*last)->next;
        skip_space(p);
        if (look(p) == ',') {
            p->i++;
        } else if (look(p) != close) {
            fail(p, "a list is not closed");
            return NULL;
        }
    }
    p->i++;
    return v;
}

static struct browse_value *parse_value(struct parser *p)
{
    struct browse_value *v = NULL;
    int c = look(p);
    if (p->values >= BROWSE_VALUES_MAX || p->depth >= BROWSE_DEPTH_MAX) {
        fail(p, "there are more values than a call may have");
        return NULL;
    }
    p->depth++;
    if (c == '\'' || c == '"')
        v = parse_text(p, c);
    else if (c == '[' || c == '(' || c == '{')
        v = parse_items(p, c == '[' ? ']' : c == '(' ? ')' : '}');
    else if (begins_name(c))
        v = parse_word(p);
    else
        v = parse_number(p);
    p->depth--;
    return v;
}

/* ---- calls ---- */

/* Takes the name of an argument and its equals sign, if they come next. */
static struct str parse_keyword(struct parser *p)
{
    size_t from = p->i;
    struct str w = name(p);
    skip_space(p);
    if (w.n > 0 && look(p) == '=') {
        p->i++;
        skip_space(p);
        return w;
    }
    p->i = from;
    return STR("");
}

static int parse_args(struct parser *p, struct browse_value **last)
{
    bool named = false;
    p->i++;
    for (skip_space(p); look(p) != ')'; skip_space(p)) {
        struct str w = parse_keyword(p);
        if (named && w.n == 0)
            return fail(p, "an argument without a name follows one with a name");
        named = w.n > 0;
        if (!(*last = parse_value(p)))
            return -1;
        (*last)->name = w;
        last = &(*last)->next;
        skip_space(p);
        if (look(p) == ',')
            p->i++;
        else if (look(p) != ')')
            return fail(p, "a comma or ) is missing after an argument");
    }
    p->i++;
    return 0;
}

static int parse_call(struct parser *p, struct browse_call *c)
{
    c->at = p->i;
    c->name = name(p);
    c->args = NULL;
    size_t behind = p->i;
    skip_space(p);
    if (look(p) == '(') {
        struct browse_value *since = p->all;
        if (parse_args(p, &c->args) == 0)
            return 0;
        forget(p, since);
        p->depth = 0;
    }
    p->i = behind;
    return -1;
}

static void say_where(const struct parser *p, struct err *why)
{
    size_t line = 1, column = 1;
    for (size_t i = 0; i < p->bad_at && i < p->text.n; i++) {
        column++;
        if (p->text.p[i] == '\n') {
            line++;
            column = 1;
        }
    }
    if (p->work == 0)
        err_set(why, ERR_LIMIT, "the text takes too long to search for calls");
    else if (p->bad_why)
        err_set(why, ERR_INVALID, "line %zu, column %zu: %s", line, column, p->bad_why);
    else
        err_set(why, ERR_INVALID, "there is no call like click('12') in the text");
}

static int find_calls(struct parser *p, struct browse_text *out, struct err *e,
                      struct err *why)
{
    for (skip_space(p); look(p) >= 0; skip_space(p)) {
        struct browse_call c;
        if (!begins_name(look(p))) {
            p->i++;
            continue;
        }
        if (parse_call(p, &c) < 0)
            continue;
        if (out->n == BROWSE_CALLS_MAX) {
            err_set(why, ERR_LIMIT, "there are more than %d calls", BROWSE_CALLS_MAX);
            return err_set(e, ERR_LIMIT, "ValueError: Received more than %d actions.",
                           BROWSE_CALLS_MAX);
        }
        if (out->n % 8 == 0)
            out->calls = xrealloc(out->calls, out->n + 8, sizeof(c));
        out->calls[out->n++] = c;
    }
    return 0;
}

void browse_text_release(struct browse_text *t)
{
    struct parser p = {.all = t->all};
    forget(&p, NULL);
    free(t->calls);
    *t = (struct browse_text){0};
}

/* ---- what calls mean ---- */

struct signature {
    const char *name;
    unsigned needed;
    const char *params[BROWSE_PARAMS_MAX];
};

static const struct signature signatures[] = {
    [BROWSE_NOOP] = {"noop", 0, {"wait_ms"}},
    [BROWSE_SEND_MSG] = {"send_msg_to_user", 1, {"text"}},
    [BROWSE_INFEASIBLE] = {"report_infeasible", 1, {"reason"}},
    [BROWSE_GOTO] = {"goto", 1, {"url"}},
    [BROWSE_GO_BACK] = {"go_back", 0, {NULL}},
    [BROWSE_GO_FORWARD] = {"go_forward", 0, {NULL}},
    [BROWSE_NEW_TAB] = {"new_tab", 0, {NULL}},
    [BROWSE_TAB_CLOSE] = {"tab_close", 0, {NULL}},
    [BROWSE_TAB_FOCUS] = {"tab_focus", 1, {"index"}},
    [BROWSE_CLICK] = {"click", 1, {"bid", "button", "modifiers"}},
    [BROWSE_DBLCLICK] = {"dblclick", 1, {"bid", "button", "modifiers"}},
    [BROWSE_HOVER] = {"hover", 1, {"bid"}},
    [BROWSE_FILL] = {"fill", 2, {"bid", "value", "enable_autocomplete_menu"}},
    [BROWSE_CLEAR] = {"clear", 1, {"bid"}},
    [BROWSE_CHECK] = {"check", 1, {"bid"}},
    [BROWSE_UNCHECK] = {"uncheck", 1, {"bid"}},
    [BROWSE_SELECT] = {"select_option", 2, {"bid", "options"}},
    [BROWSE_PRESS] = {"press", 2, {"bid", "key_comb"}},
    [BROWSE_FOCUS] = {"focus", 1, {"bid"}},
    [BROWSE_DRAG] = {"drag_and_drop", 2, {"from_bid", "to_bid"}},
    [BROWSE_UPLOAD] = {"upload_file", 2, {"bid", "file"}},
    [BROWSE_SCROLL] = {"scroll", 2, {"delta_x", "delta_y"}},
    [BROWSE_SCROLL_AT] = {"scroll_at", 4, {"x", "y", "dx", "dy"}},
    [BROWSE_MOUSE_MOVE] = {"mouse_move", 2, {"x", "y"}},
    [BROWSE_MOUSE_DOWN] = {"mouse_down", 2, {"x", "y", "button"}},
    [BROWSE_MOUSE_UP] = {"mouse_up", 2, {"x", "y", "button"}},
    [BROWSE_MOUSE_CLICK] = {"mouse_click", 2, {"x", "y", "button"}},
    [BROWSE_MOUSE_DBLCLICK] = {"mouse_dblclick", 2, {"x", "y", "button"}},
    [BROWSE_MOUSE_DRAG] = {"mouse_drag_and_drop",
                           4,
                           {"from_x", "from_y", "to_x", "to_y"}},
    [BROWSE_MOUSE_UPLOAD] = {"mouse_upload_file", 3, {"x", "y", "file"}},
    [BROWSE_KEY_PRESS] = {"keyboard_press", 1, {"key"}},
    [BROWSE_KEY_DOWN] = {"keyboard_down", 1, {"key"}},
    [BROWSE_KEY_UP] = {"keyboard_up", 1, {"key"}},
    [BROWSE_KEY_TYPE] = {"keyboard_type", 1, {"text"}},
    [BROWSE_KEY_INSERT] = {"keyboard_insert_text", 1, {"text"}},
    [BROWSE_WAIT_FOR] = {"wait_for", 0, {"what", "ms", "text", "bid", "selector"}},
    [BROWSE_RELOAD] = {"reload", 0, {NULL}},
};
enum { ACTIONS = sizeof(signatures) / sizeof(signatures[0]) };

void browse_action_names(struct buf *out)
{
    for (size_t i = 0; i < ACTIONS; i++)
        buf_addf(out, "%s%s", i ? ", " : "", signatures[i].name);
}

static int know_calls(struct browse_text *t, struct err *e, struct err *why)
{
    for (size_t i = 0; i < t->n; i++) {
        struct browse_call *c = &t->calls[i];
        int k = 0;
        while (k < ACTIONS && !str_eq(c->name, str_of(signatures[k].name)))
            k++;
        if (k == ACTIONS) {
            int n = c->name.n > 200 ? 200 : (int)c->name.n;
            err_set(why, ERR_INVALID, "byte %zu: there is no action %.*s", c->at, n,
                    c->name.p);
            return err_set(e, ERR_INVALID, "NameError: Invalid action type '%.*s'.", n,
                           c->name.p);
        }
        c->what = (enum browse_do)k;
        c->name = str_of(signatures[k].name);
    }
    return 0;
}

int browse_parse(struct browse_text *out, struct str text, struct err *e, struct err *why)
{
    struct parser p = {.text = text, .work = WORK_PER_BYTE * text.n + WORK_MIN};
    *out = (struct browse_text){0};
    if (text.n > BROWSE_TEXT_MAX) {
        err_set(why, ERR_LIMIT, "the text has %zu bytes, more than %d", text.n,
                BROWSE_TEXT_MAX);
        return err_set(e, ERR_LIMIT, "ValueError: Received an action of %zu bytes.",
                       text.n);
    }
    int r = find_calls(&p, out, e, why);
    out->all = p.all;
    if (r < 0)
        return -1;
    if (out->n == 0 || p.work == 0) {
        say_where(&p, why);
        return err_set(e, ERR_INVALID, "ValueError: Received an empty action.");
    }
    return know_calls(out, e, why);
}

/* Sets the error for missing arguments, as Python lists them: 'a', 'b', and 'c'. */
static int missing(const struct signature *s, const struct browse_bound *b, struct err *e)
{
    const char *names[BROWSE_PARAMS_MAX];
    unsigned n = 0;
    struct buf list = BUF_INIT(256);
    for (unsigned i = 0; i < s->needed; i++) {
        if (!b->arg[i])
            names[n++] = s->params[i];
    }
    if (n == 0)
        return 0;
    for (unsigned i = 0; i < n; i++)
        buf_addf(&list, "%s'%s'",
                 i == 0      ? ""
                 : i + 1 < n ? ", "
                 : n == 2    ? " and "
                             : ", and ",
                 names[i]);
    err_set(e, ERR_INVALID,
            "TypeError: %s() missing %u required positional argument%s: %s", s->name, n,
            n > 1 ? "s" : "", buf_z(&list));
    buf_release(&list);
    return -1;
}

static int too_many(const struct signature *s, unsigned all, unsigned given,
                    struct err *e)
{
    char takes[64];
    if (s->needed == all)
        snprintf(takes, sizeof(takes), "%u positional argument%s", all,
                 all == 1 ? "" : "s");
    else
        snprintf(takes, sizeof(takes), "from %u to %u positional argument%s", s->needed,
                 all, all == 1 ? "" : "s");
    return err_set(e, ERR_INVALID, "TypeError: %s() takes %s but %u %s given", s->name,
                   takes, given, given == 1 ? "was" : "were");
}

static int by_name(const struct signature *s, unsigned all, const struct browse_value *v,
                   struct browse_bound *out, struct err *e)
{
    unsigned i = 0;
    int n = v->name.n > 100 ? 100 : (int)v->name.n;
    while (i < all && !str_eq(v->name, str_of(s->params[i])))
        i++;
    if (i == all)
        return err_set(e, ERR_INVALID,
                       "TypeError: %s() got an unexpected keyword argument '%.*s'",
                       s->name, n, v->name.p);
    if (out->arg[i])
        return err_set(e, ERR_INVALID,
                       "TypeError: %s() got multiple values for argument '%.*s'", s->name,
                       n, v->name.p);
    out->arg[i] = v;
    return 0;
}

/* Cuts a long repr, with a mark at its end. */
static void cut_repr(struct buf *repr)
{
    buf_resume(repr);
    if (buf_room(repr) < strlen("…"))
        buf_truncate(repr, utf8_cut(buf_str(repr), repr->n - strlen("…")));
    buf_addz(repr, "…");
}

static int check_bids(const struct signature *s, const struct browse_bound *b,
                      struct err *e)
{
    for (unsigned i = 0; i < s->needed; i++) {
        struct buf repr = BUF_INIT(300);
        if (!str_ends(str_of(s->params[i]), STR("bid")) || b->arg[i]->kind == BROWSE_STR)
            continue;
        if (browse_repr(&repr, b->arg[i]) < 0)
            cut_repr(&repr);
        err_set(e, ERR_INVALID, "ValueError: expected a string, got %s", buf_z(&repr));
        buf_release(&repr);
        return -1;
    }
    return 0;
}

int browse_bind(struct browse_bound *out, const struct browse_call *c, struct err *e)
{
    const struct signature *s = &signatures[c->what];
    unsigned all = 0, given = 0;
    *out = (struct browse_bound){0};
    while (all < BROWSE_PARAMS_MAX && s->params[all])
        all++;
    for (const struct browse_value *v = c->args; v; v = v->next) {
        if (v->name.n > 0) {
            if (by_name(s, all, v, out, e) < 0)
                return -1;
        } else if (given++ < all) {
            out->arg[given - 1] = v;
        }
    }
    if (given > all)
        return too_many(s, all, given, e);
    if (missing(s, out, e) < 0)
        return -1;
    return check_bids(s, out, e);
}

/* ---- wait_for ---- */

static int not_this(const struct browse_value *v, const char *wanted, struct err *e)
{
    struct buf repr = BUF_INIT(300);
    if (browse_repr(&repr, v) < 0)
        cut_repr(&repr);
    err_set(e, ERR_INVALID, "ValueError: expected %s, got %s", wanted, buf_z(&repr));
    buf_release(&repr);
    return -1;
}

int browse_wanted(struct browse_wanted *out, const struct browse_bound *b, struct err *e)
{
    static const int places[] = {0, 2, 3, 4};
    struct str *const texts[] = {&out->any, &out->text, &out->bid, &out->selector};
    const struct browse_value *ms = b->arg[1];
    int given = 0;
    *out = (struct browse_wanted){.ms = BROWSE_WAIT_MS};
    for (int i = 0; i < 4; i++) {
        const struct browse_value *v = b->arg[places[i]];
        if (!v || v->kind == BROWSE_NONE)
            continue;
        if (v->kind != BROWSE_STR || v->text.n == 0)
            return not_this(v, "a string", e);
        *texts[i] = v->text;
        given++;
    }
    if (given != 1)
        return err_set(
            e, ERR_INVALID,
            "TypeError: wait_for() takes 1 of what, text, bid and selector but "
            "%d were given",
            given);
    bool timed = ms && ms->kind != BROWSE_NONE;
    if (timed && ms->kind != BROWSE_INT && ms->kind != BROWSE_REAL)
        return not_this(ms, "a number", e);
    if (timed)
        out->ms = ms->number < 0                    ? 0
                  : ms->number > BROWSE_WAIT_MS_MAX ? BROWSE_WAIT_MS_MAX
                                                    : (int)ms->number;
    return 0;
}

int browse_wanted_late(const struct browse_wanted *w, int ms, const char *why,
                       struct err *e)
{
    struct str s = w->any.p    ? w->any
                   : w->text.p ? w->text
                   : w->bid.p  ? w->bid
                               : w->selector;
    const char *kind = w->text.p       ? "text "
                       : w->bid.p      ? "bid "
                       : w->selector.p ? "selector "
                                       : "";
    struct buf repr = BUF_INIT(400);
    if (browse_repr_text(&repr, str_sub(s, 0, utf8_cut(s, 100))) < 0)
        cut_repr(&repr);
    err_set(e, ERR_TIMEOUT,
            "TimeoutError: Page.wait_for: Timeout %dms exceeded.\nCall log:\n  - waiting "
            "for %s%s to be visible%s%.100s",
            ms, kind, buf_z(&repr), why ? "\n  - " : "", why ? why : "");
    buf_release(&repr);
    return -1;
}

/* ---- repr ---- */

static int repr_char(struct buf *out, uint32_t c, struct str bytes, char quote)
{
    if (c == '\\' || c == (unsigned char)quote)
        return buf_addf(out, "\\%c", (int)c);
    if (c == '\n' || c == '\r' || c == '\t')
        return buf_addf(out, "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    if (c < 0x20 || (c >= 0x7f && c <= 0xa0) || c == 0xad)
        return buf_addf(out, "\\x%02x", (unsigned)c);
    /* Spaces except U+0020, direction marks and private characters are not printable. */
    if ((c >= 0x2000 && c <= 0x200f) || (c >= 0x2028 && c <= 0x202f) ||
        (c >= 0x205f && c <= 0x206f) || c == 0x1680 || c == 0x3000 || c == 0xfeff ||
        (c >= 0xe000 && c <= 0xf8ff))
        return buf_addf(out, "\\u%04x", (unsigned)c);
    if (c >= 0xe0000)
        return buf_addf(out, "\\U%08x", (unsigned)c);
    return buf_adds(out, bytes);
}

int browse_repr_text(struct buf *out, struct str text)
{
    char quote = str_chr(text, '\'') >= 0 && str_chr(text, '"') < 0 ? '"' : '\'';
    if (buf_addc(out, quote) < 0)
        return -1;
    while (text.n > 0) {
        uint32_t c = 0xfffd;
        int n = utf8_decode(text, &c);
        if (n <= 0)
            n = (int)utf8_bad(text);
        if (repr_char(out, c, str_sub(text, 0, (size_t)n), quote) < 0)
            return -1;
        text = str_sub(text, (size_t)n, text.n);
    }
    return buf_addc(out, quote);
}

/* Appends the fewest digits that read back as the same number, as Python does. */
static int repr_number(struct buf *out, const struct browse_value *v)
{
    char z[40];
    int n = 0, exponent;
    if (v->kind == BROWSE_INT)
        return buf_addf(out, "%.0f", v->number);
    double back;
    do {
        snprintf(z, sizeof(z), "%.*e", n, v->number);
        back = strtod(z, NULL);
    } while ((back < v->number || back > v->number) && ++n < 17);
    if (!strchr(z, 'e'))
        return buf_addz(out, z);
    exponent = (int)strtol(strchr(z, 'e') + 1, NULL, 10);
    if (exponent < -4 || exponent > 15)
        return buf_addz(out, z);
    return buf_addf(out, "%.*f", n > exponent ? n - exponent : 1, v->number);
}

static int repr_items(struct buf *out, const struct browse_value *v)
{
    static const char open[] = "[({", close[] = "])}";
    int kind = v->kind - BROWSE_LIST, i = 0;
    int r = buf_addc(out, open[kind]);
    for (const struct browse_value *item = v->items; item && r == 0; item = item->next) {
        bool behind_key = v->kind == BROWSE_DICT && i % 2 == 1;
        r = i++ ? buf_addz(out, behind_key ? ": " : ", ") : 0;
        if (r == 0)
            r = browse_repr(out, item);
    }
    if (r == 0 && v->kind == BROWSE_TUPLE && i == 1)
        r = buf_addc(out, ',');
    return r < 0 ? -1 : buf_addc(out, close[kind]);
}

int browse_repr(struct buf *out, const struct browse_value *v)
{
    switch (v->kind) {
    case BROWSE_NONE:
        return buf_addz(out, "None");
    case BROWSE_BOOL:
        return buf_addz(out, v->truth ? "True" : "False");
    case BROWSE_INT:
    case BROWSE_REAL:
        return repr_number(out, v);
    case BROWSE_STR:
        return browse_repr_text(out, v->text);
    default:
        return repr_items(out, v);
    }
}

bool browse_split_named(struct str bid, struct str *role, struct str *name)
{
    size_t n = 0;
    bid = str_trim(bid);
    while (n < bid.n && ((bid.p[n] >= 'a' && bid.p[n] <= 'z') || bid.p[n] == '-'))
        n++;
    *role = str_sub(bid, 0, n);
    *name = str_trim(str_sub(bid, n, bid.n));
    if (n == 0 || n == bid.n || bid.p[n] != ' ' || name->n < 3 ||
        (name->p[0] != '"' && name->p[0] != '\'') ||
        name->p[name->n - 1] != name->p[0])
        return false;
    *name = str_sub(*name, 1, name->n - 2);
    return true;
}
