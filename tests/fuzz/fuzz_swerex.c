/* SPDX-License-Identifier: MIT */
/* Any output as SWE-ReX's client gets it, at once and byte by byte: the same text. And a
 * pattern that is looked for in it is found where that byte is. */
#include "base/log.h"
#include "base/utf8.h"
#include "front/swerex/own.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void clean(struct str bytes, size_t step, struct buf *out)
{
    struct buf hold = {.max = 0};
    for (size_t at = 0; at < bytes.n; at += step)
        swerex_clean(&hold, str_sub(bytes, at, step), false, out);
    swerex_clean(&hold, STR(""), true, out);
    buf_release(&hold);
}

static void expect(struct str bytes)
{
    struct err e = ERR_INIT;
    struct spool_range range;
    struct json *list = json_array();
    json_push_str(list, STR("needle"));
    struct swerex_expect *x = swerex_expect_new(list, &e);
    if (swerex_expect_feed(x, 0, bytes, &range, &e) >= 0)
        BUG_ON(!str_eq(str_sub(bytes, range.from, range.to - range.from), STR("needle")));
    swerex_expect_free(x);
    json_free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str bytes = str_n(data, n);
    struct buf whole = BUF_INIT(8 << 20), parts = BUF_INIT(8 << 20);
    clean(bytes, n ? n : 1, &whole);
    clean(bytes, 1, &parts);
    BUG_ON(!str_eq(buf_str(&whole), buf_str(&parts)) || !utf8_valid(buf_str(&whole)));
    expect(bytes);
    buf_release(&whole);
    buf_release(&parts);
    return 0;
}
