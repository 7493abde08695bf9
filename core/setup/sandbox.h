/* SPDX-License-Identifier: MIT */
/*
 * The sandbox that od serve prepares: its directory, its user and its plugins. Actions
 * wait until all three are ready (sandbox_await). It is a part (engine/part.h);
 * engine.sandbox exists from the configuration on.
 */
#ifndef OD_SETUP_SANDBOX_H
#define OD_SETUP_SANDBOX_H

#include "base/err.h"
#include "base/list.h"
#include "base/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct sandbox;

/* Returns whether user, directory and plugins are ready. */
bool sandbox_ready(const struct sandbox *b);

/* Embedded in its owner, zeroed. */
struct sandbox_wait {
    struct list node;
    void (*ready)(struct sandbox_wait *w);
};
/* Calls ready once: now if the sandbox is ready, else when it is. */
void sandbox_await(struct sandbox *b, struct sandbox_wait *w,
                   void (*ready)(struct sandbox_wait *w));

/* Returns why a part of the preparation failed, as a sentence; NULL if none failed. */
const char *sandbox_problem(const struct sandbox *b);
/* Returns whether the preparation begins before the first request (od serve PORT,
 * --username). */
bool sandbox_warm(const struct sandbox *b);
/* Returns the directory of this session, or that of a new one. Borrowed. */
const char *sandbox_cwd(const struct sandbox *b, struct str session);
/* Returns the user of sessions, kernels and browsers; "": the server's own. */
struct str sandbox_user(const struct sandbox *b);

enum { SANDBOX_GROUPS_MAX = 64 };

struct sandbox_place {
    char cwd[4096], home[256];
    bool as_user; /* we are root, and this is another user; as in struct job_spec */
    uid_t uid;
    gid_t gid, groups[SANDBOX_GROUPS_MAX];
    size_t groups_n;
};

/*
 * Gets the directory and the user of this session, or those of a new one. Returns -1 and
 * sets *e if that user does not exist.
 */
int sandbox_place(const struct sandbox *b, struct str session, struct sandbox_place *out,
                  struct err *e);
/*
 * The same for a user by name or number, whose home becomes the directory; "": the user
 * of sessions. Returns -1 and sets *e: NOTFOUND, there is no such user; DENIED, the
 * server is not root and that is another user.
 */
int sandbox_place_of(const struct sandbox *b, struct str user, struct sandbox_place *out,
                     struct err *e);

#endif
