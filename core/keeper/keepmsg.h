/* SPDX-License-Identifier: MIT */
/*
 * The messages between keeper, worker and reapers: one page, versioned.
 *
 * One message is one datagram of a SOCK_SEQPACKET pair: this head, then key,
 * value and body, or a descriptor of them where they are longer than a datagram: the
 * environment of a program may be as long as the kernel takes. It arrives
 * whole or not at all, so the worker may be killed at any instant: a message that
 * was sent is carried out, and one that was not sent has no effect. Any message of
 * the worker may carry a state (key and value), which the keeper stores in the same
 * step: so a state always fits the act that it describes.
 *
 * The keeper looks at heads only. Keys, values and bodies are opaque to it.
 * Numbers are in host order: both ends are one machine, usually one file.
 */
#ifndef OD_KEEPER_KEEPMSG_H
#define OD_KEEPER_KEEPMSG_H

#include "base/err.h"
#include "base/str.h"

#include <stdint.h>

#define KEEP_VERSION 3
#define KEEP_FDS 8             /* descriptors in one message */
#define KEEP_DATA (124u << 10) /* key + value + body that fit in a datagram */
#define KEEP_FAR_MAX (8u << 20) /* the most at all; beyond KEEP_DATA in a memfd */

enum keep_type {
    /* Worker to keeper */
    KEEP_PUT = 1, /* nothing but the state it carries; an empty value deletes */
    KEEP_HOLD,    /* fds[0] is a listening socket, named by body: keep it */
    KEEP_SPAWN,   /* id, a: uid | gid << 32, b: offset at which its output begins,
                     flags, kib; body: for the reaper; fds: below */
    KEEP_WRITE,   /* id: body is input; a: offset of its first byte in the input:
                     bytes below what was accepted are skipped, a hole is refused;
                     b: as a of KEEP_SEEN; flags: KEEP_QUIET */
    KEEP_CLOSE,   /* id: end of input, after what is pending was written */
    KEEP_SEEN,    /* id, a: that many KEEP_PROC were handled */
    KEEP_FORGET,  /* id: close and drop everything of it */
    KEEP_REAPER,  /* id: token, a: uid | gid << 32; body goes to that reaper */
    KEEP_SERVING, /* the handover is digested, requests are being answered */
    KEEP_STOP,    /* end the sandbox; a: grace in ms */
    /* Keeper to worker */
    KEEP_HELD,   /* fds[0] is a held socket, named by body */
    KEEP_STATE,  /* key and value as stored */
    KEEP_PROC,   /* body: struct keep_proc; with flags KEEP_ALL: fds as kept */
    KEEP_READY,  /* the handover is complete */
    KEEP_ANSWER, /* id: token; body: the reaper's answer; a: errno when none; id 0: that
                    for all tokens of the reaper of b: uid | gid << 32, which is gone */
    KEEP_SIGNAL, /* a: a signal that the keeper got and passes on; SIGHUP: exit at
                    once, another worker follows */
    /* Keeper to reaper and back (see reaper.h) */
    KEEP_M_SPAWN,   /* id; body: of reaper_spawn_body; fds: the child's */
    KEEP_M_REQUEST, /* id: token; body */
    KEEP_M_SPAWNED, /* id; a: pid, or 0 with b: errno and flags: the failed step */
    KEEP_M_EXIT,    /* id; a: pid, b: status as waitpid gives it */
    KEEP_M_ANSWER,  /* id: token; body */
    /* Worker to keeper, and back; last, so that the numbers above stay */
    KEEP_UPGRADE,  /* id: token, not 0; fds[0]: another file for the worker, or a: errno
                      of its open; body: its name. The same token again asks for the
                      outcome */
    KEEP_UPGRADED, /* id: token; body: why it was refused, "" when it was done */
    KEEP_FLOW, /* worker to keeper; id, b: stream (0 or 1), a: a caller waits for what was
                 written at this offset and after it; UINT64_MAX: no caller waits. The
                 keeper reads no more than fits the spool until the offset is raised, or
                 LIMIT_HOLD_BACK_MS (on a full disk a quarter of a second) have passed
                 without a KEEP_FLOW for the stream. Without such a limit if it was
                 started with KEEP_WHOLE, while this worker lives */
    KEEP_M_REFUSED, /* reaper to keeper; body: what the fence refused a program, JSON.
                       The keeper stores it as the state KEEP_REFUSED_KEY and a number,
                       and sends that to the worker, which deletes it */
    KEEP_RULES, /* worker to keeper; its state, under KEEP_RULES_KEY, is the rules of the
                   network beside those of the start, JSON: all reapers get it */
    KEEP_M_RULES,   /* keeper to reaper, reaper to supervisor; body: that */
    KEEP_M_BELOW,   /* reaper to keeper; a: its pid, if its supervisor is above it */
    KEEP_M_LISTENER /* reaper to supervisor; fds[0]: of a program that starts */
};

#define KEEP_REFUSED_KEY "refused/"
#define KEEP_RULES_KEY   "fence/rules"
enum {
    KEEP_REFUSED_MAX = 8 << 10, /* bytes of one */
    KEEP_REFUSED_KEPT = 256     /* of them; what comes while so many wait is not kept */
};

/*
 * KEEP_SPAWN: fds are, in order, the child's (PTY: the slave; else stdin,
 * stdout, stderr), then ours: PTY: the master; else [input], output; then the
 * output's spool; then [error output, its spool].
 */
enum keep_flags {
    KEEP_PTY = 1,
    KEEP_IN = 2,  /* pipes: there is an input to write to */
    KEEP_ERR = 4, /* pipes: error output is apart */
    KEEP_ALL = 8,
    KEEP_BARE = 16, /* nothing is started: fds[0] is the input of a FIFO */
    KEEP_QUIET = 32, /* KEEP_WRITE: input that is taken whole needs no record of its own,
                        the next record includes it */
    KEEP_AWAITED = 64, /* KEEP_SPAWN, KEEP_WRITE: as a KEEP_FLOW with the offset of its
                          output's end, unless an earlier one is in force */
    KEEP_WHOLE = 128,  /* KEEP_SPAWN: its spool is never shortened for the budget */
    KEEP_FAR = 256,    /* set by keep_send: key, value and body are in a memfd, which is
                          the last descriptor */
    KEEP_FRONT = 512   /* KEEP_M_SPAWN: in_front of os/spawn.h */
};

struct keep_head {
    uint16_t version, type;
    uint32_t flags;
    uint64_t id, a, b;
    uint32_t key, value, body; /* lengths of what follows, in this order */
    uint32_t kib;              /* KEEP_SPAWN: size of each spool */
};

/* KEEP_PROC records of one program that may be unacknowledged. */
#define KEEP_AHEAD 8

/* Bytes of a spool that are allocated in advance, for a full disk. */
#define KEEP_RESERVED (64 << 10)

/* Gaps of one stream that are kept apart; one more merges the two oldest. */
#define KEEP_GAPS 8

struct keep_stream {
    uint64_t offset; /* bytes the program has written so far */
    uint64_t cap;    /* the spool is a ring of this many bytes; after it is a u64,
                        the offset before which bytes may be overwritten */
    uint32_t gaps;   /* ranges that the disk did not take */
    uint32_t eof;    /* the output has ended */
    struct {
        uint64_t from, to;
    } gap[KEEP_GAPS];
};

enum keep_proc_flags {
    KEEP_P_STARTED = 1, /* pid is valid */
    KEEP_P_FAILED = 2,  /* it did not start: errnum, step */
    KEEP_P_EXITED = 4,  /* status is valid */
    KEEP_P_HELD = 8,    /* a stream is held back: it may have more output */
    KEEP_P_FULL = 16    /* the disk was full: older output may be missing */
};

struct keep_proc {
    uint64_t id;
    uint32_t kind;  /* KEEP_PTY, KEEP_IN, KEEP_ERR as spawned */
    uint32_t flags; /* enum keep_proc_flags */
    int32_t pid, status, errnum, step;
    uint64_t input;         /* bytes of input accepted */
    uint64_t input_pending; /* of those, not yet taken by the program */
    struct keep_stream out[2];
};

/* A message in memory: what is to be sent, or what was received. */
struct keep_msg {
    struct keep_head h;
    struct str key, value, body; /* received: borrowed from the buffer */
    int fds[KEEP_FDS];           /* received: owned by the receiver */
    int nfds;
    char *far; /* received: memory of key, value and body if they are not in the buffer */
};

/*
 * Sends without blocking. 0; -1 with errno (EAGAIN: try again when writable;
 * EMSGSIZE: longer than KEEP_FAR_MAX; of a message beyond KEEP_DATA also why there is no
 * memfd: EMFILE, ENFILE, ENOMEM). Descriptors stay the caller's.
 */
int keep_send(int fd, const struct keep_msg *m);
/*
 * The same, and blocks until there is room. If the peer is gone the message is dropped:
 * the next read of the link says so.
 */
void keep_tell(int fd, const struct keep_msg *m);
/*
 * Receives one message into space (KEEP_DATA + sizeof(struct keep_head)
 * bytes). 1; 0: the peer is gone; -1 with errno (EAGAIN; EBADMSG: not of this protocol
 * or of another version; ENOMEM: no memory for its far part; after both the message is
 * lost, and its descriptors closed). A message whose descriptors do not fit under our
 * limit comes without any. After 1 the caller calls keep_release.
 */
int keep_recv(int fd, struct keep_msg *m, void *space);
void keep_close_fds(struct keep_msg *m);
/* Closes the descriptors that are left (-1: taken), and frees the memory of m. */
void keep_release(struct keep_msg *m);
/* A pair with room for a few messages of the greatest size. 0 or -1, errno. */
int keep_pair(int fds[2]);

#endif
