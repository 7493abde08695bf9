/* SPDX-License-Identifier: MIT */
/*
 * AES-GCM as TLS has it: the published test cases, in one call and in parts of each
 * length, and what must fail. On x86_64 it is core/net/tls_gcm.c, else mbedTLS's own. And
 * AES by itself, which random numbers need.
 */
#include "base/enc.h"
#include "base/hash.h"

#include "t.h"

#include <mbedtls/aes.h>
#include <mbedtls/gcm.h>

enum { TAG = 16, LONG = 16401 }; /* a full record of TLS 1.3 is that long */

struct vector {
    const char *key;
    unsigned key_n;
    const char *iv;
    size_t iv_n, aad_n;
    const char *text;
    size_t n;
    const char *cipher, *tag;
};

#define ZEROS \
    "00000000000000000000000000000000" \
    "00000000000000000000000000000000"
#define KEY \
    "feffe9928665731c6d6a8f9467308308" \
    "feffe9928665731c6d6a8f9467308308"
#define IV "cafebabefacedbaddecaf888"
#define IV60 \
    "9313225df88406e555909c5aff5269aa6a7a9538534f7da1e4c303d2a318a728" \
    "c3c0c95156809539fcf0e2429a6b525416aedbf5a0de6a57a637b39b"
#define AAD "feedfacedeadbeeffeedfacedeadbeefabaddad2"
#define TEXT \
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72" \
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255"

/* McGrew and Viega, The Galois/Counter Mode of Operation, appendix B: cases 1 to 18. */
static const struct vector vectors[] = {
    {ZEROS, 16, ZEROS, 12, 0, ZEROS, 0, "", "58e2fccefa7e3061367f1d57a4e7455a"},
    {ZEROS, 16, ZEROS, 12, 0, ZEROS, 16, "0388dace60b6a392f328c2b971b2fe78",
     "ab6e47d42cec13bdf53a67b21257bddf"},
    {KEY, 16, IV, 12, 0, TEXT, 64,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091473f5985",
     "4d5c2af327cd64a62cf35abd2ba6fab4"},
    {KEY, 16, IV, 12, 20, TEXT, 60,
     "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
     "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
     "5bc94fbc3221a5db94fae95ae7121a47"},
    {KEY, 16, IV, 8, 20, TEXT, 60,
     "61353b4c2806934a777ff51fa22a4755699b2a714fcdc6f83766e5f97b6c7423"
     "73806900e49f24b22b097544d4896b424989b5e1ebac0f07c23f4598",
     "3612d2e79e3b0785561be14aaca2fccb"},
    {KEY, 16, IV60, 60, 20, TEXT, 60,
     "8ce24998625615b603a033aca13fb894be9112a5c3a211a8ba262a3cca7e2ca7"
     "01e4a9a4fba43c90ccdcb281d48c7c6fd62875d2aca417034c34aee5",
     "619cc5aefffe0bfa462af43c1699d050"},
    {ZEROS, 24, ZEROS, 12, 0, ZEROS, 0, "", "cd33b28ac773f74ba00ed1f312572435"},
    {ZEROS, 24, ZEROS, 12, 0, ZEROS, 16, "98e7247c07f0fe411c267e4384b0f600",
     "2ff58d80033927ab8ef4d4587514f0fb"},
    {KEY, 24, IV, 12, 0, TEXT, 64,
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
     "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710acade256",
     "9924a7c8587336bfb118024db8674a14"},
    {KEY, 24, IV, 12, 20, TEXT, 60,
     "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c"
     "7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
     "2519498e80f1478f37ba55bd6d27618c"},
    {KEY, 24, IV, 8, 20, TEXT, 60,
     "0f10f599ae14a154ed24b36e25324db8c566632ef2bbb34f8347280fc4507057"
     "fddc29df9a471f75c66541d4d4dad1c9e93a19a58e8b473fa0f062f7",
     "65dcc57fcf623a24094fcca40d3533f8"},
    {KEY, 24, IV60, 60, 20, TEXT, 60,
     "d27e88681ce3243c4830165a8fdcf9ff1de9a1d8e6b447ef6ef7b79828666e45"
     "81e79012af34ddd9e2f037589b292db3e67c036745fa22e7e9b7373b",
     "dcf566ff291c25bbb8568fc3d376a6d9"},
    {ZEROS, 32, ZEROS, 12, 0, ZEROS, 0, "", "530f8afbc74536b9a963b4f1c4cb738b"},
    {ZEROS, 32, ZEROS, 12, 0, ZEROS, 16, "cea7403d4d606b6e074ec5d3baf39d18",
     "d0d1c8a799996bf0265b98b5d48ab919"},
    {KEY, 32, IV, 12, 0, TEXT, 64,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
     "b094dac5d93471bdec1a502270e3cc6c"},
    {KEY, 32, IV, 12, 20, TEXT, 60,
     "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
     "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
     "76fc6ece0f4e1768cddf8853bb2d551b"},
    {KEY, 32, IV, 8, 20, TEXT, 60,
     "c3762df1ca787d32ae47c13bf19844cbaf1ae14d0b976afac52ff7d79bba9de0"
     "feb582d33934a4f0954cc2363bc73f7862ac430e64abe499f47c9b1f",
     "3a337dbf46a792c45e454913fe2ea8f2"},
    {KEY, 32, IV60, 60, 20, TEXT, 60,
     "5a8def2f0c9e53f1f75d7853659e2a20eeb2b22aafde6419a058ab4f6f746bf4"
     "0fc0c3b780f244452da3ebf1c5d82cdea2418997200ef82e44ae7e3f",
     "a44a8266ee1c8eb0c8b5d4cf5ae9f19a"},
};
#define VECTORS (sizeof(vectors) / sizeof(*vectors))

static void unhex(const char *text, unsigned char *out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK(sscanf(text + 2 * i, "%2hhx", &out[i]) == 1);
}

static const char *hex(const unsigned char *p, size_t n)
{
    static struct buf b = BUF_INIT(1000);
    buf_reset(&b);
    CHECK_INT(enc_hex(&b, str_n((const char *)p, n)), 0);
    return buf_z(&b);
}

static mbedtls_gcm_context gcm;
static unsigned char key[32], iv[60], aad[LONG], text[LONG], out[LONG + TAG], tag[TAG];

static void set_key(unsigned n)
{
    mbedtls_gcm_init(&gcm);
    CHECK_INT(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, n * 8), 0);
}

static void load(const struct vector *v)
{
    unhex(v->key, key, v->key_n);
    unhex(v->iv, iv, v->iv_n);
    unhex(AAD, aad, v->aad_n);
    unhex(v->text, text, v->n);
    set_key(v->key_n);
}

/* Bytes that repeat only after 64 KiB; aad has them, too. */
static void load_long(unsigned key_n)
{
    for (unsigned char i = 0; i < 32; i++)
        key[i] = iv[i] = i;
    for (unsigned i = 0; i < LONG; i++)
        aad[i] = text[i] = (unsigned char)(i * 7 + i / 256);
    set_key(key_n);
}

static int seal(size_t n, size_t iv_n, size_t aad_n, const unsigned char *in)
{
    return mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, n, iv, iv_n, aad, aad_n,
                                     in, out, TAG, tag);
}

static int unseal(size_t n, size_t iv_n, size_t aad_n, unsigned char *to)
{
    return mbedtls_gcm_auth_decrypt(&gcm, n, iv, iv_n, aad, aad_n, tag, TAG, out, to);
}

TEST(published_cases)
{
    for (const struct vector *v = vectors; v < vectors + VECTORS; v++) {
        unsigned char back[64];
        load(v);
        CHECK_INT(seal(v->n, v->iv_n, v->aad_n, text), 0);
        CHECK_STR(hex(out, v->n), v->cipher);
        CHECK_STR(hex(tag, TAG), v->tag);
        CHECK_INT(unseal(v->n, v->iv_n, v->aad_n, back), 0);
        CHECK(memcmp(back, text, v->n) == 0);
        CHECK_INT(unseal(v->n, v->iv_n, v->aad_n, out), 0); /* in place */
        CHECK(memcmp(out, text, v->n) == 0);
        CHECK_INT(seal(v->n, v->iv_n, v->aad_n, out), 0);
        CHECK_STR(hex(out, v->n), v->cipher);
        mbedtls_gcm_free(&gcm);
    }
}

/* NIST CAVS 14.0, gcmEncryptExtIV128: nothing but additional data. */
TEST(additional_data_alone)
{
    unhex("77be63708971c4e240d1cb79e8d77feb", key, 16);
    unhex("e0e00f19fed7ba0136a797f3", iv, 12);
    unhex("7a43ec1d9c0a5a78a0b16533a6213cab", aad, 16);
    set_key(16);
    CHECK_INT(seal(0, 12, 16, NULL), 0);
    CHECK_STR(hex(tag, TAG), "209fcc8d3675ed938e9c7166709dd946");
    CHECK_INT(unseal(0, 12, 16, NULL), 0);
    mbedtls_gcm_free(&gcm);
}

/* The IV is the one whose first counter is 2^32 - 3. By OpenSSL 3.0, as what follows. */
TEST(counter_wraps)
{
    unhex("00112233445566778899aabbccddeeff", key, 16);
    unhex("57c5643c4e37b4041db794cfe8e1f0f4", iv, 16);
    memset(text, 0, sizeof(text));
    set_key(16);
    CHECK_INT(seal(112, 16, 0, text), 0);
    CHECK_STR(hex(out, 112),
              "2bb69c3e5d1f91815c6b87a0d5bbea7164b19314c31af45accdf7e3c4db79f0d"
              "948ca37a8e6649e88aeffb1c598f3607007702417ea0e0bc3c60ad5a949886de"
              "968cf53ea6462aed99ccaf0e46969a2a6fa1c862fdc0450759adefc7fc65df62"
              "d31cc3dc9353da913cce3d85399fd15d");
    CHECK_STR(hex(tag, TAG), "c82900159da3061f7eca689993e3c26a");
    mbedtls_gcm_free(&gcm);
}

TEST(a_full_record)
{
    static const struct {
        unsigned key_n;
        const char *tag, *sha256;
    } known[] = {
        {16, "048cf18e894576bad8eeee89a0737555",
         "95a67c0b2db2ab6862541c6d1a857dc3db349a6b8e5c5bff9bf7653615171c23"},
        {24, "95b1cccd99a26576a424ce2ac81e0c9f",
         "78edf49baac87511445f687dadc36fc85df065a56d013d08c1eb7cd10516c603"},
        {32, "4a18606c68f0d282651d84077968f6f4",
         "e1c7086cb582a125a19d5285808a0cb3e7c00141e8ad06e6b99a84f9edbecfd2"},
    };
    for (int i = 0; i < 3; i++) {
        uint8_t sum[HASH_SHA256_SIZE];
        load_long(known[i].key_n);
        CHECK_INT(seal(LONG, 12, 13, text), 0);
        hash_sha256(str_n((const char *)out, LONG), sum);
        CHECK_STR(hex(sum, sizeof(sum)), known[i].sha256);
        CHECK_STR(hex(tag, TAG), known[i].tag);
        CHECK_INT(unseal(LONG, 12, 13, out), 0);
        CHECK(memcmp(out, text, LONG) == 0);
        mbedtls_gcm_free(&gcm);
    }
}

/* Both lists in parts of `step` bytes, of which the first has `first`; to `to`, in place.
 */
static void in_parts(int mode, unsigned char *to, size_t n, size_t aad_n, size_t first,
                     size_t step, unsigned char *tag_out)
{
    size_t got, part;
    CHECK_INT(mbedtls_gcm_starts(&gcm, mode, iv, 12), 0);
    for (size_t at = 0; at < aad_n; at += part) {
        part = at ? step : first;
        part = part < aad_n - at ? part : aad_n - at;
        CHECK_INT(mbedtls_gcm_update_ad(&gcm, aad + at, part), 0);
    }
    for (size_t at = 0; at < n; at += part) {
        part = at ? step : first;
        part = part < n - at ? part : n - at;
        CHECK_INT(mbedtls_gcm_update(&gcm, to + at, part, to + at, part, &got), 0);
        CHECK_INT(got, part);
    }
    CHECK_INT(mbedtls_gcm_finish(&gcm, NULL, 0, &got, tag_out, TAG), 0);
    CHECK_INT(got, 0);
}

TEST(parts_of_any_length)
{
    enum { N = 333 };
    static const size_t aad_ns[] = {0, 1, 15, 16, 17, 13, 100};
    unsigned char work[N], parts_tag[TAG];
    load_long(16);
    for (size_t k = 0; k < sizeof(aad_ns) / sizeof(*aad_ns); k++) {
        for (size_t first = 1; first <= 33; first++) {
            for (size_t step = 1; step <= 130; step++) {
                size_t n = N - (first + step) % 16;
                CHECK_INT(seal(n, 12, aad_ns[k], text), 0);
                memcpy(work, text, n);
                in_parts(MBEDTLS_GCM_ENCRYPT, work, n, aad_ns[k], first, step, parts_tag);
                CHECK(memcmp(work, out, n) == 0 && memcmp(parts_tag, tag, TAG) == 0);
                in_parts(MBEDTLS_GCM_DECRYPT, work, n, aad_ns[k], step, first, parts_tag);
                CHECK(memcmp(work, text, n) == 0 && memcmp(parts_tag, tag, TAG) == 0);
            }
        }
    }
    mbedtls_gcm_free(&gcm);
}

/* Each bit of what is authenticated; the text of a forgery is not given out. */
TEST(forgeries)
{
    static unsigned char none[64], back[64];
    load(&vectors[3]);
    CHECK_INT(seal(60, 12, 20, text), 0);
    struct {
        unsigned char *p;
        size_t n;
    } parts[] = {{tag, TAG}, {out, 60}, {aad, 20}, {iv, 12}};
    for (int k = 0; k < 4; k++) {
        for (size_t bit = 0; bit < parts[k].n * 8; bit++) {
            memset(back, 1, 60);
            parts[k].p[bit / 8] ^= (unsigned char)(1 << bit % 8);
            CHECK_INT(unseal(60, 12, 20, back), MBEDTLS_ERR_GCM_AUTH_FAILED);
            CHECK(memcmp(back, none, 60) == 0);
            parts[k].p[bit / 8] ^= (unsigned char)(1 << bit % 8);
        }
    }
    CHECK_INT(unseal(60, 12, 19, back), MBEDTLS_ERR_GCM_AUTH_FAILED);
    CHECK_INT(unseal(59, 12, 20, back), MBEDTLS_ERR_GCM_AUTH_FAILED);
    CHECK_INT(unseal(60, 12, 20, out), 0);
    mbedtls_gcm_free(&gcm);
}

TEST(short_tags)
{
    unsigned char tag_n[TAG + 1];
    load(&vectors[3]);
    CHECK_INT(seal(60, 12, 20, text), 0);
    for (size_t n = 0; n <= TAG + 1; n++) {
        int want = n < 4 || n > TAG ? MBEDTLS_ERR_GCM_BAD_INPUT : 0;
        memset(tag_n, 0xee, sizeof(tag_n));
        CHECK_INT(mbedtls_gcm_crypt_and_tag(&gcm, MBEDTLS_GCM_ENCRYPT, 60, iv, 12, aad,
                                            20, text, out, n, tag_n),
                  want);
        CHECK(want || (memcmp(tag_n, tag, n) == 0 && tag_n[n] == 0xee) || n == TAG + 1);
        unsigned char back[60];
        CHECK_INT(mbedtls_gcm_auth_decrypt(&gcm, 60, iv, 12, aad, 20, tag, n, out, back),
                  want);
    }
    mbedtls_gcm_free(&gcm);
}

TEST(bad_arguments)
{
    size_t got;
    mbedtls_gcm_init(&gcm);
    CHECK(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 12) != 0); /* no key */
    CHECK(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_AES, key, 64) != 0);
    CHECK(mbedtls_gcm_setkey(&gcm, MBEDTLS_CIPHER_ID_CAMELLIA, key, 128) != 0);
    load_long(32);
    CHECK(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 0) != 0);
    CHECK_INT(mbedtls_gcm_starts(&gcm, MBEDTLS_GCM_ENCRYPT, iv, 12), 0);
    CHECK_INT(mbedtls_gcm_update_ad(&gcm, NULL, 0), 0);
    CHECK_INT(mbedtls_gcm_update(&gcm, NULL, 0, NULL, 0, &got), 0);
    CHECK(mbedtls_gcm_update(&gcm, text, 20, out, 19, &got) != 0);
    CHECK(mbedtls_gcm_update(&gcm, text, 20, text + 19, 20, &got) != 0);
    CHECK_INT(mbedtls_gcm_update(&gcm, text + 100, 200, text, 200, &got), 0);
    unsigned char moved[200]; /* down by 100 bytes: as if it were elsewhere */
    memcpy(moved, text, 200);
    mbedtls_gcm_free(&gcm);
    load_long(32);
    CHECK_INT(seal(200, 12, 0, text + 100), 0);
    CHECK(memcmp(out, moved, 200) == 0);
    static const unsigned char none[sizeof(gcm)];
    mbedtls_gcm_free(&gcm);
    mbedtls_gcm_free(NULL);
    CHECK(memcmp(&gcm, none, sizeof(gcm)) == 0); /* keys are wiped */
}

/* FIPS-197, C.3. The instructions take round keys at multiples of 16 only. */
TEST(aes_at_every_place)
{
    static _Alignas(16) unsigned char room[sizeof(mbedtls_aes_context) + 16];
    unsigned char want[16], got[16], plain[16], aes_key[32];
    unhex("8ea2b7ca516745bfeafc49904b496089", want, 16);
    unhex("00112233445566778899aabbccddeeff", plain, 16);
    for (unsigned i = 0; i < 32; i++)
        aes_key[i] = (unsigned char)i;
    for (size_t at = 0; at <= 8; at += 8) {
        mbedtls_aes_context *c = (void *)(room + at);
        mbedtls_aes_init(c);
        CHECK_INT(mbedtls_aes_setkey_enc(c, aes_key, 256), 0);
        CHECK_INT(mbedtls_aes_crypt_ecb(c, MBEDTLS_AES_ENCRYPT, plain, got), 0);
        CHECK(memcmp(got, want, 16) == 0);
        CHECK_INT(mbedtls_aes_setkey_dec(c, aes_key, 256), 0);
        CHECK_INT(mbedtls_aes_crypt_ecb(c, MBEDTLS_AES_DECRYPT, want, got), 0);
        CHECK(memcmp(got, plain, 16) == 0);
        mbedtls_aes_free(c);
    }
}

T_MAIN
