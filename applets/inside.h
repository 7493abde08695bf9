/* SPDX-License-Identifier: MIT */
/*
 * A program on a terminal of its own, inside the caller's: what asciinema and script do.
 * Its output is passed on to the caller's terminal, and what is typed there to it.
 */
#ifndef OD_APPLETS_INSIDE_H
#define OD_APPLETS_INSIDE_H

#include "base/err.h"
#include "base/str.h"

#include <stdbool.h>
#include <termios.h>

struct inside_calls {
    /* Output, before it is passed on. */
    void (*output)(void *arg, struct str bytes);
    /* Input, before the program gets it; false: it does not get it. */
    bool (*input)(void *arg, struct str bytes);
    /* The terminal has another size; may be NULL. */
    void (*resized)(void *arg, int rows, int cols);
    /* A signal that ends the recording, or WINCH; may be NULL. */
    void (*signal)(void *arg, int number);
};

/* Zeroed and then filled by the caller, who owns all of it. */
struct inside {
    const char *path;    /* looked up on PATH; NULL: argv[0] */
    char *const *argv;
    int terminal;        /* what people type at; becomes raw; -1: there is none */
    int input;           /* another source of input; -1: none */
    int output;          /* where output goes; -1: nowhere */
    int rows, cols;      /* 0: those of the terminal, else 24 and 80 */
    bool terminal_modes; /* the program's terminal has the modes of the caller's */
    bool no_echo;        /* it does not show what is typed */
    bool flush_end;      /* at the end of input the program gets an end of file */
    bool stop;           /* a call may set it: the recording ends as by a signal */
    const struct inside_calls *calls;
    void *arg;
};

/* The size that the program's terminal gets. */
void inside_size(const struct inside *x, int *rows, int *cols);
/*
 * Runs the program to its end, or until a signal (TERM, HUP, QUIT; INT without a
 * terminal) ends it: it then gets HUP. Returns 0 with *status as of waitpid; -1 and sets
 * *e if it cannot be started. The terminal's modes are as before.
 */
int inside_run(const struct inside *x, int *status, struct err *e);
/* The exit status of a shell for that status. */
int inside_exit(int status);
/* Writes all bytes to a descriptor that may block. Returns -1 with errno. */
int inside_write(int fd, struct str bytes);

#endif
