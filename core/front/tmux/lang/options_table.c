/* SPDX-License-Identifier: MIT */
/* The options of tmux 3.3a, in the order in which it shows them: see options.h. */
#include "front/tmux/lang/options.h"

#include <limits.h>

#define SERVER  OPTION_SERVER
#define SESSION OPTION_SESSION
#define WINDOW  OPTION_WINDOW
#define PANE    (OPTION_WINDOW | OPTION_PANE)

#define TEXT(s, n, v) \
    { \
        .name = (n), .type = OPTION_STRING, .scope = (s), .value = (v) \
    }
#define PATTERN(s, n, v, p) \
    { \
        .name = (n), .scope = (s), .value = (v), .pattern = (p) \
    }
#define KEY(s, n, v) \
    { \
        .name = (n), .type = OPTION_KEY, .scope = (s), .value = (v) \
    }
#define COLOUR(s, n, v) \
    { \
        .name = (n), .type = OPTION_COLOUR, .scope = (s), .value = (v) \
    }
#define FLAG(s, n, v) \
    { \
        .name = (n), .type = OPTION_FLAG, .scope = (s), .value = (v) \
    }
#define NUMBER(s, n, v, from, to) \
    { \
        .name = (n), .type = OPTION_NUMBER, .scope = (s), .value = (v), .min = (from), \
        .max = (to) \
    }
#define CHOICE(s, n, v, all) \
    { \
        .name = (n), .type = OPTION_CHOICE, .scope = (s), .value = (v), .choices = (all) \
    }
#define STYLE(s, n, v) \
    { \
        .name = (n), .scope = (s), .style = true, .separator = ",", .value = (v) \
    }
#define ARRAY(s, n, t, sep, v) \
    { \
        .name = (n), .type = (t), .scope = (s), .array = true, .separator = (sep), \
        .value = (v) \
    }
#define HOOK(s, n) \
    { \
        .name = (n), .type = OPTION_COMMAND, .scope = (s), .array = true, .hook = true, \
        .separator = "", .value = "" \
    }

/* Names of values that several options have. */
#define ALERTS  "none any current other"
#define VISUALS "off on both"

/* Styles of one window in the status line, by what it has. */
#define STATUS_STYLE(x)     "#{E:window-status-" x "-style}"
#define STATUS_HAS_STYLE(x) "#{!=:" STATUS_STYLE(x) ",default}"
#define STATUS_ALERTS \
    "#{?#{&&:#{window_last_flag}," STATUS_HAS_STYLE("last") "}, " STATUS_STYLE("last") ",}#{?#{&&:#{window_bell_flag}," STATUS_HAS_STYLE( \
        "bell") "}, " STATUS_STYLE("bell") ",#{?#{&&:#{||:#{window_activity_flag},#{" \
                                           "window_silence_flag}}," STATUS_HAS_STYLE( \
                                               "a" \
                                               "c" \
                                               "t" \
                                               "i" \
                                               "v" \
                                               "i" \
                                               "t" \
                                               "y") "}, " STATUS_STYLE("activity") ",}}" \
                                                                                   "]"
#define STATUS_SHOW(x)   "#[push-default]#{T:" x "}#[pop-default]"
#define STATUS_SEPARATOR "#{?window_end_flag,,#{window-status-separator}}"
#define STATUS_FORMAT \
    "#[align=left range=left #{E:status-left-style}]" \
    "#[push-default]#{T;=/#{status-left-length}:status-left}#[pop-default]" \
    "#[norange default]#[list=on align=#{status-justify}]" \
    "#[list=left-marker]<#[list=right-marker]>#[list=on]" \
    "#{W:#[range=window|#{window_index} #{E:window-status-style}" STATUS_ALERTS \
        STATUS_SHOW( \
            "window-status-format") "#[norange default]" STATUS_SEPARATOR "," \
                                    "#[range=window|#{window_index} list=focus " \
                                    "#{?" STATUS_HAS_STYLE("current") "," STATUS_STYLE( \
                                        "current") ",#{E:window-status-style}" \
                                                   "}" STATUS_ALERTS STATUS_SHOW( \
                                                       "window-status-current-" \
                                                       "format") "#[norange " \
                                                                 "list=on " \
                                                                 "default" \
                                                                 "]" STATUS_SEPARATOR \
                                                                 "}#[nolist " \
                                                                 "align=right " \
                                                                 "range=right " \
                                                                 "#{E:status-right-" \
                                                                 "style}]" \
                                                                 "#[push-default]#{" \
                                                                 "T;=/" \
                                                                 "#{status-right-" \
                                                                 "length}:status-" \
                                                                 "right}#[pop-" \
                                                                 "default]" \
                                                                 "#[norange " \
                                                                 "default]"

static const struct tmux_option rows[] = {
    KEY(SERVER, "backspace", "C-?"),
    NUMBER(SERVER, "buffer-limit", "50", 1, INT_MAX),
    ARRAY(SERVER, "command-alias", OPTION_STRING, ",",
          "split-pane=split-window\nsplitp=split-window\n"
          "server-info=show-messages -JT\ninfo=show-messages -JT\n"
          "choose-window=choose-tree -w\nchoose-session=choose-tree -s"),
    TEXT(SERVER, "copy-command", ""),
    TEXT(SERVER, "default-terminal", "tmux-256color"),
    TEXT(SERVER, "editor", "/usr/bin/vi"),
    NUMBER(SERVER, "escape-time", "500", 0, INT_MAX),
    FLAG(SERVER, "exit-empty", "on"),
    FLAG(SERVER, "exit-unattached", "off"),
    CHOICE(SERVER, "extended-keys", "off", "off on always"),
    FLAG(SERVER, "focus-events", "off"),
    TEXT(SERVER, "history-file", ""),
    NUMBER(SERVER, "message-limit", "1000", 0, INT_MAX),
    NUMBER(SERVER, "prompt-history-limit", "100", 0, INT_MAX),
    CHOICE(SERVER, "set-clipboard", "external", "off external on"),
    ARRAY(SERVER, "terminal-overrides", OPTION_STRING, ",", ""),
    ARRAY(SERVER, "terminal-features", OPTION_STRING, ",",
          "xterm*:clipboard:ccolour:cstyle:focus:title\nscreen*:title"),
    ARRAY(SERVER, "user-keys", OPTION_STRING, ",", ""),

    CHOICE(SESSION, "activity-action", "other", ALERTS),
    NUMBER(SESSION, "assume-paste-time", "1", 0, INT_MAX),
    NUMBER(SESSION, "base-index", "0", 0, INT_MAX),
    CHOICE(SESSION, "bell-action", "any", ALERTS),
    TEXT(SESSION, "default-command", ""),
    TEXT(SESSION, "default-shell", "/bin/sh"),
    PATTERN(SESSION, "default-size", "80x24", "[0-9]*x[0-9]*"),
    FLAG(SESSION, "destroy-unattached", "off"),
    CHOICE(SESSION, "detach-on-destroy", "on", "off on no-detached"),
    COLOUR(SESSION, "display-panes-active-colour", "red"),
    COLOUR(SESSION, "display-panes-colour", "blue"),
    NUMBER(SESSION, "display-panes-time", "1000", 1, INT_MAX),
    NUMBER(SESSION, "display-time", "750", 0, INT_MAX),
    NUMBER(SESSION, "history-limit", "2000", 0, INT_MAX),
    TEXT(SESSION, "key-table", "root"),
    NUMBER(SESSION, "lock-after-time", "0", 0, INT_MAX),
    TEXT(SESSION, "lock-command", "lock -np"),
    STYLE(SESSION, "message-command-style", "bg=black,fg=yellow"),
    STYLE(SESSION, "message-style", "bg=yellow,fg=black"),
    FLAG(SESSION, "mouse", "off"),
    KEY(SESSION, "prefix", "C-b"),
    KEY(SESSION, "prefix2", "None"),
    FLAG(SESSION, "renumber-windows", "off"),
    NUMBER(SESSION, "repeat-time", "500", 0, SHRT_MAX),
    FLAG(SESSION, "set-titles", "off"),
    TEXT(SESSION, "set-titles-string", "#S:#I:#W - \"#T\" #{session_alerts}"),
    CHOICE(SESSION, "silence-action", "other", ALERTS),
    CHOICE(SESSION, "status", "on", "off on 2 3 4 5"),
    COLOUR(SESSION, "status-bg", "default"),
    COLOUR(SESSION, "status-fg", "default"),
    ARRAY(SESSION, "status-format", OPTION_STRING, " ,",
          STATUS_FORMAT "\n"
                        "#[align=centre]#{P:#{?pane_active,#[reverse],}#{pane_index}"
                        "[#{pane_width}x#{pane_height}]#[default] }"),
    NUMBER(SESSION, "status-interval", "15", 0, INT_MAX),
    CHOICE(SESSION, "status-justify", "left", "left centre right absolute-centre"),
    CHOICE(SESSION, "status-keys", "emacs", "emacs vi"),
    TEXT(SESSION, "status-left", "[#{session_name}] "),
    NUMBER(SESSION, "status-left-length", "10", 0, SHRT_MAX),
    STYLE(SESSION, "status-left-style", "default"),
    CHOICE(SESSION, "status-position", "bottom", "top bottom"),
    TEXT(SESSION, "status-right",
         "#{?window_bigger,[#{window_offset_x}#,#{window_offset_y}] ,}"
         "\"#{=21:pane_title}\" %H:%M %d-%b-%y"),
    NUMBER(SESSION, "status-right-length", "40", 0, SHRT_MAX),
    STYLE(SESSION, "status-right-style", "default"),
    STYLE(SESSION, "status-style", "bg=green,fg=black"),
    ARRAY(SESSION, "update-environment", OPTION_STRING, NULL,
          "DISPLAY\nKRB5CCNAME\nSSH_ASKPASS\nSSH_AUTH_SOCK\nSSH_AGENT_PID\n"
          "SSH_CONNECTION\nWINDOWID\nXAUTHORITY"),
    CHOICE(SESSION, "visual-activity", "off", VISUALS),
    CHOICE(SESSION, "visual-bell", "off", VISUALS),
    CHOICE(SESSION, "visual-silence", "off", VISUALS),
    TEXT(SESSION, "word-separators", "!\"#$%&'()*+,-./:;<=>?@[\\]^`{|}~"),

    COLOUR(PANE, "cursor-colour", "none"),
    CHOICE(PANE, "cursor-style", "default",
           "default blinking-block block blinking-underline underline blinking-bar bar"),
    FLAG(WINDOW, "aggressive-resize", "off"),
    FLAG(PANE, "allow-passthrough", "off"),
    FLAG(PANE, "allow-rename", "off"),
    FLAG(PANE, "alternate-screen", "on"),
    FLAG(WINDOW, "automatic-rename", "on"),
    TEXT(WINDOW, "automatic-rename-format",
         "#{?pane_in_mode,[tmux],#{pane_current_command}}#{?pane_dead,[dead],}"),
    COLOUR(WINDOW, "clock-mode-colour", "blue"),
    CHOICE(WINDOW, "clock-mode-style", "24", "12 24"),
    STYLE(WINDOW, "copy-mode-match-style", "bg=cyan,fg=black"),
    STYLE(WINDOW, "copy-mode-current-match-style", "bg=magenta,fg=black"),
    STYLE(WINDOW, "copy-mode-mark-style", "bg=red,fg=black"),
    TEXT(WINDOW, "fill-character", ""),
    TEXT(WINDOW, "main-pane-height", "24"),
    TEXT(WINDOW, "main-pane-width", "80"),
    CHOICE(WINDOW, "mode-keys", "emacs", "emacs vi"),
    STYLE(WINDOW, "mode-style", "bg=yellow,fg=black"),
    FLAG(WINDOW, "monitor-activity", "off"),
    FLAG(WINDOW, "monitor-bell", "on"),
    NUMBER(WINDOW, "monitor-silence", "0", 0, INT_MAX),
    TEXT(WINDOW, "other-pane-height", "0"),
    TEXT(WINDOW, "other-pane-width", "0"),
    STYLE(WINDOW, "pane-active-border-style",
          "#{?pane_in_mode,fg=yellow,#{?synchronize-panes,fg=red,fg=green}}"),
    NUMBER(WINDOW, "pane-base-index", "0", 0, USHRT_MAX),
    TEXT(PANE, "pane-border-format",
         "#{?pane_active,#[reverse],}#{pane_index}#[default] \"#{pane_title}\""),
    CHOICE(WINDOW, "pane-border-indicators", "colour", "off colour arrows both"),
    CHOICE(WINDOW, "pane-border-lines", "single", "single double heavy simple number"),
    CHOICE(WINDOW, "pane-border-status", "off", "off top bottom"),
    STYLE(WINDOW, "pane-border-style", "default"),
    ARRAY(PANE, "pane-colours", OPTION_COLOUR, " ,", ""),
    STYLE(WINDOW, "popup-style", "default"),
    STYLE(WINDOW, "popup-border-style", "default"),
    CHOICE(WINDOW, "popup-border-lines", "single",
           "single double heavy simple rounded padded none"),
    CHOICE(PANE, "remain-on-exit", "off", "off on failed key"), /* key: of later ones */
    TEXT(PANE, "remain-on-exit-format",
         "Pane is dead (#{?#{!=:#{pane_dead_status},},status #{pane_dead_status},}"
         "#{?#{!=:#{pane_dead_signal},},signal #{pane_dead_signal},}, "
         "#{t:pane_dead_time})"),
    FLAG(PANE, "scroll-on-clear", "on"),
    FLAG(PANE, "synchronize-panes", "off"),
    STYLE(PANE, "window-active-style", "default"),
    CHOICE(WINDOW, "window-size", "latest", "largest smallest manual latest"),
    STYLE(PANE, "window-style", "default"),
    STYLE(WINDOW, "window-status-activity-style", "reverse"),
    STYLE(WINDOW, "window-status-bell-style", "reverse"),
    TEXT(WINDOW, "window-status-current-format",
         "#I:#W#{?window_flags,#{window_flags}, }"),
    STYLE(WINDOW, "window-status-current-style", "default"),
    TEXT(WINDOW, "window-status-format", "#I:#W#{?window_flags,#{window_flags}, }"),
    STYLE(WINDOW, "window-status-last-style", "default"),
    TEXT(WINDOW, "window-status-separator", " "),
    STYLE(WINDOW, "window-status-style", "default"),
    FLAG(WINDOW, "wrap-search", "on"),
    FLAG(WINDOW, "xterm-keys", "on"),

    HOOK(SESSION, "after-bind-key"),
    HOOK(SESSION, "after-capture-pane"),
    HOOK(SESSION, "after-copy-mode"),
    HOOK(SESSION, "after-display-message"),
    HOOK(SESSION, "after-display-panes"),
    HOOK(SESSION, "after-kill-pane"),
    HOOK(SESSION, "after-list-buffers"),
    HOOK(SESSION, "after-list-clients"),
    HOOK(SESSION, "after-list-keys"),
    HOOK(SESSION, "after-list-panes"),
    HOOK(SESSION, "after-list-sessions"),
    HOOK(SESSION, "after-list-windows"),
    HOOK(SESSION, "after-load-buffer"),
    HOOK(SESSION, "after-lock-server"),
    HOOK(SESSION, "after-new-session"),
    HOOK(SESSION, "after-new-window"),
    HOOK(SESSION, "after-paste-buffer"),
    HOOK(SESSION, "after-pipe-pane"),
    HOOK(SESSION, "after-queue"),
    HOOK(SESSION, "after-refresh-client"),
    HOOK(SESSION, "after-rename-session"),
    HOOK(SESSION, "after-rename-window"),
    HOOK(SESSION, "after-resize-pane"),
    HOOK(SESSION, "after-resize-window"),
    HOOK(SESSION, "after-save-buffer"),
    HOOK(SESSION, "after-select-layout"),
    HOOK(SESSION, "after-select-pane"),
    HOOK(SESSION, "after-select-window"),
    HOOK(SESSION, "after-send-keys"),
    HOOK(SESSION, "after-set-buffer"),
    HOOK(SESSION, "after-set-environment"),
    HOOK(SESSION, "after-set-hook"),
    HOOK(SESSION, "after-set-option"),
    HOOK(SESSION, "after-show-environment"),
    HOOK(SESSION, "after-show-messages"),
    HOOK(SESSION, "after-show-options"),
    HOOK(SESSION, "after-split-window"),
    HOOK(SESSION, "after-unbind-key"),
    HOOK(SESSION, "alert-activity"),
    HOOK(SESSION, "alert-bell"),
    HOOK(SESSION, "alert-silence"),
    HOOK(SESSION, "client-active"),
    HOOK(SESSION, "client-attached"),
    HOOK(SESSION, "client-detached"),
    HOOK(SESSION, "client-focus-in"),
    HOOK(SESSION, "client-focus-out"),
    HOOK(SESSION, "client-resized"),
    HOOK(SESSION, "client-session-changed"),
    HOOK(PANE, "pane-died"),
    HOOK(PANE, "pane-exited"),
    HOOK(PANE, "pane-focus-in"),
    HOOK(PANE, "pane-focus-out"),
    HOOK(PANE, "pane-mode-changed"),
    HOOK(PANE, "pane-set-clipboard"),
    HOOK(PANE, "pane-title-changed"),
    HOOK(SESSION, "session-closed"),
    HOOK(SESSION, "session-created"),
    HOOK(SESSION, "session-renamed"),
    HOOK(SESSION, "session-window-changed"),
    HOOK(WINDOW, "window-layout-changed"),
    HOOK(SESSION, "window-linked"),
    HOOK(WINDOW, "window-pane-changed"),
    HOOK(WINDOW, "window-renamed"),
    HOOK(WINDOW, "window-resized"),
    HOOK(SESSION, "window-unlinked"),
};

const struct tmux_option *tmux_option_row(size_t i)
{
    return i < sizeof(rows) / sizeof(rows[0]) ? &rows[i] : NULL;
}
