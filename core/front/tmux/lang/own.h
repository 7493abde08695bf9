/* SPDX-License-Identifier: MIT */
/* What files of this room share. */
#ifndef OD_FRONT_TMUX_LANG_OWN_H
#define OD_FRONT_TMUX_LANG_OWN_H

#include "front/tmux/lang/format.h"
#include "front/tmux/lang/options.h"

/* A colour by its name; -1: none. tmux_colour_rgb: 0xRRGGBB, or -1. */
int tmux_colour(struct str s);
int tmux_colour_x11(struct str s);
int tmux_colour_rgb(int colour);
void tmux_colour_print(struct buf *out, int colour);

/* Offset of the first of the characters `end` that is not within #{…}, or -1. */
long format_skip(struct str s, const char *end);
/* The first limit columns of s, the last -limit ones; styles stay, and count nothing. */
void format_trim(struct buf *out, struct str s, int64_t limit);
/* Spaces after s up to width columns, or with a negative width before it. Styles count.
 */
void format_pad(struct buf *out, struct str s, int64_t width);
/* Replaces matches of an extended regular expression; \0-\9 in with are its groups. */
void format_substitute(struct buf *out, struct str s, struct str pattern, struct str with,
                       bool fold);
/* Whether an extended regular expression matches. */
bool format_regex(struct str pattern, struct str s, bool fold);
/* A time as ctime(3) has it; pretty: short; format: strftime(3). */
void format_time(struct buf *out, int64_t t, int64_t now, bool pretty, struct str format);
/* strftime(3) of the whole text. Returns -1 if it gives nothing. */
int format_strftime(struct buf *out, struct str text, int64_t now);
void format_quote(struct buf *out, struct str s, bool style);
/* a op b; false: an operand is not a number, or op is not known. */
bool format_maths(struct buf *out, struct str op, bool fraction, int digits, struct str a,
                  struct str b);

#endif
