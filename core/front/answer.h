/* SPDX-License-Identifier: MIT */
/* Answers that native front-ends share. */
#ifndef OD_FRONT_ANSWER_H
#define OD_FRONT_ANSWER_H

#include "base/err.h"
#include "http/httpd.h"

/* Answers {"error":{"code","message"}} with a status. */
void answer_error(struct req *r, int status, enum err_code code, const char *text);

#endif
