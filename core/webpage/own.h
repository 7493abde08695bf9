/* SPDX-License-Identifier: MIT */
/* What the readers of pages share: the state of a reader, and its numbered items. */
#ifndef OD_WEBPAGE_OWN_H
#define OD_WEBPAGE_OWN_H

#include "base/map.h"
#include "html/html.h"
#include "webpage/webpage.h"

struct reading {
    struct webpage *page; /* borrowed */
    struct html_node *html;
    struct str base;    /* for relative URLs */
    struct buf base_of; /* its memory, if the page names one */
    struct map labels;  /* id of a field → its label */
    struct map forms;   /* id of a form → its node */
    unsigned bids, nforms;
    bool given; /* numbers and roles come from the tree, see webpage_tree */
};

/* Numbers links and fields, and lists them and the forms. */
void webpage_number(struct reading *r);
/*
 * Appends the body to the page's text, its main part (NULL: none) first. Returns -1 if
 * the text is too long, or memory is short.
 */
int webpage_write(struct reading *r, const struct html_node *part,
                  const struct html_node *body);
/* Appends an item in its form for the text: "[4: textbox 'Name']". */
int webpage_field_text(const struct json *item, struct buf *out);
/* Whether n is not shown: hidden, or not text. */
bool webpage_is_hidden(const struct html_node *n);
/* Appends the text in n, with blanks folded, at most max bytes; of an image, its alt. */
void webpage_text_of(const struct html_node *n, struct buf *out, size_t max);
/* Whether s has a character that is not blank. */
bool webpage_has_text(struct str s);

#endif
