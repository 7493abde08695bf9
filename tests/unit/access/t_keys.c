/* SPDX-License-Identifier: MIT */
/* Keys of listeners: where one counts, what it may do, and how the set changes. */
#include "base/json.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "access/keys.h"

#include "t.h"

static struct keys keys;
static struct err e;

static enum right keys_right(const struct keys *k, const char *at, struct str given)
{
    const struct key *found = keys_find(k, at, given);
    return found ? found->right : RIGHT_NONE;
}

static void begin(const char *options)
{
    struct json *o = json_parse(str_of(options), &e);
    keys_init(&keys, o);
    json_free(o);
}

static const char *list(void)
{
    static char out[4000];
    struct buf b = BUF_INIT(sizeof(out) - 1);
    struct json *j = keys_list(&keys);
    CHECK_INT(json_print(&b, j), 0);
    snprintf(out, sizeof(out), "%s", buf_z(&b));
    buf_release(&b);
    json_free(j);
    return out;
}

TEST(none_is_wanted_without_one)
{
    begin("{}");
    CHECK(!keys_wanted(&keys, "127.0.0.1:3000"));
    CHECK_INT(keys_right(&keys, "", STR("")), RIGHT_NONE);
    begin("{\"api_key\":\"\"}");
    CHECK(!keys_wanted(&keys, ""));
    CHECK_STR(list(), "[]");
}

TEST(the_one_of_the_start_may_do_everything_everywhere)
{
    begin("{\"api_key\":\"abc\"}");
    CHECK(keys_wanted(&keys, "") && keys_wanted(&keys, "v0@unix:/a"));
    CHECK_INT(keys_right(&keys, "1", STR("abc")), RIGHT_USE);
    CHECK_INT(keys_right(&keys, "1", STR("ab")), RIGHT_NONE);
    CHECK_INT(keys_right(&keys, "1", STR("abcd")), RIGHT_NONE);
    CHECK_INT(keys_right(&keys, "1", STR("abC")), RIGHT_NONE);
    CHECK_STR(list(), "[{\"name\":\"start\",\"right\":\"use\",\"listener\":\"\"}]");
    CHECK_INT(keys.n, 1);
    CHECK_STR(keys.v[0], "abc");
}

TEST(a_key_counts_at_its_place_only)
{
    char one[KEY_SIZE], front[KEY_SIZE], all[KEY_SIZE];
    begin("{}");
    CHECK(keys_add(&keys, STR("one"), "v0@1:2", RIGHT_USE, one, &e) != NULL);
    CHECK(keys_wanted(&keys, "v0@1:2"));
    CHECK(!keys_wanted(&keys, "v0@1:22") && !keys_wanted(&keys, "1:2"));
    CHECK(keys_add(&keys, STR("front"), "v0@", RIGHT_VIEW, front, &e) != NULL);
    CHECK(keys_wanted(&keys, "v0@1:22") && !keys_wanted(&keys, "v01@1:2"));
    CHECK(keys_add(&keys, STR("all"), "", RIGHT_VIEW, all, &e) != NULL);
    CHECK_INT(keys_right(&keys, "v0@1:2", str_of(one)), RIGHT_USE);
    CHECK_INT(keys_right(&keys, "v0@1:22", str_of(one)), RIGHT_NONE);
    CHECK_INT(keys_right(&keys, "v0@1:22", str_of(front)), RIGHT_VIEW);
    CHECK_INT(keys_right(&keys, "1:2", str_of(front)), RIGHT_NONE);
    CHECK_INT(keys_right(&keys, "1:2", str_of(all)), RIGHT_VIEW);
    CHECK(strcmp(one, front) != 0 && strlen(one) == KEY_SIZE - 1);
}

TEST(names_are_checked_and_made_up)
{
    static const char *const bad[] = {
        "-a", ".a", "a b", "a/b", "ä", "a\nb", "123456789012345678901234567890123"};
    char key[KEY_SIZE];
    begin("{\"api_key\":\"abc\"}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK(keys_add(&keys, str_of(bad[i]), "", RIGHT_USE, key, &e) == NULL);
        CHECK_INT(e.code, ERR_INVALID);
    }
    CHECK_STR(keys_add(&keys, STR(""), "", RIGHT_USE, key, &e)->name, "key-1");
    CHECK_STR(keys_add(&keys, STR("key-2"), "", RIGHT_USE, key, &e)->name, "key-2");
    CHECK_STR(keys_add(&keys, STR(""), "", RIGHT_USE, key, &e)->name, "key-3");
    CHECK(keys_add(&keys, STR("key-2"), "", RIGHT_USE, key, &e) == NULL);
    CHECK_INT(e.code, ERR_EXISTS);
    while (keys.nset < LIMIT_KEYS)
        CHECK(keys_add(&keys, STR(""), "", RIGHT_USE, key, &e) != NULL);
    CHECK(keys_add(&keys, STR(""), "", RIGHT_USE, key, &e) == NULL);
    CHECK_INT(e.code, ERR_LIMIT);
}

TEST(the_last_one_of_a_listener_stays)
{
    char key[KEY_SIZE];
    begin("{\"api_key\":\"abc\"}");
    CHECK_INT(keys_remove(&keys, STR("start"), &e), -1);
    CHECK_INT(e.code, ERR_BUSY);
    CHECK(keys_add(&keys, STR("v0"), "v0@", RIGHT_USE, key, &e) != NULL);
    CHECK_INT(keys_remove(&keys, STR("start"), &e), -1); /* others would be open */
    CHECK_INT(keys_remove(&keys, STR("v0"), &e), 0);
    CHECK_INT(keys_right(&keys, "v0@1", str_of(key)), RIGHT_NONE);
    CHECK(keys_add(&keys, STR("all"), "", RIGHT_USE, key, &e) != NULL);
    CHECK_INT(keys_remove(&keys, STR("start"), &e), 0);
    CHECK_INT(keys_right(&keys, "", STR("abc")), RIGHT_NONE);
    CHECK_INT(keys_right(&keys, "", str_of(key)), RIGHT_USE);
    CHECK_INT(keys_remove(&keys, STR("start"), &e), -1);
    CHECK_INT(e.code, ERR_NOTFOUND);
}

/* 32 zero bytes */
#define HASH "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

TEST(what_was_kept_replaces_those_of_the_start)
{
    begin("{\"api_key\":\"abc\"}");
    CHECK_INT(keys_load(&keys,
                        STR("[{\"name\":\"a\",\"right\":\"view\",\"listener\":\"v0@\","
                            "\"sha256\":\"" HASH "\"}]"),
                        &e),
              0);
    CHECK_STR(list(), "[{\"name\":\"a\",\"right\":\"view\",\"listener\":\"v0@\"}]");
    CHECK_INT(keys_right(&keys, "", STR("abc")), RIGHT_NONE);
    CHECK_INT(keys.n, 1); /* no event may have it all the same */
}

TEST(with_damaged_state_those_of_the_start_count)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "[{}]",
                                      "[{\"name\":\"a\",\"sha256\":\"AAAA\"}]",
                                      "[{\"name\":\"\",\"sha256\":\"" HASH "\"}]",
                                      "[{\"name\":\"a\",\"sha256\":\"" HASH
                                      "\"},{\"name\":\"b\"}]"};
    begin("{\"api_key\":\"abc\"}");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        CHECK_INT(keys_load(&keys, str_of(bad[i]), &e), -1);
        CHECK_INT(keys_right(&keys, "", STR("abc")), RIGHT_USE);
        CHECK_INT(keys.nset, 1);
    }
}

TEST(damaged_state_opens_no_listener)
{
    begin("{}");
    CHECK(!keys_wanted(&keys, "127.0.0.1:1"));
    CHECK_INT(keys_load(&keys, STR("[{}]"), &e), -1);
    CHECK(keys_wanted(&keys, "127.0.0.1:1") && keys_wanted(&keys, "v0@127.0.0.1:1"));
    CHECK_INT(keys_right(&keys, "127.0.0.1:1", STR("")), RIGHT_NONE);
}

TEST(wrong_ones_are_limited_in_any_second)
{
    begin("{\"api_key\":\"abc\"}");
    for (int i = 0; i < LIMIT_WRONG_KEYS; i++)
        CHECK(keys_wrong(&keys, 5000 + i));
    CHECK(!keys_wrong(&keys, 5900));
    CHECK(keys_wrong(&keys, 6000));
    CHECK(!keys_wrong(&keys, 6000));
    CHECK(keys_wrong(&keys, 6001));
}

TEST(names_are_unique_and_the_65th_is_an_error)
{
    char name[16];
    begin("{}");
    CHECK_INT(keys_begin(&keys, "v1", "v1@", STR("abc"), &e), 0);
    CHECK_INT(keys_begin(&keys, "v1", "v1@", STR("def"), &e), 0);
    CHECK_STR(keys.set[1].name, "v1-2");
    CHECK_INT(keys_begin(&keys, "v1", "v1@", STR(""), &e), 0); /* does not count */
    CHECK_INT(keys.nset, 2);
    for (int i = 0; keys.nset < LIMIT_KEYS; i++) {
        snprintf(name, sizeof(name), "n%d", i);
        CHECK_INT(keys_begin(&keys, "n", "v1@", str_of(name), &e), 0);
    }
    CHECK_INT(keys_give(&keys, "e2b-init", "e2b@", STR("late"), &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_INT(keys_give(&keys, "again", "v1@", STR("abc"), &e),
              0); /* it counts already */
}

TEST(keys_of_one_front_end_count_at_another)
{
    begin("{}");
    keys_share(&keys, "interpreter", "e2b");
    CHECK_INT(keys_begin(&keys, "e2b", "e2b@", STR("abc"), &e), 0);
    CHECK_INT(keys_begin(&keys, "one", "e2b@1:2", STR("def"), &e), 0);
    CHECK(keys_wanted(&keys, "interpreter@1:2") && keys_wanted(&keys, "e2b@1:3"));
    CHECK(!keys_wanted(&keys, "interpreter2@1:2") && !keys_wanted(&keys, "v1@1:2"));
    CHECK_INT(keys_right(&keys, "interpreter@1:2", STR("abc")), RIGHT_USE);
    CHECK_INT(keys_right(&keys, "interpreter@1:2", STR("def")), RIGHT_NONE);
}

T_MAIN
