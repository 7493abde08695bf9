/* SPDX-License-Identifier: MIT */
/* The map: any bytes as keys, growth, removal while iterating, the hash. */
#include "base/map.h"

#include "t.h"

static int values[5000];

static struct str key_of(char *out, size_t size, int i)
{
    return str_n(out, (size_t)snprintf(out, size, "key %d", i));
}

TEST(put_get_replace_remove)
{
    struct map m;
    map_init(&m);
    int a, b;
    CHECK(!map_get(&m, STR("x")));
    CHECK(!map_del(&m, STR("x")));
    CHECK(!map_put(&m, STR("x"), &a));
    CHECK(map_get(&m, STR("x")) == &a);
    CHECK(map_put(&m, STR("x"), &b) == &a);
    CHECK_INT(m.count, 1);
    CHECK(map_get(&m, STR("x")) == &b);
    CHECK(map_del(&m, STR("x")) == &b);
    CHECK(!map_get(&m, STR("x")));
    CHECK_INT(m.count, 0);
    T_DIES(SIGABRT, map_put(&m, STR("x"), NULL));
    map_release(&m);
    map_release(&m);
}

TEST(keys_are_bytes_and_are_copied)
{
    struct map m;
    map_init(&m);
    int a, b, c;
    char key[] = "abc";
    map_put(&m, str_of(key), &a);
    key[0] = 'z';
    CHECK(map_get(&m, STR("abc")) == &a);
    CHECK(!map_get(&m, STR("zbc")));
    map_put(&m, STR("a\0b"), &b);
    map_put(&m, STR(""), &c);
    CHECK(map_get(&m, STR("a\0b")) == &b);
    CHECK(!map_get(&m, STR("a\0c")));
    CHECK(!map_get(&m, STR("a")));
    CHECK(map_get(&m, str_n(NULL, 0)) == &c);
    map_release(&m);
}

TEST(thousands_of_keys_stay_findable)
{
    struct map m;
    map_init(&m);
    char k[32];
    for (int i = 0; i < 5000; i++)
        CHECK(!map_put(&m, key_of(k, sizeof(k), i), &values[i]));
    CHECK_INT(m.count, 5000);
    CHECK(m.slots >= 5000);
    for (int i = 0; i < 5000; i += 3)
        CHECK(map_del(&m, key_of(k, sizeof(k), i)) == &values[i]);
    for (int i = 0; i < 5000; i++)
        CHECK(map_get(&m, key_of(k, sizeof(k), i)) == (i % 3 ? &values[i] : NULL));
    map_release(&m);
}

TEST(iterating_meets_each_entry_once_also_when_it_is_removed)
{
    for (int n = 0; n <= 200; n += n < 10 ? 1 : 37) {
        for (int keep = 0; keep <= 3; keep++) { /* of 3: none, some, all */
            struct map m;
            char k[32], seen[200] = {0};
            int met = 0, left = 0;
            struct str key;
            void *value;
            map_init(&m);
            for (int i = 0; i < n; i++)
                map_put(&m, key_of(k, sizeof(k), i), &values[i]);
            for (void *it = NULL; (it = map_next(&m, it, &key, &value));) {
                int i = (int)((int *)value - values);
                CHECK(str_eq(key, key_of(k, sizeof(k), i)));
                CHECK_INT(seen[i]++, 0);
                met++;
                if (i % 3 >= keep)
                    CHECK(map_del(&m, key) == value);
                else
                    left++;
            }
            CHECK_INT(met, n);
            CHECK_INT(m.count, left);
            map_release(&m);
        }
    }
}

/* The vectors of the paper's reference code: key 00..0f, input 00..(n-1). */
TEST(the_hash_is_siphash_2_4)
{
    const uint64_t seed[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    char in[16];
    for (int i = 0; i < 16; i++)
        in[i] = (char)i;
    CHECK(map_hash(seed, str_n(NULL, 0)) == UINT64_C(0x726fdb47dd0e0e31));
    CHECK(map_hash(seed, str_n(in, 1)) == UINT64_C(0x74f839c593dc67fd));
    CHECK(map_hash(seed, str_n(in, 8)) == UINT64_C(0x93f5f5799a932462));
    CHECK(map_hash(seed, str_n(in, 15)) == UINT64_C(0xa129ca6149be45e5));
}

TEST(maps_are_seeded_apart)
{
    struct map a, b;
    map_init(&a);
    map_init(&b);
    CHECK(memcmp(a.seed, b.seed, sizeof(a.seed)) != 0);
    map_release(&a);
    map_release(&b);
}

T_MAIN
