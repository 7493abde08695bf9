/* SPDX-License-Identifier: MIT */
/* What the files of this room share: the server's side of the API, and its actions. */
#ifndef OD_FRONT_V0_OWN_H
#define OD_FRONT_V0_OWN_H

#include "base/list.h"
#include "base/map.h"
#include "browser/browsing.h"
#include "front/v0/action.h"
#include "front/v0/text.h"
#include "front/v0/v0.h"
#include "setup/plugins.h"
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
    uint64_t cursor;        /* its output was received up to here */
    uint64_t number;        /* of the last action whose answer was received */
    bool end, any;          /* its end was; any answer about it was */
};

/* What V0 knows of one session; that of the name "main" is HTTP's. */
struct v0_shell {
    struct v0 *v;
    char name[V0_SESSION_MAX + 1];
    struct action *current; /* the run that has it */
    /*
     * What is told, and what will be once the answer to `next_key` has arrived;
     * kept. A worker that finds an answer on its way at the one before takes it
     * for received as soon as its client asks for something else.
     */
    struct v0_told told, next;
    char next_key[KEY_LEN + 1];
    bool begun; /* the first action has come */
    /*
     * A command whose end has not been typed yet (a here document, a quote): it
     * runs when it is whole. Kept: the id of the input that came last, a newline,
     * the text.
     */
    struct buf typed;
    bool typed_any;        /* an answer about it was given */
    char kernel_cwd[4096]; /* the directory that the kernel was told last */
    struct task tell;      /* told is to be stored */
};

struct v0 {
    struct engine *en;
    struct v0_log log; /* begin NULL: nobody writes */
    struct http_front front;
    char cwd[4096], user[64], group[64];
    int64_t user_id, no_change_ms;
    bool su, warm, named; /* named: --username was given */
    bool browser;         /* --enable-browser */
    bool downloads;       /* their folder is there from the start: --working-dir */
    char task[4096];      /* the page that is evaluated; "": none */
    char family[32];      /* of --browsergym-eval-env; "": it was not given */
    bool ready;
    char who[64]; /* the name of who_uid, looked up once; "": not yet */
    uid_t who_uid;
    char problem[512];   /* why a part of the preparation failed; "": it did not */
    struct list actions; /* in flight, and kept: struct action, the newest last */
    struct list turns;   /* runs that wait for their session */
    struct map shells;   /* by the name of their session: struct v0_shell, owned */
    struct v0_shell *main;
    size_t kept_bytes, lost_bytes;
    unsigned kept;
    struct timer expire;
    char spliced[2 * KEY_LEN + 2]; /* the write that the worker before began last */
    struct task sweep;             /* answers may be forgotten */
    struct task turn;              /* the session is free */
    uint64_t uploads;              /* so far: for their names */
    uint64_t number;               /* of the newest action */
    int64_t asked_ms;              /* when it came */
    double cpu_ms;                 /* of ours, when it was last asked for */
    int64_t cpu_at_ms;
};

/* One action. It outlives its request: who asks again finds it here. */
struct action {
    struct list node, turn;
    struct v0 *v;
    struct v0_shell *sh; /* borrowed: of the session that it is about */
    char key[KEY_LEN + 1];
    uint64_t number;
    uint64_t id;       /* in the log; 0: it is not there */
    bool held;         /* the log waits for its answer, so it is not abandoned */
    uint64_t from, to; /* of a run: its output in the spool */
    bool has_output;
    struct json *body;  /* owned; NULL when it is over */
    struct v0_action a; /* points into body */
    struct list askers;
    struct session *session;
    struct op *op;          /* borrowed; what is waited for */
    struct op *rest;        /* borrowed; of the command before, to be told first */
    struct buf prefix;      /* owned: that rest */
    bool refused, lost;     /* lost: a gap in the output */
    char missing[300];      /* what of it a full disk did not take, and why; "" */
    bool first;             /* the first that this worker got */
    bool typing;            /* it is about a command that is being typed */
    char letter;            /* of the special key that was asked for, or 0 */
    struct cell_text *said; /* owned; of a cell that runs */
    struct cell *cell;      /* borrowed; the same */
    struct buf did;         /* owned; of a browser: what it is asked to do */
    /* Borrowed; the same, while it runs or waits. */
    struct browsing_call *browse;
    struct v0_told after;   /* what is told once this answer is received */
    bool tells;
    int status;          /* of the answer; 0: none yet */
    struct buf answer;   /* owned */
    bool received, done; /* done: nobody can ask for it again */
    int64_t done_ms;
};

/* v0.c */
void v0_answer_json(struct req *r, int status, struct json *take);
void v0_answer(struct action *a, int status, struct buf *take);
/* An error that an agent may recover from: an observation. */
void v0_answer_error(struct action *a, struct str text);
/*
 * This answer will tell a->after, once it has arrived; kept before it is sent, and
 * before the log has it: the next worker cannot always see at once that the command
 * has ended.
 */
void v0_expect(struct action *a);
/* 500: what the reference's server would not have caught. */
void v0_answer_internal(struct action *a, const char *text);
/* {"detail": …} */
void v0_answer_detail(struct action *a, int status, const char *text);
/* The first digits of a hash. */
void v0_key_of(struct str bytes, char key[KEY_LEN + 1]);
/* An absolute path of what the agent called path: against its shell's directory. */
int v0_path(const struct v0_shell *sh, struct str path, struct buf *out);
/* Whose files are made: the sandbox user's, when we may. */
void v0_owner(const struct v0 *v, uid_t *uid, gid_t *gid);

/* typed.c */
/* Deals with a run while a text waits for its end, or that begins one. false: no. */
bool v0_typed(struct action *a);
void v0_typed_load(struct v0_shell *sh);

/* What is known of a session, made when it is not. */
struct v0_shell *v0_shell_of(struct v0 *v, struct str name);

/* run.c */
/* The id of an action, for the session. */
void v0_id(const struct action *a, char id[LIMIT_ID + 1]);
void v0_run_text(struct action *a, struct str text); /* a new command */
/* An answer about a command that has (not) ended, of which there is no output. */
void v0_answer_none(struct action *a, enum op_state state, enum op_why why, int exit);
void v0_run(struct action *a); /* it is this run's turn */
void v0_run_static(struct action *a);
void v0_run_forget(struct action *a); /* its answer was received, or nobody wants it */
void v0_run_resume(struct v0 *v);
struct session *v0_session(struct v0 *v, struct str name, struct str cwd, struct err *e);
const char *v0_cwd(const struct v0_shell *sh);
/* Its output begins there, and who follows may hear of it. */
void v0_started(struct action *a, const char *command, uint64_t from);
/* The key under which the keeper has something of a session: NAME, or NAME/SESSION. */
void v0_state_key(const struct v0_shell *sh, const char *name, struct buf *out);
/* Whose sessions are: "" is the server's own user. */
struct str v0_user(const struct v0 *v);

/* files.c */
void v0_read(struct action *a);
void v0_write(struct action *a);
void v0_upload(struct req *r);
/* Removes what uploads of the worker before left. */
void v0_upload_resume(struct v0 *v);
void v0_download(struct req *r);
void v0_list(struct req *r);

/* cell.c */
void v0_cell(struct action *a);
/* Starts the kernel of --plugins jupyter, before it is needed. */
void v0_cell_warm(struct v0 *v);

/* Its cell goes, or is interrupted and then ends by itself. */
void v0_cell_cancel(struct action *a);

/* browse.c */
void v0_browse(struct action *a);
/*
 * Sends a line (browser/host/host.h) to the browser of the action's session; done gets a.
 * Returns -1 and sets *e.
 */
int v0_browse_ask(struct action *a, const struct json *what, browsing_done_fn *done,
                  struct err *e);
/* Its call goes, or is stopped and then ends by itself. */
void v0_browse_cancel(struct action *a);
/* Makes the folder of downloads, as upstream does, in a directory that was named. */
void v0_browse_warm(struct v0 *v);

/* eval.c */
/* Deals with what asks for the task's words or rewards; false: it is for the browser. */
bool v0_eval(struct action *a);

/* edit.c */
void v0_edit(struct action *a); /* or a read by the editor */

/* info.c */
void v0_server_info(struct req *r);

#endif
