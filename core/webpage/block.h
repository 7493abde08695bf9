/* SPDX-License-Identifier: MIT */
/*
 * Writes a page's lines of Markdown: what is due before the next word, the prefix of each
 * line, lists and tables. Nothing is written before a word comes, so that empty elements
 * get no mark.
 */
#ifndef OD_WEBPAGE_BLOCK_H
#define OD_WEBPAGE_BLOCK_H

#include "webpage/own.h"

enum {
    MD_PREFIX_MAX =
        160,           /* bytes before a line: quotes and lists; deeper levels add none */
    MD_LISTS_MAX = 40, /* nested lists that are counted */
};

struct md_list {
    bool ordered;
    int next;
    /* The state before an item's mark, restored if nothing follows the mark. */
    size_t prefix, out, gap;
    int newline;
    bool space, begun, tight;
};

struct md {
    const struct json **items; /* by bid; borrowed, as is out */
    struct buf *out;
    struct buf prefix;  /* of each line */
    struct buf block;   /* waits for the next character, at the line's beginning */
    struct buf pending; /* the same, after that: "[", "**" */
    int newline;        /* line ends that are due */
    size_t gap;         /* bytes of the prefix that empty lines have */
    bool space, begun;
    bool tight; /* right after the mark of an item: no line ends */
    int pre, code;
    struct md_list lists[MD_LISTS_MAX];
    int nlists;
    const struct html_node *table; /* the table of data that is being written */
    int rows, cells;
    const struct html_node *skip; /* the part that was already written */
    bool full;
};

/* Appends s unchanged, without what is due before it. */
void md_add(struct md *m, struct str s);
/* Asks for at least n line ends before the next text; in a cell of a table, a blank. */
void md_want_lines(struct md *m, int n);
/* Appends what is due, then s; md_put_words folds blanks. */
void md_put(struct md *m, struct str s);
void md_put_words(struct md *m, struct str s);
void md_put_pre(struct md *m, struct str s);
/* Appends text of the page, in the form of the element that it is in. */
void md_put_text(struct md *m, struct str s);
/*
 * Puts a mark before the next text, and one after it if any text came (returns true
 * then).
 */
void md_open_mark(struct md *m, const char *mark);
bool md_close_mark(struct md *m, const char *open, const char *close);
/* Adds a prefix to each line from the next one on. */
void md_add_indent(struct md *m, const char *text);
void md_cut_indent(struct md *m, const char *text);

void md_begin_list(struct md *m, const struct html_node *n);
void md_end_list(struct md *m);
void md_begin_item(struct md *m);
void md_end_item(struct md *m);

/*
 * Begins a table. A table of data becomes one of Markdown; a layout table becomes text.
 */
void md_begin_table(struct md *m, const struct html_node *n);
void md_end_table(struct md *m, const struct html_node *n);
void md_end_row(struct md *m);
void md_end_caption(struct md *m);
void md_begin_cell(struct md *m);
void md_end_cell(struct md *m, const struct html_node *n);

#endif
