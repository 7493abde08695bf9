/* SPDX-License-Identifier: MIT */
/*
 * Eight bytes at a time, with one table of 256 words for each of the eight places
 * ("slicing by 8"). zlib's own crc32 is as fast for long input, but takes up to four
 * times as long for the hundred bytes of a line, and its tables are twice as large. With
 * carry-less multiplication, 16 bytes at a time take half as long.
 */
#include "base/crc.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <wmmintrin.h>
#endif

/*
 * The CRC of a byte is the exclusive or of the CRCs of its bits, so that eight words
 * make a table: those of the bytes 1, 2, 4 … 128.
 */
#define BIT(byte, bit, word) ((byte) & (bit) ? UINT32_C(word) : 0)
#define ONE(n, a, b, c, d, e, f, g, h) \
    (BIT(n, 1, a) ^ BIT(n, 2, b) ^ BIT(n, 4, c) ^ BIT(n, 8, d) ^ BIT(n, 16, e) ^ \
     BIT(n, 32, f) ^ BIT(n, 64, g) ^ BIT(n, 128, h))
#define FOUR(n, ...) \
    ONE(n, __VA_ARGS__), ONE((n) + 1, __VA_ARGS__), ONE((n) + 2, __VA_ARGS__), \
        ONE((n) + 3, __VA_ARGS__)
#define SIXTEEN(n, ...) \
    FOUR(n, __VA_ARGS__), FOUR((n) + 4, __VA_ARGS__), FOUR((n) + 8, __VA_ARGS__), \
        FOUR((n) + 12, __VA_ARGS__)
#define SIXTY_FOUR(n, ...) \
    SIXTEEN(n, __VA_ARGS__), SIXTEEN((n) + 16, __VA_ARGS__), \
        SIXTEEN((n) + 32, __VA_ARGS__), SIXTEEN((n) + 48, __VA_ARGS__)
#define ALL(...) \
    SIXTY_FOUR(0, __VA_ARGS__), SIXTY_FOUR(64, __VA_ARGS__), \
        SIXTY_FOUR(128, __VA_ARGS__), SIXTY_FOUR(192, __VA_ARGS__)

enum { FOLDED_LEAST = 32 }; /* for less, folding is not faster */

/* table[k][n]: what the byte n adds to the CRC when k more bytes come after it. */
static const uint32_t table[8][256] = {
    {ALL(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832, 0x1db71064, 0x3b6e20c8,
         0x76dc4190, 0xedb88320)},
    {ALL(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08, 0x4ac21251, 0x958424a2,
         0xf0794f05, 0x3b83984b)},
    {ALL(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8, 0x1c26a370, 0x384d46e0,
         0x709a8dc0, 0xe1351b80)},
    {ALL(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef, 0x5019579f, 0xa032af3e,
         0x9b14583d, 0xed59b63b)},
    {ALL(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1, 0x60e09782, 0xc1c12f04,
         0x58f35849, 0xb1e6b092)},
    {ALL(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d, 0x03d6029b, 0x07ac0536,
         0x0f580a6c, 0x1eb014d8)},
    {ALL(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67, 0x67de9cce, 0xcfbd399c,
         0x440b7579, 0x8816eaf2)},
    {ALL(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5, 0x7cbb312b, 0xf9766256,
         0x299dc2ed, 0x533b85da)},
};

static inline uint32_t four_bytes(const uint8_t *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
           (uint32_t)p[3] << 24;
}

/* The CRC of more bytes, in its inner form: start value and result are not inverted. */
static uint32_t add_by_table(uint32_t crc, const uint8_t *p, size_t n)
{
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t a = four_bytes(p) ^ crc, b = four_bytes(p + 4);
        crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^
              table[4][a >> 24] ^ table[3][b & 255] ^ table[2][b >> 8 & 255] ^
              table[1][b >> 16 & 255] ^ table[0][b >> 24];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return crc;
}

#ifdef __x86_64__
/*
 * With carry-less multiplication, 16 bytes at a time: the bytes before are folded into
 * the next 16 bytes, which then have the same CRC ("Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction", Intel 2009, constants k3 and k4). The table
 * takes the rest at the end.
 */
__attribute__((target("pclmul"))) static uint32_t
add_by_folding(uint32_t crc, const uint8_t *p, size_t n)
{
    const __m128i k = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);
    __m128i x = _mm_loadu_si128((const __m128i *)p);
    uint8_t last[16];
    x = _mm_xor_si128(x, _mm_cvtsi32_si128((int)crc));
    for (p += 16, n -= 16; n >= 16; p += 16, n -= 16) {
        __m128i folded = _mm_xor_si128(_mm_clmulepi64_si128(x, k, 0x00),
                                       _mm_clmulepi64_si128(x, k, 0x11));
        x = _mm_xor_si128(folded, _mm_loadu_si128((const __m128i *)p));
    }
    _mm_storeu_si128((__m128i *)last, x);
    return add_by_table(add_by_table(0, last, sizeof(last)), p, n);
}

/*
 * Whether this processor has the instruction. Queried once: in a virtual machine the
 * query may take a thousand times as long as the CRC of a line.
 */
static bool has_folding(void)
{
    static enum { UNKNOWN, NO, YES } known;
    unsigned a, b, c, d;
    if (known == UNKNOWN)
        known = __get_cpuid(1, &a, &b, &c, &d) && (c & bit_PCLMUL) ? YES : NO;
    return known == YES;
}

static bool can_fold(size_t n) { return n >= FOLDED_LEAST && has_folding(); }
#else
static bool can_fold(size_t n) { return n >= FOLDED_LEAST && false; }
#define add_by_folding add_by_table
#endif

uint32_t crc_add(uint32_t crc, struct str bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    return can_fold(bytes.n) ? ~add_by_folding(~crc, p, bytes.n)
                             : ~add_by_table(~crc, p, bytes.n);
}
