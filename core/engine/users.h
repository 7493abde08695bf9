/* SPDX-License-Identifier: MIT */
#ifndef OD_ENGINE_USERS_H
#define OD_ENGINE_USERS_H
#include "base/err.h"
/* mkdir -p with a umask of 002. */
int users_make_dir(const char *path, struct err *e);
#endif
