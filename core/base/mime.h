/* SPDX-License-Identifier: MIT */
/*
 * Media types of files: by the name, else by the first bytes. For
 * Content-Type headers and for what is worth compressing, never for trust.
 */
#ifndef OD_BASE_MIME_H
#define OD_BASE_MIME_H

#include "base/str.h"

/* The bytes that mime_of looks at, at most. */
enum { MIME_HEAD = 512 };

/* By what follows the last dot, in any case; NULL when that says nothing. */
const char *mime_of_name(struct str name);
/*
 * By the name (a path is fine), else by `head`, the first bytes of the file:
 * a known beginning, "text/plain" for UTF-8 without control characters (an empty
 * file too), else "application/octet-stream". Static, no parameters.
 */
const char *mime_of(struct str name, struct str head);
/* Whether files of this type are compressed already, so that deflating gains nothing. */
bool mime_is_packed(const char *type);

#endif
