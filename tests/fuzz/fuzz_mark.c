/* SPDX-License-Identifier: MIT */
/*
 * What comes from a shell: its stream holds the same marks whether it arrives
 * at once, cut in two at any place, or byte by byte; and a list of variables, be
 * it ever so broken, gives whole NAME=VALUE strings or is refused.
 */
#include "base/log.h"
#include "shell/shell.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const struct shell sh = {.kind = SHELL_BASH, .nonce = "0123abcd", .gen = 1};

/* The unread bytes, what was text in all, and a line for each mark. */
struct reader {
    struct buf held, text, marks;
};

static void feed(struct reader *r, struct str bytes)
{
    struct mark m;
    size_t keep = SIZE_MAX;
    BUG_ON(buf_adds(&r->held, bytes) < 0);
    while (shell_mark(&sh, buf_str(&r->held), &m, &keep)) {
        BUG_ON(m.len == 0 || m.at + m.len > r->held.n);
        BUG_ON(buf_add(&r->text, buf_z(&r->held), m.at) < 0);
        BUG_ON(buf_addf(&r->marks, "%zu %c %u %llu %d\n", r->text.n, m.kind, m.gen,
                        (unsigned long long)m.seq, m.status) < 0);
        buf_consume(&r->held, m.at + m.len);
    }
    BUG_ON(keep > r->held.n);
    /* What is held back is never more than a mark is long. */
    BUG_ON(r->held.n - keep > 128);
    BUG_ON(buf_add(&r->text, buf_z(&r->held), keep) < 0);
    buf_consume(&r->held, keep);
}

static void finish(struct reader *r)
{
    BUG_ON(buf_adds(&r->text, buf_str(&r->held)) < 0);
    buf_reset(&r->held);
}

static void forget(struct reader *r)
{
    buf_reset(&r->held);
    buf_reset(&r->text);
    buf_reset(&r->marks);
}

static void check_same(const struct reader *a, const struct reader *b)
{
    BUG_ON(!str_eq(buf_str(&a->text), buf_str(&b->text)));
    BUG_ON(!str_eq(buf_str(&a->marks), buf_str(&b->marks)));
}

static void check_marks(struct str s)
{
    struct reader whole = {BUF_INIT(SIZE_MAX), BUF_INIT(SIZE_MAX), BUF_INIT(SIZE_MAX)};
    struct reader parts = whole;
    feed(&whole, s);
    finish(&whole);
    for (size_t i = 0; i < s.n; i++)
        feed(&parts, str_sub(s, i, 1));
    finish(&parts);
    check_same(&whole, &parts);
    /* Each place costs a pass over all: of long inputs, some places only. */
    size_t step = s.n / 256 + 1;
    for (size_t cut = 0; cut <= s.n; cut += step) {
        forget(&parts);
        feed(&parts, str_sub(s, 0, cut));
        feed(&parts, str_sub(s, cut, s.n));
        finish(&parts);
        check_same(&whole, &parts);
    }
    buf_release(&whole.held);
    buf_release(&whole.text);
    buf_release(&whole.marks);
    buf_release(&parts.held);
    buf_release(&parts.text);
    buf_release(&parts.marks);
}

static void check_env(struct str s)
{
    struct buf out = BUF_INIT(SIZE_MAX), small = BUF_INIT(s.n / 2);
    int r = shell_parse_env(&out, s);
    BUG_ON(r != 0 && r != -1);
    for (size_t i = 0; r == 0 && i < out.n;) {
        const char *entry = out.p + i;
        size_t n = strlen(entry); /* the buffer has a terminator of its own */
        BUG_ON(i + n >= out.n || !memchr(entry, '=', n) || *entry == '=');
        i += n + 1;
    }
    /* No room is a refusal, never half an entry that counts. */
    BUG_ON(shell_parse_env(&small, s) == 0 && (r != 0 || small.n != out.n));
    buf_release(&out);
    buf_release(&small);
}

static void check_rest(struct str s)
{
    size_t at = 0, len = 0;
    BUG_ON(shell_trace(&sh, s) > s.n);
    BUG_ON(shell_echo(&sh, s, &at, &len) && (at >= s.n || len > s.n - at));
    shell_text_reads(s);
    shell_text_traces(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str s = str_n(data, n);
    check_marks(s);
    check_env(s);
    check_rest(s);
    return 0;
}
