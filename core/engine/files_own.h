/* SPDX-License-Identifier: MIT */
/* What the files of engine/files share: errors in the codes that files.h lists. */
#ifndef OD_ENGINE_FILES_OWN_H
#define OD_ENGINE_FILES_OWN_H

#include "base/err.h"

#include <sys/types.h>

/* "cannot VERB PATH: why"; -1. */
int files_fail(struct err *e, int errnum, const char *verb, const char *path);
/* 0 for a regular file; -1 with e, which says what it is instead. */
int files_check_kind(mode_t mode, const char *verb, const char *path, struct err *e);

#endif
