/* SPDX-License-Identifier: MIT */
/*
 * JSON read where it lies, against the tree made of it: what is JSON has the same
 * values either way, and in invalid text each slice lies within the one it is from.
 */
#include "base/json.h"
#include "base/jsontext.h"
#include "base/log.h"
#include "base/utf8.h"

#include <math.h>

enum { NUMBER_MAX = 63 }; /* of jsontext: a longer number is none */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void within(struct str part, struct str whole)
{
    BUG_ON(part.n > 0 && (part.p < whole.p || part.p + part.n > whole.p + whole.n));
}

/* A string with its quotes is the text s. */
static void same_string(struct str value, struct str s)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    BUG_ON(jsontext_string(&b, value) < 0 || !str_eq(buf_str(&b), s));
    struct str plain = jsontext_plain(value);
    bool escaped = str_chr(value, '\\') >= 0;
    BUG_ON(escaped ? plain.n > 0 : !str_eq(plain, s));
    buf_release(&b);
}

static void same_number(struct str value, const struct json *j)
{
    double want = value.n > NUMBER_MAX ? -1 : json_num_value(j, 0);
    double got = jsontext_num(value, -1);
    BUG_ON(memcmp(&want, &got, sizeof(want)) != 0);
    if (want > -9007199254740992.0 && want < 9007199254740992.0 && value.n <= NUMBER_MAX)
        BUG_ON(jsontext_int(value, -1) != (int64_t)want);
}

/* true, false or null. */
static void same_word(struct str value, const struct json *j)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    BUG_ON(json_print(&b, j) < 0 || !str_eq(buf_str(&b), value));
    buf_release(&b);
}

static void same(struct str value, const struct json *j);

/* The children of an object or an array, in their order. */
static void same_children(struct str value, const struct json *j)
{
    struct str inside = jsontext_inside(value), name = STR(""), child;
    within(inside, value);
    for (const struct json *c = json_first(j); c; c = json_next(c)) {
        bool object = json_name(c) != NULL;
        BUG_ON(object ? !jsontext_member(&inside, &name, &child)
                      : !jsontext_item(&inside, &child));
        same(child, c);
        if (!object)
            continue;
        same_string((struct str){name.p - 1, name.n + 2}, str_of(json_name(c)));
        struct str first = jsontext_get(value, name);
        BUG_ON(first.p == NULL || first.p > child.p);
        BUG_ON(json_get(j, json_name(c)) == c && first.p != child.p);
    }
    BUG_ON(jsontext_item(&inside, &child));
}

static void same(struct str value, const struct json *j)
{
    if (json_is_string(j))
        same_string(value, json_str_value(j, NULL));
    else if (json_is_number(j))
        same_number(value, j);
    else if (json_is_object(j) || json_is_array(j))
        same_children(value, j);
    else
        same_word(value, j);
}

/* By every call, as whatever it may be. */
static void walk(struct str value, int depth)
{
    struct str inside = jsontext_inside(value), name, child;
    struct buf b = BUF_INIT(SIZE_MAX);
    within(inside, value);
    within(jsontext_plain(value), value);
    within(jsontext_get(value, STR("a")), value);
    if (jsontext_string(&b, value) == 0)
        BUG_ON(!utf8_valid(buf_str(&b)) || str_chr(buf_str(&b), '\0') >= 0);
    buf_release(&b);
    BUG_ON(!isfinite(jsontext_num(value, 0)));
    int64_t i = jsontext_int(value, 0);
    BUG_ON(i >= INT64_C(1) << 53 || i <= -(INT64_C(1) << 53));
    if (depth == 0)
        return;
    for (struct str rest = inside; jsontext_item(&rest, &child);) {
        within(child, inside);
        walk(child, depth - 1);
    }
    for (struct str rest = inside; jsontext_member(&rest, &name, &child);) {
        within(name, inside);
        within(child, inside);
        walk(child, depth - 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_trim(str_n(data, n));
    struct json *j = json_parse(text, NULL);
    if (j)
        same(text, j);
    json_free(j);
    walk(text, 3);
    return 0;
}
