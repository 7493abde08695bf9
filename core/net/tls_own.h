/* SPDX-License-Identifier: MIT */
/* What net/tls*.c share, for these files alone. */
#ifndef OD_NET_TLS_OWN_H
#define OD_NET_TLS_OWN_H

#include "net/tls.h"

#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ticket.h>
#include <mbedtls/x509_crt.h>

/* The configuration of handshakes. Its reference count includes its connections. */
struct tls_conf {
    unsigned refs;
    mbedtls_ssl_config ssl;
    mbedtls_x509_crt chain, ca;
    mbedtls_pk_context key;
    mbedtls_ssl_ticket_context tickets; /* a server's */
    struct trust *trust;   /* a client's; owned, except base's */
    struct tls_conf *base; /* the owner of trust and certificates; NULL: itself */
};

struct tls_conf *tls_conf_ref(struct tls_conf *c);
void tls_conf_unref(struct tls_conf *c);
/* Returns the current one, borrowed; reads changed files first. NULL: see tls_accept. */
struct tls_conf *tls_server_conf(struct tls_server *t);
struct tls_conf *tls_client_conf(struct tls_client *t);
struct tls_conf *tls_client_older_conf(struct tls_client *t);

/* One connection; below its stream. */
struct tls {
    struct stream_layer layer;
    struct tls_conf *conf;
    mbedtls_ssl_context ssl;
    void (*ready)(struct stream *s);
    struct timer late;
    int ms;
    size_t owed;         /* bytes that the library took and has not written */
    size_t budget;       /* bytes that it may still read in this turn */
    int unsent;          /* errno of the failed write */
    int errnum;          /* of the descriptor, if that failed */
    bool client, closed; /* closed: our close_notify is out */
    bool failed, cut_is_end;
    bool older, wants_older; /* see tls_wants_older */
    enum tls_fault fault;    /* of the certificate that e is about */
    bool downgraded;         /* the server supports a newer version than agreed */
    unsigned char first[5];  /* of the peer's bytes */
    unsigned char first_n;
    unsigned char ahead[5]; /* of the next record: its header, or a part of it */
    unsigned char ahead_n;
    unsigned char ip[16]; /* a client's peer, if it is an address */
    unsigned char ip_n;
    char host[256]; /* the host that a client wants */
    struct err e;
};

/* Callback of the library: notes the fault of a certificate in t->e. */
int tls_look_at(void *t, mbedtls_x509_crt *crt, int depth, uint32_t *flags);
/* Sets t->e, unless it is set, to the meaning of the library's error. */
void tls_explain(struct tls *t, int rc);
enum { TLS_WHY = 160 };
/* Writes the library's sentence for its error rc, at most as much as there is room. */
void tls_library_words(int rc, char why[TLS_WHY]);
/* "2026-01-02 03:04:05" into out, of 20 bytes. */
void tls_date(const mbedtls_x509_time *at, char out[20]);
/* This machine's clock, as the library reads it. */
void tls_now(mbedtls_x509_time *now);

#endif
