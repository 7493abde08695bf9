/* SPDX-License-Identifier: MIT */
/*
 * Actions on files, other than reading and editing, by name, with arguments in JSON
 * (front/events/FILES.md lists them): stat, list, mkdir, move, copy, remove, replace,
 * join, chmod, archive, extract, watch. send, send_lines, receive, receive_all and
 * snapshot are not actions, because they need a connection that carries the bytes;
 * received and folders are not, because they only look. Each verb runs in a helper, as
 * its user, so that a slow disk or a large tree delays no other caller. A kill ends it.
 *
 * The input of receive_all is files, one after the other, in frames: the length in eight
 * hex digits, and so many bytes. The first frame of a file is a JSON object with the
 * arguments of receive; its content follows, and a frame without bytes ends it. The
 * result is {"files":[the result of receive, …]}. If a file fails, those before it are in
 * place.
 *
 * A path is an argument NAME, text and relative to cwd, or NAME_base64, its exact
 * bytes. A result has both if the bytes are not valid text.
 *
 * New files are written next to their place, as .od-TOKEN, and moved there in one step.
 * Errors have the codes of files.h, and EXISTS and BUSY.
 */
#ifndef OD_FILE_FILEACT_H
#define OD_FILE_FILEACT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/json.h"
#include "base/member.h"
#include "base/param.h"
#include "io/job.h"

enum {
    FILEACT_TEXT_MAX = 700 << 10, /* bytes of a result: it fits an event */
    FILEACT_TOKEN_MAX = 40
};

struct fileact;

struct fileact_spec {
    const char *verb;
    const struct json *args; /* fileact_check has accepted them; NULL: none */
    const char *cwd;         /* absolute */
    /* The folder in which all paths begin, and stay (root.h). NULL: there is none. */
    const char *root;
    /*
     * Small letters and digits, which name this call. again: a call with this token was
     * begun before and may have ended; only the rest of it is done.
     */
    const char *token;
    bool resumed;
    /*
     * A file that outlives this process and gets the result before staged files are
     * removed: with again, that is the result. 0: none. Borrowed for the call.
     */
    int kept;
    /* extract: the archive comes by fileact_write, and has no path; receive: always */
    bool input;
    /* archive: goes out by events.data, and to no path; snapshot: always; send: always,
     * after a line {"size", "mode", "etag", "mtime", "from", "length"} */
    bool output;
    bool as_user; /* as in struct job_spec */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
};

struct fileact_events {
    /*
     * Takes bytes of an archive that goes out, or whole lines of JSON of a watch. Returns
     * how many; if not all, fileact_resume goes on. May be NULL.
     */
    size_t (*data)(void *arg, struct str bytes);
    void (*room)(void *arg); /* fileact_write has room again; may be NULL */
    /* Called once: result is a JSON object, or e is set. f is not valid after it. */
    void (*done)(void *arg, struct str result, const struct err *e);
    void (*gone)(void *arg); /* what was staged is removed, at last; may be NULL */
};

/* Returns whether verb is an action. */
bool fileact_known(struct str verb);
/* The parameters of each verb. */
extern const struct param_list fileact_takes_stat, fileact_takes_list,
    fileact_takes_replace, fileact_takes_join, fileact_takes_mkdir, fileact_takes_move,
    fileact_takes_copy, fileact_takes_remove, fileact_takes_chmod, fileact_takes_archive,
    fileact_takes_extract, fileact_takes_watch;
/* The members of its result; for watch also of each change, with the action's id. */
extern const struct member fileact_gives_stat[], fileact_gives_list[],
    fileact_gives_mkdir[], fileact_gives_move[], fileact_gives_copy[],
    fileact_gives_remove[], fileact_gives_replace[], fileact_gives_join[],
    fileact_gives_chmod[], fileact_gives_archive[], fileact_gives_extract[],
    fileact_gives_watch[], fileact_gives_change[], fileact_gives_receive[],
    fileact_gives_received[];
/*
 * Checks that all arguments are there, known, and of the right types; input and output
 * as above. Returns 0, or -1 and sets *e.
 */
int fileact_check(const char *verb, const struct json *args, bool input, bool output,
                  struct err *e);
/*
 * Starts a call; ev is copied, the rest is borrowed for this function. done is not called
 * before this returns. Returns NULL and sets *e if nothing runs.
 */
struct fileact *fileact_start(struct loop *l, const struct fileact_spec *q,
                              const struct fileact_events *ev, void *arg, struct err *e);
/* Ends it without calling done; files not yet in their place are removed. */
void fileact_cancel(struct fileact *f);
/* Returns 0, or -1 if there is no room (see job_write). */
int fileact_write(struct fileact *f, struct str bytes);
size_t fileact_room(const struct fileact *f);
void fileact_want_room(struct fileact *f); /* as job_want_room */
void fileact_end_input(struct fileact *f);
void fileact_resume(struct fileact *f);

/* The media type of an archive, by its format; NULL if the format is unknown. */
const char *fileact_media_type(struct str format);

#endif
