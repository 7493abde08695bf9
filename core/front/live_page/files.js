// SPDX-License-Identifier: MIT
//
// Files of the session's user: a tree, the content of a file, changes.
//
// A path is kept as its exact bytes, one character for each byte, as a name need not be
// UTF-8. While the panel is visible, one request follows the changes of all open folders.
// A person's changes are actions, like an agent's: saving a text is a replacement by the
// editor, which can undo it, and which fails if the old lines have changed meanwhile.

// Longer texts have no numbers of lines, nor colours.
const FILES_LINES = 131072;
const FILES_TEXT = 1 << 20;
const FILES_PICTURE = 32 << 20;
const FILES_HEX = 16 << 10;
const FILES_HEX_LINE = 16;
// The most bytes that one action may replace, old and new text together.
const FILES_CHANGE = 900000;
const FILES_SETTLE_MS = 200;
const FILES_WAIT_MAX_MS = 15000;
// The most characters of the names of open folders in an address.
const FILES_WATCHED = 4000;
const FILES_DONE_MS = 4000;
const FILES_PICTURES = { '\x89PNG': 'image/png', '\xff\xd8\xff': 'image/jpeg', 'GIF8': 'image/gif',
    'RIFF': 'image/webp' };
const FILES_ICONS = { folder: '▸', link: '↪', file: '' };

function filesBytes(text) {
    return filesRaw(new TextEncoder().encode(text));
}

// The same bytes as a string.
function filesRaw(array) {
    let out = '';
    for (let i = 0; i < array.length; i += 8192)
        out += String.fromCharCode(...array.subarray(i, i + 8192));
    return out;
}

// Returns null if the bytes are not UTF-8.
function filesName(bytes) {
    try {
        return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
            .decode(Uint8Array.from(bytes, c => c.charCodeAt(0)));
    } catch {
        return null;
    }
}

// Returns a path as an action's argument with this name.
function filesArg(bytes, name = 'path') {
    const text = filesName(bytes);
    return text === null ? { [name + '_base64']: btoa(bytes) } : { [name]: text };
}

// Returns the bytes of the path of an entry in an answer.
function filesOf(entry) {
    return entry.path_base64 ? atob(entry.path_base64) : filesBytes(entry.path);
}

function filesJoin(folder, name) {
    return folder.endsWith('/') ? folder + name : folder + '/' + name;
}

function filesFolder(bytes) {
    return bytes.slice(0, Math.max(1, bytes.lastIndexOf('/')));
}

function filesSize(n) {
    const units = ['B', 'KB', 'MB', 'GB', 'TB'];
    let i = 0;
    for (; n >= 1000 && i < units.length - 1; i++)
        n /= 1000;
    return (i && n < 100 ? n.toFixed(1) : Math.round(n)) + ' ' + units[i];
}

// Returns a file's text as the editor reads it; null if it is not text.
function filesDecode(array) {
    const [a, b] = array;
    const wide = a === 0xff && b === 0xfe ? 'utf-16le' : a === 0xfe && b === 0xff ? 'utf-16be' : null;
    let text = null;
    try {
        text = new TextDecoder(wide ?? 'utf-8', { fatal: true }).decode(array);
    } catch {
        text = wide ? null : filesRaw(array);
    }
    // eslint-disable-next-line no-control-regex
    return text === null || /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/.test(text) ? null
        : text.replace(/\r\n?/g, '\n');
}

function filesHex(array) {
    const lines = [];
    for (let at = 0; at < array.length; at += FILES_HEX_LINE) {
        const part = [...array.subarray(at, at + FILES_HEX_LINE)];
        lines.push(at.toString(16).padStart(8, '0') + '  ' +
            part.map(b => b.toString(16).padStart(2, '0')).join(' ').padEnd(3 * FILES_HEX_LINE) + ' ' +
            part.map(b => b > 31 && b < 127 ? String.fromCharCode(b) : '.').join(''));
    }
    return lines.join('\n');
}

// Returns the replacement that turns one text into another: whole lines, which occur once.
function filesChange(from, to) {
    let start = 0, end = from.length, tail = to.length;
    while (start < end && start < tail && from[start] === to[start])
        start++;
    while (end > start && tail > start && from[end - 1] === to[tail - 1]) {
        end--;
        tail--;
    }
    const isOnce = text => text && from.indexOf(text) === from.lastIndexOf(text);
    for (let lines = 1; ; lines *= 2) {
        for (let i = 0; i < lines && start > 0; i++)
            start = start < 2 ? 0 : from.lastIndexOf('\n', start - 2) + 1;
        for (let i = 0; i < lines && end < from.length; i++)
            end = from.indexOf('\n', end) + 1 || from.length;
        const old = from.slice(start, end);
        if (isOnce(old) || (start === 0 && end === from.length))
            return { old, now: to.slice(start, to.length - (from.length - end)) };
    }
}

function filesPanel(page) {
    const may = page.may === 'drive';
    const button = (label, onclick, more) => el('button', { type: 'button', onclick, ...more }, label);
    const change = (...args) => may ? button(...args) : null;
    const place = el('input', { id: 'files-root', 'aria-label': 'Folder', autocomplete: 'off',
        spellcheck: 'false', autocapitalize: 'off' });
    const chosen = el('input', { type: 'file', multiple: true, hidden: true, tabindex: -1,
        'aria-label': 'Files to upload', onchange: () => {
            upload(folderOf(selected), [...chosen.files]);
            chosen.value = '';
        } });
    const status = el('p', { class: 'dim', id: 'files-status' });
    const tree = el('ul', { class: 'files-tree', role: 'tree', 'aria-label': 'Files', onkeydown: onTreeKey });
    const title = el('h2', { id: 'files-title' }), facts = el('p', { class: 'dim' });
    const tools = el('div', { class: 'files-tools' });
    const notice = el('p', { class: 'files-notice', role: 'status' });
    const body = el('div', { class: 'files-body' });
    const jobs = el('ul', { class: 'files-jobs', 'aria-label': 'Transfers' });
    const root = el('div', { class: 'files', ondragover: onDrag, ondrop: onDrop, ondragleave: onDrag },
        el('form', { class: 'terminal-bar', onsubmit: e => {
            e.preventDefault();
            setRoot(filesBytes(place.value.trim()));
        } }, button('↑', () => setRoot(filesFolder(top.bytes)),
            { 'aria-label': 'Folder above', title: 'Folder above' }), place, change('New file', () => make('edit')), change('New folder', () => make('mkdir')),
        change('Upload', () => chosen.click(), { id: 'files-upload' }), chosen,
        button('⟳', () => refresh(), { 'aria-label': 'Refresh', title: 'Refresh' }), status),
        el('div', { class: 'files-both' }, tree,
            el('section', { class: 'files-view', 'aria-labelledby': 'files-title' },
                title, facts, tools, notice, body)), jobs);

    let at = page.session();
    // The folder at the top; the selected entry; the entry in the view.
    let top = null, selected = null, shown = null;
    let seen = false, watching = null, wait = 0, timer = null;

    const ask = async (bytes, path, more) => page.get('files/' + path + '?' + new URLSearchParams(
        { ...bytes && filesArg(bytes), session: at, ...more }));

    // Does an action; throws its error.
    async function act(name, args) {
        const o = await page.act(name, args, at);
        if (o.observation === 'error' || o.content?.startsWith('ERROR:'))
            throw new Error(o.content.replace(/^ERROR:\n/, ''));
        return o;
    }

    // Calls fn; shows why it failed.
    async function attempt(what, fn) {
        try {
            await fn();
            return true;
        } catch (e) {
            page.say(what + ': ' + e.message);
            return false;
        }
    }

    // ---- the tree

    const nodes = (n = top) => n ? [n, ...n.open && n.kids ? n.kids.flatMap(nodes) : []] : [];
    const rows = () => nodes().slice(1);
    const folderOf = n => n?.type === 'folder' ? n : n?.parent ?? top;

    function makeNode(parent, entry) {
        const bytes = filesJoin(parent.bytes, filesOf(entry));
        const n = { ...entry, bytes, parent, depth: parent.depth + 1, open: false, kids: null,
            name: entry.path };
        n.icon = el('span', { class: 'files-icon', 'aria-hidden': 'true' }, FILES_ICONS[n.type] ?? '·');
        n.note = el('span', { class: 'dim' });
        n.li = el('li', { role: 'treeitem', tabindex: -1, 'aria-level': n.depth,
            'aria-selected': 'false', 'data-type': n.type,
            onclick: () => {
                select(n);
                enter(n);
            } }, n.icon, el('span', { class: 'files-name' }, n.name), n.note);
        n.li.style.paddingLeft = n.depth * 14 - 6 + 'px';
        return n;
    }

    function refine(n, entry) {
        Object.assign(n, { size: entry.size, mtime: entry.mtime, mode: entry.mode, target: entry.target });
        n.note.textContent = n.type === 'file' ? filesSize(n.size) : n.type === 'link' ? '→ ' + n.target
            : '';
    }

    function render() {
        const all = rows(), had = all.find(n => n.li === document.activeElement);
        const scroll = tree.scrollTop;
        if (!all.includes(selected))
            selected = null;
        for (const n of all) {
            const on = n === selected;
            n.li.setAttribute('aria-selected', on);
            n.li.tabIndex = on || (!selected && n === all[0]) ? 0 : -1;
            if (n.type === 'folder') {
                n.li.setAttribute('aria-expanded', n.open);
                n.icon.textContent = n.open ? '▾' : '▸';
            }
        }
        tree.replaceChildren(...all.map(n => n.li));
        tree.scrollTop = scroll;
        (had && all.includes(had) ? had : null)?.li.focus({ preventScroll: true });
        const more = nodes().filter(n => n.open && n.cursor);
        status.textContent = !top ? 'Reading…' : more.length > 0 ? 'Only the first ' +
            more[0].kids.length + ' of ' + (more[0].name ?? 'this folder') + ' are shown' : all.length ? ''
            : 'This folder is empty' + (may ? ': drop files here' : '');
    }

    // Lists a folder again; what was open in it stays open.
    async function load(n) {
        if (n.loading)
            return void (n.again = true);
        n.loading = true;
        try {
            const answer = await ask(n.bytes, 'list');
            const before = new Map((n.kids ?? []).map(k => [k.bytes + k.type, k]));
            n.kids = answer.entries.map(entry => {
                const bytes = filesJoin(n.bytes, filesOf(entry));
                const k = before.get(bytes + entry.type) ?? makeNode(n, entry);
                refine(k, entry);
                return k;
            }).sort((a, b) => (b.type === 'folder') - (a.type === 'folder') || (a.bytes < b.bytes ? -1 : 1));
            n.cursor = answer.cursor;
        } finally {
            n.loading = false;
        }
        if (n.again) {
            n.again = false;
            await load(n);
        } else {
            render();
        }
    }

    async function setRoot(bytes) {
        await attempt('Files', async () => {
            const answer = await ask(bytes, 'list', { limit: 1 });
            top = { bytes: filesOf(answer), depth: 0, type: 'folder', open: true, kids: null };
            place.value = answer.path;
            selected = null;
            await load(top);
            follow();
        });
    }

    function refresh() {
        return attempt('Files', () => top ? Promise.all(nodes().filter(n => n.open).map(load))
            : setRoot(null));
    }

    function select(n, focus) {
        selected = n;
        render();
        if (focus)
            n.li.focus();
    }

    async function enter(n) {
        if (n.type === 'folder') {
            n.open = !n.open;
            if (n.open && !await attempt('Files', () => load(n)))
                n.open = false;
            render();
            follow();
        }
        await open(n);
    }

    function onTreeKey(e) {
        const all = rows(), i = all.findIndex(n => n.li === document.activeElement), n = all[i];
        if (!n || e.ctrlKey || e.altKey || e.metaKey)
            return;
        const to = { ArrowDown: all[i + 1], ArrowUp: all[i - 1], Home: all[0], End: all.at(-1),
            ArrowRight: n.open ? all[i + 1] : null, ArrowLeft: n.open ? null : n.parent }[e.key];
        if (to?.li)
            select(to, true);
        else if (e.key === 'Enter' || e.key === ' ' || (n.type === 'folder' &&
            e.key === (n.open ? 'ArrowLeft' : 'ArrowRight')))
            enter(n);
        else if (e.key === 'F2' && may)
            rename(n);
        else if (e.key === 'Delete' && may)
            remove(n);
        else
            return;
        e.preventDefault();
    }

    // ---- changes on disk

    // Follows the open folders: one request, which ends with the panel.
    async function follow() {
        clearTimeout(timer);
        watching?.abort();
        if (!seen || document.hidden || !top)
            return void (watching = null);
        const control = new AbortController(), stale = new Set();
        watching = control;
        let room = FILES_WATCHED, later = null;
        const below = filesJoin(top.bytes, '').length;
        const folders = rows().filter(n => n.open).map(n => filesName(n.bytes.slice(below)))
            .filter(name => name !== null && (room -= name.length + 3) > 0);
        const reload = () => attempt('Files', () => Promise.all(nodes()
            .filter(n => n.open && stale.delete(n.bytes)).map(load)));
        const take = m => {
            const bytes = filesJoin(top.bytes, filesOf(m));
            if (m.kind === 'unwatched')
                status.textContent = 'Not all folders are watched: use Refresh';
            if (shown && bytes === shown.bytes)
                check();
            // Changes before the watch began were missed.
            if (m.kind === 'overflow' || m.kind === 'watching')
                nodes().forEach(n => stale.add(n.bytes));
            else
                stale.add(filesFolder(bytes));
            clearTimeout(later);
            later = setTimeout(reload, FILES_SETTLE_MS);
        };
        try {
            const answer = await fetch(page.url('files/watch?' + new URLSearchParams({
                ...filesArg(top.bytes), session: at, folders: JSON.stringify(folders) })),
            { headers: { 'X-OD-Page': page.token }, signal: control.signal });
            if (!answer.ok)
                throw new Error((await answer.json()).error.message);
            wait = 0;
            let rest = '';
            const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
            for (;;) {
                const { done, value } = await reader.read();
                if (done)
                    break;
                const lines = (rest + value).split('\n');
                rest = lines.pop();
                lines.forEach(line => take(JSON.parse(line)));
            }
        } catch (e) {
            if (control.signal.aborted)
                return;
            status.textContent = 'Changes are not followed: ' + e.message;
        }
        if (watching !== control)
            return;
        wait = Math.min(wait * 2 || 250, FILES_WAIT_MAX_MS);
        timer = setTimeout(follow, wait);
    }

    // Checks whether the file still has the content that is shown.
    async function check() {
        const was = shown;
        if (!was?.etag || await etagOf(was.bytes) === was.etag || was !== shown)
            return;
        if (was.area)
            notice.textContent = 'This file was changed meanwhile.';
        else
            open(was.node);
    }

    // ---- the content of a file

    const contentOf = (bytes, more) => page.url('files/content?' + new URLSearchParams(
        { ...filesArg(bytes), session: at, ...more }));

    async function etagOf(bytes) {
        try {
            const answer = await fetch(contentOf(bytes), { method: 'HEAD',
                headers: { 'X-OD-Page': page.token } });
            return answer.headers.get('ETag');
        } catch {
            return null;
        }
    }

    // Returns {size, etag, array}: array has at least the first bytes.
    async function read(bytes, signal) {
        const answer = await fetch(contentOf(bytes), { headers: { 'X-OD-Page': page.token }, signal });
        if (!answer.ok)
            throw new Error((await answer.json()).error.message);
        const size = Number(answer.headers.get('Content-Length')), parts = [];
        const reader = answer.body.getReader();
        let got = 0, most = FILES_TEXT;
        while (got < most) {
            const { done, value } = await reader.read();
            if (done)
                break;
            if (got === 0 && size <= FILES_PICTURE && pictureOf(value))
                most = size;
            got += value.length;
            parts.push(value);
        }
        reader.cancel();
        const array = new Uint8Array(await new Blob(parts).arrayBuffer());
        return { size, etag: answer.headers.get('ETag'), array };
    }

    function pictureOf(array) {
        const head = filesRaw(array.subarray(0, 4));
        return Object.entries(FILES_PICTURES).find(([magic]) => head.startsWith(magic))?.[1];
    }

    async function open(n) {
        if (shown?.area && !await leave())
            return;
        shown?.stop.abort();
        if (shown?.url)
            URL.revokeObjectURL(shown.url);
        const now = shown = { node: n, bytes: n.bytes, stop: new AbortController() };
        title.textContent = n.name;
        notice.textContent = '';
        body.replaceChildren();
        describe(n, n.size);
        if (n.type === 'folder' || !may) {
            if (!may && n.type !== 'folder')
                body.append(el('p', { class: 'empty' },
                    'This login may only watch: it can see names, but not the contents of files.'));
            return;
        }
        try {
            const { size, etag, array } = await read(n.bytes, now.stop.signal);
            if (now !== shown)
                return;
            Object.assign(now, { etag, size });
            showContent(now, size, array);
            describe(n, size);
        } catch (e) {
            if (now === shown)
                body.replaceChildren(el('p', { class: 'empty' }, e.message));
        }
    }

    function describe(n, size) {
        const folder = n.type === 'folder';
        facts.textContent = [folder ? 'folder' : filesSize(size ?? 0), n.mode,
            n.target && 'link to ' + n.target, n.mtime && new Date(n.mtime * 1000).toLocaleString()].filter(Boolean).join(' · ');
        const text = shown.text !== undefined;
        tools.replaceChildren(...!may ? [] : shown.area
            ? [button('Save', save, { id: 'files-save' }), button('Cancel', cancel)]
            : [text ? button('Edit', edit, { id: 'files-edit' }) : '',
                text ? button('Undo last edit', undo, { id: 'files-undo' }) : '',
                button(folder ? 'Download as zip' : 'Download', () => download(n), { id: 'files-download' }),
                button('Rename', () => rename(n)), button('Remove', () => remove(n), { class: 'danger' })]);
    }

    function showContent(now, size, array) {
        const type = pictureOf(array), text = type || size > FILES_TEXT ? null : filesDecode(array);
        if (type && array.length === size) {
            now.url = URL.createObjectURL(new Blob([array], { type }));
            body.append(el('img', { src: now.url, alt: 'Picture ' + now.node.name }));
        } else if (text === null) {
            const part = array.subarray(0, FILES_HEX);
            body.append(el('p', { class: 'dim' }, part.length < size ? 'The first ' +
                filesSize(part.length) + ' of ' + filesSize(size) + ':' : 'This is not text:'),
            el('pre', { tabindex: 0, class: 'files-hex', 'aria-label': 'Bytes' }, filesHex(part)));
        } else {
            now.text = text;
            body.append(text.length > FILES_LINES ? el('pre', { tabindex: 0, 'aria-label': 'Text' }, text)
                : el('pre', { tabindex: 0, 'aria-label': 'Text', class: 'lines' }, ...highlightLines(text, now.node.name)));
        }
    }

    // ---- editing

    function edit() {
        const path = filesName(shown.bytes);
        if (path === null)
            return page.say('Edit: the name is not UTF-8, which the editor needs. Rename it first.');
        shown.area = el('textarea', { id: 'files-text', 'aria-label': 'Text of ' + shown.node.name,
            spellcheck: 'false', autocapitalize: 'off', onkeydown: e => {
                if (e.key === 's' && (e.ctrlKey || e.metaKey)) {
                    e.preventDefault();
                    save();
                }
            } });
        shown.area.value = shown.text;
        body.replaceChildren(shown.area);
        describe(shown.node, shown.size);
        shown.area.focus();
        shown.area.setSelectionRange(0, 0);
    }

    function reopen() {
        const { node } = shown;
        shown.area = null;
        return open(node);
    }

    async function cancel() {
        if (await leave())
            tools.querySelector('button')?.focus();
    }

    // May the edited text be dropped? Yes if it is unchanged, or if the person agrees.
    async function leave() {
        const gone = shown.area.value === shown.text ||
            await question('Changes of ' + shown.node.name + ' are not saved.', 'Discard them');
        if (gone) {
            shown.area = null;
            await open(shown.node);
        }
        return gone;
    }

    async function save() {
        const now = shown, text = now.area.value;
        if (text === now.text)
            return cancel();
        if (await etagOf(now.bytes) !== now.etag) {
            notice.textContent = 'Not saved yet: somebody else changed this file.';
            if (!await question(now.node.name + ' was changed by somebody else. Your change is made ' +
                'only if the lines around it are as they were.', 'Save mine'))
                return;
        }
        const path = filesName(now.bytes), { old, now: new_str } = filesChange(now.text, text);
        if (old.length + new_str.length > FILES_CHANGE)
            return page.say('Save: the change is too large for one step. Save a part of it first.');
        if (await attempt('Save', () => act('edit', now.text
            ? { path, command: 'str_replace', old_str: old, new_str }
            : { path, command: 'insert', insert_line: 0, new_str: new_str.replace(/\n$/, '') }))) {
            page.say('Saved.');
            await reopen();
            // Not if the person has moved the focus meanwhile.
            if (document.activeElement === document.body)
                byId('files-edit')?.focus();
        }
    }

    async function undo() {
        const path = filesName(shown.bytes);
        if (await attempt('Undo', () => act('edit', { path, command: 'undo_edit' })))
            await reopen();
    }

    // ---- other changes

    // Asks a question, with a name also for a new name. Returns what was entered, or null.
    function question(text, yes, name) {
        return new Promise(resolve => {
            const field = name === undefined ? null : el('input', { value: name, required: true,
                pattern: '[^\\/]+', 'aria-label': 'Name', autocomplete: 'off', spellcheck: 'false' });
            const box = el('dialog', { class: 'files-dialog', 'aria-label': text },
                el('form', { method: 'dialog' }, el('p', null, text), field,
                    el('div', { class: 'files-tools' }, el('button', { type: 'submit', value: 'yes' }, yes),
                        button('Cancel', () => box.close()))));
            box.addEventListener('close', () => {
                box.remove();
                resolve(box.returnValue === 'yes' ? field?.value ?? true : null);
            });
            root.append(box);
            box.showModal();
            field?.select();
        });
    }

    async function make(action) {
        const folder = folderOf(selected), what = action === 'edit' ? 'file' : 'folder';
        const name = top && await question('A new ' + what + ' in ' + filesShown(folder), 'Make it', '');
        if (!name)
            return;
        const to = filesArg(filesJoin(folder.bytes, filesBytes(name)));
        await attempt('New ' + what, async () => {
            await act(action, action === 'edit' ? { ...to, command: 'create', file_text: '' } : to);
            await load(folder);
        });
    }

    const filesShown = n => filesName(n.bytes) ?? n.name;

    async function rename(n) {
        const name = await question('A new name for ' + n.name, 'Rename', n.name);
        if (!name || name === n.name)
            return;
        const to = filesJoin(n.parent.bytes, filesBytes(name));
        await attempt('Rename', async () => {
            await act('move', { ...filesArg(n.bytes, 'from'), ...filesArg(to, 'to') });
            await load(n.parent);
            const k = n.parent.kids.find(one => one.bytes === to);
            if (k && shown?.node === n) {
                select(k, true);
                await open(k);
            }
        });
    }

    async function remove(n) {
        const folder = n.type === 'folder';
        const what = filesShown(n) + (folder ? ' and everything in it' : '');
        if (!await question('Remove ' + what + '?', 'Remove'))
            return;
        await attempt('Remove', async () => {
            await act('remove', { ...filesArg(n.bytes), ...folder && { recursive: true } });
            if (shown?.node === n)
                clear();
            await load(n.parent);
            (tree.querySelector('[tabindex="0"]') ?? place).focus();
        });
    }

    function clear() {
        shown = null;
        for (const e of [facts, tools, notice])
            e.replaceChildren();
        title.textContent = 'No file is open';
        body.replaceChildren(el('p', { class: 'empty' }, 'Choose a file in the tree' +
            (may ? ', or drop files from your computer on a folder. In a shell:' : '.'),
        may ? el('code', null, "echo 'hello' > notes.txt") : null));
    }

    // ---- transfers

    // A row with progress. {to(done, of), end(text)}; stop is called by its button.
    function job(name, stop) {
        const bar = el('progress', { max: 1, value: 0, 'aria-label': name });
        const text = el('span', { class: 'dim' });
        const end = button('Cancel', () => {
            stop();
            li.remove();
        }, { 'aria-label': 'Cancel ' + name });
        const li = el('li', null, el('span', { class: 'files-name' }, name), bar, text, end);
        jobs.append(li);
        return {
            to(done, of) {
                bar.value = of ? done / of : 0;
                text.textContent = filesSize(done) + (of ? ' of ' + filesSize(of) : '');
            },
            end(why) {
                bar.remove();
                text.textContent = why ?? 'done';
                page.announce(name + ': ' + text.textContent);
                end.textContent = 'Dismiss';
                end.setAttribute('aria-label', 'Dismiss ' + name);
                if (!why)
                    setTimeout(() => li.remove(), FILES_DONE_MS);
            },
        };
    }

    function send(folder, file) {
        return new Promise(resolve => {
            const request = new XMLHttpRequest();
            const row = job('Upload of ' + file.name, () => request.abort());
            request.upload.onprogress = e => row.to(e.loaded, e.total);
            request.onloadend = () => {
                let why = request.status === 200 ? null : 'failed';
                try {
                    why = JSON.parse(request.responseText).error?.message ?? why;
                } catch {
                    why = request.status ? why : 'the connection was cut';
                }
                row.end(why);
                resolve();
            };
            request.open('PUT', contentOf(folder.bytes,
                { name: file.name, viewer: page.person() || 'a person' }));
            request.setRequestHeader('X-OD-Page', page.token);
            request.send(file);
        });
    }

    // Uploads one file after the other.
    async function upload(folder, files) {
        if (!folder.kids && !await attempt('Upload', () => load(folder)))
            return;
        for (const file of files) {
            const there = folder.kids.some(n => n.bytes === filesJoin(folder.bytes, filesBytes(file.name)));
            if (there && !await question(file.name + ' already exists in ' + filesShown(folder) +
                '.', 'Replace it'))
                continue;
            await send(folder, file);
        }
        await attempt('Files', () => load(folder));
    }

    async function download(n) {
        const stop = new AbortController(), name = n.type === 'folder' ? n.name + '.zip' : n.name;
        const row = job('Download of ' + name, () => stop.abort());
        try {
            const answer = await fetch(n.type === 'folder' ? page.url('files/archive?' + new URLSearchParams(
                { ...filesArg(n.bytes), session: at, format: 'zip' })) : contentOf(n.bytes),
            { headers: { 'X-OD-Page': page.token }, signal: stop.signal });
            if (!answer.ok)
                throw new Error((await answer.json()).error.message);
            const of = Number(answer.headers.get('Content-Length')), reader = answer.body.getReader();
            const parts = [];
            for (let done = 0; ;) {
                const part = await reader.read();
                if (part.done)
                    break;
                parts.push(part.value);
                row.to(done += part.value.length, of);
            }
            const url = URL.createObjectURL(new Blob(parts));
            el('a', { href: url, download: name }).click();
            setTimeout(() => URL.revokeObjectURL(url), 60000);
            row.end();
        } catch (e) {
            if (!stop.signal.aborted)
                row.end(e.message);
        }
    }

    const onto = e => folderOf(nodes().find(n => n.li?.contains(e.target)));

    function onDrag(e) {
        if (!may || !e.dataTransfer.types.includes('Files'))
            return;
        e.preventDefault();
        root.classList.toggle('dragged', e.type === 'dragover');
        status.textContent = e.type === 'dragover' && top ? 'Upload to ' + filesShown(onto(e)) : '';
    }

    function onDrop(e) {
        onDrag(e);
        if (!may || !top)
            return;
        const items = [...e.dataTransfer.items].filter(i => i.kind === 'file');
        const files = items.filter(i => !i.webkitGetAsEntry?.()?.isDirectory).map(i => i.getAsFile());
        if (files.length < items.length)
            page.say('Folders are not uploaded: pack them first.');
        upload(onto(e), files);
    }

    // ---- life

    addEventListener('beforeunload', e => {
        if (shown?.area && shown.area.value !== shown.text)
            e.preventDefault();
    });
    document.addEventListener('visibilitychange', () => seen && follow());
    clear();
    render();

    return {
        root,
        show() {
            seen = true;
            if (top)
                refresh();
            else
                setRoot(null);
            follow();
        },
        hide() {
            seen = false;
            follow();
        },
        go({ session, path }) {
            if (session && session !== at) {
                at = session;
                top = null;
                if (seen)
                    setRoot(null);
            }
            if (path?.startsWith('/')) {
                const bytes = filesBytes(path);
                open({ bytes, name: path.split('/').pop(), type: 'file',
                    parent: { bytes: filesFolder(bytes), kids: [] } });
            }
        },
    };
}
