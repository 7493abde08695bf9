/* SPDX-License-Identifier: MIT */
/* FIPS 180-4 with the SHA extensions of x86 (Intel, "Intel SHA Extensions", 2013). */
#include "checkpoint/sum.h"

#include "base/hash.h"

void sum_of_slowly(struct str bytes, struct content_sum *out)
{
    hash_sha256(bytes, out->b);
}

#ifdef __x86_64__
#include <cpuid.h>
#include <immintrin.h>

enum { BLOCK = 64, ROUNDS = 64 };

/* FIPS 180-4 section 4.2.2 */
static const uint32_t K[ROUNDS] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
    0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
    0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
    0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
    0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
    0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
    0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
    0xc67178f2};

static bool has_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3))
        return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* s[0] is A B E F, s[1] is C D G H, from the high word down, as the instructions want. */
__attribute__((target("sha,sse4.1,ssse3"))) static void blocks(__m128i s[2],
                                                               const uint8_t *p, size_t n)
{
    const __m128i turned = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    for (; n > 0; n--, p += BLOCK) {
        __m128i a = s[0], b = s[1], w[4];
        for (int i = 0; i < 4; i++)
            w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(p + 16 * i)),
                                    turned);
#pragma GCC unroll 16
        for (int i = 0; i < ROUNDS / 4; i++) {
            __m128i now = w[i & 3];
            __m128i k = _mm_add_epi32(
                now, _mm_loadu_si128((const __m128i *)(const void *)(K + 4 * i)));
            b = _mm_sha256rnds2_epu32(b, a, k);
            a = _mm_sha256rnds2_epu32(a, b, _mm_shuffle_epi32(k, 0x0e));
            if (i < ROUNDS / 4 - 4) {
                __m128i last = w[(i + 3) & 3];
                __m128i x = _mm_sha256msg1_epu32(now, w[(i + 1) & 3]);
                x = _mm_add_epi32(x, _mm_alignr_epi8(last, w[(i + 2) & 3], 4));
                w[i & 3] = _mm_sha256msg2_epu32(x, last);
            }
        }
        s[0] = _mm_add_epi32(s[0], a);
        s[1] = _mm_add_epi32(s[1], b);
    }
}

__attribute__((target("sha,sse4.1,ssse3"))) static void sum_fast(struct str in,
                                                                 struct content_sum *out)
{
    __m128i s[2] = {_mm_set_epi32(0x6a09e667, (int)0xbb67ae85, 0x510e527f,
                                  (int)0x9b05688c),
                    _mm_set_epi32(0x3c6ef372, (int)0xa54ff53a, 0x1f83d9ab, 0x5be0cd19)};
    uint8_t end[2 * BLOCK] = {0};
    size_t whole = in.n / BLOCK, rest = in.n % BLOCK;
    size_t tail = rest + 9 > BLOCK ? 2 : 1;
    blocks(s, (const uint8_t *)in.p, whole);
    if (rest)
        memcpy(end, in.p + whole * BLOCK, rest);
    end[rest] = 0x80;
    for (int i = 0; i < 8; i++)
        end[tail * BLOCK - 1 - (size_t)i] = (uint8_t)((uint64_t)in.n * 8 >> (8 * i));
    blocks(s, end, tail);
    uint32_t v[8], order[8];
    _mm_storeu_si128((__m128i *)(void *)v, s[0]);
    _mm_storeu_si128((__m128i *)(void *)(v + 4), s[1]);
    order[0] = v[3], order[1] = v[2], order[4] = v[1], order[5] = v[0];
    order[2] = v[7], order[3] = v[6], order[6] = v[5], order[7] = v[4];
    for (int i = 0; i < SUM_SIZE; i++)
        out->b[i] = (uint8_t)(order[i / 4] >> (24 - 8 * (i % 4)));
}

void sum_of(struct str bytes, struct content_sum *out)
{
    static signed char fast; /* what the processor has never changes */
    if (!fast)
        fast = has_instructions() ? 1 : -1;
    if (fast > 0)
        sum_fast(bytes, out);
    else
        sum_of_slowly(bytes, out);
}
#else
void sum_of(struct str bytes, struct content_sum *out) { sum_of_slowly(bytes, out); }
#endif

int sum_parse(struct str hex, struct content_sum *out)
{
    if (hex.n != 2 * SUM_SIZE)
        return -1;
    for (size_t i = 0; i < hex.n; i++) {
        const char *digits = "0123456789abcdef", *at = strchr(digits, hex.p[i]);
        if (!hex.p[i] || !at)
            return -1;
        out->b[i / 2] = (uint8_t)(out->b[i / 2] << 4 | (at - digits));
    }
    return 0;
}
