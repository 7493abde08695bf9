/* SPDX-License-Identifier: MIT */
/*
 * The clients of this server for programs, each one file without dependencies: client.py
 * for Python, client.ts for TypeScript. They are stored compressed in the program and are
 * sent by GET /client.py and /client.ts, and printed by `od help client`.
 */
#ifndef OD_FRONT_CLIENT_CLIENT_H
#define OD_FRONT_CLIENT_CLIENT_H

#include "base/buf.h"

enum { CLIENT_TEXT_MAX = 512 << 10 }; /* bytes of the longest client */

/*
 * Appends the client for the language, "python" or "typescript", to out, which needs room
 * for CLIENT_TEXT_MAX bytes. Returns 0; -1 if there is none for that language.
 */
int client_text(struct buf *out, const char *language);

#endif
