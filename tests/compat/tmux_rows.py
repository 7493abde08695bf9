# SPDX-License-Identifier: MIT
"""The same command lines for tmux and for od tmux, compared byte by byte.

A group begins with a server of its own; each of its lines is one run of the program:
standard output, error output and exit status are one row. Lines that begin with `~` wait:
`~ TARGET REGEX` until the pane's screen has it, `~! TARGET` until there is no such pane. What differs on purpose is in
DIFFERS, and core/front/tmux/README.md. A picture of a control character (␉) stands for it. Socket paths, process numbers and
times are replaced by words.
"""
import os
import re
import shlex
import subprocess
import sys
import time

GROUPS = r"""
# sessions
new-session -d -s a
has-session -t a
has-session -t =a
has -t b
has-session -t =b
list-sessions -F '#{session_name} #{session_windows} #{session_attached} #{session_id}'
ls -F '#S:#{session_group}:#{session_grouped}'
new-session -d -s a
new-session -d -s b -n win -x 100 -y 30
list-sessions -F '#{session_name} #{session_width}'
list-windows -a -F '#{session_name}:#{window_index} #{window_name} #{window_width}x#{window_height}'
list-panes -a -F '#{pane_id} #{pane_index} #{pane_width}x#{pane_height}'
rename-session -t b c
has-session -t b
has-session -t c
rename-session -t c a
rename-session -t c 'x:y.z'
list-sessions -F '#{session_name}'
rename-session -t x ''
new-session -d -s ''
new-session -d -s 'd.e:f' -P
new-session -d -s g -P -F '#{session_name}/#{window_index}/#{pane_index}/#{pane_id}'
new-session -d -P -F '#{session_name} #{session_id}'
new-session -d -s h -x 0
new-session -d -s h -x abc
new-session -d -s h -y 70000
new-session -d -s h -x 90
display-message -p -t h '#{window_width}x#{window_height}'
kill-session -t g
kill-session -t nope
kill-session -t 'd'
list-sessions -F '#{session_name}'
kill-session -a -t a
list-sessions -F '#{session_name}'
kill-session -t a -x
kill-session -t a

# unknown and ambiguous
new-session -d -s a
frobnicate
list
new-w
kill
se -t a
send-keys -Q
send-keys -N
new-session -z
list-sessions extra
rename-window
rename-window a b
select-layout a b c
has-session -t
kill-session -t a -t b
list-windows -t nope
list-panes -t nope
list-panes -t a:9
list-panes -t a:0.7
list-panes -t %99
list-panes -t @99
list-windows -t '$99'
select-window -t a:5
select-pane -t a:0.5
kill-pane -t %77
kill-window -t @77
send-keys -t nope x
capture-pane -p -t nope
display-message -p -t nope x
split-window -t nope
resize-pane -t nope -x 5
show-options -t nope
show-environment -t nope
list-commands frob
list-commands send-keys
list-commands lsp

# windows
new-session -d -s a -n zero
new-window -d -t a -n one
new-window -d -t a: -n two -P
new-window -t a:7 -n seven -P -F '#{window_index} #{window_id} #{window_name}'
new-window -d -t a:7 -n again
new-window -d -k -t a:7 -n replaced
list-windows -t a -F '#{window_index}:#{window_name}#{window_flags}'
list-windows -t a -F '#{window_index} #{window_active} #{window_last_flag} #{window_raw_flags}'
select-window -t a:1
list-windows -t a -F '#{window_index}#{window_flags}'
last-window -t a
list-windows -t a -F '#{window_index}#{window_flags}'
next-window -t a
display-message -p -t a '#{window_index}'
previous-window -t a
display-message -p -t a '#{window_index}'
select-window -t a:two
display-message -p -t a '#{window_name}'
select-window -t a:+1
display-message -p -t a '#{window_name}'
select-window -t a:-2
display-message -p -t a '#{window_name}'
select-window -t a:^
display-message -p -t a '#{window_name}'
select-window -t a:$
display-message -p -t a '#{window_name}'
select-window -t 'a:{start}'
display-message -p -t a '#{window_name}'
select-window -t 'a:!'
display-message -p -t a '#{window_name}'
select-window -n -t a
select-window -p -t a
select-window -l -t a
display-message -p -t a '#{window_index}'
rename-window -t a:one uno
rename-window -t a:uno 'due cose'
list-windows -t a -F '#{window_name}'
move-window -s a:1 -t a:4
list-windows -t a -F '#{window_index}:#{window_name}'
move-window -s a:4 -t a:7
move-window -k -s a:4 -t a:7
list-windows -t a -F '#{window_index}:#{window_name}'
move-window -r -t a
list-windows -t a -F '#{window_index}:#{window_name}'
swap-window -s a:0 -t a:1
list-windows -t a -F '#{window_index}:#{window_name}'
swap-window -d -s a:0 -t a:2
list-windows -t a -F '#{window_index}:#{window_name} #{window_active}'
new-window -a -d -t a:0 -n after
list-windows -t a -F '#{window_index}:#{window_name}'
new-window -b -d -t a:0 -n before
list-windows -t a -F '#{window_index}:#{window_name}'
kill-window -t a:before
unlink-window -t a:0
new-session -d -s b
link-window -s a:0 -t b:5
list-windows -t b -F '#{window_index}:#{window_name} #{window_linked} #{window_linked_sessions}'
unlink-window -t b:5
list-windows -t b -F '#{window_index}'
link-window -s a:0 -t b:0
kill-window -a -t a:0
list-windows -t a -F '#{window_index}'
kill-window -t a:0
has-session -t a
list-sessions -F '#{session_name}'

# panes
new-session -d -s a -x 80 -y 24 cat
split-window -d -t a cat
list-panes -t a -F '#{pane_index} #{pane_id} #{pane_width}x#{pane_height} #{pane_left},#{pane_top} #{pane_right},#{pane_bottom} #{pane_active}'
split-window -h -t a -P -F '#{pane_id}' -- cat
split-window -d -h -l 70% -t a -P -F '#{pane_id} #{pane_width}' -- cat
split-window -d -l 5 -t a:0.0 -P cat
split-window -d -b -t a:0.0 -P cat
split-window -d -f -t a:0.0 -P cat
list-panes -t a -F '#{pane_index} #{pane_id} #{pane_width}x#{pane_height} #{pane_left},#{pane_top}'
display-message -p -t a '#{window_layout}'
display-message -p -t a '#{window_visible_layout}'
swap-pane -d -s a:0.0 -t a:0.1
list-panes -t a -F '#{pane_id} #{pane_active}'
swap-pane -d -s a:0.0 -t a:0.1
list-panes -t a -F '#{pane_id} #{pane_active}'
swap-pane -s a:0.0 -t a:0.1
list-panes -t a -F '#{pane_id} #{pane_active}'
swap-pane -s a:0.1 -t a:0.0
select-pane -t a:0.1
display-message -p -t a '#{pane_index} #{pane_id}'
last-pane -t a
display-message -p -t a '#{pane_index}'
select-pane -L -t a
display-message -p -t a '#{pane_id}'
select-pane -R -t a
display-message -p -t a '#{pane_id}'
select-pane -U -t a
display-message -p -t a '#{pane_id}'
select-pane -D -t a
display-message -p -t a '#{pane_id}'
select-pane -t a:0.0 -T 'a title'
display-message -p -t a:0.0 '#{pane_title}'
select-pane -t 'a:0.{top-right}'
display-message -p -t a '#{pane_id}'
select-pane -t a:0.+
display-message -p -t a '#{pane_index}'
select-pane -t a:0.-
display-message -p -t a '#{pane_index}'
select-layout -t a tiled
display-message -p -t a '#{window_layout}'
select-layout -t a even-horizontal
display-message -p -t a '#{window_layout}'
select-layout -t a even-vertical
display-message -p -t a '#{window_layout}'
select-layout -t a main-horizontal
display-message -p -t a '#{window_layout}'
select-layout -t a main-vertical
display-message -p -t a '#{window_layout}'
select-layout -t a 'b25d,80x24,0,0,0'
next-layout -t a
display-message -p -t a '#{window_layout}'
previous-layout -t a
display-message -p -t a '#{window_layout}'
resize-pane -t a:0.0 -x 30
display-message -p -t a '#{window_layout}'
resize-pane -t a:0.1 -y 4
display-message -p -t a '#{window_layout}'
resize-pane -t a:0.0 -R 3
display-message -p -t a '#{window_layout}'
resize-pane -t a:0.0 -L 200
resize-pane -t a:0.0 -x nope
resize-pane -t a:0.0 -R 0
resize-pane -Z -t a:0.2
display-message -p -t a '#{window_zoomed_flag} #{window_flags} #{pane_width}x#{pane_height}'
display-message -p -t a '#{window_visible_layout}'
resize-pane -Z -t a:0.2
display-message -p -t a '#{window_zoomed_flag} #{window_flags}'
swap-pane -s a:0.0 -t a:0.1
list-panes -t a -F '#{pane_index} #{pane_id}'
swap-pane -D -t a:0.0
list-panes -t a -F '#{pane_index} #{pane_id}'
rotate-window -t a
list-panes -t a -F '#{pane_index} #{pane_id}'
break-pane -d -s a:0.1 -n broken -P
list-windows -t a -F '#{window_index} #{window_panes}'
join-pane -d -s a:1.0 -t a:0.0
list-panes -t a -F '#{pane_index} #{pane_id} #{pane_width}x#{pane_height}'
join-pane -s a:0.0 -t a:0.0
select-pane -m -t a:0.0
display-message -p -t a:0.0 '#{pane_marked} #{pane_marked_set}'
select-pane -M
display-message -p -t a:0.0 '#{pane_marked_set}'
select-pane -d -t a:0.0
display-message -p -t a:0.0 '#{pane_input_off}'
select-pane -e -t a:0.0
kill-pane -t a:0.1
list-panes -t a -F '#{pane_index} #{pane_id}'
kill-pane -a -t a:0.0
list-panes -t a -F '#{pane_index} #{pane_width}x#{pane_height}'
resize-window -t a -x 120 -y 40
display-message -p -t a '#{window_width}x#{window_height} #{window_layout}'
resize-window -t a -x 0
resize-window -t a -L 10
display-message -p -t a '#{window_width}x#{window_height}'
last-pane -t a

# keys and screens
new-session -d -s a -x 40 -y 8 'stty -echo; printf ready; cat -v'
~ a ready
send-keys -t a hello Enter
~ a hello
capture-pane -p -t a
send-keys -t a Up Down Left Right Home End PPage NPage IC DC F1 F5 F12 Enter
~ a \^\[\[24~
capture-pane -p -t a
send-keys -t a C-a M-x Tab BTab Escape Space BSpace Enter
send-keys -t a -l 'Enter C-c' 
send-keys -t a -H 41 42 0a
~ a AB
capture-pane -p -t a
send-keys -t a -N 3 z
send-keys -t a Enter
~ a zzz
capture-pane -p -t a
capture-pane -p -t a -S 0 -E 2
capture-pane -p -t a -S - -E -
capture-pane -p -t a -S -2
capture-pane -p -t a -J
capture-pane -p -t a -N -E 1
capture-pane -p -a -t a
capture-pane -p -a -q -t a
capture-pane -t a -b buf
show-buffer -b buf
list-buffers -F '#{buffer_name} #{buffer_size}'
send-keys -t a -X cancel
send-keys -t a -N 0 x
send-keys -t a -N x x
display-message -p -t a '#{cursor_x},#{cursor_y} #{history_size} #{history_limit} #{alternate_on}'
send-keys -t a é Enter
~ a M-C
capture-pane -p -t a
send-keys -t a
send-keys -t a C-d
~! a

# a screen with colours
new-session -d -s a -x 60 -y 12 'printf "\033[31mred\033[0m \033[1;4mbold\033[m \033[44mback\033[49m\n\033[38;5;200m256\033[39m \033[38;2;1;2;3mrgb\033[0m\n\033[7mrev\033[27m plain\ntab\there   \nwide: 漢字 é\n"; cat'
~ a wide
capture-pane -p -t a
capture-pane -e -p -t a
capture-pane -e -J -p -t a
capture-pane -C -e -p -t a
capture-pane -N -p -t a
display-message -p -t a '#{cursor_x} #{cursor_y}'
clear-history -t a

# history
new-session -d -s a -x 20 -y 5 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i; done; printf "a line that is longer than twenty columns"; cat'
~ a (?m)^s$
capture-pane -p -t a
capture-pane -p -S - -t a
capture-pane -p -S -3 -t a
capture-pane -p -S -3 -E -2 -t a
capture-pane -p -S - -J -t a
capture-pane -p -S 2 -t a
display-message -p -t a '#{history_size}'
clear-history -t a
display-message -p -t a '#{history_size}'
capture-pane -p -S - -t a
set-option -g history-limit 5
new-window -d -t a -n h 'for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo line $i; done; cat'
~ a:h line.15
capture-pane -p -S - -t a:h
display-message -p -t a:h '#{history_size}/#{history_limit}'
show-options -g history-limit
show-options -gv history-limit

# buffers
new-session -d -s a cat
list-buffers
show-buffer
paste-buffer -t a
delete-buffer
set-buffer one
set-buffer 'two words'
set-buffer -b named 'three'
set-buffer
list-buffers
list-buffers -F '#{buffer_name}:#{buffer_size}:#{buffer_sample}'
show-buffer
show-buffer -b buffer0
show-buffer -b nope
set-buffer -a -b named more
show-buffer -b named
set-buffer -n renamed -b named
list-buffers -F '#{buffer_name}'
paste-buffer -t a -b renamed
~ a threemore
capture-pane -p -t a -E 0
paste-buffer -d -t a -b renamed
paste-buffer -t a -b renamed
delete-buffer -b buffer0
delete-buffer -b buffer0
list-buffers -F '#{buffer_name}'
save-buffer -b buffer1 -
save-buffer -b nope -
load-buffer /nonexistent/file
set-buffer -b '' x

# environment
new-session -d -s a -e K=V -e L=M cat
show-environment -t a K
show-environment -t a L
show-environment -t a NOPE
set-environment -t a FOO bar
show-environment -t a FOO
show-environment -s -t a FOO
set-environment -r -t a FOO
show-environment -t a FOO
set-environment -u -t a FOO
show-environment -t a FOO
set-environment -g GG 1
show-environment -g GG
set-environment -h -g HID 1
show-environment -g HID
show-environment -h -g HID
set-environment -t a ''
set-environment -t a A=B x
set-environment -t a NOVALUE
set-environment -u -t a FOO x

# options
new-session -d -s a cat
show-options -g base-index
show-options -gv default-size
show-options -gv status
show-options -gw remain-on-exit
show-window-options -g mode-keys
show-options -s exit-empty
show-options -gv default-command
set-option -g status off
show-options -g status
set-option -g status
show-options -gv status
set-option -g base-index 3
show-options -gv base-index
set-option -g base-index x
set-option -g base-index -1
set-option -g nope 1
set-option -g sta off
set-option -g status nope
set-option -q -g nope 1
set-option -t a base-index 5
show-options -t a base-index
show-options -v -t a base-index
set-option -u -t a base-index
show-options -t a base-index
show-options -A -t a base-index
set-option -g @user 'some text'
show-options -g @user
show-options -gv @user
set-option -ga @user ' more'
show-options -gv @user
set-option -gu @user
show-options -g @user
show-options -gq @user
set-option -g update-environment[10] X
show-options -g update-environment
set-option -gu update-environment[10]
set-option -p -t a remain-on-exit failed
show-options -p -t a remain-on-exit
show-options -p -t a
set-option -w -t a automatic-rename off
show-options -w -t a automatic-rename
show-options -w -t a
set-option -o -g status on
set-option -oq -g status on
show-options -t nope
show-options -w -t nope
show-options -p -t nope
show-options -t nope status
show-options -w -t nope mode-keys
show-options -s -t nope exit-empty
show-options -t nope @user
show-options -t nope nope
show-options -gv -t nope status
show-options -q -t nope status
show-window-options -t nope
show-window-options -t a:nope mode-keys
show-hooks -t nope
set-option -t nope status on
set-option -t a:nope status on
set-option -w -t a:nope mode-keys vi
set-option -t nope exit-empty on
set-environment -t a:nope V w
set-window-option -t a mode-keys vi
show-window-options -t a mode-keys
display-message -p -t a '#{mode-keys} #{status} #{base-index}'

# formats
new-session -d -s a -x 80 -y 24 -n name cat
display-message -p -t a '#S #I #W #P #D #F ##'
display-message -p -t a '#{?session_attached,yes,no}'
display-message -p -t a '#{?#{==:#{window_name},name},same,other}'
display-message -p -t a '#{!=:a,b} #{==:a,a} #{<:1,2} #{>:a,b}'
display-message -p -t a '#{&&:1,0} #{||:1,0}'
display-message -p -t a '#{=3:window_name}|#{=-3:window_name}|#{p8:window_name}|#{p-8:window_name}|'
display-message -p -t a '#{m:n*,#{window_name}} #{m/r:^n.me$,#{window_name}}'
display-message -p -t a '#{s/a/X/:window_name}'
display-message -p -t a '#{b:session_path} #{d:pane_tty}'
display-message -p -t a '#{q:window_name} #{l:#{x}}'
display-message -p -t a '#{e|+:1,2} #{e|*:3,4} #{e|/:7,2} #{e|m:7,3}'
display-message -p -t a '#{W:#{window_index} }#{P:#{pane_id} }#{S:#{session_name} }'
display-message -p -t a '#{n:window_name} #{w:window_name}'
display-message -p -t a '#{nope}|#{window_nope}'
display-message -p -t a '#{a:65}'
display-message -p -t a '#{unclosed'
display-message -p -t a '#{E:#{l:x}} #{T:window_name}'
display-message -p -t a '#{pane_in_mode} #{pane_dead} #{pane_synchronized} #{pane_pipe}'
display-message -p -t a '#{window_active} #{window_panes} #{window_zoomed_flag} #{window_linked}'
display-message -p -t a '#{session_windows} #{session_many_attached} #{session_stack} #{session_alerts}'
display-message -p -t a '#{cursor_flag} #{insert_flag} #{keypad_flag} #{wrap_flag} #{origin_flag}'
display-message -p -t a '#{scroll_region_upper} #{scroll_region_lower} #{pane_tabs}'
display-message -p -t a '#{mouse_any_flag} #{mouse_standard_flag} #{mouse_sgr_flag}'
display-message -p -t a '#{window_start_flag} #{window_end_flag} #{window_bigger}'
display-message -p -t a '#{pane_at_top} #{pane_at_bottom} #{pane_at_left} #{pane_at_right}'
display-message -p -t a '#{version} #{pane_start_command}'
display-message -p -F '#{pane_id}'
display-message -p -F a b
list-panes -a -f '#{==:#{pane_id},%0}' -F '#{pane_id}'
list-windows -f '#{m:x*,#{window_name}}' -F '#{window_name}'
list-sessions -f '#{==:#{session_name},a}' -F '#{session_name}'

# several commands
new-session -d -s a -n w cat \; split-window -d -t a cat \; list-panes -t a -F '#{pane_index}'
display-message -p one \; display-message -p two
display-message -p one \; nope \; display-message -p three
has-session -t zz \; display-message -p after
display-message -p 'a;b' \; display-message -p c
new-window -d -t a -n x \; rename-window -t a:x y \; list-windows -t a -F '#{window_name}'

# channels
new-session -d -s a cat
wait-for -S one
wait-for one
wait-for -L lock
wait-for -U lock
wait-for -U lock
wait-for
wait-for a b

# shells
new-session -d -s a cat
if-shell true 'display-message -p yes' 'display-message -p no'
if-shell false 'display-message -p yes' 'display-message -p no'
if-shell -F 1 'display-message -p yes' 'display-message -p no'
if-shell -F 0 'display-message -p yes' 'display-message -p no'
if-shell -F '' 'display-message -p yes'
if -F '#{==:a,a}' 'display -p same'
new-session -d -s b -n other cat
if-shell -F -t a: 1 "display-message -p '#S'"
if-shell -F -t a: '#{==:#S,a}' "display-message -p '#S'"
if-shell -t a: true "display-message -p '#S'"
run-shell -C -t a: "display-message -p '#S'"
kill-session -t b
run-shell 'echo out'
run-shell 'echo a; echo b'
run-shell 'exit 3'
run-shell 'echo x; exit 1'
run-shell -C 'display-message -p from-c'
run-shell -d x true
run-shell -b true
source-file /nonexistent
source-file -q /nonexistent
if-shell true nope

# dead panes
new-session -d -s a cat
set-option -g remain-on-exit on
new-window -d -t a -n dead 'exit 3'
~ a:dead dead
display-message -p -t a:dead '#{pane_dead} #{pane_dead_status} #{pane_dead_signal}'
list-windows -t a -F '#{window_index} #{window_panes}'
respawn-pane -t a:0
respawn-window -t a:0
respawn-pane -t a:dead 'printf again; cat'
~ a:dead again
display-message -p -t a:dead '#{pane_dead} #{pane_start_command}'
respawn-pane -k -t a:dead -- 'printf third; cat'
~ a:dead third
capture-pane -p -t a:dead -E 0
new-window -d -t a -n killed 'kill -9 $$'
~ a:killed dead
display-message -p -t a:killed '#{pane_dead} #{pane_dead_status} #{pane_dead_signal}'
respawn-window -k -t a:killed 'printf w; cat'
~ a:killed w
display-message -p -t a:killed '#{pane_dead}'
set-option -gu remain-on-exit
set-option -p -t a:0 remain-on-exit failed
send-keys -t a:0 C-d
~! a:0
list-windows -t a -F '#{window_name}'

# hooks
new-session -d -s a cat
set-hook -t a after-rename-window 'set-option -g @hooked yes'
rename-window -t a new
show-options -gv @hooked
show-hooks -t a
set-hook -u -t a after-rename-window
show-hooks -t a
set-hook -g nope 'display-message x'
set-hook -g session-created 'set-option -g @made yes'
new-session -d -s b
show-options -gv @made

# names
new-session -d -s 'a␁b\\c' cat
list-sessions -F '#{session_name}'
rename-session 'tab␉and $HOME $1'
list-sessions -F '#{session_name}'
rename-session 'x␡:y.z'
list-sessions -F '#{session_name}'
rename-window 'x␉y\\z␁"'
list-windows -F '#{window_name}'
rename-window 'a $HOME é'
list-windows -F '#{window_name}'
new-window -d -n 'raw\\␉y' cat
list-windows -F '#{window_name}'
select-pane -T 'plain é'
display-message -p '#{pane_title}'
select-pane -T 'tab␉here'
display-message -p '#{pane_title}'
select-pane -T 'del␡'
display-message -p '#{pane_title}'
select-pane -T ''
rename-session s
rename-window -t s: "$HOME"
list-windows -F '#{window_name}'

# groups
new-session -d -s a -n one cat
new-session -d -t a -s b
list-sessions -F '#{session_name} #{session_grouped} #{session_group} #{session_group_size} #{session_group_list}'
new-window -d -t b -n two
list-windows -t a -F '#{window_index} #{window_name}'
kill-session -t b
list-windows -t a -F '#{window_name}'
new-session -d -t a -n x

# targets
new-session -d -s alpha -n first cat
new-session -d -s alpine -n first cat
new-window -d -t alpha -n second cat
has-session -t alp
has-session -t alph
has-session -t 'alph*'
has-session -t 'al*'
display-message -p -t alpha:first '#{window_index}'
display-message -p -t alpha:sec '#{window_index}'
display-message -p -t alpha:=sec '#{window_index}'
display-message -p -t 'alpha:s*' '#{window_index}'
display-message -p -t =alpha: '#{session_name}'
display-message -p -t =alph: '#{session_name}'
display-message -p -t @1 '#{session_name}:#{window_index}'
display-message -p -t %1 '#{session_name}:#{window_index}.#{pane_index}'
display-message -p -t '$1' '#{session_name}'
display-message -p -t '$1:0' '#{session_name}:#{window_index}'
display-message -p -t alpha:0.0 '#{pane_id}'
display-message -p -t alpha:0.9 '#{pane_id}'
display-message -p -t :0 '#{session_name}'
display-message -p -t '{last}' '#{session_name}'
list-panes -t '{mouse}'
list-panes -t '~'
select-window -t alpha:+5
list-windows -t alpha -F '#{window_index} #{window_active}'

# bad keys
new-session -d -s a -x 80 -y 24 'stty -icrnl; exec cat -v'
send-keys -t a Foo C- M- S- C-Foo ^ F99 C-M-S-x M-F99 Enterr C-M- S-Tab KP99 Mouse
send-keys -t a MouseDown1Pane WheelUpPane PasteStart None FocusIn 0xzz U+41
send-keys -t a ''
send-keys -t a -H zz
send-keys -t a -H 100
send-keys -t a -H ''
send-keys -t a -H -- -1
send-keys -t a -l ''
send-keys -t a -N 0 x
send-keys -t a -N -1 x
send-keys -t a -N 99999999999 x
send-keys -t a fin C-j
~ a fin
capture-pane -p -t a

# bad formats
new-session -d -s a -n w cat
display-message -p '#{'
display-message -p '#{?'
display-message -p '#{?a'
display-message -p '#{?a,'
display-message -p '#{s/a/b'
display-message -p '#{s/a/'
display-message -p '#{='
display-message -p '#{=:}'
display-message -p '#{p99999999999:session_name}'
display-message -p '#{=99999999999:session_name}'
display-message -p '#{e|/:1,0} #{e|%:1,0} #{e|x:1,2} #{e|+:,}'
display-message -p '#{m/r:[,x} #{C/r:[}'
display-message -p '#'
display-message -p '##'
display-message -p '#['
display-message -p '#('
display-message -p '#{}#{:}#{!}#{l:}#{E:}#{||:}#{n:}#{a:}#{b:}#{d:}'
display-message -p '#{a:99999999}'
display-message -p '#{t/f/%:start_time}#{q/z:session_name}'
display-message -p '#{W:#{W:x}}'
set-option -g @deep '#{E:@deep}'
display-message -p '#{E:@deep}'
set-option -g @more 'x#{E:@more}'
display-message -p '#{E:@more}'

# bad shells
new-session -d -s a cat
set-option -g default-shell /nonexistent
set-option -g default-shell sh
set-option -g default-shell ''
set-option -t a default-shell /bin/sh
show-options -t a default-shell
new-window -d -t a true
new-window -d -t a -- /nonexistent/program with words
new-window -d -t a /nonexistent/program
~! a:1
list-windows -t a -F '#{window_index}'
set-option -g remain-on-exit on
new-window -d -t a:5 -n none -- /nonexistent/program with words
~ a:5 dead
display-message -p -t a:5 '#{pane_dead} #{pane_dead_status}'

# refused by name
new-session -d -s a cat
has-session -t a
"""

# Each of these after -t, asked from outside of tmux and from a pane.
TARGET_SETUP = """
new-session -d -s c -n w cat
new-session -d -s other -n cat cat
new-window -d -t other -n c cat
split-window -d -t other:cat cat
split-window -d -h -t other:cat.0 cat
new-window -d -t c: -n cat cat
new-window -d -t c: -n cattle cat
new-window -d -t c:7 -n 5 cat
new-session -d -s othello -n two cat
new-session -d -s 3 -n 0 cat
new-window -d -t 3:5 -n other cat
"""
TARGETS = r"""
c =c c: =c: :c :cat c:c c:cat c:=cat c:=ca oth oth: other othe: o* o*: other*: other:c other:ca* c* cat =cat ca
w :w =w :=w .0 :.0 c.0 cat.0 cat.1 cat.2 cat.9 c:.1 c:.0 0 1 :0 1.0 0.1 + - :+ :- {start} :{end} ! ^ $ {last} $0 $1
$2 $9 @0 @1 %0 %1 %2 %9 $0: $0:@1 $1:@1 @1.0 @1.1 @0.%0 @0.%1 @1.%1 :. . : c:. x:y:z c:cat.0.0 other:cat.{top}
other:cat.{bottom-right} other:{start} other:.{bottom} {up-of} {left-of} other:cat.{right-of} {mouse} {marked} = ~
other:.+ other:.- other:.+2 other:.! -1 +1 +9 c:+ c:+1.0 c:- c:-2 :! c:! c:^ c:$ {next} {previous} c:{next}
c:{previous}.0 3 3: 3:0 3:5 =3 =3: 5 :5 c:5 c:7 c:5.0 c:05 7 two othello:two % @ $ %x @x $x %-1 @1x %99999999999
==c =:c =c:=cat =c:cat.0 =c:=cat.=0 c:= c:=.0 {last}.0 c:{top} {top} {bottom} top c:top [c] [co]* ? o?her other:[c]at
other:? \* c\*
"""
# What takes a session, a window, a pane, a part of one of them, and the place of a window.
TARGET_COMMANDS = """
has-session -t
list-windows -F #S:#I -t
list-panes -F #S:#I.#P -t
display-message -p -F #S:#I.#P,#D,#W -t
capture-pane -p -t
show-options -v status -t
show-options -wv mode-keys -t
show-options -pv remain-on-exit -t
show-environment HOME -t
clear-history -t
split-window -d -P -F #D,#S:#I.#P -t
new-window -d -n new -P -F #{window_id},#S:#I -t
"""
MADE = {"split-window": "kill-pane", "new-window": "kill-window"}

CONTROLS = {0x2400 + n: n for n in range(1, 32)} | {0x2421: 127}

WAIT_S = 20
TRIES = 6

# What differs on purpose: what ours gives instead, and why.
VIEW = "tmux shows it in a pane's view mode, and there is no screen for modes here"
DIFFERS = {
    "run-shell 'echo out'": ((0, "out\n", ""), VIEW),
    "run-shell 'echo a; echo b'": ((0, "a\nb\n", ""), VIEW),
    "run-shell 'exit 3'": ((3, "'exit 3' returned 3\n", ""), VIEW),
    "run-shell 'echo x; exit 1'": ((1, "x\n'echo x; exit 1' returned 1\n", ""), VIEW),
}

OF_WINDOW = "tmux counts from the active pane of the current window, whichever is named"
TARGET_DIFFERS = re.compile(r"other:(cat)?\.(\{\w+-of\}|\+2?)$")

NORMAL = [
    (re.compile(r"/tmp/[^ ]*/tmux-\d+/[A-Za-z0-9_-]+"), "SOCKET"),
    (re.compile(r"/dev/pts/\d+"), "PTS"),
    (re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}"), "TIME"),
]


def normal(text):
    for pattern, word in NORMAL:
        text = pattern.sub(word, text)
    return text


class Peer:
    """One of the two programs, with a server for each group."""

    def __init__(self, program, room):
        self.program = program
        self.label = "none"
        os.makedirs(room, 0o700, exist_ok=True)
        self.env = {"PATH": os.environ["PATH"], "HOME": room, "SHELL": "/bin/sh",
                    "TERM": "xterm", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "ENV": "",
                    "TMUX_TMPDIR": room, "PS1": "$ ",
                    "OD_STATE_DIR": os.path.join(room, "state")}

    def run(self, words, seconds=20):
        line = [self.program, "-f", "/dev/null", "-L", self.label, *words]
        try:
            r = subprocess.run(line, env=self.env, cwd="/", stdin=subprocess.DEVNULL,
                               capture_output=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            return (None, "", f"no end within {seconds} s\n")
        return (r.returncode, normal(r.stdout.decode(errors="replace")),
                normal(r.stderr.decode(errors="replace")))

    def wait(self, words):
        """Returns whether it came true."""
        gone = words[0] == "~!"
        end = time.time() + WAIT_S
        while time.time() < end:
            code, out, _ = self.run(["capture-pane", "-p", "-t", words[1]])
            if code if gone else not code and re.search(words[2], out):
                return True
            time.sleep(0.02)
        return False


def groups():
    for text in GROUPS.strip().split("\n\n"):
        lines = text.split("\n")
        yield lines[0].lstrip("# "), lines[1:]


def run_group(us, them, lines):
    """Yields (line, ours, theirs), or (line, None, WHO) for a wait that did not come true."""
    for number, line in enumerate(lines, 1):
        if line.startswith("~"):
            for who, peer in (("tmux", them), ("od", us)):
                if not peer.wait(line.split(None, 2)):
                    yield number, line, None, who
            continue
        words = [word.translate(CONTROLS) for word in shlex.split(line)]
        yield number, line, us.run(words), them.run(words)


def ask_target(peer, command, target):
    """What a command does with a target; what it makes is removed."""
    words = command.split()
    r = peer.run([words[0], "-t", target, *words[1:-1]])
    if words[0] in MADE and r[0] == 0:
        made, place = r[1].split(",")
        peer.run([MADE[words[0]], "-t", made])
        return r[0], place, r[2]
    return r


def target_rows(us, them, pane):
    """A row for each target: (name, what each program does with it)."""
    for peer in (us, them):
        peer.env.pop("TMUX_PANE", None)
        for line in TARGET_SETUP.strip().split("\n"):
            peer.run(shlex.split(line))
        if pane:
            peer.env["TMUX_PANE"] = pane
    for target in ["", *TARGETS.split()]:
        both = [[ask_target(peer, command, target) for command in TARGET_COMMANDS.strip().split("\n")]
                for peer in (us, them)]
        yield target, both[0], both[1]
    for peer in (us, them):
        peer.env.pop("TMUX_PANE", None)
        peer.run(["kill-server"])


def judge(line, a, b):
    """Returns whether the row is good, and what to add to its name."""
    if line in DIFFERS:
        ours, reason = DIFFERS[line]
        return a == ours and a != b, " # differs: " + reason
    return a is not None and a == b, ""


def main():
    ours, theirs, room = sys.argv[1:4]
    only = sys.argv[4] if len(sys.argv) > 4 else None
    count = failed = label = 0
    us, them = Peer(ours, room + "/us"), Peer(theirs, room + "/them")
    for name, lines in groups():
        if only and only not in name:
            continue
        # A pane of tmux's own may miss the end of its program; the group begins again then.
        for attempt in range(1, TRIES + 1):
            label += 1
            us.label = them.label = f"g{label}"
            rows = []
            for row in run_group(us, them, lines):
                rows.append(row)
                if row[3] == "tmux" and attempt < TRIES:
                    break
            for peer in (us, them):
                peer.run(["kill-server"])
            if not any(row[3] == "tmux" for row in rows):
                break
        for number, line, a, b in rows:
            count += 1
            good, note = judge(line, a, b)
            failed += not good
            print(f"{'ok' if good else 'not ok'} {count} - {name} {number}: "
                  + line.replace("#", "%") + note)
            if not good:
                print(f"# od:   {a!r}\n# tmux: {b!r}", flush=True)
    for where, pane in (("outside", None), ("in a pane", "%3")):
        name = "targets, " + where
        if only and only not in name:
            continue
        label += 1
        us.label = them.label = f"g{label}"
        for target, a, b in target_rows(us, them, pane):
            count += 1
            differs = not pane and TARGET_DIFFERS.match(target)
            good = (a != b) if differs else a == b
            failed += not good
            print(f"{'ok' if good else 'not ok'} {count} - {name}: -t '{target}'"
                  + (" # differs: " + OF_WINDOW if differs else ""))
            for command, x, y in zip(TARGET_COMMANDS.strip().split("\n"), a, b):
                if x != y and not good:
                    print(f"# {command}\n# od:   {x!r}\n# tmux: {y!r}", flush=True)
    print(f"1..{count}")
    return 1 if failed else 0


sys.exit(main())
