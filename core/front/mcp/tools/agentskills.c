/* SPDX-License-Identifier: MIT */
/*
 * The agentskills as tools, by their names and with their arguments, which are those of
 * the table of skill/skill.h. Their text is what the functions print. A text longer than
 * an answer ends with a state line, which says how much of it is shown.
 */
#include "front/mcp/tools/skills.h"

static void start(struct tool_call *c)
{
    tool_skill(c, c->tool->skill, json_copy(c->args));
}

/* "" is a value here: it removes the replaced text. */
#define TEXTS "to_replace new_content content file_text old_str new_str"

#define SKILL(id, skill_, title_, ...) \
    const struct tool tool_##id = {.name = #id, \
                                   .title = title_, \
                                   .skill = skill_, \
                                   .set = "skills", \
                                   .keeps = TEXTS, \
                                   .start = start, \
                                   .stop = tool_skill_stop, \
                                   __VA_ARGS__};
#define LOOKS(id, title) SKILL(id, #id, title, .read_only = true, .idempotent = true)

LOOKS(open_file, "Open a file")
LOOKS(goto_line, "Go to a line")
SKILL(scroll_down, "scroll_down", "Scroll down", .read_only = true)
SKILL(scroll_up, "scroll_up", "Scroll up", .read_only = true)
LOOKS(search_dir, "Search a folder")
LOOKS(search_file, "Search a file")
LOOKS(find_file, "Find files")
LOOKS(glob, "Find files by a pattern")
LOOKS(grep, "Find files by a line")
SKILL(create_file, "create_file", "Create a file", .destructive = false)
SKILL(edit_file_by_replace, "edit_file_by_replace", "Replace lines", .destructive = true)
SKILL(insert_content_at_line, "insert_content_at_line", "Insert lines",
      .destructive = true)
SKILL(append_file, "append_file", "Append to a file", .destructive = true)
SKILL(file_editor, "file_editor", "Edit a file", .destructive = true)
/* The name browse belongs to another tool. */
SKILL(skill_browse, "browse", "Act in the browser", .destructive = true,
      .open_world = true)
LOOKS(parse_pdf, "Read a PDF file")
LOOKS(parse_docx, "Read a Word file")
LOOKS(parse_latex, "Read a LaTeX file")
LOOKS(parse_pptx, "Read a PowerPoint file")
LOOKS(parse_html, "Read an HTML file")
LOOKS(parse_ipynb, "Read a notebook")
LOOKS(parse_audio, "Read the facts of a sound file")
LOOKS(parse_image, "Read the facts of a picture")
LOOKS(parse_video, "Read the facts of a film")
