/* SPDX-License-Identifier: MIT */
/* The front-ends of front/fronts.def. A unit test may define a shorter list. */
#include "front/front.h"

#define FRONT(name) extern const struct front front_##name;
#include "front/fronts.def"
#undef FRONT

#define FRONT(name) &front_##name,
const struct front *const front_list[] = {
#include "front/fronts.def"
    NULL};
