// SPDX-License-Identifier: MIT
//
// Ports that programs of the sandbox listen at, updated while the panel is visible, and
// the app at one of them. An app is not trusted: the server gives it an opaque origin, in
// this frame and in its own tab, so that it can neither read nor change this page.

const PORTS_AGAIN_MS = 2000;
const PORTS_SANDBOX = 'allow-scripts allow-forms allow-popups allow-modals allow-downloads';

function portsPanel(page) {
    const body = el('tbody');
    const none = el('p', { class: 'empty' }, 'No program listens at a port. Start one, such as',
        el('code', null, 'python3 -m http.server 3000'));
    const table = el('table', { hidden: true },
        el('caption', { class: 'unseen' }, 'Ports that programs listen at'),
        el('thead', null, el('tr', null, el('th', { scope: 'col' }, 'Port'),
            el('th', { scope: 'col' }, 'Program'), el('th', { scope: 'col' }, 'Process'),
            page.may === 'drive' ? el('th', { scope: 'col' }, 'App') : null)), body);
    const title = el('span');
    const view = el('section', { hidden: true, 'aria-label': 'App' },
        el('div', { class: 'bar' }, title,
            el('button', { type: 'button', onclick: () => frame?.setAttribute('src', frame.src) }, 'Reload'),
            el('button', { type: 'button', onclick: () => choose(null) }, 'Close')));
    const root = el('div', { class: 'ports' }, none, table, view);
    let asking = null, tag = '', ports = [], chosen = null, frame = null;

    // The frame exists while a program listens at the chosen port.
    function fill() {
        const app = ports.find(p => p.port === chosen)?.app;
        view.hidden = chosen === null;
        title.textContent = app ? 'Port ' + chosen
            : 'Nothing listens at port ' + chosen + '. The app appears again when a program does.';
        if (frame && (!app || frame.dataset.app !== app)) {
            frame.remove();
            frame = null;
        }
        if (!app || frame)
            return;
        frame = el('iframe', {
            src: page.url(app), title: 'App at port ' + chosen, sandbox: PORTS_SANDBOX,
            referrerpolicy: 'no-referrer', 'data-app': app,
        });
        view.append(frame);
    }

    function choose(port) {
        chosen = port;
        show();
    }

    // Returns the address of the app's own host, at the port of this page.
    function hostOf(p) {
        const at = new URL(location.protocol + '//' + p.host);
        at.port = location.port;
        return at.href;
    }

    const link = (p, href, text) => el('a', { href, target: '_blank', rel: 'noopener noreferrer' },
        text, el('span', { class: 'unseen' }, ', port ' + p.port));

    function actions(p) {
        if (!p.app)
            return page.may === 'drive' ? el('td') : null;
        return el('td', null, el('div', { class: 'actions' },
            el('button', {
                type: 'button', 'aria-pressed': String(p.port === chosen),
                'aria-label': 'Show port ' + p.port, onclick: () => choose(p.port === chosen ? null : p.port),
            }, 'Show'),
            link(p, page.url(p.app), 'Open in a tab'),
            p.host ? link(p, hostOf(p), 'Open at its own host') : null));
    }

    function show() {
        const focused = body.contains(document.activeElement) && document.activeElement.getAttribute('aria-label');
        none.hidden = ports.length > 0;
        table.hidden = ports.length === 0;
        body.replaceChildren(...ports.map(p => el('tr', null,
            el('th', { scope: 'row' }, String(p.port)), el('td', null, p.program ?? 'unknown'),
            el('td', null, p.pid ? String(p.pid) : ''), actions(p))));
        if (focused)
            body.querySelector('[aria-label="' + focused + '"]')?.focus();
        fill();
    }

    // The answer arrives when the list differs from that of the tag.
    async function look() {
        const mine = asking = new AbortController();
        while (asking === mine) {
            try {
                const got = await page.get('ui/ports?since=' + tag, mine.signal);
                const changed = got.tag !== tag;
                ({ tag, ports } = got);
                if (changed)
                    show();
            } catch (e) {
                if (asking !== mine)
                    return;
                page.say('Ports: ' + e.message);
                await new Promise(r => setTimeout(r, PORTS_AGAIN_MS));
            }
        }
    }

    function stop() {
        const before = asking;
        asking = null;
        before?.abort();
    }

    const follow = () => {
        stop();
        if (!document.hidden)
            look();
    };

    return {
        root,
        show() {
            document.addEventListener('visibilitychange', follow);
            follow();
        },
        hide() {
            document.removeEventListener('visibilitychange', follow);
            stop();
        },
    };
}
