/* SPDX-License-Identifier: MIT */
/*
 * Decodes an action. The checks have OpenHands' order, so that for a body with several
 * faults the same one is reported: the event's kind, its arguments, its time limit, its
 * source.
 */
#include "front/v0/action.h"

#include "base/utf8.h"

/* The number of bytes of an event that an error shows. */
#define SHOWN 160

static const struct kind {
    const char *name;
    enum v0_kind kind;
} kinds[] = {
    {"null", V0_OTHER},
    {"run", V0_RUN},
    {"run_ipython", V0_RUN_IPYTHON},
    {"browse", V0_BROWSE},
    {"browse_interactive", V0_BROWSE_INTERACTIVE},
    {"read", V0_READ},
    {"write", V0_WRITE},
    {"edit", V0_EDIT},
    {"think", V0_OTHER},
    {"finish", V0_OTHER},
    {"reject", V0_OTHER},
    {"delegate", V0_OTHER},
    {"recall", V0_OTHER},
    {"change_agent_state", V0_OTHER},
    {"message", V0_OTHER},
    {"system", V0_OTHER},
    {"condensation", V0_OTHER},
    {"condensation_request", V0_OTHER},
    {"call_tool_mcp", V0_OTHER},
    {"task_tracking", V0_OTHER},
    {"loop_recovery", V0_OTHER},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static const struct kind *find_kind(struct str name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (str_eq(name, str_of(kinds[i].name)))
            return &kinds[i];
    return NULL;
}

/* Sets an error about the action, with `is` as its predicate and the list of actions
 * served. */
static int fail_kind(enum err_code code, struct str name, const char *is, struct err *e)
{
    struct buf list = BUF_INIT(1024);
    for (size_t i = 0; i < KINDS; i++)
        if (kinds[i].kind != V0_OTHER)
            buf_addf(&list, "%s%s", list.n ? ", " : "", kinds[i].name);
    size_t n = utf8_cut(name, 64);
    err_set(e, code,
            "Internal server error: 'action['action']='%.*s'' %s. Available actions: %s",
            (int)n, name.p, is, buf_z(&list));
    buf_release(&list);
    return -1;
}

/* Returns the beginning of an event's text; the caller releases *hold. */
static struct str shown(const struct json *event, struct buf *hold)
{
    if (json_print(hold, event) < 0)
        return STR("{...}");
    struct str s = buf_str(hold);
    return s.n > SHOWN ? str_n(s.p, utf8_cut(s, SHOWN)) : s;
}

/* Turns an error about one argument into the detail about the event. */
static int fail_args(const struct json *event, const struct err *why, struct err *e)
{
    struct buf hold = BUF_INIT(64 << 10);
    struct str s = shown(event, &hold);
    err_set(e, ERR_INVALID,
            "Internal server error: action=%.*s has the wrong arguments: %s", STR_ARG(s),
            why->text);
    buf_release(&hold);
    return -1;
}

static int fail_no_action(const struct json *event, struct err *e)
{
    if (json_has(event, "observation"))
        return err_set(e, ERR_INVALID, "Internal server error: 400: Invalid action type");
    struct buf hold = BUF_INIT(64 << 10);
    struct str s = shown(event, &hold);
    err_set(e, ERR_INVALID,
            "Internal server error: 'action' key is not found in action=%.*s",
            STR_ARG(s));
    buf_release(&hold);
    return -1;
}

/* ---- arguments ---- */

static int fail_missing(const struct kind *k, const char *a, const char *b, struct err *e)
{
    if (b)
        return err_set(e, ERR_INVALID, "%s needs the arguments '%s' and '%s'", k->name, a,
                       b);
    return err_set(e, ERR_INVALID, "%s needs the argument '%s'", k->name, a);
}

/* Gets the required strings: a, and b unless it is NULL. */
static int need(const struct kind *k, const struct json *args, const char *a,
                struct str *out_a, const char *b, struct str *out_b, struct err *e)
{
    const struct json *va = json_get(args, a), *vb = b ? json_get(args, b) : NULL;
    if (!va || (b && !vb))
        return va    ? fail_missing(k, b, NULL, e)
               : !vb ? fail_missing(k, a, b, e)
                     : fail_missing(k, a, NULL, e);
    if (!json_is_string(va))
        return err_set(e, ERR_INVALID, "%s must be a string", a);
    if (b && !json_is_string(vb))
        return err_set(e, ERR_INVALID, "%s must be a string", b);
    *out_a = json_str_value(va, "");
    if (b)
        *out_b = json_str_value(vb, "");
    return 0;
}

/* `quiet` is for a run with `until` (kinds.c); its type is checked in other runs, too. */
static int check_quiet(const struct json *args, struct err *e)
{
    double quiet = 0;
    if (json_want_num(args, "quiet", &quiet, e) < 0)
        return -1;
    if (quiet < 0 || quiet > V0_QUIET_MAX)
        return err_set(e, ERR_INVALID, "quiet must be from 0 to %d seconds",
                       V0_QUIET_MAX);
    return 0;
}

static int decode_run(const struct kind *k, struct v0_action *a, struct err *e)
{
    const struct json *args = a->args;
    if (need(k, args, "command", &a->run.command, NULL, NULL, e) < 0 ||
        json_want_bool(args, "is_input", &a->run.is_input, e) < 0 ||
        json_want_bool(args, "blocking", &a->run.blocking, e) < 0 ||
        json_want_bool(args, "is_static", &a->run.is_static, e) < 0 ||
        json_want_bool(args, "hidden", &a->run.hidden, e) < 0 || check_quiet(args, e) < 0)
        return -1;
    return json_want_str(args, "cwd", &a->run.cwd, e);
}

static int want_lines(const struct json *args, int64_t *start, int64_t *end,
                      struct err *e)
{
    *end = -1;
    if (json_want_int(args, "start", start, e) < 0)
        return -1;
    return json_want_int(args, "end", end, e);
}

/* The editor itself reports anything that is not a range. */
static void decode_range(struct v0_action *a)
{
    const struct json *r = json_get(a->args, "view_range");
    if (!r || json_is_null(r))
        return;
    const struct json *from = json_is_array(r) && json_count(r) == 2 ? json_first(r)
                                                                     : NULL;
    int64_t none = INT64_MIN;
    int64_t v[2] = {json_int_value(from, none),
                    json_int_value(from ? json_next(from) : NULL, none)};
    a->read.has_range = v[0] != none && v[1] != none;
    if (!a->read.has_range) {
        a->read.odd_range = r;
        return;
    }
    a->read.range[0] = v[0];
    a->read.range[1] = v[1];
}

static int decode_read(const struct kind *k, struct v0_action *a, struct err *e)
{
    struct str impl = STR("default");
    if (need(k, a->args, "path", &a->read.path, NULL, NULL, e) < 0 ||
        want_lines(a->args, &a->read.start, &a->read.end, e) < 0 ||
        json_want_str(a->args, "impl_source", &impl, e) < 0)
        return -1;
    a->read.aci = str_eq(impl, STR("oh_aci"));
    decode_range(a);
    return 0;
}

static int decode_args(const struct kind *k, struct v0_action *a, struct err *e)
{
    struct str ignored;
    switch (a->kind) {
    case V0_RUN:
        return decode_run(k, a, e);
    case V0_READ:
        return decode_read(k, a, e);
    case V0_WRITE:
        if (need(k, a->args, "path", &a->write.path, "content", &a->write.content, e) < 0)
            return -1;
        return want_lines(a->args, &a->write.start, &a->write.end, e);
    case V0_EDIT:
        return need(k, a->args, "path", &ignored, NULL, NULL, e);
    case V0_RUN_IPYTHON:
        return need(k, a->args, "code", &ignored, NULL, NULL, e);
    case V0_BROWSE:
        return need(k, a->args, "url", &ignored, NULL, NULL, e);
    case V0_BROWSE_INTERACTIVE:
        return need(k, a->args, "browser_actions", &ignored, NULL, NULL, e);
    case V0_OTHER:
        break;
    }
    return 0;
}

/* ---- the envelope ---- */

/* 0 is no limit, as in OpenHands. */
static int decode_timeout(const struct json *event, struct v0_action *a, struct err *e)
{
    double t = 0;
    if (json_want_num(event, "timeout", &t, e) < 0)
        return -1;
    if (t < 0)
        return err_set(e, ERR_INVALID, "timeout must not be negative");
    a->has_timeout = t > 0;
    a->timeout = t < V0_TIMEOUT_MAX ? t : V0_TIMEOUT_MAX;
    return 0;
}

static int check_source(const struct json *event, struct err *e)
{
    const struct json *v = json_get(event, "source");
    struct str s = json_str_value(v, "");
    if (!v || json_is_null(v) || str_eq(s, STR("agent")) || str_eq(s, STR("user")) ||
        str_eq(s, STR("environment")))
        return 0;
    size_t n = utf8_cut(s, 64);
    return err_set(e, ERR_INVALID,
                   "Internal server error: source must be 'agent', 'user' or "
                   "'environment', not '%.*s'",
                   (int)n, s.p);
}

static bool given(const struct json *event, const char *name)
{
    const struct json *v = json_get(event, name);
    return v && !json_is_null(v);
}

int v0_action_decode_event(const struct json *event, struct v0_action *out, struct err *e)
{
    struct err why = ERR_INIT;
    *out = (struct v0_action){.kind = V0_OTHER};
    if (!json_has(event, "action"))
        return fail_no_action(event, e);
    const struct json *name = json_get(event, "action");
    const struct kind *k = find_kind(json_str_value(name, ""));
    if (!k)
        return fail_kind(ERR_INVALID, json_str_value(name, "None"), "is not defined", e);
    out->kind = k->kind;
    out->name = json_str_value(name, "");
    out->unique = given(event, "timestamp");
    out->args = json_get(event, "args");
    if (out->args && !json_is_object(out->args)) {
        err_set(&why, ERR_INVALID, "args must be an object");
        return fail_args(event, &why, e);
    }
    if (decode_args(k, out, &why) < 0 || decode_timeout(event, out, &why) < 0)
        return fail_args(event, &why, e);
    return check_source(event, e);
}

int v0_action_decode(const struct json *body, struct v0_action *out, int *status,
                     struct err *e)
{
    *out = (struct v0_action){.kind = V0_OTHER};
    *status = 422;
    if (!json_is_object(body))
        return err_set(e, ERR_INVALID,
                       "[{'type': 'model_attributes_type', 'loc': ('body',), 'msg': "
                       "'Input should be a valid dictionary or object to extract "
                       "fields from'}]");
    const struct json *event = json_get(body, "action");
    if (!event)
        return err_set(e, ERR_INVALID,
                       "[{'type': 'missing', 'loc': ('body', 'action'), 'msg': "
                       "'Field required'}]");
    if (!json_is_object(event))
        return err_set(e, ERR_INVALID,
                       "[{'type': 'dict_type', 'loc': ('body', 'action'), 'msg': "
                       "'Input should be a valid dictionary'}]");
    *status = 500;
    return v0_action_decode_event(event, out, e);
}

int v0_action_refuse(const struct v0_action *a, struct err *e)
{
    return fail_kind(ERR_UNSUPPORTED, a->name, "is not executed in the sandbox", e);
}
