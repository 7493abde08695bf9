/* SPDX-License-Identifier: MIT */
/*
 * Files of rules. Every rule that is read has a path from the root with no part that is
 * empty, "." or "..", and it is read again as the same one.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "fence/rules.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_path(struct str path)
{
    BUG_ON(path.n == 0 || path.n > FENCE_PATH_MAX || path.p[0] != '/');
    BUG_ON(!utf8_valid(path));
    struct str rest = str_sub(path, 1, path.n);
    while (rest.n > 0) {
        struct str part = str_cut(&rest, '/');
        BUG_ON(part.n == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")));
    }
    BUG_ON(path.n > 1 && path.p[path.n - 1] == '/');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json *rules = json_array(), *again = json_array();
    struct err e = ERR_INIT;
    int rc = fence_parse(str_n(data, n), "f", "/home/u", rules, &e);
    BUG_ON(rc < 0 && (e.code == ERR_NONE || !e.text[0]));
    BUG_ON(json_count(rules) > FENCE_PATHS_MAX);
    for (struct json *r = json_first(rules); r; r = json_next(r)) {
        check_path(json_str(r, "path", ""));
        BUG_ON(fence_add(json_str(r, "path", ""), json_str(r, "do", "").p, "o", "", again,
                         &e) < 0);
    }
    BUG_ON(json_count(again) != json_count(rules));
    json_free(rules);
    json_free(again);
    return 0;
}
