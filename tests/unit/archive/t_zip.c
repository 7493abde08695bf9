/* SPDX-License-Identifier: MIT */
/*
 * Zip archives: what is written is read again, by us and by the programs that
 * are here; what others write is read; what was made to do harm is refused with
 * the entry's name.
 */
#define T_LIMIT_S 60
#include "archive/zip.h"

#include "base/buf.h"
#include "base/limits.h"

#include "t.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <zlib.h>

/* ---- writing into memory ---- */

static struct buf archive = BUF_INIT(64 << 20);

static int put(void *arg, struct str bytes, struct err *e)
{
    (void)arg;
    return buf_adds(&archive, bytes) < 0
               ? err_set(e, ERR_LIMIT, "the test's buffer is full")
               : 0;
}

static struct zip_writer *writer;
static struct err err;

#define DONE(call) \
    do { \
        if ((call) < 0) \
            T_FAIL("%s: %s", #call, err.text); \
    } while (0)

static void write_entry(const char *name, struct str bytes, int level, uint64_t size)
{
    struct zip_meta m = {.name = str_of(name),
                         .mode = S_IFREG | 0640,
                         .mtime = 1700000001,
                         .size = size ? size : bytes.n,
                         .level = level};
    DONE(zip_begin(writer, &m, &err));
    /* In uneven parts, an empty one among them. */
    size_t cut = bytes.n / 3;
    if (bytes.n) {
        DONE(zip_add(writer, str_sub(bytes, 0, cut), &err));
        DONE(zip_add(writer, str_sub(bytes, cut, 0), &err));
        DONE(zip_add(writer, str_sub(bytes, cut, bytes.n), &err));
    }
    DONE(zip_end(writer, &err));
}

static void begin(void)
{
    buf_reset(&archive);
    writer = zip_writer_new(put, NULL, -1);
}

static void finish(void)
{
    DONE(zip_finish(writer, &err));
    zip_writer_free(writer);
    writer = NULL;
}

/* ---- reading from a file ---- */

static int file_of(struct str bytes)
{
    int fd = memfd_create("t_zip", MFD_CLOEXEC);
    CHECK(fd >= 0);
    CHECK_INT(write(fd, bytes.p, bytes.n), bytes.n);
    return fd;
}

static struct zip_reader *reader;
static int reader_fd = -1;

static void stop_reading(void)
{
    zip_close(reader);
    reader = NULL;
    if (reader_fd >= 0)
        close(reader_fd);
    reader_fd = -1;
}

static void open_archive(const struct zip_limits *limits)
{
    stop_reading();
    reader_fd = file_of(buf_str(&archive));
    reader = zip_open(reader_fd, limits, &err);
    if (!reader)
        T_FAIL("zip_open: %s", err.text);
}

/* All of the entry that zip_next gave, in reads of `step` bytes. -1: err. */
static int read_entry(struct buf *out, size_t step)
{
    char block[70000];
    ssize_t n;
    if (zip_read_begin(reader, &err) < 0)
        return -1;
    while ((n = zip_read(reader, block, step, &err)) > 0) {
        CHECK((size_t)n <= step);
        CHECK_INT(buf_add(out, block, (size_t)n), 0);
    }
    return (int)n;
}

static void check_entry(const char *name, struct str bytes, size_t step)
{
    struct zip_entry x;
    struct buf b = BUF_INIT(64 << 20);
    DONE(zip_next(reader, &x, &err) - 1);
    CHECK_STR(x.name.p, name);
    CHECK_INT(x.size, bytes.n);
    DONE(read_entry(&b, step));
    CHECK(str_eq(buf_str(&b), bytes));
    buf_release(&b);
}

static void check_end(void)
{
    struct zip_entry x;
    CHECK_INT(zip_next(reader, &x, &err), 0);
}

/* Bytes that deflate makes a half of, and those of which it makes nothing. */
static struct str filler(size_t n, bool random)
{
    char *p = malloc(n + 1);
    unsigned v = 1;
    for (size_t i = 0; i < n; i++) {
        v = v * 1103515245 + 12345;
        p[i] = (char)(random ? v >> 16 : 'a' + (v >> 16 & 7));
    }
    return str_n(p, n);
}

/* ---- round trips ---- */

static void write_samples(void)
{
    struct str text = filler(200000, false), noise = filler(100000, true);
    begin();
    write_entry("stored.txt", text, 0, 0);
    write_entry("deflated.txt", text, 6, 0);
    write_entry("empty", STR(""), 0, 0);
    write_entry("empty too", STR(""), 9, 0);
    write_entry("d/\xc3\xa4 \xe2\x82\xac", noise, 1, 0);
    write_entry("not utf-8 \xff", STR("x"), 0, 0);
    write_entry("wide stored", text, 0, 5ull << 30);
    write_entry("wide deflated", text, 3, 5ull << 30);
    struct zip_meta m = {.name = STR("folder/"), .mode = S_IFDIR | 0755, .level = 9};
    DONE(zip_begin(writer, &m, &err));
    DONE(zip_end(writer, &err));
    finish();
    free((char *)(uintptr_t)text.p);
    free((char *)(uintptr_t)noise.p);
}

static void check_samples(size_t step)
{
    struct str text = filler(200000, false), noise = filler(100000, true);
    struct zip_entry x;
    check_entry("stored.txt", text, step);
    check_entry("deflated.txt", text, step);
    check_entry("empty", STR(""), step);
    check_entry("empty too", STR(""), step);
    check_entry("d/\xc3\xa4 \xe2\x82\xac", noise, step);
    check_entry("not utf-8 \xff", STR("x"), step);
    check_entry("wide stored", text, step);
    check_entry("wide deflated", text, step);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK(x.folder);
    CHECK_INT(x.mode, S_IFDIR | 0755);
    check_end();
    free((char *)(uintptr_t)text.p);
    free((char *)(uintptr_t)noise.p);
}

TEST(what_is_written_is_read)
{
    static const size_t steps[] = {1, 7, 4096, 70000};
    write_samples();
    for (int i = 0; i < 4; i++) {
        open_archive(NULL);
        CHECK_INT(zip_count(reader), 9);
        check_samples(steps[i]);
    }
    stop_reading();
}

TEST(what_is_not_read_may_be_passed_over)
{
    struct zip_entry x;
    char some[100];
    write_samples();
    open_archive(NULL);
    for (int i = 0; i < 9; i++) {
        CHECK_INT(zip_next(reader, &x, &err), 1);
        if (i % 2 && !x.folder) {
            DONE(zip_read_begin(reader, &err));
            CHECK(zip_read(reader, some, sizeof(some), &err) >= 0);
        }
    }
    check_end();
    stop_reading();
}

TEST(what_an_entry_says_of_itself)
{
    struct zip_entry x;
    begin();
    write_entry("a", STR("abc"), 0, 0);
    struct zip_meta m = {.name = STR("old"), .mode = S_IFLNK | 0777, .mtime = 4000000000};
    DONE(zip_begin(writer, &m, &err));
    DONE(zip_end(writer, &err));
    m.mtime = -5;
    DONE(zip_begin(writer, &m, &err));
    DONE(zip_end(writer, &err));
    finish();
    open_archive(NULL);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(x.mode, S_IFREG | 0640);
    CHECK_INT(x.mtime, 1700000001);
    CHECK_INT(x.crc, 0x352441c2);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK(S_ISLNK(x.mode) && !x.folder);
    CHECK_INT(x.mtime, 4000000000);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(x.mtime, 315532800); /* the first that fits: 1980 */
    check_end();
    stop_reading();
}

/* 4.3.9: signature, checksum, and two sizes as wide as the local header announced. */
TEST(what_follows_the_bytes)
{
    begin();
    write_entry("n", STR("abc"), 0, 0);
    write_entry("w", STR("abc"), 0, 5ull << 30);
    finish();
    size_t at = 30 + 1 + 9; /* header, name, time */
    CHECK_MEM(archive.p + at, 3 + 16, "abcPK\7\10\xc2\x41\x24\x35\3\0\0\0\3\0\0\0");
    at += 3 + 16 + 30 + 1 + 20 + 9;
    CHECK_MEM(archive.p + at, 3 + 24,
              "abcPK\7\10\xc2\x41\x24\x35\3\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0");
    CHECK_MEM(archive.p + at + 27, 4, "PK\1\2");
}

TEST(an_archive_of_nothing)
{
    begin();
    finish();
    CHECK_INT(archive.n, 22);
    open_archive(NULL);
    CHECK_INT(zip_count(reader), 0);
    check_end();
    stop_reading();
}

TEST(something_may_stand_before_it)
{
    struct buf whole = BUF_INIT(64 << 20);
    write_samples();
    buf_addz(&whole, "#!/bin/sh\nexec unpack-yourself\n");
    buf_adds(&whole, buf_str(&archive));
    buf_reset(&archive);
    buf_adds(&archive, buf_str(&whole));
    open_archive(NULL);
    check_samples(70000);
    stop_reading();
    buf_release(&whole);
}

/* More than 16 bits count, so zip64; the directory goes through a file. */
TEST(seventy_thousand_entries)
{
    int spill = memfd_create("t_zip", MFD_CLOEXEC);
    char name[30];
    struct zip_entry x;
    buf_reset(&archive);
    writer = zip_writer_new(put, NULL, spill);
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof(name), "folder/file-%d", i);
        write_entry(name, STR(""), 0, 0);
    }
    CHECK(lseek(spill, 0, SEEK_END) > 4 << 20);
    finish();
    open_archive(NULL);
    CHECK_INT(zip_count(reader), 70000);
    for (int i = 0; i < 70000; i++) {
        snprintf(name, sizeof(name), "folder/file-%d", i);
        DONE(zip_next(reader, &x, &err) - 1);
        CHECK_STR(x.name.p, name);
        DONE(zip_read_begin(reader, &err));
    }
    check_end();
    stop_reading();
}

/* A sink that keeps what is not zero, so that gigabytes take no room. */
static int sparse_fd;
static int put_sparse(void *arg, struct str bytes, struct err *e)
{
    off_t *at = arg;
    (void)e;
    if (bytes.n < 4096 || bytes.p[0] || memcmp(bytes.p, bytes.p + 1, bytes.n - 1) != 0)
        CHECK_INT(pwrite(sparse_fd, bytes.p, bytes.n, *at), bytes.n);
    *at += (off_t)bytes.n;
    return 0;
}

TEST(five_gibibytes_and_a_file_behind_them)
{
    if (!getenv("OD_TEST_DEEP"))
        T_SKIP("takes six seconds of a processor: OD_TEST_DEEP");
    off_t at = 0;
    struct zip_entry x;
    static char zero[1 << 20];
    sparse_fd = memfd_create("t_zip", MFD_CLOEXEC);
    writer = zip_writer_new(put_sparse, &at, -1);
    struct zip_meta m = {.name = STR("big"), .size = 5ull << 30};
    DONE(zip_begin(writer, &m, &err));
    for (int i = 0; i < 5 << 10; i++)
        DONE(zip_add(writer, str_n(zero, sizeof(zero)), &err));
    DONE(zip_end(writer, &err));
    write_entry("behind", STR("found"), 6, 0);
    finish();
    CHECK_INT(ftruncate(sparse_fd, at), 0);
    reader = zip_open(sparse_fd, NULL, &err);
    CHECK(reader != NULL);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(x.size, 5ull << 30);
    CHECK_INT(x.packed, 5ull << 30);
    check_entry("behind", STR("found"), 100);
    check_end();
    stop_reading();
    close(sparse_fd);
}

TEST(a_file_that_grows_past_what_its_header_can_say)
{
    if (!getenv("OD_TEST_DEEP"))
        T_SKIP("takes six seconds of a processor: OD_TEST_DEEP");
    off_t at = 0;
    static char zero[1 << 20];
    sparse_fd = memfd_create("t_zip", MFD_CLOEXEC);
    writer = zip_writer_new(put_sparse, &at, -1);
    struct zip_meta m = {.name = STR("big"), .size = 100};
    DONE(zip_begin(writer, &m, &err));
    for (int i = 0; i < 4 << 10; i++)
        DONE(zip_add(writer, str_n(zero, sizeof(zero)), &err));
    CHECK_INT(zip_end(writer, &err), -1);
    CHECK_STR(err.text, "big grew past 4 GiB while it was read");
    zip_writer_free(writer);
    close(sparse_fd);
}

TEST(names_that_no_archive_takes)
{
    char name[ZIP_NAME_MAX + 2];
    memset(name, 'n', sizeof(name));
    begin();
    struct zip_meta m = {.name = str_n(name, ZIP_NAME_MAX)};
    DONE(zip_begin(writer, &m, &err));
    DONE(zip_end(writer, &err));
    m.name.n++;
    CHECK_INT(zip_begin(writer, &m, &err), -1);
    m.name.n = 0;
    CHECK_INT(zip_begin(writer, &m, &err), -1);
    zip_writer_free(writer);
}

static int refuse(void *arg, struct str bytes, struct err *e)
{
    size_t *left = arg;
    if (bytes.n > *left)
        return err_set(e, ERR_IO, "no more");
    *left -= bytes.n;
    return 0;
}

TEST(a_sink_that_refuses_ends_it_anywhere)
{
    struct str noise = filler(300000, true);
    for (size_t room = 0; room < 700000; room += 20000) {
        size_t left = room;
        struct zip_meta m = {.name = STR("n"), .size = noise.n};
        int rc = 0;
        writer = zip_writer_new(refuse, &left, -1);
        for (int i = 0; i < 2 && rc == 0; i++) {
            m.level = i;
            rc = zip_begin(writer, &m, &err);
            if (rc == 0)
                rc = zip_add(writer, noise, &err);
            if (rc == 0)
                rc = zip_end(writer, &err);
        }
        if (rc == 0)
            rc = zip_finish(writer, &err);
        CHECK_INT(rc, room < 600400 ? -1 : 0);
        zip_writer_free(writer);
    }
    free((char *)(uintptr_t)noise.p);
}

/* ---- the programs that are here ---- */

static int shell(const char *script)
{
    pid_t pid = t_fork();
    if (pid == 0) {
        if (chdir(t_dir()) < 0 || !freopen("out", "w", stdout) || dup2(1, 2) < 0)
            _exit(99);
        execl("/bin/sh", "sh", "-c", script, (char *)NULL);
        _exit(98);
    }
    return t_reap(pid);
}

static void need(const char *program)
{
    char script[100];
    snprintf(script, sizeof(script), "command -v %s", program);
    if (shell(script) != 0)
        T_SKIP("a program is not here");
}

static void save(void)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/ours.zip", t_dir());
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_INT(write(fd, archive.p, archive.n), archive.n);
    close(fd);
}

static void load(const char *name)
{
    char path[300];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    buf_reset(&archive);
    char block[65536];
    ssize_t n;
    while ((n = read(fd, block, sizeof(block))) > 0)
        buf_add(&archive, block, (size_t)n);
    close(fd);
}

static void check_shell(const char *script)
{
    int status = shell(script);
    if (status == 0)
        return;
    load("out");
    T_FAIL("status 0x%x of: %s\n# %.*s", (unsigned)status, script,
           (int)(archive.n < 500 ? archive.n : 500), buf_z(&archive));
}

TEST(python_reads_ours)
{
    need("python3");
    write_samples();
    save();
    check_shell("python3 -c \"\n"
                "import zipfile, os\n"
                "z = zipfile.ZipFile('ours.zip')\n"
                "assert z.testzip() is None\n"
                "assert len(z.namelist()) == 9\n"
                "assert 'd/\\u00e4 \\u20ac' in z.namelist()\n"
                "assert z.read('wide deflated') == z.read('stored.txt')\n"
                "i = z.getinfo('stored.txt')\n"
                "assert i.external_attr >> 16 == 0o100640, oct(i.external_attr)\n"
                "assert i.date_time == (2023, 11, 14, 22, 13, 20), i.date_time\n"
                "assert i.compress_type == 0 and i.file_size == 200000\n"
                "assert z.getinfo('folder/').is_dir()\n\"");
}

TEST(unzip_reads_ours)
{
    need("unzip");
    write_samples();
    save();
    check_shell(
        "unzip -tq ours.zip && mkdir x && cd x && unzip -q ../ours.zip -x 'not*' && "
        "cmp stored.txt 'wide deflated' && cmp stored.txt 'wide stored' && "
        "[ -d folder ] && [ -e empty ] && [ \"$(stat -c '%a %Y' stored.txt)\" = "
        "'640 1700000001' ]");
}

TEST(unzip_reads_seventy_thousand_of_ours)
{
    need("unzip");
    begin();
    for (int i = 0; i < 70000; i++) {
        char name[20];
        snprintf(name, sizeof(name), "%d", i);
        write_entry(name, STR("x"), 0, 0);
    }
    finish();
    save();
    check_shell(
        "unzip -l ours.zip | tail -n 1 | grep -q ' 70000 files' && unzip -tqq ours.zip");
}

TEST(what_zip_writes)
{
    need("zip");
    check_shell(
        "mkdir d && seq 30000 >d/a && : >d/b && zip -qr theirs.zip d && "
        "zip -qr0 - d | cat >streamed.zip && zip -q - d/a </dev/null | cat >piped.zip && "
        "seq 30000 | zip -q >stdin.zip - - && zip -qPpassword locked.zip d/a");
    static const char *const names[] = {"theirs.zip", "streamed.zip"};
    struct zip_entry x;
    struct buf a = BUF_INIT(1 << 20), b = BUF_INIT(1 << 20);
    load("d/a");
    buf_adds(&a, buf_str(&archive));
    for (int i = 0; i < 2; i++) {
        load(names[i]);
        open_archive(NULL);
        CHECK_INT(zip_count(reader), 3);
        for (int k = 0; k < 3; k++) {
            CHECK_INT(zip_next(reader, &x, &err), 1);
            buf_reset(&b);
            DONE(read_entry(&b, 5000));
            if (strcmp(x.name.p, "d/a") == 0)
                CHECK(str_eq(buf_str(&a), buf_str(&b)));
        }
        check_end();
    }
    load("piped.zip");
    open_archive(NULL);
    check_entry("d/a", buf_str(&a), 70000);
    load("stdin.zip");
    open_archive(NULL);
    check_entry("-", buf_str(&a), 70000);
    load("locked.zip");
    open_archive(NULL);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(zip_read_begin(reader, &err), -1);
    CHECK_STR(err.text, "d/a is encrypted: pack it again without a password");
    stop_reading();
    buf_release(&a);
    buf_release(&b);
}

TEST(what_python_writes)
{
    need("python3");
    check_shell("python3 -c \"\n"
                "import zipfile\n"
                "with zipfile.ZipFile('a.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n"
                "    z.writestr('one', 'x' * 100000)\n"
                "    z.writestr('d/', '')\n"
                "    with z.open('wide', 'w', force_zip64=True) as f: f.write(b'wide')\n"
                "    z.comment = b'PK\\x05\\x06 a comment'\n"
                "with zipfile.ZipFile('bz.zip', 'w', zipfile.ZIP_BZIP2) as z:\n"
                "    z.writestr('b', 'x')\n"
                "\" && python3 -c \"\n"
                "import zipfile, sys\n"
                "with zipfile.ZipFile(sys.stdout.buffer, 'w') as z:\n"
                "    z.writestr('streamed', 'abc')\n"
                "    with z.open('wide', 'w', force_zip64=True) as f: f.write(b'wide')\n"
                "\" | cat >c.zip");
    struct zip_entry x;
    char want[100000];
    memset(want, 'x', sizeof(want));
    load("a.zip");
    open_archive(NULL);
    check_entry("one", str_n(want, sizeof(want)), 3000);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK(x.folder);
    check_entry("wide", STR("wide"), 100);
    check_end();
    load("c.zip");
    open_archive(NULL);
    check_entry("streamed", STR("abc"), 100);
    check_entry("wide", STR("wide"), 100);
    check_end();
    load("bz.zip");
    open_archive(NULL);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(zip_read_begin(reader, &err), -1);
    CHECK_INT(err.code, ERR_UNSUPPORTED);
    CHECK_STR(err.text, "b is compressed by method 12; pack it again with deflate");
    stop_reading();
}

/* ---- damage ---- */

static void small_archive(void)
{
    begin();
    write_entry("one", STR("the first file"), 0, 0);
    write_entry("two", STR("the second file, deflated, deflated, deflated"), 9, 0);
    write_entry("three", STR("wide"), 0, 5ull << 30);
    finish();
}

TEST(cut_anywhere_it_is_no_archive)
{
    small_archive();
    for (size_t n = 0; n < archive.n; n++) {
        int fd = file_of(str_sub(buf_str(&archive), 0, n));
        struct zip_reader *r = zip_open(fd, NULL, &err);
        if (r)
            T_FAIL("it is one at %zu of %zu bytes", n, archive.n);
        CHECK_INT(err.code, ERR_INVALID);
        close(fd);
    }
}

/* Reads everything; what comes out whole is what went in. */
static void read_what_is_left(void)
{
    static const char *const known[] = {"the first file", "wide",
                                        "the second file, deflated, deflated, deflated"};
    struct zip_entry x;
    struct buf b = BUF_INIT(1 << 20);
    while (zip_next(reader, &x, &err) > 0) {
        buf_reset(&b);
        if (x.folder || read_entry(&b, 9) < 0)
            continue;
        bool found = b.n == 0;
        for (int i = 0; i < 3; i++)
            found |= str_eq(buf_str(&b), str_of(known[i]));
        if (!found)
            T_FAIL("%s: what came out is none of ours", x.name.p);
    }
    buf_release(&b);
}

TEST(any_byte_changed_gives_the_truth_or_an_error)
{
    small_archive();
    for (size_t i = 0; i < archive.n; i++) {
        for (int bit = 0; bit < 8; bit++) {
            archive.p[i] ^= (char)(1 << bit);
            reader_fd = file_of(buf_str(&archive));
            reader = zip_open(reader_fd, NULL, &err);
            if (reader)
                read_what_is_left();
            else
                CHECK(err.text[0]);
            stop_reading();
            archive.p[i] ^= (char)(1 << bit);
        }
    }
}

/* ---- archives by hand ---- */

static void add16(unsigned v)
{
    buf_addc(&archive, (char)v);
    buf_addc(&archive, (char)(v >> 8));
}

static void add32(uint64_t v)
{
    add16((unsigned)v);
    add16((unsigned)(v >> 16));
}

struct forged {
    struct str name;
    unsigned method, flags;
    uint64_t crc, packed, size, offset;
    struct str local_name; /* n 0: the same */
    uint64_t local_size;   /* 0: the same */
};

static void add_local(struct forged *f, struct str bytes)
{
    struct str name = f->local_name.n ? f->local_name : f->name;
    f->offset = archive.n;
    add32(0x04034b50);
    add16(20);
    add16(f->flags);
    add16(f->method);
    add32(0);
    add32(f->crc);
    add32(f->packed);
    add32(f->local_size ? f->local_size : f->size);
    add16((unsigned)name.n);
    add16(0);
    buf_adds(&archive, name);
    buf_adds(&archive, bytes);
}

static void add_central(const struct forged *f)
{
    add32(0x02014b50);
    add16(20);
    add16(20);
    add16(f->flags);
    add16(f->method);
    add32(0);
    add32(f->crc);
    add32(f->packed);
    add32(f->size);
    add16((unsigned)f->name.n);
    add16(0);
    add16(0);
    add16(0);
    add16(0);
    add32(0);
    add32(f->offset);
    buf_adds(&archive, f->name);
}

static void add_end(unsigned count, size_t central)
{
    size_t here = archive.n;
    add32(0x06054b50);
    add32(0);
    add16(count);
    add16(count);
    add32(here - central);
    add32(central);
    add16(0);
}

/* An entry of "abc", as it should be. */
static struct forged good(void)
{
    return (struct forged){.name = STR("f"), .crc = 0x352441c2, .packed = 3, .size = 3};
}

static void forge(struct forged f, struct str bytes)
{
    buf_reset(&archive);
    add_local(&f, bytes);
    size_t central = archive.n;
    add_central(&f);
    add_end(1, central);
}

/* The only entry is refused, when it is found or read, with that sentence. */
static void check_refused(enum err_code code, const char *want)
{
    struct zip_entry x;
    struct buf b = BUF_INIT(1 << 20);
    err.text[0] = 0;
    open_archive(NULL);
    int rc = zip_next(reader, &x, &err);
    if (rc == 1)
        rc = read_entry(&b, 100);
    if (rc != -1)
        T_FAIL("taken, where was expected: %s", want);
    CHECK_STR(err.text, want);
    CHECK_INT(err.code, code);
    buf_release(&b);
    stop_reading();
}

TEST(the_forger_can_do_it_right)
{
    forge(good(), STR("abc"));
    open_archive(NULL);
    check_entry("f", STR("abc"), 2);
    check_end();
    stop_reading();
}

TEST(headers_that_disagree)
{
    struct forged f = good();
    f.local_name = STR("g");
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f: its own header and the directory say another name");
    f.local_name = STR("ff");
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f: its own header and the directory say another name");
    f = good();
    f.local_size = 4;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f: its own header and the directory say another size");
}

TEST(bytes_that_are_not_as_promised)
{
    struct forged f = good();
    f.crc = 1;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f is damaged: its checksum is wrong");
    f = good();
    f.size = 4;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f is stored but has two sizes");
    f = good();
    f.packed = f.size = 1000;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f is not where the directory says");
    f = good();
    f.size = f.packed = 0xffffffff;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f: its zip64 sizes are missing");
    f = good();
    f.method = 8;
    forge(f, STR("\xff\xff\xff"));
    check_refused(ERR_INVALID, "f is damaged: invalid block type");
    f.packed = 5; /* "abc" as a fixed block */
    forge(f, STR("\x4b\x4c\x4a\x06\x00"));
    open_archive(NULL);
    check_entry("f", STR("abc"), 2);
    f.packed = 6;
    forge(f, STR("\x4b\x4c\x4a\x06\x00!"));
    check_refused(ERR_INVALID, "f is damaged: bytes behind its end");
    f.packed = 4;
    forge(f, STR("\x4b\x4c\x4a\x06"));
    check_refused(ERR_INVALID, "f is damaged: it is cut off");
    f.packed = 5;
    f.size = 2;
    forge(f, STR("\x4b\x4c\x4a\x06\x00"));
    check_refused(ERR_INVALID, "f is damaged: it is longer than it says");
    f.size = 4;
    forge(f, STR("\x4b\x4c\x4a\x06\x00"));
    check_refused(ERR_INVALID, "f is damaged: it has 3 bytes, not 4");
}

TEST(a_record_of_the_directory_as_long_as_can_be)
{
    static char much[65535];
    struct forged f = good();
    buf_reset(&archive);
    add_local(&f, STR("abc"));
    size_t central = archive.n;
    add_central(&f);
    archive.p[central + 30] = archive.p[central + 31] = '\xff'; /* extra */
    archive.p[central + 32] = archive.p[central + 33] = '\xff'; /* comment */
    buf_add(&archive, much, sizeof(much));
    buf_add(&archive, much, sizeof(much));
    add_central(&f);
    add_end(2, central);
    open_archive(NULL);
    check_entry("f", STR("abc"), 10);
    struct zip_entry x;
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(x.size, 3);
    check_end();
    stop_reading();
}

TEST(names_that_are_refused)
{
    struct forged f = good();
    f.name = STR("a\0b");
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "the name of entry 1 has a NUL in it");
    f.name = STR("");
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "entry 1 has a name of 0 bytes, not 1 to 4096");
    struct str name = filler(ZIP_NAME_MAX + 1, false);
    f.name = name;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "entry 1 has a name of 4097 bytes, not 1 to 4096");
    f.name.n--;
    forge(f, STR("abc"));
    open_archive(NULL);
    struct zip_entry x;
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(x.name.n, ZIP_NAME_MAX);
    stop_reading();
    free((char *)(uintptr_t)name.p);
}

TEST(two_entries_of_the_same_bytes)
{
    struct forged f = good(), g;
    struct zip_entry x;
    struct buf b = BUF_INIT(100);
    buf_reset(&archive);
    add_local(&f, STR("abc"));
    size_t central = archive.n;
    add_central(&f);
    g = f;
    g.local_name = f.name;
    add_central(&g);
    add_end(2, central);
    open_archive(NULL);
    check_entry("f", STR("abc"), 10);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(read_entry(&b, 10), -1);
    CHECK_STR(err.text, "f shares bytes with another entry");
    stop_reading();

    /* One within the other: what the outer has stored is the inner's header. */
    struct forged inner = good(), outer = good();
    buf_reset(&archive);
    outer.name = STR("outer");
    inner.name = STR("inner");
    add_local(&inner, STR("abc"));
    struct buf within = BUF_INIT(1000);
    buf_adds(&within, buf_str(&archive));
    buf_reset(&archive);
    outer.size = outer.packed = within.n;
    outer.crc = crc32(0, (unsigned char *)within.p, (unsigned)within.n);
    add_local(&outer, buf_str(&within));
    inner.offset = archive.n - within.n;
    central = archive.n;
    add_central(&inner);
    add_central(&outer);
    add_end(2, central);
    open_archive(NULL);
    check_entry("inner", STR("abc"), 10);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(read_entry(&b, 10), -1);
    CHECK_STR(err.text, "outer shares bytes with another entry");
    stop_reading();
    buf_release(&within);
}

/* Every order is allowed, and in every order a second one of any is found. */
TEST(a_directory_in_any_order)
{
    enum { N = 300 };
    struct forged f[N];
    char names[N][8];
    struct zip_entry x;
    static const int steps[] = {1, 7, 11, 113, 149, 299};
    for (int s = 0; s < 6; s++) {
        buf_reset(&archive);
        for (int i = 0; i < N; i++) {
            f[i] = good();
            f[i].name = str_n(names[i], (size_t)snprintf(names[i], 8, "%d", i));
            add_local(&f[i], STR("abc"));
            if (i % 3 == 0)
                buf_addz(&archive, "a gap of more than thirty bytes between two of them");
        }
        size_t central = archive.n;
        for (int i = 0, at = N - 1; i < N; i++, at = (at + steps[s]) % N)
            add_central(&f[at]);
        for (int i = 0; i < N; i++)
            add_central(&f[i]);
        add_end(2 * N, central);
        open_archive(NULL);
        for (int i = 0; i < N; i++) {
            struct buf b = BUF_INIT(10);
            CHECK_INT(zip_next(reader, &x, &err), 1);
            DONE(read_entry(&b, 10));
            CHECK_MEM(b.p, b.n, "abc");
            buf_release(&b);
        }
        for (int i = 0; i < N; i++) {
            CHECK_INT(zip_next(reader, &x, &err), 1);
            CHECK_INT(zip_read_begin(reader, &err), -1);
        }
        check_end();
    }
    stop_reading();
}

static void check_no_archive(enum err_code code, const char *want)
{
    int fd = file_of(buf_str(&archive));
    CHECK(zip_open(fd, NULL, &err) == NULL);
    CHECK_STR(err.text, want);
    CHECK_INT(err.code, code);
    close(fd);
}

TEST(ends_that_lie)
{
    forge(good(), STR("abc"));
    size_t end = archive.n - 22;
    archive.p[end + 4] = 1;
    check_no_archive(ERR_UNSUPPORTED, "a part of a split archive: join it first");
    forge(good(), STR("abc"));
    archive.p[end + 16] = 100;
    check_no_archive(ERR_INVALID,
                     "not a zip archive, or a damaged one: its central directory "
                     "is not where it says");
    forge(good(), STR("abc"));
    archive.p[end + 8] = archive.p[end + 10] = 2;
    check_no_archive(ERR_INVALID,
                     "not a zip archive, or a damaged one: its central directory "
                     "has no room for its entries");
    forge(good(), STR("abc"));
    archive.p[end + 8] = archive.p[end + 10] = 0;
    struct zip_entry x;
    open_archive(NULL);
    CHECK_INT(zip_next(reader, &x, &err), -1);
    CHECK_STR(err.text,
              "not a zip archive, or a damaged one: its central directory has more "
              "than it says");
    stop_reading();
    buf_reset(&archive);
    buf_addz(&archive, "this is some text and no archive");
    check_no_archive(ERR_INVALID,
                     "not a zip archive, or a damaged one: there is no end of "
                     "central directory");
    buf_reset(&archive);
    check_no_archive(ERR_INVALID,
                     "not a zip archive, or a damaged one: there is no end of "
                     "central directory");
}

/* ---- bombs ---- */

TEST(more_than_the_limits)
{
    struct zip_limits few = {.entries = 2}, small = {.total = 30};
    struct zip_entry x;
    struct buf b = BUF_INIT(1000);
    small_archive();
    int fd = file_of(buf_str(&archive));
    CHECK(zip_open(fd, &few, &err) == NULL);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "the archive has 3 entries; at most 2 are taken");
    close(fd);
    open_archive(&small);
    check_entry("one", STR("the first file"), 10);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    CHECK_INT(read_entry(&b, 10), -1);
    CHECK_INT(err.code, ERR_LIMIT);
    CHECK_STR(err.text, "two: the archive unpacks to more than 0 MiB");
    CHECK_INT(b.n, 0); /* known before the first byte */
    stop_reading();
}

TEST(a_ratio_that_only_bombs_have)
{
    struct forged f = good();
    f.method = 8;
    f.size = ((uint64_t)LIMIT_ZIP_FREE_MIB << 20) + 1;
    forge(f, STR("abc"));
    check_refused(ERR_LIMIT, "f: the archive unpacks to more than 200 times its size");
    f.size = 0xfffffffe;
    f.method = 0;
    forge(f, STR("abc"));
    check_refused(ERR_INVALID, "f is stored but has two sizes");
}

/* What is promised small and comes out large stops at the promise. */
TEST(a_stream_longer_than_promised_stops_at_once)
{
    static unsigned char packed[20000];
    static char zero[1 << 20];
    z_stream z = {.next_out = packed, .avail_out = sizeof(packed)};
    CHECK_INT(deflateInit2(&z, 9, Z_DEFLATED, -15, 8, 0), Z_OK);
    for (int i = 0; i < 10; i++) {
        z.next_in = (unsigned char *)zero;
        z.avail_in = sizeof(zero);
        CHECK_INT(deflate(&z, i == 9 ? Z_FINISH : Z_NO_FLUSH),
                  i == 9 ? Z_STREAM_END : Z_OK);
    }
    deflateEnd(&z);
    struct forged f = good();
    f.method = 8;
    f.packed = z.total_out;
    f.size = 100;
    forge(f, str_n(packed, z.total_out));
    struct zip_entry x;
    char block[1000];
    open_archive(NULL);
    CHECK_INT(zip_next(reader, &x, &err), 1);
    DONE(zip_read_begin(reader, &err));
    CHECK_INT(zip_read(reader, block, sizeof(block), &err), -1);
    CHECK_STR(err.text, "f is damaged: it is longer than it says");
    stop_reading();
}

T_MAIN
