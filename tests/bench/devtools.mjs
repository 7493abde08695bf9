// SPDX-License-Identifier: MIT
//
// devtools.mjs URL [PID...]: calls of the DevTools protocol to a new tab of the browser whose
// /json/version is at URL; a line each, KEY VALUE. The memory is that of the processes.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';

const [url, ...pids] = process.argv.slice(2);
const CALLS = 3000, WARM = 300, PIECES = 25, PIECE = 4 << 20, FRAMES = 100, CLIENTS = 8;
const us = () => performance.now() * 1000;
const median = v => v.sort((a, b) => a - b)[v.length >> 1];
const say = (name, value) => console.log(name, Math.round(value * 100) / 100);
const memory = () => pids.reduce((sum, pid) => sum + readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  .match(/^Private_\w+: +\d+/gm).reduce((n, line) => n + Number(line.split(/ +/)[1]), 0), 0);

// RFC 6455, as much as a client of one server needs.
async function connect(to) {
  const q = request(to.replace('ws', 'http'), { headers: { Connection: 'Upgrade', Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' } }).end();
  const [, socket, head] = await once(q, 'upgrade');
  socket.setNoDelay(true);
  const waiting = new Map(), heard = new Map();
  let parts = [head], have = head.length, last = 0;
  const take = () => {
    while (have >= 2) {
      if (parts.length > 1 && parts[0].length < 10)
        parts = [Buffer.concat(parts)];
      const b = parts[0], short = b[1] & 127, from = short === 126 ? 4 : short === 127 ? 10 : 2;
      if (have < from || b.length < from)
        return;
      const n = short === 126 ? b.readUInt16BE(2) : short === 127 ? Number(b.readBigUInt64BE(2)) : short;
      if (have < from + n)
        return;
      const all = parts.length > 1 ? Buffer.concat(parts) : b;
      if ((all[0] & 15) === 1) {
        const m = JSON.parse(all.subarray(from, from + n));
        (m.id ? waiting.get(m.id) : heard.get(m.method))?.(m);
        waiting.delete(m.id);
      }
      have -= from + n;
      parts = [all.subarray(from + n)];
    }
  };
  socket.on('data', d => {
    parts.push(d);
    have += d.length;
    take();
  });
  take();
  return {
    heard, close: () => socket.destroy(),
    call: (method, params = {}, sessionId = undefined) => new Promise(resolve => {
      const text = Buffer.from(JSON.stringify({ id: ++last, method, params, sessionId }));
      waiting.set(last, resolve);
      const n = text.length;
      socket.write(Buffer.concat([Buffer.from(n < 126 ? [0x81, 0x80 | n, 0, 0, 0, 0]
        : [0x81, 0xfe, n >> 8, n & 255, 0, 0, 0, 0]), text]));
    }),
  };
}

const told = (await (await fetch(url)).json()).webSocketDebuggerUrl;
const c = await connect(told);
const { result: { targetId } } = await c.call('Target.createTarget', { url: 'about:blank' });
const { result: { sessionId } } = await c.call('Target.attachToTarget', { targetId, flatten: true });
const times = [];
for (let i = 0; i < CALLS + WARM; i++) {
  const began = us();
  await c.call('Runtime.evaluate', { expression: '1+1', returnByValue: true }, sessionId);
  if (i >= WARM)
    times.push(us() - began);
}
say('evaluate', median(times));
let began = us();
for (let i = 0; i < PIECES; i++)
  await c.call('Runtime.evaluate', { expression: `"x".repeat(${PIECE})`, returnByValue: true }, sessionId);
say('bulk', (us() - began) / 1000);
const frames = new Promise(resolve => {
  let n = 0;
  c.heard.set('Page.screencastFrame', m => {
    c.call('Page.screencastFrameAck', { sessionId: m.params.sessionId }, sessionId);
    if (++n === FRAMES)
      resolve();
  });
});
await c.call('Runtime.evaluate', { expression:
  'let n=0;(function f(){document.body.style.background=`rgb(${n++%255},0,0)`;requestAnimationFrame(f)})()' }, sessionId);
began = us();
await c.call('Page.startScreencast', { format: 'png' }, sessionId);
await frames;
say('frames', (us() - began) / 1000);
await c.call('Target.closeTarget', { targetId });
if (pids.length) {
  const before = memory(), all = [];
  for (let i = 0; i < CLIENTS; i++) {
    all.push(await connect(told));
    await all[i].call('Browser.getVersion');
  }
  say('client', (memory() - before) / CLIENTS);
  all.forEach(x => x.close());
}
c.close();
process.exit(0);
