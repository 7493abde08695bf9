/* SPDX-License-Identifier: MIT */
/*
 * search find PART ROOT          files by a part of their names, all of them
 * search fixed TEXT ROOT         lines with a text, as rg -F TEXT finds them
 * search regex PATTERN ROOT      lines that match, as rg PATTERN finds them
 *
 * With -p at the end the paths and lines are printed, else: files, lines, seconds, and
 * the peak of a helper's memory in KiB.
 */
#include "base/clock.h"
#include "search/search.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static struct loop *loop;
static int status;
static bool print;

static void print_hit(const struct search_hit *h)
{
    struct str lines = h->lines;
    struct search_line x;
    if (!lines.n)
        printf("%.*s\n", STR_ARG(h->path));
    while (search_next_line(&lines, &x))
        printf("%.*s:%llu:%.*s\n", STR_ARG(h->path), (unsigned long long)x.number,
               STR_ARG(x.text));
}

static void on_done(void *arg, const struct search_result *r)
{
    double us = (double)(clock_us() - *(int64_t *)arg);
    struct rusage u;
    for (size_t i = 0; print && i < r->hits_n; i++)
        print_hit(&r->hits[i]);
    getrusage(RUSAGE_CHILDREN, &u);
    if (r->err.code)
        fprintf(stderr, "%s\n", r->err.text);
    if (!print)
        printf("files %llu\nlines %llu\nseconds %.4f\npeak %ld\n",
               (unsigned long long)r->files, (unsigned long long)r->lines, us / 1e6,
               u.ru_maxrss);
    status = r->err.code != 0;
    loop_stop(loop);
}

int main(int argc, char **argv)
{
    struct err e = ERR_INIT;
    loop = loop_new();
    if (argc < 4 || !loop) {
        fprintf(stderr, "search find|fixed|regex PATTERN ROOT [-p]\n");
        return 2;
    }
    print = argc > 4;
    struct search_spec q = {.root = argv[3], .what = SEARCH_LINES, .count = true};
    if (strcmp(argv[1], "find") == 0) {
        q.what = SEARCH_NAMES;
        q.name_part = str_of(argv[2]);
        q.links = q.hidden_files = q.hidden_folders = true;
    } else {
        q.pattern = str_of(argv[2]);
        q.fixed = strcmp(argv[1], "fixed") == 0;
        q.gitignore = true;
    }
    int64_t start = clock_us();
    if (!search_start(loop, &q, on_done, &start, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    loop_run(loop);
    loop_free(loop);
    return status;
}
