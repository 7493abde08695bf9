/* SPDX-License-Identifier: MIT */
#include "where.h"

#include "ipc/remote.h"

#include <stdlib.h>
#include <string.h>

int where_take(const char **server, char space[SOCKPATH_MAX], const char *option,
               const char *value, struct err *e)
{
    if (strcmp(option, "--ca") == 0) {
        setenv("OD_CA", value, 1);
        return 0;
    }
    bool socket = strcmp(option, "--socket") == 0;
    if (socket && remote_is(value))
        return err_set(e, ERR_INVALID,
                       "--socket takes the path of a socket; %.200s goes to --server",
                       value);
    if (*server && (remote_is(*server) || remote_is(value)))
        return err_set(e, ERR_INVALID,
                       "two servers were named, %.150s and %.150s: give one, by --server "
                       "or --socket",
                       *server, value);
    *server = socket ? sockpath_of_path(value, space) : value;
    return 0;
}

bool where_is_remote(const char *server)
{
    char space[SOCKPATH_MAX];
    return remote_is(server ? server : sockpath_of_environment(space));
}
