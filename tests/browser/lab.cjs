// SPDX-License-Identifier: MIT
// What a person does in JupyterLab, row by row, in one page:
//   lab.cjs URL TOKEN FOLDER [PATTERN]   prints "ok NAME" or "no NAME"
// With LAB_PICTURE, the last page is stored there.
const { chromium } = require('playwright-core');
const fs = require('fs');
const path = require('path');
const [url, token, folder, pattern = ''] = process.argv.slice(2);
const LIMIT = 30000 * (process.env.OD_TEST_SLOW || 2);
const rows = [];
const row = (name, run) => name.includes(pattern) && rows.push({ name, run });
const holds = (what, ...about) => {
  if (!what)
    throw new Error(about.map(a => typeof a === 'string' ? a : JSON.stringify(a)).join(' '));
};
async function until(what, about) {
  const end = Date.now() + LIMIT;
  for (let got; !(got = await what()); await new Promise(r => setTimeout(r, 50)))
    holds(Date.now() < end, 'timed out:', about);
}

// The cell that has the focus, with a text.
async function write(page, code) {
  const cell = page.locator('.jp-Notebook .jp-Cell').last();
  await cell.locator('.cm-content').click();
  await page.keyboard.press('Control+A');
  await page.keyboard.insertText(code);
  return cell;
}
const prompt = (cell, like) => until(async () => like.test(await cell.locator('.jp-InputPrompt').innerText()), `prompt ${like}`);
const command = (page, id) => page.locator(`.jp-NotebookPanel:not(.lm-mod-hidden) [data-command="${id}"]`).first().click();
// JupyterLab drops what is run before.
const connected = page => page.waitForFunction(() => {
  const session = window.jupyterapp.shell.currentWidget?.sessionContext;
  return session?.isReady && session.session?.kernel?.connectionStatus === 'connected' && session.session.kernel.status === 'idle';
});
const accept = page => page.locator('.jp-Dialog .jp-mod-accept').first().click();

row('without a token there is the form, and its token opens the page', async ({ page }) => {
  await page.goto(`${url}/lab`);
  holds(page.url() === `${url}/login?next=/lab`, page.url());
  await page.fill('[name=password]', 'wrong');
  await page.click('button');
  holds((await page.textContent('[role=alert]')) === 'Invalid credentials');
  await page.fill('[name=password]', token);
  await page.click('button');
  await page.waitForSelector('.jp-LauncherCard');
  holds(page.url().startsWith(`${url}/lab`), page.url());
});

row('the address with the token opens the page, and loses it', async ({ page }) => {
  await page.goto('about:blank');
  await page.context().clearCookies();
  await page.goto(`${url}/lab?token=${token}`);
  await page.waitForSelector('.jp-LauncherCard');
  holds(!page.url().includes(token), page.url());
});

row('a notebook is made, and a cell with a plot runs', async ({ page }) => {
  await page.locator('.jp-LauncherCard[title*="ipykernel"][data-category=Notebook]').click();
  await until(async () => fs.existsSync(path.join(folder, 'Untitled.ipynb')), 'the notebook');
  await connected(page);
  const cell = await write(page, '%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([3, 1, 4, 1, 5])\nplt.title("by od")\nplt.show()');
  await page.keyboard.press('Control+Enter');
  const picture = cell.locator('.jp-OutputArea img');
  await picture.waitFor();
  await prompt(cell, /\[1\]/);
  await until(() => picture.evaluate(i => i.naturalWidth > 100), 'the picture');
});

row('a cell is interrupted', async ({ page }) => {
  await command(page, 'notebook:insert-cell-below');
  const cell = await write(page, 'import time\nprint("begun", flush=True)\nwhile True: time.sleep(.05)');
  await page.keyboard.press('Control+Enter');
  await until(async () => (await cell.locator('.jp-OutputArea-output').allInnerTexts()).join().includes('begun'), 'output');
  await command(page, 'notebook:interrupt-kernel');
  await until(async () => (await cell.locator('.jp-OutputArea-output').allInnerTexts()).join().includes('KeyboardInterrupt'), 'the error');
  await prompt(cell, /\[2\]/);
});

row('a kernel is restarted, and has forgotten', async ({ page }) => {
  const restarted = page.waitForResponse(r => r.url().includes('/restart') && r.status() === 200);
  await command(page, 'notebook:restart-kernel');
  await accept(page);
  await restarted;
  await connected(page);
  await command(page, 'notebook:insert-cell-below');
  const cell = await write(page, 'plt');
  await page.keyboard.press('Control+Enter');
  await until(async () => (await cell.locator('.jp-OutputArea-output').allInnerTexts()).join().includes('NameError'), 'the error');
  await prompt(cell, /\[1\]/);
});

row('a question of input() is answered', async ({ page }) => {
  await command(page, 'notebook:insert-cell-below');
  const cell = await write(page, 'print("hello", input("who? "))');
  await page.keyboard.press('Control+Enter');
  await cell.locator('.jp-Stdin-input').fill('person');
  await page.keyboard.press('Enter');
  await until(async () => (await cell.locator('.jp-OutputArea-output').allInnerTexts()).join().includes('hello person'), 'the answer');
});

row('the notebook is saved, and renamed', async ({ page }) => {
  await command(page, 'docmanager:save'); // the first time, it asks for a name
  await page.locator('.jp-Dialog input[placeholder="File name"]').fill('Renamed.ipynb');
  await accept(page);
  await until(() => fs.existsSync(path.join(folder, 'Renamed.ipynb')), 'the new name');
  await until(() => fs.readFileSync(path.join(folder, 'Renamed.ipynb'), 'utf8').includes('hello person'), 'the text');
  holds(!fs.existsSync(path.join(folder, 'Untitled.ipynb')));
  await page.waitForSelector('.jp-DirListing-item[title*="Renamed.ipynb"]');
});

row('a terminal', async ({ page }) => {
  await page.evaluate(() => { window.jupyterapp.commands.execute('terminal:create-new'); });
  await page.locator('.jp-Terminal .xterm-helper-textarea').waitFor({ state: 'attached' });
  await page.locator('.jp-Terminal').click();
  await page.keyboard.type('echo by-hand >made-in-terminal\n');
  await until(() => fs.existsSync(path.join(folder, 'made-in-terminal')), 'the file');
});

row('settings and the layout are kept', async ({ page }) => {
  await page.evaluate(() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' }));
  await until(() => page.evaluate(() => document.body.dataset.jpThemeName === 'JupyterLab Dark'), 'the theme');
  await until(() => page.evaluate(async () => (await (await fetch('lab/api/workspaces/default')).text()).includes('Renamed.ipynb')), 'the layout');
  await page.goto(`${url}/lab`);
  await page.locator('#jp-main-dock-panel .lm-TabBar-tab', { hasText: 'Renamed.ipynb' }).click();
  await page.waitForSelector('.jp-NotebookPanel .jp-OutputArea img');
  await until(() => page.evaluate(() => document.body.dataset.jpThemeName === 'JupyterLab Dark'), 'the theme, again');
  await page.waitForSelector('.jp-DirListing-item[title*="Renamed.ipynb"]');
});

(async () => {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 1300, height: 900 } });
  page.setDefaultTimeout(LIMIT);
  const wrong = [];
  page.on('pageerror', e => wrong.push(e.message));
  page.on('response', r => (r.status() >= 500 || r.status() === 403) && wrong.push(`${r.status()} ${r.url()}`));
  let bad = 0;
  for (const { name, run } of rows) {
    try {
      await run({ page });
      console.log(`ok ${name}`);
    } catch (e) {
      bad++;
      console.log(`no ${name}`);
      console.log(String(e.stack).split('\n').slice(0, 12).map(l => `# ${l}`).join('\n'));
      break; // the others need what it has left
    }
  }
  console.log(`${wrong.length ? 'no' : 'ok'} the page has no error`);
  wrong.forEach(w => console.log(`# ${w}`));
  if (process.env.LAB_PICTURE)
    await page.screenshot({ path: process.env.LAB_PICTURE });
  await browser.close();
  process.exit(bad ? 1 : 0);
})();
