/* SPDX-License-Identifier: MIT */
/*
 * What stands between a Chromium and the network where addresses are denied: a SOCKS 5
 * proxy of our own, in a process of its own (deny.c starts it). Chromium gives
 * it names, so what is judged is the address that is connected to, whatever led there.
 *
 * It copies bytes both ways, at most BROWSER_PROXY_BUFFER of each way are held, and takes
 * BROWSER_PROXY_CONNECTIONS at once: others wait. Proxies of the environment are asked
 * as dial_spec.allow has it.
 */
#ifndef OD_BROWSER_DRIVER_PROXY_H
#define OD_BROWSER_DRIVER_PROXY_H

#include "net/denied.h"

enum { BROWSER_PROXY_CONNECTIONS = 256, BROWSER_PROXY_BUFFER = 64 << 10 };

/*
 * Nobody is connected to that: who asks for it has asked the proxy, and that is told, as
 * ERR_NONE. No name ends so elsewhere (RFC 6761 6.4).
 */
#define BROWSER_PROXY_PROBE "od-proxy.invalid"

/*
 * Takes connections from the listening socket, which does not block, until the other end
 * of `news` is closed, a socket of SOCK_SEQPACKET; both are borrowed. Each connection
 * that is not made is one message there: a byte, an err_code, which is ERR_DENIED only
 * for those that the list denies; the host and a zero; a sentence. It is lost if nobody
 * has taken those before.
 */
void browser_proxy_serve(int listener, int news, const struct denied *d);

#endif
