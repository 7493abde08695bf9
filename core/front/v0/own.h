/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the API's server side, and its actions. */
#ifndef OD_FRONT_V0_OWN_H
#define OD_FRONT_V0_OWN_H

#include "action/action.h"
#include "action/cell.h"
#include "base/list.h"
#include "base/map.h"
#include "browser/browsing.h"
#include "front/v0/action.h"
#include "front/v0/text.h"
#include "front/v0/v0.h"
#include "setup/plugins.h"
#include "setup/sandbox.h"
#include "shell/session.h"

enum {
    KEY_LEN = 32,          /* of an action's key: hex digits of its body's hash */
    BODY_MAX = 8 << 20,    /* of an action's body: a command or file of 4 MiB in JSON */
    ANSWER_MAX = 48 << 20, /* a hidden run's output, every byte of it escaped */
    TEXT_MAX = 12 << 20,   /* terminal text: 11,000 lines of 1,000 columns */
    TYPED_MAX = LIMIT_BLOB_MAX - 256, /* of a command that is typed line by line */
    KEPT_MS = 600000,      /* how long an answer is kept for a repeated request */
    KEPT_COUNT = 512,
    KEPT_BYTES = 2 << 20, /* of all answers that have been received */
    LOST_BYTES = 64 << 20 /* of those that have not */
};

/* How much the client has received about the newest command. */
struct v0_told {
    char id[LIMIT_ID + 1]; /* of the command */
    uint64_t cursor;       /* its output was received up to here */
    uint64_t number;       /* of the last action whose answer has been received */
    bool end, any;         /* end: its end has been received; any: any answer about it */
};

/* What V0 knows of one session; HTTP uses the one named "main". */
struct v0_shell {
    struct v0 *v;
    char name[ACTION_SESSION_MAX + 1];
    /*
     * What the client has received, and what it will have received when the answer to
     * `next_key` arrives; stored at the keeper. An answer that the previous worker sent
     * counts as received when the client sends another action.
     */
    struct v0_told told, next;
    char next_key[KEY_LEN + 1];
    bool begun; /* the first action has arrived */
    /*
     * A command whose end has not been typed yet (a here document, a quote); it runs when
     * it is complete. Content: the id of the last input, a newline, the text.
     */
    struct buf typed;
    bool typed_any;        /* an answer about it was sent */
    char kernel_cwd[4096]; /* the directory that was last passed to the kernel */
    struct task tell;      /* stores `told` */
};

struct v0 {
    struct engine *en;
    struct http_front front;
    char cwd[4096]; /* --working-dir; "": none was given */
    int64_t no_change_ms;
    struct sandbox_wait set_up;
    bool browser;    /* --enable-browser */
    bool downloads;  /* their folder exists from the start: --working-dir */
    char task[4096]; /* the page of the evaluation; "": none */
    char family[32]; /* of --browsergym-eval-env; "": not given */
    char who[64];    /* the name of who_uid, looked up once; "": not yet known */
    uid_t who_uid;
    struct list calls; /* in flight, and kept: struct v0_call, the newest last */
    struct map shells; /* by the name of their session: struct v0_shell, owned */
    struct v0_shell *main;
    size_t kept_bytes, lost_bytes;
    unsigned kept;
    struct timer expire;
    char spliced[2 * KEY_LEN + 2]; /* the last write that the previous worker began */
    struct task sweep;             /* forgets answers */
    uint64_t uploads;              /* the number so far, for their names */
    uint64_t number;               /* of the newest action */
    int64_t asked_ms;              /* when it came */
    double cpu_ms;                 /* of this process, at the previous request for it */
    int64_t cpu_at_ms;
};

/* An action and its answer. It outlives the action, so that a repeated request gets the
 * answer from here. */
struct v0_call {
    struct list node;
    struct action *act; /* borrowed; NULL: the action has ended */
    struct v0 *v;
    struct v0_shell *sh; /* borrowed; of the action's session */
    char key[KEY_LEN + 1];
    uint64_t number;
    bool held;         /* it did not arrive by HTTP, so it is never abandoned */
    uint64_t from, to; /* the output of a run in the spool */
    bool has_output;
    struct v0_action a; /* points into act->message */
    struct list askers;
    struct session *session;
    struct op *op;           /* borrowed; the op that it waits for */
    struct op *rest;         /* borrowed; of the previous command, which must end first */
    struct buf prefix;       /* owned: that rest */
    bool refused, lost;      /* lost: a gap in the output */
    char missing[300];       /* why output is missing (a full disk); "" */
    bool first;              /* the first action of this worker */
    bool typing;             /* its command is still being typed */
    char letter;             /* of the requested special key, or 0 */
    struct cell_text *said;  /* owned; the output of a running cell */
    struct cell *cell;       /* borrowed; the same */
    struct action_cell tell; /* for a held cell: its output as events */
    struct buf did;          /* owned; for a browser: the actions to do */
    /* Borrowed; the call to the browser, while it runs or waits. */
    struct browsing_call *browse;
    struct v0_told after; /* what the client knows once it has this answer */
    bool tells;
    int status;          /* of the answer; 0: not answered yet */
    struct buf answer;   /* owned */
    bool received, done; /* done: no repeated request can find it */
    int64_t done_ms;
};

/* ---- v0.c: the API, the list of actions, and what is known of each session ---- */

void v0_answer_json(struct req *r, int status, struct json *take);
void v0_answer(struct v0_call *a, int status, struct buf *take);
/* Answers with an observation: an error that an agent may recover from. */
void v0_answer_error(struct v0_call *a, struct str text);
/* Answers 500: an error that OpenHands' server does not catch. */
void v0_answer_internal(struct v0_call *a, const char *text);
/*
 * Stores that a->after will hold once this answer has arrived. To be called before the
 * answer is sent or logged: the next worker cannot always see at once that the command
 * has ended.
 */
void v0_expect(struct v0_call *a);
/* Notifies followers of the action that its output begins at `from`. */
void v0_started(struct v0_call *a, const char *command, uint64_t from);
/* Writes the first digits of a hash of bytes to key. */
void v0_key_of(struct str bytes, char key[KEY_LEN + 1]);
/* Adds an action that has not begun to the list of calls. v0 owns it until it expires. */
struct v0_call *v0_call_new(struct v0_shell *sh, const struct v0_action *decoded,
                            const char *key);
void v0_call_free(struct v0_call *a);
/* Begins the action, when its turn has come. */
void v0_begin(struct v0_call *a);
/* Ends `now`, for which the run `next` waits, if no client waits for its answer. */
void v0_yield(struct v0_call *now, const struct v0_call *next);
/* Returns what V0 knows of a session; makes it if there is none. */
struct v0_shell *v0_shell_of(struct v0 *v, struct str name);

/* ---- kinds.c: the actions as kinds of the log ---- */

/* Does the action wait for earlier runs in its session? */
bool v0_in_turn(const struct v0_action *a);

/* ---- run.c: commands, and input for them ---- */

/* Begins a run. */
void v0_run(struct v0_call *a);
void v0_run_static(struct v0_call *a);
/* Runs text as a new command. */
void v0_run_text(struct v0_call *a, struct str text);
/* Ends the session of a static run, when its answer was received or nobody needs it. */
void v0_run_forget(struct v0_call *a);
/* Answers about a command without output, which has ended or not. */
void v0_answer_none(struct v0_call *a, enum op_state state, enum op_why why, int exit);
/* Writes the id that the session has for an action. */
void v0_id(const struct v0_call *a, char id[LIMIT_ID + 1]);
const char *v0_cwd(const struct v0_shell *sh);
void v0_run_resume(struct v0 *v);

/* ---- typed.c: a command that comes in several actions ---- */

/* Handles a run that begins or continues a typed command. Returns false if it does
 * neither. */
bool v0_typed(struct v0_call *a);
/* Restores the lines that were collected. */
void v0_typed_load(struct v0 *v);

/* ---- files.c: read, write, the list of a folder ---- */

void v0_read(struct v0_call *a);
void v0_write(struct v0_call *a);
void v0_list(struct req *r);
/* Gets the owner of new files: the user of the sandbox, if we may set it. */
void v0_owner(const struct v0 *v, uid_t *uid, gid_t *gid);

/* ---- transfer.c: upload and download ---- */

void v0_upload(struct req *r);
/* Removes what uploads of the previous worker left. */
void v0_upload_resume(struct v0 *v);
void v0_download(struct req *r);

/* ---- cell.c: cells of the kernel ---- */

void v0_cell(struct v0_call *a);
/* Starts the kernel of --plugins jupyter in advance. */
void v0_cell_warm(struct v0 *v);
/* Removes a waiting cell; interrupts a running one, which then ends by itself. */
void v0_cell_cancel(struct v0_call *a);

/* ---- browse.c: the browser ---- */

void v0_browse(struct v0_call *a);
/*
 * Sends a line (browser/host/host.h) to the browser of the action's session; done gets a.
 * Returns -1 and sets *e.
 */
int v0_browse_ask(struct v0_call *a, const struct json *what, browsing_done_fn *done,
                  struct err *e);
/* Removes a waiting call; stops a running one, which then ends by itself. */
void v0_browse_cancel(struct v0_call *a);
/* Makes the folder of downloads, as OpenHands does, if --working-dir was given. */
void v0_browse_warm(struct v0 *v);

/* ---- eval.c: the task that a browser is evaluated with ---- */

/* Answers an action about the task's goal or rewards. Returns false if it is for the
 * browser. */
bool v0_eval(struct v0_call *a);

/* ---- edit.c: the editor ---- */

void v0_edit(struct v0_call *a); /* or a read by the editor */

/* ---- info.c: GET /server_info ---- */

void v0_server_info(struct req *r);

/* ---- answers.c: what the routes answer ---- */

extern const struct route_answer v0_answers_alive[], v0_answers_ready[],
    v0_answers_server_info[], v0_answers_action[], v0_answers_upload[],
    v0_answers_download[], v0_answers_list[], v0_answers_token[], v0_answers_mcp[];

#endif
