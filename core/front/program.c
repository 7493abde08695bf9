/* SPDX-License-Identifier: MIT */
#include "front/program.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "front/front.h"

#include <stdarg.h>
#include <string.h>

enum { WORD_MAX = 4 << 10 };

void program_add(struct program_words *out, const char *word)
{
    BUG_ON(out->n == PROGRAM_WORDS_MAX);
    out->v[out->n++] = word;
}

void program_addf(struct program_words *out, const char *format, ...)
{
    struct buf word = BUF_INIT(WORD_MAX);
    va_list ap;
    va_start(ap, format);
    buf_addv(&word, format, ap);
    va_end(ap);
    program_add(out, xstrdup(buf_z(&word)));
    buf_release(&word);
}

const struct program *program_at(size_t i)
{
    for (size_t f = 0; front_list[f]; f++) {
        for (const struct program *p = front_list[f]->programs; p && p->name; p++) {
            if (i-- == 0)
                return p;
        }
    }
    return NULL;
}

const struct program *program_find(const char *name)
{
    const struct program *p;
    for (size_t i = 0; (p = program_at(i)); i++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}
