/* SPDX-License-Identifier: MIT */
/*
 * Documents as text: what an agent reads of PDF, Word, PowerPoint, Excel, LaTeX, HTML
 * and notebook files, in reading order, with marks of pages and slides; and the facts
 * of pictures, sounds and films. No program of the image is needed.
 *
 * The text begins with a line that says what is read, and has the form of the
 * parse_ functions of OpenHands (agent_skills/file_reader/file_readers.py). Files are a
 * stranger's: whatever they hold, memory and work are bounded by what is below, and
 * a file that would take more is an error.
 */
#ifndef OD_DOCUMENT_DOCUMENT_H
#define OD_DOCUMENT_DOCUMENT_H

#include "base/buf.h"
#include "base/err.h"
#include "io/job.h"

enum {
    DOCREAD_FILE_MAX = 256 << 20, /* bytes of a file, which is read as a whole */
    DOCREAD_TEXT_MAX = 32 << 20,  /* bytes of text that may come out */
    DOCREAD_MEMORY = 256 << 20,   /* bytes in use, beside the file and the text */
    DOCREAD_CPU_S = 60,           /* seconds of a helper; large files take some */
    DOCREAD_MEDIA_MAX = 20 << 20, /* bytes of a picture, sound or film as a data URL */
};

enum docread_kind {
    DOCREAD_AUTO, /* by the name, else by the first bytes */
    DOCREAD_PDF,
    DOCREAD_DOCX,
    DOCREAD_PPTX,
    DOCREAD_XLSX,
    DOCREAD_LATEX,
    DOCREAD_HTML,
    DOCREAD_IPYNB,
    DOCREAD_IMAGE,
    DOCREAD_AUDIO,
    DOCREAD_VIDEO,
};

struct docread_file {
    enum docread_kind kind;
    const char *path;   /* is opened, as it is */
    const char *shown;  /* in the first line; NULL: path */
    int frame_interval; /* DOCREAD_VIDEO: in the first line; 0: 30 */
    /*
     * As the editor shows it (5.4): no first line, headings, lists and tables as
     * Markdown has them, slides and pages after a comment; of media the facts only.
     */
    bool markdown;
};

/*
 * Appends the first line and the text, as the parse_ function prints it, the last
 * newline included. Blocking, with memory in this process: for helpers.
 *
 * -1: e has os/file.h's code, or INVALID for damaged files, UNSUPPORTED for
 * encrypted ones and other formats, LIMIT. Then out has what the function
 * prints in that case: nothing, but of DOCREAD_PPTX the first line and another
 * that begins with "Error reading PowerPoint file: ".
 */
int docread_text(const struct docread_file *f, struct buf *out, struct err *e);
/* The kind that DOCREAD_AUTO takes; DOCREAD_AUTO: none that is known. */
enum docread_kind docread_kind_of(struct str name, struct str head);

/* text holds until the call returns; e->code is ERR_NONE if it worked. */
typedef void docread_done_fn(void *arg, struct str text, const struct err *e);

struct docread_spec {
    struct docread_file file;
    bool as_user; /* of whom the file is read, as in struct job_spec */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* for a path that is relative; NULL: here */
};

/*
 * The same in a helper with limits of memory, time and output. The job is the
 * loop's: job_cancel ends it, without done. NULL with e: nothing was started.
 */
struct job *docread_start(struct loop *l, const struct docread_spec *spec,
                          docread_done_fn *done, void *arg, struct err *e);

/*
 * Appends the facts of a picture, sound or film whose bytes are in memory, and its data
 * URL unless it is for Markdown; name is shown. Returns -1 with *e set: LIMIT.
 */
int docread_media(enum docread_kind kind, struct str name, struct str bytes,
                  bool markdown, struct buf *out, struct err *e);

/*
 * The media type of a picture whose first bytes are these, with its size in pixels, 0
 * where it is not known. Returns NULL if it is none that a client can be expected to
 * show: PNG, JPEG, GIF, WebP.
 */
const char *docread_picture(struct str bytes, uint64_t *width, uint64_t *height);

/* Append the text of an office file that is open. Errors as docread_text. */
int docread_docx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_pptx(int fd, bool markdown, struct buf *out, struct err *e);
int docread_xlsx(int fd, struct buf *out, struct err *e);

#endif
