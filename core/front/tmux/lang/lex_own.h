/* SPDX-License-Identifier: MIT */
/* The words and signs of tmux's command language. For this room only. */
#ifndef OD_FRONT_TMUX_LANG_LEX_OWN_H
#define OD_FRONT_TMUX_LANG_LEX_OWN_H

#include "front/tmux/lang/parse.h"

enum lex_token {
    LEX_END,
    LEX_NEWLINE,
    LEX_SEMICOLON,
    LEX_OPEN,
    LEX_CLOSE,
    LEX_WORD,
    LEX_EQUALS, /* a word NAME=value */
    LEX_FORMAT, /* #{…} after %if */
    LEX_HIDDEN,
    LEX_IF,
    LEX_ELIF,
    LEX_ELSE,
    LEX_ENDIF,
    LEX_ERROR /* error says why; empty: a syntax error */
};

/* Embedded in the parser; owns clean, joins and word. */
struct lex {
    struct buf clean; /* the text without continued lines */
    size_t *joins;    /* offsets in clean where lines were joined */
    size_t join, join_count;
    size_t at, from; /* next byte; first byte of the token */
    unsigned line;   /* of the token */
    bool newline;    /* the token was a newline, or the text has begun */
    bool condition;  /* a format may follow */
    bool ended;
    struct buf word;
    const char *error;
    char letter; /* that error is about */
    const struct tmux_parse_ops *ops;
    void *ctx;
};

/* Returns -1 if the text is too long. */
int lex_init(struct lex *l, struct str text, unsigned line,
             const struct tmux_parse_ops *ops, void *ctx);
void lex_release(struct lex *l);
/* The next token; a word's text is in l->word. Ends with a newline before LEX_END. */
enum lex_token lex_next(struct lex *l);

#endif
