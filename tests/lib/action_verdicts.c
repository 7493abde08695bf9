/* SPDX-License-Identifier: MIT */
/*
 * Runs the server's checks of arguments and nothing else: for each line of standard
 * input, {"action":NAME,"args":…}, prints "ok" or "refused: " and the error.
 */
#include "action/describe.h"
#include "front/v0/action.h"

#include <stdio.h>
#include <stdlib.h>

static int verdict(const struct json *m, struct err *e)
{
    struct v0_action decoded;
    const struct action_kind *k = action_kind_of(m);
    if (!k)
        return err_set(e, ERR_NOTFOUND, "there is no such action");
    if (action_check(k, json_get(m, "args"), e) < 0)
        return -1;
    return k->foreign ? v0_action_decode_event(m, &decoded, e) : 0;
}

int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    while ((n = getline(&line, &size, stdin)) > 0) {
        struct err e = ERR_INIT;
        struct json *m = json_parse(str_n(line, (size_t)n), &e);
        if (m && verdict(m, &e) == 0)
            puts("ok");
        else
            printf("refused: %s\n", e.text);
        json_free(m);
    }
    free(line);
    return 0;
}
