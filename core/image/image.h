/* SPDX-License-Identifier: MIT */
/*
 * Container images as files, without an engine: an archive of docker save or an
 * OCI layout (image-spec 1.1, "image-layout", "image-index", "manifest",
 * "config", "layer"), each as a tar archive or a folder, and archives that are
 * both. To add our binary to one, to make one, to say what one is.
 *
 * All blocking, for a child that may take its time. What is read is hostile;
 * memory does not grow with the image. The result is there whole or not at all.
 */
#ifndef OD_IMAGE_IMAGE_H
#define OD_IMAGE_IMAGE_H

#include "base/buf.h"
#include "base/err.h"

enum {
    IMAGE_ARCH_MAX = 16,
    IMAGE_BINARIES_MAX = 16,
    IMAGE_HEX = 64, /* digits of a SHA-256 */
    IMAGE_TOKEN_MAX = 32
};

/* A program that is put into images. */
struct image_binary {
    char arch[IMAGE_ARCH_MAX]; /* as image configs name them: "amd64" */
    char sha256[IMAGE_HEX + 1];
    struct buf bytes;
};

/*
 * Reads fd, which stays the caller's: a static ELF program of ours, of a
 * processor that images know. what: its name, for sentences. b is initialised
 * here; release it in any case.
 */
int image_binary_read(struct image_binary *b, int fd, const char *what, struct err *e);
void image_binary_release(struct image_binary *b);

enum image_entry {
    IMAGE_SERVE, /* DEST serve -- and the image's own command */
    IMAGE_KEEP   /* as it was */
};

enum { IMAGE_LOOK_MAX = 32 << 20 }; /* packed bytes: a third of a second's work */

/* Everything is borrowed. */
struct image_spec {
    const struct image_binary *binaries; /* one for an architecture at most */
    size_t binaries_n;
    const char *dest;    /* the absolute path of the binary in the image */
    const char *version; /* ours, for the label */
    enum image_entry entry;
    const char *tag;      /* the result's name, "x:y", or NULL */
    const char *ref;      /* what a layout calls it, if it is another name */
    bool skip_missing;    /* images without a binary for them stay as they are */
    bool verify;          /* layers' digests, too */
    bool no_look;         /* compressed layers are taken to have nothing in the way */
    bool look_all;        /* or none is; else those beyond IMAGE_LOOK_MAX in all are */
    bool force;           /* replace OUT, and another program at dest */
    const char *token;    /* of letters and digits: for the name of what is not whole */
    char *const *command; /* image_make: the image's own command; NULL: none */
    /* Takes a line about what was done. */
    void (*say)(void *arg, const char *line);
    void *arg;
};

/* Adds the binary to every image in `in` and writes `out`, of the same form. */
int image_add(const struct image_spec *s, const char *in, const char *out, struct err *e);
/*
 * An image of the binary alone, or of a root file system (a tar archive, plain or
 * gzip; NULL: none) with it. An archive that is both forms, or an OCI folder.
 */
int image_make(const struct image_spec *s, const char *rootfs, const char *out,
               bool folder, struct err *e);
/* Lines about it to say(); spec: binaries, say and arg count. */
int image_show(const struct image_spec *s, const char *in, struct err *e);

/* Removes what a child that was killed left of `out`. */
void image_clean(const char *out, const char *token);

#endif
