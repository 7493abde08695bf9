// SPDX-License-Identifier: MIT
// DevTools clients of a server's own Chromium, row by row: unmodified Playwright, Puppeteer
// and Playwright MCP through /devtools, next to od's own actions.
//   devtools.cjs [PATTERN]   runs the rows whose names have it
const { KEY, behind, holds, row, runRows, same, serve, until } = require('./live.cjs');
const { chromium } = require('playwright-core');
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const http = require('http');
const net = require('net');
const path = require('path');

const FORM = `<title>form</title><h1>Form</h1>
<button id=b onclick="document.title='clicked '+(++n)">Press</button>
<button id=ask onclick="document.title='said '+prompt('Your name?')">Ask</button>
<button id=open onclick="window.open('/second')">Open</button>
<input id=text oninput="document.title='typed '+this.value">
<input id=file type=file onchange="this.files[0].text().then(t=>document.title='file '+t)">
<select id=s onchange="document.title='chose '+this.value"><option>a<option>b</select>
<a id=load href=/file download>file</a> <a id=next href=/second>next</a>
<iframe src=/inner></iframe><script>n=0</script>`;
const PAGES = {
  '/form': FORM,
  '/inner': '<title>inner</title><input id=i oninput="parent.document.title=\'inner \'+this.value">',
  '/second': '<title>second</title><p>the second page',
  '/api': '<title>api</title><p id=p>…<script>fetch("/data").then(r=>r.text()).then(t=>p.textContent=t)</script>',
  '/data': 'from the server',
  '/big': '<title>big</title>',
};
const site = http.createServer((q, r) => {
  if (q.url === '/file') {
    r.setHeader('Content-Disposition', 'attachment; filename="notes.txt"');
    r.end('notes');
    return;
  }
  if (q.url === '/hold') // never answered
    return;
  r.setHeader('Content-Type', 'text/html; charset=utf-8');
  r.end(PAGES[q.url] ?? '<title>none</title>');
});
site.listen(0, '127.0.0.1');
site.unref();
const at = to => `http://127.0.0.1:${site.address().port}${to}`;

const HEADERS = { 'X-Session-API-Key': KEY };
const base = (server, name, key = false) =>
  `${server.own}/devtools?browser=${name}${key ? `&api_key=${KEY}` : ''}`;
const playwright = (server, name, key = false) =>
  chromium.connectOverCDP(base(server, name, key), { headers: key ? {} : HEADERS });
const puppeteer = async (server, name) => {
  const { default: p } = await import(path.join(process.env.NODE_PATH, 'puppeteer-core/lib/puppeteer/puppeteer-core.js'));
  return p.connect({ browserURL: base(server, name, true), defaultViewport: null });
};
const page = (server, name, args) => server.act('page', args, { session: name });
const json = async (server, name, to, options = {}) =>
  (await fetch(`${server.own}/devtools/json${to}${to.includes('?') ? '&' : '?'}browser=${name}`,
    { headers: HEADERS, ...options })).json();
const events = async (server, name) => (await (await server.ask('/events?since=0')).json()).events
  .filter(e => e.observation === 'devtools' && e.session === name).map(e => e.extras);
const worker = server => server.status().worker;
// The Chromium and the host of a browser: descendants of the keeper.
const processes = () => execFileSync('ps', ['-eo', 'pid=,ppid=,args='], { encoding: 'utf8' }).trim().split('\n')
  .map(l => /^ *(\d+) +(\d+) (.*)$/.exec(l)).map(m => ({ pid: +m[1], parent: +m[2], args: m[3] }));
function below(pid, wanted) {
  const all = processes(), found = [];
  for (const p of all.filter(p => p.parent === pid))
    found.push(...wanted.test(p.args) ? [p] : [], ...below(p.pid, wanted));
  return found;
}

// A WebSocket of DevTools, without a library of DevTools: ws is Puppeteer's.
const WebSocket = require(require.resolve('ws', { paths: [path.join(process.env.NODE_PATH, 'puppeteer-core')] }));
async function raw(server, name, { target } = {}) {
  const url = target ? `${server.own.replace('http', 'ws')}/devtools/page/${target}?browser=${name}&api_key=${KEY}`
    : `${server.own.replace('http', 'ws')}/devtools/browser/${name}?api_key=${KEY}`;
  const socket = new WebSocket(url);
  const waiting = new Map(), seen = [];
  let id = 0;
  const closed = new Promise(resolve => socket.addEventListener('close', e => resolve({ code: e.code, reason: e.reason })));
  socket.addEventListener('message', e => {
    const m = JSON.parse(e.data);
    seen.push(m);
    waiting.get(m.id)?.(m);
  });
  socket.addEventListener('error', () => 0);
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error(`no WebSocket at ${url}`)));
  });
  return {
    socket, seen, closed,
    call: (method, params = {}, sessionId = undefined) => new Promise(resolve => {
      waiting.set(++id, resolve);
      socket.send(JSON.stringify({ id, method, params, sessionId }));
    }),
  };
}

// A person at the page's screen, who drives until done() was called.
async function person(server, name) {
  const socket = new WebSocket(`${server.own.replace('http', 'ws')}/screen/${name}`, 'od.screen.v1', { headers: HEADERS });
  const said = [];
  let pictures = 0;
  const say = what => socket.send(JSON.stringify(what));
  socket.binaryType = 'nodebuffer';
  socket.addEventListener('message', ({ data }) => {
    if (typeof data === 'string') {
      said.push(JSON.parse(data));
      return;
    }
    pictures++;
    say({ seen: data.readUInt32BE(1) });
  });
  await new Promise((resolve, reject) => {
    socket.addEventListener('open', resolve);
    socket.addEventListener('error', () => reject(new Error('no WebSocket at /screen')));
  });
  say({ name: 'ann', drive: true });
  await until(() => said.some(m => (m.driver ?? m.hello?.driver)?.name === 'ann'), 'the person drives');
  return {
    said, say,
    press: key => ['down', 'up'].forEach(kind => say({ key: { kind, key, code: key, mods: 0 } })),
    pictures: () => pictures,
    done: () => socket.close(1000),
  };
}

const ROUTES = [['GET', '/json/version'], ['GET', '/json/version/'], ['GET', '/json'], ['GET', '/json/'], ['GET', '/json/list'],
  ['GET', '/json/protocol'], ['PUT', '/json/new?about:blank'], ['GET', '/json/activate/A'], ['GET', '/json/close/A'],
  ['GET', '/browser/main'], ['GET', '/page/A']];
const upgrade = { Connection: 'Upgrade', Upgrade: 'websocket', 'Sec-WebSocket-Version': '13', 'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==' };
const status = (url, method, headers) => new Promise((resolve, reject) => {
  const q = http.request(url, { method, headers, agent: false }, a => {
    a.resume();
    resolve(a.statusCode);
  });
  q.on('upgrade', (a, socket) => {
    socket.destroy();
    resolve(a.statusCode);
  });
  q.on('error', reject);
  q.end();
});

row('each route needs a key with every right, in the head or in the query', async ({ server }) => {
  const viewer = server.add();
  for (const [method, to] of ROUTES) {
    const url = `${server.own}/devtools${to}`, socket = /^\/(browser|page)/.test(to) ? upgrade : {};
    same(await status(url, method, socket), 401, `${to} without a key`);
    // Too many wrong keys in a second are another refusal.
    await until(async () => await status(url, method, { ...socket, 'X-Session-API-Key': 'wrong' }) === 401,
      `${to} with a wrong key`);
    await until(async () => await status(`${url}${url.includes('?') ? '&' : '?'}api_key=wrong`, method, socket) === 401,
      `${to} with a wrong key in the query`);
    same(await status(url, method, { ...socket, 'X-Session-API-Key': viewer }), 403, `${to} with a view right`);
  }
  same(await events(server, 'main'), [], 'nobody joined');
});

row('/json/…: version, list, new, activate, close, no protocol', async ({ server }) => {
  const version = await json(server, 'http', '/version');
  holds(/Chrome\//.test(version.Browser), version);
  same(version['Protocol-Version'], '1.3');
  same(version.webSocketDebuggerUrl, `${server.own.replace('http', 'ws')}/devtools/browser/http`);
  same((await json(server, 'http', '/version/')).Browser, version.Browser);
  const made = await json(server, 'http', `/new?${encodeURIComponent(at('/second'))}`, { method: 'PUT' });
  same(made.type, 'page');
  await until(async () => (await json(server, 'http', '/list')).some(t => t.id === made.id && t.title === 'second'), 'the tab is listed');
  same((await json(server, 'http', '')).map(t => t.id).includes(made.id), true);
  const text = async to => (await fetch(`${server.own}/devtools/json${to}?browser=http`, { headers: HEADERS }));
  same(await (await text(`/activate/${made.id}`)).text(), 'Target activated');
  same(await (await text(`/close/${made.id}`)).text(), 'Target is closing');
  await until(async () => (await text(`/activate/${made.id}`)).status === 404, 'the tab is gone');
  same((await text('/protocol')).status, 501);
  same((await text('/new')).status, 405);
  const log = await events(server, 'http');
  same(log.find(e => e.target === made.id)?.event, 'opened');
});

row('Playwright, the key in the head: 40 steps', async ({ server }) => {
  const browser = await playwright(server, 'pw');
  const context = await browser.newContext({ acceptDownloads: true, viewport: { width: 900, height: 600 } });
  const other = await browser.newContext();
  await context.tracing.start({ screenshots: true, snapshots: true });
  const p = await context.newPage();
  await p.goto(at('/form'));
  same(await p.title(), 'form');
  await p.click('#b');
  same(await p.title(), 'clicked 1');
  await p.fill('#text', 'käse');
  same(await p.title(), 'typed käse');
  await p.selectOption('#s', 'b');
  same(await p.title(), 'chose b');
  p.once('dialog', d => d.accept('Ann'));
  await p.click('#ask');
  same(await p.title(), 'said Ann');
  p.once('dialog', d => d.dismiss());
  await p.click('#ask');
  same(await p.title(), 'said null');
  await p.frameLocator('iframe').locator('#i').fill('deep');
  same(await p.title(), 'inner deep');
  await p.setInputFiles('#file', { name: 'up.txt', mimeType: 'text/plain', buffer: Buffer.from('up') });
  await p.waitForFunction(() => document.title === 'file up');
  const [download] = await Promise.all([p.waitForEvent('download'), p.click('#load')]);
  same(download.suggestedFilename(), 'notes.txt');
  await download.saveAs(`${server.root}/notes.txt`);
  same(fs.readFileSync(`${server.root}/notes.txt`, 'utf8'), 'notes');
  const [popup] = await Promise.all([p.waitForEvent('popup'), p.click('#open')]);
  await popup.waitForLoadState();
  same(await popup.title(), 'second');
  await popup.close();
  await p.click('#next');
  await p.waitForURL(/second/);
  await p.goBack();
  await p.goForward();
  same(await p.textContent('p'), 'the second page');
  await context.route('**/data', r => r.fulfill({ body: 'from the client' }));
  await p.goto(at('/api'));
  await p.waitForFunction(() => document.getElementById('p').textContent === 'from the client');
  await context.unroute('**/data');
  await p.reload();
  await p.waitForFunction(() => document.getElementById('p').textContent === 'from the server');
  holds((await p.pdf()).subarray(0, 5).toString() === '%PDF-');
  holds((await p.screenshot()).length > 500);
  await p.exposeFunction('twice', n => 2 * n);
  same(await p.evaluate(() => globalThis.twice(21)), 42);
  await p.addInitScript(() => globalThis.early = 7);
  await p.reload();
  same(await p.evaluate(() => globalThis.early), 7);
  await context.addCookies([{ name: 'a', value: '1', url: at('/') }]);
  same((await context.cookies()).length, 1);
  same((await other.cookies()).length, 0);
  const q = await other.newPage();
  await q.goto(at('/form'));
  same(await q.evaluate(() => document.cookie), '');
  await q.keyboard.press('Tab');
  await q.mouse.move(50, 50);
  await p.emulateMedia({ colorScheme: 'dark' });
  same(await p.evaluate(() => matchMedia('(prefers-color-scheme: dark)').matches), true);
  same(await p.evaluate(() => innerWidth), 900);
  await p.setViewportSize({ width: 500, height: 400 });
  same(await p.evaluate(() => innerWidth), 500);
  await context.tracing.stop({ path: `${server.root}/trace.zip` });
  same(fs.readFileSync(`${server.root}/trace.zip`).subarray(0, 2).toString(), 'PK');
  await other.close();
  await browser.close();
  const after = await until(async () => {
    const e = await events(server, 'pw');
    return e.some(x => x.event === 'left') && e;
  }, 'it left');
  holds(after.some(e => e.event === 'navigated' && e.url === at('/form')), after);
  holds(after.some(e => e.event === 'closed'), after);
});

row('Puppeteer, the key in the query: contexts, frames, dialogs, interception, PDF', async ({ server }) => {
  const browser = await puppeteer(server, 'pp');
  const context = await browser.createBrowserContext();
  const p = await context.newPage();
  await p.goto(at('/form'));
  await p.click('#b');
  same(await p.title(), 'clicked 1');
  p.once('dialog', d => d.accept('Bob'));
  await p.click('#ask');
  same(await p.title(), 'said Bob');
  const frame = p.frames().find(f => f.url() === at('/inner'));
  await frame.type('#i', 'x');
  same(await p.title(), 'inner x');
  fs.writeFileSync(`${server.root}/up2.txt`, 'up2');
  await (await p.$('#file')).uploadFile(`${server.root}/up2.txt`);
  await p.waitForFunction(() => document.title === 'file up2');
  await p.setRequestInterception(true);
  p.on('request', r => r.url() === at('/data') ? r.respond({ body: 'intercepted' }) : r.continue());
  await p.goto(at('/api'));
  await p.waitForFunction(() => document.getElementById('p').textContent === 'intercepted');
  holds(Buffer.from((await p.pdf()).subarray(0, 5)).toString() === '%PDF-');
  const shared = await browser.newPage();
  await shared.goto(at('/second'));
  await context.close();
  await browser.disconnect();
  holds((await json(server, 'pp', '/list')).some(t => t.url === at('/second')), 'a shared tab stays');
});

row('the address that is told: behind a proxy with a prefix, and with TLS', async ({ server }) => {
  const proxy = await behind(server, { prefix: '/box/17' });
  const told = async headers => (await (await fetch(`${server.own}/devtools/json/version?api_key=${KEY}&browser=pw`, { headers })).json())
    .webSocketDebuggerUrl;
  same(await told({ 'X-Forwarded-Proto': 'https', 'X-Forwarded-Host': 'od.example', 'X-Forwarded-Prefix': '/box/17' }),
    `wss://od.example/box/17/devtools/browser/pw?api_key=${KEY}`);
  same(await told({ 'X-Forwarded-Host': 'a"b', 'X-Forwarded-Prefix': 'x y' }),
    `${server.own.replace('http', 'ws')}/devtools/browser/pw?api_key=${KEY}`);
  const browser = await chromium.connectOverCDP(`${proxy.base}/devtools?browser=pw`,
    { headers: { ...HEADERS, 'X-Forwarded-Prefix': '/box/17', 'X-Forwarded-Host': new URL(proxy.base).host } });
  const p = await (await browser.newContext()).newPage();
  await p.goto(at('/second'));
  same(await p.title(), 'second');
  await browser.close();
});

row('at --listen devtools@ Chromium\'s own paths, and over TLS', async () => {
  const root = fs.mkdtempSync(path.join(process.env.T, 'tls-'));
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2',
    '-keyout', `${root}/key.pem`, '-out', `${root}/cert.pem`, '-subj', '/CN=localhost',
    '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'], { stdio: 'ignore' });
  const server = await serve(['--listen', 'devtools@127.0.0.1:0', '--tls-cert', `${root}/cert.pem`, '--tls-key', `${root}/key.pem`],
    KEY, fs.mkdtempSync(path.join(process.env.T, 'page-')));
  const found = await until(() => /devtools@(?:https?:\/\/)?(127\.0\.0\.1:\d+)/.exec(server.log()), server.log());
  const own = `https://${found[1]}`;
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
  const browser = await chromium.connectOverCDP(own, { headers: HEADERS });
  const p = await browser.contexts()[0].newPage();
  await p.goto(at('/second'));
  same(await p.title(), 'second');
  const answer = await (await fetch(`${own}/json/version`, { headers: HEADERS })).json();
  holds(answer.webSocketDebuggerUrl.startsWith('wss://'), answer);
  same((await fetch(`${own}/json/version`)).status, 401);
  same((await fetch(`${own}/devtools/json/version`, { headers: HEADERS })).status, 404);
  await browser.close();
  delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
  server.child.kill();
});

row('two Playwrights, a person and od\'s own actions on one browser, 200 steps: nobody is disturbed', async ({ server }) => {
  const name = 'many';
  const first = await page(server, name, { url: at('/form') });
  holds(first.extras, first);
  const clients = await Promise.all([playwright(server, name), playwright(server, name, true)]);
  const tabs = [await (await clients[0].newContext()).newPage(), await clients[1].contexts()[0].newPage()];
  for (const t of tabs)
    await t.goto(at('/form'));
  tabs.forEach((t, i) => t.on('dialog', d => d.accept(`client ${i}`)));
  const drive = async i => {
    for (let n = 1; n <= 50; n++) {
      await tabs[i].click('#b');
      same(await tabs[i].title(), `clicked ${n}`);
      if (n % 5 === 0) {
        await tabs[i].click('#ask');
        same(await tabs[i].title(), `said client ${i}`);
      }
    }
  };
  const agent = async (from, to) => {
    for (let n = from; n <= to; n++) {
      const a = await page(server, name, { act: 'click', ref: 'Press' });
      same(a.extras?.title ?? a, `clicked ${n}`);
      same(a.extras.url, at('/form'));
    }
  };
  // The person's Enter presses the button that the agent clicked last; the agent waits meanwhile.
  const both = async () => {
    await agent(1, 20);
    const ann = await person(server, name);
    const waiting = agent(51, 70);
    for (let n = 21; n <= 50; n++)
      ann.press('Enter');
    await until(() => ann.said.some(m => m.tabs?.some(t => t.active && t.title === 'clicked 50')), 'the last Enter');
    holds(ann.pictures() > 0, 'the person sees');
    ann.done();
    await waiting;
  };
  await Promise.all([drive(0), drive(1), both()]);
  same(await tabs[0].evaluate(() => globalThis.n), 50);
  await Promise.all(clients.map(c => c.close()));
  await agent(71, 71);
});

row('a dialog of a shared tab is the client\'s; one that it leaves open does not stop od', async ({ server }) => {
  const name = 'dialog';
  await page(server, name, { url: at('/form') });
  const browser = await playwright(server, name);
  const [shared] = browser.contexts()[0].pages();
  shared.on('dialog', d => d.accept('the client'));
  await shared.click('#ask');
  same(await shared.title(), 'said the client');
  await browser.close();
  // A client that enables Page, and answers nothing.
  const [tab] = (await json(server, name, '/list')).filter(t => t.url === at('/form'));
  const c = await raw(server, name, { target: tab.id });
  await c.call('Page.enable');
  const asked = c.call('Runtime.evaluate', { expression: 'document.getElementById("ask").click()', userGesture: true });
  await until(() => c.seen.some(m => m.method === 'Page.javascriptDialogOpening'), 'the dialog is open');
  c.socket.close();
  asked.catch(() => 0);
  const next = await until(async () => {
    const a = await page(server, name, { act: 'click', ref: 'Press' });
    return a.extras?.title?.startsWith('clicked') && a;
  }, 'od clicks');
  holds(next.extras.title.startsWith('clicked'), next);
});

row('after a client has left, downloads of od go where they did', async ({ server }) => {
  const name = 'loads';
  await page(server, name, { url: at('/form') });
  const browser = await playwright(server, name);
  const p = await browser.contexts()[0].newPage();
  await p.goto(at('/form'));
  const [download] = await Promise.all([p.waitForEvent('download'), p.click('#load')]);
  same(await fs.promises.readFile(await download.path(), 'utf8'), 'notes');
  await browser.close();
  await until(async () => (await events(server, name)).some(e => e.event === 'left'), 'it left');
  await page(server, name, { act: 'click', ref: 'file' });
  await until(async () => JSON.stringify(await page(server, name, {})).includes('a download is complete')
    || fs.existsSync(`${server.root}/.downloads/notes.txt`), 'the download of od');
  same(fs.readFileSync(`${server.root}/.downloads/notes.txt`, 'utf8'), 'notes');
});

row('a client that leaves with a paused request lets it go', async ({ server }) => {
  const name = 'fetch';
  await page(server, name, { url: at('/second') });
  const [tab] = (await json(server, name, '/list')).filter(t => t.url === at('/second'));
  const c = await raw(server, name, { target: tab.id });
  await c.call('Fetch.enable');
  const visit = page(server, name, { url: at('/form') });
  await until(() => c.seen.some(m => m.method === 'Fetch.requestPaused'), 'the request is paused');
  c.socket.close();
  same((await visit).extras.title, 'form');
});

row('a client that attaches to everything and then stops: new tabs of others go on', async ({ server }) => {
  const name = 'wait';
  await page(server, name, { url: at('/second') });
  const c = await raw(server, name);
  await c.call('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  const other = await playwright(server, name);
  const p = await (await other.newContext()).newPage();
  await p.goto(at('/form'));
  same(await p.title(), 'form');
  await other.close();
  c.socket.close();
}, { slow: true });

row('a client that does not read is closed, and the others go on', async ({ server }) => {
  const name = 'deaf';
  await page(server, name, { url: at('/second') });
  const [tab] = (await json(server, name, '/list')).filter(t => t.url === at('/second'));
  const { port } = new URL(server.own);
  const socket = net.connect(+port, '127.0.0.1');
  await new Promise(r => socket.once('connect', r));
  socket.write(`GET /devtools/page/${tab.id}?browser=${name} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Session-API-Key: ${KEY}\r\n` +
    `${Object.entries(upgrade).map(([k, v]) => `${k}: ${v}`).join('\r\n')}\r\n\r\n`);
  await new Promise(r => socket.once('data', r));
  socket.pause();
  const send = text => {
    const bytes = Buffer.from(text), head = Buffer.from([0x81, 0xfe, bytes.length >> 8, bytes.length & 255, 0, 0, 0, 0]);
    socket.write(Buffer.concat([head, bytes]));
  };
  for (let id = 1; id <= 60; id++)
    send(JSON.stringify({ id, method: 'Runtime.evaluate', params: { expression: '"x".repeat(8 << 20)', returnByValue: true }, pad: 'x'.repeat(200) }));
  const log = await until(async () => (await events(server, name)).some(e => e.event === 'left') || /does not read/.test(server.log()), 'it is closed', 60000);
  holds(log);
  const a = await page(server, name, { url: at('/form') });
  same(a.extras.title, 'form');
  socket.destroy();
});

row('a screencast and 100 MB of answers pass', async ({ server }) => {
  const browser = await playwright(server, 'big');
  const p = await (await browser.newContext()).newPage();
  await p.goto(at('/big'));
  let all = 0;
  for (let i = 0; i < 5; i++)
    all += (await p.evaluate(() => 'y'.repeat(20 << 20))).length;
  same(all, 100 << 20);
  const sent = await p.evaluate(s => s.length, 'z'.repeat(20 << 20));
  same(sent, 20 << 20);
  const session = await p.context().newCDPSession(p);
  let frames = 0;
  session.on('Page.screencastFrame', f => {
    frames++;
    session.send('Page.screencastFrameAck', { sessionId: f.sessionId });
  });
  await session.send('Page.startScreencast', { format: 'jpeg' });
  await until(async () => {
    await p.evaluate(() => document.body.style.background = `rgb(${Math.random() * 255 | 0},0,0)`);
    return frames >= 20;
  }, 'twenty pictures');
  // An answer that is too long ends this client, and not the browser.
  const gone = new Promise(r => browser.once('disconnected', r));
  p.evaluate(() => 'w'.repeat(80 << 20)).catch(() => 0);
  await gone;
  same((await page(server, 'big', { url: at('/second') })).extras.title, 'second');
});

row('Browser.close ends the client and its contexts, and not the browser', async ({ server }) => {
  const name = 'close';
  await page(server, name, { url: at('/second') });
  const c = await raw(server, name);
  const context = (await c.call('Target.createBrowserContext')).result.browserContextId;
  const tab = (await c.call('Target.createTarget', { url: at('/form'), browserContextId: context })).result.targetId;
  same((await c.call('Browser.crash')).error?.code, -32000);
  same((await c.call('Runtime.evaluate', {}, 'F00')).error?.code, -32001);
  c.socket.send('{"id":9999,"method":"Browser.close"}');
  const { code, reason } = await c.closed;
  same(code, 1001);
  holds(/stays open/.test(reason), reason);
  await until(async () => !(await json(server, name, '/list')).some(t => t.id === tab), 'its context is closed');
  holds((await json(server, name, '/list')).some(t => t.url === at('/second')), 'the tab of od stays');
});

row('Browser.close of a client with ?close=browser closes it for all', async ({ server }) => {
  const name = 'close-all', running = () => below(server.child.pid, /chrom.*--remote-debugging-pipe/).map(p => p.pid);
  const before = running();
  await page(server, name, { url: at('/second') });
  const ours = running().filter(p => !before.includes(p));
  holds(ours.length, 'it runs');
  const other = await raw(server, name);
  const { webSocketDebuggerUrl: url } = await json(server, name, '/version?close=browser&api_key=' + KEY);
  holds(/[?&]close=browser/.test(url), url);
  const { default: p } = await import(path.join(process.env.NODE_PATH, 'puppeteer-core/lib/puppeteer/puppeteer-core.js'));
  const browser = await p.connect({ browserWSEndpoint: url, defaultViewport: null });
  await browser.close();
  same((await other.closed).code, 1001);
  await until(() => !running().some(x => ours.includes(x)), 'Chromium has ended');
  same((await page(server, name, { url: at('/second') })).extras.title, 'second');
  same(await status(`${server.own}/devtools/browser/${name}?close=tab`, 'GET', { ...HEADERS, ...upgrade }), 400);
});

row('clients of pages that are not there are closed, and take no place', async ({ server }) => {
  for (let i = 0; i < 40; i++) {
    const c = await raw(server, 'close', { target: i % 2 ? 'F00' : 'a-b' });
    const { code, reason } = await c.closed;
    same([code, /no such page/.test(reason)], [1001, true]);
  }
  const c = await raw(server, 'close');
  holds((await c.call('Browser.getVersion')).result);
  c.socket.close();
});

row('a client that sends no JSON is closed', async ({ server }) => {
  for (const text of ['{', '[]', '{"id":1,"method":"x"}}', 'x', '']) {
    const c = await raw(server, 'close');
    c.socket.send(text);
    holds([1001, 1003, 1008, 1011].includes((await c.closed).code), text);
  }
  const c = await raw(server, 'close');
  same((await c.call('Target.getTargets')).result.targetInfos.length > 0, true);
  c.socket.close();
});

row('the worker is killed: the socket closes, and the same tabs are there again', async () => {
  const server = await serve([], KEY, fs.mkdtempSync(path.join(process.env.T, 'page-')));
  const browser = await playwright(server, 'main');
  const p = await browser.contexts()[0].newPage();
  await p.goto(at('/form'));
  await p.click('#b');
  const gone = new Promise(r => browser.once('disconnected', r));
  const old = worker(server);
  process.kill(old, 'SIGKILL');
  await gone;
  const again = await until(() => playwright(server, 'main').catch(() => null), 'a new worker');
  const tab = again.contexts()[0].pages().find(t => t.url() === at('/form'));
  same(await tab.title(), 'clicked 1');
  await tab.click('#b');
  same(await tab.title(), 'clicked 2');
  await again.close();
  // Chromium itself is killed: the socket closes with the reason, and the next client has a new one.
  const c = await raw(server, 'main');
  const [program] = below(server.child.pid, /chrom.*--remote-debugging-pipe/);
  for (const { pid } of [program, ...below(program.pid, /./)])
    try {
      process.kill(pid, 'SIGKILL');
    } catch { /* it has ended */ }
  holds(/browser/.test((await c.closed).reason), (await c.closed).reason);
  const third = await playwright(server, 'main');
  const q = await third.contexts()[0].newPage();
  await q.goto(at('/second'));
  same(await q.title(), 'second');
  await third.close();
  server.child.kill();
});

row('sessions have the address, and --devtools-open needs no key', async () => {
  const server = await serve(['--listen', 'devtools@127.0.0.1:0', '--devtools-open'], KEY, fs.mkdtempSync(path.join(process.env.T, 'page-')));
  fs.writeFileSync(`${server.root}/own.cjs`, `const { chromium } = require('playwright-core');
chromium.connectOverCDP(process.env.OD_DEVTOOLS_URL).then(async b => {
  const p = await b.contexts()[0].newPage();
  await p.goto('${at('/second')}');
  console.log('title: ' + await p.title());
  await b.close();
}).catch(e => console.log('failed: ' + e.message));`);
  const a = await server.act('run', { command: `NODE_PATH=${process.env.NODE_PATH} node ${server.root}/own.cjs` });
  holds(/title: second/.test(a.content), a);
  const closed = await serve(['--listen', 'devtools@127.0.0.1:0'], KEY, fs.mkdtempSync(path.join(process.env.T, 'page-')));
  const b = await closed.act('run', { command: 'echo $OD_DEVTOOLS_URL; curl -s -o /dev/null -w "status %{http_code}" $OD_DEVTOOLS_URL/json/version' });
  holds(/http:\/\/127\.0\.0\.1:\d+\s+status 401/.test(b.content), b);
  server.child.kill();
  closed.child.kill();
});

// A server of MCP tools, and calls of them: said(NAME, ARGS) is the text of an answer.
async function tools(program, words, cwd) {
  const child = spawn(process.execPath, [path.join(process.env.NODE_PATH, program), ...words],
    { stdio: ['pipe', 'pipe', 'ignore'], cwd });
  let text = '', id = 0;
  const waiting = new Map();
  child.stdout.on('data', d => {
    text += d;
    for (let nl; (nl = text.indexOf('\n')) >= 0; text = text.slice(nl + 1)) {
      const m = JSON.parse(text.slice(0, nl));
      waiting.get(m.id)?.(m);
    }
  });
  const send = m => child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...m })}\n`);
  const ask = (method, params) => new Promise(resolve => {
    waiting.set(++id, resolve);
    send({ id, method, params });
  });
  await ask('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } });
  send({ method: 'notifications/initialized' });
  const { result: { tools: all } } = await ask('tools/list', {});
  return {
    child, names: all.map(t => t.name),
    said: async (name, args) => {
      const { result } = await ask('tools/call', { name, arguments: args });
      holds(!result.isError, result);
      return result.content.map(c => c.text).join('\n');
    },
  };
}
const there = program => fs.existsSync(path.join(process.env.NODE_PATH, program));

const PLAYWRIGHT_MCP = '@playwright/mcp/cli.js';
row('Playwright MCP lists its tools, opens a page and clicks', async ({ server }) => {
  if (!there(PLAYWRIGHT_MCP))
    return;
  const { child, names, said } = await tools(PLAYWRIGHT_MCP, ['--cdp-endpoint', base(server, 'mcp', true)], server.root);
  holds(names.includes('browser_navigate'), names);
  await said('browser_navigate', { url: at('/form') });
  const seen = await said('browser_snapshot', {});
  const ref = /button "Press".*?\[ref=(\w+)\]/.exec(seen)?.[1];
  holds(ref, seen);
  await said('browser_click', { element: 'Press', ref, target: ref });
  await until(async () => (await json(server, 'mcp', '/list')).some(t => t.title === 'clicked 1'), 'it clicked');
  child.kill();
});

const CHROME_MCP = 'chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js';
row('chrome-devtools-mcp lists its tools, opens a page and clicks', async ({ server }) => {
  if (!there(CHROME_MCP))
    return;
  const { child, names, said } = await tools(CHROME_MCP,
    ['--browserUrl', base(server, 'chrome-mcp', true), '--no-usage-statistics', '--no-performance-crux'], server.root);
  holds(names.includes('new_page'), names);
  const pages = await said('new_page', { url: at('/form') });
  const pageId = +/(\d+): [^\n]*\[selected\]/.exec(pages)[1];
  const seen = await said('take_snapshot', { pageId });
  const uid = /uid=(\S+) button "Press"/.exec(seen)?.[1];
  holds(uid, seen);
  await said('click', { pageId, uid });
  await until(async () => (await json(server, 'chrome-mcp', '/list')).some(t => t.title === 'clicked 1'), 'it clicked');
  child.kill();
});

runRows();
