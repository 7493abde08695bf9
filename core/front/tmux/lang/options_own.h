/* SPDX-License-Identifier: MIT */
/* What the files of options share: see options.h. */
#ifndef OD_FRONT_TMUX_LANG_OPTIONS_OWN_H
#define OD_FRONT_TMUX_LANG_OPTIONS_OWN_H

#include "front/tmux/lang/options.h"

struct option_item {
    long index;
    char *text; /* owned */
};

/* A value in a set. Owned by it. */
struct option_value {
    struct list node;
    const struct tmux_option *option; /* NULL: a user's */
    char *name;                       /* of a user's, owned; NULL */
    char *text;                       /* not of an array, owned */
    struct option_item *items;        /* of an array, by their indexes, owned */
    size_t n;
};

/* The value of o itself; name is for a user's option. NULL: it has none. */
struct option_value *option_own(const struct tmux_options *o,
                                const struct tmux_option *option, struct str name);
/* The same of o or the first parent that has it. */
struct option_value *option_any(const struct tmux_options *o,
                                const struct tmux_option *option, struct str name);
/* The item of an index; NULL: none. */
struct option_item *option_item_of(const struct option_value *v, long index);

#endif
