// SPDX-License-Identifier: MIT
//
// Plays what a session showed, from its recording (GET /sessions/NAME/cast): the output as
// it came, on a time line that one can drag. Long pauses are cut.

const PLAYER_PAUSE = 3;
// Output that is written again for a jump, at most, in characters.
const PLAYER_JUMP = 4 << 20;

// Reads asciicast v2: its size, its events as {at, code, text}, and its length in seconds.
function playerRead(text) {
    const [head, ...lines] = text.trim().split('\n').map(line => JSON.parse(line));
    let cut = 0, last = 0;
    const events = lines.map(([time, code, text]) => {
        cut += Math.max(0, time - last - PLAYER_PAUSE);
        last = time;
        return { at: time - cut, code, text };
    });
    return { size: head.width + 'x' + head.height, events, length: last - cut };
}

function playerTime(s) {
    return Math.floor(s / 60) + ':' + String(Math.floor(s % 60)).padStart(2, '0');
}

// terminal: write(text, done), resize(rows, cols). leave() is called for Escape.
function playerControls(terminal, leave) {
    const toggle = el('button', { type: 'button', id: 'player-toggle', onclick: onToggle });
    const line = el('input', { type: 'range', id: 'player-line', min: 0, step: 'any',
        'aria-label': 'Time', list: 'player-marks', oninput: () => seek(+line.value) });
    const marks = el('datalist', { id: 'player-marks' });
    const time = el('span', { class: 'dim', id: 'player-time' });
    const speed = el('select', { id: 'player-speed', 'aria-label': 'Speed' },
        ...[1, 2, 4, 8, 16].map(n => el('option', { value: n }, n + '×')));
    const commands = el('select', { id: 'player-commands', 'aria-label': 'Commands',
        onchange: () => seek(all[commands.selectedIndex].at) });
    const root = el('div', { class: 'player', role: 'group', hidden: true,
        'aria-label': 'Recording', onkeydown: onKey }, toggle, line, marks, time, speed, commands);
    let events = [], all = [], size = '', length = 0;
    // The position; the next event to be written; where a person wants to be.
    let now = 0, next = 0, want = 0;
    let runs = false, busy = false, stamp = 0, frame = null;

    function show() {
        toggle.textContent = runs ? 'Pause' : 'Play';
        line.value = now;
        time.textContent = playerTime(now) + ' / ' + playerTime(length);
        line.setAttribute('aria-valuetext', time.textContent);
        commands.selectedIndex = Math.max(0, all.findLastIndex(m => m.at <= now));
    }

    const resize = text => {
        const [cols, rows] = text.split('x').map(Number);
        terminal.write('', () => terminal.resize(rows, cols));
    };

    function write() {
        let out = '';
        for (; next < events.length && events[next].at <= now; next++) {
            const { code, text } = events[next];
            if (code === 'o') {
                out += text;
            } else if (code === 'r') {
                terminal.write(out);
                out = '';
                resize(text);
            }
        }
        terminal.write(out);
    }

    // Goes back: writes the last output before the position again, on an empty screen.
    function rewind() {
        next = events.findLastIndex(e => e.at <= now) + 1;
        for (let n = 0; next > 0 && n < PLAYER_JUMP; next--)
            n += events[next - 1].text.length;
        terminal.write('\x1bc');
        resize(events.slice(0, next).findLast(e => e.code === 'r')?.text ?? size);
    }

    // A drag asks for more places than can be drawn: those that are passed are left out.
    function apply() {
        const back = want < now;
        now = want;
        if (back)
            rewind();
        write();
        show();
        busy = true;
        terminal.write('', () => {
            busy = false;
            if (want !== now)
                apply();
        });
    }

    function seek(to) {
        want = to;
        if (!busy)
            apply();
    }

    function step(t) {
        if (runs && !busy)
            seek(Math.min(length, now + Math.max(0, t - stamp) / 1000 * speed.value));
        runs &&= now < length;
        stamp = t;
        if (!runs)
            show();
        frame = runs ? requestAnimationFrame(step) : null;
    }

    function onToggle() {
        runs = !runs;
        if (runs && now >= length)
            seek(0);
        stamp = performance.now();
        cancelAnimationFrame(frame);
        frame = requestAnimationFrame(step);
        show();
    }

    function onKey(e) {
        const by = { '[': -1, ']': 1 }[e.key];
        if (e.key === 'Escape')
            leave();
        else if (e.key === ' ' && e.target === line)
            onToggle();
        else if (by)
            seek(all[Math.max(0, Math.min(all.length - 1, commands.selectedIndex + by))]?.at ?? 0);
        else
            return;
        e.preventDefault();
    }

    return {
        root,
        start(text) {
            ({ size, events, length } = playerRead(text));
            all = events.filter(e => e.code === 'm');
            marks.replaceChildren(...all.map(m => el('option', { value: m.at })));
            commands.replaceChildren(...all.map(m =>
                el('option', null, playerTime(m.at) + ' ' + firstLine(m.text, 60))));
            commands.hidden = all.length === 0;
            line.max = length;
            root.hidden = false;
            now = Infinity;
            seek(0);
            runs = false;
            onToggle();
            line.focus();
        },
        stop() {
            runs = false;
            cancelAnimationFrame(frame);
            want = now;
            root.hidden = true;
        },
    };
}
