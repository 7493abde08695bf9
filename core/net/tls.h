/* SPDX-License-Identifier: MIT */
/*
 * TLS 1.2 and 1.3 (RFC 5246, RFC 8446) as a layer under a struct stream, both
 * roles. The owner of the stream sees plain bytes.
 *
 * A client always verifies the peer: its chain up to a trusted authority, its dates, its
 * name (RFC 6125: DNS names with a wildcard for the first label;
 * IP addresses). By a server, if it is given authorities for that. Nothing is
 * renegotiated. Ciphers are AEAD with forward secrecy only, as a server.
 *
 * The end of a stream is that of the peer's close_notify. A connection that ends
 * without one was cut: on_end has EPROTO then, never 0. Failures of
 * TLS are EPROTO, with a sentence in stream_error. stream_shutdown and stream_close
 * send close_notify if all that was queued has been written.
 *
 * The handshake is made in slices of some milliseconds; one slice is at most one
 * step of the library's, of which the longest is a signature.
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
    const char *ca;   /* server: who signs clients' certificates; NULL: none is asked */
};

/*
 * A server's side. Paths are copied; the files are read now, and again when one
 * of them has changed. NULL: the sentence names the file and what is wrong.
 */
struct tls_server *tls_server_new(const struct tls_files *f, struct err *e);
/* The same, but nothing of TLS is read or begun before the first connection. */
struct tls_server *tls_server_later(const struct tls_files *f);
void tls_server_free(struct tls_server *t); /* streams live on */
/*
 * Puts TLS under a stream that has just been accepted and opened. A handshake
 * that takes longer than ms (0: LIMIT_TLS_HANDSHAKE_MS) fails with ETIMEDOUT.
 * Looks whether the files have changed; if they cannot be used, that is logged
 * and the previous ones stay in use. Returns -1 if there are none; the log has the
 * reason. ready: as of tls_connect.
 */
int tls_accept(struct tls_server *t, struct stream *s, int ms,
               void (*ready)(struct stream *s));
/*
 * A connection that is cut ends as one that was closed, on_end or on_eof with 0: for
 * messages that contain their length, such as HTTP requests (RFC 9112 9.8). Many clients
 * close without close_notify.
 */
void tls_take_cut(struct stream *s);

/*
 * A client's side. Takes trust, also when it fails. own: what to show to
 * servers that ask for a certificate; NULL: nothing.
 */
struct tls_client *tls_client_new(struct trust *take, const struct tls_files *own,
                                  struct err *e);
void tls_client_free(struct tls_client *t); /* streams live on */
/*
 * Puts TLS under a connected stream. host: the name or address that the peer has
 * to prove. ready: when it has, may be NULL, may move or close the stream; until
 * then what is written waits. -1: INVALID: no such name can be asked for.
 */
int tls_connect(struct tls_client *t, struct stream *s, const char *host, int ms,
                void (*ready)(struct stream *s), struct err *e);
/*
 * The handshake failed over RSA-PSS, which we offer for TLS 1.3's sake: a server of 1.2
 * may choose it (RFC 8446 4.2.3), and the library does not accept that. To be called in
 * on_end. true: tls_connect_older may succeed on a new connection.
 */
bool tls_wants_older(const struct stream *s);
/* What a client refused of its peer's certificate. To be asked in on_end. */
enum tls_fault {
    TLS_FAULT_NONE,
    TLS_FAULT_DATE,      /* expired, or not valid yet */
    TLS_FAULT_AUTHORITY, /* its issuer is not trusted */
    TLS_FAULT_NAME       /* it is for other names */
};
enum tls_fault tls_fault(const struct stream *s);
/*
 * As tls_connect, with TLS 1.2 and PKCS#1 only. A server that could speak 1.3 is
 * refused: an attacker in between has made the previous handshake fail (4.1.3).
 */
int tls_connect_older(struct tls_client *t, struct stream *s, const char *host, int ms,
                      void (*ready)(struct stream *s), struct err *e);

/* ---- of a stream ---- */

bool tls_is_under(const struct stream *s);
/* "TLSv1.3 TLS1-3-AES-256-GCM-SHA384"; nothing before the handshake is over. */
void tls_describe(const struct stream *s, struct buf *out);
/* The subject of the peer's verified certificate. -1: it showed none. */
int tls_peer(const struct stream *s, struct buf *out);

#endif
