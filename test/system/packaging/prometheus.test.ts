/** Prometheus with the shipped configuration and alert rules, and the expressions of the shipped dashboard. */
import { spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { freePort } from '../../../packages/simulator/src/free-port.ts'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { installed } from '../../support/installed.ts'

const PASSWORD = 'only-for-tests'
const prometheus = installed({ variable: 'PROMETHEUS', names: ['prometheus'], package: 'prometheus' })

/** Returns the expressions of all panels, with the values that Grafana would fill in. */
function expressionsOf(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) =>
    name === 'expr' && typeof member === 'string'
      ? member
          .replaceAll(/\$\{?__(?:rate_interval|interval|range)\}?/g, '1m')
          .replaceAll(/\$\{?instance(?::\w+)?\}?/g, '.*')
      : expressionsOf(member),
  )
}

t.test('Prometheus scrapes the edge, evaluates every alert rule, and answers every panel', async (t) => {
  const simulator = await startSimulator({ workers: 1, agents: 3, password: PASSWORD })
  t.teardown(() => simulator.close())
  const edge = await startEdge({ nodes: simulator.nodes, password: PASSWORD })
  t.teardown(() => edge.close())
  const headers = { authorization: `Basic ${btoa('admin:admin-pw')}` }
  t.equal((await fetch(`${edge.url}/agents`, { headers })).status, 200)

  const folder = t.testdir({ password: 'admin-pw' })
  cpSync('config/prometheus', folder, { recursive: true })
  const settings = parse(readFileSync('config/prometheus/prometheus.yml', 'utf8'))
  // Only what differs between installations, and times.
  Object.assign(settings.global, { scrape_interval: '1s', evaluation_interval: '1s', scrape_timeout: '1s' })
  const [job] = settings.scrape_configs
  Object.assign(job.basic_auth, { username: 'admin', password_file: join(folder, 'password') })
  job.static_configs[0].targets = [new URL(edge.operationsUrl).host]
  const file = join(folder, 'prometheus.yml')
  writeFileSync(file, stringify(settings))
  const address = `127.0.0.1:${await freePort()}`
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${join(folder, 'data')}`,
    `--web.listen-address=${address}`,
  ]
  const child = spawn(prometheus, args, { stdio: ['ignore', 'ignore', 'pipe'] })
  let log = ''
  child.stderr.on('data', (text) => {
    log += text
  })
  t.teardown(() => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGKILL')
    return ended
  })
  /** Every API call has its own shape. A missing member fails the test that reads it. */
  const ask = async (path: string): Promise<ReturnType<typeof parse>> => {
    if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}: ${log}`)
    const response = await fetch(`http://${address}/api/v1/${path}`).catch(() => undefined)
    // It is not ready while it reads its database.
    return response?.ok || response?.status === 400 ? response.json() : undefined
  }
  const query = (expression: string) => ask(`query?query=${encodeURIComponent(expression)}`)

  await eventually(async () => (await query('up{job="manager-edge"}'))?.data?.result?.[0]?.value?.[1] === '1', 30_000)
  const rules = async () => (await ask('rules')).data.groups.flatMap((group: { rules: unknown[] }) => group.rules)
  const names = parse(readFileSync('config/prometheus/alerts.yml', 'utf8')).groups[0].rules.map(
    ({ alert }: { alert: string }) => alert,
  )
  await eventually(async () => (await rules()).every(({ health }: { health: string }) => health !== 'unknown'), 30_000)
  t.strictSame(
    (await rules()).map(({ name, health }: { name: string; health: string }) => `${name} ${health}`),
    names.map((name: string) => `${name} ok`),
  )

  const expressions = expressionsOf(JSON.parse(readFileSync('config/grafana/dashboard.json', 'utf8')))
  t.ok(expressions.length > 20, `${expressions.length} expressions`)
  for (const expression of expressions) {
    t.notMatch(expression, '$', 'all variables are known')
    const { status, error } = await query(expression)
    t.equal(status, 'success', `${expression} ${error ?? ''}`)
  }
  const { data } = await query('edge_build_info')
  t.match(data.result[0].metric, {
    job: 'manager-edge',
    version: JSON.parse(readFileSync('package.json', 'utf8')).version,
  })
})
