/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef OD_KERNEL_HOST_OWN_H
#define OD_KERNEL_HOST_OWN_H

#include "base/json.h"
#include "kernel/host/find.h"
#include "kernel/host/host.h"
#include "kernel/host/jmsg.h"
#include "kernel/host/zmtp.h"

#include <limits.h>

enum host_channel { CH_SHELL, CH_IOPUB, CH_STDIN, CH_CONTROL, CHANNELS };
enum { HEART_SOCKET = CHANNELS }; /* next to them */

enum host_state {
    HOST_STARTING, /* spawned, not answered yet */
    HOST_READY,
    HOST_ENDING, /* a shutdown was requested, or it is being killed */
    HOST_DRAIN,  /* it has exited; what it left is read */
    HOST_DEAD
};

struct kernel_host;

struct channel {
    struct kernel_host *h;
    struct zmtp z;
    struct timer again;
    int wait_ms;
    bool up, broke; /* it had been up, and broke */
};

/* heart.c */
struct heart {
    struct zmtp z;
    struct timer beat;
    int64_t asked_ms; /* 0: it has answered */
    bool dialled, up;
    bool in_cell;    /* no cell has ended since it was asked */
    bool own_thread; /* it answers while a cell runs */
    bool silent;     /* as it was reported */
};

/* lost.c */
enum { LOST_GAPS = 32 };

/* Numbers that have not come. Joined gaps also contain numbers that have. */
struct lost_gap {
    uint64_t from, to, missing; /* to: the number after it; missing: so many of them */
};

struct lost_channel {
    uint64_t least;           /* what still comes has this number, or a larger one */
    unsigned asked, answered; /* the last of our questions; answered < asked: awaited */
};

struct lost {
    char series[96];                 /* beginning of its message ids; "": unknown */
    uint64_t next;                   /* the number after the largest so far */
    struct lost_gap gaps[LOST_GAPS]; /* below that, in order */
    unsigned n;
    struct lost_channel in[CHANNELS];
    bool replied;   /* the cell's reply has come */
    bool over;      /* so has its idle, and missing messages were reported */
    unsigned proof; /* the question that was asked to get another idle; 0: none */
    bool proof_reply, proof_idle; /* these came */
    struct timer ask;
    bool strangers; /* it also answers other clients */
};

/* pass.c: a long message that goes out in pieces. */
struct passing {
    struct buf memory; /* owned; the others lie in it */
    struct jmsg m;
    enum host_channel from;
    bool stream;
    struct str name, rest; /* rest: not sent yet; n 0: none */
    struct str buffers[ZMTP_PARTS_MAX]; /* those of m */
};

/* A pipe that the kernel writes to. */
struct outlet {
    struct kernel_host *h;
    struct stream s;
    const char *name; /* stdout, stderr */
    bool open;
};

struct kernel_host {
    struct loop *loop;
    struct stream in, out;  /* the engine */
    struct buf going;       /* lines that are not in out yet */
    struct passing passing; /* a long message, sent after them */
    struct buf pending;     /* lines that are sent after that */
    struct task flush;
    uint64_t sent, seen; /* bytes of lines put into out, and read by the engine */
    uint64_t window;     /* the most by which sent may exceed seen */
    struct io signals;
    struct kernel_list list;
    const struct kernel_spec *spec;
    enum kernel_choice choice;
    struct str wanted; /* the kernel's name */
    struct str keep;   /* cache of our own kernel's code; /dev/null: none */
    enum host_state state;
    pid_t pid;
    int status;
    int64_t started_ms;
    bool trying;        /* limit is that of sockets in a folder; TCP is next */
    bool restart;       /* when it has ended */
    bool quit;          /* end this host when the kernel has ended */
    bool full;          /* the engine is behind: sources are paused */
    bool busy;          /* a cell was sent, and its end has not come */
    bool begun;         /* the kernel has reported that it runs it */
    bool wanted_stop;   /* an interrupt came before that */
    struct timer limit; /* of the state: start, end, drain */
    struct timer press; /* of interrupts */
    int presses;
    struct outlet outlets[2];
    struct buf tail; /* the last of its stderr */
    /* A kernel with ZMTP */
    struct channel channels[CHANNELS];
    char dir[PATH_MAX], file[PATH_MAX + 32], key[65], session[33];
    int file_fd;       /* the connection file where no folder can be written; else -1 */
    uint16_t ports[5]; /* of TCP; ipc: 0 */
    struct timer nudge;
    struct heart heart;
    struct lost lost;
    unsigned asked;       /* messages of our own */
    bool heard, answered; /* on iopub; kernel_info_reply */
    bool restored;        /* a channel was lost once */
    struct json *info;    /* owned */
    /* Our own kernel */
    struct stream link;
    bool alive;            /* it has sent something: it has started */
    bool linked, overlong; /* the rest of a line is skipped */
    size_t searched;       /* so many bytes of its output have no newline */
    char parent[1024];     /* the header of the cell that runs, as JSON */
};

/* host.c */
void host_line(struct kernel_host *h, struct json *take); /* {…} to the engine */
void host_say(struct kernel_host *h, const char *what, const char *text);
/* A request was put into out, or has no room there: reports that, or that out is full. */
void host_sent(struct kernel_host *h, const struct stream *out, bool is_sent);
/* A message of the cell that runs, as if the kernel had sent it. */
void host_iopub(struct kernel_host *h, const char *type, struct json *take_content);
void host_ready(struct kernel_host *h);
void host_failed(struct kernel_host *h, const struct err *e);
/* Called when the kernel reports that it runs the cell, and that the cell has ended. */
void host_begun(struct kernel_host *h);
void host_idle(struct kernel_host *h);
/* Sends as much of pending as the engine has room for. */
void host_flush(struct kernel_host *h);
/* Returns false if the engine is behind: stop reading. */
bool host_room(struct kernel_host *h);

/* channels.c */
/*
 * Writes the connection file; at first makes its keys, folder and name. Returns -1 and
 * sets *e.
 */
int host_zmtp_prepare(struct kernel_host *h, struct err *e);
/* Is a kernel that has not answered given sockets in a folder, which not all know? */
bool host_zmtp_may_need_tcp(const struct kernel_host *h);
/* Connects to the spawned kernel. */
void host_zmtp_start(struct kernel_host *h);
void host_zmtp_send(struct kernel_host *h, enum host_channel to,
                    const struct json *message);
/* Returns a socket that connects to one of the channels or the heartbeat, or -1. */
int host_zmtp_dial(const struct kernel_host *h, int which);
/* Sends a request of our own on a channel; its answers are not passed on. */
void host_zmtp_ask(struct kernel_host *h, enum host_channel to, const char *type,
                   const char *content);
/*
 * Returns true if a message with this parent answers the last cell, not a question or
 * another client.
 */
bool host_is_of_cell(const struct kernel_host *h, struct str parent);
void host_zmtp_pause(struct kernel_host *h, bool pause);
void host_zmtp_stop(struct kernel_host *h);  /* the kernel is gone */
void host_zmtp_clean(struct kernel_host *h); /* files too */

/* pass.c */
/* Passes m on to the engine; its bytes are in the message that z has received. */
void host_pass(struct kernel_host *h, enum host_channel from, struct jmsg *m,
               struct zmtp *z);
/* Replaces the line that begins at `at` by a note if it did not fit. */
void host_whole(struct buf *lines, size_t at);
/* Adds the next piece of a long message to going. Returns false if there is none. */
bool host_pass_more(struct kernel_host *h);

/* heart.c */
void host_heart_begin(struct kernel_host *h); /* a cell runs */
void host_heart_rest(struct kernel_host *h);  /* none */
void host_heart_stop(struct kernel_host *h);  /* the kernel is gone */

/* lost.c */
/*
 * Called for each message of the kernel before it is passed on. ours: the number of the
 * request of our own that it answers; 0: none.
 */
void host_lost_take(struct kernel_host *h, enum host_channel from, const struct jmsg *m,
                    unsigned ours);
/* Called when a request of our own is sent. */
void host_lost_asked(struct kernel_host *h, enum host_channel to, unsigned number);
void host_lost_cell(struct kernel_host *h);  /* a cell is sent */
void host_lost_reset(struct kernel_host *h); /* another kernel, or connection */

/* embedded.c */
char **host_embedded_argv(const struct kernel_host *h);
void host_embedded_start(struct kernel_host *h, int fd); /* takes fd */
void host_embedded_send(struct kernel_host *h, struct str line);
void host_embedded_pause(struct kernel_host *h, bool pause);
void host_embedded_stop(struct kernel_host *h);

#endif
