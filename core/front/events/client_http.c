/* SPDX-License-Identifier: MIT */
/* The clients for programs by HTTP: front/client/client.h. */
#include "front/client/client.h"

#include "front/events/own.h"
#include "http/httpd.h"

static void answer(struct req *r, const char *language, const char *type)
{
    struct buf b = BUF_INIT(CLIENT_TEXT_MAX);
    client_text(&b, language);
    req_header_add(r, "X-Content-Type-Options", "nosniff");
    req_answer_take(r, 200, type, &b);
}

void events_client_python(struct req *r)
{
    answer(r, "python", "text/x-python; charset=utf-8");
}

void events_client_typescript(struct req *r)
{
    answer(r, "typescript", "text/plain; charset=utf-8");
}
