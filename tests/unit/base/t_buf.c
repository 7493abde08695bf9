/* SPDX-License-Identifier: MIT */
/*
 * Buffers: the maximum holds, a failed add changes nothing, there is always a
 * terminator, and a long random life agrees with a plain array.
 */
#include "base/buf.h"

#include "t.h"

static void check_invariants(const struct buf *b)
{
    CHECK(b->n <= b->max);
    if (b->p) {
        CHECK(b->n < b->cap);
        CHECK(b->cap + b->skip <= b->max + 1);
        CHECK_INT(b->p[b->n], 0);
    }
}

TEST(an_unused_buffer_is_empty_text)
{
    struct buf b = BUF_INIT(10);
    CHECK_STR(buf_z(&b), "");
    CHECK_INT(buf_str(&b).n, 0);
    CHECK_INT(buf_room(&b), 10);
    buf_consume(&b, 0);
    buf_truncate(&b, 0);
    buf_reset(&b);
    buf_release(&b);
    buf_release(&b);
}

TEST(adds_append_and_terminate)
{
    struct buf b = BUF_INIT(100);
    CHECK_INT(buf_addz(&b, "ab"), 0);
    CHECK_INT(buf_addc(&b, 'c'), 0);
    CHECK_INT(buf_adds(&b, STR("d\0e")), 0);
    CHECK_INT(buf_add(&b, NULL, 0), 0);
    CHECK_INT(buf_addf(&b, "%d-%s", 7, "x"), 0);
    CHECK_MEM(b.p, b.n, "abcd\0e7-x");
    check_invariants(&b);
    buf_release(&b);
    CHECK_INT(b.max, 100);
    CHECK_INT(buf_addz(&b, "again"), 0);
    CHECK_STR(buf_z(&b), "again");
    buf_release(&b);
}

TEST(formats_give_what_printf_gives)
{
    struct buf b = BUF_INIT(1000);
    char want[1000];
#define SAME(...) \
    do { \
        snprintf(want, sizeof(want), __VA_ARGS__); \
        buf_reset(&b); \
        CHECK_INT(buf_addf(&b, __VA_ARGS__), 0); \
        CHECK_STR(buf_z(&b), want); \
        check_invariants(&b); \
    } while (0)
    SAME("%s", "");
    SAME("no conversion");
    SAME("%s and %.*s, %.*s|%.*s|", "all", 3, "threefold", -1, "all", 0, "none");
    SAME("%.*s", 9, "short");
    SAME("%d %d %d %d", 0, -7, INT32_MAX, INT32_MIN);
    SAME("%u %u", 0u, UINT32_MAX);
    SAME("%llu %llu", 0ull, (unsigned long long)UINT64_MAX);
    SAME("%lld %lld", (long long)INT64_MIN, (long long)INT64_MAX);
    SAME("%zu%c", SIZE_MAX, 'x');
    SAME("%s is 50%%, and %s: %d", "a", "b", 3);
    SAME("%d %05d %s %-4s| %d", 1, 2, "three", "4", 5);
    SAME("%.2f %x %g", 1.5, 255u, 1e100);
    SAME("%lu %ld", 3ul, -3l);
#undef SAME
    buf_release(&b);
}

TEST(the_maximum_is_exact_and_a_failed_add_changes_nothing)
{
    struct buf b = BUF_INIT(5);
    CHECK_INT(buf_addz(&b, "abc"), 0);
    CHECK_INT(buf_addz(&b, "def"), -1);
    buf_resume(&b);
    CHECK_INT(buf_addf(&b, "%s", "def"), -1);
    buf_resume(&b);
    CHECK(!buf_reserve(&b, 3));
    buf_resume(&b);
    CHECK(!buf_reserve(&b, SIZE_MAX));
    buf_resume(&b);
    CHECK_STR(buf_z(&b), "abc");
    CHECK_INT(buf_addf(&b, "%s", "de"), 0);
    CHECK_STR(buf_z(&b), "abcde");
    CHECK_INT(buf_room(&b), 0);
    CHECK_INT(buf_addf(&b, "%s", ""), 0);
    CHECK_INT(buf_addc(&b, 'f'), -1);
    check_invariants(&b);
    buf_release(&b);

    struct buf none = BUF_INIT(0);
    CHECK_INT(buf_addc(&none, 'a'), -1);
    CHECK_INT(buf_addz(&none, ""), -1);
    buf_reset(&none);
    CHECK_INT(buf_addz(&none, ""), 0);
    CHECK_STR(none.p, "");
    buf_release(&none);
}

/* What a buffer has when one of several adds fails: never "ab" and "ef". */
TEST(after_a_failed_add_nothing_is_added)
{
    for (int how = 0; how < 6; how++) {
        struct buf b = BUF_INIT(8);
        char *taken;
        CHECK_INT(buf_addz(&b, "abcd"), 0);
        CHECK(!buf_full(&b));
        if (how == 0)
            CHECK_INT(buf_addz(&b, "efghi"), -1);
        else if (how == 1)
            CHECK_INT(buf_addf(&b, "%s", "efghi"), -1);
        else if (how == 2)
            CHECK(!buf_reserve(&b, 5));
        else if (how == 3)
            CHECK_INT(buf_add(&b, "efghi", 5), -1);
        else if (how == 4)
            CHECK_INT(buf_addf(&b, "%100d", 1), -1);
        else
            CHECK_INT(buf_adds(&b, STR("efghi")), -1);
        CHECK(buf_full(&b));
        CHECK_INT(buf_addz(&b, "x"), -1);
        CHECK_INT(buf_addc(&b, 'x'), -1);
        CHECK_INT(buf_add(&b, NULL, 0), -1);
        CHECK_INT(buf_addf(&b, "%d", 1), -1);
        CHECK(!buf_reserve(&b, 1));
        CHECK_STR(buf_z(&b), "abcd");
        check_invariants(&b);

        /* Dropping bytes does not make up for what is missing. */
        buf_truncate(&b, 3);
        buf_consume(&b, 1);
        CHECK(buf_full(&b));
        buf_consume(&b, 2);
        CHECK_INT(b.n, 0);
        CHECK(buf_full(&b));
        CHECK_INT(buf_addc(&b, 'x'), -1);

        if (how % 3 == 0) {
            buf_reset(&b);
        } else if (how % 3 == 1) {
            buf_release(&b);
        } else {
            taken = buf_take(&b);
            CHECK_STR(taken, "");
            free(taken);
        }
        CHECK(!buf_full(&b));
        CHECK_INT(buf_addz(&b, "12345678"), 0);
        CHECK_STR(buf_z(&b), "12345678");
        CHECK_INT(buf_addc(&b, '9'), -1);
        buf_resume(&b);
        CHECK(!buf_full(&b));
        buf_truncate(&b, 7);
        CHECK_INT(buf_addc(&b, '!'), 0);
        CHECK_STR(buf_z(&b), "1234567!");
        buf_release(&b);
    }
    struct buf none = BUF_INIT(0);
    CHECK_INT(buf_addc(&none, 'a'), -1);
    CHECK(buf_full(&none));
    free(buf_take(&none));
    CHECK(!buf_full(&none));
}

TEST(a_huge_maximum_does_not_wrap)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    CHECK_INT(buf_addz(&b, "a"), 0);
    CHECK(!buf_reserve(&b, SIZE_MAX - 1));
    buf_resume(&b);
    CHECK(!buf_reserve(&b, SIZE_MAX));
    CHECK_STR(buf_z(&b), "a");
    CHECK(b.cap < 1000);
    buf_release(&b);
}

/* The sanitizer would end a process that asks for so much. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "allocator_may_return_null=1"; }

TEST(no_memory_is_a_failed_add)
{
    struct buf b = BUF_INIT(SIZE_MAX);
    buf_addz(&b, "kept");
    CHECK(!buf_reserve(&b, PTRDIFF_MAX - 100));
    CHECK_STR(buf_z(&b), "kept");
    CHECK(buf_full(&b));
    buf_resume(&b);
    CHECK_INT(buf_addz(&b, "!"), 0);
    CHECK_STR(buf_z(&b), "kept!");
    buf_release(&b);
}

TEST(reserve_gives_room_and_commit_takes_part_of_it)
{
    struct buf b = BUF_INIT(1000);
    char *p = buf_reserve(&b, 500);
    CHECK(p);
    memset(p, 'x', 500);
    buf_commit(&b, 3);
    CHECK_STR(buf_z(&b), "xxx");
    p = buf_reserve(&b, 10);
    *p = 'y';
    buf_commit(&b, 0);
    CHECK_STR(buf_z(&b), "xxx");
    T_DIES(SIGABRT, buf_commit(&b, 100000));
    T_DIES(SIGABRT, buf_consume(&b, 4));
    T_DIES(SIGABRT, buf_truncate(&b, 4));
    buf_release(&b);
}

TEST(a_text_longer_than_the_room_is_formatted_whole)
{
    struct buf b = BUF_INIT(10000);
    char long_text[3000];
    memset(long_text, 'q', sizeof(long_text) - 1);
    long_text[sizeof(long_text) - 1] = '\0';
    CHECK_INT(buf_addf(&b, "<%s>", long_text), 0);
    CHECK_INT(b.n, 3001);
    CHECK(b.p[0] == '<' && b.p[3000] == '>');
    CHECK_INT(buf_addf(&b, "<%s>%s%s", long_text, long_text, long_text), -1);
    CHECK_INT(b.n, 3001);
    check_invariants(&b);
    buf_release(&b);
}

TEST(taking_hands_over_the_memory)
{
    struct buf b = BUF_INIT(100);
    buf_addz(&b, "xxhello");
    buf_consume(&b, 2);
    char *p = buf_take(&b);
    CHECK_STR(p, "hello");
    CHECK_INT(b.n, 0);
    free(p);
    p = buf_take(&b);
    CHECK_STR(p, "");
    free(p);
    CHECK_INT(buf_addz(&b, "more"), 0);
    CHECK_STR(buf_z(&b), "more");
    buf_release(&b);
}

TEST(growth_doubles)
{
    struct buf b = BUF_INIT(1 << 20);
    int grown = 0;
    for (size_t i = 0, cap = 0; i < 1 << 20; i++) {
        CHECK_INT(buf_addc(&b, (char)i), 0);
        grown += b.cap != cap;
        cap = b.cap;
    }
    CHECK(grown < 20);
    buf_release(&b);
}

/* Taking a large buffer apart in small pieces must not move it each time. */
TEST(consuming_is_cheap)
{
    struct buf b = BUF_INIT(8 << 20);
    CHECK(buf_reserve(&b, 8 << 20));
    memset(b.p, 'z', 8 << 20);
    buf_commit(&b, 8 << 20);
    while (b.n > 0)
        buf_consume(&b, 4);
    check_invariants(&b);
    buf_release(&b);
}

static unsigned rnd(unsigned *state, unsigned below)
{
    *state = *state * 1103515245u + 12345u;
    return (*state >> 8) % below;
}

TEST(integers_are_appended)
{
    struct buf b = BUF_INIT(100);
    CHECK_INT(buf_addi(&b, 0), 0);
    CHECK_INT(buf_addi(&b, -7), 0);
    CHECK_INT(buf_addi(&b, INT64_MAX), 0);
    CHECK_INT(buf_addi(&b, INT64_MIN), 0);
    CHECK_STR(buf_z(&b), "0-79223372036854775807-9223372036854775808");
    buf_release(&b);
    buf_init(&b, 2);
    CHECK_INT(buf_addi(&b, 123), -1);
    CHECK_INT(b.n, 0);
    buf_release(&b);
}

/* Not a byte outside the array is written, and what has no room gives "". */
TEST(an_array_is_filled)
{
    for (size_t size = 1; size < 16; size++) {
        char out[20];
        memset(out, '#', sizeof(out));
        bool fits = size > strlen("ab/7 x 05");
        CHECK_INT(buf_fill(out, size, "%s/%d %c %02d", "ab", 7, 'x', 5), fits);
        CHECK_STR(out, fits ? "ab/7 x 05" : "");
        for (size_t i = size; i < sizeof(out); i++)
            CHECK_INT(out[i], '#');
    }
}

TEST(a_random_life_agrees_with_an_array)
{
    enum { MAX = 300 };
    char model[MAX + 1];
    for (unsigned seed = 1; seed <= 200; seed++) {
        struct buf b = BUF_INIT(MAX);
        size_t n = 0;
        bool full = false;
        unsigned s = seed;
        for (int i = 0; i < 500; i++) {
            unsigned k = rnd(&s, 120);
            char chunk[120];
            memset(chunk, 'a' + (int)rnd(&s, 26), sizeof(chunk));
            switch (rnd(&s, 6)) {
            case 0:
            case 1:
                full = full || n + k > MAX;
                CHECK_INT(buf_add(&b, chunk, k), full ? -1 : 0);
                if (!full) {
                    memcpy(model + n, chunk, k);
                    n += k;
                }
                break;
            case 2:
                full = full || n + k > MAX;
                CHECK_INT(buf_addf(&b, "%.*s", (int)k, chunk), full ? -1 : 0);
                if (!full) {
                    memcpy(model + n, chunk, k);
                    n += k;
                }
                break;
            case 3:
            case 4:
                k = k > n ? (unsigned)n : k;
                buf_consume(&b, k);
                memmove(model, model + k, n - k);
                n -= k;
                break;
            default:
                if (full && k < 60) {
                    buf_resume(&b);
                    full = false;
                    break;
                }
                k = k > n ? 0 : (unsigned)n - k;
                buf_truncate(&b, k);
                n = k;
            }
            check_invariants(&b);
            CHECK_INT(buf_full(&b), full);
            CHECK_INT(b.n, n);
            CHECK(n == 0 || memcmp(b.p, model, n) == 0);
        }
        buf_release(&b);
    }
}

T_MAIN
