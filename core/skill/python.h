/* SPDX-License-Identifier: MIT */
/* The Python module of the skills, which is embedded in this program. */
#ifndef OD_SKILL_PYTHON_H
#define OD_SKILL_PYTHON_H

#include "engine/engine.h"

/*
 * Appends the module's text, which has the path of our own file. Returns -1 if out is
 * full.
 */
int skill_python(struct buf *out);
/*
 * Appends to env the variables with which a kernel finds it, each NAME=VALUE and a NUL:
 * PYTHONPATH with a folder of the state directory, where the module is written once, and
 * OD_SOCKET. Appends nothing if it cannot be written.
 */
void skill_python_env(struct engine *en, struct buf *env);

#endif
