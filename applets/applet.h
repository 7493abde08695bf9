/* SPDX-License-Identifier: MIT */
/*
 * Applets. Each is one file; applets.def lists them.
 */
#ifndef OD_APPLET_H
#define OD_APPLET_H

#include "base/buf.h"

#include <sys/types.h>

/* The text of a header of build/embed.sh. */
#define PACKED(gz) {(const char *)(gz), sizeof(gz)}

struct applet {
    const char *name;  /* as typed: "exec" */
    const char *also;  /* other argv[0] names, space-separated, or NULL */
    const char *known; /* more such names, which get no links, or NULL */
    const char *brief; /* one line for `od --list` and the man page */
    const char *usage; /* the whole text of `od help NAME`; see man.sh */
    struct str packed; /* instead of usage: the text as gzip */
    /*
     * argv[0] is the applet's name, or one of its others; argv[argc] is NULL. Returns
     * the exit status. Error messages go to standard error as "od NAME: …".
     */
    int (*main)(int argc, char **argv);
    /*
     * Text of `od help NAME` that is made from tables at run time (options,
     * limits), appended to usage; all: with what few need. NULL when there is none.
     */
    void (*more_usage)(struct buf *out, bool all);
    /* Without an argument, at a terminal: if a file has its name, od(1) dumps that. */
    bool file_first;
    bool hidden; /* an internal entry point: not in --list, help or links */
};

/*
 * Prints the manual of an applet to standard output, with the commands as they can be
 * typed here. Returns 0, or 1 after an error message.
 */
int applet_help(const struct applet *a);
/*
 * Print the actions of the event stream to standard output: all of them, with json their
 * schemas; the parameters of one (NULL: none was named). Return 0, or 1 after an error
 * message.
 */
int actions_help(bool json);
int action_help(const char *name);
/*
 * Prints the client of a server for the language that option names, "--python" or
 * "--typescript". Returns 0, or 1 after an error message.
 */
int client_help(const char *option);
/* Makes the links of `od --install` to target in dir. Returns 0, or 1 after a message. */
int applet_links(const char *dir, const char *target);
/*
 * Makes a folder and its parents with this mode; full, of PATH_MAX bytes, becomes its
 * path from the root. Returns -1 with errno.
 */
int applet_make_folder(const char *dir, mode_t mode, char *full);

#define APPLET(c_name) extern const struct applet applet_##c_name;
#include "applets.def"
#undef APPLET

#endif
