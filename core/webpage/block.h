/* SPDX-License-Identifier: MIT */
/*
 * Lines of Markdown as a page is made of them: what is due before the next word, what
 * stands before each line, lists and tables. Nothing is written before a word comes, so
 * that nothing empty is marked.
 */
#ifndef OD_WEBPAGE_BLOCK_H
#define OD_WEBPAGE_BLOCK_H

#include "webpage/own.h"

enum {
    MD_PREFIX_MAX = 160, /* bytes before a line: quotes and lists; deeper ones add none */
    MD_LISTS_MAX = 40,   /* lists in lists that are counted */
};

struct md_list {
    bool ordered;
    int next;
    /* Before an item's mark was put, to which it goes back if nothing follows. */
    size_t prefix, out, gap;
    int newline;
    bool space, begun, tight;
};

struct md {
    const struct json **items; /* by bid; borrowed, as is out */
    struct buf *out;
    struct buf prefix;  /* of each line */
    struct buf block;   /* waits for the next character, at the line's beginning */
    struct buf pending; /* the same, behind that: "[", "**" */
    int newline;        /* line ends that are due */
    size_t gap;         /* bytes of the prefix that empty lines have */
    bool space, begun;
    bool tight; /* right behind the mark of an item: no line ends */
    int pre, code;
    struct md_list lists[MD_LISTS_MAX];
    int nlists;
    const struct html_node *table; /* of data, which we are in */
    int rows, cells;
    const struct html_node *skip; /* was written before */
    bool full;
};

/* As it is, without what is due before it. */
void md_add(struct md *m, struct str s);
/* At least n line ends before what comes next; in a cell of a table a blank. */
void md_want_lines(struct md *m, int n);
/* What is due, and s behind it; in md_put_words blanks are folded. */
void md_put(struct md *m, struct str s);
void md_put_words(struct md *m, struct str s);
void md_put_pre(struct md *m, struct str s);
/* Text of the page, as the element that it is in has it. */
void md_put_text(struct md *m, struct str s);
/* A mark before what comes next, and one behind it if anything came: then true. */
void md_open_mark(struct md *m, const char *mark);
bool md_close_mark(struct md *m, const char *open, const char *close);
/* What stands before each line from the next one on. */
void md_add_indent(struct md *m, const char *text);
void md_cut_indent(struct md *m, const char *text);

void md_begin_list(struct md *m, const struct html_node *n);
void md_end_list(struct md *m);
void md_begin_item(struct md *m);
void md_end_item(struct md *m);

/* A table of data is one of Markdown; others only say where things stand. */
void md_begin_table(struct md *m, const struct html_node *n);
void md_end_table(struct md *m, const struct html_node *n);
void md_end_row(struct md *m);
void md_end_caption(struct md *m);
void md_begin_cell(struct md *m);
void md_end_cell(struct md *m, const struct html_node *n);

#endif
