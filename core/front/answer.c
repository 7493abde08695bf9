/* SPDX-License-Identifier: MIT */
#include "front/answer.h"

#include "base/json.h"

enum { ERROR_MAX = 8 << 10 };

void answer_error(struct req *r, int status, enum err_code code, const char *text)
{
    struct json *j = json_object(), *e = json_object();
    struct buf b = BUF_INIT(ERROR_MAX);
    json_put_z(e, "code", err_name(code));
    json_put_z(e, "message", text);
    json_put(j, "error", e);
    json_print(&b, j);
    json_free(j);
    req_answer_take(r, status, "application/json", &b);
}
