import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { kinds, type ValueKind } from '../../../src/contracts/schemas/kinds.ts'
import { simulated } from '../../support/simulated.ts'

/** Every list of ids or names in a body: `POST /agents/restart`, `ids`. */
const lists = catalogue.flatMap((endpoint) => {
  const body = 'body' in endpoint ? endpoint.body : undefined
  if (body?.kind !== 'fields') return []
  return Object.entries(body.fields).flatMap(([name, { kind }]) => {
    const value: ValueKind | undefined = kind && kinds[kind]
    return value?.listOf === undefined ? [] : [{ endpoint, name, code: value.code }]
  })
})

t.test('an empty list of agents is refused, since the manager would read it as all agents', async (t) => {
  t.ok(lists.length >= 2)
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 5 })
  const bodies = (name: string) => [
    { type: 'application/json', body: JSON.stringify({ [name]: [] }) },
    { type: 'application/x-www-form-urlencoded', body: `${name}=` },
  ]
  for (const { endpoint, name, code } of lists) {
    for (const { type, body } of bodies(name)) {
      const response = await fetch(`${edge.url}${endpoint.path.replace(':group_id', 'default')}`, {
        method: endpoint.method,
        headers: { authorization: edge.authorization('admin'), 'content-type': type },
        body,
      })
      t.equal(response.status, 400, `${endpoint.path} ${body}`)
      t.match(await response.json(), { error: code, message: new RegExp(`Field: ${name}$`) })
    }
  }
  t.notOk(
    simulator.seen.some(({ method }) => method !== 'GET'),
    'nothing was forwarded',
  )
})
