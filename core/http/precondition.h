/* SPDX-License-Identifier: MIT */
/* Conditional requests for a representation that is there (RFC 9110 13). */
#ifndef OD_HTTP_PRECONDITION_H
#define OD_HTTP_PRECONDITION_H

#include "http/http.h"

/*
 * Judges If-Match, If-Unmodified-Since, If-None-Match and If-Modified-Since in the order
 * of 13.2.2. etag: the strong entity tag, in quotes. Dates that are malformed are
 * ignored. Returns 0 if the request is to be served, else the status of its answer: 304
 * for GET and HEAD, or 412.
 */
int http_precondition(const struct http_head *h, const char *etag, time_t modified);
/* Does If-Range let a range be sent (13.1.5)? True if the field is absent. */
bool http_if_range(const struct http_head *h, const char *etag, time_t modified);

#endif
