import t from 'tap'
import { catalogue } from '../../../src/contracts/index.ts'
import { randomFor } from '../src/data/random.ts'
import { ask, fieldsOf, type Item, makeWorld, NOON, recordedFields, refusalOf } from './data-ask.ts'

t.test('random numbers are reproducible', async (t) => {
  const draw = (...keys: string[]) => {
    const random = randomFor(1, ...keys)
    return [random.int(0, 1000), random.hex(9), random.fraction(), random.pick(['a', 'b', 'c'])]
  }
  t.same(draw('x', '1'), draw('x', '1'))
  t.notSame(draw('x', '1'), draw('x', '2'))
  t.notSame(draw('x1'), draw('x', '1'))
  const dice = randomFor(3, 'dice')
  const sides = new Set(Array.from({ length: 200 }, () => dice.int(1, 6)))
  t.same([...sides].sort(), [1, 2, 3, 4, 5, 6])
  t.throws(() => dice.pick([]), RangeError)
})

t.test('a node reports its identity', async (t) => {
  const world = makeWorld()
  for (const path of ['info', 'status', 'stats/analysisd', 'stats/remoted', 'stats/hourly', 'stats/weekly']) {
    const given = fieldsOf(ask(world, `GET /manager/${path}`, { node: 'worker-1' }))
    t.same(given.sort(), [...recordedFields(new RegExp(`^/manager/${path}`))].sort(), path)
  }
  t.match(ask(world, 'GET /manager/info'), { version: 'v3.11.5', cluster: { node_type: 'master' } })
  const status = (node: string) => ask(world, 'GET /manager/status', { node })['ossec-authd']
  t.same(['master', 'worker-1'].map(status), ['running', 'stopped'])
})

t.test('statistics of a day', async (t) => {
  const world = makeWorld()
  const stats = (date?: string) =>
    ask(world, 'GET /manager/stats', { query: date === undefined ? {} : { date } }) as unknown as Item[]
  t.equal(stats().length, 13, 'the hours that have begun')
  t.equal(stats('20200301').length, 24)
  t.match(stats()[0], { hour: 0, alerts: [{ sigid: 502, level: 3, times: Number }], totalAlerts: Number })
  t.equal(
    refusalOf(() => stats('20200101')),
    1308,
  )
  t.equal(
    refusalOf(() => stats('20200303')),
    1308,
  )
  t.equal(
    refusalOf(() => stats('20200231')),
    1307,
  )
})

t.test('the log grows, newest first, and its summary counts it', async (t) => {
  let now = NOON
  const world = makeWorld({ now: () => now })
  const logs = (query: Record<string, string> = {}) => ask(world, 'GET /manager/logs', { query })
  const before = logs({ limit: '1000' })
  t.ok(before.totalItems > 300)
  t.same(fieldsOf(before.items[0] ?? {}).sort(), [...recordedFields(/^\/manager\/logs\?limit/)].sort())
  const times = before.items.map(({ timestamp }) => String(timestamp))
  t.same(times, times.toSorted().toReversed())
  t.ok((times[0] ?? '') <= '2020-03-02 12:30:00')

  const errors = logs({ type_log: 'error' }).totalItems
  t.ok(errors > 0 && errors < before.totalItems)
  const summary = ask(world, 'GET /manager/logs/summary') as Readonly<Record<string, { all: number; error: number }>>
  const sum = (field: 'all' | 'error') => Object.values(summary).reduce((total, counts) => total + counts[field], 0)
  t.same([sum('all'), sum('error')], [before.totalItems, errors])
  t.equal(logs({ category: 'ossec-remoted' }).totalItems, summary['ossec-remoted']?.all)
  t.equal(logs({ category: 'bogus' }).totalItems, 0)

  now = new Date(NOON.getTime() + 600_000)
  const later = logs({ limit: '1000' })
  t.ok(later.totalItems > before.totalItems)
  t.same(later.items.slice(-before.totalItems), before.items, 'earlier lines stay')
})

t.test('every component answers on the master', async (t) => {
  const world = makeWorld()
  const config = (component: string, configuration: string, node = 'master') =>
    ask(world, 'GET /manager/config/:component/:configuration', { node, params: { component, configuration } })
  const all: Readonly<Record<string, string>> = {
    agentless: 'agentless',
    analysis: 'global active_response alerts command internal',
    auth: 'auth',
    com: 'active-response internal cluster',
    csyslog: 'csyslog',
    integrator: 'integration',
    logcollector: 'localfile socket internal',
    mail: 'global alerts internal',
    monitor: 'internal',
    request: 'remote internal',
    syscheck: 'syscheck rootcheck internal',
    wmodules: 'wmodules',
  }
  for (const [component, names] of Object.entries(all)) {
    for (const name of names.split(' ')) t.ok(Object.keys(config(component, name)).length > 0, `${component}/${name}`)
  }
  t.match(config('com', 'cluster', 'worker-1'), { cluster: { key: world.clusterKey, node_name: 'worker-1' } })
  t.match(config('logcollector', 'internal'), { internal: { logcollector: {} } })
  t.equal(
    refusalOf(() => config('nope', 'nope')),
    1101,
  )
  t.equal(
    refusalOf(() => config('toString', 'nope')),
    1101,
  )
  t.equal(
    refusalOf(() => config('com', 'nope')),
    1116,
  )
  t.equal(
    refusalOf(() => config('agent', 'client')),
    1117,
  )
  t.equal(
    refusalOf(() => config('auth', 'auth', 'worker-1')),
    1117,
  )
})

t.test('every endpoint of these resources has its handler', async (t) => {
  const world = makeWorld()
  const resources = /^\/(?:rules|decoders|lists|manager|syscheck|rootcheck|sca|ciscat|syscollector|experimental)\b/
  const missing = catalogue
    .filter(({ path }) => resources.test(path) && path !== '/manager/restart')
    .map(({ method, path }) => `${method} ${path}`)
    .filter((key) => {
      try {
        ask(world, key, { params: { agent_id: '000' } })
        return false
      } catch (fault) {
        return fault instanceof Error && fault.message.startsWith('No ')
      }
    })
  t.same(missing, [])
})
