// SPDX-License-Identifier: MIT
// The live page in a Chromium behind an nginx that has it below /box/17/: rows of the other
// files, which are the same there, and some of its own.
//   live_nginx.cjs [PATTERN]   runs the rows whose names have it
const { BELOW, nginx, only, open, row, runRows, same, serve, shown } = require('./live.cjs');

for (const keep of [false, true]) {
  row(`its path is ${keep ? 'kept' : 'taken away'}: login, timeline, typing, and nothing outside it`, async () => {
    const server = await serve();
    const base = keep ? await nginx(server.own, true) : server.base;
    const { context, page, wrong, asked } = await open({ ...server, base });
    const [cookie] = await context.cookies();
    same([cookie.path, cookie.httpOnly, cookie.sameSite], [`${BELOW}/`, true, 'Strict']);
    await server.act('run', { command: 'echo hi-$((1+1))-behind', until: 'end' });
    await shown(page, 'hi-$((1+1))-behind');
    await page.waitForSelector('.xterm-rows:has-text("hi-2-behind")');
    await page.click('#terminal-drive');
    await page.waitForSelector('#terminal-status:text-is("You drive")');
    await page.keyboard.type('echo typed-$((3*3))\n');
    await page.waitForSelector('.xterm-rows:has-text("typed-9")');
    for (const tab of await page.locator('#tabs [role=tab]:visible').all())
      await tab.click();
    same(asked.filter(u => !u.startsWith(`${base}/`) && !/^(data|blob):/.test(u)), []);
    same(wrong, []);
    same((await fetch(new URL('/ui/', base))).status, 404);
    await context.close();
    server.child.kill();
  });
}

// Of the other files.
only([
  'a login by key', 'what an agent runs is one row', 'output grows while the command runs',
  'a killed worker logs nobody out', '200 keys of who drives', 'two viewers see the same rows',
  'a click by fractions arrives at 1440 by 900', 'a click by fractions arrives at 900 by 500',
  'a click by fractions arrives at 390 by 844', 'keys, text of an input method', 'a dialog is answered',
  'tabs, visits, back and reload', 'a still page sends no picture for 5 seconds',
  'a program that the agent starts appears',
]);
for (const file of ['live_page', 'live_load', 'live_terminal', 'live_screen', 'proxy'])
  require(`./${file}.cjs`);
runRows();
