/** `manager-edge verify-coherence` in front of replicas that share a Redis, and of two that wrongly do not. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../../../packages/simulator/src/index.ts'
import { type RunningEdge, type Settings, startEdge } from '../../support/edge.ts'
import { eventually } from '../../support/eventually.ts'
import { startRedis } from '../../support/redis.ts'
import { program, result } from './program.ts'

const PASSWORD = 'only-for-tests'

async function start(t: Test, settings: Settings, world: SimulatorOptions = {}) {
  const simulator = await startSimulator({ agents: 3, workers: 0, password: PASSWORD, ...world })
  t.teardown(() => simulator.close())
  const startReplica = async () => {
    const edge = await startEdge({ nodes: simulator.nodes, password: PASSWORD, settings })
    t.teardown(() => edge.close())
    return edge
  }
  const [here, there] = [await startReplica(), await startReplica()]
  const passwordFile = join(t.testdir({}), 'password')
  writeFileSync(passwordFile, 'admin-pw\n')
  const replicas = ['--replica', here.url, '--replica', there.url]
  const credentials = ['--user', 'admin', '--password-file', passwordFile]
  return { simulator, here, there, replicas, credentials }
}

async function startWithRedis(t: Test, settings: Settings = {}, world: SimulatorOptions = {}) {
  const redis = await startRedis()
  t.teardown(() => redis.close())
  return start(t, { ...settings, cache: { redis: { url: redis.url } } }, world)
}

/** The writes that the simulated master received, without the name of the group. */
function writesOf({ seen }: Simulator): readonly string[] {
  const writes = seen.filter(({ method, url }) => method !== 'GET' && url.includes('edge-coherence-'))
  return writes.map(({ method, url }) => `${method} ${url.replace(/edge-coherence-[\da-f]+/, 'GROUP')}`)
}

async function groupNames(edge: RunningEdge): Promise<readonly string[]> {
  const headers = { authorization: edge.authorization('admin') }
  const { data } = (await (await fetch(`${edge.url}/agents/groups`, { headers })).json()) as {
    readonly data: { readonly items: readonly { readonly name: string }[] }
  }
  return data.items.map(({ name }) => name)
}

/** A replica reports itself to the others every two seconds. */
async function untilReported(edge: RunningEdge): Promise<void> {
  const headers = { authorization: edge.authorization('admin') }
  await eventually(async () => {
    const response = await fetch(`${edge.operationsUrl}/api/nodes`, { headers })
    const { replicas } = (await response.json()) as { readonly replicas: readonly unknown[] | null }
    return replicas?.length === 1
  })
}

const isWritten = (name: string) => name.startsWith('edge-coherence-')

t.test('replicas with one Redis show every write at once', async (t) => {
  const { simulator, here, there, replicas, credentials } = await startWithRedis(t)
  const operations = ['--operations', here.operationsUrl]
  await untilReported(here)
  await t.test('a table of the replicas', async (t) => {
    const { code, out, err } = await result(t, ['verify-coherence', ...replicas, ...operations, ...credentials])
    t.strictSame([code, err], [0, ''], out)
    const row = (url: string) => new RegExp(`^${url} +\\d+ +0 +[\\d.]+ +[\\d.]+$`, 'm')
    t.match(out, row(here.url))
    t.match(out, row(there.url))
    t.match(out, /^10 rounds, 0 stale reads; all 2 replicas of the edge were seen$/m)
    t.strictSame(writesOf(simulator), [
      'PUT /agents/groups/GROUP',
      ...Array.from({ length: 10 }, () => 'POST /agents/groups/GROUP/configuration'),
      'DELETE /agents/groups/GROUP',
    ])
    t.notOk((await groupNames(here)).some(isWritten), 'the group is removed')
    for (const edge of [here, there]) {
      const records = edge.logged.filter((line) => line.includes('/agents/groups/:group_id/configuration'))
      t.ok(records.length > 0, 'each replica carried out and audited writes')
    }
  })

  await t.test('JSON', async (t) => {
    const { code, out, err } = await result(t, [
      'verify-coherence',
      ...replicas,
      ...credentials,
      '--rounds',
      '3',
      '--json',
    ])
    t.strictSame([code, err], [0, ''])
    const report = JSON.parse(out)
    t.match(report, {
      rounds: 3,
      staleReads: [],
      replicas: [
        { url: here.url, stale: 0 },
        { url: there.url, stale: 0 },
      ],
    })
    for (const { reads, medianDelayMs, maxDelayMs } of report.replicas) {
      t.ok(reads >= 15, 'five reads in each round')
      t.ok(medianDelayMs > 0 && medianDelayMs <= maxDelayMs, out)
    }
    t.match(report.scope, '2 named replicas were seen; the edge has an unknown number of replicas')
  })

  await t.test('one address', async (t) => {
    const args = ['verify-coherence', '--url', here.url, '--rounds', '2', ...credentials]
    const { code, out } = await result(t, [...args, ...operations])
    t.equal(code, 0)
    t.match(
      out,
      'only the replicas that the balancer chose were seen; the edge has 2 replicas. Name each with --replica',
    )
    t.match((await result(t, args)).out, 'the edge has an unknown number of replicas. Name each')
  })

  await t.test('the group is removed after control-C', async (t) => {
    const before = writesOf(simulator).length
    const running = program(t, ['verify-coherence', ...replicas, ...credentials, '--rounds', '1000'])
    await eventually(() => writesOf(simulator).length > before + 3)
    running.child.kill('SIGINT')
    const { code, out, err } = await running.ended
    t.equal(code, 2)
    t.match(err, /^interrupted; stopped after \d+ of 1000 rounds\n$/)
    t.match(out, ' 0 stale reads', 'with the result so far')
    t.notOk((await groupNames(here)).some(isWritten))
  })

  await t.test('and after the loss of a replica', async (t) => {
    const before = writesOf(simulator).length
    const running = program(t, ['verify-coherence', ...replicas, ...credentials, '--rounds', '1000'])
    await eventually(() => writesOf(simulator).length > before + 3)
    await there.close()
    const { code, err } = await running.ended
    t.equal(code, 2)
    t.match(err, new RegExp(`^${there.url}.*; stopped after \\d+ of 1000 rounds\n$`))
    t.notOk((await groupNames(here)).some(isWritten))
  })
})

t.test('replicas of the newer contract', async (t) => {
  const settings = { listen: { contract: 'newer' }, cluster: { layout: 'newer' } }
  const { simulator, replicas, credentials } = await startWithRedis(t, settings, { layout: 'newer' })
  const args = ['verify-coherence', ...replicas, ...credentials, '--contract', 'newer', '--rounds', '3']
  const { code, out, err } = await result(t, args)
  t.strictSame([code, err], [0, ''], out)
  t.match(out, /^3 rounds, 0 stale reads/m)
  t.match(writesOf(simulator).at(-1), 'DELETE /groups?groups_list=GROUP')
  t.equal(
    (
      await result(
        t,
        args.filter((arg) => !['--contract', 'newer'].includes(arg)),
      )
    ).code,
    2,
    'wrong contract',
  )
})

t.test('replicas that do not share a Redis are found, with the stale responses', async (t) => {
  const { here, there, replicas, credentials } = await start(t, { cache: { ttl: { agents: '3s' } } })
  const args = ['verify-coherence', ...replicas, ...credentials, '--rounds']
  const { code, out, err } = await result(t, [...args, '1'])
  t.equal(code, 1)
  t.match(err, /^\d+ of \d+ reads were stale; check that all replicas use the same Redis \(cache\.redis\)\n$/)
  t.match(
    out,
    new RegExp(
      `^stale: round 1, ${there.url}, \\d+ ms after the write through ${here.url}; request [\\w-]+, Cache-Status: manager-edge; hit; ttl=\\d`,
      'm',
    ),
  )
  const report = JSON.parse((await result(t, [...args, '2', '--json'])).out)
  t.equal(report.rounds, 2)
  t.ok(
    report.replicas.every(
      ({ stale, maxDelayMs }: { stale: number; maxDelayMs: number }) => stale > 0 && maxDelayMs > 500,
    ),
    'each replica missed the write through the other until its copy expired',
  )
  t.match(
    report.staleReads.find(({ url }: { url: string }) => url === here.url),
    { round: 2, requestId: /^\S+$/, cacheStatus: /hit/ },
  )
  t.notOk((await groupNames(here)).some(isWritten))
})

t.test('mistakes get one line and code 2, before the first write', async (t) => {
  const { simulator, here, there, replicas, credentials } = await startWithRedis(t)
  const rows: readonly (readonly [string, readonly string[], RegExp, string?])[] = [
    ['wrong password', [...replicas, '--user', 'admin'], /refuses the credentials \(401\)/, 'wrong\n'],
    [
      'no edge',
      ['--replica', here.url, '--replica', 'http://127.0.0.1:1', ...credentials],
      /127\.0\.0\.1:1 cannot be reached/,
    ],
    ['no address', credentials, /give --url, or --replica for each replica/],
    ['one replica', ['--replica', here.url, ...credentials], /give --replica at least twice/],
    ['one replica twice', ['--replica', here.url, '--replica', here.url, ...credentials], /with different URLs/],
    ['no URL', ['--replica', here.url, '--replica', 'there', ...credentials], /there is not an http or https URL/],
    [
      'no operations',
      [...replicas, ...credentials, '--operations', there.url],
      /GET \/api\/nodes of .* has status 404/,
    ],
  ]
  for (const [name, args, expected, input = ''] of rows) {
    const { code, out, err } = await result(t, ['verify-coherence', ...args], { input })
    t.strictSame([code, out], [2, ''], name)
    t.match(err, expected, name)
    t.equal(err.trimEnd().split('\n').length, 1, `${name}: one line`)
  }
  t.strictSame(writesOf(simulator), [])

  const reader = await result(t, ['verify-coherence', ...replicas, '--user', 'reader'], { input: 'reader-pw\n' })
  t.equal(reader.code, 2, 'no permission to write')
  t.match(reader.err, /PUT .* has status 403/)
  t.strictSame(writesOf(simulator), [], 'the edge refuses the write')
})
