/* SPDX-License-Identifier: MIT */
/*
 * Editing text files, as the tools of agents ask for it: view, create, replace a
 * text that occurs once, insert lines, undo.
 *
 * Outside, a text is UTF-8 and its lines end in \n. The file keeps what it has:
 * UTF-8 with or without a byte order mark, UTF-16 with one, else Latin-1 (any
 * bytes); \n, \r\n, \r, even mixed. What is new gets the line end that the file has
 * most of. Where Latin-1 has no such character, the file becomes UTF-8.
 *
 * Files are written by files_replace(): as a whole or not at all, with the mode and
 * owner they had. What a file held before is kept (struct edits) for undo.
 *
 * All of it happens at once: a millisecond for most files, 40 to 100 ms for
 * one of EDIT_FILE_MAX (reading, and two writes, one of them kept for undo).
 */
#ifndef OD_EDIT_EDIT_H
#define OD_EDIT_EDIT_H

#include "base/buf.h"
#include "base/err.h"
#include "edit/match.h"

#include <sys/types.h>

enum {
    EDIT_FILE_MAX = 10 << 20, /* bytes of a file: larger ones are no sources */
    EDIT_UNDO_MAX = 10,       /* states kept of one path; the oldest go first */
    EDIT_KEPT_FILES = 2000,   /* and of all: read once, when a worker begins */
    EDIT_KEPT_BYTES = 128 << 20,
    EDIT_LINES_TOLD = 1000, /* numbers of lines in one answer */
    EDIT_SEEN_MAX = 1000,
    EDIT_PLACES_MAX = 100000, /* that one edit replaces */
    EDIT_TREE_MAX = 10000,    /* entries of a folder that are looked at */
};

/* ---- looking ---- */

enum edit_why {
    EDIT_FILE,       /* the file: e has the code of file/files.h, and EXISTS */
    EDIT_TOO_LARGE,  /* more than EDIT_FILE_MAX: size is told */
    EDIT_BINARY,     /* no text in any encoding that is known */
    EDIT_NO_MATCH,   /* the text to be replaced does not occur */
    EDIT_MATCHES,    /* it does several times: lines are told */
    EDIT_NO_LINE,    /* there are fewer lines: count is told */
    EDIT_NO_HISTORY, /* nothing to undo */
};

enum edit_charset { EDIT_UTF8, EDIT_UTF8_BOM, EDIT_UTF16_LE, EDIT_UTF16_BE, EDIT_LATIN1 };

/* Why something was not done, for a front-end's own words; e has ours. */
struct edit_failure {
    enum edit_why why;
    struct err e;
    uint64_t size;
    int64_t count;                  /* EDIT_NO_LINE: of lines; EDIT_MATCHES: of places */
    int64_t lines[EDIT_LINES_TOLD]; /* from 1, ascending, each once */
    size_t nlines;
    bool more_lines; /* than are told */
    bool stripped;   /* EDIT_NO_MATCH, EDIT_MATCHES: of the text without blanks around */
};

/* Appends the file's text to out. -1: *f, out unchanged. */
int edit_read(const char *path, struct buf *out, struct edit_failure *f);

/* Lines from..to of a text, from 1, with their newlines; moved to where lines are. */
struct str edit_lines(struct str text, int64_t from, int64_t to);
/* A last one that lacks its newline counts. */
int64_t edit_count_lines(struct str text);
/* Without the blanks around it that Python's strip takes off, as far as ASCII goes. */
struct str edit_strip(struct str s);
/* From 1, of the byte at `at`. */
int64_t edit_line_of(struct str text, size_t at);

struct edit_tree {
    size_t hidden; /* entries that begin with a dot, in the folder itself */
    bool more;     /* there are more than were looked at */
};

/*
 * Appends what is in a folder and in the folders in it, a line for each: the path
 * and, of a folder, a slash; the folder itself first. Names with a dot at their
 * beginning are left out, symbolic links followed, folders that may not be read
 * are empty. Sorted by the bytes of paths; with by_level a folder's entries come
 * right behind it. -1: e, out unchanged.
 */
int edit_tree(const char *path, bool by_level, struct buf *out, struct edit_tree *tree,
              struct err *e);

/* ---- changing ---- */

/* What files held before, on disk. One worker at a time has it. */
struct edits;
struct engine;

/* dir is made when the first edit comes. NULL: nothing is kept, so no undo. */
struct edits *edits_new(const char *dir);
void edits_free(struct edits *h);
/* The engine's, made at the first call, in its state directory. Never NULL. */
struct edits *edits_of(struct engine *en);

/* BACK is UNDO for any bytes, and removes what WRITE made. */
enum edit_kind {
    EDIT_CREATE,
    EDIT_REPLACE,
    EDIT_INSERT,
    EDIT_UNDO,
    EDIT_LINES,
    EDIT_WRITE,
    EDIT_BACK
};

/* All of it is borrowed. */
struct edit {
    enum edit_kind kind;
    const char *path;
    /*
     * Names this very edit (file/files.h): when the worker before was ended in
     * the middle of it, or behind it, it is not done twice, and answered again.
     */
    const char *token;
    struct str text; /* to be there: the file's, what replaces, what is inserted */
    struct str old;  /* REPLACE: what is replaced */
    bool strip_old;  /* REPLACE: if it does not occur, try without blanks around */
    bool strip_text; /* and take those off the text then */
    bool bend;       /* REPLACE: if it does not occur, as edit/match.h bends it */
    bool all;        /* REPLACE: every place, if it occurs as it is */
    bool lines;      /* REPLACE: old is whole lines, its last newline may be left out */
    int64_t line;    /* INSERT: behind this line, 0: before the first one */
    /* LINES: the lines from..to, from 1; to below from: none, the text comes before */
    int64_t from, to;
    bool parents; /* WRITE: missing folders are made */
    /* CREATE, WRITE: of the new file */
    mode_t mode;
    bool chown;
    uid_t uid;
    gid_t gid;
};

/* Owned: release it, whatever came of the edit. */
struct edited {
    struct buf before, after; /* the whole text; of what is created, before is empty */
    int64_t line;             /* from 1: where the change begins */
    int64_t added;   /* REPLACE: newlines in the text; INSERT, LINES: lines of it */
    bool again;      /* it had been done by the worker before */
    int owner_errno; /* CREATE: done, but the owner could not be given */
    /* REPLACE: what was replaced; the lines where it began are those of failure. */
    size_t places;
    enum match_how matched;
    char bent[MATCH_WORDS]; /* what was bent for it */
    bool created;           /* WRITE: there was no file; BACK: there is none now */
    int64_t kept_at;        /* BACK: when that edit was made, in seconds; 0: not known */
    struct edit_failure failure;
};

#define EDITED_INIT \
    { \
        .before = BUF_INIT(EDIT_TEXT_MAX), .after = BUF_INIT(EDIT_TEXT_MAX) \
    }
/* A file of the largest size, every byte of which takes two, and as much again. */
enum { EDIT_TEXT_MAX = 4 * EDIT_FILE_MAX };

void edited_release(struct edited *d);

/*
 * INSERT: the text is divided at newlines, each part becomes a line; a last line
 * without a newline gets one first. LINES: the text becomes whole lines; places
 * behind the last line are EDIT_NO_LINE, but from may be one more. UNDO brings back the
 * newest state kept, which then is kept no more; CREATE keeps what it made, the others
 * what was before, or that there was nothing. A WRITE over more than EDIT_FILE_MAX bytes
 * keeps nothing; `before` and `after` are the bytes then, and of a BACK empty. 0; or -1
 * with d->failure, and nothing changed.
 */
int edit_apply(struct edits *h, const struct edit *q, struct edited *d);
/*
 * A caller has seen what a file holds now; has it been changed since, by someone else?
 * Kept in memory, of the last EDIT_SEEN_MAX files. Accept NULL.
 */
void edits_seen(struct edits *h, const char *path);
bool edits_changed(const struct edits *h, const char *path);
/* How many edits of a path can be taken back. */
size_t edit_undoable(struct edits *h, const char *path);

#endif
