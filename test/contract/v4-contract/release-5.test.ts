/** The records say of release 5.0 what its description says: what is new, changed, the same, and gone. */
import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { Described } from './description.ts'
import { operationsOfRelease5 } from './description.ts'
import { isIn, nameOf, plainRecord } from './plain-record.ts'

const { described, unchanged, gone } = operationsOfRelease5()
const records = new Map(v4Contract.filter(({ beyondSeed }) => !beyondSeed).map((record) => [nameOf(record), record]))
const ofRelease5 = [...records].filter(([, { releases }]) => isIn(releases, 'release 5.0'))

t.test('release 5.0 has these operations and no others', async (t) => {
  const names = ofRelease5.map(([name]) => name).sort()
  t.strictSame(names, [...described.map(({ endpoint }) => endpoint), ...unchanged].sort())
  t.equal(names.length, 94)
})

t.test('what is gone was in releases 4, the last one included', async (t) => {
  for (const name of gone) t.equal(records.get(name)?.releases?.until, '4.14', name)
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
    // Releases 4 let every user read the lists of actions and resources. A node of release 5.0 refuses it itself.
    if (!/^GET \/security\/(?:actions|resources)$/.test(endpoint)) t.strictSame(rightsOf(ofRecord), rightsOf(rights))
  })
}

/** Lists of words are in another order in error texts only. */
function inOrder(value: Described): Described {
  return JSON.parse(
    JSON.stringify(value, (name, part) => (name === 'words' ? [...(part as string[])].sort() : part)),
  ) as Described
}
