// SPDX-License-Identifier: MIT
//
// The browser of a session (core/front/screen/README.md): pictures on a canvas. Everybody
// watches, one person drives.
//
// The link is open only while the panel is visible, as a screencast costs the sandbox
// much. A driver who leaves the panel and returns within SCREEN_BACK_MS has the browser
// again, unless somebody else took it; after that the agent goes on.
//
// An invisible text field receives the keys: they are sent as they are pressed, and what
// an input method makes of them is sent as a text.

const SCREEN_WAIT_MS = 250;
const SCREEN_WAIT_MAX_MS = 15000;
const SCREEN_BACK_MS = 50000;
const SCREEN_DOUBLE_MS = 500;
const SCREEN_SLOP = 6;
const SCREEN_LINE = 40;
const SCREEN_HEAD = 13;
const SCREEN_EDGE = 12;
// Actions and observations by which a session has a browser.
const SCREEN_KINDS = new Set(['browse', 'browse_interactive', 'page']);
const SCREEN_BUTTONS = ['left', 'middle', 'right'];

function screenMods(e) {
    const mods = (e.altKey && 1) | (e.ctrlKey && 2) | (e.metaKey && 4) | (e.shiftKey && 8);
    // AltGr makes a character, not a shortcut.
    return e.getModifierState('AltGraph') ? mods & ~3 : mods;
}

function screenPanel(page) {
    const may = page.may === 'drive';
    // Text that the agent last read, by session.
    const texts = new Map();
    const button = (label, name, send) => el('button', { type: 'button', 'aria-label': name,
        title: name, onclick: () => input(send) }, label);
    const pages = el('div', { class: 'tabs small', role: 'tablist', 'aria-label': 'Pages',
        onkeydown: moveAmongTabs });
    const status = el('p', { class: 'terminal-status', id: 'screen-status' });
    const drive = el('button', { type: 'button', id: 'screen-drive', onclick: onDrive });
    const session = el('select', { id: 'screen-session', 'aria-label': 'Session',
        onchange: () => page.choose(() => page.setSession(session.value)) });
    const address = el('input', { id: 'screen-address', 'aria-label': 'Address',
        autocomplete: 'off', spellcheck: 'false', autocapitalize: 'off', enterkeyhint: 'go' });
    const steer = [button('←', 'Back', { back: 1 }), button('→', 'Forward', { back: -1 }),
        button('⟳', 'Reload', { reload: 1 })];
    const bar = el('form', { class: 'screen-address', onsubmit: onGo },
        ...may ? steer : [], address);
    const canvas = el('canvas', { role: 'img', 'aria-label': 'Picture of the browser' });
    const pointer = el('span', { class: 'screen-pointer', 'aria-hidden': 'true', hidden: true });
    const keys = el('textarea', { class: 'screen-keys', id: 'screen-keys', rows: 1,
        autocomplete: 'off', autocapitalize: 'off', spellcheck: 'false', disabled: true,
        'aria-label': 'Keys for the browser. Control Shift Escape leaves it for the header.' });
    const view = el('div', { class: 'screen-view', hidden: true }, canvas, pointer, keys);
    const why = el('p'), text = el('pre', { tabindex: 0, 'aria-label': 'Text of the page' });
    const none = el('div', { class: 'screen-none' },
        el('div', { class: 'empty' }, why, el('code', null, page.command('browse', 'https://example.com'))), text);
    const answer = el('form', { onsubmit: e => onAnswer(e, true) });
    const ask = el('div', { class: 'screen-ask', role: 'alertdialog', hidden: true,
        'aria-labelledby': 'screen-asks' }, answer);
    const root = el('div', { class: 'screen' },
        el('div', { class: 'terminal-bar' }, session, pages, el('span', { class: 'grow' }), status,
            may ? drive : null), bar, ask, view, none);

    let at = page.session();
    let link = null, me = null, driver = null, viewers = 1, tabs = [], dialog = null;
    let state = { state: 'none', why: '' };
    let seen = false, wait = SCREEN_WAIT_MS, timer = null;
    // The time when this page, as the driver, was hidden and lost the browser; 0: never.
    let left = 0;
    // The number of the picture shown, on this link; whether any has been drawn.
    let seq = 0, drawn = false;

    const isMine = () => Boolean(me && driver && driver.id === me.id);

    // ---- what is shown

    function show() {
        const mine = isMine(), open = state.state === 'open', name = personName(driver?.name);
        status.textContent = !me ? seen ? 'Connecting…' : ''
            : (mine ? 'You drive, the agent waits' : !driver ? 'You watch'
                : 'You watch, ' + name + (driver.id ? '' : ' (away)') + ' drives') +
                (viewers > 1 ? ', ' + viewers + ' watch' : '');
        drive.textContent = mine ? 'Give back' : driver ? 'Take it from ' + name : 'Take control';
        drive.disabled = !me || !open;
        root.classList.toggle('driving', mine);
        root.classList.toggle('off', !me);
        for (const e of [...steer, address])
            e.disabled = !mine || !open;
        keys.disabled = !mine || !open;
        view.hidden = !open || !drawn;
        none.hidden = open;
        text.textContent = state.text ?? texts.get(at) ?? '';
        text.hidden = !text.textContent;
        why.textContent = !me ? 'Connecting to the browser of session ' + at + '.'
            : state.state === 'text' ? state.why + '. This is the text of the last page.'
                : 'Nothing to see: ' + (state.why || 'the browser opens') +
                    '. An agent does that, or this line in a shell:';
        none.querySelector('code').hidden = state.state === 'text';
        bar.hidden = pages.hidden = !open;
        root.classList.toggle('asked', Boolean(dialog));
    }

    function showTabs() {
        const had = pages.contains(document.activeElement);
        pages.replaceChildren(...tabs.map(t => el('button', {
            type: 'button', role: 'tab', 'aria-selected': String(Boolean(t.active)),
            tabindex: t.active ? 0 : -1, title: t.url, onclick: () => !t.active && input({ tab: t.id }),
        }, firstLine(t.title || t.url || 'empty page', 30))));
        const active = tabs.find(t => t.active);
        if (had)
            pages.querySelector('[tabindex="0"]')?.focus();
        if (document.activeElement !== address || !isMine())
            address.value = active?.url ?? '';
        canvas.setAttribute('aria-label', 'Picture of ' + (active?.title || 'the browser'));
    }

    // Arrows only move the focus; Enter shows the page, as that is a visit.
    function moveAmongTabs(e) {
        const all = [...pages.children], from = all.indexOf(document.activeElement);
        const to = { ArrowRight: from + 1, ArrowLeft: from - 1, Home: 0, End: -1 }[e.key];
        if (from < 0 || to === undefined)
            return;
        all.at(to % all.length).focus();
        e.preventDefault();
    }

    function showDialog() {
        const mine = isMine();
        ask.hidden = !dialog;
        if (!dialog)
            return answer.replaceChildren();
        const fill = dialog.kind === 'prompt' && el('input', { value: dialog.fill ?? '',
            'aria-labelledby': 'screen-asks' });
        answer.replaceChildren(
            el('p', { id: 'screen-asks' }, 'The page says: ', dialog.text || 'nothing'),
            ...mine ? [fill || '', el('button', { type: 'submit' }, 'OK'), dialog.kind === 'alert' ? ''
                : el('button', { type: 'button', onclick: e => onAnswer(e, false) }, 'Cancel')]
                : [el('p', { class: 'dim' }, 'Only the driver can answer.')]);
        if (mine)
            answer.querySelector('input, button').focus();
        else
            page.announce('The page asks: ' + dialog.text);
    }

    function onAnswer(e, accept) {
        e.preventDefault();
        const fill = answer.querySelector('input');
        if (input({ dialog: accept, ...accept && fill && { text: fill.value } }))
            keys.focus();
    }

    function showCursor({ x, y }) {
        pointer.hidden = false;
        pointer.style.left = x * 100 + '%';
        pointer.style.top = y * 100 + '%';
        pointer.classList.remove('moved');
        void pointer.offsetWidth;
        pointer.classList.add('moved');
    }

    // The canvas is as large as fits, and has the shape of the picture.
    function fit() {
        const { clientWidth: width, clientHeight: height } = view.parentElement;
        const used = [...root.children].filter(e => e !== view && !e.hidden)
            .reduce((sum, e) => sum + e.offsetHeight, 0);
        const scale = Math.min((width - SCREEN_EDGE) / canvas.width,
            Math.max(80, height - used - SCREEN_EDGE) / canvas.height);
        view.style.width = Math.floor(canvas.width * scale) + 'px';
        view.style.height = Math.floor(canvas.height * scale) + 'px';
    }

    async function paint(bytes, socket) {
        const head = new DataView(bytes), number = head.getUint32(1);
        try {
            const picture = await createImageBitmap(new Blob([new Uint8Array(bytes, SCREEN_HEAD)],
                { type: 'image/jpeg' }));
            if (socket !== link)
                return;
            const reshaped = canvas.width !== picture.width || canvas.height !== picture.height;
            if (reshaped)
                Object.assign(canvas, { width: picture.width, height: picture.height });
            canvas.getContext('2d').drawImage(picture, 0, 0);
            picture.close();
            const first = !drawn;
            drawn = true;
            seq = number;
            canvas.dataset.frame = number;
            if (first)
                show();
            if (first || reshaped)
                fit();
        } catch {
            // The picture is broken; the next one may be good.
        }
        if (socket === link)
            send({ seen: number });
    }

    // ---- the link

    function send(json) {
        if (link?.readyState === 1)
            link.send(JSON.stringify(json));
    }

    // Returns whether this page drives; if not, shows why.
    function drives() {
        if (!isMine() && me)
            page.say(may ? 'Only the driver can do that. Use “' + drive.textContent + '” first.'
                : 'This login may only watch.');
        return isMine();
    }

    // Sends what only a driver may send. Returns whether it was sent.
    function input(json) {
        const mine = drives();
        if (mine)
            send(json);
        return mine;
    }

    // Input names a picture of its own link.
    function forget() {
        link = me = null;
        seq = 0;
        delete canvas.dataset.frame;
    }

    function close(code) {
        clearTimeout(timer);
        const old = link;
        forget();
        if (old)
            page.hangUp(old, code);
    }

    function connect() {
        close(1000);
        if (!seen || document.hidden)
            return;
        const socket = page.socket('screen/' + encodeURIComponent(at), 'od.screen.v1');
        link = socket;
        socket.binaryType = 'arraybuffer';
        socket.onopen = () => socket.send(JSON.stringify({
            page: page.token, name: page.person(),
            width: Math.round(Math.max(320, Math.min(1920, root.clientWidth * devicePixelRatio))),
        }));
        socket.onmessage = e => {
            if (socket !== link)
                return;
            if (typeof e.data === 'string')
                take(JSON.parse(e.data));
            else
                paint(e.data, socket);
        };
        socket.onclose = e => {
            if (socket !== link)
                return;
            left = isMine() ? Date.now() : 0;
            forget();
            show();
            // Without a login, the answer to this reloads the page.
            if (e.code === 1008)
                page.get('ui/session').catch(() => null);
            timer = setTimeout(connect, wait);
            wait = Math.min(wait * 2, SCREEN_WAIT_MAX_MS);
        };
        show();
    }

    function take(m) {
        if (m.hello) {
            me = m.hello;
            wait = SCREEN_WAIT_MS;
            ({ driver, viewers, tabs, browser: state } = me);
            dialog = null;
            pointer.hidden = true;
            if (left && Date.now() - left < SCREEN_BACK_MS && !driver?.id)
                send({ drive: true });
            left = 0;
            showTabs();
            showDialog();
        } else if (m.browser) {
            state = m.browser;
            drawn &&= state.state === 'open';
        } else if (m.tabs) {
            ({ tabs } = m);
            showTabs();
        } else if ('dialog' in m) {
            ({ dialog } = m);
            showDialog();
        } else if (m.cursor) {
            showCursor(m.cursor);
        } else if ('driver' in m) {
            const mine = isMine();
            ({ driver, viewers } = m);
            if (mine && driver && !isMine())
                page.say(personName(driver.name) + ' drives now.');
            if (mine !== isMine() && dialog)
                showDialog();
            show();
            if (!mine && isMine() && !dialog)
                keys.focus();
        } else if (m.error) {
            page.say('Browser: ' + m.error.message);
        }
        show();
        fit();
    }

    function onDrive() {
        send({ drive: isMine() ? false : driver?.id ? 'steal' : true });
    }

    function onGo(e) {
        e.preventDefault();
        if (address.value.trim() && input({ go: address.value.trim() }))
            keys.focus();
    }

    // ---- the pointer

    let moved = null, turned = null, drawing = 0, last = { at: 0, clicks: 0 }, touch = null;

    function place(e) {
        const r = canvas.getBoundingClientRect();
        const part = (v, from, size) => Math.max(0, Math.min(1, (v - from) / size));
        return { at: seq, x: part(e.clientX, r.left, r.width), y: part(e.clientY, r.top, r.height),
            mods: screenMods(e) };
    }

    // Movements and wheel turns are collected for one frame of this page.
    function later() {
        drawing ||= requestAnimationFrame(() => {
            drawing = 0;
            flush();
        });
    }

    function flush() {
        if (moved)
            send({ mouse: { kind: 'move', button: 'none', ...moved } });
        if (turned)
            send({ mouse: { kind: 'wheel', button: 'none', ...turned } });
        moved = turned = null;
    }

    function press(kind, e) {
        flush();
        send({ mouse: { kind, button: SCREEN_BUTTONS[e.button] ?? 'left', clicks: last.clicks,
            ...place(e) } });
    }

    function countClicks(e) {
        const again = e.timeStamp - last.at < SCREEN_DOUBLE_MS && e.button === last.button &&
            Math.hypot(e.clientX - last.x, e.clientY - last.y) < SCREEN_SLOP;
        last = { at: e.timeStamp, x: e.clientX, y: e.clientY, button: e.button,
            clicks: again ? last.clicks % 3 + 1 : 1 };
    }

    function turn(e, dx, dy) {
        const scale = canvas.width / canvas.clientWidth;
        turned = { ...place(e), dx: (turned?.dx ?? 0) + dx * scale, dy: (turned?.dy ?? 0) + dy * scale };
        later();
    }

    view.addEventListener('pointerdown', e => {
        e.preventDefault();
        if (!drives() || !seq)
            return;
        keys.focus({ preventScroll: true });
        canvas.setPointerCapture(e.pointerId);
        touch = e.pointerType === 'touch' ? { x: e.clientX, y: e.clientY, far: false } : null;
        countClicks(e);
        if (!touch)
            press('down', e);
    });
    view.addEventListener('pointermove', e => {
        if (!isMine() || !seq)
            return;
        if (!touch) {
            moved = place(e);
            later();
        } else if (touch.far || Math.hypot(e.clientX - touch.x, e.clientY - touch.y) > SCREEN_SLOP) {
            turn(e, touch.x - e.clientX, touch.y - e.clientY);
            touch = { x: e.clientX, y: e.clientY, far: true };
        }
    });
    view.addEventListener('pointerup', e => {
        if (!isMine() || !seq)
            return;
        if (touch && !touch.far)
            press('down', e);
        if (!touch?.far)
            press('up', e);
        touch = null;
    });
    view.addEventListener('wheel', e => {
        if (!isMine() || !seq)
            return;
        e.preventDefault();
        const unit = [1, SCREEN_LINE, canvas.clientHeight][e.deltaMode];
        turn(e, e.deltaX * unit, e.deltaY * unit);
    }, { passive: false });
    view.addEventListener('contextmenu', e => isMine() && e.preventDefault());

    // ---- keys

    // Keys that are down, code → key.
    const held = new Map();

    function release() {
        for (const [code, key] of held)
            send({ key: { kind: 'up', key, code, mods: 0 } });
        held.clear();
    }

    keys.addEventListener('keydown', e => {
        if (e.key === 'Escape' && e.ctrlKey && e.shiftKey) {
            [...byId('top').querySelectorAll('button')].find(b => b.offsetParent)?.focus();
            e.preventDefault();
            return;
        }
        const pastes = (e.ctrlKey || e.metaKey) && !e.altKey && e.key.toLowerCase() === 'v' ||
            e.shiftKey && e.key === 'Insert';
        // An input method handles the key, or it arrives as a text.
        if (pastes || e.isComposing || e.keyCode === 229 || ['Dead', 'Unidentified'].includes(e.key))
            return;
        e.preventDefault();
        held.set(e.code, e.key);
        input({ key: { kind: 'down', key: e.key, code: e.code, mods: screenMods(e) } });
    });
    keys.addEventListener('keyup', e => {
        const key = held.get(e.code);
        if (key === undefined)
            return;
        held.delete(e.code);
        e.preventDefault();
        send({ key: { kind: 'up', key, code: e.code, mods: screenMods(e) } });
    });
    function sendText() {
        if (keys.value)
            input({ text: keys.value });
        keys.value = '';
    }
    keys.addEventListener('compositionend', sendText);
    keys.addEventListener('input', e => !e.isComposing && sendText());
    keys.addEventListener('paste', e => {
        e.preventDefault();
        const paste = e.clipboardData.getData('text/plain');
        if (paste)
            input({ paste });
    });
    keys.addEventListener('blur', release);

    // ---- life

    function learn(name) {
        if ([...session.options].some(o => o.value === name))
            return;
        session.append(el('option', { value: name }, name));
        session.value = at;
        session.hidden = session.options.length < 2;
    }

    page.events('*', e => {
        const name = e.session ?? 'main';
        if (!SCREEN_KINDS.has(e.action ?? e.observation))
            return;
        learn(name);
        if (e.observation && e.content) {
            texts.set(name, e.content.slice(0, 200000));
            if (name === at && seen)
                show();
        }
    });

    function away() {
        const mine = isMine();
        // Unless the code is 1000, the browser stays ours for a minute.
        close(mine ? 4000 : 1000);
        left = mine ? Date.now() : left;
    }

    document.addEventListener('visibilitychange', () => {
        if (seen)
            (document.hidden ? away : connect)();
    });
    new ResizeObserver(fit).observe(root);
    learn('main');
    learn(at);

    return {
        root,
        show() {
            seen = true;
            connect();
        },
        hide() {
            seen = false;
            away();
        },
        go({ session: name, drive: take }) {
            if (name && name !== at) {
                learn(name);
                close(1000);
                at = session.value = name;
                left = 0;
                drawn = false;
                if (seen)
                    connect();
            }
            if (!take || isMine())
                return;
            if (me)
                onDrive();
            else
                left = Date.now();
        },
    };
}
