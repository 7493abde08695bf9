/* SPDX-License-Identifier: MIT */
/*
 * The tree becomes a program (Thompson's construction); a state is a set of places in it.
 * States are made when they are first needed. When the table is full, all of them are
 * dropped, except the current one.
 *
 * A state is a row of the table, with a column for each class of bytes that no set
 * distinguishes. Its number is the row's offset: a step is one addition and one load.
 *
 *   0 UNKNOWN   to be made          MATCH     a line was found
 *   others      rows; a newline leads to the state of a line's beginning from each,
 *               unless the line matches at its end in that state
 */
#include "text/automaton.h"

#include "base/log.h"
#include "base/scan.h"
#include "base/xalloc.h"
#include "text/automaton_own.h"

#include <stdlib.h>

enum {
    PLACES_MAX = 4096,
    LITERAL_MAX = 64,
    TABLE_BYTES = 2 << 20,
    SLOTS = 8192, /* of the hash of states: a power of two */
    UNKNOWN = 0,
    MATCH = 1
};

enum code { SET, SPLIT, BEGIN, END, FOUND };

struct automaton_place {
    enum code code;
    uint16_t to, other;
    uint16_t set; /* in the tree's nodes */
};

struct automaton_state {
    uint32_t row;
    uint32_t from, n; /* its places, in members */
    bool at_begin;
};

struct automaton {
    struct pattern_tree *tree; /* owned */
    struct automaton_place code[PLACES_MAX];
    int code_n;
    bool overflow;
    uint16_t start;
    uint16_t class[256];
    unsigned char sample[257]; /* of each class, a byte */
    unsigned classes, row; /* of bytes; a row's length, the newline's class included */
    /* ---- states ---- */
    uint32_t *table;   /* owned: states_max rows */
    struct automaton_state *of; /* owned: by row / length */
    uint16_t *members; /* owned */
    uint32_t states, states_max, members_n, members_max;
    int32_t slots[SLOTS];
    uint32_t begin,
        middle;     /* rows: at the beginning of a line, and where nothing began */
    bool skip[256]; /* bytes that stay in `middle` */
    /* ---- while one is made ---- */
    uint16_t next[PLACES_MAX], stack[PLACES_MAX + 2];
    uint32_t mark[PLACES_MAX], turn;
    int next_n;
    char literal[LITERAL_MAX];
    size_t literal_n;
};

/* ---- program ---- */

/* Appends an instruction. Returns its place, or 0 if there is no room. */
static uint16_t emit(struct automaton *a, enum code code, uint16_t to, uint16_t other)
{
    if (a->code_n == PLACES_MAX) {
        a->overflow = true;
        return 0;
    }
    a->code[a->code_n] = (struct automaton_place){.code = code, .to = to, .other = other};
    return (uint16_t)a->code_n++;
}

/* The place where node n begins, when what follows it begins at `then`. */
static uint16_t program(struct automaton *a, int n, uint16_t then);

static uint16_t repeat_program(struct automaton *a, const struct tree_node *n,
                               uint16_t then)
{
    uint16_t at = then;
    if (n->high == TREE_MANY) {
        at = emit(a, SPLIT, 0, then);
        uint16_t body = program(a, n->a, at);
        a->code[at].to = body;
        if (n->low > 0)
            at = body;
    }
    for (int i = n->low; i < n->high && !a->overflow; i++)
        at = emit(a, SPLIT, program(a, n->a, at), then);
    int left = n->high == TREE_MANY && n->low > 0 ? n->low - 1 : n->low;
    for (int i = 0; i < left && !a->overflow; i++)
        at = program(a, n->a, at);
    return at;
}

static uint16_t program(struct automaton *a, int i, uint16_t then)
{
    const struct tree_node *n = &a->tree->nodes[i];
    uint16_t at;
    if (a->overflow)
        return 0;
    switch (n->kind) {
    case TREE_EMPTY:
        return then;
    case TREE_SET:
        at = emit(a, SET, then, 0);
        a->code[at].set = (uint16_t)i;
        return at;
    case TREE_BOTH:
        at = program(a, n->b, then);
        return program(a, n->a, at);
    case TREE_EITHER:
        at = program(a, n->b, then);
        return emit(a, SPLIT, program(a, n->a, then), at);
    case TREE_REPEAT:
        return repeat_program(a, n, then);
    case TREE_BEGIN:
        return emit(a, BEGIN, then, 0);
    case TREE_END:
        return emit(a, END, then, 0);
    }
    return 0;
}

static const struct tree_set *set_of(const struct automaton *a, uint16_t place)
{
    return &a->tree->nodes[a->code[place].set].set;
}

/* Bytes that no set distinguishes get the same number. */
static void make_classes(struct automaton *a)
{
    unsigned n = 1;
    for (int i = 0; i < a->code_n; i++) {
        if (a->code[i].code != SET)
            continue;
        const struct tree_set *s = set_of(a, (uint16_t)i);
        int16_t with[256];
        bool without[256] = {false};
        memset(with, -1, sizeof(with));
        for (int c = 0; c < 256; c++) {
            if (!set_has(s, (unsigned char)c))
                without[a->class[c]] = true;
        }
        for (int c = 0; c < 256; c++) {
            unsigned old = a->class[c];
            if (!set_has(s, (unsigned char)c) || !without[old])
                continue;
            if (with[old] < 0)
                with[old] = (int16_t)n++;
            a->class[c] = (uint16_t)with[old];
        }
    }
    a->classes = n;
    for (int c = 0; c < 256; c++)
        a->sample[a->class[c]] = (unsigned char)c;
    a->class['\n'] = (uint16_t)n; /* a class of its own, after the others */
}

/* ---- states ---- */

/* Adds a place and those that are reached from it without a byte. */
static void follow(struct automaton *a, uint16_t from, bool at_begin, bool at_end)
{
    int top = 0;
    a->stack[top++] = from;
    while (top > 0) {
        uint16_t i = a->stack[--top];
        const struct automaton_place *p = &a->code[i];
        if (a->mark[i] == a->turn)
            continue;
        a->mark[i] = a->turn;
        if (p->code == SET || p->code == FOUND || (p->code == END && !at_end)) {
            a->next[a->next_n++] = i;
        } else if (p->code == SPLIT) {
            /* One more for each place that is marked: never more than the stack has. */
            a->stack[top++] = p->other;
            a->stack[top++] = p->to;
        } else if (p->code == END || at_begin) {
            a->stack[top++] = p->to;
        }
    }
}

static void begin_turn(struct automaton *a)
{
    a->turn++;
    a->next_n = 0;
}

static bool has_found(const struct automaton *a)
{
    for (int i = 0; i < a->next_n; i++) {
        if (a->code[a->next[i]].code == FOUND)
            return true;
    }
    return false;
}

static int by_number(const void *a, const void *b)
{
    return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static void forget(struct automaton *a)
{
    memset(a->slots, -1, sizeof(a->slots));
    a->states = 1; /* no row 0: it is UNKNOWN's and MATCH's number */
    a->members_n = 0;
}

static uint32_t slot_of(const struct automaton *a, bool at_begin)
{
    uint32_t h = at_begin ? 7 : 3;
    for (int i = 0; i < a->next_n; i++)
        h = (h ^ a->next[i]) * 16777619u;
    return (h ^ h >> 15) & (SLOTS - 1);
}

/* The row of the state with the places in next, or MATCH. *full: forget first. */
static uint32_t state_of(struct automaton *a, bool at_begin, bool *full)
{
    if (has_found(a))
        return MATCH;
    qsort(a->next, (size_t)a->next_n, sizeof(*a->next), by_number);
    uint32_t slot = slot_of(a, at_begin);
    for (; a->slots[slot] >= 0; slot = (slot + 1) & (SLOTS - 1)) {
        const struct automaton_state *s = &a->of[a->slots[slot]];
        if (s->n == (uint32_t)a->next_n && s->at_begin == at_begin &&
            memcmp(a->members + s->from, a->next, s->n * sizeof(*a->next)) == 0)
            return s->row;
    }
    if (a->states == a->states_max ||
        a->members_max - a->members_n < (uint32_t)a->next_n) {
        *full = true;
        return UNKNOWN;
    }
    uint32_t i = a->states++;
    a->of[i] = (struct automaton_state){i * a->row, a->members_n, (uint32_t)a->next_n,
                                        at_begin};
    memcpy(a->members + a->members_n, a->next, (size_t)a->next_n * sizeof(*a->next));
    a->members_n += (uint32_t)a->next_n;
    memset(a->table + (size_t)i * a->row, 0, a->row * sizeof(*a->table));
    a->slots[slot] = (int32_t)i;
    return i * a->row;
}

static void find_skip(struct automaton *a);

/* The two states that everything begins with. */
static void make_first(struct automaton *a)
{
    bool full = false;
    forget(a);
    begin_turn(a);
    follow(a, a->start, true, false);
    a->begin = state_of(a, true, &full);
    begin_turn(a);
    follow(a, a->start, false, false);
    a->middle = state_of(a, false, &full);
    BUG_ON(full);
    find_skip(a);
}

static bool found_at_end(struct automaton *a, uint32_t row)
{
    struct automaton_state s = a->of[row / a->row];
    begin_turn(a);
    for (uint32_t i = 0; i < s.n; i++) {
        uint16_t place = a->members[s.from + i];
        if (a->code[place].code == END)
            follow(a, place, s.at_begin, true);
    }
    return has_found(a);
}

static void step_places(struct automaton *a, struct automaton_state s, unsigned char c)
{
    begin_turn(a);
    for (uint32_t i = 0; i < s.n; i++) {
        uint16_t place = a->members[s.from + i];
        if (a->code[place].code == SET && set_has(set_of(a, place), c))
            follow(a, a->code[place].to, false, false);
    }
    follow(a, a->start, false, false);
}

/* Makes an entry that the table lacks: the state after row and byte. */
static uint32_t step(struct automaton *a, uint32_t row, unsigned char c)
{
    bool full = false;
    uint32_t to;
    if (c == '\n') {
        to = found_at_end(a, row) ? MATCH : a->begin;
        a->table[row + a->class[c]] = to;
        return to;
    }
    step_places(a, a->of[row / a->row], c);
    to = state_of(a, false, &full);
    if (!full) {
        a->table[row + a->class[c]] = to;
        return to;
    }
    /* The places are in next, which make_first() needs itself. */
    uint16_t *kept = xcalloc((size_t)a->next_n + 1, sizeof(*kept));
    int n = a->next_n;
    memcpy(kept, a->next, (size_t)n * sizeof(*kept));
    make_first(a);
    memcpy(a->next, kept, (size_t)n * sizeof(*kept));
    a->next_n = n;
    free(kept);
    full = false;
    to = state_of(a, false, &full);
    BUG_ON(full);
    return to;
}

static void find_skip(struct automaton *a)
{
    struct automaton_state s = {0};
    memset(a->skip, 0, sizeof(a->skip));
    if (a->middle == MATCH)
        return;
    s = a->of[a->middle / a->row];
    for (unsigned k = 0; k < a->classes; k++) {
        bool moves = false;
        for (uint32_t i = 0; i < s.n && !moves; i++) {
            uint16_t place = a->members[s.from + i];
            moves = a->code[place].code == END ||
                    (a->code[place].code == SET &&
                     set_has(set_of(a, place), a->sample[k]));
        }
        for (int c = 0; c < 256 && !moves; c++)
            a->skip[c] |= a->class[c] == k;
    }
    /* A newline is skipped if it leads back to the same state. */
    struct automaton_state b = a->begin == MATCH ? s : a->of[a->begin / a->row];
    bool same = a->begin != MATCH && b.n == s.n &&
                memcmp(a->members + b.from, a->members + s.from,
                       s.n * sizeof(*a->members)) == 0;
    for (uint32_t i = 0; i < s.n && same; i++)
        same = a->code[a->members[s.from + i]].code != END;
    a->skip['\n'] = same;
}

/* ---- running ---- */

static uint32_t next_of(struct automaton *a, uint32_t row, unsigned char c)
{
    uint32_t to = a->table[row + a->class[c]];
    return to == UNKNOWN ? step(a, row, c) : to;
}

size_t automaton_find(struct automaton *a, struct str text, size_t from)
{
    const unsigned char *start = (const unsigned char *)text.p, *p = start + from,
                        *end = start + text.n;
    uint32_t row = a->begin;
    if (a->begin == MATCH || from >= text.n)
        return from < text.n ? from : text.n;
    while (p < end) {
        if (row == a->middle) {
            while (p < end && a->skip[*p])
                p++;
            if (p == end)
                break;
        }
        uint32_t to = next_of(a, row, *p);
        if (to == MATCH)
            return (size_t)(p - start);
        row = to;
        p++;
    }
    /* A last line without a newline: the result is its last byte. */
    if (text.p[text.n - 1] != '\n' && next_of(a, row, '\n') == MATCH)
        return text.n - 1;
    return text.n;
}

bool automaton_is_exact(const struct automaton *a) { return a->tree->exact; }

struct str automaton_literal(const struct automaton *a, bool *fold)
{
    *fold = a->tree->fold;
    return str_n(a->literal, a->literal_n);
}

/* ---- the literal ---- */

struct automaton_run {
    char now[LITERAL_MAX];
    size_t n;
};

static void end_run(struct automaton *a, struct automaton_run *r)
{
    if (r->n > a->literal_n) {
        memcpy(a->literal, r->now, r->n);
        a->literal_n = r->n;
    }
    r->n = 0;
}

/* The one byte of a set, or both cases of a letter; -1. */
static int only_byte(const struct tree_set *s, bool fold)
{
    int found = -1;
    for (int c = 0; c < 256; c++) {
        if (!set_has(s, (unsigned char)c))
            continue;
        bool pair = fold && found >= 'A' && found <= 'Z' && c == (found | 32);
        if (found >= 0 && !pair)
            return -1;
        found = c;
    }
    return found;
}

/* Finds the longest run of single bytes that every match has. */
static void find_literal(struct automaton *a, int i, struct automaton_run *r)
{
    const struct tree_node *n = &a->tree->nodes[i];
    int c;
    switch (n->kind) {
    case TREE_SET:
        c = only_byte(&n->set, a->tree->fold);
        if (c < 0 || r->n == LITERAL_MAX)
            end_run(a, r);
        if (c >= 0)
            r->now[r->n++] = (char)c;
        break;
    case TREE_BOTH:
        find_literal(a, n->a, r);
        find_literal(a, n->b, r);
        break;
    case TREE_REPEAT:
        end_run(a, r);
        if (n->low > 0)
            find_literal(a, n->a, r);
        end_run(a, r);
        break;
    case TREE_EITHER:
        end_run(a, r);
        break;
    default:
        break;
    }
}

/* ---- life ---- */

static bool build(struct automaton *a)
{
    struct automaton_run r = {.n = 0};
    uint16_t found = emit(a, FOUND, 0, 0);
    a->start = program(a, a->tree->root, found);
    if (a->overflow)
        return false;
    find_literal(a, a->tree->root, &r);
    end_run(a, &r);
    make_classes(a);
    a->row = a->classes + 1;
    a->states_max = TABLE_BYTES / (a->row * sizeof(*a->table));
    if (a->states_max > SLOTS / 2)
        a->states_max = SLOTS / 2;
    a->members_max = 64 * PLACES_MAX;
    a->table = xcalloc((size_t)a->states_max * a->row, sizeof(*a->table));
    a->of = xcalloc(a->states_max, sizeof(*a->of));
    a->members = xcalloc(a->members_max, sizeof(*a->members));
    make_first(a);
    return true;
}

struct automaton *automaton_new(struct str pattern, bool ignore_case)
{
    struct automaton *a = xnew(struct automaton);
    a->tree = xnew(struct pattern_tree);
    if (tree_parse(a->tree, pattern, ignore_case) == 0 && build(a))
        return a;
    automaton_free(a);
    return NULL;
}

void automaton_free(struct automaton *a)
{
    if (!a)
        return;
    free(a->tree);
    free(a->table);
    free(a->of);
    free(a->members);
    free(a);
}
