/* SPDX-License-Identifier: MIT */
/*
 * What the files of docread_pdf share. Sections are those of ISO 32000-1:2008.
 *
 * A value is small and passed by copy; what it points to is in the file or in
 * the arena, and lives as long as the document. What is missing, damaged, refers
 * to itself or would need too much is PDF_NULL, as 7.3.10 has it: readers go on
 * with what there is. Only what makes all of it worthless sets d->err.
 */
#ifndef OD_DOCUMENT_PDF_OWN_H
#define OD_DOCUMENT_PDF_OWN_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"

enum {
    PDF_DEPTH_MAX = 64,         /* arrays in arrays, pages in pages, forms in forms */
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
    PDF_WORD,  /* no object: an operator, obj, endobj, stream, … */
    PDF_CLOSE, /* no object: ] or >> */
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
struct pdf_pack;

struct pdf_stream {
    struct pdf_dict dict;
    struct str raw;        /* as in the file */
    struct pdf_pack *pack; /* of an object stream that was unpacked */
};

struct pdf;

struct pdf_lex {
    struct pdf *d;
    struct arena *a; /* of what is parsed */
    struct str s;
    size_t at;
    bool refs; /* "1 0 R" is a reference: not in content */
};

/* The next object, or a word; PDF_END at the end, or when work is over. */
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
    bool busy;             /* is being read: who asks now, asks for itself */
    struct pdf_obj *value; /* what was read */
};

struct pdf {
    struct str file; /* from %PDF- on; borrowed */
    struct arena arena;
    struct pdf_entry *entry; /* owned */
    size_t entries, entries_room;
    struct pdf_obj trailer;
    bool rebuilt;                    /* by looking for objects everywhere */
    int64_t work;                    /* steps left: what would take more is no document */
    int64_t unpack;                  /* bytes that streams may still unpack to */
    struct charset_tables *charsets; /* owned; NULL until a font needs them */
    struct err err;                  /* the first that ends it all */
};

/* Finds the objects. -1: d->err. */
int pdf_open(struct pdf *d, struct str file);
void pdf_close(struct pdf *d);
/* Takes n steps of the work. False: there is none left, and d->err is set. */
bool pdf_work(struct pdf *d, int64_t n);

/* What a reference leads to; anything else is itself. Never a PDF_REF. */
struct pdf_obj pdf_resolve(struct pdf *d, struct pdf_obj o);
/* Of a dictionary or a stream's; resolved. */
struct pdf_obj pdf_get(struct pdf *d, struct pdf_obj o, const char *key);
/* The same as it stands there. */
struct pdf_obj pdf_get_raw(struct pdf_obj o, const char *key);
struct pdf_obj pdf_item(struct pdf *d, struct pdf_obj array, size_t i);
size_t pdf_count(struct pdf_obj array);
bool pdf_is_name(struct pdf_obj o, const char *name);
bool pdf_number(struct pdf_obj o, double *out);
int64_t pdf_int(struct pdf_obj o, int64_t dflt);

/* The table of objects: xref.c. */
struct pdf_entry *pdf_entry_make(struct pdf *d, uint64_t number);
/* By the tables that the file has. -1: they are damaged. */
int pdf_read_xref(struct pdf *d);
/* By looking through all of the file. */
void pdf_rebuild(struct pdf *d);
/*
 * The object at an offset of the file, with its number (0: any). False: there is
 * none.
 */
bool pdf_object_at(struct pdf *d, uint64_t at, uint32_t *number, struct pdf_obj *o);

/* ---- streams (7.4): filter.c ---- */

/*
 * Appends what the stream unpacks to, as far as it is whole. -1: a filter that is
 * not for text, or a limit.
 */
int pdf_unpack(struct pdf *d, const struct pdf_stream *s, struct buf *out);

/* ---- fonts (9.5 to 9.10): font.c and others ---- */

/* Codes to what they stand for: ToUnicode, and the code to CID of Type 0 fonts. */
struct pdf_cmap;

/* Of a stream; NULL: it is none, or as below. */
struct pdf_cmap *pdf_cmap_of(struct pdf *d, struct pdf_obj o);
/* NULL: empty or no memory. In d's arena. */
struct pdf_cmap *pdf_cmap_read(struct pdf *d, struct str text);
/* Appends UTF-8 of a code. False: there is none. */
bool pdf_cmap_text(const struct pdf_cmap *m, uint32_t code, struct buf *out);
/* The CID of a code; false: none. */
bool pdf_cmap_cid(const struct pdf_cmap *m, uint32_t code, uint32_t *cid);
/* The next code of a string, and its bytes (1 to 4); at least one byte is there. */
size_t pdf_cmap_next(const struct pdf_cmap *m, struct str s, uint32_t *code);
bool pdf_cmap_has_spaces(const struct pdf_cmap *m);

/* The character of a glyph's name, ligatures as one; 0: unknown, or several. */
uint32_t pdf_glyph_char(struct str name);

/*
 * Names of the 256 codes by the encoding that a font program has itself (Type 1,
 * CFF); what it leaves open stays empty. They lie in `program`, or are static.
 */
void pdf_builtin_type1(struct str program, struct str names[256]);
void pdf_builtin_cff(struct str program, struct str names[256]);

/*
 * The characters of glyphs, by the tables or names in a font program of the kinds
 * TrueType and OpenType (sfnt.c), and CFF. What is unknown stays.
 */
bool pdf_is_sfnt(struct str program);
void pdf_sfnt_chars(struct str program, uint32_t *chars, size_t n);
void pdf_cff_chars(struct str program, uint32_t *chars, size_t n);

/* In thousandths, of a font that every reader has, or one like it. */
double pdf_standard_width(struct str font, struct str text);

struct pdf_width {
    uint32_t from, to;
    const struct pdf_array *list; /* NULL: all of them are `width` */
    double width;
};

struct pdf_font {
    const struct pdf_dict *key; /* by which it is found again */
    struct pdf_font *next;
    bool wide, vertical; /* Type 0 */
    uint8_t kind;        /* of its codes, unless there are `codes` */
    uint16_t space;      /* the number of the blank, of ASCII codes; 0: unknown */
    double scale;        /* of widths: a thousandth, but of Type 3 */
    double em;           /* of a letter, at size 1; not always 1 of Type 3 */
    struct pdf_cmap *to_unicode, *codes;
    struct str text[256]; /* of simple fonts */
    double width[256];
    struct pdf_width *widths; /* of Type 0, by CID */
    size_t widths_n;
    double default_width;
    int collection;                      /* of Type 0, as of charset_collection */
    const struct charset_tables *tables; /* borrowed; NULL: they are not needed */
    uint32_t *chars;                     /* of Type 0, by CID; NULL: none are known */
    size_t chars_n;
};

/* Of a Type 0 font, whose to_unicode is read: wide.c */
void pdf_wide_read(struct pdf *d, struct pdf_font *f, struct pdf_obj font);
size_t pdf_wide_next(const struct pdf_font *f, struct str s, uint32_t *code);
void pdf_wide_text(const struct pdf_font *f, uint32_t code, struct buf *out);
double pdf_wide_width(struct pdf *d, const struct pdf_font *f, uint32_t code);

/* In d's arena. NULL: no memory. */
struct pdf_font *pdf_font_new(struct pdf *d, struct pdf_obj font);
/* The next code of a string (at least one byte): its bytes. */
size_t pdf_font_next(const struct pdf_font *f, struct str s, uint32_t *code);
/* Appends its text, if it is known. */
void pdf_font_text(const struct pdf_font *f, uint32_t code, struct buf *out);
/* In text space, of size 1. */
double pdf_font_width(struct pdf *d, const struct pdf_font *f, uint32_t code);

/* ---- text of a page: text.c ---- */

struct pdf_glyph {
    float x, y;     /* where it begins, on its base line; y grows upward */
    float dx, dy;   /* to where it ends */
    float size;     /* height of the font there */
    uint32_t at, n; /* bytes in `text` */
};

struct pdf_page {
    struct buf glyphs; /* of struct pdf_glyph, as the page draws them */
    struct buf text;
    bool pictures; /* it has some */
    size_t drawn;  /* glyphs in all */
    size_t mute;   /* those of which nobody says what they are */
};

enum pdf_before { PDF_JOINED, PDF_BLANK, PDF_NEW_LINE };

/* Letters without a gap on one base line, turned so that they go to the right. */
struct pdf_word {
    float x0, x1, y, size;
    uint32_t at, n; /* bytes of the text */
    uint32_t seq;   /* its place in the order of drawing */
    uint32_t block;
    float line;
    uint8_t turn;   /* quarters of a circle */
    uint8_t before; /* enum pdf_before: what parts it from the word before */
    bool blank;     /* there is a blank before it */
};

/*
 * Appends the words in the order of reading, with `before` as it is then; w is
 * sorted otherwise meanwhile. Of a page that would take too long: as they are drawn.
 * block.c
 */
int pdf_arrange(struct pdf *d, struct pdf_word *w, size_t n, struct buf *out);

/* The combining character of an accent that stands alone; 0: it is none. */
uint32_t pdf_accent(uint32_t c);
/* The letter that is left of an accented one; any other: itself. */
uint32_t pdf_without_accent(uint32_t c);
/*
 * A letter with a combining character as UTF-8, as one character where there is one.
 * The length; 0: it is no letter. accent.c
 */
size_t pdf_put_accent(uint32_t letter, uint32_t mark, char out[8]);

/* Appends a line, Hebrew and Arabic in the order of reading: bidi.c */
int pdf_put_line(struct buf *out, struct str line);
/* Appends the page's text, in lines. -1: out is full. */
int pdf_page_lines(struct pdf *d, const struct pdf_page *p, struct buf *out);

/* ---- content (Annex A): content.c ---- */

struct pdf_box {
    double x0, y0, x1, y1;
};

/* Takes the glyphs of a page's content to p. */
void pdf_page_read(struct pdf *d, struct pdf_obj page, struct pdf_obj resources,
                   struct pdf_box box, struct pdf_font **fonts, struct pdf_page *p);

#endif
