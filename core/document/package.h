/* SPDX-License-Identifier: MIT */
/* Parts of an office file: a zip archive with XML in it (ECMA-376, part 2). */
#ifndef OD_DOCUMENT_PACKAGE_H
#define OD_DOCUMENT_PACKAGE_H

#include "document/own.h"

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
/* Sets *out to the name of the part that has the relationships of `part`. */
int package_rels_name(struct str part, struct buf *out);

#endif
