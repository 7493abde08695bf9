/* SPDX-License-Identifier: MIT */
/*
 * AES-GCM of mbedTLS on x86_64: the functions of mbedtls/gcm.h over BearSSL's AES in
 * counter mode and GHASH. These keep four blocks in flight; mbedTLS's own code keeps one
 * and takes ten times as long. For a processor without the instructions BearSSL has code
 * in constant time, which uses no tables. On other architectures mbedTLS keeps its own.
 *
 * A text is processed in three parts: the rest of a block that was begun, whole blocks,
 * and the beginning of the next. GHASH takes whole blocks, of which the last is filled
 * with zeros (NIST SP 800-38D 7.1) by BearSSL's function. So an incomplete block is kept
 * until it is full or nothing follows.
 */
#include <mbedtls/gcm.h>

#ifdef MBEDTLS_GCM_ALT

#include <endian.h>
#include <stdbool.h>
#include <string.h>

#include <bearssl_block.h>
#include <bearssl_hash.h>
#include <mbedtls/constant_time.h>
#include <mbedtls/platform_util.h>

enum { BLOCK = 16 };

_Static_assert(sizeof(br_aes_gen_ctr_keys) <= sizeof(((mbedtls_gcm_context *)0)->keys),
               "the context of GCM is too small");

static br_aes_gen_ctr_keys *keys_of(mbedtls_gcm_context *c) { return (void *)c->keys; }

/* CPUID leaves a virtual machine, so it is called once. */
static bool has_instructions(void)
{
    static enum { UNKNOWN, YES, NO } known;
    if (known == UNKNOWN)
        known = br_aes_x86ni_ctr_get_vtable() && br_ghash_pclmul_get() ? YES : NO;
    return known == YES;
}

static void hash(mbedtls_gcm_context *c, const void *p, size_t n)
{
    c->ghash(c->y, c->h, p, n);
}

/* The last block: two numbers of bits. */
static void hash_lengths(mbedtls_gcm_context *c, uint64_t first, uint64_t second)
{
    uint64_t block[] = {htobe64(first * 8), htobe64(second * 8)};
    hash(c, block, sizeof(block));
}

/* Adds the key stream from that counter on to n bytes. */
static void add_stream(mbedtls_gcm_context *c, uint32_t counter, void *p, size_t n)
{
    br_aes_gen_ctr_keys *keys = keys_of(c);
    keys->vtable->run(&keys->vtable, c->nonce, counter, p, n);
}

/* The counter is modulo 2^32: NIST SP 800-38D 6.2. */
static uint32_t counter_now(const mbedtls_gcm_context *c)
{
    return c->first + 1 + (uint32_t)(c->n / BLOCK);
}

/* ---- the key ---- */

void mbedtls_gcm_init(mbedtls_gcm_context *c) { memset(c, 0, sizeof(*c)); }

void mbedtls_gcm_free(mbedtls_gcm_context *c)
{
    if (c)
        mbedtls_platform_zeroize(c, sizeof(*c));
}

int mbedtls_gcm_setkey(mbedtls_gcm_context *c, mbedtls_cipher_id_t cipher,
                       const unsigned char *key, unsigned bits)
{
    if (cipher != MBEDTLS_CIPHER_ID_AES || (bits != 128 && bits != 192 && bits != 256))
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    mbedtls_gcm_free(c);
    const br_block_ctr_class *aes = &br_aes_ct64_ctr_vtable;
    c->ghash = br_ghash_ctmul64;
    if (has_instructions()) {
        aes = &br_aes_x86ni_ctr_vtable;
        c->ghash = br_ghash_pclmul;
    }
    aes->init(&keys_of(c)->vtable, key, bits / 8);
    add_stream(c, 0, c->h, BLOCK); /* all of it was zero */
    return 0;
}

/* ---- one text ---- */

int mbedtls_gcm_starts(mbedtls_gcm_context *c, int mode, const unsigned char *iv,
                       size_t n)
{
    if (!c->ghash || n == 0 || (uint64_t)n >> 61 != 0)
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    c->decrypts = mode == MBEDTLS_GCM_DECRYPT;
    c->aad_n = c->n = 0;
    c->first = 1;
    memset(c->y, 0, BLOCK);
    if (n == sizeof(c->nonce)) {
        memcpy(c->nonce, iv, n);
        return 0;
    }
    hash(c, iv, n);
    hash_lengths(c, 0, n);
    memcpy(c->nonce, c->y, sizeof(c->nonce));
    memcpy(&c->first, c->y + sizeof(c->nonce), sizeof(c->first));
    c->first = be32toh(c->first);
    memset(c->y, 0, BLOCK);
    return 0;
}

int mbedtls_gcm_update_ad(mbedtls_gcm_context *c, const unsigned char *p, size_t n)
{
    size_t at = c->aad_n % BLOCK, head = at ? BLOCK - at : 0;
    if (n > UINT64_MAX - c->aad_n || (c->aad_n + n) >> 61 != 0)
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    c->aad_n += n;
    head = head < n ? head : n;
    if (head) {
        memcpy(c->block + at, p, head);
        if (at + head == BLOCK)
            hash(c, c->block, BLOCK);
        p += head;
        n -= head;
    }
    size_t tail = n % BLOCK;
    if (n > tail)
        hash(c, p, n - tail);
    if (tail)
        memcpy(c->block, p + n - tail, tail);
    return 0;
}

/* What is left of the additional data, before the text or the end. */
static void end_additional(mbedtls_gcm_context *c)
{
    if (c->n == 0 && c->aad_n % BLOCK)
        hash(c, c->block, c->aad_n % BLOCK);
}

/* Bytes within one block. */
static void take_part(mbedtls_gcm_context *c, const unsigned char *in, unsigned char *out,
                      size_t n)
{
    size_t at = c->n % BLOCK;
    if (n == 0)
        return;
    if (at == 0) {
        memset(c->stream, 0, BLOCK);
        add_stream(c, counter_now(c), c->stream, BLOCK);
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char from = in[i];
        out[i] = from ^ c->stream[at + i];
        c->block[at + i] = c->decrypts ? from : out[i];
    }
    c->n += n;
    if (at + n == BLOCK)
        hash(c, c->block, BLOCK);
}

static void take_blocks(mbedtls_gcm_context *c, const unsigned char *in,
                        unsigned char *out, size_t n)
{
    if (n == 0)
        return;
    if (c->decrypts)
        hash(c, in, n);
    if (out != in)
        memmove(out, in, n);
    add_stream(c, counter_now(c), out, n);
    if (!c->decrypts)
        hash(c, out, n);
    c->n += n;
}

int mbedtls_gcm_update(mbedtls_gcm_context *c, const unsigned char *in, size_t n,
                       unsigned char *out, size_t size, size_t *written)
{
    if (size < n)
        return MBEDTLS_ERR_GCM_BUFFER_TOO_SMALL;
    *written = n;
    if (n == 0)
        return 0;
    if (out > in && (size_t)(out - in) < n)
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    if (n > 0xFFFFFFFE0 || c->n + n > 0xFFFFFFFE0) /* NIST SP 800-38D 5.2.1.1 */
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    end_additional(c);
    size_t at = c->n % BLOCK, head = at ? BLOCK - at : 0;
    head = head < n ? head : n;
    size_t blocks = (n - head) / BLOCK * BLOCK;
    take_part(c, in, out, head);
    take_blocks(c, in + head, out + head, blocks);
    take_part(c, in + head + blocks, out + head + blocks, n - head - blocks);
    return 0;
}

int mbedtls_gcm_finish(mbedtls_gcm_context *c, unsigned char *out, size_t size,
                       size_t *written, unsigned char *tag, size_t tag_n)
{
    (void)out, (void)size; /* update returned all of it */
    if (tag_n < 4 || tag_n > BLOCK)
        return MBEDTLS_ERR_GCM_BAD_INPUT;
    *written = 0;
    end_additional(c);
    if (c->n % BLOCK)
        hash(c, c->block, c->n % BLOCK);
    hash_lengths(c, c->aad_n, c->n);
    add_stream(c, c->first, c->y, BLOCK);
    memcpy(tag, c->y, tag_n);
    return 0;
}

/* ---- a text at once ---- */

int mbedtls_gcm_crypt_and_tag(mbedtls_gcm_context *c, int mode, size_t n,
                              const unsigned char *iv, size_t iv_n,
                              const unsigned char *aad, size_t aad_n,
                              const unsigned char *in, unsigned char *out, size_t tag_n,
                              unsigned char *tag)
{
    size_t written;
    int rc = mbedtls_gcm_starts(c, mode, iv, iv_n);
    if (rc == 0)
        rc = mbedtls_gcm_update_ad(c, aad, aad_n);
    if (rc == 0)
        rc = mbedtls_gcm_update(c, in, n, out, n, &written);
    return rc ? rc : mbedtls_gcm_finish(c, NULL, 0, &written, tag, tag_n);
}

int mbedtls_gcm_auth_decrypt(mbedtls_gcm_context *c, size_t n, const unsigned char *iv,
                             size_t iv_n, const unsigned char *aad, size_t aad_n,
                             const unsigned char *tag, size_t tag_n,
                             const unsigned char *in, unsigned char *out)
{
    unsigned char own[BLOCK];
    int rc = mbedtls_gcm_crypt_and_tag(c, MBEDTLS_GCM_DECRYPT, n, iv, iv_n, aad, aad_n,
                                       in, out, tag_n, own);
    if (rc == 0 && mbedtls_ct_memcmp(tag, own, tag_n) != 0) {
        mbedtls_platform_zeroize(out, n);
        rc = MBEDTLS_ERR_GCM_AUTH_FAILED;
    }
    return rc;
}

#endif
