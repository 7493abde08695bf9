/* SPDX-License-Identifier: MIT */
/*
 * Makes a page of a server's answer or a file, unpacked and in UTF-8: HTML as Markdown
 * (webpage.h), JSON indented, other text unchanged, PDF and Office files as text,
 * pictures and other media as facts. A folder is a page of links. All functions block,
 * are bounded and made for a helper; only those for files and folders do I/O.
 */
#ifndef OD_WEBPAGE_WEBBODY_H
#define OD_WEBPAGE_WEBBODY_H

#include "webpage/webpage.h"

enum {
    WEBBODY_MAX = 20 << 20,      /* bytes as they come; also of a file */
    WEBBODY_PLAIN_MAX = 64 << 20 /* bytes when unpacked, and as UTF-8 */
};

struct webbody {
    struct str bytes;
    struct str type;     /* Content-Type; empty: the name and the first bytes decide */
    struct str encoding; /* Content-Encoding */
    struct str url;      /* of the page */
};

/*
 * Fills p, which webpage_init made. Returns -1 and sets *e: UNSUPPORTED: another
 * encoding; INVALID: damaged; LIMIT: too long when unpacked.
 */
int webbody_read(const struct webbody *b, struct webpage *p, struct err *e);
/*
 * Sets *plain to the unpacked bytes, in out, or to the bytes as they came. Returns -1 as
 * webbody_read.
 */
int webbody_unpack(const struct webbody *b, struct buf *out, struct str *plain,
                   struct err *e);
/* Returns whether webbody_read shows more of it than its type and its length. */
bool webbody_is_shown(const struct webbody *b);
/*
 * Returns whether it is a PDF or Office file, by its Content-Type, or if that is too
 * general by its name: a browser does not show these as a page, but this room reads them
 * as text.
 */
bool webbody_is_document(struct str type, struct str url);
/*
 * Makes a page of a file or a folder by its path; url is its URL. Returns -1 also with
 * the codes of os/file.h.
 */
int webbody_file(const char *path, struct str url, struct webpage *p, struct err *e);

#endif
