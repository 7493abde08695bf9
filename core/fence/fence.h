/* SPDX-License-Identifier: MIT */
/*
 * The fence of programs: the rulesets that the kernel enforces for the rules of a file
 * (fence/rules.h), by Landlock. No privilege is needed, and none helps against it.
 *
 * Landlock only gives rights, and what a folder has, all below it has. So everything is
 * refused at first; a rule gives rights to its folder, or, where something in there is
 * hidden, to each entry on the way to that but the hidden one. Such a folder on the way
 * can be listed, and nothing else: what is made in it later can be read and written by
 * no program in the fence.
 *
 *   serve     fence_make, before there is a keeper: paths are opened once
 *   keeper    gives the first ruleset to reapers, which start every program in it
 *   worker    gets the second one from the keeper under the name FENCE_HELD; its helper
 *             jobs (io/job.h) run in it, so what clients ask of files obeys the rules
 *
 * The server's own state is hidden, except the parts that its shells and kernels use.
 */
#ifndef OD_FENCE_FENCE_H
#define OD_FENCE_FENCE_H

#include "base/err.h"
#include "base/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FENCE_HELD "fence"
#define FENCE_FOLDER "fence" /* in the state directory; programs may read it */

/* What the server itself has. Borrowed; "": there is none. */
struct fence_own {
    const char *state_dir, *socket;
    const char *self; /* our own file: programs run it as host of a kernel or browser */
};

/* Owned by the caller. */
struct fence_made {
    int programs, jobs; /* rulesets; -1: the kernel has no Landlock, which is allowed, or
                           there is no rule for these */
};

/*
 * Makes the rulesets. fence: the option's section (below), to which these are added:
 *
 *   abi    number: of the kernel's Landlock; 0: it has none
 *   notes  [strings]: paths that do not exist, and what a rule means beyond its words
 *   lacks  what fence_lacks gives; with a rule for the network that cannot be
 *          enforced, an element with the right "net", too
 *   net    bool, if there is a rule for the network: such rules are enforced
 *
 * Returns 0, or -1 and sets *e: UNSUPPORTED, the kernel cannot enforce a line and "lax"
 * is not set; INVALID, a line contradicts another one, or gives the server's own state.
 */
int fence_make(struct json *fence, const struct fence_own *own, struct fence_made *out,
               struct err *e);

/*
 * What a kernel of this version cannot do: an array of {"right", "since", "means":
 * strings, "needed": the fence would not hold}.
 */
struct json *fence_lacks(int abi);

/* Is there a rule for the network: a reach, a listen or a secret line? */
bool fence_limits_net(const struct json *fence);
/* Is there one for files, or no rule at all? Else files are not limited. */
bool fence_limits_files(const struct json *fence);

/* The home of the sandbox's user, for ~: of user, else of the process. "": unknown. */
void fence_home(const char *user, char *out, size_t size);

/*
 * Whether a process runs in the fence: it is below the keeper, but neither the keeper nor
 * the worker. A process that has ended, or of which that cannot be known, counts as one.
 */
bool fence_is_inside(pid_t pid, pid_t keeper, pid_t worker);

/*
 * Makes the section of the options: {"rules": as fence_parse makes them, "lax": bool,
 * "learn": true and "home", if it is to learn; "file": its path, if there is a file}.
 * Without a fence the section is NULL. Later it has "added", rules that were added
 * (action/fence.c), and "learned", lines that it learned (action/refused.c).
 */
extern const struct option_table fence_options;

#endif
