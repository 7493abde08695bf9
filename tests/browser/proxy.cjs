// SPDX-License-Identifier: MIT
// Apps of a sandbox at /proxy/ and in the page's Ports panel, in a Chromium, row by row.
//   proxy.cjs [PATTERN]   runs the rows whose names have it
const { KEY, accessible, behind, holds, open, row, runRows, same, serve, until } = require('./live.cjs');
const { app } = require('./proxy_app.cjs');
const { execFileSync } = require('child_process');
const fs = require('fs');
const http = require('http');
const https = require('https');

const POLICY = 'sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads';
const th = port => `#pane-ports tbody th:text-is("${port}")`;

// The address with a token that the page has for a port.
const addressOf = async (page, port) => until(() => page.evaluate(async p => {
  const { page: token } = await (await fetch('session')).json();
  const { ports } = await (await fetch('ports', { headers: { 'X-OD-Page': token } })).json();
  const found = ports.find(x => x.port === p)?.app;
  return found && new URL('../' + found, location.href).href;
}, port), `port ${port}`);

const frameAt = (page, address) => until(() => page.frames().find(f => f.url() === address), address);

// What a page of the app sees, and what it may do: the same in a frame and in a tab.
async function isOpaque(frame, other) {
  const got = await frame.evaluate(async ({ other }) => {
    const tried = async f => {
      try {
        return String(await f());
      } catch (e) {
        return e.name;
      }
    };
    const text = (to, init) => tried(async () => (await fetch(to, init)).text());
    const socket = to => new Promise(r => {
      const w = new WebSocket(to);
      w.onopen = () => r('open');
      w.onerror = () => r('refused');
    });
    return {
      origin: self.origin,
      parent: await tried(() => parent === self ? 'none' : parent.document.title),
      opener: String(opener),
      storage: await tried(() => localStorage.length),
      cookie: await tried(() => document.cookie),
      worker: await tried(() => navigator.serviceWorker.register('classic.js')),
      routes: [await text('/ui/session'), await text('/alive'), await text('/ui/ports'),
        await text('/events', { method: 'POST', credentials: 'include', body: '{"action":"run"}' })],
      socket: await socket(`ws://${location.host}/events`),
      others: await Promise.all(other.map(o => text(o))),
    };
  }, { other });
  same(got, { origin: 'null', parent: got.parent === 'none' ? 'none' : 'SecurityError', opener: 'null',
    storage: 'SecurityError', cookie: 'SecurityError',
    worker: got.worker === 'TypeError' ? 'TypeError' : 'SecurityError', routes: Array(4).fill('TypeError'),
    socket: 'refused', others: other.map(() => 'TypeError') });
}

// The page of the app, with all that it asks its own server for.
async function works(frame, site) {
  await frame.waitForFunction(() => globalThis.moduled === 'imported' && globalThis.classic &&
    document.getElementById('picture').naturalWidth === 7 &&
    getComputedStyle(document.getElementById('text')).color === 'rgb(1, 2, 3)');
  const got = await frame.evaluate(async () => {
    const asked = await (await fetch('echo?q=%20', { method: 'PUT', credentials: 'include',
      headers: { 'Authorization': 'Bearer mine', 'X-Mine': 'yes', 'Content-Type': 'application/json' },
      body: '{}' })).json();
    const events = await new Promise((resolve, reject) => {
      const s = new EventSource('events'), all = [];
      s.onmessage = e => all.push(e.data) === 2 && (s.close(), resolve(all));
      s.onerror = reject;
    });
    return { asked, events };
  });
  same(got.events, ['first', 'second']);
  same([got.asked.method, got.asked.url.replace(/^\/absproxy\/\d+/, ''), got.asked.body], ['PUT', '/echo?q=%20', '{}']);
  const { headers } = got.asked;
  same([headers.authorization, headers['x-mine'], headers.origin, headers.referer, headers['sec-fetch-site']],
    ['Bearer mine', 'yes', undefined, undefined, site]);
  const text = JSON.stringify(headers);
  holds(!text.includes('od_') && !text.includes(KEY) && !/x-od-page|x-session-api-key/.test(text), text);
  return headers;
}

row('a program that the agent starts appears, its app shows, and goes with it', async ({ server }) => {
  const { context, page, wrong } = await open(server);
  await page.click('#tab-ports');
  fs.writeFileSync(`${server.root}/index.html`, '<!doctype html><title>Mine</title><h1>From python</h1>');
  const start = async () => {
    const { content } = await server.act('run', { until: 'end', command:
      `cd ${server.root} && (python3 -u -m http.server --bind 127.0.0.1 0 >py 2>&1 & echo pid $!) && ` +
      'until grep -q port py; do :; done; cat py' });
    return [/pid (\d+)/.exec(content)[1], /port (\d+)/.exec(content)[1]];
  };
  const [pid, port] = await start();
  await page.waitForSelector(th(port));
  await page.click(`button[aria-label="Show port ${port}"]`);
  const frame = page.frameLocator('#pane-ports iframe');
  await frame.locator('h1:text-is("From python")').waitFor();
  same(await page.getAttribute('#pane-ports iframe', 'sandbox'), POLICY.replace('sandbox ', ''));
  same(wrong, []);
  await accessible(page); // it sends messages to the frame, which the browser reports
  wrong.splice(0);
  process.kill(Number(pid), 'SIGKILL');
  await page.waitForSelector(th(port), { state: 'detached' });
  await page.waitForSelector('#pane-ports iframe', { state: 'detached' });
  same(wrong, []);
  await context.close();
});

row('an app in the panel: its page works, and reaches nothing of ours', async ({ server }) => {
  const [one, two] = [await app(), await app()];
  const { context, page } = await open(server);
  await page.click('#tab-ports');
  await page.click(`button[aria-label="Show port ${one.port}"]`);
  const address = await addressOf(page, one.port);
  const frame = await frameAt(page, address);
  const headers = await works(frame);
  same(headers['x-forwarded-prefix'], new URL(address).pathname.slice(0, -1));
  same(headers.host, `localhost:${one.port}`);
  const token = address.split('~')[1];
  await isOpaque(frame, [`/proxy/${two.port}/`, `/proxy/${two.port}~${token}`, `/absproxy/${two.port}~${token}`]);
  await frame.click('#next');
  await frame.click('#back');
  await works(frame);
  await frame.click('#form button');
  await frame.waitForFunction(() => document.body.textContent.includes('"body":"a=1"'));
  same(await page.title(), await page.evaluate(() => document.title), 'our page');
  [one, two].forEach(a => a.end());
  await context.close();
});

row('an app in a tab: by the link, by a typed address, and without a login', async ({ server }) => {
  const one = await app();
  const { context, page } = await open(server);
  await page.click('#tab-ports');
  await page.waitForSelector(th(one.port));
  const [tab] = await Promise.all([context.waitForEvent('page'),
    page.click(`tr:has(th:text-is("${one.port}")) a`)]);
  await works(tab.mainFrame());
  await isOpaque(tab.mainFrame(), [`/proxy/${one.port}/`]);
  const typed = await context.newPage();
  await typed.goto(`${server.base}/proxy/${one.port}/two?x#y`);
  same([typed.url(), await typed.title()],
    [`${await addressOf(page, one.port)}two?x#y`, 'Second']);
  await typed.goto(`${server.base}/proxy/${one.port}`);
  same(typed.url(), await addressOf(page, one.port));
  await isOpaque(typed.mainFrame(), []);
  // The page logs out: its addresses end.
  const address = await addressOf(page, one.port);
  same((await fetch(address)).status, 200);
  await page.click('#leave');
  await page.waitForSelector('#key');
  same((await typed.goto(address)).status(), 403);
  holds((await typed.content()).includes('opened from the page'), await typed.content());
  same((await typed.goto(`${server.base}/proxy/${one.port}/`)).status(), 403);
  one.end();
  await context.close();
});

row('a WebSocket: subprotocol, 1 MiB messages, close code', async ({ server }) => {
  const one = await app();
  const { context, page } = await open(server);
  const tab = await context.newPage();
  await tab.goto(await addressOf(page, one.port));
  const got = await tab.evaluate(() => new Promise(resolve => {
    const w = new WebSocket(new URL('hmr', location.href.replace('http', 'ws')), ['other', 'vite-hmr']);
    const out = { sizes: [] };
    w.binaryType = 'arraybuffer';
    w.onmessage = e => {
      if (!out.headers) {
        out.headers = JSON.parse(e.data);
        out.protocol = w.protocol;
        w.send(new Uint8Array(1 << 20).fill(7));
        w.send('käse');
      } else {
        out.sizes.push(e.data.byteLength ?? e.data);
        if (out.sizes.length === 2)
          w.send('close');
      }
    };
    w.onclose = e => resolve({ ...out, code: e.code, reason: e.reason });
  }));
  same([got.protocol, got.sizes, got.code, got.reason], ['vite-hmr', [1 << 20, 'käse'], 4321, 'as asked']);
  same([got.headers.origin, got.headers.host],
    [`http://localhost:${one.port}`, `localhost:${one.port}`]);
  one.end();
  await context.close();
});

row('redirects and cookies stay below the app, policies are ours and theirs', async ({ server }) => {
  const [one, kept] = [await app(), await app()];
  const { context, page } = await open(server);
  const address = await addressOf(page, one.port), base = new URL(address).pathname;
  const get = (to, headers = {}, method = 'GET') => new Promise((resolve, reject) => {
    const q = http.request(to, { method, headers }, r => (r.resume(), resolve(r)));
    q.on('error', reject).end();
  });
  for (const [to, wanted] of [['/two?a=1', 'two?a=1'], [`http://localhost:${one.port}/two`, 'two'],
    ['two', 'two']]) {
    const a = await get(`${address}redirect?${encodeURIComponent(to)}`);
    same([a.statusCode, new URL(a.headers.location, address).href], [302, address + wanted], to);
    same(a.headers['set-cookie'], [`mine=1; Path=${base}`]);
    same(a.headers['content-security-policy'],
      `default-src 'self'; object-src 'none', ${POLICY}`);
    for (const name of ['x-frame-options', 'service-worker-allowed', 'clear-site-data',
      'cross-origin-opener-policy'])
      same(a.headers[name], undefined, name);
    same(a.headers['cross-origin-resource-policy'], 'cross-origin');
  }
  await page.goto(`${address}redirect?two`);
  same(await page.title(), 'Second');
  const keyed = { 'X-Session-API-Key': KEY }, prefix = `${server.base}/absproxy/${kept.port}`;
  const a = await get(`${prefix}/redirect?${encodeURIComponent(`/absproxy/${kept.port}/two`)}`, keyed);
  same(a.statusCode, 200, 'the whole path reaches the app');
  const told = await (await fetch(`${prefix}/a%2fb?c=%20`, { headers: keyed })).json();
  same([told.url, told.headers['x-forwarded-prefix']],
    [`/absproxy/${kept.port}/a%2fb?c=%20`, `/absproxy/${kept.port}`]);
  for (const [to, headers, status] of [
    [`/proxy/${one.port}/`, {}, 403], [`/proxy/${one.port}/`, { 'X-Session-API-Key': 'wrong' }, 403],
    [base, { 'Service-Worker': 'script' }, 403], [base.slice(0, -2) + '/', {}, 403], [base, { Origin: 'http://evil.example' }, 403],
    [base.replace(one.port, kept.port), keyed, 403], [`/proxy/0/`, keyed, 404],
    [`/proxy/${new URL(server.base).port}/`, keyed, 403], [base.slice(0, -1), {}, 308],
    [base, { Origin: 'null' }, 200], ['/alive', { Origin: 'null' }, 403], ['/alive', {}, 200]]) {
    const got = await get(server.base + to, headers);
    same(got.statusCode, status, `${to} ${JSON.stringify(headers)}`);
    holds(to === '/alive' || got.headers['content-security-policy'].includes(POLICY), to);
  }
  [one, kept].forEach(x => x.end());
  await context.close();
});

row('an app that keeps its path: the address with a token shows its page', async ({ server }) => {
  const one = await app();
  one.server.removeAllListeners('request');
  const { context, page } = await open(server);
  one.server.on('request', (q, r) => r.writeHead(200, { 'Content-Type': 'text/html' })
    .end(`<!doctype html><title>${q.url}</title>`));
  const address = (await addressOf(page, one.port)).replace('/proxy/', '/absproxy/');
  await page.goto(`${address}x`);
  same(await page.title(), `/absproxy/${one.port}/x`);
  await page.goto(`${server.base}/absproxy/${one.port}/y`);
  same([await page.title(), page.url()], [`/absproxy/${one.port}/y`, `${address}y`]);
  one.end();
  await context.close();
});

row('pages of other sites and ports cannot use the cookie', async ({ server }) => {
  const one = await app();
  const { context } = await open(server);
  const evil = http.createServer((q, r) => r.writeHead(200, { 'Content-Type': 'text/html' })
    .end('<!doctype html><title>Evil</title>'));
  await new Promise(r => evil.listen(0, r));
  for (const host of ['127.0.0.1', 'localhost']) {
    const page = await context.newPage();
    await page.goto(`http://${host}:${evil.address().port}/`);
    const got = await page.evaluate(async ({ base, port, file }) => {
      const text = JSON.stringify({ action: 'run', args: { command: `touch ${file}` } });
      const tried = (to, init) => fetch(base + to, { credentials: 'include', ...init }).then(() => 'read', () => 'no');
      const socket = new Promise(r => {
        const w = new WebSocket(base.replace('http', 'ws') + '/events', 'od.events.v1');
        w.onopen = () => w.send(text);
        w.onmessage = e => r('message ' + e.data);
        w.onclose = () => r('no');
      });
      const form = document.createElement('form'), into = document.createElement('iframe');
      into.name = 'into';
      Object.assign(form, { method: 'post', enctype: 'text/plain', action: base + '/events', target: 'into' });
      const input = document.createElement('input');
      [input.name, input.value] = [text.slice(0, -1) + ',"x":"', '"}'];
      form.append(input);
      document.body.append(into, form);
      const sent = new Promise(r => {
        into.onload = r;
      });
      form.submit();
      await sent;
      return [await tried('/events', { method: 'POST', mode: 'no-cors', body: text }).then(() => 'no'),
        await tried('/events', { method: 'POST', body: text }), await tried('/ui/session'),
        await tried('/ui/ports'), await tried(`/proxy/${port}/echo`), await socket];
    }, { base: server.base, port: one.port, file: `${server.root}/evil` });
    same(got, Array(6).fill('no'), host);
    // In a frame, nothing of the app is shown.
    await page.evaluate(src => {
      document.body.innerHTML = `<iframe src="${src}"></iframe>`;
    }, `${server.base}/proxy/${one.port}/two`);
    await until(() => page.frames()[1]?.url().startsWith(server.base), 'a frame');
    await page.frames()[1].waitForLoadState();
    holds(await page.frames()[1].title() !== 'Second', host);
    await page.close();
  }
  await server.act('run', { command: 'true', until: 'end' });
  holds(!fs.existsSync(`${server.root}/evil`), 'a foreign page ran a command');
  evil.close();
  one.end();
  await context.close();
});

for (const without of ['', 'Origin']) {
  row(`below /box/17/ of a proxy${without ? ' that drops Origin' : ''}: panel, page, WebSocket`, async ({ server }) => {
    const one = await app();
    const proxy = await behind(server, { prefix: '/box/17', without });
    const { context, page } = await open(proxy);
    await page.click('#tab-ports');
    await page.click(`button[aria-label="Show port ${one.port}"]`);
    const address = await addressOf(page, one.port);
    holds(address.startsWith(`${proxy.base}/proxy/`), address);
    const frame = await frameAt(page, address);
    await works(frame);
    await frame.evaluate(() => new Promise((resolve, reject) => {
      const w = new WebSocket(new URL('hmr', location.href.replace('http', 'ws')));
      w.onmessage = resolve;
      w.onerror = reject;
    }));
    await frame.evaluate(() => {
      location.href = 'redirect?%2Ftwo';
    });
    await frameAt(page, `${address}two`);
    const typed = await context.newPage();
    await typed.goto(`${proxy.base}/proxy/${one.port}/two`);
    same(typed.url(), `${address}two`);
    one.end();
    await context.close();
  });
}

row('--preview-host: an app has an origin of its own, and nothing of ours', async () => {
  const server = await serve(['--preview-host', 'PORT.box.localhost']);
  const [one, two] = [await app(), await app()];
  // A browser knows names under localhost; the first is another site than the page's.
  const { context, page, wrong } = await open(server);
  await page.click('#tab-ports');
  const opened = async port => {
    await page.waitForSelector(th(port));
    const [tab] = await Promise.all([context.waitForEvent('page'),
      page.click(`tr:has(th:text-is("${port}")) a:has-text("Open at its own host")`)]);
    const own = `http://${port}.box.localhost:${new URL(server.base).port}`;
    await tab.waitForURL(`${own}/`);
    return [tab, own];
  };
  const [tab, own] = await opened(one.port);
  const [other, theirs] = await opened(two.port);
  const headers = await works(tab.mainFrame(), 'same-origin');
  same([headers['x-forwarded-prefix'], headers.host], [undefined, `localhost:${one.port}`]);
  const got = await tab.evaluate(async ({ base, theirs }) => {
    const tried = (to, init) => fetch(to, { credentials: 'include', ...init }).then(a => a.status, () => 'no');
    localStorage.setItem('k', 'stored');
    document.cookie = 'mine=1';
    const socket = to => new Promise(r => {
      const w = new WebSocket(to);
      w.onopen = () => r('open');
      w.onerror = () => r('refused');
    });
    const inFrame = await new Promise(r => {
      const f = document.createElement('iframe');
      f.onload = () => r('loaded');
      f.src = theirs + '/two';
      document.body.append(f);
    });
    return { origin: self.origin, cookie: document.cookie, opener: String(opener), inFrame,
      stored: localStorage.getItem('k'), worker: await navigator.serviceWorker.register('worker.js')
        .then(() => 'registered', e => e.name),
      ours: [await tried(base + '/ui/session'), await tried(base + '/ui/ports'),
        await tried(base + '/events', { method: 'POST', body: '{"action":"run"}' })],
      theirs: await tried(theirs + '/echo'), own: await socket(`ws://${location.host}/hmr`),
      socket: await socket(theirs.replace('http', 'ws') + '/hmr') };
  }, { base: server.base, theirs });
  same(got, { origin: own, cookie: 'mine=1', opener: 'null', inFrame: 'loaded', stored: 'stored',
    worker: 'registered', ours: ['no', 'no', 'no'], theirs: 'no', own: 'open', socket: 'refused' });
  // Not even a request of the other app's page reaches the app.
  const asked = [];
  two.server.on('request', q => asked.push(q.url));
  await tab.evaluate(to => new Promise(r => {
    const i = new Image();
    i.onload = i.onerror = r;
    i.src = to + '/picture.svg';
  }), theirs);
  same(asked, []);
  same(await other.evaluate(() => localStorage.length), 0);
  // The address without the token, and after the page has logged out.
  await tab.goto(`${own}/two`);
  same(await tab.title(), 'Second');
  same(wrong, []);
  await page.bringToFront();
  await accessible(page);
  await page.setViewportSize({ width: 390, height: 844 });
  holds(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), 'it scrolls sideways');
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.click('#leave');
  await page.waitForSelector('#key');
  const late = await context.newPage();
  same((await late.goto(`${own}/two?x`)).status(), 401);
  holds((await late.content()).includes('under Ports'), await late.content());
  [one, two].forEach(a => a.end());
  await context.close();
  server.child.kill();
});

row('--preview-host over TLS of our own, with a certificate for *.box.localhost', async () => {
  const [cert, key] = ['cert', 'key'].map(n => `${process.env.T}/wild.${n}`);
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes',
    '-days', '2', '-subj', '/CN=box', '-addext', 'subjectAltName=DNS:box.localhost,DNS:*.box.localhost',
    '-keyout', key, '-out', cert], { stdio: 'pipe' });
  const server = await serve(['--preview-host', 'PORT.box.localhost', '--tls-cert', cert, '--tls-key', key]);
  const [one, two] = [await app(), await app()], { port } = new URL(server.own);
  const name = a => `${a.port}.box.localhost`;
  // A client that knows this certificate alone checks it by the app's name.
  const get = (servername, headers) => new Promise((resolve, reject) => {
    https.get({ host: '127.0.0.1', port, path: '/two', servername, ca: fs.readFileSync(cert), agent: false,
      headers: { Host: `${name(one)}:${port}`, ...headers } }, r => (r.resume(), resolve(r.statusCode)))
      .on('error', reject);
  });
  same(await get(name(one), { 'X-Session-API-Key': KEY }), 200);
  same(await get(name(one), {}), 401);
  same(await get('box.elsewhere', {}).catch(e => e.code), 'ERR_TLS_CERT_ALTNAME_INVALID');

  const { context, page, wrong } = await open({ base: `https://box.localhost:${port}` }, { ignoreHTTPSErrors: true });
  await page.click('#tab-ports');
  await page.waitForSelector(th(one.port));
  const [tab] = await Promise.all([context.waitForEvent('page'),
    page.click(`tr:has(th:text-is("${one.port}")) a:has-text("Open at its own host")`)]);
  const own = `https://${name(one)}:${port}`;
  await tab.waitForURL(`${own}/`);
  const headers = await works(tab.mainFrame(), 'same-origin');
  same([headers['x-forwarded-proto'], headers.host], ['https', `localhost:${one.port}`]);
  same((await context.cookies()).map(c => [c.name, c.domain, c.secure, c.httpOnly, c.sameSite]).sort(),
    [['__Secure-od_app', name(one), true, true, 'Lax'], ['__Secure-od_ui', 'box.localhost', true, true, 'Strict']]);
  const got = await tab.evaluate(async theirs => {
    const socket = to => new Promise(r => {
      const w = new WebSocket(to);
      w.onopen = () => r('open');
      w.onerror = () => r('refused');
    });
    localStorage.setItem('k', 'stored');
    document.cookie = 'mine=1; Secure';
    return [self.origin, isSecureContext, localStorage.getItem('k'), document.cookie,
      await socket(`wss://${location.host}/hmr`), await socket(`wss://${theirs}/hmr`),
      await fetch(`https://${theirs}/echo`, { credentials: 'include' }).then(a => a.status, () => 'no')];
  }, `${name(two)}:${port}`);
  same(got, [own, true, 'stored', 'mine=1', 'open', 'refused', 'no']);
  // And in the panel, at an opaque origin.
  await page.click(`button[aria-label="Show port ${two.port}"]`);
  await works(await frameAt(page, await addressOf(page, two.port)));
  same(wrong, []);
  [one, two].forEach(a => a.end());
  await context.close();
  server.child.kill();
});

row('--ui-prefix: a proxy that keeps its path, and what an app is told of it', async () => {
  const server = await serve(['--ui-prefix', '/box/17']);
  const one = await app();
  const proxy = await behind(server, { prefix: '/box/17', keep: true });
  const { context, page } = await open(proxy);
  const address = await addressOf(page, one.port), path = new URL(address).pathname;
  const tab = await context.newPage();
  await tab.goto(address);
  same((await works(tab.mainFrame()))['x-forwarded-prefix'], path.slice(0, -1));
  const a = await fetch(`${address}redirect?two`, { redirect: 'manual' });
  same(a.headers.get('set-cookie'), `mine=1; Path=${path}`);
  await tab.goto(`${proxy.base}/proxy/${one.port}/two`);
  same(tab.url(), `${address}two`);
  one.end();
  await context.close();
  server.child.kill();
});

runRows();
