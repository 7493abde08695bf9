/* SPDX-License-Identifier: MIT */
/*
 * lines BYTES [RATE]: writes that many bytes of numbered lines, as
 * fast as they are taken, or at most RATE bytes a second.
 */
#include "common.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PIECE = 64 << 10 };

/* Until the clock says what has been written: us microseconds since the begin. */
static void wait_until(double us)
{
    double left = us - now_us();
    struct timespec t = {(time_t)(left / 1e6), (long)(left - 1e6 * (long)(left / 1e6)) * 1000};
    if (left > 0)
        nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    static char piece[PIECE];
    if (argc < 2)
        die("usage: lines BYTES [RATE]");
    uint64_t all = (uint64_t)count_of(argv[1]), done = 0;
    double begin = now_us(), rate = argc > 2 ? count_of(argv[2]) / 1e6 : 0;
    while (done < all) {
        fill_lines(piece, PIECE, done);
        size_t n = all - done < PIECE ? (size_t)(all - done) : PIECE;
        for (size_t at = 0; at < n;) {
            ssize_t w = write(1, piece + at, n - at);
            if (w < 0)
                die("cannot write");
            at += (size_t)w;
        }
        done += n;
        if (rate > 0)
            wait_until(begin + (double)done / rate);
    }
    return 0;
}
