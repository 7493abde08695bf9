/* SPDX-License-Identifier: MIT */
/* Messages to a kernel: cells, questions, and the input that a cell asks for. */
#include "kernel/own.h"

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"

#include <string.h>

static int cell_put_member(struct buf *b, const char *name, struct str value)
{
    buf_addf(b, ",\"%s\":", name);
    return json_quote(b, value);
}

/* Characters of valid UTF-8. */
static int64_t length_of(struct str s)
{
    int64_t n = 0;
    for (size_t i = 0; i < s.n; i++)
        n += ((unsigned char)s.p[i] & 0xc0) != 0x80;
    return n;
}

/* The content of a message: a cell to be run, or a question. */
static int add_content(struct buf *b, const struct cell *c)
{
    struct str code = buf_str(&c->code);
    if (c->question && strcmp(c->question, "history") == 0)
        return buf_addz(b, "\"hist_access_type\":\"range\",\"session\":0,\"start\":1,"
                           "\"stop\":null,\"raw\":true,\"output\":false");
    if (c->question)
        buf_addf(b, "\"cursor_pos\":%lld,\"detail_level\":0",
                 (long long)(c->at < 0 || c->at > length_of(code) ? length_of(code)
                                                                  : c->at));
    else
        buf_addf(b,
                 "\"silent\":%s,\"store_history\":%s,\"allow_stdin\":%s,"
                 "\"stop_on_error\":false,\"user_expressions\":{}",
                 c->silent ? "true" : "false", c->history ? "true" : "false",
                 c->ev && c->ev->on_input ? "true" : "false");
    return cell_put_member(b, "code", code);
}

/* The request of the cell, which may have more than we write. */
static void add_request(struct buf *b, const struct cell *c)
{
    const struct json *given = json_get(c->request, "content");
    const struct json *metadata = json_get(c->request, "metadata");
    struct json *content = json_is_object(given) ? json_copy(given) : json_object();
    if (!json_has(content, "silent")) /* ipykernel does not answer without it */
        json_put_bool(content, "silent", false);
    json_put_bool(content, "stop_on_error", false); /* cell_stop does it */
    json_put_str(content, "code", buf_str(&c->code));
    buf_addz(b, "{\"channel\":\"shell\",\"header\":");
    json_print(b, json_get(c->request, "header"));
    buf_addz(b, ",\"parent_header\":{},\"metadata\":");
    if (json_is_object(metadata))
        json_print(b, metadata);
    else
        buf_addz(b, "{}");
    buf_addz(b, ",\"content\":");
    json_print(b, content);
    buf_addz(b, "}\n");
    json_free(content);
}

/* Programs that a cell starts may write after the kernel has reported its end. */
static bool is_lively(struct str code)
{
    static const char *const signs[] = {"system", "subprocess", "popen",
                                        "Popen",  "write(1",    "write(2",
                                        "ctypes", "fork",       "spawn"};
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        if (str_find(code, str_of(signs[i])) >= 0)
            return true;
    }
    return false;
}

static void add_own(struct buf *b, const struct cell *c, const char *date)
{
    buf_addf(b,
             "{\"channel\":\"shell\",\"header\":{\"msg_id\":\"%s\",\"msg_type\":"
             "\"%s_request\",\"session\":\"od\",\"username\":\"od\",\"date\":"
             "\"%s\",\"version\":\"5.3\"},\"parent_header\":{},\"metadata\":{},"
             "\"content\":{",
             c->call.id, c->question ? c->question : "execute", date);
    add_content(b, c);
    buf_addz(b, "}}\n");
}

int cell_send(struct cell *c, struct err *e)
{
    struct kernel *k = c->k;
    ASSERT(!kernel_record_of(k, c->call.id)); /* a request is sent once */
    struct buf b = BUF_INIT(LIMIT_ZMTP_OUT);
    char date[25];
    clock_iso(clock_wall_ms(), date);
    if (c->request)
        add_request(&b, c);
    else
        add_own(&b, c, date);
    k->deaths = 0;
    int r = buf_full(&b)
                ? err_set(e, ERR_LIMIT, "the cell has more than %d bytes as a message",
                          LIMIT_ZMTP_OUT)
                : companion_begin(&k->host, &c->call, b.n, e);
    if (r == 0) {
        struct record *rec = kernel_record_add(k);
        memcpy(rec->id, c->call.id, sizeof(rec->id));
        rec->from = process_output(k->host.process);
        rec->in = c->call.in;
        rec->len = c->call.len;
        rec->begun_ms = c->call.begun_ms;
        rec->timeout_ms = c->call.timeout_ms;
        c->lively = !c->question && is_lively(buf_str(&c->code));
        kernel_save_and_ask(k, buf_str(&b));
    }
    buf_release(&b);
    return r;
}

void cell_answer(struct cell *c, struct str text)
{
    struct buf b = BUF_INIT(LIMIT_COMMAND_MAX), h = BUF_INIT(64 << 10);
    if (!c->asked || c->call.step != CALL_RUNNING)
        goto out;
    char id[33];
    random_hex(id, 32);
    json_print(&h, c->asked);
    buf_addf(&b,
             "{\"channel\":\"stdin\",\"header\":{\"msg_id\":\"%s\",\"msg_type\":"
             "\"input_reply\",\"session\":\"od\",\"username\":\"od\",\"date\":"
             "\"2000-01-01T00:00:00Z\",\"version\":\"5.3\"},\"parent_header\":%s,"
             "\"metadata\":{},\"content\":{\"status\":\"ok\"",
             id, buf_z(&h));
    cell_put_member(&b, "value", text);
    if (buf_addz(&b, "}}\n") == 0)
        companion_send(&c->k->host, buf_str(&b));
    json_free(c->asked);
    c->asked = NULL;
out:
    buf_release(&b);
    buf_release(&h);
}
