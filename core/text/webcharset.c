/* SPDX-License-Identifier: MIT */
#include "text/webcharset.h"

#include "archive/zip_text.h"
#include "base/utf8.h"
#include "text/charset.h"
#include "text/webcharset_own.h"

#include <stdio.h>

enum { META_LOOK = 1024 };

ZIP_TABLES(webcharset)

/* EAST and below: those of charset.h. */
enum set {
    UTF8 = -1,
    UTF16LE = -2,
    UTF16BE = -3,
    NO_SET = -4,
    UNKNOWN_SET = -5,
    EAST = -6
};

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* As the Encoding standard has them (4.2); 0: none of them. */
static int east_of(const char *name)
{
    static const struct {
        const char *names; /* each between blanks */
        enum charset set;
    } sets[] = {
        {" chinese csgb2312 csiso58gb231280 gb2312 gb_2312 gb_2312-80 gbk iso-ir-58 "
         "x-gbk "
         "gb18030 ",
         CHARSET_GBK},
        {" big5 big5-hkscs cn-big5 csbig5 x-x-big5 ", CHARSET_BIG5},
        {" csshiftjis ms932 ms_kanji shift-jis shift_jis sjis windows-31j x-sjis ",
         CHARSET_SHIFT_JIS},
        {" cseucpkdfmtjapanese euc-jp x-euc-jp ", CHARSET_EUC_JP},
        {" cseuckr csksc56011987 euc-kr iso-ir-149 korean ks_c_5601-1987 ks_c_5601-1989 "
         "ksc5601 ksc_5601 windows-949 ",
         CHARSET_EUC_KR}};
    char word[48];
    snprintf(word, sizeof(word), " %s ", name);
    for (size_t i = 0; i < sizeof(sets) / sizeof(*sets) && !strchr(name, ' '); i++) {
        if (*name && strstr(sets[i].names, word))
            return EAST - (int)sets[i].set;
    }
    return 0;
}

/* The set of a name, in any case and with its other names; unknown gets the name. */
static int set_of(struct str name, char unknown[40])
{
    static const struct {
        const char *name, *is;
    } also[] = {{"utf8", "utf-8"},
                {"us-ascii", "windows-1252"},
                {"ascii", "windows-1252"},
                {"iso-8859-1", "windows-1252"},
                {"iso8859-1", "windows-1252"},
                {"latin1", "windows-1252"},
                {"iso_8859-1", "windows-1252"},
                {"x-cp1252", "windows-1252"},
                {"latin2", "iso-8859-2"},
                {"latin9", "iso-8859-15"},
                {"iso-8859-9", "windows-1254"},
                {"latin5", "windows-1254"},
                {"iso-8859-11", "windows-874"},
                {"tis-620", "windows-874"},
                {"koi8", "koi8-r"},
                {"cp866", "ibm866"},
                {"iso-8859-8-i", "iso-8859-8"},
                {"utf-16", "utf-16le"},
                {"unicode", "utf-16le"}};
    char z[40];
    size_t n = name.n < sizeof(z) - 1 ? name.n : sizeof(z) - 1;
    for (size_t i = 0; i < n; i++)
        z[i] = lower(name.p[i]);
    z[n] = '\0';
    char longer[48];
    const char *is = z;
    if (strncmp(z, "cp125", 5) == 0 || strncmp(z, "win125", 6) == 0) {
        snprintf(longer, sizeof(longer), "windows-%s", strstr(z, "125"));
        is = longer;
    } else if (strncmp(z, "iso8859", 7) == 0 || strncmp(z, "iso_8859", 8) == 0) {
        snprintf(longer, sizeof(longer), "iso-8859%s", strstr(z, "8859") + 4);
        is = longer;
    }
    for (size_t i = 0; i < sizeof(also) / sizeof(*also); i++) {
        if (strcmp(is, also[i].name) == 0)
            is = also[i].is;
    }
    if (strcmp(is, "utf-8") == 0)
        return UTF8;
    if (strcmp(is, "utf-16le") == 0 || strcmp(is, "utf-16be") == 0)
        return is[6] == 'l' ? UTF16LE : UTF16BE;
    webcharset_unpack();
    for (size_t i = 0; i < WEBCHARSETS; i++) {
        if (strcmp(is, webcharsets[i].name) == 0)
            return (int)i;
    }
    if (east_of(z))
        return east_of(z);
    snprintf(unknown, 40, "%s", z);
    for (char *c = unknown; *c; c++) { /* the name is quoted in our messages */
        if (*c < ' ' || *c > '~')
            *c = '?';
    }
    return UNKNOWN_SET;
}

/* HTML 13.2.3.2, in short: what follows "charset=" in a meta element. */
static struct str meta_of(struct str page)
{
    page = str_sub(page, 0, META_LOOK);
    static const char word[] = "charset";
    bool meta = false;
    for (size_t i = 0; i + sizeof(word) < page.n; i++) {
        size_t n = 0;
        if (page.p[i] == '<')
            meta = i + 5 < page.n && lower(page.p[i + 1]) == 'm' &&
                   lower(page.p[i + 2]) == 'e' && lower(page.p[i + 3]) == 't';
        while (n + 1 < sizeof(word) && lower(page.p[i + n]) == word[n])
            n++;
        if (!meta || n + 1 < sizeof(word))
            continue;
        struct str s = str_sub(page, i + n, page.n);
        while (s.n && strchr(" \t\r\n", *s.p) && *s.p)
            s = str_sub(s, 1, s.n);
        if (!s.n || *s.p != '=')
            continue;
        s = str_sub(s, 1, s.n);
        while (s.n && strchr(" \t\r\n'\"", *s.p) && *s.p)
            s = str_sub(s, 1, s.n);
        for (n = 0; n < s.n && s.p[n] && !strchr(" \t\r\n'\";/>", s.p[n]); n++)
            continue;
        return str_sub(s, 0, n);
    }
    return (struct str){0};
}

static int add_char(struct buf *out, uint32_t cp)
{
    char text[4];
    return buf_add(out, text, (size_t)utf8_encode(cp, text));
}

static int add_utf16(struct buf *out, struct str s, bool big)
{
    int rc = 0;
    uint32_t high = 0;
    for (size_t i = 0; i + 1 < s.n && rc == 0; i += 2) {
        unsigned a = (unsigned char)s.p[i], b = (unsigned char)s.p[i + 1];
        uint32_t unit = big ? a << 8 | b : b << 8 | a;
        if (high && unit >= 0xDC00 && unit < 0xE000) {
            rc = add_char(out, 0x10000 + ((high - 0xD800) << 10) + (unit - 0xDC00));
            high = 0;
            continue;
        }
        if (high)
            rc = add_char(out, 0xFFFD);
        high = unit >= 0xD800 && unit < 0xDC00 ? unit : 0;
        if (rc == 0 && !high)
            rc = add_char(out, unit >= 0xDC00 && unit < 0xE000 ? 0xFFFD : unit);
    }
    return rc == 0 && (high || s.n % 2) ? add_char(out, 0xFFFD) : rc;
}

/* Returns the character of a byte from 128 on in a set of one byte. */
static uint32_t high_char(int set, unsigned char c)
{
    return c >= 160                  ? webcharsets[set].high[c - 160]
           : set < WEBCHARSETS_PLAIN ? c
                                     : webcharsets_low[set - WEBCHARSETS_PLAIN][c - 128];
}

static int add_table(struct buf *out, struct str s, int set)
{
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && (unsigned char)s.p[i] < 128)
            i++;
        if (buf_adds(out, str_sub(s, from, i - from)) < 0)
            return -1;
        if (i < s.n && add_char(out, high_char(set, (unsigned char)s.p[i++])) < 0)
            return -1;
    }
    return 0;
}

static int add_east(struct buf *out, struct str s, enum charset set)
{
    struct charset_tables *t = charset_open();
    int rc = t ? 0 : -1;
    while (rc == 0 && s.n) {
        uint32_t c;
        size_t n = charset_next(t, set, s, &c);
        rc = add_char(out, c || !*s.p ? c : 0xFFFD);
        s = str_sub(s, n, s.n);
    }
    charset_close(t);
    return rc;
}

/* A byte order mark; s is without it. */
static int marked(struct str *s)
{
    int set = NO_SET;
    if (str_starts(*s, STR("\xEF\xBB\xBF")))
        set = UTF8;
    else if (str_starts(*s, STR("\xFF\xFE")))
        set = UTF16LE;
    else if (str_starts(*s, STR("\xFE\xFF")))
        set = UTF16BE;
    if (set != NO_SET)
        *s = str_sub(*s, set == UTF8 ? 3 : 2, s->n);
    return set;
}

int webcharset_read(struct str bytes, struct str header, bool html, struct buf *out,
                    char unknown[40])
{
    int set = marked(&bytes);
    unknown[0] = '\0';
    if (set == NO_SET && header.n)
        set = set_of(header, unknown);
    if (set == NO_SET && html) {
        struct str meta = meta_of(bytes);
        set = meta.n ? set_of(meta, unknown) : NO_SET;
        /* A page whose meta element could be read as ASCII is not UTF-16. */
        set = set == UTF16LE || set == UTF16BE ? UTF8 : set;
    }
    int strange = set == UNKNOWN_SET && !utf8_valid(bytes);
    if (set == NO_SET && !utf8_valid(bytes))
        set = set_of(STR("windows-1252"), unknown);
    int rc;
    if (set >= 0)
        rc = add_table(out, bytes, set);
    else if (set <= EAST)
        rc = add_east(out, bytes, (enum charset)(EAST - set));
    else if (set == UTF16LE || set == UTF16BE)
        rc = add_utf16(out, bytes, set == UTF16BE);
    else
        rc = utf8_repair(out, bytes, false);
    return rc < 0 ? rc : strange;
}
