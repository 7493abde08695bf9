/* SPDX-License-Identifier: MIT */
/*
 * Which folders have changed since the last scan, by inotify(7), so that the next scan
 * takes the others from the last manifest instead of asking for each of their files.
 *
 * A process that outlives the scans has two descriptors, and does nothing with them: an
 * inotify instance, and a file in memory with the table of its watches. The scan adds a
 * watch to each folder before it reads it, and the next scan reads the events. A watch
 * goes with its first event, so that a build that writes ten thousand files costs as many
 * events as it has folders, and nobody has to read them meanwhile. No event is lost when
 * a process ends: the events are in the kernel, and a scan that was killed leaves a table
 * that does not count.
 *
 * What inotify does not report is looked at each time, or lets the whole tree be read:
 *
 *   the tree is read whole     after a start of the server, after an overflow, if the
 *                              limit of watches is reached, on file systems other than
 *                              those in watch.c, after a mount, if the last checkpoint is
 *                              not the one that was watched, if packs of the store
 *                              changed, if a process cannot be looked at in /proc, and
 *                              WATCH_WHOLE_MS after the last time
 *   a folder is read           if it had an event, or has a file with several names, a
 *                              gap, or a file so new that its time does not tell; if a
 *                              process has a file of it open or mapped for writing
 *
 * So what can be missed, for at most WATCH_WHOLE_MS: a change by a name outside of the
 * tree that was linked after the last scan; one by a mapping of a process that is in no
 * /proc here (another container), or of the first process or of the server where these
 * may not be looked at; and one by the kernel itself (a loop device). A rollback loses
 * nothing by that: it asks for each file again before it touches it, and leaves one alone
 * that is not what was read.
 */
#ifndef OD_CHECKPOINT_WATCH_H
#define OD_CHECKPOINT_WATCH_H

#include "checkpoint/manifest.h"
#include "checkpoint/mapped.h"

enum {
    WATCH_FOLDERS = 32768, /* at most, and a quarter of what the kernel gives a user */
    WATCH_WHOLE_MS = 60000,
    WATCH_REFUSED_MS = 600000 /* after a failure, for so long no watches are added */
};

struct watch_fds {
    int events, table; /* 0: none */
};
/* Opens both, closed on exec. Returns -1 with errno. */
int watch_open(struct watch_fds *out);

/* Files, other entries and bytes in a folder and below it; folders: with itself. */
struct watch_sums {
    uint64_t files, folders, others, bytes;
};

struct scan_watch;
/*
 * Begins a scan. key: all that the scan depends on beside the tree. last: the manifest of
 * folders of the last checkpoint. m: what programs have mapped now. Returns NULL if there
 * can be no watches. The store's lock is held until watch_end.
 */
struct scan_watch *watch_begin(const struct watch_fds *fds, struct store *s,
                               const struct content_sum *key,
                               const struct content_ref *last, const struct mapped *m);
/* The scan is repeated: it reads all. */
void watch_again(struct scan_watch *w);
/* Must it be? */
bool watch_needs_all(const struct scan_watch *w);
/*
 * Enters the folder at fd, and watches it from here on: what is read before may be old.
 */
void watch_enter(struct scan_watch *w, int fd, uint64_t dev, uint64_t ino);
/* Leaves it. sums: of the folder. */
void watch_leave(struct scan_watch *w, const struct watch_sums *sums);
/*
 * Is the folder, in the one that was entered, unchanged with all below it? Then it counts
 * as read, and *sums is set.
 */
bool watch_take(struct scan_watch *w, uint64_t dev, uint64_t ino,
                struct watch_sums *sums);
/* The folder that was entered is to be read the next time, too. */
void watch_check(struct scan_watch *w);
/*
 * An entry of the folder was read, of which the last manifest has was (NULL: none).
 */
void watch_entry(struct scan_watch *w, const struct file_node *x,
                 const struct file_node *was);
/*
 * Ends it, and frees w. tree: the manifest of folders, which is in the store; NULL: the
 * scan has failed.
 */
void watch_end(struct scan_watch *w, const struct content_ref *tree);

#endif
