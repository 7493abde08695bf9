// SPDX-License-Identifier: MIT
//
// The stream of events (core/front/events/README.md): one WebSocket, which is reopened
// with growing delays and resumes after the last event that arrived.

const STREAM_FIRST = 200;
const STREAM_WAIT_MAX = 15000;

function openStream(page) {
    let last = -1;
    let wait = 250;
    let timer = null;
    // The last event in the log when the stream opened; -1: it has arrived.
    let target = -1;
    // How much output of running actions has arrived: cause → offset.
    const seen = new Map();

    function setLink(up, text) {
        byId('link').dataset.link = up ? 'on' : 'off';
        byId('link-text').textContent = text;
        page.tell('link', { up });
    }

    function take(m) {
        if (m.hello) {
            wait = 250;
            setLink(true, 'connected');
            target = m.hello.next - 1;
            if (last < 0)
                last = Math.max(0, target - STREAM_FIRST);
            checkCurrent();
        } else if (m.observation === 'delta') {
            seen.set(m.cause, m.extras.to);
            page.tell('delta', m);
        } else if (m.id > 0 && m.id > last) {
            last = m.id;
            if (m.cause && m.observation)
                seen.delete(m.cause);
            page.tell('*', m);
            page.tell(m.action ?? m.observation, m);
            checkCurrent();
        }
    }

    // Compares what past events left open with the sessions of now.
    async function checkCurrent() {
        if (target < 0 || last < target)
            return;
        target = -1;
        page.tell('current', {});
        try {
            page.tell('sessions', await page.get('terminal'));
        } catch {
            // The stream breaks, too; once it is reopened, this runs again.
        }
    }

    function connect() {
        clearTimeout(timer);
        const output = [...seen].slice(-16).map(([cause, to]) => cause + ':' + to).join(',');
        const socket = page.socket('events?since=' + (last < 0 ? '-' + STREAM_FIRST : last) +
            (output ? '&output=' + output : ''), 'od.events.v1');
        socket.onopen = () => socket.send(JSON.stringify({ page: page.token }));
        socket.onmessage = e => take(JSON.parse(e.data));
        socket.onclose = e => {
            if (e.code === 1008) {
                location.reload();
                return;
            }
            setLink(false, 'not connected, trying again');
            timer = setTimeout(connect, wait);
            wait = Math.min(wait * 2, STREAM_WAIT_MAX);
        };
    }

    addEventListener('online', () => {
        if (byId('link').dataset.link === 'off')
            connect();
    });
    connect();
}
