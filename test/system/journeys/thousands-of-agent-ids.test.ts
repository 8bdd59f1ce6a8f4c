import t, { type Test } from 'tap'
import { simulated } from '../../support/simulated.ts'
import { ask, edgeMode } from './edge-mode.ts'

const AGENTS = 2500
const ids = Array.from({ length: AGENTS }, (_, at) => String(at + 1).padStart(3, '0'))
const unknown = '99999'
/** Half of what a body may hold, with an agent that does not exist. */
const requested = [...ids, unknown]

interface Restarted {
  readonly affected_agents: readonly string[]
  readonly failed_ids: readonly { readonly id: string; readonly error: { readonly code: number } }[]
}

function eachOnce(t: Test, { affected_agents: affected, failed_ids: failed }: Restarted): void {
  t.ok(affected.length > AGENTS / 2, `${affected.length} restarted`)
  t.strictSame([...affected, ...failed.map(({ id }) => id)].sort(), [...requested].sort(), 'each agent once')
  t.match(
    failed.filter(({ id }) => id === unknown),
    [{ error: { code: 1701 } }],
  )
}

t.test('one request restarts thousands of agents', async (t) => {
  await t.test('in one call if the manager distributes', async (t) => {
    const { simulator, edge } = await simulated(t, { workers: 2, agents: AGENTS })
    const { status, body } = await ask(edge, 'POST /agents/restart', { ids: requested })
    t.equal(status, 200, JSON.stringify(body).slice(0, 100))
    eachOnce(t, body.data)
    t.equal(simulator.seen.filter(({ method }) => method === 'POST').length, 1)
  })

  await t.test('in one call to each owner if the edge distributes', async (t) => {
    const { simulator, ask, lookups } = await edgeMode(t, { agents: AGENTS })
    lookups()
    const { status, body } = await ask('POST /agents/restart', { ids: requested })
    t.equal(status, 200, JSON.stringify(body).slice(0, 100))
    eachOnce(t, body.data)
    t.strictSame(
      body.data.affected_agents,
      requested.filter((id) => body.data.affected_agents.includes(id)),
      'in the order of the request',
    )
    t.strictSame(
      simulator.seen
        .filter(({ method }) => method === 'POST')
        .map(({ node }) => node)
        .sort(),
      ['master', 'worker-1', 'worker-2'],
    )
    const calls = lookups().map((call) => call.replace(/.*[?&](q|offset)=([^&]*).*/, '$1 $2'))
    t.strictSame(calls, ['offset 0', 'offset 1000', 'offset 2000', `q id%3D${unknown}`], 'owners by pages, then by id')
  })

  await t.test('up to the limit of a body', async (t) => {
    const { simulator, edge } = await simulated(t, { workers: 0, agents: 5 })
    const many = Array.from({ length: 12_000 }, (_, at) => String(at + 1).padStart(5, '0'))
    t.ok(JSON.stringify({ ids: many }).length > 90 * 1024)
    const { body } = await ask(edge, 'POST /agents/restart', { ids: many })
    t.equal(
      body.data?.failed_ids.length,
      many.length - body.data?.affected_agents.length,
      JSON.stringify(body).slice(0, 100),
    )
    const over = await ask(edge, 'POST /agents/restart', { ids: [...many, ...many] })
    t.match(over, { status: 400, body: { error: 701 } })
    t.equal(simulator.seen.filter(({ method }) => method === 'POST').length, 1)
  })
})
