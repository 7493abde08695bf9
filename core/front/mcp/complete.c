/* SPDX-License-Identifier: MIT */
/* completion/complete: values for the variables of the templates of resources. */
#include "front/mcp/own.h"

enum { VALUES_MAX = 100 };

struct json *mcp_complete_result(struct json *values, size_t total, bool more)
{
    struct json *j = json_object(), *c = json_object();
    bool cut = json_count(values) > VALUES_MAX;
    if (cut) {
        struct json *first = json_array(), *v = json_first(values);
        for (int i = 0; i < VALUES_MAX; i++, v = json_next(v))
            json_push(first, json_copy(v));
        json_free(values);
        values = first;
    }
    json_put(c, "values", values);
    if (!more)
        json_put_int(c, "total", (int64_t)total);
    json_put_bool(c, "hasMore", cut || more);
    json_put(j, "completion", c);
    return j;
}

static const struct mcp_resource *kind_of(struct str pattern)
{
    const struct mcp_resource *k;
    for (size_t i = 0; (k = mcp_resource_at(i)); i++) {
        if (k->pattern && str_eq(pattern, str_of(k->pattern)))
            return k;
    }
    return NULL;
}

static bool has_variable(const struct mcp_resource *k, struct str name)
{
    struct str rest = str_of(k->arguments ? k->arguments : "");
    while (rest.n > 0) {
        if (str_eq(str_cut(&rest, ' '), name))
            return true;
    }
    return false;
}

void mcp_complete(struct mcp_ask *a)
{
    const struct json *ref = json_get(a->in->params, "ref");
    const struct json *argument = json_get(a->in->params, "argument");
    struct str name = json_str(argument, "name", "");
    if (!json_is_object(ref) || !json_is_string(json_get(argument, "name")) ||
        !json_is_string(json_get(argument, "value"))) {
        mcp_error(a, RPC_PARAMS,
                  "completion/complete needs ref {type, uri} and argument "
                  "{name, value}");
        return;
    }
    const struct mcp_resource *k = str_eq(json_str(ref, "type", ""), STR("ref/resource"))
                                       ? kind_of(json_str(ref, "uri", ""))
                                       : NULL;
    if (!k)
        mcp_error(a, RPC_PARAMS,
                  "ref must be {\"type\": \"ref/resource\", \"uri\": one "
                  "of resources/templates/list}");
    else if (!has_variable(k, name))
        mcp_error(a, RPC_PARAMS, "%s has no such variable; it has %s", k->pattern,
                  k->arguments ? k->arguments : "none");
    else if (k->complete)
        k->complete(a, name, json_str(argument, "value", ""));
    else
        mcp_result(a, mcp_complete_result(json_array(), 0, false));
}
