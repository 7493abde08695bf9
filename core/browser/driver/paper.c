/* SPDX-License-Identifier: MIT */
/*
 * Documents that Chromium stores as files, or shows in a viewer without text (PDF,
 * Office): their answers are held back (Fetch domain, at the response) and read in a
 * helper; they become pages of plain text with the same address.
 *
 *   paused ──another type──► goes on
 *      └──a document──► waits in b->papers ──the turn ends──► its text, fulfilled
 */
#include "base/enc.h"
#include "browser/driver/driver.h"
#include "io/job.h"
#include "webpage/webbody.h"
#include "webpage/webpage.h"

#include <stdio.h>
#include <string.h>

enum {
    PAPER_MEMORY = 512 << 20,
    PAPER_CPU_S = 20,
    PAPER_NICE = 5,
    PAPER_TEXT_MAX = 16 << 20,
};

/* A reader in a helper: its input and its result. */
struct reading_paper {
    struct loop *loop;
    struct webbody body;
    struct buf *text;
    struct err e;
};

static void go_on(struct browser *b, struct str session, struct str request)
{
    struct json *p = json_object();
    json_put_str(p, "requestId", request);
    cdp_tell(&b->cdp, session, "Fetch.continueRequest", p);
}

void browser_watch_papers(struct browser *b, struct str session, int await_ms)
{
    struct err e = ERR_INIT;
    if (!b->reads && !b->reads_all) {
        cdp_tell(&b->cdp, session, "Fetch.disable", NULL);
        return;
    }
    struct json *p = json_object(), *all = json_array(), *one = json_object();
    json_put_z(one, "resourceType", "Document");
    json_put_z(one, "requestStage", "Response");
    json_push(all, one);
    json_put(p, "patterns", all);
    if (await_ms)
        json_free(
            cdp_call(&b->cdp, session, "Fetch.enable", p, browser_in(await_ms), &e));
    else
        cdp_tell(&b->cdp, session, "Fetch.enable", p);
}

static struct str header(const struct json *p, const char *name)
{
    for (const struct json *h = json_first(json_get(p, "responseHeaders")); h;
         h = json_next(h)) {
        if (webpage_is_word(json_str(h, "name", ""), name))
            return json_str(h, "value", "");
    }
    return STR("");
}

static bool is_too_long(const struct json *p)
{
    uint64_t n;
    return str_to_u64(header(p, "content-length"), &n) == 0 && n > WEBBODY_MAX;
}

void browser_on_paused(struct browser *b, struct str session, const struct json *p)
{
    struct str request = json_str(p, "requestId", ""), type = header(p, "content-type");
    struct str url = json_str(json_get(p, "request"), "url", "");
    int status = (int)json_int(p, "responseStatusCode", 0);
    bool kept = b->keeps &&
                str_starts(header(p, "content-disposition"), STR("attachment"));
    bool wanted = (b->reads || b->reads_all) && !kept && status >= 200 &&
                  (status < 300 || status >= 400) && webbody_is_document(type, url) &&
                  !is_too_long(p);
    if (!wanted || b->papers_n == BROWSER_PAPERS_MAX || request.n >= BROWSER_ID ||
        session.n >= BROWSER_ID) {
        go_on(b, session, request);
        return;
    }
    struct paper *paper = &b->papers[b->papers_n++];
    *paper = (struct paper){.status = status};
    memcpy(paper->session, session.p, session.n);
    memcpy(paper->request, request.p, request.n);
    buf_init(&paper->url, 1 << 20);
    buf_init(&paper->type, 4096);
    buf_adds(&paper->url, url);
    buf_adds(&paper->type, type);
}

/* Runs in the helper. */
static int read_paper(void *arg, const struct job_child *c, struct err *e)
{
    struct reading_paper *r = arg;
    struct webpage page;
    webpage_init(&page);
    int rc = webbody_read(&r->body, &page, e);
    if (rc == 0 && job_put(c, buf_str(&page.text)) < 0)
        rc = err_set(e, ERR_IO, "cannot hand over the text");
    webpage_release(&page);
    return rc;
}

static void on_text(struct job *j, struct buf *in)
{
    struct reading_paper *r = job_owner(j);
    buf_adds(r->text, str_sub(buf_str(in), 0, buf_room(r->text)));
    buf_consume(in, in->n);
}

static void on_read(struct job *j, const struct err *e)
{
    struct reading_paper *r = job_owner(j);
    r->e = *e;
    loop_stop(r->loop);
}

static const struct job_events job_calls = {.on_data = on_text, .on_done = on_read};

/* Returns its text, or the reason why it has none, which is also a note. */
static void get_text(struct browser *b, struct str bytes, const struct paper *paper,
                     struct buf *text)
{
    struct reading_paper r = {.loop = loop_new(), .text = text, .e = ERR_INIT};
    r.body = (struct webbody){
        .bytes = bytes, .type = buf_str(&paper->type), .url = buf_str(&paper->url)};
    struct job_spec spec = {.what = "reading a document",
                            .fn = read_paper,
                            .arg = &r,
                            .memory = PAPER_MEMORY,
                            .cpu_s = PAPER_CPU_S,
                            .nice = PAPER_NICE,
                            .ev = &job_calls,
                            .owner = &r};
    if (!r.loop)
        err_set(&r.e, ERR_LIMIT, "no descriptors are left");
    else if (!job_start(r.loop, &spec, &r.e) || loop_run(r.loop) < 0)
        err_set(&r.e, ERR_INTERNAL, "its reader did not start");
    if (r.e.code) {
        buf_reset(text);
        buf_addf(text, "(The document cannot be read: %s)\n", r.e.text);
        browser_note(b, "the document %.200s cannot be read: %s", buf_z(&paper->url),
                     r.e.text);
    }
    if (r.loop)
        loop_free(r.loop);
}

static void fulfill(struct browser *b, const struct paper *paper, struct str text)
{
    static const char *const fields[][2] = {{"Content-Type", "text/plain; charset=utf-8"},
                                            {"X-Content-Type-Options", "nosniff"}};
    struct json *p = json_object(), *headers = json_array();
    struct buf body = BUF_INIT(PAPER_TEXT_MAX / 3 * 4 + 16);
    enc_base64(&body, text);
    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
        struct json *h = json_object();
        json_put_z(h, "name", fields[i][0]);
        json_put_z(h, "value", fields[i][1]);
        json_push(headers, h);
    }
    json_put_z(p, "requestId", paper->request);
    json_put_int(p, "responseCode", paper->status);
    json_put(p, "responseHeaders", headers);
    json_put_str(p, "body", buf_str(&body));
    cdp_tell(&b->cdp, str_of(paper->session), "Fetch.fulfillRequest", p);
    buf_release(&body);
}

static void read_one(struct browser *b, const struct paper *paper)
{
    struct buf bytes = BUF_INIT(WEBBODY_PLAIN_MAX), text = BUF_INIT(PAPER_TEXT_MAX);
    struct err e = ERR_INIT;
    struct json *p = json_object();
    json_put_z(p, "requestId", paper->request);
    struct json *j = browser_ask(b, str_of(paper->session), "Fetch.getResponseBody", p,
                                 &e);
    struct str body = json_str(json_get(j, "result"), "body", "");
    bool packed = json_bool(json_get(j, "result"), "base64Encoded", false);
    int rc = !j ? -1 : packed ? dec_base64(&bytes, body) : buf_adds(&bytes, body);
    json_free(j);
    if (rc < 0) {
        go_on(b, str_of(paper->session), str_of(paper->request));
    } else {
        get_text(b, buf_str(&bytes), paper, &text);
        fulfill(b, paper, buf_str(&text));
    }
    buf_release(&bytes);
    buf_release(&text);
}

static void release(struct paper *paper)
{
    buf_release(&paper->url);
    buf_release(&paper->type);
}

/* More may arrive while one is read. */
void browser_read_papers(struct browser *b)
{
    while (b->papers_n > 0) {
        struct paper first = b->papers[0];
        b->papers_n--;
        memmove(&b->papers[0], &b->papers[1], (size_t)b->papers_n * sizeof(first));
        read_one(b, &first);
        release(&first);
    }
}

void browser_drop_papers(struct browser *b)
{
    while (b->papers_n > 0)
        release(&b->papers[--b->papers_n]);
}
