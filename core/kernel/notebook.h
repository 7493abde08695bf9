/* SPDX-License-Identifier: MIT */
/*
 * A Jupyter notebook (nbformat 4): its code cells in order, the outputs of each, and the
 * file as Jupyter writes it. Everything else in it is kept.
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
/* The number of code cells to run: those without the tag skip-execution. */
int notebook_cells(const struct notebook *b);
/*
 * Goes to the first of these cells, then to the next: drops its outputs, and sets source
 * to its code, as far as it fits. Returns false if there is none left.
 */
bool notebook_next(struct notebook *b, struct buf *source);
/* Adds a message of the kernel (cell_events.on_output) to that cell. */
void notebook_output(struct notebook *b, struct str type, const struct json *content);
/* That cell has ended; count: its execution_count, 0 for none. */
void notebook_ended(struct notebook *b, int64_t count);
/* Whether that cell has the tag raises-exception, so that an error is not a failure. */
bool notebook_may_fail(const struct notebook *b);
/* Appends the name and first line of each of its errors; nothing if it has none. */
void notebook_error(const struct notebook *b, struct buf *out);
/* The file, by notebook_write. Returns -1 and leaves out as it was if that is full. */
int notebook_print(struct buf *out, const struct notebook *b);

/*
 * Appends a notebook, a JSON object that is valid: as its file (nbformat, "The Notebook
 * file format": indented by one, names sorted, texts as lists of lines, without what is
 * about one program's memory), or for a client, with texts whole. Numbers stay as they
 * are written. Returns -1 if out is full.
 */
int notebook_write(struct buf *out, struct str book, bool file);

enum { NOTEBOOK_JSON_MAX = 64 << 20 }; /* bytes of one value of an old notebook */
/*
 * Appends a notebook of nbformat 3 (a valid JSON object) as one of nbformat 4.5. Returns
 * -1 if it is not an object, or out is full.
 */
int notebook_upgrade(struct str text, struct buf *out);

#endif
