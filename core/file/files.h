/* SPDX-License-Identifier: MIT */
/*
 * Replacing a whole file; the kind of a file's bytes; texts and their lines. Errors, and
 * the rules about paths and waiting, are those of os/file.h.
 */
#ifndef OD_FILE_FILES_H
#define OD_FILE_FILES_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

/* ---- kinds of content ---- */

/* The bytes that files_is_binary looks at. */
enum { FILES_HEAD = 1024 };

/*
 * Judges the first bytes of a file: UTF-8 without a NUL is text, and so are bytes of
 * another encoding if there is no NUL, and less than a third of them are control
 * characters or 0xff. An empty file is text.
 */
bool files_is_binary(struct str bytes);
/* Returns whether the kernel generates the file (proc, sysfs …); it may have no end. */
bool files_invented(int fd);

/* ---- lines ---- */

/* Replaces \r\n and \r by \n, in place. */
void files_newlines(struct buf *text);

/*
 * Returns the lines from start to before end, counted from 0, as a slice of the text.
 * start is clipped to existing lines, end -1 means all that follow; any other end gives
 * at least one line, if there are any: read_lines of OpenHands' runtime/utils/files.py.
 */
struct str files_slice_lines(struct str text, int64_t start, int64_t end);

/*
 * Appends the old text's lines before start, the new text with a newline after
 * it, and the old text's lines from end on. start 0: none before; end -1: none
 * after; other negative numbers count from the end. A line before the new text
 * gets the newline that it lacks. Returns -1 if out is full, and unchanged.
 */
int files_splice_lines(struct buf *out, struct str old, struct str text, int64_t start,
                       int64_t end);

/* Returns the type of a picture, PDF or film by its name; NULL: it is read as text. */
const char *files_media_type(struct str name);
/* Appends data:TYPE;base64,… Returns -1 if out is full, and unchanged. */
int files_data_url(struct buf *out, const char *type, struct str bytes);

/* ---- replacing ---- */

/* Bytes of a token. */
#define FILES_TOKEN_MAX 64

struct files_put {
    /*
     * Letters, digits, - and _: the new bytes are in .od-TOKEN next to the file
     * until it is replaced. NULL: a random one.
     */
    const char *token;
    bool parents; /* missing folders are made, with modes by the umask */
    bool sync;    /* it is on the disk before files_replace returns */
    /* For a file that did not exist. */
    mode_t mode;
    bool chown;
    uid_t uid;
    gid_t gid;
    /* Out: errno if the file was written but its owner could not be set, else 0. */
    int owner_errno;
    bool created; /* out: the file is new */
};

/*
 * Replaces the content of the file. At any moment the file has its old bytes or its new
 * ones, whatever happens meanwhile. An existing file keeps its mode, owner,
 * access list and user attributes; the target of a symbolic link is replaced, or
 * made. Other hard links keep the old bytes. A file that may not be written is not
 * replaced either.
 *
 * A file that can be written but not replaced is written in place: if its folder is not
 * writable, it is a mount of its own, or its owner cannot be given. Then an interruption
 * leaves it half written, but a lack of room does not.
 */
int files_replace(const char *path, struct str bytes, struct files_put *put,
                  struct err *e);

#endif
