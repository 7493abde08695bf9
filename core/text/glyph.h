/* SPDX-License-Identifier: MIT */
/*
 * Glyphs by name (Adobe Glyph List, and the names in fonts of TeX) and by code in the
 * encodings of ISO 32000-1, Annex D.
 */
#ifndef OD_TEXT_GLYPH_H
#define OD_TEXT_GLYPH_H

#include "base/str.h"

#include <stdint.h>

/*
 * Writes the text of a glyph's name to out, as UTF-8 of at most n bytes. Returns its
 * length; 0 if the name is unknown.
 */
size_t glyph_text(struct str name, char *out, size_t n);

enum glyph_base {
    GLYPH_STANDARD,
    GLYPH_WIN,
    GLYPH_MAC,
    GLYPH_SYMBOL,
    GLYPH_DINGBATS
};
/* Returns the character at a code of an encoding (Annex D); 0 if there is none. */
uint32_t glyph_base_char(enum glyph_base base, unsigned code);
/* The standard string of CFF with this number if it names a Latin glyph, else "". */
struct str glyph_cff_string(unsigned sid);

#endif
