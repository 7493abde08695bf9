// SPDX-License-Identifier: MIT
//
// The terminal (core/front/terminal/README.md): xterm.js with the size of the session, in
// the largest letters that fit. Everybody watches, one person drives.
//
// There is one link, for the session that is shown. Some time after the panel is hidden,
// the link is closed, as it costs the server a screen and its output; when the panel is
// shown again, a new link resumes after the last offset. A driver's link stays: without
// it, the keyboard would be free a minute later.

const TERMINAL_HIDDEN_MS = 20000;
const TERMINAL_WAIT_MS = 250;
const TERMINAL_WAIT_MAX_MS = 15000;
const TERMINAL_INPUT = 60000;
const TERMINAL_SCROLLBACK = 10000;
const TERMINAL_MARKS = 1000;
const TERMINAL_FONT = { min: 11, read: 12, max: 20, fit: 13 };
const TERMINAL_FAMILY = 'ui-monospace, "Cascadia Mono", Menlo, "DejaVu Sans Mono", monospace';

// The beginning of a picture, and its replacement that keeps the scroll-back.
const TERMINAL_RESET = '\x1b[?1047l\x1b[?5l\x1bc';
const TERMINAL_SOFT = '\x1b[?1047l\x1b[?5l\x1b[!p\x1b[?1000;1002;1003;1005;1006;1015;1004;2004l' +
    '\x1b[?25h\x1b[?7h\x1b>\x1b(B\x0f\x1b[r\x1b[m\x1b[3g';
// Bytes of older output that are requested: the server gives at most 256 KiB at once, up to
// what it has sent.
const TERMINAL_OLDER = 192 << 10;

// Actions and observations that name a session with a terminal.
const TERMINAL_KINDS = new Set(['run', 'input', 'key', 'eof', 'signal', 'resize', 'control']);

// Black, red, green, yellow, blue, magenta, cyan, white, and the bright ones.
const TERMINAL_COLOURS = {
    dark: ['#14171c', '#e7eaf0', '#3b4f78', '#3a414d #ff8f86 #7ccf95 #e5c07b #8ab4f8 #d6a3f0 ' +
        '#79d1d8 #d3d7de #8d96a5 #ffb3ad #a5e3b7 #f5dba0 #b5d0fb #e6c6f7 #a8e4e9 #ffffff'],
    light: ['#ffffff', '#1b1f27', '#bcd3f7', '#1b1f27 #b3261e #1a6f37 #7a5200 #0b57c2 #8a2aa5 ' +
        '#00677a #565e6c #4a5160 #c5362d #247d44 #8a5d00 #2a6dd0 #9c3fb5 #0b7285 #1b1f27'],
};

const TERMINAL_NAMES = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white',
    'brightBlack', 'brightRed', 'brightGreen', 'brightYellow', 'brightBlue', 'brightMagenta',
    'brightCyan', 'brightWhite'];

// The key bar: label, name, what it sends; an arrow's last letter follows the cursor mode.
const TERMINAL_KEYS = [
    ['Esc', 'Esc', '\x1b'], ['Tab', 'Tab', '\t'], ['Ctrl', 'Ctrl, for the next key', 'ctrl'],
    ['Alt', 'Alt, for the next key', 'alt'], ['←', 'Left', 'D'], ['↑', 'Up', 'A'],
    ['↓', 'Down', 'B'], ['→', 'Right', 'C'], ['^C', '^C, Control C', '\x03'],
    ['Paste', 'Paste', 'paste'],
];

function terminalTheme(name) {
    const [background, foreground, selectionBackground, all] = TERMINAL_COLOURS[name];
    const theme = { background, foreground, cursor: foreground, cursorAccent: background,
        selectionBackground };
    all.split(' ').forEach((colour, i) => theme[TERMINAL_NAMES[i]] = colour);
    return theme;
}

// Returns width and height of a cell at a font size of one pixel.
function terminalCell(host) {
    const probe = el('span', { class: 'terminal-probe', 'aria-hidden': 'true' }, 'W'.repeat(50));
    host.append(probe);
    const { width, height } = probe.getBoundingClientRect();
    probe.remove();
    return { width: width / 50 / 100, height: height / 100 };
}

// Returns what a key with sticky Ctrl or Alt sends.
function terminalModified(text, { ctrl, alt }) {
    if ([...text].length !== 1)
        return text;
    if (ctrl && /[@-_a-z ?]/.test(text))
        text = text === '?' ? '\x7f' : String.fromCharCode(text.toUpperCase().charCodeAt(0) & 31);
    return alt ? '\x1b' + text : text;
}

function terminalPanel(page) {
    const tabKept = () => sessionStorage;
    const sessions = new Map();
    const list = el('div', { class: 'tabs small', role: 'tablist', 'aria-label': 'Sessions',
        onkeydown: onTabKey });
    const add = el('button', { type: 'button', class: 'plus', 'aria-label': 'New session',
        title: 'New session', onclick: makeSession }, '+');
    const older = el('button', { type: 'button', id: 'terminal-older', hidden: true,
        title: 'Adds the output from before this page was opened above the screen',
        onclick: askOlder }, 'Older output');
    const status = el('p', { class: 'terminal-status', id: 'terminal-status' });
    const drive = el('button', { type: 'button', id: 'terminal-drive', onclick: onDrive });
    const play = el('button', { type: 'button', id: 'terminal-play', 'aria-pressed': 'false',
        title: 'Plays what this session has shown', onclick: onPlay }, 'Play');
    const fitButton = el('button', { type: 'button', id: 'terminal-fit', hidden: true,
        title: 'Gives the session the size of this window', onclick: onFit }, 'Fit to my window');
    const reader = el('input', { type: 'checkbox', id: 'terminal-reader', onchange: onReader });
    const person = el('input', { id: 'terminal-name', maxlength: 32, autocomplete: 'off',
        onchange: () => kept('od.person', person.value.trim()) });
    const settings = el('details', { class: 'terminal-settings' }, el('summary', null, 'Settings'),
        el('div', null,
            el('label', { class: 'check' }, reader, ' Screen reader mode'),
            el('label', null, 'My name for others ', person),
            el('p', { class: 'dim' }, 'Ctrl+Shift+Esc leaves the terminal for the header.')));
    const screen = el('div', { class: 'terminal-screen', role: 'tabpanel', id: 'terminal-screen' });
    const start = el('button', { type: 'button', onclick: () => startSession(at) }, 'Start it');
    const why = el('span');
    const none = el('p', { class: 'empty', hidden: true }, why, ' ', start);
    const keys = el('div', { class: 'terminal-keys', role: 'toolbar', 'aria-label': 'Keys' },
        ...TERMINAL_KEYS.map(([label, name, sends]) => el('button', {
            type: 'button', 'aria-label': name, 'data-key': label,
            'aria-pressed': sends === 'ctrl' || sends === 'alt' ? 'false' : null,
            onpointerdown: e => e.preventDefault(), onclick: () => onBarKey(sends),
        }, label)));
    const player = playerControls({
        write: (text, done) => term.write(text, done),
        resize(rows, cols) {
            term.resize(cols, rows);
            fit();
        },
    }, onPlay);
    const root = el('div', { class: 'terminal' },
        el('div', { class: 'terminal-bar' }, list, page.may === 'drive' ? add : null,
            el('span', { class: 'grow' }), status, older, play, fitButton,
            page.may === 'drive' ? drive : null, settings), none, player.root, screen, page.may === 'drive' ? keys : null);

    const sticky = { ctrl: false, alt: false };
    let tabs = 0;
    let at = page.session();
    // xterm.js's terminal, once loaded; the size of a cell; the WebSocket; its hello.
    let term = null, cell = null, link = null, me = null;
    let driver = null, viewers = 1, size = null;
    // The offset of the last frame. -1: no frame yet; -2: a picture follows.
    let offset = -1;
    // {at, marker}: the line at which the output up to `at` ends.
    let marks = [];
    // The offset of the first picture, after which the scroll-back is whole; the request for
    // older output: {frames, whole: nothing is missing in them, over: all have arrived}.
    let begin = -1, past = null;
    let wait = TERMINAL_WAIT_MS;
    let timer = null, hiding = null, fitting = null;
    // For a screen larger than the panel: its size; how far down we scrolled it.
    let large = null;
    let followed = 0;
    let seen = false, absent = false;
    // The terminal shows a recording, without a link.
    let plays = false;
    // Whether this page drove when the link was lost.
    let drove = false;

    // ---- what is shown

    const isMine = () => Boolean(me && driver && driver.id === me.id);
    const driverName = () => personName(driver.name);

    function showPeople() {
        const mine = isMine();
        status.textContent = absent ? '' : plays ? 'Recording' : !me ? 'Connecting…'
            : mine ? 'You drive' : !driver ? 'You watch, nobody drives'
                : 'You watch, ' + driverName() + (driver.away ? ' (away)' : '') + ' drives';
        drive.textContent = mine ? 'Give back' : driver ? 'Take it from ' + driverName()
            : 'Take the keyboard';
        drive.disabled = !me;
        drive.hidden = absent || plays;
        play.hidden = absent;
        play.textContent = plays ? 'Live' : 'Play';
        play.setAttribute('aria-pressed', plays);
        fitButton.hidden = !mine;
        root.classList.toggle('driving', mine);
        root.classList.toggle('off', !me && !absent && !plays);
        if (term)
            term.options.cursorInactiveStyle = mine ? 'outline' : 'none';
        if (me)
            page.people({ viewers, driver: driver && (mine ? 'you' : driverName()) });
    }

    function showAbsent(text) {
        absent = text !== null;
        older.hidden = true;
        none.hidden = !absent;
        screen.hidden = absent;
        start.hidden = page.may !== 'drive';
        why.textContent = text ?? '';
        showPeople();
    }

    function showTabs() {
        for (const [name, tab] of sessions) {
            tab.setAttribute('aria-selected', name === at);
            tab.tabIndex = name === at ? 0 : -1;
        }
        screen.setAttribute('aria-labelledby', sessions.get(at).id);
        // The label names the way out, as the program gets all other keys.
        term?.textarea.setAttribute('aria-label',
            'Terminal of ' + at + '. Control Shift Escape leaves it for the header.');
    }

    function learn(name) {
        if (!name || sessions.has(name))
            return;
        const tab = el('button', {
            type: 'button', role: 'tab', tabindex: -1, 'aria-selected': 'false',
            id: 'terminal-tab-' + tabs++, 'aria-controls': 'terminal-screen',
            onclick: () => page.choose(() => page.setSession(name)),
        }, name);
        sessions.set(name, tab);
        list.append(tab);
    }

    // ---- letters as large as fit

    function fit() {
        cancelAnimationFrame(fitting);
        fitting = requestAnimationFrame(() => {
            const { clientWidth: width, clientHeight: height } = screen;
            if (!term || !seen || width < 40 || height < 40)
                return;
            cell ??= terminalCell(screen);
            const { min, read, max } = TERMINAL_FONT;
            const room = Math.min((width - 22) / (term.cols * cell.width),
                (height - 8) / (term.rows * cell.height));
            const drawn = screen.querySelector('.xterm-screen');
            const isLarge = () => drawn.offsetWidth > width - 18 || drawn.offsetHeight > height - 6;
            // A screen that is far too large, such as V0's of 1000 lines, scrolls anyway.
            let font = room < min / 3 ? read : Math.max(min, Math.min(max, Math.floor(room * 2) / 2));
            do
                term.options.fontSize = font;
            while (room >= min / 3 && isLarge() && (font -= 0.5) >= min);
            large = isLarge() ? { width: drawn.offsetWidth, height: drawn.offsetHeight } : null;
            follow();
        });
    }

    // On a screen that scrolls, keeps the cursor's line visible, and for the driver its
    // column, until a person scrolls. This runs with each key: it must not ask for the
    // layout of a screen that fits.
    function follow() {
        if (!large)
            return;
        const { cursorX: x, cursorY: y } = term.buffer.active;
        const { clientWidth: width, clientHeight: height, scrollTop } = screen;
        const line = large.height / term.rows * (y + 1), column = large.width / term.cols * (x + 2);
        const top = line > height - 8 ? line - height + 12 : 0;
        const left = column > width - 8 ? column - width * 0.6 : 0;
        if (Math.abs(scrollTop - followed) <= 4 || scrollTop >= top - 4) {
            screen.scrollTop = top;
            followed = screen.scrollTop;
        }
        if (isMine())
            screen.scrollLeft = left;
    }

    function onFit() {
        const { clientWidth: width, clientHeight: height } = screen, font = TERMINAL_FONT.fit;
        cell ??= terminalCell(screen);
        send({ resize: {
            rows: Math.max(5, Math.floor((height - 8) / Math.ceil(cell.height * font))),
            cols: Math.max(20, Math.floor((width - 22) / (cell.width * font))),
        } });
        term.focus();
    }

    // ---- the link

    function send(json) {
        if (me)
            link.send(JSON.stringify(json));
    }

    function close() {
        clearTimeout(timer);
        const old = link;
        if (me)
            page.state({ session: at, state: 'unseen' });
        link = me = past = null;
        if (old)
            page.hangUp(old);
    }

    function connect() {
        close();
        if (!term || !seen || plays)
            return;
        const socket = page.socket('terminal/' + encodeURIComponent(at), 'od.terminal.v1');
        link = socket;
        socket.binaryType = 'arraybuffer';
        socket.onopen = () => socket.send(JSON.stringify({
            page: page.token, name: person.value.trim(),
            resume: kept('od.resume.' + at, undefined, tabKept) || undefined,
            since: offset < 0 ? undefined : offset,
        }));
        socket.onmessage = e => {
            if (socket !== link)
                return;
            if (typeof e.data === 'string')
                take(JSON.parse(e.data));
            else
                takeBytes(new Uint8Array(e.data), socket);
        };
        socket.onclose = e => {
            if (socket !== link)
                return;
            drove = isMine();
            link = me = past = null;
            showPeople();
            if (absent)
                return;
            // Without a login, the answer to this reloads the page.
            if (e.code === 1008)
                page.get('ui/session').catch(() => null);
            timer = setTimeout(connect, wait);
            wait = Math.min(wait * 2, TERMINAL_WAIT_MAX_MS);
        };
        showPeople();
    }

    // Calls fn after all output so far is written.
    const then = fn => term.write('', fn);

    // A change of size is followed by a picture, which is not a gap.
    function resize(rows, cols) {
        if (offset >= 0 && size && (size.rows !== rows || size.cols !== cols))
            offset = -2;
        size = { rows, cols };
        then(() => {
            term.resize(cols, rows);
            fit();
        });
    }

    function take(m) {
        if (m.hello) {
            me = m.hello;
            wait = TERMINAL_WAIT_MS;
            ({ driver, viewers } = me);
            kept('od.resume.' + at, me.resume ?? '', tabKept);
            if (offset > me.next)
                offset = -1;
            size = null;
            resize(me.rows, me.cols);
            showAbsent(null);
            fit();
            // A new worker knows of no driver.
            if (drove && !driver)
                send({ drive: true });
            drove = false;
            page.state({ ...me, first: true });
            showOlder();
        } else if (m.viewers) {
            viewers = m.viewers;
            showPeople();
        } else if (m.size) {
            resize(m.size.rows, m.size.cols);
        } else if (m.state) {
            page.state({ ...m, session: at });
        } else if ('driver' in m) {
            const mine = isMine();
            driver = m.driver;
            if (mine && driver && !isMine())
                page.say(driverName() + ' drives now.');
            showPeople();
        } else if (m.gap) {
            writeGap();
        } else if (m.error?.code === 'NOTFOUND' && !me) {
            showAbsent('There is no session ' + at +
                ' yet. An agent\'s first command in it starts it.');
        } else if (m.error) {
            page.say('Terminal: ' + m.error.message);
        } else if (m.bye && !absent) {
            showAbsent('Session ' + at + ' has ended.');
            page.state({ session: at, state: 'gone' });
        }
    }

    // Writes a line for a gap into the scroll-back; a picture of the screen follows.
    function writeGap() {
        term.write('\x1b[?1049l\x1b[r\x1b[m\x1b[' + term.rows + 'H\r\n\x1b[7m' +
            ' … output that this page did not get … \x1b[m' + '\r\n'.repeat(term.rows));
        offset = -2;
    }

    // Returns a picture's bytes, changed so that they keep the scroll-back.
    function softened(bytes) {
        const text = new TextDecoder().decode(bytes);
        if (!text.startsWith(TERMINAL_RESET))
            return bytes;
        let stops = '';
        for (let x = 9; x <= term.cols; x += 8)
            stops += '\x1b[' + x + 'G\x1bH';
        return TERMINAL_SOFT + stops + '\x1b[H\x1b[2J' + text.slice(TERMINAL_RESET.length);
    }

    function addMark(to) {
        const marker = term.buffer.active.type === 'normal' ? term.registerMarker(0) : null;
        if (marker)
            marks.push({ at: to, marker });
        if (marks.length > TERMINAL_MARKS)
            marks.shift().marker.dispose();
    }

    function takeBytes(bytes, socket) {
        const to = Number(new DataView(bytes.buffer).getBigUint64(1)), kind = bytes[0];
        const frame = { kind, to, bytes: bytes.subarray(9) };
        if (kind === 3) {
            past?.frames.push(frame);
            if (past)
                past.over = frame.bytes.length === 0;
            return;
        }
        if (kind === 2 && past?.over && past.whole) {
            writePast(past.frames, frame);
            past = null;
        } else if (kind === 2) {
            if (offset >= 0 && !past?.over)
                writeGap();
            if (past)
                past = past.over ? null : { ...past, whole: false };
            if (offset === -1) {
                term.write('\x1bc');
                begin = to;
            }
            term.write(softened(frame.bytes));
        } else {
            past?.frames.push(frame);
            term.write(frame.bytes);
        }
        offset = to;
        showOlder();
        then(() => {
            if (socket === link) {
                send({ ack: to });
                addMark(to);
            }
        });
    }

    // ---- output from before the page was opened

    // Older output is written again together with all that followed, as a terminal cannot
    // insert lines above others: this works while one answer of the server has both.
    const firstOlder = () => Math.max(me.from, offset - TERMINAL_OLDER);

    function showOlder() {
        older.hidden = !me || begin < 0 || offset < 0 || firstOlder() >= begin;
        older.disabled = past !== null;
    }

    function askOlder() {
        past = { frames: [], whole: true, over: false };
        send({ since: firstOlder(), picture: true });
        showOlder();
    }

    function writePast(frames, picture) {
        const end = frames.filter(f => f.kind === 3).at(-1).to;
        const before = term.buffer.active.baseY;
        begin = 0;
        marks.splice(0).forEach(m => m.marker.dispose());
        term.write('\x1bc');
        for (const f of frames) {
            if (f.kind === 1 && f.to <= end)
                continue;
            term.write(f.bytes);
            then(() => addMark(f.to));
        }
        term.write(softened(picture.bytes));
        then(() => {
            term.scrollToLine(Math.max(0, term.buffer.active.baseY - before - term.rows));
            page.say('Older output is above.');
        });
    }

    // ---- keys

    function type(text) {
        if (!isMine()) {
            // Not typing: xterm.js reports the mouse and the focus, and answers programs.
            // eslint-disable-next-line no-control-regex
            if (!/^\x1b(?:[P\]]|\[(?:[<>?MIO]|\d+n|\d+;\d+R))/.test(text)) {
                page.say(page.may !== 'drive' ? 'This login may only watch.'
                    : 'Only the driver can type. Use “' + drive.textContent + '” first.');
            }
            return;
        }
        const bytes = new TextEncoder().encode(terminalModified(text, sticky));
        setSticky({ ctrl: false, alt: false });
        sendBytes(bytes);
    }

    function sendBytes(bytes) {
        for (let i = 0; i < bytes.length; i += TERMINAL_INPUT) {
            const part = bytes.subarray(i, i + TERMINAL_INPUT);
            const frame = new Uint8Array(part.length + 1);
            frame.set(part, 1);
            link.send(frame);
        }
    }

    function setSticky(to) {
        Object.assign(sticky, to);
        for (const name of ['ctrl', 'alt']) {
            keys.querySelector('[data-key=' + (name === 'ctrl' ? 'Ctrl' : 'Alt') + ']')
                .setAttribute('aria-pressed', sticky[name]);
        }
    }

    async function onBarKey(sends) {
        if (!term)
            return;
        term.focus();
        if (sends in sticky) {
            setSticky({ [sends]: !sticky[sends] });
        } else if (sends === 'paste') {
            try {
                term.paste(await navigator.clipboard.readText());
            } catch {
                page.say('The browser does not allow that here: hold the terminal, then Paste.');
            }
        } else if (/^[A-D]$/.test(sends)) {
            type((term.modes.applicationCursorKeysMode ? '\x1bO' : '\x1b[') + sends);
        } else {
            type(sends);
        }
    }

    // Returns false if the key is for the browser, not for the program.
    function onKey(e) {
        if (e.key === 'Escape' && e.ctrlKey && e.shiftKey) {
            if (e.type === 'keydown')
                [...byId('top').querySelectorAll('button')].find(b => b.offsetParent)?.focus();
            e.preventDefault();
            return false;
        }
        if (isMine())
            return true;
        return !(e.key === 'Tab' || (e.key === 'c' && e.ctrlKey && term.hasSelection()));
    }

    function onDrive() {
        send({ drive: isMine() ? false : driver ? 'steal' : true });
        if (!isMine())
            term.focus();
    }

    function onReader() {
        kept('od.reader', reader.checked ? '1' : '');
        if (term)
            term.options.screenReaderMode = reader.checked;
    }

    // ---- sessions

    async function startSession(name) {
        try {
            await page.act('run', { command: 'true', until: 'end' }, name);
            if (name === at)
                connect();
        } catch (e) {
            page.say('New session: ' + e.message);
        }
    }

    async function makeSession() {
        let n = 1;
        while (sessions.has('shell-' + n))
            n++;
        const name = 'shell-' + n;
        learn(name);
        await startSession(name);
        page.choose(() => page.setSession(name));
    }

    function takeSessions(list) {
        const there = new Set([at, ...list.map(s => s.session)]);
        for (const name of there)
            learn(name);
        for (const [name, tab] of sessions) {
            if (there.has(name))
                continue;
            tab.remove();
            sessions.delete(name);
        }
    }

    function select(name) {
        if (name === at)
            return;
        learn(name);
        stopPlaying();
        clearTimeout(hiding);
        at = name;
        drove = false;
        wait = TERMINAL_WAIT_MS;
        showAbsent(null);
        showTabs();
        connect();
    }

    // ---- recordings

    // Empties the screen, for another session or a recording.
    function forget() {
        close();
        offset = begin = -1;
        marks = [];
        driver = null;
        older.hidden = true;
        term?.write('\x1bc');
    }

    async function onPlay() {
        const name = at;
        if (plays) {
            stopPlaying();
            connect();
            play.focus();
            return;
        }
        try {
            const text = await page.text('sessions/' + encodeURIComponent(name) + '/cast');
            if (name !== at || plays || !term)
                return;
            plays = true;
            drove = isMine();
            forget();
            player.start(text);
            showPeople();
        } catch (e) {
            page.say('Play: ' + e.message);
        }
    }

    function stopPlaying() {
        plays = false;
        player.stop();
        forget();
        showPeople();
    }

    // Scrolls to the output at this offset, if the scroll-back has it.
    function moveTo(from) {
        if (typeof from !== 'number' || !term)
            return;
        const mark = marks.filter(m => m.at < from && !m.marker.isDisposed).pop();
        if (mark)
            term.scrollToLine(mark.marker.line);
    }

    // ---- life

    async function load() {
        const { Terminal } = await import(
            new URL(document.documentElement.dataset.xterm, location.href).href);
        term = new Terminal({
            rows: 24, cols: 80, scrollback: TERMINAL_SCROLLBACK, fontFamily: TERMINAL_FAMILY,
            fontSize: TERMINAL_FONT.fit, theme: terminalTheme(page.theme()),
            minimumContrastRatio: 4.5,
            screenReaderMode: reader.checked, cursorInactiveStyle: 'none', macOptionIsMeta: true,
        });
        term.open(screen);
        term.attachCustomKeyEventHandler(onKey);
        term.onData(type);
        term.onBinary(text => isMine() && sendBytes(Uint8Array.from(text, c => c.charCodeAt(0))));
        term.onWriteParsed(follow);
        new ResizeObserver(fit).observe(screen);
        showTabs();
        connect();
    }

    // A soft keyboard covers the lower part of the page: the key bar stays above it.
    function onViewport() {
        const covered = innerHeight - visualViewport.height - visualViewport.offsetTop;
        root.style.paddingBottom = Math.max(0, covered) + 'px';
    }

    function onEvent(e) {
        if (TERMINAL_KINDS.has(e.action ?? e.observation))
            learn(e.session ?? 'main');
        if (absent && seen && (e.session ?? 'main') === at && !link) {
            clearTimeout(timer);
            timer = setTimeout(connect, TERMINAL_WAIT_MS);
        }
    }

    learn('main');
    learn(at);
    reader.checked = kept('od.reader') === '1';
    person.value = page.person();
    page.events('*', onEvent);
    page.events('delta', onEvent);
    page.events('sessions', ({ sessions: list }) => takeSessions(list));
    page.events('theme', () => {
        if (term)
            term.options.theme = terminalTheme(page.theme());
    });
    addEventListener('online', () => !me && !absent && connect());
    visualViewport?.addEventListener('resize', onViewport);
    showPeople();
    let loading = null;

    return {
        root,
        show() {
            seen = true;
            clearTimeout(hiding);
            loading ??= load().catch(e => showAbsent('The terminal did not load: ' + e.message));
            fit();
            if (term && !link)
                connect();
        },
        hide() {
            seen = false;
            clearTimeout(timer);
            hiding = setTimeout(() => !isMine() && close(), TERMINAL_HIDDEN_MS);
        },
        go({ session, from, drive: take }) {
            if (session && session !== page.session())
                page.setSession(session);
            else if (session)
                select(session);
            moveTo(from);
            if (!take || isMine())
                return;
            if (me)
                onDrive();
            else
                drove = true;
        },
    };
}
