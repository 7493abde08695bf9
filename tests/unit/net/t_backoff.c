/* SPDX-License-Identifier: MIT */
/* Waits between tries: their bounds, and that they differ. */
#include "net/backoff.h"

#include "t.h"

TEST(bounds_double_up_to_the_most)
{
    static const int64_t want[] = {100, 200, 400, 800, 1000, 1000};
    struct backoff b = {.first_ms = 100, .most_ms = 1000};
    for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
        CHECK_INT(backoff_bound(&b), want[i]);
        int64_t ms = backoff_next(&b);
        CHECK(ms >= 0 && ms <= want[i]);
    }
    backoff_reset(&b);
    CHECK_INT(backoff_bound(&b), 100);
}

TEST(no_number_of_tries_overflows)
{
    struct backoff b = {.first_ms = 3, .most_ms = INT64_MAX, .tries = UINT32_MAX};
    CHECK_INT(backoff_bound(&b), INT64_MAX);
    CHECK(backoff_next(&b) >= 0);
    CHECK_INT(b.tries, UINT32_MAX);
    b.most_ms = 1;
    CHECK_INT(backoff_bound(&b), 1);
}

/* Drawn evenly: of a thousand, each quarter has its share, far from by chance. */
TEST(waits_are_spread)
{
    int quarters[4] = {0};
    for (int i = 0; i < 1000; i++) {
        struct backoff b = {.first_ms = 1000, .most_ms = 1000};
        int64_t q = backoff_next(&b) / 250;
        quarters[q > 3 ? 3 : q]++;
    }
    for (int i = 0; i < 4; i++)
        CHECK(quarters[i] > 150);
}

T_MAIN
