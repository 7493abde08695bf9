/* SPDX-License-Identifier: MIT */
/*
 * Any bytes from a program: fed at once, byte by byte, and with the text asked
 * for on the way, they give the same text and the same account of what was
 * left out; the text is valid UTF-8, and the account adds up. The first two
 * bytes choose the terminal.
 */
#include "base/utf8.h"
#include "term/term.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    struct buf text;
    struct term_text info;
};

static void render(const struct term_opts *o, struct str s, size_t step,
                   bool ask, struct result *r)
{
    struct term *t = term_new(o);
    for (size_t i = 0; i < s.n; i += step) {
        term_feed(t, str_sub(s, i, step));
        if (ask && i % 61 == 0) {
            term_text(t, &r->text, &r->info, NULL, NULL);
            buf_reset(&r->text);
        }
    }
    if (term_text(t, &r->text, &r->info, NULL, NULL) < 0)
        abort();
    term_free(t);
}

static void same(const struct result *a, const struct result *b)
{
    if (!str_eq(buf_str(&a->text), buf_str(&b->text)) ||
        a->info.lines != b->info.lines ||
        a->info.cut_bytes != b->info.cut_bytes ||
        a->info.cut_lines != b->info.cut_lines ||
        a->info.cut_from != b->info.cut_from ||
        a->info.cut_to != b->info.cut_to ||
        a->info.alt_screen != b->info.alt_screen)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int rows[] = {0, 1, 3, 24}, cols[] = {0, 1, 20, 200};
    static const size_t kept[] = {0, 5, 64, 1u << 20};
    if (size < 2 || size > 4096)
        return 0;
    struct term_opts o = {
        .rows = rows[data[0] & 3],
        .cols = cols[data[0] >> 2 & 3],
        .head = kept[data[0] >> 4 & 3],
        .tail = kept[data[0] >> 6],
        .keep_lines = data[1] & 1 ? data[1] >> 4 : 0,
        .keep_tabs = data[1] & 2,
    };
    struct str s = str_n(data + 2, size - 2);
    struct result whole = {.text = BUF_INIT(SIZE_MAX)};
    struct result bytes = {.text = BUF_INIT(SIZE_MAX)};
    struct result asked = {.text = BUF_INIT(SIZE_MAX)};
    render(&o, s, s.n, false, &whole);
    render(&o, s, 1, false, &bytes);
    render(&o, s, 1, true, &asked);
    same(&whole, &bytes);
    same(&whole, &asked);
    const struct term_text *info = &whole.info;
    if (!utf8_valid(buf_str(&whole.text)) || info->cut_from > info->cut_to ||
        info->cut_to > s.n || info->cut_lines > info->lines ||
        (info->cut_bytes == 0) != (info->cut_lines == 0))
        abort();
    buf_release(&whole.text);
    buf_release(&bytes.text);
    buf_release(&asked.text);
    return 0;
}
