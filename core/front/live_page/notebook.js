// SPDX-License-Identifier: MIT
//
// The notebook: cells that run in the kernel of the session, by the action `cell` with
// `rich`, and cells that the agent runs there. Files are notebooks of Jupyter (nbformat
// 4).
//
// The kernel's output is not trusted. Text becomes text nodes, with classes for its
// colours; pictures are <img> of blob:, also SVG, which runs no script there; HTML is in
// a frame of its own (frame.html), with no origin, no network and no access to its
// parent.

const NOTEBOOK_FRAME_MAX = 2000;
const NOTEBOOK_AGENT_MAX = 100;
const NOTEBOOK_TEXT_MAX = 262144;
const NOTEBOOK_FILE_MAX = 900000;
const NOTEBOOK_PICTURES = /^image\/(png|jpeg|webp|gif)$/;

// The types of output that can be shown, the best first.
const NOTEBOOK_TYPES = ['text/html', 'image/svg+xml', 'image/png', 'image/jpeg', 'image/webp',
    'image/gif', 'text/markdown', 'text/latex', 'text/plain', 'application/json'];

// The luminance of a colour (WCAG 2.2).
function notebookLight(rgb) {
    const [r, g, b] = rgb.map(v => v <= 10 ? v / 3294 : ((v / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// Makes CSS rules for the colours 16 to 255 of terminals: darker on a light page and
// lighter on a dark one, as far as contrast needs it.
function notebookColours() {
    const fit = (rgb, to, enough) => {
        while (!enough(notebookLight(rgb)))
            rgb = rgb.map(v => v + (to - v) / 8);
        return 'rgb(' + rgb.map(Math.round) + ')';
    };
    const sheet = new CSSStyleSheet(), level = [0, 95, 135, 175, 215, 255];
    const rules = [];
    for (let n = 16; n < 256; n++) {
        const i = n - 16, grey = 8 + (n - 232) * 10;
        const rgb = n > 231 ? [grey, grey, grey]
            : [level[Math.floor(i / 36)], level[Math.floor(i / 6) % 6], level[i % 6]];
        rules.push('.fg' + n + '{color:light-dark(' + fit(rgb, 0, l => l < 0.15) + ',' + fit(rgb, 255, l => l > 0.25) + ')}');
        rules.push('.nb [class].bg' + n + '{background:rgb(' + rgb + ');color:' + (notebookLight(rgb) > 0.18 ? '#000}' : '#fff}'));
    }
    sheet.replaceSync(rules.join(''));
    document.adoptedStyleSheets.push(sheet);
}

function notebookNear(r, g, b) {
    const step = v => v < 48 ? 0 : v < 115 ? 1 : Math.min(5, Math.floor((v - 35) / 40));
    return 16 + 36 * step(r) + 6 * step(g) + step(b);
}

// Applies one SGR sequence (ECMA-48) to the style, {fg, bg, bold …}.
function notebookStyle(style, codes) {
    const all = codes.split(/[;:]/).map(Number);
    for (let i = 0; i < all.length; i++) {
        const c = all[i], low = c % 10;
        if (c === 0)
            Object.keys(style).forEach(k => delete style[k]);
        else if (c === 1 || c === 3 || c === 4)
            style[['', 'bold', '', 'italic', 'under'][c]] = true;
        else if (c === 22 || c === 23 || c === 24)
            delete style[['bold', 'italic', 'under'][c - 22]];
        else if ((c === 38 || c === 48) && all[i + 1] === 5)
            style[c === 38 ? 'fg' : 'bg'] = all[i += 2] & 255;
        else if ((c === 38 || c === 48) && all[i + 1] === 2)
            style[c === 38 ? 'fg' : 'bg'] = notebookNear(...all.slice(i + 2, i += 4, i));
        else if (low === 9 && (c === 39 || c === 49))
            delete style[c === 39 ? 'fg' : 'bg'];
        else if (c >= 30 && c <= 47 && low < 8)
            style[c < 40 ? 'fg' : 'bg'] = low;
        else if (c >= 90 && c <= 107 && low < 8)
            style[c < 100 ? 'fg' : 'bg'] = low + 8;
    }
}

// Returns nodes for a text with colours.
function notebookText(text) {
    const style = {}, out = document.createDocumentFragment();
    let plain = text.replace(/\r\n/g, '\n').replace(/[^\n]*\r(?!\n)/g, '');
    if (plain.length > NOTEBOOK_TEXT_MAX)
        plain = plain.slice(0, NOTEBOOK_TEXT_MAX) + '\n…';
    // eslint-disable-next-line no-control-regex
    for (const [, codes, other, part] of plain.matchAll(/\x1b\[([\d;:]*)m|(\x1b\[[0-?]*[ -/]*[@-~]|\x1b)|([^\x1b]+)/g)) {
        if (codes !== undefined)
            notebookStyle(style, codes);
        else if (!other)
            out.append(Object.keys(style).length === 0 ? part
                : el('span', { class: Object.entries(style)
                    .map(([k, v]) => v === true ? k : k + v).join(' ') }, part));
    }
    return out;
}

// ---- Markdown: nodes, no HTML

function notebookSpans(text) {
    const out = [];
    const spans = /(`+)(.+?)\1(?!`)|\*\*(.+?)\*\*|__(.+?)__|\*([^*\s][^*]*)\*|\b_([^_\s][^_]*)_\b|(!?)\[([^\]]*)\]\(([^)\s]*)[^)]*\)/g;
    let at = 0;
    for (const m of text.matchAll(spans)) {
        out.push(text.slice(at, m.index));
        at = m.index + m[0].length;
        const strong = m[3] ?? m[4], em = m[5] ?? m[6];
        if (m[1])
            out.push(el('code', null, m[2].trim()));
        else if (strong)
            out.push(el('strong', null, ...notebookSpans(strong)));
        else if (em)
            out.push(el('em', null, ...notebookSpans(em)));
        else if (/^https?:\/\//i.test(m[9]) && !m[7])
            out.push(el('a', { href: m[9], rel: 'noopener noreferrer', target: '_blank' },
                ...notebookSpans(m[8] || m[9])));
        else
            out.push(m[8]);
    }
    out.push(text.slice(at));
    return out.filter(Boolean);
}

function notebookRow(tag, line) {
    return el('tr', null, ...line.trim().replace(/^\||\|$/g, '').split('|')
        .map(c => el(tag, null, ...notebookSpans(c.trim()))));
}

function notebookMarkdown(text) {
    const out = el('div', { class: 'nb-md' }), lines = text.split('\n');
    let para = [], list = null;
    const flush = () => {
        if (para.length > 0)
            out.append(el('p', null, ...notebookSpans(para.join('\n'))));
        para = [];
        list = null;
    };
    const take = test => {
        const taken = [];
        while (lines.length > 0 && test.test(lines[0]))
            taken.push(lines.shift());
        return taken;
    };
    while (lines.length > 0) {
        const line = lines.shift(), [, fence] = /^ {0,3}(```+|~~~+)/.exec(line) ?? [];
        const head = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
        const item = /^\s*([-*+]|\d{1,9}[.)])\s+(.*)/.exec(line);
        if (fence) {
            flush();
            const code = take(new RegExp('^(?! {0,3}' + fence + ')'));
            lines.shift();
            out.append(el('pre', { tabindex: 0, 'aria-label': 'Code' }, code.join('\n')));
        } else if (head) {
            flush();
            out.append(el('p', { class: 'nb-h', role: 'heading',
                'aria-level': Math.min(6, head[1].length + 1) }, ...notebookSpans(head[2])));
        } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
            flush();
            out.append(el('hr'));
        } else if (item) {
            const tag = /\d/.test(item[1]) ? 'ol' : 'ul';
            if (list?.localName !== tag) {
                flush();
                out.append(list = el(tag));
            }
            list.append(el('li', null, ...notebookSpans(item[2])));
        } else if (line.startsWith('>')) {
            flush();
            const quoted = [line, ...take(/^>/)].map(l => l.replace(/^> ?/, '')).join('\n');
            out.append(el('blockquote', null, notebookMarkdown(quoted)));
        } else if (line.includes('|') && /^\s*\|?[\s:|-]*-[\s:|-]*$/.test(lines[0] ?? '')) {
            flush();
            lines.shift();
            out.append(el('table', null, el('thead', null, notebookRow('th', line)),
                el('tbody', null, ...take(/\|/).map(l => notebookRow('td', l)))));
        } else if (line.trim() === '') {
            flush();
        } else if (list) {
            list.lastChild.append(' ', ...notebookSpans(line.trim()));
        } else {
            para.push(line);
        }
    }
    flush();
    return out;
}

// ---- outputs

const notebookJoined = v => Array.isArray(v) ? v.join('') : v;

function notebookPicture(type, data) {
    const bytes = type === 'image/svg+xml' ? [data]
        : [Uint8Array.from(atob(data.replace(/\s/g, '')), c => c.charCodeAt(0))];
    const url = URL.createObjectURL(new Blob(bytes, { type }));
    const free = () => URL.revokeObjectURL(url);
    return el('img', { src: url, alt: 'Picture of the output', onload: free, onerror: free });
}

// The frame asks for its HTML when it is loaded, and again after it is moved in the page.
function notebookFrame(page, html) {
    const frame = el('iframe', { class: 'nb-frame', sandbox: 'allow-scripts', src: 'frame',
        title: 'Output as HTML', referrerpolicy: 'no-referrer' });
    const style = getComputedStyle(document.body);
    const head = '<meta name="color-scheme" content="' + page.theme() + '"><style>html{color:' +
        style.color + ';background:' + style.backgroundColor + ';font:13px ' +
        style.fontFamily + '}body{margin:4px}table{border-collapse:collapse}td,th{padding:2px 8px}</style>';
    frame.onNote = data => {
        if (data?.ready)
            frame.contentWindow.postMessage({ html, head }, '*');
        else if (data?.height > 0)
            frame.style.height = Math.min(NOTEBOOK_FRAME_MAX, Math.ceil(data.height) + 2) + 'px';
    };
    return frame;
}

function notebookPre(text, name) {
    return el('pre', { class: name, tabindex: 0, 'aria-label': 'Output' }, notebookText(text));
}

// Returns the element for one output (nbformat).
function notebookShown(page, o) {
    if (o.output_type === 'stream')
        return notebookPre(notebookJoined(o.text), o.name === 'stderr' ? 'nb-err' : '');
    if (o.output_type === 'error')
        return notebookPre(o.traceback?.join('\n') || o.ename + ': ' + o.evalue, 'nb-bad');
    const data = o.data ?? {}, type = NOTEBOOK_TYPES.find(t => t in data);
    const value = notebookJoined(data[type]);
    try {
        if (type === 'text/html')
            return notebookFrame(page, String(value));
        if (type === 'image/svg+xml' || NOTEBOOK_PICTURES.test(type))
            return notebookPicture(type, value);
        if (type === 'text/markdown')
            return notebookMarkdown(value);
    } catch {
        return notebookPre('This output cannot be shown as ' + type + '.', 'nb-err');
    }
    if (type)
        return notebookPre(typeof value === 'string' ? value : JSON.stringify(value, null, 1), '');
    return el('p', { class: 'dim' }, 'There was no room for this output' +
        (Object.keys(data)[0] ? ' of ' + Object.keys(data)[0] : '') + '.');
}

// Returns extras.outputs of an observation as outputs of nbformat.
function notebookOutputs({ content, extras }) {
    const all = new Map();
    if (!extras.outputs)
        return [{ output_type: 'stream', name: 'stdout', text: content ?? '' },
            ...(extras.images ?? extras.image_urls ?? []).map(url => ({
                output_type: 'display_data', metadata: {},
                data: { 'image/png': url.split(',', 2)[1] ?? '' },
            }))].filter(o => o.text !== '');
    for (const { output, type, mime, data, lost, name, value } of extras.outputs) {
        const o = all.get(output) ?? (type === 'stream' ? { output_type: type, name, text: '' }
            : type === 'error' ? { output_type: type, ename: name, evalue: value, traceback: [] }
                : { output_type: type, data: {}, metadata: {},
                    ...type === 'execute_result' && { execution_count: extras.count ?? null } });
        all.set(output, o);
        if (type === 'stream')
            o.text = (data ?? '') + (lost ? '\n… ' + lost + ' bytes more' : '');
        else if (type === 'error')
            o.traceback = (data ?? '').split('\n');
        else if (data !== undefined)
            o.data[mime] = data;
    }
    return [...all].sort(([a], [b]) => a - b).map(([, o]) => o);
}

// ---- files

function notebookLines(text) {
    return text === '' ? [] : text.match(/[^\n]*\n|[^\n]+$/g);
}

// The file as Jupyter writes it: sorted names, indent 1, texts as lists of lines. The action
// `write` adds the last newline.
function notebookFile(book, cells) {
    const whole = { nbformat: 4, nbformat_minor: 5, metadata: {}, ...book, cells: cells.map(c => {
        const code = c.type === 'code';
        return {
            ...c.kept, cell_type: c.type, metadata: c.kept.metadata ?? {},
            source: notebookLines(c.text()),
            ...code && { execution_count: c.count, outputs: c.outputs.map(o => o.text === undefined
                ? { ...o, ...o.data && { data: Object.fromEntries(Object.entries(o.data).map(([k, v]) =>
                    [k, /^text\/|svg/.test(k) && typeof v === 'string' ? notebookLines(v) : v])) } }
                : { ...o, text: notebookLines(notebookJoined(o.text)) }) },
        };
    }) };
    const sorted = v => Array.isArray(v) || !v || typeof v !== 'object' ? v
        : Object.fromEntries(Object.entries(v).sort(([a], [b]) => a < b ? -1 : 1));
    return JSON.stringify(whole, (_, v) => sorted(v), 1);
}

// ---- the panel

function notebookPanel(page) {
    const may = page.may === 'drive', list = el('ol', { class: 'nb-cells', 'aria-label': 'Cells' });
    const path = el('input', { id: 'nb-path', placeholder: 'notebook.ipynb', spellcheck: 'false',
        autocapitalize: 'off', autocomplete: 'off' });
    const button = (id, text, onclick) => el('button', { type: 'button', id: 'nb-' + id, onclick }, text);
    const empty = el('p', { class: 'empty' }, 'No cells yet. Cells that an agent runs appear here, such as',
        el('code', null, page.command('jupyter-bridge', "-c '1 + 1'")));
    const root = el('div', { class: 'nb' },
        may ? el('div', { class: 'nb-bar' },
            el('form', { onsubmit: e => {
                e.preventDefault();
                open();
            } }, el('label', { for: 'nb-path' }, 'File'), path,
            el('button', { id: 'nb-open' }, 'Open'), button('save', 'Save', save)),
            button('all', 'Run all', runAll), button('interrupt', 'Interrupt', () => kernel('interrupt')),
            button('restart', 'Restart', () => kernel('restart')),
            button('code', '+ Code', () => add('code').focus()),
            button('md', '+ Markdown', () => add('markdown').focus())) : null,
        empty, list);
    // Our cells by the client_id of their run, and all cells by the id of the action.
    const cells = [], sent = new Map(), running = new Map(), tag = 'page-' + Math.random().toString(36).slice(2);
    let book = {}, runs = 0, follows = true;

    const onNote = e => {
        for (const frame of list.querySelectorAll('iframe')) {
            if (e.source === frame.contentWindow)
                frame.onNote(e.data);
        }
    };

    function number() {
        empty.hidden = cells.length > 0;
        cells.forEach((c, i) => c.name(i + 1));
    }

    function add(type, { source = '', after, agent, kernel, outputs = [], count = null, kept = {} } = {}) {
        const c = { type, agent, kernel, outputs, count, kept };
        const field = el('textarea', { spellcheck: 'false', autocapitalize: 'off', readonly: agent || !may,
            rows: 1, oninput: fit, onkeydown: onKey });
        const mark = el('span', { class: 'nb-count' }), out = el('div', { class: 'nb-out' });
        const live = el('pre', { 'aria-label': 'Output', tabindex: 0, hidden: true });
        const run = el('button', { type: 'button', class: 'nb-run', onclick: () => c.run() }, 'Run');
        const drop = el('button', { type: 'button', class: 'nb-drop', onclick: remove, title: 'Delete' }, '×');
        const shown = el('div', { class: 'nb-shown', hidden: true });
        c.root = el('li', { class: 'nb-cell', 'data-type': type }, el('div', { class: 'nb-side' }, mark,
            el('span', null, may && !agent ? run : null, may ? drop : null)), el('div', { class: 'nb-main' }, field, shown, live, out));
        field.value = source;
        c.text = () => field.value;
        c.focus = () => field.focus();

        function fit() {
            field.rows = Math.min(40, field.value.split('\n').length);
        }

        function remove() {
            const i = cells.indexOf(c);
            cells.splice(i, 1);
            c.root.remove();
            number();
            (cells[i] ?? cells[i - 1])?.focus();
        }

        c.name = n => {
            const what = type === 'code' ? 'Code' : type === 'markdown' ? 'Markdown' : 'Text';
            field.setAttribute('aria-label', what + ' of cell ' + n + (agent ? ', by the ' + agent : ''));
            run.setAttribute('aria-label', 'Run cell ' + n);
            drop.setAttribute('aria-label', 'Delete cell ' + n);
            mark.textContent = (agent ? agent + (c.kernel ? '\n' + c.kernel : '') + ' ' : '') + (type !== 'code' ? '' : c.busy ? '[*]'
                : '[' + (c.count ?? ' ') + ']');
        };

        function setMarkdown(on) {
            shown.hidden = !on;
            field.hidden = on;
            if (on)
                shown.replaceChildren(notebookMarkdown(field.value || '*empty*'));
        }

        c.show = () => {
            live.hidden = true;
            live.textContent = '';
            out.replaceChildren(...c.outputs.map(o => notebookShown(page, o)));
        };
        c.setBusy = on => {
            c.busy = on;
            c.root.classList.toggle('busy', on);
            number();
        };
        c.say = ({ content: text, extras: { mime, data } }) => {
            if (NOTEBOOK_PICTURES.test(mime))
                out.append(notebookPicture(mime, data));
            live.hidden &&= !text;
            live.append(text);
            if (live.textContent.length > NOTEBOOK_TEXT_MAX)
                live.textContent = live.textContent.slice(-NOTEBOOK_TEXT_MAX / 2);
        };
        c.ask = (id, prompt, password) => {
            const answer = el('input', { type: password ? 'password' : 'text', autocomplete: 'off' });
            const form = el('form', { class: 'nb-ask', onsubmit: async e => {
                e.preventDefault();
                const text = answer.value;
                form.remove();
                await page.act('input', { id, text }, null, password && text.length > 3 ? [text] : undefined).catch(error => page.say('Answer: ' + error.message));
            } }, el('label', null, (prompt || 'Input') + ' ', answer), el('button', null, 'Answer'));
            out.querySelector('.nb-ask')?.remove();
            if (may) {
                out.append(form);
                page.announce('A cell asks: ' + (prompt || 'input'));
                if (root.contains(document.activeElement))
                    answer.focus();
            }
        };
        c.answered = () => out.querySelector('.nb-ask')?.remove();
        c.end = e => {
            c.outputs = e.observation === 'error'
                ? [{ output_type: 'error', ename: e.extras?.code ?? 'Error', evalue: e.content, traceback: [e.content] }]
                : notebookOutputs(e);
            if (e.extras?.why && e.extras.end !== 'error')
                c.outputs.push({ output_type: 'stream', name: 'stderr', text: e.extras.why + '\n' });
            c.count = e.extras?.count ?? null;
            c.kernel ??= e.extras?.kernel;
            c.show();
            c.setBusy(false);
            c.done?.(e.observation !== 'error' && (e.extras?.end ?? 'ok') === 'ok');
        };
        // Returns a promise of whether the run succeeded.
        c.run = async () => {
            if (type !== 'code') {
                setMarkdown(type === 'markdown');
                return true;
            }
            if (c.busy || !field.value.trim())
                return true;
            const name = tag + '-' + ++runs, ended = new Promise(resolve => c.done = resolve);
            sent.set(name, c);
            c.outputs = [];
            c.show();
            c.setBusy(true);
            try {
                await page.post('events?wait=0', { action: 'cell', client_id: name, session: page.session(),
                    args: { code: field.value, rich: true, input: true } });
            } catch (e) {
                c.end({ observation: 'error', content: e.message });
            }
            const good = await ended;
            sent.delete(name);
            return good;
        };

        function onKey(e) {
            if (e.key === 'Enter' && (e.shiftKey || e.ctrlKey) && may && !agent) {
                e.preventDefault();
                c.run();
                const next = cells[cells.indexOf(c) + 1];
                if (e.shiftKey)
                    (next && !next.agent ? next : add('code', { after: c })).focus();
            } else if (e.key === 'Enter') {
                const before = field.value.slice(0, field.selectionStart).split('\n').pop();
                const indent = /^\s*/.exec(before)[0] + (type === 'code' && before.endsWith(':') ? '    ' : '');
                if (!indent || field.readOnly || e.isComposing)
                    return;
                e.preventDefault();
                field.setRangeText('\n' + indent, field.selectionStart, field.selectionEnd, 'end');
                fit();
            }
        }

        // A click on Markdown, or Enter there, edits it.
        if (type === 'markdown' && may && !agent) {
            shown.tabIndex = 0;
            shown.setAttribute('role', 'group');
            shown.setAttribute('aria-label', 'Markdown, Enter edits it');
            const edit = e => {
                if (e.target.closest('a') || (e.key && (e.key !== 'Enter' || e.target !== shown)))
                    return;
                e.preventDefault();
                setMarkdown(false);
                field.focus();
            };
            shown.addEventListener('dblclick', edit);
            shown.addEventListener('keydown', edit);
            c.focus = () => (shown.hidden ? field : shown).focus();
        }
        if (type === 'markdown' && source)
            setMarkdown(true);
        const at = after ? cells.indexOf(after) + 1 : cells.length;
        cells.splice(at, 0, c);
        list.insertBefore(c.root, list.children[at] ?? null);
        fit();
        c.show();
        number();
        return c;
    }

    // ---- files and the kernel

    async function open() {
        try {
            const e = await page.act('read', { path: path.value }, page.session());
            if (e.observation !== 'read')
                throw new Error(e.content);
            if (e.cut)
                throw new Error(path.value + ' is larger than 1 MiB, which this page does not open');
            const { cells: all, ...rest } = JSON.parse(e.content);
            if (rest.nbformat !== 4 || !Array.isArray(all))
                throw new Error(path.value + ' is not a notebook of format 4');
            book = rest;
            cells.splice(0).forEach(c => c.root.remove());
            for (const { cell_type, source, outputs, execution_count, ...kept } of all)
                add(cell_type, { source: notebookJoined(source ?? ''), outputs, count: execution_count, kept });
            number();
            page.say(all.length + ' cells of ' + path.value);
        } catch (e) {
            page.say('Open: ' + e.message);
        }
    }

    async function save() {
        const own = cells.filter(c => !c.agent);
        for (const c of own)
            c.kept.id ??= Math.random().toString(16).slice(2, 10);
        const text = notebookFile(book, own);
        try {
            if (!path.value)
                throw new Error('give it a name, such as notebook.ipynb');
            if (text.length > NOTEBOOK_FILE_MAX)
                throw new Error('it is larger than 900 KB, which this page does not write');
            const e = await page.act('write', { path: path.value, content: text }, page.session());
            if (e.observation !== 'write')
                throw new Error(e.content);
            page.say('Saved ' + path.value);
        } catch (e) {
            page.say('Save: ' + e.message);
        }
    }

    // Runs the cells one after the other, until one fails.
    async function runAll() {
        for (const c of cells.filter(each => !each.agent)) {
            if (!await c.run())
                return;
        }
    }

    async function kernel(verb) {
        try {
            const e = await page.act(verb + '_kernel', {}, page.session());
            page.say(e.observation === 'error' ? e.content : 'The kernel was ' + verb + 'ed.');
        } catch (e) {
            page.say(e.message);
        }
    }

    // ---- events

    function onAction(e) {
        const mine = sent.get(e.client_id);
        if (mine) {
            running.set(e.id, mine);
            return;
        }
        if ((e.session ?? 'main') !== page.session() || e.args?.silent)
            return;
        const agent = e.client_id?.startsWith('page-') ? 'page' : 'agent';
        const c = add('code', { source: e.args?.code ?? '', agent, kernel: e.args?.kernel });
        c.setBusy(true);
        running.set(e.id, c);
        if (follows)
            c.root.scrollIntoView({ block: 'nearest' });
        const agents = cells.filter(each => each.agent && !each.busy);
        if (agents.length > NOTEBOOK_AGENT_MAX) {
            cells.splice(cells.indexOf(agents[0]), 1);
            agents[0].root.remove();
            number();
        }
    }

    page.events('*', e => {
        if (e.action === 'cell' || e.action === 'run_ipython')
            onAction(e);
        else if (e.action === 'input')
            running.get(e.args?.id)?.answered();
        else if (e.observation === 'cell_output')
            running.get(e.extras.id)?.say(e);
        else if (e.observation === 'cell_input')
            running.get(e.extras.id)?.ask(e.extras.id, e.content, e.extras.password);
        else if (e.cause && running.has(e.cause)) {
            running.get(e.cause).end(e);
            running.delete(e.cause);
        }
    });
    page.events('follow', ({ on }) => follows = on);
    addEventListener('message', onNote);
    notebookColours();
    if (may)
        add('code');

    return { root, show() {}, hide() {} };
}
