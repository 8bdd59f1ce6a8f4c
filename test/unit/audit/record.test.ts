import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { type AuditEvent, CHAIN_START, formatRecord, parseRecord } from '../../../src/audit/record.ts'
import { verifyAudit } from '../../../src/audit/verify.ts'

/** A closed file of release 0.1.0, with records of every kind. */
const file = fileURLToPath(new URL('./written-by-0.1.0.jsonl', import.meta.url))
const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
const DIGEST = '8012c87669f80ad192b90561d1cf86b2d927a983ebf606cb9e5ae1b9f76c85c0'

t.test('a file of release 0.1.0 verifies', async (t) => {
  const { faults, notes, records, last } = await verifyAudit([file], { last: DIGEST })
  t.strictSame([faults, notes, records], [[], [], 9])
  t.strictSame(last, { seq: 9, digest: DIGEST })
})

t.test('records have the bytes of release 0.1.0', (t) => {
  let link = CHAIN_START
  for (const line of lines) {
    const { seq, time, replica, before, digest, ...event } = JSON.parse(line) as Record<string, unknown>
    const at = { time: new Date(String(time)), replica: String(replica) }
    const record = formatRecord(event as unknown as AuditEvent, at, link)
    t.equal(record.text, line, `record ${seq}`)
    t.strictSame(record.link, { seq, digest })
    t.equal(before, link.digest)
    link = record.link
  }
  t.end()
})

t.test('a line that is no audit record is not parsed, and a changed record is recognised', (t) => {
  const [line = ''] = lines
  t.match(parseRecord(line), { seq: 1, kind: 'opened', isChanged: false })
  t.match(parseRecord(line.replace('edge-1', 'edge-2')), { seq: 1, isChanged: true })
  const digest = '0'.repeat(64)
  for (const text of [
    '',
    '{}',
    '[1]',
    line.slice(0, -1),
    `{"seq":1,"digest":"${digest}"}`,
    `{x,"digest":"${digest}"}`,
  ]) {
    t.equal(parseRecord(text), undefined, text)
  }
  t.end()
})
