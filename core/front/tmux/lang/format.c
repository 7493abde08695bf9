/* SPDX-License-Identifier: MIT */
/*
 * Formats: see format.h. As in tmux, a `#{…}` that cannot be understood ends the
 * expansion: what came before it stays, the rest is left out.
 */
#include "front/tmux/lang/format.h"

#include "front/tmux/lang/args.h"
#include "front/tmux/lang/own.h"

#include <ctype.h>
#include <stdlib.h>

enum {
    MODIFIERS_MAX = 16,
    ARGUMENTS_MAX = 4,
    VALUE_MAX = 1 << 20,
    BYTES_OF_STEP = 16
};

/* One level of an expansion. */
struct format_state {
    const struct tmux_format_how *how;
    void *ctx;
    bool strftime;
    int depth;
    unsigned *steps;
};

struct modifier {
    char name[2];
    int n; /* of name */
    int argc;
    struct buf argv[ARGUMENTS_MAX]; /* owned */
};

struct modifiers {
    struct modifier m[MODIFIERS_MAX];
    int n;
};

static void expand(struct buf *out, struct str text, struct format_state s);
static int replace(struct buf *out, struct str key, struct format_state s);

bool tmux_format_true(struct str s) { return s.n > 1 || (s.n == 1 && s.p[0] != '0'); }

long format_skip(struct str s, const char *end)
{
    long depth = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (c == '#' && i + 1 < s.n) {
            char d = s.p[i + 1];
            depth += d == '{';
            if (d && strchr(",#{}:", d)) {
                i++;
                continue;
            }
        }
        depth -= c == '}';
        if (c && strchr(end, c) && depth == 0)
            return (long)i;
    }
    return -1;
}

/* The two sides of a comma. Returns -1 if there is none. */
static int choose(struct str s, struct str *left, struct str *right)
{
    long at = format_skip(s, ",");
    if (at < 0)
        return -1;
    *left = str_sub(s, 0, (size_t)at);
    *right = str_sub(s, (size_t)at + 1, s.n);
    return 0;
}

/* --- modifiers ------------------------------------------------------------------ */

static void modifiers_release(struct modifiers *m)
{
    for (int i = 0; i < m->n; i++)
        for (int k = 0; k < m->m[i].argc; k++)
            buf_release(&m->m[i].argv[k]);
}

static bool is_end(struct str s, size_t i)
{
    return i < s.n && (s.p[i] == ';' || s.p[i] == ':');
}

static void add_argument(struct modifier *m, struct str text, struct format_state s)
{
    if (m->argc == ARGUMENTS_MAX)
        return;
    struct buf *b = &m->argv[m->argc++];
    *b = (struct buf)BUF_INIT(VALUE_MAX);
    expand(b, text, s);
}

/* Arguments from *at on: "3", or "/a/b/". Returns false if they do not end. */
static bool take_arguments(struct modifier *m, struct str key, size_t *at,
                           struct format_state s)
{
    char ends[] = "X;:";
    long end;
    if (*at >= key.n)
        return false;
    if (!ispunct((unsigned char)key.p[*at]) || key.p[*at] == '-') {
        end = format_skip(str_sub(key, *at, key.n), ":;");
        if (end < 0)
            return false;
        add_argument(m, str_sub(key, *at, (size_t)end), s);
        *at += (size_t)end;
        return true;
    }
    ends[0] = key.p[*at];
    do {
        if (key.p[*at] == ends[0] && is_end(key, *at + 1)) {
            ++*at;
            break;
        }
        ++*at;
        end = format_skip(str_sub(key, *at, key.n), ends);
        if (end < 0)
            return false;
        add_argument(m, str_sub(key, *at, (size_t)end), s);
        *at += (size_t)end;
    } while (*at < key.n && !is_end(key, *at));
    return *at < key.n;
}

/*
 * Takes the modifiers off the beginning of *key. If what is there are none, the whole key
 * is a name.
 */
static void take_modifiers(struct modifiers *all, struct str *key, struct format_state s)
{
    static const char pairs[] = "||&&!===<=>=!!";
    size_t at = 0;
    all->n = 0;
    while (at < key->n && key->p[at] != ':' && all->n < MODIFIERS_MAX) {
        struct modifier *m = &all->m[all->n];
        if (key->p[at] == ';' && ++at == key->n)
            break;
        char c = key->p[at];
        *m = (struct modifier){.name = {c}, .n = 1};
        if (c && strchr("labcdnwETSWPLR!<>", c) && is_end(*key, at + 1)) {
            all->n++;
            at++;
            continue;
        }
        bool pair = false;
        for (size_t i = 0; at + 1 < key->n && i < sizeof(pairs) - 1; i += 2)
            pair = pair || (c == pairs[i] && key->p[at + 1] == pairs[i + 1]);
        if (pair && is_end(*key, at + 2)) {
            m->name[1] = key->p[at + 1];
            m->n = 2;
            all->n++;
            at += 2;
            continue;
        }
        if (!c || !strchr("mCNst=peqSWPL", c))
            break;
        all->n++;
        at++;
        if (!is_end(*key, at) && !take_arguments(m, *key, &at, s))
            break;
    }
    if (at < key->n && key->p[at] == ':') {
        *key = str_sub(*key, at + 1, key->n);
        return;
    }
    modifiers_release(all);
    all->n = 0;
}

static const struct modifier *find(const struct modifiers *all, const char *name)
{
    for (int i = all->n; i-- > 0;)
        if (strncmp(all->m[i].name, name, 2) == 0)
            return &all->m[i];
    return NULL;
}

static struct str argument(const struct modifier *m, int i)
{
    return m && i < m->argc ? buf_str(&m->argv[i]) : (struct str){NULL, 0};
}

static bool has_letter(const struct modifier *m, int i, char letter)
{
    return str_chr(argument(m, i), letter) >= 0;
}

/* --- values --------------------------------------------------------------------- */

/* A variable with t:, b:, d: and q:. Returns false if there is none of that name. */
static bool variable(struct buf *out, struct str name, const struct modifiers *all,
                     struct format_state s)
{
    const struct tmux_format_how *how = s.how;
    struct buf raw = BUF_INIT(VALUE_MAX);
    const struct modifier *t = find(all, "t"), *q = find(all, "q");
    int64_t seconds;
    if (!how->ops->var || !how->ops->var(s.ctx, name, &raw)) {
        buf_release(&raw);
        return false;
    }
    struct str v = buf_str(&raw);
    if (t) {
        struct str format = has_letter(t, 0, 'f') ? argument(t, 1)
                                                  : (struct str){NULL, 0};
        if (str_to_i64(v, &seconds) == 0 && seconds > 0)
            format_time(out, seconds, how->now, has_letter(t, 0, 'p'), format);
        buf_release(&raw);
        return true;
    }
    if (find(all, "b")) {
        while (v.n > 1 && v.p[v.n - 1] == '/')
            v.n--;
        for (size_t i = v.n; v.n > 1 && i-- > 0;) {
            if (v.p[i] != '/')
                continue;
            v = str_sub(v, i + 1, v.n);
            break;
        }
        v = v.n ? v : STR(".");
    }
    if (find(all, "d")) {
        while (v.n > 1 && v.p[v.n - 1] == '/')
            v.n--;
        while (v.n > 0 && v.p[v.n - 1] != '/')
            v.n--;
        while (v.n > 1 && v.p[v.n - 1] == '/')
            v.n--;
        v = v.n ? v : STR(".");
    }
    if (q)
        format_quote(out, v, q->argc > 0);
    else
        buf_adds(out, v);
    buf_release(&raw);
    return true;
}

static void expanded(struct buf *out, struct str text, struct format_state s)
{
    *out = (struct buf)BUF_INIT(VALUE_MAX);
    expand(out, text, s);
}

static bool compare(const struct modifier *m, struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n ? memcmp(a.p, b.p, n) : 0;
    if (order == 0)
        order = a.n < b.n ? -1 : a.n > b.n;
    switch (m->name[0]) {
    case '|':
        return tmux_format_true(a) || tmux_format_true(b);
    case '&':
        return tmux_format_true(a) && tmux_format_true(b);
    case '=':
        return order == 0;
    case '!':
        return order != 0;
    case '<':
        return m->n == 2 ? order <= 0 : order < 0;
    case '>':
        return m->n == 2 ? order >= 0 : order > 0;
    default: /* m */
        if (has_letter(m, 0, 'r'))
            return format_regex(a, b, has_letter(m, 0, 'i'));
        return tmux_fnmatch(a, b, has_letter(m, 0, 'i'));
    }
}

static void spend(struct format_state s, size_t steps)
{
    *s.steps -= steps < *s.steps ? (unsigned)steps : *s.steps;
}

/* Of two texts divided by a comma: a comparison, maths, or a repetition. */
static int of_two(struct buf *out, struct str text, const struct modifier *m,
                  struct format_state s)
{
    struct str left, right;
    struct buf a, b;
    int64_t n;
    const char *cause;
    if (choose(text, &left, &right) < 0)
        return m->name[0] == 'e' ? 0 : -1;
    expanded(&a, left, s);
    expanded(&b, right, s);
    spend(s, a.n + b.n);
    if (m->name[0] == 'e') {
        int digits = has_letter(m, 1, 'f') ? 2 : 0;
        if (m->argc > 2 && tmux_number(argument(m, 2), -100, 100, &n, &cause) == 0)
            digits = n < 0 ? 0 : (int)n;
        format_maths(out, argument(m, 0), has_letter(m, 1, 'f'), digits, buf_str(&a),
                     buf_str(&b));
    } else if (m->name[0] == 'R') {
        if (tmux_number(buf_str(&b), 1, 10000, &n, &cause) == 0)
            while (n-- > 0 && buf_adds(out, buf_str(&a)) == 0)
                continue;
    } else
        buf_addc(out, compare(m, buf_str(&a), buf_str(&b)) ? '1' : '0');
    buf_release(&a);
    buf_release(&b);
    return 0;
}

static int conditional(struct buf *out, struct str text, const struct modifiers *all,
                       struct format_state s)
{
    struct str condition, rest, left, right;
    struct buf found = BUF_INIT(VALUE_MAX);
    if (choose(text, &condition, &rest) < 0 || choose(rest, &left, &right) < 0)
        return -1;
    if (!variable(&found, condition, all, s)) {
        expand(&found, condition, s);
        if (str_eq(buf_str(&found), condition))
            buf_reset(&found); /* nothing to expand: a name that there is not */
    }
    bool is = tmux_format_true(buf_str(&found));
    buf_release(&found);
    expand(out, is ? left : right, s);
    return 0;
}

static void loop(struct buf *out, struct str text, const struct modifier *m,
                 struct format_state s)
{
    static const char kinds[] = "SWPL";
    enum tmux_loop kind = (enum tmux_loop)(strchr(kinds, m->name[0]) - kinds);
    struct str all = text, active = text;
    struct format_state inner = s;
    if ((kind == LOOP_WINDOWS || kind == LOOP_PANES) && choose(text, &all, &active) < 0)
        active = all;
    for (size_t i = 0; s.how->ops->each && !buf_full(out) && *s.steps; i++) {
        bool current = false;
        inner.ctx = s.how->ops->each(s.ctx, kind, argument(m, 0), i, &current);
        if (!inner.ctx)
            break;
        expand(out, current ? active : all, inner);
    }
}

static void character(struct buf *out, struct str text)
{
    int64_t c;
    const char *cause;
    if (tmux_number(text, 32, 126, &c, &cause) == 0)
        buf_addc(out, (char)c);
}

/* Modifiers that take the whole text, expanded first. Returns false if there is none. */
static bool of_one(struct buf *out, struct str text, const struct modifiers *all,
                   struct format_state s)
{
    static const char *const names[] = {"a", "c", "N", "C", "!", "!!"};
    const struct modifier *m = NULL;
    for (size_t i = 0; !m && i < sizeof(names) / sizeof(names[0]); i++)
        m = find(all, names[i]);
    if (!m)
        return false;
    struct buf b;
    const struct tmux_format_ops *ops = s.how->ops;
    expanded(&b, text, s);
    struct str v = buf_str(&b);
    int rgb;
    if (m->name[0] == 'a')
        character(out, v);
    else if (m->name[0] == 'c') {
        if ((rgb = tmux_colour_rgb(tmux_colour(v))) >= 0)
            buf_addf(out, "%06x", rgb);
    } else if (m->name[0] == 'N')
        buf_addc(out,
                 ops->name && ops->name(s.ctx, has_letter(m, 0, 's'), v) ? '1' : '0');
    else if (m->name[0] == 'C')
        buf_addf(out, "%u",
                 ops->search
                     ? ops->search(s.ctx, v, has_letter(m, 0, 'r'), has_letter(m, 0, 'i'))
                     : 0);
    else
        buf_addc(out, tmux_format_true(v) == (m->n == 2) ? '1' : '0');
    buf_release(&b);
    return true;
}

/* The value of `#{…}` before E:, T:, s:, =, p, n: and w:. */
static int value(struct buf *out, struct str text, const struct modifiers *all,
                 struct format_state s)
{
    static const char *const twos[] = {
        "m", "<", ">", "==", "!=", "<=", ">=", "||", "&&", "e", "R"};
    static const char *const loops[] = {"S", "W", "P", "L"};
    const struct modifier *m;
    if (find(all, "l")) {
        buf_adds(out, text);
        return 0;
    }
    for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
        if ((m = find(all, loops[i]))) {
            loop(out, text, m, s);
            return 0;
        }
    }
    if (of_one(out, text, all, s))
        return 0;
    for (size_t i = 0; i < sizeof(twos) / sizeof(twos[0]); i++) {
        m = find(all, twos[i]);
        if (m && !(m->name[0] == 'e' && m->argc == 0))
            return of_two(out, text, m, s);
    }
    if (text.n && text.p[0] == '?')
        return conditional(out, str_sub(text, 1, text.n), all, s);
    if (str_find(text, STR("#{")) >= 0)
        expand(out, text, s);
    else
        variable(out, text, all, s);
    return 0;
}

/* --- one #{…} ------------------------------------------------------------------- */

static void swap(struct buf *a, struct buf *b)
{
    struct buf t = *a;
    *a = *b;
    *b = t;
    buf_reset(b);
}

/* Applies the modifiers that work on a value, in tmux's order. */
static void apply(struct buf *v, const struct modifiers *all, struct format_state s)
{
    struct buf next = BUF_INIT(VALUE_MAX);
    const struct modifier *limit = find(all, "="), *pad = find(all, "p");
    int64_t n;
    const char *cause;
    if (find(all, "E") || find(all, "T")) {
        struct format_state deeper = s;
        deeper.strftime = s.strftime || find(all, "T");
        expand(&next, buf_str(v), deeper);
        swap(v, &next);
    }
    for (int i = 0; i < all->n; i++) {
        const struct modifier *m = &all->m[i];
        if (m->name[0] != 's' || m->argc < 2 || *s.steps == 0)
            continue;
        format_substitute(&next, buf_str(v), argument(m, 0), argument(m, 1),
                          has_letter(m, 2, 'i'));
        spend(s, v->n + next.n);
        swap(v, &next);
    }
    if (limit && tmux_number(argument(limit, 0), INT32_MIN, INT32_MAX, &n, &cause) == 0 &&
        n) {
        struct buf cut = BUF_INIT(VALUE_MAX);
        format_trim(&cut, buf_str(v), n);
        bool shorter = !str_eq(buf_str(&cut), buf_str(v));
        if (n < 0 && shorter)
            buf_adds(&next, argument(limit, 1));
        buf_adds(&next, buf_str(&cut));
        if (n > 0 && shorter)
            buf_adds(&next, argument(limit, 1));
        buf_release(&cut);
        swap(v, &next);
    }
    if (pad && tmux_number(argument(pad, 0), -VALUE_MAX, VALUE_MAX, &n, &cause) == 0 &&
        n) {
        format_pad(&next, buf_str(v), n);
        swap(v, &next);
    }
    if (find(all, "n")) {
        buf_addi(&next, (int64_t)v->n);
        swap(v, &next);
    }
    if (find(all, "w")) {
        buf_addi(&next, (int64_t)tmux_format_width(buf_str(v)));
        swap(v, &next);
    }
    buf_release(&next);
}

static int replace(struct buf *out, struct str key, struct format_state s)
{
    struct modifiers all;
    struct buf v = BUF_INIT(VALUE_MAX);
    take_modifiers(&all, &key, s);
    int rc = value(&v, key, &all, s);
    if (rc == 0) {
        apply(&v, &all, s);
        spend(s, v.n / BYTES_OF_STEP);
        buf_adds(out, buf_str(&v));
    }
    buf_release(&v);
    modifiers_release(&all);
    return rc;
}

/* --- a text --------------------------------------------------------------------- */

static const char *letter_name(char c)
{
    switch (c) {
    case 'D':
        return "pane_id";
    case 'F':
        return "window_flags";
    case 'H':
        return "host";
    case 'I':
        return "window_index";
    case 'P':
        return "pane_index";
    case 'S':
        return "session_name";
    case 'T':
        return "pane_title";
    case 'W':
        return "window_name";
    case 'h':
        return "host_short";
    default:
        return NULL;
    }
}

/* #(command), from after the parenthesis. Returns its bytes, or 0. */
static size_t shell(struct buf *out, struct str rest, struct format_state s)
{
    size_t depth = 1, n = 0;
    for (; n < rest.n; n++) {
        depth += rest.p[n] == '(';
        if (rest.p[n] == ')' && --depth == 0)
            break;
    }
    if (n == rest.n)
        return 0;
    if (!s.how->no_jobs && s.how->ops->shell) {
        struct buf command;
        expanded(&command, str_sub(rest, 0, n), s);
        s.how->ops->shell(s.ctx, buf_str(&command), out);
        buf_release(&command);
    }
    return n + 1;
}

/* What begins with `#`, which is at text.p[at]. Returns the bytes used; 0: stop. */
static size_t hash(struct buf *out, struct str text, size_t at, struct format_state s)
{
    struct str rest = str_sub(text, at, text.n);
    char c = rest.n > 1 ? rest.p[1] : '\0';
    size_t n = 0;
    const char *name = letter_name(c);
    if (c == '(') {
        n = shell(out, str_sub(rest, 2, rest.n), s);
        return n ? n + 2 : 0;
    }
    if (c == '{') {
        long end = format_skip(rest, "}");
        if (end < 0 || replace(out, str_sub(rest, 2, (size_t)end - 2), s) < 0)
            return 0;
        return (size_t)end + 1;
    }
    if (c == '[' || c == '#') {
        while (n < rest.n && rest.p[n] == '#')
            n++;
        if (n < rest.n && rest.p[n] == '[') { /* a style, for who draws it */
            buf_add(out, rest.p, n + 1);
            return n + 1;
        }
    }
    if (c == '#' || c == '}' || c == ',') {
        buf_addc(out, c);
        return 2;
    }
    if (name)
        return replace(out, str_of(name), s) < 0 ? 0 : 2;
    buf_add(out, rest.p, rest.n > 1 ? 2 : 1);
    return rest.n > 1 ? 2 : 1;
}

static void expand(struct buf *out, struct str text, struct format_state s)
{
    struct buf timed = BUF_INIT(VALUE_MAX);
    if (s.depth >= FORMAT_DEPTH_MAX || *s.steps == 0)
        return;
    s.depth++;
    if (s.strftime && str_chr(text, '%') >= 0) {
        if (format_strftime(&timed, text, s.how->now) < 0) {
            buf_release(&timed);
            return;
        }
        text = buf_str(&timed);
    }
    for (size_t i = 0; i < text.n && !buf_full(out);) {
        const char *mark = memchr(text.p + i, '#', text.n - i);
        size_t n = mark ? (size_t)(mark - text.p) - i : text.n - i;
        if (*s.steps == 0)
            break;
        --*s.steps;
        buf_add(out, text.p + i, n);
        i += n;
        if (!mark)
            break;
        n = hash(out, text, i, s);
        if (n == 0)
            break;
        i += n;
    }
    buf_release(&timed);
}

void tmux_format(struct buf *out, struct str text, const struct tmux_format_how *how)
{
    unsigned steps = FORMAT_STEPS_MAX;
    expand(out, text, (struct format_state){how, how->ctx, how->strftime, 0, &steps});
}

bool tmux_format_is(struct str text, const struct tmux_format_how *how)
{
    struct buf out = BUF_INIT(FORMAT_OUT_MAX);
    tmux_format(&out, text, how);
    bool is = tmux_format_true(buf_str(&out));
    buf_release(&out);
    return is;
}
