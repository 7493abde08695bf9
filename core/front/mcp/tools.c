/* SPDX-License-Identifier: MIT */
/* Which tools a client gets, and how they are described to it. */
#include "front/mcp/own.h"

/* ---- sets ---- */

static const struct {
    const char *name, *words;
} sets[] = {
    {"default", "shell,shell_input,read,edit,write,search,python,browse,browser_act,"
                "sessions"},
    {"core", "shell,shell_input,read,edit,write,search"},
    {"shell", "shell,shell_input"},
    {"readonly", "read,search,sessions"},
};

/* Adds a tool, if this program has it. */
static bool add_one(struct mcp_wish *w, struct str name)
{
    const struct tool *t;
    for (size_t i = 0; (t = tool_at(i)); i++) {
        if (str_eq(name, str_of(t->name)))
            return w->tools[i] = true;
    }
    return false;
}

static bool add_set(struct mcp_wish *w, struct str name)
{
    if (str_eq(name, STR("all"))) {
        for (size_t i = 0; i < MCP_TOOLS_MAX && tool_at(i); i++)
            w->tools[i] = true;
        return true;
    }
    const struct tool *t;
    bool known = false;
    for (size_t i = 0; i < MCP_TOOLS_MAX && (t = tool_at(i)); i++) {
        if (!t->set || !str_eq(name, str_of(t->set)))
            continue;
        w->tools[i] = known = true;
    }
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]) && !known; i++) {
        struct str rest = str_of(sets[i].words);
        if (!str_eq(name, str_of(sets[i].name)))
            continue;
        while (rest.n > 0)
            add_one(w, str_cut(&rest, ','));
        return true;
    }
    return known;
}

/*
 * Appends all names that a list may have. The name of both a set and a tool appears once.
 */
static void put_known(struct buf *out)
{
    const struct tool *t;
    const char *last = "";
    buf_addz(out, "Sets: all");
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
        buf_addf(out, " %s", sets[i].name);
    for (size_t i = 0; (t = tool_at(i)); i++) {
        if (t->set && strcmp(t->set, last) != 0 && strcmp(t->set, t->name) != 0)
            buf_addf(out, " %s", t->set);
        last = t->set ? t->set : last;
    }
    buf_addz(out, ". Tools:");
    for (size_t i = 0; (t = tool_at(i)); i++)
        buf_addf(out, " %s", t->name);
}

int mcp_wish_tools(struct mcp_wish *w, struct str list, struct err *e)
{
    memset(w->tools, 0, sizeof(w->tools));
    while (list.n > 0) {
        struct str name = str_trim(str_cut(&list, ','));
        if (name.n == 0 || add_set(w, name) || add_one(w, name))
            continue;
        struct buf names = BUF_INIT(2000);
        put_known(&names);
        err_set(e, ERR_INVALID, "there is no tool or set %.*s. %s",
                (int)(name.n < 24 ? name.n : 24), name.p, buf_z(&names));
        buf_release(&names);
        return -1;
    }
    return 0;
}

const struct tool *mcp_tool(const struct mcp_wish *w, struct str name)
{
    const struct tool *t;
    for (size_t i = 0; (t = tool_at(i)); i++) {
        if (w->tools[i] && str_eq(name, str_of(t->name)))
            return t;
    }
    return NULL;
}

/* ---- definitions ---- */

static struct json *schema_of(const struct param *p)
{
    static const char *const types[] = {
        [PARAM_STRING] = "string", [PARAM_TEXT] = "string", [PARAM_PATH] = "string",
        [PARAM_INTS] = "array",    [PARAM_INT] = "integer", [PARAM_NUMBER] = "number",
        [PARAM_BOOL] = "boolean"};
    struct json *j = json_object();
    bool known = (size_t)p->type < sizeof(types) / sizeof(types[0]) && types[p->type];
    struct buf about = BUF_INIT(1000);
    json_put_z(j, "type", known ? types[p->type] : "string");
    buf_addz(&about, p->about);
    if (p->dflt && strcmp(p->dflt, "null") != 0)
        buf_addf(&about, "; default %s", p->dflt);
    json_put_z(j, "description", buf_z(&about));
    buf_release(&about);
    if (p->type == PARAM_INTS) {
        struct json *items = json_object();
        json_put_z(items, "type", "integer");
        json_put(j, "items", items);
    }
    struct str rest = str_of(p->choices);
    struct json *list = rest.n ? json_array() : NULL;
    while (rest.n > 0)
        json_push_str(list, str_cut(&rest, ' '));
    if (list)
        json_put(j, "enum", list);
    return j;
}

static struct json *input_schema(const struct param_list *l)
{
    struct json *j = json_object(), *rows = json_object(), *needed = json_array();
    json_put_z(j, "type", "object");
    for (const struct param *p = l->params; p && p->name; p++) {
        json_put(rows, p->name, schema_of(p));
        if (p->required)
            json_push_str(needed, str_of(p->name));
    }
    json_put(j, "properties", rows);
    json_put_bool(j, "additionalProperties", false);
    if (json_count(needed) > 0)
        json_put(j, "required", needed);
    else
        json_free(needed);
    return j;
}

/* The schema of a tool's object: text, and what t->output adds. */
static struct json *output_schema(const struct tool *t)
{
    struct err e = ERR_INIT;
    struct json *j = json_object(), *rows = json_parse_kept(str_of(t->output), &e);
    struct json *text = json_object(), *needed = json_array();
    json_put_z(text, "type", "string");
    json_put(rows, "text", text);
    json_put_z(j, "type", "object");
    json_put(j, "properties", rows);
    json_push_str(needed, STR("text"));
    json_put(j, "required", needed);
    return j;
}

static struct json *annotations(const struct tool *t)
{
    struct json *j = json_object();
    json_put_bool(j, "readOnlyHint", t->read_only);
    if (!t->read_only)
        json_put_bool(j, "destructiveHint", t->destructive);
    if (t->idempotent)
        json_put_bool(j, "idempotentHint", true);
    json_put_bool(j, "openWorldHint", t->open_world);
    return j;
}

static struct json *definition(const struct tool *t, bool structured)
{
    struct json *j = json_object();
    json_put_z(j, "name", t->name);
    json_put_z(j, "title", t->title);
    json_put_z(j, "description", tool_takes(t)->about);
    json_put(j, "inputSchema", input_schema(tool_takes(t)));
    if (structured && t->output)
        json_put(j, "outputSchema", output_schema(t));
    json_put(j, "annotations", annotations(t));
    if (t->always_load) {
        struct json *meta = json_object();
        json_put_bool(meta, "anthropic/alwaysLoad", true);
        json_put(j, "_meta", meta);
    }
    return j;
}

struct json *mcp_tools_list(const struct mcp_wish *w)
{
    struct json *j = json_object(), *list = json_array();
    const struct tool *t;
    for (size_t i = 0; (t = tool_at(i)); i++) {
        if (w->tools[i])
            json_push(list, definition(t, w->structured));
    }
    json_put(j, "tools", list);
    return j;
}
