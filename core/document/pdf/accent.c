/* SPDX-License-Identifier: MIT */
/*
 * Joins accents and letters that are drawn over each other. Fonts of few characters, such
 * as those of TeX, have an accent as a character with a width of its own.
 */
#include "document/pdf/own.h"

#include "base/utf8.h"

/* clang-format off */
/*
 * An accent that stands alone, its combining character (Unicode), and pairs of letters
 * without and with it.
 */
static const struct {
    uint16_t alone, mark;
    const char *letters;
} accents[] = {
    {0x0060, 0x0300,
     "AÀEÈIÌNǸOÒUÙaàeèiìnǹoòuù"},
    {0x00b4, 0x0301,
     "AÁCĆEÉGǴIÍLĹNŃOÓRŔSŚUÚYÝZŹaácćeégǵiílĺnńoórŕ"
     "sśuúyýzź"},
    {0x02c6, 0x0302,
     "AÂCĈEÊGĜHĤIÎJĴOÔSŜUÛWŴYŶaâcĉeêgĝhĥiîjĵoôsŝuû"
     "wŵyŷ"},
    {0x02dc, 0x0303,
     "AÃIĨNÑOÕUŨaãiĩnñoõuũ"},
    {0x00af, 0x0304,
     "AĀEĒIĪOŌUŪYȲaāeēiīoōuūyȳ"},
    {0x02d8, 0x0306,
     "AĂEĔGĞIĬOŎUŬaăeĕgğiĭoŏuŭ"},
    {0x02d9, 0x0307,
     "AȦCĊEĖGĠIİOȮZŻaȧcċeėgġoȯzż"},
    {0x00a8, 0x0308,
     "AÄEËIÏOÖUÜYŸaäeëiïoöuüyÿ"},
    {0x02da, 0x030a,
     "AÅUŮaåuů"},
    {0x02dd, 0x030b,
     "OŐUŰoőuű"},
    {0x02c7, 0x030c,
     "AǍCČDĎEĚGǦHȞIǏKǨLĽNŇOǑRŘSŠTŤUǓZŽaǎcčdďeěgǧhȟ"
     "iǐjǰkǩlľnňoǒrřsštťuǔzž"},
    {0x00b8, 0x0327,
     "CÇEȨGĢKĶLĻNŅRŖSŞTŢcçeȩgģkķlļnņrŗsştţ"},
    {0x02db, 0x0328,
     "AĄEĘIĮOǪUŲaąeęiįoǫuų"},
};
/* clang-format on */

uint32_t pdf_accent(uint32_t c)
{
    if (c >= 0x300 && c < 0x370)
        return c;
    for (size_t i = 0; i < sizeof(accents) / sizeof(*accents); i++) {
        if (accents[i].alone == c)
            return accents[i].mark;
    }
    return 0;
}

/* Returns the other character of a pair in the table; 0 if there is none. */
static uint32_t other_of(uint32_t c, size_t accent, bool whole)
{
    struct str s = str_of(accents[accent].letters);
    uint32_t pair[2];
    while (s.n) {
        s = str_sub(s, (size_t)utf8_decode(s, &pair[0]), s.n);
        s = str_sub(s, (size_t)utf8_decode(s, &pair[1]), s.n);
        if (pair[whole] == c)
            return pair[!whole];
    }
    return 0;
}

static uint32_t composed(uint32_t letter, uint32_t mark)
{
    for (size_t i = 0; i < sizeof(accents) / sizeof(*accents); i++) {
        if (accents[i].mark == mark)
            return other_of(letter, i, false);
    }
    return 0;
}

uint32_t pdf_without_accent(uint32_t c)
{
    uint32_t letter = 0;
    for (size_t i = 0; c >= 0xc0 && !letter && i < sizeof(accents) / sizeof(*accents);
         i++)
        letter = other_of(c, i, true);
    return letter ? letter : c;
}

size_t pdf_put_accent(uint32_t letter, uint32_t mark, char out[8])
{
    bool plain = (letter >= 'A' && letter <= 'Z') || (letter >= 'a' && letter <= 'z');
    if (!plain && letter < 0xc0)
        return 0;
    if (letter == 0x131) /* without its dot */
        letter = 'i';
    else if (letter == 0x237)
        letter = 'j';
    uint32_t whole = composed(letter, mark);
    size_t n = (size_t)utf8_encode(whole ? whole : letter, out);
    return whole ? n : n + (size_t)utf8_encode(mark, out + n);
}
