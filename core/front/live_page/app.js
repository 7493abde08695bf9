// SPDX-License-Identifier: MIT
//
// The page: login, the stream of events, header, tabs. All files of this folder are
// joined into one module, in any order, so all share the names at the top of each.
//
// A panel is a file NAME.js with one function NAMEPanel(page) and its helpers, whose names
// begin with NAME. It is in the list `panels` below. It returns
//
//   root      its element, which this file puts into the page
//   show()    it is visible from now on: it may open sockets and send requests
//   hide()    it is not visible: it closes what costs the server something
//   scrolls   optional: it may be long and has nothing to focus, so that keys scroll it
//   go(what)  optional: moves to the place that was clicked in the timeline: {session, from, id};
//             with drive: the person takes the terminal or browser;
//             checkpoint: the step that begins with it
//   leave()   optional: called when the key that moves from panel to tabs is pressed elsewhere
//
// `page` offers
//
//   token             the page token: member "page" of a socket's first message
//   may               'drive' or 'view': what this login may do
//   name              of the server
//   url(path)         the address of 'terminal/main' on this server, below any prefix
//   socket(path, protocol)    a WebSocket; the caller sends {"page": page.token, …} first
//   get(path, signal), post(path, json)  promises of JSON; an Error has the server's sentence.
//                     post sends X-OD-Page; with json undefined there is no body
//   text(path)        get, for what is not JSON
//   act(action, args, session, secrets)   does an action by POST /events, as a person:
//                     promise of its observation; secrets: texts that the log must not have
//   person()          the name that the person gave, or ''
//   events(kind, fn)  calls fn(event) for each event whose action or observation is kind;
//                     '*': every one, 'delta': live output, 'link': {up} of the stream,
//                     'current': all older events have arrived, then 'sessions': {sessions},
//                     the answer of GET /terminal.
//                     Returns a function that ends the calls
//   say(text)         shows a sentence for a moment, and reads it out
//   session(), setSession(name)  the session that terminal and browser show; setSession
//                     also calls their go({session})
//   people({viewers, driver})    sets who uses a terminal, for the header; driver: a name, 'you',
//                     or null
//   state({session, state, program, hidden, full_screen, first})   'idle', 'busy', 'waiting', 'gone': of
//                     a terminal, for the header; 'waiting' shows the form for an answer,
//                     'unseen' ends an earlier state; first: its link has just been opened
//   open(name, what)  shows the panel NAME, and calls its go(what)
//   choose(fn)        does what a person has chosen: "Follow" ends
//   command(applet, rest)  an applet's command line that reaches this server
//   theme()           'dark' or 'light', the current one; events('theme', fn) reports changes

const page = {
    token: '', may: 'view', name: '', panels: new Map(), subs: new Map(), current: '', at: 'main',
};

const panels = [
    ['terminal', 'Terminal', typeof terminalPanel === 'undefined' ? null : terminalPanel,
        'This server does not show terminals. In a shell next to it, try', 'exec', '-i'],
    ['browser', 'Browser', typeof screenPanel === 'undefined' ? null : screenPanel,
        'This server does not show its browser. In a shell next to it, try', 'browse', 'URL'],
    ['files', 'Files', filesPanel],
    ['changes', 'Changes', changesPanel],
    ['notebook', 'Notebook', notebookPanel],
    ['ports', 'Ports', portsPanel],
];

// ---- the server

page.url = path => new URL('../' + path, location.href).href;

page.socket = (path, protocol) => new WebSocket(page.url(path).replace(/^http/, 'ws'), protocol);

// A socket that is closed before it is open is an error in the browser's console.
page.hangUp = (socket, code = 1000) => {
    if (socket.readyState === WebSocket.CONNECTING)
        socket.onopen = () => socket.close(code);
    else
        socket.close(code);
};

page.ask = async (method, path, json, signal, raw) => {
    const answer = await fetch(page.url(path), {
        method,
        headers: { 'X-OD-Page': page.token, ...json && { 'Content-Type': 'application/json' } },
        body: json && JSON.stringify(json),
        signal,
    });
    const text = await answer.text();
    let body = null;
    try {
        body = text ? JSON.parse(text) : null;
    } catch {
        body = null;
    }
    if (answer.status === 401)
        location.reload();
    if (!answer.ok)
        throw new Error(body?.error?.message ?? 'The server answered with ' + answer.status);
    return raw ? text : body;
};

page.get = (path, signal) => page.ask('GET', path, undefined, signal);
page.text = path => page.ask('GET', path, undefined, undefined, true);
page.post = (path, json) => page.ask('POST', path, json);

page.person = () => kept('od.person');

page.act = (action, args, session, secrets) => page.post('events', {
    action, args: args ?? {}, ...session && { session }, secrets, source: 'user',
    viewer: page.person() || undefined,
});

// ---- subscribers

page.events = (kind, fn) => {
    if (!page.subs.has(kind))
        page.subs.set(kind, new Set());
    page.subs.get(kind).add(fn);
    return () => page.subs.get(kind).delete(fn);
};

page.tell = (kind, event) => {
    for (const fn of page.subs.get(kind) ?? [])
        fn(event);
};

// ---- messages

page.say = text => {
    const toast = byId('toast');
    toast.textContent = text;
    toast.classList.add('shown');
    clearTimeout(page.toast);
    page.toast = setTimeout(() => toast.classList.remove('shown'), 6000);
};

// Announces to screen readers, at most one message in two seconds.
page.announce = text => {
    page.heard = text;
    page.unheard = (page.unheard ?? 0) + 1;
    if (page.speaking)
        return;
    page.speaking = setTimeout(() => {
        const more = page.unheard - 1;
        byId('log').replaceChildren(el('p', null,
            page.heard + (more ? ', and ' + more + ' more' : '')));
        page.speaking = null;
        page.unheard = 0;
    }, 2000);
};

// ---- tabs

function selectTab(name, chosen) {
    const before = page.panels.get(page.current);
    if (page.current === name || !page.panels.has(name))
        return;
    page.current = name;
    for (const [key, p] of page.panels) {
        const on = key === name;
        p.tab.setAttribute('aria-selected', on);
        p.tab.tabIndex = on ? 0 : -1;
        p.pane.hidden = !on;
    }
    document.body.dataset.tab = name;
    before?.hide();
    page.panels.get(name).show();
    if (chosen)
        kept('od.tab', name);
}

page.choose = fn => {
    page.tell('chosen', {});
    fn();
};

page.open = (name, what) => {
    selectTab(name);
    page.panels.get(name)?.go?.(what);
};

function emptyPanel(text, line) {
    return {
        root: el('p', { class: 'empty' }, text, line ? el('code', null, line) : null),
        show() {},
        hide() {},
    };
}

function addTab(name, title, panel) {
    const id = 'pane-' + name, tab = el('button', {
        type: 'button', role: 'tab', id: 'tab-' + name, 'aria-controls': id,
        'aria-selected': 'false', tabindex: -1,
        onclick: () => page.choose(() => selectTab(name, true)),
    }, title);
    const pane = el('div', {
        role: 'tabpanel', id, class: 'pane', 'aria-labelledby': 'tab-' + name, hidden: true,
        tabindex: panel.scrolls ? 0 : null,
    }, panel.root);
    byId('tabs').append(tab);
    byId('panes').append(pane);
    page.panels.set(name, Object.assign(panel, { tab, pane }));
}

function makeTabs() {
    const timeline = byId('timeline');
    addTab('timeline', 'Timeline', {
        root: '',
        show() {
            timeline.classList.add('alone');
        },
        hide() {
            timeline.classList.remove('alone');
        },
    });
    // Who may only view sees no contents of files.
    for (const [name, title, make, text, ...words] of panels.filter(p => page.may === 'drive' || p[0] !== 'changes'))
        addTab(name, title, make ? make(page) : emptyPanel(text, page.command(...words)));
    byId('tabs').addEventListener('keydown', onTabKey);
    const name = kept('od.tab'), narrow = matchMedia('(max-width: 719px)');
    const fit = () => {
        page.panels.get('timeline').tab.hidden = !narrow.matches;
        if (!narrow.matches && page.current === 'timeline')
            selectTab('terminal');
    };
    selectTab(narrow.matches ? 'timeline' : page.panels.has(name) ? name : 'terminal');
    narrow.addEventListener('change', fit);
    fit();
}

// ---- theme

page.theme = () => {
    const chosen = document.documentElement.dataset.theme;
    const dark = matchMedia('(prefers-color-scheme: dark)').matches;
    return chosen ?? (dark ? 'dark' : 'light');
};

function setTheme(name) {
    const root = document.documentElement;
    if (name === 'auto')
        delete root.dataset.theme;
    else
        root.dataset.theme = name;
    byId('theme').textContent = 'Theme: ' + name;
    kept('od.theme', name);
    page.tell('theme', { theme: page.theme() });
}

function makeTheme() {
    const all = ['auto', 'light', 'dark'], name = kept('od.theme');
    setTheme(all.includes(name) ? name : 'auto');
    byId('theme').addEventListener('click', () => {
        const now = document.documentElement.dataset.theme ?? 'auto';
        setTheme(all[(all.indexOf(now) + 1) % all.length]);
    });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () =>
        page.tell('theme', { theme: page.theme() }));
}

// ---- sessions, people, state

page.session = () => page.at;

page.setSession = name => {
    if (page.at === name)
        return;
    page.at = name;
    for (const panel of page.panels.values())
        panel.go?.({ session: name });
};

page.people = ({ viewers, driver }) => {
    const who = driver === 'you' ? 'you drive' : driver ? driver + ' drives' : 'nobody drives';
    byId('people').textContent = viewers === 1 ? who : viewers + ' watch, ' + who;
};

// ---- start

async function start() {
    const answer = await fetch('session');
    if (!answer.ok) {
        location.reload();
        return;
    }
    const session = await answer.json();
    page.token = session.page;
    page.may = session.may;
    page.name = session.name;
    const [od, socket] = [session.od, session.socket].map(shellWord);
    page.command = (applet, rest) => [od, applet, '--socket', socket, rest].join(' ');
    byId('rows-try').textContent = page.command('exec', '\'echo hello\'');
    if (location.hash)
        history.replaceState(null, '', './');
    byId('name').textContent = session.name || 'od';
    document.title = (session.name || 'od') + ' – od';
    document.body.dataset.may = session.may;
    byId('leave').addEventListener('click', async () => {
        await page.ask('DELETE', 'ui/session');
        location.reload();
    });
    makeTheme();
    makeHeader(page);
    makeControl(page);
    makeTimeline(page);
    makeFollow(page);
    makeTabs();
    openStream(page);
}

addEventListener('DOMContentLoaded', start);
