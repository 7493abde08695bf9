/* SPDX-License-Identifier: MIT */
/*
 * archive zip PATH LEVEL        packs PATH, the bytes thrown away
 * archive unzip ARCHIVE FOLDER  unpacks
 *
 * Prints the MB of files, seconds, MB a second, and the peak of the child's memory
 * in KiB. To compare: cat, or find PATH -type f -exec cat {} +, to /dev/null.
 */
#include "base/clock.h"
#include "file/archive.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static struct loop *loop;
static uint64_t packed;
static int status;

static size_t on_data(void *arg, struct str bytes)
{
    (void)arg;
    packed += bytes.n;
    return bytes.n;
}

static void on_done(void *arg, const struct archive_result *r)
{
    int64_t us = clock_us() - *(int64_t *)arg;
    struct rusage u;
    getrusage(RUSAGE_CHILDREN, &u);
    double mb = (double)r->bytes / 1e6;
    if (r->err.code)
        fprintf(stderr, "%s\n", r->err.text);
    printf("%llu files, %.1f MB (%.1f packed) in %.3f s: %.0f MB/s, %ld KiB at most\n",
           (unsigned long long)r->files, mb, (double)packed / 1e6, (double)us / 1e6,
           mb * 1e6 / (double)us, u.ru_maxrss);
    status = r->err.code != 0;
    loop_stop(loop);
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    struct job *j = NULL;
    int64_t start = clock_us();
    loop = loop_new();
    if (argc != 4 || !loop) {
        fprintf(stderr, "archive zip PATH LEVEL | archive unzip ARCHIVE FOLDER\n");
        return 2;
    }
    if (strcmp(argv[1], "zip") == 0) {
        struct archive_zip_spec s = {.path = argv[2],
                                     .level = (int)strtol(argv[3], NULL, 10)};
        j = archive_zip(loop, &s, on_data, on_done, &start, &e);
    } else {
        struct archive_unzip_spec s = {.fd = open(argv[2], O_RDONLY | O_CLOEXEC),
                                       .dir = argv[3],
                                       .uid = (uid_t)-1,
                                       .gid = (gid_t)-1};
        j = archive_unzip(loop, &s, on_done, &start, &e);
    }
    if (!j) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    loop_run(loop);
    loop_free(loop);
    return status;
}
