/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as an event stream: the same events at once and byte by byte, and
 * what was read reads the same when it is written again.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "http/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { EVENT_MAX = 200 };

/* The events, as a writer would put them. -1: too long. */
static int pass(struct str text, size_t step, struct buf *out)
{
    struct sse s;
    int got = 0;
    sse_init(&s, EVENT_MAX);
    while (text.n > 0 && got >= 0) {
        struct str some = str_sub(text, 0, step);
        struct sse_event e;
        text = str_sub(text, some.n, text.n);
        while ((got = sse_read(&s, &some, &e)) > 0) {
            BUG_ON(e.data.n > EVENT_MAX || !utf8_valid(e.data) || !utf8_valid(e.type));
            BUG_ON(memchr(e.data.p, '\r', e.data.n) || memchr(e.type.p, '\n', e.type.n));
            if (e.id.n == 0)
                e.id = STR(""); /* none and an empty one are the same to a reader */
            BUG_ON(sse_add_event(out, &e) < 0);
        }
        BUG_ON(got == 0 && some.n > 0);
    }
    sse_release(&s);
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n);
    struct buf whole = BUF_INIT(SIZE_MAX), parts = BUF_INIT(SIZE_MAX),
               again = BUF_INIT(SIZE_MAX);
    int a = pass(text, n, &whole), b = pass(text, 1, &parts);
    BUG_ON(a != b || !str_eq(buf_str(&whole), buf_str(&parts)));
    if (pass(buf_str(&whole), whole.n, &again) == 0)
        BUG_ON(!str_eq(buf_str(&whole), buf_str(&again)));
    buf_release(&whole);
    buf_release(&parts);
    buf_release(&again);
    return 0;
}
