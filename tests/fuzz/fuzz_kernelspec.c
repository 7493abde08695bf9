/* SPDX-License-Identifier: MIT */
/* Any bytes as a kernel.json: a kernel that can be started, or a line that says why not.
 */
#include "base/log.h"
#include "kernel/host/find.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char dir[64], file[128], variable[96];

static void forget(void)
{
    unlink(file);
    for (char *p = file; (p = strrchr(file, '/')) && p > file + 5;) {
        *p = 0;
        if (rmdir(file) < 0)
            break;
    }
}

static void prepare(void)
{
    snprintf(dir, sizeof(dir), "/tmp/od-fuzz.XXXXXX");
    BUG_ON(!mkdtemp(dir));
    snprintf(file, sizeof(file), "%s/kernels", dir);
    mkdir(file, 0700);
    snprintf(file, sizeof(file), "%s/kernels/k", dir);
    mkdir(file, 0700);
    snprintf(file, sizeof(file), "%s/kernels/k/kernel.json", dir);
    snprintf(variable, sizeof(variable), "JUPYTER_PATH=%s", dir);
    atexit(forget);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (!dir[0])
        prepare();
    char path[] = "PATH=/bin", home[] = "HOME=/nonexistent";
    char *env[] = {variable, path, home, NULL};
    int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    BUG_ON(fd < 0 || write(fd, data, n) != (ssize_t)n);
    close(fd);
    struct kernel_list l;
    struct err e = ERR_INIT;
    kernel_find(&l, env, NULL);
    const struct kernel_spec *s = kernel_choose(&l, STR("k"), KERNEL_ANY, &e);
    if (s) {
        char **argv = kernel_argv(s, "file");
        BUG_ON(!argv[0] || argv[0][0] == 0);
        kernel_argv_free(argv);
    } else
        BUG_ON(e.code != ERR_NOTFOUND || e.text[0] == 0 || l.notes.n == 0);
    kernel_list_release(&l);
    return 0;
}
