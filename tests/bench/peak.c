/* SPDX-License-Identifier: MIT */
/* peak COMMAND...: runs it, and prints its memory at its peak in KiB. */
#include "common.h"

#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    struct rusage u;
    int status;
    pid_t pid = argc > 1 ? fork() : -1;
    if (pid == 0) {
        execvp(argv[1], argv + 1);
        die("cannot run %s", argv[1]);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid || getrusage(RUSAGE_CHILDREN, &u) < 0)
        die("peak COMMAND...");
    printf("peak %ld\n", u.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
