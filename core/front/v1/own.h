/* SPDX-License-Identifier: MIT */
/*
 * The front-end `v1`: the sandbox part of OpenHands' agent-server, version 1.43 of August
 * 2026 (software-agent-sdk, openhands-agent-server/). README.md has the table of its
 * routes.
 *
 *   front.c      options, life, the tables of routes
 *   settings.c   options and the server's own environment (OH_…), read before the worker
 *   program.c    openhands-agent-server by argv[0]
 *   answer.c     answers and refusals; paths that differ by a slash
 *   cors.c       the fields of CORS, and preflights
 *   server.c     health, server info, tools, VSCode and desktop
 *   openapi.c    GET /openapi.json, from the tables of routes
 *   init.c       deferred init: POST /api/init
 *   static.c     files for browsers; the cookie of workspace files
 *   elsewhere.c  routes that an agent's server has, but not a sandbox
 *
 *   work.c       requests that wait for a helper or an action (work.h)
 *   file.c       upload, download, folders
 *   archive.c    a folder as tar.gz or patch
 *   git.c        changes, versions of a file, commits
 *
 *   bash.c       the routes of commands
 *   bash_run.c   a command: its process, its output as events
 *   bash_store.c the events, on disk
 *   bash_page.c  events as answers: search, by id, after the wait for a command
 *   bash_link.c  the WebSocket
 *
 * Each file with routes exports one http_front without arg, which front.c lists.
 */
#ifndef OD_FRONT_V1_OWN_H
#define OD_FRONT_V1_OWN_H

#include "base/limits.h"
#include "engine/engine.h"
#include "front/front.h"
#include "front/model/model.h"
#include "front/program.h"
#include "http/httpd.h"

struct bash;      /* bash.h */
struct pattern;   /* text/pattern.h */

enum {
    V1_TABLES_MAX = 24,
    V1_BODY_MAX = 4 << 20, /* of a JSON body; commands over LIMIT_COMMAND_MAX are refused
                            * later */
    V1_ANSWER_MAX = 12 << 20,
    V1_PATH_MAX = 4096
};

/* The version of the agent-server with these routes. */
#define V1_LINE "1.43.0"

enum v1_state { V1_DORMANT, V1_INITIALIZING, V1_READY };

struct v1 {
    struct fronts *all;    /* borrowed */
    struct engine *en;     /* borrowed */
    struct access *access; /* borrowed */
    struct http_front tables[V1_TABLES_MAX];
    size_t ntables;
    struct bash *bash;       /* owned */
    int64_t busy_ms;         /* clock_ms of the last call that counts as activity */
    /* Settings, owned strings; "": not given. */
    char *docker_host, *static_dir, *web_url, *git_sha, *git_ref;
    struct json *origins;        /* owned: the allowed values of Origin */
    struct pattern *origin_like; /* owned; NULL: none */
    double idle_timeout;         /* seconds; 0: none */
    /* Deferred init. */
    bool deferred;
    enum v1_state state;
    struct json *init; /* owned: the values of POST /api/init; NULL: none */
};

struct v1 *v1_of(const struct req *r);
/* Notes a call that counts as activity for idle_time. */
void v1_touch(struct v1 *v);

/* ---- settings.c ---- */

extern const struct option_table v1_options;

/* ---- program.c ---- */

extern const struct program v1_programs[];

/* ---- answer.c ---- */

extern const char v1_json[]; /* "application/json" */
/* Answers with take, which it frees. */
void v1_answer(struct req *r, int status, struct json *take);
/* Answers {"detail": text}, for statuses below 500 and those that name another server. */
void v1_detail(struct req *r, int status, const char *text);
/* Answers a handler's own 5xx: {"detail":"Internal Server Error","exception":"STATUS:
 * text"}. */
void v1_broken(struct req *r, int status, const char *text);
/* The same for a failure that no handler expects: 500 with an error_id, which is
 * logged. */
void v1_unforeseen(struct req *r, const char *text);
/* Like struct http_front.fail, for all tables of this front-end. */
void v1_fail(struct req *r, int status, const char *text);
/* Where its requests may have a proof. */
extern const struct door v1_door;
/* Like struct front.refuse. */
void v1_refuse(void *f, struct req *r, enum refusal why, int status, const char *text);
/* Returns the methods of the route at path, as bits (enum of http/httpd.h); 0 if there is
 * no route. */
unsigned v1_methods(const struct v1 *v, struct str path);
/* Appends the rest of r's path, decoded; the caller releases out. Returns -1 if it is
 * malformed. */
int v1_path(const struct req *r, struct buf *out);

/* ---- cors.c ---- */

/* Like struct door.page_may: may a page of this origin read the answer to r? */
bool v1_page_may(void *f, const struct req *r, struct str origin);
/* Like struct front.preflight. */
bool v1_preflight(void *f, struct req *r);

/* ---- init.c ---- */

/* Like struct front.instead: answers 503 while the server waits for POST /api/init. */
bool v1_instead(void *f, struct req *r);
/* Loads the values that POST /api/init gave to a previous worker. */
void v1_init_load(struct v1 *v);

/* ---- server.c ---- */

/* GET /server_info, and GET / without static files. */
void v1_server_info(struct req *r);

/* ---- tables of routes; README.md has them as a table ---- */

extern const struct http_front v1_server_table, v1_openapi_table, v1_init_table,
    v1_static_table, v1_elsewhere_table, v1_bash_table, v1_file_table, v1_archive_table,
    v1_git_table;

#endif
