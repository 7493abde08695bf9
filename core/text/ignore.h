/* SPDX-License-Identifier: MIT */
/*
 * The rules of one .gitignore file (gitignore(5), "PATTERN FORMAT"). Files of several
 * folders are for the caller to ask, the deepest one first, until one has a verdict.
 */
#ifndef OD_TEXT_IGNORE_H
#define OD_TEXT_IGNORE_H

#include "base/str.h"

enum { IGNORE_RULES_MAX = 10000, IGNORE_FILE_MAX = 1 << 20 };

enum ignore_verdict {
    IGNORE_UNKNOWN, /* no rule says anything */
    IGNORE_YES,
    IGNORE_NO /* a rule with ! takes it back */
};

struct ignore;

/* Of the file's text, which is copied. Rules beyond the maximum are left out. */
struct ignore *ignore_new(struct str text);
/* NULL is fine. */
void ignore_free(struct ignore *g);
/*
 * The last rule that fits decides. path is relative to the file's folder, without
 * a leading or trailing slash. What is in a folder that is ignored is not asked.
 */
enum ignore_verdict ignore_match(const struct ignore *g, struct str path, bool folder);

#endif
