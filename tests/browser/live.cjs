// SPDX-License-Identifier: MIT
// For tests of the live page in a Chromium: servers with private folders, pages of their
// own browser contexts, rows.
const { chromium } = require('playwright-core');
const { execFileSync, spawn } = require('child_process');
const fs = require('fs');
const http = require('http');
const https = require('https');
const net = require('net');
const path = require('path');

// NGINX: a path, then servers are behind an nginx, below BELOW.
const { OD, T, CHROMIUM, NGINX } = process.env;
const BELOW = '/box/17';
const KEY = 'live-page-key-0123456789abcdef';
const LIMIT = +(process.env.LIMIT_MS || 30000 * (process.env.OD_TEST_SLOW || 2));
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const rows = [];
const servers = [];
let browser = null;

// What names of the rows to come begin with; null: all of them are run.
let only = null;

// slow: it waits for a time of the product, so it is begun first, and runs next to others.
function row(name, run, { slow = false } = {}) {
  const found = only?.find(o => name.startsWith(o));
  if (only && !found)
    return;
  only?.splice(only.indexOf(found), 1);
  rows.push({ name, run, slow });
}

function same(got, wanted, about = '') {
  const [a, b] = [JSON.stringify(got), JSON.stringify(wanted)];
  if (a !== b)
    throw new Error(`${about} got ${a}, wanted ${b}`);
}

function holds(what, ...about) {
  if (!what)
    throw new Error(about.map(a => typeof a === 'string' ? a : JSON.stringify(a)).join(' '));
}

async function until(what, about, limit = LIMIT) {
  const end = Date.now() + limit;
  for (;;) {
    const got = await what();
    if (got)
      return got;
    holds(Date.now() < end, `timed out: ${typeof about === 'function' ? about() : about}`);
    await new Promise(r => setTimeout(r, 50));
  }
}

const isReady = at => new Promise(resolve => {
  (at.startsWith('https') ? https : http).get(`${at}/ready`, { rejectUnauthorized: false, agent: false }, a => {
    a.resume();
    resolve(a.statusCode === 200);
  }).on('error', () => resolve(false));
});

async function serve(options = [], key = KEY, root = fs.mkdtempSync(path.join(T, 'page-'))) {
  const env = { ...process.env, OD_SOCKET: `${root}/sock`, OD_STATE_DIR: `${root}/state` };
  delete env.SESSION_API_KEY;
  if (key)
    env.SESSION_API_KEY = key;
  if (NGINX)
    options = ['--ui-prefix', BELOW, ...options];
  const child = spawn(OD, ['serve', '--ui', '--listen', '127.0.0.1:0', ...options],
    { env, cwd: root, stdio: ['ignore', 'ignore', fs.openSync(`${root}/log`, 'w')] });
  const log = () => fs.readFileSync(`${root}/log`, 'utf8');
  servers.push(child);
  const [, scheme, at] = await until(() => /(https?) (127\.0\.0\.1:\d+)/.exec(log()), log());
  const own = `${scheme}://${at}`;
  await until(() => isReady(own), 'it is ready');
  const base = NGINX ? await nginx(own) : own;
  const ask = (to, body, headers = {}) => fetch(own + to, {
    method: body === undefined ? 'GET' : 'POST', redirect: 'manual',
    body: typeof body === 'object' ? JSON.stringify(body) : body,
    headers: { ...key && { 'X-Session-API-Key': key }, ...headers },
  });
  return {
    root, base, own, child, log, ask,
    act: async (action, args, more = {}) =>
      (await ask('/events', { action, args, ...more })).json(),
    status: () => JSON.parse(execFileSync(OD, ['serve', '--status', '--json', '--socket',
      `${root}/sock`])).servers[0],
    add: () => execFileSync(OD, ['serve', '--key-add', 'viewer', '--view', '--socket',
      `${root}/sock`], { encoding: 'utf8' }).trim(),
  };
}

// A reverse proxy at a port of its own. Its addresses begin with prefix, which it keeps or
// takes away; without says which field of requests it drops; down() and up() are a
// network that is lost, and back. Returns what open() wants.
async function behind(server, { prefix = '', keep = false, without = '' } = {}) {
  const to = new URL(server.base), sockets = new Set();
  let off = false;
  const change = q => {
    const headers = { ...q.headers };
    delete headers[without.toLowerCase()];
    const path = keep ? q.url : q.url.slice(prefix.length);
    // A connection of its own each: one that is kept may be closed just when it is used.
    return { hostname: to.hostname, port: to.port, method: q.method, path, headers, agent: false };
  };
  const proxy = http.createServer((q, r) => {
    if (!q.url.startsWith(`${prefix}/`)) {
      r.writeHead(404).end();
      return;
    }
    q.pipe(http.request(change(q), a => a.pipe(r.writeHead(a.statusCode, a.rawHeaders)))
      .on('error', () => r.destroy()));
  });
  proxy.on('upgrade', (q, socket, head) => {
    const { path, headers } = change(q);
    const on = net.connect(to.port, to.hostname, () => {
      on.write(`GET ${path} HTTP/1.1\r\n${Object.entries(headers).map(([k, v]) =>
        `${k}: ${v}`).join('\r\n')}\r\n\r\n`);
      on.write(head);
      socket.pipe(on).pipe(socket);
    });
    for (const [a, b] of [[socket, on], [on, socket]])
      a.on('error', () => b.destroy()).on('close', () => b.destroy());
  });
  proxy.on('connection', socket => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    if (off)
      socket.resetAndDestroy();
  });
  await new Promise(r => proxy.listen(0, '127.0.0.1', r));
  proxy.unref();
  return {
    base: `http://127.0.0.1:${proxy.address().port}${prefix}`,
    down() {
      off = true;
      sockets.forEach(s => s.resetAndDestroy());
    },
    up() {
      off = false;
    },
  };
}

const freePort = () => new Promise(resolve => {
  const s = net.createServer().listen(0, '127.0.0.1', () => {
    const { port } = s.address();
    s.close(() => resolve(port));
  });
});

// An nginx in front of a server, with a private folder: what core/front/live_page/README.md
// has for one. keep: requests keep BELOW. Returns its address, with BELOW.
async function nginx(to, keep = false) {
  const root = fs.mkdtempSync(path.join(T, 'nginx-'));
  const mine = path.basename(root);
  for (;;) {
    const port = await freePort();
    fs.writeFileSync(`${root}/conf`, `
daemon off;
pid pid;
worker_processes 1;
${process.getuid() === 0 ? 'user root;' : ''}
events { }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(n => `${n}_temp_path ${n};`).join(' ')}
  map $http_upgrade $upgrade { default upgrade; '' close; }
  server {
    listen 127.0.0.1:${port};
    location = /${mine} { return 204; }
    location ${BELOW}/ {
      proxy_pass ${to}${keep ? '' : '/'};
      proxy_http_version 1.1;
      proxy_set_header Host $http_host;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection $upgrade;
      proxy_buffering off;
      proxy_request_buffering off;
      proxy_read_timeout 1h;
      client_max_body_size 0;
    }
  }
}
`);
    const child = spawn(NGINX, ['-p', root, '-e', 'log', '-c', 'conf'], { cwd: root,
      stdio: ['ignore', 'ignore', fs.openSync(`${root}/said`, 'a')] });
    let ended = false;
    child.on('error', () => ended = true).on('exit', () => ended = true);
    const up = () => fetch(`http://127.0.0.1:${port}/${mine}`).then(a => a.status === 204, () => false);
    const said = () => fs.readFileSync(`${root}/said`, 'utf8');
    if (await until(async () => await up() ? 'up' : ended && 'ended', 'nginx answers') === 'up') {
      servers.push(child);
      return `http://127.0.0.1:${port}${BELOW}`;
    }
    // Another program took the port in between.
    holds(said().includes('Address already in use'), said());
    fs.truncateSync(`${root}/said`);
  }
}

// A page of its own browser context; what goes wrong in it is in `wrong`.
// spy: a function that runs before the page's own script.
async function open(server, { key = KEY, width = 1440, height = 900, at = '/ui/', spy, ...more } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, ...more });
  const page = await context.newPage();
  if (spy)
    await page.addInitScript(spy);
  page.setDefaultTimeout(LIMIT);
  const wrong = [], asked = [];
  page.on('console', m => ['error', 'warning'].includes(m.type()) && wrong.push(m.text()));
  page.on('pageerror', e => wrong.push(String(e)));
  page.on('request', r => asked.push(r.url()));
  await page.goto(server.base + at);
  if (key) {
    await page.fill('#key', key);
    await page.click('button[type=submit]');
    await page.waitForSelector('#link[data-link=on]');
    wrong.splice(0); // the 401 of the form
  }
  return { context, page, wrong, asked };
}

const shown = (page, text) => page.waitForSelector(`#rows li:has-text("${text}")`);

// The rows of the terminal that are seen, without blanks at their ends.
const screenOf = page => page.evaluate(() => [...document.querySelectorAll('.xterm-rows > div')]
  .map(d => d.textContent.replace(/\u00a0/g, ' ').trimEnd()));

// Types n keys into a terminal that echoes them, each when the one before is seen, 40 to a
// line. Returns the milliseconds from the event of each key to the end of the frame
// that has its glyph.
async function glyphs(page, n) {
  await page.evaluate(() => {
    let line = '', at = 0, wanted = null;
    const times = globalThis.odGlyphs = [];
    addEventListener('keydown', e => {
      at = performance.now();
      line = e.key === 'Enter' ? '' : line + e.key;
      wanted = line || null;
    }, true);
    const seen = () => [...document.querySelectorAll('.xterm-rows > div')]
      .some(d => d.textContent.replace(/\u00a0/g, ' ').trimEnd() === wanted);
    new MutationObserver(() => {
      if (wanted === null || !seen())
        return;
      wanted = null;
      const channel = new MessageChannel();
      // Messages come after the frame in which this runs.
      channel.port1.onmessage = () => times.push(performance.now() - at);
      channel.port2.postMessage(0);
    }).observe(document.querySelector('.xterm-rows'), { subtree: true, childList: true, characterData: true });
  });
  for (let i = 0; i < n; i++) {
    if (i % 40 === 0)
      await page.keyboard.press('Enter');
    await page.keyboard.press('abcdefghijklmnopqrstuvwxyz'[i % 26]);
    await page.waitForFunction(k => globalThis.odGlyphs.length === k, i + 1);
  }
  return page.evaluate(() => globalThis.odGlyphs);
}

const at = (times, share) => times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * share)];
const spread = times => `p50 ${at(times, 0.5).toFixed(1)} ms, p99 ${at(times, 0.99).toFixed(1)} ms`;

// The private memory of keeper and worker, in KiB. Their user may read `status`, not `smaps`.
const memory = server => [server.child.pid, server.status().worker].map(pid =>
  Number(/^RssAnon:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1])).reduce((a, b) => a + b);

// What axe finds in a page: nothing.
async function accessible(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document,
    { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
  same(found.violations.map(v => [v.id, v.nodes.map(n => n.target.join(' ')).slice(0, 4)]), []);
}

// The page in both themes, wide and narrow: accessible, and no wider than the window. A
// picture of each goes to the folder SHOTS, if that is given.
async function looks(page, name) {
  for (const [theme, width] of [['light', 1440], ['dark', 1440], ['dark', 390], ['light', 390]]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.setViewportSize({ width, height: 844 });
    await accessible(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    holds(wide <= 0, `${name}: ${wide} px to the side`);
    if (process.env.SHOTS)
      await page.screenshot({ path: `${process.env.SHOTS}/${name}-${theme}-${width}.png` });
  }
}

async function launch() {
  browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
  return browser;
}

async function finish(status) {
  await browser.close();
  servers.forEach(s => s.kill());
  process.exit(status);
}

// Runs the rows of all files that were loaded, in their order: those whose names have what
// the command line names.
let due = false;
function runRows() {
  if (!due)
    setImmediate(runAll);
  due = true;
}

async function runAll() {
  same(only ?? [], [], 'rows that are not there:');
  const wanted = rows.filter(r => r.name.includes(process.argv[2] || '')).sort((a, b) => a.slow - b.slow);
  await launch();
  const server = await serve();
  const begun = new Map(wanted.filter(r => r.slow).map(r => [r.run, r.run({ server }).then(() => null, e => e)]));
  let bad = 0;
  for (const [i, { name, run }] of wanted.entries()) {
    try {
      const failed = await (begun.get(run) ?? run({ server }));
      if (failed)
        throw failed;
      console.log(`ok ${i + 1} - ${name}`);
    } catch (e) {
      bad++;
      console.log(`not ok ${i + 1} - ${name}`);
      console.log(String(e.stack).split('\n').slice(0, 12).map(l => `# ${l}`).join('\n'));
    }
  }
  console.log(`1..${wanted.length}`);
  await finish(bad ? 1 : 0);
}

module.exports = { BELOW, KEY, LIMIT, accessible, at, behind, finish, glyphs, holds, launch, looks, memory, nginx,
  only: names => only = names, open, row, runRows, same, screenOf, serve, shown, spread, until };
