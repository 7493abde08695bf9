/* SPDX-License-Identifier: MIT */
/* The Python module of the skills, which is part of this file. */
#ifndef OD_SKILL_PYTHON_H
#define OD_SKILL_PYTHON_H

#include "engine/engine.h"

/* Appends the module's text; it says where our own file lies. -1: out is full. */
int skill_python(struct buf *out);
/*
 * What a kernel needs to find it, as NAME=VALUE that end in NUL, behind what env has:
 * PYTHONPATH with a folder of the state directory, where the module is written once,
 * and OD_SOCKET. Nothing where that cannot be written.
 */
void skill_python_env(struct engine *en, struct buf *env);

#endif
