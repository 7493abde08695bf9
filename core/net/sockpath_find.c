/* SPDX-License-Identifier: MIT */
/* The live servers of the user, and the choice of one. */
#include "base/json.h"
#include "base/xalloc.h"
#include "net/sockpath_own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct found {
    struct sockpath_server *list;
    int n;
};

static void try_server(struct found *f, const char *name, const struct sockpath *s)
{
    pid_t pid = 0;
    int fd = f->n < SOCKPATH_SERVERS_MAX ? sockpath_at(s, &pid, NULL) : -1;
    if (fd < 0 && (f->n == SOCKPATH_SERVERS_MAX || errno != EAGAIN))
        return;
    if (fd >= 0)
        close(fd);
    for (int i = 0; i < f->n; i++) {
        if ((pid != 0 && f->list[i].pid == pid) ||
            strcmp(f->list[i].path, s->path) == 0)
            return;
    }
    struct sockpath_server *to = &f->list[f->n++];
    *to = (struct sockpath_server){.pid = pid};
    snprintf(to->name, sizeof(to->name), "%s", name);
    memcpy(to->path, s->path, sizeof(to->path));
}

/* Calls fn for each entry of dir, which is the user's, that may be a server's name. */
static void each_name(struct found *f, const char *dir,
                      void (*fn)(struct found *, const char *dir, const char *name))
{
    DIR *d = places_check(dir) == 0 ? opendir(dir) : NULL;
    struct dirent *entry;
    while (d && (entry = readdir(d))) {
        if (sockpath_check_name(entry->d_name, NULL) == 0)
            fn(f, dir, entry->d_name);
    }
    if (d)
        closedir(d);
}

static void try_place(struct found *f, const char *dir, const char *name)
{
    struct sockpath s = {.place = strlen(dir)};
    if (strcmp(name, SOCKPATH_DEFAULT) != 0 &&
        snprintf(s.path, sizeof(s.path), "%s/%s/sock", dir, name) < (int)sizeof(s.path))
        try_server(f, name, &s);
}

/* Finds, by its folder of state, a server whose socket is elsewhere. */
static void try_record(struct found *f, const char *dir, const char *name)
{
    char path[PLACE_MAX + SOCKPATH_NAME_MAX + 16], text[4096];
    snprintf(path, sizeof(path), "%s/%s/" SOCKPATH_RECORD, dir, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof(text)) : -1;
    if (fd >= 0)
        close(fd);
    struct json *j = n > 0 ? json_parse(str_n(text, (size_t)n), NULL) : NULL;
    struct str at = json_str(j, "socket", "");
    struct sockpath s = {.place = 0};
    if (at.n > 0 && at.n < sizeof(s.path) && strchr("/@", at.p[0])) {
        memcpy(s.path, at.p, at.n);
        try_server(f, name, &s);
    }
    json_free(j);
}

/* Abstract ones of this mount namespace. The file has a line for each socket. */
static void try_abstract(struct found *f)
{
    struct sockpath s;
    char *line = NULL;
    size_t size = 0;
    FILE *file = fopen("/proc/net/unix", "re");
    while (file && getline(&line, &size, file) > 0) {
        char *at = strchr(line, '@');
        sockpath_abstract(&s, SOCKPATH_DEFAULT);
        size_t n = strlen(s.path);
        if (!at || strncmp(at, s.path, n) != 0 || at[n] != '/')
            continue;
        at[strcspn(at, "\n")] = 0;
        if (sockpath_check_name(at + n + 1, NULL) < 0)
            continue;
        sockpath_abstract(&s, at + n + 1);
        try_server(f, at + n + 1, &s);
    }
    free(line);
    if (file)
        fclose(file);
}

int sockpath_servers(struct sockpath_server out[SOCKPATH_SERVERS_MAX])
{
    struct found f = {.list = out};
    struct sockpath c[SOCKPATH_CANDIDATES];
    struct places p;
    const char *state = getenv("OD_STATE_DIR");
    int n = sockpath_named(SOCKPATH_DEFAULT, c);
    for (int i = 0; i < n; i++)
        try_server(&f, SOCKPATH_DEFAULT, &c[i]);
    places_sockets(&p);
    for (int i = 0; i < p.n; i++)
        each_name(&f, p.at[i], try_place);
    if (c[n - 1].place == 0)
        try_abstract(&f);
    if (places_state(&p, state && *state ? state : NULL, NULL) == 0) {
        for (int i = 0; i < p.n; i++)
            each_name(&f, p.at[i], try_record);
    }
    return f.n;
}

/* The names in a list, as in "a, b and 3 more". */
static void list_names(char *out, size_t size, const struct sockpath_server *all, int n)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < n && used + SOCKPATH_NAME_MAX + 24 < size; i++) {
        int more = snprintf(out + used, size - used, "%s%s", i > 0 ? ", " : "",
                            all[i].name);
        used += (size_t)more;
        if (i + 1 < n && used + 2 * SOCKPATH_NAME_MAX + 24 >= size) {
            snprintf(out + used, size - used, " and %d more", n - i - 1);
            return;
        }
    }
}

/* Whether the first place of trial is the one of XDG_RUNTIME_DIR. */
static bool is_runtime(const struct sockpath *first)
{
    const char *dir = getenv("XDG_RUNTIME_DIR");
    return dir && *dir && first->place && strncmp(first->path, dir, strlen(dir)) == 0;
}

/* Returns the only server below that place; -1 if there is none, or several. */
static int only_below(const struct sockpath *place, const struct sockpath_server *all,
                      int n)
{
    int only = -1;
    for (int i = 0; i < n; i++) {
        if (strncmp(all[i].path, place->path, place->place) != 0)
            continue;
        if (only >= 0)
            return -1;
        only = i;
    }
    return only;
}

/* Chooses one of the live servers. Returns -1 and sets *e. */
static int choose(const char *name, const struct sockpath_server *all, int n,
                  struct err *e)
{
    char names[320];
    const char *wanted = name ? name : SOCKPATH_DEFAULT;
    for (int i = 0; i < n; i++) {
        if (strcmp(all[i].name, wanted) == 0)
            return i;
    }
    list_names(names, sizeof(names), all, n);
    if (name)
        return n == 0 ? err_set(e, ERR_NOTFOUND, "no server %s is running", name)
                      : err_set(e, ERR_NOTFOUND,
                                "no server %s is running; those that run are: %s", name,
                                names);
    if (n == 1)
        return 0;
    if (n > 1)
        err_set(e, ERR_INVALID,
                "%d servers run and none of them is %s: choose one with --server; they "
                "are: %s",
                n, SOCKPATH_DEFAULT, names);
    return -1; /* *e: no server answers at the first place */
}

int sockpath_connect(const char *where, struct sockpath_server *found, struct err *e)
{
    struct sockpath c[SOCKPATH_CANDIDATES];
    struct sockpath_server unused;
    struct err why = ERR_INIT;
    char space[SOCKPATH_MAX];
    if (!found)
        found = &unused;
    if (!e)
        e = &why;
    if (!where)
        where = sockpath_of_environment(space);
    *found = (struct sockpath_server){.pid = 0};
    int n = sockpath_candidates(where, c, e);
    if (n < 0)
        return -1;
    bool named = !where || sockpath_is_name(where);
    if (named)
        snprintf(found->name, sizeof(found->name), "%s",
                 where ? where : SOCKPATH_DEFAULT);
    bool runtime = !where && is_runtime(&c[0]);
    int fd = sockpath_first(c, runtime ? 1 : n, found, e);
    if (fd >= 0 || e->code != ERR_NOTFOUND || !named)
        return fd;

    struct sockpath_server *all = xcalloc(SOCKPATH_SERVERS_MAX, sizeof(*all));
    n = sockpath_servers(all);
    int i = runtime ? only_below(&c[0], all, n) : -1;
    if (i < 0)
        i = choose(where, all, n, e);
    if (i >= 0) {
        *found = all[i];
        memcpy(c[0].path, all[i].path, sizeof(c[0].path));
        c[0].place = 0;
        fd = sockpath_first(c, 1, found, e);
    }
    free(all);
    return fd;
}
