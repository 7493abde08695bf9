/* SPDX-License-Identifier: MIT */
/*
 * A page as a list of what a user can read and act on, one or more items on a line:
 *
 *     heading "Welcome"
 *     link "Cart (2)" e3 · textbox "Search" e4 = "lamp" · button e5
 *
 * A ref such as e12 stays with its element as long as the element lives, and is never
 * given to another one. Two outlines of one page can be compared; a search shows a text
 * with the lines around it. Outlines are made by browser/driver/outline.c from Chromium,
 * and by webpage/weboutline.c without a browser.
 */
#ifndef OD_WEBPAGE_OUTLINE_H
#define OD_WEBPAGE_OUTLINE_H

#include "base/buf.h"

#include <stdint.h>

enum {
    OUTLINE_ITEMS_MAX = 50000,
    OUTLINE_TEXT_MAX = 8 << 20, /* bytes of the strings of all items */
    OUTLINE_NAME_MAX = 2000,    /* bytes that are kept of a name or a text */
    OUTLINE_SHOWN = 160,        /* bytes of it in a line */
    OUTLINE_LINE = 400          /* bytes after which a line is broken between items */
};

struct outline_item {
    uint64_t key;  /* the same for the same element in another outline; 0: unknown */
    unsigned ref;  /* 0: it cannot be acted on */
    unsigned line; /* consecutive items with the same number share a line */
    /* Lengths; the strings follow one another at `at`, the path is at `path_at`. */
    size_t at, role, name, rest, path_at, path;
};

struct outline {
    struct buf text;            /* the strings */
    struct outline_item *items; /* owned */
    size_t n, room;
    unsigned refs; /* items that have a ref */
    bool full;     /* there was more */
};

/* What outline_add copies. */
struct outline_put {
    uint64_t key;
    unsigned ref, line;
    struct str role; /* "link", "text" … */
    struct str name; /* its blanks are folded */
    struct str rest; /* " = \"lamp\"", " disabled" … */
    struct str path; /* where it is: "main > table row 41" */
};

void outline_init(struct outline *o);
void outline_release(struct outline *o);
void outline_add(struct outline *o, const struct outline_put *p);

struct str outline_role(const struct outline *o, const struct outline_item *i);
struct str outline_name(const struct outline *o, const struct outline_item *i);
struct str outline_rest(const struct outline *o, const struct outline_item *i);
struct str outline_path(const struct outline *o, const struct outline_item *i);
/* Appends `link "Cart (2)" e3`. */
void outline_put_item(const struct outline *o, const struct outline_item *i,
                      struct buf *out);
/* Appends a string as in a line: cut, in quotes. */
void outline_quote(struct buf *out, struct str s);
/* Appends all lines, each with its newline. */
void outline_print(const struct outline *o, struct buf *out);

/*
 * Appends the lines in which text occurs, in any case, each with its path and the lines
 * around it, as many as fit into max bytes. Returns how many there are; *shown of them
 * are in out, and *at is the offset of the first one in the output of outline_print.
 */
unsigned outline_find(const struct outline *o, struct str text, size_t max,
                      struct buf *out, unsigned *shown, size_t *at);
/* The same for plain lines. */
unsigned outline_find_text(struct str page, struct str text, size_t max, struct buf *out,
                           unsigned *shown, size_t *at);

struct outline_change {
    unsigned added, removed, changed;
    unsigned shown; /* of these, in the text */
};
/*
 * Appends what is different in b: "+ ", "~ " and "- " lines, at most max bytes. Elements
 * are matched by their key, or, if a page made them again, by their label.
 */
void outline_compare(const struct outline *a, const struct outline *b, size_t max,
                     struct buf *out, struct outline_change *change);

/* Returns the item with this ref; NULL if there is none. */
const struct outline_item *outline_ref(const struct outline *o, unsigned ref);
/*
 * Finds the items with a ref whose visible text is t, in any case; if there are none,
 * those that contain it. t may also have the form `button "Buy"`. Returns how many there
 * are; the first max are in found.
 */
unsigned outline_match(const struct outline *o, struct str text,
                       const struct outline_item **found, unsigned max);
/*
 * Returns the item whose name is most similar to text; NULL if none is. refs: only items
 * with a ref.
 */
const struct outline_item *outline_near(const struct outline *o, struct str text,
                                        bool refs);

#endif
