/* SPDX-License-Identifier: MIT */
/*
 * Rules of the network that are added while the server runs, by those who may use it:
 *
 *   {"action":"fence_allow","args":{"rule":"reach api.example.org:443"}}
 *
 * They hold for all programs at once, until the server ends. The keeper has them, and
 * gives them to each supervisor (reach/supervisor.h).
 */
#include "action/own.h"

#include "base/limits.h"
#include "fence/rules.h"

enum { ADDED_MAX = 200, RULE_MAX = 1000 };

static const struct param_list takes = {
    .about = "Allows programs in a fence more of the network, until the server ends",
    .params =
        (const struct param[]){
            {.name = "rule",
             .type = PARAM_STRING,
             .required = true,
             .about = "A line of reach or listen, as od help fence says"},
            {.name = "undo",
             .type = PARAM_BOOL,
             .dflt = "false",
             .about = "Takes back such a rule; those of the start stay"},
            {0}},
    .example = "{\"rule\":\"reach api.example.org:443\"}"};

static const struct member extras[] = {
    {.name = "added",
     .type = MEMBER_STRINGS,
     .about = "The rules that hold beside those of the start"},
    {0}};

static const struct observation gives[] = {{.name = "fence_allow", .extras = extras},
                                           {0}};

/* "reach api.example.org:443" */
static void put_rule(const struct json *rule, struct buf *out)
{
    buf_adds(out, json_str(rule, "do", ""));
    buf_addc(out, ' ');
    fence_print_word(rule, out);
}

static bool is_same(const struct json *a, const struct json *b)
{
    struct buf x = BUF_INIT(2 * RULE_MAX), y = BUF_INIT(2 * RULE_MAX);
    put_rule(a, &x);
    put_rule(b, &y);
    bool same = str_eq(buf_str(&x), buf_str(&y));
    buf_release(&x);
    buf_release(&y);
    return same;
}

static struct json *find(struct json *list, const struct json *rule)
{
    struct json *x = json_first(list);
    while (x && !is_same(x, rule))
        x = json_next(x);
    return x;
}

/* The rules of the argument, which the caller frees. NULL and *e. */
static struct json *parse(struct engine *en, const struct json *args, struct err *e)
{
    struct str text = json_str(args, "rule", "");
    struct json *rules = json_array();
    int rc = 0;
    if (!en->fence)
        rc = err_set(e, ERR_UNSUPPORTED,
                     "this server has no fence, so there is nothing to allow");
    else if (!json_bool(en->fence, "net", false))
        rc = err_set(e, ERR_UNSUPPORTED,
                     "this server's fence does not limit the network; its rules for "
                     "files hold from its start on, so start it with others");
    else if (text.n > RULE_MAX || str_chr(text, '\n') >= 0)
        rc = err_set(e, ERR_INVALID, "rule is one line of at most %d bytes", RULE_MAX);
    else
        rc = fence_parse(text, "rule", "", rules, e);
    for (const struct json *x = json_first(rules); x && rc == 0; x = json_next(x)) {
        struct str what = json_str(x, "do", "");
        if (!str_eq(what, STR("reach")) && !str_eq(what, STR("listen")))
            rc = err_set(
                e, ERR_INVALID,
                "reach or listen was expected: rules of %.*s hold from the start "
                "of the server on",
                STR_ARG(what));
        else if (json_bool(x, "nothing", false))
            rc = err_set(e, ERR_INVALID, "nothing cannot be allowed; undo takes back");
    }
    if (rc == 0 && json_count(rules) == 0)
        rc = err_set(e, ERR_INVALID, "a rule was expected, as reach api.example.org:443");
    if (rc == 0)
        return rules;
    json_free(rules);
    return NULL;
}

/* Adds the rules to those that hold, or takes them away. */
static int change(struct json *added, const struct json *rules, bool undo, struct err *e)
{
    for (const struct json *x = json_first(rules); x; x = json_next(x)) {
        struct json *old = find(added, x);
        if (undo && !old)
            return err_set(e, ERR_NOTFOUND, "no such rule was added");
        if (undo)
            json_drop(added, old);
        else if (!old && json_count(added) >= ADDED_MAX)
            return err_set(e, ERR_LIMIT, "%d rules were added already; undo some",
                           ADDED_MAX);
        else if (!old)
            json_push(added, json_copy(x));
    }
    return 0;
}

/* Returns the extras, and appends the text. */
static struct json *result_of(const struct json *added, struct buf *text)
{
    struct json *o = json_object(), *list = json_array();
    for (const struct json *x = json_first(added); x; x = json_next(x)) {
        struct buf rule = BUF_INIT(2 * RULE_MAX);
        put_rule(x, &rule);
        json_push_str(list, buf_str(&rule));
        buf_addf(text, "%s%s", text->n > 0 ? ", " : "Added to the fence: ", buf_z(&rule));
        buf_release(&rule);
    }
    if (text->n == 0)
        buf_addz(text, "The fence is as it was at the start");
    json_put(o, "added", list);
    return o;
}

static void start(struct action *a)
{
    struct engine *en = a->all->en;
    struct err e = ERR_INIT;
    struct json *rules = parse(en, a->args, &e), *added = NULL;
    int rc = rules ? 0 : -1;
    if (rc == 0) {
        const struct json *was = json_get(en->fence, "added");
        added = was ? json_copy(was) : json_array();
        /* After a restart of the worker it may be done already. */
        rc = change(added, rules, json_bool(a->args, "undo", false), &e);
        if (rc < 0 && a->resumed && e.code == ERR_NOTFOUND)
            rc = 0;
    }
    if (rc == 0) {
        struct buf text = BUF_INIT(LIMIT_EVENT_MAX), state = BUF_INIT(LIMIT_EVENT_MAX);
        json_print(&state, added);
        keeper_client_rules(en->keeper, buf_str(&state));
        struct json *o = result_of(added, &text);
        json_put(en->fence, "added", added);
        added = NULL;
        action_end(a, buf_str(&text), o);
        buf_release(&text);
        buf_release(&state);
    } else {
        action_fail(a, &e);
    }
    json_free(rules);
    json_free(added);
}

const struct action_kind action_fence_allow = {.name = "fence_allow",
                                               .at_once = true,
                                               .takes = &takes,
                                               .gives = gives,
                                               .start = start};
