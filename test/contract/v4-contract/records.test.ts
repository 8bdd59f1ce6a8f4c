/** Every operation of the description has a record that says the same, and the others are operations of the edge itself. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import type { Body, Param, V4Endpoint } from '../../../src/contracts/endpoint.ts'
import { v4Contract } from '../../../src/contracts/v4/index.ts'
import type { Value } from '../../../src/contracts/v4/value.ts'
import { type Described, type DescribedOperation, describedOperations, FACTS } from './description.ts'
import { measured } from './measured.ts'

const operations = describedOperations()
const ofManager = v4Contract.filter(({ beyondSeed }) => !beyondSeed)
const records = new Map(ofManager.map((record) => [nameOf(record), record]))

function nameOf({ method, path }: V4Endpoint): string {
  return `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`
}

t.test('there is one record for each operation', async (t) => {
  t.equal(ofManager.length, records.size)
  for (const { beyondSeed, target, path } of v4Contract) if (beyondSeed) t.equal(target.kind, 'edge', path)
  const described = operations.map(({ endpoint }) => endpoint)
  t.strictSame([...records.keys()].sort(), described.sort(), 'src/contracts/v4 has a record for each')
  const head = readFileSync(FACTS, 'utf8').slice(0, 400)
  t.match(head, `(${operations.length} in all;`, 'the head of v4-endpoints.yaml has their number')
})

for (const described of operations) {
  const { endpoint, runsOn } = described
  t.test(endpoint, async (t) => {
    const record = records.get(endpoint)
    if (record === undefined) return void t.fail('no record in src/contracts/v4')
    t.strictSame(plainRecord(record), plainOperation(described))
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

function plainRecord(record: V4Endpoint): Described {
  return {
    releases: record.releases ?? {},
    rights: record.rights ?? [],
    without: record.withoutFlags ?? [],
    path: plainParams(record.params),
    query: plainParams(record.query),
    body: 'body' in record && record.body !== undefined ? plainBody(record.body) : undefined,
  }
}

function plainBody(body: Body): Described {
  const type = body.types.join()
  if (body.kind === 'upload') return { type }
  const members = Object.entries(body.fields).map(([name, { required, value }]) => [
    required === undefined ? `${name}?` : name,
    value && plainValue(value),
  ])
  return { type, ...(body.open && { open: true }), members: Object.fromEntries(members) }
}

function plainParams(params: Readonly<Record<string, Param>>): Described {
  return Object.fromEntries(
    Object.entries(params).map(([name, { value, required }]) => [
      name,
      { ...(value && plainValue(value)), ...(required !== undefined && { required: true }) },
    ]),
  )
}

/** Without what only the error texts of the manager have. */
function plainValue(value: Value): Described {
  if (value.type === 'array') return { ...value, items: plainValue(value.items) }
  if (value.type === 'object') {
    const members = Object.entries(value.members ?? {}).map(([name, member]) => [name, plainValue(member)])
    return { ...value, ...(value.members && { members: Object.fromEntries(members) }) }
  }
  if (value.type !== 'string') return { ...value }
  const { description: _, reference: __, minItems: ___, ...others } = value
  return others
}
