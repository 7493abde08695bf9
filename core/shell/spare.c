/* SPDX-License-Identifier: MIT */
/* Making the files of spare.h, and handing them out. */
#include "shell/spare.h"

#include "base/log.h"
#include "base/xalloc.h"
#include "engine/engine.h"
#include "engine/part.h"
#include "io/job.h"
#include "os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    FOLDERS = 8,
    FOLDER_BYTES = 3 * SPARE_BYTES + 8192, /* with its metadata */
    FOLDER_INODES = 6,
    SHARE = 16,     /* of the disk at most, as its part */
    FIRST_MS = 1000, /* after the start of the worker */
    AGAIN_MS = 10000 /* between two looks for room, when some are missing */
};

struct spares {
    struct engine *en; /* borrowed */
    struct timer timer;
    struct job *job; /* NULL: none is running */
};

static const char *const files[] = {"p", "r", "c"};
static const char *const fifos[] = {"e", "i"};

/* ---- in the helper ---- */

static int make_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return errno == EEXIST ? 0 : -1;
    int r = file_reserve(fd, 0, SPARE_BYTES);
    if (r < 0)
        unlinkat(dir, name, 0);
    close(fd);
    return r;
}

static int make_folder(const char *path)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return -1;
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), r = dir;
    for (size_t i = 0; r >= 0 && i < sizeof(files) / sizeof(files[0]); i++)
        r = make_file(dir, files[i]);
    for (size_t i = 0; r >= 0 && i < sizeof(fifos) / sizeof(fifos[0]); i++)
        r = mkfifoat(dir, fifos[i], 0600) < 0 && errno != EEXIST ? -1 : 0;
    if (dir >= 0)
        close(dir);
    return r < 0 ? -1 : 0;
}

/* How many folders this disk may have. */
static unsigned wanted(const char *dir)
{
    struct statvfs s;
    if (statvfs(dir, &s) < 0)
        return 0;
    uint64_t bytes = (uint64_t)s.f_blocks * s.f_frsize / SHARE / FOLDER_BYTES;
    return bytes < FOLDERS ? (unsigned)bytes : FOLDERS;
}

static int in_helper(void *arg, const struct job_child *c, struct err *e)
{
    const char *dir = arg;
    char path[300];
    (void)c;
    unsigned n = wanted(dir);
    for (unsigned i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%u", dir, i);
        if (make_folder(path) < 0)
            return err_sys(e, errno, "cannot make %s", path);
    }
    return 0;
}

/* ---- in the worker ---- */

static void on_timer(struct timer *t);

static void on_done(struct job *j, const struct err *e)
{
    struct spares *s = job_owner(j);
    s->job = NULL;
    if (!e->code)
        return;
    log_debug("nothing more is reserved for sessions: %s", e->text);
    timer_begin(s->en->loop, &s->timer, AGAIN_MS, on_timer);
}

static const struct job_events events = {.on_done = on_done};

/* Is there twice the room that all of them take? */
static bool room_for_all(const char *dir)
{
    struct statvfs s;
    uint64_t need = (uint64_t)wanted(dir) * FOLDER_BYTES;
    return statvfs(dir, &s) == 0 && (uint64_t)s.f_bavail * s.f_frsize > 2 * need &&
           (s.f_files == 0 || s.f_favail > 2 * FOLDERS * FOLDER_INODES);
}

static void on_timer(struct timer *t)
{
    struct spares *s = container_of(t, struct spares, timer);
    char dir[sizeof(s->en->state_dir) + 16];
    if (s->job || !s->en->state_dir[0])
        return;
    if (!room_for_all(s->en->state_dir) ||
        engine_state_folder(s->en, "reserve", 0700, dir, sizeof(dir), NULL) < 0) {
        timer_begin(s->en->loop, &s->timer, AGAIN_MS, on_timer);
        return;
    }
    struct job_spec spec = {.what = "reserving files for sessions",
                            .fn = in_helper,
                            .arg = dir,
                            .ev = &events,
                            .owner = s};
    s->job = job_start(s->en->loop, &spec, NULL);
}

bool spare_take(struct engine *en, int errnum, const char *name, const char *path)
{
    char from[300];
    if ((errnum != ENOSPC && errnum != EDQUOT) || !en->state_dir[0])
        return false;
    for (unsigned i = 0; i < FOLDERS; i++) {
        snprintf(from, sizeof(from), "%s/reserve/%u%s%s", en->state_dir, i,
                 name ? "/" : "", name ? name : "");
        if (rename(from, path) < 0)
            continue;
        if (en->spares && !en->spares->job && !timer_active(&en->spares->timer))
            timer_begin(en->loop, &en->spares->timer, AGAIN_MS, on_timer);
        return true;
    }
    errno = errnum;
    return false;
}

static void serve(struct engine *en)
{
    en->spares = xnew(struct spares);
    en->spares->en = en;
    timer_begin(en->loop, &en->spares->timer, FIRST_MS, on_timer);
}

const struct part part_spare = {.serve = serve};
