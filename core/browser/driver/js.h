/* SPDX-License-Identifier: MIT */
/*
 * The scripts that run in pages, of js/: FILE_js is the text of FILE.js. They are in the
 * program compressed; browser_open() unpacks them.
 */
#ifndef OD_BROWSER_DRIVER_JS_H
#define OD_BROWSER_DRIVER_JS_H

extern const char choose_js[], clear_files_js[], deny_probe_js[], draw_marks_js[],
    dropped_js[], fill_js[], filled_js[], focus_js[], is_checked_js[], page_text_js[],
    prepare_fill_js[], quiet_acted_js[], quiet_loaded_js[], quiet_typed_js[], ready_js[],
    scroll_box_js[], scrolled_js[], shows_js[], task_begin_js[], task_judge_js[],
    unskip_js[], visible_js[];

#endif
