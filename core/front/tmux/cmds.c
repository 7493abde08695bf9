/* SPDX-License-Identifier: MIT */
/* The commands of tmux, with their flags and what -t and -s name. */
#include "front/tmux/cmds.h"

#include "front/tmux/request.h"
#include "front/tmux/tmux.h"

#include <string.h>

/* name, alias, flags as for getopt, least and most words, usage, what it is like,
 * function, target, source */
static const struct tm_command commands[] = {
    {"attach-session", "attach", "c:dEf:rt:x", 0, 0,
     "[-dErx] [-c working-directory] [-f flags] [-t target-session]",
     CMD_STARTS | CMD_PREFER_UNATTACHED, cmd_attach_session, 0, 0},
    {"bind-key", "bind", "nrN:T:", 1, -1,
     "[-nr] [-T key-table] [-N note] key [command [arguments]]", 0, cmd_bind_key, 0, 0},
    {"break-pane", "breakp", "abdPF:n:s:t:", 0, 0,
     "[-abdP] [-F format] [-n window-name] [-s src-pane] [-t dst-window]", CMD_INDEX,
     cmd_break_pane, 'w', 'p'},
    {"capture-pane", "capturep", "ab:CeE:JNpPqS:Tt:", 0, 0,
     "[-aCeJNpPq] [-b buffer-name] [-E end-line] [-S start-line] [-t "
     "target-pane]",
     0, cmd_capture_pane, 'p', 0},
    {"choose-buffer", NULL, "F:f:K:NO:rt:Z", 0, 1,
     "[-NrZ] [-F format] [-f filter] [-K key-format] [-O sort-order] [-t "
     "target-pane] [template]",
     0, cmd_refused, 0, 0},
    {"choose-client", NULL, "F:f:K:NO:rt:Z", 0, 1,
     "[-NrZ] [-F format] [-f filter] [-K key-format] [-O sort-order] [-t "
     "target-pane] [template]",
     0, cmd_refused, 0, 0},
    {"choose-tree", NULL, "F:f:GK:NO:rst:wZ", 0, 1,
     "[-GNrswZ] [-F format] [-f filter] [-K key-format] [-O sort-order] [-t "
     "target-pane] [template]",
     0, cmd_refused, 0, 0},
    {"clear-history", "clearhist", "t:", 0, 0, "[-t target-pane]", 0, cmd_clear_history,
     'p', 0},
    {"clear-prompt-history", "clearphist", "T:", 0, 0, "[-T type]", 0, cmd_refused, 0, 0},
    {"clock-mode", NULL, "t:", 0, 0, "[-t target-pane]", 0, cmd_refused, 0, 0},
    {"command-prompt", NULL, "1bFkiI:Np:t:T:", 0, 1,
     "[-1bFkiN] [-I inputs] [-p prompts] [-t target-client] [-T type] [template]", 0,
     cmd_refused, 0, 0},
    {"confirm-before", "confirm", "bp:t:", 1, 1,
     "[-b] [-p prompt] [-t target-client] command", 0, cmd_refused, 0, 0},
    {"copy-mode", NULL, "eHMs:t:uq", 0, 0, "[-eHMuq] [-s src-pane] [-t target-pane]", 0,
     cmd_refused, 0, 0},
    {"customize-mode", NULL, "F:f:Nt:Z", 0, 0,
     "[-NZ] [-F format] [-f filter] [-t target-pane]", 0, cmd_refused, 0, 0},
    {"delete-buffer", "deleteb", "b:", 0, 0, "[-b buffer-name]", 0, cmd_delete_buffer, 0,
     0},
    {"detach-client", "detach", "aE:s:t:P", 0, 0,
     "[-aP] [-E shell-command] [-s target-session] [-t target-client]", 0,
     cmd_detach_client, 0, 0},
    {"display-menu", "menu", "c:t:OT:x:y:", 1, -1,
     "[-O] [-c target-client] [-t target-pane] [-T title] [-x position] [-y "
     "position] name key command ...",
     0, cmd_refused, 0, 0},
    {"display-message", "display", "ac:d:INpt:F:v", 0, 1,
     "[-aINpv] [-c target-client] [-d delay] [-F format] [-t target-pane] "
     "[message]",
     CMD_MAYBE, cmd_display_message, 'p', 0},
    {"display-popup", "popup", "Bb:Cc:d:e:Eh:s:S:t:T:w:x:y:", 0, -1,
     "[-BCE] [-b border-lines] [-c target-client] [-d start-directory] [-e "
     "environment] [-h height] [-s style] [-S border-style] [-t target-pane][-T "
     "title] [-w width] [-x position] [-y position] [shell-command]",
     0, cmd_refused, 0, 0},
    {"display-panes", "displayp", "bd:Nt:", 0, 1,
     "[-bN] [-d duration] [-t target-client] [template]", 0, cmd_refused, 0, 0},
    {"find-window", "findw", "CiNrt:TZ", 1, 1, "[-CiNrTZ] [-t target-pane] match-string",
     0, cmd_refused, 0, 0},
    {"has-session", "has", "t:", 0, 0, "[-t target-session]", 0, cmd_has_session, 's', 0},
    {"if-shell", "if", "bFt:", 2, 3,
     "[-bF] [-t target-pane] shell-command command [command]", CMD_MAYBE, cmd_if_shell,
     'p', 0},
    {"join-pane", "joinp", "bdfhvp:l:s:t:", 0, 0,
     "[-bdfhv] [-l size] [-s src-pane] [-t dst-pane]", CMD_SOURCE_MARK, cmd_join_pane,
     'p', 'p'},
    {"kill-pane", "killp", "at:", 0, 0, "[-a] [-t target-pane]", 0, cmd_kill_pane, 'p',
     0},
    {"kill-server", NULL, "", 0, 0, "", 0, cmd_kill_server, 0, 0},
    {"kill-session", NULL, "aCt:", 0, 0, "[-aC] [-t target-session]", 0, cmd_kill_session,
     's', 0},
    {"kill-window", "killw", "at:", 0, 0, "[-a] [-t target-window]", 0, cmd_kill_window,
     'w', 0},
    {"last-pane", "lastp", "det:Z", 0, 0, "[-deZ] [-t target-window]", 0, cmd_last_pane,
     'w', 0},
    {"last-window", "last", "t:", 0, 0, "[-t target-session]", 0, cmd_last_window, 's',
     0},
    {"link-window", "linkw", "abdks:t:", 0, 0, "[-abdk] [-s src-window] [-t dst-window]",
     CMD_INDEX, cmd_move_window, 'w', 'w'},
    {"list-buffers", "lsb", "F:f:", 0, 0, "[-F format] [-f filter]", 0, cmd_list_buffers,
     0, 0},
    {"list-clients", "lsc", "F:t:", 0, 0, "[-F format] [-t target-session]", 0,
     cmd_list_clients, 0, 0},
    {"list-commands", "lscm", "F:", 0, 1, "[-F format] [command]", CMD_STARTS,
     cmd_list_commands, 0, 0},
    {"list-keys", "lsk", "1aNP:T:", 0, 1,
     "[-1aN] [-P prefix-string] [-T key-table] [key]", CMD_STARTS, cmd_list_keys, 0, 0},
    {"list-panes", "lsp", "asF:f:t:", 0, 0,
     "[-as] [-F format] [-f filter] [-t target-window]", 0, cmd_list_panes, 'w', 0},
    {"list-sessions", "ls", "F:f:", 0, 0, "[-F format] [-f filter]", 0, cmd_list_sessions,
     0, 0},
    {"list-windows", "lsw", "F:f:at:", 0, 0,
     "[-a] [-F format] [-f filter] [-t target-session]", 0, cmd_list_windows, 's', 0},
    {"load-buffer", "loadb", "b:t:w", 1, 1, "[-b buffer-name] [-t target-client] path", 0,
     cmd_load_buffer, 0, 0},
    {"lock-client", "lockc", "t:", 0, 0, "[-t target-client]", 0, cmd_refused, 0, 0},
    {"lock-server", "lock", "", 0, 0, "", 0, cmd_refused, 0, 0},
    {"lock-session", "locks", "t:", 0, 0, "[-t target-session]", 0, cmd_refused, 's', 0},
    {"move-pane", "movep", "bdfhvp:l:s:t:", 0, 0,
     "[-bdfhv] [-l size] [-s src-pane] [-t dst-pane]", CMD_SOURCE_MARK, cmd_join_pane,
     'p', 'p'},
    {"move-window", "movew", "abdkrs:t:", 0, 0,
     "[-abdkr] [-s src-window] [-t dst-window]", CMD_INDEX, cmd_move_window, 'w', 'w'},
    {"new-session", "new", "Ac:dDe:EF:f:n:Ps:t:x:Xy:", 0, -1,
     "[-AdDEPX] [-c start-directory] [-e environment] [-F format] [-f flags] "
     "[-n window-name] [-s session-name] [-t target-session] [-x width] [-y "
     "height] [shell-command]",
     CMD_STARTS, cmd_new_session, 0, 0},
    {"new-window", "neww", "abc:de:F:kn:PSt:", 0, -1,
     "[-abdkPS] [-c start-directory] [-e environment] [-F format] [-n "
     "window-name] [-t target-window] [shell-command]",
     CMD_INDEX, cmd_new_window, 'w', 0},
    {"next-layout", "nextl", "t:", 0, 0, "[-t target-window]", 0, cmd_next_layout, 'w',
     0},
    {"next-window", "next", "at:", 0, 0, "[-a] [-t target-session]", 0, cmd_next_window,
     's', 0},
    {"paste-buffer", "pasteb", "db:prs:t:", 0, 0,
     "[-dpr] [-s separator] [-b buffer-name] [-t target-pane]", 0, cmd_paste_buffer, 'p',
     0},
    {"pipe-pane", "pipep", "IOot:", 0, 1, "[-IOo] [-t target-pane] [shell-command]", 0,
     cmd_pipe_pane, 'p', 0},
    {"previous-layout", "prevl", "t:", 0, 0, "[-t target-window]", 0, cmd_next_layout,
     'w', 0},
    {"previous-window", "prev", "at:", 0, 0, "[-a] [-t target-session]", 0,
     cmd_next_window, 's', 0},
    {"refresh-client", "refresh", "A:B:cC:Df:r:F:l::LRSt:U", 0, 1,
     "[-cDlLRSU] [-A pane:state] [-B name:what:format] [-C XxY] [-f flags] [-t "
     "target-client] [adjustment]",
     0, cmd_refresh_client, 0, 0},
    {"rename-session", "rename", "t:", 1, 1, "[-t target-session] new-name", 0,
     cmd_rename_session, 's', 0},
    {"rename-window", "renamew", "t:", 1, 1, "[-t target-window] new-name", 0,
     cmd_rename_window, 'w', 0},
    {"resize-pane", "resizep", "DLMRTt:Ux:y:Z", 0, 1,
     "[-DLMRTUZ] [-x width] [-y height] [-t target-pane] [adjustment]", 0,
     cmd_resize_pane, 'p', 0},
    {"resize-window", "resizew", "aADLRt:Ux:y:", 0, 1,
     "[-aADLRU] [-x width] [-y height] [-t target-window] [adjustment]", 0,
     cmd_resize_window, 'w', 0},
    {"respawn-pane", "respawnp", "c:e:kt:", 0, -1,
     "[-k] [-c start-directory] [-e environment] [-t target-pane] "
     "[shell-command]",
     0, cmd_respawn_pane, 'p', 0},
    {"respawn-window", "respawnw", "c:e:kt:", 0, -1,
     "[-k] [-c start-directory] [-e environment] [-t target-window] "
     "[shell-command]",
     0, cmd_respawn_window, 'w', 0},
    {"rotate-window", "rotatew", "Dt:UZ", 0, 0, "[-DUZ] [-t target-window]", 0,
     cmd_rotate_window, 'w', 0},
    {"run-shell", "run", "bd:Ct:", 0, 1,
     "[-bC] [-d delay] [-t target-pane] [shell-command]", CMD_MAYBE, cmd_run_shell, 'p',
     0},
    {"save-buffer", "saveb", "ab:", 1, 1, "[-a] [-b buffer-name] path", 0,
     cmd_save_buffer, 0, 0},
    {"select-layout", "selectl", "Enopt:", 0, 1, "[-Enop] [-t target-pane] [layout-name]",
     0, cmd_select_layout, 'p', 0},
    {"select-pane", "selectp", "DdegLlMmP:RT:t:UZ", 0, 0,
     "[-DdeLlMmRUZ] [-T title] [-t target-pane]", 0, cmd_select_pane, 'p', 0},
    {"select-window", "selectw", "lnpTt:", 0, 0, "[-lnpT] [-t target-window]", 0,
     cmd_select_window, 'w', 0},
    {"send-keys", "send", "FHlMN:Rt:X", 0, -1,
     "[-FHlMRX] [-N repeat-count] [-t target-pane] key ...", 0, cmd_send_keys, 'p', 0},
    {"send-prefix", NULL, "2t:", 0, 0, "[-2] [-t target-pane]", 0, cmd_send_prefix, 'p',
     0},
    {"server-access", NULL, "adlrw", 0, 1, "[-adlrw] [-t target-pane] [user]", 0,
     cmd_refused, 0, 0},
    {"set-buffer", "setb", "ab:t:n:w", 0, 1,
     "[-aw] [-b buffer-name] [-n new-buffer-name] [-t target-client] data", 0,
     cmd_set_buffer, 0, 0},
    {"set-environment", "setenv", "Fhgrt:u", 1, 2,
     "[-Fhgru] [-t target-session] name [value]", 0, cmd_set_environment, 0, 0},
    {"set-hook", NULL, "agpRt:uw", 1, 2, "[-agpRuw] [-t target-pane] hook [command]", 0,
     cmd_set_hook, 0, 0},
    {"set-option", "set", "aFgopqst:uUw", 1, 2,
     "[-aFgopqsuUw] [-t target-pane] option [value]", 0, cmd_set_option, 0, 0},
    {"set-window-option", "setw", "aFgoqt:u", 1, 2,
     "[-aFgoqu] [-t target-window] option [value]", 0, cmd_set_option, 0, 0},
    {"show-buffer", "showb", "b:", 0, 0, "[-b buffer-name]", 0, cmd_show_buffer, 0, 0},
    {"show-environment", "showenv", "hgst:", 0, 1, "[-hgs] [-t target-session] [name]", 0,
     cmd_show_environment, 0, 0},
    {"show-hooks", NULL, "gpt:w", 0, 1, "[-gpw] [-t target-pane]", 0, cmd_show_options, 0,
     0},
    {"show-messages", "showmsgs", "JTt:", 0, 0, "[-JT] [-t target-client]", 0,
     cmd_refused, 0, 0},
    {"show-options", "show", "AgHpqst:vw", 0, 1, "[-AgHpqsvw] [-t target-pane] [option]",
     0, cmd_show_options, 0, 0},
    {"show-prompt-history", "showphist", "T:", 0, 0, "[-T type]", 0, cmd_refused, 0, 0},
    {"show-window-options", "showw", "gvt:", 0, 1, "[-gv] [-t target-window] [option]", 0,
     cmd_show_options, 0, 0},
    {"source-file", "source", "t:Fnqv", 1, -1, "[-Fnqv] path ...", 0, cmd_source_file, 0,
     0},
    {"split-window", "splitw", "bc:de:fF:hIl:p:Pt:vZ", 0, -1,
     "[-bdefhIPvZ] [-c start-directory] [-e environment] [-F format] [-l size] "
     "[-t target-pane][shell-command]",
     0, cmd_split_window, 'p', 0},
    {"start-server", "start", "", 0, 0, "", CMD_STARTS, cmd_start_server, 0, 0},
    {"suspend-client", "suspendc", "t:", 0, 0, "[-t target-client]", 0, cmd_refused, 0,
     0},
    {"swap-pane", "swapp", "dDs:t:UZ", 0, 0, "[-dDUZ] [-s src-pane] [-t dst-pane]",
     CMD_SOURCE_MARK, cmd_swap_pane, 'p', 'p'},
    {"swap-window", "swapw", "ds:t:", 0, 0, "[-d] [-s src-window] [-t dst-window]",
     CMD_SOURCE_MARK, cmd_swap_window, 'w', 'w'},
    {"switch-client", "switchc", "c:EFlnO:pt:rT:Z", 0, 0,
     "[-ElnprZ] [-c target-client] [-t target-session] [-T key-table]", 0,
     cmd_switch_client, 's', 0},
    {"unbind-key", "unbind", "anqT:", 0, 1, "[-anq] [-T key-table] key", 0,
     cmd_unbind_key, 0, 0},
    {"unlink-window", "unlinkw", "kt:", 0, 0, "[-k] [-t target-window]", 0,
     cmd_unlink_window, 'w', 0},
    {"wait-for", "wait", "LSU", 1, 1, "[-L|-S|-U] channel", 0, cmd_wait_for, 0, 0},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

const struct tm_command *command_at(size_t i)
{
    return i < COMMANDS ? &commands[i] : NULL;
}

struct tmux_spec command_spec(const struct tm_command *c)
{
    return (struct tmux_spec){c->name, c->alias, c->spec, c->least, c->most, c->usage};
}

const struct tm_command *command_find(const char *name, struct buf *why)
{
    const struct tm_command *found = NULL;
    struct buf list = BUF_INIT(4096);
    unsigned n = 0;
    for (size_t i = 0; i < COMMANDS; i++) {
        const struct tm_command *c = &commands[i];
        if (c->alias && strcmp(c->alias, name) == 0) {
            buf_release(&list);
            return c;
        }
        if (strncmp(c->name, name, strlen(name)) != 0)
            continue;
        if (c->name[strlen(name)] == 0) {
            buf_release(&list);
            return c;
        }
        found = c;
        buf_addf(&list, "%s%s", n++ ? ", " : "", c->name);
    }
    if (n == 0)
        buf_addf(why, "unknown command: %s", name);
    else if (n > 1)
        buf_addf(why, "ambiguous command: %s, could be: %s", name, buf_z(&list));
    buf_release(&list);
    return n == 1 ? found : NULL;
}

bool tmux_starts_server(int argc, char *const *argv)
{
    struct buf why = BUF_INIT(4096);
    bool begins = true, starts = argc == 0;
    for (int i = 0; i < argc && !starts; i++) {
        size_t n = strlen(argv[i]);
        char name[64] = "";
        bool ends = n > 0 && argv[i][n - 1] == ';' && (n < 2 || argv[i][n - 2] != '\\');
        if (begins && n < sizeof(name)) {
            memcpy(name, argv[i], n - ends);
            name[n - ends] = 0;
            const struct tm_command *c = name[0] ? command_find(name, &why) : NULL;
            starts = c && (c->flags & CMD_STARTS);
        }
        begins = ends;
    }
    buf_release(&why);
    return starts;
}

enum tm_result cmd_refused(struct tm_item *it)
{
    return tm_fail(
        it,
        "%s is not supported by od tmux: it has no menus, popups, modes of panes "
        "or status line",
        it->cmd->name);
}
