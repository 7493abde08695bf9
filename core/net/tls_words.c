/* SPDX-License-Identifier: MIT */
/* Faults of a handshake or a connection, in words. */
#include "net/tls_own.h"

#include "archive/zip_text.h"
#include "net/trust.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <time.h>


enum { NAMES_SHOWN = 8, NAME_SHOWN = 100 };

/* ---- times ---- */

void tls_date(const mbedtls_x509_time *at, char out[20])
{
    snprintf(out, 20, "%04u-%02u-%02u %02u:%02u:%02u", (unsigned)at->year % 10000,
             (unsigned)at->mon % 100, (unsigned)at->day % 100, (unsigned)at->hour % 100,
             (unsigned)at->min % 100, (unsigned)at->sec % 100);
}

void tls_now(mbedtls_x509_time *now)
{
    time_t t = time(NULL);
    struct tm tm = {0};
    gmtime_r(&t, &tm);
    *now = (mbedtls_x509_time){.year = tm.tm_year + 1900,
                               .mon = tm.tm_mon + 1,
                               .day = tm.tm_mday,
                               .hour = tm.tm_hour,
                               .min = tm.tm_min,
                               .sec = tm.tm_sec};
}

/* ---- certificates ---- */

/* Appends a text of the peer, which may have any bytes. */
static void add_shown(struct buf *out, const void *p, size_t n)
{
    const unsigned char *b = p;
    for (size_t i = 0; i < n && i < NAME_SHOWN; i++)
        buf_addc(out, b[i] > ' ' && b[i] < 0x7f ? (char)b[i] : '?');
}

static int san_kind(const mbedtls_x509_sequence *s)
{
    return s->buf.tag & MBEDTLS_ASN1_TAG_VALUE_MASK;
}

/* Appends the names in a certificate; that of its subject only if there are no others. */
static void add_names(struct buf *out, const mbedtls_x509_crt *crt)
{
    int n = 0;
    char z[INET6_ADDRSTRLEN];
    for (const mbedtls_x509_sequence *s = &crt->subject_alt_names; s && s->buf.p;
         s = s->next) {
        bool ip = san_kind(s) == MBEDTLS_X509_SAN_IP_ADDRESS &&
                  (s->buf.len == 4 || s->buf.len == 16);
        if (!ip && san_kind(s) != MBEDTLS_X509_SAN_DNS_NAME)
            continue;
        if (n++ == NAMES_SHOWN) {
            buf_addz(out, ", …");
            return;
        }
        buf_addz(out, n > 1 ? ", " : "");
        if (ip)
            buf_addz(out, inet_ntop(s->buf.len == 4 ? AF_INET : AF_INET6, s->buf.p, z,
                                    sizeof(z)));
        else
            add_shown(out, s->buf.p, s->buf.len);
    }
    if (n > 0)
        return;
    for (const mbedtls_x509_name *name = &crt->subject; name && name->oid.p;
         name = name->next) {
        if (name->oid.len == 3 && memcmp(name->oid.p, "\x55\x04\x03", 3) == 0) {
            add_shown(out, name->val.p, name->val.len);
            return;
        }
    }
    buf_addz(out, "no name at all");
}

static bool has_address(const mbedtls_x509_crt *crt, const void *ip, size_t n)
{
    for (const mbedtls_x509_sequence *s = &crt->subject_alt_names; s && s->buf.p;
         s = s->next) {
        if (san_kind(s) == MBEDTLS_X509_SAN_IP_ADDRESS && s->buf.len == n &&
            memcmp(s->buf.p, ip, n) == 0)
            return true;
    }
    return false;
}

static const char *peer_of(const struct tls *t)
{
    return t->client ? t->host : "a client";
}

static void say_dates(struct tls *t, const mbedtls_x509_crt *crt, const char *whose,
                      bool expired)
{
    char then[20], now[20];
    mbedtls_x509_time at;
    tls_now(&at);
    tls_date(&at, now);
    tls_date(expired ? &crt->valid_to : &crt->valid_from, then);
    t->fault = TLS_FAULT_DATE;
    err_set(&t->e, ERR_DENIED,
            "cannot trust %s: %s %s %s UTC, and this machine's clock says %s; one of "
            "the two is wrong",
            peer_of(t), whose, expired ? "expired at" : "is valid only from", then, now);
}

static void say_issuer(struct tls *t, const mbedtls_x509_crt *crt, const char *whose)
{
    char issuer[160];
    const char *source = t->client ? trust_source(t->conf->trust) : "the clients' file";
    bool self = crt->issuer_raw.len == crt->subject_raw.len &&
                memcmp(crt->issuer_raw.p, crt->subject_raw.p, crt->issuer_raw.len) == 0;
    if (mbedtls_x509_dn_gets(issuer, sizeof(issuer), &crt->issuer) < 0)
        snprintf(issuer, sizeof(issuer), "(a long name)");
    t->fault = TLS_FAULT_AUTHORITY;
    err_set(&t->e, ERR_DENIED,
            "cannot trust %s: %s is %s \"%s\", which is not among the authorities in "
            "%s%s",
            peer_of(t), whose, self ? "signed by itself," : "issued by", issuer, source,
            t->client ? "; if it is to be trusted, name the issuer's certificate by "
                        "SSL_CERT_FILE (with --connect: or --ca FILE)"
                      : "");
}

static void say_name(struct tls *t, const mbedtls_x509_crt *crt)
{
    struct buf names = BUF_INIT(NAMES_SHOWN * (NAME_SHOWN + 8));
    add_names(&names, crt);
    t->fault = TLS_FAULT_NAME;
    err_set(&t->e, ERR_DENIED, "cannot trust %s: its certificate is for other names: %s",
            peer_of(t), buf_z(&names));
    buf_release(&names);
}

int tls_look_at(void *arg, mbedtls_x509_crt *crt, int depth, uint32_t *flags)
{
    struct tls *t = arg;
    const char *whose = depth == 0 ? "its certificate"
                                   : "the certificate of an issuer in its chain";
    if (depth == 0 && t->ip_n > 0 && !has_address(crt, t->ip, t->ip_n))
        *flags |= MBEDTLS_X509_BADCERT_CN_MISMATCH;
    if (t->e.code != ERR_NONE || *flags == 0)
        return 0;
    if (*flags & MBEDTLS_X509_BADCERT_EXPIRED)
        say_dates(t, crt, whose, true);
    else if (*flags & MBEDTLS_X509_BADCERT_FUTURE)
        say_dates(t, crt, whose, false);
    else if (*flags & MBEDTLS_X509_BADCERT_NOT_TRUSTED)
        say_issuer(t, crt, whose);
    else if (*flags & MBEDTLS_X509_BADCERT_CN_MISMATCH)
        say_name(t, crt);
    return 0;
}

/* ---- connections ---- */

/* RFC 8446 6.2: alerts that a person can act on. */
static const char *alert_text(int code)
{
    switch (code) {
    case MBEDTLS_SSL_ALERT_MSG_HANDSHAKE_FAILURE:
        return "no cipher, key or certificate that both sides accept (handshake_failure)";
    case MBEDTLS_SSL_ALERT_MSG_PROTOCOL_VERSION:
        return "no TLS version in common; ours are 1.2 and 1.3 (protocol_version)";
    case MBEDTLS_SSL_ALERT_MSG_BAD_CERT:
        return "our certificate is not accepted (bad_certificate)";
    case MBEDTLS_SSL_ALERT_MSG_CERT_EXPIRED:
        return "our certificate has expired (certificate_expired)";
    case MBEDTLS_SSL_ALERT_MSG_CERT_REVOKED:
        return "our certificate was revoked (certificate_revoked)";
    case MBEDTLS_SSL_ALERT_MSG_CERT_UNKNOWN:
        return "our certificate is not accepted (certificate_unknown)";
    case MBEDTLS_SSL_ALERT_MSG_UNKNOWN_CA:
        return "our certificate's issuer is not known there (unknown_ca)";
    case MBEDTLS_SSL_ALERT_MSG_NO_CERT: /* this library's code for it */
    case 116:
        return "it wants a certificate of the client, and we sent none "
               "(certificate_required)";
    case MBEDTLS_SSL_ALERT_MSG_ACCESS_DENIED:
        return "our certificate has no access (access_denied)";
    case MBEDTLS_SSL_ALERT_MSG_UNRECOGNIZED_NAME:
        return "there is no such name (unrecognized_name)";
    case MBEDTLS_SSL_ALERT_MSG_NO_APPLICATION_PROTOCOL:
        return "HTTP/1.1 is not spoken there (no_application_protocol)";
    default:
        return NULL;
    }
}

/* The meaning of the peer's last alert. */
static void say_alert(struct tls *t, const unsigned char *alert)
{
    const char *text = alert_text(alert[1]);
    if (text)
        err_set(&t->e, ERR_DENIED, "%s refused the TLS connection: %s", peer_of(t), text);
    else
        err_set(&t->e, ERR_DENIED, "%s ended the TLS connection with alert %d",
                peer_of(t), alert[1]);
}

/*
 * With TLS 1.3, OpenSSL's clients refuse our certificate before they begin to encrypt,
 * and the library takes their alert for a record that it cannot decrypt. Finds that
 * alert in the library's buffer of the last record; NULL if it is not one.
 */
static const unsigned char *bare_alert(const struct tls *t)
{
    const unsigned char *record = t->ssl.MBEDTLS_PRIVATE(in_hdr);
    bool is_alert = record && record[0] == MBEDTLS_SSL_MSG_ALERT && record[3] == 0 &&
                    record[4] == 2;
    return is_alert && !t->layer.ready ? record + 5 : NULL;
}

/* RFC 8446 4.6.3 */
static bool is_key_update(const struct tls *t)
{
    const unsigned char *message = t->ssl.MBEDTLS_PRIVATE(in_msg);
    return t->layer.ready &&
           mbedtls_ssl_get_version_number(&t->ssl) == MBEDTLS_SSL_VERSION_TLS1_3 &&
           t->ssl.MBEDTLS_PRIVATE(in_msgtype) == MBEDTLS_SSL_MSG_HANDSHAKE &&
           t->ssl.MBEDTLS_PRIVATE(in_hslen) > 0 && message[0] == 24;
}

static bool is_http(const struct tls *t)
{
    static const char *const first[] = {"HTTP/", "GET /", "POST ", "HEAD ", "PUT /"};
    for (size_t i = 0; i < sizeof(first) / sizeof(*first); i++) {
        if (t->first_n == 5 && memcmp(t->first, first[i], 5) == 0)
            return true;
    }
    return false;
}

/* RFC 8446 5.1: 21 alert, 22 handshake; the next byte is the version's, 3. */
static bool is_tls(const struct tls *t)
{
    return t->first_n < 2 || (t->first[0] >= 20 && t->first[0] <= 23 && t->first[1] == 3);
}

/* Made by build/mbedtls-errors.sh. */
ZIP_TABLES(mbedtls)
extern const struct {
    short code;
    char text[160];
} mbedtls_error_texts[];

static void add_sentence(struct buf *out, int code)
{
    mbedtls_unpack();
    size_t i = 0;
    while (mbedtls_error_texts[i].code && mbedtls_error_texts[i].code != code)
        i++;
    if (mbedtls_error_texts[i].code)
        buf_addz(out, mbedtls_error_texts[i].text);
    else
        buf_addf(out, "UNKNOWN ERROR CODE (%04X)", (unsigned)code);
}

void tls_library_words(int rc, char why[TLS_WHY])
{
    struct buf out = BUF_INIT(1024);
    int high = -rc & 0xff80, low = -rc & 0x7f;
    if (high)
        add_sentence(&out, high);
    if (low && high != -MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        buf_addz(&out, high ? " : " : "");
        add_sentence(&out, low);
    }
    snprintf(why, TLS_WHY, "%s", buf_z(&out));
    buf_release(&out);
}

static void say_library(struct tls *t, int rc)
{
    char why[TLS_WHY] = "";
    uint32_t flags = mbedtls_ssl_get_verify_result(&t->ssl);
    if (rc == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED && flags != 0 && flags != UINT32_MAX) {
        mbedtls_x509_crt_verify_info(why, sizeof(why), "", flags);
        why[strcspn(why, "\n")] = '\0';
    } else {
        tls_library_words(rc, why);
    }
    err_set(&t->e, ERR_INVALID, "the TLS %s with %s failed: %s",
            t->layer.ready ? "connection" : "handshake", peer_of(t), why);
}

void tls_explain(struct tls *t, int rc)
{
    if (t->e.code != ERR_NONE)
        return;
    if (t->errnum)
        err_sys(&t->e, t->errnum, "the connection to %s broke", peer_of(t));
    else if (!t->layer.ready && is_http(t))
        err_set(&t->e, ERR_INVALID, "%s speaks plain HTTP on that port, not TLS: %s",
                peer_of(t),
                t->client ? "write http: or ws: for it, or take its TLS port"
                          : "it has to write https: or wss:");
    else if (!t->layer.ready && !is_tls(t))
        err_set(&t->e, ERR_INVALID, "%s does not speak TLS on that port", peer_of(t));
    else if (rc == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE)
        say_alert(t, t->ssl.MBEDTLS_PRIVATE(in_msg));
    else if (rc == MBEDTLS_ERR_SSL_INVALID_MAC && bare_alert(t))
        say_alert(t, bare_alert(t));
    else if (rc == MBEDTLS_ERR_SSL_CONN_EOF)
        err_set(&t->e, ERR_IO, "%s ended the connection %s", peer_of(t),
                t->layer.ready ? "without saying so: what it sent may be cut short"
                               : "within the TLS handshake");
    else if (rc == MBEDTLS_ERR_SSL_NO_CLIENT_CERTIFICATE)
        err_set(&t->e, ERR_DENIED,
                "a client is to show a certificate here, and shows none");
    else if (rc == MBEDTLS_ERR_SSL_UNEXPECTED_MESSAGE && is_key_update(t))
        err_set(&t->e, ERR_UNSUPPORTED,
                "%s wants to go on with new keys (KeyUpdate), which is not in our TLS "
                "library: connect again, or let it speak TLS 1.2",
                peer_of(t));
    else if (t->downgraded)
        err_set(&t->e, ERR_DENIED,
                "cannot trust %s: it speaks TLS 1.3, and somebody in between would have "
                "us speak 1.2",
                peer_of(t));
    else if (rc == MBEDTLS_ERR_SSL_BAD_PROTOCOL_VERSION)
        err_set(&t->e, ERR_UNSUPPORTED,
                "%s has no TLS version in common with us: ours are 1.2 and 1.3",
                peer_of(t));
    else
        say_library(t, rc);
}
