/* SPDX-License-Identifier: MIT */
/* Where repositories are. Found by .git, a folder or a file, without git's help. */
#include "git/own.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SEARCH_NAMES_MAX = 10000 };

bool git_has_git(const char *folder)
{
    char path[PATH_MAX + 8];
    struct stat st;
    snprintf(path, sizeof(path), "%s/.git", folder);
    return lstat(path, &st) == 0 && (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
}

bool git_find(struct git *g, const char *folder)
{
    char real[PATH_MAX];
    struct stat st;
    git_leave(g);
    if (!realpath(folder, real) || stat(real, &st) < 0 || !S_ISDIR(st.st_mode) ||
        access(real, X_OK) < 0)
        return false;
    memcpy(g->path, real, sizeof(real));
    for (;;) {
        if (git_has_git(real)) {
            memcpy(g->root, real, sizeof(real));
            return true;
        }
        char *slash = strrchr(real, '/');
        if (slash == real && real[1] == 0)
            return false;
        slash[slash == real] = 0;
    }
}

static bool is_skipped(const char *name)
{
    static const char *const names[] = {"node_modules", "venv", "site-packages",
                                        "vendor"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return name[0] == '.';
}

struct git_searching {
    char found[PATH_MAX];
    unsigned hits, names;
};

static void search_below(struct git_searching *s, const char *folder, int depth)
{
    DIR *d = opendir(folder);
    struct dirent *x;
    while (d && s->hits < 2 && s->names < SEARCH_NAMES_MAX && (x = readdir(d))) {
        char path[PATH_MAX];
        struct stat st;
        s->names++;
        if (is_skipped(x->d_name) ||
            snprintf(path, sizeof(path), "%s/%s", strcmp(folder, "/") ? folder : "",
                     x->d_name) >= (int)sizeof(path) ||
            lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
            continue;
        if (git_has_git(path)) {
            s->hits++;
            memcpy(s->found, path, sizeof(path));
        } else if (depth + 1 < GIT_SEARCH_DEPTH) {
            search_below(s, path, depth + 1);
        }
    }
    if (d)
        closedir(d);
}

bool git_search(const char *folder, char out[PATH_MAX])
{
    struct git_searching s = {.hits = 0};
    search_below(&s, folder, 0);
    if (s.hits != 1 || s.names >= SEARCH_NAMES_MAX)
        return false;
    memcpy(out, s.found, PATH_MAX);
    return true;
}
