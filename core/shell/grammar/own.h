/* SPDX-License-Identifier: MIT */
/*
 * What the two halves of the scanner share: the place in the text, and words.
 *
 * A failure sets `bad` and moves to the end of the text, so that every loop ends. Its
 * reason is not kept: such a text is one command, and bash reports the error. `more`
 * says whether further text could complete it.
 */
#ifndef OD_SHELL_GRAMMAR_OWN_H
#define OD_SHELL_GRAMMAR_OWN_H

#include "shell/grammar/grammar.h"

/* As bash: more here documents on one line are an error there too. */
#define HERES_MAX 16
/* A longer delimiter makes the text bad. */
#define DELIM_MAX 120
/* Letters of the longest keyword, and one to see that a word is longer. */
#define KEY_MAX 9

/* What the original server's parser does not know; grammar.c has the table. */
enum beyond {
    B_NONE,
    B_TEST,
    B_CASE,
    B_SELECT,
    B_COPROC,
    B_TIME,
    B_NOT,
    B_ARITHMETIC,
    B_EXPANSION,
    B_ARRAY,
    B_PATTERN,
    B_DOCUMENT,
    B_LIST,
    B_HASH,
    B_QUOTES,
    B_WHILE,
    B_END,
    B_COUNT
};

struct here {
    char delim[DELIM_MAX];
    size_t n;
    bool tabs;   /* <<-: leading tabs do not count */
    bool quoted; /* the body is taken as it is, backslashes too */
};

struct grammar_scan {
    struct str text;
    size_t at;
    bool bad;
    size_t bad_at; /* where the failure was seen; SIZE_MAX: more text would not help */
    bool more;     /* the text ended where further lines may follow */
    bool comment;  /* it ended in a comment */
    bool late;     /* a substitution ended before its documents: bash complains */
    /* A keyword may follow without a separator, as the last word was a keyword. */
    bool key_ok;
    int depth;
    int substitutions;  /* $( and <( around this place */
    size_t again;       /* bytes that were read twice */
    size_t key_end;     /* where the keyword ends that was looked at last */
    int semicolons;     /* in the parentheses that scan_pair read last */
    bool joined;        /* the last list has &&, || or & before its last command */
    bool single;        /* the last list is one pipeline with a newline behind it */
    int odd;            /* ODD_SINGLE, ODD_DOUBLE: quotes in the word that is read */
    enum beyond beyond; /* the first that was found */
    /* Documents begun and not yet read; those of this substitution from base on. */
    struct here here[HERES_MAX];
    int heres, base;
};

enum { END = -1 };

/* Quotes of each kind with the beginning of a substitution in them. */
enum { ODD_SINGLE = 1, ODD_DOUBLE = 2 };

/* ---- the place ---- */

void scan_fail(struct grammar_scan *s);
/* The same, at the end of the text, within a quote or a document. */
void scan_cut_off(struct grammar_scan *s);
/* The same, where no further line would help. */
void scan_refuse(struct grammar_scan *s);
/* A line may end here: if the text ends, too, another line may follow. */
void scan_line_end(struct grammar_scan *s);
/* Begins and ends a nested construct; too deep is a failure. */
void scan_enter(struct grammar_scan *s);
void scan_leave(struct grammar_scan *s);
/* The byte here, behind what a backslash joins; END at the end. */
int scan_cur(struct grammar_scan *s);
/* The byte behind the one here. */
int scan_ahead(struct grammar_scan *s);
/* Passes over c, if it is here. */
bool scan_take(struct grammar_scan *s, int c);
/* Passes over c, or fails. */
void scan_want(struct grammar_scan *s, int c);
/* Does c end a word? */
bool scan_is_break(int c);
/* Passes over blanks and a comment, up to the end of the line. */
void scan_blanks(struct grammar_scan *s);
/* The same and newlines, with the here documents after them. */
void scan_newlines(struct grammar_scan *s);

/* Reports a construct that the original server's parser does not know. */
void scan_beyond(struct grammar_scan *s, enum beyond what);

/* ---- words ---- */

enum {
    W_COMMAND = 1, /* where a command begins: assignments, with subscripts */
    W_ASSIGNS = 2, /* an argument of declare and its like: a=(…) too */
    W_ARRAY = 4,   /* in a=(…): [subscript]=… */
    W_REGEX = 8,   /* right of =~: ( and | are part of it */
};

struct word {
    size_t from, to;
    char lit[KEY_MAX]; /* what it says, when it is short and plain */
    size_t n;          /* bytes of it; KEY_MAX: long, or not plain */
    bool assigns;      /* NAME=, NAME+=, NAME[…]= at its beginning */
};

/* Reads a word into *w, if one is here. */
bool scan_word(struct grammar_scan *s, struct word *w, int flags);
/* The word as text, empty when it is not a short plain one. */
struct str scan_plain(const struct word *w);
/* Is the word a descriptor (2 or {fd}) directly before a redirection? */
bool scan_is_descriptor(struct grammar_scan *s, const struct word *w);
/* Reads a word that is not the descriptor of a redirection. */
bool scan_argument(struct grammar_scan *s, struct word *w, int flags);
/*
 * After an opening bracket: passes over the text and its closing bracket. Nested
 * brackets count, except in ${…}, which ends at the first }.
 */
void scan_pair(struct grammar_scan *s, int open, int close);
/* Notes a here document whose delimiter is the text from..to. */
void scan_document(struct grammar_scan *s, size_t from, size_t to, bool tabs);

/*
 * Reads one or more commands; the caller reads the word that ends them. In grammar.c; for
 * words that contain commands.
 */
void scan_commands(struct grammar_scan *s);
/* Reads the commands of a text to its end. In grammar.c. */
void scan_all(struct grammar_scan *s);

#endif
