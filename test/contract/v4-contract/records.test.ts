/** Every operation of the description has a record that says the same, and the others are operations of the edge itself. */
import t from 'tap'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import { type Described, type DescribedOperation, describedOperations } from './description.ts'
import { measured } from './measured.ts'
import { nameOf, plainRecord } from './plain-record.ts'

const operations = describedOperations()
const ofManager = v4Contract.filter(({ beyondSeed, releases }) => !beyondSeed && releases?.since !== '5.0')
const EQUAL =
  'its record in src/contracts/v4, its entry in src/contracts/v3/inventories.ts, and for 5.0 src/contracts/v4/release-5.ts say as v4-endpoints.yaml'
const records = new Map(ofManager.map((record) => [nameOf(record), record]))

t.test('there is one record for each operation', async (t) => {
  t.equal(ofManager.length, records.size)
  for (const { beyondSeed, target, path } of v4Contract) if (beyondSeed) t.equal(target.kind, 'edge', path)
  const described = operations.map(({ endpoint }) => endpoint)
  t.strictSame(
    [...records.keys()].sort(),
    described.sort(),
    'src/contracts/v4 and test/contract/data/v4-endpoints.yaml have the same operations',
  )
})

for (const described of operations) {
  const { endpoint, runsOn } = described
  t.test(endpoint, async (t) => {
    const record = records.get(endpoint)
    if (record === undefined) return void t.fail('no record in src/contracts/v4')
    t.strictSame(plainRecord(record, 'releases 4'), plainOperation(described), EQUAL)
    const { target } = record
    const isPassedOn = target.kind === 'master' && target.passesOnTo !== undefined
    if (runsOn !== undefined) t.equal(isPassedOn, runsOn.includes('through the master'), runsOn)
  })
}

t.test('every measured difference is one of an operation', async (t) => {
  const names = new Set(operations.map(({ endpoint }) => endpoint))
  t.strictSame(
    [...measured.keys()].filter((name) => !names.has(name)),
    [],
  )
})

function plainOperation({
  endpoint,
  releases,
  rights,
  without,
  earlier,
  path,
  ...described
}: DescribedOperation): Described {
  const { query, members } = measured.get(endpoint) ?? {}
  const body = described.body && {
    ...described.body,
    ...(described.body.members && { members: { ...described.body.members, ...members } }),
  }
  return {
    releases,
    rights,
    // A node of a later release refuses the flag itself.
    without: without.filter((name) => !earlier.includes(name)),
    path,
    query: { ...described.query, ...query },
    body,
  }
}
