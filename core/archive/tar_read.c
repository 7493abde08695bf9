/* SPDX-License-Identifier: MIT */
/*
 * The reading side of tar: see tar_read.h.
 *
 * A header may be preceded by others that extend it: pax records ('x'), GNU's
 * long names ('L', 'K'). They are kept until the entry's own header comes. A pax
 * record overrides GNU's name, and that overrides records for all entries that
 * follow ('g'), which override the header.
 */
#include "archive/tar_read.h"
#include "base/buf.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <sys/stat.h>

/* Where things lie in a header: POSIX.1-2017 pax, table "ustar Header Block". */
enum {
    AT_NAME = 0,
    AT_MODE = 100,
    AT_UID = 108,
    AT_GID = 116,
    AT_SIZE = 124,
    AT_MTIME = 136,
    AT_SUM = 148,
    AT_TYPE = 156,
    AT_LINK = 157,
    AT_MAGIC = 257,
    AT_MAJOR = 329,
    AT_MINOR = 337,
    AT_PREFIX = 345,
    AT_MORE = 482, /* GNU, old sparse: a block with more of the map follows */
    AT_MORE_NEXT = 504
};

enum { READ_AHEAD = 4 << 10 };

/* The values that records have set: bits of `has`. */
enum {
    HAS_NAME = 1,
    HAS_LINK = 2,
    HAS_SIZE = 4,
    HAS_UID = 8,
    HAS_GID = 16,
    HAS_TIME = 32
};

struct records {
    unsigned has;
    struct buf name, link;
    uint64_t size, uid, gid;
    int64_t mtime;
    bool sparse;
};

struct tar_reader {
    struct tar_source source;
    struct records all, next;         /* of 'g' headers; of the entry that comes */
    struct buf name, link, text, own; /* own: records of the entry that comes */
    uint64_t at;                      /* bytes taken from the archive */
    uint64_t left;                    /* data of the entry that was not read */
    unsigned pad;                     /* after it */
    bool sparse, ended, whole;
    size_t ahead, ahead_n; /* the part of `bytes` that was not taken */
    uint8_t bytes[READ_AHEAD];
};

static void records_init(struct records *r)
{
    buf_init(&r->name, TAR_NAME_MAX);
    buf_init(&r->link, TAR_NAME_MAX);
}

static void records_release(struct records *r)
{
    buf_release(&r->name);
    buf_release(&r->link);
}

struct tar_reader *tar_reader_new(const struct tar_source *source)
{
    struct tar_reader *r = xnew(struct tar_reader);
    r->source = *source;
    records_init(&r->all);
    records_init(&r->next);
    buf_init(&r->name, TAR_NAME_MAX);
    buf_init(&r->link, TAR_NAME_MAX);
    buf_init(&r->text, TAR_RECORDS_MAX);
    buf_init(&r->own, TAR_RECORDS_MAX);
    return r;
}

void tar_reader_free(struct tar_reader *r)
{
    if (!r)
        return;
    records_release(&r->all);
    records_release(&r->next);
    buf_release(&r->name);
    buf_release(&r->link);
    buf_release(&r->text);
    buf_release(&r->own);
    free(r);
}

/* ---- bytes ---- */

static int ended_early(const struct tar_reader *r, struct err *e)
{
    return err_set(e, ERR_INVALID, "the tar archive is cut off%s%.200s",
                   r->name.n ? ", in or after " : "", buf_z(&r->name));
}

/*
 * Reads some bytes, at most n. Returns how many, 0 at the end of the archive, -1 and sets
 * *e.
 */
static ssize_t take_some(struct tar_reader *r, void *p, size_t n, struct err *e)
{
    if (!r->ahead_n) {
        bool direct = n >= READ_AHEAD;
        ssize_t got = r->source.read(r->source.arg, direct ? p : r->bytes,
                                     direct ? n : READ_AHEAD, e);
        if (got <= 0)
            return got;
        if (direct) {
            r->at += (size_t)got;
            return got;
        }
        r->ahead = 0;
        r->ahead_n = (size_t)got;
    }
    if (n > r->ahead_n)
        n = r->ahead_n;
    memcpy(p, r->bytes + r->ahead, n);
    r->ahead += n;
    r->ahead_n -= n;
    r->at += n;
    return (ssize_t)n;
}

/*
 * Reads n bytes. Returns 1; 0 if the archive ended before the first of them; -1 and sets
 * *e.
 */
static int take(struct tar_reader *r, void *p, size_t n, struct err *e)
{
    for (size_t have = 0; have < n;) {
        ssize_t got = take_some(r, (char *)p + have, n - have, e);
        if (got < 0)
            return -1;
        if (got == 0)
            return have ? ended_early(r, e) : 0;
        have += (size_t)got;
    }
    return 1;
}

static int pass_reading(struct tar_reader *r, uint64_t n, struct err *e)
{
    char block[TAR_BLOCK];
    while (n > 0) {
        ssize_t got = take_some(r, block, n < sizeof(block) ? n : sizeof(block), e);
        if (got <= 0)
            return got < 0 ? -1 : ended_early(r, e);
        n -= (size_t)got;
    }
    return 0;
}

/* Skips n bytes. Reads the last one, because a skip past the end is not an error. */
static int pass(struct tar_reader *r, uint64_t n, struct err *e)
{
    if (r->source.skip && n > r->ahead_n + 1) {
        uint64_t far = n - r->ahead_n - 1;
        if (r->source.skip(r->source.arg, far, e) < 0)
            return -1;
        r->at += r->ahead_n + far;
        r->ahead_n = 0;
        n = 1;
    }
    return pass_reading(r, n, e);
}

/* ---- numbers and texts of a header ---- */

/*
 * Parses octal with blanks around it, or base 256 (GNU) of at most 63 bits. Returns -1 if
 * it is neither.
 */
static int64_t number(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    if (p[0] == 0x80) {
        for (size_t i = 1; i < n; i++) {
            if (v >> 55)
                return -1;
            v = v << 8 | p[i];
        }
        return (int64_t)v;
    }
    size_t i = 0;
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++)
        v = v << 3 | (uint64_t)(p[i] - '0'); /* 12 digits are 36 bits */
    for (; i < n; i++) {
        if (p[i] != ' ' && p[i] != 0)
            return -1;
    }
    return (int64_t)v;
}

/* A time may be before 1970: base 256 with the sign in it. */
static int64_t time_of(const uint8_t *p, size_t n)
{
    if (p[0] != 0xff) {
        int64_t v = number(p, n);
        return v < 0 ? 0 : v;
    }
    uint64_t v = UINT64_MAX;
    for (size_t i = n - 8; i < n; i++)
        v = v << 8 | p[i];
    return (int64_t)v;
}

/* A field that a NUL ends, unless it is full. */
static struct str field(const uint8_t *p, size_t n)
{
    return str_n(p, strnlen((const char *)p, n));
}

/* The sum of all bytes, its own field taken as blanks; signed ones were used, too. */
static bool sum_fits(const uint8_t *h)
{
    int64_t u = 0, s = 0, said = number(h + AT_SUM, 8);
    for (int i = 0; i < TAR_BLOCK; i++) {
        uint8_t c = i >= AT_SUM && i < AT_SUM + 8 ? ' ' : h[i];
        u += c;
        s += (int8_t)c;
    }
    return said == u || said == s;
}

static bool all_zero(const uint8_t *h)
{
    for (int i = 0; i < TAR_BLOCK; i++) {
        if (h[i])
            return false;
    }
    return true;
}

/* ---- headers about headers ---- */

static int set_text(struct buf *b, struct str s, const char *what, struct err *e)
{
    buf_reset(b);
    if (s.n && memchr(s.p, 0, s.n))
        return err_set(e, ERR_INVALID, "the tar archive has a %s with a NUL in it", what);
    if (buf_adds(b, s) < 0)
        return err_set(e, ERR_LIMIT, "the tar archive has a %s of %zu bytes: at most %d",
                       what, s.n, TAR_NAME_MAX);
    return 0;
}

/* "1700000000.25", rounded down to seconds. */
static int record_time(struct str value, int64_t *out)
{
    struct str rest = value, whole = str_cut(&rest, '.');
    if (str_to_i64(whole, out) < 0)
        return -1;
    if (rest.n && whole.p[0] == '-' && *out > INT64_MIN)
        (*out)--;
    return 0;
}

static int take_record(struct records *r, struct str key, struct str value, struct err *e)
{
    int rc = 0;
    unsigned bit = 0;
    if (str_eq(key, STR("path"))) {
        bit = r->sparse ? 0 : HAS_NAME; /* the real one is GNU.sparse.name */
        rc = bit ? set_text(&r->name, value, "name", e) : 0;
    } else if (str_eq(key, STR("GNU.sparse.name"))) {
        bit = HAS_NAME;
        r->sparse = true;
        rc = set_text(&r->name, value, "name", e);
    } else if (str_starts(key, STR("GNU.sparse."))) {
        r->sparse = true;
    } else if (str_eq(key, STR("linkpath"))) {
        bit = HAS_LINK;
        rc = set_text(&r->link, value, "link", e);
    } else if (str_eq(key, STR("size")) || str_eq(key, STR("uid")) ||
               str_eq(key, STR("gid"))) {
        bit = key.p[0] == 's' ? HAS_SIZE : key.p[0] == 'u' ? HAS_UID : HAS_GID;
        uint64_t *to = bit == HAS_SIZE ? &r->size : bit == HAS_UID ? &r->uid : &r->gid;
        if (value.n && str_to_u64(value, to) < 0)
            return err_set(e, ERR_INVALID, "the tar archive has a pax %.*s of %.*s",
                           STR_ARG(key), (int)(value.n < 40 ? value.n : 40), value.p);
    } else if (str_eq(key, STR("mtime"))) {
        bit = HAS_TIME;
        if (value.n && record_time(value, &r->mtime) < 0)
            return err_set(e, ERR_INVALID, "the tar archive has a pax time of %.*s",
                           (int)(value.n < 40 ? value.n : 40), value.p);
    }
    /* An empty value removes the earlier one. */
    r->has = value.n ? r->has | bit : r->has & ~bit;
    return rc;
}

/* Each is "LENGTH KEY=VALUE\n", where LENGTH is that of all of it. */
int tar_record(struct str *text, struct str *key, struct str *value)
{
    uint64_t n;
    if (text->n == 0)
        return 0;
    long blank = str_chr(str_sub(*text, 0, 20), ' ');
    if (blank < 1 || str_to_u64(str_sub(*text, 0, (size_t)blank), &n) < 0 ||
        n > text->n || n < (uint64_t)blank + 3 || text->p[n - 1] != '\n')
        return -1;
    *value = str_sub(*text, (size_t)blank + 1, n - (size_t)blank - 2);
    if (str_chr(*value, '=') < 1)
        return -1;
    *key = str_cut(value, '=');
    *text = str_sub(*text, n, text->n);
    return 1;
}

static int take_records(struct records *r, struct str text, struct err *e)
{
    struct str key, value;
    int more;
    while ((more = tar_record(&text, &key, &value)) > 0)
        if (take_record(r, key, value, e) < 0)
            return -1;
    return more < 0 ? err_set(e, ERR_INVALID, "the tar archive has a damaged pax header")
                    : 0;
}

static int take_text(struct tar_reader *r, uint64_t size, struct err *e)
{
    buf_reset(&r->text);
    char *p = size <= TAR_RECORDS_MAX - TAR_BLOCK ? buf_reserve(&r->text, size + 1)
                                                  : NULL;
    if (!p)
        return err_set(e, ERR_LIMIT,
                       "the tar archive has a header of %llu bytes: at most %d",
                       (unsigned long long)size, TAR_RECORDS_MAX - TAR_BLOCK);
    int rc = size ? take(r, p, size, e) : 1;
    buf_commit(&r->text, rc > 0 ? size : 0);
    if (rc <= 0)
        return rc < 0 ? -1 : ended_early(r, e);
    return pass(r, -size % TAR_BLOCK, e);
}

/* Returns 1 if the header belongs to the next one, 0 if not, -1 and sets *e. */
static int take_meta(struct tar_reader *r, char type, uint64_t size, struct err *e)
{
    if (type == 'V') /* GNU: the archive's own name */
        return pass(r, size + -size % TAR_BLOCK, e) < 0 ? -1 : 1;
    if (type != 'x' && type != 'X' && type != 'g' && type != 'L' && type != 'K')
        return 0;
    if (take_text(r, size, e) < 0)
        return -1;
    int rc = 0;
    if (type == 'L' || type == 'K') {
        struct str s = field((const uint8_t *)buf_z(&r->text), r->text.n);
        unsigned bit = type == 'L' ? HAS_NAME : HAS_LINK;
        if (!(r->next.has & bit))
            rc = set_text(type == 'L' ? &r->next.name : &r->next.link, s, "name", e);
        r->next.has |= bit;
    } else {
        rc = take_records(type == 'g' ? &r->all : &r->next, buf_str(&r->text), e);
        if (rc == 0 && type != 'g' && buf_adds(&r->own, buf_str(&r->text)) < 0)
            rc = err_set(e, ERR_LIMIT, "the tar archive has too many pax headers");
    }
    return rc < 0 ? -1 : 1;
}

/* ---- entries ---- */

static enum tar_type type_of(char c)
{
    switch (c) {
    case '0':
    case 0:
    case '7': /* contiguous, which is nothing special */
    case 'S':
        return TAR_FILE;
    case '1':
        return TAR_HARD;
    case '2':
        return TAR_SYMLINK;
    case '3':
        return TAR_CHAR;
    case '4':
        return TAR_BLOCK_DEVICE;
    case '5':
        return TAR_FOLDER;
    case '6':
        return TAR_FIFO;
    default:
        return TAR_OTHER;
    }
}

static const struct records *who_says(const struct tar_reader *r, unsigned bit)
{
    return r->next.has & bit ? &r->next : r->all.has & bit ? &r->all : NULL;
}

static int set_names(struct tar_reader *r, const uint8_t *h, struct tar_entry *x,
                     struct err *e)
{
    /* Only POSIX has the prefix; GNU (magic "ustar  ") has other fields there. */
    bool posix = memcmp(h + AT_MAGIC, "ustar\0", 6) == 0;
    struct str prefix = posix ? field(h + AT_PREFIX, 155) : STR("");
    struct str name = field(h + AT_NAME, 100);
    const struct records *say = who_says(r, HAS_NAME);
    buf_reset(&r->name);
    if (say) {
        buf_adds(&r->name, buf_str(&say->name));
    } else {
        if (prefix.n && (buf_adds(&r->name, prefix) < 0 || buf_addc(&r->name, '/') < 0))
            return err_set(e, ERR_LIMIT, "out of memory");
        buf_adds(&r->name, name);
    }
    say = who_says(r, HAS_LINK);
    buf_reset(&r->link);
    buf_adds(&r->link, say ? buf_str(&say->link) : field(h + AT_LINK, 100));
    if (!r->name.n)
        return err_set(e, ERR_INVALID, "the tar archive has an entry without a name");
    x->name = buf_str(&r->name);
    x->link = str_n(buf_z(&r->link), r->link.n);
    return 0;
}

/* GNU's old sparse header goes on in blocks of its own. */
static int pass_map(struct tar_reader *r, const uint8_t *h, struct err *e)
{
    uint8_t block[TAR_BLOCK];
    for (bool more = h[AT_MORE]; more; more = block[AT_MORE_NEXT]) {
        int rc = take(r, block, sizeof(block), e);
        if (rc <= 0)
            return rc < 0 ? -1 : ended_early(r, e);
    }
    return 0;
}

static int set_entry(struct tar_reader *r, const uint8_t *h, struct tar_entry *x,
                     struct err *e)
{
    const struct records *say;
    char type = (char)h[AT_TYPE];
    int64_t size = number(h + AT_SIZE, 12), mode = number(h + AT_MODE, 8);
    int64_t uid = number(h + AT_UID, 8), gid = number(h + AT_GID, 8);
    *x = (struct tar_entry){.type = type_of(type)};
    if (set_names(r, h, x, e) < 0)
        return -1;
    if ((say = who_says(r, HAS_SIZE)))
        size = say->size > INT64_MAX ? -1 : (int64_t)say->size;
    x->uid = (say = who_says(r, HAS_UID)) ? say->uid : uid < 0 ? 0 : (uint64_t)uid;
    x->gid = (say = who_says(r, HAS_GID)) ? say->gid : gid < 0 ? 0 : (uint64_t)gid;
    x->mtime = (say = who_says(r, HAS_TIME)) ? say->mtime : time_of(h + AT_MTIME, 12);
    x->mode = mode < 0 ? 0 : (mode_t)mode & 07777;
    x->sparse = type == 'S' || r->next.sparse;
    x->records = buf_str(&r->own);
    /* In the oldest format a folder is a file whose name ends in a slash. */
    if (x->type == TAR_FILE && type != 'S' && str_ends(x->name, STR("/")))
        x->type = TAR_FOLDER;
    if (x->type == TAR_CHAR || x->type == TAR_BLOCK_DEVICE) {
        x->major = (unsigned)number(h + AT_MAJOR, 8);
        x->minor = (unsigned)number(h + AT_MINOR, 8);
    }
    if (x->type != TAR_FILE && x->type != TAR_OTHER)
        size = size < 0 ? size : 0; /* no data, whatever the size */
    if (size < 0 || (uint64_t)size > INT64_MAX - r->at - 2 * TAR_BLOCK)
        return err_set(e, ERR_INVALID, "the tar archive has no proper size for %.200s",
                       x->name.p);
    x->size = (uint64_t)size;
    if (type == 'S' && pass_map(r, h, e) < 0)
        return -1;
    x->offset = r->at;
    r->left = x->size;
    r->pad = (unsigned)(-x->size % TAR_BLOCK);
    r->sparse = x->sparse;
    r->next.has = 0;
    r->next.sparse = false;
    return 1;
}

/* After a block of zeroes: a second one, or nothing. */
static int finish(struct tar_reader *r, struct err *e)
{
    uint8_t h[TAR_BLOCK];
    int rc = take(r, h, sizeof(h), e);
    if (rc < 0)
        return -1;
    if (rc && !all_zero(h))
        return err_set(e, ERR_INVALID,
                       "the tar archive goes on after its end, at byte %llu",
                       (unsigned long long)r->at - TAR_BLOCK);
    r->ended = r->whole = true;
    return 0;
}

bool tar_is_whole(const struct tar_reader *r) { return r->whole; }

int tar_next(struct tar_reader *r, struct tar_entry *x, struct err *e)
{
    uint8_t h[TAR_BLOCK];
    if (r->ended)
        return 0;
    if (pass(r, r->left + r->pad, e) < 0)
        return -1;
    r->left = r->pad = 0;
    buf_reset(&r->own);
    for (;;) {
        int rc = take(r, h, sizeof(h), e);
        if (rc < 0)
            return -1;
        if (rc == 0 || all_zero(h)) {
            if (r->next.has)
                return err_set(e, ERR_INVALID,
                               "the tar archive ends after a header without its entry");
            if (rc)
                return finish(r, e);
            r->ended = true;
            return 0;
        }
        if (!sum_fits(h))
            return err_set(e, ERR_INVALID, "no tar header at byte %llu: its sum is wrong",
                           (unsigned long long)r->at - TAR_BLOCK);
        int64_t size = number(h + AT_SIZE, 12);
        rc = take_meta(r, (char)h[AT_TYPE], size < 0 ? UINT64_MAX >> 2 : (uint64_t)size,
                       e);
        if (rc < 0)
            return -1;
        if (rc == 0)
            return set_entry(r, h, x, e);
    }
}

ssize_t tar_read(struct tar_reader *r, void *p, size_t n, struct err *e)
{
    if (r->sparse)
        return err_set(e, ERR_UNSUPPORTED, "%.200s in the tar archive has holes cut out",
                       buf_z(&r->name));
    if (n > r->left)
        n = r->left;
    if (!n)
        return 0;
    ssize_t got = take_some(r, p, n, e);
    if (got == 0)
        return ended_early(r, e);
    if (got > 0)
        r->left -= (size_t)got;
    return got;
}
