/** A parameter with two values: lists are joined, and everything else is refused with the code of its kind. */
import t from 'tap'
import type { Param } from '../../../src/contracts/endpoint.ts'
import { catalogue } from '../../../src/contracts/index.ts'
import { kinds } from '../../../src/contracts/schemas/kinds.ts'
import { EdgeError } from '../../../src/core/errors.ts'
import { v3Contract } from '../../../src/http/v3.ts'
import { defaultConfig } from '../../support/default-config.ts'

/** Kinds whose values are lists with commas; a filter of texts takes alternatives. */
const LISTS: readonly string[] = ['array_numbers', 'array_names', 'node_names', 'select', 'alphanumeric']
/** Kinds that take part in no query of a collection, or any text. */
const OTHERS: readonly string[] = ['url', 'tag', 'flag', 'described']
const VALID: Readonly<Record<string, readonly [string, string]>> = {
  numbers: ['1', '2'],
  array_numbers: ['1', '2'],
  sort: ['+name', '-name'],
  search: ['a', 'b'],
  query: ['id=1', 'name=b'],
  select: ['id', 'name'],
  ranges: ['2', '3-5'],
  timeframe: ['1d', '2d'],
  boolean: ['true', 'false'],
  empty_boolean: ['true', 'false'],
  yes_no: ['yes', 'no'],
  dates: ['20261120', '20261121'],
  hashes: ['d41d8cd98f00b204e9800998ecf8427e', 'd41d8cd98f00b204e9800998ecf8427f'],
}

const PARAMS: Readonly<Record<string, string>> = {
  policy_id: 'unix_audit',
  component: 'agent',
  configuration: 'client',
}

const contract = v3Contract(catalogue)(() => defaultConfig)

t.test('every parameter of every read', async (t) => {
  let compared = 0
  const faults: string[] = []
  for (const endpoint of catalogue.filter(({ method, target }) => method === 'GET' && target.kind !== 'edge')) {
    for (const [name, { kind }] of Object.entries(endpoint.query as Readonly<Record<string, Param>>)) {
      if (OTHERS.includes(kind)) continue
      compared += 1
      const [one, other] = VALID[kind] ?? ['a', 'b']
      const { query } = contract.parseQuery(
        `/x?${name}=${encodeURIComponent(one)}&${name}=${encodeURIComponent(other)}`,
        endpoint,
      )
      const outcome = check(() => contract.check(endpoint, { params: params(endpoint.params), query }))
      const expected = LISTS.includes(kind) ? `${one},${other}` : kinds[kind].code
      const actual = outcome ?? query[name]
      // A list may be too long for a parameter, or lack another one.
      if (actual !== expected && outcome !== 604) faults.push(`${endpoint.path} ${name} (${kind}): ${actual}`)
    }
  }
  t.strictSame(faults, [], `${faults.length} of ${compared}`)
  t.ok(compared > 300, `${compared} parameters`)
})

/** Returns the code of the refusal. */
function check(run: () => void): number | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof EdgeError) return error.code
    throw error
  }
}

function params(described: Readonly<Record<string, Param>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(described).map(([name, { kind }]) => [name, PARAMS[name] ?? (kind === 'dates' ? '20261120' : '1')]),
  )
}
