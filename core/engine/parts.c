/* SPDX-License-Identifier: MIT */
/* The parts of engine/parts.def. A unit test of one part defines a shorter list. */
#include "engine/part.h"

#define PART(name) extern const struct part part_##name;
#include "engine/parts.def"
#undef PART

#define PART(name) &part_##name,
const struct part *const engine_parts[] = {
#include "engine/parts.def"
    NULL};
