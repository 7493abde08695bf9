/* SPDX-License-Identifier: MIT */
/* What html_token.c and html_tree.c share: tokens (HTML standard, 13.2.5). */
#ifndef OD_ENGINE_HTML_OWN_H
#define OD_ENGINE_HTML_OWN_H

#include "engine/html.h"

enum {
    HTML_IS_PLAIN = 0,
    HTML_IS_SPECIAL = 1,    /* 13.2.4.2 */
    HTML_IS_FORMAT = 2,     /* formatting elements, the same */
    HTML_IS_SCOPE = 4 | 1,  /* ends "in scope" */
    HTML_IS_VOID = 8 | 1,   /* has no content */
    HTML_IS_BLOCK = 16 | 1, /* a start tag ends a paragraph */
    HTML_IS_HEAD = 32 | 1,  /* belongs into the head */
    HTML_IS_RAW = 64 | 1,   /* content is text, without references */
    HTML_IS_TEXT = 128 | 1, /* content is text, with references */
};

enum html_kind { HTML_END_OF_FILE, HTML_START, HTML_END, HTML_CHARS };

struct html_token {
    enum html_kind kind;
    enum html_tag tag;
    struct str text; /* the name, in small letters, or characters */
    struct html_attr *attrs;
    bool closed; /* <x/> */
};

struct html_tokens {
    struct arena *a;
    struct str s;
    size_t at;
    struct str raw;             /* in the content of such an element: its name */
    bool raw_refs;              /* with references */
    bool rest;                  /* all that follows is text */
    bool cdata;                 /* set by the tree: CDATA sections are text */
    bool endless[HTML_xmp + 1]; /* no end tag is ahead: looked for once */
};

/* The next token; false: the arena is full. */
bool html_token(struct html_tokens *t, struct html_token *out);
/* Whether an end tag of that name is ahead, for an element whose content is text. */
bool html_token_ends(struct html_tokens *t, enum html_tag tag, struct str name);
unsigned html_flags(enum html_tag tag);
/* The element's name says which one it is. */
enum html_tag html_tag_of(struct str name);

#endif
