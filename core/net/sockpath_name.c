/* SPDX-License-Identifier: MIT */
/* The names of servers, and the places of their sockets. */
#include "net/sockpath_own.h"

#include "base/called.h"
#include "net/peer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

bool sockpath_is_abstract(const char *path)
{
    return path[0] == '@';
}

void sockpath_dir(const char *path, char dir[SOCKPATH_MAX])
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == path ? 1 : (size_t)(slash - path);
    memcpy(dir, path, n);
    dir[n] = '\0';
}

bool sockpath_is_name(const char *where)
{
    return where[0] && !sockpath_is_abstract(where) && !strchr(where, '/');
}

int sockpath_check_name(const char *name, struct err *e)
{
    /* Other files in a directory of sockets, and in one of state. */
    static const char *const taken[] = {"sock", "sock.lock", "skills"};
    size_t n = strlen(name), i = 0;
    while (i < n && (isalnum((unsigned char)name[i]) || strchr("-_.", name[i])))
        i++;
    if (n == 0 || i < n || name[0] == '.' || name[0] == '-')
        return err_set(e, ERR_INVALID,
                       "\"%.100s\" cannot be the name of a server: it takes letters, "
                       "digits, \"-\", \"_\" and \".\", and begins with none of \"-\" "
                       "and \".\"",
                       name);
    if (n > SOCKPATH_NAME_MAX)
        return err_set(e, ERR_INVALID,
                       "the name of a server has at most %d bytes, and %.80s… has %zu",
                       SOCKPATH_NAME_MAX, name, n);
    for (i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (strcmp(name, taken[i]) == 0)
            return err_set(e, ERR_INVALID,
                           "\"%s\" cannot be the name of a server: a file of od has that "
                           "name",
                           name);
    }
    return 0;
}

const char *sockpath_of_path(const char *word, char space[SOCKPATH_MAX])
{
    if (!sockpath_is_name(word) || strlen(word) + sizeof("./") > SOCKPATH_MAX)
        return word;
    snprintf(space, SOCKPATH_MAX, "./%s", word);
    return space;
}

const char *sockpath_of_environment(char space[SOCKPATH_MAX])
{
    const char *where = getenv("OD_SERVER"), *path = getenv("OD_SOCKET");
    if (where && *where)
        return where;
    return path && *path ? sockpath_of_path(path, space) : NULL;
}

static int given_path(const char *given, struct sockpath *out, struct err *e)
{
    size_t n = strlen(given);
    if (n == 0 || given[n - 1] == '/' || (sockpath_is_abstract(given) && n == 1))
        return err_set(e, ERR_INVALID, "\"%s\" is not the name of a socket", given);
    size_t max = sockpath_is_abstract(given) ? sizeof(((struct sockaddr_un *)0)->sun_path)
                                    : SOCKPATH_MAX - sizeof(".lock");
    bool relative = given[0] != '/' && !sockpath_is_abstract(given);
    char cwd[SOCKPATH_MAX] = "";
    /* The server and its children change to other directories. */
    if (relative && !getcwd(cwd, sizeof(cwd)))
        return err_sys(e, errno, "cannot tell where the socket %s is", given);
    if (strcmp(cwd, "/") == 0)
        cwd[0] = '\0';
    if (relative && strncmp(given, "./", 2) == 0 && given[2])
        given += 2;
    int len = snprintf(out->path, sizeof(out->path), "%s%s%s", cwd,
                       relative ? "/" : "", given);
    if (len < 0 || (size_t)len > max)
        return err_set(e, ERR_INVALID,
                       "the name of the socket is longer than %zu bytes: %s", max,
                       given);
    out->place = 0;
    return 0;
}

void sockpath_abstract(struct sockpath *out, const char *name)
{
    bool other = strcmp(name, SOCKPATH_DEFAULT) != 0;
    snprintf(out->path, SOCKPATH_MAX, "@od-%u-%llu%s%s", (unsigned)geteuid(),
             (unsigned long long)peer_mount_namespace(), other ? "/" : "",
             other ? name : "");
    out->place = 0;
}

int sockpath_named(const char *name, struct sockpath out[SOCKPATH_CANDIDATES])
{
    struct places p;
    bool other = strcmp(name, SOCKPATH_DEFAULT) != 0, possible = false;
    int n = 0;
    places_sockets(&p);
    for (int i = 0; i < p.n; i++) {
        int len = snprintf(out[n].path, SOCKPATH_MAX, "%s%s%s/sock", p.at[i],
                           other ? "/" : "", other ? name : "");
        if ((size_t)len >= sizeof(((struct sockaddr_un *)0)->sun_path))
            continue;
        out[n++].place = strlen(p.at[i]);
        possible = possible || places_possible(p.at[i]);
    }
    if (!possible)
        sockpath_abstract(&out[n++], name);
    return n;
}

int sockpath_candidates(const char *where, struct sockpath out[SOCKPATH_CANDIDATES],
                        struct err *e)
{
    char space[SOCKPATH_MAX];
    if (!where)
        where = sockpath_of_environment(space);
    if (!where)
        where = SOCKPATH_DEFAULT;
    if (strstr(where, "://"))
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s is the address of a server elsewhere: this takes the name of "
                       "a server of this machine (see %s --status) or the path of its socket",
                       where, called("serve").z);
    if (!where[0] || !sockpath_is_name(where))
        return given_path(where, out, e) < 0 ? -1 : 1;
    return sockpath_check_name(where, e) < 0 ? -1 : sockpath_named(where, out);
}
