// SPDX-License-Identifier: MIT
// The files of the live page in a Chromium, row by row.
//   live_files.cjs [PATTERN]   runs the rows whose names have it
const { accessible, holds, open, row, runRows, same, serve, until, ...live } = require('./live.cjs');
const { createHash } = require('crypto');
const fs = require('fs');
const path = require('path');

const MANY = 100 * 1000 * 1000;
const PICTURE = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP4z8CAFWEXHbQSACj/P8Fu7N9' +
  'hAAAAAElFTkSuQmCC', 'base64');
const sum = data => createHash('sha256').update(data).digest('hex');
const item = (page, name) => page.locator('.files-tree li').filter({
  has: page.locator(`.files-name:text-is("${name}")`) });
const names = page => page.locator('.files-tree .files-name').allTextContents();
const text = async (page, wanted) => {
  let got = null;
  await until(async () => (got = await page.locator('.files-body pre').textContent()
    .catch(() => null)) === wanted, `the text ${wanted}`).catch(e => holds(false, String(e), got));
};
const events = async server => (await (await server.ask('/events?since=0')).json()).events;
const answer = async (page, yes, name) => {
  await page.waitForSelector('dialog[open]');
  if (name !== undefined)
    await page.fill('dialog input', name);
  await page.click(`dialog button:text-is("${yes}")`);
  await page.waitForSelector('dialog', { state: 'detached' });
};

// A folder of a row's own on the server, which the panel shows.
async function show(server, name, files, options = {}) {
  const at = path.join(server.root, name);
  fs.mkdirSync(at);
  for (const [to, data] of Object.entries(files)) {
    fs.mkdirSync(path.dirname(path.join(at, to)), { recursive: true });
    fs.writeFileSync(path.join(at, to), data);
  }
  const opened = await open(server, options);
  await opened.page.evaluate(() => localStorage.setItem('od.person', 'ann'));
  await opened.page.click('#tab-files');
  await opened.page.waitForFunction(() => document.getElementById('files-root').value);
  await opened.page.fill('#files-root', at);
  await opened.page.keyboard.press('Enter');
  await opened.page.waitForFunction(to => document.getElementById('files-root').value === to &&
    document.getElementById('files-status').textContent !== 'Reading…', at);
  for (const to of Object.keys(files)) // the tree is that of this folder
    await item(opened.page, to.split('/')[0]).waitFor();
  return { at, ...opened };
}

row('the tree: folders are read when they open; what is made and removed shows by itself',
  async ({ server }) => {
    const { at, context, page, wrong, asked } = await show(server, 'tree', { 'b/c/deep.txt': 'deep',
      'a.txt': 'a', 'b/second.txt': '2' });
    await until(async () => (await names(page)).join() === 'b,a.txt', 'folders come first');
    holds(!asked.some(u => u.includes('tree%2Fb')), asked);
    await item(page, 'b').click();
    await until(async () => (await names(page)).join() === 'b,c,second.txt,a.txt', 'the folder');
    await server.act('run', { command: `echo new > ${at}/z.txt; echo new > ${at}/b/y.txt`, until: 'end' });
    await until(async () => (await names(page)).join() === 'b,c,second.txt,y.txt,a.txt,z.txt', 'new files');
    fs.rmSync(path.join(at, 'b/second.txt'));
    fs.renameSync(path.join(at, 'z.txt'), path.join(at, 'x.txt'));
    await until(async () => (await names(page)).join() === 'b,c,y.txt,a.txt,x.txt', 'removed, renamed');
    await item(page, 'b').click();
    await until(async () => (await names(page)).join() === 'b,a.txt,x.txt', 'it is closed');
    await page.click('button[aria-label="Folder above"]');
    await item(page, 'tree').waitFor();
    same((await events(server)).filter(e => e.action === 'watch' || e.observation === 'file_change'), []);
    same(wrong, []);
    await context.close();
  });

row('the requests that follow changes end with the panel', async ({ server }) => {
  const { context, page } = await show(server, 'ends', { 'a.txt': 'a' });
  const stopped = [];
  page.on('requestfailed', r => r.url().includes('/files/watch') && stopped.push(r.url()));
  await page.click('#tab-ports');
  await until(() => stopped.length > 0, 'the request is over');
  fs.writeFileSync(path.join(server.root, 'ends/b.txt'), 'b');
  await page.click('#tab-files');
  await item(page, 'b.txt').waitFor();
  fs.writeFileSync(path.join(server.root, 'ends/c.txt'), 'c');
  await item(page, 'c.txt').waitFor();
  process.kill(server.status().worker, 'SIGKILL');
  await page.waitForSelector('#link[data-link=off]').catch(() => null);
  await page.waitForSelector('#link[data-link=on]');
  fs.writeFileSync(path.join(server.root, 'ends/d.txt'), 'd');
  await item(page, 'd.txt').waitFor();
  await context.close();
});

row('a text, a picture, bytes, a file of which only the begin is shown', async ({ server }) => {
  const big = Buffer.alloc(3 << 20, 'line\n');
  const { at, context, page, wrong } = await show(server, 'view', { 'text.txt': 'käse\r\n<b>日本</b>\n',
    'p.png': PICTURE, 'bytes.bin': Buffer.from([0, 1, 2, 255, 65]), 'big.txt': big, 'latin.txt': Buffer.from([0xe4, 10]) });
  await item(page, 'text.txt').click();
  await text(page, 'käse\n<b>日本</b>\n');
  fs.writeFileSync(path.join(at, 'text.txt'), 'changed\n');
  await text(page, 'changed\n');
  await item(page, 'latin.txt').click();
  await text(page, 'ä\n');
  await item(page, 'bytes.bin').click();
  await page.waitForSelector('.files-body pre:has-text("00 01 02 ff 41")');
  same(await page.locator('#files-edit').count(), 0);
  await item(page, 'p.png').click();
  await page.waitForFunction(() => document.querySelector('.files-body img')?.naturalWidth === 8);
  await item(page, 'big.txt').click();
  await page.waitForSelector('.files-body p:has-text("The first 16.4 KB of 3.1 MB")');
  same(wrong, []);
  await context.close();
});

row('an edit is the editor\'s: it is undone, and what somebody else changed stays', async ({ server }) => {
  const lines = Array.from({ length: 30 }, (_, i) => `line ${i % 3}`).join('\r\n') + '\r\n';
  const { at, context, page } = await show(server, 'edit', { 'f.txt': lines, 'empty.txt': '' });
  const file = path.join(at, 'f.txt');
  await item(page, 'f.txt').click();
  await page.click('#files-edit');
  const area = page.locator('#files-text');
  const change = async fn => area.fill(fn(await area.inputValue()));
  await change(t => t.replace(/line 1(?=\nline 2\n$)/, 'last but one'));
  await page.keyboard.press('Control+s');
  await page.waitForSelector('#files-edit');
  const once = lines.replace(/line 1(?=\r\nline 2\r\n$)/, 'last but one');
  same(fs.readFileSync(file, 'utf8'), once);
  const [action] = (await events(server)).filter(e => e.action === 'edit');
  same([action.source, action.viewer, action.args.command], ['user', 'ann', 'str_replace']);
  await page.click('#files-undo');
  await until(() => fs.readFileSync(file, 'utf8') === lines, 'undone');
  await text(page, lines.replaceAll('\r', ''));
  await page.click('#files-undo');
  await page.waitForSelector('#toast:has-text("No edit history")');
  // Another one changes the begin meanwhile: both changes are there.
  await page.click('#files-edit');
  await change(t => `${t}mine\n`);
  fs.writeFileSync(file, `theirs\r\n${lines}`);
  await page.waitForSelector('.files-notice:has-text("changed meanwhile")');
  await page.click('#files-save');
  await answer(page, 'Save mine');
  await page.waitForSelector('#files-edit');
  same(fs.readFileSync(file, 'utf8'), `theirs\r\n${lines}mine\r\n`);
  // The same place: it is said, and nothing is lost.
  await page.click('#files-edit');
  await change(t => t.replace('theirs', 'not theirs'));
  fs.writeFileSync(file, `others\r\n${lines}`);
  await page.click('#files-save');
  await answer(page, 'Save mine');
  await page.waitForSelector('#toast:has-text("No replacement was performed")');
  same(fs.readFileSync(file, 'utf8'), `others\r\n${lines}`);
  holds((await area.inputValue()).startsWith('not theirs'));
  await page.click('.files-tools button:text-is("Cancel")');
  await answer(page, 'Discard them');
  await text(page, `others\n${lines.replaceAll('\r', '')}`);
  await item(page, 'empty.txt').click();
  await page.click('#files-edit');
  await area.fill('first\n');
  await page.click('#files-save');
  await page.waitForSelector('#files-edit');
  same(fs.readFileSync(path.join(at, 'empty.txt'), 'utf8'), 'first\n');
  await context.close();
});

// Drops a file of n bytes, the same each time, on the row of a folder. Returns its sum.
const drop = (page, name, n, onto) => page.evaluate(async ([called, size, to]) => {
  const data = new Uint32Array(size / 4);
  for (let i = 0, x = 1; i < data.length; i++)
    data[i] = x = Math.imul(x, 1664525) + 1013904223 | 0;
  const carried = new DataTransfer();
  carried.items.add(new File([data], called));
  const at = [...document.querySelectorAll('.files-tree li')].find(li =>
    li.querySelector('.files-name').textContent === to) ?? document.querySelector('.files-tree');
  for (const type of ['dragover', 'drop'])
    at.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: carried }));
  const hash = await crypto.subtle.digest('SHA-256', data);
  return [...new Uint8Array(hash)].map(b => b.toString(16).padStart(2, '0')).join('');
}, [name, n, onto]);

row('100 MB by drop, with progress; the same bytes come back', async ({ server }) => {
  const { at, context, page } = await show(server, 'much', { 'into/x': '' }, { acceptDownloads: true });
  await page.evaluate(() => {
    globalThis.odSeen = new Set();
    new MutationObserver(() => {
      for (const bar of document.querySelectorAll('.files-jobs progress'))
        globalThis.odSeen.add(bar.value);
      globalThis.odDone ||= document.querySelector('.files-jobs').textContent.includes('done');
    }).observe(document.querySelector('.files-jobs'), { subtree: true, childList: true, attributes: true });
  });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  await devtools.send('Network.emulateNetworkConditions', // else it may be there before it is seen to come
    { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 50 << 20 });
  const wanted = await drop(page, 'big.bin', MANY, 'into');
  await page.waitForFunction(() => globalThis.odDone); // its line goes after a while
  same(sum(fs.readFileSync(path.join(at, 'into/big.bin'))), wanted);
  holds((await page.evaluate(() => [...globalThis.odSeen].filter(v => v > 0 && v < 1).length)) > 1, 'progress');
  const [told] = (await events(server)).filter(e => e.observation === 'human_input' &&
    e.extras.path === path.join(at, 'into/big.bin'));
  same([told.extras.of, told.extras.viewer, told.extras.size], ['files', 'ann', MANY]);
  await page.waitForSelector('#rows li:has-text("ann uploaded")');
  await item(page, 'into').click();
  await item(page, 'big.bin').click();
  await page.waitForSelector('#files-download');
  const [file] = await Promise.all([page.waitForEvent('download'), page.click('#files-download')]);
  same(file.suggestedFilename(), 'big.bin');
  same(sum(fs.readFileSync(await file.path())), wanted);
  await context.close();
});

row('an upload that is cancelled leaves nothing; one that replaces a file asks', async ({ server }) => {
  const { at, context, page } = await show(server, 'stop', { 'here.bin': 'old' });
  const devtools = await context.newCDPSession(page);
  await devtools.send('Network.enable');
  const speed = up => devtools.send('Network.emulateNetworkConditions',
    { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: up });
  await speed(1 << 20);
  await drop(page, 'slow.bin', MANY, '');
  await page.waitForFunction(() => document.querySelector('.files-jobs progress')?.value > 0);
  await page.click('.files-jobs button:text-is("Cancel")');
  await page.waitForSelector('.files-jobs li', { state: 'detached' });
  await speed(-1);
  await until(() => fs.readdirSync(at).join() === 'here.bin', 'nothing is left');
  const replaced = drop(page, 'here.bin', 4000, '');
  await answer(page, 'Cancel');
  await replaced;
  same(fs.readFileSync(path.join(at, 'here.bin'), 'utf8'), 'old');
  const wanted = await drop(page, 'here.bin', 4000, '');
  await answer(page, 'Replace it');
  await until(() => sum(fs.readFileSync(path.join(at, 'here.bin'))) === wanted, 'it is replaced');
  await page.setInputFiles('.files input[type=file]', { name: 'chosen.txt', mimeType: 'text/plain',
    buffer: Buffer.from('by the button') });
  await item(page, 'chosen.txt').waitFor();
  same(fs.readFileSync(path.join(at, 'chosen.txt'), 'utf8'), 'by the button');
  await context.close();
});

row('names that are no UTF-8', async ({ server }) => {
  const { at, context, page } = await show(server, 'names', { 'plain.txt': '' });
  const odd = n => Buffer.concat([Buffer.from(`${at}/`), Buffer.from(n, 'latin1')]);
  fs.mkdirSync(odd('d\xff'));
  fs.writeFileSync(odd('f\xfe'), 'odd one\n');
  fs.writeFileSync(odd('f\xfd'), 'odd two\n');
  await until(async () => (await names(page)).length === 4, 'they are shown');
  const files = page.locator('.files-tree li[data-type=file]').filter({ hasText: 'f\ufffd' });
  await files.nth(1).click();
  await text(page, 'odd one\n');
  await files.nth(0).click();
  await text(page, 'odd two\n');
  await page.click('#files-edit');
  await page.waitForSelector('#toast:has-text("not UTF-8")');
  await page.click('.files-tools button:text-is("Rename")');
  await answer(page, 'Rename', 'even.txt');
  await item(page, 'even.txt').waitFor();
  same(fs.readFileSync(path.join(at, 'even.txt'), 'utf8'), 'odd two\n');
  const wanted = await drop(page, 'in.bin', 400, 'd\ufffd');
  await until(() => fs.existsSync(Buffer.concat([odd('d\xff'), Buffer.from('/in.bin')])), 'it is there');
  same(sum(fs.readFileSync(Buffer.concat([odd('d\xff'), Buffer.from('/in.bin')]))), wanted);
  await page.waitForSelector('.files-jobs li', { state: 'detached' });
  await files.nth(0).click();
  await text(page, 'odd one\n');
  await page.click('.files-tools button:text-is("Remove")');
  await answer(page, 'Remove');
  await until(() => !fs.existsSync(odd('f\xfe')), 'it is removed');
  await context.close();
});

row('by keyboard: folders, a new file, its text, another name, and it is removed', async ({ server }) => {
  const { at, context, page } = await show(server, 'keys', { 'a/x.txt': 'x', 'b.txt': 'b' });
  const press = key => page.keyboard.press(key);
  const focused = () => page.evaluate(() => document.activeElement.querySelector('.files-name')?.textContent);
  await page.locator('.files-tree [tabindex="0"]').focus();
  await press('ArrowRight');
  await item(page, 'x.txt').waitFor();
  await press('ArrowDown');
  same(await focused(), 'x.txt');
  await press('ArrowLeft');
  same(await focused(), 'a');
  await page.focus('button:text-is("New folder")');
  await press('Enter');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('made');
  await press('Enter');
  await item(page, 'made').waitFor();
  holds(fs.statSync(path.join(at, 'a/made')).isDirectory());
  await page.focus('button:text-is("New file")');
  await press('Enter');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('n.txt');
  await press('Enter');
  await item(page, 'n.txt').waitFor();
  await page.locator('.files-tree [tabindex="0"]').focus();
  while (await focused() !== 'n.txt')
    await press('ArrowDown');
  await press('Enter');
  await page.waitForSelector('#files-edit');
  await page.focus('#files-edit');
  await press('Enter');
  await page.waitForFunction(() => document.activeElement.id === 'files-text');
  await page.keyboard.type('typed\n');
  await press('Control+s');
  await until(() => fs.readFileSync(path.join(at, 'a/n.txt'), 'utf8') === 'typed\n', 'it is saved');
  await page.waitForFunction(() => document.activeElement.id === 'files-edit');
  await item(page, 'n.txt').focus();
  await press('F2');
  await page.waitForSelector('dialog[open]');
  await page.keyboard.type('m.txt');
  await press('Enter');
  await item(page, 'm.txt').waitFor();
  await item(page, 'a').focus();
  await press('Delete');
  await page.waitForSelector('dialog[open]:has-text("and everything in it")');
  await press('Escape');
  await page.waitForSelector('dialog', { state: 'detached' });
  holds(fs.existsSync(path.join(at, 'a')));
  await item(page, 'a').focus();
  await press('Delete');
  await page.waitForSelector('dialog[open]');
  await press('Enter');
  await item(page, 'a').waitFor({ state: 'detached' });
  holds(!fs.existsSync(path.join(at, 'a')));
  const did = (await events(server)).filter(e => e.viewer === 'ann' && (e.args?.path ?? e.args?.from ?? '').startsWith(at));
  same(did.map(e => [e.action, e.source]), ['mkdir', 'edit', 'edit', 'move', 'remove'].map(a => [a, 'user']));
  await context.close();
});

row('a text has numbers of lines, and that of a program has colours', async ({ server }) => {
  const code = 'import os  # why\n\nx = "a#b"\n/* one\ntwo */\n';
  const { context, page } = await show(server, 'lines', {
    'code.py': code, 'notes.txt': 'for "all"\nof us', 'run': '#!/bin/sh\nif [ "a\nb" ]; then echo 12; fi\n',
    'm.rs': "fn f<'a>(x: &'a str) -> char { '\\n' } /* one\ntwo */\n" });
  const kinds = () => page.locator('.lines > span > span').evaluateAll(
    all => all.map(e => `${e.className.slice(3)}:${e.textContent}`));
  await item(page, 'code.py').click();
  await page.waitForSelector('.files-body .lines');
  same(await page.locator('.files-body pre').textContent(), code);
  same(await page.locator('.lines > span').count(), 6);
  same(await kinds(), ['word:import', 'comment:# why', 'string:"a#b"']);
  await accessible(page);
  await item(page, 'run').click();
  await page.waitForSelector('h2:has-text("run")');
  await page.waitForSelector('.hl-number');
  same(await kinds(), ['comment:#!/bin/sh', 'word:if', 'string:"a\n', 'string:b"', 'word:then', 'number:12', 'word:fi']);
  await item(page, 'm.rs').click();
  await page.waitForSelector('h2:has-text("m.rs")');
  await page.waitForSelector('.hl-comment:has-text("two */")');
  same(await kinds(), ['word:fn', 'word:char', 'string:\'\\n\'', 'comment:/* one\n', 'comment:two */']);
  await item(page, 'notes.txt').click();
  await page.waitForSelector('h2:has-text("notes.txt")');
  await page.waitForFunction(() => document.querySelectorAll('.lines > span').length === 2);
  same(await kinds(), []);
  await context.close();
});

row('a key that may view: names and no more', async ({ server }) => {
  const { at, context, page } = await show(server, 'viewed', { 'secret.txt': 'not for viewers', 'd/e': '' },
    { key: server.add() });
  await item(page, 'secret.txt').click();
  await page.waitForSelector('.files-body:has-text("This login may only watch")');
  await item(page, 'd').click();
  await item(page, 'e').waitFor();
  fs.writeFileSync(path.join(at, 'f.txt'), 'f');
  await item(page, 'f.txt').waitFor();
  same(await page.locator('#files-upload, .files-tools button').count(), 0);
  const status = await page.evaluate(async file => {
    const { page: token } = await (await fetch('session')).json();
    const ask = (to, method) => fetch(`../files/${to}?path=${encodeURIComponent(file)}`,
      { method, headers: { 'X-OD-Page': token } }).then(a => a.status);
    return [await ask('stat', 'GET'), await ask('content', 'GET'), await ask('content', 'PUT'), await ask('archive', 'GET')];
  }, path.join(at, 'secret.txt'));
  same(status, [200, 403, 403, 403]);
  same(fs.readFileSync(path.join(at, 'secret.txt'), 'utf8'), 'not for viewers');
  await context.close();
});

row('a click in the timeline shows the file', async ({ server }) => {
  const { at, context, page } = await show(server, 'jump', {});
  await server.act('write', { path: path.join(at, 'w.txt'), content: 'written by the agent' });
  await page.click('#tab-ports');
  await page.locator('#rows li:has-text("w.txt") .head').last().click();
  await text(page, 'written by the agent\n');
  await context.close();
});

row('a server without a key, and a cookie without the page token', async () => {
  const server = await serve([], null);
  const at = await until(() => /Page: \S+(\/ui\/#once=\w+)\s/.exec(server.log())?.[1], 'a link');
  const { context, page } = await open(server, { key: null, at });
  await page.waitForSelector('#link[data-link=on]');
  await page.click('#tab-files');
  await item(page, 'log').waitFor();
  const status = await page.evaluate(() => Promise.all(['list', 'content?path=log', 'watch?path=.']
    .map(to => fetch(`../files/${to}`).then(a => a.status))));
  same(status, [403, 403, 403]);
  await context.close();
  server.child.kill();
});

row('axe finds nothing: light and dark, 1440 and 390 px wide', async ({ server }) => {
  const { context, page, wrong } = await show(server, 'axe', {
    'src/main.c': 'int main(void)\n{\n    return 0;\n}\n', 'README.md': '# A project\n',
    'data.bin': Buffer.from([0, 1, 2]), 'p.png': PICTURE });
  const looks = name => live.looks(page, `files-${name}`);
  await looks('closed');
  await item(page, 'src').click();
  await item(page, 'main.c').click();
  await page.waitForSelector('#files-edit');
  await looks('text');
  await page.click('#files-edit');
  await looks('edit');
  await page.click('.files-tools button:text-is("Cancel")');
  await item(page, 'data.bin').click();
  await page.waitForSelector('.files-body pre:has-text("00 01 02")');
  await page.click('.files-tools button:text-is("Remove")');
  await page.waitForSelector('dialog[open]');
  await looks('question');
  await page.keyboard.press('Escape');
  same(wrong, []);
  await context.close();
});

runRows();
