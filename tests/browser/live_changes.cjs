// SPDX-License-Identifier: MIT
// The changes of the live page in a Chromium, row by row.
//   live_changes.cjs [PATTERN]   runs the rows whose names have it
const { holds, looks, open, row, runRows, same, serve, until } = require('./live.cjs');
const fs = require('fs');
const path = require('path');

const EACH = ['--checkpoints', 'each', '--checkpoint-wait', '60s']; // each is there, however slow
const step = (page, name) => page.locator('.changes-steps button').filter({ hasText: name });
const item = (page, name) => page.locator('.files-view .changes-files > li').filter({
  has: page.locator(`.files-name:text-is("${name}")`) });
const names = page => page.locator('.files-view .changes-files .files-name').allTextContents();
const shows = async (page, wanted) => {
  let got;
  await until(async () => (got = (await names(page)).join()) === wanted.join(), () => `${wanted}, not ${got}`);
};
const agree = async (page, text) => {
  await page.waitForSelector(`dialog[open]:has-text("${text}")`);
  await page.click('dialog button:text-is("Take it back")');
  await page.waitForSelector('.changes-notice:has-text("Taken back")'); // or of what was before
};

const becomes = (file, text) => until(() => fs.existsSync(file) && fs.readFileSync(file, 'utf8') === text, file);

// A server of a row's own, with its commands done and the panel shown.
async function show(options, commands, more) {
  const server = await serve(options);
  fs.mkdirSync(path.join(server.root, 'work'));
  await server.act('run', { command: 'cd work', until: 'end' });
  for (const command of commands)
    await server.act('run', { command, until: 'end' });
  const opened = await open(server, more);
  await opened.page.evaluate(() => localStorage.setItem('od.person', 'ann'));
  await opened.page.click('#tab-changes');
  return { server, at: name => path.join(server.root, 'work', name), ...opened };
}

row('a file, a command and a turn are taken back, with what would change shown before', async () => {
  const { server, at, context, page, wrong } = await show(
    [...EACH, '--checkpoint-exclude', 'state', '--checkpoint-exclude', 'log', '--checkpoint-exclude', 'sock'],
    ['printf "one\\ntwo\\nthree\\n" >a; echo b >b', 'sed -i s/two/TWO/ a; rm b; mkdir -p new/in; echo n >new/in/n',
      'printf "\\303\\244 <b>x</b>\\n" >c']);
  await step(page, /^Turn of \d commands/).waitFor();
  await step(page, 'sed -i').click();
  await shows(page, ['work/a', 'work/b', 'work/new/']);
  await item(page, 'work/a').locator('summary').click();
  await item(page, 'work/a').locator('.ins').waitFor();
  same(await item(page, 'work/a').locator('.del, .ins').allTextContents(), ['-two\n', '+TWO\n']);
  await item(page, 'work/new/').locator('summary').click();
  await item(page, 'work/new/').locator('.ins:text-is("+n")').waitFor();
  await looks(page, 'changes');
  await page.setViewportSize({ width: 1440, height: 900 });
  // A file.
  await item(page, 'work/b').locator('button').click();
  await page.waitForSelector('dialog[open] summary:has-text("comes back")');
  await page.click('dialog button:text-is("Cancel")');
  await page.waitForSelector('dialog', { state: 'detached' });
  holds(!fs.existsSync(at('b')), 'nothing is done before somebody agrees');
  await item(page, 'work/b').locator('button').click();
  await agree(page, 'work/b');
  await becomes(at('b'), 'b\n');
  same(fs.readFileSync(at('a'), 'utf8'), 'one\nTWO\nthree\n');
  // The command: c, which came later, stays.
  await step(page, 'sed -i').click();
  await page.click('#changes-back');
  await agree(page, 'sed -i');
  await becomes(at('a'), 'one\ntwo\nthree\n');
  await until(() => !fs.existsSync(at('new')), 'new is gone');
  holds(fs.existsSync(at('c')));
  // That is undone.
  await page.click('#changes-undo');
  await agree(page, 'what was taken back');
  await becomes(at('a'), 'one\nTWO\nthree\n');
  await becomes(at('new/in/n'), 'n\n');
  // The turn.
  await step(page, /^Turn of \d commands/).last().click();
  await page.click('#changes-back');
  await agree(page, 'Turn of');
  await until(() => !fs.existsSync(at('a')) && !fs.existsSync(at('c')), 'all of it is taken back');
  const log = (await (await server.ask('/events?since=0')).json()).events;
  const back = log.find(e => e.action === 'rollback' && !e.args.dry_run);
  same([back.source, back.viewer], ['user', 'ann']);
  same(wrong, []);
  await context.close();
});

row('new changes appear by themselves; questions of the page have no rows', async () => {
  const { server, at, context, page, wrong } = await show([], []);
  await page.waitForSelector('.changes .empty:has-text("Nothing is kept")');
  await page.click('#changes-keep');
  await step(page, 'Since checkpoint 1').waitFor();
  await server.act('write', { path: at('<i>f'), content: '<script>x</script>\n' });
  await item(page, 'work/<i>f').locator('summary').click();
  await page.waitForSelector('.ins:has-text("<script>x</script>")');
  await server.act('write', { path: at('g'), content: 'g\n' });
  await item(page, 'work/g').waitFor();
  await item(page, 'work/<i>f').locator('.ins').first().waitFor(); // what was opened stays open
  fs.writeFileSync(Buffer.concat([Buffer.from(at('f')), Buffer.from([0xff])]), 'x');
  await page.click('.changes button[aria-label=Refresh]');
  await item(page, 'work/f\ufffd').locator('button').click();
  await agree(page, 'f\ufffd');
  await until(() => fs.readdirSync(at('')).length === 2, 'a name that is not text is taken back');
  const kinds = await page.locator('#filter-kind option').allTextContents();
  holds(kinds.includes('rollback') && !kinds.includes('changes') && !kinds.includes('checkpoints'), kinds);
  same(wrong, []);
  const key = server.add();
  const viewer = await open(server, { key });
  await viewer.page.waitForSelector('#tab-files');
  same(await viewer.page.locator('#tab-changes').count(), 0);
  await viewer.context.close();
  await context.close();
});

runRows();
