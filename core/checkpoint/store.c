/* SPDX-License-Identifier: MIT */
#include "checkpoint/store_own.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "os/file.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROBE = 16 << 10, SMALL = 64 };
#define INDEX_MAGIC "odindex1"

static const char growing[] = "new", growing_index[] = "new.index";

/* ---- packs ---- */

static int pack_map(const struct store *s, struct pack *k, struct err *e)
{
    char file[PACK_FILE];
    struct stat st;
    uint64_t n = 0;
    buf_fill(file, sizeof(file), "%s.index", k->name);
    int fd = openat(s->packs, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return err_sys(e, errno, "cannot open the store's packs/%s", file);
    if (fstat(fd, &st) == 0 && st.st_size >= INDEX_HEAD)
        k->map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (k->map == MAP_FAILED)
        k->map = NULL;
    if (!k->map)
        return err_set(e, ERR_IO, "the store's packs/%s is cut off", file);
    k->map_n = (size_t)st.st_size;
    memcpy(&n, (char *)k->map + 8, sizeof(n));
    if (memcmp(k->map, INDEX_MAGIC, 8) != 0 ||
        n != (k->map_n - INDEX_HEAD) / sizeof(struct store_place) ||
        (k->map_n - INDEX_HEAD) % sizeof(struct store_place) != 0)
        return err_set(e, ERR_IO, "the store's packs/%s is damaged", file);
    k->places = (const void *)((char *)k->map + INDEX_HEAD);
    k->n = n;
    return 0;
}

static void pack_close(struct pack *k)
{
    if (k->fd >= 0)
        close(k->fd);
    if (k->map)
        munmap(k->map, k->map_n);
    free(k->marked);
}

/* Reads the heads of a pack whose index is damaged, and writes another one. */
static int pack_index_again(const struct store *s, const struct pack *k, struct err *e)
{
    struct store_place *all = NULL;
    size_t n = 0, cap = 0;
    struct pack_head h;
    uint64_t at = 0;
    while (pread(k->fd, &h, sizeof(h), (off_t)at) == sizeof(h) && h.magic == HEAD_MAGIC &&
           at + PACK_HEAD + h.stored <= k->size && h.raw <= STORE_OBJECT_MAX) {
        if (n == cap)
            all = xrealloc(all, cap = cap ? 2 * cap : 1024, sizeof(*all));
        all[n++] = (struct store_place){h.sum, at + PACK_HEAD, h.stored, h.raw};
        at += PACK_HEAD + h.stored;
    }
    int rc = index_write(s, k->name, all, n, e);
    free(all);
    return rc;
}

/* Returns 1, or 0 if the pack has been replaced meanwhile; -1 and sets *e. */
static int pack_open(struct store *s, struct str name, struct err *e)
{
    struct pack k = {.fd = -1};
    struct err damage = ERR_INIT;
    struct stat st;
    char file[PACK_FILE];
    buf_fill(k.name, sizeof(k.name), "%.*s", STR_ARG(name));
    buf_fill(file, sizeof(file), "%s.pack", k.name);
    k.fd = openat(s->packs, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (k.fd < 0 && errno == ENOENT)
        return 0;
    if (k.fd < 0 || fstat(k.fd, &st) < 0) {
        pack_close(&k);
        return err_sys(e, errno, "cannot open the store's packs/%s", file);
    }
    k.size = (uint64_t)st.st_size;
    if (pack_map(s, &k, &damage) < 0) {
        if (k.map)
            munmap(k.map, k.map_n);
        k.map = NULL;
        if (pack_index_again(s, &k, e) < 0 || pack_map(s, &k, e) < 0) {
            pack_close(&k);
            return -1;
        }
    }
    s->pack = xrealloc(s->pack, s->packs_n + 1, sizeof(*s->pack));
    s->pack[s->packs_n++] = k;
    return 1;
}

void packs_close(struct store *s)
{
    for (size_t i = 0; i < s->packs_n; i++)
        pack_close(&s->pack[i]);
    free(s->pack);
    s->pack = NULL;
    s->packs_n = s->hit = 0;
}

/* Takes the lock under which packs are opened, or replaced. Returns its file. */
static int packs_lock(const struct store *s, int how, struct err *e)
{
    int fd = openat(s->fd, "open", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && (errno == EROFS || errno == EACCES))
        fd = openat(s->fd, "open", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    while (fd >= 0 && flock(fd, how) < 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        fd = -1;
    }
    return fd < 0 ? err_sys(e, errno, "cannot lock the store") : fd;
}

int packs_open(struct store *s, struct err *e)
{
    packs_close(s);
    int lock = packs_lock(s, LOCK_SH, e);
    int at = lock >= 0 ? openat(s->packs, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = at >= 0 ? fdopendir(at) : NULL;
    struct dirent *x;
    int rc = lock < 0 ? -1 : d ? 0 : err_sys(e, errno, "cannot list the store's packs");
    while (rc == 0 && (x = readdir(d))) {
        struct str name = str_of(x->d_name);
        if (name.n == PACK_NAME + 5 && str_ends(name, STR(".pack")) &&
            pack_open(s, str_sub(name, 0, PACK_NAME), e) < 0)
            rc = -1;
    }
    if (d)
        closedir(d);
    else if (at >= 0)
        close(at);
    if (lock >= 0)
        close(lock);
    return rc;
}

/* The first bytes as a number: its order is that of the bytes. */
static uint64_t sum_key(const struct content_sum *sum)
{
    uint64_t v;
    memcpy(&v, sum->b, sizeof(v));
    return be64toh(v);
}

/*
 * Hashes are spread evenly, so that the first steps look where the content must nearly
 * be. If they do not find it, halving does: the damage of an index costs no more steps.
 */
static const struct store_place *pack_find(const struct pack *k,
                                           const struct content_sum *sum)
{
    enum { GUESSES = 6 };
    uint64_t key = sum_key(sum), low = 0, high = UINT32_MAX;
    size_t from = 0, to = k->n;
    for (int i = 0; from < to; i++) {
        size_t middle = from + (to - from) / 2;
        if (i < GUESSES && low <= key >> 32 && key >> 32 <= high)
            middle = from +
                     (size_t)((((key >> 32) - low) * (to - from)) / (high - low + 1));
        const struct store_place *p = &k->places[middle];
        uint64_t at = sum_key(&p->sum);
        int order = at != key ? (at > key) - (at < key)
                              : memcmp(p->sum.b, sum->b, SUM_SIZE);
        if (order == 0)
            return p;
        if (order < 0)
            from = middle + 1, low = at >> 32;
        else
            to = middle, high = at >> 32;
    }
    return NULL;
}

const struct store_place *packs_find(struct store *s, const struct content_sum *sum,
                                     struct pack **in)
{
    for (size_t i = s->packs_n, at = s->hit; i-- > 0; at = at ? at - 1 : s->packs_n - 1) {
        const struct store_place *p = pack_find(&s->pack[at], sum);
        if (p) {
            *in = &s->pack[s->hit = at];
            return p;
        }
    }
    return NULL;
}

int place_read(struct store *s, int fd, const struct store_place *p, struct buf *out,
               struct err *e)
{
    struct content_sum sum;
    bool plain = p->stored == p->raw;
    if (p->raw > STORE_OBJECT_MAX || p->stored > p->raw)
        return err_set(e, ERR_IO, "a content in the store is damaged");
    char *to = buf_reserve(out, p->raw);
    char *from = to;
    buf_reset(&s->scratch);
    if (!plain)
        from = buf_reserve(&s->scratch, p->stored);
    if (!to || !from)
        return err_set(e, ERR_LIMIT, "there is no memory for %u bytes of a content",
                       (unsigned)p->raw);
    for (size_t n = 0; n < p->stored;) {
        ssize_t got = pread(fd, from + n, p->stored - n, (off_t)(p->at + n));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, errno, "cannot read the store");
        if (got == 0)
            return err_set(e, ERR_IO, "a pack of the store is cut off");
        n += (size_t)got;
    }
    if (!plain && zip_press_unpack(s->z, str_n(from, p->stored), to, p->raw) < 0)
        return err_set(e, ERR_IO, "a content in the store is damaged");
    sum_of(str_n(to, p->raw), &sum);
    if (!sum_eq(&sum, &p->sum))
        return err_set(e, ERR_IO, "a content in the store is damaged");
    buf_commit(out, p->raw);
    return 0;
}

/* ---- the pack that grows ---- */

static size_t slot_of(const struct writer *w, const struct content_sum *sum)
{
    uint64_t h;
    memcpy(&h, sum->b, sizeof(h));
    size_t i = h & (w->slots_n - 1);
    while (w->slots[i] && !sum_eq(&w->places[w->slots[i] - 1].sum, sum))
        i = (i + 1) & (w->slots_n - 1);
    return i;
}

static const struct store_place *writer_find(const struct writer *w,
                                             const struct content_sum *sum)
{
    size_t i = w->slots_n ? slot_of(w, sum) : 0;
    return w->slots_n && w->slots[i] ? &w->places[w->slots[i] - 1] : NULL;
}

static void writer_grow(struct writer *w)
{
    w->cap = w->cap ? 2 * w->cap : 256;
    w->places = xrealloc(w->places, w->cap, sizeof(*w->places));
    free(w->slots);
    w->slots_n = 2 * w->cap;
    w->slots = xcalloc(w->slots_n, sizeof(*w->slots));
    for (size_t i = 0; i < w->n; i++)
        w->slots[slot_of(w, &w->places[i].sum)] = (uint32_t)i + 1;
}

static int writer_flush(struct store *s, struct err *e)
{
    struct writer *w = &s->w;
    if (w->out.n && file_write_all(w->fd, buf_str(&w->out)) < 0)
        return err_sys(e, errno, "cannot write to the store");
    buf_reset(&w->out);
    return 0;
}

static int writer_begin(struct store *s, struct err *e)
{
    struct writer *w = &s->w;
    if (w->fd >= 0)
        return 0;
    BUG_ON(s->lock < 0 && !s->only_reads);
    store_enter(s);
    if (s->only_reads)
        w->fd = openat(s->fd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (s->only_reads && w->fd < 0)
        w->fd = file_of_text("od-checkpoint", STR(""));
    if (!s->only_reads) {
        unlinkat(s->packs, growing, 0);
        w->fd = openat(s->packs, growing, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    }
    int why = errno;
    store_leave(s);
    w->at = 0;
    w->n = 0;
    if (w->slots_n)
        memset(w->slots, 0, w->slots_n * sizeof(*w->slots));
    return w->fd < 0 ? err_sys(e, why, "cannot write to the store") : 0;
}

int writer_add(struct store *s, const struct content_sum *sum, uint32_t raw,
               struct str stored, struct err *e)
{
    struct writer *w = &s->w;
    struct pack_head h = {HEAD_MAGIC, (uint32_t)stored.n, raw, 0, *sum};
    if ((w->n == STORE_PACK_OBJECTS || w->at >= STORE_PACK_BYTES) && !s->only_reads &&
        store_commit(s, false, e) < 0)
        return -1;
    if (writer_begin(s, e) < 0)
        return -1;
    if (buf_add(&w->out, &h, sizeof(h)) < 0 || buf_adds(&w->out, stored) < 0)
        return err_set(e, ERR_LIMIT, "there is no memory for a content");
    if (w->n == w->cap)
        writer_grow(w);
    size_t slot = slot_of(w, sum);
    w->places[w->n] = (struct store_place){*sum, w->at + PACK_HEAD, (uint32_t)stored.n,
                                           raw};
    w->slots[slot] = (uint32_t)++w->n;
    w->at += PACK_HEAD + stored.n;
    s->added += PACK_HEAD + stored.n;
    return w->out.n >= PACK_WRITE ? writer_flush(s, e) : 0;
}

int writer_copy(struct store *s, const struct pack *from, const struct store_place *p,
                struct err *e)
{
    if (p->stored > STORE_OBJECT_MAX)
        return 0;
    buf_reset(&s->scratch);
    char *to = buf_reserve(&s->scratch, p->stored);
    if (!to)
        return err_set(e, ERR_LIMIT, "there is no memory for a content");
    ssize_t got = pread(from->fd, to, p->stored, (off_t)p->at);
    if (got < 0)
        return err_sys(e, errno, "cannot read the store");
    if ((size_t)got < p->stored) /* cut off: it is not there any more */
        return 0;
    return writer_add(s, &p->sum, p->raw, str_n(to, p->stored), e);
}

static int by_sum(const void *a, const void *b)
{
    return memcmp(((const struct store_place *)a)->sum.b,
                  ((const struct store_place *)b)->sum.b, SUM_SIZE);
}

int index_write(const struct store *s, const char *name, struct store_place *places,
                size_t n, struct err *e)
{
    char file[PACK_FILE], head[INDEX_HEAD] = INDEX_MAGIC;
    uint64_t count = n;
    memcpy(head + 8, &count, sizeof(count));
    if (n)
        qsort(places, n, sizeof(*places), by_sum);
    buf_fill(file, sizeof(file), "%s.index", name);
    int fd = openat(s->packs, growing_index,
                    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc = fd < 0 || file_write_all(fd, str_n(head, sizeof(head))) < 0 ||
                     file_write_all(fd, str_n(places, n * sizeof(*places))) < 0
                 ? -1
                 : 0;
    int why = errno;
    if (fd >= 0 && close(fd) < 0 && rc == 0)
        rc = -1, why = errno;
    if (rc == 0 && renameat(s->packs, growing_index, s->packs, file) < 0)
        rc = -1, why = errno;
    return rc < 0 ? err_sys(e, why, "cannot write to the store") : 0;
}

int store_commit(struct store *s, bool durable, struct err *e)
{
    struct writer *w = &s->w;
    char name[PACK_NAME + 1], file[PACK_FILE];
    if (w->fd < 0 || s->only_reads)
        return 0;
    random_hex(name, PACK_NAME);
    buf_fill(file, sizeof(file), "%s.pack", name);
    int rc = writer_flush(s, e);
    if (rc == 0 && durable && fdatasync(w->fd) < 0 && errno != EINVAL)
        rc = err_sys(e, errno, "cannot write to the store");
    store_enter(s);
    /* The index first: a pack without one is read whole to make it. */
    if (rc == 0)
        rc = index_write(s, name, w->places, w->n, e);
    if (rc == 0 && renameat(s->packs, growing, s->packs, file) < 0)
        rc = err_sys(e, errno, "cannot write to the store");
    if (rc == 0 && durable)
        fsync(s->packs);
    if (rc == 0)
        rc = pack_open(s, str_of(name), e) == 1 ? 0 : -1;
    store_leave(s);
    close(w->fd);
    w->fd = -1;
    w->n = 0;
    if (w->slots_n)
        memset(w->slots, 0, w->slots_n * sizeof(*w->slots));
    return rc;
}

/* ---- contents ---- */

bool store_has(struct store *s, const struct content_sum *sum)
{
    struct pack *in;
    return writer_find(&s->w, sum) || packs_find(s, sum, &in);
}

/* Large contents that do not shrink at their beginning are not tried as a whole. */
static struct str squeezed(struct store *s, struct str bytes)
{
    size_t most = bytes.n - bytes.n / 8;
    buf_reset(&s->scratch);
    char *to = bytes.n < SMALL ? NULL : buf_reserve(&s->scratch, most);
    if (!to)
        return bytes;
    if (bytes.n > 4 * PROBE &&
        !zip_press_pack(s->z, str_sub(bytes, bytes.n / 2, PROBE), to, PROBE - PROBE / 8))
        return bytes;
    size_t n = zip_press_pack(s->z, bytes, to, most);
    return n ? str_n(to, n) : bytes;
}

int store_put(struct store *s, struct str bytes, struct content_sum *out, struct err *e)
{
    if (bytes.n > STORE_OBJECT_MAX)
        return err_set(e, ERR_LIMIT, "a content of %zu bytes is too large for the store",
                       bytes.n);
    sum_of(bytes, out);
    if (store_has(s, out))
        return 0;
    return writer_add(s, out, (uint32_t)bytes.n, squeezed(s, bytes), e);
}

int store_get(struct store *s, const struct content_sum *sum, struct buf *out,
              struct err *e)
{
    struct pack *in;
    const struct store_place *p = writer_find(&s->w, sum);
    if (p)
        return writer_flush(s, e) < 0 ? -1 : place_read(s, s->w.fd, p, out, e);
    p = packs_find(s, sum, &in);
    if (!p)
        return err_set(e, ERR_NOTFOUND, "a content is missing from the store");
    return place_read(s, in->fd, p, out, e);
}

struct buf store_space(struct store *s)
{
    struct buf b = s->space;
    buf_init(&s->space, STORE_OBJECT_MAX);
    buf_reset(&b);
    return b;
}

void store_space_back(struct store *s, struct buf *b)
{
    buf_release(&s->space);
    s->space = *b;
    buf_init(b, STORE_OBJECT_MAX);
}

uint64_t store_added(const struct store *s) { return s->added; }

uint64_t store_size(const struct store *s)
{
    uint64_t all = 0;
    for (size_t i = 0; i < s->packs_n; i++)
        all += s->pack[i].size + s->pack[i].map_n;
    return all;
}

size_t store_packs(const struct store *s) { return s->packs_n; }

uint64_t store_state(const struct store *s)
{
    static const uint64_t seed[2] = {1, 2};
    uint64_t all = 0;
    for (size_t i = 0; i < s->packs_n; i++)
        all += map_hash(seed, str_of(s->pack[i].name)) * (2 * s->pack[i].n + 1);
    return all;
}

/* ---- the store ---- */

static int folder_make(int at, const char *name, struct err *e)
{
    if (mkdirat(at, name, 0700) < 0 && errno != EEXIST && errno != EROFS)
        return err_sys(e, errno, "cannot make the store's folder %s", name);
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? err_sys(e, errno, "cannot open the store's folder %s", name) : fd;
}

static int write_lock(const struct store *s, struct err *e)
{
    int fd = openat(s->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX) < 0) {
        if (errno == EINTR)
            continue;
        close(fd);
        fd = -1;
    }
    return fd < 0 ? err_sys(e, errno, "cannot lock the store") : fd;
}

struct store *store_open(const char *path, bool write, struct err *e)
{
    struct store *s = xnew(struct store);
    s->packs = s->lock = s->w.fd = -1;
    s->z = zip_press_new();
    buf_init(&s->scratch, STORE_OBJECT_MAX + 64);
    buf_init(&s->space, STORE_OBJECT_MAX);
    buf_init(&s->w.out, STORE_OBJECT_MAX + 2 * PACK_WRITE);
    s->fd = folder_make(AT_FDCWD, path, e);
    if (s->fd >= 0)
        s->packs = folder_make(s->fd, "packs", e);
    if (s->packs < 0 || (write && (s->lock = write_lock(s, e)) < 0) ||
        packs_open(s, e) < 0) {
        store_close(s);
        return NULL;
    }
    return s;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    store_enter(s);
    packs_close(s);
    const int fds[] = {s->fd, s->packs, s->lock, s->w.fd};
    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(s->w.places);
    free(s->w.slots);
    buf_release(&s->w.out);
    buf_release(&s->scratch);
    buf_release(&s->space);
    zip_press_free(s->z);
    free(s);
}

void store_enter(const struct store *s)
{
    if (!s->as_user)
        return;
    setfsuid(geteuid());
    setfsgid(getegid());
}

void store_leave(const struct store *s)
{
    int why = errno;
    if (s->as_user) {
        setfsgid(s->gid);
        setfsuid(s->uid);
    }
    errno = why;
}

int store_become(struct store *s, const struct store_user *user, struct err *e)
{
    if (setgroups(user->groups_n, user->groups) < 0)
        return err_sys(e, errno, "cannot become the user %u", (unsigned)user->uid);
    s->as_user = true;
    s->uid = user->uid;
    s->gid = user->gid;
    store_leave(s);
    /* Neither call reports a failure, except by what the next one returns. */
    if ((uid_t)setfsuid((uid_t)-1) != user->uid ||
        (gid_t)setfsgid((gid_t)-1) != user->gid)
        return err_set(e, ERR_DENIED, "cannot use files as the user %u",
                       (unsigned)user->uid);
    return 0;
}

int store_folder(const struct store *s) { return s->fd; }
void store_only_read(struct store *s) { s->only_reads = true; }
bool store_only_reads(const struct store *s) { return s->only_reads; }

int store_write_file(const struct store *s, const char *name, struct str text,
                     bool durable, struct err *e)
{
    store_enter(s);
    int fd = openat(s->fd, "part", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
                    0600);
    int rc = fd >= 0 && file_write_all(fd, text) == 0 && (!durable || fsync(fd) == 0) &&
                     renameat(s->fd, "part", s->fd, name) == 0
                 ? 0
                 : err_sys(e, errno, "cannot write %s in the store", name);
    if (fd >= 0)
        close(fd);
    if (rc == 0 && durable)
        fsync(s->fd);
    store_leave(s);
    return rc;
}
