/* SPDX-License-Identifier: MIT */
/*
 * The editor that agents know (view, create, str_replace, insert, undo_edit), with the
 * messages of openhands-aci's editor/editor.py. edit.h does the work. An error that the
 * agent can fix is content that begins with ERROR: and a newline.
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
    const char *workspace; /* for a hint when a path is relative; or NULL */
    const char *token;     /* names this call; see edit.h */
    uid_t uid;             /* of new files, */
    gid_t gid;
    bool chown; /* whether new files get that owner */
};

/* The answer, owned by the caller: release it. */
struct editor_answer {
    struct buf content;
    bool failed;   /* content has the reason */
    bool binary;   /* the reason is that the file is not text */
    bool changed;  /* the file was changed; see edited */
    bool document; /* content is still empty: a helper must read it first */
    size_t review; /* offset of the request in content to review the change; 0: none */
    struct edited edited; /* what was done */
    char path[PATH_MAX];  /* as Python's Path prints it */
};

#define EDITOR_ANSWER_INIT \
    { \
        .content = BUF_INIT(EDITOR_TEXT_MAX), .edited = EDITED_INIT \
    }

void editor_answer_release(struct editor_answer *a);

/*
 * Runs a command. args: command, path, file_text, old_str, new_str, insert_line,
 * view_range. command: replaces the one in args, or NULL. Returns -1 and sets *e if one
 * has the wrong type.
 */
int editor_run(const struct editor *ed, const char *command, const struct json *args,
               struct editor_answer *a, struct err *e);

/*
 * Reads the document of a->document, as that user if uid is not ours; done is expected to
 * call editor_told. The job is as from docread_start.
 */
struct job *editor_read(struct loop *l, const struct editor_answer *a, uid_t uid,
                        gid_t gid, docread_done_fn *done, void *arg, struct err *e);
/* Puts the findings of a check into the answer, at its review. */
void editor_checked(struct editor_answer *a, struct str found);
/* Puts the document's text into the answer, or the reason if there is none. */
void editor_told(struct editor_answer *a, struct str text, const struct err *why);

#endif
