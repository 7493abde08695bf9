/* SPDX-License-Identifier: MIT */
/* The tables of glyph.c, which alone includes this: glyph_tables.c has them. */
#ifndef OD_TEXT_GLYPH_OWN_H
#define OD_TEXT_GLYPH_OWN_H

#include <stdint.h>

enum { GLYPH_NAME_ROOM = 18, GLYPH_CODES = 224, GLYPH_LISTED = 754 };

struct glyph {
    char name[GLYPH_NAME_ROOM];
    uint16_t cp;
};

/* By the bytes of their names. */
extern const struct glyph glyph_list[GLYPH_LISTED];

/* Annex D of ISO 32000-1, from the code 32 on. */
extern const uint16_t glyph_standard[GLYPH_CODES], glyph_win[GLYPH_CODES],
    glyph_mac[GLYPH_CODES], glyph_symbol[GLYPH_CODES], glyph_dingbats[GLYPH_CODES];

/* CFF, Appendix A, from 1 on: the names that Latin fonts use, each with a blank. */
extern const char glyph_cff_strings[];

#endif
