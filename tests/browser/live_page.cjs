// SPDX-License-Identifier: MIT
// The live page in a Chromium, row by row. Each server is `od serve --ui` with a private
// folder; rows that need one of their own start it.
//   live_page.cjs [PATTERN]   runs the rows whose names have it
const { KEY, accessible, behind, holds, open, row, runRows, same, serve, shown, spread, until } =
  require('./live.cjs');
const { spawnSync } = require('child_process');
const { OD } = process.env;
const net = require('net');
const fs = require('fs');
const http = require('http');
const path = require('path');

const cookies = async context => (await context.cookies()).map(c => `${c.name}=${c.value}`).join('; ');

// ---- logins

row('without a key or a cookie: 401 with a form, and nothing else', async ({ server }) => {
  const answer = await fetch(`${server.base}/ui/`);
  const text = await answer.text();
  same(answer.status, 401);
  holds(text.includes('<form') && !/app\.|xterm/.test(text), text);
  same((await fetch(`${server.base}/ui/session`)).status, 401);
  for (const [to, status] of [['/ui/ports', 401], ['/events', 403]])
    same((await fetch(server.base + to)).status, status, to);
  const policy = answer.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"])
    holds(policy.includes(part), policy);
});

row('a login by key: the cookie is HttpOnly and Strict, and the key is nowhere', async ({ server }) => {
  const { context, page } = await open(server);
  const [cookie] = await context.cookies();
  same([cookie.name, cookie.httpOnly, cookie.sameSite, cookie.path], ['od_ui', true, 'Strict',
    new URL(`${server.base}/`).pathname]);
  same(page.url(), `${server.base}/ui/`);
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage },
    document.cookie, document.documentElement.outerHTML]));
  holds(!kept.includes(KEY) && !kept.includes(cookie.value), kept);
  const files = fs.readdirSync(server.root, { recursive: true, withFileTypes: true })
    .filter(f => f.isFile()).map(f => fs.readFileSync(path.join(f.parentPath ?? f.path, f.name), 'latin1'));
  holds(files.length > 1 && files.every(f => !f.includes(KEY) && !f.includes(cookie.value)));
  await context.close();
});

row('wrong keys: the form again, and 429 from the sixth in a second', async () => {
  const server = await serve();
  const form = () => fetch(`${server.base}/ui/session`, { method: 'POST', redirect: 'manual',
    body: new URLSearchParams({ key: 'wrong' }) }).then(a => a.status);
  const got = new Set(await Promise.all(Array.from({ length: 12 }, form)));
  same([...got].sort(), [401, 429]);
  server.child.kill();
});

row('a link logs in once, and its token leaves the address', async ({ server }) => {
  const [link] = server.status().page.links;
  holds(link.startsWith(`${server.base}/ui/#once=`), link);
  const at = link.slice(server.base.length);
  const first = await open(server, { key: null, at });
  await first.page.waitForSelector('#link[data-link=on]');
  same(first.page.url(), `${server.base}/ui/`);
  const second = await open(server, { key: null, at });
  await second.page.waitForFunction(() =>
    document.getElementById('why').textContent.includes('This link was already used'));
  same(second.page.url(), `${server.base}/ui/`);
  const again = await fetch(`${server.base}/ui/session`, { method: 'POST',
    body: new URLSearchParams({ once: link.split('=')[1] }) });
  same(again.status, 401);
  await first.context.close();
  await second.context.close();
});

row('the link that od serve prints logs in to a server without a key', async () => {
  const server = await serve([], null);
  const at = await until(() => /Page: \S+(\/ui\/#once=\w+)\s/.exec(server.log())?.[1], 'a link');
  const { context, page, wrong } = await open(server, { key: null, at });
  await page.waitForSelector('#link[data-link=on]');
  wrong.splice(0);
  await server.act('run', { command: 'echo unlocked', until: 'end' });
  await shown(page, 'echo unlocked');
  same((await fetch(`${server.base}/events`, { headers: { 'Sec-Fetch-Site': 'same-origin',
    Cookie: await cookies(context) } })).status, 403, 'a cookie without the page token');
  same(wrong, []);
  await context.close();
  server.child.kill();
});

row('a killed worker logs nobody out', async ({ server }) => {
  const { context, page } = await open(server);
  const again = page.waitForEvent('websocket', w => w.url().includes('/events'));
  process.kill(server.status().worker, 'SIGKILL');
  await again;
  await page.waitForSelector('#link[data-link=on]');
  await server.act('run', { command: 'echo after-kill', until: 'end' });
  await shown(page, 'echo after-kill');
  same(await page.locator('#rows li:has-text("echo after-kill")').count(), 1);
  await context.close();
});

row('logging out ends the login', async ({ server }) => {
  const { context, page } = await open(server);
  const before = await cookies(context);
  await page.click('#leave');
  await page.waitForSelector('#key');
  same((await fetch(`${server.base}/ui/session`, { headers: { Cookie: before } })).status, 401);
  await context.close();
});

row('a key that may view: the page shows, and does nothing', async ({ server }) => {
  const { context, page } = await open(server, { key: server.add() });
  const running = await server.ask('/events?wait=0',
    { action: 'run', args: { command: 'sleep 600', until: 'end' }, session: 'viewed' });
  const { id } = await running.json();
  await page.waitForSelector('#state[data-state=busy]');
  same(await page.locator('#stop').isVisible(), false);
  await page.click('#tab-browser');
  same(await page.locator('.pane:visible button').count(), 0, 'nothing that it may not use');
  await page.click('#tab-ports');
  await page.waitForSelector('.ports th');
  same(await page.locator('.ports th:text-is("App")').count(), 0);
  const status = await page.evaluate(async () => {
    const { page: token, may } = await (await fetch('session')).json();
    const answer = await fetch('../events', { method: 'POST',
      headers: { 'X-OD-Page': token }, body: '{"action":"run","args":{"command":"true"}}' });
    return [may, answer.status];
  });
  same(status, ['view', 403]);
  await server.act('cancel', { id });
  await context.close();
});

// ---- files of the page

row('files are immutable, and compressed for who wants that', async ({ server }) => {
  const cookie = (await server.ask('/ui/session', 'x')).headers.get('set-cookie').split(';')[0];
  const html = await (await fetch(`${server.base}/ui/`, { headers: { Cookie: cookie } })).text();
  const names = [...html.matchAll(/"(file\/[^"]+)"/g)].map(m => m[1]);
  same(names.length, 4);
  let wire = Buffer.byteLength(html);
  const get = (name, headers) => new Promise((resolve, reject) => {
    http.get(`${server.base}/ui/${name}`, { headers }, r => {
      const parts = [];
      r.on('data', d => parts.push(d));
      r.on('end', () => resolve({ status: r.statusCode, headers: r.headers, body: Buffer.concat(parts) }));
    }).on('error', reject);
  });
  for (const name of names) {
    const packed = await get(name, { 'Accept-Encoding': 'gzip, br' });
    const plain = await get(name, {});
    same(packed.headers['content-encoding'], 'gzip', name);
    holds(packed.headers['cache-control'].includes('immutable'), name);
    same(plain.headers['content-encoding'], undefined, name);
    holds(require('zlib').gunzipSync(packed.body).equals(plain.body), name);
    same((await get(name, { 'If-None-Match': packed.headers.etag })).status, 304, name);
    wire += packed.body.length;
  }
  const tag = (await fetch(`${server.base}/ui/`, { headers: { Cookie: cookie } })).headers.get('etag');
  same((await get('', { Cookie: cookie, 'If-None-Match': tag })).status, 304);
  console.log(`# ${wire} bytes over the wire`);
  holds(wire <= 140 * 1024, wire);
});

row('every request goes to our origin, without an error or a violation', async ({ server }) => {
  const { context, page, wrong, asked } = await open(server);
  for (const tab of await page.locator('#tabs [role=tab]:visible').all())
    await tab.click();
  await page.reload();
  await page.waitForSelector('#link[data-link=on]');
  const strange = asked.filter(u => !u.startsWith(server.base) && !u.startsWith('data:') &&
    !u.startsWith('blob:'));
  same(strange, []);
  same(wrong, []);
  await context.close();
});

row('pages of other origins can use neither cookie nor form nor WebSocket', async ({ server }) => {
  const { context, page } = await open(server);
  const evil = http.createServer((q, r) => r.setHeader('Content-Type', 'text/html')
    .end('<!doctype html><title>evil</title>'));
  await new Promise(r => evil.listen(0, r));
  const port = evil.address().port;
  for (const host of ['127.0.0.1', 'localhost']) {
    const other = await context.newPage();
    await other.goto(`http://${host}:${port}/`);
    const got = await other.evaluate(async base => {
      const out = [];
      for (const to of ['/ui/session', '/events?since=0']) {
        out.push(await fetch(base + to, { credentials: 'include' })
          .then(a => `read ${a.status}`, () => 'not read'));
      }
      await fetch(`${base}/events`, { method: 'POST', mode: 'no-cors', credentials: 'include',
        body: '{"action":"run","args":{"command":"echo evil-form"}}' });
      out.push(await new Promise(resolve => {
        const s = new WebSocket(`${base.replace('http', 'ws')}/events?since=0`, 'od.events.v1');
        s.onopen = () => s.send('{"page":"0000"}');
        s.onmessage = () => resolve('heard');
        s.onclose = () => resolve('closed');
      }));
      return out;
    }, server.base);
    same(got, ['not read', 'not read', 'closed'], host);
    await other.evaluate(base => {
      const f = document.createElement('form');
      Object.assign(f, { method: 'post', action: `${base}/events`, enctype: 'text/plain' });
      const i = document.createElement('input');
      Object.assign(i, { name: '{"action":"run","args":{"command":"echo evil-form"},"x":"', value: '"}' });
      f.append(i);
      document.body.append(f);
      f.submit();
    }, server.base);
    await other.waitForURL(`${server.base}/events`);
    const frame = await context.newPage();
    await frame.goto(`http://${host}:${port}/`);
    const framed = await frame.evaluate(base => new Promise(resolve => {
      const f = document.createElement('iframe');
      f.onload = () => resolve(f.contentDocument === null);
      f.src = `${base}/ui/`;
      document.body.append(f);
    }), server.base);
    holds(framed, 'the page is in a frame');
  }
  await server.act('run', { command: 'echo after-evil', until: 'end' });
  await shown(page, 'echo after-evil');
  same(await page.locator('#rows li:has-text("evil-form")').count(), 0);
  evil.close();
  await context.close();
});

// ---- behind a proxy

for (const [what, how, options] of [
  ['that keeps the prefix', { prefix: '/box/17', keep: true }, ['--ui-prefix', '/box/17']],
  ['that strips the prefix', { prefix: '/box/17' }, ['--ui-prefix', '/box/17']],
  ['that strips a prefix the server does not know, and Origin', { prefix: '/a', without: 'Origin' }, []],
]) {
  row(`behind a proxy ${what}: login, timeline, typing, ports, and nothing outside it`, async () => {
    const server = await serve(options), proxy = await behind(server, how);
    const { context, page, wrong, asked } = await open(proxy);
    const [cookie] = await context.cookies();
    same(cookie.path, options.length ? '/box/17/' : '/');
    await server.act('run', { command: 'echo hi-$((1+1))-behind', until: 'end' });
    await shown(page, 'hi-$((1+1))-behind');
    await page.waitForSelector('.xterm-rows:has-text("hi-2-behind")');
    await page.click('#terminal-drive');
    await page.waitForSelector('#terminal-status:text-is("You drive")');
    await page.keyboard.type('echo typed-$((3*3))\n');
    await page.waitForSelector('.xterm-rows:has-text("typed-9")');
    await page.click('#tab-ports');
    const app = http.createServer((q, r) => r.end());
    await new Promise(r => app.listen(0, '127.0.0.1', r));
    await page.waitForSelector(`#pane-ports tbody th:text-is("${app.address().port}")`);
    app.close();
    same(asked.filter(u => !u.startsWith(`${proxy.base}/`) && !/^(data|blob):/.test(u)), []);
    same(wrong, []);
    await context.close();
    server.child.kill();
  });
}

row('--ui-prefix: links have it, other paths are as they were, and it is checked', async () => {
  const server = await serve(['--ui-prefix', '/box/17', '--ui-origin', 'https://box.example.com']);
  holds(/Page: \S+:\d+\/box\/17\/ui\/#once=/.test(server.log()), server.log());
  holds(server.status().page.links[0].startsWith('https://box.example.com/box/17/ui/#once='));
  for (const [to, status] of [['/box/17/ready', 200], ['/ready', 200], ['/box/17ready', 404],
    ['/box/17', 404], ['/box/17/box/17/ready', 404]])
    same((await server.ask(to)).status, status, to);
  const made = await server.ask('/box/17/ui/session', `key=${KEY}`, { Origin: 'https://box.example.com' });
  const cookie = made.headers.get('set-cookie');
  holds(/Path=\/box\/17\/;.*; Secure$/.test(cookie), cookie);
  server.child.kill();
  for (const bad of ['box', '/box/', '/', '/a//b', '/../x', '/a b', '/a;b']) {
    const { status, stderr } = spawnSync(process.env.OD, ['serve', '--ui', '--ui-prefix', bad],
      { encoding: 'utf8' });
    holds(status !== 0 && stderr.includes('--ui-prefix'), bad, stderr);
  }
});

row('--ui-embed: that origin alone may show the page in a frame', async () => {
  const frame = http.createServer((q, r) => r.setHeader('Content-Type', 'text/html')
    .end(`<!doctype html><iframe src="${q.url.slice(1)}"></iframe>`));
  await new Promise(r => frame.listen(0, '127.0.0.1', r));
  const origin = `http://127.0.0.1:${frame.address().port}`;
  const server = await serve(['--ui-embed', origin]);
  const { context, page } = await open(server);
  for (const [host, wanted] of [[origin, true], [origin.replace('127.0.0.1', 'localhost'), false]]) {
    await page.goto(`${host}/${server.base}/ui/`);
    const inside = page.frameLocator('iframe');
    if (wanted)
      await inside.locator('#link[data-link=on]').waitFor();
    else
      same(await page.frames()[1].evaluate(() => location.href), 'chrome-error://chromewebdata/');
  }
  frame.close();
  await context.close();
  server.child.kill();
});

// ---- what is seen

row('what an agent runs is one row, with its status', async ({ server }) => {
  const { context, page } = await open(server);
  await server.act('run', { command: 'echo hi-agent; (exit 3)', until: 'end' });
  const li = await shown(page, 'hi-agent');
  await page.waitForFunction(e => e.dataset.state === 'bad', li);
  holds((await li.textContent()).includes('exit 3'));
  same(await page.locator('#rows li:has-text("hi-agent")').count(), 1);
  await context.close();
});

row('what od browse does has its address and its actions', async ({ server }) => {
  const { context, page } = await open(server);
  const env = { ...process.env, OD_SOCKET: `${server.root}/sock` };
  const browse = (...args) => same(spawnSync(OD, ['browse', '--text', ...args], { env }).status, 0, args);
  browse(`${server.base}/alive?once`);
  browse('--session', 'row', '--actions', 'noop(1)', `${server.base}/alive?stays`);
  browse('--session', 'row');
  const text = async what => (await (await shown(page, what)).$('.text')).textContent();
  same(await text('alive?once'), `${server.base}/alive?once`);
  same(await text('alive?stays'), `goto('${server.base}/alive?stays') noop(1)`);
  same(await page.locator('#rows li:has-text("object Object")').count(), 0);
  same(await page.locator('#rows .text').last().textContent(), 'look');
  await context.close();
});

row('it begins where the last action was, and follows the agent until a panel is chosen', async () => {
  const server = await serve();
  const run = (command, session) => server.act('run', { command, until: 'end' }, { session });
  const at = name => page.waitForSelector(`.terminal-bar [role=tab][aria-selected=true]:text-is("${name}")`,
    { state: 'attached' });
  const panel = name => page.waitForSelector(`#tab-${name}[aria-selected=true]`);
  // Longer than the page takes to move.
  const settled = () => page.evaluate(() => new Promise(done => setTimeout(done, 700)));
  await run('echo first', 'agent');
  const { context, page } = await open(server);
  await at('agent');
  same(await page.locator('.terminal-bar [role=tab]:text-is("main")').count(), 0);
  await run('echo second', 'other');
  await at('other');
  await server.act('write', { path: path.join(server.root, 'followed.txt'), content: 'followed' });
  await panel('files');
  await run('echo third', 'other');
  await panel('terminal');
  await page.click('#tab-ports');
  await page.waitForSelector('#follow[aria-pressed=false]');
  await run('echo fourth', 'agent');
  await shown(page, 'echo fourth');
  await settled();
  await panel('ports');
  await page.click('#follow');
  await panel('terminal');
  await at('agent');
  await page.focus('#filter-kind');
  await run('echo fifth', 'other');
  await shown(page, 'echo fifth');
  await settled();
  await at('agent');
  await page.evaluate(() => document.activeElement.blur());
  await run('echo sixth', 'other');
  await at('other');
  await page.reload();
  await panel('ports'); // the one that was chosen
  await context.close();
  server.child.kill();
});

row('output grows while the command runs', async ({ server }) => {
  const { context, page } = await open(server);
  const done = server.act('run', { command: 'echo grows-one; read -r a; echo $a-two', until: 'end' },
    { session: 'grow' });
  await (await shown(page, 'grows-one;')).$('.head').then(h => h.click());
  const text = () => page.locator('#rows li:has-text("grows-one;") pre').last().textContent();
  await until(async () => (await text()).trim() === 'grows-one', 'the first line');
  await server.act('input', { text: 'and\n' }, { session: 'grow' });
  await done;
  await until(async () => (await text()).includes('and-two'), 'the second line');
  await context.close();
});

row('a program that waits is named, and is answered by the button', async ({ server }) => {
  const { context, page } = await open(server);
  await server.act('run', { command: 'read -p "Really? " a; echo "got $a"', until: 'input' },
    { session: 'asks' });
  await page.waitForSelector('#state[data-state=waiting]');
  holds((await page.textContent('#state')).includes('bash waits for input'),
    await page.textContent('#state'));
  await page.fill('#answer-text', 'yes-sir');
  await page.click('#answer button');
  await page.waitForSelector('#answer', { state: 'hidden' });
  await page.waitForSelector('#state:not([data-state=waiting])');
  const end = await server.act('wait', {}, { session: 'asks' });
  holds(end.content.includes('got yes-sir'), end);
  await context.close();
});

row('a worker that is killed, and a server: the header has who waits, and not who waited', async () => {
  let server = await serve();
  const ask = session => server.act('run', { command: 'read -p "Really? " a; echo "got $a"', until: 'input' },
    { session });
  await ask('main');
  const first = await open(server);
  await first.page.waitForSelector('#state[data-state=waiting]');
  const again = first.page.waitForEvent('websocket', w => w.url().includes('/terminal/'));
  process.kill(server.status().worker, 'SIGKILL');
  await again;
  await first.page.waitForSelector('#link[data-link=on]');
  await first.page.waitForSelector('#terminal-status:text-is("You watch, nobody drives")');
  await first.page.waitForSelector('#state[data-state=waiting]');
  await first.page.click('#terminal-drive');
  await first.page.waitForSelector('#terminal-status:text-is("You drive")');
  await first.page.keyboard.type('typed\n');
  await first.page.waitForSelector('.xterm-rows:has-text("got typed")');
  await first.page.waitForSelector('#state[data-state=idle]');
  await first.page.click('#terminal-drive');
  await ask('main');
  await ask('other');
  await first.page.waitForSelector('#state[data-state=waiting]');
  await first.context.close();
  server.child.kill('SIGKILL');
  await until(() => new Promise(resolve => { // its worker answers until it knows
    const peer = net.connect(`${server.root}/sock`, () => resolve(false)).on('error', () => resolve(true));
    peer.unref();
  }), 'it is gone');
  server = await serve([], KEY, server.root);
  const { context, page } = await open(server);
  await shown(page, 'read -p');
  await page.waitForSelector('#state[data-state=idle]');
  await ask('main');
  await page.waitForSelector('#state[data-state=waiting]');
  await context.close();
  server.child.kill();
});

row('Stop cancels what runs', async ({ server }) => {
  const { context, page } = await open(server);
  const done = server.act('run', { command: 'sleep 600', until: 'end' }, { session: 'stopped' });
  await page.waitForSelector('#state[data-state=busy]');
  same(await page.getAttribute('#stop', 'title'), 'Stops run sleep 600 in stopped');
  await page.click('#stop');
  await page.waitForSelector('#toast:has-text("Stopped run sleep 600 in stopped")');
  const end = await done;
  holds(end.exit_code !== 0, end);
  await page.waitForSelector('#stop', { state: 'hidden' });
  await page.waitForSelector('#state[data-state=idle]');
  await context.close();
});

row('ports appear, and go', async ({ server }) => {
  const { context, page } = await open(server);
  await page.click('#tab-ports');
  const app = http.createServer((q, r) => r.end());
  await new Promise(r => app.listen(0, '127.0.0.1', r));
  const th = `#pane-ports tbody th:text-is("${app.address().port}")`;
  await page.waitForSelector(th);
  same(await page.locator(`#pane-ports tbody th:text-is("${new URL(server.base).port}")`).count(), 0);
  app.close();
  await page.waitForSelector(th, { state: 'detached' });
  await context.close();
});

row('the timeline keeps the newest 5,000, filters, and has a row for a gap', async () => {
  const server = await serve(['--events-size', '1']);
  const { context, page } = await open(server);
  await server.act('run', { command: 'echo first-of-all; (exit 1)', until: 'end' });
  await server.act('run', { command: 'echo elsewhere', until: 'end' }, { session: 'other' });
  await shown(page, 'first-of-all');
  await page.check('#filter-error');
  await until(() => page.locator('#rows li:visible').count().then(n => n === 1), 'errors alone');
  await page.uncheck('#filter-error');
  await page.selectOption('#filter-session', 'other');
  await until(() => page.locator('#rows li:visible').count().then(n => n === 1), 'one session');
  await page.selectOption('#filter-session', '');
  await page.fill('#filter-text', 'FIRST-of');
  await until(() => page.locator('#rows li:visible').count().then(n => n === 1), 'what is found');
  await page.fill('#filter-text', '');
  const at = await page.locator('#rows li:has-text("first-of-all") time').getAttribute('datetime');
  holds(Math.abs(Date.now() - new Date(at)) < 600000, at);
  await page.evaluate(async () => {
    const { page: token } = await (await fetch('session')).json();
    const socket = new WebSocket(new URL('../events', location).href.replace('http', 'ws'), 'od.events.v1');
    let ended = 0, wake = null;
    socket.onmessage = e => {
      ended += e.data.includes('"observation":"resize"');
      wake?.();
    };
    await new Promise(r => socket.onopen = r);
    socket.send(JSON.stringify({ page: token }));
    for (let sent = 0; sent < 10200; sent += 300) {
      for (let i = 0; i < 300; i++)
        socket.send('{"action":"resize","args":{"rows":24,"cols":80}}');
      while (ended < sent + 300)
        await new Promise(r => wake = r);
    }
    socket.close();
  });
  await until(() => page.locator('#rows > li').count().then(n => n === 5000), '5,000 rows');
  same(await page.locator('#rows li:has-text("first-of-all")').count(), 0);
  const bottom = await page.evaluate(() => {
    const e = document.getElementById('rows');
    return e.scrollHeight - e.scrollTop - e.clientHeight;
  });
  holds(bottom < 80, `it follows, ${bottom} from the end`);
  // All that is kept can be scrolled through; how smoothly is printed.
  const frames = await page.evaluate(async () => {
    const e = document.getElementById('rows'), times = [];
    for (let at = performance.now(), i = 40; i >= 0; i--) {
      e.scrollTop = e.scrollHeight * i / 40;
      await new Promise(r => requestAnimationFrame(r));
      times.push(-at + (at = performance.now()));
    }
    const top = e.scrollTop;
    e.scrollTop = e.scrollHeight;
    return { times, top };
  });
  same(frames.top, 0);
  console.log(`# a frame of scrolling: ${spread(frames.times)}`);
  const kept = (await (await server.ask('/events?since=0')).json()).events[0];
  same(kept.observation, 'gap');
  const late = await open(server);
  await server.act('run', { command: 'echo late', until: 'end' });
  await shown(late.page, 'echo late');
  // Of the newest 200 events; some are ends of actions that come before them.
  const rows = await late.page.locator('#rows > li').count();
  holds(rows > 50, rows);
  await late.context.close();
  await context.close();
  server.child.kill();
});

// ---- people

for (const theme of ['light', 'dark']) {
  for (const width of [1440, 390]) {
    row(`axe finds nothing: ${theme}, ${width} px wide`, async ({ server }) => {
      const form = await open(server, { key: null, width, colorScheme: theme });
      await accessible(form.page);
      await form.context.close();
      const { context, page } = await open(server, { width, height: 844, colorScheme: theme });
      await server.act('run', { command: 'echo axe; (exit 2)', until: 'end' });
      await (await shown(page, 'echo axe')).$('.head').then(h => h.click());
      for (const tab of await page.locator('#tabs [role=tab]:visible').all()) {
        await tab.click();
        await accessible(page);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      holds(wide <= 0, `${wide} px to the side`);
      await context.close();
    });
  }
}

row('390 px wide: the header takes an eighth of the screen at most, and has a menu', async ({ server }) => {
  const { context, page } = await open(server, { width: 390, height: 844 });
  await server.act('run', { command: 'read -p "Really? " a', until: 'input' }, { session: 'narrow' });
  await page.waitForSelector('#state[data-state=waiting]');
  await page.waitForSelector('#answer-text:visible');
  const { height } = await page.locator('#top').boundingBox();
  holds(height <= 844 / 8, `${height} px`);
  same(await page.locator('#theme:visible, #leave:visible').count(), 0);
  await page.focus('#more');
  await page.keyboard.press('Enter');
  same(await page.getAttribute('#more', 'aria-expanded'), 'true');
  await page.keyboard.press('Tab');
  same(await page.evaluate(() => document.activeElement.id), 'theme');
  await accessible(page);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  holds(wide <= 0, `${wide} px to the side`);
  await page.click('#leave');
  await page.waitForSelector('#key');
  await server.act('input', { text: '\n' }, { session: 'narrow' });
  await context.close();
});

row('by keyboard: every control is reached, tabs move by arrows', async ({ server }) => {
  const { context, page } = await open(server);
  await server.act('run', { command: 'echo by-keyboard', until: 'end' });
  await shown(page, 'echo by-keyboard');
  await page.click('#tab-ports');
  await page.evaluate(() => document.activeElement.blur());
  const wanted = new Set(['theme', 'leave', 'follow', 'fold', 'filter-kind', 'filter-session',
    'filter-error', 'tab-ports']);
  for (let i = 0; i < 3000 && wanted.size > 0; i++) {
    await page.keyboard.press('Tab');
    wanted.delete(await page.evaluate(() => document.activeElement.id));
  }
  same([...wanted], []);
  await page.focus('#tab-ports');
  await page.keyboard.press('Home');
  same(await page.getAttribute('#tab-terminal', 'aria-selected'), 'true');
  await page.keyboard.press('ArrowLeft');
  same(await page.evaluate(() => document.activeElement.id), 'tab-ports');
  const head = page.locator('#rows li:has-text("echo by-keyboard") .head').last();
  await head.focus();
  await page.keyboard.press('Enter');
  same(await head.getAttribute('aria-expanded'), 'true');
  await page.focus('#theme');
  for (const theme of ['light', 'dark', undefined]) {
    await page.keyboard.press('Enter');
    same(await page.evaluate(() => document.documentElement.dataset.theme), theme);
  }
  await context.close();
});

row('reduced motion: nothing moves', async ({ server }) => {
  const { context, page } = await open(server, { reducedMotion: 'reduce' });
  const running = await server.ask('/events?wait=0',
    { action: 'run', args: { command: 'sleep 600', until: 'end' }, session: 'still' });
  await page.waitForSelector('#state[data-state=busy]');
  same(await page.evaluate(() => document.getAnimations().length), 0);
  await server.act('cancel', { id: (await running.json()).id });
  await context.close();
});

const said = page => page.evaluate(() => [...document.querySelectorAll('#rows > li')].map(li =>
  [li.dataset.state, li.querySelector('.text').textContent, li.querySelector('.status').textContent]));

row('what people and programs did is in sentences, and a request that succeeded is not red', async () => {
  const server = await serve();
  await server.act('run', { command: 'true', until: 'end' });
  const { page, context, wrong } = await open(server);
  await page.waitForFunction(() => document.getElementById('terminal-status').textContent === 'You watch, nobody drives');
  await page.click('#terminal-drive');
  await page.waitForSelector('#people:has-text("you drive")');
  const other = await open(server);
  await other.page.waitForSelector('#terminal-drive:text-is("Take it from somebody")');
  await other.context.close();
  await page.locator('.xterm-helper-textarea').focus();
  await page.keyboard.type(': x');
  await shown(page, 'somebody typed');
  await page.keyboard.press('Enter');
  await page.click('#terminal-drive');
  await shown(page, 'somebody gave the keyboard back');
  const sleeping = server.act('run', { command: 'sleep 600', until: 'end' });
  await until(async () => (await said(page)).some(r => r[1] === 'sleep 600' && r[2] === 'running'), 'it runs');
  const next = server.act('run', { command: 'sleep 601', until: 'end' });
  await until(async () => (await said(page)).some(r => r[1] === 'sleep 601' && r[2] === 'waits for its turn' &&
    r[0] === 'waiting'), 'the next one waits');
  const exec = (...args) => spawnSync(OD, ['exec', '--socket', `${server.root}/sock`, ...args], { encoding: 'utf8' });
  same(exec('--kill').status, 0);
  await sleeping;
  await until(async () => (await said(page)).some(r => r[1] === 'sleep 601' && r[2] === 'running'), 'then it runs');
  same(exec('--key', 'word,Tab,C-c').status, 0);
  await next;
  await server.act('wait', {});
  await server.act('mkdir', { path: 'made' });
  await shown(page, 'mkdir made');
  const rows = await said(page);
  for (const wanted of [['done', 'somebody took the keyboard', ''], ['done', 'ended the command', 'done'],
    ['done', 'typed 4 bytes, which are not in the log, pressed Tab C-c', 'done'],
    ['done', 'waited for the command', 'exit 130'], ['bad', 'sleep 600', 'exit 143']])
    holds(rows.some(r => JSON.stringify(r) === JSON.stringify(wanted)), wanted, rows);
  const row = page.locator('#rows li', { hasText: 'pressed Tab' });
  await row.locator('.head').click();
  same(await row.locator('.details pre').allTextContents(), ['typed 4 bytes, which are not in the log, pressed Tab C-c']);
  same(wrong, []);
  await context.close();
  server.child.kill();
});

row('a password is hidden in the field and in the log; a full-screen program gets the terminal', async () => {
  const server = await serve();
  const { page, context, wrong } = await open(server);
  await server.act('run', { command: 'read -rsp "word: " x; echo "${#x} letters"', until: 'input' });
  await page.waitForSelector('#answer-text[type=password]');
  await page.waitForFunction(() => /You watch/.test(document.getElementById('terminal-status').textContent));
  same(await page.getAttribute('#answer-text', 'type'), 'password', 'when the terminal is shown');
  await page.fill('#answer-text', 'hunter-77');
  await page.click('#answer button');
  await page.waitForSelector('#answer', { state: 'hidden' });
  await shown(page, '<secret_hidden>');
  holds(!(await (await server.ask('/events?since=0')).text()).includes('hunter-77'));
  await page.click('#tab-ports');
  await server.act('run', { command: 'printf "\\033[?1049h"; read -r x; printf "\\033[?1049l"', until: 'input' });
  await page.waitForSelector('#answer button:text-is("Open the terminal")');
  same(await page.locator('#answer-text').isVisible(), false);
  await page.click('#answer button');
  await page.waitForSelector('#tab-terminal[aria-selected=true]');
  await page.waitForSelector('#rows li[data-state=waiting]:has-text("waits for input")');
  await accessible(page);
  await page.click('#tab-ports');
  await server.act('input', { text: 'x' });
  await page.waitForSelector('#rows li[data-state=running]:has-text("1049h")');
  await server.act('input', { text: '\n' });
  await page.waitForSelector('#answer', { state: 'hidden' });
  same(wrong, []);
  await context.close();
  server.child.kill();
});

// ---- the fence

row('what the fence refused can be allowed with one click, by who may drive', async () => {
  const rules = path.join(fs.mkdtempSync(path.join(process.env.T, 'fence-')), 'rules');
  fs.writeFileSync(rules, 'reach nothing\n');
  if (spawnSync(process.env.OD, ['fence', 'explain', rules]).status !== 0)
    return; // this kernel cannot, as tests/scenario/fence-allow.test says
  const server = await serve(['--fence', rules]);
  await server.act('run', { command: 'bash -c ": </dev/tcp/192.0.2.1/9"', until: 'end' });
  const viewer = await open(server, { key: server.add() });
  await viewer.page.waitForSelector('#rows li:has-text("the fence refused")');
  same(await viewer.page.locator('#rows .allow').count(), 0);
  const { page, context, wrong } = await open(server);
  const button = page.locator('#rows .allow', { hasText: 'Allow reach 192.0.2.1:9' }).first();
  await button.click();
  await page.waitForSelector('#rows li:has-text("fence_allow")');
  await until(() => server.status().fence?.added?.length === 1, 'the status has it');
  await accessible(page);
  same(wrong, []);
  await viewer.context.close();
  await context.close();
  server.child.kill();
});

runRows();
