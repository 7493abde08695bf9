/* SPDX-License-Identifier: MIT */
/*
 * A notebook of a client as its file, for a client and as its file again: each is JSON,
 * and from then on it stays the same. The same bytes as a path: what is taken stays below
 * the root.
 */
#include "base/jsontext.h"
#include "base/log.h"
#include "base/utf8.h"
#include "front/jupyter/own.h"
#include "kernel/notebook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_path(struct str path)
{
    char out[PATH_MAX];
    bool hidden;
    if (nb_path(path, out, &hidden) < 0)
        return;
    struct str rest = str_of(out);
    BUG_ON(str_starts(rest, STR("/")) || str_ends(rest, STR("/")));
    while (rest.n) {
        struct str part = str_cut(&rest, '/');
        BUG_ON(part.n == 0 || str_eq(part, STR(".")) || str_eq(part, STR("..")));
        BUG_ON(part.p[0] == '.' && !hidden);
    }
}

/* The file after it was with a client. */
static void pass(struct buf *file, struct str json)
{
    struct buf client = BUF_INIT(64 << 20);
    BUG_ON(notebook_write(&client, json, false) < 0);
    BUG_ON(!jsontext_valid(buf_str(&client)));
    BUG_ON(notebook_write(file, buf_str(&client), true) < 0);
    BUG_ON(!jsontext_valid(str_trim(buf_str(file))));
    buf_release(&client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str json = str_trim(str_n(data, n));
    struct buf once = BUF_INIT(64 << 20), again = BUF_INIT(64 << 20);
    struct buf plain = BUF_INIT(64 << 20); /* no name has an escape that it needs not */
    check_path(json);
    if (json.n > 64 << 10 || !utf8_valid(json) || !jsontext_valid(json) ||
        json.p[0] != '{')
        return 0;
    BUG_ON(notebook_write(&plain, json, false) < 0);
    pass(&once, buf_str(&plain));
    pass(&again, str_trim(buf_str(&once)));
    BUG_ON(!str_eq(buf_str(&once), buf_str(&again)));
    buf_release(&plain);
    buf_release(&once);
    buf_release(&again);
    return 0;
}
