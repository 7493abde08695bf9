// SPDX-License-Identifier: MIT
//
// The header: what the sandbox does, Stop, and the form that answers a program which
// waits for input.

// Actions that end at once, or only read: the header does not count them as busy.
const HEADER_QUIET = new Set(['input', 'key', 'eof', 'signal', 'resize', 'cancel', 'wait',
    'kernels', 'complete', 'inspect', 'attach', 'watch',
    'request_control', 'checkpoints', 'changes']);

// What an action does, in a few words: "run make -j8 in main".
function headerWhat(e) {
    return e.action + ' ' + timelineSummary(e).text.slice(0, 60) + ' in ' + (e.session ?? 'main');
}

function makeHeader(page) {
    // Running actions, id → {session, what}; waiting programs, session → {program, …}.
    const running = new Map(), waiting = new Map();
    const form = byId('answer'), field = byId('answer-text');
    let asked = null;

    function showAnswer(w) {
        const may = page.may === 'drive' && w;
        form.hidden = !may;
        if (!may || asked === w)
            return;
        asked = w;
        field.type = w.hidden ? 'password' : 'text';
        field.value = '';
        field.hidden = w.full;
        byId('answer-label').textContent = w.full ? 'It has the whole screen'
            : w.prompt || 'Answer to ' + (w.program || 'the program');
        form.lastElementChild.textContent = w.full ? 'Open the terminal' : 'Answer';
    }

    function show() {
        const w = [...waiting.values()].pop(), n = running.size;
        const text = w ? (w.program || 'a program') + ' waits for input in ' + w.session
            : n > 1 ? 'busy, ' + n + ' actions' : n === 1 ? 'busy' : 'idle';
        byId('state').dataset.state = w ? 'waiting' : n ? 'busy' : 'idle';
        if (byId('state-text').textContent !== text) {
            byId('state-text').textContent = text;
            if (w)
                page.announce(text);
        }
        byId('stop').hidden = n === 0 || page.may !== 'drive';
        byId('stop').title = n === 0 ? '' : 'Stops ' + [...running.values()].pop().what;
        if (!w)
            asked = null;
        showAnswer(w);
    }

    page.state = ({ session, state, program, hidden, full_screen: full, first }) => {
        const w = waiting.get(session);
        // If an event said that the command waits, "busy" as a first state changes nothing.
        const keep = w?.cause && (state === 'unseen' || (first && state === 'busy'));
        if (state === 'waiting')
            waiting.set(session, { ...w, session, program, hidden, full });
        else if (!keep)
            waiting.delete(session);
        page.tell('state', { session, state });
        show();
    };

    // Commands that waited when a server ended have no end in the log of the next one.
    let open = [];
    page.events('current', () => {
        open = [...waiting.values(), ...running.values()];
    });
    page.events('sessions', ({ sessions }) => {
        const busy = new Set(sessions.filter(s => s.state === 'busy' || s.state === 'waiting')
            .map(s => s.session));
        for (const [key, w] of waiting) {
            if (open.includes(w) && !w.cell && !busy.has(w.session))
                waiting.delete(key);
        }
        for (const [id, r] of running) {
            if (open.includes(r) && r.asked && !busy.has(r.session))
                running.delete(id);
        }
        show();
    });

    page.events('*', e => {
        if (e.action && !HEADER_QUIET.has(e.action))
            running.set(e.id, { session: e.session ?? 'main', what: headerWhat(e) });
        if (e.observation === 'cell_input') {
            waiting.set('cell ' + e.extras.id, {
                session: e.session, program: 'a cell', prompt: e.content, hidden: e.extras.password,
                cell: e.extras.id,
            });
        }
        if (e.action === 'input' && e.args?.id)
            waiting.delete('cell ' + e.args.id);
        else if (e.action === 'input' || e.action === 'key' || e.action === 'eof')
            waiting.delete(e.session ?? 'main');
        if (e.cause && e.observation) {
            const w = e.waiting;
            if (w && (w.state === 'yes' || w.state === 'probably')) {
                waiting.set(e.session, {
                    session: e.session, program: w.program, hidden: w.hidden, cause: e.cause,
                    full: e.content?.lastIndexOf('\x1b[?1049h') > e.content?.lastIndexOf('\x1b[?1049l'),
                });
            } else if (waiting.get(e.session)?.cause === e.cause) {
                waiting.delete(e.session);
            }
            waiting.delete('cell ' + e.cause);
            if (!(w && e.exit_code === undefined))
                running.delete(e.cause);
            else if (running.has(e.cause))
                running.get(e.cause).asked = true;
        }
        show();
    });

    byId('stop').addEventListener('click', async () => {
        const [id, { what }] = [...running].pop();
        try {
            await page.act('cancel', { id });
            page.say('Stopped ' + what);
        } catch (e) {
            page.say('Stop: ' + e.message);
        }
    });

    // For a narrow page, which has no room for the whole header.
    byId('more').addEventListener('click', e => {
        const open = byId('top').classList.toggle('open');
        e.target.setAttribute('aria-expanded', open);
    });

    form.addEventListener('submit', async e => {
        e.preventDefault();
        const w = asked, { value } = field;
        if (w.full) {
            page.choose(() => page.open('terminal', { session: w.session }));
            return;
        }
        field.value = '';
        try {
            // A secret has at least 4 bytes.
            await page.act('input', w.cell ? { id: w.cell, text: value } : { text: value + '\n' },
                w.cell ? null : w.session, w.hidden && value.length > 3 ? [value] : undefined);
        } catch (error) {
            page.say('Answer: ' + error.message);
        }
    });
    show();
}
