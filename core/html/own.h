/* SPDX-License-Identifier: MIT */
/* What token.c and tree.c share: tokens (HTML standard, 13.2.5). */
#ifndef OD_HTML_OWN_H
#define OD_HTML_OWN_H

#include "html/html.h"

enum html_kind {
    HTML_END_OF_FILE,
    HTML_START,
    HTML_END,
    HTML_CHARS,
    HTML_COMMENT,
    HTML_DOCTYPE,
};

struct html_doctype {
    struct str public_id, system_id; /* p is NULL if it is missing */
    bool force_quirks;
};

struct html_token {
    enum html_kind kind;
    enum html_tag tag;
    struct str text; /* the name, in small letters, or characters, U+0000 too */
    struct html_attr *attrs;
    bool closed; /* <x/> */
    struct html_doctype doctype;
};

struct html_tokens {
    struct arena *a;
    struct str s;
    size_t at;
    struct str raw;             /* within a raw text element: its name */
    bool raw_refs;              /* that content may have references */
    bool rest;                  /* all that follows is text */
    bool cdata;                 /* set by the tree: CDATA sections are text */
    bool notes;                 /* comments are tokens */
    bool endless[HTML_xmp + 1]; /* no end tag is ahead: it is searched for once */
};

/* Reads the next token. Returns false if the arena is full. */
bool html_token(struct html_tokens *t, struct html_token *out);
/* Returns whether an end tag of that name follows, for an element with text content. */
bool html_token_ends(struct html_tokens *t, enum html_tag tag, struct str name);

/* Returns whether a doctype means quirks mode: a table does not end a paragraph. */
bool html_is_quirky(const struct html_token *doctype);
/* Restores the capitals of a start tag of SVG or MathML, in its name and attributes. */
void html_foreign_names(struct html_token *t, bool math);
/* Whether n may hold text and HTML (a "MathML text integration point"). */
bool html_is_foreign_text(const struct html_node *n);
/* Whether n is an "HTML integration point". */
bool html_is_foreign_html(const struct html_node *n);
/* Whether n is an annotation-xml, of any encoding. */
bool html_is_annotation(const struct html_node *n);

#endif
