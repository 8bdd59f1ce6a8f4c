import t from 'tap'
import { edgeMode } from './edge-mode.ts'

const AGENTS = 9
const EXISTING = Array.from({ length: AGENTS }, (_, at) => String(at + 1).padStart(3, '0'))
const idsUpTo = (count: number) => Array.from({ length: count }, (_, at) => String(at + 1).padStart(3, '0'))

t.test('mode edge: a long list of agents is restarted although most of them do not exist', async (t) => {
  const { ask } = await edgeMode(t, { agents: AGENTS })
  // By name up to 1,000 ids, a hundred in one call; by the pages of all agents beyond.
  for (const count of [33, 100, 1000, 1001]) {
    const ids = idsUpTo(count)
    const { status, body } = await ask('POST /agents/restart', { ids })
    t.equal(status, 200, JSON.stringify(body).slice(0, 200))
    const { affected_agents: affected, failed_ids: failed } = body.data
    const failedIds = failed.map(({ id }: { id: string }) => id)
    t.strictSame([...affected, ...failedIds].sort(), [...ids].sort(), `each of ${count} agents once`)
    const unknown = failed.filter(({ error }: { error: { code: number } }) => error.code === 1701)
    t.equal(unknown.length, count - EXISTING.length, 'the others do not exist')
  }
})
