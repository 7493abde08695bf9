/* SPDX-License-Identifier: MIT */
/*
 * What the shell tells beside its output: the records in the file r (shell.h).
 * Shell code of the user can write there too, so nothing is believed that does
 * not fit, and nothing more is lost by it than what the session knows of itself.
 */
#include "shell/session_own.h"

#include "base/limits.h"
#include "base/xalloc.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    FIELDS = 7,     /* of an E or P */
    READ = 16 << 10 /* holds the longest record: CWD, PATH, and little else */
};

/* A PATH that was cut ends with the last directory that is whole. */
static void take_path(struct session *s, struct str path)
{
    if (path.n >= sizeof(s->path)) {
        path.n = sizeof(s->path) - 1;
        while (path.n > 0 && path.p[path.n] != ':')
            path.n--;
    }
    session_copy(s->path, sizeof(s->path), path);
}

void session_first_path(struct session *s)
{
    struct buf extra = BUF_INIT(SPAWN_ENV_MAX), space = BUF_INIT(SPAWN_ENV_MAX);
    buf_adds(&extra, buf_str(&s->opts_env));
    buf_adds(&extra, buf_str(&s->env));
    char **env = engine_env(s->en, buf_str(&extra), &space);
    const char *path = env_get(env, "PATH");
    take_path(s, str_of(path ? path : ""));
    s->last_background = 0;
    free(env);
    buf_release(&extra);
    buf_release(&space);
}

static void note_dropped(struct session *s, struct str line)
{
    /* A line of ours that was typed just before the command ended is no input. */
    if (!s->dropped[0] && str_find(line, str_of(s->sh.dir)) < 0)
        snprintf(s->dropped, sizeof(s->dropped),
                 "input that nobody had read was dropped: %.*s",
                 line.n > 80 ? 80 : (int)line.n, line.p);
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
    s->record_seq = seq;
    s->record_status = (int)status;
    if (str_eq(f[0], STR("E"))) {
        s->end_seq = seq;
        s->end_status = (int)status;
    }
    if (f[3].n < sizeof(s->flags))
        session_copy(s->flags, sizeof(s->flags), f[3]);
    if (f[4].n > 0 && f[4].n < sizeof(s->cwd))
        session_copy(s->cwd, sizeof(s->cwd), f[4]);
    s->last_background = str_to_u64(f[5], &job) == 0 && job <= INT32_MAX ? (pid_t)job : 0;
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
    if (s->record_fd < 0)
        session_reserve_records(s);
    if (s->record_fd < 0)
        return;
    /* The worker before may have begun the file anew and died before it said so. */
    struct stat st;
    if (fstat(s->record_fd, &st) == 0 && (uint64_t)st.st_size < s->records)
        s->records = 0;
    ssize_t n;
    while ((n = pread(s->record_fd, bytes, sizeof(bytes), (off_t)s->records)) > 0) {
        size_t used = take_records(s, str_n(bytes, (size_t)n));
        if (used == 0 && (size_t)n == sizeof(bytes))
            used = (size_t)n; /* longer than any that we write */
        s->records += used;
        if (used == 0 || (size_t)n < sizeof(bytes))
            break;
    }
}

void session_empty_records(struct session *s)
{
    if (s->records <= RECORDS_MAX)
        return;
    session_save(s);
    if (ftruncate(s->record_fd, 0) == 0) {
        s->records = 0;
        session_reserve_records(s);
    }
}
