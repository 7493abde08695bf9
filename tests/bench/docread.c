/* SPDX-License-Identifier: MIT */
/* docread FILE: its text, as `od skills parse_…` prints it; for documents.py. */
#include "document/document.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct buf out = BUF_INIT(DOCREAD_TEXT_MAX);
    struct err e = ERR_INIT;
    struct docread_file f = {.path = argc > 1 ? argv[1] : ""};
    int rc = docread_text(&f, &out, &e);
    if (rc < 0)
        fprintf(stderr, "docread: %s\n", e.text);
    fwrite(buf_z(&out), 1, out.n, stdout);
    buf_release(&out);
    return rc < 0;
}
