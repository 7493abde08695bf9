/* SPDX-License-Identifier: MIT */
/* Hashes, AES and CRC: the documents' vectors, at once and split at every byte. */
#include "base/cipher.h"
#include "base/crc.h"
#include "base/enc.h"
#include "base/hash.h"

#include "t.h"

static const char *hex(const uint8_t *p, size_t n)
{
    static struct buf b = BUF_INIT(1000);
    buf_reset(&b);
    CHECK_INT(enc_hex(&b, str_n(p, n)), 0);
    return buf_z(&b);
}

#define CHECK_HASH(out, want) CHECK_STR(hex(out, sizeof(out)), want)

static uint8_t sha1[HASH_SHA1_SIZE], sha256[HASH_SHA256_SIZE];

/* FIPS 180-4's examples, as NIST publishes them, and the empty string. */
TEST(sha_1)
{
    hash_sha1(STR(""), sha1);
    CHECK_HASH(sha1, "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    hash_sha1(STR("abc"), sha1);
    CHECK_HASH(sha1, "a9993e364706816aba3e25717850c26c9cd0d89d");
    hash_sha1(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), sha1);
    CHECK_HASH(sha1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
    /* RFC 6455 §1.3 */
    hash_sha1(STR("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11"), sha1);
    CHECK_HASH(sha1, "b37a4f2cc0624f1690f64606cf385945b2bec4ea");
}

TEST(sha_256)
{
    hash_sha256(STR(""), sha256);
    CHECK_HASH(sha256,
               "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    hash_sha256(STR("abc"), sha256);
    CHECK_HASH(sha256,
               "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    hash_sha256(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), sha256);
    CHECK_HASH(sha256,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    struct hash h;
    hash_begin_sha256(&h);
    for (int i = 0; i < 1000; i++) {
        char a[1000];
        memset(a, 'a', sizeof(a));
        hash_add(&h, str_n(a, sizeof(a)));
    }
    hash_end(&h, sha256);
    CHECK_HASH(sha256,
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static struct str filled(char *p, int byte, size_t n)
{
    memset(p, byte, n);
    return str_n(p, n);
}

static void hmac(struct str key, struct str bytes, uint8_t out[HASH_SHA256_SIZE])
{
    struct hash h;
    hash_begin_hmac_sha256(&h, key);
    hash_add(&h, bytes);
    hash_end(&h, out);
}

/* RFC 4231 §4.2, 4.3, 4.4, 4.7, 4.8. */
TEST(hmac_sha_256)
{
    char key[131], data[50];
    hmac(filled(key, 0x0b, 20), STR("Hi There"), sha256);
    CHECK_HASH(sha256,
               "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    hmac(STR("Jefe"), STR("what do ya want for nothing?"), sha256);
    CHECK_HASH(sha256,
               "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    hmac(filled(key, 0xaa, 20), filled(data, 0xdd, 50), sha256);
    CHECK_HASH(sha256,
               "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
    hmac(filled(key, 0xaa, 131),
         STR("Test Using Larger Than Block-Size Key - Hash Key First"), sha256);
    CHECK_HASH(sha256,
               "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    hmac(filled(key, 0xaa, 131),
         STR("This is a test using a larger than block-size key and a larger "
             "than block-size data. The key needs to be hashed before being "
             "used by the HMAC algorithm."),
         sha256);
    CHECK_HASH(sha256,
               "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(an_empty_key_and_no_bytes)
{
    hmac((struct str){NULL, 0}, (struct str){NULL, 0}, sha256);
    CHECK_HASH(sha256,
               "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

TEST(parts_are_the_same_as_the_whole)
{
    char text[150];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 5);
    struct str whole = str_n(text, sizeof(text)), key = STR("key");
    uint8_t want1[HASH_SHA1_SIZE], want256[HASH_SHA256_SIZE], want_mac[HASH_SHA256_SIZE];
    hash_sha1(whole, want1);
    hash_sha256(whole, want256);
    hmac(key, whole, want_mac);
    for (size_t cut = 0; cut <= whole.n; cut++) {
        struct hash h[3];
        hash_begin_sha1(&h[0]);
        hash_begin_sha256(&h[1]);
        hash_begin_hmac_sha256(&h[2], key);
        for (int i = 0; i < 3; i++) {
            hash_add(&h[i], str_sub(whole, 0, cut));
            hash_add(&h[i], str_sub(whole, cut, whole.n));
        }
        hash_end(&h[0], sha1);
        CHECK(hash_equal(sha1, want1, sizeof(sha1)));
        hash_end(&h[1], sha256);
        CHECK(hash_equal(sha256, want256, sizeof(sha256)));
        hash_end(&h[2], sha256);
        CHECK(hash_equal(sha256, want_mac, sizeof(sha256)));
    }
}

/* Single bytes are hashed by the library, whole blocks by the processor if it can. */
static void by_one(const char *p, size_t n, uint8_t out[HASH_SHA256_SIZE])
{
    struct hash h;
    hash_begin_sha256(&h);
    for (size_t i = 0; i < n; i++)
        hash_add(&h, str_n(p + i, 1));
    hash_end(&h, out);
}

TEST(whole_blocks_are_the_same_as_single_bytes)
{
    static char bytes[5000];
    uint8_t a[HASH_SHA256_SIZE], b[HASH_SHA256_SIZE];
    unsigned seed = 1;
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (char)((seed = seed * 1103515245 + 12345) >> 16);
    for (size_t n = 0; n < 400; n++) {
        size_t first = n % 131 < n ? n % 131 : n; /* the second part begins in a block */
        struct hash h;
        by_one(bytes + n % 7, n, a);
        hash_sha256(str_n(bytes + n % 7, n), b);
        CHECK(hash_equal(a, b, sizeof(a)));
        hash_begin_sha256(&h);
        hash_add(&h, str_n(bytes + n % 7, first));
        hash_add(&h, str_n(bytes + n % 7 + first, n - first));
        hash_end(&h, b);
        CHECK(hash_equal(a, b, sizeof(a)));
    }
    by_one(bytes, sizeof(bytes), a);
    hash_sha256(str_n(bytes, sizeof(bytes)), b);
    CHECK(hash_equal(a, b, sizeof(a)));
}

TEST(what_was_hashed_is_wiped)
{
    struct hash h;
    hash_begin_hmac_sha256(&h, STR("secret"));
    hash_add(&h, STR("secret"));
    hash_end(&h, sha256);
    static const struct hash zero;
    CHECK(memcmp(&h, &zero, sizeof(h)) == 0);
}

TEST(equal_means_every_byte)
{
    uint8_t a[16] = {0}, b[16] = {0};
    CHECK(hash_equal(a, b, 16));
    CHECK(hash_equal(NULL, NULL, 0));
    for (int i = 0; i < 16; i++)
        for (int bit = 0; bit < 8; bit++) {
            b[i] = (uint8_t)(1 << bit);
            CHECK(!hash_equal(a, b, 16));
            CHECK(hash_equal(a, b, (size_t)i));
            b[i] = 0;
        }
}

/* The definition, bit by bit. */
static uint32_t crc_of(const char *p, size_t n)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= (uint8_t)p[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    }
    return ~crc;
}

TEST(crc_32)
{
    char bytes[600];
    uint32_t x = 1;
    /* The check value of the catalogue of CRCs. */
    CHECK_INT(crc_add(0, STR("123456789")), 0xcbf43926);
    CHECK_INT(crc_add(0, (struct str){NULL, 0}), 0);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        x = x * 1664525 + 1013904223;
        bytes[i] = (char)(x >> 24);
    }
    for (size_t from = 0; from < 9; from++) {
        for (size_t n = 0; from + n <= sizeof(bytes); n++)
            CHECK_INT(crc_add(0, str_n(bytes + from, n)), crc_of(bytes + from, n));
    }
    for (size_t cut = 0; cut <= sizeof(bytes); cut++)
        CHECK_INT(crc_add(crc_add(0, str_n(bytes, cut)),
                          str_n(bytes + cut, sizeof(bytes) - cut)),
                  crc_of(bytes, sizeof(bytes)));
}

static void check_hex(const uint8_t *bytes, size_t n, const char *want)
{
    struct buf b = BUF_INIT(1000);
    CHECK_INT(enc_hex(&b, str_n(bytes, n)), 0);
    CHECK_STR(buf_z(&b), want);
    buf_release(&b);
}

/* FIPS 180-4, the examples of NIST. */
TEST(sha512)
{
    uint8_t out[64];
    hash_sha512(STR("abc"), 512, out);
    check_hex(out, 64,
              "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
              "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
    hash_sha512(STR("abc"), 384, out);
    check_hex(out, 48,
              "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
              "8086072ba1e7cc2358baeca134c825a7");
}

/* SP 800-38A, F.2.1 and F.2.5, the first block. */
TEST(aes_cbc)
{
    static const char key[] = "\x2b\x7e\x15\x16\x28\xae\xd2\xa6\xab\xf7\x15\x88\x09\xcf"
                              "\x4f\x3c";
    static const char key_256[] = "\x60\x3d\xeb\x10\x15\xca\x71\xbe\x2b\x73\xae\xf0\x85"
                                  "\x7d\x77\x81\x1f\x35\x2c\x07\x3b\x61\x08\xd7\x2d\x98"
                                  "\x10\xa3\x09\x14\xdf\xf4";
    static const char plain[] = "\x6b\xc1\xbe\xe2\x2e\x40\x9f\x96\xe9\x3d\x7e\x11\x73\x93"
                                "\x17\x2a";
    uint8_t iv[16], out[16];
    for (int i = 0; i < 16; i++)
        iv[i] = (uint8_t)i;
    cipher_aes_cbc(true, str_n(key, 16), iv, plain, 16, out);
    check_hex(out, 16, "7649abac8119b246cee98e9b12e9197d");
    cipher_aes_cbc(false, str_n(key, 16), iv, out, 16, out);
    CHECK(memcmp(out, plain, 16) == 0);
    cipher_aes_cbc(true, str_n(key_256, 32), iv, plain, 16, out);
    check_hex(out, 16, "f58c4c04d6e5f1ba779eabfb5f7bfbd6");
}

T_MAIN
