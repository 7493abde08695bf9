/* SPDX-License-Identifier: MIT */
/* base/copy.c: memcpy and memmove. With glibc these are its own. */
#include "t.h"

enum { ROOM = 9000, MARGIN = 80 };

static unsigned char was[ROOM], is[ROOM];

/* Not known at compile time, so that the compiler calls them. */
static void *(*volatile copy)(void *to, const void *from, size_t n) = memcpy;
static void *(*volatile move)(void *to, const void *from, size_t n) = memmove;

static void fill(void)
{
    for (size_t i = 0; i < ROOM; i++)
        is[i] = was[i] = (unsigned char)(i * 31 + i / 251);
}

/* Only the n bytes at `to` changed, and they are those that `from` had. */
static bool moved(size_t to, size_t from, size_t n)
{
    return memcmp(is, was, to) == 0 && memcmp(is + to, was + from, n) == 0 &&
           memcmp(is + to + n, was + to + n, ROOM - to - n) == 0;
}

TEST(bytes_that_are_apart)
{
    for (size_t n = 0; n < 400; n++) {
        for (size_t shift = 0; shift < 17; shift++) {
            size_t to = ROOM / 2 + shift, from = MARGIN + 16 - shift;
            fill();
            CHECK(copy(is + to, is + from, n) == is + to);
            CHECK(moved(to, from, n));
        }
    }
}

TEST(bytes_that_overlap)
{
    for (size_t n = 0; n < 400; n++) {
        for (size_t from = 0; from <= 2 * MARGIN; from += 3) {
            fill();
            CHECK(move(is + MARGIN, is + from, n) == is + MARGIN);
            CHECK(moved(MARGIN, from, n));
        }
    }
}

TEST(many_bytes)
{
    static const size_t sizes[] = {4095, 4096, 4097, 4160, 4400};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        size_t n = sizes[i];
        for (size_t from = 0; from + n <= ROOM; from += 97) {
            fill();
            move(is + MARGIN, is + from, n);
            CHECK(moved(MARGIN, from, n));
        }
    }
}

T_MAIN
