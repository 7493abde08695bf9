/* SPDX-License-Identifier: MIT */
/*
 * The SOCKS 5 proxy between a Chromium and the network if addresses are denied, in a
 * process of its own (deny.c starts it). Chromium sends it names, so the judged address
 * is the one that is connected to, whatever led there.
 *
 * It copies bytes both ways, with at most BROWSER_PROXY_BUFFER in memory for each
 * direction, on at most BROWSER_PROXY_CONNECTIONS at the same time; others wait. Proxies
 * of the environment are used as described at dial_spec.allow.
 */
#ifndef OD_BROWSER_DRIVER_PROXY_H
#define OD_BROWSER_DRIVER_PROXY_H

#include "net/denied.h"

enum { BROWSER_PROXY_CONNECTIONS = 256, BROWSER_PROXY_BUFFER = 64 << 10 };

/*
 * A name that is never connected to: a request for it proves that the browser uses the
 * proxy, and is reported as ERR_NONE. No real name has this ending (RFC 6761 6.4).
 */
#define BROWSER_PROXY_PROBE "od-proxy.invalid"

/*
 * Takes connections from the listening socket, which does not block, until the other end
 * of `news`, a socket of SOCK_SEQPACKET, is closed; both are borrowed. Each connection
 * that is not made is one message on `news`: a byte, the err_code (ERR_DENIED only if
 * the list denies it); the host and a NUL; a sentence. A message is lost if the reader
 * has not taken earlier ones.
 */
void browser_proxy_serve(int listener, int news, const struct denied *d);

#endif
