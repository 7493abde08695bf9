// SPDX-License-Identifier: MIT
// page.cjs FILE.png: a picture of the live page, while an agent's program waits for input.
const { launch, open, serve, shown, until } = require('../../tests/browser/live.cjs');
const fs = require('fs');

const program = `#!/usr/bin/env python3
import datetime

def greet(name, hour):
    return f"Good {'morning' if hour < 12 else 'evening'}, {name}!"

if __name__ == "__main__":
    name = input("What is your name? ")
    print(greet(name, datetime.datetime.now().hour))
`;
const test = `import unittest
from greet import greet

class Greet(unittest.TestCase):
    def test_morning(self):
        self.assertEqual(greet("Ada", 9), "Good morning, Ada!")

    def test_evening(self):
        self.assertEqual(greet("Ada", 21), "Good evening, Ada!")
`;

(async () => {
  const browser = await launch();
  const root = fs.mkdtempSync('/tmp/'), server = await serve([], undefined, root);
  const act = async (action, args) => {
    const answer = await server.ask('/events?wait=60', { action, args, session: 'main' });
    if (!answer.ok)
      throw new Error(await answer.text());
    await answer.text();
  };
  const run = command => act('run', { command, until: 'input' });
  await run('mkdir greet && cd greet');
  await act('write', { path: `${root}/greet/greet.py`, content: program });
  await act('write', { path: `${root}/greet/test_greet.py`, content: test });
  await run('python3 -m unittest -v');
  await run('sed -i "s/hour < 12/hour < 9/" greet.py');
  await run('python3 -m unittest -q');
  await run('python3 greet.py');
  const { page } = await open(server, { width: 1380, height: 640 });
  await shown(page, 'python3 greet.py');
  await until(() => page.evaluate(() => document.fonts.ready.then(() => true)), 'fonts');
  await page.waitForTimeout(1500); // the cursor, and the last picture of the terminal
  await page.screenshot({ path: process.argv[2] });
  server.child.kill();
  fs.rmSync(root, { recursive: true });
  await browser.close();
  process.exit(0);
})();
