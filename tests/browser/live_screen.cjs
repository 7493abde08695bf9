// SPDX-License-Identifier: MIT
// The browser of the live page in a Chromium, row by row: an agent's Chromium is shown in
// another one, where a person uses it. The pages are of this file.
//   live_screen.cjs [PATTERN]   runs the rows whose names have it
const { accessible, behind, holds, open, row, runRows, same, serve, until, ...live } = require('./live.cjs');
const { execSync } = require('child_process');
const http = require('http');

const STYLE = '<style>body{margin:0}button{position:absolute;width:200px;height:100px}</style>';
const PAGES = {
  '/form': `<title>form</title>${STYLE}
<button style="left:200px;top:100px" onclick="document.title='clicked '+(++n)">Press</button>
<button style="left:600px;top:100px" onclick="document.title='said '+prompt('Your name?','nobody')">Ask</button>
<button style="left:200px;top:300px" onclick="window.open('/second')">Open</button>
<input id=i style="position:absolute;left:20px;top:20px;caret-color:transparent"
 oninput="document.title='typed '+this.value"
 onkeydown="if(event.key=='Enter')document.title='entered '+this.value"><script>n=0</script>`,
  '/second': '<title>second</title><body style="background:#080">another page',
  // N: the number of the visit.
  '/long': `<title>long N</title><body style="height:9000px"
 onscroll="document.title='at '+Math.round(scrollY)+' of N'">`,
};
let visits = 0;
const site = http.createServer((q, r) => {
  visits += q.url in PAGES;
  r.setHeader('Content-Type', 'text/html; charset=utf-8');
  r.end(`<!doctype html>${(PAGES[q.url] ?? '<title>none</title>').replaceAll(' N', ` ${visits}`)}`);
});
site.listen(0, '127.0.0.1');
site.unref();
const at = to => `http://127.0.0.1:${site.address().port}${to}`;

const agent = (server, args, session = 'main') => server.act('page', args, { session });
const titled = (page, title) => page.waitForFunction(t =>
  document.querySelector('.screen [role=tab][aria-selected=true]')?.textContent === t, title);
const says = (page, text) => page.waitForFunction(t =>
  document.getElementById('screen-status')?.textContent.startsWith(t), text);
const frame = page => page.evaluate(() => Number(document.querySelector('.screen canvas')?.dataset.frame ?? 0));
const painted = async (page, since = 0) => until(async () => await frame(page) > since, 'a picture');
const events = async (server, kind) => (await (await server.ask('/events?since=0')).json()).events
  .filter(e => e.observation === kind);

// Watches a session's browser, which shows a page.
async function watch(server, { session = 'main', to = '/form', ...options } = {}) {
  if (to)
    await agent(server, { url: at(to) }, session);
  const opened = await open(server, options);
  await opened.page.click('#tab-browser');
  if (session !== 'main')
    await opened.page.selectOption('#screen-session', session);
  if (to)
    await painted(opened.page);
  return opened;
}
const take = async page => {
  await page.click('#screen-drive');
  await says(page, 'You drive');
};
// A click on what is at these pixels of the agent's page, of 1280 by 720 or what it is.
async function click(page, x, y, view) {
  const box = await page.locator('.screen canvas').boundingBox();
  await page.mouse.click(box.x + x / view.width * box.width, box.y + y / view.height * box.height);
}
// The size of the agent's viewport in CSS pixels, from the head of a picture.
async function viewport(page) {
  return page.evaluate(() => globalThis.odView);
}
// Notes the heads of pictures, and what is sent: before the page's own script.
const spy = () => {
  const Real = globalThis.WebSocket;
  globalThis.odSent = [];
  globalThis.odFrames = 0;
  globalThis.odOpen = 0;
  globalThis.WebSocket = class extends Real {
    constructor(url, protocol) {
      super(url, protocol);
      if (!url.includes('/screen/'))
        return;
      globalThis.odOpen++;
      this.addEventListener('close', () => globalThis.odOpen--);
      this.addEventListener('message', e => {
        if (typeof e.data === 'string')
          return;
        const head = new DataView(e.data);
        globalThis.odFrames++;
        globalThis.odView = { width: head.getUint16(5), height: head.getUint16(7) };
      });
    }
  };
};

row('nothing to see yet: the panel says what would fill it, and fills when an agent opens a page',
  async ({ server }) => {
    const { context, page, wrong } = await watch(server, { to: null, session: 'main' });
    await page.waitForSelector('.screen .empty:has-text("An agent does that")');
    const { od, socket } = await page.evaluate(async () => (await fetch('session')).json());
    same(await page.textContent('.screen .empty code'),
      `${od} browse --socket ${socket} https://example.com`);
    same(execSync(`${od} exec --socket ${socket} 'echo $OD_SOCKET'`).toString().trim(), socket);
    await agent(server, { url: at('/form') });
    await painted(page);
    await titled(page, 'form');
    same(await page.inputValue('#screen-address'), at('/form'));
    same(await page.locator('.screen .empty').isVisible(), false);
    same(wrong, []);
    await context.close();
  });

for (const [width, height] of [[1440, 900], [900, 500], [390, 844]]) {
  row(`a click by fractions arrives at ${width} by ${height}`, async ({ server }) => {
    const { context, page } = await watch(server, { width, height, spy });
    await take(page);
    const view = await viewport(page);
    await click(page, 300, 150, view);
    await titled(page, 'clicked 1');
    await click(page, 390, 110, view);
    await titled(page, 'clicked 2');
    await page.click('#screen-drive');
    await context.close();
  });
}

for (const how of [{ prefix: '/box/17' }, { prefix: '/a', without: 'Origin' }]) {
  row(`below ${how.prefix}/ of a proxy${how.without ? ' that drops Origin' : ''}: it shows, and a click arrives`,
    async ({ server }) => {
      const { base } = await behind(server, how);
      const { context, page } = await watch({ ...server, base }, { spy });
      await take(page);
      await click(page, 300, 150, await viewport(page));
      await titled(page, 'clicked 1');
      await page.click('#screen-drive');
      await context.close();
    });
}

row('keys, text of an input method, a paste', async ({ server }) => {
  const { context, page } = await watch(server, { spy,
    permissions: ['clipboard-read', 'clipboard-write'] });
  await take(page);
  await click(page, 40, 30, await viewport(page));
  const devtools = await context.newCDPSession(page);
  await devtools.send('Input.imeSetComposition', { selectionStart: 2, selectionEnd: 2, text: 'にほ' });
  await devtools.send('Input.insertText', { text: '日本' });
  await titled(page, 'typed 日本');
  await page.keyboard.type(' käse');
  await titled(page, 'typed 日本 käse');
  await page.keyboard.press('Backspace');
  await titled(page, 'typed 日本 käs');
  await page.keyboard.press('Control+a');
  await page.keyboard.press('Shift+B');
  await titled(page, 'typed B');
  await page.evaluate(() => navigator.clipboard.writeText('geheim-4711'));
  await page.keyboard.press('Control+v');
  await titled(page, 'typed Bgeheim-4711');
  await page.keyboard.press('Enter');
  await titled(page, 'entered Bgeheim-4711');
  await page.click('#screen-drive');
  await until(async () => (await events(server, 'human_input')).length > 0, 'an event says so');
  const log = JSON.stringify((await (await server.ask('/events?since=0')).json()).events
    .filter(e => ['human_input', 'control'].includes(e.observation)));
  holds(!log.includes('geheim') && !log.includes('日本'), log);
  await page.waitForSelector('#rows li:has-text("took the browser")');
  await page.waitForSelector('#rows li:has-text("used mouse and keys in the browser")');
  await context.close();
});

row('a dialog is answered', async ({ server }) => {
  const { context, page } = await watch(server, { spy });
  const other = await watch(server, { to: null });
  await take(page);
  const view = await viewport(page);
  await click(page, 700, 150, view);
  await page.waitForSelector('.screen-ask:has-text("Your name?")');
  await other.page.waitForSelector('.screen-ask:has-text("Only the driver can answer")');
  same(await page.inputValue('.screen-ask input'), 'nobody');
  await page.fill('.screen-ask input', 'ann');
  await page.keyboard.press('Enter');
  await titled(page, 'said ann');
  await page.waitForSelector('.screen-ask', { state: 'hidden' });
  await click(page, 700, 150, view);
  await page.click('.screen-ask button:text-is("Cancel")');
  await titled(page, 'said null');
  await page.click('#screen-drive');
  await other.context.close();
  await context.close();
});

row('tabs, visits, back and reload', async ({ server }) => {
  const { context, page } = await watch(server, { spy, session: 'tabs' });
  await take(page);
  await click(page, 300, 350, await viewport(page));
  await titled(page, 'second');
  same(await page.locator('.screen [role=tab]').count(), 2);
  const seen = await frame(page);
  await page.click('.screen [role=tab]:text-is("form")');
  await titled(page, 'form');
  await painted(page, seen);
  await page.fill('#screen-address', at('/long'));
  await page.keyboard.press('Enter');
  await page.waitForSelector('.screen [role=tab][aria-selected=true]:has-text("long ")');
  const box = await page.locator('.screen canvas').boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.wheel(0, 400);
  await page.waitForSelector('.screen [role=tab][aria-selected=true]:has-text("at ")');
  const before = visits;
  await page.click('.screen-address button[aria-label=Reload]');
  await until(() => visits > before, 'it is loaded again');
  // The document is the new one, so that Back does not come amid the visit.
  await page.waitForFunction(n => new RegExp('^(long|at .* of) ' + n + '$').test(document.querySelector(
    '.screen [role=tab][aria-selected=true]').textContent), visits);
  await page.click('.screen-address button[aria-label=Back]');
  await titled(page, 'form');
  await page.click('.screen-address button[aria-label=Forward]');
  await page.waitForFunction(() => /^(long|at)/.test(document.querySelector(
    '.screen [role=tab][aria-selected=true]').textContent));
  await page.fill('#screen-address', 'http://127.0.0.1:1/');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#toast:has-text("ERR_")');
  await page.click('#screen-drive');
  await context.close();
});

row('a still page sends no picture for 5 seconds; another panel ends the link', async ({ server }) => {
  const { context, page } = await watch(server, { spy, to: '/second' });
  await titled(page, 'second');
  const count = () => page.evaluate(() => globalThis.odFrames);
  await until(async () => {
    const before = await count();
    await page.waitForTimeout(1000);
    return before === await count();
  }, 'the page is still');
  const before = await count();
  await page.waitForTimeout(5000);
  same(await count(), before);
  const links = async () => /^od_screen_links (\d+)/m.exec(await (await server.ask('/metrics')).text())[1];
  same(await links(), '1');
  await page.click('#tab-ports');
  await until(async () => await links() === '0', 'the link is closed');
  await page.waitForFunction(() => globalThis.odOpen === 0); // the page's end comes after the server's
  await page.click('#tab-browser');
  await page.waitForFunction(n => globalThis.odFrames > n, before);
  await context.close();
});

row('while a person drives, the click of an agent waits, and goes on then', async ({ server }) => {
  const { context, page } = await watch(server);
  await take(page);
  const asked = await server.ask('/events?wait=0', { action: 'page', args: { act: 'click', ref: 'Press' } });
  const { id } = await asked.json();
  await until(async () => (await events(server, 'waits')).some(e => e.extras.action === id), 'it says so');
  await page.waitForSelector('#rows li:has-text("waits")');
  await page.click('#tab-ports');
  await page.click('#tab-browser');
  await says(page, 'You drive');
  same((await events(server, 'page')).filter(e => e.cause === id), []);
  await page.click('#screen-drive');
  await titled(page, 'clicked 1');
  await until(async () => (await events(server, 'page')).some(e => e.cause === id), 'it is done');
  await page.waitForSelector('.screen-pointer:visible');
  await says(page, 'You watch');
  await context.close();
});

row('who does not drive is told so; another person takes it over', async ({ server }) => {
  const ann = await watch(server), bob = await watch(server, { to: null });
  await painted(bob.page);
  await bob.page.click('.screen canvas');
  await bob.page.waitForSelector('#toast:has-text("Only the driver can do that")');
  await ann.page.evaluate(() => localStorage.setItem('od.person', 'ann'));
  await ann.page.reload();
  await painted(ann.page);
  await take(ann.page);
  await says(bob.page, 'You watch, ann drives');
  same(await bob.page.textContent('#screen-drive'), 'Take it from ann');
  await take(bob.page);
  await ann.page.waitForSelector('#toast:has-text("drives now")');
  await says(ann.page, 'You watch, ');
  await bob.page.click('#screen-drive');
  await says(ann.page, 'You watch');
  const control = (await events(server, 'control')).filter(e => e.extras.viewer === 'ann');
  same(control.map(e => e.extras.drives), [true, false]);
  await ann.context.close();
  await bob.context.close();
});

row('a killed worker: the picture comes again, and who drives has it', async () => {
  const server = await serve();
  const { context, page } = await watch(server, { spy });
  await take(page);
  process.kill(server.status().worker, 'SIGKILL');
  await until(() => page.evaluate(() => globalThis.odOpen === 0), 'the link is lost');
  await says(page, 'You drive');
  await painted(page);
  await click(page, 300, 150, await viewport(page));
  await titled(page, 'clicked 1');
  await context.close();
  server.child.kill();
});

row('without a Chromium: the text of the last page, and why', async () => {
  process.env.OD_BROWSER = 'text';
  const server = await serve();
  delete process.env.OD_BROWSER;
  PAGES['/text'] = '<title>text</title><h1>only words here</h1>';
  await agent(server, { url: at('/text') });
  const { context, page } = await open(server);
  await page.click('#tab-browser');
  await page.waitForSelector('.screen-none pre:has-text("only words here")');
  await page.waitForSelector('.screen .empty:has-text("no Chromium")');
  await accessible(page);
  await context.close();
  server.child.kill();
});

row('a key that may view: it watches, and has nothing to take', async ({ server }) => {
  const { context, page } = await watch(server, { key: server.add() });
  same(await page.locator('#screen-drive').count(), 0);
  same(await page.isDisabled('#screen-address'), true);
  await page.click('.screen canvas');
  await page.waitForSelector('#toast:has-text("may only watch")');
  await context.close();
});

row('by keyboard: take it, use it, leave by Ctrl+Shift+Esc', async ({ server }) => {
  const { context, page } = await watch(server);
  await page.focus('#screen-drive');
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'screen-keys');
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await titled(page, 'clicked 1');
  await page.keyboard.press('Control+Shift+Escape');
  same(await page.evaluate(() => Boolean(document.activeElement.closest('#top'))), true);
  const wanted = new Set(['screen-drive', 'screen-address', 'screen-keys', 'Back', 'Forward', 'Reload']);
  await page.evaluate(() => document.querySelector('#tab-browser').focus());
  for (let i = 0; i < 12 && wanted.size > 0; i++) {
    await page.keyboard.press('Tab');
    const [id, label] = await page.evaluate(() => [document.activeElement.id,
      document.activeElement.getAttribute('aria-label')]);
    wanted.delete(id);
    wanted.delete(label);
  }
  same([...wanted], []);
  await page.click('#screen-drive');
  await context.close();
});

row('axe finds nothing: light and dark, 1440 and 390 px wide', async ({ server }) => {
  const { context, page, wrong } = await watch(server, { spy });
  const looks = name => live.looks(page, `screen-${name}`);
  await looks('watch');
  await take(page);
  await looks('drive');
  await click(page, 700, 150, await viewport(page));
  await page.waitForSelector('.screen-ask:has-text("Your name?")');
  await looks('dialog');
  await page.click('.screen-ask button:text-is("OK")');
  await page.waitForSelector('.screen-ask', { state: 'hidden' });
  await page.click('#screen-drive');
  same(wrong, []);
  await context.close();
});

runRows();
