/* SPDX-License-Identifier: MIT */
/*
 * A program of another product that a link to this file stands in for: started under its
 * name, it reads that program's own command line and environment, and is `od serve` with
 * what they mean. A front-end has a list of them (struct front: programs).
 */
#ifndef OD_FRONT_PROGRAM_H
#define OD_FRONT_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct front;

enum {
    PROGRAM_WORDS_MAX = 128, /* words of od serve that one program can give */
    PROGRAM_SERVE = -1
};

/* The words of od serve, without its name. */
struct program_words {
    const char *v[PROGRAM_WORDS_MAX];
    size_t n;
};

struct program {
    const char *name;  /* argv[0] without its folders: "swerex-remote" */
    const char *about; /* for od help: what it is, in a few words */
    const char *usage; /* the text of `od help NAME` */
    /* NAME APPLET … is that applet of od: it is copied to where there is no other od. */
    bool applets;
    /*
     * Reads argv, with argv[0] the name and argv[argc] NULL, and adds what od serve
     * takes. Returns PROGRAM_SERVE; else the exit status of a call that serves nothing,
     * after having printed what the original prints then: its version, its refusal.
     */
    int (*read)(int argc, char **argv, struct program_words *out);
};

/* Adds one word, borrowed forever: a secret is overwritten where argv has it. */
void program_add(struct program_words *out, const char *word);
/* Adds one word that is made here; it stays until the process is another program. */
__attribute__((format(printf, 2, 3))) void program_addf(struct program_words *out,
                                                        const char *format, ...);
/* The program of this name among those of all front-ends; NULL: there is none. */
const struct program *program_find(const char *name);
/* All of them in order, by i from 0 on; NULL: there are no more. */
const struct program *program_at(size_t i);

#endif
