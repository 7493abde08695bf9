/* SPDX-License-Identifier: MIT */
/*
 * Targets. A text is cut at its first `:` and the first `.` after it; each part is looked
 * up in what the part before it found, or in all of the current session. A text that is
 * not cut may name the kind that is asked for, or one above it: a pane's target "x" is
 * tried as a pane, a window, then a session.
 */
#include "front/tmux/lang/target.h"

#include "front/tmux/lang/format.h"

#include <limits.h>

struct target_search {
    const struct target_view *v;
    const struct target_state *current;
    unsigned flags;
    struct target_state at;
};

/* ---- the view, an object at a time ---- */

static bool link_at(const struct target_search *f, void *link, struct target_link *out)
{
    for (size_t i = 0; f->v->link(f->v->ctx, f->at.session, i, out); i++) {
        if (out->link == link)
            return true;
    }
    return false;
}

static void use_link(struct target_search *f, const struct target_link *l)
{
    f->at.link = l->link;
    f->at.window = l->window;
    f->at.index = l->index;
}

static bool use_current_link(struct target_search *f)
{
    struct target_link l;
    if (!link_at(f, f->v->current_link(f->v->ctx, f->at.session), &l))
        return false;
    use_link(f, &l);
    return true;
}

/* The link to the window in this session: the current one, or else the first. */
static bool use_link_of_window(struct target_search *f)
{
    struct target_link l;
    void *window = f->at.window;
    if (link_at(f, f->v->current_link(f->v->ctx, f->at.session), &l) &&
        l.window == window) {
        use_link(f, &l);
        return true;
    }
    for (size_t i = 0; f->v->link(f->v->ctx, f->at.session, i, &l); i++) {
        if (l.window == window) {
            use_link(f, &l);
            return true;
        }
    }
    return false;
}

static bool has_window(const struct target_search *f, void *session, void *window)
{
    struct target_link l;
    for (size_t i = 0; f->v->link(f->v->ctx, session, i, &l); i++) {
        if (l.window == window)
            return true;
    }
    return false;
}

static bool is_better(const struct target_session *s, const struct target_session *than,
                      unsigned flags)
{
    if ((flags & TARGET_PREFER_UNATTACHED) && (than->attached > 0) != (s->attached > 0))
        return s->attached == 0;
    return s->activity > than->activity;
}

/* The best session, of those that have the window if there is one. */
static bool use_best_session(struct target_search *f, void *window)
{
    struct target_session s, best = {0};
    for (size_t i = 0; f->v->session(f->v->ctx, i, &s); i++) {
        if (window && !has_window(f, s.session, window))
            continue;
        if (!best.session || is_better(&s, &best, f->flags))
            best = s;
    }
    f->at.session = best.session;
    return best.session != NULL;
}

/* ---- names ---- */

enum match { MATCH_EXACT, MATCH_BEGINNING, MATCH_PATTERN };

static bool matches(enum match how, struct str name, struct str text)
{
    return how == MATCH_EXACT       ? str_eq(name, text)
           : how == MATCH_BEGINNING ? str_starts(name, text)
                                    : tmux_fnmatch(text, name, false);
}

static bool is_number(struct str s, int64_t least, int *out)
{
    int64_t n;
    if (s.n == 0 || s.p[0] == '+' || str_to_i64(s, &n) < 0 || n < least || n > INT_MAX)
        return false;
    *out = (int)n;
    return true;
}

/* N of "$N", "@N", "%N". */
static bool id_of(struct str s, unsigned *id)
{
    uint64_t n;
    if (str_to_u64(str_sub(s, 1, s.n), &n) < 0 || n > UINT_MAX)
        return false;
    *id = (unsigned)n;
    return true;
}

/* "+" and "-" with a number, or 1. */
static bool offset_of(struct str s, int *n)
{
    *n = 1;
    return s.n == 1 || is_number(str_sub(s, 1, s.n), 1, n);
}

/* ---- sessions ---- */

static bool find_session(struct target_search *f, struct str text)
{
    struct target_session s;
    unsigned id;
    if (text.p[0] == '$') {
        bool good = id_of(text, &id);
        for (size_t i = 0; good && f->v->session(f->v->ctx, i, &s); i++) {
            f->at.session = s.session;
            if (s.id == id)
                return true;
        }
        f->at.session = NULL;
        return false;
    }
    for (int how = MATCH_EXACT; how <= MATCH_PATTERN; how++) {
        unsigned found = 0;
        for (size_t i = 0; f->v->session(f->v->ctx, i, &s); i++) {
            if (!matches((enum match)how, s.name, text))
                continue;
            f->at.session = s.session;
            found++;
        }
        if (found == 1)
            return true;
        f->at.session = NULL;
        if (found > 1)
            return false;
        if (how == MATCH_EXACT && f->v->client)
            f->at.session = f->v->client(f->v->ctx, text);
        if (f->at.session)
            return true;
        if (f->flags & TARGET_EXACT_SESSION)
            return false;
    }
    return false;
}

/* ---- windows ---- */

static bool find_window_id(struct target_search *f, struct str text)
{
    struct target_session s;
    struct target_link l;
    unsigned id;
    if (!id_of(text, &id))
        return false;
    for (size_t i = 0; f->v->session(f->v->ctx, i, &s); i++) {
        for (size_t k = 0; f->v->link(f->v->ctx, s.session, k, &l); k++) {
            if (l.id == id) {
                f->at.window = l.window;
                return true;
            }
        }
    }
    return false;
}

/* The link n places after `from`, or before it; the first follows the last. */
static bool use_link_beside(struct target_search *f, const struct target_link *from,
                            int by)
{
    struct target_link l;
    size_t count = 0, place = 0;
    for (; f->v->link(f->v->ctx, f->at.session, count, &l); count++) {
        if (l.link == from->link)
            place = count;
    }
    int64_t to = ((int64_t)place + by) % (int64_t)count;
    to = to < 0 ? to + (int64_t)count : to;
    if (!f->v->link(f->v->ctx, f->at.session, (size_t)to, &l))
        return false;
    use_link(f, &l);
    return true;
}

static bool find_window_offset(struct target_search *f, struct str text)
{
    struct target_link l;
    int n;
    bool up = text.p[0] == '+';
    if (!offset_of(text, &n) ||
        !link_at(f, f->v->current_link(f->v->ctx, f->at.session), &l))
        return false;
    if (!(f->flags & TARGET_WINDOW_INDEX))
        return use_link_beside(f, &l, up ? n : -n);
    if (up ? INT_MAX - l.index < n : n > l.index)
        return false;
    f->at.index = up ? l.index + n : l.index - n;
    return true;
}

static bool find_window_token(struct target_search *f, char token)
{
    struct target_link l, found = {0};
    if (token == '!') {
        void *last = f->v->last_link(f->v->ctx, f->at.session, 0);
        if (!last || !link_at(f, last, &found))
            return false;
    } else {
        for (size_t i = 0; f->v->link(f->v->ctx, f->at.session, i, &l); i++) {
            found = l;
            if (token == '^')
                break;
        }
    }
    if (found.link)
        use_link(f, &found);
    return found.link != NULL;
}

/* By the index. Returns 1; 0: not; with TARGET_WINDOW_INDEX any index will do. */
static bool find_window_index(struct target_search *f, struct str text)
{
    struct target_link l;
    int index;
    if (!is_number(text, 0, &index))
        return false;
    for (size_t i = 0; f->v->link(f->v->ctx, f->at.session, i, &l); i++) {
        if (l.index == index) {
            use_link(f, &l);
            return true;
        }
    }
    if (!(f->flags & TARGET_WINDOW_INDEX))
        return false;
    f->at.index = index;
    return true;
}

static bool find_window_name(struct target_search *f, struct str text)
{
    struct target_link l;
    int last = f->flags & TARGET_EXACT_WINDOW ? MATCH_EXACT : MATCH_PATTERN;
    for (int how = MATCH_EXACT; how <= last; how++) {
        struct target_link found = {0};
        for (size_t i = 0; f->v->link(f->v->ctx, f->at.session, i, &l); i++) {
            if (!matches((enum match)how, l.name, text))
                continue;
            if (found.link) {
                f->at.link = found.link;
                return false;
            }
            found = l;
        }
        if (found.link) {
            use_link(f, &found);
            return true;
        }
    }
    return false;
}

/* In the session that was found. What is not found leaves the link that tmux leaves: the
 * current one, or for names the first of several. */
static bool find_window_here(struct target_search *f, struct str text)
{
    bool exact = f->flags & TARGET_EXACT_WINDOW, found;
    char first = text.p[0];
    f->at.link = f->at.window = NULL;
    if (first == '@')
        found = find_window_id(f, text) && use_link_of_window(f);
    else if (!exact && (first == '+' || first == '-'))
        found = find_window_offset(f, text);
    else if (!exact && text.n == 1 && (first == '!' || first == '^' || first == '$'))
        found = find_window_token(f, first);
    else
        return find_window_index(f, text) || find_window_name(f, text);
    if (!found) {
        f->at.window = NULL;
        f->at.link = first == '!' ? NULL : f->v->current_link(f->v->ctx, f->at.session);
    }
    return found;
}

/* In the current session, or else the current window of a session of that name. */
static bool find_window(struct target_search *f, struct str text, bool only)
{
    if (text.p[0] == '@')
        return find_window_id(f, text) && use_best_session(f, f->at.window) &&
               use_link_of_window(f);
    f->at.session = f->current->session;
    f->at.pane = NULL;
    if (find_window_here(f, text))
        return true;
    if (only || !find_session(f, text) || !use_current_link(f))
        return false;
    if (f->flags & TARGET_WINDOW_INDEX)
        f->at.index = -1;
    return true;
}

/* ---- panes ---- */

static bool find_pane_id(struct target_search *f, struct str text)
{
    struct target_session s;
    struct target_link l;
    struct target_pane p;
    unsigned id;
    if (!id_of(text, &id))
        return false;
    for (size_t i = 0; f->v->session(f->v->ctx, i, &s); i++) {
        for (size_t k = 0; f->v->link(f->v->ctx, s.session, k, &l); k++) {
            for (size_t n = 0; f->v->pane(f->v->ctx, l.window, n, &p); n++) {
                if (p.id != id)
                    continue;
                f->at.window = l.window;
                f->at.pane = p.pane;
                return true;
            }
        }
    }
    return false;
}

/* The visible pane that has the place, or whose border does. */
static void *pane_over(const struct target_search *f, unsigned x, unsigned y)
{
    struct target_pane p;
    for (size_t i = 0; f->v->pane(f->v->ctx, f->at.window, i, &p); i++) {
        if (p.visible && x >= p.x && x <= p.x + p.sx && y >= p.y && y <= p.y + p.sy)
            return p.pane;
    }
    return NULL;
}

/* "top", "bottom-left" and so on. */
static void *pane_at_edge(const struct target_search *f, struct str text)
{
    static const struct {
        const char *name;
        int x, y; /* -1: the first column or row, 1: the last, 0: the middle */
    } edges[] = {
        {"top", 0, -1},         {"bottom", 0, 1},       {"left", -1, 0},
        {"right", 1, 0},        {"top-left", -1, -1},   {"top-right", 1, -1},
        {"bottom-left", -1, 1}, {"bottom-right", 1, 1},
    };
    unsigned sx, sy;
    f->v->size(f->v->ctx, f->at.window, &sx, &sy);
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++) {
        if (!str_eq(text, str_of(edges[i].name)))
            continue;
        int x = edges[i].x, y = edges[i].y;
        return pane_over(f,
                         x < 0   ? 0
                         : x > 0 ? sx - 1
                                 : sx / 2,
                         y < 0   ? 0
                         : y > 0 ? sy - 1
                                 : sy / 2);
    }
    return NULL;
}

static bool pane_of(const struct target_search *f, void *pane, struct target_pane *out,
                    size_t *place, size_t *count)
{
    struct target_pane p;
    bool found = false;
    *count = 0;
    for (size_t i = 0; f->v->pane(f->v->ctx, f->at.window, i, &p); i++) {
        if (p.pane == pane) {
            *out = p;
            *place = i;
            found = true;
        }
        ++*count;
    }
    return found;
}

/* Does a pane of m cells from b on meet one of n from a on, or the border after it? */
static bool spans_meet(unsigned a, unsigned n, unsigned b, unsigned m)
{
    return b <= a + n && b + m > a;
}

/*
 * The pane next to one: above ('U'), below ('D'), to the left ('L') or to the right ('R')
 * of it; what lies beyond the edge of the window is at the opposite edge. Of several the
 * one that was active last.
 */
static void *neighbour(const struct target_search *f, void *pane, char where)
{
    struct target_pane p, q, best = {0};
    size_t place, count;
    unsigned sx, sy;
    if (!pane_of(f, pane, &p, &place, &count))
        return NULL;
    f->v->size(f->v->ctx, f->at.window, &sx, &sy);
    unsigned up = p.y ? p.y : sy + 1, left = p.x ? p.x : sx + 1;
    unsigned down = p.y + p.sy + 1 >= sy ? 0 : p.y + p.sy + 1;
    unsigned right = p.x + p.sx + 1 >= sx ? 0 : p.x + p.sx + 1;
    for (size_t i = 0; f->v->pane(f->v->ctx, f->at.window, i, &q); i++) {
        bool touches = where == 'U'   ? q.y + q.sy + 1 == up
                       : where == 'D' ? q.y == down
                       : where == 'L' ? q.x + q.sx + 1 == left
                                      : q.x == right;
        bool meets = where == 'U' || where == 'D' ? spans_meet(p.x, p.sx, q.x, q.sx)
                                                  : spans_meet(p.y, p.sy, q.y, q.sy);
        if (q.pane != pane && touches && meets && (!best.pane || q.recent > best.recent))
            best = q;
    }
    return best.pane;
}

static void *pane_by_place(const struct target_search *f, struct str text)
{
    struct target_pane p;
    size_t place = 0, count = 0;
    int n;
    void *active = f->v->active_pane(f->v->ctx, f->at.window);
    if (text.p[0] == '+' || text.p[0] == '-') {
        if (!offset_of(text, &n) || !pane_of(f, active, &p, &place, &count))
            return NULL;
        int64_t to = (int64_t)place + (text.p[0] == '+' ? n : -(int64_t)n);
        to %= (int64_t)count;
        place = (size_t)(to < 0 ? to + (int64_t)count : to);
        return f->v->pane(f->v->ctx, f->at.window, place, &p) ? p.pane : NULL;
    }
    if (!is_number(text, 0, &n))
        return NULL;
    for (size_t i = 0; f->v->pane(f->v->ctx, f->at.window, i, &p); i++) {
        if (p.index == n)
            return p.pane;
    }
    return NULL;
}

/* In the window that was found. */
static bool find_pane_here(struct target_search *f, struct str text)
{
    static const struct {
        const char *name;
        char where;
    } beside[] = {
        {"{up-of}", 'U'}, {"{down-of}", 'D'}, {"{left-of}", 'L'}, {"{right-of}", 'R'}};
    const struct target_view *v = f->v;
    void *window = f->at.window;
    if (text.p[0] == '%') {
        bool found = find_pane_id(f, text) && f->at.window == window;
        f->at.window = window;
        return found;
    }
    if (str_eq(text, STR("!"))) {
        f->at.pane = v->last_pane(v->ctx, window);
        return f->at.pane != NULL;
    }
    for (size_t i = 0; i < 4; i++) {
        if (!str_eq(text, str_of(beside[i].name)))
            continue;
        f->at.pane = neighbour(f, v->active_pane(v->ctx, window), beside[i].where);
        return f->at.pane != NULL;
    }
    f->at.pane = pane_by_place(f, text);
    if (!f->at.pane)
        f->at.pane = pane_at_edge(f, text);
    return f->at.pane != NULL;
}

static bool use_active_pane(struct target_search *f)
{
    if (f->at.window)
        f->at.pane = f->v->active_pane(f->v->ctx, f->at.window);
    return true;
}

/* In the session that was found. */
static bool find_pane_in_session(struct target_search *f, struct str text)
{
    if (text.p[0] == '%')
        return find_pane_id(f, text) && use_link_of_window(f);
    return use_current_link(f) && find_pane_here(f, text);
}

static bool find_pane(struct target_search *f, struct str text, bool only)
{
    if (text.p[0] == '%')
        return find_pane_id(f, text) && use_best_session(f, f->at.window) &&
               use_link_of_window(f);
    f->at = *f->current;
    if (find_pane_here(f, text))
        return true;
    return !only && find_window(f, text, false) && use_active_pane(f);
}

/* ---- the text ---- */

struct target_parts {
    struct str session, window, pane; /* .p NULL: not given */
    bool window_only, pane_only;
};

/* Words in braces, which stand for signs. */
static struct str sign_of(struct str s, bool pane)
{
    static const char *const words[][2] = {
        {"{start}", "^"},
        {"{last}", "!"},
        {"{end}", "$"},
        {"{next}", "+"},
        {"{previous}", "-"},
        {"{top}", "top"},
        {"{bottom}", "bottom"},
        {"{left}", "left"},
        {"{right}", "right"},
        {"{top-left}", "top-left"},
        {"{top-right}", "top-right"},
        {"{bottom-left}", "bottom-left"},
        {"{bottom-right}", "bottom-right"},
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        bool counts = pane ? i != 0 && i != 2 : i < 5;
        if (counts && str_eq(s, str_of(words[i][0])))
            return str_of(words[i][1]);
    }
    return s;
}

static struct str unless_empty(struct str s)
{
    return s.n > 0 ? s : (struct str){NULL, 0};
}

static void cut(struct str target, enum target_type type, struct target_parts *p)
{
    long colon = str_chr(target, ':');
    struct str rest = colon < 0 ? target : str_sub(target, (size_t)colon + 1, target.n);
    long dot = str_chr(rest, '.');
    struct str before = dot < 0 ? rest : str_sub(rest, 0, (size_t)dot);
    *p = (struct target_parts){0};
    if (colon >= 0) {
        p->session = str_sub(target, 0, (size_t)colon);
        p->window = before;
        p->window_only = true;
    } else if (dot >= 0) {
        p->window = before;
    }
    if (dot >= 0) {
        p->pane = str_sub(rest, (size_t)dot + 1, rest.n);
        p->pane_only = true;
    }
    if (colon >= 0 || dot >= 0)
        return;
    if (target.p[0] == '$')
        type = TARGET_SESSION;
    else if (target.p[0] == '@')
        type = TARGET_WINDOW;
    else if (target.p[0] == '%')
        type = TARGET_PANE;
    *(type == TARGET_SESSION  ? &p->session
      : type == TARGET_WINDOW ? &p->window
                              : &p->pane) = target;
}

/* "=" before a name: the name is whole. */
static void take_exact(struct target_parts *p, unsigned *flags)
{
    if (p->session.n > 0 && p->session.p[0] == '=') {
        p->session = str_sub(p->session, 1, p->session.n);
        *flags |= TARGET_EXACT_SESSION;
    }
    if (p->window.n > 0 && p->window.p[0] == '=') {
        p->window = str_sub(p->window, 1, p->window.n);
        *flags |= TARGET_EXACT_WINDOW;
    }
    p->session = unless_empty(p->session);
    p->window = sign_of(unless_empty(p->window), false);
    p->pane = sign_of(unless_empty(p->pane), true);
}

/* Returns what is not found: "session", "window" or "pane"; NULL: all is found. */
static const char *look_up(struct target_search *f, const struct target_parts *p)
{
    if (p->session.p) {
        if (!find_session(f, p->session))
            return "session";
        if (p->window.p ? !find_window_here(f, p->window)
                        : !p->pane.p && !use_current_link(f))
            return "window";
        if (!p->window.p && !p->pane.p)
            f->at.index = -1;
        if (!p->pane.p)
            return use_active_pane(f) ? NULL : "pane";
        if (p->window.p ? !find_pane_here(f, p->pane) : !find_pane_in_session(f, p->pane))
            return "pane";
        return NULL;
    }
    if (p->window.p) {
        if (!find_window(f, p->window, p->window_only))
            return "window";
        if (p->pane.p && !find_pane_here(f, p->pane))
            return "pane";
        return !p->pane.p && !use_active_pane(f) ? "pane" : NULL;
    }
    return find_pane(f, p->pane, p->pane_only) ? NULL : "pane";
}

/* Returns -1 with the text, kind and name after it, in why. */
static int fail(struct target_state *out, struct buf *why, unsigned flags,
                const char *text, const char *kind, struct str name)
{
    *out = (struct target_state){.index = -1};
    if (!(flags & TARGET_QUIET))
        buf_addf(why, "%s%s%.*s", text, kind, STR_ARG(name));
    return -1;
}

static int look_up_text(struct target_search *f, struct str target, enum target_type type,
                        struct target_state *out, struct buf *why)
{
    struct target_parts p;
    cut(target, type, &p);
    take_exact(&p, &f->flags);
    if (p.pane.p && (f->flags & TARGET_WINDOW_INDEX))
        return fail(out, why, f->flags, "can't specify pane here", "", STR(""));
    if (!p.session.p && !p.window.p && !p.pane.p)
        return 0;
    const char *missing = look_up(f, &p);
    if (!missing) {
        *out = f->at;
        return 0;
    }
    struct str name = missing[0] == 's'   ? p.session
                      : missing[0] == 'w' ? p.window
                                          : p.pane;
    fail(out, why, f->flags, "can't find ",
         missing[0] == 's'   ? "session: "
         : missing[0] == 'w' ? "window: "
                             : "pane: ",
         name);
    *out = f->at;
    return -1;
}

int target_find(struct target_state *out, struct str target, enum target_type type,
                unsigned flags, const struct target_state *current,
                const struct target_state *marked, const struct target_state *mouse,
                const struct target_view *v, struct buf *why)
{
    struct target_search f = {
        .v = v, .current = current, .flags = flags, .at = {.index = -1}};
    if ((flags & TARGET_DEFAULT_MARKED) && marked && marked->session)
        f.current = marked;
    if (!f.current || !f.current->session)
        return fail(out, why, flags, "no current target", "", STR(""));
    *out = *f.current;
    if (flags & TARGET_WINDOW_INDEX)
        out->index = -1;
    if (target.n == 0)
        return 0;
    bool is_mouse = str_eq(target, STR("=")) || str_eq(target, STR("{mouse}"));
    if (is_mouse || str_eq(target, STR("~")) || str_eq(target, STR("{marked}"))) {
        const struct target_state *at = is_mouse ? mouse : marked;
        if (!at || !at->session)
            return fail(out, why, flags,
                        is_mouse ? "no mouse target" : "no marked target", "", STR(""));
        *out = *at;
        return 0;
    }
    return look_up_text(&f, target, type, out, why);
}

bool target_best_session(struct target_state *out, const struct target_view *v,
                         unsigned flags)
{
    struct target_search f = {.v = v, .flags = flags, .at = {.index = -1}};
    bool found = use_best_session(&f, NULL) && use_current_link(&f) &&
                 use_active_pane(&f);
    *out = found ? f.at : (struct target_state){.index = -1};
    return found;
}
