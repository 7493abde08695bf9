/* SPDX-License-Identifier: MIT */
/*
 * A program in the child of a job (io/job.h): run, watched and waited for. It is in the
 * job's process group, so that a cancel and the end of the job end it, with everything
 * that it leaves behind.
 *
 * Blocking. Nothing here is called in a process with a loop.
 */
#ifndef OD_IO_JOB_RUN_H
#define OD_IO_JOB_RUN_H

#include "base/buf.h"
#include "base/err.h"

struct job_run {
    const char *what;   /* for sentences: "git diff"; NULL: argv[0] */
    char *const *argv;  /* NULL at the end; argv[0] is looked up in PATH */
    char *const *env;   /* NULL: that of this process */
    const char *cwd;    /* NULL: stay */
    int in;             /* becomes its input; -1: it has none */
    struct buf *out;    /* gets its output; more than the maximum is the error LIMIT */
    int out_fd;         /* without out: gets its output as it comes; -1: it is dropped */
    struct buf *err;    /* gets its error output, cut at the maximum */
    int err_fd;         /* without err: becomes its error output; -1: it is dropped */
    unsigned quiet_ms;  /* of out_fd: the longest time without output; 0: any */
    unsigned within_ms; /* else: the longest time to its end; 0: any */
};

/*
 * Runs it. Returns 0 with *status as waitpid has it, whatever it is. Returns -1 with *e:
 *
 *   NOTFOUND  there is no such program, or no such directory
 *   DENIED    it may not be run, or entered
 *   TIMEOUT   it took longer than allowed, and was killed
 *   LIMIT     out is full, and it was killed
 *   IO        out_fd takes no more, and it was killed; or anything else
 *
 * Output that arrives after the end of the program, from processes that it left behind,
 * is waited for JOB_RUN_GRACE_MS.
 */
enum { JOB_RUN_GRACE_MS = 500 };
int job_run(const struct job_run *q, int *status, struct err *e);

#endif
