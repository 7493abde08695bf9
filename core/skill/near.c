/* SPDX-License-Identifier: MIT */
/*
 * Files with names similar to a missing one: in its folder, and below the current one,
 * nearest folders first, up to NAMES entries.
 */
#include "base/xalloc.h"
#include "file/files.h"
#include "skill/own.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAMES = 20000, FOLDERS = 2000, DEPTH = 8, SHOWN = 5, NAME = 64 };

struct near_name {
    char *path; /* owned */
    unsigned cost;
};

struct name_search {
    struct str wanted; /* the name */
    struct near_name best[SHOWN];
    size_t n, names;
    struct near_folder {
        char *path; /* owned */
        unsigned depth;
    } folders[FOLDERS];
    size_t folders_n;
};

/* The number of letters inserted, left out, changed, or exchanged with the next one. */
static unsigned distance(struct str a, struct str b)
{
    unsigned rows[3][NAME + 1];
    for (size_t k = 0; k <= b.n; k++)
        rows[0][k] = (unsigned)k;
    for (size_t i = 1; i <= a.n; i++) {
        unsigned *now = rows[i % 3], *up = rows[(i + 2) % 3], *upper = rows[(i + 1) % 3];
        now[0] = (unsigned)i;
        for (size_t k = 1; k <= b.n; k++) {
            unsigned least = up[k - 1] + (a.p[i - 1] != b.p[k - 1]);
            least = up[k] + 1 < least ? up[k] + 1 : least;
            least = now[k - 1] + 1 < least ? now[k - 1] + 1 : least;
            if (i > 1 && k > 1 && a.p[i - 1] == b.p[k - 2] && a.p[i - 2] == b.p[k - 1] &&
                upper[k - 2] + 1 < least)
                least = upper[k - 2] + 1;
            now[k] = least;
        }
    }
    return rows[a.n % 3][b.n];
}

static struct str stem_of(struct str name)
{
    for (size_t i = name.n; i > 1; i--)
        if (name.p[i - 1] == '.')
            return str_sub(name, 0, i - 1);
    return name;
}

/* The distance of a name from the wanted one; 0: not a candidate. */
static unsigned cost_of(struct str wanted, struct str name)
{
    if (str_eq(wanted, name))
        return 1;
    if (wanted.n == name.n && strncasecmp(wanted.p, name.p, name.n) == 0)
        return 2;
    if (wanted.n > NAME || name.n > NAME)
        return 0;
    unsigned most = wanted.n < 6 ? 1 : (unsigned)wanted.n / 4;
    size_t longer = wanted.n > name.n ? wanted.n - name.n : name.n - wanted.n;
    unsigned d = longer <= most ? distance(wanted, name) : most + 1;
    if (d <= most)
        return 2 + d;
    struct str stem = stem_of(wanted);
    return stem.n > 2 && str_eq(stem, stem_of(name)) ? 4 + most : 0;
}

static void keep(struct name_search *k, const char *folder, const char *name,
                 unsigned cost)
{
    char path[PATH_MAX];
    size_t at = k->n;
    while (at > 0 && k->best[at - 1].cost > cost)
        at--;
    int n = snprintf(path, sizeof(path), "%s%s%s", folder,
                     str_ends(str_of(folder), STR("/")) ? "" : "/", name);
    if (at == SHOWN || n < 0 || (size_t)n >= sizeof(path))
        return;
    for (size_t i = 0; i < k->n; i++)
        if (strcmp(k->best[i].path, path) == 0)
            return;
    if (k->n == SHOWN)
        free(k->best[--k->n].path);
    memmove(k->best + at + 1, k->best + at, (k->n - at) * sizeof(*k->best));
    k->best[at] = (struct near_name){xstrdup(path), cost};
    k->n++;
}

static void push(struct name_search *k, const char *folder, const char *name,
                 unsigned depth)
{
    char path[PATH_MAX];
    bool dull = strcmp(name, "node_modules") == 0 || strcmp(name, "__pycache__") == 0;
    int n = snprintf(path, sizeof(path), "%s%s%s", folder,
                     str_ends(str_of(folder), STR("/")) ? "" : "/", name);
    if (dull || depth > DEPTH || k->folders_n == FOLDERS || n < 0 ||
        (size_t)n >= sizeof(path))
        return;
    k->folders[k->folders_n++] = (struct near_folder){xstrdup(path), depth};
}

/* Whether a folder is the state of a server of ours, which is not for its users. */
static bool is_state(int fd, const char *name)
{
    static const char *const parts[] = {"server", "spool", "events"};
    char path[NAME_MAX + 16];
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        snprintf(path, sizeof(path), "%s/%s", name, parts[i]);
        if (faccessat(fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
            return false;
    }
    return true;
}

static void look_into(struct name_search *k, const char *path, unsigned depth,
                      bool deeper)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC);
    DIR *d = fd >= 0 && !files_invented(fd) && !is_state(fd, ".") ? fdopendir(fd) : NULL;
    const struct dirent *e;
    struct stat st;
    if (!d && fd >= 0)
        close(fd);
    while (d && k->names < NAMES && (e = readdir(d))) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        k->names++;
        unsigned char type = e->d_type;
        if (type == DT_UNKNOWN && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
            type = (unsigned char)IFTODT(st.st_mode);
        unsigned cost = cost_of(k->wanted, str_of(e->d_name));
        if (cost && !(type == DT_DIR && is_state(fd, e->d_name)))
            keep(k, path, e->d_name, 2 * cost * (DEPTH + 2) + depth);
        if (deeper && type == DT_DIR && e->d_name[0] != '.')
            push(k, path, e->d_name, depth + 1);
    }
    if (d)
        closedir(d);
}

/* The folder of the path, or its nearest existing parent. */
static void folder_above(const char *path, char out[PATH_MAX])
{
    struct stat st;
    snprintf(out, PATH_MAX, "%s", path);
    do {
        char *slash = strrchr(out, '/');
        if (!slash || slash == out) {
            snprintf(out, PATH_MAX, "/");
            return;
        }
        *slash = 0;
    } while (stat(out, &st) < 0 || !S_ISDIR(st.st_mode));
}

void near_names(struct buf *out, const char *path, const char *cwd)
{
    char above[PATH_MAX];
    struct name_search *k = xnew(struct name_search);
    const char *slash = strrchr(path, '/');
    *k = (struct name_search){.wanted = str_of(slash ? slash + 1 : path)};
    folder_above(path, above);
    if (k->wanted.n > 0) {
        look_into(k, above, 0, false);
        push(k, cwd, "", 0);
        if (strcmp(above, "/") != 0 && !str_starts(str_of(above), str_of(cwd)))
            push(k, above, "", 0);
    }
    for (size_t i = 0; i < k->folders_n && k->names < NAMES; i++)
        look_into(k, k->folders[i].path, k->folders[i].depth, true);
    for (size_t i = 0; i < k->n; i++)
        buf_addf(out, "%s%s", i ? ", " : ". Near: ", k->best[i].path);
    for (size_t i = 0; i < k->n; i++)
        free(k->best[i].path);
    for (size_t i = 0; i < k->folders_n; i++)
        free(k->folders[i].path);
    free(k);
}
