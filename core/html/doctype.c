/* SPDX-License-Identifier: MIT */
/* Which doctypes mean quirks: HTML standard, 13.2.6.4.1. */
#include "html/own.h"

#include <strings.h>

static bool same(struct str s, const char *z)
{
    return s.n == strlen(z) && strncasecmp(s.p, z, s.n) == 0;
}

static bool begins(struct str s, const char *z)
{
    return s.n >= strlen(z) && strncasecmp(s.p, z, strlen(z)) == 0;
}

bool html_is_quirky(const struct html_token *t)
{
    static const char *const beginnings[] = {
        "+//Silmaril//dtd html Pro v0r11 19970101//",
        "-//AS//DTD HTML 3.0 asWedit + extensions//",
        "-//AdvaSoft Ltd//DTD HTML 3.0 asWedit + extensions//",
        "-//IETF//DTD HTML", /* all of them, up to Strict Level 3 */
        "-//Metrius//DTD Metrius Presentational//",
        "-//Microsoft//DTD Internet Explorer 2.0 ",
        "-//Microsoft//DTD Internet Explorer 3.0 ",
        "-//Netscape Comm. Corp.//DTD HTML//",
        "-//Netscape Comm. Corp.//DTD Strict HTML//",
        "-//O'Reilly and Associates//DTD HTML 2.0//",
        "-//O'Reilly and Associates//DTD HTML Extended 1.0//",
        "-//O'Reilly and Associates//DTD HTML Extended Relaxed 1.0//",
        "-//SQ//DTD HTML 2.0 HoTMetaL + extensions//",
        "-//SoftQuad Software//DTD HoTMetaL PRO 6.0::19990601::extensions to HTML 4.0//",
        "-//SoftQuad//DTD HoTMetaL PRO 4.0::19971010::extensions to HTML 4.0//",
        "-//Spyglass//DTD HTML 2.0 Extended//",
        "-//Sun Microsystems Corp.//DTD HotJava HTML//",
        "-//Sun Microsystems Corp.//DTD HotJava Strict HTML//",
        "-//W3C//DTD HTML 3 1995-03-24//",
        "-//W3C//DTD HTML 3.2 Draft//",
        "-//W3C//DTD HTML 3.2 Final//",
        "-//W3C//DTD HTML 3.2//",
        "-//W3C//DTD HTML 3.2S Draft//",
        "-//W3C//DTD HTML 4.0 Frameset//",
        "-//W3C//DTD HTML 4.0 Transitional//",
        "-//W3C//DTD HTML Experimental 19960712//",
        "-//W3C//DTD HTML Experimental 970421//",
        "-//W3C//DTD W3 HTML//",
        "-//W3O//DTD W3 HTML 3.0//",
        "-//WebTechs//DTD Mozilla HTML 2.0//",
        "-//WebTechs//DTD Mozilla HTML//",
    };
    struct str public_id = t->doctype.public_id, system_id = t->doctype.system_id;
    if (t->doctype.force_quirks || !str_eq(t->text, STR("html")) ||
        same(public_id, "-//W3O//DTD W3 HTML Strict 3.0//EN//") ||
        same(public_id, "-/W3C/DTD HTML 4.0 Transitional/EN") ||
        same(public_id, "HTML") ||
        same(system_id, "http://www.ibm.com/data/dtd/v11/ibmxhtml1-transitional.dtd"))
        return true;
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++) {
        if (begins(public_id, beginnings[i]))
            return true;
    }
    return !system_id.p && (begins(public_id, "-//W3C//DTD HTML 4.01 Frameset//") ||
                            begins(public_id, "-//W3C//DTD HTML 4.01 Transitional//"));
}
