/* SPDX-License-Identifier: MIT */
/* Certificates that are issued here, as openssl reads them. */
#include "net/issuer.h"
#include "net/tls.h"
#include "net/trust.h"

#include "t.h"

static void put(const char *name, struct str text)
{
    char path[400];
    snprintf(path, sizeof(path), "%s/%s", t_dir(), name);
    FILE *f = fopen(path, "w");
    CHECK(f && fwrite(text.p, 1, text.n, f) == text.n && fclose(f) == 0);
}

TEST(openssl_verifies_them)
{
    struct err e = ERR_INIT;
    struct buf cert = BUF_INIT(ISSUER_PEM_MAX), key = BUF_INIT(ISSUER_PEM_MAX),
               leaf = BUF_INIT(2 * ISSUER_PEM_MAX), hash = BUF_INIT(100);
    char long_name[240];
    if (system("command -v openssl >/dev/null") != 0)
        T_SKIP("there is no openssl");
    CHECK_INT(issuer_make("od test", &cert, &key, &e), 0);
    struct issuer *i = issuer_open(buf_str(&cert), buf_str(&key), &e);
    CHECK(i);
    put("ca.pem", buf_str(&cert));
    CHECK_INT(issuer_leaf(i, "a.test", &leaf, &e), 0);
    put("leaf.pem", buf_str(&leaf));
    t_sh(
        "openssl verify -x509_strict -purpose sslserver -verify_hostname a.test "
        "-CAfile ca.pem leaf.pem >/dev/null && "
        "! openssl verify -verify_hostname b.test -CAfile ca.pem leaf.pem 2>/dev/null && "
        "openssl x509 -in ca.pem -noout -text | grep -q 'CA:TRUE, pathlen:0'");
    CHECK_INT(issuer_key_hash(buf_str(&cert), &hash, &e), 0);
    put("hash", buf_str(&hash));
    t_sh("test \"$(openssl x509 -in ca.pem -pubkey -noout | openssl pkey -pubin -outform "
         "der | "
         "openssl dgst -sha256 -binary | openssl base64)\" = \"$(cat hash)\"");
    struct tls_server *t = tls_server_made(buf_str(&leaf), &e);
    CHECK(t);
    tls_server_free(t);
    /* A name longer than a common name may be. */
    memset(long_name, 'a', sizeof(long_name) - 1);
    for (size_t at = 50; at < sizeof(long_name) - 1; at += 50)
        long_name[at] = '.';
    long_name[sizeof(long_name) - 1] = 0;
    buf_reset(&leaf);
    CHECK_INT(issuer_leaf(i, long_name, &leaf, &e), 0);
    put("long.pem", buf_str(&leaf));
    put("name", str_of(long_name));
    t_sh("openssl verify -x509_strict -verify_hostname \"$(cat name)\" -CAfile ca.pem "
         "long.pem >/dev/null");
    issuer_free(i);
    CHECK(!issuer_open(buf_str(&cert), STR("no key"), &e));
    CHECK(!issuer_open(STR("none"), buf_str(&key), &e));
    CHECK(!tls_server_made(STR("none"), &e));
    buf_release(&cert);
    buf_release(&key);
    buf_release(&leaf);
    buf_release(&hash);
}

TEST(what_is_trusted_can_be_printed_and_read_again)
{
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT(8 << 20);
    char path[400];
    struct trust *t = trust_new(&(struct trust_where){.root = "/nowhere"}, &e);
    CHECK(t && trust_print(t, &text, &e) == 0);
    put("all.pem", buf_str(&text));
    snprintf(path, sizeof(path), "%s/all.pem", t_dir());
    struct trust *again = trust_new(&(struct trust_where){.ca = path}, &e);
    CHECK(again);
    CHECK_INT(trust_count(again), trust_count(t));
    trust_free(t);
    trust_free(again);
    buf_release(&text);
}

T_MAIN
