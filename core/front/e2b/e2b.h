/* SPDX-License-Identifier: MIT */
/* What other front-ends for E2B's SDKs may know of the front-end `e2b`. */
#ifndef OD_FRONT_E2B_E2B_H
#define OD_FRONT_E2B_E2B_H

#include "base/json.h"
#include "base/str.h"
#include "http/httpd.h"

struct keys;
struct e2b; /* fronts_find(all, "e2b") of front/front.h */

/*
 * The access token that --e2b-token or POST /init set. n is 0 if there is none;
 * then the listeners are open. Borrowed until the next request.
 */
struct str e2b_token(const struct e2b *f);
/* The variables of POST /init for new programs: an object of strings. Borrowed. */
const struct json *e2b_env(const struct e2b *f);
/* The directory of new programs where a request names none; "": the user's home. */
const char *e2b_workdir(const struct e2b *f);
/*
 * As the preflight of struct front, for the listeners `at`, such as "e2b@": adds the
 * fields of CORS. Returns true if r was a preflight and is answered.
 */
bool e2b_cors(const struct keys *k, const char *at, struct req *r);

#endif
