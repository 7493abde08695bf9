/* SPDX-License-Identifier: MIT */
/* What the files of `od asciinema` share: asciinema.c, and asciinema_rec.c for rec. */
#ifndef OD_APPLETS_ASCIINEMA_H
#define OD_APPLETS_ASCIINEMA_H

#include "base/err.h"
#include "cast/cast.h"

#include <stdbool.h>

struct asciinema_options {
    bool stdin_too, append, overwrite, quiet, headless, returns;
    enum cast_format format;
    const char *command, *title, *env;
    double idle, speed; /* idle < 0: not given */
    int cols, rows;
};

/*
 * Prints "asciinema: " and a line to standard error, on a terminal in this colour (1 red,
 * an error; 2 green; 3 yellow); with --quiet errors only. Returns 1.
 */
__attribute__((format(printf, 3, 4))) int
asciinema_say(const struct asciinema_options *o, int colour, const char *format, ...);
/* Opens a recording; "-" is standard input. Returns -1 and sets *e. */
int asciinema_open(const char *path, struct err *e);
/* Reads the next event of the file, as cast_next does; 0 is its end. */
int asciinema_next(struct cast_reader *r, int fd, struct cast_event *ev, struct err *e);
/* Does the name of a file mean plain text? */
bool asciinema_is_txt(const char *path);

/* `rec`: n words are the file. Returns the exit status. */
int asciinema_rec(const struct asciinema_options *o, int n, char **words);

#endif
