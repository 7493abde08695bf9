/* SPDX-License-Identifier: MIT */
/*
 * A program of another product that a link to this file replaces: started under that
 * name, it reads the program's own command line and environment, and becomes `od serve`
 * with the same settings. A front-end has a list of them (struct front: programs).
 */
#ifndef OD_FRONT_PROGRAM_H
#define OD_FRONT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct front;

enum {
    PROGRAM_WORDS_MAX = 128, /* words of od serve's command line that one program can
                              * make */
    PROGRAM_SERVE = -1
};

/* The command line of od serve, without its name. */
struct program_words {
    const char *v[PROGRAM_WORDS_MAX];
    size_t n;
};

struct program {
    const char *name;  /* argv[0] without its folders: "swerex-remote" */
    const char *about; /* for od help: a few words on what it is */
    const char *usage; /* the text of `od help NAME` */
    /* `NAME APPLET …` runs that applet of od: it is copied to images that have no other
     * od. */
    bool applets;
    /*
     * Reads argv, with argv[0] the name and argv[argc] NULL, and adds the words for od
     * serve. Returns PROGRAM_SERVE; or, if there is nothing to serve, an exit status,
     * after printing what the original prints: its version or an error.
     */
    int (*read)(int argc, char **argv, struct program_words *out);
};

/* Adds one word, borrowed for the process's lifetime: a secret is overwritten in argv. */
void program_add(struct program_words *out, const char *word);
/* Adds one formatted word; its memory is never freed. */
__attribute__((format(printf, 2, 3))) void program_addf(struct program_words *out,
                                                        const char *format, ...);
/* Returns the program with this name, of any front-end; NULL if there is none. */
const struct program *program_find(const char *name);
/* Returns program i of all front-ends, from 0 on; NULL after the last one. */
const struct program *program_at(size_t i);

#endif
