// SPDX-License-Identifier: MIT
//
// e2b.mjs MODULES E2B NATIVE TOKEN PATH times|listeners …: what groups/e2b.sh measures
// with E2B's client. Prints "KEY VALUE" lines.
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createRequire } from 'node:module'

const [modules, url, native, token, path, what, ...rest] = process.argv.slice(2)
const { Sandbox } = createRequire(modules + '/')('e2b')
const sandbox = new Sandbox({ sandboxId: 'local', envdVersion: '0.6.13', sandboxUrl: url,
                              envdAccessToken: token, apiKey: 'e2b_' + '0'.repeat(40) })

const argv = ['/bin/bash', '-l', '-c', 'true']
const json = { 'Content-Type': 'application/json' }
async function events() {
  const r = await fetch(native + '/events', { method: 'POST', headers: json,
    body: JSON.stringify({ action: 'process', args: { argv } }) })
  const line = await r.json()
  if (line.exit_code !== 0 && line.extras?.exit_code !== 0)
    throw new Error(JSON.stringify(line))
}
function frame(message) {
  const body = Buffer.from(JSON.stringify(message)), head = Buffer.alloc(5)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}
async function raw() {
  const body = frame({ process: { cmd: argv[0], args: argv.slice(1) }, stdin: false })
  const r = await fetch(url + '/process.Process/Start', { method: 'POST', body,
    headers: { 'Content-Type': 'application/connect+json', 'X-Access-Token': token } })
  if (!(await r.text()).includes('exit status 0'))
    throw new Error('it failed')
}

if (what === 'times') {
  const ways = { sdk: () => sandbox.commands.run('true'), events, raw }
  for (let i = 0; i < 110; i++)
    for (const [name, way] of Object.entries(ways)) {
      const from = process.hrtime.bigint()
      await way()
      if (i >= 10)
        console.log(name, Number(process.hrtime.bigint() - from) / 1e6)
    }
  console.log('up', await sandbox.uploadUrl(path + '.up'))
  console.log('down', await sandbox.downloadUrl(path))
} else {
  // The client has 200 connections for all of its streams: these are requests of our own.
  const [count, ...pids] = rest
  const all = []
  const call = (method, type, body, onData) => new Promise((resolve, reject) => {
    const r = request(`${url}/process.Process/${method}`, { method: 'POST', agent: false,
      headers: { 'Content-Type': type, 'X-Access-Token': token } }, answer => {
      let text = ''
      answer.on('data', d => { text += d.toString('latin1'); onData?.(text) })
      answer.on('end', () => resolve(text))
    })
    r.on('error', reject)
    r.end(body)
  })
  const start = () => new Promise((resolve, reject) => {
    const ended = call('Start', 'application/connect+json', frame({ process: { cmd: '/bin/sleep', args: ['600'] }, stdin: false }),
      text => { const pid = /"pid":(\d+)/.exec(text)?.[1]; if (pid) resolve({ pid: Number(pid), ended }) })
    ended.catch(reject)
  })
  for (let i = 0; i < Number(count); i += 20)
    all.push(...await Promise.all(Array.from({ length: 20 }, start)))
  const pss = pid => /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))[1]
  console.log('worker', pss(pids[0]))
  console.log('keeper', pss(pids[1]))
  for (const h of all)
    await call('SendSignal', 'application/json', JSON.stringify({ process: { pid: h.pid }, signal: 9 }))
  console.log('ended', (await Promise.all(all.map(h => h.ended))).filter(t => t.includes('signal: killed')).length)
}
process.exit(0)
