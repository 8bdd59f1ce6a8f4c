import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { startEdge } from '../../../support/edge.ts'
import { installed } from '../../../support/installed.ts'
import { startRedis } from '../../../support/redis.ts'

const promtool = installed({ variable: 'PROMTOOL', names: ['promtool'], package: 'prometheus' })

t.test('promtool finds nothing to complain about in the metrics of the edge', async (t) => {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  const nodes = [{ name: 'master', type: 'master', url: 'http://127.0.0.1:9' }] as const
  const edge = await startEdge({ nodes, settings: { cache: { redis: { url: redis.url, timeout: '1s' } } } })
  t.teardown(() => edge.close())
  const headers = { authorization: edge.authorization('admin') }
  await (await fetch(`${edge.url}/version`, { headers })).text()
  const text = await (await fetch(`${edge.operationsUrl}/metrics`, { headers })).text()
  t.match(text, 'edge_cache_requests_total')
  const { stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input: text, encoding: 'utf8' })
  // The names of Node.js itself, such as nodejs_eventloop_lag_seconds, come from the library.
  const complaints = `${stdout}${stderr}`.split('\n').filter((line) => /^(?:edge|http)_/.test(line))
  t.strictSame(complaints, [])
  const planted = spawnSync(promtool, ['check', 'metrics'], {
    input: '# TYPE edge_x counter\nedge_x 1\n',
    encoding: 'utf8',
  })
  t.match(`${planted.stdout}${planted.stderr}`, /^edge_x/m, 'it complains about a counter without _total and help')
})

t.test('promtool accepts the alert rules', (t) => {
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'rules', 'config/prometheus/alerts.yml'], {
    encoding: 'utf8',
  })
  t.equal(status, 0, `${stdout}${stderr}`)
  t.end()
})

t.test('each alert leads to a section of the troubleshooting page', (t) => {
  const rules = readFileSync('config/prometheus/alerts.yml', 'utf8')
  const alerts = rules.match(/- alert: /g) ?? []
  const anchors = [...rules.matchAll(/runbook_url: docs\/troubleshooting\.md#(\S+)$/gm)].map(([, anchor]) => anchor)
  t.equal(anchors.length, alerts.length, 'one for each alert')
  const titles = readFileSync('docs/troubleshooting.md', 'utf8').matchAll(/^## (.+)$/gm)
  const sections = new Set([...titles].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-')))
  for (const anchor of anchors) t.ok(sections.has(anchor ?? ''), `section ${anchor}`)
  t.end()
})
