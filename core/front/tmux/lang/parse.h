/* SPDX-License-Identifier: MIT */
/*
 * tmux's command language, tmux(1) "COMMAND PARSING AND EXECUTION" and "PARSING SYNTAX":
 * a text of a file or an argument, or the words of a command line, becomes a list of
 * commands. Quotes, braces, backslashes, $NAME, ~, comments, continued lines, `;`,
 * assignments and %if are resolved here, with the caller's values; what a command means
 * is the caller's matter.
 *
 * Limits: PARSE_TEXT_MAX bytes of text, PARSE_WORDS_MAX words, PARSE_DEPTH_MAX levels of
 * braces, conditions and aliases. A text over one of them is an error.
 */
#ifndef OD_FRONT_TMUX_LANG_PARSE_H
#define OD_FRONT_TMUX_LANG_PARSE_H

#include "base/buf.h"
#include "base/str.h"

enum {
    PARSE_TEXT_MAX = 32 << 20,
    PARSE_WORDS_MAX = 1 << 20,
    PARSE_DEPTH_MAX = 50,
    PARSE_ERROR_MAX = 4096
};

/* One command. Owned by its struct tmux_commands. */
struct tmux_command {
    char **argv; /* owned, argv[argc] is NULL; argc >= 1 */
    int argc;
    unsigned line;  /* in the text, from 1; 0 for words of a command line */
    unsigned group; /* commands joined by `;`: after an error the rest is left out */
    /*
     * Bit i: argv[i] was written in braces, and is the text between them, as written: a
     * list of commands that was checked (i < 64).
     */
    uint64_t braces;
};

struct tmux_commands {
    struct tmux_command *command; /* owned */
    size_t n, cap;
    size_t words; /* of all commands */
};

/* What the parser asks its caller. A NULL member stands for "no" and "nothing". */
struct tmux_parse_ops {
    /* Appends the value of $NAME. Returns false if it has none; then nothing is added. */
    bool (*variable)(void *ctx, struct str name, struct buf *out);
    /* Appends the home directory of user, "" for the caller's own; false: not known. */
    bool (*home)(void *ctx, struct str user, struct buf *out);
    /* NAME=value at the beginning of a line; hidden: after %hidden. */
    void (*assign)(void *ctx, struct str name, struct str value, bool hidden);
    /* The format of %if or %elif: expanded, is it true? */
    bool (*condition)(void *ctx, struct str format);
    /* Appends the commands that name stands for (command-alias); false: no alias. */
    bool (*alias)(void *ctx, struct str name, struct buf *out);
    /*
     * Checks a command: its name, options and number of arguments. Returns -1 with a
     * sentence in why, as args.h has them: "unknown command: X".
     */
    int (*check)(void *ctx, const struct tmux_command *c, struct buf *why);
};

/*
 * Appends the commands of a text to *out, which is zeroed before its first use. file is
 * the name for errors, NULL for none, and line the number of the first line (0 counts as
 * 1). Returns 0; -1 with tmux's message in why (BUF_INIT(PARSE_ERROR_MAX)), "syntax
 * error" or "FILE:LINE: syntax error", and *out as before.
 */
int tmux_parse(struct tmux_commands *out, struct str text, const char *file,
               unsigned line, const struct tmux_parse_ops *ops, void *ctx,
               struct buf *why);
/*
 * The same for the words of a command line: a word that ends in `;` ends a command, one
 * that ends in `\;` ends in a `;`. Nothing else is special in words.
 */
int tmux_parse_words(struct tmux_commands *out, int argc, char *const *argv,
                     const struct tmux_parse_ops *ops, void *ctx, struct buf *why);
/* Frees the commands; *c may be used again. */
void tmux_commands_release(struct tmux_commands *c);

/*
 * Appends word as it would be written to be read as one word again, with tmux's choice of
 * quotes (tmux 3.3a: list-keys, show-options); "''" for an empty one.
 */
void tmux_quote(struct buf *out, struct str word);
/* The same without quotes around it: control characters and backslashes are escaped. */
void tmux_escape(struct buf *out, struct str text, bool double_quotes);

struct tmux_spec;
/*
 * Appends commands as tmux prints them: full names, options sorted, words quoted where
 * needed; " ; " between those of one group, " ;; " between groups. table has the n
 * commands that there are. Texts in braces are parsed with ops and printed the same way.
 */
void tmux_commands_print(struct buf *out, const struct tmux_commands *c,
                         const struct tmux_spec *table, size_t n,
                         const struct tmux_parse_ops *ops, void *ctx);

#endif
