/* SPDX-License-Identifier: MIT */
/* The methods and resources; a program of the tests has more. */
#include "front/mcp/own.h"

const struct mcp_method *mcp_method_at(size_t i)
{
    return i < mcp_methods_n ? &mcp_methods[i] : NULL;
}

const struct mcp_resource *mcp_resource_at(size_t i)
{
    static const struct mcp_resource *const kinds[] = {&mcp_resource_file,
                                                       &mcp_resource_output,
                                                       &mcp_resource_screen,
                                                       &mcp_resource_events};
    return i < sizeof(kinds) / sizeof(kinds[0]) ? kinds[i] : NULL;
}
