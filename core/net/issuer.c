/* SPDX-License-Identifier: MIT */
#include "net/issuer.h"

#include "base/enc.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "net/tls_own.h"
#include "net/trust.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <mbedtls/oid.h>
#include <mbedtls/psa_util.h>

enum { DAY_S = 86400, AUTHORITY_DAYS = 3650, LEAF_DAYS = 365 };
#define RANDOM mbedtls_psa_get_random, MBEDTLS_PSA_RANDOM_STATE

struct issuer {
    mbedtls_x509_crt cert;
    mbedtls_pk_context key;
};

static int failed(struct err *e, const char *what, int rc)
{
    char why[TLS_WHY];
    tls_library_words(rc, why);
    return err_set(e, ERR_IO, "cannot %s: %s", what, why);
}

static int make_key(mbedtls_pk_context *key)
{
    int rc = mbedtls_pk_setup(key, mbedtls_pk_info_from_type(MBEDTLS_PK_ECKEY));
    return rc ? rc
              : mbedtls_ecp_gen_key(MBEDTLS_ECP_DP_SECP256R1, mbedtls_pk_ec(*key),
                                    RANDOM);
}

/* YYYYMMDDhhmmss, that many days from today. */
static void date_of(int days, char out[16])
{
    time_t t = time(NULL) + (time_t)days * DAY_S;
    struct tm tm;
    gmtime_r(&t, &tm);
    strftime(out, 16, "%Y%m%d%H%M%S", &tm);
}

/* A clock that is wrong by less than a day does no harm. */
static int set_dates(mbedtls_x509write_cert *w, int days)
{
    char from[16], to[16];
    unsigned char serial[16];
    int rc = mbedtls_psa_get_random(MBEDTLS_PSA_RANDOM_STATE, serial, sizeof(serial));
    serial[0] = (serial[0] & 0x7f) | 0x40; /* positive, and 16 bytes long */
    date_of(-1, from);
    date_of(days, to);
    rc = rc ? rc : mbedtls_x509write_crt_set_serial_raw(w, serial, sizeof(serial));
    return rc ? rc : mbedtls_x509write_crt_set_validity(w, from, to);
}

static void begin(mbedtls_x509write_cert *w, mbedtls_pk_context *subject,
                  mbedtls_pk_context *issuer)
{
    mbedtls_x509write_crt_init(w);
    mbedtls_x509write_crt_set_version(w, MBEDTLS_X509_CRT_VERSION_3);
    mbedtls_x509write_crt_set_md_alg(w, MBEDTLS_MD_SHA256);
    mbedtls_x509write_crt_set_subject_key(w, subject);
    mbedtls_x509write_crt_set_issuer_key(w, issuer);
}

static int put_pem(mbedtls_x509write_cert *w, struct buf *out)
{
    unsigned char pem[ISSUER_PEM_MAX];
    int rc = mbedtls_x509write_crt_pem(w, pem, sizeof(pem), RANDOM);
    return rc ? rc : buf_addz(out, (char *)pem);
}

static int put_key(mbedtls_pk_context *key, struct buf *out)
{
    unsigned char pem[ISSUER_PEM_MAX];
    int rc = mbedtls_pk_write_key_pem(key, pem, sizeof(pem));
    rc = rc ? rc : buf_addz(out, (char *)pem);
    explicit_bzero(pem, sizeof(pem));
    return rc;
}

int issuer_make(const char *name, struct buf *cert, struct buf *key, struct err *e)
{
    mbedtls_pk_context pk;
    mbedtls_x509write_cert w;
    char subject[128];
    if (trust_begin(e) < 0)
        return -1;
    snprintf(subject, sizeof(subject), "CN=%s", name);
    mbedtls_pk_init(&pk);
    begin(&w, &pk, &pk);
    int rc = make_key(&pk);
    rc = rc ? rc : set_dates(&w, AUTHORITY_DAYS);
    rc = rc ? rc : mbedtls_x509write_crt_set_subject_name(&w, subject);
    rc = rc ? rc : mbedtls_x509write_crt_set_issuer_name(&w, subject);
    rc = rc ? rc : mbedtls_x509write_crt_set_basic_constraints(&w, 1, 0);
    rc = rc ? rc
            : mbedtls_x509write_crt_set_key_usage(&w, MBEDTLS_X509_KU_KEY_CERT_SIGN |
                                                          MBEDTLS_X509_KU_CRL_SIGN);
    rc = rc ? rc : mbedtls_x509write_crt_set_subject_key_identifier(&w);
    rc = rc ? rc : put_pem(&w, cert);
    rc = rc ? rc : put_key(&pk, key);
    mbedtls_x509write_crt_free(&w);
    mbedtls_pk_free(&pk);
    return rc ? failed(e, "make an authority for certificates", rc) : 0;
}

struct issuer *issuer_open(struct str cert, struct str key, struct err *e)
{
    if (trust_begin(e) < 0)
        return NULL;
    struct issuer *i = xnew(struct issuer);
    mbedtls_x509_crt_init(&i->cert);
    mbedtls_pk_init(&i->key);
    char *c = xstrndup(cert.p, cert.n), *k = xstrndup(key.p, key.n);
    int rc = mbedtls_x509_crt_parse(&i->cert, (unsigned char *)c, cert.n + 1);
    rc = rc ? rc
            : mbedtls_pk_parse_key(&i->key, (unsigned char *)k, key.n + 1, NULL, 0,
                                   RANDOM);
    explicit_bzero(k, key.n);
    free(c);
    free(k);
    if (rc == 0)
        return i;
    failed(e, "read the authority for certificates", rc);
    issuer_free(i);
    return NULL;
}

void issuer_free(struct issuer *i)
{
    if (!i)
        return;
    mbedtls_x509_crt_free(&i->cert);
    mbedtls_pk_free(&i->key);
    free(i);
}

/* RFC 6125 6.4.4: the name that counts is the one in the extension. */
static int set_name(mbedtls_x509write_cert *w, const char *dns)
{
    mbedtls_x509_san_list san = {
        .node = {.type = MBEDTLS_X509_SAN_DNS_NAME,
                 .san = {.unstructured_name = {.tag = MBEDTLS_ASN1_IA5_STRING,
                                               .len = strlen(dns),
                                               .p = (unsigned char *)(uintptr_t)dns}}}};
    char subject[80];
    /* A common name has at most 64 characters (RFC 5280, A.1). */
    snprintf(subject, sizeof(subject), "CN=%.64s", dns);
    int rc = mbedtls_x509write_crt_set_subject_name(w, subject);
    return rc ? rc : mbedtls_x509write_crt_set_subject_alternative_name(w, &san);
}

static int set_use(mbedtls_x509write_cert *w)
{
    const mbedtls_asn1_sequence server = {
        .buf = {.tag = MBEDTLS_ASN1_OID,
                .len = MBEDTLS_OID_SIZE(MBEDTLS_OID_SERVER_AUTH),
                .p = (unsigned char *)(uintptr_t)MBEDTLS_OID_SERVER_AUTH}};
    int rc = mbedtls_x509write_crt_set_basic_constraints(w, 0, -1);
    rc = rc ? rc
            : mbedtls_x509write_crt_set_key_usage(w, MBEDTLS_X509_KU_DIGITAL_SIGNATURE);
    rc = rc ? rc : mbedtls_x509write_crt_set_ext_key_usage(w, &server);
    rc = rc ? rc : mbedtls_x509write_crt_set_subject_key_identifier(w);
    return rc ? rc : mbedtls_x509write_crt_set_authority_key_identifier(w);
}

int issuer_leaf(struct issuer *i, const char *dns, struct buf *pem, struct err *e)
{
    mbedtls_pk_context pk;
    mbedtls_x509write_cert w;
    char issuer[128];
    mbedtls_pk_init(&pk);
    begin(&w, &pk, &i->key);
    int rc = mbedtls_x509_dn_gets(issuer, sizeof(issuer), &i->cert.subject);
    rc = rc < 0 ? rc : make_key(&pk);
    rc = rc ? rc : set_dates(&w, LEAF_DAYS);
    rc = rc ? rc : mbedtls_x509write_crt_set_issuer_name(&w, issuer);
    rc = rc ? rc : set_name(&w, dns);
    rc = rc ? rc : set_use(&w);
    rc = rc ? rc : put_pem(&w, pem);
    rc = rc ? rc : put_key(&pk, pem);
    mbedtls_x509write_crt_free(&w);
    mbedtls_pk_free(&pk);
    return rc ? failed(e, "issue a certificate", rc) : 0;
}

int issuer_key_hash(struct str cert, struct buf *out, struct err *e)
{
    mbedtls_x509_crt c;
    uint8_t hash[HASH_SHA256_SIZE];
    mbedtls_x509_crt_init(&c);
    char *z = xstrndup(cert.p, cert.n);
    int rc = mbedtls_x509_crt_parse(&c, (unsigned char *)z, cert.n + 1);
    free(z);
    if (rc == 0) {
        hash_sha256(str_n(c.pk_raw.p, c.pk_raw.len), hash);
        rc = enc_base64(out, str_n(hash, sizeof(hash)));
    }
    mbedtls_x509_crt_free(&c);
    return rc ? failed(e, "read the authority's certificate", rc) : 0;
}
