/* SPDX-License-Identifier: MIT */
/*
 * Files of rules. Every rule for files has a path from the root with no part that is
 * empty, "." or "..". Every rule is printed as a word that is read as the same rule. The
 * judge allows what a rule for a name or an address names, and what it prints is short.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "fence/rules.h"
#include "reach/rules.h"
#include "reach/words.h"

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

static void check_network(const struct json *rule, const struct reach *r)
{
    struct reach_host h;
    struct reach_wrong wrong;
    unsigned from = (unsigned)json_int(rule, "from", 0),
             to = (unsigned)json_int(rule, "to", 0);
    if (json_bool(rule, "nothing", false))
        return;
    BUG_ON(from < 1 || from > to || to > 65535);
    if (str_eq(json_str(rule, "do", ""), STR("listen"))) {
        BUG_ON(!reach_listen(r, from) || !reach_listen(r, to));
        return;
    }
    BUG_ON(reach_host_read(json_str(rule, "host", ""), &h, &wrong) < 0);
    if (h.kind == REACH_NAME || h.kind == REACH_BELOW) {
        struct buf name = BUF_INIT(600);
        buf_addf(&name, "%s%s", h.kind == REACH_BELOW ? "x." : "", h.name);
        /* One label more may make it longer than names can be. */
        BUG_ON(name.n <= REACH_NAME_MAX && (!reach_name(r, buf_str(&name), from) ||
                                            !reach_name(r, buf_str(&name), to)));
        buf_addz(&name, ".y");
        BUG_ON(name.n <= REACH_NAME_MAX && !reach_is_searched(r, buf_str(&name)));
        buf_release(&name);
    } else if (h.kind == REACH_NET) {
        BUG_ON(!reach_address(r, h.bytes, from) || !reach_address(r, h.bytes, to));
        reach_is_private(h.bytes);
    }
}

/* Reads the rule again as it is printed. */
static void check_word(const struct json *rule)
{
    struct json *again = json_array();
    struct buf word = BUF_INIT(FENCE_PATH_MAX + 1), was = BUF_INIT(1 << 14),
               is = BUF_INIT(1 << 14);
    struct err e = ERR_INIT;
    fence_print_word(rule, &word);
    BUG_ON(fence_add(buf_str(&word), json_str(rule, "do", "").p, "o", "", again, &e) < 0);
    struct json *copy = json_copy(rule), *first = json_first(again);
    json_free(json_take(copy, "line"));
    json_free(json_take(first, "option"));
    json_print(&was, copy);
    json_print(&is, first);
    BUG_ON(json_count(again) != 1 || !str_eq(buf_str(&was), buf_str(&is)));
    buf_release(&word);
    buf_release(&was);
    buf_release(&is);
    json_free(copy);
    json_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct json *rules = json_array();
    struct err e = ERR_INIT;
    int rc = fence_parse(str_n(data, n), "f", "/home/u", rules, &e);
    BUG_ON(rc < 0 && (e.code == ERR_NONE || !e.text[0]));
    BUG_ON(json_count(rules) > FENCE_PATHS_MAX);
    struct reach *r = reach_load(rules);
    for (struct json *x = json_first(rules); x; x = json_next(x)) {
        if (fence_is_network(x))
            check_network(x, r);
        else
            check_path(json_str(x, "path", ""));
        check_word(x);
    }
    struct buf text = BUF_INIT(100);
    reach_text(r, &text, 40);
    BUG_ON(text.n == 0 || text.n > 40 || !utf8_valid(buf_str(&text)));
    buf_release(&text);
    reach_free(r);
    json_free(rules);
    return 0;
}
