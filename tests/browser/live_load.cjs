// SPDX-License-Identifier: MIT
// The live page under load, row by row: keys in haste, full-screen programs, output without
// an end, many viewers, a network that is lost. Times are printed, not judged: machines that
// run tests are busy; tests/bench/run.sh page has the figures.
//   live_load.cjs [PATTERN]   runs the rows whose names have it
const { LIMIT, behind, glyphs, holds, memory, open, row, runRows, same, screenOf, serve, shown, spread, until } =
  require('./live.cjs');
const fs = require('fs');
const http = require('http');

const run = (server, command, session) => server.act('run', { command, until: 'end' }, { session });
const begin = async (server, command, session = 'main') => (await (await server.ask('/events?wait=0',
  { action: 'run', args: { command, until: 'end' }, session })).json()).id;
const says = (page, text) =>
  page.waitForFunction(t => document.getElementById('terminal-status').textContent === t, text);
const shows = async (page, text) => {
  let rows = [];
  await until(async () => (rows = await screenOf(page)).join('\n').includes(text), `${text} is seen`)
    .catch(e => holds(false, String(e), rows.filter(Boolean)));
};
const take = async page => {
  await page.click('#terminal-drive');
  await says(page, 'You drive');
};
const watch = async (server, session = 'main', options = {}) => {
  const opened = await open(server, options);
  if (session !== 'main')
    await opened.page.click(`.tabs.small [role=tab]:text-is("${session}")`);
  await says(opened.page, 'You watch, nobody drives');
  return opened;
};
// Before the page's own script: counts frames of terminals by kind, and their bytes, and
// pictures of browsers; keeps terminals' in odKept where a row wants it: [kind, offset, text].
// Knows which links are open. While odHaste is set, the page's waits
// before it connects again are noted, and are a hundredth of what they are.
const spy = () => {
  const Real = globalThis.WebSocket, later = globalThis.setTimeout.bind(globalThis);
  globalThis.odFrames = { 1: 0, 2: 0, 3: 0, bytes: 0, screen: 0 };
  globalThis.odOpened = [];
  globalThis.odLinks = new Set();
  globalThis.odWaits = new Map();
  globalThis.WebSocket = class extends Real {
    constructor(url, protocol) {
      super(url, protocol);
      const name = new URL(url).pathname.split('/').slice(-2)[0] === 'terminal' ? 'terminal'
        : url.includes('/screen/') ? 'screen' : 'events';
      this.addEventListener('open', () => {
        globalThis.odOpened.push(name);
        globalThis.odLinks.add(this);
      });
      this.addEventListener('close', () => globalThis.odLinks.delete(this));
      this.addEventListener('message', e => {
        if (typeof e.data === 'string')
          return;
        const size = e.data.byteLength ?? e.data.size;
        if (name === 'screen')
          globalThis.odFrames.screen++;
        else
          globalThis.odFrames[new Uint8Array(e.data)[0]]++;
        if (name === 'terminal')
          globalThis.odKept?.push([new Uint8Array(e.data)[0], Number(new DataView(e.data).getBigUint64(1)),
            new TextDecoder().decode(e.data.slice(9))]);
        globalThis.odFrames.bytes += size;
      });
    }
  };
  globalThis.setTimeout = (fn, ms, ...more) => {
    if (!globalThis.odHaste || fn.name !== 'connect')
      return later(fn, ms, ...more);
    if (!globalThis.odWaits.has(fn))
      globalThis.odWaits.set(fn, []);
    globalThis.odWaits.get(fn).push(ms);
    return later(fn, ms / 100, ...more);
  };
};

row('200 keys of who drives are seen, each once and in its order', async ({ server }) => {
  await run(server, 'true', 'haste');
  const { context, page } = await watch(server, 'haste');
  await take(page);
  await page.keyboard.type('echo reads-$((1+1)); cat >/dev/null; echo $((6*7))-read\n');
  await shows(page, 'reads-2');
  const times = await glyphs(page, 200);
  same(times.length, 200);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Control+d');
  await shows(page, '42-read');
  console.log(`# from a key to its glyph: ${spread(times)}`);
  await context.close();
});

row('a driver who types faster than anybody looks loses no key', async ({ server }) => {
  await run(server, 'true', 'faster');
  const { context, page } = await watch(server, 'faster');
  await take(page);
  const text = Array.from({ length: 30 }, (_, i) => `word${i}`).join(' ');
  await page.keyboard.type(`echo "${text}" | md5sum\n`);
  const sum = require('crypto').createHash('md5').update(`${text}\n`).digest('hex');
  await shows(page, sum);
  await context.close();
});

for (const [name, command, seen, keys, wanted, leave] of [
  ['vi', 'seq -f "line %g" 60 >v; vi -u NONE -i NONE -n v', 'line 20', ['G', 'o', 'typed-in-vi', 'Escape'],
    'typed-in-vi', [':', 'q', '!', 'Enter']],
  ['less', 'seq -f "entry %g" 400 | LESS= less', 'entry 20', ['/', 'entry 222', 'Enter'], 'entry 230', ['q']],
  ['top', 'LC_ALL=C top -d 600', 'COMMAND', ['1', 'M'], 'COMMAND', ['q']],
]) {
  row(`a reload amid ${name}, and who comes late: the rows of who stayed`, async ({ server }) => {
    const session = `full-${name}`;
    await run(server, `cd ${server.root}; stty rows 24 cols 80; echo before-it`, session);
    const stays = await watch(server, session), again = await watch(server, session);
    await begin(server, `${command}; echo left-$((6*7))`, session);
    await shows(stays.page, seen);
    await take(stays.page);
    for (const key of keys)
      await (key.length === 1 || /^(Escape|Enter)$/.test(key) ? stays.page.keyboard.press(key)
        : stays.page.keyboard.type(key));
    await shows(stays.page, wanted);
    await again.page.reload();
    await again.page.click(`.tabs.small [role=tab]:text-is("${session}")`);
    const late = await open(server);
    await late.page.click(`.tabs.small [role=tab]:text-is("${session}")`);
    // The program may still draw: all three have the same in the end.
    for (const { page } of [again, late]) {
      await shows(page, wanted);
      let both = [];
      await until(async () => {
        both = [await screenOf(page), await screenOf(stays.page)];
        return JSON.stringify(both[0]) === JSON.stringify(both[1]);
      }, 'the same rows').catch(e => holds(false, String(e), both));
    }
    for (const key of leave)
      await stays.page.keyboard.press(key);
    for (const { page } of [stays, again, late]) {
      await shows(page, 'left-42');
      await until(async () => JSON.stringify(await screenOf(page)) ===
        JSON.stringify(await screenOf(stays.page)), 'the same rows after it');
    }
    for (const { context } of [stays, again, late])
      await context.close();
  });
}

row('seq 1 100000 while the worker is killed twice: each line once, on the screen and above it', async () => {
  const server = await serve();
  await run(server, 'echo first-line', 'main');
  const { context, page } = await watch(server, 'main', { spy });
  await shows(page, 'first-line');
  await page.evaluate(() => {
    globalThis.odKept = [];
  });
  const kill = async () => {
    const again = page.waitForEvent('websocket', w => w.url().includes('/terminal/'));
    process.kill(server.status().worker, 'SIGKILL');
    await again;
  };
  // Its end comes while the worker is away.
  await begin(server, `seq 90000; until [ -e ${server.root}/go ]; do sleep 0.05; done; ` +
    'seq 90001 100000; echo the-$((1+1))-end');
  await page.waitForFunction(() => globalThis.odKept.length > 0);
  await kill();
  await shows(page, '90000');
  const before = await page.evaluate(() => globalThis.odKept.length);
  const second = kill();
  fs.writeFileSync(`${server.root}/go`, '');
  await second;
  await shows(page, 'the-2-end');

  const kept = await page.evaluate(() => globalThis.odKept);
  same(kept.slice(before).filter(([kind]) => kind !== 1).length, 0, 'it went on where it was');
  // What came between two pictures is whole, and nothing came twice.
  let text = '', last = 0, end = 0;
  const numbers = () => {
    const whole = text.split('\r\n').slice(1, -1).filter(l => /^\d+$/.test(l)).map(Number);
    for (const [i, n] of whole.entries())
      holds(n > last && (i === 0 || n === last + 1), `${n} comes after ${last}`), last = n;
    text = '';
  };
  for (const [kind, to, more] of kept) {
    holds(kind === 2 ? to >= end : to > end, `a frame to ${to} comes after one to ${end}`);
    end = to;
    if (kind === 2)
      numbers();
    else
      text += more;
  }
  numbers();
  same(last, 100000);

  const isOrdered = lines => lines.slice(1).every((l, i) => Number(l) === Number(lines[i]) + 1);
  const numbersSeen = async () => (await screenOf(page)).filter(l => /^\d+$/.test(l));
  const tail = await numbersSeen();
  holds(tail.length > 5 && isOrdered(tail) && tail.at(-1) === '100000', tail);
  await page.hover('.terminal-screen');
  const seen = new Set();
  for (let at = tail; Number(at[0]) > 99000;) {
    holds(isOrdered(at), at);
    at.forEach(l => seen.add(l));
    const [top] = at;
    await page.mouse.wheel(0, -300);
    await until(async () => (at = await numbersSeen())[0] !== top, 'it scrolls');
  }
  same(Array.from({ length: 900 }, (_, i) => String(100000 - i)).filter(n => !seen.has(n)), []);
  await context.close();
  server.child.kill();
});

row('output without an end: pictures come, the page can be used, memory is bounded', async () => {
  const server = await serve();
  await run(server, 'echo first-line', 'main');
  const { context, page, wrong } = await watch(server, 'main', { spy });
  await shows(page, 'first-line');
  const frames = () => page.evaluate(() => globalThis.odFrames);
  const before = memory(server), kept = await frames();
  const id = await begin(server, 'yes a line of output that has no end');
  const enough = async n => until(async () => {
    const now = await frames();
    return now[2] - kept[2] >= n && now.bytes - kept.bytes >= n << 18;
  }, `${n} pictures`);
  await enough(2);
  for (const tab of ['files', 'ports', 'terminal']) {
    const at = performance.now();
    await page.click(`#tab-${tab}`);
    await page.waitForSelector(`#pane-${tab}:visible`);
    console.log(`# a click on ${tab}: ${Math.round(performance.now() - at)} ms`);
  }
  await enough(6);
  await shows(page, 'a line of output that has no end');
  const more = memory(server) - before, devtools = await context.newCDPSession(page);
  const { metrics } = await devtools.send('Performance.enable').then(() =>
    devtools.send('Performance.getMetrics'));
  const heap = metrics.find(m => m.name === 'JSHeapUsedSize').value;
  console.log(`# ${more} KiB more of the server, ${Math.round(heap >> 10)} KiB of scripts`);
  holds(more <= 16 << 10, `${more} KiB more`);
  holds(heap <= 80 << 20, `${heap} bytes of scripts`);
  await page.waitForSelector('#stop:visible');
  await page.click('#stop');
  await until(async () => (await (await server.ask('/events?since=0')).json()).events
    .some(e => e.cause === id && e.observation === 'run'), 'it is stopped');
  await run(server, 'echo after-it', 'main');
  await shows(page, 'after-it');
  same(wrong, []);
  await context.close();
  server.child.kill();
});

row('five pages with a busy terminal and browser: memory is bounded, the agent goes on', async () => {
  const server = await serve();
  let drawn = 0;
  const site = http.createServer((q, r) => {
    drawn++;
    r.setHeader('Content-Type', 'text/html');
    r.end('<!doctype html><title>moves</title><h1 id=n>0</h1><script>let n = 0;' +
      'setInterval(() => document.getElementById("n").textContent = ++n, 40)</script>');
  });
  await new Promise(r => site.listen(0, '127.0.0.1', r));
  site.unref();
  await run(server, 'echo here', 'main');
  await run(server, 'true', 'busy');
  await server.act('page', { url: `http://127.0.0.1:${site.address().port}/` }, { session: 'main' });
  holds(drawn > 0, 'the page is shown');
  const trues = async n => {
    const times = [];
    while (times.length < n) {
      const at = performance.now();
      same((await run(server, 'true', 'main')).exit_code, 0);
      times.push(performance.now() - at);
    }
    return spread(times);
  };
  console.log(`# true without viewers: ${await trues(40)}`);
  const before = memory(server);
  const five = [];
  for (let i = 0; i < 5; i++)
    five.push(await open(server, { spy, width: 800, height: 600 }));
  // Two see the browser, three the terminal that is busy.
  for (const [i, { page }] of five.entries())
    await page.click(i < 2 ? '#tab-browser' : '.tabs.small [role=tab]:text-is("busy")');
  const id = await begin(server, 'i=0; while :; do echo "line $((i++)) of a busy terminal"; sleep 0.01; done', 'busy');
  const each = n => Promise.all(five.map(({ page }, i) => until(() => page.evaluate(({ i, n }) =>
    (i < 2 ? globalThis.odFrames.screen : globalThis.odFrames[1]) >= n, { i, n }), `${n} frames of ${i}`)));
  await each(20);
  console.log(`# true with five viewers: ${await trues(40)}`);
  await each(60);
  const more = memory(server) - before;
  console.log(`# ${more} KiB more of the server`);
  holds(more <= 16 << 10, `${more} KiB more`);
  for (const { wrong } of five)
    same(wrong, []);
  await server.act('cancel', { id });
  for (const { context } of five)
    await context.close();
  site.close();
  server.child.kill();
});

// What a lease of a minute is to a test: it begins with the program, next to other rows.
const LAPSE = { slow: true };
const isLapse = e => e.observation === 'control' && !e.extras.drives;
const lapsed = server => until(async () => (await (await server.ask('/events?since=0')).json()).events
  .some(isLapse), 'it lapses', 3 * LIMIT);

row('a driver whose link is lost: nobody else types for a minute, then anybody may', async () => {
  const server = await serve(), proxy = await behind(server);
  await run(server, 'echo here-$((1+1))', 'main');
  const ann = await watch(proxy), bob = await watch(server);
  await shows(ann.page, 'here-2');
  await take(ann.page);
  await ann.page.keyboard.type('echo ann-$((2+2))\n');
  await shows(bob.page, 'ann-4');
  proxy.down();
  await bob.page.waitForFunction(() => / \(away\) drives$/.test(
    document.getElementById('terminal-status').textContent));
  await bob.page.click('.terminal-screen');
  await bob.page.keyboard.type('echo refused-this\n');
  await bob.page.waitForSelector('#toast:has-text("Only the driver can type")');
  await lapsed(server);
  await says(bob.page, 'You watch, nobody drives');
  // She comes back too late.
  proxy.up();
  await ann.page.reload();
  await says(ann.page, 'You watch, nobody drives');
  await take(bob.page);
  await bob.page.keyboard.type('echo bob-$((3+3))\n');
  for (const { page } of [ann, bob])
    await shows(page, 'bob-6');
  holds(!(await screenOf(bob.page)).join('\n').includes('refused-this'), await screenOf(bob.page));
  await ann.page.waitForFunction(() => /^You watch, .* drives$/.test(
    document.getElementById('terminal-status').textContent));
  await ann.context.close();
  await bob.context.close();
  server.child.kill();
}, LAPSE);

row('a driver of the browser whose link is lost: the agent waits for a minute, then goes on', async () => {
  const server = await serve(), proxy = await behind(server);
  const site = http.createServer((q, r) => r.setHeader('Content-Type', 'text/html').end(
    '<!doctype html><title>waits</title><button onclick="document.title=\'clicked\'">Press</button>'));
  await new Promise(r => site.listen(0, '127.0.0.1', r));
  site.unref();
  await server.act('page', { url: `http://127.0.0.1:${site.address().port}/` });
  const { context, page } = await open(proxy);
  await page.click('#tab-browser');
  await page.click('#screen-drive');
  await page.waitForFunction(() => document.getElementById('screen-status').textContent.startsWith('You drive'));
  proxy.down();
  const { id } = await (await server.ask('/events?wait=0',
    { action: 'page', args: { act: 'click', ref: 'Press' } })).json();
  const events = async () => (await (await server.ask('/events?since=0')).json()).events;
  await until(async () => (await events()).some(e => e.observation === 'waits' && e.extras.action === id), 'it waits');
  await lapsed(server);
  await until(async () => (await events()).some(e => e.cause === id && e.observation === 'page'), 'it is done');
  // What happened, in its order.
  const all = await events(), when = what => all.findIndex(what);
  const lapse = when(isLapse);
  holds(when(e => e.observation === 'waits') < lapse && lapse < when(e => e.cause === id && e.observation === 'page'),
    all.map(e => e.observation ?? e.action));
  proxy.up();
  await page.reload();
  await page.click('#tab-browser');
  await page.waitForSelector('.screen [role=tab]:text-is("clicked")');
  await page.waitForFunction(() => document.getElementById('screen-status').textContent.startsWith('You watch'));
  await context.close();
  site.close();
  server.child.kill();
}, LAPSE);

row('a minute without a network: growing waits, one link of each kind again, no row twice', async () => {
  const server = await serve(), proxy = await behind(server);
  await run(server, 'echo before-$((1+1))', 'main');
  const { context, page } = await watch(proxy, 'main', { spy });
  await shows(page, 'before-2');
  await page.evaluate(() => {
    globalThis.odHaste = true;
    globalThis.odOpened.splice(0);
  });
  proxy.down();
  await page.waitForSelector('#link[data-link=off]');
  for (let i = 0; i < 5; i++)
    await run(server, `echo while-${i}-away-$((1+1))`, 'main');
  const waits = () => page.evaluate(() => [...globalThis.odWaits.values()]);
  await until(async () => {
    const all = await waits();
    return all.length === 2 && all.every(w => w.reduce((a, b) => a + b, 0) >= 60000);
  }, 'a minute of waits of both links');
  for (const all of await waits())
    same(all, all.map((_, i) => Math.min(250 * 2 ** i, 15000)));
  same(await page.evaluate(() => globalThis.odOpened), []);
  proxy.up();
  await page.waitForSelector('#link[data-link=on]');
  await says(page, 'You watch, nobody drives');
  await run(server, 'echo after-$((1+1))', 'main');
  await shows(page, 'after-2');
  await shown(page, 'after-$((1+1))');
  same(await page.evaluate(() => [globalThis.odOpened.toSorted(), globalThis.odLinks.size]),
    [['events', 'terminal'], 2]);
  const lines = await screenOf(page);
  for (let i = 0; i < 5; i++) {
    same(lines.filter(l => l === `while-${i}-away-2`).length, 1, `while-${i} in ${JSON.stringify(lines)}`);
    same(await page.locator(`#rows li:has-text("while-${i}-away")`).count(), 1, `row ${i}`);
  }
  same(await page.locator('#rows li:has-text("before-$((1+1))")').count(), 1);
  await context.close();
  server.child.kill();
});

runRows();
