/* SPDX-License-Identifier: MIT */
/*
 * Frames of the channels WebSocket (jupyter_server,
 * docs/source/developers/websocket-protocols.rst): a JSON text, with buffers after it in
 * a binary frame; or, with the subprotocol v1, offsets and parts.
 */
#include "front/jupyter/own.h"

#include "base/enc.h"
#include "base/jsontext.h"

enum { PARTS = 5, OFFSETS_MAX = 64 };

static struct str member(struct str object, const char *name)
{
    return jsontext_get(object, str_of(name));
}

/* The line may be only the beginning of one. */
void nb_line(struct nb_message *m, struct str line)
{
    struct str in = str_trim(line), name, value;
    *m = (struct nb_message){.channel = {NULL, 0}};
    const struct {
        const char *name;
        struct str *part;
    } parts[] = {{"header", &m->header},     {"parent_header", &m->parent},
                 {"metadata", &m->metadata}, {"content", &m->content},
                 {"buffers", &m->buffers},   {"channel", &m->channel}};
    in = str_sub(in, 1, in.n);
    while (jsontext_member(&in, &name, &value)) {
        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
            if (str_eq(name, str_of(parts[i].name)))
                *parts[i].part = value;
        }
    }
    if (m->channel.n && m->channel.p[0] != 'n')
        m->channel = jsontext_plain(m->channel);
    else
        m->channel.p = NULL;
}

static struct str or_empty(struct str part) { return part.n ? part : STR("{}"); }

static void put_number(struct buf *out, uint64_t v, unsigned bytes, bool little)
{
    for (unsigned i = 0; i < bytes; i++)
        buf_addc(out, (char)(v >> 8 * (little ? i : bytes - 1 - i)));
}

static uint64_t get_number(struct str s, size_t at, unsigned bytes, bool little)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v = v << 8 | (unsigned char)s.p[at + (little ? bytes - 1 - i : i)];
    return v;
}

/* Decodes the buffers one after the other. Returns how many there are. */
static size_t decode(struct buf *out, const struct nb_message *m,
                     size_t ends[OFFSETS_MAX])
{
    struct str in = jsontext_inside(m->buffers), one;
    size_t n = 0;
    while (n < OFFSETS_MAX && jsontext_item(&in, &one)) {
        dec_base64(out, jsontext_plain(one));
        ends[n++] = out->n;
    }
    return n;
}

static void put_text(struct buf *out, const struct nb_message *m, bool plain)
{
    const struct str parts[][2] = {
        {STR("{\"header\":"), or_empty(m->header)},
        {STR(",\"parent_header\":"), or_empty(m->parent)},
        {STR(",\"metadata\":"), or_empty(m->metadata)},
        {STR(",\"content\":"), or_empty(m->content)},
        {STR(",\"msg_id\":"), member(m->header, "msg_id")},
        {STR(",\"msg_type\":"), member(m->header, "msg_type")},
    };
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        buf_adds(out, parts[i][0]);
        buf_adds(out, parts[i][1].n ? parts[i][1] : STR("\"\""));
    }
    buf_addf(out, ",\"channel\":\"%.*s\"%s}", STR_ARG(m->channel),
             plain ? ",\"buffers\":[]" : "");
}

int nb_frame(struct buf *out, const struct nb_message *m, bool v1, bool *text)
{
    struct buf raw = BUF_INIT(LIMIT_JUPYTER_OUT), json = BUF_INIT(LIMIT_JUPYTER_OUT);
    size_t ends[OFFSETS_MAX], n = m->buffers.n ? decode(&raw, m, ends) : 0, at;
    unsigned size = v1 ? 8 : 4;
    *text = !v1 && n == 0;
    if (*text) {
        put_text(out, m, true);
    } else if (v1) {
        const struct str parts[PARTS] = {m->channel, or_empty(m->header),
                                         or_empty(m->parent), or_empty(m->metadata),
                                         or_empty(m->content)};
        size_t count = PARTS + 1 + n;
        put_number(out, count, size, true);
        at = size * (count + 1);
        put_number(out, at, size, true);
        for (int i = 0; i < PARTS; i++)
            put_number(out, at += parts[i].n, size, true);
        for (size_t i = 0; i < n; i++)
            put_number(out, at + ends[i], size, true);
        for (int i = 0; i < PARTS; i++)
            buf_adds(out, parts[i]);
    } else {
        put_text(&json, m, false);
        at = size * (n + 2);
        put_number(out, n + 1, size, false);
        put_number(out, at, size, false);
        for (size_t i = 0; i < n; i++)
            put_number(out, at + json.n + (i ? ends[i - 1] : 0), size, false);
        buf_adds(out, buf_str(&json));
    }
    buf_adds(out, buf_str(&raw));
    bool full = buf_full(&raw) || buf_full(&json) || buf_full(out);
    buf_release(&raw);
    buf_release(&json);
    return full ? -1 : 0;
}

/* ---- from clients ---- */

/*
 * Reads the offsets of a binary frame, and adds the end of the last part. Returns the
 * number of parts; -1 if they are not in order and within the frame.
 */
static int offsets(struct str frame, bool v1, size_t out[OFFSETS_MAX + 1])
{
    unsigned size = v1 ? 8 : 4;
    uint64_t n = frame.n < size ? 0 : get_number(frame, 0, size, v1);
    if (n < 1 || n > OFFSETS_MAX || frame.n < size * (n + 1))
        return -1;
    uint64_t least = size * (n + 1);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t at = get_number(frame, size * (i + 1), size, v1);
        if (at < least || at > frame.n)
            return -1;
        out[i] = (size_t)at;
        least = at;
    }
    out[n] = frame.n;
    /* With v1 the last one is the end of the frame. */
    return v1 ? (int)n - 1 : (int)n;
}

/* Trims a part. Returns whether it is an object, or empty. */
static bool is_object(struct str *s)
{
    *s = str_trim(*s);
    return s->n == 0 || (s->p[0] == '{' && jsontext_valid(*s));
}

int nb_unframe(struct nb_message *m, struct str frame, bool text, bool v1,
               struct buf *space)
{
    size_t at[OFFSETS_MAX + 1] = {0};
    int n = text ? 0 : offsets(frame, v1, at), first = v1 ? PARTS : 1;
    *m = (struct nb_message){0};
    if (n < 0 || (!text && n < first))
        return -1;
#define PART(i) str_sub(frame, at[i], at[(i) + 1] - at[i])
    if (text || !v1) {
        struct str json = text ? frame : PART(0);
        if (!jsontext_valid(json))
            return -1;
        nb_line(m, json);
        m->buffers = (struct str){0};
    } else {
        *m = (struct nb_message){PART(0), PART(1), PART(2), PART(3), PART(4), {NULL, 0}};
    }
    for (int i = first; i < n; i++) {
        buf_addz(space, i > first ? "\",\"" : "[\"");
        enc_base64(space, PART(i));
    }
#undef PART
    if (n > first)
        buf_addz(space, "\"]");
    if (n > first && buf_full(space))
        return -1;
    if (n > first)
        m->buffers = buf_str(space);
    bool fits = is_object(&m->header) && m->header.n && is_object(&m->parent) &&
                is_object(&m->metadata) && is_object(&m->content);
    return fits ? 0 : -1;
}

/* JSON has line ends only between its tokens. */
static void put_flat(struct buf *out, const char *name, struct str json)
{
    buf_addf(out, ",\"%s\":", name);
    size_t at = out->n;
    if (buf_adds(out, or_empty(json)) < 0)
        return;
    for (; at < out->n; at++) {
        if (out->p[at] == '\n' || out->p[at] == '\r')
            out->p[at] = ' ';
    }
}

int nb_put_line(struct buf *out, const struct nb_message *m)
{
    buf_addf(out, "{\"channel\":\"%.*s\"", STR_ARG(m->channel));
    put_flat(out, "header", m->header);
    put_flat(out, "parent_header", m->parent);
    put_flat(out, "metadata", m->metadata);
    put_flat(out, "content", m->content);
    if (m->buffers.n) {
        buf_addz(out, ",\"buffers\":");
        buf_adds(out, m->buffers);
    }
    return buf_addz(out, "}\n");
}
