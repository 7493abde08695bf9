/* SPDX-License-Identifier: MIT */
/* Programs of other products that this one stands in for (front/program.h). */
#ifndef OD_APPLETS_PROGRAM_H
#define OD_APPLETS_PROGRAM_H

#include "base/str.h"

#include <stdbool.h>

struct program;

/* Is that program, as it was called by argv, and serves. Returns the exit status. */
int program_run(const struct program *p, int argc, char **argv);
/* Whether this program is another one when a link of that name starts it. */
bool program_known(struct str name);
/*
 * Makes the links dir/NAME to target, for names with commas between them. Another program
 * that is there stays unless force is set. Returns 0, or 1 after an error message for
 * each that was not made: the others are made.
 */
int program_links(const char *dir, const char *names, const char *target, bool force);

#endif
