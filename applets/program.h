/* SPDX-License-Identifier: MIT */
/* Programs of other products that this one stands in for (front/program.h). */
#ifndef OD_APPLETS_PROGRAM_H
#define OD_APPLETS_PROGRAM_H

struct program;

/* Is that program, as it was called by argv, and serves. Returns the exit status. */
int program_run(const struct program *p, int argc, char **argv);
/* Makes the link dir/name to target. Returns 0, or 1 after an error message: there is no
 * program of that name, or the link cannot be made. */
int program_link(const char *dir, const char *name, const char *target);

#endif
