/* SPDX-License-Identifier: MIT */
/*
 * A file's text, what an agent believes is in it, and what shall come there, with a 0x01
 * between them: a place where it fits lies in the text, and what is shown of the nearest
 * lines are lines of it.
 */
#include "base/log.h"
#include "edit/match.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n((const char *)data, n), text = str_cut(&rest, 1),
               old = str_cut(&rest, 1);
    struct match_bent bent = {0};
    struct match_near near;
    if (match_bend(text, old, rest, 1 << 20, &bent)) {
        BUG_ON(bent.from > bent.to || bent.to > text.n || bent.how == MATCH_EXACT);
        BUG_ON(bent.text.n > 1 << 20);
        buf_release(&bent.text);
    }
    if (match_nearest(text, old, &near)) {
        struct buf shown = BUF_INIT(1 << 20);
        BUG_ON(near.line < 1 || near.at < near.line);
        BUG_ON(near.here_at > near.here.n || near.there_at > near.there.n);
        match_show(&shown, text, &near, "old");
        BUG_ON(shown.n == 0 || shown.p[shown.n - 1] != '\n');
        buf_release(&shown);
    }
    return 0;
}
