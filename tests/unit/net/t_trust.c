/* SPDX-License-Identifier: MIT */
/* Whom to trust: the order of places, and the authorities that od has inside. */
#include "net/trust.h"

#include "net/authorities.h"

#include "t.h"

#include <ca_bundle.h>
#include <fcntl.h>

#include <mbedtls/x509_crt.h>

/* Two authorities' own certificates, as they publish them: RSA and EC. */
static const char isrg_x1[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIIFazCCA1OgAwIBAgIRAIIQz7DSQONZRGPgu2OCiwAwDQYJKoZIhvcNAQELBQAw\n"
    "TzELMAkGA1UEBhMCVVMxKTAnBgNVBAoTIEludGVybmV0IFNlY3VyaXR5IFJlc2Vh\n"
    "cmNoIEdyb3VwMRUwEwYDVQQDEwxJU1JHIFJvb3QgWDEwHhcNMTUwNjA0MTEwNDM4\n"
    "WhcNMzUwNjA0MTEwNDM4WjBPMQswCQYDVQQGEwJVUzEpMCcGA1UEChMgSW50ZXJu\n"
    "ZXQgU2VjdXJpdHkgUmVzZWFyY2ggR3JvdXAxFTATBgNVBAMTDElTUkcgUm9vdCBY\n"
    "MTCCAiIwDQYJKoZIhvcNAQEBBQADggIPADCCAgoCggIBAK3oJHP0FDfzm54rVygc\n"
    "h77ct984kIxuPOZXoHj3dcKi/vVqbvYATyjb3miGbESTtrFj/RQSa78f0uoxmyF+\n"
    "0TM8ukj13Xnfs7j/EvEhmkvBioZxaUpmZmyPfjxwv60pIgbz5MDmgK7iS4+3mX6U\n"
    "A5/TR5d8mUgjU+g4rk8Kb4Mu0UlXjIB0ttov0DiNewNwIRt18jA8+o+u3dpjq+sW\n"
    "T8KOEUt+zwvo/7V3LvSye0rgTBIlDHCNAymg4VMk7BPZ7hm/ELNKjD+Jo2FR3qyH\n"
    "B5T0Y3HsLuJvW5iB4YlcNHlsdu87kGJ55tukmi8mxdAQ4Q7e2RCOFvu396j3x+UC\n"
    "B5iPNgiV5+I3lg02dZ77DnKxHZu8A/lJBdiB3QW0KtZB6awBdpUKD9jf1b0SHzUv\n"
    "KBds0pjBqAlkd25HN7rOrFleaJ1/ctaJxQZBKT5ZPt0m9STJEadao0xAH0ahmbWn\n"
    "OlFuhjuefXKnEgV4We0+UXgVCwOPjdAvBbI+e0ocS3MFEvzG6uBQE3xDk3SzynTn\n"
    "jh8BCNAw1FtxNrQHusEwMFxIt4I7mKZ9YIqioymCzLq9gwQbooMDQaHWBfEbwrbw\n"
    "qHyGO0aoSCqI3Haadr8faqU9GY/rOPNk3sgrDQoo//fb4hVC1CLQJ13hef4Y53CI\n"
    "rU7m2Ys6xt0nUW7/vGT1M0NPAgMBAAGjQjBAMA4GA1UdDwEB/wQEAwIBBjAPBgNV\n"
    "HRMBAf8EBTADAQH/MB0GA1UdDgQWBBR5tFnme7bl5AFzgAiIyBpY9umbbjANBgkq\n"
    "hkiG9w0BAQsFAAOCAgEAVR9YqbyyqFDQDLHYGmkgJykIrGF1XIpu+ILlaS/V9lZL\n"
    "ubhzEFnTIZd+50xx+7LSYK05qAvqFyFWhfFQDlnrzuBZ6brJFe+GnY+EgPbk6ZGQ\n"
    "3BebYhtF8GaV0nxvwuo77x/Py9auJ/GpsMiu/X1+mvoiBOv/2X/qkSsisRcOj/KK\n"
    "NFtY2PwByVS5uCbMiogziUwthDyC3+6WVwW6LLv3xLfHTjuCvjHIInNzktHCgKQ5\n"
    "ORAzI4JMPJ+GslWYHb4phowim57iaztXOoJwTdwJx4nLCgdNbOhdjsnvzqvHu7Ur\n"
    "TkXWStAmzOVyyghqpZXjFaH3pO3JLF+l+/+sKAIuvtd7u+Nxe5AW0wdeRlN8NwdC\n"
    "jNPElpzVmbUq4JUagEiuTDkHzsxHpFKVK7q4+63SM1N95R1NbdWhscdCb+ZAJzVc\n"
    "oyi3B43njTOQ5yOf+1CceWxG1bQVs5ZufpsMljq4Ui0/1lvh+wjChP4kqKOJ2qxq\n"
    "4RgqsahDYVvTH9w7jXbyLeiNdd8XM2w9U/t7y0Ff/9yi0GE44Za4rF2LN9d11TPA\n"
    "mRGunUHBcnWEvgJBQl9nJEiU0Zsnvgc/ubhPgXRR4Xq37Z0j4r7g1SgEEzwxA57d\n"
    "emyPxgcYxn/eR44/KJ4EBs+lVDR3veyJm+kXQ99b21/+jh5Xos1AnX5iItreGCc=\n"
    "-----END CERTIFICATE-----\n";
static const char isrg_x2[] =
    "-----BEGIN CERTIFICATE-----\n"
    "MIICGzCCAaGgAwIBAgIQQdKd0XLq7qeAwSxs6S+HUjAKBggqhkjOPQQDAzBPMQsw\n"
    "CQYDVQQGEwJVUzEpMCcGA1UEChMgSW50ZXJuZXQgU2VjdXJpdHkgUmVzZWFyY2gg\n"
    "R3JvdXAxFTATBgNVBAMTDElTUkcgUm9vdCBYMjAeFw0yMDA5MDQwMDAwMDBaFw00\n"
    "MDA5MTcxNjAwMDBaME8xCzAJBgNVBAYTAlVTMSkwJwYDVQQKEyBJbnRlcm5ldCBT\n"
    "ZWN1cml0eSBSZXNlYXJjaCBHcm91cDEVMBMGA1UEAxMMSVNSRyBSb290IFgyMHYw\n"
    "EAYHKoZIzj0CAQYFK4EEACIDYgAEzZvVn4CDCuwJSvMWSj5cz3es3mcFDR0HttwW\n"
    "+1qLFNvicWDEukWVEYmO6gbf9yoWHKS5xcUy4APgHoIYOIvXRdgKam7mAHf7AlF9\n"
    "ItgKbppbd9/w+kHsOdx1ymgHDB/qo0IwQDAOBgNVHQ8BAf8EBAMCAQYwDwYDVR0T\n"
    "AQH/BAUwAwEB/zAdBgNVHQ4EFgQUfEKWrt5LSDv6kviejM9ti6lyN5UwCgYIKoZI\n"
    "zj0EAwMDaAAwZQIwe3lORlCEwkSHRhtFcP9Ymd70/aTSVaYgLXTWNLxBo1BfASdW\n"
    "tL4ndQavEi51mI38AjEAi/V3bNTIZargCyzuFJ0nN6T5U6VR5CmD1/iQMVtCnwr1\n"
    "/q4AaOeMSQ+2b1tbFfLn\n"
    "-----END CERTIFICATE-----\n";

static const char *file, *folder;

static char *env(const char *name)
{
    const char *value = strcmp(name, "SSL_CERT_FILE") == 0  ? file
                        : strcmp(name, "SSL_CERT_DIR") == 0 ? folder
                                                            : NULL;
    return (char *)(uintptr_t)value;
}

static const char *in_dir(const char *name)
{
    static char path[4][600];
    static int i;
    i = (i + 1) % 4;
    snprintf(path[i], sizeof(path[i]), "%s/%s", t_dir(), name);
    return path[i];
}

static void put(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CHECK(f != NULL);
    CHECK(fputs(text, f) >= 0);
    CHECK_INT(fclose(f), 0);
}

static struct trust *trusted(const char *ca, const char *root)
{
    struct err e = ERR_INIT;
    struct trust_where w = {.ca = ca, .env = env, .root = root};
    struct trust *t = trust_new(&w, &e);
    if (!t)
        T_FAIL("%s", e.text);
    return t;
}

static void check_refused(const char *ca, const char *says)
{
    struct err e = ERR_INIT;
    struct trust_where w = {.ca = ca, .env = env, .root = t_dir()};
    CHECK(trust_new(&w, &e) == NULL);
    if (!strstr(e.text, says))
        T_FAIL("\"%s\" has not \"%s\"", e.text, says);
}

static void check_one(struct trust *t, const char *source)
{
    CHECK_INT(trust_count(t), 1);
    CHECK_STR(trust_source(t), source);
    trust_free(t);
}

/* Is it signed by somebody trusted? flip: a byte from its end that is changed. */
static uint32_t flags_of(struct trust *t, const char *pem, int flip)
{
    mbedtls_x509_crt crt, changed;
    uint32_t flags = 0;
    mbedtls_x509_crt_init(&crt);
    mbedtls_x509_crt_init(&changed);
    CHECK_INT(mbedtls_x509_crt_parse(&crt, (const unsigned char *)pem, strlen(pem) + 1),
              0);
    if (flip)
        crt.raw.p[crt.raw.len - (size_t)flip] ^= 1;
    CHECK_INT(mbedtls_x509_crt_parse_der(&changed, crt.raw.p, crt.raw.len), 0);
    mbedtls_x509_crt_verify(&changed, trust_chain(t), NULL, NULL, &flags, NULL, NULL);
    mbedtls_x509_crt_free(&crt);
    mbedtls_x509_crt_free(&changed);
    return flags;
}

TEST(a_machine_without_authorities_has_ours)
{
    struct trust *t = trusted(NULL, t_dir());
    CHECK_INT(trust_count(t), CA_BUNDLE_COUNT);
    CHECK(CA_BUNDLE_COUNT >= 80);
    CHECK(strstr(trust_source(t), "od itself"));
    CHECK(strstr(trust_source(t), authorities_date()));
    CHECK_INT(flags_of(t, isrg_x1, 0), 0);
    CHECK_INT(flags_of(t, isrg_x2, 0), 0);
    CHECK_INT(flags_of(t, isrg_x1, 5), MBEDTLS_X509_BADCERT_NOT_TRUSTED);
    CHECK_INT(flags_of(t, isrg_x2, 5), MBEDTLS_X509_BADCERT_NOT_TRUSTED);
    trust_free(t);
}

TEST(ours_are_fit_for_what_they_are_for)
{
    struct trust *t = trusted(NULL, t_dir());
    unsigned rsa = 0, all = 0;
    for (const mbedtls_x509_crt *c = trust_chain(t); c && c->raw.p; c = c->next, all++) {
        CHECK(c->MBEDTLS_PRIVATE(ca_istrue));
        CHECK_INT(c->version, 3);
        CHECK(c->valid_to.year >= 2025);
        CHECK(c->subject_raw.len > 10);
        CHECK(mbedtls_pk_get_bitlen(&c->pk) >= 256);
        if (mbedtls_pk_can_do(&c->pk, MBEDTLS_PK_RSA)) {
            CHECK(mbedtls_pk_get_bitlen(&c->pk) >= 2048);
            rsa++;
        }
    }
    CHECK_INT(all, CA_BUNDLE_COUNT);
    CHECK(rsa > 20 && rsa < all);
    trust_free(t);
}

TEST(the_machines_own_come_before_ours)
{
    CHECK_INT(mkdir(in_dir("etc"), 0700), 0);
    CHECK_INT(mkdir(in_dir("etc/ssl"), 0700), 0);
    put(in_dir("etc/ssl/cert.pem"), isrg_x2);
    struct trust *t = trusted(NULL, t_dir());
    CHECK(flags_of(t, isrg_x1, 0) != 0);
    check_one(t, in_dir("etc/ssl/cert.pem"));
}

TEST(a_named_file_is_all_of_it)
{
    put(in_dir("one"), isrg_x1);
    put(in_dir("two"), isrg_x2);
    CHECK_INT(mkdir(in_dir("d"), 0700), 0);
    put(in_dir("d/x"), isrg_x2);
    put(in_dir("d/readme"), "no certificate\n");
    folder = in_dir("d");
    check_one(trusted(NULL, t_dir()), folder);
    file = in_dir("two");
    check_one(trusted(NULL, t_dir()), file);
    struct trust *t = trusted(in_dir("one"), t_dir());
    CHECK_INT(flags_of(t, isrg_x1, 0), 0);
    CHECK(flags_of(t, isrg_x2, 0) != 0);
    check_one(t, in_dir("one"));
}

TEST(what_was_named_and_is_not_there_is_an_error)
{
    put(in_dir("text"), "no certificate\n");
    CHECK_INT(mkdir(in_dir("empty"), 0700), 0);
    check_refused(in_dir("none"), "No such file");
    check_refused(in_dir("text"), "there is no certificate in it");
    file = in_dir("none");
    check_refused(NULL, "No such file");
    file = "";
    folder = in_dir("empty");
    check_refused(NULL, "SSL_CERT_DIR");
    folder = in_dir("none");
    check_refused(NULL, "No such file");
    folder = NULL;
    trust_free(trusted(NULL, t_dir()));
}

T_MAIN
