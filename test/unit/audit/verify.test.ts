import { execFile, spawn } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { type AuditFileOptions, auditFile } from '../../../src/audit/file.ts'
import { beginning, type Deed, writeLine } from '../../../src/audit/record.ts'
import { verifyAudit } from '../../../src/audit/verify.ts'

const call = promisify(execFile)
const loader = ['--import=./test/support/typescript/register.mjs']

const deed = (request: string): Deed => ({ request, caller: 'alice', method: 'DELETE', route: '/agents/:agent_id' })

async function written(t: { teardown(end: () => unknown): unknown }, deeds = 4) {
  const folder = await mkdtemp(join(tmpdir(), 'edge-audit-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const options: AuditFileOptions = { file: join(folder, 'audit'), replica: 'one', sync: false, rotateAt: 1e9 }
  const sink = auditFile(options)
  await sink.open()
  for (let at = 0; at < deeds; at += 1) {
    await sink.append({ kind: 'intent', ...deed(`r${at}`) })
    await sink.append({
      kind: 'outcome',
      outcome: 'done',
      status: 200,
      error: 0,
      nodes: ['master'],
      ms: 3,
      ...deed(`r${at}`),
    })
  }
  await sink.close()
  const lines = (await readFile(options.file, 'utf8')).trimEnd().split('\n')
  const judge = async (changed: readonly string[], more: { last?: string } = {}) => {
    const file = join(folder, 'changed')
    await writeFile(file, changed.map((line) => `${line}\n`).join(''))
    return verifyAudit([file], more)
  }
  return { options, lines, judge, folder }
}

t.test('a whole audit is found whole', async (t) => {
  const { lines, judge } = await written(t)
  const { faults, notes, last } = await judge(lines)
  t.strictSame([faults, notes], [[], []])
  t.equal(last?.seq, 10)
})

t.test('each line that is changed, taken out, doubled, moved or cut is found', async (t) => {
  const { lines, judge } = await written(t)
  for (let at = 0; at < lines.length - 1; at += 1) {
    const line = lines[at] ?? ''
    const place = `:${at + 1}:`
    t.match((await judge(lines.with(at, line.replace('one', 'two')))).faults[0], `${place} line ${at + 1} was changed`)
    t.match((await judge(lines.toSpliced(at, 1))).faults[0], place, 'taken out')
    t.match((await judge(lines.toSpliced(at, 0, line))).faults[0], / stands after line /)
    t.match((await judge(lines.with(at, lines[at + 1] ?? '').with(at + 1, line))).faults[0], /taken out|moved/, 'moved')
    t.match((await judge(lines.with(at, line.slice(0, -10)))).faults[0], `${place} no line of an audit`)
  }
})

t.test('a line that was made anew with a digest of its own does not join on', async (t) => {
  const { lines, judge } = await written(t)
  const before = JSON.parse(lines[2] ?? '') as { seq: number; digest: string }
  const forged = writeLine({ kind: 'intent', ...deed('other') }, { time: new Date(), replica: 'one' }, before)
  t.match((await judge(lines.with(3, forged.text))).faults[0], /line 5 does not join on line 4/)
})

t.test('the end: what shows, and what does not', async (t) => {
  const { lines, judge } = await written(t)
  const digest = (JSON.parse(lines.at(-1) ?? '') as { digest: string }).digest
  const cut = await judge(lines.slice(0, -2))
  t.strictSame(cut.faults, [], 'by the file alone it may still be written')
  t.match(cut.notes.join(), /was not closed/)
  t.match(cut.notes.join(), /no outcome of request r3/)
  t.match((await judge(lines.slice(0, -3), { last: digest })).faults, [/has not the digest that was given/])
  t.strictSame((await judge(lines, { last: digest })).faults, [])
  t.match((await judge([...lines.slice(0, -1), (lines.at(-1) ?? '').slice(0, 40)])).faults, [/last line is not whole/])
  t.match((await judge(lines.slice(2))).faults, [/begins with line 3.* or was taken out/])
})

t.test('a process that ends while it writes leaves a torn line; the next one says so and goes on', async (t) => {
  const { options } = await written(t, 1)
  await appendFile(
    options.file,
    writeLine({ kind: 'closed' }, { time: new Date(), replica: 'x' }, beginning).text.slice(0, 50),
  )
  t.match((await verifyAudit([options.file])).faults, [/the last line is not whole/])
  const next = auditFile(options)
  await next.open()
  await next.append({ kind: 'intent', ...deed('later') })
  await next.close()
  const { faults, notes } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.match(notes.join(), /process ended, or the disk was full, while it was written/)
})

t.test('lines that were torn more than once, since the disk was full again, are no fault either', async (t) => {
  const { options } = await written(t, 1)
  await appendFile(options.file, '{"seq":5,"time":"20\n{"seq":5,"ti')
  const next = auditFile(options)
  await next.open()
  await next.close()
  const { faults, notes } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.equal(notes.length, 2)
})

t.test(
  'a file that is removed, or replaced, while it is written is begun anew, and takes no line with it',
  async (t) => {
    const { options } = await written(t, 0)
    const sink = auditFile(options)
    await sink.open()
    await sink.append({ kind: 'intent', ...deed('before') })
    await rm(options.file)
    await sink.append({ kind: 'intent', ...deed('removed') })
    t.match(await readFile(options.file, 'utf8'), /"removed"/)
    await rename(options.file, `${options.file}.1`)
    await writeFile(options.file, '')
    await sink.append({ kind: 'intent', ...deed('replaced') })
    await sink.close()
    const { faults, notes } = await verifyAudit([`${options.file}.1`, options.file])
    t.strictSame(faults, [])
    t.match(notes[0], /begins with line 6; what came before is not among these files/)
  },
)

t.test('a file that is taken away between two processes is missed', async (t) => {
  const { options } = await written(t, 1)
  await rename(options.file, `${options.file}.1`)
  const next = auditFile(options)
  await next.open()
  await next.close()
  const { faults } = await verifyAudit([`${options.file}.1`, options.file])
  t.match(faults, [/:1: line 1 stands after line 4; a chain of its own begins: .* while no process wrote them/])
})

t.test('files that are put aside in one millisecond stand beside each other', async (t) => {
  const { options, folder } = await written(t, 0)
  await rm(options.file)
  const sink = auditFile({ ...options, rotateAt: 100, clock: () => new Date(0) })
  await sink.open()
  for (let at = 0; at < 12; at += 1) await sink.append({ kind: 'intent', ...deed(`r${at}`) })
  await sink.close()
  const files = (await readdir(folder)).filter((name) => name.startsWith('audit.')).sort()
  t.equal(files.length, 12)
  for (const named of [
    [...files, 'audit'],
    ['audit', ...files.toReversed()],
  ]) {
    const { faults, lines } = await verifyAudit(named.map((name) => join(folder, name)))
    t.strictSame(faults, [], 'in whatever order they are named')
    t.equal(lines, 13 + 12 + 13)
  }
})

t.test('a file that cannot be put aside is written on', async (t) => {
  const { options, folder } = await written(t, 0)
  await rm(options.file)
  const told: string[] = []
  const stuck = (fault: Error) => void told.push(fault.message)
  const sink = auditFile({ ...options, rotateAt: 1000, clock: () => new Date(0), stuck })
  await sink.open()
  // Where it is a mount of its own, it cannot be renamed either.
  for (let seq = 1; seq < 30; seq += 1)
    await mkdir(`${options.file}.1970-01-01T00-00-00.000Z.${String(seq).padStart(12, '0')}`)
  for (let at = 0; at < 20; at += 1) await sink.append({ kind: 'intent', ...deed(`r${at}`) })
  await sink.close()
  const { faults, lines } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.equal(lines, 22, 'each line once, and the file never closed between')
  t.ok(told.length > 1 && told.length < 12, `tried again now and then: ${told.length}`)
  t.match(told[0], /rename/)
  t.ok((await readdir(folder)).includes('audit'))
})

t.test('a file that cannot be opened is told with its setting', async (t) => {
  const { options, folder } = await written(t, 0)
  await t.rejects(auditFile({ ...options, file: folder }).open(), {
    message: /^audit\.file: .* cannot be opened \(EISDIR\); name a file/,
  })
})

t.test('lines that come at once stand in one chain, and two writers of one file do not break it', async (t) => {
  const { options } = await written(t, 0)
  const [one, other] = [auditFile(options), auditFile(options)]
  await Promise.all([one.open(), other.open()])
  for (let round = 0; round < 3; round += 1) {
    await Promise.all(Array.from({ length: 20 }, (_, at) => one.append({ kind: 'intent', ...deed(`a${round}-${at}`) })))
    await other.append({ kind: 'intent', ...deed(`b${round}`) })
  }
  const lines = (await readFile(options.file, 'utf8')).trimEnd().split('\n')
  await Promise.all([one.close(), other.close()])
  t.equal(lines.filter((line) => line.includes('"intent"')).length, 63)
})

t.test('a process that is killed between both lines leaves the intent', async (t) => {
  const { options } = await written(t, 0)
  const program = `
    const { auditFile } = await import(${JSON.stringify(new URL('../../../src/audit/file.ts', import.meta.url).href)})
    const { createAudit } = await import(${JSON.stringify(new URL('../../../src/audit/index.ts', import.meta.url).href)})
    const { catalogue } = await import(${JSON.stringify(new URL('../../../src/catalogue/index.ts', import.meta.url).href)})
    const sink = auditFile(${JSON.stringify({ ...options, sync: true })})
    await sink.open()
    const { audited } = createAudit({ sink, onFailure: 'refuse', log: console })
    const endpoint = catalogue.find(({ method, path }) => method === 'DELETE' && path === '/agents/:agent_id')
    const ask = { endpoint, params: { agent_id: '001' }, query: {}, caller: { name: 'alice' }, requestId: 'killed' }
    await audited(() => { process.stdout.write('forwarding'); return new Promise(() => setInterval(() => {}, 1e6)) })(ask)`
  const child = spawn(process.execPath, [...loader, '--input-type=module', '--eval', program])
  let told = ''
  child.stderr.on('data', (chunk) => {
    told += String(chunk)
  })
  await new Promise((resolve) => {
    child.stdout.once('data', resolve)
    child.once('exit', resolve)
  })
  child.kill('SIGKILL')
  t.equal(told, '')
  const lines = (await readFile(options.file, 'utf8')).trimEnd().split('\n')
  t.match(JSON.parse(lines.at(-1) ?? ''), {
    kind: 'intent',
    request: 'killed',
    caller: 'alice',
    params: { agent_id: '001' },
  })
  const { faults, notes } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.match(notes.join(), /no outcome of request killed/)
})

t.test('manager-edge audit verify says which line, and ends with 1', async (t) => {
  const { options, lines, folder } = await written(t)
  const run = (file: string) => call(process.execPath, [...loader, 'src/cli.ts', 'audit', 'verify', file])
  t.match((await run(options.file)).stdout, /10 lines, the last is 10 with digest [0-9a-f]{64}\nok\n/)
  const file = join(folder, 'changed')
  await writeFile(file, `${lines.toSpliced(4, 2).join('\n')}\n`)
  const failed = (await run(file).catch((fault: unknown) => fault)) as { code: number; stdout: string }
  t.equal(failed.code, 1)
  t.match(failed.stdout, `WRONG: ${file}:5: lines 5 to 6 were taken out before this line`)
})
