/* SPDX-License-Identifier: MIT */
/* How this process was called; see called.h. */
#include "base/called.h"

#include "base/utf8.h"
#include "base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SAY_MAX = 64 << 10 };

/* Set by called_set only. */
static struct {
    enum called_by by;
    char start[CALLED_MAX]; /* argv[0]; of a link, without the applet: "/opt/od-" */
    char help[CALLED_MAX];  /* the text before an applet's name in help: "od ", "od-" */
    char name[CALLED_MAX];  /* the result of called_name */
    char applet[32];        /* the applet that runs; "" if none */
} how = {.start = "od", .help = "od ", .name = "od"};

static bool is_plain(struct str s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:@%+=,";
    for (size_t i = 0; i < s.n; i++) {
        if (!memchr(plain, s.p[i], sizeof(plain) - 1))
            return false;
    }
    return s.n > 0;
}

void called_add_word(struct buf *out, struct str word)
{
    if (is_plain(word)) {
        buf_adds(out, word);
        return;
    }
    words_quote(out, word);
}

/* Room for the quotes and the longest applet's name is left in CALLED_MAX. */
static bool fits(const char *argv0)
{
    struct str s = str_of(argv0);
    size_t quotes = 0;
    for (size_t i = 0; i < s.n; i++) {
        if ((unsigned char)s.p[i] < 0x20 || s.p[i] == 0x7f)
            return false;
        quotes += s.p[i] == '\'';
    }
    return s.n > 0 && s.n + 3 * quotes < CALLED_MAX - 40 && utf8_valid(s);
}

void called_set(enum called_by by, const char *argv0, const char *applet)
{
    if (!argv0 || !fits(argv0)) {
        argv0 = "od";
        by = CALLED_OD;
    }
    const char *slash = strrchr(argv0, '/'), *base = slash ? slash + 1 : argv0;
    how.by = by;
    snprintf(how.applet, sizeof(how.applet), "%s", applet ? applet : "");
    snprintf(how.start, sizeof(how.start), "%s", argv0);
    snprintf(how.name, sizeof(how.name), "%s", base);
    snprintf(how.help, sizeof(how.help), "od ");
    if (by == CALLED_LINK) {
        snprintf(how.start, sizeof(how.start), "%.*sod-", (int)(base - argv0), argv0);
        snprintf(how.help, sizeof(how.help), "od-");
    } else if (by == CALLED_OD) {
        snprintf(how.help, sizeof(how.help), "%s ", base);
        if (applet)
            snprintf(how.name, sizeof(how.name), "%s %s", base, applet);
    }
}

const char *called_name(void) { return how.name; }

struct called called(const char *applet)
{
    struct called c;
    struct buf word = BUF_INIT(CALLED_MAX - 1);
    bool own = how.by == CALLED_OWN && strcmp(applet, how.applet) == 0;
    if (how.by == CALLED_OWN && !own) {
        buf_addf(&word, "od %s", applet);
    } else if (how.by == CALLED_LINK) {
        char whole[2 * CALLED_MAX];
        snprintf(whole, sizeof(whole), "%s%s", how.start, applet);
        called_add_word(&word, str_of(whole));
    } else {
        called_add_word(&word, str_of(how.start));
        if (!own)
            buf_addf(&word, " %s", applet);
    }
    snprintf(c.z, sizeof(c.z), "%s", buf_z(&word));
    buf_release(&word);
    return c;
}

struct called called_help(const char *applet)
{
    struct called c = called(applet);
    struct buf text = BUF_INIT(CALLED_MAX - 1);
    if (how.by == CALLED_OD) {
        called_add_word(&text, str_of(how.start));
        buf_addf(&text, " help %s", applet);
    } else {
        buf_addf(&text, "%s --help", c.z);
    }
    snprintf(c.z, sizeof(c.z), "%s", buf_z(&text));
    buf_release(&text);
    return c;
}

const char *called_start(void) { return how.help; }

void called_clean(struct buf *out, struct str text, const char *keep)
{
    while (text.n > 0) {
        uint32_t cp = 0;
        int n = utf8_decode(text, &cp);
        bool plain = n > 0 && ((cp > 0 && cp < 0x20 && strchr(keep, (int)cp)) ||
                               (cp >= 0x20 && cp != 0x7f && (cp < 0x80 || cp >= 0xa0)));
        if (plain)
            buf_adds(out, str_sub(text, 0, (size_t)n));
        else
            buf_addf(out, "\\x%02x", n > 0 ? (unsigned)cp : (unsigned char)text.p[0]);
        text = str_sub(text, n > 0 ? (size_t)n : 1, text.n);
    }
}

static void say(struct buf *line, const char *format, va_list ap)
{
    if (buf_addv(line, format, ap) < 0)
        buf_addz(line, "a message that is too long to be shown\n");
    struct buf out = BUF_INIT(4 * SAY_MAX);
    called_clean(&out, buf_str(line), "\n\t");
    fwrite(buf_z(&out), 1, out.n, stderr); /* at once, because others write there too */
    buf_release(&out);
    buf_release(line);
}

void called_say(const char *format, ...)
{
    struct buf line = BUF_INIT(SAY_MAX);
    va_list ap;
    buf_addf(&line, "%s: ", how.name);
    va_start(ap, format);
    say(&line, format, ap);
    va_end(ap);
}

void called_add(const char *format, ...)
{
    struct buf line = BUF_INIT(SAY_MAX);
    va_list ap;
    va_start(ap, format);
    say(&line, format, ap);
    va_end(ap);
}
