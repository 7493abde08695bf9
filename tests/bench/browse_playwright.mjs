// SPDX-License-Identifier: MIT
//
// browse_playwright.mjs PROGRAM FOLDER MODULE: what browse.c does, by Playwright.

import { createRequire } from 'node:module';

const [program, folder, where] = process.argv.slice(2);
const { chromium } = createRequire(`${where}/`)('playwright-core');
const us = () => performance.now() * 1000;
const median = v => v.sort((a, b) => a - b)[v.length >> 1];
const say = (name, value) => console.log(name, Math.round(value));

let begin = us();
const browser = await chromium.launch({ executablePath: program, args: ['--no-sandbox'] });
const page = await browser.newPage({ viewport: { width: 1280, height: 720 } });
say('launch', us() - begin);
const cdp = await page.context().newCDPSession(page);
const see = async () => {
    await cdp.send('DOMSnapshot.captureSnapshot', { computedStyles: [] });
    await cdp.send('Accessibility.getFullAXTree');
    await page.screenshot();
};
const times = [];
for (let i = 0; i < 7; i++) {
    begin = us();
    await page.goto(`file://${folder}/small.html`);
    await see();
    times.push(us() - begin);
}
say('visit', median(times));
begin = us();
for (let i = 0; i < 40; i++)
    await page.locator('input').fill(`value ${i}`);
say('fill', (us() - begin) / 40);
begin = us();
for (let i = 0; i < 20; i++)
    await page.locator('button').click();
say('click', (us() - begin) / 20);
await page.goto(`file://${folder}/big.html`);
times.length = 0;
for (let i = 0; i < 3; i++) {
    begin = us();
    await see();
    times.push(us() - begin);
}
say('big', median(times));
say('rss', process.memoryUsage().rss / 1024);
await browser.close();
