// SPDX-License-Identifier: MIT
// The notebook of the live page, and the notice of request_control, row by row.
//   live_notebook.cjs [PATTERN]   runs the rows whose names have it
const { accessible, holds, open, runRows, same, serve, until, ...live } = require('./live.cjs');
const { spawnSync } = require('child_process');
const fs = require('fs');
const http = require('http');

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

// Each row has a server of its own, as a page shows all cells that ran in a session.
const row = (name, what, options) => live.row(name, async () => {
  const server = await serve(options);
  try {
    await what({ server });
  } finally {
    server.child.kill();
  }
});

// A page that shows the notebook.
async function notebook(server, more) {
  const got = await open(server, more);
  await got.page.click('#tab-notebook');
  return got;
}

const cell = (page, n) => page.locator('.nb-cell').nth(n);

// Runs code in the last cell that is ours: that cell, when it has ended.
async function run(page, code) {
  await page.click('#nb-code');
  const at = await page.locator('.nb-cell').count() - 1;
  await cell(page, at).locator('textarea').fill(code);
  await cell(page, at).locator('textarea').press('Control+Enter');
  await page.waitForFunction(n => /\d/.test(document.querySelectorAll('.nb-cell')[n]
    .querySelector('.nb-count').textContent), at);
  return cell(page, at);
}

// What the script in a frame of HTML wrote into it.
async function framed(page, c, id) {
  const frame = await (await c.locator('iframe').elementHandle()).contentFrame();
  await frame.waitForSelector('#' + id);
  return frame;
}

row('a cell: text with colours, standard error, and an error', async ({ server }) => {
  const { context, page, wrong } = await notebook(server);
  const c = await run(page, 'import sys\nprint("plain \\x1b[31mred\\x1b[0m \\x1b[38;5;200mpink\\x1b[0m <b>no</b>")\n' +
    'print("warned", file=sys.stderr)\n1/0');
  same(await c.locator('.nb-out pre').first().textContent(), 'plain red pink <b>no</b>\n');
  same([await c.locator('.fg1').first().textContent(), await c.locator('.fg200').textContent()], ['red', 'pink']);
  same(await c.locator('.nb-out .nb-err').textContent(), 'warned\n');
  holds((await c.locator('.nb-bad').textContent()).includes('ZeroDivisionError: division by zero'));
  same(await c.locator('[style]').count(), 0);
  same(wrong, []);
  await context.close();
});

row('output shows while a cell runs, and Interrupt ends it', async ({ server }) => {
  const { context, page } = await notebook(server);
  await page.fill('.nb-cell textarea', 'print("begun", flush=True)\nwhile True: pass');
  await page.press('.nb-cell textarea', 'Shift+Enter');
  await page.waitForSelector('.nb-cell.busy pre:has-text("begun")');
  same(await page.locator('.nb-cell').count(), 2);
  await page.click('#nb-interrupt');
  await page.waitForSelector('.nb-bad:has-text("KeyboardInterrupt")');
  same(await page.locator('.nb-cell.busy').count(), 0);
  await run(page, 'kept = 1');
  await page.click('#nb-restart');
  await page.waitForSelector('#toast:has-text("restarted")');
  const c = await run(page, 'kept');
  holds((await c.locator('.nb-bad').textContent()).includes('NameError'));
  await context.close();
});

row('pictures are blobs, and SVG with a script is inert', async ({ server }) => {
  const { context, page, wrong } = await notebook(server);
  const c = await run(page, `import base64\nfrom IPython.display import Image, SVG, display\n` +
    `display(Image(data=base64.b64decode("${PNG}"), format="png"))\n` +
    'display(SVG(data="<svg xmlns=\'http://www.w3.org/2000/svg\' width=\'30\' height=\'20\' onload=\'document.title=1\'>' +
    '<script>top.document.title=\'hacked\';fetch(\'/alive\')</script><rect width=\'30\' height=\'20\'/></svg>"))');
  await until(() => c.locator('img').evaluateAll(all => all.length === 2 && all.every(i => i.naturalWidth > 0)),
    'both are seen');
  holds((await c.locator('img').evaluateAll(all => all.map(i => i.src))).every(s => s.startsWith('blob:')));
  same(await c.locator('svg, script, object, embed').count(), 0);
  holds(!(await page.title()).includes('hacked'));
  same(wrong, []);
  await context.close();
});

row('HTML with a script runs in its frame, and reaches nothing else', async ({ server }) => {
  const { context, page } = await notebook(server);
  let asked = 0;
  const other = http.createServer((q, r) => r.end(String(++asked)));
  await new Promise(r => other.listen(0, '127.0.0.1', r));
  const elsewhere = `127.0.0.1:${other.address().port}`;
  const script = `
    const out = {};
    const can = async (name, what) => { try { out[name] = String(await what()); } catch (e) { out[name] = 'refused'; } };
    (async () => {
      await can('parent', () => parent.document.title);
      await can('top', () => top.location.href);
      await can('cookie', () => document.cookie);
      await can('storage', () => localStorage.length);
      await can('fetch', () => fetch('http://${elsewhere}/', { mode: 'no-cors' }).then(a => a.status));
      await can('socket', () => new Promise((yes, no) => { const s = new WebSocket('ws://${elsewhere}/');
        s.onopen = yes; s.onerror = no; }));
      await can('picture', () => new Promise((yes, no) => { const i = new Image(); i.onload = yes; i.onerror = no; i.src = 'http://${elsewhere}/'; }));
      await can('open', () => window.open('/').location);
      out.origin = String(origin);
      const p = document.createElement('p'); p.id = 'done'; p.textContent = JSON.stringify(out); document.body.append(p);
      document.body.style.height = '300px';
      parent.postMessage({height: 1e9}, '*');
      try { top.location = 'about:blank'; } catch (e) { p.title = 'refused'; }
    })();`;
  fs.writeFileSync(`${server.root}/page.html`, `<h1>Hello</h1><script>${script}</script>`);
  const c = await run(page, 'from IPython.display import HTML\nHTML(open("page.html").read())');
  const frame = await framed(page, c, 'done');
  const got = JSON.parse(await frame.textContent('#done'));
  same(got, { parent: 'refused', top: 'refused', cookie: 'refused', storage: 'refused', fetch: 'refused',
    socket: 'refused', picture: 'refused', open: 'refused', origin: 'null' });
  same([await frame.textContent('h1'), await frame.getAttribute('#done', 'title')], ['Hello', 'refused']);
  same(await c.locator('iframe').getAttribute('sandbox'), 'allow-scripts');
  await until(() => c.locator('iframe').evaluate(f => f.clientHeight >= 300 && f.clientHeight <= 2000), 'its height');
  same(asked, 0);
  other.close();
  same(page.url(), `${server.base}/ui/`);
  const forged = await page.evaluate(() => {
    const f = document.querySelector('.nb-frame'), before = f.style.height;
    postMessage({ height: 7 }, '*');
    return new Promise(r => setTimeout(() => r(f.style.height === before), 0));
  });
  holds(forged, 'a height that is not from the frame');
  const answer = await fetch(`${server.base}/ui/frame`);
  for (const part of ['sandbox allow-scripts;', "default-src 'none'", "script-src 'unsafe-inline'", 'img-src data: blob:'])
    holds(answer.headers.get('content-security-policy').includes(part), part);
  await context.close();
});

row('input() is asked in its cell, and a password is hidden', async ({ server }) => {
  const { context, page } = await notebook(server);
  await page.fill('.nb-cell textarea', 'import getpass\na = input("Name? ")\nb = getpass.getpass("Word? ")\nprint(a, len(b))');
  await page.press('.nb-cell textarea', 'Control+Enter');
  const field = page.locator('.nb-ask:has-text("Name?") input');
  await field.fill('ann');
  same(await field.getAttribute('type'), 'text');
  await field.press('Enter');
  const word = page.locator('.nb-ask:has-text("Word?") input');
  await word.fill('12345');
  same(await word.getAttribute('type'), 'password');
  await word.press('Enter');
  await page.waitForSelector('.nb-out pre:has-text("ann 5")');
  same(await page.locator('.nb-ask').count(), 0);
  await context.close();
});

row('what an agent runs shows, with its output as it comes', async ({ server }) => {
  const { context, page } = await notebook(server);
  const done = server.act('cell', { code: 'print("agents-one", flush=True)\nx = input("go? ")\nprint("agents", x)', input: true });
  await page.waitForSelector('.nb-cell pre:has-text("agents-one")');
  const c = page.locator('.nb-cell:has-text("agents-one")');
  holds((await c.locator('.nb-count').textContent()).startsWith('agent'));
  await c.locator('.nb-ask input').fill('two');
  await c.locator('.nb-ask button').click();
  same((await done).extras.end, 'ok');
  await c.locator('pre:has-text("agents two")').waitFor();
  same(await c.locator('.nb-run').count(), 0);
  await server.act('run_ipython', { code: 'print("by " + "v0")' });
  await page.waitForSelector('.nb-cell pre:has-text("by v0")');
  await server.act('cell', { code: 'print("else" + "where")' }, { session: 'other' });
  same(await page.locator('.nb-cell:has-text("elsewhere")').count(), 0);
  await context.close();
}, ['--plugins', 'jupyter']);

row('an agent\'s pictures come while its cell runs, and those of od jupyter-bridge with its kernel', async ({ server }) => {
  const { context, page, wrong } = await notebook(server);
  const draw = `import base64
class P:
    def _repr_png_(self): return base64.b64decode('${PNG}')
from IPython.display import display
display(P())
`;
  const done = server.act('cell', { code: `${draw}x = input("go? ")`, input: true });
  const c = cell(page, 1);
  await c.locator('img[src^="blob:"]').waitFor();
  same((await c.locator('.nb-count').textContent()).includes('[*]'), true, 'it runs');
  await c.locator('.nb-ask input').fill('on');
  await c.locator('.nb-ask button').click();
  await done;
  await page.waitForFunction(() => !document.querySelector('.nb-cell.busy'));
  same(await c.locator('img').count(), 1, 'when it has ended');
  const ran = spawnSync(process.env.OD, ['jupyter-bridge', '--socket', `${server.root}/sock`, '-c', `${draw}"bridged"`],
    { encoding: 'utf8' });
  same(ran.status, 0, ran.stderr);
  const b = page.locator('.nb-cell:has-text("bridged")');
  await b.locator('img').waitFor();
  holds(/^agent\npython \[\d+\]$/.test(await b.locator('.nb-count').textContent()), await b.locator('.nb-count').textContent());
  same(wrong, []);
  await context.close();
});

row('all 256 colours of an output can be read on a dark page and on a light one', async ({ server }) => {
  const { context, page } = await notebook(server);
  await run(page, 'for k in ("38;5;%dm", "48;5;%dm"):\n    print("".join("\\x1b[" + k % i + "%d\\x1b[m " % i for i in range(256)))');
  await page.waitForSelector('.nb-out .bg255');
  for (const colorScheme of ['dark', 'light']) {
    await page.emulateMedia({ colorScheme });
    await accessible(page);
  }
  await context.close();
});

row('ports of kernels are no apps', async ({ server }) => {
  const { extras } = await server.act('cell', { code: '1', choice: 'jupyter', spec: 'python3' });
  if (extras.end !== 'ok')
    return; // no Jupyter here
  const { pid } = (await server.act('kernels')).extras.kernels[0];
  const { context, page } = await open(server);
  const { ports } = await page.evaluate(async () => {
    const { page: token } = await (await fetch('session')).json();
    return (await fetch('ports', { headers: { 'X-OD-Page': token } })).json();
  });
  same(ports.filter(p => p.pid === pid), []);
  await context.close();
});

row('Markdown: nodes, links of http alone, no HTML', async ({ server }) => {
  const { context, page, wrong } = await notebook(server);
  await page.click('#nb-md');
  const field = page.locator('.nb-cell').last().locator('textarea');
  await field.fill(['# Title', 'some **bold** `code` <img src=x onerror=alert(1)>', '', '- one', '- two', '',
    '[good](https://example.com/) [bad](javascript:alert(1)) [data](data:text/html,x)', '', '| a | b |', '|---|---|',
    '| 1 | 2 |', '', '```', '<script>alert(1)</script>', '```'].join('\n'));
  await field.press('Control+Enter');
  const md = page.locator('.nb-md').last();
  same(await md.locator('a').evaluateAll(all => all.map(a => [a.href, a.rel, a.target])),
    [['https://example.com/', 'noopener noreferrer', '_blank']]);
  same(await md.locator('img, script').count(), 0);
  same([await md.locator('.nb-h').textContent(), await md.locator('strong').textContent(),
    await md.locator('li').count(), await md.locator('td').count()], ['Title', 'bold', 2, 2]);
  holds((await md.textContent()).includes('<img src=x') && (await md.locator('pre').textContent()).includes('<script>'));
  await page.locator('.nb-shown').last().focus();
  await page.keyboard.press('Enter');
  holds(await field.evaluate(f => f === document.activeElement));
  same(wrong, []);
  await context.close();
});

row('a notebook is opened, run, edited and saved as Jupyter has it', async ({ server }) => {
  const book = { cells: [
    { cell_type: 'markdown', id: 'aa', metadata: {}, source: ['# Head\n', 'text'] },
    { cell_type: 'code', id: 'bb', metadata: { tags: ['t'] }, execution_count: 7, source: ['x = 20\n', 'x + 2'],
      outputs: [{ output_type: 'execute_result', execution_count: 7, metadata: {},
        data: { 'text/plain': ['old'] } }] },
    { cell_type: 'code', id: 'cc', metadata: {}, execution_count: null, source: 'print(x)', outputs: [] },
    { cell_type: 'raw', id: 'dd', metadata: {}, source: ['raw'] },
  ], metadata: { kernelspec: { display_name: 'Python 3', language: 'python', name: 'python3' }, zed: 1 },
  nbformat: 4, nbformat_minor: 5 };
  fs.writeFileSync(`${server.root}/in.ipynb`, JSON.stringify(book));
  const { context, page } = await notebook(server);
  await page.fill('#nb-path', 'in.ipynb');
  await page.press('#nb-path', 'Enter');
  await page.waitForSelector('.nb-cell pre:has-text("old")');
  same(await page.locator('.nb-cell').count(), 4);
  await cell(page, 2).locator('textarea').fill('print(x + 1)');
  await page.click('#nb-all');
  await cell(page, 2).locator('pre:has-text("21")').waitFor();
  await cell(page, 1).locator('pre:has-text("22")').waitFor();
  await page.fill('#nb-path', 'out.ipynb');
  await page.click('#nb-save');
  await page.waitForSelector('#toast:has-text("Saved out.ipynb")');
  const text = fs.readFileSync(`${server.root}/out.ipynb`, 'utf8'), saved = JSON.parse(text);
  same(saved.metadata, book.metadata);
  same(saved.cells.map(c => [c.cell_type, c.id, c.source]), [['markdown', 'aa', ['# Head\n', 'text']],
    ['code', 'bb', ['x = 20\n', 'x + 2']], ['code', 'cc', ['print(x + 1)']], ['raw', 'dd', ['raw']]]);
  same(saved.cells[1].outputs, [{ data: { 'text/plain': ['22'] }, execution_count: saved.cells[1].execution_count,
    metadata: {}, output_type: 'execute_result' }]);
  same(saved.cells[2].outputs, [{ name: 'stdout', output_type: 'stream', text: ['21\n'] }]);
  same([saved.cells[1].metadata, saved.cells[0].outputs, text.slice(-3), text.startsWith('{\n "cells": [\n  {')],
    [{ tags: ['t'] }, undefined, '\n}\n', true]);
  await page.fill('#nb-path', 'nowhere.ipynb');
  await page.click('#nb-open');
  await page.waitForSelector('#toast:has-text("Open:")');
  same(await page.locator('.nb-cell').count(), 4);
  await context.close();
});

row('request_control rings, is taken and given back, and tells who and how long', async ({ server }) => {
  const { context, page, wrong } = await open(server);
  await server.act('run', { command: 'true', until: 'end' });
  const done = server.act('request_control', { what: 'terminal', reason: 'type the <b>code</b>' });
  const ask = page.locator('.asks .ask');
  await ask.waitFor();
  same(await page.locator('.asks').getAttribute('role'), 'alert');
  holds((await ask.textContent()).includes('take the terminal: type the <b>code</b>'), await ask.textContent());
  holds((await page.title()).startsWith('(1) A person is asked for'), await page.title());
  await page.click('#tab-ports');
  await ask.locator('button:has-text("Take over")').click();
  await page.waitForSelector('.terminal.driving');
  await ask.locator('text=has the terminal').waitFor();
  const more = await (await server.ask('/events?wait=0',
    { action: 'request_control', args: { what: 'terminal', reason: 'also this' } })).json();
  const second = page.locator('.ask:has-text("also this")');
  await second.locator('text=has the terminal').waitFor();
  await server.act('cancel', { id: more.id });
  await second.waitFor({ state: 'detached' });
  holds(!(await page.title()).startsWith('('));
  await page.click('#terminal-drive');
  const end = await done;
  same([end.observation, end.extras.end, end.extras.what], ['request_control', 'given', 'terminal']);
  holds(end.extras.by && end.extras.seconds > 0, end);
  await ask.waitFor({ state: 'detached' });
  same(wrong, []);
  const declined = server.act('request_control', { what: 'browser', reason: 'captcha' });
  await ask.locator('button:has-text("Decline")').click();
  same((await declined).extras.code, 'CANCELLED');
  await ask.waitFor({ state: 'detached' });
  await context.close();
});

row('a request that waits when the page is opened, and by a login that may view', async ({ server }) => {
  const { id } = await (await server.ask('/events?wait=0',
    { action: 'request_control', args: { what: 'terminal', reason: 'later' } })).json();
  const first = await open(server);
  await first.page.waitForSelector('.ask:has-text("later")');
  const viewer = await open(server, { key: server.add() });
  await viewer.page.waitForSelector('.ask:has-text("later")');
  same(await viewer.page.locator('.ask button').count(), 0);
  await viewer.page.click('#tab-notebook');
  same(await viewer.page.locator('.nb button').count(), 0);
  await server.act('cancel', { id });
  await viewer.page.waitForSelector('.ask', { state: 'detached' });
  await first.context.close();
  await viewer.context.close();
});

for (const theme of ['light', 'dark']) {
  for (const width of [1440, 390]) {
    row(`axe finds nothing in a notebook: ${theme}, ${width} px wide`, async ({ server }) => {
      const { context, page } = await notebook(server, { width, height: 844, colorScheme: theme });
      const asked = await (await server.ask('/events?wait=0',
        { action: 'request_control', args: { what: 'terminal', reason: 'captcha' } })).json();
      await page.waitForSelector('.ask');
      await run(page, 'from IPython.display import HTML, Markdown, display\nimport sys\n' +
        'print("".join(f"\\x1b[{n}m{n} \\x1b[0m" for n in [*range(30, 38), *range(90, 98), *range(40, 48)]))\n' +
        'print("warned", file=sys.stderr)\ndisplay(Markdown("# a\\n[b](https://c.d)\\n\\n`e`"))\ndisplay(HTML("<p>framed</p>"))\n1/0');
      await page.fill('.nb-cell >> nth=0 >> textarea', 'x = 1');
      await page.click('#nb-code');
      await accessible(page);
      const wide = await page.evaluate(() => [document.documentElement.scrollWidth - innerWidth,
        document.querySelector('#pane-notebook').scrollWidth - document.querySelector('#pane-notebook').clientWidth]);
      holds(wide.every(n => n <= 0), `${wide} px to the side`);
      if (process.env.SHOTS)
        await page.screenshot({ path: `${process.env.SHOTS}/notebook-${theme}-${width}.png` });
      await server.act('cancel', { id: asked.id });
      await context.close();
    });
  }
}

row('a notebook by keyboard alone', async ({ server }) => {
  const { context, page } = await notebook(server);
  await page.focus('#tab-notebook');
  const wanted = new Set(['nb-path', 'nb-open', 'nb-save', 'nb-all', 'nb-interrupt', 'nb-restart', 'nb-code', 'nb-md']);
  for (let i = 0; i < 20 && wanted.size > 0; i++) {
    await page.keyboard.press('Tab');
    wanted.delete(await page.evaluate(() => document.activeElement.id));
  }
  same([...wanted], []);
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  const code = async text => {
    await page.keyboard.type(text);
    await page.keyboard.press('Shift+Enter');
  };
  await code('def f():');
  await page.keyboard.press('Shift+Tab');
  for (const [text, result] of [['6 * 7', '42'], ['"next " + "one"', 'next one']]) {
    await page.locator('.nb-cell textarea').last().focus();
    await code(text);
    await page.waitForSelector(`.nb-out pre:has-text("${result}")`);
  }
  await page.keyboard.type('for i in [1]:');
  await page.keyboard.press('Enter');
  await page.keyboard.type('print("in" + "dented")');
  await page.keyboard.press('Control+Enter');
  await page.waitForSelector('.nb-out pre:has-text("indented")');
  const count = await page.locator('.nb-cell').count();
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  same(await page.locator('.nb-cell').count(), count - 1);
  await context.close();
});

runRows();
