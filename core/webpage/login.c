/* SPDX-License-Identifier: MIT */
#include "webpage/login.h"

#include "webpage/webpage.h"

enum { CHALLENGE_SHOWN = 200, URL_SHOWN = 300 };

void login_explain(struct buf *out, struct str url, struct str challenge)
{
    struct str rest = challenge, kind = str_cut(&rest, ' ');
    if (!kind.n)
        return;
    buf_addz(out, "the page wants a login (");
    for (size_t i = 0; i < challenge.n && i < CHALLENGE_SHOWN; i++)
        buf_addc(out, (unsigned char)challenge.p[i] < ' ' ? ' ' : challenge.p[i]);
    if (!webpage_is_word(kind, "basic") && !webpage_is_word(kind, "digest")) {
        buf_addz(out, "), which an address cannot give: log in on another page first");
        return;
    }
    long at = str_find(url, STR("://"));
    size_t host = at < 0 ? 0 : (size_t)at + 3, end = host;
    while (end < url.n && url.p[end] != '/' && url.p[end] != '?')
        end++;
    for (size_t i = host; i < end; i++)
        host = url.p[i] == '@' ? i + 1 : host;
    struct str scheme = str_sub(url, 0, at < 0 ? 0 : (size_t)at + 3);
    struct str place = str_sub(url, host,
                               url.n < host + URL_SHOWN ? url.n : host + URL_SHOWN);
    buf_addf(
        out,
        "): open %.*sNAME:PASSWORD@%.*s with both in place, where %%40 is @, %%3A is "
        ": and %%2F is /",
        STR_ARG(scheme), STR_ARG(place));
}
