/* SPDX-License-Identifier: MIT */
/*
 * A pattern as a tree: automaton_tree.c makes it from the text, and automaton.c
 * makes a program from it.
 */
#ifndef OD_TEXT_AUTOMATON_OWN_H
#define OD_TEXT_AUTOMATON_OWN_H

#include "base/str.h"

enum {
    TREE_NODES_MAX = 4096,
    TREE_DEPTH_MAX = 100,
    TREE_REPEAT_MAX = 1000,
    TREE_MANY = -1 /* no upper bound */
};

enum tree_kind {
    TREE_EMPTY, /* nothing; also stands for look around and \b */
    TREE_SET,   /* one byte of a set */
    TREE_BOTH,  /* a, then b */
    TREE_EITHER,
    TREE_REPEAT, /* a, low to high times */
    TREE_BEGIN,  /* of a line */
    TREE_END
};

struct tree_set {
    uint64_t has[4];
};

struct tree_node {
    enum tree_kind kind;
    int a, b;
    int low, high;
    struct tree_set set;
};

struct pattern_tree {
    struct tree_node nodes[TREE_NODES_MAX];
    int n;
    int root;
    bool fold;
    bool exact;
};

static inline void set_add(struct tree_set *s, unsigned char c)
{
    s->has[c >> 6] |= 1ull << (c & 63);
}
static inline bool set_has(const struct tree_set *s, unsigned char c)
{
    return s->has[c >> 6] >> (c & 63) & 1;
}

/* Makes the tree of a pattern. Returns -1 if the pattern is not known, or too large. */
int tree_parse(struct pattern_tree *t, struct str pattern, bool fold);

#endif
