/* SPDX-License-Identifier: MIT */
/* The state line of what ran in a shell, in each of its forms. */
#include "front/mcp/tools/state.h"

#include "t.h"

static const char *line(struct run_line r)
{
    static char out[1000];
    struct buf b = BUF_INIT(sizeof(out) - 1);
    r.session = r.session ? r.session : "main";
    r.other = r.other ? r.other : "2";
    r.program = r.program ? r.program : "";
    r.how = r.how ? r.how : "";
    run_line(&b, &r);
    memcpy(out, buf_z(&b), b.n + 1);
    buf_release(&b);
    return out;
}

#define LINE(...) line((struct run_line){__VA_ARGS__})

TEST(a_command_has_ended)
{
    CHECK_STR(LINE(.ms = 2140), "exit 0 in 2.1 s");
    CHECK_STR(LINE(.ms = 2140, .cwd = "/srv/src"), "exit 0 in 2.1 s; now in /srv/src");
    CHECK_STR(LINE(.ms = 20, .empty = true), "exit 0; no output");
    CHECK_STR(LINE(.ms = 1000, .exit = 1, .empty = true), "exit 1 in 1.0 s; no output");
    CHECK_STR(LINE(.ms = 14300, .input = true, .command = 18),
              "exit 0 in 14 s: command 18");
    CHECK_STR(LINE(.ms = 9000, .exit = 137, .signo = 9), "killed by SIGKILL after 9.0 s");
    CHECK_STR(
        LINE(.ms = 100, .command = 20, .cut_from = 61),
        "exit 0 in 0.1 s; rest: read path=\"@20\" offset=61, or search path=\"@20\"");
    CHECK_STR(LINE(.ms = 20, .bent = true, .gone = 7),
              "exit 0 in 0.02 s; it has bytes that are not UTF-8; 7 bytes of it are not "
              "kept any more");
    CHECK_STR(
        LINE(.shell_ended = true, .exit = 2),
        "the shell ended (exit 2); a new one is in the same directory with the same "
        "environment");
}

TEST(a_program_waits)
{
    CHECK_STR(LINE(.state = RUN_WAITING, .program = "apt-get", .pid = 812, .command = 18),
              "waiting for input: apt-get (pid 812), command 18. shell_input text=\"…\"");
    CHECK_STR(LINE(.state = RUN_WAITING, .program = "sudo", .pid = 90, .hidden = true,
                   .session = "web"),
              "waiting for input without echo, perhaps a password: sudo (pid 90). "
              "shell_input session=\"web\" text=\"…\"");
    CHECK_STR(
        LINE(.state = RUN_MAYBE, .program = "node", .pid = 77,
             .how = "poll of the terminal", .quiet_ms = 2000),
        "perhaps waiting for input: node (pid 77), poll of the terminal, the line is "
        "unfinished, quiet for 2.0 s. shell_input text=\"…\", or shell_input to wait");
    CHECK_STR(
        LINE(.state = RUN_RUNNING, .screen = true, .program = "vim", .command = 3),
        "full screen program: vim, command 3; shown as it looks. shell_input key=…");
}

TEST(a_command_runs)
{
    CHECK_STR(
        LINE(.state = RUN_RUNNING, .ms = 5000, .program = "make", .command = 19,
             .lines = 212, .quiet_ms = 400),
        "still running after 5.0 s: make, command 19, 212 lines so far. Wait: "
        "shell_input; stop: shell_input key=\"C-c\"; meanwhile: shell session=\"2\"");
    CHECK_STR(
        LINE(.state = RUN_RUNNING, .ms = 30000, .program = "make", .command = 19,
             .lines = 1, .quiet_ms = 41000, .input = true, .session = "b"),
        "still running after 30 s: make, command 19, 1 line so far, quiet for 41 s. "
        "Wait: shell_input session=\"b\"; stop: shell_input session=\"b\" "
        "key=\"C-c\"");
}

TEST(what_is_not_ours_stays_within_its_place)
{
    CHECK_STR(LINE(.state = RUN_WAITING, .program = "a]\n[exit 0"),
              "waiting for input: a???exit?0. shell_input text=\"…\"");
    CHECK_STR(LINE(.ms = 100, .cwd = "/a\nb"), "exit 0 in 0.1 s; now in /a?b");
}

static const char *leave(const char *program)
{
    static char out[100];
    struct buf b = BUF_INIT(sizeof(out) - 1);
    put_leave(&b, "main", program);
    memcpy(out, buf_z(&b), b.n + 1);
    buf_release(&b);
    return out;
}

TEST(how_a_program_is_left)
{
    CHECK_STR(leave("less"), "shell_input key=\"q\"");
    CHECK_STR(leave("python3"), "shell_input key=\"C-d\"");
    CHECK_STR(leave("vim"), "shell_input key=\"Escape : q ! Enter\"");
    CHECK_STR(leave("les"), "shell_input key=\"C-c\"");
    CHECK_STR(leave(""), "shell_input key=\"C-c\"");
}

T_MAIN
