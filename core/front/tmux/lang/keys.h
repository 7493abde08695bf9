/* SPDX-License-Identifier: MIT */
/*
 * Names of keys as tmux(1) "KEY BINDINGS" has them, the bytes that tmux writes to a
 * pane for them, and the names as list-keys prints them. Pure functions.
 */
#ifndef OD_FRONT_TMUX_LANG_KEYS_H
#define OD_FRONT_TMUX_LANG_KEYS_H

#include "base/buf.h"
#include "base/str.h"

/* A key: the low 24 bits are a character or one of our numbers, the high ones say how. */
typedef uint32_t tmux_key;
enum {
    TMUX_KEY_NONE = UINT32_C(0x00ffffff), /* not a key */
    TMUX_KEY_META = 1 << 24,
    TMUX_KEY_CTRL = 1 << 25,
    TMUX_KEY_SHIFT = 1 << 26,
    TMUX_KEY_SPECIAL = 1 << 27 /* the low bits are a row of the table of names */
};

/* What the program in the pane has asked for. */
struct tmux_key_mode {
    bool cursor;   /* DECCKM: application cursor keys */
    bool keypad;   /* DECKPAM: application keypad */
    bool extended; /* modifyOtherKeys, with tmux's option extended-keys on */
};

/*
 * The key of a name: "Enter", "C-a", "M-Up", "S-F5", "^C", "KP7", "0x41", a character.
 * TMUX_KEY_NONE: not a name; "None" and "Any" are names without bytes.
 */
tmux_key tmux_key_parse(struct str name);
/* Appends the name as tmux prints it: "C-b". */
void tmux_key_print(struct buf *out, tmux_key key);
/* Appends the bytes for a pane. Returns -1 if tmux sends none for it. */
int tmux_key_bytes(struct buf *out, tmux_key key, const struct tmux_key_mode *mode);

/*
 * One word of send-keys: the bytes of a key, or a word that is no name as it is. literal:
 * -l, always as it is. Bytes that are not UTF-8 are sent as they are.
 */
void tmux_key_word(struct buf *out, struct str word, bool literal,
                   const struct tmux_key_mode *mode);
/* A word of send-keys -H: hexadecimal, 0 to ff. Returns -1 if it is not. */
int tmux_key_hex(struct buf *out, struct str word);

#endif
