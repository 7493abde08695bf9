/* SPDX-License-Identifier: MIT */
/*
 * The process next to a client whose server is elsewhere: it connects a socket of the
 * client and a WebSocket to the server. The client sees a plain socket, like that of a
 * server of this machine; the relay does names, TLS, pings and buffers.
 *
 * The first frame that the client reads is the relay's own, everything after it is the
 * server's:
 *
 *   '+'  {"server": ID}                     connected; the id is for later connections
 *   '!'  {"code","text": strings; "again": bool}   the reason of a failure; then the end
 */
#ifndef OD_IPC_RELAY_H
#define OD_IPC_RELAY_H

/*
 * Runs until either side ends. Takes fd, a connected socket, non-blocking. id: the
 * server that must answer; NULL: any. Returns the status of the process.
 */
int relay_run(int fd, const char *where, const char *id);

#endif
