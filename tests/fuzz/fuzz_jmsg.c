/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a kernel's message, its parts cut at line ends: parsed or refused; made
 * clean it has no control character and stays as long, what was JSON is JSON and is
 * clean; and as a cell's output it becomes text within its limit.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "kernel/cell_text.h"
#include "kernel/host/jmsg.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void as_output(struct str content)
{
    static const char *const types[] = {"stream", "display_data", "error", "page",
                                        "clear_output"};
    struct err e = ERR_INIT;
    struct json *j = json_parse(content, &e);
    struct cell_text t;
    cell_text_init(&t, 1000);
    for (size_t i = 0; j && i < sizeof(types) / sizeof(*types); i++)
        cell_text_add(&t, str_of(types[i]), j);
    BUG_ON(t.text.n > 1000);
    cell_text_release(&t);
    json_free(j);
}

static void clean(struct str part)
{
    struct buf b = BUF_INIT(1 << 20), again = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    struct json *before = json_parse(part, &e);
    buf_adds(&b, part);
    jmsg_clean(b.p, b.n);
    for (size_t i = 0; i < b.n; i++)
        BUG_ON((unsigned char)b.p[i] < 0x20);
    BUG_ON(b.n != part.n || !utf8_valid(buf_str(&b)));
    buf_adds(&again, buf_str(&b));
    jmsg_clean(again.p, again.n);
    BUG_ON(!str_eq(buf_str(&b), buf_str(&again)));
    struct json *after = json_parse(buf_str(&b), &e);
    BUG_ON(before && !after);
    json_free(before);
    json_free(after);
    as_output(buf_str(&b));
    buf_release(&b);
    buf_release(&again);
}

/* The pieces of a stream's text are texts by themselves, and together they are it. */
static void pieces(struct str content)
{
    struct buf line = BUF_INIT(1 << 20), joined = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    struct json *j = json_parse(content, &e);
    struct str name, text;
    bool apart = jmsg_stream(content, &name, &text);
    while (j && apart && text.n) {
        size_t n = jmsg_cut(text, 12);
        BUG_ON(n == 0 || n > 12);
        buf_reset(&line);
        buf_addf(&line, "{\"text\":\"%.*s\"}", (int)n, text.p);
        struct json *piece = json_parse(buf_str(&line), &e);
        BUG_ON(!piece);
        buf_adds(&joined, json_str(piece, "text", ""));
        json_free(piece);
        text = str_sub(text, n, text.n);
    }
    struct json *t = json_get(j, "text");
    /* Of members of one name we take the last, a parser the first. */
    if (j && apart && json_count(j) == 1 && t)
        BUG_ON(!str_eq(json_str_value(t, ""), buf_str(&joined)));
    json_free(j);
    buf_release(&line);
    buf_release(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str rest = str_n(data, n), parts[20];
    struct err e = ERR_INIT;
    struct jmsg m;
    int count = 0;
    while (rest.n && count < 20)
        parts[count++] = str_cut(&rest, '\n');
    if (jmsg_parse(parts, count, STR("key"), &m, &e) == 0) {
        char sig[JMSG_SIGNATURE + 1];
        struct str again[JMSG_PARTS];
        jmsg_sign(&m, STR("key"), sig, again);
        BUG_ON(jmsg_parse(again, JMSG_PARTS, STR("key"), &m, &e) < 0);
    } else
        BUG_ON(e.code != ERR_INVALID && e.code != ERR_DENIED);
    if (n > 0 && n < 1 << 16) {
        clean(str_n(data, n));
        pieces(str_n(data, n));
    }
    return 0;
}
