/* SPDX-License-Identifier: MIT */
#include "browser/driver/page.h"

#include "base/utf8.h"

enum { MARKER_MAX = 200 };

/* Returns the end of the page that begins at `from`, after its last newline. */
static size_t page_end(struct str text, size_t from, size_t size)
{
    if (text.n - from <= size)
        return text.n;
    for (size_t i = from + size; i > from + size / 2; i--) {
        if (text.p[i - 1] == '\n')
            return i;
    }
    size_t end = from + utf8_cut(str_sub(text, from, text.n), size);
    return end > from ? end : from + size;
}

int browser_page_of(struct str text, size_t size, int page, struct str *out)
{
    int pages = 0;
    *out = str_sub(text, text.n, 0);
    if (size == 0 || text.n <= size)
        size = text.n + 1;
    if (page < 1)
        page = 1;
    for (size_t at = 0; at < text.n || pages == 0; pages++) {
        size_t end = page_end(text, at, size);
        if (pages + 1 == page)
            *out = str_sub(text, at, end - at);
        at = end;
    }
    return pages;
}

int browser_page_at(struct str text, size_t size, size_t at)
{
    int page = 1;
    if (size == 0 || text.n <= size)
        return 1;
    for (size_t end = page_end(text, 0, size); end <= at && end < text.n; page++)
        end = page_end(text, end, size);
    return page;
}

int browser_page_cut(struct buf *text, size_t size, int page)
{
    struct str all = buf_str(text), one;
    int pages = browser_page_of(all, size, page, &one);
    page = page < 1 ? 1 : page;
    if (pages == 1 && page == 1)
        return 1;
    size_t bytes = all.n, from = one.p ? (size_t)(one.p - all.p) : all.n;
    buf_truncate(text, from + one.n);
    buf_consume(text, from);
    if (text->n && text->p[text->n - 1] == '\n')
        buf_truncate(text, text->n - 1);
    if (buf_room(text) < MARKER_MAX)
        text->max += MARKER_MAX;
    if (page > pages)
        buf_addf(text, "[there is no page %d, the last one is page %d]", page, pages);
    else if (page == pages)
        buf_addf(text, "\n[page %d, the last one; %zu bytes in all]", page, bytes);
    else
        buf_addf(text, "\n[page %d of %d, %zu bytes in all; it goes on with page %d]",
                 page, pages, bytes, page + 1);
    return pages;
}
