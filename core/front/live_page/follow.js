// SPDX-License-Identifier: MIT
//
// "Follow": the panel and the session in which the agent does something are shown, until a
// person chooses another one, and not while somebody types or drives here.

const FOLLOW_MS = 300;

// Where an action of the agent is seen; those that only read are not followed.
const FOLLOW_PANELS = {
    run: 'terminal', input: 'terminal', key: 'terminal', run_ipython: 'notebook', cell: 'notebook',
    browse: 'browser', browse_interactive: 'browser', page: 'browser', write: 'files', edit: 'files',
};

function makeFollow(page) {
    let on = true, live = false, timer = null, latest = null;

    function place({ action, session = 'main', args = {} }) {
        const panel = FOLLOW_PANELS[action];
        return panel && { panel, session, path: panel === 'files' ? args.path : undefined };
    }

    const isBusy = () => document.querySelector('.driving') !== null ||
        document.activeElement?.matches('input, textarea, select');

    function move() {
        timer = null;
        if (on && latest && !isBusy())
            page.moveTo(latest.panel, { session: latest.session, path: latest.path });
    }

    page.events('*', e => {
        const to = e.action && e.source !== 'user' && place(e);
        if (!to)
            return;
        latest = to;
        if (live)
            timer ??= setTimeout(move, FOLLOW_MS);
    });
    // The page begins in the session of the last action, if there is no `main`.
    page.events('sessions', ({ sessions }) => {
        const names = sessions.map(s => s.session);
        if (!live && names.length > 0 && !names.includes(page.session()))
            page.setSession(names.includes(latest?.session) ? latest.session : names[0]);
        live = true;
    });
    // A person has chosen a panel or a session.
    page.events('chosen', () => page.follow(false));

    page.follow = to => {
        on = to;
        page.tell('follow', { on });
        move();
    };
}
