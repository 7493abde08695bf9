/* SPDX-License-Identifier: MIT */
/* Keys, as a terminal sends them. */
#include "base/buf.h"
#include "term/termkey.h"

#include "t.h"

/* The bytes as C spells them; "" if it is not a key. */
static const char *sent(const char *name, bool application)
{
    static struct buf text = BUF_INIT(100);
    char out[TERMKEY_MAX];
    size_t n = termkey(out, str_of(name), application);
    buf_reset(&text);
    for (size_t i = 0; i < n; i++) {
        if (out[i] > 0x20 && out[i] < 0x7f)
            buf_addc(&text, out[i]);
        else
            buf_addf(&text, "<%02x>", (unsigned char)out[i]);
    }
    return buf_z(&text);
}

static const struct {
    const char *name, *bytes;
} rows[] = {{"Enter", "<0d>"},
            {"enter", "<0d>"},
            {"C-m", "<0d>"},
            {"Tab", "<09>"},
            {"S-Tab", "<1b>[Z"},
            {"BTab", "<1b>[Z"},
            {"Space", "<20>"},
            {"C-Space", "<00>"},
            {"M-Space", "<1b><20>"},
            {"Escape", "<1b>"},
            {"BSpace", "<7f>"},
            {"M-BSpace", "<1b><7f>"},
            {"C-c", "<03>"},
            {"c-c", "<03>"},
            {"C-C", "<03>"},
            {"^c", "<03>"},
            {"C-?", "<7f>"},
            {"C-]", "<1d>"},
            {"C-\\", "<1c>"},
            {"C-@", "<00>"},
            {"M-x", "<1b>x"},
            {"M-C-x", "<1b><18>"},
            {"C-M-x", "<1b><18>"},
            {"M-\xc3\xa9", "<1b><c3><a9>"},
            {"M--", "<1b>-"},
            {"C-^", "<1e>"},
            {"Up", "<1b>[A"},
            {"C-Left", "<1b>[1;5D"},
            {"S-F1", "<1b>[1;2P"},
            {"M-PageUp", "<1b>[5;3~"},
            {"C-S-End", "<1b>[1;6F"},
            {"F1", "<1b>OP"},
            {"F12", "<1b>[24~"},
            {"NPage", "<1b>[6~"},
            {"IC", "<1b>[2~"},
            {"DC", "<1b>[3~"},
            /* Text, and not keys. */
            {"q", ""},
            {"y", ""},
            {"-", ""},
            {"^", ""},
            {"C-", ""},
            {"hello", ""},
            {"Frobnicate", ""},
            {"F13", ""},
            {"", ""},
            {"C-\xc3\xa9", ""},
            {"C-ab", ""},
            {"X-a", ""},
            {"S-a", ""},
            {"Enter ", ""}};

TEST(keys)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        CHECK_STR(sent(rows[i].name, false), rows[i].bytes);
}

TEST(application_mode_is_for_the_cursor)
{
    CHECK_STR(sent("Up", true), "<1b>OA");
    CHECK_STR(sent("C-Up", true), "<1b>[1;5A");
    CHECK_STR(sent("Delete", true), "<1b>[3~");
}

T_MAIN
