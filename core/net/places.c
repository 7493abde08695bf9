/* SPDX-License-Identifier: MIT */
/* The directories for state and sockets, from the environment and the user. */
#include "net/places.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BESIDE_STATE ".run" /* no server's name begins with a dot */

/* Adds a directory, unless its path is too long: a shortened path is another path. */
__attribute__((format(printf, 2, 3))) static void add(struct places *p, const char *fmt,
                                                      ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = p->n < PLACES_MAX ? vsnprintf(p->at[p->n], PLACE_MAX, fmt, ap) : -1;
    va_end(ap);
    if (n > 0 && n < PLACE_MAX)
        p->n++;
}

/*
 * Returns the value of a variable if it is an absolute path other than the root; else
 * NULL.
 */
static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] == '/' && value[1] ? value : NULL;
}

static void add_lasting(struct places *p)
{
    const char *xdg = variable("XDG_STATE_HOME"), *home = variable("HOME");
    if (geteuid() == 0)
        add(p, "/var/lib/od");
    if (xdg)
        add(p, "%s/od", xdg);
    if (home)
        add(p, "%s/.local/state/od", home);
}

static int add_given(struct places *p, const char *given, struct err *e)
{
    struct stat st;
    bool shared = false;
    unsigned uid = (unsigned)geteuid();
    if (lstat(given, &st) == 0 && S_ISDIR(st.st_mode)) {
        if (st.st_uid == uid)
            shared = (st.st_mode & (S_ISVTX | S_IWOTH)) != 0;
        else
            shared = uid != 0 && faccessat(AT_FDCWD, given, W_OK | X_OK, AT_EACCESS) == 0;
    }
    int before = p->n;
    if (shared)
        add(p, "%s/od-%u", given, uid);
    else
        add(p, "%s", given);
    return p->n > before ? 0
                         : err_set(e, ERR_LIMIT,
                                   "the state directory's name %.300s is too long",
                                   given);
}

int places_state(struct places *out, const char *given, struct err *e)
{
    unsigned uid = (unsigned)geteuid();
    const char *run = variable("XDG_RUNTIME_DIR");
    out->n = 0;
    if (given)
        return add_given(out, given, e);
    add_lasting(out);
    add(out, "/var/tmp/od-state-%u", uid);
    add(out, "/tmp/od-state-%u", uid);
    if (run)
        add(out, "%s/od-state", run);
    add(out, "/run/od-state-%u", uid);
    add(out, "/dev/shm/od-state-%u", uid);
    return 0;
}

/* XDG_RUNTIME_DIR survives `su`, and is another user's then. */
static bool is_users(const char *dir)
{
    struct stat st;
    return stat(dir, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

void places_sockets(struct places *out)
{
    unsigned uid = (unsigned)geteuid();
    const char *run = variable("XDG_RUNTIME_DIR"), *home = variable("HOME");
    const char *given = variable("OD_STATE_DIR");
    struct places state = {.n = 0};
    out->n = 0;
    if (run && is_users(run))
        add(out, "%s/od", run);
    add(out, "/tmp/od-%u", uid);
    if (given)
        add_given(&state, given, NULL);
    else
        add_lasting(&state);
    for (int i = 0; i < state.n; i++)
        add(out, "%s/" BESIDE_STATE, state.at[i]);
    if (home)
        add(out, "%s/.od", home);
    add(out, "/run/od-%u", uid);
    add(out, "/dev/shm/od-%u", uid);
    add(out, "/var/tmp/od-%u", uid);
}

int places_check(const char *dir)
{
    struct stat st;
    if (lstat(dir, &st) < 0)
        return -1;
    if (S_ISDIR(st.st_mode) && st.st_uid == geteuid())
        return 0;
    errno = S_ISDIR(st.st_mode) ? EACCES : ENOTDIR;
    return -1;
}

/*
 * Returns the length of the parent of the first n bytes of path; 0 if that is the root.
 */
static size_t above(const char *path, size_t n)
{
    while (n > 0 && path[n - 1] != '/')
        n--;
    while (n > 1 && path[n - 1] == '/')
        n--;
    return n;
}

/*
 * Whether parents of dir may be made. A server makes the directory of its state in any
 * case; /tmp, /run and homes must come from the image.
 */
static bool is_deep(const char *dir)
{
    size_t n = strlen(dir), end = strlen("/" BESIDE_STATE);
    return n > end && strcmp(dir + n - end, "/" BESIDE_STATE) == 0;
}

bool places_possible(const char *dir)
{
    char part[PLACE_MAX];
    struct stat st;
    size_t n = strlen(dir);
    if (lstat(dir, &st) == 0)
        return places_check(dir) == 0 && access(dir, W_OK | X_OK) == 0;
    if (n >= sizeof(part) || dir[0] != '/')
        return false;
    memcpy(part, dir, n + 1);
    while (n > 1) {
        n = above(part, n);
        part[n] = 0;
        if (stat(part, &st) == 0)
            return S_ISDIR(st.st_mode) && access(part, W_OK | X_OK) == 0;
        if (!is_deep(dir))
            return false;
    }
    return false;
}

int places_make(const char *dir)
{
    char part[PLACE_MAX];
    size_t n = strlen(dir);
    if (n >= sizeof(part)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    for (size_t i = 1; i < n && is_deep(dir); i++) {
        if (dir[i] != '/')
            continue;
        memcpy(part, dir, i);
        part[i] = 0;
        struct stat st;
        if (mkdir(part, 0755) < 0 && errno != EEXIST && stat(part, &st) < 0)
            return -1;
    }
    return mkdir(dir, 0700) == 0 || errno == EEXIST ? 0 : -1;
}
