/* SPDX-License-Identifier: MIT */
/*
 * What a server sent, or a file holds, as a page: unpacked, in UTF-8, and by its type
 * HTML as Markdown (webpage.h), JSON with its lines indented, other text as it is, a PDF
 * file as text, pictures and the like as facts. A folder is a page of links.
 *
 * Pure but for the folder, blocking, bounded, made for a helper.
 */
#ifndef OD_ENGINE_WEBBODY_H
#define OD_ENGINE_WEBBODY_H

#include "engine/webpage.h"

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
/* A file or a folder, by its path; url is its own. -1 also as of engine/files.h. */
int webbody_file(const char *path, struct str url, struct webpage *p, struct err *e);

#endif
