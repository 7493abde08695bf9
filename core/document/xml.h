/* SPDX-License-Identifier: MIT */
/*
 * XML of office files, piece by piece (XML 1.0, fifth edition). Names are without
 * their prefix: the formats read here have no two of one name. No entities but the
 * five of 4.6 and numbers, so nothing grows.
 */
#ifndef OD_DOCUMENT_XML_H
#define OD_DOCUMENT_XML_H

#include "base/buf.h"

enum xml_kind { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT, XML_BAD };

struct xml {
    struct str s; /* borrowed */
    size_t at;
    size_t depth;     /* elements that are open */
    bool close;       /* an empty element was opened, and is to be closed */
    bool raw;         /* the text is from CDATA */
    struct str name;  /* OPEN, CLOSE */
    struct str attrs; /* OPEN: as they stand there */
    struct str text;  /* TEXT */
};

#define XML_INIT(bytes) \
    { \
        .s = (bytes) \
    }

/* XML_BAD: the document ends in the middle of something. */
enum xml_kind xml_next(struct xml *x);
bool xml_is(const struct xml *x, const char *name);
/* Appends the text with its entities resolved. -1: full. */
int xml_text(const struct xml *x, struct buf *out);
/* An attribute of the element just opened, by its name without a prefix. */
bool xml_attr(const struct xml *x, const char *name, struct buf *out);
/* The same, but only with a prefix, whatever it is: r:id beside id. */
bool xml_attr_prefixed(const struct xml *x, const char *name, struct buf *out);
/* "amp", "#65", "#x41": appends the character. False: unknown. */
bool xml_entity(struct str name, struct buf *out);

#endif
