/* SPDX-License-Identifier: MIT */
/*
 * POST /upload: a form with `file`, `target_path` and `unzip`, in this order (swe-rex,
 * src/swerex/runtime/remote.py). The target arrives after the bytes, so a helper stages
 * these as they arrive (put.c).
 */
#include "front/swerex/own.h"

#include "base/xalloc.h"
#include "front/model/model.h"
#include "front/transfer/transfer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { TARGET_MAX = 4095, UNZIP_MAX = 64 };

enum field { FIELD_OTHER, FIELD_FILE, FIELD_TARGET, FIELD_UNZIP };

struct swerex_form {
    struct swerex_put *put; /* owned until it goes */
    enum field in;
    bool has_file, has_target;
    bool plain;            /* the part `file` is a text */
    int unzip;             /* 1 or 0; -1: it is neither true nor false */
    char given[UNZIP_MAX]; /* the beginning of that text */
};

static void form_free(void *arg)
{
    struct swerex_form *f = arg;
    if (f->put)
        swerex_put_free(f->put);
    free(f);
}

/* Returns 1 or 0; -1 if text is neither true nor false. */
static int truth(struct str text)
{
    static const char *const words[2][6] = {{"false", "0", "no", "off", "f", "n"},
                                            {"true", "1", "yes", "on", "t", "y"}};
    for (int i = 0; i < 12; i++) {
        const char *word = words[i / 6][i % 6];
        if (text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0)
            return i / 6;
    }
    return text.n == 0 ? 0 : -1;
}

/* ---- the form ---- */

static int on_part(void *arg, const struct multipart_part *p, struct json **args,
                   struct err *e)
{
    struct swerex_form *f = arg;
    (void)e;
    f->plain = f->plain || (str_eq(p->name, STR("file")) && !p->filename.p);
    f->in = str_eq(p->name, STR("target_path"))                             ? FIELD_TARGET
            : str_eq(p->name, STR("unzip"))                                 ? FIELD_UNZIP
            : str_eq(p->name, STR("file")) && p->filename.p && !f->has_file ? FIELD_FILE
                                                                            : FIELD_OTHER;
    f->has_target = f->has_target || f->in == FIELD_TARGET;
    if (f->in == FIELD_OTHER)
        return PART_SKIP;
    if (f->in != FIELD_FILE)
        return PART_TEXT;
    f->has_file = true;
    *args = swerex_put_args(f->put);
    return PART_FILE;
}

static int on_text(void *arg, struct str bytes, struct err *e)
{
    struct swerex_form *f = arg;
    struct buf *path = &f->put->path;
    if (f->in == FIELD_UNZIP) {
        f->unzip = truth(bytes);
        snprintf(f->given, sizeof(f->given), "%.*s", STR_ARG(bytes));
        return 0;
    }
    buf_reset(path);
    if (bytes.n > TARGET_MAX || buf_adds(path, bytes) < 0 || str_chr(bytes, 0) >= 0)
        return err_set(e, ERR_INVALID, "target_path is not a path of at most %d bytes",
                       TARGET_MAX);
    return 0;
}

static int on_end(void *arg, struct err *e)
{
    const struct swerex_form *f = arg;
    if (f->has_file && f->has_target && f->unzip >= 0)
        return 0;
    return err_set(e, ERR_INVALID, "the form is not complete");
}

/* Returns the errors of all wrong parts, as FastAPI lists them. */
static struct json *errors_of(const struct swerex_form *f)
{
    static const char missing[] = "Field required";
    struct json *errors = NULL, *given = json_object();
    if (!f->has_file && f->plain)
        model_error(&errors, "value_error", "body", "file",
                    "Value error, Expected UploadFile, received: <class 'str'>", NULL);
    else if (!f->has_file)
        model_error(&errors, "missing", "body", "file", missing, NULL);
    if (!f->has_target)
        model_error(&errors, "missing", "body", "target_path", missing, NULL);
    json_put_z(given, "unzip", f->given);
    if (f->unzip < 0)
        model_error(&errors, "bool_parsing", "body", "unzip",
                    "Input should be a valid boolean, unable to interpret input",
                    json_get(given, "unzip"));
    json_free(given);
    return errors;
}

static void on_fail(struct req *r, void *arg, const struct err *e)
{
    const struct swerex_form *f = arg;
    struct json *errors = NULL;
    if (e->code != ERR_INVALID) {
        swerex_raise_file(r, e, buf_str(&f->put->path));
    } else {
        errors = errors_of(f);
        if (!errors)
            model_error(&errors, "value_error", "body", NULL, e->text, NULL);
        model_refuse(r, errors);
    }
}

static void on_done(struct req *r, void *arg, struct str result)
{
    struct swerex_form *f = arg;
    struct swerex_put *p = f->put;
    (void)result;
    f->put = NULL;
    p->unzip = f->unzip > 0;
    /* As shutil.move does with a file of this name (docs.python.org). */
    p->name = p->unzip ? NULL : "temp_file_transfer";
    swerex_put_own(p, r);
    swerex_put_go(p);
}

void swerex_upload(struct req *r)
{
    static const struct transfer_words words = {.done = on_done, .fail = on_fail};
    static const struct transfer_form form = {
        .part = on_part, .text = on_text, .end = on_end};
    struct swerex *w = req_arg(r);
    struct err e = ERR_INIT;
    struct swerex_put *p = swerex_put_new(r, &e);
    if (!p) {
        swerex_raise_err(r, &e);
        return;
    }
    struct swerex_form *f = xnew(struct swerex_form);
    f->put = p;
    transfer_form(r,
                  &(struct transfer_ask){.en = w->en,
                                         .place = &p->place,
                                         .words = &words,
                                         .arg = f,
                                         .free = form_free},
                  &form);
}
