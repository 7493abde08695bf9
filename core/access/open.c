/* SPDX-License-Identifier: MIT */
#include "access/door.h"

#define OPEN(front, methods, path, when, because, changes) \
    {#front, methods, path, when, because, changes},
const struct open_row open_rows[] = {
#include "access/open.def"
    {NULL, 0, NULL, OPEN_NO, NULL, NULL}};
