/* SPDX-License-Identifier: MIT */
/*
 * Archives, and contents of other stores, of strangers: a first byte 'c' is followed by
 * contents, any other one by an archive. Whatever the bytes are, the call ends, and an
 * archive that becomes a checkpoint can be written as one again.
 */
#include "base/log.h"
#include "base/xalloc.h"
#include "checkpoint/checkpoint.h"
#include "os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char store[] = "/tmp/od-fuzz-XXXXXX";

static void clean(void)
{
    char command[64];
    snprintf(command, sizeof(command), "rm -rf %s", store);
    if (system(command) != 0)
        fprintf(stderr, "cannot remove %s\n", store);
}

static int file_of(struct str bytes)
{
    int fd = file_of_text("archive", bytes);
    BUG_ON(fd < 0 || lseek(fd, 0, SEEK_SET) < 0);
    return fd;
}

static void add_sums(char *p, size_t n)
{
    for (; n >= 512; p += 512, n -= 512) {
        unsigned sum = 0;
        if (memcmp(p + 257, "ustar", 5) != 0)
            continue;
        memset(p + 148, ' ', 8);
        for (int i = 0; i < 512; i++)
            sum += (uint8_t)p[i];
        snprintf(p + 148, 8, "%06o", sum);
    }
}

static void import(struct str bytes)
{
    struct err e = ERR_INIT;
    struct checkpoint_call q = {
        .verb = "import", .store = store, .cwd = "/", .input = file_of(bytes)};
    struct json *made = checkpoint_do(&q, &e);
    close(q.input);
    BUG_ON(!made && !e.code);
    if (made) {
        int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
        BUG_ON(checkpoint_export(&q, json_int(made, "id", 0), out, &e) < 0);
        close(out);
    }
    json_free(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static unsigned calls;
    if (calls == 0) {
        BUG_ON(!mkdtemp(store));
        atexit(clean);
    }
    if (++calls % 500 == 0)
        clean();
    if (n == 0)
        return 0;
    char *copy = xcalloc(1, n);
    memcpy(copy, data, n);
    if (data[0] == 'c') {
        struct err e = ERR_INIT;
        const struct checkpoint_call q = {
            .verb = "contents", .store = store, .bytes = str_n(copy + 1, n - 1)};
        struct json *said = checkpoint_do(&q, &e);
        BUG_ON(!said && !e.code);
        json_free(said);
    } else {
        add_sums(copy + 1, n - 1);
        import(str_n(copy + 1, n - 1));
    }
    free(copy);
    return 0;
}
