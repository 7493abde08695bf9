// SPDX-License-Identifier: MIT
// The terminal of the live page in a Chromium, row by row.
//   live_terminal.cjs [PATTERN]   runs the rows whose names have it
const { accessible, holds, open, row, runRows, same, screenOf: screen, serve, until } = require('./live.cjs');

const shows = async (page, text) => {
  let rows = [];
  await until(async () => (rows = await screen(page)).join('\n').includes(text), `${text} is seen`)
    .catch(e => holds(false, String(e), rows.filter(Boolean)));
};
const says = (page, text) =>
  page.waitForFunction(t => document.getElementById('terminal-status').textContent === t, text);
const watch = async (server, session, options = {}) => {
  const opened = await open(server, options);
  if (session !== 'main')
    await opened.page.click(`.tabs.small [role=tab]:text-is("${session}")`);
  await opened.page.waitForFunction(() => /You/.test(document.getElementById('terminal-status').textContent));
  return opened;
};
const take = async page => {
  await page.click('#terminal-drive');
  await says(page, 'You drive');
};
const run = (server, command, session) => server.act('run', { command, until: 'end' }, { session });
const fontOf = page => page.evaluate(() =>
  parseFloat(getComputedStyle(document.querySelector('.xterm-rows')).fontSize));
// How many rows are just this.
const count = (lines, text) => lines.filter(l => l === text).length;

row('a session that is not there yet: the page says so, and shows it when it comes', async () => {
  const server = await serve();
  const { context, page, wrong } = await open(server);
  await page.waitForSelector('.terminal .empty:has-text("There is no session main yet")');
  await run(server, 'echo here-now', 'main');
  await shows(page, 'here-now');
  same(await page.locator('.terminal .empty').isVisible(), false);
  await page.click('.plus');
  await page.waitForSelector('.tabs.small [aria-selected=true]:text-is("shell-1")');
  await says(page, 'You watch, nobody drives');
  await take(page);
  await page.keyboard.type('echo $((6*7))-new\n');
  await shows(page, '42-new');
  same(wrong, []);
  await context.close();
  server.child.kill();
});

row('two viewers see the same rows, and the size stays that of the session', async ({ server }) => {
  const before = await run(server, 'stty size', 'two');
  const wide = await watch(server, 'two', { width: 1920 });
  const small = await watch(server, 'two', { width: 760, height: 500 });
  await run(server, 'printf "\\033[31mred\\033[m käse 日本語 👍\\n"; seq 5', 'two');
  for (const { page } of [wide, small])
    await shows(page, 'red käse 日本語 👍');
  await until(async () => JSON.stringify(await screen(wide.page)) ===
    JSON.stringify(await screen(small.page)), 'the same rows');
  same((await screen(wide.page)).length, Number(before.content.split(' ')[0]));
  same((await run(server, 'stty size', 'two')).content, before.content);
  await server.act('resize', { rows: 24, cols: 80 }, { session: 'two' });
  for (const { page } of [wide, small])
    await until(async () => (await screen(page)).length === 24, 'the new size');
  const fonts = () => Promise.all([wide, small].map(v => fontOf(v.page)));
  await until(async () => {
    const [a, b] = await fonts();
    return a > b && b >= 11 && a <= 20;
  }, 'letters that fit').catch(async e => holds(false, String(e), await fonts()));
  await wide.context.close();
  await small.context.close();
});

row('commands are above their output, also those from before the page came', async ({ server }) => {
  await run(server, 'echo ol""d', 'prompts');
  const { context, page } = await watch(server, 'prompts');
  await shows(page, 'old');
  await run(server, 'for i in 1 2\ndo echo ne""w$i; done', 'prompts');
  await shows(page, 'new2');
  same((await screen(page)).filter(Boolean), ['$ echo ol""d', 'old', '$ for i in 1 2 …', 'new1', 'new2']);
  await context.close();
});

row('a screen far larger than the panel: letters of 12 px, and the last line in sight', async () => {
  const server = await serve();
  await server.act('run', { command: 'seq 150; echo the-end' }); // V0's terminal has 1000 lines
  const { page, context } = await watch(server, 'main');
  await shows(page, 'the-end');
  const seen = text => page.evaluate(wanted => {
    const [line] = [...document.querySelectorAll('.xterm-rows > div')].filter(l => l.textContent.trim() === wanted);
    const a = line.getBoundingClientRect(), b = document.querySelector('.terminal-screen').getBoundingClientRect();
    return a.top >= b.top && a.bottom <= b.bottom;
  }, text);
  await until(() => seen('the-end'), 'it is in sight');
  same(await seen('1'), false);
  same(await page.evaluate(() => getComputedStyle(document.querySelector('.xterm-rows')).fontSize), '12px');
  await page.evaluate(() => { document.querySelector('.terminal-screen').scrollTop = 0; });
  await run(server, 'echo one-more', 'main');
  await shows(page, 'one-more');
  same([await seen('1'), await seen('one-more')], [true, false], 'a person scrolled');
  await context.close();
  server.child.kill();
});

for (const width of [1440, 390]) {
  row(`200 columns, ${width} px wide: letters of 11 px at least, scrolled to where one types`, async ({ server }) => {
    const session = `wide-${width}`;
    await run(server, 'seq -s " " 40', session);
    const { page, context } = await open(server, { width, height: 844 });
    await page.click('#tab-terminal');
    await page.click(`.tabs.small [role=tab]:text-is("${session}")`);
    await shows(page, '39 40');
    holds(await fontOf(page) >= 11, await fontOf(page));
    const panel = () => page.evaluate(() => {
      const { scrollLeft, scrollWidth, clientWidth } = document.querySelector('.terminal-screen');
      return { left: scrollLeft, more: scrollWidth - clientWidth };
    });
    await until(async () => (await panel()).more > 0, 'it scrolls to the side');
    same((await panel()).left, 0);
    await take(page);
    await page.keyboard.type('PS1="> "; echo pro""mpt\n');
    await shows(page, 'prompt');
    await page.keyboard.type(`echo ${'word '.repeat(28)}the-$((1+1))-end`);
    await until(async () => (await panel()).left > 0, 'it follows the cursor');
    await page.keyboard.press('Enter');
    await shows(page, 'the-2-end');
    await until(async () => (await panel()).left === 0, 'it is back at the prompt');
    same(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await context.close();
  });
}

row('who does not drive is told so; take, take over, give back', async ({ server }) => {
  await run(server, 'seq -s " " 200', 'three');
  const ann = await watch(server, 'three'), bob = await watch(server, 'three');
  await ann.page.click('.terminal-settings summary');
  await ann.page.fill('#terminal-name', 'ann');
  await ann.page.click('.terminal-settings summary');
  await ann.page.reload();
  await ann.page.click('.tabs.small [role=tab]:text-is("three")');
  await says(ann.page, 'You watch, nobody drives');
  await ann.page.click('.terminal-screen');
  await ann.page.keyboard.type('echo refused-this\n');
  await ann.page.waitForSelector('#toast:has-text("Only the driver can type")');
  await take(ann.page);
  await ann.page.keyboard.type('echo $((40+2))-typed\n');
  for (const { page } of [ann, bob])
    await shows(page, '42-typed');
  holds(!(await screen(bob.page)).join('\n').includes('refused-this'), await screen(bob.page));
  await says(bob.page, 'You watch, ann drives');
  same(await bob.page.textContent('#terminal-drive'), 'Take it from ann');
  holds((await bob.page.textContent('#people')).includes('ann drives'));
  await take(bob.page);
  await ann.page.waitForSelector('#toast:has-text("drives now")');
  await bob.page.keyboard.type('stty size\n');
  await bob.page.click('#terminal-fit');
  const rows = (await until(async () => {
    const n = (await screen(bob.page)).length;
    return n !== 50 && n === (await screen(ann.page)).length && [n];
  }, 'both have the new size'))[0];
  await bob.page.keyboard.type('echo now $(stty size)\n');
  for (const { page } of [ann, bob])
    await shows(page, `now ${rows} `);
  const late = await watch(server, 'three');
  await shows(late.page, `now ${rows} `);
  for (const { page } of [ann, bob])
    same(await screen(page), await screen(late.page), 'after another size');
  await late.context.close();
  await bob.page.click('#terminal-drive');
  await says(bob.page, 'You watch, nobody drives');
  await says(ann.page, 'You watch, nobody drives');
  await ann.context.close();
  await bob.context.close();
});

row('a reload amid a full-screen program gives the rows of who stayed', async ({ server }) => {
  await run(server, 'true', 'full');
  const stays = await watch(server, 'full'), again = await watch(server, 'full');
  const draw = 'printf "\\033[?1049h\\033[2J\\033[3;5Htop""-left\\033[20;40H\\033[7m日本 e""nd\\033[m"; ' +
    'read -r a; printf "\\033[?1049l"';
  const done = run(server, `${draw}; echo left-''it`, 'full');
  await shows(stays.page, 'top-left');
  await again.page.reload();
  await again.page.click('.tabs.small [role=tab]:text-is("full")');
  await shows(again.page, '日本 end');
  const rows = await screen(stays.page);
  same(await screen(again.page), rows);
  same([rows[2], rows[19]], ['    top-left', `${' '.repeat(39)}日本 end`]);
  await server.act('input', { text: 'x\n' }, { session: 'full' });
  await done;
  for (const { page } of [stays, again])
    await shows(page, 'left-it');
  holds(!(await screen(again.page)).join('\n').includes('top-left'), await screen(again.page));
  await stays.context.close();
  await again.context.close();
});

row('a killed worker: the page goes on, with each line once', async () => {
  const server = await serve();
  await run(server, 'echo before-kill', 'main');
  const { context, page } = await watch(server, 'main');
  await shows(page, 'before-kill');
  await take(page);
  await server.ask('/events?wait=0', { action: 'run', args: { until: 'end',
    command: 'for i in $(seq 40); do echo kill-$i; sleep 0.05; done; echo kill-""end' } });
  await shows(page, 'kill-3');
  process.kill(server.status().worker, 'SIGKILL');
  await shows(page, 'kill-end');
  await says(page, 'You drive');
  const lines = await screen(page);
  for (let i = 1; i <= 40; i++)
    same(count(lines, `kill-${i}`), 1, `kill-${i}`);
  await page.keyboard.type('echo typed-$((3*3))\n');
  await shows(page, 'typed-9');
  await context.close();
  server.child.kill();
});

row('far more output than a viewer paints: the end is there, once', async ({ server }) => {
  await run(server, 'echo first-line', 'much');
  const { context, page } = await watch(server, 'much');
  await shows(page, 'first-line');
  await run(server, 'seq 300000; echo the-very-end', 'much');
  await shows(page, 'the-very-end');
  const lines = await screen(page);
  same(count(lines, '300000'), 1);
  await context.close();
});

row('older output, from before the page came, is above on demand, once', async ({ server }) => {
  await run(server, 'for i in $(seq 300); do echo old-$i; done', 'older');
  const { context, page, wrong } = await watch(server, 'older');
  await shows(page, 'old-300');
  await run(server, 'for i in $(seq 60); do echo new-$i; done', 'older');
  await shows(page, 'new-60');
  const height = () => page.evaluate(() => document.querySelectorAll('.xterm-rows > div').length);
  const rows = await height();
  await page.click('#terminal-older');
  await page.waitForSelector('#toast:has-text("Older output is above")');
  same(await page.locator('#terminal-older').isVisible(), false);
  const lines = [];
  await page.click('.terminal-screen');
  await page.keyboard.press('Shift+End');
  // All rows, seen page by page from the top.
  const shownNow = async () => (await screen(page)).join('\n');
  await page.hover('.terminal-screen');
  await until(async () => {
    await page.mouse.wheel(0, -2000);
    return (await screen(page)).includes('old-1');
  }, 'the first line');
  for (let before = ''; before !== await shownNow();) {
    before = await shownNow();
    lines.push(...await screen(page));
    await page.mouse.wheel(0, 300);
    await until(async () => await shownNow() !== before || lines.includes('new-60'), 'it scrolls');
  }
  const seen = new Set(lines);
  for (let i = 1; i <= 300; i++)
    holds(seen.has(`old-${i}`), `old-${i}`);
  for (let i = 1; i <= 60; i++)
    holds(seen.has(`new-${i}`), `new-${i}`);
  same(await height(), rows);
  const late = await watch(server, 'older');
  await shows(late.page, 'new-60');
  await until(async () => {
    await page.mouse.wheel(0, 20000);
    return JSON.stringify(await screen(page)) === JSON.stringify(await screen(late.page));
  }, 'the same rows at the end');
  await page.waitForFunction(() => document.getElementById('people').textContent.startsWith('2 watch'));
  await late.context.close();
  await page.waitForFunction(() => document.getElementById('people').textContent.startsWith('nobody'));
  same(wrong, []);
  await context.close();
});

row('a click in the timeline moves the terminal to where its output begins', async ({ server }) => {
  await run(server, 'true', 'moves');
  const { context, page } = await watch(server, 'moves');
  await run(server, 'echo the-be""gin-of-it; seq 300', 'moves');
  await run(server, 'seq 500 800', 'moves');
  await shows(page, '800');
  holds(!(await screen(page)).includes('the-begin-of-it'), await screen(page));
  await page.click('#rows li:has-text("gin-of-it") .head');
  await until(async () => (await screen(page)).includes('the-begin-of-it'), 'it moved there');
  await context.close();
});

row('keys: Tab passes by until one drives, Ctrl+Shift+Esc leaves for the header', async ({ server }) => {
  await run(server, 'true', 'keys');
  const { context, page } = await watch(server, 'keys');
  const inside = () => page.evaluate(() => document.activeElement.matches('.xterm-helper-textarea'));
  await page.click('.terminal-screen');
  same(await inside(), true);
  await page.keyboard.press('Tab');
  same(await inside(), false);
  await take(page);
  same(await inside(), true);
  await page.keyboard.press('Tab');
  same(await inside(), true);
  holds((await page.getAttribute('.xterm-helper-textarea', 'aria-label')).includes('Control Shift Escape'));
  await page.keyboard.press('Control+Shift+Escape');
  same(await page.evaluate(() => Boolean(document.activeElement.closest('#top'))), true);
  await context.close();
});

row('the key bar, 390 px wide: sticky Ctrl, arrows, Esc, paste', async ({ server }) => {
  await run(server, 'true', 'bar');
  const { context, page } = await open(server, { width: 390, height: 844, hasTouch: true,
    permissions: ['clipboard-read', 'clipboard-write'] });
  const key = name => page.tap(`.terminal-keys [data-key="${name}"]`);
  await page.tap('#tab-terminal');
  await page.tap('.tabs.small [role=tab]:text-is("bar")');
  await says(page, 'You watch, nobody drives');
  await page.tap('#terminal-drive');
  await says(page, 'You drive');
  for (const box of await page.locator('.terminal-keys button').all()) {
    const { width, height } = await box.boundingBox();
    holds(width >= 44 && height >= 44, width, height);
  }
  await page.keyboard.type('sleep 600\n');
  await until(async () => (await page.textContent('#state')).length, 'a state');
  await key('Ctrl');
  same(await page.getAttribute('.terminal-keys [data-key=Ctrl]', 'aria-pressed'), 'true');
  await page.keyboard.type('c');
  same(await page.getAttribute('.terminal-keys [data-key=Ctrl]', 'aria-pressed'), 'false');
  await page.keyboard.type('echo got-$((1+1))\n');
  await shows(page, 'got-2');
  await page.keyboard.type('cat -v\n');
  await key('Esc');
  await key('←');
  await page.keyboard.type('\n');
  await shows(page, '^[^[[D');
  await page.evaluate(() => navigator.clipboard.writeText('pasted-text'));
  await key('Paste');
  await shows(page, 'pasted-text');
  await page.keyboard.type('\n');
  await until(async () => (await screen(page)).join('\n').split('pasted-text').length === 3, 'cat has it');
  await key('^C');
  // Until the signal ends cat, it may read what is typed: a tty gives it that first.
  await until(async () => /[$#] ?$/.test((await screen(page)).filter(Boolean).at(-1)), 'a prompt');
  await page.keyboard.type('echo after-$((2+2))\n');
  await shows(page, 'after-4');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  holds(wide <= 0, `${wide} px to the side`);
  await context.close();
});

row('a key that may view: there is nothing to take', async ({ server }) => {
  await run(server, 'echo for-viewers', 'main');
  const { context, page } = await watch(server, 'main', { key: server.add() });
  await shows(page, 'for-viewers');
  same(await page.locator('#terminal-drive, .plus, .terminal-keys').count(), 0);
  await page.click('.terminal-screen');
  await page.keyboard.type('x');
  await page.waitForSelector('#toast:has-text("only watch")');
  await context.close();
});

row('a session is played: its time line, speeds, commands, sizes; then it is live again', async ({ server }) => {
  const session = 'played';
  await server.act('run', { command: 'true', until: 'end' }, { session });
  await server.act('resize', { rows: 20, cols: 60 }, { session });
  await run(server, 'for i in 1 2 3 4; do echo tick-$i; sleep 0.3; done', session);
  await server.act('resize', { rows: 12, cols: 70 }, { session });
  await run(server, 'clear; echo the-last', session);
  const [, ...events] = (await (await server.ask(`/sessions/${session}/cast`)).text()).trim().split('\n')
    .map(l => JSON.parse(l));
  const at = text => events.find(e => e[2].includes(text))[0];
  const { context, page, wrong } = await watch(server, session);
  await shows(page, 'the-last');
  await page.click('#terminal-play');
  await says(page, 'Recording');
  await page.focus('#player-line');
  await page.keyboard.press('Space');
  await page.waitForSelector('#player-toggle:text-is("Play")');
  const value = () => page.evaluate(() => +document.getElementById('player-line').value);
  const seen = async () => (await screen(page)).filter(Boolean);
  // What the screen shows at a place, and how many rows it has.
  const goes = async (to, lines, rows) => {
    await until(async () => JSON.stringify(await seen()) === JSON.stringify(lines), `at ${to}`)
      .catch(async e => holds(false, String(e), await seen(), lines, events));
    same((await screen(page)).length, rows, `rows at ${to}`);
  };
  const move = to => page.evaluate(v => {
    const line = document.getElementById('player-line');
    line.value = v;
    line.dispatchEvent(new Event('input'));
  }, to);
  await move(at('tick-2') + 0.01);
  await goes('tick-2', ['tick-1', 'tick-2'], 20);
  await move(at('tick-4') + 0.01);
  await goes('tick-4', ['tick-1', 'tick-2', 'tick-3', 'tick-4'], 20);
  await page.keyboard.press('End');
  await goes('the end', ['the-last'], 12);
  await page.keyboard.press('[');
  await page.keyboard.press('[');
  await until(async () => await value() < at('tick-2'), 'a command before');
  const box = await page.locator('#player-line').boundingBox();
  const drag = async (from, to) => {
    await page.mouse.move(box.x + box.width * from, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * to, box.y + box.height / 2, { steps: 8 });
    await page.mouse.up();
  };
  for (const to of [0.9, 0.3, 0.55]) {
    await drag(0.1, to);
    const now = await value();
    const lines = events.filter(e => e[1] === 'o' && e[0] <= now).map(e => e[2]).join('').split('\r\n')
      .filter(Boolean);
    await goes(`${to}, ${now}`, lines.join().includes('the-last') ? ['the-last'] : lines,
      now < at('70x12') ? 20 : 12);
  }
  same(await page.locator('#player-commands option').allTextContents().then(t => t.map(x => x.slice(5))),
    ['true', 'for i in 1 2 3 4; do echo tick-$i; sleep 0.3; done', 'clear; echo the-last']);
  await page.selectOption('#player-commands', { index: 1 });
  await until(async () => Math.abs(await value() - at('for i')) < 0.01, 'the command');
  await page.selectOption('#player-speed', '16');
  await page.click('#player-toggle');
  await goes('the end, played', ['the-last'], 12);
  await page.waitForSelector('#player-toggle:text-is("Play")');
  await accessible(page);
  await page.click('#terminal-play');
  await says(page, 'You watch, nobody drives');
  await shows(page, 'the-last');
  await run(server, 'echo live-again', session);
  await shows(page, 'live-again');
  same(await page.locator('.player').isVisible(), false);
  same(wrong, []);
  await context.close();
});

for (const theme of ['light', 'dark']) {
  for (const width of [1440, 390]) {
    row(`axe finds nothing: ${theme}, ${width} px wide`, async ({ server }) => {
      await run(server, 'for i in 0 1 2 3 4 5 6 7; do printf "\\033[3${i}mc$i \\033[9${i}mb$i "; done; echo',
        'axe');
      const { context, page, wrong } = await open(server, { width, height: 844, colorScheme: theme });
      await page.click('#tab-terminal');
      await page.click('.tabs.small [role=tab]:text-is("axe")');
      await shows(page, 'b7');
      await accessible(page);
      await page.click('#terminal-drive');
      await says(page, 'You drive');
      await page.click('.terminal-settings summary');
      await page.check('#terminal-reader');
      await accessible(page);
      same(wrong, []);
      await context.close();
    });
  }
}

runRows();
