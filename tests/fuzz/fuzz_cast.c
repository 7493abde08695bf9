/* SPDX-License-Identifier: MIT */
/*
 * Recordings: the same events come in whole and in pieces; what is written of them is
 * read again as the same events; and they become text.
 */
#include "base/log.h"
#include "cast/cast.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Appends the events to out, as text or by a writer. Returns how it ended. */
static int read_all(struct str text, size_t piece, enum cast_format format,
                    struct buf *out)
{
    struct cast_reader r;
    struct cast_writer w = {.format = CAST_NONE};
    struct cast_event ev;
    struct err e = ERR_INIT;
    int n;
    bool begun = false;
    cast_reader_init(&r);
    while ((n = cast_next(&r, &ev, &e)) > 0 || (n == 0 && !r.over)) {
        if (r.format && !begun && format) {
            cast_begin(&w, format, r.header.cols, r.header.rows);
            cast_put_header(out, format, &r.header);
        }
        begun = begun || r.format;
        if (n == 0) {
            struct str part = str_sub(text, 0, piece);
            text = str_sub(text, part.n, text.n);
            r.over = part.n == 0;
            cast_feed(&r, part);
        } else if (format) {
            cast_put(&w, out, ev.us, ev.code, ev.text);
        } else {
            buf_addf(out, "%lld %c ", (long long)ev.us, ev.code);
            if (ev.text.n > 0 || (ev.code != 'o' && ev.code != 'i'))
                buf_adds(out, ev.text);
            buf_addc(out, '\n');
        }
    }
    BUG_ON(n < 0 && !*e.text);
    if (n == 0 && !begun && format) { /* a header without events */
        begun = true;
        cast_begin(&w, format, r.header.cols, r.header.rows);
        cast_put_header(out, format, &r.header);
    }
    if (format && begun)
        cast_end(&w, out, r.us);
    if (format)
        cast_release(&w);
    cast_reader_release(&r);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n);
    struct buf whole = BUF_INIT(64 << 20), parts = BUF_INIT(64 << 20);
    struct buf other = BUF_INIT(64 << 20);
    int end = read_all(text, CAST_FEED_MAX, CAST_NONE, &whole);
    BUG_ON(read_all(text, 1, CAST_NONE, &parts) != end);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&parts)));
    if (end == 0) {
        read_all(text, CAST_FEED_MAX, CAST_V3, &other);
        buf_reset(&parts);
        BUG_ON(read_all(buf_str(&other), CAST_FEED_MAX, CAST_NONE, &parts) != 0);
        buf_reset(&other);
        read_all(text, CAST_FEED_MAX, CAST_V2, &other);
        buf_reset(&whole);
        BUG_ON(read_all(buf_str(&other), CAST_FEED_MAX, CAST_NONE, &whole) != 0);
        BUG_ON(!str_eq(buf_str(&whole), buf_str(&parts)));
    }
    buf_reset(&other);
    read_all(text, CAST_FEED_MAX, CAST_TXT, &other);
    buf_release(&whole);
    buf_release(&parts);
    buf_release(&other);
    return 0;
}
