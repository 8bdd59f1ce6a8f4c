import { execFile, spawn } from 'node:child_process'
import { appendFile, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { AuditFile, type AuditFileOptions } from '../../../src/audit/file.ts'
import { type AuditedRequest, CHAIN_START, formatRecord } from '../../../src/audit/record.ts'
import { verifyAudit } from '../../../src/audit/verify.ts'

const call = promisify(execFile)
const loader = ['--import=./test/support/typescript/register.mjs']

const audited = (request: string): AuditedRequest => ({
  request,
  caller: 'alice',
  client: '127.0.0.1',
  method: 'DELETE',
  route: '/agents/:agent_id',
})

const writing = (rotateAt: number) => () => ({ sync: false, rotateAt })

async function written(t: { teardown(end: () => unknown): unknown }, writes = 4) {
  const folder = await mkdtemp(join(tmpdir(), 'edge-audit-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  const options: AuditFileOptions = { file: join(folder, 'audit'), replica: 'one', writing: writing(1e9) }
  const sink = new AuditFile(options)
  await sink.open()
  for (let at = 0; at < writes; at += 1) {
    await sink.append({ kind: 'intent', ...audited(`r${at}`) })
    await sink.append({
      kind: 'outcome',
      outcome: 'done',
      status: 200,
      error: 0,
      nodes: ['master'],
      ms: 3,
      ...audited(`r${at}`),
    })
  }
  await sink.close()
  const lines = (await readFile(options.file, 'utf8')).trimEnd().split('\n')
  const verify = async (changed: readonly string[], more: { last?: string } = {}) => {
    const file = join(folder, 'changed')
    await writeFile(file, changed.map((line) => `${line}\n`).join(''))
    return verifyAudit([file], more)
  }
  return { options, lines, verify, folder }
}

t.test('a complete audit has no faults', async (t) => {
  const { lines, verify } = await written(t)
  const { faults, notes, last } = await verify(lines)
  t.strictSame([faults, notes], [[], []])
  t.equal(last?.seq, 10)
})

t.test('the lock of a file, which a pattern of the shell names too, is left out', async (t) => {
  const folder = t.testdir({ 'audit.lock': {}, audit: '' })
  t.match(await verifyAudit([join(folder, 'audit'), join(folder, 'audit.lock')]), { records: 0, faults: [] })
  await t.rejects(verifyAudit([join(folder, 'audit.lock')]), { code: 'EISDIR' })
})

t.test('each record that is changed, removed, duplicated, moved or cut is reported', async (t) => {
  const { lines, verify } = await written(t)
  for (let at = 0; at < lines.length - 1; at += 1) {
    const line = lines[at] ?? ''
    const location = `:${at + 1}:`
    t.match(
      (await verify(lines.with(at, line.replace('one', 'two')))).faults[0],
      `${location} record ${at + 1} was changed`,
    )
    t.match((await verify(lines.toSpliced(at, 1))).faults[0], location, 'removed')
    t.match((await verify(lines.toSpliced(at, 0, line))).faults[0], / follows record /)
    t.match((await verify(lines.with(at, lines[at + 1] ?? '').with(at + 1, line))).faults[0], /removed|moved/, 'moved')
    t.match((await verify(lines.with(at, line.slice(0, -10)))).faults[0], `${location} not an audit record`)
  }
})

t.test('a record that was rewritten with a valid digest is not linked to the previous one', async (t) => {
  const { lines, verify } = await written(t)
  const before = JSON.parse(lines[2] ?? '') as { seq: number; digest: string }
  const forged = formatRecord({ kind: 'intent', ...audited('other') }, { time: new Date(), replica: 'one' }, before)
  t.match((await verify(lines.with(3, forged.text))).faults[0], /record 5 is not linked to record 4/)
})

t.test('a cut end is reported if the file was closed or the last digest is given', async (t) => {
  const { lines, verify } = await written(t)
  const digest = (JSON.parse(lines.at(-1) ?? '') as { digest: string }).digest
  const cut = await verify(lines.slice(0, -2))
  t.strictSame(cut.faults, [], 'the file alone does not tell whether it is still being written')
  t.match(cut.notes.join(), /was not closed/)
  t.match(cut.notes.join(), /no outcome of request r3/)
  t.match((await verify(lines.slice(0, -3), { last: digest })).faults, [/does not have the digest given by --last/])
  t.strictSame((await verify(lines, { last: digest })).faults, [])
  t.match((await verify([...lines.slice(0, -1), (lines.at(-1) ?? '').slice(0, 40)])).faults, [
    /last record is incomplete/,
  ])
  t.match((await verify(lines.slice(2))).faults, [/begins with record 3.* or were removed/])
})

t.test(
  'a process that ends during a write leaves an incomplete record; the next one reports it and continues',
  async (t) => {
    const { options } = await written(t, 1)
    await appendFile(
      options.file,
      formatRecord({ kind: 'closed' }, { time: new Date(), replica: 'x' }, CHAIN_START).text.slice(0, 50),
    )
    t.match((await verifyAudit([options.file])).faults, [/the last record is incomplete/])
    const next = new AuditFile(options)
    await next.open()
    await next.append({ kind: 'intent', ...audited('later') })
    await next.close()
    const { faults, notes } = await verifyAudit([options.file])
    t.strictSame(faults, [])
    t.match(notes.join(), /process ended or the disk was full during the write/)
  },
)

t.test('several incomplete records on a full disk are no fault', async (t) => {
  const { options } = await written(t, 1)
  await appendFile(options.file, '{"seq":5,"time":"20\n{"seq":5,"ti')
  const next = new AuditFile(options)
  await next.open()
  await next.close()
  const { faults, notes } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.equal(notes.length, 2)
})

t.test('a file that is removed or replaced while it is written is created again, and no record is lost', async (t) => {
  const { options } = await written(t, 0)
  const sink = new AuditFile(options)
  await sink.open()
  await sink.append({ kind: 'intent', ...audited('before') })
  await rm(options.file)
  await sink.append({ kind: 'intent', ...audited('removed') })
  t.match(await readFile(options.file, 'utf8'), /"removed"/)
  await rename(options.file, `${options.file}.1`)
  await writeFile(options.file, '')
  await sink.append({ kind: 'intent', ...audited('replaced') })
  await sink.close()
  const { faults, notes } = await verifyAudit([`${options.file}.1`, options.file])
  t.strictSame(faults, [])
  t.match(notes[0], /begins with record 6; the records before it are not in these files/)
})

t.test('a file that is moved between two processes is reported as missing', async (t) => {
  const { options } = await written(t, 1)
  await rename(options.file, `${options.file}.1`)
  const next = new AuditFile(options)
  await next.open()
  await next.close()
  const { faults } = await verifyAudit([`${options.file}.1`, options.file])
  t.match(faults, [/:1: record 1 follows record 4; a new chain begins: .* while no process wrote them/])
})

t.test('files that are rotated within one millisecond have different names', async (t) => {
  const { options, folder } = await written(t, 0)
  await rm(options.file)
  const sink = new AuditFile({ ...options, writing: writing(100), clock: () => new Date(0) })
  await sink.open()
  for (let at = 0; at < 12; at += 1) await sink.append({ kind: 'intent', ...audited(`r${at}`) })
  await sink.close()
  const files = (await readdir(folder)).filter((name) => name.startsWith('audit.')).sort()
  t.equal(files.length, 12)
  for (const named of [
    [...files, 'audit'],
    ['audit', ...files.toReversed()],
  ]) {
    const { faults, records } = await verifyAudit(named.map((name) => join(folder, name)))
    t.strictSame(faults, [], 'in any order')
    t.equal(records, 13 + 12 + 13)
  }
})

t.test('a file that cannot be rotated is still written', async (t) => {
  const { options, folder } = await written(t, 0)
  await rm(options.file)
  const failures: string[] = []
  const onRotationFailure = (fault: Error) => void failures.push(fault.message)
  const sink = new AuditFile({ ...options, writing: writing(1000), clock: () => new Date(0), onRotationFailure })
  await sink.open()
  // The names of the rotated files are taken by folders, so the rename fails.
  for (let seq = 1; seq < 30; seq += 1)
    await mkdir(`${options.file}.1970-01-01T00-00-00.000Z.${String(seq).padStart(12, '0')}`)
  for (let at = 0; at < 20; at += 1) await sink.append({ kind: 'intent', ...audited(`r${at}`) })
  await sink.close()
  const { faults, records } = await verifyAudit([options.file])
  t.strictSame(faults, [])
  t.equal(records, 22, 'each record once, and the file was not closed in between')
  t.ok(failures.length > 1 && failures.length < 12, `rotation was retried ${failures.length} times`)
  t.match(failures[0], /rename/)
  t.ok((await readdir(folder)).includes('audit'))
})

t.test('a file that cannot be opened is reported with its setting', async (t) => {
  const { options, folder } = await written(t, 0)
  await t.rejects(new AuditFile({ ...options, file: folder }).open(), {
    message: /^audit\.file: .* cannot be opened \(EISDIR\); name a file/,
  })
})

t.test('records that arrive together are one chain', async (t) => {
  const { options } = await written(t, 0)
  const sink = new AuditFile(options)
  await sink.open()
  for (let round = 0; round < 3; round += 1) {
    const requests = Array.from({ length: 20 }, (_, at) => `${round}-${at}`)
    await Promise.all(requests.map((request) => sink.append({ kind: 'intent', ...audited(request) })))
  }
  await sink.close()
  t.match(await verifyAudit([options.file]), { faults: [], records: 64 })
})

t.test('a process that is killed during a write leaves the intent', async (t) => {
  const { options } = await written(t, 0)
  const program = `
    const { AuditFile } = await import(${JSON.stringify(new URL('../../../src/audit/file.ts', import.meta.url).href)})
    const { createAudit } = await import(${JSON.stringify(new URL('../../../src/audit/index.ts', import.meta.url).href)})
    const { catalogue } = await import(${JSON.stringify(new URL('../../../src/contracts/index.ts', import.meta.url).href)})
    const sink = new AuditFile({ ...${JSON.stringify(options)}, writing: () => ({ sync: true, rotateAt: 1e9 }) })
    await sink.open()
    const { stage } = createAudit({ sink, onFailure: () => 'refuse', log: console })
    const endpoint = catalogue.find(({ method, path }) => method === 'DELETE' && path === '/agents/:agent_id')
    const parts = { params: { agent_id: '001' }, query: {}, body: { kind: 'none' }, caller: { name: 'alice' } }
    const request = { kind: 'write', endpoint, ...parts, requestId: 'killed' }
    await stage(() => { process.stdout.write('forwarding'); return new Promise(() => setInterval(() => {}, 1e6)) })(request)`
  const child = spawn(process.execPath, [...loader, '--input-type=module', '--eval', program])
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += String(chunk)
  })
  await new Promise((resolve) => {
    child.stdout.once('data', resolve)
    child.once('exit', resolve)
  })
  child.kill('SIGKILL')
  t.equal(errors, '')
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

t.test('manager-edge audit verify prints the faulty line and exits with 1', async (t) => {
  const { options, lines, folder } = await written(t)
  const run = (file: string) => call(process.execPath, [...loader, 'src/cli.ts', 'audit', 'verify', file])
  t.match((await run(options.file)).stdout, /10 records, the last is 10 with digest [0-9a-f]{64}\nok\n/)
  const file = join(folder, 'changed')
  await writeFile(file, `${lines.toSpliced(4, 2).join('\n')}\n`)
  const failed = (await run(file).catch((fault: unknown) => fault)) as { code: number; stdout: string }
  t.equal(failed.code, 1)
  t.match(failed.stdout, `WRONG: ${file}:5: records 5 to 6 were removed before this record`)
})
