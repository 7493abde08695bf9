/* SPDX-License-Identifier: MIT */
/* Signals as people write them. */
#include "os/sig.h"

#include "t.h"

#include <signal.h>

TEST(names_and_numbers)
{
    CHECK_INT(sig_number(STR("TERM"), 0), SIGTERM);
    CHECK_INT(sig_number(STR("sigusr1"), 0), SIGUSR1);
    CHECK_INT(sig_number(STR("SIGABRT"), 0), SIGABRT);
    CHECK_INT(sig_number(STR("ttou"), 0), SIGTTOU);
    CHECK_INT(sig_number(STR("9"), 0), SIGKILL);
    CHECK_INT(sig_number(STR(""), 2), SIGINT);
}

TEST(what_is_no_signal)
{
    static const char *const none[] = {"",           "SIG", "TER",  "TERMS",
                                       "SIGSIGTERM", "0",   "4096", "-9"};
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
        if (sig_number(str_of(none[i]), 0) != 0)
            T_FAIL("%s is taken for a signal", none[i]);
    }
    CHECK_INT(sig_number(STR(""), -1), 0);
    CHECK_INT(sig_number(STR(""), INT64_MAX), 0);
}

T_MAIN
