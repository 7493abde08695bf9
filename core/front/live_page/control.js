// SPDX-License-Identifier: MIT
//
// The action request_control: an agent asks for a person. A notice above the page and the
// title show it until somebody has taken the terminal or browser and given it back, or
// the request ends in another way.

function makeControl(page) {
    // holders: who drives, by "SESSION/WHAT"
    const notices = new Map(), holders = new Map();
    const root = el('div', { class: 'asks', role: 'alert' });
    byId('top').after(root);

    function retitle() {
        const open = [...notices.values()].filter(n => !n.by).length;
        document.title = (open ? '(' + open + ') A person is asked for – ' : '') +
            (page.name || 'od') + ' – od';
    }

    function show(n) {
        const { what, reason } = n.args, { session } = n;
        const where = what + (session === 'main' ? '' : ' of ' + session);
        const take = () => page.choose(() => page.open(what, { session, drive: true }));
        const decline = () => page.act('cancel', { id: n.id })
            .catch(e => page.say('Decline: ' + e.message));
        n.root.replaceChildren(
            el('p', null, el('strong', null, n.by ? n.by + ' has the ' + where
                : 'A person is asked to take the ' + where), ': ' + reason +
                (n.by ? '. The agent goes on when it is given back.' : '')),
            ...page.may !== 'drive' ? [] : n.by
                ? [el('button', { type: 'button', onclick: take }, 'Show it')]
                : [el('button', { type: 'button', onclick: take }, 'Take over'),
                    el('button', { type: 'button', onclick: decline }, 'Decline')]);
    }

    page.events('request_control', e => {
        if (!e.action || notices.has(e.id))
            return;
        const n = { id: e.id, args: e.args ?? {}, session: e.session ?? 'main' };
        n.by = holders.get(n.session + '/' + n.args.what);
        n.root = el('div', { class: 'ask' });
        notices.set(e.id, n);
        show(n);
        root.append(n.root);
        retitle();
    });
    page.events('control', e => {
        holders.set(e.session + '/' + e.extras.of, e.extras.drives ? personName(e.extras.viewer) : null);
        for (const n of notices.values()) {
            if (n.session === e.session && n.args.what === e.extras.of) {
                n.by = holders.get(e.session + '/' + e.extras.of);
                show(n);
            }
        }
        retitle();
    });
    page.events('*', e => {
        const n = e.observation && notices.get(e.cause);
        if (!n)
            return;
        n.root.remove();
        notices.delete(e.cause);
        retitle();
    });
}
