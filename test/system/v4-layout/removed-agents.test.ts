/** After a node has acknowledged the removal of an agent, its database still lists the agent for a moment. */
import t from 'tap'
import { v4Cluster } from './cluster.ts'

/** Milliseconds, more than the edge needs for a read. */
const DATABASE_DELAY = 700

t.test('a removed agent is in no response that begins after that of the removal', async (t) => {
  const { send, simulator } = await v4Cluster(t, { workers: 0, agents: 20, databaseDelay: DATABASE_DELAY })
  const ids = async () => {
    const { data } = await send('/agents?select=id&limit=1000')
    return (data as { readonly items: readonly { readonly id: string }[] }).items.map(({ id }) => id)
  }
  const removals = [
    ['/agents/017', ['017']],
    ['/agents?ids=018,019&older_than=0s&status=all', ['018', '019']],
  ] as const
  for (const [path, removed] of removals) {
    t.ok(removed.every((id) => simulator.world.agents.has(id)))
    const response = await send(path, { method: 'DELETE' })
    t.match(response.data, { affected_agents: removed })
    const one = await send(`/agents/${removed[0]}`)
    t.equal(one.error, 1701, path)
    const left = await ids()
    t.notOk(
      removed.some((id) => left.includes(id)),
      `the list after ${path}`,
    )
  }
})

t.test('a removal is answered although the database keeps the agent', async (t) => {
  const { send } = await v4Cluster(t, { workers: 0, agents: 20, databaseDelay: Number.POSITIVE_INFINITY })
  const response = await send('/agents/017', { method: 'DELETE' })
  t.match(response.data, { affected_agents: ['017'] })
})
