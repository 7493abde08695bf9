/* SPDX-License-Identifier: MIT */
/*
 * A text for bash, whatever it is: there is at least one piece, one behind the
 * other they are the text, each alone is one command, and the count does not
 * depend on how many there is room for. Behind a text that is several commands
 * nothing is missing, unless a backslash says so; nor behind each of them.
 */
#include "base/log.h"
#include "shell/grammar/grammar.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { ROOM = 512 };

static void check_pieces(struct str text, const struct v0_piece *piece, size_t count)
{
    size_t at = 0, have = count < ROOM ? count : ROOM;
    BUG_ON(count == 0);
    for (size_t i = 0; i < have; i++) {
        BUG_ON(piece[i].text.n > 0 && piece[i].text.p != text.p + at);
        BUG_ON(count > 1 && piece[i].text.n == 0);
        at += piece[i].text.n;
    }
    BUG_ON(at > text.n || (count <= ROOM) != (at == text.n));
}

/* For more than what a backslash continues. */
static bool wants_more(struct str text)
{
    size_t n = text.n - (text.n > 0 && text.p[text.n - 1] == '\n');
    return v0_scan_open(text) && (n == 0 || text.p[n - 1] != '\\');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct v0_piece piece[ROOM], one[2];
    struct str text = str_n(data, n);
    size_t count = v0_scan(text, piece, ROOM);
    check_pieces(text, piece, count);
    BUG_ON(v0_scan(text, one, 2) != count || v0_scan(text, NULL, 0) != count);
    for (size_t i = 0; i < count && i < ROOM; i++) {
        BUG_ON(v0_scan(piece[i].text, one, 2) != 1);
        BUG_ON(one[0].text.n != piece[i].text.n);
        BUG_ON(count > 1 && wants_more(piece[i].text));
    }
    BUG_ON(count > 1 && wants_more(text));
    const char *beyond = v0_scan_beyond(text);
    BUG_ON(v0_scan_beyond(text) != beyond);
    BUG_ON(v0_scan_lacks_document(text) && !v0_scan_open(text));
    return 0;
}
