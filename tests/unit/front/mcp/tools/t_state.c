/* SPDX-License-Identifier: MIT */
/* The state line in each of its forms, and all of them by the grammar of the header. */
#include "front/mcp/tools/state.h"

#include "t.h"

#include <regex.h>

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
              "exit 0 in 0.02 s; it has bytes that are not UTF-8; 7 bytes of it are no "
              "longer kept");
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
        LINE(.state = RUN_RUNNING, .ms = 95000, .waited_ms = 200, .program = "make",
             .command = 19, .lines = 1, .quiet_ms = 41000, .input = true, .session = "b"),
        "still running after 95 s, this call waited 0.2 s: make, command 19, 1 line so far, quiet for 41 s. "
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

/* ---- cells ---- */

static char shown[STATE_MAX + 1];

static const char *keep(struct buf *b)
{
    CHECK(!buf_full(b));
    memcpy(shown, buf_z(b), b->n + 1);
    buf_release(b);
    return shown;
}

static const char *code(struct cell_line l)
{
    struct buf b = BUF_INIT(STATE_MAX);
    l.session = l.session ? l.session : "python";
    cell_line(&b, &l);
    return keep(&b);
}

#define CODE(...) code((struct cell_line){.cell = 22, __VA_ARGS__})

TEST(a_cell)
{
    CHECK_STR(CODE(.state = CODE_OK, .ms = 20), "ok in 0.02 s");
    CHECK_STR(CODE(.state = CODE_OK, .ms = 20, .empty = true), "ok in 0.02 s; no output");
    CHECK_STR(CODE(.state = CODE_OK, .ms = 300, .cut_from = 61),
              "ok in 0.3 s; rest: read path=\"@22\" offset=61");
    CHECK_STR(CODE(.state = CODE_RAISED, .ms = 300, .error = STR("KeyError: 'x'")),
              "raised KeyError: 'x' after 0.3 s");
    CHECK_STR(CODE(.state = CODE_RAISED, .ms = 300, .error = STR("E: a[1]\n[ok")),
              "raised E: a?1???ok after 0.3 s");
    CHECK_STR(CODE(.state = CODE_DIED, .why = STR("out of memory")),
              "the kernel died (out of memory); a new one runs, its variables are gone");
    CHECK_STR(CODE(.state = CODE_DIED),
              "the kernel died; a new one runs, its variables are gone");
    CHECK_STR(CODE(.state = CODE_WAITING, .hidden = true),
              "waiting for input without echo, perhaps a password: cell 22. shell_input "
              "session=\"python\" text=\"…\"");
    CHECK_STR(CODE(.state = CODE_RUNNING, .ms = 5000, .waited_ms = 1000, .lines = 2,
                   .session = "b"),
              "still running after 5.0 s, this call waited 1.0 s: cell 22, 2 lines so far. Wait: shell_input "
              "session=\"b\"; stop: shell_input session=\"b\" key=\"C-c\"");
}

TEST(pictures)
{
    struct buf b = BUF_INIT(STATE_MAX);
    state_picture(&b, 640, 480, true, "/p/cell-24.png");
    state_picture(&b, 0, 0, false, "/p/\n2");
    state_picture(&b, 0, 0, true, "");
    CHECK_STR(buf_z(&b),
              "; picture 640x480, also /p/cell-24.png; picture is too large to "
              "be shown, it is /p/ 2; picture");
    buf_release(&b);
}

/* ---- pages ---- */

static const char *page(bool act, struct page_line p)
{
    struct buf b = BUF_INIT(STATE_MAX);
    p.url = p.url.n ? p.url : STR("http://a/");
    p.reason = "Not Found";
    p.part = p.part ? p.part : 1;
    p.parts = p.parts ? p.parts : 1;
    (act ? act_line : page_line)(&b, &p);
    return keep(&b);
}

#define PAGE(...) page(false, (struct page_line){__VA_ARGS__})
#define ACT(...)  page(true, (struct page_line){__VA_ARGS__})

TEST(a_page)
{
    CHECK_STR(PAGE(.status = 200, .refs = 3), "200, 3 elements with refs; http://a/");
    CHECK_STR(PAGE(.refs = 1, .text_browser = true),
              "1 element with refs; text browser, no scripts; http://a/");
    CHECK_STR(
        PAGE(.status = 404, .console_errors = 1, .console = STR("x\n]y")),
        "404 Not Found, 0 elements with refs; console: 1 error \"x ]y\"; http://a/");
    CHECK_STR(PAGE(.part = 2, .parts = 12),
              "part 2 of 12; more: part=3; 0 elements with refs; http://a/");
    CHECK_STR(PAGE(.part = 12, .parts = 12),
              "part 12 of 12; 0 elements with refs; http://a/");
    CHECK_STR(PAGE(.part = 99, .parts = 12),
              "there is no part 99, the last one is part=12; 0 elements with refs; "
              "http://a/");
    CHECK_STR(PAGE(.part = 7, .parts = 12, .find = STR("Price"), .places = 4, .shown = 1),
              "part 7 of 12 around \"Price\", 3 more places; 0 elements with refs; "
              "http://a/");
    CHECK_STR(PAGE(.find = STR("Price"), .near = STR("Pries")),
              "nothing here says \"Price\", nearest: Pries; 0 elements with refs; "
              "http://a/");
    CHECK_STR(PAGE(.shot = true, .width = 1280, .height = 720, .picture = STR("/p.png")),
              "picture 1280x720 with refs marked, also /p.png; 0 elements with refs; "
              "http://a/");
    CHECK_STR(PAGE(.tab = 2, .tabs = 3), "tab 2 of 3; 0 elements with refs; http://a/");
    CHECK_STR(PAGE(.downloaded = true),
              "downloaded, and the page is the one before; 0 elements with refs; "
              "http://a/");
    CHECK_STR(PAGE(.dialog = true, .dialog_text = STR("Delete?")),
              "dialog \"Delete?\" is open: press text=\"Enter\" or \"Esc\"");
}

TEST(an_act)
{
    CHECK_STR(
        ACT(.moved = true, .status = 200, .refs = 21, .shown = 8),
        "page changed: http://a/, 200; 21 elements with refs, 8 shown; all: browse");
    CHECK_STR(ACT(.changed = 2, .added = 1, .removed = 1, .shown = 4),
              "2 changed, 1 new, 1 gone");
    CHECK_STR(ACT(.added = 9, .shown = 4), "9 new, 4 shown; all: browse");
    CHECK_STR(ACT(.watched = true), "nothing changed in 2 s");
    CHECK_STR(ACT(.watched = true, .disabled = STR("e5")),
              "nothing changed; e5 is disabled");
    CHECK_STR(ACT(.waited = STR("Done")), "\"Done\" is there; nothing changed");
    CHECK_STR(ACT(.scrolled = STR("648-1368 of 9000")),
              "scrolled to 648-1368 of 9000 px; nothing changed");
    CHECK_STR(ACT(.added = 1, .shown = 1, .went = true), "1 new; now at http://a/");
    CHECK_STR(ACT(.added = 1, .shown = 1, .tab = 2, .tabs = 2), "1 new; tab 2 of 2");
    CHECK_STR(ACT(.moved = true, .tab = 2, .tabs = 2, .opened_from = 1),
              "page changed: http://a/; 0 elements with refs; in the new tab 2 of 2. "
              "Back: browser_act action=\"switch_tab\" text=\"1\"");
    CHECK_STR(ACT(.moved = true, .tab = 1, .tabs = 1, .tab_closed = true),
              "page changed: http://a/; 0 elements with refs; the tab was closed, this "
              "is tab 1 of 1");
    CHECK_STR(ACT(.dialog = true, .prompt = true, .dialog_text = STR("Name?")),
              "dialog \"Name?\" is open: fill text=\"…\" without ref, then press "
              "text=\"Enter\" or \"Esc\"");
}

TEST(lists)
{
    struct buf b = BUF_INIT(STATE_MAX);
    sessions_line(&b, 0);
    CHECK_STR(keep(&b), "no session yet; shell makes \"main\"");
    buf_init(&b, STATE_MAX);
    sessions_line(&b, 1);
    CHECK_STR(keep(&b), "1 session");
    buf_init(&b, STATE_MAX);
    parts_line(&b, 388, 9000, STR("a.pdf"));
    CHECK_STR(keep(&b), "the first 388 of 9000 lines; in parts: read path=\"a.pdf\"");
    buf_init(&b, STATE_MAX);
    parts_line(&b, 388, 9000, STR(""));
    CHECK_STR(keep(&b), "the first 388 of 9000 lines; to see all of it ask for less");
}

TEST(events)
{
    struct buf b = BUF_INIT(STATE_MAX);
    events_line(&b, &(struct events_line){.first = 17, .last = 40, .newest = 40});
    CHECK_STR(keep(&b), "events 17 to 40");
    buf_init(&b, STATE_MAX);
    events_line(&b, &(struct events_line){.first = 17, .last = 40, .newest = 812});
    CHECK_STR(keep(&b), "events 17 to 40 of 812; more: since=40");
    buf_init(&b, STATE_MAX);
    events_line(&b, &(struct events_line){.since = 8, .newest = 8, .waited_ms = 1000});
    CHECK_STR(keep(&b), "no event after 8 in 1.0 s. To wait for one: events since=8 "
                        "wait_s=30");
}

static const char *files(struct files_line l)
{
    struct buf b = BUF_INIT(STATE_MAX);
    files_line(&b, &l);
    return keep(&b);
}

TEST(files_and_watches)
{
    struct buf b = BUF_INIT(STATE_MAX);
    CHECK_STR(
        files((struct files_line){
            .done = "copied", .path = STR("a\nb"), .to = STR("c"), .n = 2, .bytes = 7}),
        "copied a b to c; 2 entries; 7 bytes");
    CHECK_STR(files((struct files_line){
                  .done = "removed", .path = STR("a"), .n = 1, .bytes = -1}),
              "removed a; 1 entry");
    CHECK_STR(files((struct files_line){.path = STR("a"), .there = true}), "a was there");
    watch_line(&b, 2, 400, false);
    CHECK_STR(keep(&b), "2 changes in 0.4 s");
    buf_init(&b, STATE_MAX);
    watch_line(&b, 0, 3000, true);
    CHECK_STR(keep(&b), "nothing changed in 3.0 s; what was watched is gone");
}

static const char *process(struct process_line l)
{
    struct buf b = BUF_INIT(STATE_MAX);
    l.name = "p1";
    process_line(&b, &l);
    return keep(&b);
}

TEST(a_process)
{
    CHECK_STR(
        process((struct process_line){.ended = true, .exit = 3, .ms = 90, .out = 1}),
        "exit 3 in 0.09 s; stdout 1 line, stderr 0 lines");
    CHECK_STR(process((struct process_line){.ended = true, .signo = 9, .ms = 90}),
              "killed by SIGKILL after 0.09 s; stdout 0 lines, stderr 0 lines");
    CHECK_STR(process((struct process_line){
                  .ended = true, .ms = 90, .out = 900, .cut = true, .action = 7}),
              "exit 0 in 0.09 s; stdout 900 lines, stderr 0 lines; kept of stdout: read "
              "path=\"@7\"");
    CHECK_STR(
        process((struct process_line){.ms = 5000, .waited_ms = 90, .err = 2}),
        "still running after 5.0 s, this call waited 0.09 s: p1; stdout 0 lines, stderr 2 lines. Wait: process "
        "name=\"p1\"; stop: process name=\"p1\" signal=\"TERM\"");
}

/* ---- the grammar ---- */

#define TIME "([0-9]+(\\.[0-9]+)? s|[0-9]+ min)"
#define NAME "[A-Za-z0-9_.+@:/?-]+"
#define WHO  "(" NAME "( \\(pid [0-9]+\\))?(, command [0-9]+)?|cell [0-9]+)"
#define REST \
    "(; it has bytes that are not UTF-8)?(; [0-9]+ bytes of it are no longer kept)?" \
    "(; rest: read path=\"@[0-9]+\" offset=[0-9]+(, or search path=\"@[0-9]+\")?)?"
#define CALL "shell_input( session=\"" NAME "\")?"
#define ENDED \
    "(exit [0-9]+( in " TIME ")?|killed by (SIG[A-Z0-9]+|signal [0-9]+) after " TIME \
    ")(: command [0-9]+)?(; no output)?(; now in [^\n]+)?" REST
#define WAITING \
    "waiting for input( without echo, perhaps a password)?: " WHO REST "\\. " CALL \
    " text=\"…\""
#define MAYBE \
    "perhaps waiting for input: " WHO \
    ", (.*, )?the line is unfinished, quiet for " TIME REST "\\. " CALL \
    " text=\"…\", or " CALL " to wait"
#define RUNS \
    "still running after " TIME "(, this call waited " TIME ")?: " WHO ", [0-9]+ lines? so far(, quiet for " TIME \
    ")?" REST "\\. Wait: " CALL "; stop: " CALL \
    " key=\"C-c\"(; meanwhile: shell session=\"[0-9]+\")?"
#define SCREEN \
    "full screen program: " NAME "(, command [0-9]+)?; shown as it looks\\. " CALL \
    " key=…"
#define CODE_ENDED \
    "(ok in |raised .+ after )" TIME "(; no output)?" REST \
    "(; picture[^[]*)*|the kernel " \
    "died( \\([^[]+\\))?; a new one runs, its variables are gone"

/* Each combination of what a run line can have. */
static void all_runs(regex_t *grammar)
{
    static const char *const sessions[] = {"main", "web"};
    for (unsigned i = 0; i < 4u << 12; i++) {
        struct run_line r = {.state = (enum run_state)(i & 3),
                             .session = sessions[i >> 2 & 1],
                             .other = "2",
                             .command = i >> 3 & 1 ? 17 : 0,
                             .input = i >> 4 & 1,
                             .exit = i >> 5 & 1 ? 143 : 0,
                             .signo = i >> 5 & 1 ? 15 : 0,
                             .ms = i >> 6 & 1 ? 250000 : 20,
                             .waited_ms = i >> 4 & 1 ? 20 : 0,
                             .quiet_ms = i >> 7 & 1 ? 6000 : 0,
                             .program = i >> 8 & 1 ? "a b]" : "sh",
                             .how = "",
                             .pid = i >> 9 & 1 ? 12 : 0,
                             .hidden = i >> 9 & 1,
                             .screen = i >> 10 & 1,
                             .empty = i >> 11 & 1,
                             .cwd = i >> 12 & 1 ? "/a\nb" : NULL,
                             .lines = i >> 7 & 1,
                             .cut_from = i >> 12 & 1 ? 5 : 0,
                             .gone = i >> 13 & 1 ? 9 : 0,
                             .bent = i >> 13 & 1};
        struct buf b = BUF_INIT(STATE_MAX);
        run_line(&b, &r);
        if (regexec(grammar, keep(&b), 0, NULL, 0) != 0)
            T_FAIL("not by the grammar: %s", shown);
    }
}

static void all_cells(regex_t *grammar)
{
    for (unsigned i = 0; i < 5u << 4; i++) {
        const char *text = code((struct cell_line){
            .state = (enum code_state)(i >> 4),
            .cell = 3,
            .session = i & 1 ? "python" : "main",
            .error = STR("E: [x]"),
            .why = i & 1 ? STR("why") : STR(""),
            .hidden = i & 2,
            .empty = i & 4,
            .ms = 7,
            .lines = i & 1,
            .cut_from = i & 8 ? 7 : 0,
            .pictures = i & 2 && i >> 4 < CODE_DIED ? STR("; picture 6x7") : STR("")});
        if ((i >> 4) != CODE_DIED && regexec(grammar, text, 0, NULL, 0) != 0)
            T_FAIL("not by the grammar: %s", text);
    }
}

TEST(every_state_is_of_the_grammar)
{
    static const char grammar[] = "^(" ENDED "|" WAITING "|" MAYBE "|" RUNS "|" SCREEN
                                  "|" CODE_ENDED ")$";
    regex_t re;
    CHECK_INT(regcomp(&re, grammar, REG_EXTENDED | REG_NOSUB), 0);
    all_runs(&re);
    all_cells(&re);
    CHECK(regexec(&re, "exit 0\n[exit 1", 0, NULL, 0) != 0);
    CHECK(regexec(&re, "waiting for input: sh", 0, NULL, 0) != 0);
    regfree(&re);
}

T_MAIN
