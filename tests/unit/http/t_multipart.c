/* SPDX-License-Identifier: MIT */
/* Forms: what browsers and clients send, split at every byte, and what nobody should. */
#include "http/multipart.h"

#include "base/buf.h"

#include "t.h"

/* What happened, as text. */
static int on_part(void *arg, const struct multipart_part *p)
{
    struct buf *out = arg;
    buf_addf(out, "[%.*s|%.*s|%.*s]", STR_ARG(p->name),
             p->filename.p ? (int)p->filename.n : 4,
             p->filename.p ? p->filename.p : "none", p->type.p ? (int)p->type.n : 1,
             p->type.p ? p->type.p : "-");
    return str_eq(p->name, STR("refuse")) ? -1 : 0;
}

static int on_data(void *arg, struct str bytes) { return buf_adds(arg, bytes); }
static int on_end(void *arg) { return buf_addz(arg, "$"); }

static const struct multipart_events events = {on_part, on_data, on_end};

/* Feeds in pieces of n bytes; what happened, then " ok" or " error". */
static void feed(struct buf *out, const char *type, struct str body, size_t n)
{
    struct err e = ERR_INIT;
    buf_reset(out);
    struct multipart *m = multipart_new(str_of(type), &events, out, &e);
    int r = m ? 0 : -1;
    for (size_t at = 0; r == 0 && at < body.n; at += n) {
        struct str piece = str_sub(body, at, n);
        char *copy = malloc(piece.n); /* of that size: a reader beyond it is caught */
        memcpy(copy, piece.p, piece.n);
        r = multipart_feed(m, str_n(copy, piece.n), &e);
        free(copy);
    }
    if (r == 0)
        r = multipart_finish(m, &e);
    buf_addz(out, r == 0 ? " ok" : " error");
    multipart_free(m);
}

static const char type[] = "multipart/form-data; boundary=XyZ";

static const struct {
    const char *what;
    struct str body;
    const char *wanted;
} rows[] = {
    {"one file",
     STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n"
         "Content-Type: text/plain\r\n\r\nhello\r\n--XyZ--\r\n"),
     "[file|a.txt|text/plain]hello$ ok"},
    {"two parts, a preamble and an epilogue",
     STR("pre\r\n--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--XyZ \t\r\n"
         "content-disposition: form-data; filename=\"q\\\"q\"; name=\"b\"\r\n\r\n2\r\n"
         "--XyZ--epilogue\r\n--XyZ\r\n"),
     "[a|none|-]1$[b|q\"q|-]2$ ok"},
    {"data that nearly is a boundary",
     STR("--XyZ\r\nContent-Disposition: form-data; "
         "name=a\r\n\r\n\r\n\r\n--Xy\r\n-\r\r\n--X"
         "\r\n--XyZ--"),
     "[a|none|-]\r\n\r\n--Xy\r\n-\r\r\n--X$ ok"},
    {"no data, no header", STR("--XyZ\r\n\r\n\r\n--XyZ--"), "[|none|-]$ ok"},
    {"a name in another alphabet",
     STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\"; filename=\"x\"; "
         "filename*=UTF-8''%e2%82%ac%20a\r\n\r\n\r\n--XyZ--"),
     "[file|\xe2\x82\xac a|-]$ ok"},
    {"an empty name is one",
     STR("--XyZ\r\nContent-Disposition: form-data; name=\"file\"; "
         "filename=\"\"\r\n\r\n\r\n"
         "--XyZ--"),
     "[file||-]$ ok"},
    {"a body that is cut",
     STR("--XyZ\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n--XyZ"),
     "[a|none|-]1$ error"},
    {"no boundary at all", STR("hello"), " error"},
    {"a boundary and more", STR("--XyZhello\r\n"), " error"},
    {"an event that says no",
     STR("--XyZ\r\nContent-Disposition: form-data; name=refuse\r\n\r\n1\r\n--XyZ--"),
     "[refuse|none|-] error"},
};

TEST(every_form_in_pieces_of_every_size)
{
    struct buf out = BUF_INIT(4096);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        for (size_t n = 1; n <= rows[i].body.n; n++) {
            feed(&out, type, rows[i].body, n);
            CHECK_STR(buf_z(&out), rows[i].wanted);
        }
    }
    buf_release(&out);
}

TEST(the_boundary_is_read_from_the_type)
{
    static const struct {
        const char *type;
        bool fine;
    } types[] = {
        {"multipart/form-data; boundary=\"a b\"", true},
        {"Multipart/Form-Data;charset=utf-8;BOUNDARY=x", true},
        {"multipart/form-data", false},
        {"multipart/form-data; boundary=", false},
        {"multipart/form-data; boundary=\"\x01\"", false},
        {"application/json; boundary=x", false},
        {"multipart/form-data; boundary="
         "12345678901234567890123456789012345678901234567890123456789012345678901",
         false},
        {"", false},
    };
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        struct err e = ERR_INIT;
        struct multipart *m = multipart_new(str_of(types[i].type), &events, NULL, &e);
        CHECK_INT(m != NULL, types[i].fine);
        CHECK_INT(e.code, types[i].fine ? ERR_NONE : ERR_INVALID);
        multipart_free(m);
    }
}

TEST(what_is_too_much_is_an_error)
{
    struct buf body = BUF_INIT(1 << 20), out = BUF_INIT(1 << 20);
    for (int i = 0; i <= MULTIPART_PARTS_MAX; i++)
        buf_addz(&body, "--XyZ\r\n\r\n\r\n");
    buf_addz(&body, "--XyZ--");
    feed(&out, type, buf_str(&body), 1000);
    CHECK(str_ends(buf_str(&out), STR(" error")));
    buf_reset(&body);
    buf_addz(&body, "--XyZ\r\nX: ");
    while (body.n < MULTIPART_HEAD_MAX + 100)
        buf_addc(&body, 'x');
    feed(&out, type, buf_str(&body), 1000);
    CHECK_STR(buf_z(&out), " error");
    buf_release(&body);
    buf_release(&out);
}

T_MAIN
