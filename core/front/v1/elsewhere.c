/* SPDX-License-Identifier: MIT */
/*
 * Routes of the agent-server that run an agent or keep its settings. A sandbox has none
 * of them: they answer 501 with a sentence about where they are.
 */
#include "front/v1/own.h"

enum { ALL = HTTP_GET | HTTP_POST | HTTP_PUT | HTTP_DELETE | HTTP_PATCH };

static void answer(struct req *r, const char *what, const char *where)
{
    struct buf text = BUF_INIT(512), exception = BUF_INIT(600);
    struct json *j = json_object();
    buf_addf(&text,
             "%s not in this sandbox: od runs commands, files and git. %s, which runs "
             "the agent",
             what, where);
    buf_addf(&exception, "501: %s", buf_z(&text));
    json_put_str(j, "detail", buf_str(&text));
    json_put_str(j, "exception", buf_str(&exception));
    v1_answer(r, 501, j);
    buf_release(&text);
    buf_release(&exception);
}

static void conversations(struct req *r)
{
    answer(r, "Conversations and their events are",
           "Send this request to the OpenHands agent-server");
}

static void llm(struct req *r)
{
    answer(r, "LLM profiles and the OpenAI gateway are",
           "Send this request to the OpenHands agent-server");
}

static void settings(struct req *r)
{
    answer(r, "Settings, secrets and MCP servers are",
           "Send this request to the OpenHands agent-server");
}

static void extensions(struct req *r)
{
    answer(r, "Skills, plugins, hooks and workspaces of an agent are",
           "Send this request to the OpenHands agent-server");
}

#define ELSEWHERE(at, fn) \
    { \
        .methods = ALL, .path = at, .run = fn, \
        .about = "Lives at the agent's own server: answers 501" \
    }

static const struct route routes[] = {
    ELSEWHERE("/api/conversations", conversations),
    ELSEWHERE("/api/conversations/*", conversations),
    ELSEWHERE("/sockets/events/*", conversations),
    ELSEWHERE("/api/file/download-trajectory/{id}", conversations),
    ELSEWHERE("/api/settings", settings),
    ELSEWHERE("/api/settings/*", settings),
    ELSEWHERE("/api/mcp/*", settings),
    ELSEWHERE("/api/profiles", llm),
    ELSEWHERE("/api/profiles/*", llm),
    ELSEWHERE("/api/agent-profiles", llm),
    ELSEWHERE("/api/agent-profiles/*", llm),
    ELSEWHERE("/api/llm/*", llm),
    ELSEWHERE("/v1/models", llm),
    ELSEWHERE("/v1/chat/completions", llm),
    ELSEWHERE("/api/skills", extensions),
    ELSEWHERE("/api/skills/*", extensions),
    ELSEWHERE("/api/plugins", extensions),
    ELSEWHERE("/api/plugins/*", extensions),
    ELSEWHERE("/api/hooks", extensions),
    ELSEWHERE("/api/sub-agents", extensions),
    ELSEWHERE("/api/sub-agents/*", extensions),
    ELSEWHERE("/api/workspaces", extensions),
    ELSEWHERE("/api/workspaces/*", extensions),
};

const struct http_front v1_elsewhere_table = {
    .routes = routes, .nroutes = sizeof(routes) / sizeof(routes[0]), .fail = v1_fail};
