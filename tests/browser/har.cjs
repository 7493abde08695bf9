// SPDX-License-Identifier: MIT
// har.cjs FILE URL: opens the address with Playwright, whose only network is the archive
// (routeFromHAR), and prints what the page says.
const { chromium } = require('playwright-core');

(async () => {
  const [, , file, url] = process.argv;
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ['--no-sandbox'] });
  const page = await browser.newPage();
  await page.routeFromHAR(file, { notFound: 'abort' });
  await page.goto(url);
  await page.waitForFunction(() => document.title === 'Parts' && o.textContent !== '-');
  const inner = await page.frames()[1].textContent('p');
  console.log(await page.textContent('#o'), inner, page.url().replace(/.*\//, '/'));
  await browser.close();
})().catch(e => {
  console.error(e);
  process.exit(1);
});
