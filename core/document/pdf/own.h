/* SPDX-License-Identifier: MIT */
/*
 * What the files of this room share. Sections are those of ISO 32000-1:2008.
 *
 * A value is small and passed by copy; what it points to is in the file or in
 * the arena, and lives as long as the document. An object that is missing or damaged,
 * refers to itself or would need too much is PDF_NULL, as in 7.3.10: readers go on with
 * the rest. Only an error that makes the whole file useless sets d->err.
 */
#ifndef OD_DOCUMENT_PDF_OWN_H
#define OD_DOCUMENT_PDF_OWN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    PDF_DEPTH_MAX = 64,         /* nesting of arrays, pages, forms */
    PDF_OBJECTS_MAX = 4 << 20,  /* numbers of objects */
    PDF_STREAM_MAX = 64 << 20,  /* bytes that one stream unpacks to */
    PDF_PROGRAM_MAX = 16 << 20, /* bytes of a font program */
    PDF_PACKED_MAX = 96 << 20   /* bytes of objects and fonts in memory */
};

/* ---- objects (7.3): object.c ---- */

enum pdf_type {
    PDF_NULL,
    PDF_BOOL,
    PDF_INT,
    PDF_REAL,
    PDF_NAME,
    PDF_STRING,
    PDF_ARRAY,
    PDF_DICT,
    PDF_STREAM,
    PDF_REF,
    PDF_WORD,  /* not an object: an operator, obj, endobj, stream, … */
    PDF_CLOSE, /* not an object: ] or >> */
    PDF_END
};

struct pdf_array;
struct pdf_dict;
struct pdf_stream;

struct pdf_obj {
    enum pdf_type type;
    union {
        bool flag;
        int64_t i;
        double r;
        struct str s; /* NAME, STRING (as bytes), WORD */
        const struct pdf_array *array;
        const struct pdf_dict *dict;
        struct pdf_stream *stream;
        uint32_t ref;
    };
};

struct pdf_array {
    size_t n;
    struct pdf_obj *item;
};

struct pdf_pair {
    struct str key;
    struct pdf_obj value;
};

struct pdf_dict {
    size_t n;
    struct pdf_pair *pair;
};

struct charset_tables;
struct pdf_crypt;
struct pdf_pack;

struct pdf_stream {
    struct pdf_dict dict;
    struct str raw;        /* as in the file */
    struct pdf_pack *pack; /* of an object stream that was unpacked */
    uint32_t number, generation;
    bool encrypted; /* if the file is */
};

struct pdf;

struct pdf_lex {
    struct pdf *d;
    struct arena *a; /* for the parsed objects */
    struct str s;
    size_t at;
    bool refs;      /* "1 0 R" is a reference: not in content */
    bool encrypted; /* strings are those of the object: number, generation */
    uint32_t number, generation;
};

/* Returns the next object or word; PDF_END at the end, or when no work is left. */
struct pdf_obj pdf_parse(struct pdf_lex *l);
void pdf_skip_space(struct pdf_lex *l);
bool pdf_is_space(char c);
bool pdf_is_word(struct pdf_obj o, const char *word);

/* ---- the file (7.5): file.c, xref.c ---- */

enum pdf_where { PDF_NOWHERE, PDF_AT, PDF_PACKED };

struct pdf_entry {
    uint64_t at;           /* AT: offset in the file; PACKED: the stream's number */
    uint32_t index;        /* PACKED: which of its objects */
    uint8_t where;         /* enum pdf_where */
    bool busy;             /* is being read: a request now is a reference to itself */
    struct pdf_obj *value; /* what was read */
};

struct pdf {
    struct str file; /* from %PDF- on; borrowed */
    struct arena arena;
    struct pdf_entry *entry; /* owned */
    size_t entries, entries_room;
    struct pdf_obj trailer;
    struct pdf_crypt *crypt;         /* in the arena; NULL: the file is not encrypted */
    bool rebuilt;                    /* the table was rebuilt by searching the file */
    int64_t work;                    /* steps left: a file that takes more is refused */
    int64_t unpack;                  /* bytes that streams may still unpack to */
    struct charset_tables *charsets; /* owned; NULL until a font needs them */
    struct err err;                  /* the first error that ends the reading */
};

/* Finds the objects. Returns -1 and sets d->err. */
int pdf_open(struct pdf *d, struct str file);
void pdf_close(struct pdf *d);
/* Counts n steps of work. Returns false and sets d->err if none are left. */
bool pdf_work(struct pdf *d, int64_t n);

/* Returns what a reference leads to; any other object unchanged. Never a PDF_REF. */
struct pdf_obj pdf_resolve(struct pdf *d, struct pdf_obj o);
/* Returns a value of a dictionary, or of a stream's, resolved. */
struct pdf_obj pdf_get(struct pdf *d, struct pdf_obj o, const char *key);
/* The same, not resolved. */
struct pdf_obj pdf_get_raw(struct pdf_obj o, const char *key);
struct pdf_obj pdf_item(struct pdf *d, struct pdf_obj array, size_t i);
size_t pdf_count(struct pdf_obj array);
bool pdf_is_name(struct pdf_obj o, const char *name);
bool pdf_number(struct pdf_obj o, double *out);
int64_t pdf_int(struct pdf_obj o, int64_t dflt);

/* xref.c: reads the file's tables of objects. Returns -1 if they are damaged. */
int pdf_read_xref(struct pdf *d);
/* Rebuilds the table by searching the whole file. */
void pdf_rebuild(struct pdf *d);
/*
 * Reads the object at an offset of the file, with its number (0: any). Returns false if
 * there is none.
 */
bool pdf_object_at(struct pdf *d, uint64_t at, uint32_t *number, struct pdf_obj *o);

/* ---- encryption (7.6): crypt.c ---- */

/*
 * Finds the key of an encrypted file, once. Returns -1 with d->err set: UNSUPPORTED if it
 * needs a password, or is encrypted in another way.
 */
int pdf_crypt_open(struct pdf *d);
/* Returns a string of an object decrypted, in the arena; d is encrypted. */
struct str pdf_decrypt_string(struct pdf *d, struct arena *a, struct str s,
                              uint32_t number, uint32_t generation);
/* Appends the decrypted bytes of a stream; d is encrypted. Returns -1 if out is full. */
int pdf_decrypt_stream(struct pdf *d, const struct pdf_stream *s, struct buf *out);

/* ---- streams (7.4): filter.c ---- */

/*
 * Appends the unpacked stream, up to where it is damaged. Returns -1 for a filter that is
 * not for text, and at a limit.
 */
int pdf_unpack(struct pdf *d, const struct pdf_stream *s, struct buf *out);

/* ---- fonts (9.5 to 9.10): font.c and others ---- */

/* A map of codes: ToUnicode, or the codes to CIDs of Type 0 fonts. */
struct pdf_cmap;

/* Reads the CMap of a stream. Returns NULL if it is not one, or as pdf_cmap_read. */
struct pdf_cmap *pdf_cmap_of(struct pdf *d, struct pdf_obj o);
/* Reads a CMap into d's arena. Returns NULL if it is empty or memory is short. */
struct pdf_cmap *pdf_cmap_read(struct pdf *d, struct str text);
/* Appends the UTF-8 text of a code. Returns false if it has none. */
bool pdf_cmap_text(const struct pdf_cmap *m, uint32_t code, struct buf *out);
/* Sets *cid of a code. Returns false if it has none. */
bool pdf_cmap_cid(const struct pdf_cmap *m, uint32_t code, uint32_t *cid);
/* Reads the next code of a string of at least one byte. Returns its length (1 to 4). */
size_t pdf_cmap_next(const struct pdf_cmap *m, struct str s, uint32_t *code);
bool pdf_cmap_has_spaces(const struct pdf_cmap *m);

/*
 * Returns the character of a glyph's name, a ligature as one; 0 if it is unknown, or
 * several.
 */
uint32_t pdf_glyph_char(struct str name);

/*
 * Sets the names of the 256 codes by a font program's own encoding (Type 1, CFF); the
 * others stay. Names are slices of `program`, or static.
 */
void pdf_builtin_type1(struct str program, struct str names[256]);
void pdf_builtin_cff(struct str program, struct str names[256]);

/*
 * Sets the characters of glyphs by the tables or names in a font program: TrueType and
 * OpenType (sfnt.c), and CFF. Entries of unknown glyphs stay.
 */
bool pdf_is_sfnt(struct str program);
void pdf_sfnt_chars(struct str program, uint32_t *chars, size_t n);
void pdf_cff_chars(struct str program, uint32_t *chars, size_t n);

/* Returns the width in thousandths, for a font that every reader has or a similar one. */
double pdf_standard_width(struct str font, struct str text);

struct pdf_width {
    uint32_t from, to;
    const struct pdf_array *list; /* NULL: all of them are `width` */
    double width;
};

struct pdf_font {
    const struct pdf_dict *key; /* identifies the font */
    struct pdf_font *next;
    bool wide, vertical; /* Type 0 */
    uint8_t kind;        /* kind of its codes, unless there are `codes` */
    uint16_t space;      /* the number of the blank, of ASCII codes; 0: unknown */
    double scale;        /* of widths: a thousandth, except for Type 3 */
    double em;           /* height of a letter at size 1; for Type 3 not always 1 */
    struct pdf_cmap *to_unicode, *codes;
    struct str text[256]; /* of simple fonts */
    double width[256];
    struct pdf_width *widths; /* of Type 0, by CID */
    size_t widths_n;
    double default_width;
    int collection;                      /* of Type 0, as of charset_collection */
    const struct charset_tables *tables; /* borrowed; NULL if they are not needed */
    uint32_t *chars;                     /* of Type 0, by CID; NULL if none are known */
    size_t chars_n;
};

/* Reads a Type 0 font whose to_unicode is already set: wide.c */
void pdf_wide_read(struct pdf *d, struct pdf_font *f, struct pdf_obj font);
size_t pdf_wide_next(const struct pdf_font *f, struct str s, uint32_t *code);
void pdf_wide_text(const struct pdf_font *f, uint32_t code, struct buf *out);
double pdf_wide_width(struct pdf *d, const struct pdf_font *f, uint32_t code);

/* Reads a font into d's arena. Returns NULL if memory is short. */
struct pdf_font *pdf_font_new(struct pdf *d, struct pdf_obj font);
/* Reads the next code of a string of at least one byte. Returns its length. */
size_t pdf_font_next(const struct pdf_font *f, struct str s, uint32_t *code);
/* Appends the text of a code, if it is known. */
void pdf_font_text(const struct pdf_font *f, uint32_t code, struct buf *out);
/* Returns the width of a code in text space, at size 1. */
double pdf_font_width(struct pdf *d, const struct pdf_font *f, uint32_t code);

/* ---- text of a page: text.c ---- */

struct pdf_glyph {
    float x, y;     /* where it begins, on its base line; y grows upward */
    float dx, dy;   /* from there to where it ends */
    float size;     /* height of the font there */
    uint32_t at, n; /* bytes in `text` */
};

struct pdf_page {
    struct buf glyphs; /* of struct pdf_glyph, as the page draws them */
    struct buf text;
    bool pictures; /* it has some */
    size_t drawn;  /* glyphs in all */
    size_t mute;   /* those whose character is unknown */
};

/* Of a function in a file that is made fast: it is small instead. */
#define PDF_SMALL __attribute__((cold, noinline))

enum pdf_before { PDF_JOINED, PDF_BLANK, PDF_NEW_LINE };

/* Letters without a gap on one base line, turned so that they run to the right. */
struct pdf_word {
    float x0, x1, y, size;
    uint32_t at, n; /* bytes of the text */
    uint32_t seq;   /* its position in the order of drawing */
    uint32_t block;
    float line;
    uint8_t turn;   /* quarters of a circle */
    uint8_t before; /* enum pdf_before: what separates it from the previous word */
    bool blank;     /* there is a blank before it */
    bool letter;    /* it is one letter or digit, or any character that is not ASCII */
};

/*
 * Appends the words in reading order, with `before` set for it; w is sorted on the way.
 * If a page would take too long, words stay in the order of drawing. block.c
 */
int pdf_arrange(struct pdf *d, struct pdf_word *w, size_t n, struct buf *out);

/* Returns the combining character of an accent that stands alone; 0 if it is not one. */
uint32_t pdf_accent(uint32_t c);
/* Returns an accented letter without its accent; any other unchanged. */
uint32_t pdf_without_accent(uint32_t c);
/*
 * Writes a letter with a combining character as UTF-8, as one character if there is one.
 * Returns the length; 0 if it is not a letter. accent.c
 */
size_t pdf_put_accent(uint32_t letter, uint32_t mark, char out[8]);

/* Appends a line, Hebrew and Arabic in reading order: bidi.c */
int pdf_put_line(struct buf *out, struct str line);
/* Appends the page's text, in lines. Returns -1 if out is full. */
int pdf_page_lines(struct pdf *d, const struct pdf_page *p, struct buf *out);

/* ---- content (Annex A): content.c ---- */

struct pdf_box {
    double x0, y0, x1, y1;
};

/* Reads the glyphs of a page's content into p. */
void pdf_page_read(struct pdf *d, struct pdf_obj page, struct pdf_obj resources,
                   struct pdf_box box, struct pdf_font **fonts, struct pdf_page *p);

#endif
