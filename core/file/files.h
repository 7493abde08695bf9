/* SPDX-License-Identifier: MIT */
/*
 * Replacing a file as a whole; the kind of a file's bytes; texts and their lines. Errors
 * are those of os/file.h, as are the rules about paths and waiting.
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
 * By the first bytes of a file: UTF-8 without a NUL is text, and so are bytes of
 * another encoding if there is no NUL, no 0xff, and less than a third of them
 * are control characters. No bytes are text.
 */
bool files_is_binary(struct str bytes);
/* Is it a file that the kernel generates (proc, sysfs …)? Such files may have no end. */
bool files_invented(int fd);

/* ---- lines ---- */

/* Makes \r\n and \r to \n, in place. */
void files_newlines(struct buf *text);

/*
 * Lines start..end of the text, from 0, without the last: a part of it. start
 * is moved to where lines are, end -1 is all that follow; any other end gives
 * at least one line, if there are any: read_lines of OpenHands' runtime/utils/files.py.
 */
struct str files_slice_lines(struct str text, int64_t start, int64_t end);

/*
 * Appends the old text's lines before start, the new text with a newline behind
 * it, and the old text's lines from end on. start 0: none before; end -1: none
 * behind; other negative numbers count from the end. A line before the new text
 * gets the newline that it lacks. -1: out is full, unchanged.
 */
int files_splice_lines(struct buf *out, struct str old, struct str text, int64_t start,
                       int64_t end);

/* The type of a picture, PDF or film, by its name; NULL: to be read as text. */
const char *files_media_type(struct str name);
/* Appends data:TYPE;base64,… -1: out is full, unchanged. */
int files_data_url(struct buf *out, const char *type, struct str bytes);

/* ---- replacing ---- */

/* Bytes of a token. */
#define FILES_TOKEN_MAX 64

struct files_put {
    /*
     * Letters, digits, - and _: the new bytes lie in .od-TOKEN next to the file
     * until it is replaced. NULL: one by chance.
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
 * Makes the file hold these bytes. At any moment the file has its old bytes or its new
 * ones, whatever happens meanwhile. An existing file keeps its mode, owner,
 * access list and user attributes; the target of a symbolic link is replaced, or
 * made. Other hard links keep the old bytes. A file that may not be written is not
 * replaced either.
 *
 * A file that can be written but not replaced is written in place: in a folder that is
 * not writable, on a mount of its own, with an owner that cannot be given. Then an
 * interruption leaves it half written, but a lack of room does not.
 */
int files_replace(const char *path, struct str bytes, struct files_put *put,
                  struct err *e);

#endif
