/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 messages as bytes: RFC 9110 (fields), RFC 9112 (syntax).
 *
 * The parser is ours and strict, because two servers may read a request differently if
 * one of them is lenient (RFC 9112 11.2): lines end in CR LF and nothing else, a field
 * name is followed by its colon at once, no line is folded, a length is given once and
 * in digits, and the only transfer coding is chunked. Anything else is an error with the
 * status to answer.
 */
#ifndef OD_HTTP_HTTP_H
#define OD_HTTP_HTTP_H

#include "base/buf.h"

#include <time.h>

#define HTTP_FIELDS_MAX 100
#define HTTP_LINE_MAX   8192  /* a request line */
#define HTTP_HEAD_MAX   32768 /* all of a head */

struct http_field {
    struct str name, value; /* the value without blanks around it */
};

/* A request's head: slices of the bytes it was parsed from. */
struct http_head {
    struct str method;
    struct str path;  /* as it stands in the target, up to the query; "*" too */
    struct str query; /* after the `?`; p is NULL when there is none */
    struct str host;  /* that of the target, if it has one (RFC 9112 3.2.2), else Host */
    int minor;        /* of HTTP/1.x */
    int status;       /* only of an answer's head, which has none of the above */
    int nfields;
    bool keep_alive; /* RFC 9112 9.3 */
    bool chunked;
    bool has_length;
    bool expect; /* 100-continue */
    uint64_t length;
    struct http_field fields[HTTP_FIELDS_MAX];
};

struct http_error {
    int status;      /* 400, 414, 417, 431, 501, 505 */
    const char *why; /* a sentence */
};

/*
 * Parses the head at the beginning of in. Returns 1 if it is complete and *used bytes
 * long; 0 if more is needed; -1 and sets *e. Empty lines before it are skipped (RFC 9112
 * 2.2).
 */
int http_parse_head(struct str in, struct http_head *h, size_t *used,
                    struct http_error *e);
/* Moves the slices of a head after the bytes that it was parsed from have moved. */
void http_head_move(struct http_head *h, struct str from, const char *to);
/*
 * Returns the value of a field by name, ignoring case; p is NULL if there is none. If
 * there are several, it is the first; http_joined has all.
 */
struct str http_field(const struct http_head *h, const char *name);
/*
 * Appends all values of a list field, joined by ", ". Returns 1; 0 if there is none; -1
 * if out is full.
 */
int http_joined(const struct http_head *h, const char *name, struct buf *out);
/* Whether token is an item of a comma list, ignoring case (RFC 9110 5.6.1). */
bool http_has_token(struct str list, const char *token);

/*
 * Appends a percent-decoded part of a path or query; plus: `+` is a blank. Returns -1
 * for a bad escape or a NUL, or if out is full.
 */
int http_decode(struct buf *out, struct str s, bool plus);
/*
 * Appends the decoded value of a query parameter. Returns 1; 0 if it is absent; -1 as
 * http_decode, or without memory.
 */
int http_query(struct str query, const char *name, struct buf *out);

/* ---- chunked bodies: RFC 9112 7.1 ---- */

struct http_chunks {
    enum {
        CHUNK_SIZE, /* a size line is next */
        CHUNK_DATA,
        CHUNK_DATA_END, /* CR LF after the data */
        CHUNK_TRAILER,
        CHUNK_DONE
    } state;
    uint64_t left;   /* of the data */
    size_t trailers; /* bytes of the trailer section, which are dropped */
};
/*
 * Finds the next piece of data, which may be empty, at the beginning of in, of which
 * *used bytes are consumed. Returns 0; -1 if it is malformed. The body is over when
 * c->state is CHUNK_DONE; more is needed when *used is 0.
 */
int http_chunk(struct http_chunks *c, struct str in, struct str *data, size_t *used);

/* ---- ranges: RFC 9110 14 ---- */

/*
 * Applies a Range field to size bytes. Returns 1 and sets *from and *n (not 0); 0 for
 * the whole (no Range, not bytes, several, or malformed); -1 for 416, if the file has
 * none of the range.
 */
int http_range(struct str range, uint64_t size, uint64_t *from, uint64_t *n);

/* ---- answers ---- */

/* "Not Found" */
const char *http_reason(int status);
/*
 * As http_parse_head, for an answer: fills in status, fields and framing. The status in
 * *e is not to be sent.
 */
int http_parse_answer(struct str in, struct http_head *h, size_t *used,
                      struct http_error *e);
/* An IMF-fixdate (RFC 9110 5.6.7), 29 letters. */
void http_date(char out[32], time_t t);

#endif
