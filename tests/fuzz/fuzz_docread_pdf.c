/* SPDX-License-Identifier: MIT */
/*
 * PDF files of strangers: whatever the bytes are, the reader ends, and gives text
 * that begins with a page's mark, or an error that says something.
 */
#include "base/log.h"
#include "base/utf8.h"
#include "document/own.h"
#include "document/pdf/pdf.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    BUG_ON(buf_addz(&out, "before") < 0);
    int rc = docread_pdf(str_n(data, n), false, &out, &e);
    BUG_ON(rc < 0 && (!e.code || !e.text[0] || out.n != 6));
    struct str text = str_sub(buf_str(&out), 6, out.n);
    BUG_ON(rc == 0 && !str_starts(text, STR("@@ Page 1 @@\n")) && *text.p != '[');
    BUG_ON(rc == 0 && !utf8_valid(text));
    buf_release(&out);
    return 0;
}
