/* SPDX-License-Identifier: MIT */
/*
 * Encrypted files (7.6, and ISO 32000-2, 7.6.4) whose user password is empty: anybody may
 * read those, and what the owner allows is for programs that change or print them. MD5
 * and RC4 are here because the formats before 2008 are made of them; nothing else uses
 * them.
 */
#include "document/pdf/own.h"

#include "base/cipher.h"
#include "base/hash.h"

enum { MD5_SIZE = 16, PAD = 32, KEY_MAX = 32, ROUNDS = 64, HASH_MAX = 64 };

enum method { IDENTITY, RC4, AES_OLD, AES_NEW };

struct pdf_crypt {
    uint8_t key[KEY_MAX];
    size_t key_n;
    uint8_t strings, streams; /* enum method */
    struct pdf_obj filters;   /* CF */
};

/* ---- MD5 (RFC 1321) ---- */

static void md5_block(uint32_t h[4], const uint8_t *p)
{
    static const uint8_t turn[4][4] = {
        {7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    static const uint32_t sines[64] = {
        0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a,
        0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be,
        0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340,
        0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
        0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
        0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c,
        0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
        0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
        0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92,
        0xffeff47d, 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1,
        0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3];
    for (unsigned i = 0; i < 64; i++) {
        unsigned round = i / 16;
        uint32_t f = round == 0   ? (b & c) | (~b & d)
                     : round == 1 ? (d & b) | (~d & c)
                     : round == 2 ? b ^ c ^ d
                                  : c ^ (b | ~d);
        unsigned word = (round == 0   ? i
                         : round == 1 ? 5 * i + 1
                         : round == 2 ? 3 * i + 5
                                      : 7 * i) %
                        16 * 4;
        uint32_t x = p[word] | (uint32_t)p[word + 1] << 8 | (uint32_t)p[word + 2] << 16 |
                     (uint32_t)p[word + 3] << 24;
        uint32_t sum = a + f + x + sines[i];
        unsigned by = turn[round][i % 4];
        a = d;
        d = c;
        c = b;
        b += sum << by | sum >> (32 - by);
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
}

static void md5(struct str s, uint8_t out[MD5_SIZE])
{
    uint32_t h[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t last[128] = {0};
    size_t whole = s.n / 64 * 64, rest = s.n - whole, end = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64)
        md5_block(h, (const uint8_t *)s.p + i);
    memcpy(last, s.p + whole, rest);
    last[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        last[end - 8 + i] = (uint8_t)((uint64_t)s.n * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += 64)
        md5_block(h, last + i);
    for (size_t i = 0; i < MD5_SIZE; i++)
        out[i] = (uint8_t)(h[i / 4] >> i % 4 * 8);
}

/* ---- RC4 ---- */

static void rc4(struct str key, const void *in, size_t n, void *out)
{
    uint8_t s[256], i = 0, j = 0, swap;
    for (size_t k = 0; k < 256; k++)
        s[k] = (uint8_t)k;
    for (size_t k = 0; k < 256; k++) {
        j = (uint8_t)(j + s[k] + (uint8_t)key.p[k % key.n]);
        swap = s[k];
        s[k] = s[j];
        s[j] = swap;
    }
    j = 0;
    for (size_t k = 0; k < n; k++) {
        j = (uint8_t)(j + s[++i]);
        swap = s[i];
        s[i] = s[j];
        s[j] = swap;
        ((uint8_t *)out)[k] = ((const uint8_t *)in)[k] ^ s[(uint8_t)(s[i] + s[j])];
    }
}

/* ---- keys ---- */

static struct str key_of(const struct pdf_crypt *c) { return str_n(c->key, c->key_n); }

static const uint8_t padding[PAD] = "\x28\xbf\x4e\x5e\x4e\x75\x8a\x41\x64\x00\x4e\x56\xff"
                                    "\xfa\x01\x08\x2e\x2e\x00\xb6\xd0\x68"
                                    "\x3e\x80\x2f\x0c\xa9\xfe\x64\x53\x69\x7a";

/* Returns a string of a dictionary; empty if it is not one of at least `least` bytes. */
static struct str string_of(struct pdf *d, struct pdf_obj o, const char *key,
                            size_t least)
{
    struct pdf_obj s = pdf_get(d, o, key);
    return s.type == PDF_STRING && s.s.n >= least ? s.s : STR("");
}

/* Algorithms 2, 4 and 5: sets the key. Returns whether it is that of an empty password.
 */
static bool old_key(struct pdf *d, struct pdf_obj o, struct pdf_crypt *c,
                    int64_t revision)
{
    struct pdf_obj id = pdf_item(d, pdf_get(d, d->trailer, "ID"), 0);
    struct pdf_obj metadata = pdf_get(d, o, "EncryptMetadata");
    struct str owner = string_of(d, o, "O", PAD), user = string_of(d, o, "U", MD5_SIZE);
    uint32_t rights = (uint32_t)pdf_int(pdf_get(d, o, "P"), 0);
    struct buf b = BUF_INIT(4096);
    uint8_t made[PAD], step[MD5_SIZE];
    int rounds = revision >= 3 ? 50 : 0;
    if (!owner.n || !user.n)
        return false;
    id.s.n = id.type == PDF_STRING ? id.s.n : 0;
    buf_add(&b, padding, PAD);
    buf_add(&b, owner.p, PAD);
    for (int i = 0; i < 4; i++)
        buf_addc(&b, (char)(rights >> 8 * i));
    buf_adds(&b, id.s);
    if (revision >= 4 && metadata.type == PDF_BOOL && !metadata.flag)
        buf_addz(&b, "\xff\xff\xff\xff");
    md5(buf_str(&b), c->key);
    for (int i = 0; i < rounds; i++)
        md5(key_of(c), c->key);
    memcpy(made, padding, PAD);
    if (rounds) {
        buf_truncate(&b, PAD);
        buf_adds(&b, id.s);
        md5(buf_str(&b), made);
    }
    for (int i = 0; i < (rounds ? 20 : 1); i++) {
        for (size_t k = 0; k < c->key_n; k++)
            step[k] = (uint8_t)(c->key[k] ^ i);
        rc4(str_n(step, c->key_n), made, PAD, made);
    }
    buf_release(&b);
    return memcmp(made, user.p, MD5_SIZE) == 0;
}

/* ISO 32000-2, algorithm 2.B, for an empty password: the salt's hash. */
static void new_hash(struct str salt, int64_t revision, uint8_t k[HASH_MAX])
{
    uint8_t e[ROUNDS * HASH_MAX];
    size_t n = HASH_SHA256_SIZE;
    uint8_t last = 0;
    hash_sha256(salt, k);
    for (int i = 0; revision >= 6 && (i < ROUNDS || last > i - 32); i++) {
        unsigned sum = 0;
        for (size_t at = 0; at < ROUNDS; at++)
            memcpy(e + at * n, k, n);
        cipher_aes_cbc(true, str_n(k, 16), k + 16, e, ROUNDS * n, e);
        for (size_t at = 0; at < 16; at++)
            sum += e[at];
        struct str all = str_n(e, ROUNDS * n);
        last = e[ROUNDS * n - 1];
        if (sum % 3 == 0)
            hash_sha256(all, k);
        else
            hash_sha512(all, sum % 3 == 1 ? 384 : 512, k);
        n = sum % 3 == 0 ? 32 : sum % 3 == 1 ? 48 : 64;
    }
}

static bool new_key(struct pdf *d, struct pdf_obj o, struct pdf_crypt *c,
                    int64_t revision)
{
    struct str user = string_of(d, o, "U", 48), packed = string_of(d, o, "UE", KEY_MAX);
    uint8_t hash[HASH_MAX], none[CIPHER_BLOCK] = {0};
    if (!user.n || !packed.n)
        return false;
    new_hash(str_sub(user, 32, 8), revision, hash);
    if (memcmp(hash, user.p, 32) != 0)
        return false;
    new_hash(str_sub(user, 40, 8), revision, hash);
    cipher_aes_cbc(false, str_n(hash, KEY_MAX), none, packed.p, KEY_MAX, c->key);
    return true;
}

/* Returns the method of a crypt filter (7.6.5). */
static enum method method_of(struct pdf *d, const struct pdf_crypt *c,
                             struct pdf_obj name)
{
    char key[64] = "";
    if (name.type == PDF_NAME && name.s.n < sizeof(key))
        memcpy(key, name.s.p, name.s.n);
    struct pdf_obj how = pdf_get(d, pdf_get(d, c->filters, key), "CFM");
    return pdf_is_name(how, "V2")      ? RC4
           : pdf_is_name(how, "AESV2") ? AES_OLD
           : pdf_is_name(how, "AESV3") ? AES_NEW
                                       : IDENTITY;
}

int pdf_crypt_open(struct pdf *d)
{
    struct pdf_obj o = pdf_get(d, d->trailer, "Encrypt");
    int64_t version = pdf_int(pdf_get(d, o, "V"), 0),
            revision = pdf_int(pdf_get(d, o, "R"), 0);
    int64_t bits = pdf_int(pdf_get(d, o, "Length"), 40);
    if (pdf_get_raw(d->trailer, "Encrypt").type == PDF_NULL || d->crypt || d->err.code)
        return d->err.code ? -1 : 0;
    struct pdf_crypt *c = arena_get(&d->arena, sizeof(*c));
    if (!c)
        return -1;
    if (!pdf_is_name(pdf_get(d, o, "Filter"), "Standard") || version < 1 || version > 5 ||
        version == 3)
        return err_set(&d->err, ERR_UNSUPPORTED,
                       "it is encrypted in a way that od does not read");
    c->key_n = version == 5                              ? 32
               : version == 4                            ? 16
               : version == 1 || bits < 40 || bits > 128 ? 5
                                                         : (size_t)bits / 8;
    c->filters = pdf_get(d, o, "CF");
    c->strings = c->streams = RC4;
    if (version >= 4) {
        c->strings = (uint8_t)method_of(d, c, pdf_get(d, o, "StrF"));
        c->streams = (uint8_t)method_of(d, c, pdf_get(d, o, "StmF"));
    }
    if (version == 5 ? !new_key(d, o, c, revision) : !old_key(d, o, c, revision))
        return err_set(
            &d->err, ERR_UNSUPPORTED,
            "it needs a password: save it again without one (qpdf --decrypt does "
            "so)");
    d->crypt = c;
    return 0;
}

/* ---- strings and streams ---- */

/* Algorithm 1: the key of an object. Returns its length. */
static size_t object_key(const struct pdf_crypt *c, enum method how, uint32_t number,
                         uint32_t generation, uint8_t key[MD5_SIZE])
{
    struct buf b = BUF_INIT(64);
    buf_adds(&b, key_of(c));
    for (int i = 0; i < 3; i++)
        buf_addc(&b, (char)(number >> 8 * i));
    buf_addc(&b, (char)generation);
    buf_addc(&b, (char)(generation >> 8));
    buf_addz(&b, how == AES_OLD ? "sAlT" : "");
    md5(buf_str(&b), key);
    buf_release(&b);
    return c->key_n + 5 < MD5_SIZE ? c->key_n + 5 : MD5_SIZE;
}

/* Decrypts n bytes in place. Returns how many they are then. */
static size_t decrypt(struct pdf *d, enum method how, uint32_t number,
                      uint32_t generation, char *p, size_t n)
{
    uint8_t made[MD5_SIZE], iv[CIPHER_BLOCK];
    struct str key = key_of(d->crypt);
    if (how == IDENTITY || !pdf_work(d, (int64_t)(n >> 6)))
        return how == IDENTITY ? n : 0;
    if (how != AES_NEW)
        key = str_n(made, object_key(d->crypt, how, number, generation, made));
    if (how == RC4) {
        rc4(key, p, n, p);
        return n;
    }
    size_t blocks = n / CIPHER_BLOCK * CIPHER_BLOCK;
    if (blocks < 2 * CIPHER_BLOCK || (key.n != 16 && key.n != 32))
        return 0;
    n = blocks - CIPHER_BLOCK;
    memcpy(iv, p, sizeof(iv));
    memmove(p, p + CIPHER_BLOCK, n);
    cipher_aes_cbc(false, key, iv, p, n, p);
    unsigned char filled = (unsigned char)p[n - 1];
    return filled >= 1 && filled <= CIPHER_BLOCK ? n - filled : n;
}

struct str pdf_decrypt_string(struct pdf *d, struct arena *a, struct str s,
                              uint32_t number, uint32_t generation)
{
    char *p = s.n && d->crypt->strings ? arena_copy(a, s) : NULL;
    return p ? str_n(p, decrypt(d, d->crypt->strings, number, generation, p, s.n)) : s;
}

int pdf_decrypt_stream(struct pdf *d, const struct pdf_stream *s, struct buf *out)
{
    struct pdf_obj self = {.type = PDF_DICT, .dict = &s->dict};
    struct pdf_obj filter = pdf_get(d, self, "Filter"),
                   parms = pdf_get(d, self, "DecodeParms");
    enum method how = d->crypt->streams;
    if (filter.type == PDF_ARRAY) {
        filter = pdf_item(d, filter, 0);
        parms = pdf_item(d, parms, 0);
    }
    if (pdf_is_name(filter, "Crypt")) /* 7.4.10: one of its own */
        how = method_of(d, d->crypt, pdf_get(d, parms, "Name"));
    if (buf_adds(out, s->raw) < 0)
        return -1;
    if (out->n)
        buf_truncate(out, decrypt(d, how, s->number, s->generation, out->p, out->n));
    return 0;
}
