/* SPDX-License-Identifier: MIT */
/* Reads a plugin's folder: the hash of its content, setup.sh and plugin.json. */
#include "setup/plugins.h"

#include "base/hash.h"
#include "base/xalloc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { DEPTH_MAX = 32, LIMIT_SECONDS_MAX = 86400, LIMIT_MEMORY_MAX = 1 << 24 };

/* ---- the hash ---- */

struct sum {
    struct hash hash;
    uint64_t bytes;
    unsigned files;
};

static void add_z(struct sum *s, const char *z)
{
    hash_add(&s->hash, str_n(z, strlen(z) + 1));
}

static int sum_file(struct sum *s, int at, const char *name, struct err *e)
{
    char bytes[16 << 10];
    ssize_t n = -1;
    int fd = openat(at, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    while (fd >= 0 && (n = read(fd, bytes, sizeof(bytes))) > 0) {
        s->bytes += (uint64_t)n;
        if (s->bytes > PLUGIN_BYTES_MAX)
            break;
        hash_add(&s->hash, str_n(bytes, (size_t)n));
    }
    int why = errno;
    if (fd >= 0)
        close(fd);
    if (s->bytes > PLUGIN_BYTES_MAX)
        return err_set(e, ERR_LIMIT, "the folder has more than %d MiB",
                       PLUGIN_BYTES_MAX >> 20);
    return n < 0 ? err_sys(e, why, "cannot read %s", name) : 0;
}

static int sum_dir(struct sum *s, int fd, int depth, struct err *e);

/* Adds kind, name, executable bits and content to the hash, not times and owners. */
static int sum_entry(struct sum *s, int at, const char *name, int depth, struct err *e)
{
    char head[32], target[PATH_MAX];
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return err_sys(e, errno, "cannot read %s", name);
    if (++s->files > PLUGIN_FILES_MAX)
        return err_set(e, ERR_LIMIT, "the folder has more than %d files",
                       PLUGIN_FILES_MAX);
    snprintf(head, sizeof(head), "%o %lld", (unsigned)(st.st_mode & (S_IFMT | 0111)),
             S_ISREG(st.st_mode) ? (long long)st.st_size : 0);
    add_z(s, head);
    add_z(s, name);
    if (S_ISREG(st.st_mode))
        return sum_file(s, at, name, e);
    if (S_ISLNK(st.st_mode)) {
        ssize_t n = readlinkat(at, name, target, sizeof(target) - 1);
        if (n < 0)
            return err_sys(e, errno, "cannot read %s", name);
        target[n] = 0;
        add_z(s, target);
    }
    if (!S_ISDIR(st.st_mode))
        return 0;
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "cannot read the folder %s", name);
    int r = sum_dir(s, fd, depth + 1, e);
    close(fd);
    return r;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/*
 * Gets the names in a folder, sorted, since a disk has no fixed order. Returns -1 with
 * errno.
 */
static int list_dir(int fd, char ***out, size_t *count)
{
    char **names = NULL;
    size_t n = 0, cap = 0;
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
    if (!d && copy >= 0)
        close(copy);
    if (!d)
        return -1;
    for (struct dirent *e; n <= PLUGIN_FILES_MAX && (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (n == cap) {
            cap = cap ? 2 * cap : 64;
            names = xrealloc(names, cap, sizeof(*names));
        }
        names[n++] = xstrdup(e->d_name);
    }
    closedir(d);
    if (n > 0)
        qsort(names, n, sizeof(*names), by_name);
    *out = names;
    *count = n;
    return 0;
}

static int sum_dir(struct sum *s, int fd, int depth, struct err *e)
{
    char **names;
    size_t n;
    int r = 0;
    if (depth > DEPTH_MAX)
        return err_set(e, ERR_LIMIT, "its folders are more than %d deep", DEPTH_MAX);
    if (list_dir(fd, &names, &n) < 0)
        return err_sys(e, errno, "cannot list a folder of it");
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = sum_entry(s, fd, names[i], depth, e);
        free(names[i]);
    }
    free(names);
    add_z(s, "");
    return r;
}

static int add_hash(struct json *j, int fd, struct err *e)
{
    struct sum s = {0};
    uint8_t sum[HASH_SHA256_SIZE];
    char hex[2 * HASH_SHA256_SIZE + 1];
    hash_begin_sha256(&s.hash);
    if (sum_dir(&s, fd, 0, e) < 0)
        return -1;
    hash_end(&s.hash, sum);
    for (int i = 0; i < HASH_SHA256_SIZE; i++)
        snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    json_put_z(j, "hash", hex);
    return 0;
}

/* ---- setup.sh ---- */

/*
 * Adds the shell that sources setup.sh, by its first line; "": another language, so the
 * file is executed.
 */
static int add_shell(struct json *j, int fd, struct err *e)
{
    static const char *const shells[] = {"sh",  "bash", "dash", "ash",
                                         "ksh", "mksh", "zsh"};
    char head[256];
    int f = openat(fd, "setup.sh", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f < 0)
        return err_sys(e, errno, "cannot read setup.sh");
    ssize_t n = read(f, head, sizeof(head));
    int why = errno;
    close(f);
    if (n < 0)
        return err_sys(e, why, "cannot read setup.sh");
    struct str rest = str_n(head, (size_t)n), line = str_cut(&rest, '\n');
    if (!str_starts(line, STR("#!"))) {
        json_put_z(j, "shell", "sh");
        return 0;
    }
    line = str_trim(str_sub(line, 2, line.n));
    struct str program = str_cut(&line, ' '), name = program;
    if (str_ends(program, STR("/env")))
        program = name = str_cut(&line, ' ');
    for (long slash; (slash = str_chr(name, '/')) >= 0;)
        name = str_sub(name, (size_t)slash + 1, name.n);
    json_put_z(j, "shell", "");
    for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
        if (str_eq(name, str_of(shells[i])))
            json_put_str(j, "shell", program);
    }
    return 0;
}

/* ---- plugin.json ---- */

static bool is_name(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
              (c >= '0' && c <= '9') || (i > 0 && (c == '-' || c == '_' || c == '.'))))
            return false;
    }
    return s.n > 0 && s.n <= PLUGIN_NAME_MAX;
}

static bool is_variable(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
              (i > 0 && c >= '0' && c <= '9')))
            return false;
    }
    return s.n > 0;
}

/* "NAME=value", "$PLUGIN" in it replaced. */
static int push_variable(struct json *list, struct str name, struct str value,
                         const char *dir, struct err *e)
{
    struct buf b = BUF_INIT(PLUGIN_TEXT_MAX);
    int r = 0;
    buf_addf(&b, "%.*s=", STR_ARG(name));
    for (long at; !buf_full(&b) && (at = str_find(value, STR("$PLUGIN"))) >= 0;) {
        buf_adds(&b, str_sub(value, 0, (size_t)at));
        buf_addz(&b, dir);
        value = str_sub(value, (size_t)at + strlen("$PLUGIN"), value.n);
    }
    buf_adds(&b, value);
    if (buf_full(&b))
        r = err_set(e, ERR_LIMIT, "its variable %.40s is longer than %d bytes", name.p,
                    PLUGIN_TEXT_MAX);
    else
        json_push_str(list, buf_str(&b));
    buf_release(&b);
    return r;
}

static int add_environment(struct json *out, const struct json *j, const char *dir,
                           struct err *e)
{
    struct json *list = json_array(), *env = json_get(j, "environment");
    json_put(out, "environment", list);
    if (env && !json_is_object(env))
        return err_set(e, ERR_INVALID, "environment must be an object");
    for (struct json *v = json_first(env); v; v = json_next(v)) {
        struct str name = str_of(json_name(v));
        if (!is_variable(name) || !json_is_string(v))
            return err_set(e, ERR_INVALID,
                           "environment must have names of variables and strings; "
                           "\"%.40s\" is not so",
                           json_name(v));
        if (push_variable(list, name, json_str_value(v, ""), dir, e) < 0)
            return -1;
    }
    return 0;
}

static int add_checks(struct json *out, const struct json *j, struct err *e)
{
    struct json *list = json_array(), *checks = json_get(j, "checks");
    json_put(out, "checks", list);
    if (checks && (!json_is_array(checks) || json_count(checks) > PLUGIN_CHECKS_MAX))
        return err_set(e, ERR_INVALID, "checks must be an array of at most %d commands",
                       PLUGIN_CHECKS_MAX);
    for (struct json *c = json_first(checks); c; c = json_next(c)) {
        struct str text = json_str_value(c, "");
        if (text.n == 0 || text.n > PLUGIN_TEXT_MAX)
            return err_set(e, ERR_INVALID,
                           "each of its checks must be a command of 1 to %d bytes",
                           PLUGIN_TEXT_MAX);
        json_push_str(list, text);
    }
    return 0;
}

static int add_limit(struct json *out, const struct json *limits, const char *name,
                     int64_t dflt, int64_t max, struct err *e)
{
    int64_t v = dflt;
    if (json_want_int(limits, name, &v, e) < 0)
        return -1;
    if (v < 0 || v > max || (v == 0 && dflt > 0))
        return err_set(e, ERR_INVALID, "limits.%s must be from %d to %lld", name,
                       dflt > 0, (long long)max);
    json_put_int(out, name, v);
    return 0;
}

/* A member that is unknown or has another type is an error. */
static int understand(struct json *out, const struct json *j, const char *dir,
                      int64_t seconds, struct err *e)
{
    static const char known[] = " name order limits environment checks ";
    struct str name = {0};
    double order = 0;
    const struct json *limits = json_get(j, "limits");
    for (struct json *m = json_first(j); m; m = json_next(m)) {
        char word[64];
        snprintf(word, sizeof(word), " %.60s ", json_name(m));
        if (!strstr(known, word))
            return err_set(e, ERR_INVALID, "there is no member %.60s", json_name(m));
    }
    if (json_want_str(j, "name", &name, e) < 0 ||
        json_want_num(j, "order", &order, e) < 0)
        return -1;
    if (name.p && !is_name(name))
        return err_set(e, ERR_INVALID,
                       "name must be 1 to %d letters, digits, dots, dashes and _",
                       PLUGIN_NAME_MAX);
    if (name.p)
        json_put_str(out, "name", name);
    json_put_num(out, "order", order);
    if (limits && !json_is_object(limits))
        return err_set(e, ERR_INVALID, "limits must be an object");
    if (add_limit(out, limits, "seconds", seconds, LIMIT_SECONDS_MAX, e) < 0 ||
        add_limit(out, limits, "memory_mb", 0, LIMIT_MEMORY_MAX, e) < 0)
        return -1;
    return add_environment(out, j, dir, e) < 0 ? -1 : add_checks(out, j, e);
}

static int add_json(struct json *out, int fd, const char *dir, int64_t seconds,
                    struct err *e)
{
    struct buf text = BUF_INIT(PLUGIN_JSON_MAX + 1);
    struct err why = ERR_INIT;
    int f = openat(fd, "plugin.json", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (f < 0 && errno != ENOENT)
        return err_sys(e, errno, "cannot read plugin.json");
    ssize_t n =
        f < 0 ? 0 : read(f, buf_reserve(&text, PLUGIN_JSON_MAX + 1), PLUGIN_JSON_MAX + 1);
    int failed = errno, r = -1;
    buf_commit(&text, n > 0 ? (size_t)n : 0);
    struct json *j = f < 0 ? json_object() : NULL;
    if (n < 0)
        err_sys(e, failed, "cannot read plugin.json");
    else if (n > PLUGIN_JSON_MAX)
        err_set(e, ERR_LIMIT, "plugin.json is longer than %d bytes", PLUGIN_JSON_MAX);
    else if (!j && (!(j = json_parse(buf_str(&text), &why)) || !json_is_object(j)))
        err_set(e, ERR_INVALID, "plugin.json is not a JSON object: %s",
                j ? "something else" : why.text);
    else if ((r = understand(out, j, dir, seconds, &why)) < 0)
        err_set(e, why.code, "plugin.json: %s", why.text);
    if (f >= 0)
        close(f);
    json_free(j);
    buf_release(&text);
    return r;
}

/* ---- the whole ---- */

static void name_by_folder(struct json *out, const char *dir)
{
    const char *base = strrchr(dir, '/');
    char name[PLUGIN_NAME_MAX + 1];
    size_t n = 0;
    for (base = base ? base + 1 : dir; *base && n < PLUGIN_NAME_MAX; base++) {
        if (is_name(str_n(base, 1)) ||
            (n > 0 && (*base == '-' || *base == '_' || *base == '.')))
            name[n++] = *base;
    }
    name[n] = 0;
    json_put_z(out, "name", n > 0 ? name : "plugin");
}

struct json *plugin_read(const char *dir, int64_t seconds)
{
    struct json *out = json_object();
    struct err e = ERR_INIT;
    struct stat st;
    char real[PATH_MAX];
    name_by_folder(out, dir);
    if (!realpath(dir, real)) {
        err_sys(&e, errno, "cannot read the folder %.300s", dir);
        json_put_z(out, "problem", e.text);
        return out;
    }
    name_by_folder(out, real);
    json_put_z(out, "dir", real);
    int fd = open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        err_sys(&e, errno, "cannot read the folder %.300s", real);
    if (fd < 0 || add_shell(out, fd, &e) < 0 ||
        add_json(out, fd, real, seconds, &e) < 0 || add_hash(out, fd, &e) < 0)
        json_put_z(out, "problem", e.text);
    if (fd >= 0)
        json_put_bool(out, "bin", fstatat(fd, "bin", &st, 0) == 0 && S_ISDIR(st.st_mode));
    if (fd >= 0)
        close(fd);
    return out;
}

struct json *plugin_known(const char *name)
{
    struct json *out = json_object();
    json_put_z(out, "name", name);
    json_put_bool(out, "known", true);
    return out;
}

struct json *plugins_sort(struct json **take, size_t n)
{
    struct json *out = json_array();
    for (size_t i = 1; i < n; i++) {
        struct json *j = take[i];
        size_t at = i;
        for (; at > 0 && json_num(take[at - 1], "order", 0) > json_num(j, "order", 0);
             at--)
            take[at] = take[at - 1];
        take[at] = j;
    }
    for (size_t i = 0; i < n; i++)
        json_push(out, take[i]);
    return out;
}
