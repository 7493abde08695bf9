/* SPDX-License-Identifier: MIT */
/* GET /openapi.json: the routes of the server that gets the request, and its actions. */
#ifndef OD_FRONT_EVENTS_OPENAPI_H
#define OD_FRONT_EVENTS_OPENAPI_H

struct req;

void openapi_get(struct req *r);

#endif
