/* SPDX-License-Identifier: MIT */
/* Jupyter messages on the wire. */
#include "kernel/host/jmsg.h"

#include "base/buf.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/scan.h"
#include "base/utf8.h"

#include <string.h>

#define DELIMITER STR("<IDS|MSG>")

static void signature(const struct str *four, struct str key,
                      char out[JMSG_SIGNATURE + 1])
{
    uint8_t mac[HASH_SHA256_SIZE];
    struct hash h;
    hash_begin_hmac_sha256(&h, key);
    for (int i = 0; i < 4; i++)
        hash_add(&h, four[i]);
    hash_end(&h, mac);
    struct buf hex = BUF_INIT(JMSG_SIGNATURE);
    enc_hex(&hex, str_n(mac, sizeof(mac)));
    memcpy(out, buf_z(&hex), JMSG_SIGNATURE + 1);
    buf_release(&hex);
}

void jmsg_sign(const struct jmsg *m, struct str key, char sig[JMSG_SIGNATURE + 1],
               struct str parts[JMSG_PARTS])
{
    parts[0] = DELIMITER;
    parts[2] = m->header;
    parts[3] = m->parent;
    parts[4] = m->metadata;
    parts[5] = m->content;
    sig[0] = 0;
    if (key.n)
        signature(parts + 2, key, sig);
    parts[1] = str_of(sig);
}

int jmsg_parse(const struct str *parts, int n, struct str key, struct jmsg *m,
               struct err *e)
{
    int at = 0;
    while (at < n && !str_eq(parts[at], DELIMITER))
        at++;
    if (at == n)
        return err_set(e, ERR_INVALID, "a kernel's message has no <IDS|MSG>");
    if (n - at < JMSG_PARTS)
        return err_set(e, ERR_INVALID, "a kernel's message has %d parts, fewer than %d",
                       n - at, JMSG_PARTS);
    const struct str *p = parts + at;
    char sig[JMSG_SIGNATURE + 1];
    if (key.n) {
        signature(p + 2, key, sig);
        if (p[1].n != JMSG_SIGNATURE || !hash_equal(sig, p[1].p, JMSG_SIGNATURE))
            return err_set(e, ERR_DENIED,
                           "a kernel's message is signed with another key than the "
                           "connection file's");
    }
    *m = (struct jmsg){p[2], p[3], p[4], p[5], p + JMSG_PARTS, n - at - JMSG_PARTS};
    return 0;
}

/* The code unit of the escape \uXXXX that begins at p. Returns -1 if there is none. */
static long unit_at(const char *p, size_t n)
{
    long v = 0;
    if (n < 6 || p[0] != '\\' || p[1] != 'u')
        return -1;
    for (int i = 2; i < 6; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9')
            v = v * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))
            v = v * 16 + ((c | 0x20) - 'a' + 10);
        else
            return -1;
    }
    return v;
}

/* Repairs the escape that begins at p, and returns its size. */
static size_t clean_escape(char *p, size_t n)
{
    long first = unit_at(p, n);
    if (first < 0)
        return n >= 2 && p[1] >= 0x20 && p[1] < 0x7f ? 2 : 1;
    long second = n >= 12 ? unit_at(p + 6, n - 6) : -1;
    if (first >= 0xd800 && first < 0xdc00 && second >= 0xdc00 && second < 0xe000)
        return 12;
    if (first == 0 || (first >= 0xd800 && first < 0xe000))
        memcpy(p + 2, "fffd", 4);
    return 6;
}

void jmsg_clean(char *p, size_t n)
{
    for (size_t i = 0; (i += scan_unescaped(str_n(p + i, n - i))) < n;) {
        unsigned char c = (unsigned char)p[i];
        if (c == '\\') {
            i += clean_escape(p + i, n - i);
            continue;
        }
        if (c < 0x20)
            p[i] = ' ';
        uint32_t cp;
        int len = c < 0x80 ? 1 : utf8_decode(str_n(p + i, n - i), &cp);
        if (len < 1)
            p[i] = '?';
        i += len < 1 ? 1 : (size_t)len;
    }
}

/* ---- long texts ---- */

static void skip_space(struct str *s)
{
    while (s->n &&
           (s->p[0] == ' ' || s->p[0] == '\n' || s->p[0] == '\t' || s->p[0] == '\r'))
        *s = str_sub(*s, 1, s->n);
}

static bool take_char(struct str *s, char c)
{
    skip_space(s);
    if (s->n == 0 || s->p[0] != c)
        return false;
    *s = str_sub(*s, 1, s->n);
    return true;
}

/* A string, without its quotes. */
static bool take_string(struct str *s, struct str *out)
{
    if (!take_char(s, '"'))
        return false;
    for (size_t at = 0;;) {
        const char *q = at < s->n ? memchr(s->p + at, '"', s->n - at) : NULL;
        size_t end = q ? (size_t)(q - s->p) : 0, slashes = 0;
        if (!q)
            return false;
        while (slashes < end && s->p[end - 1 - slashes] == '\\')
            slashes++;
        at = end + 1;
        if (slashes % 2 == 0) {
            *out = str_sub(*s, 0, end);
            *s = str_sub(*s, at, s->n);
            return true;
        }
    }
}

bool jmsg_stream(struct str s, struct str *name, struct str *text)
{
    struct str key, value;
    *name = *text = STR("");
    if (!take_char(&s, '{'))
        return false;
    do {
        if (!take_string(&s, &key) || !take_char(&s, ':') || !take_string(&s, &value))
            return false;
        if (str_eq(key, STR("name")))
            *name = value;
        else if (str_eq(key, STR("text")))
            *text = value;
    } while (take_char(&s, ','));
    bool whole = take_char(&s, '}');
    skip_space(&s);
    return whole && s.n == 0;
}

/* The size of the escape that s begins with; of both, for a surrogate pair. */
static size_t escape_len(struct str s)
{
    bool unicode = s.n > 1 && s.p[1] == 'u';
    bool high = unicode && s.n > 3 && (s.p[2] == 'd' || s.p[2] == 'D') &&
                strchr("89abAB", s.p[3]) && s.p[3];
    return high && s.n > 7 && s.p[6] == '\\' && s.p[7] == 'u' ? 12 : unicode ? 6 : 2;
}

size_t jmsg_cut(struct str text, size_t most)
{
    if (text.n <= most)
        return text.n;
    for (size_t at = 0;;) {
        const char *e = memchr(text.p + at, '\\', most - at);
        if (!e)
            break;
        size_t begin = (size_t)(e - text.p);
        at = begin + escape_len(str_sub(text, begin, text.n));
        if (at > most)
            return begin;
        if (at == most)
            return most;
    }
    size_t n = most;
    while (n > most - 3 && ((unsigned char)text.p[n] & 0xc0) == 0x80)
        n--;
    return n;
}
