/* SPDX-License-Identifier: MIT */
/*
 * What the shell reports apart from its output: the records in the file r (shell.h).
 * Shell code of the user can write there, too. Records that do not fit are ignored; a
 * forged one can only mislead this session about itself.
 */
#include "shell/session_own.h"

#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "shell/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIELDS = 7,     /* of an E or P */
    READ = 16 << 10 /* holds the longest record: CWD, PATH, and little else */
};

/* A PATH that was cut ends with the last directory that is whole. */
static void take_path(struct session *s, struct str path)
{
    if (path.n >= SESSION_TEXT_MAX) {
        path.n = SESSION_TEXT_MAX - 1;
        while (path.n > 0 && path.p[path.n] != ':')
            path.n--;
    }
    session_keep(&s->report.path, path);
}

void session_set_cwd(struct session *s, struct str cwd)
{
    session_keep(&s->report.cwd, cwd);
}

void session_dropped_told(struct session *s) { s->report.dropped[0] = 0; }

void session_first_flags(struct session *s)
{
    memcpy(s->report.flags, "!", 2);
    s->report.output_away = false;
}

bool session_edits(const struct session *s)
{
    return s->sh.kind != SHELL_POSIX && strchr(s->report.flags, '!');
}

bool session_extglob(const struct session *s) { return strchr(s->report.flags, '*'); }

void session_first_path(struct session *s)
{
    struct buf extra = BUF_INIT(SPAWN_ENV_MAX), space = BUF_INIT(SPAWN_ENV_MAX);
    buf_adds(&extra, buf_str(&s->given.env));
    buf_adds(&extra, buf_str(&s->env.vars));
    char **env = engine_env(s->en, buf_str(&extra), &space);
    const char *path = env_get(env, "PATH");
    take_path(s, str_of(path ? path : ""));
    s->report.last_background = 0;
    free(env);
    buf_release(&extra);
    buf_release(&space);
}

static void note_dropped(struct session *s, struct str line)
{
    if (str_find(line, STR("__od")) >= 0)
        session_switch_dropped(s);
    /* A line of ours that was typed just before the command ended is not input. */
    if (!s->report.dropped[0] && str_find(line, str_of(s->sh.dir)) < 0 &&
        str_find(line, STR("__od")) < 0 && !session_ask_typed(s, line))
        snprintf(s->report.dropped, sizeof(s->report.dropped),
                 NOTE_DROPPED_TEXT "%.*s", line.n > 80 ? 80 : (int)line.n, line.p);
}

static void take_record(struct session *s, const struct str *f, int n)
{
    if (n == 2) {
        note_dropped(s, f[1]);
        return;
    }
    uint64_t seq, status, job;
    if (str_to_u64(f[1], &seq) < 0 || str_to_u64(f[2], &status) < 0)
        return;
    s->report.seq = seq;
    s->report.status = (int)status;
    if (str_eq(f[0], STR("E"))) {
        s->report.end_seq = seq;
        s->report.end_status = (int)status;
    }
    if (f[3].n < sizeof(s->report.flags))
        session_copy(s->report.flags, sizeof(s->report.flags), f[3]);
    if (f[4].n > 0 && f[4].n < SESSION_TEXT_MAX)
        session_set_cwd(s, f[4]);
    s->report.last_background = str_to_u64(f[5], &job) == 0 && job <= INT32_MAX
                                    ? (pid_t)job
                                    : 0;
    take_path(s, f[6]);
}

/* Bytes of the whole records at the beginning, which are taken. */
static size_t take_records(struct session *s, struct str rest)
{
    struct str f[FIELDS];
    size_t used = 0;
    while (rest.n > 0) {
        struct str at = rest;
        int want = at.p[0] == 'D' ? 2 : FIELDS, got = 0;
        while (got < want && at.n > 0 && memchr(at.p, 0, at.n))
            f[got++] = str_cut(&at, 0);
        if (got < want)
            break;
        take_record(s, f, got);
        used += rest.n - at.n;
        rest = at;
    }
    return used;
}

void session_read_records(struct session *s)
{
    NOT_ZEROED char bytes[READ];
    if (s->report.fd < 0)
        session_reserve_records(s);
    if (s->report.fd < 0)
        return;
    /* The previous worker may have emptied the file and died before it stored that. */
    struct stat st;
    if (!s->report.sized && fstat(s->report.fd, &st) == 0 &&
        (uint64_t)st.st_size < s->report.at)
        s->report.at = 0;
    s->report.sized = true;
    ssize_t n;
    while ((n = pread(s->report.fd, bytes, sizeof(bytes), (off_t)s->report.at)) > 0) {
        size_t used = take_records(s, str_n(bytes, (size_t)n));
        if (used == 0 && (size_t)n == sizeof(bytes))
            used = (size_t)n; /* longer than any that we write */
        s->report.at += used;
        if (used == 0 || (size_t)n < sizeof(bytes))
            break;
    }
}

void session_empty_records(struct session *s)
{
    bool full = s->en->disk_left != UINT64_MAX;
    if (s->report.at <= (full ? RECORDS_FULL : RECORDS_MAX) || s->tty.overtaken)
        return;
    session_save(s);
    if (ftruncate(s->report.fd, 0) == 0) {
        s->report.at = 0;
        session_reserve_records(s);
    }
}

/* Has space given to the file. Returns -1 with errno. */
static int give_space(int fd)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, RECORDS_MAX + RECORDS_MORE) == 0)
        return 0;
    return fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, SPARE_BYTES);
}

static int open_records(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* On a full disk an empty file is replaced by one that has space. */
static void take_spare(struct session *s, const char *path)
{
    struct stat st;
    int errnum = errno;
    if (errnum == EOPNOTSUPP && s->en->disk_left != UINT64_MAX)
        errnum = ENOSPC;
    if (fstat(s->report.fd, &st) < 0 || st.st_size > FIELDS ||
        !spare_take(s->en, errnum, "r", path)) {
        log_debug("session %s: cannot reserve %s: %s", s->name, path, strerror(errnum));
        return;
    }
    int fd = open_records(path);
    if (fd < 0)
        return;
    /* One of zeros keeps the first of them, and so its first block: they are a record
     * that says nothing. */
    if ((s->uid != s->en->uid && fchown(fd, s->uid, s->gid) < 0) ||
        (fstat(fd, &st) == 0 && st.st_size > FIELDS && ftruncate(fd, FIELDS) < 0))
        log_warn("session %s: cannot prepare %s: %m", s->name, path);
    close(s->report.fd);
    s->report.fd = fd;
}

void session_reserve_records(struct session *s)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/r", s->sh.dir);
    if (s->report.fd < 0)
        s->report.fd = open_records(path);
    if (s->report.fd >= 0 && give_space(s->report.fd) < 0)
        take_spare(s, path);
}

void session_drop_records(struct session *s)
{
    if (s->report.fd >= 0) /* of another file, if the folder was removed */
        close(s->report.fd);
    s->report.fd = -1;
    s->report.at = 0;
    s->report.sized = false;
}

/* ---- where the output goes ---- */

/* The file behind a descriptor of the shell. False: a terminal, or it has no path. */
static bool file_of(const struct session *s, int fd, char *to, size_t size)
{
    char path[32];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)s->proc.r.pid, fd);
    ssize_t n = readlink(path, to, size - 1);
    to[n > 0 ? n : 0] = 0;
    return to[0] == '/' && !str_starts(str_of(to), STR("/dev/tty")) &&
           !str_starts(str_of(to), STR("/dev/pts/")) &&
           str_find(str_of(to), str_of(s->sh.dir)) < 0;
}

void session_check_output(struct session *s)
{
    /* While it writes its mark, bash keeps the descriptor aside: from 10 on, or from 256
     * on where the mark goes to 255. It may put it back between two looks, so the place
     * itself is last. */
    static const int places[] = {STDOUT_FILENO, 256, 257, 10, 11, 12, 13, STDOUT_FILENO};
    bool was = s->report.output_away;
    s->report.output_away = s->sh.pty && strchr(s->report.flags, '@');
    if (was || !s->report.output_away)
        return;
    char to[200], text[300];
    bool file = false;
    for (size_t i = 0; !file && i < sizeof(places) / sizeof(places[0]); i++)
        file = file_of(s, places[i], to, sizeof(to));
    snprintf(text, sizeof(text),
             "the output of this shell now goes %s%s: exec >/dev/tty brings it back",
             file ? "to " : "elsewhere", file ? to : "");
    session_notify(&s->run.waiters, NOTE_OUTPUT, text);
}
