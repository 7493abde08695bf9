/* SPDX-License-Identifier: MIT */
/*
 * Documents as text for an agent: PDF, Word, PowerPoint, Excel, OpenDocument, EPUB, RTF,
 * LaTeX, HTML and notebook files in reading order, with marks of pages and slides; and
 * the facts of pictures, sounds and films. No program of the image is needed. The text
 * begins with a line that names the file, and has the format of the parse_ functions of
 * OpenHands (agent_skills/file_reader/file_readers.py). Files are not trusted: the limits
 * below bound memory and work, and a file that needs more is an error.
 */
#ifndef OD_DOCUMENT_DOCUMENT_H
#define OD_DOCUMENT_DOCUMENT_H

#include "base/buf.h"
#include "base/err.h"
#include "io/job.h"

enum {
    DOCREAD_FILE_MAX = 256 << 20, /* bytes of a file, which is read as a whole */
    DOCREAD_TEXT_MAX = 32 << 20,  /* bytes of text that may come out */
    DOCREAD_MEMORY = 256 << 20,   /* bytes in use, without the file and the text */
    DOCREAD_CPU_S = 60,           /* seconds of a helper; large files take some */
    DOCREAD_MEDIA_MAX = 20 << 20, /* bytes of a picture, sound or film as a data URL */
};

enum docread_kind {
    DOCREAD_AUTO, /* by the name, else by the first bytes */
    DOCREAD_PDF,
    DOCREAD_DOCX,
    DOCREAD_PPTX,
    DOCREAD_XLSX,
    DOCREAD_ODF, /* texts, spreadsheets and presentations; as Markdown, as the next two */
    DOCREAD_EPUB,
    DOCREAD_RTF,
    DOCREAD_LATEX,
    DOCREAD_HTML,
    DOCREAD_IPYNB,
    DOCREAD_IMAGE,
    DOCREAD_AUDIO,
    DOCREAD_VIDEO,
};

struct docread_file {
    enum docread_kind kind;
    const char *path;   /* opened as it stands */
    const char *shown;  /* in the first line; NULL: path */
    int frame_interval; /* DOCREAD_VIDEO: in the first line; 0: 30 */
    /*
     * As the editor shows it (5.4): no first line; headings, lists and tables as in
     * Markdown; a comment before each slide and page; of media only the facts.
     */
    bool markdown;
};

/*
 * Appends the first line and the text, as the parse_ function prints it, with the last
 * newline. It blocks and takes memory in this process, so it is for helpers. On error
 * returns -1 and sets *e: a code of os/file.h, INVALID for a damaged file, UNSUPPORTED
 * for one that needs a password and for other formats, LIMIT. Then out has what the
 * parse_ function prints: nothing, or for DOCREAD_PPTX the first line and one that begins
 * with "Error reading PowerPoint file: ".
 */
int docread_text(const struct docread_file *f, struct buf *out, struct err *e);
/* Returns the kind that DOCREAD_AUTO stands for; DOCREAD_AUTO if it is not known. */
enum docread_kind docread_kind_of(struct str name, struct str head);

/*
 * Returns -1 and sets *e to what an open file is and what to do, if it is a document of a
 * format that is known and not read, as .doc; else 0.
 */
int docread_refuse(int fd, struct err *e);

/* text holds until the call returns; e->code is ERR_NONE if it worked. */
typedef void docread_done_fn(void *arg, struct str text, const struct err *e);

struct docread_spec {
    struct docread_file file;
    bool as_user; /* the user who reads the file, as in struct job_spec */
    uid_t uid;
    gid_t gid;
    const gid_t *groups;
    size_t groups_n;
    const char *cwd; /* for a relative path; NULL: the current folder */
};

/*
 * The same in a helper with limits of memory, time and output. The loop owns the job:
 * job_cancel ends it without calling done. Returns NULL and sets *e if nothing was
 * started.
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
 * Returns the media type of a picture by its first bytes, and sets its size in pixels, 0
 * if that is not known. Returns NULL if it is not one that every client can show: PNG,
 * JPEG, GIF, WebP.
 */
const char *docread_picture(struct str bytes, uint64_t *width, uint64_t *height);

/*
 * Returns the kind of an office file or book by its media type, in any case; DOCREAD_AUTO
 * if it is another one.
 */
enum docread_kind docread_package_kind(struct str type);
/* Appends the text of an open office file or book. Returns as docread_text. */
int docread_package(int fd, enum docread_kind kind, bool markdown, struct buf *out,
                    struct err *e);

#endif
