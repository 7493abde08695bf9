/* SPDX-License-Identifier: MIT */
#include "checkpoint/acl.h"

#include <string.h>

int acl_read(struct buf *out, struct str text, struct err *e)
{
    static const char kinds[] = "ugmo"; /* user, group, mask, other */
    static const uint8_t tags[] = {1, 4, 16, 32};
    enum { NAMED = 2 }; /* so many of them may have a name, and then the next bit */
    buf_add(out, "\2\0\0", 4);
    while (text.n > 0) {
        struct str rest = str_trim(str_cut(&text, str_chr(text, ',') >= 0 ? ',' : '\n'));
        struct str kind = str_cut(&rest, ':'), name = str_cut(&rest, ':');
        struct str rights = str_trim(str_cut(&rest, ':'));
        uint64_t id = UINT32_MAX;
        uint8_t b[8] = {0};
        const char *at = kind.n ? memchr(kinds, kind.p[0], sizeof(tags)) : NULL;
        if (at && (name.n == 0 || at < kinds + NAMED))
            b[0] = (uint8_t)(tags[at - kinds] << (name.n > 0));
        for (size_t i = 0; i < rights.n; i++)
            b[2] |= rights.p[i] == 'r' ? 4 : rights.p[i] == 'w' ? 2 : rights.p[i] == 'x';
        if (!kind.n || kind.p[0] == '#')
            continue;
        if (!b[0] ||
            (name.n && (str_to_u64(rest.n ? rest : name, &id) < 0 || id >= UINT32_MAX)))
            return err_set(e, ERR_UNSUPPORTED,
                           "its ACL has %.*s without a number: tar --numeric-owner",
                           name.n > 100 ? 100 : (int)name.n, name.p);
        for (int i = 0; i < 4; i++)
            b[4 + i] = (uint8_t)(id >> (8 * i));
        buf_add(out, b, sizeof(b));
    }
    return 0;
}
