/* SPDX-License-Identifier: MIT */
/*
 * OpenHands' V0 runtime API: actions as JSON over HTTP, one observation each.
 *
 * Its commands run in the session "main", which od exec sees too. What of it
 * must outlive the worker is in the session (the id of its newest command, of
 * its latest inputs) and in one state at the keeper: how far the client has been
 * answered.
 */
#ifndef OD_FRONT_V0_H
#define OD_FRONT_V0_H

#include "base/json.h"
#include "engine/engine.h"
#include "proto/httpd.h"

struct v0;

/*
 * options: {"working_dir", "username", "user_id", "group", "su", "no_change_ms",
 * "warm"}, all optional; read once. Never NULL.
 */
struct v0 *v0_open(struct engine *en, const struct json *options);
const struct http_front *v0_front(struct v0 *v);
/* Takes up what the worker before left at the keeper (engine.states). */
void v0_load(struct v0 *v);
/* Makes user, directory and session; until then actions are queued. */
void v0_start(struct v0 *v);
/* Answers {"detail": text}. */
void v0_refuse(struct req *r, int status, const char *text);

#endif
