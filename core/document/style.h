/* SPDX-License-Identifier: MIT */
/*
 * What a Word file's styles and lists make of its paragraphs: a heading, or an item of
 * a list (ECMA-376, part 1, 17.7.4, 17.9); and where its links lead (17.16.22). A style
 * has an id of the file's own, which follows the language of the program that wrote it,
 * and a name that does not.
 */
#ifndef OD_DOCUMENT_STYLE_H
#define OD_DOCUMENT_STYLE_H

#include "base/map.h"
#include "document/package.h"
#include "document/xml.h"

enum { LIST_LEVELS = 9 }; /* 17.9.6 */

struct docx_list; /* one whose items are counted together */

struct docx_styles {
    struct arena memory;
    struct map styles, kinds, lists, links; /* by their ids */
};

/* A paragraph; zeroed where it begins. */
struct docx_look {
    int heading; /* its level, 1 to 6; 0, -1: none */
    bool item;
    bool past;              /* what follows is how it looked before a change */
    int level;              /* of the item, from 0 */
    struct docx_list *list; /* borrowed; NULL: of none that is known */
};

void docx_styles_init(struct docx_styles *s);
void docx_styles_release(struct docx_styles *s);
/* Of the document in the part `name`; a file need not have any. part is for use. */
void docx_styles_read(struct docx_styles *s, struct package *p, struct str name,
                      struct buf *part);
/* An element in a paragraph's properties was opened. */
void docx_styles_look(struct docx_styles *s, const struct xml *x, struct docx_look *look);
/* Where the link leads that was opened; NULL: into the document, or nowhere. */
const char *docx_styles_link(struct docx_styles *s, const struct xml *x);
/* Counts an item of the list. Its number; 0: it has a dot. */
int docx_list_next(struct docx_list *l, int level);

#endif
