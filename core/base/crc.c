/* SPDX-License-Identifier: MIT */
/*
 * Eight bytes at a time, with one table of 256 words for each of the eight places
 * ("slicing by 8"). zlib's own crc32 is as fast for long input, but takes up to four
 * times as long for the hundred bytes of a line, and its tables are twice as large.
 */
#include "base/crc.h"

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

uint32_t crc_add(uint32_t crc, struct str bytes)
{
    const uint8_t *p = (const uint8_t *)bytes.p;
    size_t n = bytes.n;
    crc = ~crc;
    for (; n >= 8; n -= 8, p += 8) {
        uint32_t a = four_bytes(p) ^ crc, b = four_bytes(p + 4);
        crc = table[7][a & 255] ^ table[6][a >> 8 & 255] ^ table[5][a >> 16 & 255] ^
              table[4][a >> 24] ^ table[3][b & 255] ^ table[2][b >> 8 & 255] ^
              table[1][b >> 16 & 255] ^ table[0][b >> 24];
    }
    for (; n > 0; n--, p++)
        crc = crc >> 8 ^ table[0][(crc ^ *p) & 255];
    return ~crc;
}
