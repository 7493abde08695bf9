// SPDX-License-Identifier: MIT
//
// page.cjs ours | events | peer ADDRESS PID | long MINUTES: figures of the live page in a Chromium, a
// line each: KEY VALUE, in ms, KiB, bytes or MB/s. A peer is a page with a terminal in
// .xterm-rows at ADDRESS, served by the process PID.
const { at, finish, glyphs, holds, launch, memory, open, screenOf, serve, until } =
  require('../browser/live.cjs');
const fs = require('fs');
const http = require('http');

const KEYS = 200, CLICKS = 40, TRUES = 200, OUTPUT = 20e6, EVENTS = 2000, STEPS = 120;
const COMMAND = `seq -f "%08g a line of output that is drawn" 600000 | head -c ${OUTPUT}; echo the-$((1+1))-end`;
const say = (key, value) => console.log(key, Math.round(value * 100) / 100);
const run = (server, command, session = 'main') =>
  server.act('run', { command, until: 'end' }, { session });
const idle = ms => new Promise(r => setTimeout(r, ms));
const frames = () => new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)));
const privateOf = pid => fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Private_\w+: +\d+/gm)
  .reduce((sum, line) => sum + Number(line.split(/ +/)[1]), 0);

// Before the page's own script: when its terminal first shows something.
const watchFirst = () => {
  const look = () => {
    const rows = document.querySelector('.xterm-rows');
    if (rows && rows.textContent.replace(/\u00a0/g, ' ').trim())
      globalThis.odFirst = performance.now();
    else
      requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
};

// A page with an empty cache, and what it took until there was something to see.
async function first(browser, address, cookie) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  if (cookie)
    await context.addCookies([{ name: 'od_ui', value: cookie, domain: '127.0.0.1', path: '/' }]);
  const page = await context.newPage(), devtools = await context.newCDPSession(page);
  let bytes = 0;
  await devtools.send('Network.enable');
  devtools.on('Network.loadingFinished', e => bytes += e.encodedDataLength);
  await page.addInitScript(watchFirst);
  await page.goto(address);
  await page.waitForFunction(() => globalThis.odFirst, null, { polling: 20 });
  await page.evaluate(frames);
  const [paint, shown] = await page.evaluate(() =>
    [performance.getEntriesByName('first-contentful-paint')[0].startTime, globalThis.odFirst]);
  return { context, page, devtools, paint, shown, bytes: () => bytes };
}

async function typing(page) {
  await page.click('.xterm-screen');
  await page.keyboard.type('echo reads-$((1+1)); cat >/dev/null\n');
  await until(async () => (await screenOf(page)).includes('reads-2'), 'it reads');
  const times = await glyphs(page, KEYS);
  say('key', at(times, 0.5));
  say('key99', at(times, 0.99));
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+d');
}

async function output(page) {
  const from = performance.now();
  await page.keyboard.type(`${COMMAND}\n`);
  await until(async () => (await screenOf(page)).includes('the-2-end'), 'the end');
  say('output', OUTPUT / 1e3 / (performance.now() - from));
}

async function login(server) {
  const answer = await server.ask('/ui/session', 'x');
  return /od_ui=(\w+)/.exec(answer.headers.get('set-cookie'))[1];
}

// A page whose colour changes at each click, for the browser of a session.
async function site() {
  const at = http.createServer((q, r) => r.setHeader('Content-Type', 'text/html').end('<!doctype html>' +
    '<title>clicks</title><body style="margin:0;height:100vh;background:#f00" onmousedown="this.style.' +
    'background = (this.n = !this.n) ? \'#00f\' : \'#f00\'">'));
  await new Promise(r => at.listen(0, '127.0.0.1', r));
  at.unref();
  return `http://127.0.0.1:${at.address().port}/`;
}

async function clicks(page) {
  await page.click('#tab-browser');
  await page.waitForFunction(() => document.querySelector('.screen canvas').dataset.frame);
  await page.click('#screen-drive');
  await page.waitForFunction(() => document.getElementById('screen-status').textContent.startsWith('You drive'));
  await page.evaluate(() => {
    const canvas = document.querySelector('.screen canvas'), times = globalThis.odClicks = [];
    const colour = () => canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data[0] > 127;
    addEventListener('pointerdown', () => {
      const before = colour(), at = performance.now();
      const look = () => colour() === before ? requestAnimationFrame(look) : times.push(performance.now() - at);
      requestAnimationFrame(look);
    }, true);
  });
  const box = await page.locator('.screen canvas').boundingBox();
  for (let i = 0; i < CLICKS; i++) {
    await page.mouse.click(box.x + box.width / 3, box.y + box.height / 3);
    await page.waitForFunction(n => globalThis.odClicks.length === n, i + 1);
  }
  const times = await page.evaluate(() => globalThis.odClicks);
  say('click', at(times, 0.5));
  say('click99', at(times, 0.99));
  await page.click('#screen-drive');
}

async function trues(server) {
  const times = [];
  while (times.length < TRUES) {
    const from = performance.now();
    await run(server, 'true');
    times.push(performance.now() - from);
  }
  return at(times, 0.5);
}

// Bytes of messages to a page from now on, and how many are binary.
function count(devtools) {
  const got = { bytes: 0, frames: 0 };
  devtools.on('Network.webSocketFrameReceived', e => {
    got.bytes += e.response.payloadData.length;
    got.frames += e.response.opcode === 2;
  });
  return got;
}

async function ours(browser) {
  const server = await serve();
  await run(server, 'stty rows 24 cols 80; echo here');
  const alone = await trues(server);
  say('true', alone);
  const before = memory(server);
  const one = await first(browser, `${server.base}/ui/`, await login(server));
  say('paint', one.paint);
  say('shown', one.shown);
  await one.page.waitForSelector('#link[data-link=on]');
  await idle(1000);
  say('bytes', one.bytes());
  say('memory', memory(server));
  say('open', memory(server) - before);
  await one.page.click('#terminal-drive');
  await one.page.waitForSelector('#terminal-status:text-is("You drive")');
  await typing(one.page);
  await output(one.page);
  await one.page.click('#terminal-drive');
  await server.act('page', { url: await site() }, { session: 'main' });
  await clicks(one.page);
  const still = count(one.devtools);
  await idle(5000);
  say('still', still.frames);
  await one.context.close();
  const quiet = memory(server), five = [];
  for (let i = 0; i < 5; i++)
    five.push(await open(server, { width: 800, height: 600 }));
  await run(server, 'echo watched');
  for (const { page } of five)
    await page.waitForSelector('.xterm-rows:has-text("watched")');
  say('watched', await trues(server));
  for (const { page } of five.slice(0, 2))
    await page.click('#tab-browser');
  await run(server, 'seq 20000');
  await idle(1000);
  say('five', memory(server) - quiet);
}

// The timeline of a page that saw many events: scrolling through them, a search.
async function events(browser) {
  const server = await serve();
  await run(server, 'echo here');
  const { page } = await first(browser, `${server.base}/ui/`, await login(server));
  await page.waitForSelector('#link[data-link=on]');
  for (let i = 0; i < EVENTS / 2; i++)
    await run(server, `echo ${i}; false`);
  await page.waitForFunction(n => document.querySelectorAll('#rows > li[data-state=bad]').length === n, EVENTS / 2);
  const times = await page.evaluate(async steps => {
    const list = document.getElementById('rows'), times = [];
    const frame = () => new Promise(r => requestAnimationFrame(r));
    const height = list.scrollHeight - list.clientHeight;
    let before = await frame();
    for (let i = 0; i <= steps; i++) {
      list.scrollTop = height * Math.abs(1 - 2 * i / steps);
      const now = await frame();
      times.push(now - before);
      before = now;
    }
    return times;
  }, STEPS);
  say('frame', at(times, 0.5));
  say('frame99', at(times, 0.99));
  const search = await page.evaluate(async () => {
    const field = document.getElementById('filter-text'), times = [];
    for (const text of ['9', '99', '999', '']) {
      const from = performance.now();
      field.value = text;
      field.dispatchEvent(new Event('input'));
      await new Promise(r => requestAnimationFrame(() => setTimeout(r)));
      times.push(performance.now() - from);
    }
    return times;
  });
  say('search', Math.max(...search));
}

async function peer(browser, address, pid) {
  const one = await first(browser, address);
  say('paint', one.paint);
  say('shown', one.shown);
  await idle(1000);
  say('bytes', one.bytes());
  say('memory', privateOf(pid));
  await typing(one.page);
  await output(one.page);
  say('after', privateOf(pid));
}

// An agent that is busy, and then one that is not, for these minutes each.
async function long(browser, minutes) {
  const server = await serve();
  await run(server, 'echo here');
  const alone = await trues(server), before = memory(server), all = [];
  for (let i = 0; i < 5; i++)
    all.push(await first(browser, `${server.base}/ui/`, await login(server)));
  const heap = async () => {
    await all[0].devtools.send('HeapProfiler.collectGarbage');
    await all[0].devtools.send('Performance.enable');
    const { metrics } = await all[0].devtools.send('Performance.getMetrics');
    return metrics.find(m => m.name === 'JSHeapUsedSize').value / 1024;
  };
  const busy = async ms => {
    for (const end = Date.now() + ms; Date.now() < end;)
      holds((await run(server, 'seq 200; sleep 0.02')).exit_code === 0);
  };
  await busy(minutes * 30000);
  say('half', await heap());
  await busy(minutes * 30000);
  say('heap', await heap());
  say('true', alone);
  say('watched', await trues(server));
  say('five', memory(server) - before);
  await idle(5000);
  const still = count(all[0].devtools);
  await idle(minutes * 60000);
  say('idle', still.bytes / minutes);
}

(async () => {
  const [what, address, pid] = process.argv.slice(2), browser = await launch();
  try {
    await { ours, events, peer, long }[what](browser, what === 'long' ? Number(address) : address, Number(pid));
    await finish(0);
  } catch (e) {
    console.error(e);
    await finish(1);
  }
})();
