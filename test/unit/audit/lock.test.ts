import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { AuditFile } from '../../../src/audit/file.ts'
import { lockAuditFile } from '../../../src/audit/lock.ts'
import { together } from '../../support/together.ts'

const test = together(t, 2)

async function auditFile(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'edge-audit-'))
  t.teardown(() => rm(folder, { recursive: true, force: true }))
  return { file: join(folder, 'audit'), replica: 'r' }
}

const writing = () => ({ sync: false, rotateAt: 1e9 })

/** Starts another process that opens the file. Resolves when it has written its first record. */
async function startWriter(t: Test, options: object) {
  const program = `
    const { AuditFile } = await import(${JSON.stringify(new URL('../../../src/audit/file.ts', import.meta.url).href)})
    await new AuditFile({ ...${JSON.stringify(options)}, writing: ${writing} }).open()
    process.stdout.write('open')
    setInterval(() => {}, 1e6)`
  const loader = ['--import', new URL('../../support/typescript/register.mjs', import.meta.url).href]
  const child = spawn(process.execPath, [...loader, '--input-type=module', '--eval', program])
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

test('a second process that would write the same audit file is refused, and the chain of the first is whole', async (t) => {
  const options = await auditFile(t)
  await startWriter(t, options)
  const before = await readFile(options.file, 'utf8')
  await t.rejects(new AuditFile({ ...options, writing }).open(), {
    message: /^audit\.file: .*: another process writes this file; give each replica its own file/,
  })
  t.equal(await readFile(options.file, 'utf8'), before)
})

test('a folder that allows no lock does not delay the start', async (t) => {
  const { file } = await auditFile(t)
  const begin = performance.now()
  t.equal(await lockAuditFile(join(file, 'missing', 'audit'), () => undefined), undefined)
  // A lock of another process is awaited for seven seconds.
  t.ok(performance.now() - begin < 3000)
})

test('the lock of a killed process ends, and the next process continues the chain', async (t) => {
  const options = await auditFile(t)
  const first = await startWriter(t, options)
  first.kill('SIGKILL')
  await once(first, 'exit')
  const sink = new AuditFile({ ...options, writing })
  await sink.open()
  await sink.close()
  const records = (await readFile(options.file, 'utf8')).trimEnd().split('\n')
  t.strictSame(
    records.map((record) => JSON.parse(record).seq),
    [1, 2, 3],
  )
})
