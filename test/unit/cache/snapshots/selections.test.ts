import t from 'tap'
import { answerFrom } from '../../../../src/cache/snapshots/answer.ts'
import { parseCollectionRequest } from '../../../../src/query/request.ts'
import { sources } from '../../../../src/query/sources.ts'
import { snapshotOf } from '../../../support/snapshots.ts'
import { agents } from './collection-node.ts'

const start = Date.parse('2026-01-02T00:00:00Z')

t.test('conditions on times are evaluated again when time has passed', async (t) => {
  const rows = agents(10).map((row, at) => ({ ...row, lastKeepAlive: `2026-01-01 00:00:0${at}` }))
  const snapshot = await snapshotOf(rows, sources.agents)
  const totalAt = async (query: Record<string, string>, now: number) => {
    const collection = parseCollectionRequest({ ...query, offset: '1' }, new Date(now))
    const body = await answerFrom(snapshot, { source: sources.agents, collection })
    return (JSON.parse(body.toString()) as { data: { totalItems: number } }).data.totalItems
  }
  for (const query of [{ older_than: '1d' }, { q: 'lastKeepAlive>1d' }]) {
    for (const seconds of [0, 3, 5])
      t.equal(await totalAt(query, start + 1000 * seconds), seconds, JSON.stringify(query))
  }
})
