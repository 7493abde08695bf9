// SPDX-License-Identifier: MIT
//
// What was done to files, and taking it back. A step is what happened between two
// checkpoints of the same folders, or since the newest one. With --checkpoints each or
// risky a step is a command; those without a pause between them are a turn.
//
// Taking back makes files what they were in the checkpoint before the step. What that
// would change is shown first, and the server keeps what the files were before it.

const CHANGES_STEPS = 200;
const CHANGES_SHOWN = 500;
const CHANGES_MOST = 2000;
const CHANGES_PAUSE_MS = 30000;
const CHANGES_SETTLE_MS = 400;
const CHANGES_SIGNS = { added: '+', removed: '−', changed: '~' };
const CHANGES_DONE = { added: 'comes back', removed: 'is removed', changed: 'becomes what it was' };
// Actions after which the files are as before.
const CHANGES_QUIET = new Set(['checkpoints', 'changes', 'checkpoint', 'read', 'list', 'search',
    'watch', 'resize', 'wait', 'kernels', 'complete', 'inspect', 'attach', 'request_control']);

function changesCount(n, what) {
    return n + ' ' + what + (n === 1 ? '' : 's');
}

function changesDiff(text) {
    const kinds = { '+': 'ins', '-': 'del', '@': 'at' };
    const lines = text.replace(/^--- .*\n\+\+\+ .*\n/, '').replace(/\n$/, '').split('\n');
    return el('pre', { class: 'changes-diff', tabindex: 0, 'aria-label': 'Changed lines' },
        ...lines.map(line => el('span', { class: kinds[line[0]] ?? '' }, line + '\n')));
}

function changesFacts(c) {
    const sizes = c.kind !== 'file' ? c.kind : c.size_before === undefined && c.size === undefined ? ''
        : [c.size_before, c.size].filter(n => n !== undefined).map(filesSize).join(' → ');
    return [c.files !== undefined ? changesCount(c.files, 'file') : sizes, (c.what ?? []).join(', '), c.gap]
        .filter(Boolean).join(' · ');
}

// Returns steps, the newest first, each with those it is made of. ended: action → time.
function changesSteps(records, actions, ended) {
    const later = new Map(), steps = [];
    const at = r => Date.parse(r.time);
    for (const r of records) {
        const key = JSON.stringify([r.dirs, r.uid]), next = later.get(key);
        const step = { from: r, to: next?.from ?? null, key, parts: [], action: actions.get(r.action) };
        const command = r.why === 'each' || r.why === 'risky';
        later.set(key, step);
        const quiet = next && at(next.from) - Math.max(at(r), ended.get(r.action) ?? 0);
        if (command && next?.command && quiet < CHANGES_PAUSE_MS) {
            const turn = next.turn ?? { from: next.from, to: next.to, key, parts: [next] };
            if (!next.turn)
                steps[steps.indexOf(next)] = turn;
            turn.from = r;
            turn.parts.push(step);
            next.turn = step.turn = turn;
        } else {
            steps.push(step);
        }
        step.command = command;
    }
    return steps;
}

function changesName(step) {
    const { from, parts, action } = step;
    if (parts.length > 0)
        return 'Turn of ' + changesCount(parts.length, 'command');
    if (action)
        return timelineSummary(action).text || action.action;
    return { turn: 'Turn', rollback: 'Since changes were taken back' }[from.why] ??
        (from.label || 'Since checkpoint ' + from.id);
}

function changesPanel(page) {
    const button = (label, onclick, more) => el('button', { type: 'button', onclick, ...more }, label);
    const list = el('ul', { class: 'files-tree changes-steps', 'aria-label': 'Steps' });
    const title = el('h2', { id: 'changes-title' }), facts = el('p', { class: 'dim' });
    const tools = el('div', { class: 'files-tools' });
    const notice = el('div', { class: 'changes-notice', role: 'status' });
    const body = el('ul', { class: 'changes-files', 'aria-label': 'Changed files' });
    const empty = el('p', { class: 'empty', hidden: true },
        'Nothing is kept of the files yet. Keep them now, or start the server with',
        el('code', null, 'od serve --checkpoints turn'));
    const both = el('div', { class: 'files-both', hidden: true }, list,
        el('section', { class: 'files-view', 'aria-labelledby': 'changes-title' },
            title, facts, tools, notice, body));
    const root = el('div', { class: 'files changes' }, el('div', { class: 'terminal-bar' },
        button('Keep the files now', keep, { id: 'changes-keep' }),
        button('⟳', () => load(), { 'aria-label': 'Refresh', title: 'Refresh' })), empty, both);
    // Actions; when they ended; the last action that a checkpoint precedes.
    const actions = new Map(), ended = new Map(), doers = new Map();
    let seen = false, at = page.session(), steps = [], shown = null, asked = 0, timer = null, wanted = 0;

    // Does an action; throws its error.
    async function act(name, args) {
        const o = await page.act(name, args, at);
        if (o.observation === 'error')
            throw new Error(o.content);
        return o.extras;
    }

    async function attempt(what, fn) {
        try {
            return await fn();
        } catch (e) {
            page.say(what + ': ' + e.message);
            return null;
        }
    }

    // ---- the steps

    // Gets actions that the page has not seen, for their names: one page of the log.
    async function learn(records) {
        const missing = records.map(r => r.action).filter(id => id && !actions.has(id));
        if (missing.length === 0)
            return;
        const { events } = await page.get('events?since=' + (Math.min(...missing) - 1)).catch(() => ({ events: [] }));
        events.forEach(note);
        missing.filter(id => !actions.has(id)).forEach(id => actions.set(id, null));
    }

    const all = () => steps.flatMap(s => [s, ...s.parts]);
    const idOf = s => s.from.id + (s.parts.length > 0 ? ' turn' : '');

    async function load() {
        if (!seen)
            return;
        const now = ++asked;
        await attempt('Changes', async () => {
            const answer = await act('checkpoints', { limit: CHANGES_STEPS });
            await learn(answer.checkpoints);
            // If an action changed nothing, the next one has the same checkpoint.
            answer.checkpoints.forEach(r => void (r.action = doers.get(r.id) ?? r.action));
            if (now !== asked)
                return;
            steps = changesSteps(answer.checkpoints, actions, ended);
            unfinished(answer.unfinished);
            empty.hidden = steps.length > 0;
            both.hidden = steps.length === 0;
            const found = wanted ? all().find(s => s.from.id === wanted && s.parts.length === 0)
                : shown && all().find(s => idOf(s) === idOf(shown));
            wanted = 0;
            render();
            if (steps.length > 0)
                await open(found ?? steps[0], found !== undefined && shown !== null && idOf(found) === idOf(shown));
        });
    }

    function render() {
        list.replaceChildren(...all().map(step => el('li', null, button('', () => open(step), {
            class: 'changes-step' + (steps.includes(step) ? '' : ' part'), 'data-id': idOf(step),
        }))));
        all().forEach((step, i) => list.children[i].firstChild.append(
            el('span', { class: 'files-name' }, firstLine(changesName(step), 120)),
            el('span', { class: 'dim' }, new Date(step.from.time).toLocaleTimeString())));
        mark();
    }

    function mark() {
        for (const head of list.querySelectorAll('button'))
            head.setAttribute('aria-current', shown !== null && head.dataset.id === idOf(shown));
    }

    function unfinished(plan) {
        if (!plan)
            return;
        const end = how => button(how === 'finish' ? 'Finish it' : 'Take it back', () =>
            attempt('Take back', async () => {
                done(await act('rollback', { unfinished: how }), null);
                await load();
            }));
        notice.replaceChildren(el('p', null, 'Taking back to checkpoint ' + plan.to + ' was interrupted. '),
            end('finish'), end('back'));
    }

    // ---- one step

    const range = step => ({ from: step.from.id, ...step.to && { to: step.to.id } });

    // keep: files whose lines are shown stay open, and so does the notice.
    async function open(step, keep) {
        const now = shown = step;
        mark();
        title.textContent = changesName(step);
        if (!keep) {
            notice.replaceChildren();
            body.replaceChildren();
            tools.replaceChildren();
            facts.textContent = 'Comparing…';
        }
        await attempt('Changes', async () => {
            const r = await act('changes', { ...range(step), limit: CHANGES_SHOWN });
            if (now !== shown)
                return;
            const opened = new Set([...body.querySelectorAll('details[open]')].map(d => d.dataset.path));
            facts.textContent = [changesCount(r.added + r.removed + r.changed, 'change'), step.from.dirs.join(', '),
                'checkpoint ' + step.from.id + (step.to ? ' to ' + step.to.id : ' to now'),
                r.more && 'the first ' + r.changes.length + ' are shown'].filter(Boolean).join(' · ');
            body.replaceChildren(...r.changes.map(c => file(step, c, opened)));
            const what = step.parts.length > 0 || step.from.why === 'turn' ? 'turn' : step.command ? 'command' : 'step';
            tools.replaceChildren(...r.changes.length === 0 ? [] : [
                button('Take this ' + what + ' back', () => stepBack(step), { id: 'changes-back' }),
                step.to ? button('Take everything since back', () => take(step, null, 'everything since'),
                    { id: 'changes-since' }) : '']);
        });
    }

    const nameIn = (step, c) => {
        const dir = step.from.dirs.find(d => c.path.startsWith(d + '/'));
        return dir && step.from.dirs.length === 1 ? c.path.slice(dir.length + 1) : c.path;
    };

    const head = (step, c) => [el('span', { class: 'changes-sign ' + c.change, 'aria-hidden': 'true' },
        CHANGES_SIGNS[c.change]), el('span', { class: 'unseen' }, c.change + ' '),
    el('span', { class: 'files-name' }, nameIn(step, c) + (c.kind === 'folder' ? '/' : '')),
    el('span', { class: 'dim' }, changesFacts(c))];

    function file(step, c, opened) {
        const lines = el('div');
        const box = el('details', { 'data-path': c.path, ontoggle: () => box.open && !lines.firstChild &&
            showLines(step, c, lines) }, el('summary', null, ...head(step, c)), lines);
        box.open = opened.has(c.path);
        return el('li', null, box, button('Take back', () => take(step, [c], nameIn(step, c)),
            { 'aria-label': 'Take back ' + nameIn(step, c) }));
    }

    async function showLines(step, c, to) {
        to.replaceChildren(el('p', { class: 'dim' }, 'Comparing…'));
        const r = await attempt('Changes', () => act('changes', { ...range(step), diff: true, each: true,
            limit: CHANGES_SHOWN, paths_base64: [btoa(filesOf(c))] }));
        if (!r)
            return void to.replaceChildren();
        to.replaceChildren(...r.changes.filter(x => x.kind !== 'folder' || r.changes.length === 1).flatMap(x => [
            r.changes.length > 1 ? el('p', { class: 'changes-head' }, ...head(step, x)) : '',
            x.diff ? changesDiff(x.diff) : el('p', { class: 'dim' }, x.kind === 'file' &&
                (x.change !== 'changed' || x.what?.includes('content')) ? 'Not text, empty, or too long to show.'
                : changesFacts(x))]));
        if (r.more)
            to.append(el('p', { class: 'dim' }, 'And ' + r.more + ' more.'));
    }

    // ---- taking back

    async function stepBack(step) {
        const r = await attempt('Take back', () => act('changes', { ...range(step), limit: CHANGES_MOST }));
        if (r?.more)
            return page.say('This step has too many changes to be taken back alone: take back everything since.');
        return r && take(step, r.changes, changesName(step));
    }

    // Shows what taking back would change. entries: null, everything since the checkpoint.
    async function take(step, entries, name) {
        const args = { to: step.from.id, ...entries && { paths_base64: entries.map(c => btoa(filesOf(c))) } };
        const r = await attempt('Take back', () => act('rollback', { ...args, dry_run: true, diff: true }));
        if (!r)
            return;
        if (r.changes.length === 0)
            return page.say('The files are what they were already.');
        if (!await agreed(step, r, name))
            return;
        notice.replaceChildren();
        await attempt('Take back', async () => {
            done(await act('rollback', args), step.from);
            await load();
        });
    }

    function agreed(step, r, name) {
        return new Promise(resolve => {
            const text = 'Take back: ' + firstLine(name, 100);
            const box = el('dialog', { class: 'files-dialog changes-dialog', 'aria-label': text },
                el('form', { method: 'dialog' }, el('h2', null, text),
                    el('ul', { class: 'changes-files' }, ...r.changes.map(c => el('li', null, el('details', null,
                        el('summary', null, ...head(step, c).slice(0, -1), el('span', { class: 'dim' },
                            [CHANGES_DONE[c.change], changesFacts({ ...c, what: null })].filter(Boolean).join(' · '))),
                        c.diff ? changesDiff(c.diff) : el('p', { class: 'dim' }, 'No lines to show.'))))),
                    r.more ? el('p', { class: 'dim' }, 'And ' + r.more + ' more.') : null,
                    el('p', { class: 'dim' }, 'What the files are now is kept first, so this can be taken back, too.'),
                    el('div', { class: 'files-tools' }, el('button', { type: 'submit', value: 'yes' }, 'Take it back'),
                        button('Cancel', () => box.close()))));
            box.addEventListener('close', () => {
                box.remove();
                resolve(box.returnValue === 'yes');
            });
            root.append(box);
            box.showModal();
        });
    }

    // Says what a rollback did.
    function done(r, from) {
        const lines = (r.problems ?? []).map(p => p.path + ' was left alone: ' + p.why)
            .concat((r.held ?? []).map(h => h.program + ' (' + h.pid + ') still uses the old ' + h.path));
        const undo = r.safety && from && r.changes.length < CHANGES_SHOWN ? button('Undo this', () =>
            take({ from: { ...from, id: r.safety } }, r.changes, 'what was taken back'), { id: 'changes-undo' }) : null;
        notice.replaceChildren(el('p', null, 'Taken back: ' +
            changesCount(r.added + r.removed + r.changed, 'change') + '.'), undo ?? '',
        ...lines.slice(0, 20).map(line => el('p', null, line)));
    }

    async function keep() {
        const r = await attempt('Keep the files', () => act('checkpoint', {}));
        if (r)
            page.say(r.same ? 'Nothing has changed since checkpoint ' + r.id + '.' : 'Checkpoint ' + r.id + ' has ' +
                changesCount(r.files, 'file') + (r.gaps ? ', ' + r.gaps + ' not whole' : '') + '.');
    }

    // ---- events

    function note(e) {
        if (e.action)
            actions.set(e.id, e);
        else if (e.cause && e.timestamp)
            ended.set(e.cause, timelineTime(e));
        else if (e.observation === 'checkpointed' && e.extras.action)
            doers.set(e.extras.id, e.extras.action);
        for (const known of [actions, ended, doers]) {
            if (known.size > TIMELINE_MAX)
                known.delete(known.keys().next().value);
        }
    }

    function later() {
        clearTimeout(timer);
        timer = setTimeout(load, CHANGES_SETTLE_MS);
    }

    page.events('*', e => {
        note(e);
        if ((e.observation === 'checkpointed' && e.extras.id) || (e.observation && e.cause && !quiet(e)))
            later();
    });
    // What only looks does not change files: else each answer would cause the next question.
    const quiet = e => CHANGES_QUIET.has(actions.get(e.cause)?.action ?? e.observation) && e.observation !== 'checkpoint';

    return {
        root,
        show() {
            seen = true;
            load();
        },
        hide() {
            seen = false;
        },
        go({ session, checkpoint }) {
            wanted = checkpoint ?? wanted;
            if (session && session !== at) {
                at = session;
                shown = null;
                notice.replaceChildren();
            }
            later();
        },
    };
}
