/* SPDX-License-Identifier: MIT */
#include "reach/words.h"

#include "reach/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

enum { MAPPED_BITS = 96, PORT_MAX = 65535, HTTPS = 443 };

static int wrong_at(struct reach_wrong *w, size_t at, const char *expected)
{
    *w = (struct reach_wrong){expected, at};
    return -1;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c; }

/* ---- names ---- */

size_t reach_name_of(struct str text, char out[REACH_NAME_MAX + 1])
{
    size_t label = 0, n = text.n;
    out[0] = 0;
    if (n > 0 && text.p[n - 1] == '.')
        n--;
    if (n == 0 || n > REACH_NAME_MAX)
        return 0;
    for (size_t i = 0; i < n; i++) {
        char c = lower(text.p[i]);
        bool dot = c == '.';
        if (!dot && !is_digit(c) && !(c >= 'a' && c <= 'z') && c != '-' && c != '_')
            return 0;
        if (dot ? label == 0 : label == REACH_LABEL_MAX)
            return 0;
        label = dot ? 0 : label + 1;
        out[i] = c;
    }
    out[n] = 0;
    return label > 0 ? n : 0;
}

/* Would resolvers take it for an IPv4 address, as 10.1 or 0x7f000001? */
static bool is_number(const char *name)
{
    const char *dot = strrchr(name, '.'), *last = dot ? dot + 1 : name;
    if (last[0] == '0' && last[1] == 'x')
        return strspn(last + 2, "0123456789abcdef") == strlen(last + 2);
    return strspn(last, "0123456789") == strlen(last);
}

static int read_name(struct str text, struct reach_host *out, struct reach_wrong *wrong)
{
    bool below = str_starts(text, STR("*."));
    struct str name = str_sub(text, below ? 2 : 0, text.n);
    out->kind = below ? REACH_BELOW : REACH_NAME;
    for (size_t i = 0; i < text.n; i++) {
        if ((unsigned char)text.p[i] >= 0x80)
            return wrong_at(wrong, i,
                            "a name of letters, digits, -, _ and dots was expected; "
                            "write others in their xn-- form");
    }
    if (reach_name_of(name, out->name) == 0)
        return wrong_at(wrong, 0,
                        str_chr(name, '*') >= 0
                            ? "* was expected alone, or as *. before a name"
                            : "a name, an address, a network as 10.0.0.0/8, or * was "
                              "expected");
    if (is_number(out->name))
        return wrong_at(wrong, 0,
                        "an IPv4 address of four numbers was expected, as 10.0.0.1");
    return 0;
}

/* ---- addresses ---- */

/* base: bits before the part that the length of the prefix counts. */
static bool read_address(struct str text, unsigned char out[16], unsigned *base)
{
    char z[INET6_ADDRSTRLEN];
    if (text.n == 0 || text.n >= sizeof(z) || memchr(text.p, 0, text.n))
        return false;
    memcpy(z, text.p, text.n);
    z[text.n] = 0;
    *base = MAPPED_BITS;
    address_map(out);
    if (inet_pton(AF_INET, z, out + ADDRESS_MAPPED) == 1)
        return true;
    *base = 0;
    return inet_pton(AF_INET6, z, out) == 1;
}

static bool has_bits_after(const unsigned char bytes[16], unsigned bits)
{
    for (unsigned i = bits; i < 128; i++) {
        if (bytes[i / 8] >> (7 - i % 8) & 1)
            return true;
    }
    return false;
}

int reach_host_read(struct str text, struct reach_host *out, struct reach_wrong *wrong)
{
    struct str rest = text, address = str_cut(&rest, '/');
    bool net = address.n < text.n;
    uint64_t bits = 0;
    unsigned base;
    *out = (struct reach_host){.kind = REACH_ALL};
    if (str_eq(text, STR("*")))
        return 0;
    if (str_find(text, STR("://")) >= 0)
        return wrong_at(wrong, 0,
                        "a name alone was expected, without https:// before it and "
                        "without a path after it");
    if (!read_address(address, out->bytes, &base)) {
        if (str_chr(address, ':') >= 0)
            return wrong_at(wrong, 0, "an IPv6 address was expected, as 2001:db8::1");
        return read_name(text, out, wrong);
    }
    if (net && (str_to_u64(rest, &bits) < 0 || bits > 128 - base))
        return wrong_at(wrong, address.n + 1,
                        base ? "a length from 0 to 32 was expected"
                             : "a length from 0 to 128 was expected");
    out->kind = REACH_NET;
    out->bits = net ? base + (unsigned)bits : 128;
    if (has_bits_after(out->bytes, out->bits))
        return wrong_at(wrong, 0,
                        "a network was expected: an address whose bits after the length "
                        "are 0, as 10.0.0.0/8");
    return 0;
}

void reach_host_print(const struct reach_host *h, struct buf *out)
{
    char z[INET6_ADDRSTRLEN];
    if (h->kind == REACH_ALL || h->kind == REACH_BELOW)
        buf_addz(out, h->kind == REACH_ALL ? "*" : "*.");
    if (h->kind == REACH_NAME || h->kind == REACH_BELOW)
        buf_addz(out, h->name);
    if (h->kind != REACH_NET)
        return;
    bool v4 = h->bits >= MAPPED_BITS && address_is_ipv4(h->bytes);
    buf_addz(out,
             inet_ntop(v4 ? AF_INET : AF_INET6, h->bytes + (v4 ? 12 : 0), z, sizeof(z)));
    if (h->bits < 128)
        buf_addf(out, "/%u", h->bits - (v4 ? MAPPED_BITS : 0));
}

/* ---- words ---- */

static int read_port(struct str text, size_t at, uint64_t *out, struct reach_wrong *wrong)
{
    if (str_to_u64(text, out) < 0 || *out < 1 || *out > PORT_MAX)
        return wrong_at(wrong, at, "a port from 1 to 65535 was expected");
    return 0;
}

/* Reads PORT[-PORT], which begins at `at` in the word. */
static int read_ports(struct str text, size_t at, struct json *rule,
                      struct reach_wrong *wrong)
{
    struct str rest = text, first = str_cut(&rest, '-');
    uint64_t from, to;
    if (read_port(first, at, &from, wrong) < 0)
        return -1;
    to = from;
    if (first.n < text.n && read_port(rest, at + first.n + 1, &to, wrong) < 0)
        return -1;
    if (to < from)
        return wrong_at(wrong, at, "a range with the lower port first was expected");
    json_put_int(rule, "from", (int64_t)from);
    json_put_int(rule, "to", (int64_t)to);
    return 0;
}

/* Cuts [ADDRESS] and /BITS from *word, and puts them together without brackets. */
static int cut_v6(struct str *word, struct buf *host, struct reach_wrong *wrong)
{
    long end = str_chr(*word, ']');
    if (end < 0)
        return wrong_at(wrong, 0, "a ] was expected after the address");
    struct str address = str_sub(*word, 1, (size_t)end - 1);
    *word = str_sub(*word, (size_t)end + 1, word->n);
    if (word->n > 0 && word->p[0] != '/' && word->p[0] != ':')
        return wrong_at(wrong, (size_t)end + 1,
                        "/ with a length, or : with a port, was expected after the ]");
    if (str_chr(address, ':') < 0)
        return wrong_at(wrong, 1, "an IPv6 address was expected, as 2001:db8::1");
    buf_adds(host, address);
    long port = str_chr(*word, ':');
    size_t n = port < 0 ? word->n : (size_t)port;
    buf_adds(host, str_sub(*word, 0, n));
    *word = str_sub(*word, n, word->n);
    return 0;
}

static int read_word(struct str word, struct buf *host, struct json *rule,
                     struct reach_wrong *wrong)
{
    struct str rest = word;
    struct reach_host h;
    struct buf text = BUF_INIT(4096);
    bool v6 = str_starts(word, STR("["));
    if (v6) {
        if (cut_v6(&rest, host, wrong) < 0)
            return -1;
    } else if (str_find(word, STR("://")) >= 0) {
        buf_adds(host, word);
        rest.n = 0;
    } else if (str_count(word, ':') > 1) {
        return wrong_at(wrong, 0,
                        "an IPv6 address in brackets was expected, as [2001:db8::1]:443");
    } else {
        long port = str_chr(word, ':');
        size_t n = port < 0 ? word.n : (size_t)port;
        buf_adds(host, str_sub(word, 0, n));
        rest = str_sub(word, n, word.n);
    }
    if (buf_full(host))
        return wrong_at(wrong, 0, "a name of at most 253 bytes was expected");
    if (reach_host_read(buf_str(host), &h, wrong) < 0) {
        wrong->at += wrong->at > 0 && v6 ? 2 : v6; /* the brackets */
        return -1;
    }
    reach_host_print(&h, &text);
    /* Printed, it would be read as the word. */
    if (rest.n == 0 && str_eq(buf_str(&text), STR("nothing"))) {
        buf_release(&text);
        return wrong_at(wrong, 0,
                        "the word nothing was expected in small letters; a host of that "
                        "name needs a port");
    }
    json_put_str(rule, "host", buf_str(&text));
    buf_release(&text);
    if (rest.n > 0)
        return read_ports(str_sub(rest, 1, rest.n), word.n - rest.n + 1, rule, wrong);
    json_put_int(rule, "from", 1);
    json_put_int(rule, "to", PORT_MAX);
    return 0;
}

static bool is_nothing(struct str word, struct json *rule)
{
    if (!str_eq(word, STR("nothing")))
        return false;
    json_put_bool(rule, "nothing", true);
    return true;
}

int reach_word(struct str word, struct json *rule, struct reach_wrong *wrong)
{
    struct buf host = BUF_INIT(4096);
    int rc = is_nothing(word, rule) ? 0 : read_word(word, &host, rule, wrong);
    buf_release(&host);
    return rc;
}

int reach_listen_word(struct str word, struct json *rule, struct reach_wrong *wrong)
{
    return is_nothing(word, rule) ? 0 : read_ports(word, 0, rule, wrong);
}

int reach_secret_word(struct str word, struct json *rule, struct reach_wrong *wrong)
{
    struct reach_host h;
    struct buf host = BUF_INIT(4096);
    int rc = read_word(word, &host, rule, wrong);
    buf_release(&host);
    if (rc < 0)
        return -1;
    if (reach_host_read(json_str(rule, "host", ""), &h, wrong) < 0 ||
        (h.kind != REACH_NAME && h.kind != REACH_BELOW))
        return wrong_at(wrong, 0,
                        "a DNS name was expected, as code.example; TLS proves names");
    if (str_chr(word, ':') < 0) {
        json_put_int(rule, "from", HTTPS);
        json_put_int(rule, "to", HTTPS);
    }
    return 0;
}

void reach_print(struct str host, unsigned from, unsigned to, struct buf *out)
{
    struct str rest = host, address = str_cut(&rest, '/');
    if (str_chr(address, ':') < 0)
        buf_adds(out, host);
    else
        buf_addf(out, "[%.*s]%s%.*s", STR_ARG(address), rest.n ? "/" : "", STR_ARG(rest));
    if (host.n > 0 && from == 1 && to == PORT_MAX)
        return;
    buf_addf(out, host.n ? ":%u" : "%u", from);
    if (from != to)
        buf_addf(out, "-%u", to);
}

void reach_print_rule(const struct json *rule, struct buf *out)
{
    if (json_bool(rule, "nothing", false))
        buf_addz(out, "nothing");
    else
        reach_print(json_str(rule, "host", ""), (unsigned)json_int(rule, "from", 0),
                    (unsigned)json_int(rule, "to", 0), out);
}
