/* SPDX-License-Identifier: MIT */
/*
 * A page as an agent reads it without a browser: Markdown, in which everything that
 * can be acted on has a number, and a list of these.
 *
 *   # Title                           headings, lists, quotes, tables, fenced code
 *   See [the manual][3].              a link: 3 is its bid
 *   [4: textbox 'Name' value='Ann']   a field; [5: button 'Send']
 *
 * If a main part holds most of the text it comes first, then a rule and the rest. Hidden
 * elements and scripts are left out; no script is run, so the content of <noscript> is
 * shown. A page that has scripts and hardly any text is recognised. Raised and lowered
 * text has a mark: 10^3, x_i.
 *
 * Pure functions of bytes that block, made for a helper: pages are not trusted.
 */
#ifndef OD_WEBPAGE_WEBPAGE_H
#define OD_WEBPAGE_WEBPAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

enum {
    WEBPAGE_TEXT_MAX = 16 << 20, /* bytes of Markdown */
    WEBPAGE_MEMORY = 192 << 20,  /* bytes of the tree */
    WEBPAGE_ITEMS_MAX = 20000,   /* links and fields; any more have no number */
    WEBPAGE_PICTURE_MAX = 20 << 20,
    WEBPAGE_NAME_MAX = 200,      /* bytes of a link's text in the list */
    WEBPAGE_OPTIONS_SHOWN = 12,  /* of a select, in the text */
    WEBPAGE_OPTIONS_MAX = 2000,  /* of a select, in the list */
};

struct webpage {
    struct buf text;  /* UTF-8 */
    struct buf title; /* one line */
    /*
     * URL of the page that follows within 5 s (`<meta http-equiv=refresh>`); empty: none.
     */
    struct buf refresh;
    struct buf picture; /* its bytes, if the page is a picture */
    bool needs_browser; /* it cannot be read without scripts */
    unsigned more;      /* links and fields without a number */
    /*
     * Owned. {"bid", "role", "name", and of links "url"; of fields "field" (its name in
     * the form), "type", "value", "form" (an index, -1: none), "checked", "disabled",
     * "multiple", "options": [{"value", "label", "selected", "disabled"}]}. Hidden items
     * have no bid.
     */
    struct json *items;
    struct json *forms; /* owned: {"action", "method", "enctype"} */
};

void webpage_init(struct webpage *p);
void webpage_release(struct webpage *p);
/*
 * Reads a page in UTF-8; url is its own, for relative links. Returns -1 and sets *e:
 * LIMIT: it takes more memory than allowed, or has more text.
 */
int webpage_html(struct webpage *p, struct str html, struct str url, struct err *e);
/*
 * The same for a tree made from a page in a browser, in which nothing is hidden: an
 * element that can be acted on has its number in the attribute WEBPAGE_BID, and may have
 * another role in WEBPAGE_ROLE. No other numbers are given.
 */
struct html_node;
#define WEBPAGE_BID "od-bid"
#define WEBPAGE_ROLE "od-role"
int webpage_tree(struct webpage *p, struct html_node *html, struct str url,
                 struct err *e);
/* Appends "[3]: http://…" for each link, a line each. Returns -1 if out is full. */
int webpage_links(const struct json *items, struct buf *out);
/*
 * Appends `'text'`, quoted as in the observations of a browser. Returns -1 if out is
 * full.
 */
int webpage_quote(struct buf *out, struct str text);

/* Whether s is this word, in any case. */
bool webpage_is_word(struct str s, const char *word);

#endif
