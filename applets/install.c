/* SPDX-License-Identifier: MIT */
/*
 * `od install DIR`: this program copies itself, for a container that gets od from a
 * volume. It needs nothing from its image.
 */
#include "applet.h"
#include "base/called.h"
#include "execd_bootstrap.txt.h"
#include "install.txt.gz.h"
#include "os/self.h"
#include "program.h"
#include "version.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 128 << 10 };

static int fail(const char *what, const char *dir, const char *name)
{
    int why = errno;
    called_say("cannot %s %s%s%s: %s%s\n", what, dir, *name ? "/" : "", name,
               strerror(why),
               why == EROFS ? "; choose a folder that can be written to, such as a volume"
               : why == EACCES ? "; it belongs to somebody else"
               : why == ENOSPC ? "; the volume is full"
                               : "");
    return 1;
}

static int copy(int from, int to)
{
    static char block[BLOCK];
    ssize_t n;
    while ((n = read(from, block, sizeof(block))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        for (ssize_t done = 0, w; n > 0 && done<n; done += w> 0 ? w : 0) {
            w = write(to, block + done, (size_t)(n - done));
            if (w < 0 && errno != EINTR)
                return -1;
        }
        if (n < 0)
            return -1;
    }
    return 0;
}

/* What is at DIR/NAME now. */
enum there { NOTHING, OURS, FOREIGN, FOLDER };

static enum there look(int dir, const char *name)
{
    struct stat st;
    char page[SELF_MARK_IN];
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return NOTHING;
    if (S_ISDIR(st.st_mode))
        return FOLDER;
    int fd = openat(dir, name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, page, sizeof(page));
    if (fd >= 0)
        close(fd);
    return n > 0 && self_has_mark(page, (size_t)n) ? OURS : FOREIGN;
}

/*
 * Replaces the file in one step: a process that starts DIR/od meanwhile gets the old one
 * or the new one.
 */
static int put(int dir, const char *path, const char *name)
{
    char temp[64];
    struct stat st;
    int from = self_open();
    if (from < 0 || fstat(from, &st) < 0)
        return fail("read my own file for", path, "");
    snprintf(temp, sizeof(temp), ".od.%ld", (long)getpid());
    unlinkat(dir, temp, 0); /* process numbers are reused, in containers at once */
    int to = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0700);
    if (to < 0)
        return fail("write to", path, "");
    int failed = copy(from, to) < 0 || fchmod(to, 0755) < 0;
    int why = errno;
    if (close(to) < 0 && !failed) {
        failed = 1;
        why = errno;
    }
    close(from);
    if (!failed && renameat(dir, temp, dir, name) < 0) {
        failed = 1;
        why = errno;
    }
    if (failed) {
        unlinkat(dir, temp, 0);
        errno = why;
        return fail("write", path, name);
    }
    printf("%s/%s: od %s, %lld bytes\n", path, name, build_info.version,
           (long long)st.st_size);
    return 0;
}

/* OpenSandbox's server copies both files from an image's working directory. */
static int put_bootstrap(int dir, const char *path)
{
    static const char name[] = "bootstrap.sh";
    size_t n = strlen(execd_bootstrap_txt);
    char temp[64];
    snprintf(temp, sizeof(temp), ".bootstrap.%ld", (long)getpid());
    unlinkat(dir, temp, 0);
    int fd = openat(dir, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    0700);
    if (fd < 0)
        return fail("write to", path, "");
    bool failed = write(fd, execd_bootstrap_txt, n) != (ssize_t)n || fchmod(fd, 0755) < 0;
    failed = close(fd) < 0 || failed;
    if (failed || renameat(dir, temp, dir, name) < 0) {
        unlinkat(dir, temp, 0);
        return fail("write", path, name);
    }
    printf("%s/%s: starts od in the place of execd\n", path, name);
    return 0;
}

static int install(const char *path, bool links, const char *program, bool force,
                   bool execd)
{
    const char *name = execd ? "execd" : "od";
    sigset_t set;
    if (mkdir(path, 0755) < 0 && errno != EEXIST && errno != EROFS)
        return fail("make the folder", path, "");
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return fail("install into", path, "");
    enum there there = look(dir, name);
    if (there == FOLDER || (there == FOREIGN && !force)) {
        called_say("%s/%s is %s%s\n", path, name,
                   there == FOLDER ? "a folder" : "another program",
                   there == FOLDER ? ": remove it, or choose another place"
                                   : " and stays; --force replaces it");
        return 1;
    }
    /* A container that is stopped leaves no incomplete file. */
    sigfillset(&set);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int rc = put(dir, path, name);
    if (rc == 0 && execd)
        rc = put_bootstrap(dir, path);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    close(dir);
    if (rc == 0 && links)
        rc = applet_links(path, "od");
    return rc == 0 && program ? program_links(path, program, "od", force) : rc;
}

static int install_main(int argc, char **argv)
{
    const char *dir = NULL, *program = NULL;
    bool links = false, force = false, execd = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--links") == 0)
            links = true;
        else if (strcmp(argv[i], "--force") == 0)
            force = true;
        else if (strcmp(argv[i], "--execd") == 0)
            execd = true;
        else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc && !program)
            program = argv[++i];
        else if (argv[i][0] == '-' || dir || !argv[i][0]) {
            called_say("%s: not understood; see %s\n", argv[i], called_help("install").z);
            return 2;
        } else
            dir = argv[i];
    }
    if (execd && (links || program)) {
        called_say("--execd goes with neither --links nor --as\n");
        return 2;
    }
    if (!dir) {
        called_say("which folder? see %s\n", called_help("install").z);
        return 2;
    }
    umask(022); /* it is for other users, whatever the caller's is */
    int rc = install(dir, links, program, force, execd);
    if (fflush(stdout) != 0) {
        called_say("cannot write: %s\n", strerror(errno));
        return 1;
    }
    return rc;
}

const struct applet applet_install = {
    .name = "install",
    .brief = "copy od into a folder, such as a volume of a container",
    .packed = PACKED(install_txt_gz),
    .main = install_main,
};
