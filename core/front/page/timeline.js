// SPDX-License-Identifier: MIT
//
// The timeline: one row for an action and its observation, joined by `cause`; live output
// grows in the row. The newest TIMELINE_MAX rows are kept. A row's details are made when
// it is opened.

const TIMELINE_MAX = 5000;
const TIMELINE_OUTPUT_MAX = 16384;
// The page's own questions have no row.
const TIMELINE_LOOKS = new Set(['checkpoints', 'changes']);

// A row's icon, and its text, made from the arguments.
const TIMELINE_KINDS = {
    run: ['$', a => a.command],
    run_ipython: ['py', a => a.code],
    cell: ['py', a => a.code],
    process: ['$', a => a.argv?.join(' ') ?? a.command],
    read: ['file', a => a.path],
    write: ['file', a => a.path],
    edit: ['file', a => a.path],
    browse: ['web', a => a.url ?? ([a.what?.first, a.what?.actions].filter(Boolean).join(' ') || 'look')],
    browse_interactive: ['web', a => a.browser_actions],
    page: ['web', a => a.url ?? a.act],
    input: ['key', a => a.text ?? (a.bytes ? a.bytes + ' bytes' : '')],
    key: ['key', a => a.key],
    signal: ['key', a => a.signal],
    cancel: ['key', a => 'action ' + a.id],
};

function timelineSummary(e) {
    const [icon, text] = TIMELINE_KINDS[e.action] ?? ['·', a => Object.values(a)
        .find(v => typeof v === 'string')];
    const who = e.viewer ? e.viewer + ': ' : '';
    return { icon, text: who + firstLine(String(text(e.args ?? {}) ?? ''), 200) };
}

// Returns an observation's status in words, and whether it is an error.
function timelineStatus(e) {
    const code = e.exit_code ?? e.extras?.metadata?.exit_code;
    if (e.observation === 'error')
        return { text: e.extras?.code?.toLowerCase() ?? 'error', bad: true };
    if (e.waiting?.state === 'yes' || e.waiting?.state === 'probably')
        return { text: 'waits for input', bad: false };
    if (e.extras?.end && e.extras.end !== 'ok')
        return { text: e.extras.end, bad: true };
    if (typeof code === 'number' && code >= 0)
        return { text: code === 0 ? 'ok' : 'exit ' + code, bad: code !== 0 };
    return { text: 'done', bad: false };
}

// Returns what a person did: "ann: take terminal", "ann: typed 12 bytes".
function timelinePerson({ viewer, how, what, bytes, of, drives, inputs, path }) {
    const did = bytes ? 'typed ' + bytes + ' bytes' : path ? 'uploaded ' + path
        : inputs ? 'keys and clicks in the ' + of + ', ' + inputs + ' times'
            : drives === undefined ? how + ' ' + what : (drives ? 'takes' : 'gives back') + ' the ' + of;
    return viewer ? viewer + ': ' + did : '';
}

function timelineText({ observation, extras = {} }) {
    return observation !== 'checkpointed' ? timelinePerson(extras)
        : extras.failed ? 'no checkpoint: ' + extras.failed : 'checkpoint ' + extras.id;
}

function timelineTime(e) {
    // Timestamps are in UTC and have no zone.
    return Date.parse(e.timestamp + 'Z');
}

function makeTimeline(page) {
    const list = byId('rows'), rows = new Map(), order = [];
    const filter = { kind: '', session: '', error: false, text: '' };
    const known = { kind: new Set(), session: new Set() };
    // Does the list scroll to what is new, and do the panels go there?
    let follow = true, moves = true;

    function isShown(row) {
        return (!filter.kind || row.kind === filter.kind) &&
            (!filter.session || row.session === filter.session) && (!filter.error || row.bad) &&
            (!filter.text || row.head.textContent.toLowerCase().includes(filter.text) ||
                String(row.end?.content ?? row.output).toLowerCase().includes(filter.text));
    }

    function learn(which, value) {
        if (!value || known[which].has(value))
            return;
        known[which].add(value);
        byId('filter-' + which).append(el('option', { value }, value));
    }

    function showDetails(row) {
        const { action, end } = row;
        const { command, code, ...more } = action?.args ?? {};
        const args = [command, code, ...Object.entries(more).map(([name, value]) =>
            name + ': ' + (typeof value === 'string' ? value : JSON.stringify(value)))]
            .filter(Boolean).join('\n');
        const text = plainText(end?.content ?? row.output ?? '');
        row.body.replaceChildren(
            args ? el('pre', { tabindex: 0, 'aria-label': 'Arguments' }, args) : '',
            text ? el('pre', { tabindex: 0, 'aria-label': 'Output' }, text)
                : el('p', { class: 'dim' }, row.end ? 'No output.' : 'No output yet.'),
            el('p', { class: 'dim' }, 'Event ' + row.id +
                (action?.source ? ', by ' + action.source : '') +
                (action ? ', ' + new Date(timelineTime(action)).toLocaleTimeString() : '')),
        );
    }

    function toggle(row) {
        const open = row.head.getAttribute('aria-expanded') !== 'true';
        row.head.setAttribute('aria-expanded', open);
        row.body.hidden = !open;
        if (!open)
            return;
        showDetails(row);
        page.choose(() => showPlace(row));
    }

    function showPlace(row) {
        const output = row.end?.output ?? row.action?.output;
        if (row.kind === 'run' || row.kind === 'input' || row.kind === 'key')
            page.moveTo('terminal', { session: row.session, from: output?.from, id: row.id });
        else if (TIMELINE_KINDS[row.kind]?.[0] === 'web')
            page.moveTo('browser', { session: row.session });
        else if (row.kind === 'checkpointed')
            page.moveTo('changes', { session: row.session, checkpoint: row.end?.extras?.id });
        else if (TIMELINE_KINDS[row.kind]?.[0] === 'file')
            page.moveTo('files', { session: row.session, path: row.action?.args?.path });
    }

    function drop() {
        while (order.length > TIMELINE_MAX) {
            const row = order.shift();
            rows.delete(row.id);
            row.root.remove();
        }
    }

    // e: the event that the row begins with.
    function addRow(e, kind, session, icon, text) {
        const { id } = e, began = new Date(timelineTime(e));
        const row = { id, kind, session, output: '', bad: false };
        row.status = el('span', { class: 'status' });
        row.time = el('span', { class: 'time' });
        row.body = el('div', { class: 'details', id: 'row-' + id, hidden: true });
        row.head = el('button', {
            type: 'button', class: 'head', 'aria-expanded': 'false', 'aria-controls': 'row-' + id,
            onclick: () => toggle(row),
        }, isNaN(began) ? null : el('time', { class: 'clock', datetime: began.toISOString(),
            title: began.toLocaleString() }, began.toTimeString().slice(0, 5)),
        el('span', { class: 'icon', 'aria-hidden': 'true' }, icon),
        el('span', { class: 'kind' }, kind), el('span', { class: 'text' }, text),
        session && session !== 'main' ? el('span', { class: 'session' }, session) : null,
        row.time, row.status);
        row.root = el('li', { 'data-state': 'running' }, row.head, row.body);
        row.root.hidden = !isShown(row);
        rows.set(id, row);
        order.push(row);
        learn('kind', kind);
        learn('session', session);
        list.append(row.root);
        byId('rows-empty').hidden = true;
        drop();
        return row;
    }

    function setStatus(row, text, bad, state) {
        row.status.textContent = text;
        row.bad = bad;
        row.root.dataset.state = state;
        row.root.hidden = !isShown(row);
    }

    function onAction(e) {
        const { icon, text } = timelineSummary(e);
        const row = addRow(e, e.action, e.session, icon, text);
        row.action = e;
        setStatus(row, 'running', false, 'running');
    }

    function onEnd(e) {
        const row = rows.get(e.cause);
        if (!row)
            return;
        const { text, bad } = timelineStatus(e);
        const ms = e.extras?.duration_ms ??
            (row.action ? timelineTime(e) - timelineTime(row.action) : 0);
        row.end = e.observation === 'ended' && row.end
            ? { ...row.end, ...e, content: (row.end.content ?? '') + (e.content ?? '') } : e;
        row.time.textContent = ms >= 100 ? durationText(ms) : '';
        const waits = text === 'waits for input';
        setStatus(row, text, bad, waits ? 'waiting' : bad ? 'bad' : 'done');
        if (!row.body.hidden)
            showDetails(row);
        page.announce(row.kind + ' ' + row.head.querySelector('.text').textContent + ': ' + text);
    }

    // A person allows what the fence refused, for all programs until the server ends.
    function allowButton({ extras: { rule }, session }) {
        const button = el('button', {
            type: 'button', class: 'allow', title: 'For all programs, until the server ends',
            onclick: async () => {
                button.disabled = true;
                const o = await page.act('fence_allow', { rule }, session)
                    .catch(error => ({ observation: 'error', content: error.message }));
                button.disabled = o.observation !== 'error';
                page.say(o.content);
            },
        }, 'Allow ' + rule);
        return button;
    }

    function onOther(e) {
        if (e.observation === 'gap') {
            const row = addRow(e, 'gap', '', '…', 'events ' + e.extras.from + ' to ' +
                e.extras.to + ' are no longer kept');
            row.end = e;
            setStatus(row, e.extras.reason, false, 'gap');
        } else if (e.observation === 'cell_output') {
            addOutput(rows.get(e.extras.id), e.content);
        } else if (e.observation !== 'cell_input') {
            const row = addRow(e, e.observation, e.session, '·',
                firstLine(e.content || timelineText(e), 200));
            row.end = e;
            setStatus(row, e.extras?.kind ?? '', e.extras?.kind === 'failed', 'done');
            if (e.observation === 'refused' && e.extras.rule && !e.extras.learned && page.may === 'drive')
                row.root.append(allowButton(e));
        }
    }

    function addOutput(row, text) {
        if (!row)
            return;
        row.output = (row.output + text).slice(-TIMELINE_OUTPUT_MAX);
        if (!row.body.hidden)
            showDetails(row);
    }

    // Rows arrive in bursts: the list scrolls once a frame.
    let scrolling = false;
    function settle() {
        if (scrolling)
            return;
        scrolling = true;
        requestAnimationFrame(() => {
            scrolling = false;
            if (follow)
                list.scrollTop = list.scrollHeight;
            else
                byId('newer').hidden = false;
        });
    }

    page.events('*', e => {
        if (TIMELINE_LOOKS.has(e.action) && e.source === 'user')
            return;
        if (e.action)
            onAction(e);
        else if (e.cause)
            onEnd(e);
        else
            onOther(e);
        settle();
    });
    page.events('delta', e => {
        if (!e.extras.gap)
            addOutput(rows.get(e.cause), e.content);
        settle();
    });

    function setFollow(on) {
        follow = on;
        byId('follow').setAttribute('aria-pressed', on && moves);
        if (on) {
            byId('newer').hidden = true;
            list.scrollTop = list.scrollHeight;
        }
    }

    function refilter() {
        for (const row of order)
            row.root.hidden = !isShown(row);
        settle();
    }

    page.events('follow', ({ on }) => {
        moves = on;
        setFollow(on || follow);
    });

    // Moves the panel that a row is about to its place.
    page.moveTo = (name, what) => {
        if (document.body.dataset.tab !== 'timeline')
            page.open(name, what);
    };

    for (const which of ['kind', 'session']) {
        byId('filter-' + which).addEventListener('change', e => {
            filter[which] = e.target.value;
            refilter();
        });
    }
    byId('filter-text').addEventListener('input', e => {
        filter.text = e.target.value.trim().toLowerCase();
        refilter();
    });
    byId('filter-error').addEventListener('change', e => {
        filter.error = e.target.checked;
        refilter();
    });
    byId('follow').addEventListener('click', () => {
        const on = !(follow && moves);
        setFollow(on);
        page.follow(on);
    });
    byId('newer').addEventListener('click', () => setFollow(true));
    list.addEventListener('scroll', () => {
        const end = list.scrollHeight - list.scrollTop - list.clientHeight < 40;
        if (end !== follow && (end || list.matches(':hover, :focus-within')))
            setFollow(end);
    }, { passive: true });
    byId('fold').addEventListener('click', e => {
        const open = !byId('timeline').classList.toggle('folded');
        e.target.setAttribute('aria-expanded', open);
        e.target.textContent = open ? 'Hide' : 'Show';
    });
}
