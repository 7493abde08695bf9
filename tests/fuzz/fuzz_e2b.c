/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as the envelopes of a stream: the same messages at once and byte by byte, and
 * what was read reads the same when it is written again.
 */
#include "base/log.h"
#include "front/e2b/envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* The messages, as a writer would put them. Returns what envelope_cut said last. */
static int pass(struct str text, size_t step, struct buf *out)
{
    struct buf in = BUF_INIT(SIZE_MAX);
    int got = 0;
    while (text.n > 0 && got >= 0) {
        struct str some = str_sub(text, 0, step), rest, message;
        struct err e = ERR_INIT;
        text = str_sub(text, some.n, text.n);
        buf_adds(&in, some);
        rest = buf_str(&in);
        while ((got = envelope_cut(&rest, &message, &e)) > 0) {
            BUG_ON(message.n > ENVELOPE_MAX || message.n + ENVELOPE_HEAD > in.n);
            BUG_ON(envelope_put(out, 0, message) < 0);
        }
        BUG_ON((got < 0) != (e.code != ERR_NONE));
        BUG_ON(rest.n > in.n);
        buf_consume(&in, in.n - rest.n);
    }
    buf_release(&in);
    return got;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n);
    struct buf whole = BUF_INIT(SIZE_MAX), parts = BUF_INIT(SIZE_MAX),
               again = BUF_INIT(SIZE_MAX);
    int a = pass(text, n, &whole), b = pass(text, 1, &parts);
    BUG_ON(a != b || !str_eq(buf_str(&whole), buf_str(&parts)));
    BUG_ON(pass(buf_str(&whole), whole.n, &again) != 0);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&again)));
    buf_release(&whole);
    buf_release(&parts);
    buf_release(&again);
    return 0;
}
