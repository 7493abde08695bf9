/* SPDX-License-Identifier: MIT */
/*
 * The steps in their order: home, shadow, groups, sudo, and passwd last. Lines are
 * parsed here, as libc's getpwnam reads only the system's own files; lines that we do
 * not understand stay as they are.
 */
#include "setup/users.h"

#include "base/buf.h"
#include "base/log.h"
#include "os/file.h"
#include "setup/users_home.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, FILE_MAX = 4 << 20, LOCK_SECONDS = 2, DAY = 24 * 3600 };

/* ---- files of /etc ---- */

static const char *at(const struct users_spec *spec, const char *path,
                      char out[PATH_SIZE])
{
    snprintf(out, PATH_SIZE, "%s%s", spec->root ? spec->root : "", path);
    return out;
}

static bool there(const struct users_spec *spec, const char *path)
{
    char p[PATH_SIZE];
    return access(at(spec, path, p), F_OK) == 0;
}

/* Reads a whole file, and adds a newline at its end; a missing file is empty. */
static int load(const struct users_spec *spec, const char *path, struct buf *text)
{
    char p[PATH_SIZE];
    int fd = open(at(spec, path, p), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : -1;
    ssize_t n = -1;
    do {
        char *room = buf_reserve(text, 64 << 10);
        if (!room) {
            errno = EFBIG;
            break;
        }
        n = read(fd, room, 64 << 10);
        buf_commit(text, n > 0 ? (size_t)n : 0);
    } while (n > 0 || (n < 0 && errno == EINTR));
    int why = errno;
    close(fd);
    errno = why;
    if (n == 0 && text->n > 0 && text->p[text->n - 1] != '\n')
        buf_addc(text, '\n');
    return n < 0 ? -1 : 0;
}

/*
 * Replaces a file by text in one step, with the same mode and owner; `mode` is for a new
 * file. On failure returns -1, and the file is unchanged.
 */
static int replace(const struct users_spec *spec, const char *path, struct str text,
                   mode_t mode, struct err *e)
{
    char p[PATH_SIZE], temp[PATH_SIZE + 8];
    struct stat st = {.st_mode = mode};
    int have = stat(at(spec, path, p), &st);
    snprintf(temp, sizeof(temp), "%s.od-new", p);
    unlink(temp); /* left by a process that died; safe, as we have the lock */
    int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int r = fd < 0 || file_write_all(fd, text) < 0 ||
                    (have == 0 && fchown(fd, st.st_uid, st.st_gid) < 0) ||
                    fchmod(fd, st.st_mode & 07777) < 0 || rename(temp, p) < 0
                ? -1
                : 0;
    if (r < 0) {
        err_sys(e, errno, "cannot write %s", path);
        unlink(temp);
    }
    if (fd >= 0)
        close(fd);
    return r;
}

/* ---- lines ---- */

static struct str field(struct str line, int i)
{
    struct str f = str_cut(&line, ':');
    while (i-- > 0)
        f = str_cut(&line, ':');
    return f;
}

/* The first line whose i-th field is `wanted`; p NULL: none. */
static struct str find_line(struct str text, int i, struct str wanted)
{
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        if (str_eq(field(line, i), wanted))
            return line;
    }
    return str_n(NULL, 0);
}

static void copy_field(struct str line, int i, char *out, size_t size)
{
    struct str f = field(line, i);
    snprintf(out, size, "%.*s", (int)(f.n < size ? f.n : size - 1), f.p);
}

/* An entry of /etc/passwd. */
static int read_user(struct str line, struct user *out)
{
    uint64_t uid, gid;
    if (str_to_u64(field(line, 2), &uid) < 0 || str_to_u64(field(line, 3), &gid) < 0)
        return -1;
    copy_field(line, 0, out->name, sizeof(out->name));
    copy_field(line, 5, out->home, sizeof(out->home));
    copy_field(line, 6, out->shell, sizeof(out->shell));
    out->uid = (uid_t)uid;
    out->gid = (gid_t)gid;
    out->listed = true;
    return 0;
}

/* Text with `line` put in at that offset. */
static int with_line(struct buf *out, struct str text, size_t offset, const char *line)
{
    return buf_adds(out, str_sub(text, 0, offset)) < 0 || buf_addz(out, line) < 0 ||
                   buf_adds(out, str_sub(text, offset, text.n)) < 0
               ? -1
               : 0;
}

static int add_line(const struct users_spec *spec, const char *path, struct str text,
                    size_t offset, const char *line, mode_t mode, struct err *e)
{
    struct buf out = BUF_INIT(FILE_MAX + 4096);
    int r = with_line(&out, text, offset, line);
    if (r < 0)
        err_set(e, ERR_LIMIT, "%s is longer than %d bytes", path, FILE_MAX);
    else
        r = replace(spec, path, buf_str(&out), mode, e);
    buf_release(&out);
    return r;
}

/* ---- the steps ---- */

/* Adds a locked line: no password is valid. */
static int add_shadow(const struct users_spec *spec, struct err *e)
{
    static const char path[] = "/etc/shadow";
    struct buf text = BUF_INIT(FILE_MAX);
    char line[128];
    int r = 0;
    snprintf(line, sizeof(line), "%s:!:%lld:0:99999:7:::\n", spec->name,
             (long long)time(NULL) / DAY);
    if (!there(spec, path))
        return 0;
    if (load(spec, path, &text) < 0)
        r = err_sys(e, errno, "cannot read %s", path);
    else if (!find_line(buf_str(&text), 0, str_of(spec->name)).p)
        r = add_line(spec, path, buf_str(&text), text.n, line, 0640, e);
    buf_release(&text);
    return r;
}

static bool is_member(struct str members, struct str name)
{
    while (members.n > 0) {
        if (str_eq(str_cut(&members, ','), name))
            return true;
    }
    return false;
}

/* The primary group is root, which an image may lack; sudo only if it is there. */
static int add_groups(const struct users_spec *spec, struct err *e)
{
    static const char path[] = "/etc/group";
    struct buf text = BUF_INIT(FILE_MAX);
    char more[USERS_NAME_MAX + 2];
    int r = 0;
    if (load(spec, path, &text) < 0) {
        r = err_sys(e, errno, "cannot read %s", path);
        goto out;
    }
    struct str sudo = find_line(buf_str(&text), 0, STR("sudo"));
    struct str members = field(sudo, 3);
    if (!find_line(buf_str(&text), 2, STR("0")).p) {
        r = add_line(spec, path, buf_str(&text), 0, "root:x:0:\n", 0644, e);
    } else if (sudo.p && !is_member(members, str_of(spec->name))) {
        snprintf(more, sizeof(more), "%s%s", members.n ? "," : "", spec->name);
        r = add_line(spec, path, buf_str(&text), (size_t)(sudo.p - text.p) + sudo.n, more,
                     0644, e);
    }
out:
    buf_release(&text);
    return r;
}

/* A line "@includedir /etc/sudoers.d", which older ones write with a #. */
static bool includes_dir(struct str text)
{
    while (text.n > 0) {
        struct str line = str_trim(str_cut(&text, '\n'));
        struct str dir = str_trim(str_sub(line, strlen("@includedir"), line.n));
        if ((str_starts(line, STR("@includedir")) ||
             str_starts(line, STR("#includedir"))) &&
            (str_eq(dir, STR("/etc/sudoers.d")) || str_eq(dir, STR("/etc/sudoers.d/"))))
            return true;
    }
    return false;
}

/* Adds a line for sudo. The user's name was checked, so sudo accepts the line. */
static int add_sudo(const struct users_spec *spec, struct err *e)
{
    static const char path[] = "/etc/sudoers";
    struct buf text = BUF_INIT(FILE_MAX);
    char line[128], own[96], p[PATH_SIZE];
    int r = 0;
    if (!there(spec, "/usr/bin/sudo") && !there(spec, "/bin/sudo") &&
        !there(spec, "/usr/local/bin/sudo"))
        return 0;
    snprintf(line, sizeof(line), "%s ALL=(ALL) NOPASSWD:ALL\n", spec->name);
    snprintf(own, sizeof(own), "%s.d/od-%s", path, spec->name);
    if (load(spec, path, &text) < 0) {
        r = err_sys(e, errno, "cannot read %s", path);
    } else if (includes_dir(buf_str(&text))) {
        if (mkdir(at(spec, "/etc/sudoers.d", p), 0750) < 0 && errno != EEXIST)
            r = err_sys(e, errno, "cannot make /etc/sudoers.d");
        else
            r = replace(spec, own, str_of(line), 0440, e);
    } else if (str_find(buf_str(&text), str_of(line)) < 0) {
        /* A backslash before the end would make it part of the last line. */
        char after[sizeof(line) + 1];
        bool open = str_ends(buf_str(&text), STR("\\\n"));
        snprintf(after, sizeof(after), "%s%s", open ? "\n" : "", line);
        r = add_line(spec, path, buf_str(&text), text.n, after, 0440, e);
    }
    buf_release(&text);
    return r;
}

/*
 * Before another name of the same uid, so that programs which ask for the
 * uid's name (whoami, sudo) get this one.
 */
static int add_passwd(const struct users_spec *spec, const struct user *u,
                      struct str text, struct err *e)
{
    static const char path[] = "/etc/passwd";
    char line[512], number[16];
    bool fresh = text.n == 0;
    snprintf(number, sizeof(number), "%u", (unsigned)u->uid);
    struct str same = u->uid ? find_line(text, 2, str_of(number)) : str_n(NULL, 0);
    snprintf(line, sizeof(line), "%s%s:%s:%u:%u::%s:%s\n",
             fresh ? "root:x:0:0:root:/root:/bin/sh\n" : "", u->name,
             there(spec, "/etc/shadow") ? "x" : "!", (unsigned)u->uid, (unsigned)u->gid,
             u->home, u->shell);
    if (same.p)
        log_warn("uid %u is %.*s already: %s is another name of the same user",
                 (unsigned)u->uid, STR_ARG(field(same, 0)), u->name);
    return add_line(spec, path, text, same.p ? (size_t)(same.p - text.p) : text.n, line,
                    0644, e);
}

static int make_user(const struct users_spec *spec, struct str passwd, struct user *u,
                     struct err *e)
{
    char p[PATH_SIZE];
    if (mkdir(at(spec, "/etc", p), 0755) < 0 && errno != EEXIST)
        return err_sys(e, errno, "cannot make /etc");
    users_make_home(spec, u);
    if (add_shadow(spec, e) < 0 || add_groups(spec, e) < 0 || add_sudo(spec, e) < 0)
        return -1;
    return add_passwd(spec, u, passwd, e);
}

/* ---- one at a time ---- */

static void on_alarm(int signo) { (void)signo; }

/*
 * Locks a folder that is never replaced, against other servers that do the same. Waits
 * for LOCK_SECONDS at most, then goes on unlocked, because any process may hold the lock.
 * Returns -1 if the folder cannot be opened; then there is no lock.
 */
static int take_lock(const struct users_spec *spec)
{
    char p[PATH_SIZE];
    struct sigaction wake = {.sa_handler = on_alarm}, before;
    int fd = open(at(spec, "/", p), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0)
        return fd;
    sigaction(SIGALRM, &wake, &before);
    alarm(LOCK_SECONDS);
    if (flock(fd, LOCK_EX) < 0)
        log_warn("another process holds a lock on /: going on without it");
    alarm(0);
    sigaction(SIGALRM, &before, NULL);
    return fd;
}

/* ---- all of it ---- */

static bool is_name(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > USERS_NAME_MAX || name[0] == '-' ||
        (name[0] >= '0' && name[0] <= '9'))
        return false;
    return strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == n;
}

/* /etc cannot be written: the user is only a number. */
static void go_nameless(const struct users_spec *spec, struct user *u,
                        const struct err *why)
{
    users_make_spare_home(spec, u);
    log_warn(
        "cannot make the user %s: %s; its sessions are uid %u without a name, at home in "
        "%s",
        spec->name, why->text, (unsigned)u->uid, u->home);
}

static int find_user(const struct users_spec *spec, struct user *u, struct err *e)
{
    struct buf passwd = BUF_INIT(FILE_MAX);
    struct err why = ERR_INIT;
    *u = (struct user){.uid = spec->uid};
    if (!is_name(spec->name))
        return err_set(e, ERR_INVALID,
                       "--username takes at most %d small letters, digits, _ and -, not "
                       "beginning with a digit or -; it got \"%.80s\"",
                       USERS_NAME_MAX, spec->name);
    snprintf(u->name, sizeof(u->name), "%s", spec->name);
    snprintf(u->home, sizeof(u->home), "/home/%s", spec->name);
    snprintf(u->shell, sizeof(u->shell), "%s",
             there(spec, "/bin/bash") ? "/bin/bash" : "/bin/sh");
    int lock = geteuid() == 0 ? take_lock(spec) : -1;
    int r = load(spec, "/etc/passwd", &passwd);
    struct str line = find_line(buf_str(&passwd), 0, str_of(spec->name));
    if (r < 0) {
        err_sys(&why, errno, "cannot read /etc/passwd");
        go_nameless(spec, u, &why);
    } else if (line.p && read_user(line, u) == 0) {
        if (u->uid != spec->uid)
            log_warn("the user %s exists with uid %u: --user-id %u does not count",
                     u->name, (unsigned)u->uid, (unsigned)spec->uid);
    } else if (geteuid() != 0) {
        *u = (struct user){.uid = geteuid(), .gid = getegid()};
        log_warn(
            "cannot make the user %s: the server is uid %u and not root; sessions are "
            "its own",
            spec->name, (unsigned)u->uid);
    } else if (strcmp(spec->name, "root") == 0) {
        u->uid = 0; /* needs no line */
        snprintf(u->home, sizeof(u->home), "/root");
    } else if (make_user(spec, buf_str(&passwd), u, &why) < 0) {
        go_nameless(spec, u, &why);
    } else {
        u->listed = true;
    }
    if (lock >= 0)
        close(lock);
    buf_release(&passwd);
    return 0;
}

/* root when the group is unknown. */
static gid_t group_of(const struct users_spec *spec)
{
    struct buf text = BUF_INIT(FILE_MAX);
    struct str name = str_of(spec->group ? spec->group : "root");
    uint64_t gid = 0;
    if (str_to_u64(name, &gid) < 0 && !str_eq(name, STR("root"))) {
        struct str line = load(spec, "/etc/group", &text) == 0
                              ? find_line(buf_str(&text), 0, name)
                              : str_n(NULL, 0);
        if (!line.p || str_to_u64(field(line, 2), &gid) < 0)
            log_warn("there is no group %.*s: the working directory is root's",
                     STR_ARG(name));
    }
    buf_release(&text);
    return (gid_t)gid;
}

int users_prepare(const struct users_spec *spec, struct user *out, struct err *e)
{
    struct user u = {.uid = geteuid(), .gid = getegid()};
    char p[PATH_SIZE];
    if (spec->name && *spec->name && find_user(spec, &u, e) < 0)
        return -1;
    if (out)
        *out = u;
    if (!spec->dir || !*spec->dir)
        return 0;
    if (users_make_dir(at(spec, spec->dir, p), e) < 0)
        return -1;
    if (geteuid() == 0)
        users_give_dir(p, u.uid, group_of(spec));
    return 0;
}
