/** Requests that the manager carries out: one call with the same meaning, and the response of the node for the client. */
import t from 'tap'
import { differentLines } from './differences.ts'
import { replayPassedOn } from './replay.ts'

t.test('recorded requests that the manager carried out', async (t) => {
  const results = await replayPassedOn()
  for (const { name, differences } of results) t.strictSame(differences, [], name)
  t.ok(results.length > 1_500, `${results.length} exchanges`)
  const lines = new Set(results.map(({ line }) => line))
  t.strictSame(
    differentLines.filter((line) => !lines.has(line)),
    [],
    'each difference is one of a recorded request',
  )
})
