/* SPDX-License-Identifier: MIT */
/*
 * A main for fuzz targets without libFuzzer: runs the target once on each named file, so
 * that at least the corpus is tested.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) < 0) {
        perror(path);
        return 1;
    }
    long size = ftell(f);
    rewind(f);
    /* Exactly as long as the input, so that a read past its end is detected. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    int failed = size < 0 || !data || fread(data, 1, (size_t)size, f) != (size_t)size;
    if (failed)
        perror(path);
    else
        LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    fclose(f);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= run_file(argv[i]);
    return failed;
}
