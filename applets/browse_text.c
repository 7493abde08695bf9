/* SPDX-License-Identifier: MIT */
/* `od browse` where no Chromium is: one visit, read as Markdown. */
#include "base/json.h"
#include "browse.h"
#include "engine/browse_action.h"
#include "engine/webtext.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPTIONS_MAX = 64, PAGE_MAX = 64 << 20 };

struct visit {
    struct loop *loop;
    struct webtext *web;
    struct err why; /* of the last action */
};

static void on_done(struct webtext *w, const struct err *e)
{
    struct visit *v = webtext_owner(w);
    v->why = e ? *e : (struct err)ERR_INIT;
    loop_stop(v->loop);
}

/* The rest of an action that was begun. 0; -1: v->why. */
static int finish(struct visit *v, int begun)
{
    if (begun == 0 && loop_run(v->loop) < 0)
        return err_set(&v->why, ERR_INTERNAL, "the event loop failed");
    return v->why.code ? -1 : 0;
}

static struct str text_of(const struct browse_value *v)
{
    return v && v->kind == BROWSE_STR ? v->text : STR("");
}

static int choose(struct visit *v, const struct browse_bound *b)
{
    struct str options[OPTIONS_MAX];
    size_t n = 0;
    const struct browse_value *list = b->arg[1];
    if (list && list->kind == BROWSE_STR)
        options[n++] = list->text;
    for (struct browse_value *i = list ? list->items : NULL; i && n < OPTIONS_MAX;
         i = i->next)
        options[n++] = text_of(i);
    return webtext_select(v->web, text_of(b->arg[0]), options, n, &v->why);
}

/* 0; -1: v->why. */
static int act(struct visit *v, const struct browse_call *c)
{
    struct browse_bound b;
    v->why = (struct err)ERR_INIT;
    if (browse_bind(&b, c, &v->why) < 0)
        return -1;
    switch (c->what) {
    case BROWSE_NOOP:
    case BROWSE_SCROLL:
    case BROWSE_HOVER:
    case BROWSE_FOCUS:
        return 0; /* all of the page is there already */
    case BROWSE_GOTO:
        return finish(v, webtext_goto(v->web, text_of(b.arg[0]), &v->why));
    case BROWSE_GO_BACK:
        return finish(v, webtext_back(v->web, &v->why));
    case BROWSE_GO_FORWARD:
        return finish(v, webtext_forward(v->web, &v->why));
    case BROWSE_CLICK:
    case BROWSE_CHECK:
    case BROWSE_UNCHECK:
        return finish(v, webtext_click(v->web, text_of(b.arg[0]), &v->why));
    case BROWSE_FILL:
        return finish(v, webtext_fill(v->web, text_of(b.arg[0]), text_of(b.arg[1]),
                                      &v->why));
    case BROWSE_CLEAR:
        return finish(v, webtext_fill(v->web, text_of(b.arg[0]), STR(""), &v->why));
    case BROWSE_SELECT:
        return finish(v, choose(v, &b));
    case BROWSE_PRESS:
        return finish(v, webtext_press(v->web, text_of(b.arg[0]), text_of(b.arg[1]),
                                       &v->why));
    default:
        return err_set(&v->why, ERR_UNSUPPORTED,
                       "%.*s needs a browser, and this page is read without one",
                       STR_ARG(c->name));
    }
}

static int act_all(struct visit *v, struct str text)
{
    struct browse_text t;
    struct err why = ERR_INIT;
    int r = browse_parse(&t, text, &v->why, &why);
    if (r < 0 && why.code)
        v->why = why;
    for (size_t i = 0; r == 0 && i < t.n; i++)
        r = act(v, &t.calls[i]);
    browse_text_release(&t);
    return r;
}

static void print(const struct browse_options *o, const struct visit *v,
                  const struct err *failed)
{
    struct buf page = BUF_INIT(PAGE_MAX), links = BUF_INIT(PAGE_MAX);
    webtext_observe(v->web, &page);
    if (o->links || o->json)
        webtext_links(v->web, &links);
    if (o->json) {
        struct json *j = json_object();
        struct buf line = BUF_INIT(2 * PAGE_MAX);
        json_put_z(j, "url", webtext_url(v->web));
        json_put_z(j, "title", webtext_title(v->web));
        json_put_int(j, "status", webtext_status(v->web));
        json_put_str(j, "error", failed->code ? str_of(failed->text) : STR(""));
        json_put_str(j, "text", buf_str(&page));
        json_put_str(j, "links", buf_str(&links));
        if (json_print(&line, j) == 0)
            printf("%s\n", buf_z(&line));
        buf_release(&line);
        json_free(j);
    } else {
        const struct buf *b = o->links ? &links : &page;
        if (failed->code)
            fprintf(stderr, "od browse: %s\n", failed->text);
        fwrite(b->p, 1, b->n, stdout);
        if (b->n && b->p[b->n - 1] != '\n')
            putchar('\n');
    }
    buf_release(&page);
    buf_release(&links);
}

int browse_by_text(const struct browse_options *o)
{
    struct visit v = {.loop = loop_new(), .why = ERR_INIT};
    struct webtext_spec spec = {.loop = v.loop, .on_done = on_done, .owner = &v};
    signal(SIGPIPE, SIG_IGN);
    if (!v.loop || !(v.web = webtext_new(&spec, &v.why))) {
        fprintf(stderr, "od browse: %s\n", v.loop ? v.why.text : "no event loop");
        return BROWSE_OURS;
    }
    char path[PATH_MAX];
    const char *address = realpath(o->url, path) ? path : o->url;
    int r = finish(&v, webtext_goto(v.web, str_of(address), &v.why));
    if (r == 0 && o->actions.n)
        r = act_all(&v, buf_str(&o->actions));
    struct err failed = v.why;
    print(o, &v, &failed);
    webtext_free(v.web);
    return fflush(stdout) != 0 ? BROWSE_OURS : r < 0 ? BROWSE_FAILED : 0;
}
