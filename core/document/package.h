/* SPDX-License-Identifier: MIT */
/* Parts of an office file or book: a zip archive with XML in it (ECMA-376, part 2). */
#ifndef OD_DOCUMENT_PACKAGE_H
#define OD_DOCUMENT_PACKAGE_H

#include "document/own.h"
#include "document/xml.h"

enum {
    PACKAGE_PART_MAX = 64 << 20, /* bytes of one part */
    PACKAGE_ALL_MAX = 128 << 20  /* bytes of all parts that are read */
};

struct package {
    int fd; /* borrowed */
    uint64_t left;
};

#define PACKAGE_INIT(descriptor) \
    { \
        .fd = (descriptor), .left = PACKAGE_ALL_MAX \
    }

/*
 * Reads a part into out, whose content it replaces. Returns -1 and sets *e, to NOTFOUND
 * if there is no such part.
 */
int package_read(struct package *p, struct str name, struct buf *out, struct err *e);
/*
 * Finds the part that a relationship leads to, by its id, or by the end of its type if id
 * is empty. rels is the XML of the relationships of the part `from`. Returns false if
 * there is none.
 */
bool package_target(struct str rels, struct str from, struct str id, const char *type,
                    struct buf *out);
/* Finds a part in the same way and reads it. Returns false if that did not work. */
bool package_follow(struct package *p, struct str rels, struct str from, struct str id,
                    const char *type, struct buf *part);
/*
 * Sets *out to the name that `target` has in the folder of the part `from`:
 * "../slides/a.xml", or "/ppt/a.xml" from the top.
 */
int package_join(struct str from, struct str target, struct buf *out);
/*
 * Reads the relationships of `part` into rels, which stays empty if there are none: most
 * parts have none.
 */
void package_rels(struct package *p, struct str part, struct buf *rels);
/*
 * Finds the main part of an office file, which is `usual` unless the file says so, and
 * reads it and its relationships. Returns -1 and sets *e.
 */
int package_main(struct package *p, const char *usual, struct buf *name, struct buf *main,
                 struct buf *rels, struct err *e);
/*
 * Appends the values of a chart as a table: of the part that the element just opened in
 * the part `from` refers to, nothing if it is not one. Returns -1 if out is full. chart.c
 */
int docread_chart(struct package *p, const struct xml *x, struct str rels,
                  struct str from, bool markdown, struct buf *out);
/* The same with the texts of a diagram (SmartArt), each a line that begins with "- ". */
int docread_diagram(struct package *p, const struct xml *x, struct str rels,
                    struct str from, struct buf *out);
/*
 * Appends the text that stands in for a picture (20.4.2.5), of the properties that were
 * just opened; nothing if there is none. Returns -1 if out is full. chart.c
 */
int docread_stand_in(const struct xml *x, struct buf *out);

/* ---- the formats: the text of an open file, appended; return as docread_text ---- */

int docread_docx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_pptx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_xlsx(int fd, struct buf *out, struct err *e);
int docread_odf(int fd, struct buf *out, struct err *e);
int docread_epub(int fd, struct buf *out, struct err *e);

#endif
