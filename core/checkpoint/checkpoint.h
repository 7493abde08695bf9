/* SPDX-License-Identifier: MIT */
/*
 * Checkpoints: what files were, and how they become it again. One call does one verb, in
 * a job's child or an applet; arguments and result are JSON.
 *
 *   checkpoint       keeps the folders                            {"id", …}
 *   checkpoints      lists                                        {"checkpoints": […]}
 *   changes          between two of them, or one and the files    {"changes": […], …}
 *   rollback         makes files what a checkpoint has; a checkpoint of what they are is
 *                    made first, so that this can be taken back   {"safety": ID, …}
 *   checkpoint_drop  removes some
 *   verify           reads all that is kept
 *   import           makes a checkpoint of a tar archive         as checkpoint
 *   contents         takes contents of another store             {"missing", "taken"}
 *   checkpoint_import  makes a checkpoint of them                as checkpoint
 *
 * A rollback writes what it is about to do to the store before its first change. If it is
 * killed, a call with the same key does the rest; so does "unfinished": "finish", and
 * "back" takes what was done back.
 */
#ifndef OD_CHECKPOINT_CHECKPOINT_H
#define OD_CHECKPOINT_CHECKPOINT_H

#include "base/json.h"
#include "base/member.h"
#include "base/param.h"
#include "checkpoint/store.h"
#include "checkpoint/watch.h"

enum {
    CHECKPOINT_LINES = 200, /* changes in an answer, if it is not said */
    CHECKPOINT_LINES_MAX = 2000,
    CHECKPOINT_DIFF_FILE = 256 << 10, /* bytes of a file whose text is compared */
    CHECKPOINT_DIFF_MAX = 64 << 10    /* bytes of all these texts */
};

struct checkpoint_call {
    const char *verb;
    const struct json *args;    /* params_check has accepted them; NULL: none */
    const char *store;          /* its folder; it and hide are part of no tree */
    const char *hide;           /* NULL: none */
    const char *cwd;            /* paths are from here; the folder, if dirs is NULL */
    const struct json *dirs;    /* folders that are kept; NULL: none are named */
    const struct json *exclude; /* patterns as in .gitignore; NULL: none */
    uint64_t budget;            /* bytes; 0: no limit */
    uint64_t file_max;          /* bytes of one file; 0: no limit */
    const char *why;            /* of checkpoint: turn, each, risky; NULL: on request */
    int64_t action;             /* the action that it precedes; 0: none */
    int input;                  /* of import: the archive */
    struct str bytes;           /* of contents: records of packs */
    const char *key;            /* names the call, also when it is repeated; NULL: none */
    struct watch_fds watch;     /* of checkpoint: folders that changed (watch.h) */
    const struct store_user *user; /* whose rights count; NULL: those of the process */
};

/* Does it. Returns the result, which the caller owns, or NULL and sets *e. */
struct json *checkpoint_do(const struct checkpoint_call *q, struct err *e);

/* What the verbs take, and give. */
extern const struct param_list checkpoint_takes_checkpoint, checkpoint_takes_checkpoints,
    checkpoint_takes_changes, checkpoint_takes_rollback, checkpoint_takes_checkpoint_drop,
    checkpoint_takes_checkpoint_import;
extern const struct member checkpoint_gives_checkpoint[], checkpoint_gives_checkpoints[],
    checkpoint_gives_changes[], checkpoint_gives_rollback[],
    checkpoint_gives_checkpoint_drop[];

/* Writes a checkpoint as a tar archive to out. Returns -1 and sets *e. */
int checkpoint_export(const struct checkpoint_call *q, int64_t id, int out,
                      struct err *e);

enum { CHECKPOINT_CONTENTS = 12 << 20 }; /* bytes of one question at most */
/* Another server, which gets these requests by POST. */
struct checkpoint_peer {
    /* Returns its answer, which the caller owns; or NULL and sets *e. */
    struct json *(*ask)(void *arg, const char *path, struct str body, struct err *e);
    void *arg;
};
/*
 * Sends a checkpoint to another server: the contents that it has not, then the rest.
 * Returns its answer, as of checkpoint_import, which the caller owns; NULL and sets *e.
 */
struct json *checkpoint_send(const struct checkpoint_call *q, int64_t id,
                             const struct checkpoint_peer *peer, struct err *e);

#endif
