/* SPDX-License-Identifier: MIT */
/*
 * The reaper: parent of every shell and process of one user, and (a subreaper) of what
 * they leave behind.
 *
 * If a fence limits the network its parent is the supervisor (keeper/supervise.h), which
 * reads the memory of programs, too. With a fence the reaper is in a Landlock scope: its
 * programs can send signals only to it and to each other.
 *
 * Two tasks need an ancestor of the right uid: looking into a process (is it
 * waiting for input?), which yama or missing capabilities refuse to others,
 * and signalling another user's tree. Such a look reads /proc and may block on
 * a hung file system: a second reason to keep it out of the keeper. Processes
 * that a shell leaves behind become the reaper's children. When a reaper is killed,
 * its shells become the keeper's children (a subreaper too) and go on. A reaper that
 * is stopped is continued by the keeper.
 *
 * It speaks keepmsg.h with the keeper on descriptor 3. When the keeper ends, it ends
 * all that is below it (HUP and TERM, then KILL), and then itself.
 * Of a peer's bytes it sees only arguments and environment of what it runs, and it
 * holds no key: it is a fresh image of the binary, not a fork.
 */
#ifndef OD_KEEPER_REAPER_H
#define OD_KEEPER_REAPER_H

#include "base/buf.h"
#include "os/look.h"
#include "os/tree.h"

#include <stdint.h>

/*
 * Body of KEEP_SPAWN: this head, then NUL-terminated strings: program, working
 * directory ("" stays), arguments, environment.
 */
struct reaper_spawn {
    uint32_t argc, envc;
};

/* Body of KEEP_REAPER. */
enum reaper_verb {
    REAPER_LOOK = 1,
    REAPER_SIGNAL_TREE,
    REAPER_SIGNAL_GROUP,
    REAPER_COUNT_TREE /* answer: tree.found, -1 without /proc */
};
struct reaper_request {
    uint32_t verb;
    int32_t pid;       /* the shell or process; GROUP: a process group */
    int32_t sig;       /* SIGNAL_* */
    uint32_t root;     /* SIGNAL_TREE: signal pid itself too; LOOK: wide, as in look_at */
    int32_t group;     /* *_TREE: group, from, to and tag are those of struct tree_of */
    uint64_t from, to; /* LOOK: from is the feed of look_at */
    char tag[64];      /* OD_SESSION_TAG, or "" */
};

/* Body of the answer. */
struct reaper_answer {
    uint32_t verb;
    int32_t errnum; /* SIGNAL_GROUP */
    struct look look;
    struct tree_result tree;
};

/* Appends the body of a spawn. -1: out is full. argv and envp end in NULL. */
int reaper_spawn_body(struct buf *out, const char *program, const char *cwd,
                      char *const *argv, char *const *envp);

/* The body of a spawn, parsed. The strings are in the body; argv and envp end in NULL. */
struct reaper_program {
    const char *program, *cwd; /* cwd "": stay */
    char **argv, **envp;       /* one block: free(argv) */
};
/* Parses body. -1: it is not whole. free(out->argv) after either. */
int reaper_spawn_parse(struct str body, struct reaper_program *out);

/*
 * The reaper's whole life. It becomes uid and gid (with the supplementary
 * groups of the user database), gives itself `nofile` as soft descriptor
 * limit and `oom` as oom_score_adj, which its children inherit. fence: the ruleset that
 * restricts every program it starts, and not itself (os/landlock.h); -1: none. reach: the
 * rules of their network (reach/supervisor.h), JSON in a file; -1: it is not limited.
 */
int reaper_main(uid_t uid, gid_t gid, long nofile, int oom, int fence, int reach);

#endif
