/* SPDX-License-Identifier: MIT */
/*
 * Messages of a kernel with ZMTP, passed on as lines.
 *
 * A long message stays in its receive buffer and is sent in pieces as the engine reads,
 * so that 100 MB are in memory once. Meanwhile nothing more is read, and other lines of
 * the host wait. The text of a stream is sent as several messages, so that no reader
 * needs all of it at once; other content is sent in one line.
 */
#include "kernel/host/own.h"

#include "base/enc.h"
#include "base/limits.h"
#include "base/log.h"

#include <stdio.h>

enum { PIECE = 64 << 10 };

static const char *const names[CHANNELS] = {"shell", "iopub", "stdin", "control"};

static void add_part(struct buf *out, const char *name, struct str part)
{
    buf_addz(out, name);
    size_t at = out->n;
    if (buf_adds(out, part) == 0 && part.n)
        jmsg_clean(out->p + at, part.n);
}

/* A line up to the message's content. */
static void add_head(struct buf *out, enum host_channel from, const struct jmsg *m)
{
    buf_addf(out, "{\"channel\":\"%s\"", names[from]);
    add_part(out, ",\"header\":", m->header);
    add_part(out, ",\"parent_header\":", m->parent);
    add_part(out, ",\"metadata\":", m->metadata);
    buf_addz(out, ",\"content\":");
}

/* The rest of a line after the content: its buffers as base64. */
static void add_end(struct buf *out, const struct jmsg *m)
{
    for (int i = 0; i < m->nbuffers; i++) {
        buf_addz(out, i ? "\",\"" : ",\"buffers\":[\"");
        enc_base64(out, m->buffers[i]);
    }
    buf_addz(out, m->nbuffers ? "\"]}\n" : "}\n");
}

static void add_line(struct buf *out, enum host_channel from, const struct jmsg *m)
{
    size_t at = out->n;
    add_head(out, from, m);
    add_part(out, "", m->content);
    add_end(out, m);
    host_whole(out, at);
}

static bool is_object(struct str text)
{
    struct buf copy = BUF_INIT(PIECE);
    struct err e = ERR_INIT;
    struct json *j = NULL;
    if (text.n && buf_adds(&copy, text) == 0) {
        jmsg_clean(copy.p, copy.n);
        j = json_parse(buf_str(&copy), &e);
    }
    bool is = json_is_object(j);
    json_free(j);
    buf_release(&copy);
    return is;
}

/*
 * Whether m is well-formed. A long content is not checked: its reader parses it. The
 * content of a malformed reply is replaced, since a caller waits for it.
 */
static bool well_formed(struct kernel_host *h, enum host_channel from, struct jmsg *m)
{
    if (is_object(m->header) && is_object(m->parent) && is_object(m->metadata)) {
        if (m->content.n >= PIECE || is_object(m->content))
            return true;
        if (from == CH_SHELL) {
            m->content = STR(
                "{\"status\":\"error\",\"ename\":\"MalformedReply\",\"evalue\":"
                "\"the kernel's reply is not a JSON object\",\"traceback\":[]}");
            return true;
        }
    }
    char text[100];
    snprintf(text, sizeof(text),
             "a message of the kernel on its %s channel is not JSON and was left out",
             names[from]);
    host_say(h, "note", text);
    return false;
}

/* ---- long ones ---- */

/* Sends a part of the text as a message by itself. */
static void add_stream(struct buf *out, struct passing *p)
{
    size_t n = jmsg_cut(p->rest, PIECE);
    add_head(out, p->from, &p->m);
    buf_addf(out, "{\"name\":\"%.*s\",\"text\":\"", STR_ARG(p->name));
    buf_adds(out, str_sub(p->rest, 0, n));
    buf_addz(out, "\"}}\n");
    p->rest = str_sub(p->rest, n, p->rest.n);
}

bool host_pass_more(struct kernel_host *h)
{
    struct passing *p = &h->passing;
    if (p->rest.n == 0)
        return false;
    if (p->stream)
        add_stream(&h->going, p);
    else {
        size_t n = p->rest.n < PIECE ? p->rest.n : PIECE;
        buf_adds(&h->going, str_sub(p->rest, 0, n));
        p->rest = str_sub(p->rest, n, p->rest.n);
        if (p->rest.n == 0)
            add_end(&h->going, &p->m);
    }
    BUG_ON(buf_full(&h->going)); /* it was empty, and a message fits */
    if (p->rest.n == 0)
        buf_release(&p->memory);
    return true;
}

/* Earlier lines are sent before it. */
static void pass_long(struct kernel_host *h, enum host_channel from, const struct jmsg *m,
                      struct zmtp *z)
{
    struct passing *p = &h->passing;
    if (buf_adds(&h->going, buf_str(&h->pending)) == 0)
        buf_release(&h->pending);
    zmtp_take(z, &p->memory);
    jmsg_clean(p->memory.p + (m->content.p - p->memory.p), m->content.n);
    p->m = *m;
    for (int i = 0; i < m->nbuffers; i++)
        p->buffers[i] = m->buffers[i];
    p->m.buffers = p->buffers;
    p->from = from;
    p->rest = m->content;
    p->stream = str_find(m->header, STR("\"stream\"")) >= 0 &&
                jmsg_stream(m->content, &p->name, &p->rest) && p->name.n <= 100 &&
                p->rest.n > 0;
    if (!p->stream) {
        p->rest = m->content;
        add_head(&h->going, from, m);
    }
}

void host_pass(struct kernel_host *h, enum host_channel from, struct jmsg *m,
               struct zmtp *z)
{
    if (!well_formed(h, from, m))
        return;
    if (m->content.n > PIECE && h->passing.rest.n == 0)
        pass_long(h, from, m, z);
    else
        add_line(&h->pending, from, m);
    task_defer(h->loop, &h->flush); /* together with other lines of this turn */
}
