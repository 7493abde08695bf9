/* SPDX-License-Identifier: MIT */
/*
 * Reading untrusted gzip files (RFC 1952) in one pass, and writing them.
 * Blocking, and meant for a job's child.
 */
#ifndef OD_ARCHIVE_ZIP_GZ_H
#define OD_ARCHIVE_ZIP_GZ_H

#include "base/buf.h"
#include "base/err.h"

#include <sys/types.h>

struct gunzip;

/* Reads at most n packed bytes to p. Returns how many, 0 at the end, -1 and sets *e. */
typedef ssize_t gunzip_read_fn(void *arg, void *p, size_t n, struct err *e);

/* Returns NULL and sets *e if there is no memory. */
struct gunzip *gunzip_new(gunzip_read_fn *read, void *arg, struct err *e);
void gunzip_free(struct gunzip *g); /* NULL is fine */
/*
 * Unpacks at most n bytes to p. Returns how many, 0 after the last member and the zeroes
 * that may pad it; -1 and sets *e: damaged, cut off, more than LIMIT_ZIP_TOTAL_MIB.
 */
ssize_t gunzip_read(struct gunzip *g, void *p, size_t n, struct err *e);

struct gzip;

/* Takes all packed bytes. Returns 0, or -1 and sets *e. */
typedef int gzip_put_fn(void *arg, struct str bytes, struct err *e);

/* Writes one member piece by piece. Returns NULL and sets *e if there is no memory. */
struct gzip *gzip_new(gzip_put_fn *put, void *arg, struct err *e);
void gzip_free(struct gzip *g); /* NULL is fine */
int gzip_write(struct gzip *g, struct str plain, struct err *e);
int gzip_finish(struct gzip *g, struct err *e);

/*
 * Appends plain as one member, without a name and a time, so that the output depends on
 * plain only. Returns -1 and sets *e if out is full, or there is no memory.
 */
int gzip_add(struct buf *out, struct str plain, struct err *e);

#endif
