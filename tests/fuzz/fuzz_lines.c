/* SPDX-License-Identifier: MIT */
/*
 * Lines of a companion, short and long: the same calls come whether they come at
 * once or in pieces, of a long one what was asked for, and nothing after an end. A byte
 * of 0xf0 and more stands for many, so that lines are long.
 */
#include "base/log.h"
#include "companion/lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static struct op op; /* is not asked for anything */
static struct line_reader reader;
static struct buf *told;
static bool parts;

static void may_end(struct str text)
{
    if (text.n > 1 && text.p[1] == '!')
        reader.op = NULL;
}

static void on_line(void *arg, struct str line, uint64_t end)
{
    (void)arg;
    BUG_ON(!reader.op || parts);
    buf_addf(told, "line %llu ", (unsigned long long)end);
    buf_adds(told, line);
    may_end(line);
}

static enum line_fate on_head(void *arg, struct str head)
{
    static const enum line_fate fates[] = {LINE_WHOLE, LINE_PARTS, LINE_PASSED_OVER};
    (void)arg;
    BUG_ON(!reader.op || parts || head.n != LINE_HEAD);
    buf_addf(told, "head %llu ", (unsigned long long)reader.begin);
    buf_adds(told, head);
    may_end(head);
    enum line_fate fate = fates[(unsigned char)head.p[0] % 3];
    parts = fate == LINE_PARTS && reader.op;
    return fate;
}

static void on_part(void *arg, struct str bytes, bool ends)
{
    (void)arg;
    BUG_ON(!reader.op || !parts);
    parts = !ends;
    buf_adds(told, bytes);
    buf_addz(told, ends ? "end\n" : "");
}

static const struct line_calls calls = {
    .line = on_line, .head = on_head, .part = on_part};

static void pass(struct str bytes, size_t step)
{
    reader = (struct line_reader){.calls = &calls, .op = &op, .line = BUF_INIT(1 << 20)};
    parts = false;
    for (; bytes.n && reader.op;
         bytes = str_sub(bytes, step, bytes.n), step = step * 7 % 9001)
        line_reader_feed(&reader, str_sub(bytes, 0, step));
    if (reader.op)
        line_reader_skip(&reader, reader.at + 1);
    BUG_ON(parts && reader.op);
    buf_release(&reader.line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static char many[15 << 9];
    struct buf text = BUF_INIT(1 << 20), once = BUF_INIT(4 << 20),
               pieces = BUF_INIT(4 << 20);
    memset(many, 'x', sizeof(many));
    if (n == 0 || n > 120)
        return 0;
    for (size_t i = 0; i < n; i++)
        buf_add(&text, data[i] < 0xf0 ? (const char *)data + i : many,
                data[i] < 0xf0 ? 1 : (size_t)(data[i] & 15) << 9);
    told = &once;
    pass(buf_str(&text), text.n);
    told = &pieces;
    pass(buf_str(&text), 1 + data[0] % 100);
    BUG_ON(!str_eq(buf_str(&once), buf_str(&pieces)));
    buf_release(&text);
    buf_release(&once);
    buf_release(&pieces);
    return 0;
}
