/* SPDX-License-Identifier: MIT */
/*
 * Room on the disk that a log has in advance, so that it goes on when the disk is full.
 *
 * It lies after the bytes of the newest segment, in the file itself but not in its size
 * (fallocate with KEEP_SIZE), so no other program can take it. A file system that cannot
 * do that gets a file of zeros instead, from which a piece is cut for an event that the
 * disk refuses; another program may be faster then.
 *
 * An append makes no call for this, except for the one in about fifty that uses up a
 * step, and a look at the disk once in a second; on a full disk each one looks.
 */
#include "eventlog/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ZEROS_NAME ".reserve"

enum {
    SHARE = 8,          /* of the disk at most, as its part */
    STEP = 32 << 10,    /* reserved at once beyond the reserve itself */
    PIECE = 32 << 10,   /* cut from the file of zeros at once */
    LOOK_MS = 1000,     /* between two looks whether the disk is full */
    METADATA = 16 << 10 /* of a file's blocks at most, where they are counted */
};

uint64_t reserve_size(int dir, uint64_t most)
{
    struct statvfs s;
    if (most == 0 || fstatvfs(dir, &s) < 0)
        return 0;
    uint64_t share = (uint64_t)s.f_blocks * s.f_frsize / SHARE;
    return share < most ? share : most;
}

bool reserve_full(int errnum) { return errnum == ENOSPC || errnum == EDQUOT; }

static void set_tight(struct eventlog *l, bool tight)
{
    if (tight && !l->tight)
        log_warn("the disk of %s is full: %llu KiB are reserved for events of small "
                 "actions; make room on it",
                 l->name, (unsigned long long)reserve_left(l) >> 10);
    else if (!tight && l->tight)
        log_info("the disk of %s has room again", l->name);
    l->tight = tight;
}

uint64_t reserve_left(const struct eventlog *l)
{
    const struct segment *s = newest(l);
    return l->zeros > 0 ? l->zeros_bytes : l->room > s->bytes ? l->room - s->bytes : 0;
}

/* ---- in the segment ---- */

/* Has n bytes after the segment's end allocated. Returns -1 with errno. */
static int extend(struct eventlog *l, struct segment *s, uint64_t n)
{
    if (fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->bytes, (off_t)n) < 0)
        return -1;
    l->room = s->bytes + n;
    return 0;
}

/* The room that an earlier worker reserved, on a disk that is full now. */
static void find_room(struct eventlog *l)
{
    const struct segment *s = newest(l);
    struct stat st;
    if (fstat(s->fd, &st) < 0)
        return;
    uint64_t blocks = (uint64_t)st.st_blocks * 512;
    l->room = blocks > s->bytes + METADATA ? blocks - METADATA : s->bytes;
}

/* ---- a file of zeros ---- */

/* Writes what is missing of it, as far as there is room. Returns -1 with errno. */
static int fill_zeros(struct eventlog *l)
{
    static char zeros[4096]; /* not constant: those would be in the program's file */
    while (l->zeros_bytes < l->reserve) {
        ssize_t n = pwrite(l->zeros, zeros, sizeof(zeros), (off_t)l->zeros_bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return -1;
        l->zeros_bytes += (uint64_t)n;
    }
    return 0;
}

static void make_zeros(struct eventlog *l)
{
    struct stat st;
    l->zeros = openat(l->dir, ZEROS_NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
                      0600);
    if (l->zeros < 0 || fstat(l->zeros, &st) < 0) {
        log_debug("%s has no reserve for a full disk: %m", l->name);
        l->reserve = 0;
        return;
    }
    l->zeros_bytes = (uint64_t)st.st_size;
    if (fill_zeros(l) < 0 && reserve_full(errno))
        set_tight(l, true);
}

bool reserve_cut(struct eventlog *l)
{
    if (l->zeros <= 0 || l->zeros_bytes == 0)
        return false;
    uint64_t to = l->zeros_bytes > PIECE ? l->zeros_bytes - PIECE : 0;
    if (ftruncate(l->zeros, (off_t)to) < 0)
        return false;
    l->zeros_bytes = to;
    set_tight(l, true);
    return true;
}

/* ---- both ---- */

/* Reserves what is missing. Returns -1 with errno. */
static int replenish(struct eventlog *l, struct segment *s, size_t n)
{
    if (l->zeros > 0)
        return fill_zeros(l);
    if (extend(l, s, n + l->reserve + STEP) == 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == ENOSYS) {
        make_zeros(l);
        return 0;
    }
    return -1;
}

/* Is there nothing left for us? A quota may end earlier, and shows in replenish. */
static bool disk_full(const struct eventlog *l)
{
    struct statvfs v;
    if (fstatvfs(l->dir, &v) < 0)
        return false;
    uint64_t blocks = geteuid() == 0 ? v.f_bfree : v.f_bavail;
    return blocks * v.f_frsize < STEP;
}

/* Reserves what is missing. Returns whether the disk is full. */
static bool find_full(struct eventlog *l, struct segment *s, size_t n, bool look)
{
    if (look ? disk_full(l) : l->tight)
        return true;
    if (replenish(l, s, n) == 0)
        return l->zeros > 0 && l->zeros_bytes < l->reserve;
    return reserve_full(errno); /* the write itself reports another error */
}

int reserve_for(struct eventlog *l, size_t n)
{
    struct segment *s = newest(l);
    if (l->dir < 0 || l->reserve == 0)
        return 0;
    bool zeros = l->zeros > 0;
    /* A piece of the zeros that was given up for this event is not taken back at once. */
    bool look = (l->tight && !zeros) || clock_ms() >= l->look_at;
    uint64_t end = s->bytes + n;
    if (!look && !l->tight && (zeros || end + l->reserve <= l->room))
        return 0;
    if (look)
        l->look_at = clock_ms() + LOOK_MS;
    bool full = find_full(l, s, n, look);
    if (full && !zeros && l->room == 0)
        find_room(l);
    set_tight(l, full);
    if (!full || zeros || end <= l->room || extend(l, s, n) == 0)
        return 0;
    return errno = ENOSPC, -1;
}

int reserve_begin(struct eventlog *l, int fd)
{
    if (l->reserve == 0 || l->zeros > 0 ||
        fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)l->reserve) == 0)
        return 0;
    return reserve_full(errno) ? -1 : 0;
}

void reserve_close(struct eventlog *l)
{
    if (l->zeros > 0)
        close(l->zeros);
    l->zeros = 0;
}
