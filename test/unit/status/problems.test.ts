/** The list of problems that the console shows on every view. */
import t from 'tap'
import { errorTable } from '../../../src/core/errors.ts'
import type { NodeState } from '../../../src/status/node-types.ts'
import type { ProblemSources } from '../../../src/status/problems/sources.ts'
import { degradationsOf, problemsOf } from '../../../src/status/problems.ts'

const DAY_MS = 24 * 3600 * 1000
const NOW = Date.UTC(2026, 0, 1)

const CACHE: ReturnType<ProblemSources['cache']> = { enabled: true, shared: true, unreachable: false, faults: [] }

const healthy: ProblemSources = {
  ready: () => ({ ok: true, reasons: [] }),
  audit: () => ({ isFailing: false, refuses: true }),
  recentErrors: () => [],
  credentials: () => ({ refusedBy: [], isWeak: false }),
  configuration: () => ({ pendingRestart: [] }),
  cache: () => CACHE,
  capacity: () => ({}),
  nodes: () => [nodeState('master'), nodeState('worker-1'), nodeState('worker-2')],
  queueLimit: () => 256,
  certificates: () => [],
  layoutMixture: () => undefined,
}

function nodeState(name: string, state: Partial<NodeState> = {}): NodeState {
  return { name, type: 'worker', state: 'up', inFlight: 0, limit: 4, slots: 4, queue: 0, ...state }
}

const problems = (changes: Partial<ProblemSources>) => problemsOf({ ...healthy, ...changes }, NOW)
const kinds = (changes: Partial<ProblemSources>) => problems(changes).map(({ kind }) => kind)

t.test('a healthy edge has no problem', async (t) => {
  t.strictSame(problems({}), [])
  const listed = [nodeState('new', { state: 'not listed' }), nodeState('far', { state: 'no address' })]
  t.strictSame(problems({ nodes: () => listed }), [], 'nor has a node that needs no address')
})

t.test('an outage is shown with the age of what is served, in steps', async (t) => {
  const summaryAt = (minutes: number) => problems({ servedInOutage: () => minutes * 60_000 })[0]?.summary ?? ''
  const rows = [
    [0.5, /less than a minute/],
    [1.5, /more than 1 minute old/],
    [14, /more than 10 minutes/],
    [59, /more than 30 minutes/],
    [61, /more than 1 hour old/],
    [500, /more than 8 hours/],
  ] as const
  for (const [minutes, text] of rows) t.match(summaryAt(minutes), text, `${minutes} minutes`)
  t.match(problems({ servedInOutage: () => 0 }), [{ kind: 'servedInOutage', severity: 'warning', view: 'nodes' }])
  t.strictSame(problems({ servedInOutage: () => undefined }), [])
})

t.test('a node that is down is named with its last failure, several nodes with their number', async (t) => {
  const down = (name: string) =>
    nodeState(name, { state: 'ejected', lastFailure: { fault: 'unreachable', detail: 'refused', ago: 5 } })
  const [one] = problems({ nodes: () => [nodeState('master'), down('worker-1')] })
  t.match(one, { kind: 'nodeUnreachable', severity: 'error', summary: 'worker-1 is down', view: 'nodes' })
  t.match(one?.detail, /unreachable: refused/)
  const all = Array.from({ length: 8 }, (_, at) => down(`worker-${at}`))
  const [many] = problems({ nodes: () => [nodeState('master'), ...all] })
  t.equal(
    many?.summary,
    'worker-0, worker-1, worker-2, worker-3, worker-4 and 3 more are down (8 of 9 nodes)',
    'one problem, and not eight',
  )
})

t.test(
  'a node that hangs is another problem than one that is down, and a single failed call is a warning',
  async (t) => {
    const nodes = (state: NodeState['state']) => () => [nodeState('master', { state }), nodeState('worker-1')]
    t.match(problems({ nodes: nodes('hangs') }), [{ kind: 'nodeHangs', severity: 'error', summary: /^master hangs/ }])
    t.match(problems({ nodes: nodes('failing') }), [{ kind: 'nodeUnreachable', severity: 'warning' }])
    t.strictSame(kinds({ nodes: nodes('not tried') }), [])
  },
)

t.test('if no node answers, the list says so and names what hangs', async (t) => {
  const states = (...all: NodeState['state'][]) => all.map((state, at) => nodeState(`node-${at}`, { state }))
  t.strictSame(kinds({ nodes: () => states('ejected', 'failing', 'no address') }), ['noNode'])
  t.strictSame(kinds({ nodes: () => states('hangs', 'ejected') }), ['noNode', 'nodeHangs'])
})

t.test('what needs no sign-in has no names of nodes and replicas', async (t) => {
  const name = 'secret-name'
  const rates = { perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }
  const lastFailure = { fault: 'unreachable', detail: `connect ${name}`, ago: 5 }
  const states = ['ejected', 'failing', 'hangs', 'cut off', 'drained', 'full'] as const
  const found = problems({
    nodes: () => [
      nodeState('other'),
      ...states.map((state) => nodeState(name, { state, lastFailure, queue: 256, budget: { used: 300, limit: 300 } })),
      nodeState(name, { state: 'ejected', lastFailure: { ...lastFailure, fault: 'blocked' } }),
    ],
    credentials: () => ({ refusedBy: [name], isWeak: true }),
    layoutMixture: () => ({ v3: [name], v4: ['other'] }),
    replicas: () => [{ name, version: '1.0.0', ago: 1, ready: false, rates, nodes: [] }],
  })
  t.match(JSON.stringify(found), name)
  const open = degradationsOf(found.map((problem) => ({ ...problem, since: new Date(NOW).toISOString() })))
  t.match(open[0], { since: '2026-01-01T00:00:00.000Z' })
  t.ok(open.length >= 11, `${open.length} problems`)
  t.notMatch(JSON.stringify(open), name)
})

t.test('a node that blocks the address of the edge is another problem than a node that is down', async (t) => {
  const lastFailure = { fault: 'blocked', detail: 'address blocked', ago: 5 }
  const nodes = () => [nodeState('master', { state: 'ejected', lastFailure }), nodeState('worker-1')]
  t.strictSame(kinds({ nodes }), ['addressBlocked'])
})

t.test('a node that does not answer some reads hangs, and is still a node that answers', async (t) => {
  t.strictSame(kinds({ nodes: () => [nodeState('master', { state: 'stuck' })] }), ['nodeHangs'])
  t.strictSame(kinds({ nodes: () => [nodeState('master', { state: 'hangs' })] }), ['noNode', 'nodeHangs'])
})

t.test('a node that is cut off, and a budget that is used up', async (t) => {
  t.strictSame(kinds({ nodes: () => [nodeState('worker-1', { state: 'cut off' })] }), ['nodeCutOff'])
  const used = (calls: number) => nodeState('master', { budget: { used: calls, limit: 300 } })
  t.strictSame(kinds({ nodes: () => [used(269)] }), [])
  t.strictSame(kinds({ nodes: () => [used(270)] }), ['budgetUsedUp'])
})

t.test('tokens that are checked less often than the settings say', async (t) => {
  const checkedEvery = (interval: number) => kinds({ tokenRecheck: () => ({ interval, configured: 10_000 }) })
  t.strictSame(checkedEvery(10_000), [])
  t.strictSame(checkedEvery(11_000), ['tokensCheckedLate'])
})

t.test('a limit of open files that is reached', async (t) => {
  t.strictSame(kinds({ exhaustedFiles: () => undefined }), [])
  t.match(problems({ exhaustedFiles: () => '120' }), [
    { kind: 'openFilesUsedUp', severity: 'error', detail: /is 120\./ },
  ])
})

t.test('a full queue is an error', async (t) => {
  t.strictSame(kinds({ nodes: () => [nodeState('worker-1', { queue: 255 })] }), [])
  t.match(problems({ nodes: () => [nodeState('worker-1', { queue: 256 })] }), [
    { kind: 'queueFull', severity: 'error' },
  ])
})

t.test('each fault of Redis is named with what to do', async (t) => {
  const faults = (['redisFull', 'redisSlow', 'redisUnreachable'] as const).map((reason) => ({
    reason,
    detail: `why ${reason}; do this`,
  }))
  t.match(problems({ cache: () => ({ enabled: true, shared: true, unreachable: true, faults }) }), [
    { kind: 'redisSlow', severity: 'error', summary: 'Redis is slow', detail: /why redisSlow; do this/ },
    { kind: 'redisUnreachable', severity: 'error', summary: 'Redis is unreachable' },
    { kind: 'redisFull', severity: 'warning', summary: 'Redis is full' },
  ])
})

t.test('a Redis that evicts nothing is nearly full from nine tenths of its limit, until it is full', async (t) => {
  const filled = (fullest: number, policy = 'noeviction') => ({
    capacity: () => ({
      redis: { memory: { bytes: 1, limit: 256 << 20, policy, fullest, evictions: { limit: 0, expired: 0 } } },
    }),
  })
  t.match(problems(filled(0.9)), [
    { kind: 'redisNearlyFull', severity: 'warning', detail: /maxmemory \(256 MiB\).*noeviction.*Raise maxmemory/ },
  ])
  t.strictSame(kinds(filled(0.89)), [])
  t.strictSame(kinds(filled(1, 'volatile-lru')), [])
  const full = { ...CACHE, faults: [{ reason: 'redisFull', detail: 'out of memory' } as const] }
  t.strictSame(kinds({ ...filled(1), cache: () => full }), ['redisFull'], 'a full Redis is reported once')
})

t.test('a certificate is a problem from 14 days before its end', async (t) => {
  const endsIn = (ms: number) => ({ certificates: () => [{ setting: 'listen.tls.cert', validTo: NOW + ms }] })
  t.strictSame(problems(endsIn(14 * DAY_MS)), [])
  t.match(problems(endsIn(14 * DAY_MS - 1)), [
    { kind: 'certificateEnds', severity: 'warning', summary: /listen\.tls\.cert ends in 13 days$/ },
  ])
  t.match(problems(endsIn(DAY_MS / 2)), [{ severity: 'warning', summary: /ends in less than a day$/ }])
  t.match(problems(endsIn(0)), [{ severity: 'error', summary: /has ended$/, detail: /2026-01-01 00:00 UTC/ }])
})

t.test('a reload that failed, and settings that wait for a restart', async (t) => {
  const configuration = () => ({ fault: 'cluster.nodes: missing', pendingRestart: ['listen.port', 'audit.file'] })
  t.match(problems({ configuration }), [
    { kind: 'configurationNotReloaded', detail: 'cluster.nodes: missing' },
    { kind: 'pendingRestart', detail: 'listen.port, audit.file.' },
  ])
})

t.test('nodes of different layouts', async (t) => {
  const layoutMixture = () => ({ v3: ['worker-1'], v4: ['master'] })
  t.match(problems({ layoutMixture }), [{ kind: 'mixedLayouts', detail: /v3 worker-1; v4 master\./ }])
})

t.test('this replica is not ready, or another one is not', async (t) => {
  const ready = () => ({ ok: false, reasons: ['draining'] })
  const credentials = () => ({ refusedBy: ['worker-2'], isWeak: false })
  t.match(problems({ ready, credentials }), [
    { kind: 'notReady', summary: 'Not ready: draining' },
    { kind: 'credentialsRefused', summary: 'worker-2 refuses the credentials of the edge' },
  ])
  const rates = { perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }
  const other = { name: 'edge-2', version: '1.0.0', ago: 1, ready: false, rates, nodes: [] }
  t.match(problems({ replicas: () => [other] }), [{ kind: 'replicaNotReady', summary: /edge-2$/ }])
  t.strictSame(problems({ replicas: () => [{ ...other, draining: true }] }), [], 'it is being stopped')
  const late = { ...other, ready: true, clockAhead: -3_600_000 }
  t.match(problems({ replicas: () => [late] }), [
    { kind: 'clocksDiffer', severity: 'error', summary: /edge-2 is 3600 s behind this replica$/ },
  ])
  t.strictSame(problems({ replicas: () => [{ ...late, clockAhead: 4_900 }] }), [])
  t.strictSame(problems({ replicas: () => undefined }), [])
})

t.test('a node that is drained for maintenance is a notice', async (t) => {
  const nodes = () => [nodeState('worker-1', { state: 'drained' })]
  t.match(problems({ nodes }), [{ kind: 'nodeDrained', severity: 'notice', summary: /worker-1$/ }])
})

t.test('a cache that is disabled is a notice, and the most severe problems come first', async (t) => {
  const cache = () => ({ ...CACHE, enabled: false })
  const nodes = () => [nodeState('worker-1', { state: 'ejected' })]
  const configuration = () => ({ pendingRestart: ['listen.port'] })
  t.strictSame(
    problems({ cache, nodes, configuration }).map(({ severity }) => severity),
    ['error', 'warning', 'notice'],
  )
})

t.test('each error with a 5xx status that the edge itself returns is a problem', async (t) => {
  const codes = Object.entries(errorTable).flatMap(([code, { status }]) => (status >= 500 ? [Number(code)] : []))
  t.ok(codes.length >= 25, `${codes.length} codes`)
  const unexplained = codes.filter((code) => {
    const [row] = problems({ recentErrors: () => [{ code, ago: 0 }] })
    return row?.kind !== 'requestsFail' || !row.summary.includes(String(code)) || !row.detail.includes(String(code))
  })
  t.strictSame(unexplained, [], 'codes without a row')
})

t.test('an error whose cause is a problem already is no further one, and an old error is none', async (t) => {
  const failing = { audit: () => ({ isFailing: true, refuses: true }), recentErrors: () => [{ code: 936, ago: 0 }] }
  t.match(problems(failing), [{ kind: 'auditNotWritten', severity: 'error', detail: /audit\.file/ }])
  t.match(problems({ audit: () => ({ isFailing: true, refuses: false }) }), [{ severity: 'warning' }])
  const hangs = () => [nodeState('master', { state: 'hangs' }), nodeState('worker-1')]
  t.strictSame(kinds({ nodes: hangs, recentErrors: () => [{ code: 922, ago: 0 }] }), ['nodeHangs'])
  t.strictSame(kinds({ recentErrors: () => [{ code: 928, ago: 59_000 }] }), ['requestsFail'])
  t.strictSame(kinds({ recentErrors: () => [{ code: 928, ago: 61_000 }] }), [])
})

t.test('all replicas describe a fault of a node alike, whichever of them has met it', async (t) => {
  const lastFailure = { fault: 'unreachable', detail: 'connection refused', ago: 5 } as const
  const rates = { perSecond: 0, callsPerSecond: 0, savedPerSecond: 0, failuresPerSecond: 0 }
  const failing = nodeState('worker-1', { state: 'failing' })
  for (const [name, met] of Object.entries({
    ejected: nodeState('worker-1', { state: 'ejected', lastFailure }),
    hangs: nodeState('worker-1', { state: 'hangs', lastFailure }),
    failing: nodeState('worker-1', { state: 'failing', lastFailure }),
    blocked: nodeState('worker-1', { state: 'ejected', lastFailure: { ...lastFailure, fault: 'blocked' } }),
  })) {
    const seenBy = (own: NodeState, other: NodeState) =>
      problems({
        nodes: () => [nodeState('master'), own],
        replicas: () => [{ name: 'other', version: '1', ago: 1, ready: true, rates, nodes: [other] }],
      })
    const first = seenBy(met, failing)
    t.equal(first.length, 1, name)
    t.strictSame(seenBy(failing, met), first, `${name}: the replica that has not met it`)
  }
})
