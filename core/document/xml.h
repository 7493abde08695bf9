/* SPDX-License-Identifier: MIT */
/*
 * XML of office files, piece by piece (XML 1.0, fifth edition). Names are without their
 * prefix: in the formats read here no two differ only by it. Only numbers and the five
 * entities of 4.6 are resolved, so text never grows.
 */
#ifndef OD_DOCUMENT_XML_H
#define OD_DOCUMENT_XML_H

#include "base/buf.h"

enum xml_kind { XML_END, XML_OPEN, XML_CLOSE, XML_TEXT, XML_BAD };

struct xml {
    struct str s; /* borrowed */
    size_t at;
    size_t depth;     /* elements that are open */
    bool close;       /* an empty element was opened, and CLOSE follows */
    bool raw;         /* the text is from CDATA */
    struct str name;  /* OPEN, CLOSE */
    struct str attrs; /* OPEN: unparsed */
    struct str text;  /* TEXT */
};

#define XML_INIT(bytes) \
    { \
        .s = (bytes) \
    }

/* Returns the next piece; XML_BAD if the document is cut off. */
enum xml_kind xml_next(struct xml *x);
/* Moves on to the next element that opens. Returns false if there is none. */
bool xml_open(struct xml *x);
bool xml_is(const struct xml *x, const char *name);
/* Appends the text with its entities resolved. Returns -1 if out is full. */
int xml_text(const struct xml *x, struct buf *out);
/* Finds an attribute of the element just opened, by its name without a prefix. */
bool xml_attr(const struct xml *x, const char *name, struct buf *out);
/* The same, but only an attribute with any prefix: r:id next to id. */
bool xml_attr_prefixed(const struct xml *x, const char *name, struct buf *out);
/* Whether an attribute, without a prefix as well, has that value. */
bool xml_attr_is(const struct xml *x, const char *name, const char *value);
/* Returns an attribute as a number; dflt if it is missing or not a number. */
uint64_t xml_attr_number(const struct xml *x, const char *name, uint64_t dflt);
/* Appends the character of "amp", "#65" or "#x41". Returns false if it is unknown. */
bool xml_entity(struct str name, struct buf *out);

#endif
