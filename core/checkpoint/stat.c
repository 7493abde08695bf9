/* SPDX-License-Identifier: MIT */
/* What the kernel says of a file: statx(2), else fstatat(2). */
#include "checkpoint/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* struct statx of linux/stat.h, of which musl's has no mount. */
struct moment_of {
    int64_t s;
    uint32_t ns;
    int32_t pad;
};
struct stat_answer {
    uint32_t mask, blksize;
    uint64_t attributes;
    uint32_t nlink, uid, gid;
    uint16_t mode, pad;
    uint64_t ino, size, blocks, attributes_mask;
    struct moment_of atime, btime, ctime, mtime;
    uint32_t rdev_major, rdev_minor, dev_major, dev_minor;
    uint64_t mnt_id, spare[13];
};
_Static_assert(sizeof(struct stat_answer) == 256, "statx(2) writes 256 bytes");

enum {
    BASIC = 0x7ff,
    MOUNT = 0x1000,   /* Linux 5.8 */
    IMMUTABLE = 0x10, /* STATX_ATTR_IMMUTABLE */
    APPEND = 0x20     /* STATX_ATTR_APPEND */
};

static enum entry_type type_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFREG:
        return ENTRY_FILE;
    case S_IFDIR:
        return ENTRY_FOLDER;
    case S_IFLNK:
        return ENTRY_LINK;
    case S_IFIFO:
        return ENTRY_FIFO;
    case S_IFSOCK:
        return ENTRY_SOCKET;
    case S_IFCHR:
        return ENTRY_CHAR;
    default:
        return ENTRY_BLOCK;
    }
}

/* stat(2), where statx is refused. */
static int ask(int at, const char *name, struct stat_answer *a)
{
    struct stat st;
    if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) < 0)
        return -1;
    *a = (struct stat_answer){
        .nlink = (uint32_t)st.st_nlink,
        .uid = st.st_uid,
        .gid = st.st_gid,
        .mode = (uint16_t)st.st_mode,
        .ino = st.st_ino,
        .size = (uint64_t)st.st_size,
        .blocks = (uint64_t)st.st_blocks,
        .ctime = {st.st_ctim.tv_sec, (uint32_t)st.st_ctim.tv_nsec, 0},
        .mtime = {st.st_mtim.tv_sec, (uint32_t)st.st_mtim.tv_nsec, 0},
        .rdev_major = major(st.st_rdev),
        .rdev_minor = minor(st.st_rdev),
        .dev_major = major(st.st_dev),
        .dev_minor = minor(st.st_dev)};
    return 0;
}

int scan_stat(int at, const char *name, struct scan_stat *out)
{
    struct stat_answer a = {0};
    if (syscall(SYS_statx, at, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, BASIC | MOUNT,
                &a) < 0) {
        if ((errno != ENOSYS && errno != EPERM) || ask(at, name, &a) < 0)
            return -1;
    }
    *out = (struct scan_stat){.dev = makedev(a.dev_major, a.dev_minor),
                              .mount = a.mask & MOUNT ? a.mnt_id : 0,
                              .blocks = a.blocks,
                              .fixed = a.attributes & (IMMUTABLE | APPEND)};
    struct file_node *x = &out->x;
    x->type = type_of(a.mode);
    x->mode = a.mode & 07777;
    x->uid = a.uid;
    x->gid = a.gid;
    x->mtime = (struct moment){a.mtime.s, a.mtime.ns};
    x->ctime = (struct moment){a.ctime.s, a.ctime.ns};
    x->ino = a.ino;
    x->shared = x->type != ENTRY_FOLDER && a.nlink > 1;
    x->dev = x->shared ? out->dev : 0;
    x->size = x->type == ENTRY_FILE ? a.size : 0;
    if (x->type == ENTRY_CHAR || x->type == ENTRY_BLOCK)
        x->device = makedev(a.rdev_major, a.rdev_minor);
    return 0;
}

int scan_folder(int at, const char *name)
{
    const int how = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
    int fd = openat(at, name, how | O_NOATIME);
    return fd < 0 && errno == EPERM ? openat(at, name, how) : fd;
}
