/* SPDX-License-Identifier: MIT */
/*
 * A URL, and any bytes as the answers of the backend there: whatever they say, we
 * stay with its host, do not lose TLS, come to an end, and say why in words that a
 * log can hold. The same bytes also are lines of headers, and an os-release.
 */
#include "base/log.h"
#include "front/connect/ask.h"
#include "front/backend/hello.h"

#include <strings.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_words(const struct ask_result *r)
{
    BUG_ON(r->outcome >= CONNECT_OUTCOMES || !connect_outcome_name(r->outcome));
    BUG_ON(r->e.code == ERR_NONE || !r->e.text[0] || r->later_ms < 0);
    for (const char *p = r->e.text; *p; p++)
        BUG_ON((unsigned char)*p < ' ');
}

static bool follow(struct ask *a, struct str *text)
{
    static struct http_head h;
    struct http_error why;
    struct ask_result r;
    size_t used;
    char host[256];
    bool tls = a->at.tls;
    uint16_t port = a->at.port;
    size_t host_n = a->at.host.n;
    memcpy(host, a->at.host.p, host_n);
    if (http_parse_answer(*text, &h, &used, &why) <= 0)
        return false;
    *text = str_sub(*text, used, text->n);
    int rc = ask_judge(a, &h, *text, &r);
    BUG_ON(rc > 0); /* nobody can guess our key */
    if (rc < 0) {
        check_words(&r);
        return false;
    }
    BUG_ON(tls && !a->at.tls);
    BUG_ON(!a->at.tls && a->at.port != port);
    BUG_ON(a->at.host.n != host_n || strncasecmp(a->at.host.p, host, host_n) != 0);
    BUG_ON(a->at.target.n == 0 || a->at.target.p[0] != '/');
    return true;
}

static void answers(struct str text)
{
    struct ask a;
    struct buf shown = BUF_INIT(ASK_URL_MAX), fields = BUF_INIT(2000);
    if (ask_begin(&a, str_cut(&text, '\n'), NULL) == 0) {
        BUG_ON(ask_fields(&a, "od", STR("t"), STR(""), &fields, NULL) < 0);
        int hops = 0;
        while (follow(&a, &text))
            BUG_ON(++hops > ASK_HOPS_MAX);
        ask_print(&a, &shown);
        BUG_ON(shown.n == 0 || memchr(shown.p, '@', shown.n) ||
               memchr(shown.p, '?', shown.n));
        ask_allow_secret(&a, false, NULL);
    }
    buf_release(&shown);
    buf_release(&fields);
}

static void lines(struct str text)
{
    struct buf out = BUF_INIT(ASK_FIELDS_MAX);
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        buf_reset(&out);
        if (ask_add_line(&out, line, NULL) < 0) {
            BUG_ON(out.n > 0);
            continue;
        }
        BUG_ON(str_find(buf_str(&out), STR("\r\n")) != (long)out.n - 2);
        BUG_ON(memchr(out.p, 0, out.n) != NULL);
    }
    buf_release(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct str text = str_n(data, n);
    struct buf value = BUF_INIT(64);
    answers(text);
    lines(text);
    if (backend_os_release(text, "ID", &value) < 0)
        BUG_ON(value.n > 0);
    buf_release(&value);
    return 0;
}
