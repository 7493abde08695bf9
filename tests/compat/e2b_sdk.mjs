// SPDX-License-Identifier: MIT
//
// node e2b_sdk.mjs MODULES URL FOLDER [PATTERN]: the client `e2b` against --listen e2b@…:
// a line "ok NAME" or "no NAME" a row. The rows are what each call of the client promises.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const [modules, url, folder, pattern] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Sandbox, AuthenticationError, CommandExitError, FileNotFoundError, InvalidArgumentError,
  TimeoutError } = require('e2b')

const box = (more = {}) => new Sandbox({
  sandboxId: 'local', envdVersion: '0.6.13', sandboxUrl: url, apiKey: 'e2b_' + '0'.repeat(40),
  envdAccessToken: process.env.E2B_TOKEN, ...more,
})
const sandbox = box()
const { commands, files, pty } = sandbox
const same = assert.deepEqual
const bytes = text => new TextEncoder().encode(text)
const until = async (fact, what) => {
  for (let i = 0; i < 1200; i++) {
    if (await fact()) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error('not so after 30 s: ' + what)
}
const root = process.getuid() === 0
const killWorker = () => execFileSync('pkill', ['-9', '-P', process.env.KEEPER, '-f', '^od-worker'])
let places = 0
const place = () => {
  const path = `${folder}/p${++places}`
  mkdirSync(path)
  return path
}

const rows = []
const row = (name, test) => { if (!pattern || name.includes(pattern)) rows.push([name, test]) }

// ---- commands

row('it is running', async () => same(await sandbox.isRunning(), true))
row('a command: output, error output, exit 0', async () => {
  const done = await commands.run('echo out; echo err >&2')
  same([done.exitCode, done.stdout, done.stderr, done.error], [0, 'out\n', 'err\n', undefined])
})
row('a command that fails is an exception with its exit code and output', async () => {
  await assert.rejects(commands.run('echo o; echo e >&2; exit 42'), e =>
    e instanceof CommandExitError && e.exitCode === 42 && e.stdout === 'o\n' && e.stderr === 'e\n')
})
row('a program that is not there ends with 127', async () => {
  await assert.rejects(commands.run('od-no-such-program'), e => e.exitCode === 127)
})
row('envs, cwd and user', async () => {
  const cwd = place()
  same((await commands.run('echo $A-$B; pwd', { cwd, envs: { A: 'x y', B: 'ä' } })).stdout, `x y-ä\n${cwd}\n`)
  same((await commands.run('id -un', { user: execFileSync('id', ['-un']).toString().trim() })).exitCode, 0)
  await assert.rejects(commands.run('true', { cwd: '/no/such/place' }), e =>
    e instanceof InvalidArgumentError && e.message.includes("cwd '/no/such/place' does not exist"))
  await assert.rejects(commands.run('true', { user: 'od-nobody-at-all' }), AuthenticationError)
})
if (root) row('another user has its home, rights and groups', async () => {
  same((await commands.run('id -un; echo $USER', { user: 'nobody' })).stdout, 'nobody\nnobody\n')
  await assert.rejects(commands.run('cat /etc/shadow', { user: 'nobody' }), e => e.exitCode === 1)
})
row('output comes as it is printed, each stream to its callback', async () => {
  const said = []
  await commands.run('echo a; sleep 0.05; echo b >&2; sleep 0.05; echo c', {
    onStdout: d => said.push('o' + d), onStderr: d => said.push('e' + d) })
  same(said, ['oa\n', 'eb\n', 'oc\n'])
})
row('every byte of a long output, and characters that are cut by no piece', async () => {
  const done = await commands.run('for i in $(seq 200000); do echo "ä$i"; done')
  same(done.stdout.length, Array.from({ length: 200000 }, (_, i) => `ä${i + 1}\n`).join('').length)
  assert(done.stdout.endsWith('ä199999\nä200000\n') && !done.stdout.includes('\ufffd'))
})
row('background: listed, then waited for', async () => {
  const h = await commands.run('read x; echo "got $x"', { background: true, stdin: true, envs: { T: '1' } })
  const it = (await commands.list()).find(p => p.pid === h.pid)
  same([it.cmd, it.args.slice(0, 2), it.envs.T], ['/bin/bash', ['-l', '-c'], '1'])
  await commands.sendStdin(h.pid, 'line\n')
  same((await h.wait()).stdout, 'got line\n')
  same((await commands.list()).some(p => p.pid === h.pid), false)
})
row('stdin is a pipe that can be closed; without it there is none', async () => {
  const h = await commands.run('wc -c; exec sleep 600', { background: true, stdin: true })
  await commands.sendStdin(h.pid, 'x'.repeat(300000))
  await commands.sendStdin(h.pid, bytes('y'.repeat(100000)))
  await commands.closeStdin(h.pid)
  await commands.closeStdin(h.pid)
  await until(() => h.stdout.trim() === '400000', 'the count: ' + h.stdout)
  await h.kill()
  await assert.rejects(h.wait())
  same((await commands.run('wc -c')).stdout.trim(), '0')
  const none = await commands.run('sleep 60', { background: true })
  await assert.rejects(commands.sendStdin(none.pid, 'x'))
  await none.kill()
})
row('kill: the whole group ends, and a second kill finds nothing', async () => {
  const path = place()
  const h = await commands.run(`sleep 600 & echo $! > ${path}/child; wait`, { background: true })
  await until(() => { try { return readFileSync(path + '/child', 'utf8').endsWith('\n') } catch { return false } }, 'child')
  const child = Number(readFileSync(path + '/child', 'utf8'))
  same(await h.kill(), true)
  await assert.rejects(h.wait(), e => e.exitCode === -1 && /signal: killed/.test(e.error))
  await until(() => { try { process.kill(child, 0); return /\) Z /.test(readFileSync(`/proc/${child}/stat`, 'utf8')) } catch { return true } }, 'the child ended')
  same(await commands.kill(h.pid), false)
})
row('a time limit kills the process', async () => {
  const path = place()
  await assert.rejects(commands.run(`echo $$ > ${path}/pid; exec sleep 600`, { timeoutMs: 1500 }), TimeoutError)
  const pid = Number(readFileSync(path + '/pid', 'utf8'))
  await until(async () => !(await commands.list()).some(p => p.pid === pid), 'it is gone')
})
row('many listeners get all of it', async () => {
  const h = await commands.run('read go; seq 20000', { background: true, stdin: true, timeoutMs: 0 })
  const others = await Promise.all(Array.from({ length: 20 }, () => commands.connect(h.pid, { timeoutMs: 0 })))
  await commands.sendStdin(h.pid, '\n')
  const all = await Promise.all([h, ...others].map(x => x.wait()))
  same(new Set(all.map(r => r.stdout.length)), new Set([108894]))
})
row('a client that reconnects gets the output that was not sent, also after the end', async () => {
  const h = await commands.run('echo first; read x; echo second; exit 3', { background: true, stdin: true, timeoutMs: 0 })
  await until(() => h.stdout === 'first\n', 'first')
  await h.disconnect()
  await commands.sendStdin(h.pid, '\n')
  await until(async () => !(await commands.list()).some(p => p.pid === h.pid), 'its end')
  const again = await commands.connect(h.pid)
  await assert.rejects(again.wait(), e => e.exitCode === 3 && e.stdout === 'second\n')
})
row('100 commands at once', async () => {
  const all = await Promise.all(Array.from({ length: 100 }, (_, i) => commands.run(`echo ${i}`)))
  same(all.map(r => r.stdout), Array.from({ length: 100 }, (_, i) => `${i}\n`))
})
row('a killed worker: processes go on, and state and output stay', async () => {
  const h = await commands.run('read x; echo "after $x"; exit 5', { background: true, stdin: true, timeoutMs: 0 })
  h.wait().catch(() => {})
  killWorker()
  await until(async () => { try { return (await commands.list()).some(p => p.pid === h.pid) } catch { return false } }, 'list')
  const again = await commands.connect(h.pid, { timeoutMs: 0 })
  await commands.sendStdin(h.pid, 'it\n')
  await assert.rejects(again.wait(), e => e.exitCode === 5 && e.stdout === 'after it\n')
})

// ---- terminals

row('a terminal: input, size, end', async () => {
  let screen = ''
  const h = await pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: d => { screen += Buffer.from(d) } })
  await pty.sendInput(h.pid, bytes('stty size; echo $TERM\n'))
  await until(() => /24 80\r\nxterm-256color/.test(screen), 'its size: ' + screen)
  await pty.resize(h.pid, { cols: 101, rows: 31 })
  await pty.sendInput(h.pid, bytes('stty size\n'))
  await until(() => screen.includes('31 101'), 'its new size')
  await assert.rejects(commands.sendStdin(h.pid, 'x'))
  let other = ''
  await pty.connect(h.pid, { onData: d => { other += Buffer.from(d) }, timeoutMs: 0 })
  await pty.sendInput(h.pid, bytes('echo to-both; exit 4\n'))
  await assert.rejects(h.wait(), e => e.exitCode === 4)
  await until(() => other.includes('to-both'), 'the other listener')
})
row('a terminal is killed with its jobs', async () => {
  const h = await pty.create({ cols: 80, rows: 24, timeoutMs: 0, onData: () => {} })
  await pty.sendInput(h.pid, bytes('sleep 600\n'))
  same(await pty.kill(h.pid), true)
  await assert.rejects(h.wait(), e => e.exitCode === -1)
})

// ---- files

row('write and read: text, bytes, blob, stream, empty', async () => {
  const at = place()
  const done = await files.write(`${at}/new/ä b.txt`, 'hellö')
  same([done.path, done.name, done.type], [`${at}/new/ä b.txt`, 'ä b.txt', 'file'])
  same(await files.read(done.path), 'hellö')
  same(Buffer.from(await files.read(done.path, { format: 'bytes' })).toString(), 'hellö')
  same(await (await files.read(done.path, { format: 'blob' })).text(), 'hellö')
  let streamed = ''
  for await (const part of await files.read(done.path, { format: 'stream' })) streamed += Buffer.from(part)
  same(streamed, 'hellö')
  await files.write(`${at}/none`, '')
  same(await files.read(`${at}/none`), '')
  await files.write(`${at}/octets`, new Blob(['packed']), { useOctetStream: true, gzip: true })
  same(await files.read(`${at}/octets`), 'packed')
})
row('several files at once, and as many as one likes', async () => {
  const at = place()
  const many = Array.from({ length: 500 }, (_, i) => ({ path: `${at}/d${i % 7}/${i}`, data: `n${i}` }))
  same((await files.write(many)).map(f => f.path), many.map(f => f.path))
  same(await files.read(`${at}/d2/499`), 'n499')
})
row('a file that is written over keeps its mode', async () => {
  const at = place()
  writeFileSync(`${at}/run`, 'old and longer', { mode: 0o755 })
  await files.write(`${at}/run`, 'new')
  same([readFileSync(`${at}/run`, 'utf8'), statSync(`${at}/run`).mode & 0o777], ['new', 0o755])
})
row('metadata is kept with the file, where the file system can', async () => {
  const at = place()
  const done = await files.write(`${at}/f`, 'x', { metadata: { colour: 'red' } })
  same(done.metadata, { colour: 'red' })
  const kept = (await files.getInfo(`${at}/f`)).metadata
  assert(kept === undefined || kept.colour === 'red')
})
row('ten megabytes up and down', async () => {
  const at = place(), data = Buffer.alloc(10 << 20, 'od e2b\n')
  await files.write(`${at}/big`, new Blob([data]))
  assert(data.equals(Buffer.from(await files.read(`${at}/big`, { format: 'bytes' }))))
})
row('list: depth, links, what is hidden; getInfo', async () => {
  const at = place()
  mkdirSync(`${at}/d/e`, { recursive: true })
  writeFileSync(`${at}/d/e/ä`, '123', { mode: 0o640 })
  writeFileSync(`${at}/d/.h`, '')
  symlinkSync('e', `${at}/d/l`)
  symlinkSync('nothing', `${at}/d/broken`)
  same((await files.list(`${at}/d`)).map(x => x.name), ['.h', 'e', 'l'])
  same((await files.list(`${at}/d`, { depth: 2 })).map(x => x.path), ['.h', 'e', 'e/ä', 'l'].map(n => `${at}/d/${n}`))
  const file = await files.getInfo(`${at}/d/e/ä`)
  same([file.name, file.type, file.size, file.mode, file.permissions], ['ä', 'file', 3, 0o640, '-rw-r-----'])
  assert(Math.abs(file.modifiedTime - statSync(`${at}/d/e/ä`).mtimeMs) < 2)
  const link = await files.getInfo(`${at}/d/l`)
  same([link.type, link.permissions, link.symlinkTarget], ['dir', 'Lrwxrwxrwx', `${at}/d/e`])
  same((await files.getInfo(`${at}/d`)).permissions, 'drwxr-xr-x')
  await assert.rejects(files.list(`${at}/nope`), FileNotFoundError)
  await assert.rejects(files.list(`${at}/d/.h`), InvalidArgumentError)
})
row('makeDir, exists, rename, remove', async () => {
  const at = place()
  same([await files.makeDir(`${at}/a/b`), await files.makeDir(`${at}/a/b`)], [true, false])
  await files.write(`${at}/a/f`, 'x')
  await assert.rejects(files.makeDir(`${at}/a/f`), InvalidArgumentError)
  same((await files.rename(`${at}/a/f`, `${at}/to/g`)).path, `${at}/to/g`)
  same([await files.exists(`${at}/a/f`), await files.exists(`${at}/to/g`)], [false, true])
  await assert.rejects(files.rename(`${at}/nope`, `${at}/x`), FileNotFoundError)
  await files.remove(at)
  await files.remove(at)
  same(await files.exists(at), false)
})
if (root) row('files as another user', async () => {
  const at = place()
  writeFileSync(`${at}/secret`, 'abcdef', { mode: 0o600 })
  await assert.rejects(files.read(`${at}/secret`, { user: 'nobody' }))
  await assert.rejects(files.write(`${at}/x`, 'x', { user: 'nobody' }))
  execFileSync('chmod', ['777', at])
  await files.write(`${at}/theirs`, 'abcdef', { user: 'nobody' })
  same([(await files.getInfo(`${at}/theirs`)).owner, await files.read(`${at}/theirs`, { user: 'nobody' })], ['nobody', 'abcdef'])
  await assert.rejects(files.list(at, { user: 'od-nobody-at-all' }), AuthenticationError)
})
row('watchDir: what is made, written, renamed, removed', async () => {
  const at = place(), seen = []
  mkdirSync(`${at}/sub`)
  const w = await files.watchDir(at, e => seen.push(`${e.type} ${e.name}`), { recursive: true, timeoutMs: 0 })
  await commands.run('echo 1 > sub/a; mv sub/a sub/ä; chmod 600 sub/ä; rm sub/ä', { cwd: at })
  await until(() => seen.includes('remove sub/ä'), 'its end, of ' + seen)
  same(seen.filter(e => !e.startsWith('write')), ['create sub/a', 'rename sub/a', 'create sub/ä', 'chmod sub/ä', 'remove sub/ä'])
  assert(seen.includes('write sub/a'))
  await w.stop()
  await assert.rejects(files.watchDir(`${at}/nope`, () => {}), FileNotFoundError)
})
row('watchDir: with what the file is', async () => {
  const at = place(), seen = []
  const w = await files.watchDir(at, e => seen.push(e), { includeEntry: true, timeoutMs: 0 })
  writeFileSync(`${at}/f`, 'four')
  await until(() => seen.some(e => e.type === 'write' && e.entry?.size === 4), 'the entry')
  await w.stop()
})

// ---- who may

row('signed URLs, with and without an end', async () => {
  const at = place()
  for (const more of [{}, { useSignatureExpiration: 60 }]) {
    const form = new FormData()
    form.append('file', new Blob(['signed']), 'any')
    const up = await fetch(await sandbox.uploadUrl(`${at}/s`, more), { method: 'POST', body: form })
    same([up.status, (await up.json())[0].path], [200, `${at}/s`])
    const down = await sandbox.downloadUrl(`${at}/s`, more)
    same(await (await fetch(down)).text(), 'signed')
    for (const [at, how] of [[down, { method: 'POST', body: form }], [down.replace(/p\d+%2Fs/, 'x'), {}]])
      assert([401, 429].includes((await fetch(at, how)).status)) // many wrong ones are slowed down
  }
})
row('without the token nothing is done', async () => {
  for (const envdAccessToken of [undefined, 'wrong']) {
    for (const call of [b => b.commands.run('true'), b => b.files.read('/etc/passwd')])
      await until(() => call(box({ envdAccessToken })).then(() => assert.fail('it was done'),
        e => e.name === 'AssertionError' ? Promise.reject(e) : e instanceof AuthenticationError), // 429 comes, too
      'it is refused')
  }
})

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
