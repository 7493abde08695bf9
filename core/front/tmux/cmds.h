/* SPDX-License-Identifier: MIT */
/* The functions of commands, one for each row of cmds.c. */
#ifndef OD_FRONT_TMUX_CMDS_H
#define OD_FRONT_TMUX_CMDS_H

#include "front/tmux/own.h"

typedef enum tm_result cmd_fn(struct tm_item *it);

/* cmd_session.c */
cmd_fn cmd_new_session, cmd_has_session, cmd_kill_session, cmd_kill_server,
    cmd_rename_session, cmd_start_server, cmd_attach_session, cmd_detach_client,
    cmd_switch_client;
/* cmd_window.c */
cmd_fn cmd_new_window, cmd_kill_window, cmd_select_window, cmd_rename_window,
    cmd_move_window, cmd_swap_window, cmd_unlink_window, cmd_next_window, cmd_last_window,
    cmd_resize_window, cmd_rotate_window, cmd_select_layout, cmd_next_layout,
    cmd_respawn_window;
/* cmd_pane.c */
cmd_fn cmd_split_window, cmd_kill_pane, cmd_select_pane, cmd_last_pane, cmd_swap_pane,
    cmd_join_pane, cmd_break_pane, cmd_resize_pane, cmd_respawn_pane, cmd_pipe_pane,
    cmd_capture_pane, cmd_clear_history;
/* cmd_keys.c */
cmd_fn cmd_send_keys, cmd_send_prefix, cmd_bind_key, cmd_unbind_key, cmd_list_keys;
/* cmd_list.c */
cmd_fn cmd_list_sessions, cmd_list_windows, cmd_list_panes, cmd_list_clients,
    cmd_list_commands, cmd_list_buffers, cmd_display_message;
/* cmd_buffer.c */
cmd_fn cmd_set_buffer, cmd_show_buffer, cmd_save_buffer, cmd_load_buffer,
    cmd_delete_buffer, cmd_paste_buffer;
/* cmd_option.c */
cmd_fn cmd_set_option, cmd_show_options, cmd_set_environment, cmd_show_environment,
    cmd_set_hook;
/* cmd_shell.c */
cmd_fn cmd_if_shell, cmd_run_shell, cmd_source_file, cmd_wait_for;
/* control.c */
cmd_fn cmd_refresh_client;
/* cmds.c: what there is no screen for. */
cmd_fn cmd_refused;

#endif
