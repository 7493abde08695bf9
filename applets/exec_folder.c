/* SPDX-License-Identifier: MIT */
/*
 * `od exec --put` and `--get` of a folder: a tar that is made while it is sent, and
 * unpacked while it comes (file/fileact.h on both sides).
 *
 * A folder that is at the place already gets it as a folder in it, as with cp -r. Files
 * that exist are replaced. The receiver unpacks next to the place and moves at the
 * end, so a transfer that is cut leaves nothing, and begins again.
 */
#include "base/called.h"
#include "base/clock.h"
#include "base/enc.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/utf8.h"
#include "exec_copy.h"
#include "file/fileact.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TARGET_MAX = 32 << 10, TOKEN = 32 };

struct folder_copy {
    struct copy_link link;
    const char *near;
    char cwd[PATH_MAX];
    char place[2 * PATH_MAX]; /* where it shall be, there or here */
    char token[TOKEN + 1];
    struct fileact *f; /* packs or unpacks here; NULL: it does not run */
    int helpers;       /* it, and canceled ones that remove what they have unpacked */
    bool moving;       /* the request sends the folder, and does not look */
    bool whole;        /* all of the archive was transferred */
    bool answered;     /* the folder is there; the packer here may go on */
    int64_t files, bytes;
};

static void drop(void *arg)
{
    struct folder_copy *c = arg;
    if (c->f)
        fileact_cancel(c->f);
    c->f = NULL;
    c->moving = c->whole = c->answered = false;
}

/* ---- what packs and unpacks here ---- */

static size_t on_tar(void *arg, struct str bytes)
{
    struct folder_copy *c = arg;
    if (c->link.over || !c->link.asking)
        return bytes.n;
    size_t took = httpc_put(&c->link.http, bytes);
    copy_got(&c->link, took);
    return took;
}

static void on_tar_room(void *arg)
{
    struct folder_copy *c = arg;
    if (c->link.asking)
        httpc_more(&c->link.http);
}

static void on_here_done(void *arg, struct str result, const struct err *e)
{
    struct folder_copy *c = arg;
    struct json *j = e->code ? NULL : json_parse(str_trim(result), NULL);
    c->f = NULL;
    for (const struct json *w = json_first(json_get(j, "warnings")); w; w = json_next(w))
        called_add("%s: %.*s\n", called("exec").z, STR_ARG(json_str_value(w, "")));
    if (e->code) {
        c->link.e = *e;
        copy_fail(&c->link);
    } else if (c->answered) {
        copy_stop(&c->link);
    } else if (c->link.put) {
        c->whole = true;
        httpc_put_end(&c->link.http);
    } else {
        c->files = json_int(j, "files", 0);
        c->bytes = json_int(j, "bytes", 0);
        if (c->whole) /* an archive has an end of its own: the answer's may come later */
            copy_stop(&c->link);
    }
    json_free(j);
}

static void on_here_gone(void *arg)
{
    struct folder_copy *c = arg;
    if (--c->helpers == 0 && c->link.over)
        loop_stop(c->link.loop);
}

static void put_name(struct json *args, const char *name, struct str path)
{
    char other[32];
    struct buf text = BUF_INIT(4 * PATH_MAX);
    if (utf8_valid(path)) {
        json_put_str(args, name, path);
    } else if (enc_base64(&text, path) == 0) {
        snprintf(other, sizeof(other), "%s_base64", name);
        json_put_str(args, other, buf_str(&text));
    }
    buf_release(&text);
}

/* Packs the folder here, or unpacks into it. */
static int start_here(struct folder_copy *c)
{
    static const struct fileact_events packs = {
        .data = on_tar, .done = on_here_done, .gone = on_here_gone};
    static const struct fileact_events unpacks = {
        .room = on_tar_room, .done = on_here_done, .gone = on_here_gone};
    struct json *args = json_object();
    random_hex(c->token, TOKEN);
    put_name(args, c->link.put ? "path" : "to", str_of(c->link.put ? c->near : c->place));
    json_put_z(args, "format", "tar");
    if (!c->link.put)
        json_put_bool(args, "overwrite", true);
    struct fileact_spec spec = {.verb = c->link.put ? "archive" : "extract",
                                .args = args,
                                .cwd = c->cwd,
                                .token = c->token,
                                .input = !c->link.put,
                                .output = c->link.put};
    c->f = fileact_start(c->link.loop, &spec, c->link.put ? &packs : &unpacks, c,
                         &c->link.e);
    json_free(args);
    c->helpers += c->f != NULL;
    return c->f ? 0 : -1;
}

/* ---- requests ---- */

static void look(struct folder_copy *c)
{
    struct buf target = BUF_INIT(TARGET_MAX);
    remote_target(&c->link.remote, "/files/stat", &target);
    exec_add_path(&target, '?', "path", str_of(c->link.far));
    buf_addz(&target, "&follow=true");
    exec_add_session(&target, c->link.o);
    struct httpc_request q = {.method = "GET", .target = buf_str(&target)};
    copy_send(&c->link, &q, STR(""));
    buf_release(&target);
}

static void move(struct folder_copy *c)
{
    struct copy_link *l = &c->link;
    struct buf target = BUF_INIT(TARGET_MAX);
    c->moving = true;
    l->at = 0;
    remote_target(&l->remote, l->put ? "/files/extract" : "/files/archive", &target);
    if (l->put)
        exec_add_path(&target, '?', "to", str_of(c->place));
    else
        exec_add_path(&target, '?', "path", str_of(l->far));
    buf_addz(&target, l->put ? "&format=tar&overwrite=true" : "&format=tar");
    exec_add_session(&target, l->o);
    struct httpc_request q = {.method = l->put ? "PUT" : "GET",
                              .target = buf_str(&target),
                              .streams = l->put,
                              .chunked = l->put};
    copy_send(l, &q, l->put ? STR("Content-Type: application/x-tar\r\n") : STR(""));
    buf_release(&target);
    if (!l->over && l->put && start_here(c) < 0)
        copy_fail(l);
}

static void ask(void *arg)
{
    struct folder_copy *c = arg;
    if (c->moving)
        move(c);
    else
        look(c);
}

/* ---- answers ---- */

static void on_head(struct httpc *h)
{
    struct folder_copy *c = copy_arg(h);
    c->link.connected_ever = true;
    if (c->moving && !c->link.put && h->head.status == 200 && start_here(c) < 0)
        copy_fail(&c->link);
}

static size_t on_body(struct httpc *h, struct str piece)
{
    struct folder_copy *c = copy_arg(h);
    struct str rest = piece;
    if (!c->moving || c->link.put || h->head.status != 200) {
        buf_adds(&c->link.answer, str_sub(piece, 0, buf_room(&c->link.answer)));
        return piece.n;
    }
    while (c->f && rest.n > 0) {
        struct str part = str_sub(rest, 0, fileact_room(c->f));
        /* A write that has no room makes on_tar_room come. */
        if (fileact_write(c->f, part.n ? part : rest) < 0)
            break;
        rest = str_sub(rest, part.n ? part.n : rest.n, rest.n);
    }
    copy_got(&c->link, piece.n - rest.n);
    return c->f ? piece.n - rest.n : piece.n;
}

/* Takes the answer about what exists at the place. */
static void looked(struct folder_copy *c, const struct json *j)
{
    struct copy_link *l = &c->link;
    int status = l->http.head.status;
    bool none = status == 404 &&
                str_eq(json_str(json_get(j, "error"), "code", ""), STR("NOTFOUND"));
    bool folder = str_eq(json_str(j, "type", ""), STR("folder"));
    if (!l->put && (status == 404 || (status == 200 && !folder))) {
        copy_fail(l); /* with the error of the attempt as a file */
    } else if (status != 200 && !(l->put && none)) {
        copy_refused(l);
    } else if (l->put && !none && !folder) {
        err_set(&l->e, ERR_EXISTS,
                "cannot put the folder %.200s at %.200s: a file exists there", c->near,
                l->far);
        copy_fail(l);
    } else {
        if (l->put)
            snprintf(c->place, sizeof(c->place), "%s%s%s", l->far, folder ? "/" : "",
                     folder ? exec_base_name(c->near) : "");
        c->moving = true;
        if (httpc_is_kept(&l->http))
            move(c);
        else
            copy_again(l);
    }
}

static void moved(struct folder_copy *c, const struct json *j)
{
    struct copy_link *l = &c->link;
    if (l->http.head.status != 200) {
        copy_refused(l);
    } else if (!l->put) {
        c->whole = true;
        if (c->f)
            fileact_end_input(c->f);
        else
            copy_stop(l);
    } else if (!json_is_number(json_get(j, "files"))) {
        copy_is_odd(l);
    } else {
        c->files = json_int(j, "files", 0);
        c->bytes = json_int(j, "bytes", 0);
        c->answered = true;
        if (c->whole) {
            copy_stop(l);
        } else { /* what comes yet is behind the end of the archive */
            httpc_release(&l->http);
            l->asking = false;
        }
    }
}

static void on_answer(struct httpc *h, const struct err *e)
{
    struct folder_copy *c = copy_arg(h);
    if (c->link.over || copy_broke(&c->link, e))
        return;
    struct json *j = json_parse(buf_str(&c->link.answer), NULL);
    if (c->moving)
        moved(c, j);
    else
        looked(c, j);
    json_free(j);
}

static void on_room(struct httpc *h)
{
    struct folder_copy *c = copy_arg(h);
    if (c->f && c->link.put)
        fileact_resume(c->f);
}

static const struct httpc_events requests = {
    .on_head = on_head, .on_body = on_body, .on_done = on_answer, .on_room = on_room};
static const struct copy_calls calls = {.ask = ask, .drop = drop, .requests = &requests};

/* ---- all of it ---- */

/* Where a folder from there shall be: in a folder that is here under its own name. */
static void place_here(struct folder_copy *c)
{
    char far[PATH_MAX];
    snprintf(far, sizeof(far), "%s", c->link.far);
    for (size_t n = strlen(far); n > 1 && far[n - 1] == '/'; n--)
        far[n - 1] = 0;
    bool inside = access(c->near, F_OK) == 0;
    snprintf(c->place, sizeof(c->place), "%s%s%s", c->near, inside ? "/" : "",
             inside ? exec_base_name(far) : "");
}

int exec_folder(const struct exec_options *o, int signals, struct err *why)
{
    struct folder_copy *c = calloc(1, sizeof(*c));
    char space[SOCKPATH_MAX], near[PATH_MAX], real[PATH_MAX];
    const char *server = o->server ? o->server : sockpath_of_environment(space);
    int status = 0, rc;
    if (!c)
        return err_set(why, ERR_LIMIT, "no memory"), exec_fail(o, why);
    copy_init(&c->link, o, &calls, c);
    c->link.e = *why;
    snprintf(near, sizeof(near), "%s", c->link.put ? o->copy : o->words[0]);
    /* "." has no name of its own. */
    c->near = c->link.put && realpath(near, real) ? real : near;
    if (!c->link.put)
        place_here(c);
    rc = remote_open(&c->link.remote, server, why);
    if (rc == 0 && !getcwd(c->cwd, sizeof(c->cwd)))
        rc = err_sys(why, errno, "cannot find the current directory");
    if (rc == 0)
        rc = copy_run(&c->link, signals, why);
    if (c->helpers > 0) /* until the last is gone, or another signal comes */
        loop_run(c->link.loop);
    if (rc < 0) {
        status = exec_fail(o, why);
    } else if (c->link.status != 0) {
        status = c->link.status;
    } else if (o->json) {
        struct json *r = json_object();
        json_put_bool(r, "ok", true);
        json_put_int(r, "files", c->files);
        json_put_int(r, "bytes", c->bytes);
        json_put_int(r, "duration_ms", clock_ms() - c->link.began);
        exec_report(o, r);
        json_free(r);
    }
    copy_release(&c->link);
    free(c);
    return status;
}
