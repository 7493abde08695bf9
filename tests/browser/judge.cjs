// SPDX-License-Identifier: MIT
// Steps on the page of events, each in the action language and by Playwright.
//   judge.cjs                    prints those in the action language
//   judge.cjs CHROMIUM ADDRESS   does the others, and prints what the page saw
// F9 stands between two steps.
const { chromium } = require('playwright-core');

const keys = ['Tab', 'Escape', 'PageUp', 'Home', 'End', 'Delete', 'Backspace', 'Insert',
  'Digit1', 'Minus', 'Backquote', '!', '+', 'Control++', 'Meta', 'ArrowDown', 'Shift+a', 'Shift+1'];
const steps = [
  ["click('5')", p => p.click('#b')],
  ["click('5', button='right')", p => p.click('#b', { button: 'right' })],
  ["click('5', modifiers=['Shift', 'Alt'])", p => p.click('#b', { modifiers: ['Shift', 'Alt'] })],
  ["dblclick('5')", p => p.dblclick('#b')],
  ["click('6')", p => p.click('#i')],
  ["hover('5')", p => p.hover('#b')],
  ["fill('6', 'some text')", p => p.fill('#i', 'some text')],
  ["clear('6')", p => p.fill('#i', '')],
  ["fill('7', 'two\\nlines')", p => p.fill('#t', 'two\nlines')],
  ["fill('8', 'rich')", p => p.fill('#e', 'rich')],
  ["fill('9', '2024-02-29')", p => p.fill('#d', '2024-02-29')],
  ["check('10')", p => p.check('#c')],
  ["check('10')", p => p.check('#c')],
  ["uncheck('10')", p => p.uncheck('#c')],
  ["select_option('11', 'two')", p => p.selectOption('#s', 'two')],
  ["select_option('14', ['x', 'z'])", p => p.selectOption('#m', ['x', 'z'])],
  ["focus('6')", p => p.focus('#i')],
  ["press('6', 'Control+a')", p => p.press('#i', 'Control+a')],
  ["press('6', 'Enter')", p => p.press('#i', 'Enter')],
  ["press('6', 'Shift+KeyQ')", p => p.press('#i', 'Shift+KeyQ')],
  ["focus('6') keyboard_type('aB 1!é')", async p => {
    await p.focus('#i');
    await p.keyboard.type('aB 1!é');
  }],
  ["keyboard_insert_text('日本')", p => p.keyboard.insertText('日本')],
  ["keyboard_down('Shift') keyboard_press('ArrowLeft') keyboard_press('KeyA') keyboard_up('Shift')",
    async p => {
      await p.keyboard.down('Shift');
      await p.keyboard.press('ArrowLeft');
      await p.keyboard.press('KeyA');
      await p.keyboard.up('Shift');
    }],
  ...keys.map(k => [`keyboard_press('${k}')`, p => p.keyboard.press(k)]),
  ["drag_and_drop('18', '19')", async p => {
    await p.hover('#g');
    await p.mouse.down();
    await p.hover('#h');
    await p.mouse.up();
  }],
  ['mouse_click(60, 70)', p => p.mouse.click(60, 70)],
  ['mouse_dblclick(60, 70)', p => p.mouse.dblclick(60, 70)],
  ["mouse_click(60, 70, 'middle')", p => p.mouse.click(60, 70, { button: 'middle' })],
  ['mouse_drag_and_drop(60, 70, 160, 250)', async p => {
    await p.mouse.move(60, 70);
    await p.mouse.down();
    await p.mouse.move(160, 250);
    await p.mouse.up();
  }],
  ["mouse_move(50, 60) mouse_down(60, 70, 'left') mouse_up(70, 80, 'left')", async p => {
    await p.mouse.move(50, 60);
    await p.mouse.move(60, 70);
    await p.mouse.down();
    await p.mouse.move(70, 80);
    await p.mouse.up();
  }],
];

async function judge(program, address) {
  const browser = await chromium.launch({
    executablePath: program, args: ['--disable-dev-shm-usage'], chromiumSandbox: false });
  const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
  await page.goto(address);
  for (const [, step] of steps) {
    await step(page);
    await page.keyboard.press('F9');
  }
  console.log(await page.evaluate(() => document.querySelector('#log').innerText));
  await browser.close();
}

if (process.argv[2])
  judge(process.argv[2], process.argv[3]);
else
  console.log(steps.map(s => `${s[0]} keyboard_press('F9')`).join('\n'));
