/* SPDX-License-Identifier: MIT */
/*
 * Results of the local protocol as texts and exit statuses of a command line.
 * Pure functions of JSON.
 */
#ifndef OD_IPC_ANSWER_H
#define OD_IPC_ANSWER_H

#include "base/buf.h"
#include "base/json.h"

/* Exit statuses other than the command's. */
enum {
    ANSWER_EARLY = 124, /* the answer came before the command's end */
    ANSWER_OURS = 125   /* no command ran, or its end is unknown */
};

/* Returns the exit status for any result, including refusals. */
int answer_exit(const struct json *r);
/*
 * Appends one sentence about a result for people, without its output and without a
 * newline; nothing if none is needed. command: how hints begin, with the options that
 * they must repeat: "od-exec --socket /run/x".
 */
void answer_words(struct buf *out, const struct json *r, const char *command);
/* The same for a note. */
void answer_note(struct buf *out, const struct json *note);
/*
 * Appends the option by which a result's command or process is found again: "-s main",
 * "-p p1", the name as a shell reads it.
 */
void answer_option(struct buf *out, const struct json *r);
/* Appends the result of "list" as a table; nothing for an empty list. */
void answer_table(struct buf *out, const struct json *list);

#endif
