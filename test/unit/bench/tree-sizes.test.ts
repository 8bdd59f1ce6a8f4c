import t from 'tap'
import { schema } from '../../../src/config/schema.ts'
import { listLeaves } from '../../../src/config/tree.ts'
import { eventSeries, stateSeries } from '../../../src/telemetry/metrics/table.ts'
import { sizesOf } from '../../support/tree-sizes.ts'

t.test('the sizes of a tree name its settings, metrics, commands and routes', async (t) => {
  const { lines, names } = sizesOf('.')
  t.ok(lines.src > 0 && lines.test > 0 && lines.packages > 0)
  const settings = listLeaves(schema).map(({ path }) => path.join('.'))
  t.strictSame(names.settings.toSorted(), settings.toSorted())
  const metrics = [...eventSeries, ...stateSeries].map(({ name }) => name)
  t.strictSame(names.metrics.toSorted(), metrics.toSorted())
  t.strictSame(
    ['demo', 'drain', 'mcp', 'start', 'token issue'].filter((name) => !names.commands.includes(name)),
    [],
  )
  t.strictSame(
    ['GET /metrics', 'GET /api/now', 'POST /api/purge', 'PUT /api/nodes/:node/drain', 'GET /sign-in/callback'].filter(
      (name) => !names.routes.includes(name),
    ),
    [],
  )
})
