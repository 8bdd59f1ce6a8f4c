import t from 'tap'
import { trialEdge } from './edge.ts'

t.test(
  'a response that the cache would have computed from a snapshot is compared, and the manager answers',
  async (t) => {
    const { throughEdge, atManager } = await trialEdge(t)
    const pages = [0, 1, 2, 3, 4].map((offset) => `/agents?limit=1&offset=${offset}`)
    const statuses: (string | null)[] = []
    for (const page of pages) {
      const response = await throughEdge(page)
      t.equal(response.body, (await atManager(page)).body)
      statuses.push(response.cacheStatus)
    }
    t.ok(
      statuses.some((status) => status?.endsWith('-same')),
      `computed before any of these pages was stored: ${statuses.join(' | ')}`,
    )
  },
)
