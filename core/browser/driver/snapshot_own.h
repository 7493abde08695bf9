/* SPDX-License-Identifier: MIT */
/* The parts of a look at a page: snapshot.c reads it, tree.c prints it. */
#ifndef OD_BROWSER_DRIVER_SNAPSHOT_OWN_H
#define OD_BROWSER_DRIVER_SNAPSHOT_OWN_H

#include "browser/driver/driver.h"
#include "webpage/outline.h"

enum { SNAP_FRAMES_MAX = 48, SNAP_DEPTH_MAX = 1000, SNAP_SESSIONS_MAX = 32 };

enum {
    IS_ELEMENT = 1,
    IS_FRAME = 2,
    IS_CLICKABLE = 4,
    IS_PRIVATE = 8,
    IS_BODY = 16,
    IS_ACTIVE = 32, /* of a kind that can be clicked */
    IS_BUTTON = 64, /* a button or a link */
    IS_MARKED = 128,
    IS_BLOCK = 256,   /* it has lines of its own */
    IS_POINTER = 512, /* the pointer is a hand over it */
};

/* The meaning of a string of a snapshot. */
enum snap_word {
    SNAP_OTHER,
    SNAP_FRAME,
    SNAP_BODY,
    SNAP_BUTTON,
    SNAP_ACTIVE,
    SNAP_AGENT,
    SNAP_ONCLICK,
    SNAP_POINTER,
    SNAP_HIDDEN,
    SNAP_BLOCK,
    SNAP_NAMING, /* an attribute that tells elements apart, whatever their state */
};

struct words {
    unsigned char *word; /* owned: enum snap_word of each string */
    uint32_t *hash;      /* owned: of each string */
    size_t n;
};

struct box {
    double x, y, w, h;
};

struct node {
    int64_t id; /* backendNodeId */
    int parent, content;
    unsigned short flags;
    uint32_t form; /* a hash of its name, its naming attributes, and what is within it */
};

/* A node of an accessibility tree, in its frame's message. */
struct ax {
    struct str text;
    bool seen;
};

/* The strings of a snapshot, in their form in JSON. */
struct strings {
    struct str *at; /* owned */
    size_t n;
};

/* A document of a snapshot. */
struct snap_frame {
    char id[BROWSER_ID], session[BROWSER_ID];
    struct node *nodes; /* owned */
    int n;
    char owner_session[BROWSER_ID];
    int64_t owner; /* backendNodeId of its element there; 0: none */
    struct document *document;
    struct buf tree; /* owned: the message with its accessibility tree */
    struct ax *ax;   /* owned; the first one is the root */
    size_t ax_n;
    struct map by_id; /* nodeId → struct ax */
    int asked;
    bool printed;
    /* If the text is requested: */
    struct str snapshot;           /* in look.kept */
    const struct strings *strings; /* in look.strings */
    /* If marks or properties are requested: */
    struct box *boxes; /* owned: of each node, in the document */
    double scroll_x, scroll_y;
    struct box place, shown; /* in the page's viewport; the part that is not cut off */
};

struct snapshot {
    struct browser *b;
    struct snap_frame frames[SNAP_FRAMES_MAX];
    int n;
    struct buf *out;
    struct buf *focused;
    struct buf names; /* of the nodes being printed, concatenated */
    bool compact, full, boxes, texts;
    bool refs;                          /* elements are named by refs instead of bids */
    struct outline *outline;            /* borrowed; NULL: not wanted */
    struct buf kept[SNAP_SESSIONS_MAX]; /* texts: the snapshots' messages */
    struct strings strings[SNAP_SESSIONS_MAX];
    int kept_n;
    struct str site;   /* compact: the beginning of the page's address, up to its path */
    size_t text_line;  /* compact: n of out after a line that text may go on; 0: none */
    bool text_goes_on; /* the line already is text */
};

/* The key of an element in its document's map. */
static inline struct str snap_key(const int64_t *id) { return str_n(id, sizeof(*id)); }
enum snap_word snap_word_at(const struct words *w, int64_t i);
/* Reads the boxes of the nodes of a snapshot's document. */
void snap_read_boxes(struct snap_frame *f, struct str document, const struct words *w);
/*
 * Finds the elements to mark, after the numbering: fills b->marks, and properties if
 * requested.
 */
void snap_mark(struct snapshot *l, const struct browser_want *want,
               struct browser_seen *out);
/* Appends all nodes of all trees as JSON; appends nothing if out is too small. */
void snap_raw(const struct snapshot *l, struct buf *out);
/* If out is full, empties it and notes that `what` is left out. */
void snap_whole(const struct snapshot *l, struct buf *out, const char *what);

/* text.c */
void snap_read_strings(struct strings *s, struct str array);
/*
 * Puts the page as Markdown and its links into out, after the numbering. Returns -1 and
 * sets *e if it is too large; then out has neither.
 */
int snap_text(struct snapshot *l, struct browser_seen *out, struct err *e);

/* outline.c */
/* Reads which elements have lines of their own, and over which the pointer is a hand. */
void snap_read_styles(struct snap_frame *f, struct str document, const struct words *w);
/* Fills l->outline, after the numbering. */
void snap_outline(struct snapshot *l);
/* Returns the number of the element's ref, which the first call gives it. */
unsigned snap_ref(struct browser *b, struct element *el);

/* tree.c */
/* The parts of a node of an accessibility tree, as slices of its text. */
struct snap_part {
    struct str role, name, value, properties, children;
    int64_t node; /* backendNodeId */
    bool named;   /* it has the member "name" */
};
struct snap_part snap_parse(struct str text);
bool snap_is_one_of(struct str s, const char *const *names);
/*
 * Cuts off the next property of a node: its name, and its value as JSON. Returns false
 * if none is left.
 */
bool snap_property(struct str *inside, struct str *name, struct str *value);
/* Returns the word for a state, such as "disabled"; NULL if it has none. */
const char *snap_state(struct str name, struct str value);
/* Appends a frame and the frames within it to out. */
void snap_print(struct snapshot *l, struct snap_frame *f, int depth);

#endif
