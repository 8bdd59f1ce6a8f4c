/** The records say of release 5.0 what its description says: what is new, changed and gone. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { Described } from './description.ts'
import { describedOperations, operationsOfRelease5 } from './description.ts'
import type { ContractExchange } from './exchanges.ts'
import { isIn, nameOf, plainRecord } from './plain-record.ts'

const recorded = readFileSync(new URL('../exchanges/release-5.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as ContractExchange)
const described = operationsOfRelease5()
const lasting = describedOperations().filter(({ releases }) => releases.until === undefined)
const records = new Map(v4Contract.filter(({ beyondSeed }) => !beyondSeed).map((record) => [nameOf(record), record]))
const ofRelease5 = [...records].filter(([, { releases }]) => isIn(releases, 'release 5.0'))

t.test('release 5.0 has these operations and no others', async (t) => {
  const names = ofRelease5.map(([name]) => name).sort()
  t.strictSame(names, [...new Set([...described, ...lasting].map(({ endpoint }) => endpoint))].sort())
})

t.test('what replaces an operation is in release 5.0', async (t) => {
  const names = new Set(ofRelease5.map(([name]) => name))
  for (const [name, { replacedBy, releases }] of records) {
    if (replacedBy === undefined) continue
    t.ok(names.has(replacedBy), `${name}: ${replacedBy}`)
    t.equal(releases?.until, '4.14', name)
  }
})

for (const { endpoint, without, rights, path, query, body } of described) {
  t.test(endpoint, async (t) => {
    const record = records.get(endpoint)
    if (record === undefined) return void t.fail('no record in src/contracts/v4')
    const { releases: _, rights: ofRecord, ...plain } = plainRecord(record, 'release 5.0')
    t.strictSame(inOrder(plain), inOrder({ without, path, query, body }))
    // Rights on everything are those of a single node.
    const rightsOf = (lines: unknown) => (lines as string[]).map((line) => line.replace(', *:*:*', ''))
    // Every user may read the lists of actions and resources, as in releases 4, although the description names a right.
    if (isReadByAll(endpoint)) t.strictSame(ofRecord, [])
    else t.strictSame(rightsOf(ofRecord), rightsOf(rights))
  })
}

/** Whether a user without any right on this data was recorded with the whole of it. */
function isReadByAll(endpoint: string): boolean {
  const [ofAdministrator, ofReader] = ['administrator', 'reader1'].map(
    (user) =>
      recorded.find(({ user: name, request: { method, path } }) => name === user && `${method} ${path}` === endpoint)
        ?.response.body,
  )
  return endpoint.startsWith('GET /security/') && ofReader !== undefined && ofReader === ofAdministrator
}

/** Lists of words are in another order in error texts only. */
function inOrder(value: Described): Described {
  return JSON.parse(
    JSON.stringify(value, (name, part) => (name === 'words' ? [...(part as string[])].sort() : part)),
  ) as Described
}
