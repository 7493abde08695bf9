/* SPDX-License-Identifier: MIT */
/*
 * HTML as a tree, as browsers read it (HTML standard, 13.2): every input is a
 * document. It has only what a reader of text needs: comments and doctypes are dropped
 * unless the caller asks for them, the content of a template is its children, and errors
 * are not reported. The tree passes html5lib-tests (tests/compat/suites.test).
 *
 * Pages are not trusted. Memory comes from the arena, which has a maximum; an element
 * that would be deeper than HTML_DEPTH_MAX becomes a sibling; an element has at most
 * HTML_ATTRS_MAX attributes. These limits bound the work per token.
 */
#ifndef OD_HTML_HTML_H
#define OD_HTML_HTML_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum { HTML_DEPTH_MAX = 500, HTML_ATTRS_MAX = 128, HTML_ACTIVE_MAX = 64 };

/* X(name, flags), in alphabetical order; flags are HTML_IS_… */
/* clang-format off */
#define HTML_TAGS(X) \
    X(a, FORMAT) X(address, BLOCK) X(applet, SCOPE) X(area, VOID) X(article, BLOCK) \
    X(aside, BLOCK) X(b, FORMAT) X(base, HEAD | VOID) X(basefont, HEAD | VOID) \
    X(bgsound, HEAD | VOID) X(big, FORMAT) X(blockquote, BLOCK) X(body, SPECIAL) \
    X(br, VOID) X(button, SPECIAL) X(caption, SCOPE) X(center, BLOCK) X(code, FORMAT) \
    X(col, VOID) X(colgroup, SPECIAL) X(dd, SPECIAL) X(del, PLAIN) X(details, BLOCK) \
    X(dialog, BLOCK) X(dir, BLOCK) X(div, BLOCK) X(dl, BLOCK) X(dt, SPECIAL) \
    X(em, FORMAT) X(embed, VOID) X(fieldset, BLOCK) X(figcaption, BLOCK) \
    X(figure, BLOCK) X(font, FORMAT) X(footer, BLOCK) X(form, SPECIAL) X(frame, VOID) \
    X(frameset, SPECIAL) X(h1, SPECIAL) X(h2, SPECIAL) X(h3, SPECIAL) X(h4, SPECIAL) \
    X(h5, SPECIAL) X(h6, SPECIAL) X(head, SPECIAL) X(header, BLOCK) X(hgroup, BLOCK) \
    X(hr, VOID) X(html, SCOPE) X(i, FORMAT) X(iframe, RAW) X(image, PLAIN) \
    X(img, VOID) X(input, VOID) X(kbd, PLAIN) X(keygen, VOID) X(label, PLAIN) \
    X(legend, PLAIN) X(li, SPECIAL) X(link, HEAD | VOID) X(listing, SPECIAL) \
    X(main, BLOCK) X(marquee, SCOPE) X(math, PLAIN) X(menu, BLOCK) \
    X(meta, HEAD | VOID) X(nav, BLOCK) X(nobr, FORMAT) X(noembed, RAW) \
    X(noframes, HEAD | RAW) X(noscript, SPECIAL) X(object, SCOPE) X(ol, BLOCK) \
    X(optgroup, PLAIN) X(option, PLAIN) X(p, SPECIAL) X(param, VOID) \
    X(plaintext, SPECIAL) X(pre, SPECIAL) X(rb, PLAIN) X(rp, PLAIN) X(rt, PLAIN) \
    X(rtc, PLAIN) X(ruby, PLAIN) X(s, FORMAT) X(samp, PLAIN) X(script, HEAD | RAW) \
    X(search, BLOCK) X(section, BLOCK) X(select, SPECIAL) X(small, FORMAT) \
    X(source, VOID) X(strike, FORMAT) X(strong, FORMAT) X(style, HEAD | RAW) \
    X(sub, PLAIN) X(summary, BLOCK) X(sup, PLAIN) X(svg, PLAIN) X(table, SCOPE) \
    X(tbody, SPECIAL) X(td, SCOPE) X(template, SCOPE) X(textarea, TEXT) \
    X(tfoot, SPECIAL) X(th, SCOPE) X(thead, SPECIAL) X(title, HEAD | TEXT) \
    X(tr, SPECIAL) X(track, VOID) X(tt, FORMAT) X(u, FORMAT) X(ul, BLOCK) \
    X(var, PLAIN) X(video, PLAIN) X(wbr, VOID) X(xmp, RAW)
/* clang-format on */

enum html_tag {
    HTML_TEXT,  /* not an element: its name is the text */
    HTML_OTHER, /* an element that is not in the list */
#define X(name, flags) HTML_##name,
    HTML_TAGS(X)
#undef X
        HTML_NOTE, /* not an element: a comment, whose name is its text, or a doctype */
};

enum {
    HTML_IS_PLAIN = 0,
    HTML_IS_SPECIAL = 1,    /* 13.2.4.2 */
    HTML_IS_FORMAT = 2,     /* formatting elements, 13.2.4.2 */
    HTML_IS_SCOPE = 4 | 1,  /* ends "in scope" */
    HTML_IS_VOID = 8 | 1,   /* has no content */
    HTML_IS_BLOCK = 16 | 1, /* a start tag ends a paragraph */
    HTML_IS_HEAD = 32 | 1,  /* belongs in the head */
    HTML_IS_RAW = 64 | 1,   /* content is text, without references */
    HTML_IS_TEXT = 128 | 1, /* content is text, with references */
};

struct html_attr {
    struct str name, value;
    struct html_attr *next;
};

struct html_node {
    enum html_tag tag;
    bool foreign; /* of SVG or MathML */
    bool math;    /* of MathML */
    bool doctype; /* a note that is a doctype: attributes "public" and "system" */
    struct str name;
    struct html_attr *attrs;
    struct html_node *parent, *first, *last, *next, *prev;
    unsigned bid; /* for the caller's use; 0 at first */
    unsigned mark;
};

/*
 * Parses UTF-8 text, which the tree borrows slices of. Memory comes from the arena.
 * Returns the html element; NULL and sets *e to LIMIT if the arena is full.
 */
struct html_node *html_parse(struct arena *a, struct str text, struct err *e);

struct html_opts {
    bool notes;         /* with comments and doctypes */
    bool scripting;     /* the content of noscript is text */
    struct str context; /* the text is this element's content (13.4); p NULL: a page */
    bool foreign, math; /* of the context, as in struct html_node */
};

/*
 * Parses with options, for tests and tools. Returns the document, whose html
 * element is a child; of a fragment, an element that holds the content.
 */
struct html_node *html_parse_as(struct arena *a, struct str text,
                                const struct html_opts *o, struct err *e);
/* Returns the value of an attribute; p is NULL if the element does not have it. */
struct str html_get(const struct html_node *n, const char *name);
/* Returns the next node in document order, within top; NULL if n is the last. */
struct html_node *html_after(const struct html_node *n, const struct html_node *top);
/* The same, but skips what is inside n. */
struct html_node *html_past(const struct html_node *n, const struct html_node *top);
/*
 * Reads the character reference at the `&` that s begins with. Returns its length and
 * appends its text to out (12 bytes of room are enough); returns 0 if it is not a
 * reference. attr: s is within an attribute's value.
 */
size_t html_entity(struct str s, bool attr, struct buf *out);
/* Returns the HTML_IS_ flags of an element; 0 for anything else. */
unsigned html_flags(enum html_tag tag);
/*
 * Returns the element with a name in small letters; HTML_OTHER if it is not in the list.
 */
enum html_tag html_tag_of(struct str name);

#endif
