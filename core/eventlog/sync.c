/* SPDX-License-Identifier: MIT */
/*
 * When events reach the disk itself.
 *
 * Once a second, and only if there is something new, a helper process calls
 * fdatasync. The call takes about 10 ms, and far longer on a busy disk, while
 * starting the helper takes 0.1 ms. The helper has copies of the descriptors, so
 * segments may come and go meanwhile. If no helper can be started, fdatasync is
 * called here.
 */
#include "eventlog/own.h"

#include "base/log.h"

#include <errno.h>
#include <unistd.h>

static void failed(struct eventlog *l, const char *why)
{
    if (!l->sync_failed)
        log_error("events in %s may not outlive a power cut: %s", l->name, why);
    l->sync_failed = true;
}

/*
 * Descriptors written to since the last call, in the order in which they are to reach the
 * disk, JOB_FDS_MAX at most. Returns how many. close_version follows.
 */
static unsigned take_dirty(struct eventlog *l, int fds[JOB_FDS_MAX])
{
    unsigned n = 0;
    if (l->version > 0)
        fds[n++] = l->version;
    if (l->dir_dirty)
        fds[n++] = l->dir;
    l->dir_dirty = false;
    /* The dirty ones are the last, but the very last may be empty and not dirty. */
    for (size_t i = l->segs; i > 0 && n < JOB_FDS_MAX; i--) {
        struct segment *s = &l->seg[i - 1];
        if (s->dirty)
            fds[n++] = s->fd;
        else if (i < l->segs)
            break;
        s->dirty = false;
    }
    return n;
}

static void close_version(struct eventlog *l)
{
    if (l->version > 0)
        close(l->version);
    l->version = 0;
}

static int sync_fds(const int *fds, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (fdatasync(fds[i]) < 0)
            return -1;
    }
    return 0;
}

void sync_now(struct eventlog *l)
{
    int fds[JOB_FDS_MAX];
    unsigned n = take_dirty(l, fds);
    if (sync_fds(fds, n) < 0)
        failed(l, strerror(errno));
    else if (n)
        l->sync_failed = false;
    close_version(l);
}

static int in_helper(void *arg, const struct job_child *c, struct err *e)
{
    const unsigned *n = arg;
    if (sync_fds(c->fds, *n) < 0)
        return err_sys(e, errno, "fdatasync");
    return 0;
}

static void on_timer(struct timer *t);

static void on_done(struct job *j, const struct err *e)
{
    struct eventlog *l = job_owner(j);
    l->sync_job = NULL;
    if (e->code)
        failed(l, e->text);
    else
        l->sync_failed = false;
    if (l->sync_again)
        timer_begin(l->loop, &l->sync_timer, SYNC_MS, on_timer);
}

static const struct job_events events = {.on_done = on_done};

static void on_timer(struct timer *t)
{
    struct eventlog *l = container_of(t, struct eventlog, sync_timer);
    int fds[JOB_FDS_MAX];
    unsigned n = take_dirty(l, fds);
    struct job_spec spec = {.what = "synchronising events",
                            .fn = in_helper,
                            .arg = &n,
                            .fds = fds,
                            .fds_n = n,
                            .ev = &events,
                            .owner = l};
    l->sync_again = false;
    l->sync_job = n ? job_start(l->loop, &spec, NULL) : NULL;
    if (n && !l->sync_job && sync_fds(fds, n) < 0)
        failed(l, strerror(errno));
    close_version(l);
}

void sync_written(struct eventlog *l)
{
    if (l->sync == EVENTLOG_SYNC_NONE || l->dir < 0)
        return;
    newest(l)->dirty = true;
    if (l->sync == EVENTLOG_SYNC_ALWAYS)
        sync_now(l);
    else if (l->sync_job)
        l->sync_again = true;
    else if (!timer_active(&l->sync_timer))
        timer_begin(l->loop, &l->sync_timer, SYNC_MS, on_timer);
}

void sync_born(struct eventlog *l)
{
    if (l->version > 0 && !timer_active(&l->sync_timer))
        timer_begin(l->loop, &l->sync_timer, SYNC_MS, on_timer);
}

void sync_close(struct eventlog *l)
{
    timer_stop(&l->sync_timer);
    if (l->sync_job)
        job_cancel(l->sync_job);
    l->sync_job = NULL;
    if (l->sync == EVENTLOG_SYNC_NONE || l->dir < 0)
        return;
    /* The cancelled helper may not have synchronised the newest segment. */
    newest(l)->dirty = newest(l)->dirty || newest(l)->bytes > 0;
    sync_now(l);
}
