/* SPDX-License-Identifier: MIT */
/*
 * ACLs of archives. Whatever the text is, an ACL that is read has entries of the kernel's
 * kinds, with a number where there is a name and none elsewhere; written as text again,
 * with commas and with line ends, it is the same.
 */
#include "base/log.h"
#include "checkpoint/acl.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { HEAD = 4, ENTRY = 8, ACL_MAX = 256 << 10 };

static const char *kind_of(unsigned tag)
{
    switch (tag) {
    case 1:
    case 2: return "user";
    case 4:
    case 8: return "group";
    case 16: return "mask";
    case 32: return "other";
    default: BUG_ON(true); return NULL;
    }
}

/* Appends an entry as text. */
static void put_entry(struct buf *out, const uint8_t *p, bool star)
{
    unsigned tag = p[0], rights = p[2];
    uint32_t id = p[4] | (uint32_t)p[5] << 8 | (uint32_t)p[6] << 16 | (uint32_t)p[7] << 24;
    bool named = tag == 2 || tag == 8;
    BUG_ON(p[1] != 0 || p[3] != 0 || rights > 7 || (id != UINT32_MAX) != named);
    buf_addf(out, "%s:", kind_of(tag));
    if (named && star)
        buf_addz(out, "some name");
    else if (named)
        buf_addi(out, id);
    buf_addf(out, ":%c%c%c", rights & 4 ? 'r' : '-', rights & 2 ? 'w' : '-',
             rights & 1 ? 'x' : '-');
    if (named && star)
        buf_addf(out, ":%u", id);
}

static void check(struct str acl, bool star)
{
    struct buf text = BUF_INIT(8 << 20), again = BUF_INIT(ACL_MAX);
    struct err e = ERR_INIT;
    for (size_t at = HEAD; at < acl.n; at += ENTRY) {
        put_entry(&text, (const uint8_t *)acl.p + at, star);
        buf_addc(&text, star ? '\n' : ',');
    }
    BUG_ON(acl_read(&again, buf_str(&text), &e) < 0 || !str_eq(buf_str(&again), acl));
    buf_release(&text);
    buf_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct buf acl = BUF_INIT(ACL_MAX);
    struct err e = ERR_INIT;
    int rc = acl_read(&acl, str_n(data, n), &e);
    BUG_ON((rc < 0) != (e.code != 0));
    if (rc == 0 && !buf_full(&acl)) {
        BUG_ON(acl.n < HEAD || (acl.n - HEAD) % ENTRY || memcmp(acl.p, "\2\0\0", HEAD) != 0);
        check(buf_str(&acl), false);
        check(buf_str(&acl), true);
    }
    buf_release(&acl);
    return 0;
}
