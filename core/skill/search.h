/* SPDX-License-Identifier: MIT */
/*
 * Searches as the tools of agents have them, with their exact words:
 *
 *   find_file, search_dir, search_file   OpenHands' agent_skills/file_ops
 *   glob, grep                           software-agent-sdk's tools of these names
 *
 * A text may be long: at most SKILLS_TEXT_MAX, and then says how much is not shown.
 * Where these have a list of paths, it has names as they are; what is not UTF-8 in
 * names and lines is repaired.
 */
#ifndef OD_SKILL_SEARCH_H
#define OD_SKILL_SEARCH_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    SKILLS_TEXT_MAX = 1 << 20,
    SKILLS_FILES_MAX = 100,   /* search_dir shows no more, glob and grep neither */
    SKILLS_FOUND_MAX = 10000, /* paths and lines of the others that are shown */
    SKILLS_TIME_MS = 30000
};

enum skills_search_kind {
    SKILLS_FIND_FILE,
    SKILLS_SEARCH_DIR,
    SKILLS_SEARCH_FILE,
    SKILLS_GLOB,
    SKILLS_GREP
};

/* All of it is borrowed during the call that starts it. */
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

/* What glob and grep answer beside the text; the paths are absolute. */
struct skills_found {
    struct str text;
    struct str paths; /* each ended by a zero */
    struct str root;  /* the folder that was searched */
    bool truncated;
};

/*
 * e: ERR_NONE, or the sentence that the tools print (behind "ERROR: ", those of
 * openhands-runtime.md); found is there until it returns.
 */
typedef void skills_done_fn(void *arg, const struct skills_found *found,
                            const struct err *e);

/*
 * Starts it. NULL with e: what is wrong is known at once, and done is not called.
 * The loop owns it until done or skills_search_cancel.
 */
struct skills_run;
struct skills_run *skills_search_start(struct loop *l, const struct skills_search *q,
                                       skills_done_fn *done, void *arg, struct err *e);
void skills_search_cancel(struct skills_run *r);

#endif
