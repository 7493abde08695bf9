/* SPDX-License-Identifier: MIT */
/*
 * The reading side of zip.h, for archives made to do harm.
 *
 * Three rules bound it. No allocation has a size that the archive states. No two
 * entries may share bytes, so the output is at most a thousand times the archive.
 * And sizes, the total and its ratio are checked against the limits before and
 * during unpacking.
 *
 * The bytes of entries read so far are a sorted list of spans. Two spans with less
 * between them than a local header needs become one, so that an archive written in
 * order, however large, is a single span.
 */
#include "archive/zip.h"
#include "archive/zip_own.h"
#include "base/buf.h"
#include "base/crc.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { WINDOW = 64 << 10, SPANS_MAX = 16 << 10 };

struct span {
    uint64_t from, to;
};

struct zip_reader {
    int fd;
    uint64_t size;
    struct zip_limits limits;

    /* the central directory */
    uint64_t base; /* bytes before the archive: a program that unpacks itself */
    uint64_t at, end, directory, count, seen;
    struct buf window; /* the file's bytes from `at` on */
    struct zip_entry entry;
    char name[ZIP_NAME_MAX + 1];

    struct span *spans;
    size_t spans_n;

    /* the entry that is read */
    bool reading, done, z_ready;
    z_stream z;
    unsigned char in[32 << 10];
    uint64_t data, left; /* next byte in the file, packed bytes not yet read */
    uint64_t out;        /* bytes unpacked */
    uint64_t total_in, total_out;
    uint32_t crc;
};

/* ---- bytes of the file ---- */

/* Exactly n bytes at `at`. */
static int read_at(struct zip_reader *r, uint64_t at, void *p, size_t n, struct err *e)
{
    size_t have = 0;
    while (have < n) {
        ssize_t got = pread(r->fd, (char *)p + have, n - have, (off_t)(at + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return err_sys(e, errno, "cannot read the archive");
        if (got == 0)
            return err_set(e, ERR_INVALID, "the archive is cut off");
        have += (size_t)got;
    }
    return 0;
}

/*
 * Returns n bytes of the central directory, valid until the next call; or NULL and sets
 * *e.
 */
static const char *take(struct zip_reader *r, size_t n, struct err *e)
{
    if (n > r->end - r->at) {
        err_set(e, ERR_INVALID,
                "the archive's directory is damaged: a record is cut off");
        return NULL;
    }
    if (r->window.n < n) {
        size_t more = (n > WINDOW ? n : WINDOW) - r->window.n;
        uint64_t from = r->at + r->window.n;
        more = more < r->end - from ? more : (size_t)(r->end - from);
        char *p = buf_reserve(&r->window, more);
        if (!p) {
            err_set(e, ERR_LIMIT, "no memory for the archive's directory");
            return NULL;
        }
        if (read_at(r, from, p, more, e) < 0)
            return NULL;
        buf_commit(&r->window, more);
    }
    return r->window.p;
}

static void took(struct zip_reader *r, size_t n)
{
    buf_consume(&r->window, n);
    r->at += n;
}

/* ---- the end of the archive ---- */

static int damaged(struct err *e, const char *why)
{
    return err_set(e, ERR_INVALID, "not a zip archive, or a damaged one: %s", why);
}

/*
 * 4.3.16: the record whose comment ends with the file. Searched from the end, at most
 * a comment's length (65,535 bytes) before it.
 */
static int find_end(struct zip_reader *r, uint8_t end[ZIP_END_SIZE], uint64_t *at,
                    struct err *e)
{
    size_t most = ZIP_END_SIZE + ZIP_IN_16;
    size_t n = r->size < most ? (size_t)r->size : most;
    int rc = -1;
    uint8_t *tail = xcalloc(1, most);
    if (read_at(r, r->size - n, tail, n, e) < 0)
        goto out;
    for (size_t i = n < ZIP_END_SIZE ? 0 : n - ZIP_END_SIZE + 1; i-- > 0;) {
        if (zip_get32(tail + i) == ZIP_END &&
            i + ZIP_END_SIZE + zip_get16(tail + i + 20) == n) {
            memcpy(end, tail + i, ZIP_END_SIZE);
            *at = r->size - n + i;
            rc = 0;
            goto out;
        }
    }
    damaged(e, "there is no end of central directory");
out:
    free(tail);
    return rc;
}

/*
 * 4.3.14 and 4.3.15: the locator is before the end record, and the zip64 end record
 * before it. Returns 1 and sets *at to that record's place; 0 if there is none; -1 and
 * sets *e.
 */
static int read_end64(struct zip_reader *r, uint64_t *at, uint64_t *count, uint64_t *size,
                      uint64_t *offset, struct err *e)
{
    uint8_t locator[ZIP_LOCATOR64_SIZE], end[ZIP_END64_SIZE];
    if (*at < ZIP_LOCATOR64_SIZE + ZIP_END64_SIZE)
        return 0;
    if (read_at(r, *at - sizeof(locator), locator, sizeof(locator), e) < 0)
        return -1;
    if (zip_get32(locator) != ZIP_LOCATOR64)
        return 0;
    /* Directly before the locator: its offset does not count bytes before the archive. */
    uint64_t here = *at - ZIP_LOCATOR64_SIZE - ZIP_END64_SIZE;
    if (read_at(r, here, end, sizeof(end), e) < 0)
        return -1;
    if (zip_get32(end) != ZIP_END64 || zip_get64(locator + 8) > here)
        return damaged(e, "there is no zip64 end of central directory");
    if (zip_get32(end + 16) || zip_get32(end + 20) || zip_get32(locator + 16) > 1 ||
        zip_get64(end + 24) != zip_get64(end + 32))
        return err_set(e, ERR_UNSUPPORTED, "a part of a split archive: join it first");
    *at = here;
    *count = zip_get64(end + 32);
    *size = zip_get64(end + 40);
    *offset = zip_get64(end + 48);
    return 1;
}

static int find_directory(struct zip_reader *r, struct err *e)
{
    uint8_t end[ZIP_END_SIZE] = {0};
    uint64_t at = 0;
    if (find_end(r, end, &at, e) < 0)
        return -1;
    uint64_t count = zip_get16(end + 10), size = zip_get32(end + 12);
    uint64_t offset = zip_get32(end + 16);
    int wide = read_end64(r, &at, &count, &size, &offset, e);
    if (wide < 0)
        return -1;
    if (!wide && (zip_get16(end + 4) || zip_get16(end + 6) ||
                  zip_get16(end + 8) != zip_get16(end + 10)))
        return err_set(e, ERR_UNSUPPORTED, "a part of a split archive: join it first");
    if (size > at || offset > at - size)
        return damaged(e, "its central directory is not where it says");
    if (count > size / ZIP_CENTRAL_SIZE)
        return damaged(e, "its central directory has no room for its entries");
    if (count > r->limits.entries)
        return err_set(e, ERR_LIMIT,
                       "the archive has %llu entries; at most %llu are taken",
                       (unsigned long long)count, (unsigned long long)r->limits.entries);
    r->count = count;
    r->directory = r->at = at - size;
    r->end = at;
    r->base = r->directory - offset;
    return 0;
}

struct zip_reader *zip_open(int fd, const struct zip_limits *limits, struct err *e)
{
    struct stat st;
    if (fstat(fd, &st) < 0) {
        err_sys(e, errno, "cannot read the archive");
        return NULL;
    }
    struct zip_reader *r = xnew(struct zip_reader);
    r->fd = fd;
    r->size = (uint64_t)st.st_size;
    r->limits = limits ? *limits : (struct zip_limits){.entries = 0};
    if (!r->limits.entries)
        r->limits.entries = LIMIT_ZIP_ENTRIES;
    if (!r->limits.total)
        r->limits.total = (uint64_t)LIMIT_ZIP_TOTAL_MIB << 20;
    if (!r->limits.ratio)
        r->limits.ratio = LIMIT_ZIP_RATIO;
    buf_init(&r->window, WINDOW + ZIP_CENTRAL_SIZE + 3 * ZIP_IN_16);
    if (find_directory(r, e) < 0) {
        zip_close(r);
        return NULL;
    }
    return r;
}

void zip_close(struct zip_reader *r)
{
    if (!r)
        return;
    if (r->z_ready)
        inflateEnd(&r->z);
    buf_release(&r->window);
    free(r->spans);
    free(r);
}

uint64_t zip_count(const struct zip_reader *r) { return r->count; }

/* ---- records of the central directory ---- */

/*
 * Gets the next field of *extra (4.5.1), its bytes and its id. Returns false at the end.
 */
static bool next_extra(struct str *extra, unsigned *id, struct str *bytes)
{
    if (extra->n < 4)
        return false;
    size_t n = zip_get16(extra->p + 2);
    if (n > extra->n - 4)
        return false;
    *id = zip_get16(extra->p);
    *bytes = str_sub(*extra, 4, n);
    *extra = str_sub(*extra, 4 + n, extra->n);
    return true;
}

/* 4.5.3: the field has, in this order, the values that are all ones in the record. */
static int widen(struct str extra, uint64_t **values, int n)
{
    struct str field = {NULL, 0};
    unsigned id;
    while (next_extra(&extra, &id, &field) && id != ZIP_EXTRA_64)
        field.n = 0;
    for (int i = 0; i < n; i++) {
        if (*values[i] != ZIP_IN_32)
            continue;
        if (field.n < 8)
            return -1;
        *values[i] = zip_get64(field.p);
        field = str_sub(field, 8, field.n);
    }
    return 0;
}

/* "UT" has the time in seconds and UTC; the record has local time of an unknown zone. */
static int64_t time_of(uint32_t dos, struct str extra)
{
    struct str field = {NULL, 0};
    unsigned id = 0;
    while (next_extra(&extra, &id, &field)) {
        if (id == ZIP_EXTRA_TIME && field.n >= 5 && field.p[0] & 1)
            return (int32_t)zip_get32(field.p + 1);
    }
    struct tm tm = {.tm_year = (int)(dos >> 25) + 80,
                    .tm_mon = (int)(dos >> 21 & 15) - 1,
                    .tm_mday = (int)(dos >> 16 & 31),
                    .tm_hour = (int)(dos >> 11 & 31),
                    .tm_min = (int)(dos >> 5 & 63),
                    .tm_sec = (int)(dos & 31) * 2};
    return (int64_t)timegm(&tm);
}

static int take_name(struct zip_reader *r, struct str name, struct err *e)
{
    if (!name.n || name.n > ZIP_NAME_MAX)
        return err_set(e, ERR_INVALID, "entry %llu has a name of %zu bytes, not 1 to %d",
                       (unsigned long long)r->seen, name.n, ZIP_NAME_MAX);
    if (memchr(name.p, 0, name.n))
        return err_set(e, ERR_INVALID, "the name of entry %llu has a NUL in it",
                       (unsigned long long)r->seen);
    memcpy(r->name, name.p, name.n);
    r->name[name.n] = 0;
    r->entry.name = str_n(r->name, name.n);
    r->entry.folder = name.p[name.n - 1] == '/';
    return 0;
}

/* 4.3.12; p holds the whole record. */
static int parse_record(struct zip_reader *r, const char *p, struct err *e)
{
    struct zip_entry *x = &r->entry;
    size_t name = zip_get16(p + 28), extra = zip_get16(p + 30);
    *x = (struct zip_entry){.flags = zip_get16(p + 8),
                            .method = zip_get16(p + 10),
                            .crc = zip_get32(p + 16),
                            .packed = zip_get32(p + 20),
                            .size = zip_get32(p + 24),
                            .offset = zip_get32(p + 42)};
    if (take_name(r, str_n(p + ZIP_CENTRAL_SIZE, name), e) < 0)
        return -1;
    struct str fields = str_n(p + ZIP_CENTRAL_SIZE + name, extra);
    uint64_t *wide[] = {&x->size, &x->packed, &x->offset};
    if (widen(fields, wide, 3) < 0)
        return err_set(e, ERR_INVALID, "%.200s: its zip64 sizes are missing", r->name);
    x->mtime = time_of(zip_get32(p + 12), fields);
    if (p[5] == ZIP_UNIX)
        x->mode = (mode_t)(zip_get32(p + 38) >> 16);
    return 0;
}

int zip_next(struct zip_reader *r, struct zip_entry *entry, struct err *e)
{
    r->reading = false;
    if (r->seen == r->count)
        return r->at == r->end
                   ? 0
                   : damaged(e, "its central directory has more than it says");
    r->seen++;
    const char *p = take(r, ZIP_CENTRAL_SIZE, e);
    if (!p)
        return -1;
    if (zip_get32(p) != ZIP_CENTRAL)
        return damaged(e, "its central directory has something else in it");
    size_t n = ZIP_CENTRAL_SIZE + (size_t)zip_get16(p + 28) + zip_get16(p + 30) +
               zip_get16(p + 32);
    p = take(r, n, e);
    if (!p || parse_record(r, p, e) < 0)
        return -1;
    took(r, n);
    *entry = r->entry;
    return 1;
}

/* ---- an entry's bytes ---- */

/* Marks bytes as taken. Returns -1 if some of them are taken already. */
static int claim(struct zip_reader *r, uint64_t from, uint64_t to, struct err *e)
{
    size_t low = 0, high = r->spans_n;
    while (low < high) { /* the first span that ends after `from` */
        size_t mid = (low + high) / 2;
        if (r->spans[mid].to <= from)
            low = mid + 1;
        else
            high = mid;
    }
    if (low < r->spans_n && r->spans[low].from < to)
        return err_set(e, ERR_INVALID, "%.200s shares bytes with another entry", r->name);
    struct span *before = low > 0 ? &r->spans[low - 1] : NULL;
    struct span *after = low < r->spans_n ? &r->spans[low] : NULL;
    bool left = before && from - before->to < ZIP_LOCAL_SIZE;
    bool right = after && after->from - to < ZIP_LOCAL_SIZE;
    if (left && right) {
        before->to = after->to;
        memmove(after, after + 1, (r->spans_n - low - 1) * sizeof(*after));
        r->spans_n--;
    } else if (left) {
        before->to = to;
    } else if (right) {
        after->from = from;
    } else {
        if (r->spans_n == SPANS_MAX)
            return err_set(e, ERR_LIMIT, "the archive's entries are in no order");
        if (!r->spans)
            r->spans = xcalloc(SPANS_MAX, sizeof(*r->spans));
        memmove(&r->spans[low + 1], &r->spans[low],
                (r->spans_n - low) * sizeof(*r->spans));
        r->spans[low] = (struct span){from, to};
        r->spans_n++;
    }
    return 0;
}

static int differ(struct zip_reader *r, const char *what, struct err *e)
{
    return err_set(e, ERR_INVALID,
                   "%.200s: its own header and the directory say another %s", r->name,
                   what);
}

/*
 * 4.3.7: the local header must have the same values, unless it leaves sizes and
 * checksum to the descriptor: then packers write zeros or estimates.
 */
static int check_local(struct zip_reader *r, const uint8_t *h, struct str fields,
                       struct err *e)
{
    const struct zip_entry *x = &r->entry;
    uint64_t packed = zip_get32(h + 18), size = zip_get32(h + 22);
    uint64_t *wide[] = {&size, &packed};
    if (zip_get16(h + 8) != x->method)
        return differ(r, "method", e);
    if ((zip_get16(h + 6) ^ x->flags) & ZIP_FLAG_ENCRYPTED)
        return differ(r, "kind of entry", e);
    if (zip_get16(h + 6) & ZIP_FLAG_DESCRIPTOR)
        return 0;
    if (widen(fields, wide, 2) < 0 || packed != x->packed || size != x->size)
        return differ(r, "size", e);
    return zip_get32(h + 14) == x->crc ? 0 : differ(r, "checksum", e);
}

/* Finds where the entry's bytes begin, and claims them. */
static int find_data(struct zip_reader *r, struct err *e)
{
    const struct zip_entry *x = &r->entry;
    uint8_t h[ZIP_LOCAL_SIZE];
    uint64_t room = r->directory - r->base;
    if (x->offset > room || room - x->offset < sizeof(h))
        return err_set(e, ERR_INVALID, "%.200s is not where the directory says", r->name);
    uint64_t from = r->base + x->offset;
    if (read_at(r, from, h, sizeof(h), e) < 0)
        return -1;
    size_t name = zip_get16(h + 26), extra = zip_get16(h + 28);
    uint64_t head = sizeof(h) + name + extra;
    room -= x->offset;
    if (zip_get32(h) != ZIP_LOCAL || head > room || x->packed > room - head)
        return err_set(e, ERR_INVALID, "%.200s is not where the directory says", r->name);
    if (name != x->name.n)
        return differ(r, "name", e);
    struct buf rest = BUF_INIT(name + extra);
    char *p = buf_reserve(&rest, name + extra);
    int rc = p ? read_at(r, from + sizeof(h), p, name + extra, e)
               : err_set(e, ERR_LIMIT, "no memory for %.200s", r->name);
    if (rc == 0 && memcmp(p, x->name.p, name) != 0)
        rc = differ(r, "name", e);
    if (rc == 0)
        rc = check_local(r, h, str_n(p + name, extra), e);
    buf_release(&rest);
    if (rc < 0)
        return -1;
    r->data = from + head;
    r->left = x->packed;
    return claim(r, from, r->data + x->packed, e);
}

static int check_kind(struct zip_reader *r, struct err *e)
{
    const struct zip_entry *x = &r->entry;
    if (x->flags & (ZIP_FLAG_ENCRYPTED | ZIP_FLAG_STRONG | ZIP_FLAG_MASKED))
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s is encrypted: pack it again without a password", r->name);
    if (x->method != ZIP_STORED && x->method != ZIP_DEFLATED)
        return err_set(e, ERR_UNSUPPORTED,
                       "%.200s is compressed by method %u; pack it again with deflate",
                       r->name, x->method);
    if (x->method == ZIP_STORED && x->size != x->packed)
        return err_set(e, ERR_INVALID, "%.200s is stored but has two sizes", r->name);
    return 0;
}

/* Refuses `out` unpacked bytes in total, of `in` packed ones, if they are too many. */
static int check_total(struct zip_reader *r, uint64_t in, uint64_t out, struct err *e)
{
    if (out > r->limits.total)
        return err_set(e, ERR_LIMIT, "%.200s: the archive unpacks to more than %llu MiB",
                       r->name, (unsigned long long)(r->limits.total >> 20));
    if (out > (uint64_t)LIMIT_ZIP_FREE_MIB << 20 && out / r->limits.ratio > in)
        return err_set(e, ERR_LIMIT,
                       "%.200s: the archive unpacks to more than %llu times its size",
                       r->name, (unsigned long long)r->limits.ratio);
    return 0;
}

static int begin_inflate(struct zip_reader *r, struct err *e)
{
    int rc = r->z_ready ? inflateReset(&r->z) : inflateInit2(&r->z, -MAX_WBITS);
    if (rc != Z_OK)
        return err_set(e, ERR_LIMIT, "cannot begin to unpack: no memory");
    r->z_ready = true;
    r->z.avail_in = 0;
    return 0;
}

int zip_read_begin(struct zip_reader *r, struct err *e)
{
    const struct zip_entry *x = &r->entry;
    BUG_ON(!r->seen || r->reading);
    if (check_kind(r, e) < 0 || find_data(r, e) < 0)
        return -1;
    /* The packed bytes are in the file; x->size is only stated: its sum may overflow. */
    uint64_t out = x->size > UINT64_MAX - r->total_out ? UINT64_MAX
                                                       : r->total_out + x->size;
    if (check_total(r, r->total_in + x->packed, out, e) < 0)
        return -1;
    r->total_in += x->packed;
    r->out = 0;
    r->crc = 0;
    r->done = false;
    r->reading = true;
    return x->method == ZIP_DEFLATED ? begin_inflate(r, e) : 0;
}

static ssize_t read_stored(struct zip_reader *r, void *p, size_t n, struct err *e)
{
    n = n < r->left ? n : (size_t)r->left;
    if (n && read_at(r, r->data, p, n, e) < 0)
        return -1;
    r->data += n;
    r->left -= n;
    r->done = r->left == 0;
    return (ssize_t)n;
}

static int refill(struct zip_reader *r, struct err *e)
{
    size_t n = r->left < sizeof(r->in) ? (size_t)r->left : sizeof(r->in);
    if (n && read_at(r, r->data, r->in, n, e) < 0)
        return -1;
    r->data += n;
    r->left -= n;
    r->z.next_in = r->in;
    r->z.avail_in = (unsigned)n;
    return 0;
}

static ssize_t read_deflated(struct zip_reader *r, void *p, size_t n, struct err *e)
{
    r->z.next_out = p;
    r->z.avail_out = (unsigned)n;
    while (!r->done && r->z.avail_out == n) {
        if (!r->z.avail_in && r->left && refill(r, e) < 0)
            return -1;
        int rc = inflate(&r->z, Z_NO_FLUSH);
        if (rc == Z_STREAM_END)
            r->done = true;
        else if (rc == Z_MEM_ERROR)
            return err_set(e, ERR_LIMIT, "no memory to unpack %.200s", r->name);
        else if (rc != Z_OK)
            return err_set(e, ERR_INVALID, "%.200s is damaged: %s", r->name,
                           rc == Z_BUF_ERROR ? "it is cut off"
                           : r->z.msg        ? r->z.msg
                                             : "no deflate data");
    }
    if (r->done && (r->z.avail_in || r->left))
        return err_set(e, ERR_INVALID, "%.200s is damaged: bytes behind its end",
                       r->name);
    return (ssize_t)(n - r->z.avail_out);
}

/* At the end: checks size and checksum. */
static int check_whole(struct zip_reader *r, struct err *e)
{
    if (r->out != r->entry.size)
        return err_set(e, ERR_INVALID, "%.200s is damaged: it has %llu bytes, not %llu",
                       r->name, (unsigned long long)r->out,
                       (unsigned long long)r->entry.size);
    if (r->crc != r->entry.crc)
        return err_set(e, ERR_INVALID, "%.200s is damaged: its checksum is wrong",
                       r->name);
    return 0;
}

ssize_t zip_read(struct zip_reader *r, void *p, size_t n, struct err *e)
{
    BUG_ON(!r->reading || !n);
    n = n < 1 << 30 ? n : 1 << 30;
    ssize_t got = 0;
    if (!r->done)
        got = r->entry.method == ZIP_DEFLATED ? read_deflated(r, p, n, e)
                                              : read_stored(r, p, n, e);
    if (got < 0)
        return -1;
    r->out += (uint64_t)got;
    r->total_out += (uint64_t)got;
    r->crc = crc_add(r->crc, str_n(p, (size_t)got));
    if (r->out > r->entry.size)
        return err_set(e, ERR_INVALID, "%.200s is damaged: it is longer than it says",
                       r->name);
    if (got == 0)
        return check_whole(r, e) < 0 ? -1 : 0;
    return got;
}
