/* SPDX-License-Identifier: MIT */
/*
 * The host of one browser (`od-browser`), a process: it starts a Chromium, or reads
 * pages by itself without one, and carries out the requests that come as lines. The
 * keeper holds the process, so pages stay open when a worker ends. A page that crashes
 * its reader can only harm its own host.
 *
 * Lines of JSON, each way. Lines that come while a call runs are read whenever the call
 * waits. In:
 *
 *   {"id", "within": MS, "first", "actions", "look": {…}, "shots": DIR, "offer": DIR,
 *    "downloads": DIR}
 *                    carries out the actions, if any, then looks, within MS (0: only the
 *                    browser's own deadlines count). first: actions before those,
 *                    which may lead to another page; elements are of that page.
 *                    look: the members of struct browser_want; console; har: the
 *                    call's requests as an HTTP Archive; both: a
 *                    picture with marks next to the one without; html: the text is
 *                    the page's Markdown, links with their addresses, and hidden
 *                    parts. documents: documents that a browser does not show become
 *                    pages of text. shots: a folder where the picture is also saved;
 *                    offer: a folder for a copy of the download of a failed action;
 *                    downloads: from now on, the folder for files that pages send
 *   {"id", "within": MS, "page": {…}}
 *                    one page, as a model asks for it. url: opens it; act: click,
 *                    hover, fill, select, press, scroll, upload, back, forward, reload,
 *                    wait, new_tab, switch_tab or close_tab, with ref (e12, or a visible
 *                    text), text, submit and wait_ms; neither: looks at the page. view:
 *                    outline, text, image, tabs; part and size: one of the parts of so
 *                    many bytes; find: the surroundings of a text
 *   {"id", "open": true}
 *                    starts the browser if none runs, and reports its mode
 *   {"id", "task": true}
 *                    reports goal and rewards of the task (task.h); this is not a step
 *   {"cancel": ID}   ends that call now, wherever it is
 *   {"again": ID}    sends the answer of that call again, after a newline, if it was the
 *                    last one
 *   {"read": N}      N bytes of lines were read: `window` more may be sent
 *   end of input     the browser ends
 *
 * Out, for each request with an id:
 *
 *   {"id", "mode": "chromium" | "text", "url", "title", "status", "error", "focused",
 *    "active", "tabs", "notes", "said", "pages", and if requested "tree", "text",
 *    "links", "console", "har", "shot" and "marked" (base64), "marks", "axtree" and
 * "extras" (its properties), "saved" (the picture's path), "offered" (the download's)}
 *   {"id", "mode", "url", "title", "status", "tabs" (their number), "tab" (the position
 *    of the shown one, from 1), "refs", "notes", "text", and for a
 *    page "view", "part", "parts", "places" and "shown" of what was found, "near", for a
 *    picture "shot" (base64), "shot_type", "width", "height", "picture" (its path), for
 *    an act "added", "removed", "changed", "shown", "moved" (it is another page, of which
 *    text is the beginning), "went" (its address has changed), "disabled" (the ref of an
 *    element that takes no acts), "scrolled", "opened_from" (it opened the shown tab:
 *    the previous one), "tab_closed"; "console" and "console_errors"; "dialog":
 *    {type, text} of an open one}
 *   {"id", "error", "code"}: not done, as nothing has that ref
 *   {"id", "goal": text, "rewards": of each step so far, "0" or "1"}
 *   {"id", "failed": why, "code"}: there is no result; if the browser is gone, the next
 *    call starts one. TIMEOUT and CANCELLED: why tells how far the call got, and the
 *    browser stays; after that answer, loading is stopped, an endless script is ended,
 *    and a page that still does not answer is closed, with a note in the next answer
 *
 * Each has the member "task" if a task has begun: the state to be given to the next
 * process. The first line is {"dir": PATH}, the folder of its profile: a killed host
 * leaves it, and the next one removes it.
 */
#ifndef OD_BROWSER_HOST_HOST_H
#define OD_BROWSER_HOST_HOST_H

/*
 * Runs until the end of its input, or a signal. options: a JSON object {mode: "text" or
 * "", downloads: a folder or "", cdp: a browser's address or "", task: a page's address
 * or "", kept: the "task" of the previous process, or "", sweep: a folder to remove,
 * window: bytes}. Returns the exit status.
 */
int browser_host_run(const char *options);

#endif
