/* SPDX-License-Identifier: MIT */
/*
 * OpenHands' V0 runtime API: actions as JSON over HTTP, one observation each.
 *
 * Its commands run in the session "main", which od exec uses, too. State that must
 * outlive the worker is in the session (the ids of its newest command and latest inputs)
 * and in one state at the keeper: how much the client has received.
 */
#ifndef OD_FRONT_V0_V0_H
#define OD_FRONT_V0_V0_H

#include "base/json.h"
#include "engine/engine.h"
#include "http/httpd.h"

struct v0;

/*
 * options: {"no_change_ms", "browser", "downloads", "eval": what v0_eval_read makes}, all
 * optional; used only during the call. Never returns NULL.
 */
struct v0 *v0_open(struct engine *en, const struct json *options);
/* With v NULL, the table has no arg and is only for listing the routes. */
const struct http_front *v0_front(const struct v0 *v);
/*
 * Reads --browsergym-eval-env NAME. Returns {family, page}, which the caller owns; page
 * is the address that the browser opens, "" if the family's tasks are not begun here.
 * base: MINIWOB_URL, or NULL. Returns NULL and sets *e on errors.
 */
struct json *v0_eval_read(struct str name, const char *base, struct err *e);
/* Appends the versions of V0's states. */
void v0_format(struct buf *out);
/* Loads V0's states at the keeper (engine.states). */
void v0_load(struct v0 *v);
/* Makes the session and the kernel that must exist before the first request. */
void v0_start(struct v0 *v);
/* Answers {"detail": text}. */
void v0_refuse(struct req *r, int status, const char *text);

#endif
