/** The commands against a running edge, as a script runs them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { startSimulator } from '../../../packages/simulator/src/index.ts'
import { startEdge } from '../../support/edge.ts'
import { result } from './program.ts'

async function start(t: Test, settings: object = {}) {
  const simulator = await startSimulator({ agents: 6, workers: 1, username: 'edge', password: 'only-for-tests' })
  t.teardown(() => simulator.close())
  const edge = await startEdge({
    nodes: simulator.nodes,
    settings: { cache: { ttl: { agents: '120s' } }, ...settings },
  })
  t.teardown(() => edge.close())
  const passwordFile = join(edge.folder, 'password')
  writeFileSync(passwordFile, 'admin-pw\n')
  const run = (args: readonly string[], user = 'admin') => {
    const connection = ['--operations', edge.operationsUrl, '--user', user, '--password-file', passwordFile]
    return result(t, [...args, ...connection])
  }
  const get = async (path: string, user = 'admin') => {
    const response = await fetch(edge.url + path, { headers: { authorization: edge.authorization(user) } })
    await response.arrayBuffer()
    return response
  }
  return { simulator, edge, run, get }
}

t.test('problems prints the list of the console, with an exit code for scripts', async (t) => {
  const { simulator, edge, run, get } = await start(t)
  const none = await run(['problems'])
  t.strictSame([none.code, none.out, none.err], [0, 'no problems\n', ''])

  await t.test('a notice is no failure', async (t) => {
    const headers = { authorization: edge.authorization('admin'), 'x-edge-console': '1' }
    await fetch(`${edge.operationsUrl}/api/nodes/worker-1/drain`, { method: 'PUT', headers })
    const { code, out } = await run(['problems', '--json'])
    t.equal(code, 0)
    t.match(JSON.parse(out), { problems: [{ kind: 'nodeDrained', severity: 'notice' }] })
  })

  await t.test('an error is one', async (t) => {
    await simulator.close()
    for (let turn = 0; turn < 8; turn++) await get(`/agents/00${turn % 6}?select=id`)
    const { code, out } = await run(['problems'])
    t.equal(code, 1)
    t.match(out, /^error {4}The only node does not answer\n {9}\S.*\n {9}since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/m)
    const [problem] = JSON.parse((await run(['problems', '--json'])).out).problems
    t.match(problem, { kind: 'noNode', since: /^\d{4}-.*Z$/ })
    t.ok(Date.parse(problem.since) <= Date.now(), JSON.stringify(problem))
    t.notMatch(out, '\x1b[', 'no colours in a pipe')
  })
})

t.test('mistakes of the connection get one line with a remedy and code 2', async (t) => {
  const { edge, run } = await start(t)
  const connection = ['--operations', edge.operationsUrl]
  const rows: [string, readonly string[], string, RegExp][] = [
    ['wrong password', [...connection, '--user', 'admin'], 'wrong\n', /refuses the credentials \(401\); check --user/],
    [
      'no right',
      [...connection, '--user', 'reader'],
      'reader-pw\n',
      /operations:read \(403\); an administrator grants/,
    ],
    [
      'no edge',
      ['--operations', 'http://127.0.0.1:1', '--user', 'admin'],
      'x\n',
      /127.0.0.1:1 cannot be reached: connect.*; check --operations/,
    ],
    [
      'port for clients',
      ['--operations', edge.url, '--user', 'admin'],
      'admin-pw\n',
      /name the operations listener with/,
    ],
    [
      'https',
      ['--operations', edge.operationsUrl.replace('http', 'https'), '--user', 'admin'],
      'x\n',
      /http:\/\/ or https:/,
    ],
    ['no user', connection, '', /give one of --user and --token-file/],
    ['no password', [...connection, '--user', 'admin'], '', /standard input has no password/],
    ['no URL', ['--operations', 'edge', '--user', 'admin'], 'x\n', /edge is not an http or https URL/],
    ['URL with a path', ['--operations', `${edge.operationsUrl}/x`, '--user', 'admin'], 'x\n', /must have no path/],
    [
      'URL with a user',
      ['--operations', 'http://admin:x@127.0.0.1:1'],
      '',
      /--operations contains a user name; use --user/,
    ],
  ]
  for (const [name, args, input, expected] of rows) {
    const { code, out, err } = await result(t, ['problems', ...args], { input })
    t.equal(code, 2, name)
    t.match(err, expected, name)
    t.strictSame([out, err.trimEnd().split('\n').length], ['', 1], `${name}: one line`)
  }
  const env = {
    MANAGER_EDGE_OPERATIONS: edge.operationsUrl,
    MANAGER_EDGE_USER: 'admin',
    MANAGER_EDGE_PASSWORD_FILE: join(edge.folder, 'password'),
  }
  t.equal((await result(t, ['problems'], { env })).code, 0, 'all options from the environment')
  t.match((await run(['problems', '--help'])).out, /Examples:\n {2}manager-edge problems .*\n(?:.*\n)+Exit codes: 0 if/)
})

t.test('explain shows what the cache does with a read, and what a write invalidates', async (t) => {
  const { run, get } = await start(t)
  await get('/agents/001')
  const read = await run(['explain', 'GET', '/agents/001'])
  t.equal(read.code, 0, read.err)
  t.match(read.out, /^endpoint {5}GET \/agents\/:agent_id$/m)
  t.match(read.out, /^next {9}hit: fresh$/m)
  t.match(read.out, /^group {8}agents$/m)
  t.match(read.out, /^ {2}DELETE \/agents\/:agent_id/m)
  t.match(JSON.parse((await run(['explain', 'get', '/agents/001', '--json'])).out), { next: { hit: true } })

  const write = await run(['explain', 'PUT', '/agents/001/group/web', '--json'])
  t.match(JSON.parse(write.out), {
    endpoint: 'PUT /agents/:agent_id/group/:group_id',
    allowed: true,
    invalidates: [{ tags: ['agent:{agent_id}'] }],
  })
  const unknown = await run(['explain', 'GET', '/agent/001'])
  t.equal(unknown.code, 1)
  t.match(unknown.err, /GET \/agent\/001 is no endpoint of the v3 contract/)
  t.equal((await run(['explain', 'DELETE', '/nothing'])).code, 1)
  t.equal((await run(['explain', 'BREW', '/agents'])).code, 2)
})

t.test('purge previews and removes by tag, group and endpoint, and all', async (t) => {
  const { run, get } = await start(t)
  const fill = async () => {
    for (const path of ['/agents/001', '/agents/002', '/rules?limit=1']) await get(path)
  }
  const entries = async (...args: string[]) => JSON.parse((await run(['purge', ...args, '--json'])).out).entries
  await fill()
  t.equal(await entries('--all', '--dry-run'), 3)
  t.equal(await entries('--all', '--dry-run'), 3, 'a preview removes nothing')
  t.match((await run(['purge', '--tag', 'agent:001', '--dry-run'])).out, /^would be purged: 1 stored response \(/)
  t.match((await run(['purge', '--tag', 'agent:001'])).out, /^purged: 1 stored response \(/)
  t.equal(await entries('--endpoint', '/agents/:agent_id'), 1)
  t.match((await run(['purge', '--group', 'rules', '--soft'])).out, /^marked as stale: 1 stored response/)
  await fill()
  t.equal(await entries('--all'), 3)
  t.strictSame((await run(['purge', '--all'])).out, 'no stored response matches; nothing to purge\n')
  for (const args of [[], ['--all', '--tag', 'x'], ['--group', 'a', '--endpoint', 'b']]) {
    const { code, err } = await run(['purge', ...args])
    t.equal(code, 2)
    t.match(err, /give one of --tag, --group, --endpoint, --all/)
  }
})

t.test('top prints endpoints, callers and nodes once in a pipe', async (t) => {
  const { run, get } = await start(t)
  /** Clients send requests until the command has ended. */
  const watch = async (...args: string[]) => {
    let hasEnded = false
    const watched = run(['top', '--seconds', '1', ...args]).finally(() => {
      hasEnded = true
    })
    while (!hasEnded) {
      for (let turn = 0; turn < 3; turn++) await get('/agents/001')
      await get('/agents/nothing', 'reader')
    }
    return watched
  }
  const { code, out, err } = await watch()
  t.strictSame([code, err], [0, ''])
  t.match(out, /^GET \/agents\/:agent_id +\d+ +100 +\d+ +0 +\d+$/m)
  t.match(out, /^admin +\d+ +\d+ +\d+ +0/m)
  t.match(out, /^master +up +\d\//m)
  const { callers, ...json } = JSON.parse((await watch('--json', '--rows', '1')).out)
  t.match(json, {
    seconds: 1,
    endpoints: [{ name: 'GET /agents/:agent_id', share: 100 }],
    nodes: [{ name: 'master' }, {}],
  })
  t.match(callers, [{ name: 'admin' }])
  t.equal(callers.length, 1)
})

/** Numbers without a unit: counts, shares in percent, and codes. */
const PLAIN =
  /^(?:calls|entries|errors|failed|failures|observed|replicas|hits|inFlight|limit|queue|queued|requests|share|skipped|slots|stale|missing|newer|errorResponses|callsPerMinute|expectedPerMinute|perSecond|hitRatio|failuresPerSecond|callsPerSecond|cacheablePerSecond)$/
const WITH_UNIT = /(?:^ms|Ms|MsPerSecond|[sS]econds|[bB]ytes)$/

function unknownNumbers(value: unknown, name = ''): string[] {
  if (typeof value === 'number') return PLAIN.test(name) || WITH_UNIT.test(name) ? [] : [name]
  if (value === null || typeof value !== 'object') return []
  return Object.entries(value).flatMap(([key, member]) => unknownNumbers(member, Array.isArray(value) ? name : key))
}

t.test('each number of JSON output has a unit in its name, or is a count; times of day are ISO 8601', async (t) => {
  const { simulator, run, get } = await start(t)
  await get('/agents/001')
  await get('/agents/001')
  await simulator.faults.set('worker-1', { nodeDown: true })
  await get('/cluster/*/info')
  const rows = [
    ['explain', 'GET', '/agents/001'],
    ['top', '--seconds', '1'],
    ['purge', '--all', '--dry-run'],
    ['purge', '--all'],
    ['drain', 'worker-1', '--dry-run'],
    ['drain', 'worker-1', '--for', '30m', '--reason', 'OPS-1'],
    ['problems'],
    ['undrain', 'worker-1'],
  ]
  for (const args of rows) {
    const { out, err } = await run([...args, '--json'])
    t.strictSame([...new Set(unknownNumbers(JSON.parse(out || '{"none":1}')))], [], `${args.join(' ')} ${err}`)
    for (const [, time = ''] of out.matchAll(/"(?:since|until)": (.*?),?$/gm))
      t.match(time, /^"\d{4}-\d\d-\d\dT[\d:.]+Z"$/)
  }
})
