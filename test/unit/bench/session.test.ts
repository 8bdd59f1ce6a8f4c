/** The checks of bench:session: a wrong response, or too many calls, must not count as a success. */
import { execFile } from 'node:child_process'
import t from 'tap'
import { faultOfPage, isPageOfNode } from '../../bench/session/oracle.ts'
import { planOf } from '../../bench/session/plan.ts'
import { printGoals } from '../../bench/session/report.ts'
import type { SessionRun } from '../../bench/session/run.ts'
import { nodeArguments } from './node-arguments.ts'

const page = (rows: readonly object[], totalItems: number): string =>
  JSON.stringify({ error: 0, data: { items: rows, totalItems } })

t.test('operators page, sort, filter and search all three tables, with one seed always in the same way', async (t) => {
  const options = { clients: 20, seconds: 120, seed: 5, think: 4, viewedAgents: 2 }
  const plans = planOf(options)
  t.strictSame(planOf(options), plans)
  t.notSame(planOf({ ...options, seed: 6 }), plans)
  const targets = plans.flat().map(({ target }) => target)
  for (const path of ['/agents?', '/rules?', '/syscollector/002/packages?', '/manager/status']) {
    t.ok(
      targets.some((target) => target.startsWith(path)),
      path,
    )
  }
  for (const part of ['offset=40', 'sort=%2Bname', 'sort=-', 'q=', 'search=', 'level=']) {
    t.ok(
      targets.some((target) => target.includes(part)),
      part,
    )
  }
})

t.test('a page with missing or repeated rows is an error', async (t) => {
  const rows = [{ id: '001' }, { id: '002' }]
  t.equal(faultOfPage('/agents?limit=2', page(rows, 5)), undefined)
  t.equal(faultOfPage('/agents?limit=5', page(rows, 2)), undefined)
  t.equal(faultOfPage('/agents?limit=3', page(rows, 5)), '2 rows instead of 3')
  t.equal(faultOfPage('/agents?offset=3&limit=3', page(rows, 4)), '2 rows instead of 1')
  t.equal(faultOfPage('/agents?limit=2', page([rows[0] ?? {}, rows[0] ?? {}], 5)), 'a row twice')
  t.equal(faultOfPage('/agents', '{"error":1000,"message":"x"}'), 'error 1000')
})

t.test('a computed page is compared with that of the node', async (t) => {
  const [one, two] = [
    { id: '001', os: { name: 'a' } },
    { id: '002', os: { name: 'a' } },
  ]
  const three = { id: '003', os: { name: 'b' } }
  t.ok(isPageOfNode('/agents', page([one, two], 2), page([one, two], 2)))
  t.notOk(isPageOfNode('/agents', page([two, one], 2), page([one, two], 2)), 'another order')
  t.notOk(isPageOfNode('/agents', page([one, two], 3), page([one, two], 2)), 'another total')
  t.ok(isPageOfNode('/agents?sort=-os.name', page([two, one], 2), page([one, two], 2)), 'equal in the sorted field')
  t.notOk(isPageOfNode('/agents?sort=-os.name', page([three, one], 2), page([one, three], 2)))
})

t.test('a pair of runs that misses one goal fails the command', async (t) => {
  const run: SessionRun = {
    snapshots: true,
    times: [1],
    sources: {
      hit: 1,
      snapshot: 0,
      miss: 0,
      collapsed: 0,
      bypass: 0,
      'stale-if-error': 0,
      'stale-while-revalidate': 0,
    },
    repeated: 0,
    errors: new Map(),
    derived: new Map(),
    seconds: 1,
    calls: new Map([['/agents', 10]]),
    compared: 1,
    differing: [],
  }
  const off = { ...run, snapshots: false, calls: new Map([['/agents', 50]]) }
  const reaches = (on: Partial<SessionRun>, other: Partial<SessionRun> = {}) =>
    printGoals(
      [
        [
          { ...off, ...other },
          { ...run, ...on },
        ],
      ],
      () => undefined,
    )
  t.ok(reaches({}))
  t.notOk(reaches({ calls: new Map([['/agents', 11]]) }), 'calls')
  t.notOk(reaches({ errors: new Map([['status 503', 1]]) }), 'errors')
  t.notOk(reaches({}, { errors: new Map([['status 503', 1]]) }), 'errors without snapshots')
  t.notOk(reaches({ times: [] }), 'missing responses')
  t.notOk(reaches({ differing: ['/agents'] }), 'another page than the node')
  t.notOk(reaches({ repeated: 1 }), 'rejected')
  t.ok(reaches({}, { repeated: 1 }), 'without snapshots the nodes are overloaded')
  t.notOk(reaches({ compared: 0 }), 'nothing was compared')
})

t.test('the script replays a short session without an error', async (t) => {
  const { NODE_OPTIONS: _, ...env } = process.env
  const script = nodeArguments('test/bench/session.ts')
  const size = ['--clients', '6', '--seconds', '12', '--scale', '10', '--agents', '40']
  const out = await new Promise<string>((resolve, reject) => {
    const child = execFile(process.execPath, [...script, ...size], { env }, (_error, stdout, stderr) => {
      // A short session misses the goal for calls, so the exit code means nothing here.
      if (stderr !== '') reject(new Error(stderr))
      else resolve(stdout)
    })
    t.teardown(() => child.kill())
  })
  t.match(out, /reached {2}no errors: 0\n/)
  t.match(out, /reached {2}computed responses are those of the node: (\d+) of \1\n/)
  t.match(out, /calls with snapshots: \d/)
  t.match(out, /^\| agents, packages and rules \| [1-9]\d* \| [1-9]\d* \|$/m)
  t.match(out, /^\| \/agents \| [1-9]\d* \| [1-9]\d* \|$/m)
})
