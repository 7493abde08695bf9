/* SPDX-License-Identifier: MIT */
/*
 * Editing text files for agents' tools: view, create, replace a text that occurs once,
 * insert lines, undo.
 *
 * For callers, a text is UTF-8 and its lines end in \n. The file keeps its encoding
 * (UTF-8 with or without a byte order mark, UTF-16 with one, else Latin-1) and its line
 * ends (\n, \r\n, \r, even mixed). New lines get the file's most frequent line end. A
 * Latin-1 file becomes UTF-8 when a new character is not in Latin-1. A file of UTF-8 may
 * have other bytes, at most one for each character beyond ASCII: each is the private
 * character U+10FF00 plus the byte, and so is kept.
 *
 * Files are written by files_replace(): as a whole or not at all, with the mode and
 * owner they had. The previous content is kept (struct edits) for undo.
 *
 * Calls block: a millisecond for most files, 40 to 100 ms for one of EDIT_FILE_MAX
 * (reading, and two writes, one of them for undo).
 */
#ifndef OD_EDIT_EDIT_H
#define OD_EDIT_EDIT_H

#include "base/buf.h"
#include "base/err.h"
#include "edit/match.h"

#include <sys/types.h>

enum {
    EDIT_FILE_MAX = 10 << 20, /* bytes of a file: larger ones are not sources */
    EDIT_UNDO_MAX = 10,       /* states kept of one path; the oldest are dropped first */
    EDIT_KEPT_FILES = 2000,   /* states of all paths: read once, when a worker begins */
    EDIT_KEPT_BYTES = 128 << 20,
    EDIT_LINES_TOLD = 1000, /* line numbers in one result */
    EDIT_SEEN_MAX = 1000,
    EDIT_PLACES_MAX = 100000, /* that one edit replaces */
    EDIT_TREE_MAX = 10000,    /* entries of a folder that are read */
};

/* ---- looking ---- */

enum edit_why {
    EDIT_FILE,       /* the file: e has a code of file/files.h, or EXISTS */
    EDIT_TOO_LARGE,  /* more than EDIT_FILE_MAX: see size */
    EDIT_BINARY,     /* not a text in any known encoding */
    EDIT_NO_MATCH,   /* the text to be replaced does not occur */
    EDIT_MATCHES,    /* it occurs several times: see lines */
    EDIT_NO_LINE,    /* there are fewer lines: see count */
    EDIT_NO_HISTORY, /* nothing to undo */
};

enum edit_charset {
    EDIT_UTF8,
    EDIT_UTF8_BOM,
    EDIT_UTF16_LE,
    EDIT_UTF16_BE,
    EDIT_LATIN1,
    EDIT_MIXED /* UTF-8, with bytes that are not */
};

/* The first bytes of each character that stands for a byte, in UTF-8. */
#define EDIT_BYTE_CHAR "\xf4\x8f"

/* Why something was not done, for a front-end's own message; e has ours. */
struct edit_failure {
    enum edit_why why;
    struct err e;
    uint64_t size;
    int64_t count;                  /* EDIT_NO_LINE: of lines; EDIT_MATCHES: of places */
    int64_t lines[EDIT_LINES_TOLD]; /* from 1, ascending, each once */
    size_t nlines;
    bool more_lines; /* there are more than in lines */
    bool stripped;   /* EDIT_NO_MATCH, EDIT_MATCHES: of the text without blanks around */
};

/*
 * Appends the file's text to out. Returns -1, sets *f and leaves out unchanged on
 * failure.
 */
int edit_read(const char *path, struct buf *out, struct edit_failure *f);

/* Lines from..to of a text, from 1, with their newlines; clipped to existing lines. */
struct str edit_lines(struct str text, int64_t from, int64_t to);
/* The number of lines; a last line without a newline counts. */
int64_t edit_count_lines(struct str text);
/* s without the ASCII blanks around it that Python's strip removes. */
struct str edit_strip(struct str s);
/* The line number of the byte at `at`, from 1. */
int64_t edit_line_of(struct str text, size_t at);

struct edit_tree {
    size_t hidden; /* entries that begin with a dot, in the folder itself */
    bool more;     /* there are more than EDIT_TREE_MAX entries */
};

/*
 * Appends the entries of a folder and of the folders in it, a line for each: the path,
 * with a slash after a folder; the folder itself first. Names that begin with a dot are
 * left out, symbolic links are followed, folders that cannot be read are empty. Sorted by
 * the bytes of paths; with by_level a folder's entries follow it directly. Returns -1 and
 * sets *e, out unchanged.
 */
int edit_tree(const char *path, bool by_level, struct buf *out, struct edit_tree *tree,
              struct err *e);

/* ---- changing ---- */

/* The previous contents of files, on disk. One worker at a time uses them. */
struct edits;
struct engine;

/* dir is made at the first edit. dir NULL: nothing is kept, so there is no undo. */
struct edits *edits_new(const char *dir);
void edits_free(struct edits *h);
/* Returns the engine's, in its state directory, made by the first call. Never NULL. */
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
     * Names this edit (file/files.h). If the previous worker died during or after it, it
     * is not done twice, and gets the same answer.
     */
    const char *token;
    struct str text; /* the new text: of the file, the replacement, the inserted lines */
    struct str old;  /* REPLACE: what is replaced */
    bool strip_old;  /* REPLACE: if old does not occur, try it without blanks around */
    bool strip_text; /* and remove those around text then */
    bool bend;       /* REPLACE: if old does not occur, try as edit/match.h bends it */
    bool all;        /* REPLACE: every place, if it occurs as it is */
    bool lines;      /* REPLACE: old is whole lines, its last newline may be left out */
    int64_t line;    /* INSERT: after this line; 0: before the first one */
    /* LINES: the lines from..to, from 1; to below from: none, the text comes before */
    int64_t from, to;
    bool parents; /* WRITE: missing folders are made */
    /* Of a new file: of CREATE, WRITE, and what is written where the file is gone */
    mode_t mode;
    bool chown;
    uid_t uid;
    gid_t gid;
};

/* The result, owned by the caller: release it after success and failure. */
struct edited {
    struct buf before, after; /* the whole text; before is empty for a new file */
    int64_t line;             /* from 1: where the change begins */
    int64_t added;   /* REPLACE: newlines in the text; INSERT, LINES: lines of it */
    bool again;      /* the previous worker had done it */
    int owner_errno; /* CREATE: done, but the owner could not be given */
    /*
     * REPLACE: number of replaced places; failure.lines has the lines where they began.
     */
    size_t places;
    enum match_how matched;
    char bent[MATCH_WORDS]; /* the changes of form that were needed */
    bool created;           /* WRITE: there was no file; BACK: there is none now */
    int64_t kept_at;        /* BACK: when that edit was made, in seconds; 0: not known */
    struct edit_failure failure;
};

#define EDITED_INIT \
    { \
        .before = BUF_INIT(EDIT_TEXT_MAX), .after = BUF_INIT(EDIT_TEXT_MAX) \
    }
/* Twice a file of the largest size in which every byte takes two. */
enum { EDIT_TEXT_MAX = 4 * EDIT_FILE_MAX };

void edited_release(struct edited *d);

/*
 * INSERT: the text is divided at newlines, each part becomes a line; a last line
 * without a newline gets one first. LINES: the text becomes whole lines; places after the
 * last line are EDIT_NO_LINE, except that from may be one more. UNDO restores the newest
 * kept state and removes it from the history; CREATE keeps the new content, the others
 * keep the previous one, or that there was no file. A WRITE over more than EDIT_FILE_MAX
 * bytes keeps nothing; `before` and `after` are bytes then; for BACK they are empty.
 * Returns 0; or -1 with d->failure set and nothing changed.
 */
int edit_apply(struct edits *h, const struct edit *q, struct edited *d);
/*
 * edits_seen notes that a caller has seen a file's current content; edits_changed returns
 * whether someone else has changed the file since. Kept in memory, for the last
 * EDIT_SEEN_MAX files. Both accept NULL.
 */
void edits_seen(struct edits *h, const char *path);
bool edits_changed(const struct edits *h, const char *path);
/* Returns how many edits of a path can be undone. */
size_t edit_undoable(struct edits *h, const char *path);

#endif
