// SPDX-License-Identifier: MIT
//
// node execd_sdk.mjs MODULES URL FOLDER [PATTERN]: the client @alibaba-group/opensandbox
// against --listen execd@…: a line "ok NAME" or "no NAME" a row. OpenSandbox's server is
// played by this file: it names the address of execd, and the header that goes there.
import assert from 'node:assert/strict'
import { readFileSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'

const [modules, url, folder, pattern] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Sandbox, SandboxApiException } = require('@alibaba-group/opensandbox')
const same = assert.deepEqual
const token = process.env.EXECD_ACCESS_TOKEN

const server = createServer((request, response) => {
  const path = request.url.split('?')[0]
  const wrong = path.includes('/wrong/')
  const known = /\/v1\/sandboxes\/(box|wrong)\/endpoints\/(44772|18080)$/.test(path)
  response.writeHead(known ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(known
    ? { endpoint: new URL(url).host, headers: { 'X-EXECD-ACCESS-TOKEN': wrong ? 'no' : token } }
    : { code: 'NOT_FOUND', message: path }))
})
await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
const connect = (sandboxId, more) => Sandbox.connect({
  sandboxId, connectionConfig: { domain: `127.0.0.1:${server.address().port}`, protocol: 'http' }, ...more })
const box = await connect('box')
const { commands, files } = box

const rows = []
const row = (name, test) => { if (!pattern || name.includes(pattern)) rows.push([name, test]) }
const said = messages => messages.map(m => m.text)
const until = async (fact, what) => {
  for (let i = 0; i < 1200; i++) {
    if (await fact()) return
    await new Promise(resolve => setTimeout(resolve, 25))
  }
  throw new Error('not so after 30 s: ' + what)
}
const bytes = text => new TextEncoder().encode(text)
let places = 0
const place = () => `${folder}/p${++places}`
const refused = status => e => e instanceof SandboxApiException && e.statusCode === status

row('it is healthy, and with a wrong token it is not', async () => {
  same(await box.isHealthy(), true)
  const wrong = await connect('wrong', { skipHealthCheck: true })
  await assert.rejects(wrong.commands.run('true'), refused(401))
  await wrong.close()
})
row('a command: id, output, error output, exit code, time', async () => {
  const done = await commands.run('echo out; echo err >&2; sleep 0.01')
  same([said(done.logs.stdout), said(done.logs.stderr), done.exitCode], [['out'], ['err'], 0])
  assert.match(done.id, /^[0-9a-f]{32}$/)
  assert(done.complete.executionTimeMs > 0)
  const failed = await commands.run('exit 42')
  same([failed.exitCode, failed.error.name, failed.error.traceback],
    [42, 'CommandExecError', ['exit status 42']])
})
row('a command: handlers get each event as it comes', async () => {
  const got = []
  await commands.run('echo a; sleep 0.05; echo b >&2', {}, {
    onInit: i => got.push('init ' + i.id.length), onStdout: m => got.push('out ' + m.text),
    onStderr: m => got.push('err ' + m.text), onExecutionComplete: () => got.push('end') })
  same(got, ['init 32', 'out a', 'err b', 'end'])
})
row('a command: directory, variables, a time limit, what cannot be', async () => {
  same(said((await commands.run('pwd; echo $A', { workingDirectory: '/', envs: { A: 'x y' } })).logs.stdout),
    ['/', 'x y'])
  const late = await commands.run('sleep 600', { timeoutSeconds: 0.2 })
  same([late.exitCode, late.error.traceback[0]], [-1, 'signal: killed'])
  await assert.rejects(commands.run('true', { workingDirectory: '/no/such/place' }), e =>
    refused(400)(e) && e.message.includes('does not exist'))
})
row('a command: lines that splitters cut, blank ones, and a long output', async () => {
  const text = 'a\u2028b\u0085c é'
  same(said((await commands.run(`printf '${text}\\n\\nend'`)).logs.stdout), [text, '\n', 'end'])
  const many = await commands.run('seq 100000')
  same(said(many.logs.stdout).length, 100000)
})
row('background: status, logs with a cursor, interrupt', async () => {
  const { id } = await commands.run('echo one; while [ ! -e go ]; do sleep 0.02; done; echo two',
    { background: true, workingDirectory: folder })
  same((await commands.getCommandStatus(id)).running, true)
  let logs
  await until(async () => (logs = await commands.getBackgroundCommandLogs(id)).content === 'one\n', 'one')
  same(logs.cursor, 4)
  await commands.run('touch go', { workingDirectory: folder })
  await until(async () => !(await commands.getCommandStatus(id)).running, 'its end')
  same((await commands.getBackgroundCommandLogs(id, logs.cursor)).content, 'two\n')
  const status = await commands.getCommandStatus(id)
  same([status.exitCode, status.finishedAt >= status.startedAt], [0, true])
  const endless = await commands.run('sleep 600', { background: true })
  await commands.interrupt(endless.id)
  same((await commands.getCommandStatus(endless.id)).error, 'signal: terminated')
  await assert.rejects(commands.getCommandStatus('none'), refused(404))
})
row('a session keeps variables and directory', async () => {
  const session = await commands.createSession({ workingDirectory: place() })
  await commands.runInSession(session, 'export A=1; cd /')
  const done = await commands.runInSession(session, 'echo $A; pwd')
  same([said(done.logs.stdout), done.exitCode], [['1', '/'], 0])
  same((await commands.runInSession(session, 'exit 5')).exitCode, 5)
  await commands.deleteSession(session)
  await assert.rejects(commands.runInSession(session, 'true'), refused(500))
})
row('files: written as text, bytes and a stream; read as a whole, by bytes, by lines', async () => {
  const at = place()
  async function * stream() { for (let i = 0; i < 3; i++) yield bytes(`line ${i}\n`) }
  await files.writeFiles([
    { path: at + '/ü.txt', data: 'one\ntwo\nthree\nfour\n', mode: 640 },
    { path: at + '/bytes', data: new Uint8Array([0, 255, 10]) },
    { path: at + '/stream', data: stream() }])
  same(await files.readFile(at + '/ü.txt'), 'one\ntwo\nthree\nfour\n')
  same(await files.readFile(at + '/ü.txt', { range: 'bytes=4-6' }), 'two')
  same(await files.readFile(at + '/ü.txt', { offset: 2, limit: 2 }), 'two\nthree')
  same(await files.readFile(at + '/ü.txt', { offset: 4 }), 'four')
  same(await files.readFile(at + '/ü.txt', { limit: 1 }), 'one')
  same([...await files.readBytes(at + '/bytes')], [0, 255, 10])
  same(readFileSync(at + '/stream', 'utf8'), 'line 0\nline 1\nline 2\n')
  same(statSync(at + '/ü.txt').mode & 0o777, 0o640)
  const parts = []
  for await (const part of files.readBytesStream(at + '/stream')) parts.push(Buffer.from(part))
  same(Buffer.concat(parts).length, 21)
  await assert.rejects(files.readFile(at + '/none'), refused(404))
  await assert.rejects(files.readFile(at + '/stream', { offset: 0 }), refused(400))
})
row('files: info, search, replace, permissions, move, delete', async () => {
  const at = place()
  await files.createDirectories([{ path: at + '/d', mode: 750 }])
  same(statSync(at + '/d').mode & 0o777, 0o750)
  await files.writeFiles([{ path: at + '/d/a.txt', data: 'a-a' }, { path: at + '/b.md', data: 'b' }])
  const info = (await files.getFileInfo([at + '/d/a.txt']))[at + '/d/a.txt']
  same([info.size, info.type, info.modifiedAt instanceof Date], [3, 'file', true])
  same((await files.search({ path: at, pattern: '*.txt' })).map(f => f.path), [at + '/d/a.txt'])
  same((await files.listDirectory({ path: at, depth: 2 })).map(f => [f.path, f.type]),
    [[at + '/b.md', 'file'], [at + '/d', 'directory'], [at + '/d/a.txt', 'file']])
  same(await files.replaceContentsDetailed([{ path: at + '/d/a.txt', oldContent: 'a', newContent: 'xx' }]),
    [{ path: at + '/d/a.txt', replacedCount: 2 }])
  await files.replaceContents([{ path: at + '/b.md', oldContent: 'b', newContent: 'c' }])
  await files.setPermissions([{ path: at + '/b.md', mode: 600 }])
  same([readFileSync(at + '/b.md', 'utf8'), statSync(at + '/b.md').mode & 0o777], ['c', 0o600])
  await files.moveFiles([{ src: at + '/b.md', dest: at + '/new/c.md' }])
  await files.deleteFiles([at + '/d/a.txt'])
  same((await files.search({ path: at })).map(f => f.path), [at + '/new/c.md'])
  await files.deleteDirectories([at])
  await assert.rejects(files.getFileInfo([at]), refused(404))
})
row('metrics, and isolation that is not there', async () => {
  const metrics = await box.getMetrics()
  assert(metrics.cpuCount >= 1 && metrics.memoryTotalMiB > metrics.memoryUsedMiB)
  same((await box.isolation.capabilities()).available, false)
  await assert.rejects(box.isolation.create({ workspace: { path: '/' } }), /503.*NOT_SUPPORTED/)
})

for (const [name, test] of rows) {
  try {
    await test()
    console.log('ok ' + name)
  } catch (error) {
    console.log('no ' + name)
    console.log('# ' + String(error.stack ?? error).split('\n').slice(0, 12).join('\n# '))
  }
}
await box.close()
server.close()
process.exit(0)
