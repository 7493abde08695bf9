/* SPDX-License-Identifier: MIT */
/*
 * The editor that agents know (view, create, str_replace, insert, undo_edit), in the
 * words of openhands-aci's editor/editor.py. The work is edit.h's.
 *
 * What an agent can mend is told as content that begins with ERROR: and a newline.
 */
#ifndef OD_EDIT_EDITOR_H
#define OD_EDIT_EDITOR_H

#include "base/json.h"
#include "document/document.h"
#include "edit/edit.h"

#include <limits.h>

enum {
    EDITOR_SHOWN = 16000, /* characters of a file or a listing that are shown */
    EDITOR_TEXT_MAX = 48 << 20
};

/* All of it is borrowed. */
struct editor {
    struct edits *edits;
    const char
        *workspace;    /* against which a relative path may have been meant, or NULL */
    const char *token; /* names this call; see edit.h */
    uid_t uid;         /* of new files, */
    gid_t gid;
    bool chown; /* if they are to be given to somebody */
};

/* Owned: release it. */
struct editor_answer {
    struct buf content;
    bool failed;          /* content says why */
    bool binary;          /* because the file is no text */
    bool changed;         /* the file is; edited says how */
    bool document;        /* nothing is said yet: a helper has to read it first */
    size_t review;        /* where content asks to review the change; 0: nowhere */
    struct edited edited; /* what was done */
    char path[PATH_MAX];  /* as Python's Path prints it */
};

#define EDITOR_ANSWER_INIT \
    { \
        .content = BUF_INIT(EDITOR_TEXT_MAX), .edited = EDITED_INIT \
    }

void editor_answer_release(struct editor_answer *a);

/*
 * args: command, path, file_text, old_str, new_str, insert_line, view_range. command:
 * instead of the one in args, or NULL. -1: one is of another type, which e says.
 */
int editor_run(const struct editor *ed, const char *command, const struct json *args,
               struct editor_answer *a, struct err *e);

/*
 * Reads what a->document is, as that user if uid is not ours; done calls editor_told.
 * The job is as docread_start's.
 */
struct job *editor_read(struct loop *l, const struct editor_answer *a, uid_t uid,
                        gid_t gid, docread_done_fn *done, void *arg, struct err *e);
/* Puts what a check of the change found into the answer, which has a review. */
void editor_checked(struct editor_answer *a, struct str found);
/* Puts the document's text into the answer, or why there is none. */
void editor_told(struct editor_answer *a, struct str text, const struct err *why);

#endif
