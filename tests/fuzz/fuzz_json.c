/* SPDX-License-Identifier: MIT */
/*
 * JSON from a peer: whatever is accepted prints to a text that is accepted
 * again and prints the same, and whatever is quoted parses to its repair.
 */
#include "base/json.h"
#include "base/log.h"
#include "base/utf8.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Touches every value by every getter; the number of values below j. */
static size_t walk(const struct json *j)
{
    size_t count = 0;
    int64_t i = 0;
    for (const struct json *v = json_first(j); v; v = json_next(v)) {
        struct str s = json_str_value(v, "");
        BUG_ON(!utf8_valid(s) || memchr(s.p, 0, s.n));
        BUG_ON(json_is_object(j) != (json_name(v) != NULL));
        if (json_name(v)) {
            int rc = json_want_int(j, json_name(v), &i, NULL);
            BUG_ON(rc == 0 && (i >= INT64_C(1) << 53 || i <= -(INT64_C(1) << 53)));
            BUG_ON(!json_has(j, json_name(v)));
        }
        count += 1 + walk(v);
    }
    return count;
}

static void parse_print_parse(struct str text)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(text, &e);
    if (!j) {
        BUG_ON(e.code != ERR_INVALID || !e.text[0]);
        return;
    }
    struct buf one = BUF_INIT(SIZE_MAX), two = BUF_INIT(SIZE_MAX);
    BUG_ON(json_print(&one, j) < 0);
    struct json *again = json_parse(buf_str(&one), &e);
    BUG_ON(!again || walk(again) != walk(j));
    BUG_ON(json_print(&two, again) < 0 || !str_eq(buf_str(&one), buf_str(&two)));
    json_free(j);
    json_free(again);
    buf_release(&one);
    buf_release(&two);
}

static void quote_parse(struct str bytes)
{
    struct buf quoted = BUF_INIT(SIZE_MAX), repaired = BUF_INIT(SIZE_MAX);
    BUG_ON(json_quote(&quoted, bytes) < 0 || utf8_repair(&repaired, bytes, true) < 0);
    struct json *j = json_parse(buf_str(&quoted), NULL);
    BUG_ON(!j || !str_eq(json_str_value(j, NULL), buf_str(&repaired)));
    json_free(j);
    buf_release(&quoted);
    buf_release(&repaired);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    parse_print_parse(str_n(data, n));
    quote_parse(str_n(data, n));
    return 0;
}
