/* SPDX-License-Identifier: MIT */
/*
 * Styles, lists and links of a Word file: which paragraphs are headings or items of a
 * list (ECMA-376, part 1, 17.7.4, 17.9), and the targets of links (17.16.22). The id of a
 * style depends on the language of the program that wrote the file; its name does not.
 */
#ifndef OD_DOCUMENT_STYLE_H
#define OD_DOCUMENT_STYLE_H

#include "base/map.h"
#include "document/items.h"
#include "document/package.h"
#include "document/xml.h"

enum { LIST_LEVELS = 9 }; /* 17.9.6 */

struct docx_styles {
    struct arena memory;
    struct map styles, kinds, lists, links; /* by their ids */
};

/* The properties of a paragraph; zeroed where it begins. */
struct docx_paragraph {
    int heading; /* its level, 1 to 6; 0 or -1: not a heading */
    bool item;
    bool past;              /* what follows are those before a tracked change */
    int level;              /* of the item, from 1; 0: not known, which is the first */
    struct items *list;     /* borrowed; NULL: not in a list that is known */
};

void docx_styles_init(struct docx_styles *s);
void docx_styles_release(struct docx_styles *s);
/* Reads the styles of the document in the part `name`, as far as there are any. */
void docx_styles_read(struct docx_styles *s, struct package *p, struct str name,
                      struct str rels);
/* Takes an element that was opened in a paragraph's properties. */
void docx_styles_take(struct docx_styles *s, const struct xml *x,
                      struct docx_paragraph *p);
/*
 * Returns the target of the link that was opened; NULL if it leads into the document, or
 * nowhere.
 */
const char *docx_styles_link(struct docx_styles *s, const struct xml *x);

#endif
