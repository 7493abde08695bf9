/* SPDX-License-Identifier: MIT */
/* The interface of the front-end `e2b` for other front-ends for E2B's SDKs. */
#ifndef OD_FRONT_E2B_E2B_H
#define OD_FRONT_E2B_E2B_H

#include "base/json.h"
#include "base/str.h"
#include "access/door.h"

struct access;
struct e2b; /* fronts_find(all, "e2b") of front/front.h */

/*
 * Returns the variables of POST /init for new programs, an object of strings. Borrowed.
 */
const struct json *e2b_env(const struct e2b *f);
/*
 * Returns the directory of new programs if the request names none; "": the user's home.
 */
const char *e2b_workdir(const struct e2b *f);
/*
 * Does the preflight of struct front for the listeners `at`, such as "e2b@": adds the
 * fields of CORS. Returns true if r was a preflight and was answered.
 */
bool e2b_cors(const struct access *a, const char *at, struct req *r);
/*
 * For PROOF_DERIVED (access/door.h): writes the signature that a holder of the token
 * would give the URL of r, and returns the token; p NULL: there is none, or r's URL has
 * expired.
 */
struct str e2b_sign(void *f, const struct req *r, struct buf *out);

#endif
