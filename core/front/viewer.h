/* SPDX-License-Identifier: MIT */
/*
 * The file viewer: pages that show a PDF file or a picture to a browser in the sandbox,
 * on a listener of its own without a key (reference/openhands-runtime.md 1.9).
 *
 *   GET /                  {"status": "File viewer server is running"}
 *   GET /view?path=/a.png  "File Viewer - a.png"; an error is a page too
 *
 * Its socket is bound to 127.0.0.1. Pages of the web may not ask it anything, and a Host
 * that is neither this machine nor an address is refused, as in front/http.h. Files are
 * read in a helper as the sandbox's user, VIEWER_MAX at once.
 *
 * Each page of a PDF file is a <canvas> that holds the page's text, which a script of
 * ours draws: fonts, pictures and places are not those of the document, and it says so.
 */
#ifndef OD_FRONT_VIEWER_H
#define OD_FRONT_VIEWER_H

#include "base/json.h"
#include "engine/engine.h"

enum { VIEWER_MAX = 4, VIEWER_IMAGE_MAX = 20 << 20 /* bytes of a picture's file */ };

struct viewer;

/*
 * options: what serve stored, read once: http.tmp, the folder of oh-server-url;
 * v0.username, whose files are shown. Never NULL. Nothing is listened on yet.
 */
struct viewer *viewer_open(struct engine *en, const struct json *options);
/* Takes a listening socket, and writes its address to oh-server-url. */
void viewer_listen(struct viewer *v, int fd);
/* As http_drain; fn is called once. */
void viewer_drain(struct viewer *v, void (*fn)(void *arg), void *arg);

#endif
