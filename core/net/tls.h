/* SPDX-License-Identifier: MIT */
/*
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) as a layer under a struct stream, both
 * roles. The owner of the stream sees plain bytes.
 *
 * A client always verifies the peer: its chain up to a trusted authority, its dates, its
 * name (RFC 6125: DNS names with a wildcard for the first label; IP addresses). A server
 * verifies clients if it has authorities for that. Nothing is renegotiated. Ciphers are
 * AEAD with forward secrecy only, as a server.
 *
 * A stream ends with the peer's close_notify. A connection that ends without one was
 * cut: on_end gets EPROTO, never 0. Failures of TLS are EPROTO, with a sentence in
 * stream_error. stream_shutdown and stream_close send close_notify if everything queued
 * has been written.
 *
 * The handshake runs in slices of some milliseconds; a slice is exceeded by at most one
 * step of the library, the longest of which is a signature.
 */
#ifndef OD_NET_TLS_H
#define OD_NET_TLS_H

#include "base/buf.h"
#include "base/err.h"
#include "io/stream.h"

struct tls_server;
struct tls_client;
struct trust;

struct tls_files {
    const char *cert; /* PEM: our certificate, then those between it and the root */
    const char *key;  /* PEM, not encrypted; RSA or EC; NULL: it is in cert */
    const char *ca;   /* server: authorities of clients; NULL: none are verified */
};

/*
 * Makes the server's side. Paths are copied; the files are read now, and again when one
 * of them has changed. Returns NULL and sets *e, which names the file and its fault.
 */
struct tls_server *tls_server_new(const struct tls_files *f, struct err *e);
/* The same, but reads no file and starts nothing before the first connection. */
struct tls_server *tls_server_later(const struct tls_files *f);
/* The same from memory: pem has the certificate and its key. Returns NULL and sets *e. */
struct tls_server *tls_server_made(struct str pem, struct err *e);
void tls_server_free(struct tls_server *t); /* streams live on */
/*
 * Puts TLS under a stream that has just been accepted and opened. A handshake that takes
 * longer than ms (0: LIMIT_TLS_HANDSHAKE_MS) fails with ETIMEDOUT. Reloads changed
 * files; if they cannot be used, that is logged and the previous ones stay in use.
 * Returns -1 if there are none; the log has the reason. ready: as for tls_connect.
 */
int tls_accept(struct tls_server *t, struct stream *s, int ms,
               void (*ready)(struct stream *s));
/*
 * Treats a cut connection as closed, on_end or on_eof with 0: for messages that contain
 * their length, such as HTTP requests (RFC 9112 9.8). Many clients close without
 * close_notify.
 */
void tls_take_cut(struct stream *s);

/*
 * Makes the client's side. Takes trust, also on failure. own: the certificate for
 * servers that request one; NULL: none.
 */
struct tls_client *tls_client_new(struct trust *take, const struct tls_files *own,
                                  struct err *e);
void tls_client_free(struct tls_client *t); /* streams live on */
/*
 * Puts TLS under a connected stream. host: the name or address that the peer must prove.
 * ready: called when it has; may be NULL, and may move or close the stream; until then
 * written bytes wait. Returns -1 and sets *e: INVALID, host cannot be a server's name.
 */
int tls_connect(struct tls_client *t, struct stream *s, const char *host, int ms,
                void (*ready)(struct stream *s), struct err *e);
/*
 * Whether the handshake failed because of RSA-PSS, which we offer for TLS 1.3: a server
 * of 1.2 may choose it (RFC 8446 4.2.3), which mbedTLS before 3.6.7 does not accept.
 * Call it in on_end. true: tls_connect_older may succeed on a new connection.
 */
bool tls_wants_older(const struct stream *s);
/* The reason why a client refused its peer's certificate. Call tls_fault in on_end. */
enum tls_fault {
    TLS_FAULT_NONE,
    TLS_FAULT_DATE,      /* expired, or not valid yet */
    TLS_FAULT_AUTHORITY, /* its issuer is not trusted */
    TLS_FAULT_NAME       /* issued for other names */
};
enum tls_fault tls_fault(const struct stream *s);
/*
 * As tls_connect, with TLS 1.2 and PKCS#1 only. A server that could speak 1.3 is
 * refused: an attacker in between has made the previous handshake fail (4.1.3).
 */
int tls_connect_older(struct tls_client *t, struct stream *s, const char *host, int ms,
                      void (*ready)(struct stream *s), struct err *e);

/* ---- of a stream ---- */

/* Returns whether the stream is on a TLS connection of this room. */
bool tls_is_under(const struct stream *s);

#endif
