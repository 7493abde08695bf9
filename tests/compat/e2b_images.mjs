// SPDX-License-Identifier: MIT
//
// node e2b_images.mjs MODULES URL IMAGE: the client `e2b` against od in a root directory
// that has busybox and no bash (busybox), or no program but od (empty): a line "ok NAME"
// or "no NAME" a row.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'

const [modules, url, image] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Sandbox } = require('e2b')
const sandbox = new Sandbox({
  sandboxId: 'local', envdVersion: '0.6.13', sandboxUrl: url, apiKey: 'e2b_' + '0'.repeat(40),
})
const { commands, files, pty } = sandbox
const same = assert.deepEqual

const rows = []
const row = (name, test) => rows.push([name, test])

// Start without a shell: the messages of its stream.
const start = async (cmd, ...args) => {
  const message = Buffer.from(JSON.stringify({ process: { cmd, args } }))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(message.length, 1)
  const answer = await fetch(url + '/process.Process/Start', {
    method: 'POST', headers: { 'Content-Type': 'application/connect+json' }, body: Buffer.concat([head, message]),
  })
  let rest = Buffer.from(await answer.arrayBuffer())
  const messages = []
  while (rest.length) {
    const end = 5 + rest.readUInt32BE(1)
    messages.push(JSON.parse(rest.subarray(5, end)))
    rest = rest.subarray(end)
  }
  return messages
}
const text = messages => Buffer.concat(messages.map(m => Buffer.from(m.event?.data?.stdout ?? '', 'base64'))).toString()
const end = messages => messages.map(m => m.event?.end).find(Boolean)

row('it is running', async () => same(await sandbox.isRunning(), true))
row('files: written, read, listed, moved, removed', async () => {
  await files.write('/new/a', 'text')
  same(await files.read('/new/a'), 'text')
  same((await files.list('/new')).map(f => [f.name, f.type, f.owner]), [['a', 'file', (await files.getInfo('/new')).owner]])
  same((await files.rename('/new/a', '/new/b')).path, '/new/b')
  same(await files.makeDir('/new/c'), true)
  await files.remove('/new')
  same(await files.exists('/new'), false)
})
row('files: a directory is watched', async () => {
  await files.makeDir('/seen')
  let told
  const come = new Promise(resolve => { told = resolve })
  const w = await files.watchDir('/seen', e => told(e), { timeoutMs: 0 })
  await files.write('/seen/f', 'x')
  same([(await come).name, (await come).type], ['f', 'create'])
  await w.stop()
})
row('a program runs without a shell', async () => {
  const messages = await start('/od', '--version')
  assert.match(text(messages), /^od/)
  same(end(messages).status, 'exit status 0')
})
if (image === 'busybox') {
  row('commands.run: the shell that there is takes the place of bash', async () => {
    const done = await commands.run('echo "out $A"; echo err >&2; cd /proc; pwd', { envs: { A: 'b' } })
    same([done.exitCode, done.stdout, done.stderr], [0, 'out b\n/proc\n', 'err\n'])
    await assert.rejects(commands.run('exit 3'), e => e.exitCode === 3)
  })
  row('commands in the background: input, kill', async () => {
    const h = await commands.run('read x; echo "got $x"', { background: true, stdin: true })
    await commands.sendStdin(h.pid, 'it\n')
    same((await h.wait()).stdout, 'got it\n')
    const k = await commands.run('sleep 600', { background: true })
    same(await k.kill(), true)
    await assert.rejects(k.wait(), e => e.exitCode === -1)
  })
} else {
  row('commands.run: 127 and the reason, as from a shell', async () => {
    await assert.rejects(commands.run('echo hi'), e => e.exitCode === 127 && /\/bin\/bash/.test(e.stderr))
  })
  row('a terminal: there is no shell to run in it', async () => {
    const h = pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} })
    await assert.rejects(h.then(x => x.wait()))
  })
}

for (const [name, test] of rows) {
  try {
    await test()
    console.log('ok ' + name)
  } catch (e) {
    console.log(`# ${String(e?.stack ?? e).split('\n').slice(0, 12).join('\n# ')}`)
    console.log('no ' + name)
  }
}
process.exit(0)
