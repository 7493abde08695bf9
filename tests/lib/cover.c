/* SPDX-License-Identifier: MIT */
/*
 * Which code a program runs, for tests/mutate.py: code compiled with
 * -fsanitize-coverage=trace-pc calls this in every block, and the byte at the block's
 * address, counted from the start of the program, is set in the file COVER_FILE.
 *
 * The file is mapped and shared, so it has the blocks of children and of processes that
 * are killed, too. Without the file nothing is recorded.
 */
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
void __sanitizer_cov_trace_pc(void);

static unsigned char *hits;
static size_t hits_size;

__attribute__((constructor)) static void cover_open(void)
{
    int fd = open(COVER_FILE, O_RDWR | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return;
    if (!fstat(fd, &st)) {
        void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                        0);
        if (at != MAP_FAILED) {
            hits_size = (size_t)st.st_size;
            hits = at;
        }
    }
    close(fd);
}

void __sanitizer_cov_trace_pc(void)
{
    size_t at = (size_t)((const char *)__builtin_return_address(0) - __ehdr_start);
    if (at < hits_size)
        hits[at] = 1;
}
