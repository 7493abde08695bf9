/* SPDX-License-Identifier: MIT */
/* The table of tools; a program of the tests has a different one. */
#include "front/mcp/tools/tool.h"

static const struct tool *const tools[] = {
#define TOOL(name) &tool_##name,
#include "front/mcp/tools/tools.def"
#undef TOOL
    NULL};

const struct tool *tool_at(size_t i)
{
    return i < sizeof(tools) / sizeof(tools[0]) ? tools[i] : NULL;
}
