/* SPDX-License-Identifier: MIT */
/*
 * What the readers of engine/docread share: memory with a maximum, and what each
 * format offers. All of it is blocking, and runs in a helper.
 */
#ifndef OD_ENGINE_DOCREAD_OWN_H
#define OD_ENGINE_DOCREAD_OWN_H

#include "engine/docread.h"

/* ---- docread_arena.c: memory that goes at once ---- */

struct arena_block;

struct arena {
    struct arena_block *last; /* owned */
    size_t total, max;        /* bytes of all blocks */
    bool full;                /* something was refused: the result is not whole */
};

struct arena_mark {
    struct arena_block *block;
    size_t used;
};

void arena_init(struct arena *a, size_t max);
void arena_release(struct arena *a);
/* n zeroed bytes, aligned for anything. NULL: full is set. */
void *arena_get(struct arena *a, size_t n);
/* A copy; NULL as above, and for nothing. */
char *arena_copy(struct arena *a, struct str s);
/* What was got after the mark goes. */
struct arena_mark arena_mark(const struct arena *a);
void arena_back(struct arena *a, struct arena_mark m);

/* ---- the formats: bytes of a file to text, appended ---- */

int docread_pdf(struct str bytes, bool markdown, struct buf *out, struct err *e);
int docread_latex(struct str bytes, struct buf *out, struct err *e);
int docread_html(struct str bytes, struct buf *out, struct err *e);
int docread_ipynb(struct str bytes, struct buf *out, struct err *e);
/* Of a zip file that is open. */
int docread_docx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_pptx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_xlsx(int fd, struct buf *out, struct err *e);
/* Facts, and the data URL unless it is for Markdown. */
int docread_media(enum docread_kind kind, struct str name, struct str bytes,
                  bool markdown, struct buf *out, struct err *e);

/*
 * A row of a table in Markdown: its cells are apart by tabs. first: the rule that makes
 * it the head follows.
 */
int docread_row(struct buf *out, struct str cells, bool first);

/* "the text is longer than …"; -1. */
int docread_too_long(const struct buf *out, struct err *e);

#endif
