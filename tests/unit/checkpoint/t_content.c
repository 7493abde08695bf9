/* SPDX-License-Identifier: MIT */
/* Sums, contents and manifests: that all that goes in comes out, and damage is an error.
 */
#include "checkpoint/content.h"
#include "checkpoint/manifest.h"
#include "checkpoint/store.h"

#include "t.h"

#include <fcntl.h>

static char bytes[6 << 20];

static void fill(unsigned seed)
{
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
}

static struct store *open_store(bool write)
{
    static char path[300];
    struct err e = ERR_INIT;
    buf_fill(path, sizeof(path), "%s/store", t_dir());
    struct store *s = store_open(path, write, &e);
    if (!s)
        T_FAIL("%s", e.text);
    return s;
}

static void same(struct store *s, const struct content_ref *c, size_t n)
{
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(sizeof(bytes));
    CHECK_INT(content_get(s, c, &out, &e), 0);
    CHECK_INT((long)out.n, (long)n);
    CHECK(n == 0 || memcmp(out.p, bytes, n) == 0);
    buf_release(&out);
}

TEST(contents_come_back)
{
    static const size_t sizes[] = {0, 1, 63, 64, 5000, 1 << 20, (1 << 20) + 1, 6 << 20};
    struct content_ref c[8];
    struct err e = ERR_INIT;
    struct store *s = open_store(true);
    fill(2);
    for (int i = 0; i < 8; i++) {
        CHECK_INT(content_put(s, str_n(bytes, sizes[i]), &c[i], &e), 0);
        same(s, &c[i], sizes[i]);
    }
    CHECK_INT(store_commit(s, true, &e), 0);
    store_close(s);
    s = open_store(false);
    for (int i = 0; i < 8; i++)
        same(s, &c[i], sizes[i]);
    store_close(s);
}

TEST(a_change_in_the_middle_adds_little)
{
    struct content_ref c;
    struct err e = ERR_INIT;
    struct store *s = open_store(true);
    fill(3);
    CHECK_INT(content_put(s, str_n(bytes, sizeof(bytes)), &c, &e), 0);
    uint64_t before = store_added(s);
    memset(bytes + sizeof(bytes) / 2, 0, 100);
    CHECK_INT(content_put(s, str_n(bytes, sizeof(bytes)), &c, &e), 0);
    CHECK(store_added(s) - before <= 2 * CONTENT_MOST);
    CHECK(store_added(s) - before < before);
    store_close(s);
}

/* Where content.c must cut, one byte after another. */
static size_t first_cut(const char *p, size_t n)
{
    uint64_t of[256], h = 0, x = 0x6f642063686b7074;
    for (int i = 0; i < 256; i++) {
        uint64_t z = x += 0x9e3779b97f4a7c15;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
        z = (z ^ z >> 27) * 0x94d049bb133111eb;
        of[i] = z ^ z >> 31;
    }
    for (size_t i = CONTENT_LEAST; i < n && i < CONTENT_MOST; i++) {
        h = (h << 1) + of[(uint8_t)p[i]];
        if (h >> 44 == 0)
            return i + 1;
    }
    return n < CONTENT_MOST ? n : CONTENT_MOST;
}

struct cuts {
    size_t at, n, wrong;
};

static int on_piece(void *arg, struct str piece, struct err *e)
{
    struct cuts *c = arg;
    (void)e;
    c->wrong += piece.n != first_cut(bytes + c->at, c->n - c->at);
    c->at += piece.n;
    return 0;
}

TEST(pieces_are_those_of_a_hash_over_64_bytes)
{
    struct store *s = open_store(true);
    for (unsigned seed = 1; seed < 40; seed++) {
        struct content_ref c;
        struct err e = ERR_INIT;
        uint64_t v = seed;
        struct cuts seen = {.n = sizeof(bytes) - 1000 * seed};
        for (size_t i = 0; i < sizeof(bytes); i += 8) {
            v ^= v << 13, v ^= v >> 7, v ^= v << 17;
            memcpy(bytes + i, &v, 8);
        }
        CHECK_INT(content_put(s, str_n(bytes, seen.n), &c, &e), 0);
        CHECK_INT(content_each(s, &c, on_piece, &seen, &e), 0);
        CHECK(seen.at == seen.n);
        CHECK_INT((int)seen.wrong, 0);
    }
    store_close(s);
}

TEST(each_of_many_contents_in_some_packs_is_found)
{
    enum { MANY = 20000 };
    struct err e = ERR_INIT;
    struct content_ref c;
    struct content_sum sum;
    struct store *s = open_store(true);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(content_put(s, str_n((char *)&i, sizeof(i)), &c, &e), 0);
        if (i == 3 || i == 30 || i == MANY / 2)
            CHECK_INT(store_commit(s, false, &e), 0);
    }
    CHECK_INT(store_commit(s, false, &e), 0);
    for (int i = 0; i < 2 * MANY; i++) {
        sum_of(str_n((char *)&i, sizeof(i)), &sum);
        if (store_has(s, &sum) != (i < MANY))
            T_FAIL("%d", i);
    }
    store_close(s);
}

TEST(what_is_not_committed_is_not_there)
{
    struct content_ref c;
    struct err e = ERR_INIT;
    struct store *s = open_store(true);
    fill(4);
    CHECK_INT(content_put(s, str_n(bytes, 5000), &c, &e), 0);
    store_close(s);
    s = open_store(false);
    CHECK(!store_has(s, &c.sum));
    store_close(s);
}

/* Each byte of the pack and of its index, one after the other. */
TEST(a_record_is_sent_in_one_order_of_bytes)
{
    static const char head[] = "odc1\3\0\0\0\3\0\0\0\0\0\0";
    struct content_ref c;
    struct content_sum asked;
    struct err e = ERR_INIT;
    struct buf out = BUF_INIT(1000);
    struct store *s = open_store(true);
    CHECK_INT(content_put(s, STR("abc"), &c, &e), 0);
    CHECK_INT(store_commit(s, true, &e), 0);
    CHECK_INT(packed_get(s, &c.sum, &out, &e), 0);
    CHECK(str_starts(buf_str(&out), str_n(head, sizeof(head))));
    struct str rest = buf_str(&out);
    CHECK_INT(packed_take(s, &rest, &asked, &e), 1);
    CHECK(memcmp(&asked, &c.sum, sizeof(asked)) == 0 && rest.n == 0);
    buf_release(&out);
    store_close(s);
}

TEST(damage_is_an_error_and_never_wrong_bytes)
{
    struct content_ref c;
    struct err e = ERR_INIT;
    struct store *s = open_store(true);
    fill(5);
    CHECK_INT(content_put(s, str_n(bytes, 300), &c, &e), 0);
    CHECK_INT(store_commit(s, false, &e), 0);
    store_close(s);
    t_sh("cp -r store good");
    for (int i = 0; i < 460; i += 3) {
        t_sh("rm -rf store; cp -r good store; f=$(ls store/packs/*.%s); "
             "n=$(stat -c %%s $f); [ %d -ge $n ] || printf '\\377\\000\\252' | "
             "dd of=$f bs=1 seek=%d conv=notrunc status=none",
             i % 2 ? "pack" : "index", i, i);
        struct err why = ERR_INIT;
        struct buf out = BUF_INIT(1 << 20);
        s = open_store(false);
        if (content_get(s, &c, &out, &why) == 0)
            CHECK(out.n == 300 && memcmp(out.p, bytes, 300) == 0);
        buf_release(&out);
        store_close(s);
    }
}

TEST(entries_come_back)
{
    struct buf b = BUF_INIT(1 << 16);
    struct file_node x = {.name = STR("a\n\xff"),
                          .type = ENTRY_FILE,
                          .gap = GAP_CHANGING,
                          .racy = true,
                          .shared = true,
                          .mode = 04755,
                          .uid = 4294967294u,
                          .gid = 7,
                          .mtime = {-5, 999999999},
                          .ctime = {1LL << 40, 1},
                          .dev = 9,
                          .ino = UINT64_MAX,
                          .size = 1ULL << 62,
                          .content = {CONTENT_LIST, {{1, 2, 3}}},
                          .xattrs = STR("xyz")};
    struct file_node y;
    entry_write(&b, &x);
    struct str rest = buf_str(&b);
    CHECK_INT(entry_read(&rest, &y, NULL), 1);
    CHECK_INT((long)rest.n, 0);
    CHECK(str_eq(x.name, y.name) && x.gap == y.gap && y.racy && y.shared);
    CHECK_INT((int)entry_differs(&x, &y), 0);
    CHECK(x.ino == y.ino && x.dev == y.dev && moment_eq(x.ctime, y.ctime));
    for (size_t n = 0; n < b.n; n++) {
        rest = str_n(b.p, n);
        CHECK(entry_read(&rest, &y, NULL) <= 0);
    }
    buf_release(&b);
}

T_MAIN
