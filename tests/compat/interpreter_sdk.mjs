// SPDX-License-Identifier: MIT
//
// node interpreter_sdk.mjs MODULES URL [PATTERN]: @e2b/code-interpreter against
// --listen interpreter@…: a line "ok NAME" or "no NAME" a row, as `describe` has them.
// The rows are those of the client's own tests, and the traps of its protocol.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createRequire } from 'node:module'

const [modules, url, pattern] = process.argv.slice(2)
const require = createRequire(modules + '/')
const { Sandbox, NotFoundError, TimeoutError, SandboxError } = require('@e2b/code-interpreter')

const box = () => new Sandbox({
  sandboxId: 'local', envdVersion: '0.6.13', sandboxUrl: url,
  envdAccessToken: process.env.E2B_TEST_TOKEN, apiKey: 'e2b_' + '0'.repeat(40),
})
const sandbox = box()
const run = (code, options) => sandbox.runCode(code, options)
const last = lines => lines.join('').trimEnd()
const same = assert.deepEqual

// Requests of one client may overtake each other: returns when this code is in the log.
const taken = async (context, code) => {
  const asked = e => e.action === 'cell' && e.session === context.id && e.args.code === code
  for (const end = Date.now() + 60000; Date.now() < end; await new Promise(done => setTimeout(done, 20))) {
    const lines = execFileSync(process.env.OD, ['events', '--json'], { maxBuffer: 1 << 28 }).toString().trim().split('\n')
    if (lines.some(line => asked(JSON.parse(line))))
      return
  }
  throw new Error(`${code} is not in the log`)
}

const rows = []
const row = (name, test) => { if (!pattern || name.includes(pattern)) rows.push([name, test]) }

row('a value is text', async () => {
  const done = await run('x = 1; x')
  same([done.text, done.error, done.results.length, done.results[0].isMainResult], ['1', undefined, 1, true])
  same(done.results[0].raw, { text: '1', extra: {} })
})
row('names are kept, also for a second client', async () => {
  await run('kept = 41')
  same([(await run('kept + 1')).text, (await box().runCode('kept + 2')).text], ['42', '43'])
})
row('empty code', async () => {
  const done = await run('')
  same([done.results, done.logs, done.error], [[], { stdout: [], stderr: [] }, undefined])
})
row('executions are counted, without what sets variables', async () => {
  const context = await sandbox.createCodeContext()
  same((await run('1', { context, envs: { A: 'b' } })).executionCount, 1)
  same((await run('1/0', { context })).executionCount, 2)
  same((await run('!pwd', { context })).executionCount, 3)
})
row('output comes as it is printed, each stream to its callback', async () => {
  const said = []
  const done = await run(`import sys, time
print("hello")
sys.stdout.flush()
time.sleep(0.3)
print("late", file=sys.stderr)
raise NameError("of mine")`, {
    onStdout: m => said.push(['out', m.line]), onStderr: m => said.push(['err', m.line]),
    onError: e => said.push([e.name, e.value]),
  })
  same(said, [['out', 'hello\n'], ['err', 'late\n'], ['NameError', 'of mine']])
  same(done.logs, { stdout: ['hello\n'], stderr: ['late\n'] })
  assert.match(done.error.traceback, /NameError/)
})
row('what is displayed, and the value', async () => {
  const results = []
  const done = await run('display(1); 2', { onResult: r => results.push(r.text) })
  same([results, done.text, done.results.map(r => r.isMainResult)], [['1', '2'], '2', [false, true]])
})
row('one pair of quotes is left out', async () => {
  same((await run('"it is"')).text, 'it is')
  same((await run(`"'twice'"`)).text, "'twice'")
})
row('no character is cut in two', async () => {
  const text = 'aé€😀\u2028\u0085'.repeat(20000)
  same(last((await run('print("aé€😀\\u2028\\x85" * 20000)')).logs.stdout), text)
  same((await run('"aé€😀"')).text, 'aé€😀')
})
row('a program of the shell', async () => {
  same(last((await run('!echo of a program')).logs.stdout), 'of a program')
})
row('a syntax error is one', async () => {
  const { error } = await run('x = = 2')
  same([error.name, typeof error.value, typeof error.traceback], ['SyntaxError', 'string', 'string'])
})

// ---- contexts ----

row('a context by its defaults', async () => {
  const context = await sandbox.createCodeContext()
  assert.match(context.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  same([context.language, context.cwd], ['python', process.env.TEST_HOME])
  same((await run('import os; os.getcwd()', { context })).text, process.env.TEST_HOME)
})
row('a context with a directory; the newest is last', async () => {
  const context = await sandbox.createCodeContext({ language: 'Python ', cwd: process.env.TEST_CWD })
  same((await run('import os; os.getcwd()', { context })).text, process.env.TEST_CWD)
  const all = await sandbox.listCodeContexts()
  same(all.at(-1), context)
  assert.ok(all.some(c => c.language === 'python') && all.some(c => c.language === 'javascript'))
})
row('contexts are independent', async () => {
  const a = await sandbox.createCodeContext(), b = await sandbox.createCodeContext()
  await run('mine = 1', { context: a })
  same((await run('mine', { context: b })).error.name, 'NameError')
  const slow = run('import time; time.sleep(2); "slow"', { context: a })
  same((await run('"quick"', { context: b })).text, 'quick')
  same((await slow).text, 'slow')
})
row('a restart forgets', async () => {
  const context = await sandbox.createCodeContext()
  await run('x = 1', { context })
  await sandbox.restartCodeContext(context.id)
  const { error } = await run('x', { context })
  same([error.name, error.value], ['NameError', "name 'x' is not defined"])
  same((await run('1', { context })).executionCount, 2)
})
row('a restart ends what runs', async () => {
  const context = await sandbox.createCodeContext()
  let begun
  const ready = new Promise(resolve => { begun = resolve })
  const runs = run('print(1, flush=True)\nwhile True: pass', { context, onStdout: begun })
  await ready
  const waits = run('2', { context })
  await taken(context, '2')
  await sandbox.restartCodeContext(context)
  same({ ...(await runs).error }, { name: 'ContextRestarting', value: 'Context was restarted', traceback: '' })
  same((await waits).error.name, 'ContextRestarting')
  same((await run('3', { context })).text, '3')
})
row('a removed context is not there', async () => {
  const context = await sandbox.createCodeContext()
  await run('1', { context })
  await sandbox.removeCodeContext(context)
  assert.ok(!(await sandbox.listCodeContexts()).some(c => c.id === context.id))
  await assert.rejects(run('1', { context }), e => e instanceof NotFoundError && e.message.includes(`Context ${context.id} not found`))
  await assert.rejects(sandbox.restartCodeContext(context), NotFoundError)
  await assert.rejects(sandbox.removeCodeContext(context), NotFoundError)
})
row('a default context that was removed is made again', async () => {
  const [python] = (await sandbox.listCodeContexts()).filter(c => c.language === 'python')
  await run('gone = 1')
  await sandbox.removeCodeContext(python)
  same((await run('gone')).error.name, 'NameError')
})
row('a directory that is not there, a language that no kernel has', async () => {
  const before = (await sandbox.listCodeContexts()).length
  await assert.rejects(sandbox.createCodeContext({ cwd: '/not/there' }), SandboxError)
  const shown = e => e instanceof SandboxError &&
    /^500 .*no kernel of this machine runs cobol; there are: .*python3/.test(e.message)
  await assert.rejects(sandbox.createCodeContext({ language: 'cobol' }), shown)
  await assert.rejects(run('1', { language: 'cobol' }), shown)
  same((await sandbox.listCodeContexts()).length, before)
})

// ---- variables ----

for (const [language, read, unset] of [
  ['python', name => `import os; os.getenv("${name}", "none")`],
  ['javascript', name => `process.env["${name}"] ?? "none"`],
  ['typescript', name => `(process.env["${name}"] ?? "none") as string`],
  ['r', name => `Sys.getenv("${name}", "none")`],
  ['bash', name => `echo "\${${name}-none}"`],
]) {
  row(`variables of one execution: ${language}`, async () => {
    const get = async (name, envs) => {
      const done = await run(read(name), { language, envs })
      return (done.results[0]?.text ?? last(done.logs.stdout)).replace(/^\[1\] /, '').replaceAll(/^"|"$/g, '')
    }
    same(await get('OF_SANDBOX'), 'of the sandbox')
    same(await get('OF_SANDBOX', { OF_SANDBOX: 'changed' }), 'changed')
    same(await get('OF_SANDBOX'), 'of the sandbox')
    same(await get('NEW', { NEW: 'x' }), 'x')
    same(await get('NEW'), 'none')
  })
  row(`no variable is read as code: ${language}`, async () => {
    const bad = `it's "; exit \` $(false) \\ é😀`
    const show = {
      python: 'print(os.environ["BAD"] == open("bad").read())', r: 'cat(identical(charToRaw(Sys.getenv("BAD")), readBin("bad", "raw", 999)), "\\n")',
      bash: '[ "$BAD" = "$(cat bad)" ] && echo true',
    }[language] ?? 'console.log(process.env.BAD === (await import("node:fs")).readFileSync("bad", "utf8"))'
    await run(`open("bad", "w").write(${JSON.stringify(bad).replaceAll(/[^ -~]/gu, c => '\\U' + c.codePointAt(0).toString(16).padStart(8, '0'))})`)
    const done = await run(show, { language, envs: { BAD: bad } })
    same([last(done.logs.stdout).trim().toLowerCase(), done.error], ['true', undefined])
  })
}

// ---- languages ----

row('javascript', async () => {
  same(last((await run('console.log("Hello World")', { language: 'js' })).logs.stdout), 'Hello World')
  same((await run('await new Promise(done => setTimeout(() => done("Hello World!"), 100))', { language: 'javascript' })).text, 'Hello World!')
  same((await run('import { basename } from "node:path"\nbasename("/a/b")', { language: 'js' })).text, 'b')
  const { error } = await run('throw new TypeError("of mine")', { language: 'js' })
  same([error.name, error.value], ['TypeError', 'of mine'])
})
row('typescript', async () => {
  same((await run('const text: string = "typed"; text', { language: 'ts' })).text, 'typed')
})
row('r', async () => {
  const value = async code => (await run(code, { language: 'R ' })).results[0].text
  same(await value('x <- 20; x + 1'), '[1] 21')
  same(await value('getwd()'), `[1] "${process.env.TEST_HOME}"`)
})
row('bash', async () => {
  const context = await sandbox.createCodeContext({ language: 'bash' })
  const sh = code => run(code, { context })
  const pwd = await sh('pwd')
  same([pwd.logs.stdout.join(''), pwd.executionCount, pwd.error], [process.env.TEST_HOME + '\n', 1, undefined])
  same([(await sh('x=5')).executionCount, last((await sh('echo $x')).logs.stdout)], [2, '5'])
  same({ ...(await sh('false')).error }, { name: 'ExitCode', value: '1', traceback: '' })
  same((await sh('printf "aé€😀%.0s" {1..30000}')).logs.stdout.join(''), 'aé€😀'.repeat(30000))
  same((await sh('cd /; exit 3')).error.value, '3')
  same(last((await sh('pwd; echo "[$x]"')).logs.stdout), process.env.TEST_HOME + '\n[]')
  await sh('x=6')
  await sandbox.restartCodeContext(context)
  const again = await sh('echo "[$x]"')
  same([last(again.logs.stdout), again.executionCount], ['[]', 1])
})
row('bash: output comes as it is printed, and a time limit ends it', async () => {
  const context = await sandbox.createCodeContext({ language: 'bash' })
  let begun
  const ready = new Promise(resolve => { begun = resolve })
  const runs = run('echo begun; while true; do sleep 0.1; done', { context, onStdout: begun, timeoutMs: 3000 })
  same((await ready).line, 'begun\n')
  await assert.rejects(runs, TimeoutError)
  same(last((await run('echo again', { context })).logs.stdout), 'again')
})
row('bash: a restart ends what runs', async () => {
  const context = await sandbox.createCodeContext({ language: 'bash' })
  let begun
  const ready = new Promise(resolve => { begun = resolve })
  const runs = run('echo begun; sleep 1000', { context, onStdout: begun })
  await ready
  await sandbox.restartCodeContext(context)
  same((await runs).error.name, 'ContextRestarting')
})
row('bash: a name that is none of the shell', async () => {
  await assert.rejects(run('1', { language: 'bash', envs: { 'a b': 'c' } }), SandboxError)
})

// ---- rich results ----

row('a DataFrame has data', async () => {
  const { results: [result] } = await run(`import pandas as pd
pd.DataFrame({"n": [1, 2], "t": pd.to_datetime(["2024-01-01", None]), "f": [0.5, float("nan")]})`)
  same(result.data, { n: [1, 2], t: ['2024-01-01T00:00:00', null], f: [0.5, null] })
  assert.ok(result.html && result.text && result.formats().includes('data'))
})
row('display of raw types', async () => {
  const { results: [result] } = await run(`from IPython.display import display
display({"text/latex": "$x$"}, raw=True)`)
  same([result.formats(), result.latex], [['latex'], '$x$'])
})
row('a type without a field is in extra', async () => {
  const { results: [result] } = await run('display({"x/y": [1], "text/plain": "t"}, raw=True)')
  same(result.raw.extra, { 'x/y': [1] })
})
row('json of lists and dictionaries', async () => {
  same((await run('{"a": [1, None, True]}')).results[0].json, { a: [1, null, true] })
  same((await run('[1, 2]')).results[0].json, [1, 2])
  same((await run('{1: 2}')).results[0].json, undefined)
  same((await run('[float("nan"), float("inf")]')).results[0].json, [null, null])
})
row('objects with methods of their own', async () => {
  const { results: [result] } = await run(`class Own:
    def _repr_e2b_data_(self): return {"a": [1]}
    def _repr_e2b_chart_(self): return {"type": "unknown", "title": "t", "elements": []}
    def _repr_markdown_(self): return "**m**"
    def _repr_svg_(self): return "<svg/>"
Own()`)
  same([result.data, result.chart.title, result.markdown, result.svg], [{ a: [1] }, 't', '**m**', '<svg/>'])
})
row('a picture that is saved is shown', async () => {
  const { results } = await run(`from PIL import Image
Image.new("RGB", (2, 2)).save("picture.png")
Image.new("RGB", (2, 2)).show()`)
  same([results.length, results[0].png.slice(0, 8)], [1, 'iVBORw0K'])
})

const chart = async code => {
  const done = await run(`import matplotlib.pyplot as plt\n${code}\nplt.show()`)
  same(done.error, undefined)
  return done.results[0]
}
row('a plot is a picture with a chart', async () => {
  const result = await chart('plt.plot([1, 2, 3], [4, 5, 6], label="one")\nplt.plot([1, 2], [2, 1])\nplt.xlabel("Time (s)")\nplt.ylabel("Voltage [mV]")\nplt.title("T")')
  assert.ok(result.png && result.text.startsWith('<Figure size'))
  same(result.raw.extra, {})
  const { x_ticks, y_ticks, x_tick_labels, y_tick_labels, ...rest } = result.chart
  same(rest, {
    type: 'line', title: 'T', x_label: 'Time (s)', y_label: 'Voltage [mV]', x_unit: 's', y_unit: 'mV',
    x_scale: 'linear', y_scale: 'linear',
    elements: [{ label: 'one', points: [[1, 4], [2, 5], [3, 6]] }, { label: 'Line 1', points: [[1, 2], [2, 1]] }],
  })
  same([x_ticks.length, y_ticks.length], [x_tick_labels.length, y_tick_labels.length])
})
row('dates, words and logarithms on axes', async () => {
  const { chart: dates } = await chart('import datetime\nplt.plot([datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)], [1, 2])')
  same([dates.x_scale, dates.elements[0].points], ['datetime', [['2024-01-01T00:00:00+00:00', 1], ['2024-01-02T00:00:00+00:00', 2]]])
  assert.ok(dates.x_ticks.every(t => typeof t === 'string'))
  const { chart: words } = await chart('plt.plot(["a", "b"], [1, 2])')
  same([words.x_scale, words.x_tick_labels, words.elements[0].points], ['categorical', ['a', 'b'], [['a', 1], ['b', 2]]])
  same((await chart('plt.semilogx([1, 10], [1, 2])')).chart.x_scale, 'log')
})
row('a scatter chart', async () => {
  const { chart: c } = await chart('plt.scatter([1, 2], [3, 4], label="s")\nplt.axhline(3)\nplt.grid(True)')
  same([c.type, c.elements], ['scatter', [{ label: 's', points: [[1, 3], [2, 4]] }]])
})
row('bars, upright and sideways', async () => {
  const { chart: up } = await chart('plt.bar(["a", "b"], [1, 2], label="g")\nplt.ylabel("v")')
  same(up, {
    type: 'bar', title: null, x_label: null, y_label: 'v', x_unit: null, y_unit: null,
    elements: [{ label: 'a', group: 'g', value: 1 }, { label: 'b', group: 'g', value: 2 }],
  })
  const { chart: side } = await chart('plt.barh(["a", "b"], [1, 2])\nplt.xlabel("v")')
  same([side.y_label, side.x_label, side.elements[0]], ['v', null, { label: 'a', group: 'Group 0', value: 1 }])
})
for (const [how, option] of [['upright', ''], ['sideways', ', vert=False']]) {
  row(`boxes, ${how}`, async () => {
    const { chart: c } = await chart(`plt.boxplot([[85, 90, 78, 92, 88], [95, 97, 96, 95, 76, 98], [60, 70, 65]], labels=["A", "B", "C"], patch_artist=True${option})`)
    same([c.type, c.elements[0]], ['box_and_whisker', { label: 'A', min: 78, first_quartile: 85, median: 88, third_quartile: 90, max: 92, outliers: [] }])
    same(c.elements.map(e => e.outliers), [[], [76], []])
  })
}
row('a pie', async () => {
  const { chart: c } = await chart('plt.pie([90, 10], labels=["a", "b"], autopct="%1.0f%%")')
  same(c, { type: 'pie', title: null, elements: [{ label: 'a', angle: 324, radius: 1 }, { label: 'b', angle: 36, radius: 1 }] })
})
row('several axes', async () => {
  const { chart: c } = await chart('f, (a, b) = plt.subplots(1, 2)\nf.suptitle("S")\na.plot([1, 2])\nb.bar(["x"], [1])')
  same([c.type, c.title, c.elements.map(e => e.type)], ['superchart', 'S', ['line', 'bar']])
})
row('a figure of another kind, and an empty one', async () => {
  same((await chart('plt.imshow([[1, 2]])')).chart, { type: 'unknown', title: null, elements: [] })
  same((await chart('plt.figure()')).raw.chart, {})
})

// ---- ends ----

row('a time limit interrupts the kernel', async () => {
  const context = await sandbox.createCodeContext()
  await assert.rejects(run('while True: pass', { context, timeoutMs: 1000 }), TimeoutError)
  same((await run('"again"', { context })).text, 'again')
})
row('a time limit while it waits: it never runs', async () => {
  const context = await sandbox.createCodeContext()
  const first = run('import time; time.sleep(3); ran = 0', { context })
  await assert.rejects(run('ran = 1', { context, timeoutMs: 500 }), TimeoutError)
  await first
  same((await run('ran', { context })).text, '0')
})
row('a kernel that ends is named, and starts again', async () => {
  const context = await sandbox.createCodeContext()
  const { error } = await run('import os; os._exit(3)', { context })
  same(error.name, 'UnexpectedEndOfExecution')
  assert.match(error.value, /ended with status 3/)
  same((await run('"again"', { context })).text, 'again')
})
row('input is not there', async () => {
  same((await run('input()')).error.name, 'StdinNotImplementedError')
})
row('a long line', async () => {
  same((await run('"x" * 5_000_000')).text.length, 5000000)
})
row('many lines', async () => {
  same((await run('for i in range(20000): print(i)')).logs.stdout.join('').split('\n').length, 20001)
})
row('the other server on the same address', async () => {
  same((await (await fetch(url + '/health', { headers: { 'E2b-Sandbox-Port': '49983' } })).status), 204)
  same(await (await fetch(url + '/health')).json(), 'OK')
})

for (const [name, test] of rows) {
  try {
    await test()
    console.log(`ok ${name}`)
  } catch (e) {
    console.log(`no ${name}`)
    console.log(String(e.stack ?? e).replaceAll(/^/gm, '# '))
  }
}
process.exit(0)
