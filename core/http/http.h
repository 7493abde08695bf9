/* SPDX-License-Identifier: MIT */
/*
 * HTTP/1.1 messages as bytes: RFC 9110 (fields), RFC 9112 (syntax).
 *
 * The parser is ours and strict, because a lenient one is what makes requests
 * that two servers read differently (RFC 9112 11.2): lines end in CR LF and
 * nothing else, a field name is followed by its colon at once, no line is
 * folded, a length is given once and in digits, and the only transfer coding is
 * chunked. What does not fit is an error with the status to answer.
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
    struct str host;  /* of the target if it names one (RFC 9112 3.2.2), else Host */
    int minor;        /* of HTTP/1.x */
    int status;       /* of an answer's head, which has none of the above but this */
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
 * The head at the beginning of in. 1: whole, *used bytes long; 0: more is
 * needed; -1: *e. Empty lines before it are passed over (RFC 9112 2.2).
 */
int http_parse_head(struct str in, struct http_head *h, size_t *used,
                    struct http_error *e);
/* The bytes that a head was parsed from have moved: its slices do too. */
void http_head_move(struct http_head *h, struct str from, const char *to);
/*
 * The value of a field by name, any case. p is NULL when there is none. With
 * more of them, the first: a caller to whom the others matter uses http_joined.
 */
struct str http_field(const struct http_head *h, const char *name);
/* All values of a list field, joined by ", ". 1, 0: none, -1: out is full. */
int http_joined(const struct http_head *h, const char *name, struct buf *out);
/* Is token one of the words of a comma list? Any case (RFC 9110 5.6.1). */
bool http_has_token(struct str list, const char *token);

/*
 * Percent-decodes a path or query part, `+` to a blank in a query (plus). -1:
 * a bad escape, a NUL, or out is full.
 */
int http_decode(struct buf *out, struct str s, bool plus);
/* A value of a query by name, decoded. 1 there, 0 not, -1 as above, or no memory. */
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
 * The next piece of data at the beginning of in, which may be empty; *used
 * bytes of in are done with. 0; -1: malformed. When c->state is CHUNK_DONE, the
 * body is over; when *used is 0, more is needed.
 */
int http_chunk(struct http_chunks *c, struct str in, struct str *data, size_t *used);

/* ---- ranges: RFC 9110 14 ---- */

/*
 * What a Range field asks of size bytes. 1: *from and *n (not 0); 0: all of it
 * (none, not bytes, several, or malformed); -1: 416, nothing of it is there.
 */
int http_range(struct str range, uint64_t size, uint64_t *from, uint64_t *n);

/* ---- answers ---- */

/* "Not Found" */
const char *http_reason(int status);
/*
 * As http_parse_head, of an answer: status, fields and framing are filled in.
 * What e says of a status is nothing to be sent.
 */
int http_parse_answer(struct str in, struct http_head *h, size_t *used,
                      struct http_error *e);
/* An IMF-fixdate (RFC 9110 5.6.7), 29 letters. */
void http_date(char out[32], time_t t);

#endif
