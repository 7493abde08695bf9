// SPDX-License-Identifier: MIT
//
// browse_cdp.mjs PROGRAM FOLDER: what browse.c does, by the DevTools protocol's calls
// alone, over the debugging pipe: nothing is waited for that need not be.

import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';

const [program, folder] = process.argv.slice(2);
const us = () => performance.now() * 1000;
const median = v => v.sort((a, b) => a - b)[v.length >> 1];
const say = (name, value) => console.log(name, Math.round(value));

const profile = mkdtempSync(`${folder}/profile.`);
const began = us();
const child = spawn(program, ['--headless', '--no-sandbox', '--disable-dev-shm-usage',
    '--disable-gpu', '--no-first-run', '--no-default-browser-check', '--no-startup-window',
    `--user-data-dir=${profile}`, '--window-size=1280,720', '--disable-extensions',
    '--disable-background-networking', '--disable-component-update', '--disable-sync',
    '--disable-breakpad', '--mute-audio', '--password-store=basic', '--use-mock-keychain',
    '--disable-features=Translate,MediaRouter,OptimizationHints', '--remote-debugging-pipe'],
    { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'], detached: true });
const [to, from] = [child.stdio[3], child.stdio[4]];

let last = 0, parts = [], largest = 0;
const waiting = new Map(), events = [];
from.on('data', piece => {
    for (let at = 0; at < piece.length;) {
        const zero = piece.indexOf(0, at);
        parts.push(piece.subarray(at, zero < 0 ? piece.length : zero));
        if (zero < 0)
            return;
        at = zero + 1;
        const whole = Buffer.concat(parts);
        parts = [];
        largest = Math.max(largest, whole.length);
        const m = JSON.parse(whole);
        if (m.id) {
            waiting.get(m.id)(m);
            waiting.delete(m.id);
        } else {
            for (const e of events.splice(0))
                e(m) || events.push(e);
        }
    }
});
let session;
const call = (method, params = {}) => new Promise((good, bad) => {
    waiting.set(++last, m => m.error ? bad(new Error(`${method}: ${m.error.message}`))
                                     : good(m.result));
    to.write(JSON.stringify({ id: last, method, params, sessionId: session }) + '\0');
});
const event = name => new Promise(good =>
    events.push(m => m.method === name && (good(m.params), true)));

await call('Browser.getVersion');
say('reply', us() - began);
const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
session = (await call('Target.attachToTarget', { targetId, flatten: true })).sessionId;
await call('Page.enable');
say('launch', us() - began);

const go = async page => {
    const loaded = event('Page.loadEventFired');
    await call('Page.navigate', { url: `file://${folder}/${page}` });
    await loaded;
};
const see = () => Promise.all([
    call('DOMSnapshot.captureSnapshot', { computedStyles: [] }),
    call('Accessibility.getFullAXTree'),
    call('Page.captureScreenshot', { format: 'png' }),
]);
const times = [];
for (let i = 0; i < 7; i++) {
    const begin = us();
    await go('small.html');
    await see();
    times.push(us() - begin);
}
say('visit', median(times));

const { root } = await call('DOM.getDocument', { depth: -1 });
const find = async selector =>
    (await call('DOM.querySelector', { nodeId: root.nodeId, selector })).nodeId;
const [field, button] = [await find('input'), await find('button')];
const apply = async (nodeId, text) => {
    const { object } = await call('DOM.resolveNode', { nodeId });
    return call('Runtime.callFunctionOn', { objectId: object.objectId,
        functionDeclaration: text, returnByValue: true, awaitPromise: true });
};

let begin = us();
for (let i = 0; i < 40; i++) {
    await apply(field, 'function() { this.focus(); this.select(); }');
    await call('Input.insertText', { text: `value ${i}` });
}
say('fill', (us() - begin) / 40);

begin = us();
for (let i = 0; i < 20; i++) {
    await call('DOM.scrollIntoViewIfNeeded', { nodeId: button });
    const { quads: [q] } = await call('DOM.getContentQuads', { nodeId: button });
    const x = (q[0] + q[4]) / 2, y = (q[1] + q[5]) / 2;
    await call('DOM.getNodeForLocation', { x: Math.round(x), y: Math.round(y) });
    for (const type of ['mouseMoved', 'mousePressed', 'mouseReleased'])
        await call('Input.dispatchMouseEvent', { type, x, y, clickCount: 1,
            button: type === 'mouseMoved' ? 'none' : 'left' });
}
say('click', (us() - begin) / 20);

await go('big.html');
times.length = 0;
const alone = [];
for (let i = 0; i < 3; i++) {
    begin = us();
    await call('Accessibility.getFullAXTree');
    alone.push(us() - begin);
    begin = us();
    await see();
    times.push(us() - begin);
}
say('tree', median(alone));
say('big', median(times));
say('message', largest / 1024);
process.kill(-child.pid); // what the distribution calls a Chromium is a script
await new Promise(good => child.on('exit', good));
rmSync(profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
process.exit(0);
