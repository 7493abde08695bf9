// SPDX-License-Identifier: MIT
//
// The timeline: one row for an action and its observation, joined by `cause`; live output
// grows in the row. The newest TIMELINE_MAX rows are kept. A row's details are made when
// it is opened.

const TIMELINE_MAX = 5000;
const TIMELINE_OUTPUT_MAX = 16384;
// The page's own questions have no row.
const TIMELINE_LOOKS = new Set(['checkpoints', 'changes']);

// Actions that wait for the one before them in their session.
const TIMELINE_TURN = new Set(['run', 'read', 'write', 'edit']);
// Actions whose status is that of a program.
const TIMELINE_PROGRAMS = new Set(['run', 'process', 'wait']);

// A row's icon, and its text, made from the arguments.
const TIMELINE_KINDS = {
    run: ['$', a => a.is_input ? 'typed ' + a.command : a.command || 'a command that is not in the log'],
    run_ipython: ['py', a => a.code],
    cell: ['py', a => a.code],
    process: ['$', a => a.argv?.join(' ') ?? a.command],
    read: ['file', a => a.path],
    write: ['file', a => a.path],
    edit: ['file', a => a.path],
    browse: ['web', a => a.url ?? ([a.what?.first, a.what?.actions].filter(Boolean).join(' ') || 'look')],
    browse_interactive: ['web', a => a.browser_actions],
    page: ['web', a => a.url ?? a.act],
    browser: ['web', a => a.verb.replace(/e?$/, 'ed') + ' the browser'],
    input: ['key', a => [a.text && 'typed “' + a.text.trimEnd() + '”', a.bytes && 'typed ' + a.bytes +
        ' bytes, which are not in the log', a.keys && 'pressed ' + [].concat(a.keys).join(' '), a.eof && 'ended the input']
        .filter(Boolean).join(', ')],
    key: ['key', a => 'pressed ' + a.key],
    eof: ['key', () => 'ended the input'],
    signal: ['key', a => 'sent the signal ' + a.signal],
    kill: ['key', a => 'ended ' + (a.end ? 'the session' : 'the command') + (a.signal ? ' by ' + a.signal : '')],
    cancel: ['key', a => 'stopped action ' + a.id],
    resize: ['key', a => 'made the terminal ' + a.rows + ' × ' + a.cols],
    attach: ['key', () => 'connected a terminal, to see and type'],
    wait: ['$', () => 'waited for the command'],
    skill: ['file', a => a.name + ' ' + (a.args?.path ?? timelineString(a.args ?? {}) ?? '')],
    kernel: ['py', a => a.verb.replace(/e?$/, 'ed') + ' the kernel'],
    kernels: ['py', () => 'listed the kernels'],
    interrupt_kernel: ['py', () => 'interrupted the kernel'],
    restart_kernel: ['py', () => 'restarted the kernel'],
    close_kernel: ['py', () => 'ended the kernel'],
    move: ['file', a => a.from + ' → ' + a.to],
    copy: ['file', a => a.from + ' → ' + a.to],
    send: ['file', a => 'gave out ' + a.path],
    receive: ['file', a => 'took in ' + a.path],
    checkpoint: ['·', a => 'kept the files' + (a.label ? ' as ' + a.label : '')],
    checkpoints: ['·', () => 'listed the checkpoints'],
    changes: ['·', () => 'compared the files with a checkpoint'],
    rollback: ['·', a => (a.dry_run ? 'looked what changes back to' : 'made the files those of') +
        ' checkpoint ' + a.to],
    checkpoint_drop: ['·', a => 'removed checkpoints ' + a.ids],
    fence_allow: ['·', a => (a.undo ? 'no longer allowed ' : 'allowed ') + a.rule],
    request_control: ['·', a => 'asked for a person at the ' + a.what + ': ' + a.reason],
};

const timelineString = o => Object.values(o).find(v => typeof v === 'string');

function timelineSummary(e) {
    const [icon, text] = TIMELINE_KINDS[e.action] ?? ['·', a => e.action + ' ' + (timelineString(a) ?? '')];
    const who = e.viewer || e.source === 'user' ? personName(e.viewer) + ': ' : '';
    return { icon, text: who + firstLine(String(text(e.args ?? {}) ?? ''), 200) };
}

// Returns an observation's status in words, and whether it is an error.
function timelineStatus(e, kind) {
    const code = e.exit_code ?? e.extras?.metadata?.exit_code;
    if (e.observation === 'error' || (kind === 'edit' && /^ERROR:/.test(e.content)))
        return { text: e.extras?.code?.toLowerCase() ?? 'error', bad: true };
    if (e.waiting?.state === 'yes' || e.waiting?.state === 'probably')
        return { text: 'waits for input', bad: false };
    if (e.extras?.end && e.extras.end !== 'ok')
        return { text: e.extras.end, bad: e.extras.end !== 'given' };
    if (e.extras?.failed === true)
        return { text: 'failed', bad: true };
    if (typeof code === 'number' && code >= 0 && TIMELINE_PROGRAMS.has(kind))
        return { text: code === 0 ? 'ok' : 'exit ' + code, bad: code !== 0 && kind !== 'wait' };
    return { text: 'done', bad: false };
}

// What a person did to a terminal, by `how` of the event.
const TIMELINE_HOW = {
    take: 'took the keyboard', steal: 'took the keyboard from another person',
    give: 'gave the keyboard back', back: 'has the keyboard again, after a lost connection',
    lapse: 'lost the connection and the keyboard', shell: 'lost the keyboard, as the shell ended',
};

// Returns the sentence of an event without an action: "ann took the keyboard".
function timelineText({ observation, extras: x = {} }) {
    const who = personName(x.viewer) + ' ';
    switch (observation) {
    case 'checkpointed':
        return x.failed ? 'no checkpoint: ' + x.failed : 'checkpoint ' + x.id +
            (x.same ? ', nothing had changed' : '');
    case 'control':
        return who + (x.of === 'terminal' ? TIMELINE_HOW[x.how] ??
            'made the terminal ' + x.rows + ' × ' + x.cols
            : x.drives ? 'took the browser' : 'gave the browser back');
    case 'human_input':
        return who + (x.path ? 'uploaded ' + x.path : x.bytes ? 'typed ' + x.bytes +
            (x.bytes === 1 ? ' key' : ' keys or characters') + ', which are not in the log'
            : 'used mouse and keys in the browser, ' + x.inputs + (x.inputs === 1 ? ' time' : ' times'));
    case 'waits':
        return 'action ' + x.action + ' waits until ' + who + 'gives the browser back';
    case 'devtools':
        return 'DevTools client ' + x.client + ' ' + x.event + (x.url ? ' ' + x.url : '');
    }
    return x.plugin ?? '';
}

// Returns arguments as lines: "path: notes.txt".
function timelineLines(args) {
    return Object.entries(args).flatMap(([name, v]) => v === '' ? []
        : v && typeof v === 'object' && !Array.isArray(v) ? timelineLines(v)
            : Array.isArray(v) && v.every(i => typeof i !== 'object') ? name + ': ' + v.join(', ')
                : name + ': ' + (typeof v === 'string' ? v : JSON.stringify(v)));
}

function timelineTime(e) {
    // Timestamps are in UTC and have no zone.
    return Date.parse(e.timestamp + 'Z');
}

function makeTimeline(page) {
    const list = byId('rows'), rows = new Map(), order = [];
    // Rows of actions that have not ended, by id; sessions whose program waits.
    const open = new Map(), waiting = new Set();
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
        const { icon, text: sentence } = action ? timelineSummary(action) : {};
        const args = icon === 'key' && !more.text ? sentence : [command, code, ...timelineLines(more)].filter(Boolean).join('\n');
        const text = plainText(end?.content || row.output || (action ? '' : timelineText(end)));
        row.body.replaceChildren(
            args ? el('pre', { tabindex: 0, 'aria-label': 'Arguments' }, args) : '',
            text ? el('pre', { tabindex: 0, 'aria-label': 'Output' }, text)
                : icon === '$' || icon === 'py'
                    ? el('p', { class: 'dim' }, row.end ? 'No output.' : 'No output yet.') : '',
            el('p', { class: 'dim' }, 'Event ' + row.id +
                (!action?.source ? '' : ', by ' + (action.source === 'user'
                    ? personName(action.viewer) : action.source)) +
                ', ' + new Date(timelineTime(action ?? end)).toLocaleTimeString()),
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
            open.delete(row.id);
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
        open.set(row.id, row);
        showRunning(row.session);
    }

    // Rows of a session that have not ended: one runs or waits, others wait for their turn.
    function showRunning(session) {
        let busy = false;
        for (const row of open.values()) {
            if (row.session !== session)
                continue;
            const turn = TIMELINE_TURN.has(row.kind), waits = row.asks ?? (turn && busy ? 'waits for its turn'
                : row.kind === 'run' && waiting.has(session) ? 'waits for input'
                    : row.kind === 'request_control' && 'waits for a person');
            busy ||= turn;
            setStatus(row, waits || 'running', false, waits ? 'waiting' : 'running');
        }
    }

    // Who or what the row waits for; null: it goes on.
    function setAsks(row, text) {
        if (!row)
            return;
        row.asks = text;
        showRunning(row.session);
    }

    // The open rows of a session that `fits` wait no longer.
    function goOn(session, fits) {
        for (const row of open.values()) {
            if (row.session === session && row.asks && fits(row))
                setAsks(row, null);
        }
    }

    function onEnd(e) {
        const row = rows.get(e.cause);
        if (!row)
            return;
        const { text, bad } = timelineStatus(e, row.kind);
        const ms = e.extras?.duration_ms ??
            (row.action ? timelineTime(e) - timelineTime(row.action) : 0);
        row.end = e.observation === 'ended' && row.end
            ? { ...row.end, ...e, content: (row.end.content ?? '') + (e.content ?? '') } : e;
        row.time.textContent = ms >= 100 ? durationText(ms) : '';
        const waits = text === 'waits for input';
        if (!waits)
            open.delete(row.id);
        setAsks(row, waits ? text : null);
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
        } else if (e.observation === 'cell_input') {
            setAsks(open.get(e.extras.id), 'waits for input');
        } else {
            if (e.observation === 'waits')
                setAsks(open.get(e.extras.action), 'waits for ' + personName(e.extras.viewer));
            if (e.observation === 'control' && !e.extras.drives)
                goOn(e.session, row => TIMELINE_KINDS[row.kind]?.[0] === 'web');
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
        if (e.action === 'input' && e.args?.id)
            setAsks(open.get(e.args.id), null);
        else if (['input', 'key', 'eof'].includes(e.action))
            goOn(e.session, row => row.kind === 'run');
        if (e.action)
            onAction(e);
        else if (e.cause)
            onEnd(e);
        else
            onOther(e);
        settle();
    });
    page.events('state', ({ session, state }) => {
        waiting[state === 'waiting' ? 'add' : 'delete'](session);
        showRunning(session);
    });
    page.events('delta', e => {
        if (!e.extras.gap)
            addOutput(rows.get(e.cause), e.content);
        settle();
    });

    new ResizeObserver(() => {
        if (follow)
            list.scrollTop = list.scrollHeight;
    }).observe(list);

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
