/* SPDX-License-Identifier: MIT */
/*
 * OpenHands' V0 runtime API: actions as JSON over HTTP, one observation each.
 *
 * Its commands run in the session "main", which od exec sees too. What of it
 * must outlive the worker is in the session (the id of its newest command, of
 * its latest inputs) and in one state at the keeper: how far the client has been
 * answered.
 */
#ifndef OD_FRONT_V0_V0_H
#define OD_FRONT_V0_V0_H

#include "base/json.h"
#include "engine/engine.h"
#include "http/httpd.h"

struct v0;

/*
 * options: {"no_change_ms", "browser", "downloads", "eval": what v0_eval_read makes}, all
 * optional; read once. Never NULL.
 */
struct v0 *v0_open(struct engine *en, const struct json *options);
/* v NULL: the same without an arg, for who only lists the routes. */
const struct http_front *v0_front(const struct v0 *v);
/*
 * What --browsergym-eval-env NAME is: {family, page}; page is what the browser has to
 * open, "" where the family's tasks are not begun here. base: MINIWOB_URL, or NULL. The
 * caller's. Returns NULL and sets *e.
 */
struct json *v0_eval_read(struct str name, const char *base, struct err *e);
/* The versions of what V0 keeps. */
void v0_format(struct buf *out);
/* Takes up what the worker before left at the keeper (engine.states). */
void v0_load(struct v0 *v);
/* Makes the session and the kernel that are to be there before the first request. */
void v0_start(struct v0 *v);
/* Answers {"detail": text}. */
void v0_refuse(struct req *r, int status, const char *text);

#endif
