/* SPDX-License-Identifier: MIT */
/* webpage FILE: a page as text mode shows it; to compare with w3m -dump. */
#include "webpage/webpage.h"

#include <stdio.h>

int main(int argc, char **argv)
{
    struct buf html = BUF_INIT(256 << 20);
    struct webpage page;
    struct err e = ERR_INIT;
    FILE *f = fopen(argc > 1 ? argv[1] : "", "rb");
    size_t n = 0;
    for (char *p; f && (p = buf_reserve(&html, 1 << 16)) != NULL; buf_commit(&html, n)) {
        n = fread(p, 1, 1 << 16, f);
        if (n == 0)
            break;
    }
    if (f)
        fclose(f);
    webpage_init(&page);
    int rc = webpage_html(&page, buf_str(&html), STR("http://x/"), &e);
    if (rc < 0)
        fprintf(stderr, "webpage: %s\n", e.text);
    fwrite(buf_z(&page.text), 1, page.text.n, stdout);
    webpage_release(&page);
    buf_release(&html);
    return rc < 0;
}
