/* SPDX-License-Identifier: MIT */
/*
 * Keys: see keys.h. What each name sends, and which send nothing, was seen with tmux 3.3a
 * and a program that writes down what it reads.
 *
 * A key of the table has its row as its number. Names of the mouse are keys for bind-key
 * only: they have numbers from MOUSE on, and the User keys from USER on.
 */
#include "front/tmux/lang/keys.h"

#include "base/utf8.h"

#include <stdlib.h>
#include <strings.h>

enum { MOUSE = 0x1000, USER = 0x2000, USERS = 1000, CHAR = 0xffffff };
enum { MODS = TMUX_KEY_META | TMUX_KEY_CTRL | TMUX_KEY_SHIFT };

/*
 * The bytes: CSI number ~, or CSI letter (SS3 in application mode if app is set), or
 * those given. Keys of the keypad have a character and SS3's letter.
 */
struct key_row {
    const char *name; /* the first of a key's names is printed */
    const char *bytes;
    unsigned char number; /* of CSI number ~; with modifiers CSI number ; m ~ */
    char letter;          /* with modifiers: CSI 1 ; m letter */
    char cursor, keypad;  /* SS3's letter in these modes */
};

static const struct key_row rows[] = {
    {"Any", NULL, 0, 0, 0, 0},          {"BTab", "\033[Z", 0, 0, 0, 0},
    {"BSpace", "\177", 0, 0, 0, 0},     {"Up", "\033[A", 0, 'A', 'A', 0},
    {"Down", "\033[B", 0, 'B', 'B', 0}, {"Right", "\033[C", 0, 'C', 'C', 0},
    {"Left", "\033[D", 0, 'D', 'D', 0}, {"Home", "\033[1~", 0, 'H', 0, 0},
    {"End", "\033[4~", 0, 'F', 0, 0},   {"IC", "\033[2~", 2, 0, 0, 0},
    {"DC", "\033[3~", 3, 0, 0, 0},      {"PPage", "\033[5~", 5, 0, 0, 0},
    {"NPage", "\033[6~", 6, 0, 0, 0},   {"F1", "\033OP", 0, 'P', 0, 0},
    {"F2", "\033OQ", 0, 'Q', 0, 0},     {"F3", "\033OR", 0, 'R', 0, 0},
    {"F4", "\033OS", 0, 'S', 0, 0},     {"F5", "\033[15~", 15, 0, 0, 0},
    {"F6", "\033[17~", 17, 0, 0, 0},    {"F7", "\033[18~", 18, 0, 0, 0},
    {"F8", "\033[19~", 19, 0, 0, 0},    {"F9", "\033[20~", 20, 0, 0, 0},
    {"F10", "\033[21~", 21, 0, 0, 0},   {"F11", "\033[23~", 23, 0, 0, 0},
    {"F12", "\033[24~", 24, 0, 0, 0},   {"KP/", "/", 0, 0, 0, 'o'},
    {"KP*", "*", 0, 0, 0, 'j'},         {"KP-", "-", 0, 0, 0, 'm'},
    {"KP7", "7", 0, 0, 0, 'w'},         {"KP8", "8", 0, 0, 0, 'x'},
    {"KP9", "9", 0, 0, 0, 'y'},         {"KP+", "+", 0, 0, 0, 'k'},
    {"KP4", "4", 0, 0, 0, 't'},         {"KP5", "5", 0, 0, 0, 'u'},
    {"KP6", "6", 0, 0, 0, 'v'},         {"KP1", "1", 0, 0, 0, 'q'},
    {"KP2", "2", 0, 0, 0, 'r'},         {"KP3", "3", 0, 0, 0, 's'},
    {"KPEnter", "\n", 0, 0, 0, 'M'},    {"KP0", "0", 0, 0, 0, 'p'},
    {"KP.", ".", 0, 0, 0, 'n'},
};
enum { ROWS = sizeof(rows) / sizeof(rows[0]), ROW_ANY = 0, ROW_BTAB = 1, ROW_BSPACE = 2 };

/* Other names of keys, and names of characters. */
static const struct {
    const char *name, *key;
    char character;
} others[] = {
    {"Insert", "IC", 0},   {"Delete", "DC", 0},      {"PageUp", "PPage", 0},
    {"PgUp", "PPage", 0},  {"PageDown", "NPage", 0}, {"PgDn", "NPage", 0},
    {"Enter", NULL, '\r'}, {"Escape", NULL, 033},    {"Tab", NULL, '\t'},
    {"Space", NULL, ' '},
};
enum { OTHERS = sizeof(others) / sizeof(others[0]) };

static const char *const mice[] = {
    "MouseMove",     "MouseDown1",    "MouseDown2",    "MouseDown3",   "MouseUp1",
    "MouseUp2",      "MouseUp3",      "MouseDrag1",    "MouseDrag2",   "MouseDrag3",
    "MouseDragEnd1", "MouseDragEnd2", "MouseDragEnd3", "WheelUp",      "WheelDown",
    "SecondClick1",  "SecondClick2",  "SecondClick3",  "DoubleClick1", "DoubleClick2",
    "DoubleClick3",  "TripleClick1",  "TripleClick2",  "TripleClick3"};
static const char *const places[] = {"Pane",        "Status",        "StatusLeft",
                                     "StatusRight", "StatusDefault", "Border"};
enum {
    MICE = sizeof(mice) / sizeof(mice[0]),
    PLACES = sizeof(places) / sizeof(places[0])
};

static bool is(struct str name, const char *z)
{
    return name.n == strlen(z) && strncasecmp(name.p, z, name.n) == 0;
}

static tmux_key row_of(struct str name)
{
    for (unsigned i = 0; i < ROWS; i++)
        if (is(name, rows[i].name))
            return TMUX_KEY_SPECIAL | i;
    return TMUX_KEY_NONE;
}

static tmux_key mouse_of(struct str name)
{
    for (unsigned i = 0; i < MICE; i++) {
        size_t n = strlen(mice[i]);
        for (unsigned k = 0; name.n > n && k < PLACES; k++)
            if (is(str_sub(name, 0, n), mice[i]) &&
                is(str_sub(name, n, name.n), places[k]))
                return TMUX_KEY_SPECIAL | (MOUSE + i * PLACES + k);
    }
    return TMUX_KEY_NONE;
}

static tmux_key special_of(struct str name)
{
    uint64_t number;
    for (unsigned i = 0; i < OTHERS; i++)
        if (is(name, others[i].name))
            return others[i].key ? row_of(str_of(others[i].key))
                                 : (tmux_key)others[i].character;
    if (name.n > 4 && is(str_sub(name, 0, 4), "User") &&
        str_to_u64(str_sub(name, 4, name.n), &number) == 0 && number < USERS)
        return TMUX_KEY_SPECIAL | (USER + (unsigned)number);
    tmux_key key = row_of(name);
    return key == TMUX_KEY_NONE ? mouse_of(name) : key;
}

static int hex_of(struct str s, size_t most)
{
    int v = 0;
    if (s.n == 0 || s.n > most)
        return -1;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        v = v * 16 + digit;
    }
    return v;
}

static tmux_key take_modifiers(struct str *name)
{
    tmux_key mods = 0;
    if (name->n > 1 && name->p[0] == '^') {
        mods |= TMUX_KEY_CTRL;
        *name = str_sub(*name, 1, name->n);
    }
    while (name->n > 2 && name->p[1] == '-') {
        char c = name->p[0] & ~0x20;
        tmux_key mod = c == 'C'   ? TMUX_KEY_CTRL
                       : c == 'M' ? TMUX_KEY_META
                       : c == 'S' ? TMUX_KEY_SHIFT
                                  : 0;
        if (!mod)
            break;
        mods |= mod;
        *name = str_sub(*name, 2, name->n);
    }
    return mods;
}

/* C- of an ASCII character: the control character, or the character and C-. */
static tmux_key control(tmux_key key, tmux_key mods)
{
    static const char kept[] = "!#()+,-.0123456789:;<=>'\r\t`/\033";
    if (memchr(kept, (int)key, sizeof(kept) - 1))
        return key | mods;
    mods &= ~(tmux_key)TMUX_KEY_CTRL;
    if (key >= 'a' && key <= 'z')
        return (key - 96) | mods;
    if (key >= '@' && key <= '_')
        return (key - 64) | mods;
    return key == ' ' ? mods : key == '?' ? 127 | mods : TMUX_KEY_NONE;
}

tmux_key tmux_key_parse(struct str name)
{
    uint32_t cp;
    if (name.n > 2 && name.p[0] == '0' && name.p[1] == 'x') {
        int v = hex_of(str_sub(name, 2, name.n), 6);
        bool bad = v < 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ||
                   (v >= 0x80 && v < 0xa0);
        return bad ? TMUX_KEY_NONE : (tmux_key)v;
    }
    tmux_key mods = take_modifiers(&name), key;
    if (name.n == 1 && (unsigned char)name.p[0] < 0x80) {
        key = (unsigned char)name.p[0];
        if (key < 32)
            return TMUX_KEY_NONE;
    } else if (name.n > 1 && utf8_decode(name, &cp) == (int)name.n)
        return cp | mods;
    else
        key = special_of(name);
    if (key == TMUX_KEY_NONE)
        return key;
    if ((mods & TMUX_KEY_CTRL) && !(key & TMUX_KEY_SPECIAL))
        return control(key, mods);
    return key | mods;
}

static void print_char(struct buf *out, tmux_key key)
{
    char bytes[4];
    for (unsigned i = 0; i < OTHERS; i++)
        if (!others[i].key && (tmux_key)others[i].character == key) {
            buf_addz(out, others[i].name);
            return;
        }
    if (key < 32) {
        buf_addz(out, "C-");
        key += 64;
        buf_addc(out, (char)(key >= 'A' && key <= 'Z' ? key + 32 : key));
    } else if (key == 127)
        buf_addz(out, "C-?");
    else
        buf_add(out, bytes, (size_t)utf8_encode(key, bytes));
}

void tmux_key_print(struct buf *out, tmux_key key)
{
    if (key == TMUX_KEY_NONE) {
        buf_addz(out, "None");
        return;
    }
    if (key == 0) {
        buf_addz(out, "C-Space");
        return;
    }
    if (key & TMUX_KEY_CTRL)
        buf_addz(out, "C-");
    if (key & TMUX_KEY_META)
        buf_addz(out, "M-");
    if (key & TMUX_KEY_SHIFT)
        buf_addz(out, "S-");
    unsigned number = key & CHAR;
    if (!(key & TMUX_KEY_SPECIAL))
        print_char(out, number);
    else if (number >= USER)
        buf_addf(out, "User%u", number - USER);
    else if (number >= MOUSE)
        buf_addf(out, "%s%s", mice[(number - MOUSE) / PLACES],
                 places[(number - MOUSE) % PLACES]);
    else
        buf_addz(out, rows[number].name);
}

/* xterm's number of modifiers. */
static unsigned modifier(tmux_key key)
{
    return 1 + (key & TMUX_KEY_SHIFT ? 1 : 0) + (key & TMUX_KEY_META ? 2 : 0) +
           (key & TMUX_KEY_CTRL ? 4 : 0);
}

static int special_bytes(struct buf *out, tmux_key key, const struct tmux_key_mode *mode)
{
    unsigned number = key & CHAR;
    if (number >= USER)
        return 0;
    if (number >= ROWS || number == ROW_ANY)
        return -1;
    const struct key_row *row = &rows[number];
    if ((key & MODS) && row->letter)
        return buf_addf(out, "\033[1;%u%c", modifier(key), row->letter);
    if ((key & MODS) && row->number)
        return buf_addf(out, "\033[%u;%u~", row->number, modifier(key));
    if (key & (TMUX_KEY_CTRL | TMUX_KEY_SHIFT)) {
        if (mode->extended && number == ROW_BSPACE)
            return buf_addf(out, "\033[127;%uu", modifier(key));
        return key & TMUX_KEY_SHIFT ? -1 : 0;
    }
    if (key & TMUX_KEY_META)
        buf_addc(out, '\033');
    if (mode->cursor && row->cursor)
        return buf_addf(out, "\033O%c", row->cursor);
    if (mode->keypad && row->keypad)
        return buf_addf(out, "\033O%c", row->keypad);
    return buf_addz(out, row->bytes);
}

int tmux_key_bytes(struct buf *out, tmux_key key, const struct tmux_key_mode *mode)
{
    static const char controls[] = "2\0\066\036/\037-\037"; /* pairs */
    char bytes[4];
    if (key == TMUX_KEY_NONE)
        return -1;
    if (key & TMUX_KEY_SPECIAL)
        return special_bytes(out, key, mode);
    tmux_key c = key & CHAR;
    if (c < 0x80 && (key & (TMUX_KEY_CTRL | TMUX_KEY_SHIFT))) {
        if (mode->extended && c < 32 && c != '\r' && c != '\t' && c != 033)
            return buf_addf(out, "\033[%u;%uu", c + 64, modifier(key | TMUX_KEY_CTRL));
        if (mode->extended)
            return buf_addf(out, "\033[%u;%uu", c, modifier(key));
        if (key & TMUX_KEY_SHIFT)
            return -1;
        for (size_t i = 0; i < sizeof(controls) - 1; i += 2) {
            if ((tmux_key)controls[i] != c)
                continue;
            if (key & TMUX_KEY_META)
                buf_addc(out, '\033');
            return buf_addc(out, controls[i + 1]);
        }
        return 0;
    }
    if (key & TMUX_KEY_META)
        buf_addc(out, '\033');
    return buf_add(out, bytes, (size_t)utf8_encode(c, bytes));
}

void tmux_key_word(struct buf *out, struct str word, bool literal,
                   const struct tmux_key_mode *mode)
{
    if (literal || tmux_key_bytes(out, tmux_key_parse(word), mode) < 0)
        buf_adds(out, word);
}

int tmux_key_hex(struct buf *out, struct str word)
{
    if (word.n > 2 && word.p[0] == '0' && (word.p[1] | 0x20) == 'x')
        word = str_sub(word, 2, word.n);
    int v = hex_of(word, 6);
    if (v < 0 || v > 255)
        return -1;
    return buf_addc(out, (char)v);
}
