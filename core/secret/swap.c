/* SPDX-License-Identifier: MIT */
#include "secret/swap.h"

#include "base/clock.h"
#include "base/enc.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PREFIX_MAX = 12 };

/* ---- placeholders ---- */

static const char digits[] = "0123456789", small[] = "abcdefghijklmnopqrstuvwxyz",
                  capitals[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

static bool is_in(const char *set, char c) { return c && strchr(set, c) != NULL; }

/* The characters that one like c is taken from; NULL: it stays. */
static const char *kind_of(char c, bool hex)
{
    if (hex && is_in("0123456789abcdef", c))
        return "0123456789abcdef";
    return is_in(digits, c)     ? digits
           : is_in(small, c)    ? small
           : is_in(capitals, c) ? capitals
                                : NULL;
}

static bool is_hex(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (!is_in("0123456789abcdef-", s.p[i]))
            return false;
    }
    return true;
}

static size_t prefix_of(struct str s)
{
    size_t n = 0;
    for (size_t i = 0; i < s.n && i < PREFIX_MAX; i++) {
        if ((s.p[i] == '_' || s.p[i] == '-') && s.n - i > 2 * SECRET_MIN)
            n = i + 1;
    }
    return is_hex(s) ? 0 : n;
}

int secret_placeholder(struct str secret, const char *what, struct buf *out,
                       struct err *e)
{
    unsigned char random[SECRET_MAX];
    bool hex = is_hex(secret);
    size_t n = 0, from = prefix_of(secret);
    for (size_t i = 0; i < secret.n; i++) {
        if ((unsigned char)secret.p[i] < 0x20 || secret.p[i] == 0x7f)
            return err_set(e, ERR_INVALID,
                           "%s has a control character, which no header can hold", what);
        n += i >= from && kind_of(secret.p[i], hex);
    }
    if (secret.n > SECRET_MAX)
        return err_set(e, ERR_INVALID, "%s is longer than %d bytes", what, SECRET_MAX);
    if (n < SECRET_MIN)
        return err_set(e, ERR_INVALID,
                       "%s has fewer than %d letters and digits, so a placeholder for it "
                       "could be mistaken for other text",
                       what, SECRET_MIN);
    if (secret.p[0] == ' ' || secret.p[secret.n - 1] == ' ')
        return err_set(e, ERR_INVALID, "%s has a blank at an end", what);
    random_bytes(random, secret.n);
    for (size_t i = 0; i < secret.n; i++) {
        const char *kind = i < from ? NULL : kind_of(secret.p[i], hex);
        buf_addc(out, kind ? kind[random[i] % strlen(kind)] : secret.p[i]);
    }
    return 0;
}

/* ---- bytes ---- */

/* Does a text end in the beginning of another one? Returns how many bytes of it. */
static size_t begun(struct str text, struct str other)
{
    size_t n = other.n - 1 < text.n ? other.n - 1 : text.n;
    for (; n > 0; n--) {
        if (memcmp(text.p + text.n - n, other.p, n) == 0)
            return n;
    }
    return 0;
}

size_t swap_bytes(const struct swap *v, unsigned n, char *p, size_t size, bool last)
{
    size_t held = 0;
    for (unsigned i = 0; i < n; i++) {
        for (size_t at = 0; at < size;) {
            char *hit = memmem(p + at, size - at, v[i].from.p, v[i].from.n);
            if (!hit)
                break;
            memcpy(hit, v[i].to.p, v[i].to.n);
            at = (size_t)(hit - p) + v[i].to.n;
        }
    }
    for (unsigned i = 0; i < n && !last; i++) {
        size_t more = begun(str_n(p, size), v[i].from);
        held = more > held ? more : held;
    }
    return size - held;
}

/* ---- heads ---- */

static void put_encoded(struct buf *out, struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (is_in(digits, c) || is_in(small, c) || is_in(capitals, c) || is_in("-._~", c))
            buf_addc(out, c);
        else
            buf_addf(out, "%%%02X", (unsigned char)c);
    }
}

/* Appends text with the secrets in it. Returns whether there was one. */
static bool put_swapped(const struct secret_head *s, struct str text, bool encode,
                        struct buf *out)
{
    bool found = false;
    for (size_t at = 0; at < text.n;) {
        const struct swap *hit = NULL;
        for (unsigned i = 0; i < s->n && !hit; i++) {
            if (str_starts(str_sub(text, at, text.n), s->v[i].from))
                hit = &s->v[i];
        }
        if (!hit)
            buf_addc(out, text.p[at++]);
        else if (encode)
            put_encoded(out, hit->to);
        else
            buf_adds(out, hit->to);
        at += hit ? hit->from.n : 0;
        found = found || hit;
    }
    return found;
}

static bool is_name(struct str a, const char *name)
{
    return a.n == strlen(name) && strncasecmp(a.p, name, a.n) == 0;
}

/* Credentials: "Basic " and base64. Returns false if it is not that, or has no secret. */
static bool put_basic(const struct secret_head *s, struct str value, struct buf *out)
{
    struct buf plain = BUF_INIT(HTTP_HEAD_MAX), with = BUF_INIT(HTTP_HEAD_MAX),
               text = BUF_INIT(HTTP_HEAD_MAX);
    struct str coded = str_sub(value, 6, value.n);
    bool is = value.n > 6 && strncasecmp(value.p, "Basic ", 6) == 0 &&
              dec_base64(&plain, coded) == 0 &&
              put_swapped(s, buf_str(&plain), false, &with) &&
              enc_base64(&text, buf_str(&with)) == 0;
    if (is) {
        buf_addz(out, "Basic ");
        buf_adds(out, buf_str(&text));
        if (s->basic && text.n == coded.n)
            s->basic(s->arg, buf_str(&text), coded);
    }
    buf_release(&plain);
    buf_release(&with);
    buf_release(&text);
    return is;
}

/* "name" or "name:443" */
static bool is_host(const struct secret_head *s, struct str host)
{
    char port[16];
    long colon = str_chr(host, ':');
    struct str name = colon < 0 ? host : str_sub(host, 0, (size_t)colon);
    snprintf(port, sizeof(port), "%u", s->port);
    if (colon < 0 ? s->port != 443
                  : !str_eq(str_sub(host, (size_t)colon + 1, host.n), str_of(port)))
        return false;
    if (str_ends(name, STR(".")))
        name.n--;
    return name.n == s->host.n && strncasecmp(name.p, s->host.p, name.n) == 0;
}

static void put_field(const struct secret_head *s, struct str name, struct str value,
                      struct buf *out)
{
    buf_adds(out, name);
    buf_addz(out, ": ");
    if (!put_basic(s, value, out))
        put_swapped(s, value, false, out);
    buf_addz(out, "\r\n");
}

int secret_head(const struct secret_head *s, const struct http_head *h, struct buf *out,
                const char **why)
{
    if (!is_host(s, h->host)) {
        *why = "The request is for another host than the one that was connected to";
        return 421;
    }
    buf_adds(out, h->method);
    buf_addc(out, ' ');
    put_swapped(s, h->path, true, out);
    buf_addz(out, h->query.p ? "?" : "");
    put_swapped(s, h->query, true, out);
    buf_addf(out, " HTTP/1.%d\r\nHost: %.*s\r\nAccept-Encoding: identity\r\n", h->minor,
             STR_ARG(h->host));
    for (int i = 0; i < h->nfields; i++) {
        struct str name = h->fields[i].name;
        if (!is_name(name, "Host") && !is_name(name, "Accept-Encoding") &&
            (s->may_upgrade || !is_name(name, "Upgrade")))
            put_field(s, name, h->fields[i].value, out);
    }
    buf_addz(out, "\r\n");
    if (!buf_full(out))
        return 0;
    *why = "The request's head is too long with the secrets in it";
    return 431;
}
