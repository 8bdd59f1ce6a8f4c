/**
 * No operation that assistants are offered returns a secret, whatever its parameters are: each operation of both contracts with
 * values for each parameter, compared with what needs `secrets:read` at the edge.
 */
import t from 'tap'
import type { Endpoint } from '../../../src/contracts/endpoint.ts'
import { bothContracts } from '../../../src/contracts/index.ts'
import { missingPermission } from '../../../src/http/admit.ts'
import { ArgumentError, callOf, offeredOperations, parametersOf } from '../src/operations.ts'

/** With all rights but that to read secrets. */
const caller = { name: 'assistant', permissions: ['*:read', '*:write', '*:run'], via: 'basic' } as const

const VALUES: readonly unknown[] = [
  'internal_key',
  'Internal_Key',
  'id,internal_key',
  ['id', 'internal_key'],
  '-internal_key',
  'internal_key~9a',
  'id!=000;(INTERNAL_KEY~9a)',
  'os.name',
  1,
  true,
]

/** Values for the mandatory parameters. */
function mandatoryOf({ params, query }: Endpoint): Record<string, unknown> {
  const named = Object.entries(query).flatMap(([name, { required }]) => (required === undefined ? [] : [name]))
  return Object.fromEntries([...Object.keys(params), ...named].map((name) => [name, '001']))
}

function needsSecrets(endpoint: Endpoint, path: string): boolean {
  const query = Object.fromEntries(new URL(path, 'http://edge').searchParams)
  // Counts of fields need the right in any case, but without a secret field they contain no secret.
  if (endpoint.allFieldsWithout !== undefined)
    return !/./.test(query[endpoint.allFieldsWithout] ?? '') || /internal_key/i.test(path)
  return (
    missingPermission({ ...caller, permissions: [endpoint.permission, ...caller.permissions] }, { endpoint, query }) ===
    'secrets:read'
  )
}

for (const contract of ['v3', 'v4'] as const) {
  t.test(`the ${contract} contract`, async (t) => {
    const { reads, writes } = offeredOperations(contract)
    const offered = new Set<Endpoint>([...reads, ...writes].map(({ record }) => record))
    const records = bothContracts.filter((record) => record.contract === contract)
    for (const record of records) {
      if (record.secret !== 'none') t.notOk(offered.has(record), `${record.method} ${record.path} is withheld`)
    }
    let [sent, withheld] = [0, 0]
    for (const { id, record } of [...reads, ...writes]) {
      const named = Object.keys(parametersOf(record)).flatMap((name) => VALUES.map((value) => ({ [name]: value })))
      for (const parameters of [{}, ...named]) {
        try {
          const { path } = callOf({ id, record }, { parameters: { ...mandatoryOf(record), ...parameters } })
          sent += 1
          if (needsSecrets(record, path)) t.fail(`${id} sends ${path}`)
        } catch (error) {
          if (!(error instanceof ArgumentError)) throw error
          withheld += 1
        }
      }
    }
    t.ok(sent > 2_000 && withheld > 100, `${sent} sent, ${withheld} withheld`)
  })
}
