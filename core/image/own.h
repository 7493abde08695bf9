/* SPDX-License-Identifier: MIT */
/* What the files of this room share. */
#ifndef OD_IMAGE_OWN_H
#define OD_IMAGE_OWN_H

#include "archive/tar_write.h"
#include "base/hash.h"
#include "base/json.h"
#include "image/image.h"

enum {
    IMAGE_NAME_MAX = 1024,      /* of a file in an archive: blobs/sha256/… has 77 */
    IMAGE_JSON_MAX = 4 << 20,   /* what registries accept as a manifest */
    IMAGE_LAYERS_MAX = 512,     /* engines stop at 128 */
    IMAGE_IMAGES_MAX = 1024,    /* in one archive */
    IMAGE_BINARY_MAX = 64 << 20 /* bytes */
};

/* ---- where images come from: box.c ---- */

struct image_box;

/* A part of a file; borrows the descriptor unless `own`. */
struct image_file {
    int fd;
    bool own;
    uint64_t at, size;
};

void image_file_close(struct image_file *f);
/*
 * Reads at most n bytes from `from` on. Returns how many, 0 at the end; -1 and sets *e.
 */
ssize_t image_file_read(const struct image_file *f, uint64_t from, void *p, size_t n,
                        struct err *e);

/* Opens a file, or standard input as "-". The caller closes it. */
int image_file_open(const char *path, struct image_file *out, struct err *e);

/*
 * Opens an image; "-" is standard input. A source that is not seekable is copied to a
 * nameless file first.
 */
struct image_box *image_box_open(const char *path, struct err *e);
void image_box_close(struct image_box *b); /* NULL is fine */
bool image_box_is_folder(const struct image_box *b);
/*
 * Finds the file of that name; links are followed in an archive, not in a folder. Returns
 * 1; 0 if there is none; -1 and sets *e. real: gets its own name, if not NULL.
 */
int image_box_find(struct image_box *b, struct str name, struct image_file *out,
                   char real[IMAGE_NAME_MAX + 1], struct err *e);
/* Reads a small file. Returns 1; a missing file is an error, or with `maybe` 0. */
int image_box_text(struct image_box *b, const char *name, bool maybe, struct buf *out,
                   struct err *e);

/* ---- where they go: out.c ---- */

struct image_out;

struct image_out *image_out_open(const char *path, bool folder, bool force,
                                 const char *token, struct err *e);
/* Removes an unfinished result. NULL is fine. */
void image_out_close(struct image_out *o);
bool image_out_has(const struct image_out *o, const char *name);
/*
 * Write a file, once for each name: a second one of that name is left out. hash may be
 * NULL.
 */
int image_out_text(struct image_out *o, const char *name, struct str text, struct err *e);
int image_out_copy(struct image_out *o, const char *name, const struct image_file *f,
                   struct hash *hash, struct err *e);
/* Moves the result to its place. */
int image_out_finish(struct image_out *o, struct err *e);

/* ---- what is in layers: layers.c ---- */

enum { IMAGE_PLACE_DEPTH = 16, IMAGE_PLACE_MAX = 1024 };

enum image_kind { IMAGE_NOTHING, IMAGE_FOLDER, IMAGE_SYMLINK, IMAGE_FILE };

/* A folder on the path of the binary, or the binary, in the state after all layers. */
struct image_part {
    char path[IMAGE_PLACE_MAX + 1]; /* without a slash at the beginning */
    enum image_kind kind;
    bool ours; /* an od */
    unsigned layer;
    mode_t mode;
    uint64_t uid, gid;
    int64_t mtime;
    char link[IMAGE_PLACE_MAX + 1];
};

/* A path, with links of folders followed; a link at its end is not. */
struct image_place {
    struct image_part parts[IMAGE_PLACE_DEPTH]; /* the last one is the program */
    unsigned parts_n;                    /* 0: it leads nowhere */
    char place[2 * IMAGE_PLACE_MAX];     /* input: the absolute path */
    bool found;                          /* layers_find's own */
};

struct image_places {
    struct image_place *at; /* owned by the caller; the first one is the binary's */
    unsigned n;            /* at least 1 */
    uint64_t packed_max;   /* input: so many bytes of compressed layers are read */
    bool blind;            /* some layers were not read */
    bool skipped;          /* packed_max is why */
};

/*
 * Finds in an image of these layers the place of `dest`, which is at[0], and those of the
 * others. Returns -1 and sets *e: damaged layers, names that lead out; for dest also a
 * file where a folder is needed, too many links.
 */
int layers_find(struct image_places *s, const char *dest, const struct image_file *layers,
                unsigned n, struct err *e);
/* Hashes the layer's bytes, unpacked if it is gzip. */
int layer_hash(const struct image_file *layer, struct hash *h, struct err *e);
bool layer_is_gzip(const struct image_file *layer);

/* ---- links beside the binary: links.c ---- */

enum { IMAGE_LINKS_MAX = 16, IMAGE_PATH_MAX = 64 };

struct image_links {
    const struct image_spec *spec;
    struct image_places
        places; /* owned: the binary; each link and its name in each dir */
    struct str names[IMAGE_LINKS_MAX]; /* those that the image has not from us yet */
    bool make[IMAGE_LINKS_MAX];
    unsigned n, dirs_n;
    struct str dirs[IMAGE_PATH_MAX]; /* of PATH, without the binary's own */
    unsigned before;                 /* so many come before the binary's */
    struct str was;                  /* where the image has an od, or "" */
    char label[512];                 /* od.as: the names that the image has from us */
    unsigned left;                   /* names that will not lead to us */
};

/*
 * Takes the names of spec->as that the image lacks, and the paths to look at; config is
 * borrowed until links_judge returns. Returns -1 and sets *e if there are too many. End
 * it in any case.
 */
int links_begin(struct image_links *k, const struct image_spec *s,
                const struct json *config, struct err *e);
void links_end(struct image_links *k);
/* After layers_find: decides what is made, and says so. Returns how many links are. */
unsigned links_judge(struct image_links *k, const char *platform);
/* Appends the links to a layer. */
int links_tar(const struct image_links *k, struct buf *out, struct err *e);
/* Returns -1 and sets *e if links were left out of the finished `out`. */
int links_say_left(const struct image_spec *s, unsigned left, const char *out,
                   struct err *e);

/* ---- one image: change.c ---- */

struct change_result {
    unsigned left; /* links that were left out */
    bool changed; /* false: the image has this od already, and nothing was written */
    char config[IMAGE_HEX + 1], layer[IMAGE_HEX + 1];
    uint64_t config_size, layer_size;
};

struct change {
    const struct image_spec *spec;
    struct image_out *out;
    bool oci;   /* files are called blobs/sha256/HEX */
    bool gzip;  /* the new layer is compressed */
    bool alone; /* the image has nothing else */
};

/* Returns the binary for the config's platform; NULL if there is none. */
const struct image_binary *change_binary(const struct image_spec *s,
                                         const struct json *config);
/* Writes "linux/amd64", cut to fit, for messages. */
void change_platform(const struct json *config, char out[64]);
/* Writes the new layer and the new config; config is changed. */
int change_image(const struct change *c, struct json *config,
                 const struct image_binary *binary, const struct image_file *layers,
                 unsigned n, struct change_result *r, struct err *e);
void change_name(bool oci, const char *hex, const char *suffix,
                 char out[IMAGE_NAME_MAX + 1]);

void image_hex(const uint8_t *digest, char out[IMAGE_HEX + 1]);
void image_sha256(struct str bytes, char out[IMAGE_HEX + 1]);
void image_say(const struct image_spec *s, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- walks over an index, for adding and for showing: walk.c ---- */

/* Descriptors: image-spec, "descriptor". */
struct image_ref {
    struct str type;
    char hex[IMAGE_HEX + 1];       /* of a sha256; else empty */
    char name[IMAGE_NAME_MAX + 1]; /* blobs/ALGORITHM/DIGITS */
    uint64_t size;
};

int image_ref_of(const struct json *descriptor, struct image_ref *r, struct err *e);
/*
 * Parses a blob after its size and digest are checked. Returns 1; 0 if it is missing; -1
 * and sets *e.
 */
int image_ref_json(struct image_box *b, const struct image_ref *r, struct json **out,
                   struct err *e);
bool image_type_is_index(struct str type);
bool image_type_is_manifest(struct str type);
bool image_type_is_config(struct str type);
bool image_is_attestation(const struct json *descriptor);
/*
 * Finds the layers' files of an OCI manifest; fd is -1 for a missing one that has a URL.
 */
int image_layers_of(struct image_box *b, const struct json *manifest,
                    struct image_file *out, unsigned *n, struct err *e);
/*
 * The same for an entry of docker's manifest.json; names gets their own names, or is
 * NULL.
 */
int image_docker_layers(struct image_box *b, const struct json *entry,
                        struct image_file *out, char (*names)[IMAGE_NAME_MAX + 1],
                        unsigned *n, struct err *e);
int image_docker_config(struct image_box *b, const struct json *entry,
                        char name[IMAGE_NAME_MAX + 1], struct json **out, struct err *e);
void image_files_close(struct image_file *files, unsigned n);

#endif
