/* SPDX-License-Identifier: MIT */
/*
 * The sentences of pcre2_error.c, which are static there, for build/pack-tables.sh:
 * core/text/pattern.c looks them up.
 */
#include "pcre2_internal.h"

#define static
#include "pcre2_error.c"
