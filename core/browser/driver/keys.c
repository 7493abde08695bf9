/* SPDX-License-Identifier: MIT */
/*
 * The keyboard: the names that pages and agents use for keys, on an American layout. A
 * single character names itself; Shift applies to the name of a code (KeyA, Digit1).
 */
#include "browser/driver/driver.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { ALT = 1, CONTROL = 2, META = 4, SHIFT = 8, TOKENS_MAX = 8 };

struct named {
    const char *name, *key, *code;
    int number, location, modifier;
    const char *text;
};

static const struct named named[] = {
    {"Enter", "Enter", "Enter", 13, 0, 0, "\r"},
    {"Tab", "Tab", "Tab", 9, 0, 0, NULL},
    {"Backspace", "Backspace", "Backspace", 8, 0, 0, NULL},
    {"Delete", "Delete", "Delete", 46, 0, 0, NULL},
    {"Escape", "Escape", "Escape", 27, 0, 0, NULL},
    {"Home", "Home", "Home", 36, 0, 0, NULL},
    {"End", "End", "End", 35, 0, 0, NULL},
    {"PageUp", "PageUp", "PageUp", 33, 0, 0, NULL},
    {"PageDown", "PageDown", "PageDown", 34, 0, 0, NULL},
    {"Insert", "Insert", "Insert", 45, 0, 0, NULL},
    {"ArrowLeft", "ArrowLeft", "ArrowLeft", 37, 0, 0, NULL},
    {"ArrowUp", "ArrowUp", "ArrowUp", 38, 0, 0, NULL},
    {"ArrowRight", "ArrowRight", "ArrowRight", 39, 0, 0, NULL},
    {"ArrowDown", "ArrowDown", "ArrowDown", 40, 0, 0, NULL},
    {"Space", " ", "Space", 32, 0, 0, " "},
    {"CapsLock", "CapsLock", "CapsLock", 20, 0, 0, NULL},
    {"ContextMenu", "ContextMenu", "ContextMenu", 93, 0, 0, NULL},
    {"Shift", "Shift", "ShiftLeft", 16, 1, SHIFT, NULL},
    {"ShiftLeft", "Shift", "ShiftLeft", 16, 1, SHIFT, NULL},
    {"ShiftRight", "Shift", "ShiftRight", 16, 2, SHIFT, NULL},
    {"Control", "Control", "ControlLeft", 17, 1, CONTROL, NULL},
    {"ControlLeft", "Control", "ControlLeft", 17, 1, CONTROL, NULL},
    {"ControlRight", "Control", "ControlRight", 17, 2, CONTROL, NULL},
    {"ControlOrMeta", "Control", "ControlLeft", 17, 1, CONTROL, NULL},
    {"Alt", "Alt", "AltLeft", 18, 1, ALT, NULL},
    {"AltLeft", "Alt", "AltLeft", 18, 1, ALT, NULL},
    {"AltRight", "Alt", "AltRight", 18, 2, ALT, NULL},
    {"Meta", "Meta", "MetaLeft", 91, 1, META, NULL},
    {"MetaLeft", "Meta", "MetaLeft", 91, 1, META, NULL},
    {"MetaRight", "Meta", "MetaRight", 92, 2, META, NULL},
};

/* Keys with two characters: the plain one, the shifted one, code, number. */
static const struct {
    char plain, shifted;
    const char *code;
    int number;
} signs[] = {
    {'0', ')', "Digit0", 48},       {'1', '!', "Digit1", 49},
    {'2', '@', "Digit2", 50},       {'3', '#', "Digit3", 51},
    {'4', '$', "Digit4", 52},       {'5', '%', "Digit5", 53},
    {'6', '^', "Digit6", 54},       {'7', '&', "Digit7", 55},
    {'8', '*', "Digit8", 56},       {'9', '(', "Digit9", 57},
    {'-', '_', "Minus", 189},       {'=', '+', "Equal", 187},
    {'[', '{', "BracketLeft", 219}, {']', '}', "BracketRight", 221},
    {'\\', '|', "Backslash", 220},  {';', ':', "Semicolon", 186},
    {'\'', '"', "Quote", 222},      {'`', '~', "Backquote", 192},
    {',', '<', "Comma", 188},       {'.', '>', "Period", 190},
    {'/', '?', "Slash", 191},
};

struct named_key {
    char key[24], code[24], text[4];
    int number, location, modifier;
};

static void set_key(struct named_key *k, const char *key, const char *code,
                    const char *text, int number)
{
    snprintf(k->key, sizeof(k->key), "%s", key);
    snprintf(k->code, sizeof(k->code), "%s", code);
    snprintf(k->text, sizeof(k->text), "%s", text ? text : "");
    k->number = number;
    k->location = k->modifier = 0;
}

static bool letter(struct named_key *k, char c, bool capital)
{
    char key[2] = {(char)(capital ? c & ~0x20 : c), 0}, code[] = "Key?";
    if ((c | 0x20) < 'a' || (c | 0x20) > 'z')
        return false;
    code[3] = (char)(c & ~0x20);
    set_key(k, key, code, key, c & ~0x20);
    return true;
}

static bool sign(struct named_key *k, char c, const char *code, bool shift)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        bool by_code = code && strcmp(code, signs[i].code) == 0;
        if (!by_code && (code || (c != signs[i].plain && c != signs[i].shifted)))
            continue;
        char text[2] = {by_code ? (shift ? signs[i].shifted : signs[i].plain) : c, 0};
        set_key(k, text, signs[i].code, text, signs[i].number);
        return true;
    }
    return false;
}

static bool find_key(struct named_key *k, const char *name, int modifiers)
{
    size_t n = strlen(name);
    bool shift = modifiers & SHIFT;
    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
        if (strcmp(name, named[i].name) != 0)
            continue;
        set_key(k, named[i].key, named[i].code, named[i].text, named[i].number);
        k->location = named[i].location;
        k->modifier = named[i].modifier;
        return true;
    }
    if (n == 1)
        return letter(k, name[0], (name[0] & 0x20) == 0) ||
               sign(k, name[0], NULL, false) ||
               (name[0] == ' ' && find_key(k, "Space", 0)) ||
               ((name[0] == '\n' || name[0] == '\r') && find_key(k, "Enter", 0));
    if (n == 4 && strncmp(name, "Key", 3) == 0)
        return letter(k, (char)(name[3] | 0x20), shift);
    uint64_t f;
    if (name[0] == 'F' && str_to_u64(str_of(name + 1), &f) == 0 && f >= 1 && f <= 12) {
        set_key(k, name, name, NULL, 111 + (int)f);
        return true;
    }
    return sign(k, 0, name, shift);
}

/* Returns the editing command of a shortcut: without a window system, Chromium ignores
 * the shortcut alone. */
static const char *command(const struct named_key *k, int modifiers)
{
    static const struct {
        char letter;
        const char *command;
    } commands[] = {{'A', "selectAll"}, {'C', "copy"}, {'V', "paste"},
                    {'X', "cut"},       {'Z', "undo"}, {'Y', "redo"}};
    if ((modifiers & ~SHIFT) != CONTROL || strncmp(k->code, "Key", 3) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
        if (k->code[3] == commands[i].letter)
            return commands[i].command;
    }
    return NULL;
}

static int send_key(struct browser *b, struct str session, const struct named_key *k,
                    bool down, struct err *e)
{
    struct json *p = json_object();
    if (down)
        b->modifiers |= k->modifier;
    else
        b->modifiers &= ~k->modifier;
    bool text = down && k->text[0] && !(b->modifiers & ~SHIFT);
    const char *c = down ? command(k, b->modifiers) : NULL;
    json_put_z(p, "type", !down ? "keyUp" : text ? "keyDown" : "rawKeyDown");
    json_put_int(p, "modifiers", b->modifiers);
    json_put_z(p, "key", k->key);
    json_put_z(p, "code", k->code);
    json_put_int(p, "windowsVirtualKeyCode", k->number);
    json_put_int(p, "location", k->location);
    if (text) {
        json_put_z(p, "text", k->text);
        json_put_z(p, "unmodifiedText", k->text);
    }
    if (c) {
        struct json *list = json_array();
        json_push_str(list, str_of(c));
        json_put(p, "commands", list);
    }
    struct json *j = browser_ask(b, session, "Input.dispatchKeyEvent", p, e);
    int rc = j ? 0 : -1;
    json_free(j);
    return rc;
}

/* Is key one character, and not a control character? */
static bool is_character(struct str key)
{
    uint32_t c;
    return key.n > 0 && utf8_decode(key, &c) == (int)key.n && c >= ' ' && c != 0x7f;
}

static bool find_named(struct named_key *k, struct str name, int modifiers)
{
    char z[24];
    if (name.n == 0 || name.n >= sizeof(z))
        return false;
    snprintf(z, sizeof(z), "%.*s", STR_ARG(name));
    return find_key(k, z, modifiers);
}

void browser_tell_key(struct browser *b, struct str session, struct str key,
                      struct str code, int modifiers, bool down)
{
    struct json *p = json_object();
    struct named_key k = {.number = 0};
    bool character = is_character(key);
    if (!find_named(&k, code, modifiers))
        find_named(&k, key, modifiers);
    struct str text = modifiers & ~SHIFT ? STR("")
                      : character        ? key
                                         : str_of(k.text);
    const char *c = down ? command(&k, modifiers) : NULL;
    json_put_z(p, "type", !down ? "keyUp" : text.n ? "keyDown" : "rawKeyDown");
    json_put_int(p, "modifiers", modifiers);
    json_put_str(p, "key", key);
    json_put_str(p, "code", code);
    json_put_int(p, "windowsVirtualKeyCode", k.number);
    json_put_int(p, "location", k.location);
    if (down && text.n) {
        json_put_str(p, "text", text);
        json_put_str(p, "unmodifiedText", text);
    }
    if (c) {
        struct json *list = json_array();
        json_push_str(list, str_of(c));
        json_put(p, "commands", list);
    }
    cdp_tell(&b->cdp, session, "Input.dispatchKeyEvent", p);
}

static int unknown(struct str name, struct err *e)
{
    return err_set(e, ERR_INVALID, "Unknown key: \"%.*s\"",
                   (int)(name.n > 100 ? 100 : name.n), name.p);
}

int browser_keys(struct browser *b, struct str session, struct str combination, int steps,
                 struct err *e)
{
    struct named_key keys[TOKENS_MAX];
    char name[32];
    int n = 0, modifiers = b->modifiers;
    size_t at = 0;
    while (at < combination.n) {
        size_t from = at++; /* a plus at the beginning is the key */
        while (at < combination.n && combination.p[at] != '+')
            at++;
        struct str s = str_sub(combination, from, at - from);
        if (s.n >= sizeof(name) || n == TOKENS_MAX)
            return unknown(s, e);
        memcpy(name, s.p, s.n);
        name[s.n] = '\0';
        if (!find_key(&keys[n], name, modifiers))
            return unknown(s, e);
        modifiers |= keys[n++].modifier;
        at++;
    }
    if (n == 0)
        return unknown(combination, e);
    for (int i = 0; i < n && steps & 1; i++) {
        if (send_key(b, session, &keys[i], true, e) < 0)
            return -1;
    }
    for (int i = n - 1; i >= 0 && steps & 2; i--) {
        if (send_key(b, session, &keys[i], false, e) < 0)
            return -1;
    }
    return 0;
}

int browser_type(struct browser *b, struct str session, struct str text, struct err *e)
{
    int modifiers = b->modifiers, r = 0;
    b->modifiers = 0;
    while (text.n > 0 && r == 0) {
        struct named_key k;
        uint32_t c;
        int n = utf8_decode(text, &c);
        char name[2] = {text.p[0], 0};
        n = n > 0 ? n : 1;
        if (n == 1 && name[0] && find_key(&k, name, 0)) {
            r = send_key(b, session, &k, true, e) < 0 ||
                send_key(b, session, &k, false, e);
        } else {
            struct json *p = json_object();
            json_put_str(p, "text", str_sub(text, 0, (size_t)n));
            struct json *j = browser_ask(b, session, "Input.insertText", p, e);
            r = !j;
            json_free(j);
        }
        text = str_sub(text, (size_t)n, text.n);
    }
    b->modifiers = modifiers;
    return r ? -1 : 0;
}
