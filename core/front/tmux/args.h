/* SPDX-License-Identifier: MIT */
/* The flags and words of one command: lang/args.h with the names that commands use. */
#ifndef OD_FRONT_TMUX_ARGS_H
#define OD_FRONT_TMUX_ARGS_H

#include "front/tmux/lang/args.h"

static inline bool args_has(const struct tmux_args *a, char flag)
{
    return tmux_args_has(a, flag) > 0;
}
/* The newest value of the flag; NULL: it was not given, or takes none. */
static inline const char *args_get(const struct tmux_args *a, char flag)
{
    return tmux_args_get(a, flag).p;
}
/* Its values one after the other, from i = 0 on; NULL after the last. */
static inline const char *args_each(const struct tmux_args *a, char flag, unsigned i)
{
    struct str value;
    int at = 0;
    while (tmux_args_next(a, flag, &at, &value)) {
        if (i-- == 0)
            return value.p;
    }
    return NULL;
}

#endif
