/* SPDX-License-Identifier: MIT */
/*
 * The rules of one .gitignore file (gitignore(5), "PATTERN FORMAT"). With files in
 * several folders, the caller asks the deepest first, until one has a verdict.
 */
#ifndef OD_TEXT_IGNORE_H
#define OD_TEXT_IGNORE_H

#include "base/str.h"

enum { IGNORE_RULES_MAX = 10000, IGNORE_FILE_MAX = 1 << 20 };

enum ignore_verdict {
    IGNORE_UNKNOWN, /* no rule matches */
    IGNORE_YES,
    IGNORE_NO /* the last rule that matches has a ! */
};

struct ignore;

/* Parses the rules in text, and copies them. Rules beyond the maximum are left out. */
struct ignore *ignore_new(struct str text);
/* NULL is fine. */
void ignore_free(struct ignore *g);
/*
 * The last rule that matches decides. path is relative to the file's folder, without a
 * leading or trailing slash. The caller does not ask about paths in an ignored folder.
 */
enum ignore_verdict ignore_match(const struct ignore *g, struct str path, bool folder);

#endif
