/* SPDX-License-Identifier: MIT */
#include "text/charset.h"

#include <charsets.h>

#include "archive/zip_text.h"
#include "base/buf.h"
#include "base/log.h"

#include <stdlib.h>

enum {
    GBK_ROW = 190,
    ROW = 94,
    BIG5_ROW = 157,
    ALL = CHARSETS_GBK + CHARSETS_JIS + CHARSETS_BIG5 + CHARSETS_KSC,
    HANGUL = 0xac00,
    HANGUL_END = 0xd7a4,
    HANGUL_MORE = HANGUL_END - HANGUL - 2350, /* those that KS X 1001 has not */
    UHC_ROW = 178,
    HALF_KATAKANA = 0xff61 /* of the byte 0xa1 */
};

struct charset_tables {
    uint16_t c[ALL]; /* low 16 bits of code points; 0: there is none */
    uint16_t hangul[HANGUL_MORE];
};

static const uint16_t *gbk(const struct charset_tables *t) { return t->c; }
static const uint16_t *jis(const struct charset_tables *t) { return t->c + CHARSETS_GBK; }
static const uint16_t *big5(const struct charset_tables *t)
{
    return jis(t) + CHARSETS_JIS;
}
static const uint16_t *ksc(const struct charset_tables *t)
{
    return big5(t) + CHARSETS_BIG5;
}

/* ---- unpacking ---- */

/* The syllables that KS X 1001 does not have are those of windows-949, in order. */
static void fill_hangul(struct charset_tables *t)
{
    bool has[HANGUL_END - HANGUL] = {false};
    size_t n = 0;
    for (size_t i = 0; i < CHARSETS_KSC; i++) {
        uint32_t c = ksc(t)[i];
        if (c >= HANGUL && c < HANGUL_END)
            has[c - HANGUL] = true;
    }
    for (size_t i = 0; i < HANGUL_END - HANGUL && n < HANGUL_MORE; i++) {
        if (!has[i])
            t->hangul[n++] = (uint16_t)(HANGUL + i);
    }
}

struct charset_tables *charset_open(void)
{
    struct buf b = BUF_INIT(2 * ALL + 1);
    struct charset_tables *t = calloc(1, sizeof(*t));
    struct str packed = str_n((const char *)charsets, (size_t)(charsets_end - charsets));
    if (!t)
        return NULL;
    zip_text(&b, packed);
    BUG_ON(b.n != 2 * ALL);
    unsigned last = 0;
    for (size_t i = 0; i < ALL; i++) {
        last += (unsigned)(unsigned char)b.p[i] << 8 | (unsigned char)b.p[ALL + i];
        t->c[i] = (uint16_t)last;
    }
    buf_release(&b);
    fill_hangul(t);
    return t;
}

void charset_close(struct charset_tables *t) { free(t); }

/* ---- bytes to characters ---- */

static size_t next_gbk(const struct charset_tables *t, unsigned a, struct str s,
                       uint32_t *c)
{
    unsigned b = (unsigned char)s.p[1];
    if (a == 0x80 || a == 0xff)
        return 1;
    if (b >= '0' && b <= '9' && s.n >= 4)
        return 4;
    if (b < 0x40 || b == 0x7f || b == 0xff)
        return 1;
    *c = gbk(t)[(a - 0x81) * GBK_ROW + b - 0x40 - (b > 0x7f)];
    return 2;
}

static size_t next_big5(const struct charset_tables *t, unsigned a, unsigned b,
                        uint32_t *c)
{
    if (b < 0x40 || (b > 0x7e && b < 0xa1) || b == 0xff)
        return 1;
    if (a >= 0xa1 && a < 0xfa)
        *c = big5(t)[(a - 0xa1) * BIG5_ROW + b - (b > 0x7e ? 0x62 : 0x40)];
    return 2;
}

static size_t next_jis(const struct charset_tables *t, unsigned a, unsigned b,
                       uint32_t *c)
{
    if (a >= 0xa1 && a <= 0xdf) {
        *c = HALF_KATAKANA + a - 0xa1;
        return 1;
    }
    if (b < 0x40 || b == 0x7f || b > 0xfc || a == 0x80 || a == 0xa0)
        return 1;
    unsigned row = 2 * (a - (a < 0xa0 ? 0x81 : 0xc1)) + (b >= 0x9f);
    unsigned cell = b >= 0x9f ? b - 0x9f : b - 0x40 - (b > 0x7f);
    if (row * ROW + cell < CHARSETS_JIS)
        *c = jis(t)[row * ROW + cell];
    return 2;
}

static size_t next_euc_jp(const struct charset_tables *t, unsigned a, struct str s,
                          uint32_t *c)
{
    unsigned b = (unsigned char)s.p[1];
    if (a == 0x8f) /* JIS X 0212 is unknown */
        return s.n < 3 ? s.n : 3;
    if (b < 0xa1 || b == 0xff || (a < 0xa1 && a != 0x8e) || a == 0xff)
        return 1;
    if (a == 0x8e)
        *c = b < 0xe0 ? HALF_KATAKANA + b - 0xa1 : 0;
    else if ((a - 0xa1) * ROW + b - 0xa1 < CHARSETS_JIS)
        *c = jis(t)[(a - 0xa1) * ROW + b - 0xa1];
    return 2;
}

/* EUC-KR, and what windows-949 has around it. */
static size_t next_kr(const struct charset_tables *t, unsigned a, unsigned b, uint32_t *c)
{
    if (a == 0x80 || a == 0xff || b < 'A' || b == 0xff)
        return 1;
    if (a >= 0xa1 && b >= 0xa1) {
        if ((a - 0xa1) * ROW + b - 0xa1 < CHARSETS_KSC)
            *c = ksc(t)[(a - 0xa1) * ROW + b - 0xa1];
        return 2;
    }
    unsigned cell = b <= 'Z'               ? b - 'A'
                    : b >= 'a' && b <= 'z' ? b - 'a' + 26
                    : b >= 0x81            ? b - 0x81 + 52
                                           : UHC_ROW;
    if (cell == UHC_ROW)
        return 1;
    /* From 0xa1 on, rows end where those of EUC begin. */
    unsigned at = a < 0xa1 ? (a - 0x81) * UHC_ROW + cell
                           : (0xa1 - 0x81) * UHC_ROW + (a - 0xa1) * 84 + cell;
    if (at < HANGUL_MORE)
        *c = t->hangul[at];
    return 2;
}

size_t charset_next(const struct charset_tables *t, enum charset set, struct str s,
                    uint32_t *c)
{
    unsigned a = (unsigned char)s.p[0];
    *c = 0;
    if (a < 0x80) {
        *c = a;
        return 1;
    }
    if (set == CHARSET_SHIFT_JIS && s.n == 1)
        return next_jis(t, a, 0, c);
    if (s.n < 2)
        return 1;
    switch (set) {
    case CHARSET_GBK:
        return next_gbk(t, a, s, c);
    case CHARSET_BIG5:
        return next_big5(t, a, (unsigned char)s.p[1], c);
    case CHARSET_SHIFT_JIS:
        return next_jis(t, a, (unsigned char)s.p[1], c);
    case CHARSET_EUC_JP:
        return next_euc_jp(t, a, s, c);
    default:
        return next_kr(t, a, (unsigned char)s.p[1], c);
    }
}

/* ---- numbers of collections ---- */

/* A run: characters from a number on are those from a place of the table on. */
struct charset_run {
    uint16_t cid, at, n;
};

/* By Adobe's CMaps GB-EUC-H, ETen-B5-H, EUC-H and KSC-EUC-H; short runs are left out. */
/* clang-format off */
static const struct charset_run gb1[] = {
    {96, 0, 94}, {190, 110, 50}, {240, 162, 10}, {250, 174, 12}, {262, 188, 177},
    {439, 376, 86}, {525, 470, 24}, {549, 502, 53}, {602, 564, 33}, {635, 612, 33},
    {668, 658, 32}, {700, 694, 38}, {738, 755, 76}, {814, 846, 126}, {940, 1410, 3755},
    {4695, 5170, 3008},
};

static const struct charset_run cns1[] = {
    {99, 0, 25}, {128, 29, 119}, {249, 150, 254}, {506, 5872, 30}, {537, 5902, 25},
    {595, 471, 1412}, {2007, 1884, 424}, {2432, 2308, 1876}, {4309, 4184, 387},
    {4696, 4572, 525}, {5222, 5097, 189}, {5411, 5287, 84}, {5496, 5371, 54},
    {5552, 5427, 90}, {5642, 5518, 354}, {5996, 6280, 10}, {6006, 6291, 33},
    {6040, 6324, 48}, {6088, 6373, 46}, {6135, 6419, 167}, {6302, 6587, 1840},
    {8143, 8428, 108}, {8251, 8537, 537}, {8789, 9075, 100}, {8890, 9175, 399},
    {9289, 9575, 1637}, {10927, 11212, 146}, {11074, 11358, 287}, {11362, 11645, 116},
    {11478, 11762, 137}, {11615, 11900, 104}, {11720, 12004, 222}, {11942, 12227, 198},
    {12140, 12426, 82}, {12222, 12509, 86}, {12309, 12595, 8}, {12317, 12604, 153},
    {12470, 12758, 56}, {12527, 12814, 113}, {12641, 12927, 142}, {12784, 13069, 45},
    {12829, 13115, 71}, {12901, 13186, 194}, {13095, 13381, 490}, {13586, 13871, 43},
    {13630, 13917, 11}, {13754, 5935, 302}, {14056, 13932, 41},
};

static const struct charset_run japan1[] = {
    {633, 0, 108}, {741, 119, 8}, {749, 135, 7}, {756, 153, 15}, {771, 175, 8},
    {780, 203, 10}, {790, 220, 26}, {816, 252, 26}, {842, 282, 83}, {925, 376, 86},
    {1011, 470, 24}, {1035, 502, 24}, {1059, 564, 33}, {1092, 612, 33},
    {1125, 1410, 2965}, {4090, 4418, 3388},
};

static const struct charset_run korea1[] = {
    {101, 0, 163}, {264, 188, 145}, {409, 334, 52}, {461, 391, 10}, {471, 408, 24},
    {495, 440, 24}, {519, 470, 68}, {587, 564, 79}, {679, 674, 255}, {934, 940, 86},
    {1020, 1034, 33}, {1053, 1082, 33}, {1086, 1410, 2350}, {3436, 3854, 141},
    {3582, 4002, 16}, {3598, 4019, 163}, {3761, 4183, 24}, {3785, 4208, 34},
    {3819, 4243, 171}, {3994, 4420, 21}, {4015, 4442, 23}, {4038, 4466, 12},
    {4050, 4479, 84}, {4159, 4624, 11}, {4186, 4694, 169}, {4355, 4864, 21},
    {4389, 4902, 103}, {4492, 5006, 20}, {4512, 5027, 91}, {4603, 5119, 24},
    {4627, 5144, 344}, {4971, 5489, 30}, {5001, 5520, 30}, {5031, 5551, 93},
    {5124, 5645, 47}, {5171, 5693, 30}, {5201, 5724, 101}, {5303, 5828, 18},
    {5321, 5847, 45}, {5372, 5900, 102}, {5474, 6003, 25}, {5499, 6029, 63},
    {5562, 6093, 195}, {5773, 6307, 98}, {5901, 6446, 35}, {6005, 6596, 14},
    {6031, 6631, 11}, {6047, 6650, 16}, {6063, 6667, 77}, {6166, 6780, 31},
    {6197, 6812, 42}, {6239, 6855, 39}, {6278, 6895, 35}, {6313, 6931, 14},
    {6340, 6966, 15}, {6373, 7012, 43}, {6437, 7092, 10}, {6460, 7122, 14},
    {6479, 7147, 74}, {6553, 7222, 74}, {6627, 7297, 345}, {6972, 7643, 60},
    {7032, 7704, 20}, {7052, 7725, 83}, {7135, 7809, 70}, {7205, 7880, 193},
    {7399, 8076, 31}, {7430, 8108, 15}, {7445, 8124, 10}, {7455, 8135, 101},
    {7556, 8237, 20}, {7576, 8258, 108}, {7684, 8368, 67}, {7751, 8436, 126},
    {7877, 8563, 179},
};
/* clang-format on */

static const struct {
    const char *ordering;
    const struct charset_run *run;
    size_t n;
    uint16_t half; /* the number of the blank of letters that are half as wide */
} collections[] = {
    {"GB1", gb1, sizeof(gb1) / sizeof(*gb1), 813},
    {"CNS1", cns1, sizeof(cns1) / sizeof(*cns1), 13648},
    {"Japan1", japan1, sizeof(japan1) / sizeof(*japan1), 231},
    {"Korea1", korea1, sizeof(korea1) / sizeof(*korea1), 8094},
};

int charset_collection(struct str ordering)
{
    for (size_t i = 0; i < sizeof(collections) / sizeof(*collections); i++) {
        if (str_eq(ordering, str_of(collections[i].ordering)))
            return (int)i;
    }
    return -1;
}

/* Returns the character at a place of the national standard: rows of 94, or of 157. */
static uint32_t char_at(const struct charset_tables *t, int collection, unsigned at)
{
    switch (collection) {
    case 0:
        return gbk(t)[(0x20 + at / ROW) * GBK_ROW + 0x60 + at % ROW];
    case 1:
        return at < CHARSETS_BIG5 ? big5(t)[at] : 0;
    case 2:
        return at < CHARSETS_JIS ? jis(t)[at] : 0;
    default:
        return at < CHARSETS_KSC ? ksc(t)[at] : 0;
    }
}

uint32_t charset_of_cid(const struct charset_tables *t, int collection, uint32_t cid)
{
    uint32_t half = collections[collection].half;
    if (cid >= 1 && cid < 96)
        return ' ' + cid - 1;
    if (cid >= half && cid < half + 95)
        return ' ' + cid - half;
    for (size_t i = 0; i < collections[collection].n; i++) {
        const struct charset_run *r = &collections[collection].run[i];
        if (cid >= r->cid && cid - r->cid < r->n)
            return char_at(t, collection, r->at + (cid - r->cid));
    }
    return 0;
}
