/* SPDX-License-Identifier: MIT */
/* Routes about the server: health, server info, tools, and the editor and desktop that it
 * does not have. */
#include "front/v1/own.h"

#include "base/clock.h"
#include "engine/engine.h"

#include <math.h>

static void alive(struct req *r)
{
    req_answer(r, 200, v1_json, STR("{\"status\":\"ok\"}"));
}

/* A server that listens is ready; so is one that waits for POST /api/init. */
static void ready(struct req *r)
{
    req_answer(r, 200, v1_json, STR("{\"status\":\"ready\"}"));
}

/* Adds the tools of od that have names of the SDK's tools. */
static void put_tools(struct json *to, const char *name)
{
    struct json *list = json_array();
    json_push_str(list, STR("terminal"));
    json_push_str(list, STR("file_editor"));
    json_push_str(list, STR("grep"));
    json_push_str(list, STR("glob"));
    json_put(to, name, list);
}

/* Appends the whole seconds since since_ms as a float: "12.0". */
static void put_seconds(struct buf *b, const char *name, int64_t since_ms)
{
    int64_t s = (clock_ms() - since_ms) / 1000;
    buf_addf(b, "\"%s\":%lld.0,", name, (long long)(s > 0 ? s : 0));
}

static void put_number(struct buf *b, const char *name, double n)
{
    if (n > 0 && n == floor(n))
        buf_addf(b, "\"%s\":%.1f,", name, n);
    else if (n > 0)
        buf_addf(b, "\"%s\":%.15g,", name, n);
    else
        buf_addf(b, "\"%s\":null,", name);
}

static void put_text(struct buf *b, const char *name, const char *text)
{
    buf_addf(b, "\"%s\":", name);
    json_quote(b, str_of(text[0] ? text : "unknown"));
    buf_addc(b, ',');
}

void v1_server_info(struct req *r)
{
    struct v1 *v = v1_of(r);
    struct json *tools = json_object();
    struct buf b = BUF_INIT(16 << 10), python = BUF_INIT(128);
    const char *version = json_str(fronts_about(v->all), "version", "").p;
    buf_addf(&python, "none (od %s)", version);
    put_tools(tools, "usable_tools");
    buf_addc(&b, '{');
    put_seconds(&b, "uptime", v->en->started_ms);
    put_seconds(&b, "idle_time", v->busy_ms);
    put_text(&b, "title", "OpenHands Agent Server");
    put_text(&b, "version", V1_LINE);
    put_text(&b, "sdk_version", V1_LINE);
    put_text(&b, "tools_version", V1_LINE);
    put_text(&b, "workspace_version", "unknown");
    put_text(&b, "build_git_sha", v->git_sha);
    put_text(&b, "build_git_ref", v->git_ref);
    put_text(&b, "python_version", buf_z(&python));
    buf_addz(&b, "\"usable_tools\":");
    json_print(&b, json_get(tools, "usable_tools"));
    buf_addc(&b, ',');
    put_number(&b, "runtime_idle_timeout_seconds", v->idle_timeout);
    buf_addz(&b, "\"capabilities\":[],");
    put_number(&b, "max_foreground_terminal_timeout_seconds", v->idle_timeout * 0.9);
    buf_addz(&b, "\"docs\":\"/docs\",\"redoc\":\"/redoc\"}");
    json_free(tools);
    buf_release(&python);
    req_answer_take(r, 200, v1_json, &b);
}

static void tools(struct req *r)
{
    struct json *j = json_object();
    put_tools(j, "list");
    v1_answer(r, 200, json_take(j, "list"));
    json_free(j);
}

static void no_vscode(struct req *r)
{
    v1_broken(r, 503,
              "VSCode is disabled in configuration. Set enable_vscode=true to enable.");
}

static void vscode_status(struct req *r)
{
    req_answer(
        r, 200, v1_json,
        STR("{\"running\":false,\"enabled\":false,\"message\":\"VSCode is disabled "
            "in configuration\"}"));
}

static void no_desktop(struct req *r)
{
    v1_broken(r, 503,
              "Desktop is disabled in configuration. Set enable_vnc=true to enable.");
}

static const struct route routes[] = {
    {.methods = HTTP_GET,
     .path = "/alive",
     .run = alive,
     .about = "Whether the server answers"},
    {.methods = HTTP_GET,
     .path = "/health",
     .run = alive,
     .about = "Whether the server answers"},
    {.methods = HTTP_GET,
     .path = "/ready",
     .run = ready,
     .about = "Whether requests can be sent"},
    {.methods = HTTP_GET,
     .path = "/server_info",
     .run = v1_server_info,
     .about = "Times, versions and tools of the server"},
    {.methods = HTTP_GET,
     .path = "/api/tools/",
     .run = tools,
     .right = RIGHT_VIEW,
     .about = "Names of the tools"},
    {.methods = HTTP_GET,
     .path = "/api/vscode/url",
     .run = no_vscode,
     .about = "There is no editor: answers 503"},
    {.methods = HTTP_GET,
     .path = "/api/vscode/status",
     .run = vscode_status,
     .right = RIGHT_VIEW,
     .about = "There is no editor: enabled is false"},
    {.methods = HTTP_GET,
     .path = "/api/desktop/url",
     .run = no_desktop,
     .about = "There is no desktop: answers 503"},
};

const struct http_front v1_server_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
