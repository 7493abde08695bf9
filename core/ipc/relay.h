/* SPDX-License-Identifier: MIT */
/*
 * The process next to a client whose server is elsewhere: a socket here, a WebSocket to
 * the server. The client sees a plain socket as that of a server of this machine; names,
 * TLS, pings and buffers are here.
 *
 * The first frame that the client reads is the relay's own, everything after it is the
 * server's:
 *
 *   '+'  {"server": ID}                     connected; the id is for later connections
 *   '!'  {"code","text": strings; "again": bool}   not connected, and why; then the end
 */
#ifndef OD_IPC_RELAY_H
#define OD_IPC_RELAY_H

/*
 * Runs until either side ends. fd: a connected socket, non-blocking, which it takes. id:
 * the server that must be there, NULL for any. Returns the status of the process.
 */
int relay_run(int fd, const char *where, const char *id);

#endif
