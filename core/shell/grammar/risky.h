/* SPDX-License-Identifier: MIT */
/*
 * Does a text for a shell look as if it could lose files? For checkpoints that are made
 * before such commands: a wrong yes costs a checkpoint, and a wrong no loses nothing that
 * was promised, so words are found as a shell finds them but nothing is expanded.
 */
#ifndef OD_SHELL_GRAMMAR_RISKY_H
#define OD_SHELL_GRAMMAR_RISKY_H

#include "base/str.h"

/*
 * Names the reason, a static string: "rm", "git reset", "> to a file". NULL: none was
 * found. At most RISKY_MAX bytes are read.
 */
enum { RISKY_MAX = 64 << 10 };
const char *risky_command(struct str text);

#endif
