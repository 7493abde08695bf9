/* SPDX-License-Identifier: MIT */
/*
 * A command and its output as one answer, after a wait for its end.
 *
 * The answer is the last event of the command with the text of all of them: upstream
 * answers only the last piece of a long output. The pieces are read from their files one
 * after another while the answer is sent, so there is no limit to it.
 */
#include "front/v1/bash.h"
#include "front/v1/own.h"

#include "base/jsontext.h"
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum { PIECE = 256 << 10, SEND_MAX = BASH_TEXT_MAX + 2 * PIECE };

static const char *const streams[] = {"stdout", "stderr"};
enum { STREAMS = sizeof(streams) / sizeof(streams[0]) };

struct bash_executed {
    struct bash_wait wait;
    struct req *r;
    struct bash *b;
    char id[BASH_ID + 1];
    /* Of the answer: */
    uint64_t *outputs; /* owned: numbers of the command's outputs, in order */
    size_t n, at;
    unsigned stream; /* whose text is written, from output `at` on; STREAMS: all is */
    bool open;       /* its string has begun */
    uint64_t lost;   /* outputs that had been removed before the answer began */
    bool broken;     /* an output went while the answer was sent */
    struct buf text; /* the bytes to send */
};

static void executed_free(void *p)
{
    struct bash_executed *x = p;
    buf_release(&x->text);
    free(x->outputs);
    free(x);
}

static void executed_bury(struct bash_executed *x)
{
    loop_bury(x->b->v->en->loop, x, executed_free);
}

/* ---- the answer ---- */

/* Finds the numbers of the outputs of the last event's command. */
static void find_outputs(struct bash_executed *x, uint64_t last)
{
    const struct bash_store *s = &x->b->store;
    const struct bash_event *end = bash_store_at(s, last);
    uint64_t number, first = bash_store_first(s);
    size_t most = (size_t)end->order + 1;
    x->outputs = xcalloc(most, sizeof(*x->outputs));
    if (bash_store_find(s, x->id, &number))
        first = number;
    for (number = first; number <= last && x->n < most; number++) {
        const struct bash_event *e = bash_store_at(s, number);
        if (e->kind == BASH_OUTPUT &&
            memcmp(e->command, end->command, sizeof(e->command)) == 0)
            x->outputs[x->n++] = number;
    }
    x->lost = most - x->n;
}

static void put_begin(struct bash_executed *x, uint64_t last)
{
    static const char *const plain[] = {"id", "timestamp", "command_id", "order",
                                        "exit_code"};
    struct str text = bash_store_text(&x->b->store, last);
    buf_addc(&x->text, '{');
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        buf_addf(&x->text, "\"%s\":", plain[i]);
        buf_adds(&x->text, jsontext_get(text, str_of(plain[i])));
        buf_addc(&x->text, ',');
    }
}

static void open_string(struct bash_executed *x)
{
    if (!x->open)
        buf_addc(&x->text, '"');
    x->open = true;
}

/* Adds what one output has of the current stream, which is a JSON string already. */
static void put_piece(struct bash_executed *x, uint64_t number)
{
    struct str text = bash_store_text(&x->b->store, number);
    struct str value = jsontext_get(text, str_of(streams[x->stream]));
    if (!text.p)
        x->broken = true;
    if (value.n < 2 || value.p[0] != '"')
        return;
    open_string(x);
    buf_adds(&x->text, str_sub(value, 1, value.n - 2));
}

static void begin_stream(struct bash_executed *x)
{
    buf_addf(&x->text, "\"%s\":", streams[x->stream]);
    x->open = false;
    x->at = 0;
    if (x->lost == 0 || strcmp(streams[x->stream], "stderr") != 0)
        return;
    open_string(x);
    buf_addf(&x->text,
             "[od: %llu pieces of this command's output, of up to %d characters each, had "
             "been removed from the events before it ended]\\n",
             (unsigned long long)x->lost, BASH_CHUNK);
}

/* Adds to text until there is enough to send, or the end. */
static void fill(struct bash_executed *x)
{
    while (x->stream < STREAMS && x->text.n < PIECE && !x->broken) {
        if (x->at < x->n) {
            put_piece(x, x->outputs[x->at++]);
            continue;
        }
        buf_addz(&x->text, x->open ? "\"," : "null,");
        if (++x->stream < STREAMS)
            begin_stream(x);
        else
            buf_addz(&x->text, "\"kind\":\"BashOutput\"}");
    }
}

static void send_more(struct bash_executed *x)
{
    struct req *r = x->r;
    while (x->text.n > 0) {
        size_t sent = req_send(r, buf_str(&x->text));
        buf_consume(&x->text, sent);
        if (x->text.n > 0)
            return; /* on_room comes */
        fill(x);
    }
    if (x->broken) /* the peer sees that the answer is incomplete */
        req_abort(r);
    else
        req_end(r);
    executed_bury(x);
}

static void on_room(struct req *r, void *owner)
{
    (void)r;
    send_more(owner);
}

static void on_executed(struct bash_wait *w, uint64_t last)
{
    struct bash_executed *x = container_of(w, struct bash_executed, wait);
    const struct bash_event *e = bash_store_at(&x->b->store, last);
    struct req *r = x->r;
    if (!e || !bash_store_text(&x->b->store, last).p) {
        v1_unforeseen(r, "the event of the command's end cannot be read");
        executed_bury(x);
        return;
    }
    buf_init(&x->text, SEND_MAX);
    find_outputs(x, last);
    put_begin(x, last);
    begin_stream(x);
    fill(x);
    if (x->stream == STREAMS && !x->broken) {
        req_answer_take(r, 200, v1_json, &x->text);
        executed_bury(x);
        return;
    }
    req_on_room(r, on_room);
    req_begin(r, 200, v1_json, -1);
    send_more(x);
}

/* ---- the wait ---- */

/* The client disconnected; the command goes on. */
static void on_gone(struct req *r, void *owner)
{
    struct bash_executed *x = owner;
    (void)r;
    bash_wait_stop(&x->wait);
    executed_bury(x);
}

void bash_execute(struct req *r)
{
    struct v1 *v = v1_of(r);
    struct json *errors = NULL, *q = model_body(&bash_request, r, &errors);
    char id[BASH_ID + 1];
    uint64_t last;
    if (!q) {
        model_refuse(r, errors);
        return;
    }
    v1_touch(v);
    bash_do(v->bash, q, id);
    json_free(q);
    struct bash_executed *x = xnew(struct bash_executed);
    x->r = r;
    x->b = v->bash;
    memcpy(x->id, id, sizeof(id));
    buf_init(&x->text, 0);
    x->wait.ended = on_executed;
    struct bash_run *run = bash_find_run(v->bash, id);
    req_own(r, x, on_gone);
    last = bash_store_end(&v->bash->store) - 1;
    if (run)
        bash_wait_end(run, &x->wait);
    else /* it could not begin */
        on_executed(&x->wait, last);
}
