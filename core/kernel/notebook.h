/* SPDX-License-Identifier: MIT */
/*
 * A Jupyter notebook (nbformat 4): its code cells one after the other, the outputs
 * that each gets, and the file as Jupyter writes it. What else is in it stays.
 */
#ifndef OD_KERNEL_NOTEBOOK_H
#define OD_KERNEL_NOTEBOOK_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"

struct notebook;

/* name: of the file, for errors. Returns NULL and sets *e if it is not a notebook. */
struct notebook *notebook_parse(struct str text, const char *name, struct err *e);
void notebook_free(struct notebook *b);

/* The kernelspec that it names, "" if it names none. */
struct str notebook_kernel(const struct notebook *b);
/* How many code cells it has that are to be run: without the tag skip-execution. */
int notebook_cells(const struct notebook *b);
/*
 * The first of these cells, then the next: its outputs are dropped, and source is set to
 * its code, as much of it as fits. Returns false if there is none left.
 */
bool notebook_next(struct notebook *b, struct buf *source);
/* A message of the kernel's (cell_events.on_output) for that cell. */
void notebook_output(struct notebook *b, struct str type, const struct json *content);
/* That cell has ended; count: its execution_count, 0 for none. */
void notebook_ended(struct notebook *b, int64_t count);
/* Has that cell the tag raises-exception, by which its failure is no failure? */
bool notebook_may_fail(const struct notebook *b);
/* Appends its errors, each by its name and its first line; nothing: there was none. */
void notebook_error(const struct notebook *b, struct buf *out);
/* The file: indented by one, names sorted, texts as lines. -1: out is full. */
int notebook_print(struct buf *out, const struct notebook *b);

#endif
