/* SPDX-License-Identifier: MIT */
/*
 * What a server sent, or a file holds, as a page: unpacked, in UTF-8, and by its type
 * HTML as Markdown (webpage.h), JSON with its lines indented, other text as it is, PDF
 * and Office files as text, pictures and the like as facts. A folder is a page of links.
 *
 * Pure but for the folder, blocking, bounded, made for a helper.
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
    struct str type;     /* Content-Type; empty: by the name and the first bytes */
    struct str encoding; /* Content-Encoding */
    struct str url;      /* the page's own */
};

/*
 * Fills p, which webpage_init made. -1: UNSUPPORTED: packed in another way; INVALID:
 * damaged; LIMIT: it unpacks to more than that.
 */
int webbody_read(const struct webbody *b, struct webpage *p, struct err *e);
/* *plain: its bytes unpacked, in out, or as they came. -1 as webbody_read. */
int webbody_unpack(const struct webbody *b, struct buf *out, struct str *plain,
                   struct err *e);
/* webbody_read has more of it than its type and its length. */
bool webbody_is_shown(const struct webbody *b);
/*
 * A PDF or an Office file, by its Content-Type, or where that says nothing by its name:
 * what a browser does not show as a page, and this reads as text.
 */
bool webbody_is_document(struct str type, struct str url);
/* A file or a folder, by its path; url is its own. -1 also as of os/file.h. */
int webbody_file(const char *path, struct str url, struct webpage *p, struct err *e);

#endif
