/* SPDX-License-Identifier: MIT */
/*
 * events write FOLDER COUNT | read FOLDER: the limit of the event log. Writes as
 * many lines as long as those of ../events.c, each with one write, to files of
 * 4 MiB, and prints lines a second; or reads all files and writes them to
 * standard output, as cat does, and prints MB/s.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SEGMENT = 4 << 20, PIECE = 128 << 10, EVENT = 200 };

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int next_file(const char *folder, unsigned number)
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%06u", folder, number);
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

static int write_all(const char *folder, unsigned count)
{
    char line[EVENT + 48];
    size_t have = SEGMENT;
    int fd = -1;
    memset(line, 'x', sizeof(line) - 1);
    line[sizeof(line) - 1] = '\n';
    double begin = now_us();
    for (unsigned i = 0; i < count; i++) {
        unsigned v = i;
        for (int at = 12; at > 5; at--, v /= 10)
            line[at] = (char)('0' + v % 10);
        if (have >= SEGMENT) {
            if (fd >= 0)
                close(fd);
            have = 0;
            fd = next_file(folder, i);
        }
        if (write(fd, line, sizeof(line)) != (ssize_t)sizeof(line))
            return 1;
        have += sizeof(line);
    }
    printf("rate %.0f\n", (double)count / (now_us() - begin) * 1e6);
    return 0;
}

static int read_all(const char *folder)
{
    static char piece[PIECE];
    struct dirent **names;
    char path[512];
    size_t all = 0;
    int n = scandir(folder, &names, NULL, alphasort);
    double begin = now_us();
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%.200s", folder, names[i]->d_name);
        int fd = names[i]->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
        ssize_t r;
        while (fd >= 0 && (r = read(fd, piece, sizeof(piece))) > 0) {
            all += (size_t)r;
            if (write(STDOUT_FILENO, piece, (size_t)r) != r)
                return 1;
        }
        close(fd);
    }
    fprintf(stderr, "rate %.0f\n", (double)all / (now_us() - begin));
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "write") == 0)
        return write_all(argv[2], (unsigned)strtoul(argv[3], NULL, 10));
    return argc == 3 ? read_all(argv[2]) : 1;
}
