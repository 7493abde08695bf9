/* SPDX-License-Identifier: MIT */
/*
 * A line that is a notebook, then lines that a kernel could have said, {type, content};
 * the type "next" ends a cell. What is written back is a notebook again, with as many
 * cells, and written once more it is the same.
 */
#include "base/log.h"
#include "kernel/notebook.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* Outputs lie deeper in a notebook than in their messages. */
static bool too_deep(const struct err *e) { return strstr(e->text, "nested too deeply"); }

static void check(const struct notebook *b)
{
    struct err e = ERR_INIT;
    struct buf once = BUF_INIT(64 << 20), again = BUF_INIT(64 << 20);
    BUG_ON(notebook_print(&once, b) < 0);
    struct notebook *second = notebook_parse(buf_str(&once), "written", &e);
    BUG_ON(!second && !too_deep(&e));
    if (second) {
        BUG_ON(notebook_cells(second) != notebook_cells(b));
        BUG_ON(notebook_print(&again, second) < 0);
        BUG_ON(!str_eq(buf_str(&once), buf_str(&again)));
    }
    notebook_free(second);
    buf_release(&once);
    buf_release(&again);
}

static void say(struct notebook *b, struct str line, struct buf *source)
{
    struct err e = ERR_INIT;
    struct json *j = json_parse(line, &e);
    struct str type = json_str(j, "type", "");
    if (str_eq(type, STR("next"))) {
        notebook_ended(b, json_int(j, "content", 0));
        notebook_next(b, source);
    } else
        notebook_output(b, type, json_get(j, "content"));
    json_free(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct err e = ERR_INIT;
    struct str rest = str_n((const char *)data, n);
    struct buf source = BUF_INIT(1 << 20);
    struct notebook *b = notebook_parse(str_cut(&rest, '\n'), "a.ipynb", &e);
    BUG_ON(!b && (e.code == 0 || e.text[0] == 0));
    if (b) {
        notebook_kernel(b);
        notebook_next(b, &source);
        while (rest.n)
            say(b, str_cut(&rest, '\n'), &source);
        notebook_ended(b, 1);
        check(b);
    }
    notebook_free(b);
    buf_release(&source);
    return 0;
}
