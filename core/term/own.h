/* SPDX-License-Identifier: MIT */
/*
 * The inside of a struct term. term.c parses; act.c does what was parsed,
 * with the line model or, while there is one, with the screen. Used by these
 * two only.
 */
#ifndef OD_TERM_OWN_H
#define OD_TERM_OWN_H

#include "term/line.h"
#include "term/screen.h"

#define PARAMS_MAX 16

enum term_state {
    GROUND,
    ESCAPE,     /* after ESC */
    DESIGNATE,  /* after ESC and an intermediate byte */
    SEQUENCE,   /* after ESC [ */
    STRING,     /* in an OSC (they end at BEL, too), DCS, SOS, PM or APC */
    STRING_ESC  /* after ESC in one of these */
};

struct term {
    struct line_model line;
    struct screen *screen; /* owned; NULL: the line model is in use */
    bool alt;              /* it shows the alternate screen */
    bool beneath;          /* and the line model has the primary screen */

    uint64_t offset; /* of the next input byte */

    enum term_state state;
    bool osc;
    char leader, intermediate; /* of a sequence; 0: none */
    long param[PARAMS_MAX];    /* -1: not given */
    int params;

    char utf8[4]; /* an unfinished character */
    size_t utf8_n;
    int marks;        /* since the last character that is not a mark */
    uint32_t last;    /* what REP repeats; 0: nothing */

    bool graphics[2]; /* G0, G1 are DEC's line drawing characters */
    int shift;        /* which of them is in use */
    bool no_wrap;     /* DECAWM is off */
    bool saved;       /* DECSC, in the line model */
    size_t saved_y, saved_x;
};

/* Before each call, line.start and line.at are set to the input that causes it. */
void act_ascii(struct term *t, const char *p, size_t n); /* printable, n > 0 */
void act_char(struct term *t, uint32_t cp);
/* Returns the character of a byte in DEC's line drawing set. */
uint32_t act_drawing(unsigned char c);
void act_control(struct term *t, char c);  /* below 0x20, or DEL */
void act_escape(struct term *t, char c);   /* ESC c */
void act_sequence(struct term *t, char c); /* ESC [ …, with c at its end */

#endif
