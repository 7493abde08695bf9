/* SPDX-License-Identifier: MIT */
/*
 * How this process was called, for every text that names a command.
 *
 * The same program is `od exec` where it is the first od on PATH, `od-exec` through
 * one of its links, `od-agent exec` where od stays od(1), and /opt/od exec by a path.
 * A hint that names another of these does not work when it is pasted. Only these
 * functions build such names. The state is set once, by main, before any text is
 * written, and is constant after that; a process that sets nothing is `od`.
 */
#ifndef OD_BASE_CALLED_H
#define OD_BASE_CALLED_H

#include "base/buf.h"

enum { CALLED_MAX = 160 }; /* bytes of a command's name, with its NUL */

enum called_by {
    CALLED_OD,   /* argv[0] is the program: `od exec`, or `od` without an applet */
    CALLED_LINK, /* argv[0] is od-APPLET, in any folder */
    CALLED_OWN   /* argv[0] is another name of the applet, such as execute_cli */
};

/*
 * Records argv[0], which may be NULL, and the applet that it is to run, NULL for none.
 * An argv[0] that is too long for a hint or not printable is recorded as "od".
 */
void called_set(enum called_by by, const char *argv0, const char *applet);

/* The name in front of messages, without a folder: "od exec", "od-exec". */
const char *called_name(void);

/* A name that can be used in the expression that asks for it: called("exec").z. */
struct called {
    char z[CALLED_MAX];
};
/*
 * What to type to run an applet as this process was run, quoted for a shell:
 * "od exec", "od-exec", "'/my folder/od' exec".
 */
struct called called(const char *applet);
/* What to type for the applet's manual: "od help exec", "od-exec --help". */
struct called called_help(const char *applet);

/* Appends word as a shell reads it: in quotes if it needs some. */
void called_add_word(struct buf *out, struct str word);

/* What stands before an applet's name in help texts: "od ", "od-", "od-agent ". */
const char *called_start(void);

/*
 * Appends text of a server or a file so that a terminal obeys nothing in it: control
 * characters, C1 ones, which some terminals obey, and bytes that are not UTF-8 are
 * written as "\x1b". keep: characters that stay, such as "\n\t".
 */
void called_clean(struct buf *out, struct str text, const char *keep);
/*
 * Prints "NAME: " and the text to standard error, with NAME as in called_name. The
 * text ends its own line. It is written as by called_clean, with its \n and \t. All text
 * of servers and files that goes there goes through these two functions.
 */
__attribute__((format(printf, 1, 2))) void called_say(const char *format, ...);
/* The same without the name, for the rest of a line. */
__attribute__((format(printf, 1, 2))) void called_add(const char *format, ...);

#endif
