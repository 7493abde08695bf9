/* SPDX-License-Identifier: MIT */
/*
 * Container images as files, without an engine: an archive of docker save or an
 * OCI layout (image-spec 1.1, "image-layout", "image-index", "manifest",
 * "config", "layer"), each as a tar archive or a folder, and archives that are both.
 * Functions add our binary to an image, make one, and show one. All of them block and are
 * for a child process. Input is hostile; memory does not grow with the image. The result
 * is written as a whole or not at all.
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
 * Reads a static od program for a processor that images have. fd stays the caller's.
 * what: its name, for errors. b is initialised here; release it in any case.
 */
int image_binary_read(struct image_binary *b, int fd, const char *what, struct err *e);
void image_binary_release(struct image_binary *b);

enum image_entry {
    IMAGE_SERVE, /* DEST serve -- and the image's own command */
    IMAGE_KEEP   /* as it was */
};

enum { IMAGE_UNPACK_MAX = 32 << 20 }; /* compressed bytes: work of a third of a second */

/* Everything is borrowed. */
struct image_spec {
    const struct image_binary *binaries; /* at most one for each architecture */
    size_t binaries_n;
    const char *dest;    /* the absolute path of the binary in the image */
    const char *version; /* ours, for the label */
    enum image_entry entry;
    const char *tag;      /* the result's name, "x:y", or NULL */
    const char *ref;      /* its name in a layout, if that differs */
    bool skip_missing;    /* images without a binary for them stay unchanged */
    bool verify;          /* check the digests of layers, too */
    bool no_unpack;       /* assume that compressed layers have nothing on the path */
    bool unpack_all;      /* read all; neither: IMAGE_UNPACK_MAX compressed bytes */
    bool force;           /* replace OUT, and other programs at dest and of `as` */
    const char *as;       /* names of links beside dest, with commas; NULL: none */
    const char *token;    /* letters and digits, for the name of the unfinished result */
    char *const *command; /* image_make: the image's own command; NULL: none */
    /* Takes a line about what was done. */
    void (*say)(void *arg, const char *line);
    void *arg;
};

/*
 * Adds the binary to every image in `in` and writes `out`, of the same form. ERR_EXISTS
 * also if `out` was written, without a link of `as` since the image has such a program.
 */
int image_add(const struct image_spec *s, const char *in, const char *out, struct err *e);
/*
 * Makes an image of the binary alone, or of a root file system (a tar archive, plain or
 * gzip; NULL: none) with it: an archive of both forms, or an OCI folder.
 */
int image_make(const struct image_spec *s, const char *rootfs, const char *out,
               bool folder, struct err *e);
/*
 * Describes an image in lines passed to say(). Of the spec, only binaries, say and arg
 * are used.
 */
int image_show(const struct image_spec *s, const char *in, struct err *e);

/* Removes the unfinished `out` of a child that was killed. */
void image_clean(const char *out, const char *token);

#endif
