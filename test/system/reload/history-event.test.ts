import t from 'tap'
import type { History } from '../../../packages/console/server/history-types.ts'
import { reloadable } from './edge.ts'

t.test(
  'a reload that changes a setting is an event of the history, and one that changes nothing is none',
  async (t) => {
    const { edge, change, operations, logged } = await reloadable(t)
    const reloads = async () => {
      const { events } = JSON.parse(await operations('/api/history?range=5m')) as History
      return events.filter(({ kind }) => kind === 'reload').length
    }
    await edge.edge.reload()
    t.equal(logged('configuration unchanged').length, 1)
    t.equal(await reloads(), 0)
    await change({ 'access.limits.requestsPerSecond': 77 })
    t.equal(await reloads(), 1)
  },
)
