/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the server's side of the API, and its actions. */
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
    KEY_LEN = 32,          /* of an action: hex digits of its body's hash */
    BODY_MAX = 8 << 20,    /* of an action: a command or file of 4 MiB in JSON */
    ANSWER_MAX = 48 << 20, /* a hidden run's output, every byte of it escaped */
    TEXT_MAX = 12 << 20,   /* terminal text: 11,000 lines of 1,000 columns */
    KEPT_MS = 600000,      /* an answer is kept for its client to come back */
    KEPT_COUNT = 512,
    KEPT_BYTES = 2 << 20, /* of all answers that were received */
    LOST_BYTES = 64 << 20 /* of those that were not */
};

/* How far the client has been answered about the newest command. */
struct v0_told {
    char id[LIMIT_ID + 1]; /* of the command */
    uint64_t cursor;       /* its output was received up to here */
    uint64_t number;       /* of the last action whose answer was received */
    bool end, any;         /* its end was; any answer about it was */
};

/* What V0 knows of one session; HTTP uses the one named "main". */
struct v0_shell {
    struct v0 *v;
    char name[ACTION_SESSION_MAX + 1];
    /*
     * What the client has received, and what it will have received when the answer to
     * `next_key` has arrived; stored at the keeper. If the previous worker had sent an
     * answer, this one takes it for received as soon as its client sends another action.
     */
    struct v0_told told, next;
    char next_key[KEY_LEN + 1];
    bool begun; /* the first action has come */
    /*
     * A command whose end has not been typed yet (a here document, a quote): it runs
     * when it is complete. Stored: the id of the last input, a newline, the text.
     */
    struct buf typed;
    bool typed_any;        /* an answer about it was given */
    char kernel_cwd[4096]; /* the directory that the kernel was given last */
    struct task tell;      /* stores `told` */
};

struct v0 {
    struct engine *en;
    struct http_front front;
    char cwd[4096]; /* --working-dir; "": none was given */
    int64_t no_change_ms;
    struct sandbox_wait set_up;
    bool browser;    /* --enable-browser */
    bool downloads;  /* their folder is there from the start: --working-dir */
    char task[4096]; /* the page that is evaluated; "": none */
    char family[32]; /* of --browsergym-eval-env; "": it was not given */
    char who[64];    /* the name of who_uid, looked up once; "": not yet */
    uid_t who_uid;
    struct list calls; /* in flight, and kept: struct v0_call, the newest last */
    struct map shells; /* by the name of their session: struct v0_shell, owned */
    struct v0_shell *main;
    size_t kept_bytes, lost_bytes;
    unsigned kept;
    struct timer expire;
    char spliced[2 * KEY_LEN + 2]; /* the write that the previous worker began last */
    struct task sweep;             /* forgets answers */
    uint64_t uploads;              /* so far: for their names */
    uint64_t number;               /* of the newest action */
    int64_t asked_ms;              /* when it came */
    double cpu_ms;                 /* of this process, at the last request for it */
    int64_t cpu_at_ms;
};

/* An action and its answer. It outlives both: a repeated request gets it from here. */
struct v0_call {
    struct list node;
    struct action *act; /* borrowed; NULL: it has its answer */
    struct v0 *v;
    struct v0_shell *sh; /* borrowed: of the session that it is about */
    char key[KEY_LEN + 1];
    uint64_t number;
    bool held;         /* it did not come by an HTTP route, so it is not abandoned */
    uint64_t from, to; /* of a run: its output in the spool */
    bool has_output;
    struct v0_action a; /* points into act->message */
    struct list askers;
    struct session *session;
    struct op *op;           /* borrowed; what it waits for */
    struct op *rest;         /* borrowed; of the previous command: its end comes first */
    struct buf prefix;       /* owned: that rest */
    bool refused, lost;      /* lost: a gap in the output */
    char missing[300];       /* why output is missing (a full disk); "" */
    bool first;              /* the first that this worker got */
    bool typing;             /* it is about a command that is being typed */
    char letter;             /* of the special key that was asked for, or 0 */
    struct cell_text *said;  /* owned; of a cell that runs */
    struct cell *cell;       /* borrowed; the same */
    struct action_cell tell; /* the same, when held: its output as events */
    struct buf did;          /* owned; of a browser: the actions that it carries out */
    /* Borrowed; the same, while it runs or waits. */
    struct browsing_call *browse;
    struct v0_told after; /* what the client knows once it has this answer */
    bool tells;
    int status;          /* of the answer; 0: none yet */
    struct buf answer;   /* owned */
    bool received, done; /* done: nobody can ask for it again */
    int64_t done_ms;
};

/* ---- v0.c: the API, the list of actions, and what is known of each session ---- */

void v0_answer_json(struct req *r, int status, struct json *take);
void v0_answer(struct v0_call *a, int status, struct buf *take);
/* An error that an agent may recover from: an observation. */
void v0_answer_error(struct v0_call *a, struct str text);
/* Answers 500: an error that OpenHands' server does not catch. */
void v0_answer_internal(struct v0_call *a, const char *text);
/*
 * Stores that a->after holds once this answer has arrived; before it is sent, and before
 * it is in the log: the next worker cannot always see at once that the command has ended.
 */
void v0_expect(struct v0_call *a);
/* The output of the action begins at `from`; those who follow it are notified. */
void v0_started(struct v0_call *a, const char *command, uint64_t from);
/* The first digits of a hash. */
void v0_key_of(struct str bytes, char key[KEY_LEN + 1]);
/* An action that is not begun, in the list of calls. v0 owns it until it is forgotten. */
struct v0_call *v0_call_new(struct v0_shell *sh, const struct v0_action *decoded,
                            const char *key);
void v0_call_free(struct v0_call *a);
/* Begins the action: it is its turn. */
void v0_begin(struct v0_call *a);
/* A run waits for `now`: ends it if nobody waits for its answer. */
void v0_yield(struct v0_call *now, const struct v0_call *next);
/* What is known of a session, made when it is not. */
struct v0_shell *v0_shell_of(struct v0 *v, struct str name);
/* The key under which the keeper has something of a session: NAME, or NAME/SESSION. */
void v0_state_key(const struct v0_shell *sh, const char *name, struct buf *out);

/* ---- kinds.c: the actions as kinds of the log ---- */

/* Does it wait for the runs before it in its session? */
bool v0_in_turn(const struct v0_action *a);

/* ---- run.c: commands, and input for them ---- */

/* Begins a run. */
void v0_run(struct v0_call *a);
void v0_run_static(struct v0_call *a);
/* Runs text as a new command. */
void v0_run_text(struct v0_call *a, struct str text);
/* The answer was received, or nobody wants it: ends the session of a static run. */
void v0_run_forget(struct v0_call *a);
/* Answers about a command that has (not) ended, of which there is no output. */
void v0_answer_none(struct v0_call *a, enum op_state state, enum op_why why, int exit);
/* The id of an action, for the session. */
void v0_id(const struct v0_call *a, char id[LIMIT_ID + 1]);
const char *v0_cwd(const struct v0_shell *sh);
void v0_run_resume(struct v0 *v);

/* ---- typed.c: a command that comes in several actions ---- */

/* Deals with a run while a text waits for its end, or that begins one. false: no. */
bool v0_typed(struct v0_call *a);
void v0_typed_load(struct v0_shell *sh);

/* ---- files.c: read, write, the list of a folder ---- */

void v0_read(struct v0_call *a);
void v0_write(struct v0_call *a);
void v0_list(struct req *r);
/* The owner of files that are made: the user of the sandbox, if we may. */
void v0_owner(const struct v0 *v, uid_t *uid, gid_t *gid);

/* ---- transfer.c: upload and download ---- */

void v0_upload(struct req *r);
/* Removes what uploads of the worker before left. */
void v0_upload_resume(struct v0 *v);
void v0_download(struct req *r);

/* ---- cell.c: cells of the kernel ---- */

void v0_cell(struct v0_call *a);
/* Starts the kernel of --plugins jupyter, before it is needed. */
void v0_cell_warm(struct v0 *v);
/* Removes a cell that waits; interrupts one that runs, which then ends by itself. */
void v0_cell_cancel(struct v0_call *a);

/* ---- browse.c: the browser ---- */

void v0_browse(struct v0_call *a);
/*
 * Sends a line (browser/host/host.h) to the browser of the action's session; done gets a.
 * Returns -1 and sets *e.
 */
int v0_browse_ask(struct v0_call *a, const struct json *what, browsing_done_fn *done,
                  struct err *e);
/* Removes a call that waits; stops one that runs, which then ends by itself. */
void v0_browse_cancel(struct v0_call *a);
/* Makes the folder of downloads, as OpenHands does, in a directory that was named. */
void v0_browse_warm(struct v0 *v);

/* ---- eval.c: the task that a browser is evaluated with ---- */

/* Answers an action about the task's goal or rewards; false: it is for the browser. */
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
