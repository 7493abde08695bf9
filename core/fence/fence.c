/* SPDX-License-Identifier: MIT */
#include "fence/fence.h"

#include "base/buf.h"
#include "base/xalloc.h"
#include "fence/rules.h"
#include "os/file.h"
#include "os/landlock.h"
#include "reach/supervisor.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    READ = LANDLOCK_READ_FILE | LANDLOCK_READ_DIR | LANDLOCK_EXECUTE,
    /* Of MAKE_*, not CHAR and BLOCK: a device that root makes leads anywhere. */
    WRITE = READ | LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_DIR | LANDLOCK_REMOVE_FILE |
            LANDLOCK_MAKE_DIR | LANDLOCK_MAKE_REG | LANDLOCK_MAKE_SOCK |
            LANDLOCK_MAKE_FIFO | LANDLOCK_MAKE_SYM | LANDLOCK_REFER | LANDLOCK_TRUNCATE |
            LANDLOCK_IOCTL_DEV,
    DEVICE = LANDLOCK_READ_FILE | LANDLOCK_WRITE_FILE | LANDLOCK_READ_DIR |
             LANDLOCK_TRUNCATE | LANDLOCK_IOCTL_DEV,
    RULES_MAX = 100000,
    NOTES_MAX = 200,
    DEPTH_MAX = 64
};

/* Our folders that programs use, below the state directory; made if they are missing. */
static const struct {
    const char *name;
    mode_t mode;
    uint32_t rights;
} ours[] = {
    {"s", 0711, WRITE},       /* of sessions: FIFOs, records */
    {"kernels", 0700, WRITE}, /* where kernels keep compiled code */
    {"python", 0755, READ},   /* the module agentskills */
    {"pictures", 0711, READ}, /* of tools, for programs to open */
    {FENCE_FOLDER, 0755, READ},
};

/* Devices that programs need; they have no state of the machine in them. */
static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                      "/dev/random", "/dev/urandom", "/dev/tty",
                                      "/dev/ptmx",   "/dev/pts"};

struct fence_path {
    char *path; /* owned; without links as far as it exists */
    const struct json *rule;
};

struct fence_maker {
    struct json *fence, *notes; /* borrowed */
    const struct fence_own *own;
    struct fence_path hidden[FENCE_PATHS_MAX + 2];
    uint32_t net; /* Landlock's rights of TCP ports that no program gets */
    size_t hidden_n;
    uint32_t handled; /* rights that this kernel knows */
    int ruleset;
    unsigned rules; /* added to it */
    bool quiet;     /* notes are for the first ruleset */
    struct err *e;
};

static void note(struct fence_maker *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct fence_maker *m, const char *format, ...)
{
    struct buf text = BUF_INIT(3 * PATH_MAX);
    va_list ap;
    va_start(ap, format);
    buf_addv(&text, format, ap);
    va_end(ap);
    if (!m->quiet && json_count(m->notes) < NOTES_MAX)
        json_push_str(m->notes, buf_str(&text));
    buf_release(&text);
}

/* "line 3", or the option. */
static const char *place_of(const struct json *rule, char space[64])
{
    int64_t line = json_int(rule, "line", 0);
    if (line > 0)
        snprintf(space, 64, "line %lld", (long long)line);
    else
        snprintf(space, 64, "%.60s", json_str(rule, "option", "the fence").p);
    return space;
}

static bool is_below(const char *path, const char *in)
{
    return file_is_in(path, in) && strcmp(path, in) != 0;
}

/*
 * The path without links, as far as it exists; the rest is kept. *there: all of it
 * exists. The caller frees it.
 */
static char *resolve(const char *path, bool *there)
{
    char real[PATH_MAX], *head = xstrdup(path);
    size_t n = strlen(head);
    *there = true;
    while (!realpath(n ? head : "/", real) && n > 0) {
        *there = false;
        while (n > 0 && head[n - 1] != '/')
            n--;
        while (n > 0 && head[n - 1] == '/')
            n--;
        head[n] = 0;
    }
    struct buf out = BUF_INIT(2 * PATH_MAX);
    if (strcmp(real, "/") != 0 || !path[n] || path[n + 1] == 0)
        buf_addz(&out, real);
    if (path[n] && path[n + 1])
        buf_addz(&out, path + n);
    free(head);
    return buf_take(&out);
}

/* ---- giving rights ---- */

static int add_rule(struct fence_maker *m, int fd, const char *path, uint32_t rights)
{
    if (++m->rules > RULES_MAX)
        return err_set(m->e, ERR_LIMIT,
                       "the fence needs more than %d rules: too many files are beside "
                       "hidden ones, as in %.200s",
                       RULES_MAX, path);
    if (landlock_add(m->ruleset, fd, rights & m->handled) < 0)
        return err_sys(m->e, errno, "cannot make a rule for %.300s", path);
    return 0;
}

static bool is_hidden(const struct fence_maker *m, const char *path)
{
    for (size_t i = 0; i < m->hidden_n; i++) {
        if (strcmp(m->hidden[i].path, path) == 0)
            return true;
    }
    return false;
}

static const char *hidden_below(const struct fence_maker *m, const char *path)
{
    for (size_t i = 0; i < m->hidden_n; i++) {
        if (is_below(m->hidden[i].path, path))
            return m->hidden[i].path;
    }
    return NULL;
}

static int give(struct fence_maker *m, const char *path, uint32_t rights, int depth);

/* Gives rights to each entry of the folder, except what is hidden. */
static int give_entries(struct fence_maker *m, int fd, const char *path, uint32_t rights,
                        int depth)
{
    int at = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    DIR *d = at >= 0 ? fdopendir(at) : NULL;
    if (!d) {
        if (at >= 0)
            close(at);
        note(m, "in %s nothing can be used, as it cannot be listed to leave %s out", path,
             hidden_below(m, path));
        return 0;
    }
    struct dirent *x;
    while (rc == 0 && (x = readdir(d))) {
        if (strcmp(x->d_name, ".") == 0 || strcmp(x->d_name, "..") == 0)
            continue;
        struct buf child = BUF_INIT(2 * PATH_MAX);
        buf_addf(&child, "%s/%s", strcmp(path, "/") == 0 ? "" : path, x->d_name);
        if (!buf_full(&child) && !is_hidden(m, buf_z(&child)))
            rc = give(m, buf_z(&child), rights, depth + 1);
        buf_release(&child);
    }
    closedir(d);
    return rc;
}

/* A path that is gone, or that we may not use, is left out. */
static int give(struct fence_maker *m, const char *path, uint32_t rights, int depth)
{
    struct stat st;
    int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    if (fd < 0)
        return 0;
    const char *secret = hidden_below(m, path);
    if (fstat(fd, &st) < 0 || S_ISLNK(st.st_mode)) {
        /* The rights of a link are those of what it leads to. */
    } else if (!secret || depth > DEPTH_MAX) {
        rc = secret ? err_set(m->e, ERR_LIMIT, "%.300s is too deep to be hidden", secret)
                    : add_rule(m, fd, path, rights);
    } else {
        if (rights & LANDLOCK_WRITE_FILE)
            note(m,
                 "in %s itself nothing can be made or removed, because %s in it is "
                 "hidden; "
                 "its folders are not concerned",
                 path, secret);
        rc = add_rule(m, fd, path, rights & LANDLOCK_READ_DIR);
        if (rc == 0)
            rc = give_entries(m, fd, path, rights, depth);
    }
    close(fd);
    return rc;
}

/* The folder "/" without /dev: devices are given one by one, or by rules of their own. */
static int give_path(struct fence_maker *m, const char *path, uint32_t rights)
{
    bool all = strcmp(path, "/") == 0;
    if (all)
        m->hidden[m->hidden_n++].path = (char *)(uintptr_t) "/dev";
    int rc = give(m, path, rights, 0);
    m->hidden_n -= all;
    return rc;
}

/* ---- the rules ---- */

static int hide(struct fence_maker *m, const struct json *rule)
{
    bool there;
    char space[64], *path = resolve(json_str(rule, "path", "/").p, &there);
    m->hidden[m->hidden_n++] = (struct fence_path){path, rule};
    if (strcmp(path, "/") == 0 || file_is_in(path, "/proc"))
        return err_set(m->e, ERR_INVALID,
                       "%s: %.200s cannot be hidden: no program would run without it, or "
                       "it changes all the time",
                       place_of(rule, space), path);
    if (!there)
        note(m,
             "%s: %s does not exist; it is hidden if it is made later, and so is "
             "everything else that is made in the folder where it would be",
             place_of(rule, space), path);
    return 0;
}

static int hide_all(struct fence_maker *m)
{
    const struct json *r = json_first(json_get(m->fence, "rules"));
    for (; r && m->hidden_n < FENCE_PATHS_MAX; r = json_next(r)) {
        if (str_eq(json_str(r, "do", ""), STR("hide")) && hide(m, r) < 0)
            return -1;
    }
    return 0;
}

static int allow(struct fence_maker *m, const struct json *rule)
{
    bool there, writes = str_eq(json_str(rule, "do", ""), STR("write"));
    const char *given = json_str(rule, "path", "/").p;
    char space[64], *path = resolve(given, &there);
    int rc = 0;
    if (!there)
        note(m, "%s: %s does not exist: programs cannot %s it, also if it is made later",
             place_of(rule, space), given, writes ? "write" : "read");
    else if (is_hidden(m, path))
        rc = err_set(m->e, ERR_INVALID, "%s: %.200s is hidden by another line",
                     place_of(rule, space), path);
    else if (m->own->state_dir[0] && file_is_in(path, m->own->state_dir))
        rc = err_set(m->e, ERR_INVALID,
                     "%s: %.200s is the server's own state, which no program may use",
                     place_of(rule, space), path);
    else
        rc = give_path(m, path, writes ? WRITE : READ);
    bool found = false;
    char *socket = resolve(m->own->socket[0] == '/' ? m->own->socket : "/", &found);
    if (rc == 0 && writes && there && is_below(socket, path))
        note(m,
             "%s: the server's socket %s is in %s: programs cannot use it, but they can "
             "remove it, or put another one in its place; give --socket elsewhere",
             place_of(rule, space), socket, path);
    free(socket);
    free(path);
    return rc;
}

/* What every program needs, whatever the rules are. */
static int allow_needed(struct fence_maker *m)
{
    int rc = give(m, "/proc", LANDLOCK_READ_FILE | LANDLOCK_READ_DIR, 0);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]) && rc == 0; i++)
        rc = give(m, devices[i], DEVICE, 0);
    if (rc == 0 && m->own->self[0])
        rc = give(m, m->own->self, READ, 0);
    return rc;
}

static int allow_state(struct fence_maker *m, bool jobs)
{
    const char *dir = m->own->state_dir;
    int rc = 0;
    if (jobs && dir[0])
        return give(m, dir, WRITE, 0);
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]) && dir[0] && rc == 0; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof(path), "%s/%s", dir, ours[i].name);
        if (mkdir(path, ours[i].mode) < 0 && errno != EEXIST)
            return err_sys(m->e, errno, "cannot make %s", path);
        rc = give(m, path, ours[i].rights, 0);
    }
    return rc;
}

/* Returns the ruleset of programs, or of the server's jobs; -1 and *e. */
static int make_one(struct fence_maker *m, bool jobs)
{
    const struct json *rules = json_get(m->fence, "rules"), *r;
    bool reads = false;
    size_t others = m->hidden_n;
    m->rules = 0;
    m->quiet = jobs;
    m->ruleset = landlock_ruleset(m->handled, jobs ? 0 : m->net);
    if (m->ruleset < 0)
        return err_sys(m->e, errno, "cannot make a fence");
    fcntl(m->ruleset, F_SETFD, FD_CLOEXEC);
    if (!m->handled)
        return m->ruleset;
    if (m->own->state_dir[0] && !jobs)
        m->hidden[m->hidden_n++].path = (char *)(uintptr_t)m->own->state_dir;
    int rc = 0;
    for (r = json_first(rules); r; r = json_next(r))
        reads = reads || str_eq(json_str(r, "do", ""), STR("read"));
    if (!reads)
        rc = give_path(m, "/", READ);
    for (r = json_first(rules); r && rc == 0; r = json_next(r)) {
        if (json_has(r, "path") && !str_eq(json_str(r, "do", ""), STR("hide")))
            rc = allow(m, r);
    }
    if (rc == 0)
        rc = allow_needed(m);
    if (rc == 0)
        rc = allow_state(m, jobs);
    m->hidden_n = others;
    if (rc == 0)
        return m->ruleset;
    close(m->ruleset);
    return -1;
}

/* ---- what the kernel can do ---- */

struct json *fence_lacks(int abi)
{
    static const struct {
        int abi;
        bool needed;
        const char *right, *since, *means;
    } all[] = {
        {1, true, "all", "Linux 5.13", "nothing is enforced"},
        {2, false, "refer", "Linux 5.19",
         "files cannot be moved or linked from one folder to another, also below write"},
        {3, true, "truncate", "Linux 6.2",
         "files outside of write can be emptied by truncate(2), if the user may write "
         "them"},
        {5, false, "ioctl_dev", "Linux 6.10", "ioctl(2) on devices is not limited"},
        {6, false, "scope", "Linux 6.12",
         "programs can send signals to processes outside, also to the server's, and "
         "connect to abstract unix sockets"},
    };
    struct json *list = json_array();
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (abi >= all[i].abi)
            continue;
        struct json *o = json_object();
        json_put_z(o, "right", all[i].right);
        json_put_z(o, "since", all[i].since);
        json_put_z(o, "means", all[i].means);
        json_put_bool(o, "needed", all[i].needed);
        json_push(list, o);
    }
    return list;
}

static int check_kernel(struct json *fence, int abi, int why, struct err *e)
{
    bool lax = json_bool(fence, "lax", false);
    const struct json *l = json_first(json_get(fence, "lacks")), *r;
    if (abi < 1 && !lax)
        return err_set(e, ERR_UNSUPPORTED,
                       "cannot enforce the fence: this kernel has no Landlock, or the "
                       "container refuses it (%s); it needs Linux 5.13 or later. Without "
                       "a fence in force: --fence-lax",
                       strerror(why));
    for (; l && !lax; l = json_next(l)) {
        if (!json_bool(l, "needed", false))
            continue;
        char space[64] = "the fence";
        r = json_first(json_get(fence, "rules"));
        while (r && fence_is_network(r))
            r = json_next(r);
        if (r)
            place_of(r, space);
        return err_set(
            e, ERR_UNSUPPORTED,
            "cannot enforce %s: Landlock of this kernel (ABI %d) lacks the right "
            "%s (%s), so %s. With this gap: --fence-lax",
            space, abi, json_str(l, "right", "").p, json_str(l, "since", "").p,
            json_str(l, "means", "").p);
    }
    return 0;
}

static const struct json *rule_of(const struct json *fence, const char *what)
{
    const struct json *r = json_first(json_get(fence, "rules"));
    while (r && !str_eq(json_str(r, "do", ""), str_of(what)))
        r = json_next(r);
    return r;
}

bool fence_limits_files(const struct json *fence)
{
    return !fence_limits_net(fence) || rule_of(fence, "write") ||
           rule_of(fence, "read") || rule_of(fence, "hide");
}

bool fence_limits_net(const struct json *fence)
{
    return rule_of(fence, "reach") || rule_of(fence, "listen") ||
           rule_of(fence, "secret");
}

/* The supervisor connects and binds for programs, so they need no port of their own. */
static uint32_t net_rights(const struct json *fence)
{
    return LANDLOCK_CONNECT_TCP |
           (rule_of(fence, "listen") ? (uint32_t)LANDLOCK_BIND_TCP : 0);
}

/* Sets "net": the rules for the network are enforced. If not, adds to "lacks". */
static int check_net(struct json *fence, struct err *e)
{
    char why[200], space[64];
    const struct json *r = json_first(json_get(fence, "rules"));
    while (r && !fence_is_network(r))
        r = json_next(r);
    bool can = reach_kernel(why) == 0;
    json_put_bool(fence, "net", can);
    if (can)
        return 0;
    struct json *o = json_object();
    json_put_z(o, "right", "net");
    json_put_z(o, "since", "Linux 6.7");
    json_put_z(o, "means", why);
    json_put_bool(o, "needed", true);
    json_push(json_get(fence, "lacks"), o);
    if (json_bool(fence, "lax", false))
        return 0;
    return err_set(e, ERR_UNSUPPORTED,
                   "cannot enforce %s: %s. Without this part of the fence: --fence-lax",
                   place_of(r, space), why);
}

int fence_make(struct json *fence, const struct fence_own *own, struct fence_made *out,
               struct err *e)
{
    struct fence_maker *m = xnew(struct fence_maker);
    int abi = landlock_abi(), why = errno, rc;
    *out = (struct fence_made){-1, -1};
    m->fence = fence;
    m->notes = json_array();
    m->own = own;
    m->e = e;
    json_put_int(fence, "abi", abi < 0 ? 0 : abi);
    json_put(fence, "lacks", fence_lacks(abi));
    json_put(fence, "notes", m->notes);
    bool files = fence_limits_files(fence), net = fence_limits_net(fence);
    m->handled = files ? landlock_rights(abi) : 0;
    rc = files ? check_kernel(fence, abi, why, e) : 0;
    if (rc == 0 && net)
        rc = check_net(fence, e);
    if (net && json_bool(fence, "net", false))
        m->net = net_rights(fence);
    if (rc == 0)
        rc = hide_all(m);
    if (rc == 0 && abi >= 1 && (m->handled || m->net)) {
        out->programs = make_one(m, false);
        rc = out->programs < 0 ? -1 : 0;
    }
    if (rc == 0 && abi >= 1 && m->handled) {
        out->jobs = make_one(m, true);
        rc = out->jobs < 0 ? -1 : 0;
    }
    if (rc < 0 && out->programs >= 0) {
        close(out->programs);
        out->programs = -1;
    }
    for (size_t i = 0; i < m->hidden_n; i++)
        free(m->hidden[i].path);
    free(m);
    return rc;
}

void fence_home(const char *user, char *out, size_t size)
{
    const char *home = user ? NULL : getenv("HOME");
    struct passwd *pw = home && home[0] == '/' ? NULL
                        : user                 ? getpwnam(user)
                                               : getpwuid(geteuid());
    if (pw)
        home = pw->pw_dir;
    snprintf(out, size, "%s", home && home[0] == '/' ? home : "");
}
