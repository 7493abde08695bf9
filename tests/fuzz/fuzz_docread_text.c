/* SPDX-License-Identifier: MIT */
/* LaTeX, HTML, notebooks, RTF, and the headers of media files; the first byte chooses. */
#include "base/log.h"
#include "document/own.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf out = BUF_INIT(1 << 20);
    struct err e = ERR_INIT;
    struct str s = str_n(data + 1, n ? n - 1 : 0);
    int rc = 0;
    switch (n && (data[0] & 15) == 15 ? 15 : n ? data[0] & 7 : 7) {
    case 15:
        rc = docread_rtf(s, &out, &e);
        break;
    case 0:
    case 1:
        rc = docread_latex(s, &out, &e);
        break;
    case 2:
    case 3:
        rc = docread_html(s, data[0] & 1, &out, &e);
        break;
    case 4:
        rc = docread_ipynb(s, &out, &e);
        break;
    case 5:
        rc = docread_media(DOCREAD_IMAGE, STR("x"), s, false, &out, &e);
        break;
    case 6:
        rc = docread_media(DOCREAD_AUDIO, STR("x"), s, false, &out, &e);
        break;
    default:
        rc = docread_media(DOCREAD_VIDEO, STR("x"), s, false, &out, &e);
        break;
    }
    BUG_ON(rc < 0 && (!e.code || !e.text[0]));
    buf_release(&out);
    return 0;
}
