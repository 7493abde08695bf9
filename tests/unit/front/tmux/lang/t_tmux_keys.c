/* SPDX-License-Identifier: MIT */
/*
 * Keys: what list-keys of tmux 3.3a prints for a name, and what a pane reads after
 * send-keys, also with application cursor keys and keypad.
 */
#include "front/tmux/lang/keys.h"

#include "t.h"

struct row {
    const char *name;
    const char *print;     /* NULL: bind-key refuses the name */
    const char *bytes;     /* %XX: what is not printable */
    const char *app_bytes; /* in application modes */
};

static void show(struct buf *out, struct str bytes)
{
    for (size_t i = 0; i < bytes.n; i++) {
        unsigned char c = (unsigned char)bytes.p[i];
        buf_addf(out, c >= 32 && c < 127 && c != '%' ? "%c" : "%%%02X", c);
    }
}

static void check_word(const char *name, bool app, const char *want)
{
    struct buf raw = BUF_INIT(4096), out = BUF_INIT(4096);
    struct tmux_key_mode mode = {.cursor = app, .keypad = app};
    tmux_key_word(&raw, str_of(name), false, &mode);
    show(&out, buf_str(&raw));
    if (strcmp(buf_z(&out), want) != 0)
        T_FAIL("%s: %s, not %s", name, buf_z(&out), want);
    buf_release(&raw);
    buf_release(&out);
}

TEST(as_tmux)
{
    static const struct row rows[] = {
        {"Enter", "Enter", "%0D", "%0D"},
        {"Escape", "Escape", "%1B", "%1B"},
        {"Tab", "Tab", "%09", "%09"},
        {"BTab", "BTab", "%1B[Z", "%1B[Z"},
        {"Space", "Space", " ", " "},
        {"BSpace", "BSpace", "%7F", "%7F"},
        {"Up", "Up", "%1B[A", "%1BOA"},
        {"Down", "Down", "%1B[B", "%1BOB"},
        {"Left", "Left", "%1B[D", "%1BOD"},
        {"Right", "Right", "%1B[C", "%1BOC"},
        {"Home", "Home", "%1B[1~", "%1B[1~"},
        {"End", "End", "%1B[4~", "%1B[4~"},
        {"IC", "IC", "%1B[2~", "%1B[2~"},
        {"DC", "DC", "%1B[3~", "%1B[3~"},
        {"Insert", "IC", "%1B[2~", "%1B[2~"},
        {"Delete", "DC", "%1B[3~", "%1B[3~"},
        {"PPage", "PPage", "%1B[5~", "%1B[5~"},
        {"NPage", "NPage", "%1B[6~", "%1B[6~"},
        {"PageUp", "PPage", "%1B[5~", "%1B[5~"},
        {"PgDn", "NPage", "%1B[6~", "%1B[6~"},
        {"F1", "F1", "%1BOP", "%1BOP"},
        {"F4", "F4", "%1BOS", "%1BOS"},
        {"F5", "F5", "%1B[15~", "%1B[15~"},
        {"F12", "F12", "%1B[24~", "%1B[24~"},
        {"F13", NULL, "F13", "F13"},
        {"KP0", "KP0", "0", "%1BOp"},
        {"KP/", "KP/", "/", "%1BOo"},
        {"KPEnter", "KPEnter", "%0A", "%1BOM"},
        {"KP.", "KP.", ".", "%1BOn"},
        {"C-a", "C-a", "%01", "%01"},
        {"C-z", "C-z", "%1A", "%1A"},
        {"C-Space", "C-Space", "%00", "%00"},
        {"C-@", "C-Space", "%00", "%00"},
        {"C-[", "Escape", "%1B", "%1B"},
        {"C-\\", "C-\\", "%1C", "%1C"},
        {"C-]", "C-]", "%1D", "%1D"},
        {"C-^", "C-^", "%1E", "%1E"},
        {"C-_", "C-_", "%1F", "%1F"},
        {"C-?", "C-?", "%7F", "%7F"},
        {"C-1", "C-1", "", ""},
        {"C-2", "C-2", "%00", "%00"},
        {"C-8", "C-8", "", ""},
        {"C-\xc3\xa9", "C-\xc3\xa9", "%C3%A9", "%C3%A9"},
        {"^a", "C-a", "%01", "%01"},
        {"^?", "C-?", "%7F", "%7F"},
        {"M-a", "M-a", "%1Ba", "%1Ba"},
        {"M-A", "M-A", "%1BA", "%1BA"},
        {"M-\xc3\xa9", "M-\xc3\xa9", "%1B%C3%A9", "%1B%C3%A9"},
        {"M-Enter", "M-Enter", "%1B%0D", "%1B%0D"},
        {"M-Up", "M-Up", "%1B[1;3A", "%1B[1;3A"},
        {"S-Up", "S-Up", "%1B[1;2A", "%1B[1;2A"},
        {"C-Up", "C-Up", "%1B[1;5A", "%1B[1;5A"},
        {"C-M-Up", "C-M-Up", "%1B[1;7A", "%1B[1;7A"},
        {"C-M-S-Left", "C-M-S-Left", "%1B[1;8D", "%1B[1;8D"},
        {"S-F5", "S-F5", "%1B[15;2~", "%1B[15;2~"},
        {"M-F1", "M-F1", "%1B[1;3P", "%1B[1;3P"},
        {"C-S-DC", "C-S-DC", "%1B[3;6~", "%1B[3;6~"},
        {"M-C-a", "M-C-a", "%1B%01", "%1B%01"},
        {"C-M-a", "M-C-a", "%1B%01", "%1B%01"},
        {"S-a", "S-a", "S-a", "S-a"},
        {"S-Tab", "S-Tab", "S-Tab", "S-Tab"},
        {"M-BSpace", "M-BSpace", "%1B%7F", "%1B%7F"},
        {"C-BSpace", "C-BSpace", "", ""},
        {"C-Tab", "C-Tab", "", ""},
        {"C-Enter", "C-Enter", "", ""},
        {"\xc3\xa9", "\xc3\xa9", "%C3%A9", "%C3%A9"},
        {"\xe6\x97\xa5", "\xe6\x97\xa5", "%E6%97%A5", "%E6%97%A5"},
        {"a", "a", "a", "a"},
        {"A", "A", "A", "A"},
        {"~", "~", "~", "~"},
        {"ab", NULL, "ab", "ab"},
        {"Enterx", NULL, "Enterx", "Enterx"},
        {"enter", "Enter", "%0D", "%0D"},
        {"c-A", "C-a", "%01", "%01"},
        {"C-", NULL, "C-", "C-"},
        {"M-", NULL, "M-", "M-"},
        {"C", "C", "C", "C"},
        {"0x41", "A", "A", "A"},
        {"0x1b", "Escape", "%1B", "%1B"},
        {"0xe9", "\xc3\xa9", "%C3%A9", "%C3%A9"},
        {"0x110000", NULL, "0x110000", "0x110000"},
        {"0xzz", NULL, "0xzz", "0xzz"},
        {"Any", "Any", "Any", "Any"},
        {"None", NULL, "None", "None"},
        {"User0", "User0", "", ""},
        {"MouseDown1Pane", "MouseDown1Pane", "MouseDown1Pane", "MouseDown1Pane"},
        {"WheelUpStatus", "WheelUpStatus", "WheelUpStatus", "WheelUpStatus"},
        {"M-Space", "M-Space", "%1B ", "%1B "},
        {"S-Space", "S-Space", "S-Space", "S-Space"},
        {"C-/", "C-/", "%1F", "%1F"},
        {"M-C-Space", "M-C-@", "%1B%00", "%1B%00"},
        {"S-Home", "S-Home", "%1B[1;2H", "%1B[1;2H"},
        {"C-End", "C-End", "%1B[1;5F", "%1B[1;5F"},
        {"M-KP5", "M-KP5", "%1B5", "%1B%1BOu"},
        {"C-PPage", "C-PPage", "%1B[5;5~", "%1B[5;5~"},
        {"S-IC", "S-IC", "%1B[2;2~", "%1B[2;2~"},
        {"", NULL, "", ""},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct buf out = BUF_INIT(256);
        tmux_key key = tmux_key_parse(str_of(rows[i].name));
        if ((key == TMUX_KEY_NONE) != !rows[i].print)
            T_FAIL("%s: %s a key", rows[i].name, rows[i].print ? "not" : "is");
        if (rows[i].print) {
            tmux_key_print(&out, key);
            CHECK_STR(buf_z(&out), rows[i].print);
        }
        buf_release(&out);
        check_word(rows[i].name, false, rows[i].bytes);
        check_word(rows[i].name, true, rows[i].app_bytes);
    }
}

TEST(literal)
{
    struct buf out = BUF_INIT(256);
    tmux_key_word(&out, STR("Enter"), true, &(struct tmux_key_mode){0});
    CHECK_STR(buf_z(&out), "Enter");
    buf_release(&out);
}

TEST(hexadecimal)
{
    struct buf out = BUF_INIT(256);
    CHECK_INT(tmux_key_hex(&out, STR("41")), 0);
    CHECK_INT(tmux_key_hex(&out, STR("0x42")), 0);
    CHECK_INT(tmux_key_hex(&out, STR("ff")), 0);
    CHECK_STR(buf_z(&out), "AB\xff");
    CHECK_INT(tmux_key_hex(&out, STR("100")), -1);
    CHECK_INT(tmux_key_hex(&out, STR("x")), -1);
    CHECK_INT(tmux_key_hex(&out, STR("")), -1);
    CHECK_INT(out.n, 3);
    buf_release(&out);
}

T_MAIN
