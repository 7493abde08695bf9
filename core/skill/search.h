/* SPDX-License-Identifier: MIT */
/*
 * Searches of known tools for agents, with the exact texts of these tools:
 *
 *   find_file, search_dir, search_file   OpenHands' agent_skills/file_ops
 *   glob, grep                           software-agent-sdk's tools of these names
 *
 * A text has at most SKILLS_TEXT_MAX bytes; a longer one reports how much is not shown.
 * Lists of paths have the names unchanged; in texts, invalid UTF-8 in names and lines is
 * replaced.
 */
#ifndef OD_SKILL_SEARCH_H
#define OD_SKILL_SEARCH_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    SKILLS_TEXT_MAX = 1 << 20,
    SKILLS_FILES_MAX = 100,   /* shown by search_dir, glob and grep */
    SKILLS_FOUND_MAX = 10000, /* paths and lines shown by the others */
    SKILLS_TIME_MS = 30000
};

enum skills_search_kind {
    SKILLS_FIND_FILE,
    SKILLS_SEARCH_DIR,
    SKILLS_SEARCH_FILE,
    SKILLS_GLOB,
    SKILLS_GREP
};

/* All of it is borrowed during the call that starts the search. */
struct skills_search {
    enum skills_search_kind kind;
    const char *term;    /* a part of a name, a text, a pattern */
    const char *where;   /* a folder or file; NULL: ./ , and of search_file: none open */
    const char *include; /* GREP: a shell pattern for names; NULL: all */
    const char *home;    /* GLOB: what ~ stands for; NULL: nothing */
    /* io/job.h */
    bool as_user;
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* what paths are relative to; NULL: ours */
};

/* What glob and grep return besides the text; the paths are absolute. */
struct skills_found {
    struct str text;
    struct str paths; /* each ends in NUL */
    struct str root;  /* the folder that was searched */
    bool truncated;
};

/*
 * e: ERR_NONE, or the sentence that the tools print, as in OpenHands' agent_skills
 * (file_ops.py: after "ERROR: "). found is valid until the callback returns.
 */
typedef void skills_done_fn(void *arg, const struct skills_found *found,
                            const struct err *e);

/*
 * Starts a search, which the loop owns until done or skills_search_cancel. Returns NULL
 * and sets *e, without a call of done, if it is invalid.
 */
struct skills_run;
struct skills_run *skills_search_start(struct loop *l, const struct skills_search *q,
                                       skills_done_fn *done, void *arg, struct err *e);
void skills_search_cancel(struct skills_run *r);

#endif
