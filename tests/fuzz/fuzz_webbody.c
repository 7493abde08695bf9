/* SPDX-License-Identifier: MIT */
/* A body: its type and its packing by the first byte, then its bytes; UTF-8 comes out. */
#include "base/log.h"
#include "base/utf8.h"
#include "webpage/webbody.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static const char *const types[] = {"",
                                        "text/html",
                                        "text/html; charset=latin1",
                                        "text/plain; charset=\"utf-16\"",
                                        "application/json",
                                        "text/plain; charset=windows-1251",
                                        "image/png",
                                        "application/x"};
    static const char *const packings[] = {"", "", "gzip", "deflate"};
    struct err e = ERR_INIT;
    struct webpage p;
    unsigned how = n ? data[0] : 0;
    struct webbody b = {.bytes = str_n(data + 1, n ? n - 1 : 0),
                        .type = str_of(types[how & 7]),
                        .encoding = str_of(packings[how >> 3 & 3]),
                        .url = STR("http://h/d/")};
    webpage_init(&p);
    int rc = webbody_read(&b, &p, &e);
    BUG_ON(rc < 0 && (!e.code || !e.text[0]));
    BUG_ON(rc == 0 && !utf8_valid(buf_str(&p.text)));
    webpage_release(&p);
    return 0;
}
