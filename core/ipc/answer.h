/* SPDX-License-Identifier: MIT */
/*
 * Results of the local protocol in the words and numbers of a command line.
 * Pure functions: JSON in, text and exit status out.
 */
#ifndef OD_IPC_ANSWER_H
#define OD_IPC_ANSWER_H

#include "base/buf.h"
#include "base/json.h"

/* Exit statuses that are not the command's. */
enum {
    ANSWER_EARLY = 124, /* the answer came before the command's end */
    ANSWER_OURS = 125   /* no command ran, or nothing is known of its end */
};

/* Of any result, a refusal too. */
int answer_exit(const struct json *r);
/*
 * Appends what a person has to be told about a result beside its output, one
 * sentence without a newline; nothing when there is nothing to say. command: how
 * hints begin, with the options that they must repeat: "od-exec --socket /run/x".
 */
void answer_words(struct buf *out, const struct json *r, const char *command);
/* The same of a note. */
void answer_note(struct buf *out, const struct json *note);
/* What names the command or process of a result: "main:12". */
void answer_name(struct buf *out, const struct json *r);
/* The result of "list" as a table; nothing for nothing. */
void answer_table(struct buf *out, const struct json *list);

#endif
