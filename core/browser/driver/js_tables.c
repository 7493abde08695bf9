/* SPDX-License-Identifier: MIT */
/* Constants only: they are in the program compressed (build/pack-tables.sh). */
#include "browser/driver/js.h"

/* Elsewhere each text is of the file that includes it. */
#define static
#include "browser/driver/js/choose.js.h"
#include "browser/driver/js/clear_files.js.h"
#include "browser/driver/js/deny_probe.js.h"
#include "browser/driver/js/draw_marks.js.h"
#include "browser/driver/js/dropped.js.h"
#include "browser/driver/js/fill.js.h"
#include "browser/driver/js/filled.js.h"
#include "browser/driver/js/focus.js.h"
#include "browser/driver/js/is_checked.js.h"
#include "browser/driver/js/page_text.js.h"
#include "browser/driver/js/prepare_fill.js.h"
#include "browser/driver/js/quiet_acted.js.h"
#include "browser/driver/js/quiet_loaded.js.h"
#include "browser/driver/js/quiet_typed.js.h"
#include "browser/driver/js/ready.js.h"
#include "browser/driver/js/scroll_box.js.h"
#include "browser/driver/js/scrolled.js.h"
#include "browser/driver/js/shows.js.h"
#include "browser/driver/js/task_begin.js.h"
#include "browser/driver/js/task_judge.js.h"
#include "browser/driver/js/unskip.js.h"
#include "browser/driver/js/visible.js.h"
