/* SPDX-License-Identifier: MIT */
/* A text of this program's own, which build/ compressed by gzip (RFC 1952). */
#ifndef OD_ARCHIVE_ZIP_TEXT_H
#define OD_ARCHIVE_ZIP_TEXT_H

#include "base/buf.h"

/* Appends the text, for which out must have room. Aborts without memory, as xalloc.h
 * does: its size is ours. */
void zip_text(struct buf *out, struct str gz);

/* Writes the text to memory of its size, from `to` to `end`, which is the caller's.
 * Aborts as zip_text does. */
void zip_text_to(char *to, const char *end, struct str gz);

/* Defines a function NAME_unpack(), which fills the tables that build/pack-tables.sh made
 * as NAME. It does so once in a process; before, they are zero. */
#define ZIP_TABLES(name)                                                                 \
    extern char name##_tables[];                                                         \
    extern const char name##_tables_end[];                                               \
    extern const char name##_tables_gz[], name##_tables_gz_end[];                        \
    static void name##_unpack(void)                                                      \
    {                                                                                    \
        static bool done;                                                                \
        if (!done)                                                                       \
            zip_text_to(name##_tables, name##_tables_end,                                \
                        str_n(name##_tables_gz,                                          \
                              (size_t)(name##_tables_gz_end - name##_tables_gz)));       \
        done = true;                                                                     \
    }

#endif
