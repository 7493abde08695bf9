/* SPDX-License-Identifier: MIT */
/*
 * Slow or risky work in a forked helper: a C function, its bytes through a
 * pipe, one result. Cancel is a kill, a crash is an error, memory is the child's.
 *
 * The function runs in a copy of this process and touches no loop and no
 * engine object, and starts no process (what it leaves behind is killed). The child has
 * default signals, a process group of its own and these descriptors only: 0 is the input
 * (else /dev/null), 1 the output, 2 the log, and copies of those named. It dies with its
 * parent, gains no privileges, dumps no core, runs no atexit handlers. If this process
 * has a fence (os/within.h), the child uses files within that only.
 *
 * on_done is called once, when the child has been reaped (waitpid that does not
 * block, after its pipes ended) and its bytes were consumed.
 */
#ifndef OD_IO_JOB_H
#define OD_IO_JOB_H

#include "base/buf.h"
#include "base/err.h"
#include "io/loop.h"

#include <sys/types.h>

enum {
    JOB_FDS_MAX = 8,
    JOB_NOTE_MAX = 4000,   /* bytes of one note: a pipe takes it whole */
    JOB_BUFFER = 256 << 10 /* bytes each way, beside the kernel's */
};

struct job;

/* ---- the child's side ---- */

struct job_child {
    int in, out;          /* 0 and 1 */
    int fds[JOB_FDS_MAX]; /* copies of spec.fds, in their order */
    int control;
};

/* Runs in the child. 0, or -1 with e filled; bytes for the parent go to c->out. */
typedef int job_fn(void *arg, const struct job_child *c, struct err *e);

/*
 * A message of at most JOB_NOTE_MAX bytes for on_note: progress, warnings.
 * Blocks while the parent is behind; longer ones are cut.
 */
void job_note(const struct job_child *c, struct str note);
/*
 * At the end of the input: did job_end_input end it? Else the parent is gone, and more
 * might have come.
 */
bool job_input_whole(const struct job_child *c);
/* All of the bytes to c->out. -1 with errno. */
int job_put(const struct job_child *c, struct str bytes);

/* ---- the parent's side ---- */

struct job_events {
    /*
     * `in` has more than before; consume what can be used. What is left stays;
     * when `in` is full nothing more is read until job_resume. NULL: bytes are dropped.
     */
    void (*on_data)(struct job *j, struct buf *in);
    /* The input's buffer is half empty again; may be NULL. */
    void (*on_room)(struct job *j);
    /* May be NULL. */
    void (*on_note)(struct job *j, struct str note);
    /*
     * Once, after the last byte was consumed; ERR_NONE: it worked. The job is freed
     * when this returns.
     */
    void (*on_done)(struct job *j, const struct err *e);
    /* May be NULL. The child is reaped, after a cancel too: the owner may be freed. */
    void (*on_gone)(void *owner);
};

struct job_spec {
    const char *what; /* for sentences: "zipping /x"; copied */
    job_fn *fn;
    void *arg; /* the child has a copy of what it points to */
    /*
     * Instead of fn: a program and its arguments, NULL at the end, looked up in PATH. It
     * reads fds[0], or nothing; its error output is the job's output, in the words of the
     * locale C; what it prints is dropped. An exit status other than 0 is the error
     * INVALID.
     */
    char *const *program;
    const int *fds;     /* the caller's, who may close them after job_start */
    unsigned fds_n;     /* at most JOB_FDS_MAX */
    bool input;         /* the child reads what job_write gives */
    size_t memory;      /* bytes more than this process has now; 0: no limit */
    unsigned cpu_s;     /* seconds of processor time; 0: no limit */
    unsigned files;     /* open descriptors; 0: as here */
    uint64_t file_size; /* bytes of one file; writing more is EFBIG; 0: no limit */
    int nice;           /* added */
    bool unfenced; /* it acts for the server alone: not within the fence */
    bool as_user;       /* become uid, gid and groups, before cwd is entered */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* NULL: stay */
    const struct job_events *ev;
    void *owner; /* borrowed: job_owner */
};

/* The loop owns it until on_done or job_cancel. NULL with e: nothing runs. */
struct job *job_start(struct loop *l, const struct job_spec *spec, struct err *e);
void *job_owner(const struct job *j);
/*
 * Kills the child, which the loop reaps. Of the callbacks only on_gone follows, and j
 * must not be used again. Allowed in every callback except on_done.
 */
void job_cancel(struct job *j);

/* Stops on_data, and with it the child, until job_resume. */
void job_pause(struct job *j);
/* Reads on; on_data is called for what is in the buffer in the loop's next turn. */
void job_resume(struct job *j);

/*
 * Queues input. -1: no room (at most JOB_BUFFER), nothing was taken. If the child
 * reads no more, input is accepted and dropped: its result says why.
 */
int job_write(struct job *j, struct str bytes);
size_t job_room(const struct job *j);
/* on_room is called when the input's buffer is half empty, though nothing was refused. */
void job_want_room(struct job *j);
/* No more input: the child reads end of file after what is queued. */
void job_end_input(struct job *j);

#endif
