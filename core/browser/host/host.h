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
 *   {"id", "within": MS, "first", "actions", "look": {…}, "shots": DIR, "offer": DIR}
 *                    carries out the actions, if any, then looks, in so much time (0:
 *                    as the browser's own deadlines have it). first: actions before
 *                    those, which may lead to another page: elements are that page's.
 *                    look: the members of
 *                    struct browser_look; console; both: a picture with marks next to the
 *                    one without; and html: the text is the page's Markdown, links with
 *                    their addresses, hidden parts too. documents: those that
 *                    a browser does not show become pages of text. shots: the
 *                    picture is also saved there; offer: what an action that failed has
 *                    downloaded is copied there
 *   {"id", "within": MS, "page": {…}}
 *                    one page, as a model asks for it. url: it is opened; act: click,
 *                    hover, fill, select, press, scroll, upload, back, forward, reload or
 *                    wait, with ref (e12, or a visible text), text, submit and wait_ms;
 *                    neither: it is looked at. view: outline, text, image; find, part,
 *                    size: which part of so many bytes, or what is around a text
 *   {"id", "task": true}
 *                    what of the task (task.h) there is; it is no step
 *   {"cancel": ID}   that call ends now, wherever it is
 *   {"again": ID}    sends the answer of that call again, after a newline, if it was the
 *                    last one
 *   {"read": N}      so many bytes of lines were read: there may be `window` more
 *   end of input     the browser ends
 *
 * Out, for each of the first kind:
 *
 *   {"id", "mode": "chromium" | "text", "url", "title", "status", "error", "focused",
 *    "active", "tabs", "notes", "said", "pages", and of what was wanted "tree", "text",
 *    "links", "console", "shot" and "marked" (base64), "marks", "axtree" and "extras"
 *    (its properties), "saved" (the picture's path), "offered" (the download's)}
 *   {"id", "mode", "url", "title", "status", "tabs", "refs", "notes", "text", and for a
 *    page "view", "part", "parts", "places" and "shown" of what was found, "near", for a
 *    picture "shot" (base64), "shot_type", "width", "height", "picture" (its path), for
 *    an act "added", "removed", "changed", "shown", "moved" (it is another page, of which
 *    text is the beginning), "went" (its address is another one), "disabled" (the ref of
 *    what takes no acts), "scrolled"; "console" and "console_errors"; "dialog":
 *    {type, text} of one that is open}
 *   {"id", "error", "code"}: it was not done, as nothing has that ref
 *   {"id", "goal": text, "rewards": of each step so far, "0" or "1"}
 *   {"id", "failed": why, "code"}: nothing was seen; the next call begins again if the
 *    browser is gone. TIMEOUT and CANCELLED: why says how far it got, and the browser
 *    stays; after that answer what loads is stopped, a script that does not end is
 *    ended, and a page that still does not answer is closed, which the next answer
 *    has as a note
 *
 * Each has as "task" what the next process is to be given of a task that was begun.
 * First of all comes {"dir": PATH}, where its profile is: one that was killed leaves it,
 * and the next one removes it.
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
