/**
 * The problems of the edge, derived from its state. Everything that shows problems (banner, page title, API) reads this
 * list. The texts contain no durations that change with each second: a screen reader would read them again and again.
 */
import type { Degradation } from '../readiness.ts'
import type { Problem, ProblemSeverity } from './api-types.ts'
import type { ConsolePorts, NodeState } from './ports.ts'

/** What the problems are derived from. */
export type ProblemSources = Pick<
  ConsolePorts,
  | 'ready'
  | 'configuration'
  | 'cache'
  | 'nodes'
  | 'queueLimit'
  | 'growingQueues'
  | 'tokenRecheck'
  | 'layoutMixture'
  | 'certificates'
  | 'replicas'
>

const DAY_MS = 24 * 3600 * 1000
const CERTIFICATE_WARNING_MS = 14 * DAY_MS
/** Share of the calls per minute from which on reads wait for permits. The last tenth is reserved for writes. */
const BUDGET_WARNING_SHARE = 0.9
/** Names in one text. */
const MAX_NAMES = 5
const ORDER: Readonly<Record<ProblemSeverity, number>> = { error: 0, warning: 1, notice: 2 }

/** Returns the problems, the most severe first. `now`: milliseconds since 1970. */
export function problemsOf(sources: ProblemSources, now: number = Date.now()): Problem[] {
  const nodes = sources.nodes()
  const found = [
    ...readinessProblems(sources),
    ...nodeProblems(nodes),
    ...queueProblems(sources, nodes),
    ...budgetProblems(nodes),
    ...tokenProblems(sources),
    ...redisProblems(sources),
    ...certificateProblems(sources, now),
    ...configurationProblems(sources),
    ...layoutProblems(sources),
    ...replicaProblems(sources),
    ...drainProblems(nodes),
    ...cacheProblems(sources),
  ]
  return found.sort((a, b) => ORDER[a.severity] - ORDER[b.severity])
}

function readinessProblems({ ready }: ProblemSources): Problem[] {
  const { ok, reasons, degraded } = ready()
  const find = (wanted: Degradation['reason']) => degraded.find(({ reason }) => reason === wanted)
  const [refused, weak] = [find('credentialsRefused'), find('weakCredentials')]
  const detail = 'Load balancers send no requests to this replica.'
  return [
    ...when(!ok, { kind: 'notReady', severity: 'error', summary: `Not ready: ${reasons.join(', ')}`, detail }),
    ...when(refused !== undefined, {
      kind: 'credentialsRefused',
      severity: 'error',
      summary: refused?.detail ?? '',
      detail:
        'Correct cluster.credentials, or the account of the edge on the nodes. Until then, responses that were stored are served stale.',
      view: 'nodes',
    }),
    ...when(weak !== undefined, {
      kind: 'weakCredentials',
      severity: 'warning',
      summary: 'The manager has a password that is easily guessed',
      detail:
        'Everyone who reaches the API of the nodes can sign in there. Set a new password, also in cluster.credentials.',
    }),
  ]
}

function nodeProblems(nodes: readonly NodeState[]): Problem[] {
  const ejected = nodes.filter(({ state }) => state === 'ejected')
  const blocked = ejected.filter(({ lastFailure }) => lastFailure?.fault === 'blocked')
  const down = ejected.filter((node) => !blocked.includes(node))
  const cutOff = nodes.filter(({ state }) => state === 'cut off')
  const failure = down[0]?.lastFailure
  return [
    ...when(blocked.length > 0, {
      kind: 'addressBlocked',
      severity: 'error',
      summary: `The address of the edge is blocked by ${namesOf(blocked)}`,
      detail: 'Too many logins failed. The node refuses every call until the block ends. Check the credentials.',
      view: 'nodes',
    }),
    ...when(down.length > 0, {
      kind: 'nodeDown',
      severity: 'error',
      summary: `${namesOf(down)} ${areDown(down.length, nodes.length)}`,
      detail: `${failure === undefined ? '' : `${failure.fault}: ${failure.detail}. `}Calls fail at once until a probe succeeds.`,
      view: 'nodes',
    }),
    ...when(cutOff.length > 0, {
      kind: 'nodeCutOff',
      severity: 'error',
      summary: `${namesOf(cutOff)} cut off from the master`,
      detail: 'Calls for these nodes and their agents fail at once until one call is answered.',
      view: 'nodes',
    }),
  ]
}

function areDown(down: number, all: number): string {
  return down === 1 ? 'is down' : `are down (${down} of ${all} nodes)`
}

function queueProblems({ queueLimit, growingQueues }: ProblemSources, nodes: readonly NodeState[]): Problem[] {
  const limit = queueLimit()
  const full = nodes.filter(({ queue }) => queue >= limit)
  const growing = growingQueues().filter(({ node }) => !full.some(({ name }) => name === node))
  const lengths = growing.map(({ node, from, to }) => `${node} ${from} → ${to}`)
  return [
    ...when(full.length > 0, {
      kind: 'queueFull',
      severity: 'error',
      summary: `The queue of ${namesOf(full)} is full`,
      detail: `${limit} calls are queued, and further calls are rejected. The node is slower than its load requires.`,
      view: 'nodes',
    }),
    ...when(growing.length > 0, {
      kind: 'queueGrowing',
      severity: 'warning',
      summary: `The queue grows: ${shortened(lengths)} calls`,
      detail: 'Requests wait longer and longer. The node is slower than its load requires.',
      view: 'nodes',
    }),
  ]
}

function budgetProblems(nodes: readonly NodeState[]): Problem[] {
  const usedUp = nodes.filter(({ budget }) => budget && budget.used >= budget.limit * BUDGET_WARNING_SHARE)
  return when(usedUp.length > 0, {
    kind: 'budgetUsedUp',
    severity: 'warning',
    summary: `Calls per minute used up: ${namesOf(usedUp)}`,
    detail: 'Reads are queued until the node permits more (cluster.limits.perMinute).',
    view: 'nodes',
  })
}

function tokenProblems({ tokenRecheck }: ProblemSources): Problem[] {
  const { interval, configured } = tokenRecheck?.() ?? { interval: 0, configured: 0 }
  return when(interval > configured, {
    kind: 'tokensCheckedLate',
    severity: 'notice',
    summary: 'Tokens are checked less often than access.tokens.recheck',
    detail:
      'Many users of the manager are in use. If the manager ends a token past the edge, the edge notices it later, after access.tokens.recheckMax at the latest.',
  })
}

function redisProblems({ cache }: ProblemSources): Problem[] {
  return (cache().faults ?? []).map(({ reason, detail }) => ({
    kind: reason,
    ...REDIS_PROBLEMS[reason],
    detail: `${REDIS_PROBLEMS[reason].detail} ${detail}.`,
    view: 'nodes',
  }))
}

const REDIS_PROBLEMS = {
  redisUnreachable: {
    severity: 'error',
    summary: 'Redis is unreachable',
    detail: 'All reads go to the nodes, and writes are rejected.',
  },
  redisSlow: { severity: 'error', summary: 'Redis is slow', detail: 'All reads go to the nodes, and writes wait.' },
  redisFull: { severity: 'warning', summary: 'Redis is full', detail: 'Responses are not stored.' },
  redisWrongType: {
    severity: 'warning',
    summary: 'Keys in Redis were replaced',
    detail: 'Replicas do without the data of these keys.',
  },
} as const

function certificateProblems({ certificates }: ProblemSources, now: number): Problem[] {
  return certificates()
    .filter(({ validTo }) => validTo - now < CERTIFICATE_WARNING_MS)
    .map(({ setting, validTo }) => {
      const hasEnded = validTo <= now
      const end = `${new Date(validTo).toISOString().slice(0, 16).replace('T', ' ')} UTC`
      return {
        kind: 'certificateEnds',
        severity: hasEnded ? 'error' : 'warning',
        summary: `The certificate of ${setting} ${hasEnded ? 'has ended' : `ends in ${daysUntil(validTo - now)}`}`,
        detail: `Its validity ${hasEnded ? 'ended' : 'ends'} at ${end}. Replace the file; no restart is needed.`,
      }
    })
}

function daysUntil(ms: number): string {
  const days = Math.floor(ms / DAY_MS)
  return days === 0 ? 'less than a day' : days === 1 ? '1 day' : `${days} days`
}

function configurationProblems({ configuration }: ProblemSources): Problem[] {
  const { fault, pendingRestart } = configuration()
  return [
    ...when(fault !== undefined, {
      kind: 'configurationNotReloaded',
      severity: 'warning',
      summary: 'The changed configuration is not valid, and the last valid one stays in use',
      detail: fault ?? '',
    }),
    ...when(pendingRestart.length > 0, {
      kind: 'pendingRestart',
      severity: 'warning',
      summary: 'Changed settings take effect after a restart only',
      detail: `${pendingRestart.join(', ')}.`,
    }),
  ]
}

function layoutProblems({ layoutMixture }: ProblemSources): Problem[] {
  const mixture = layoutMixture()
  const { classic, newer } = mixture ?? { classic: [], newer: [] }
  return when(mixture !== undefined, {
    kind: 'mixedLayouts',
    severity: 'warning',
    summary: 'Nodes have different layouts, and writes are refused',
    detail: `Classic ${shortened(classic)}; newer ${shortened(newer)}. Upgrade the classic nodes, or remove them from cluster.nodes.`,
    view: 'nodes',
  })
}

function replicaProblems({ replicas }: ProblemSources): Problem[] {
  const others = replicas?.() ?? []
  const notReady = others.filter(({ ready }) => !ready)
  return when(notReady.length > 0, {
    kind: 'replicaNotReady',
    severity: 'warning',
    summary: `Another replica is not ready: ${namesOf(notReady)}`,
    detail: 'Load balancers send no requests to it. Its own console names the reason.',
    view: 'nodes',
  })
}

function drainProblems(nodes: readonly NodeState[]): Problem[] {
  const drained = nodes.filter(({ state }) => state === 'drained')
  return when(drained.length > 0, {
    kind: 'nodeDrained',
    severity: 'notice',
    summary: `Drained for maintenance: ${namesOf(drained)}`,
    detail: 'These nodes get no calls until they are put back.',
    view: 'nodes',
  })
}

function cacheProblems({ cache }: ProblemSources): Problem[] {
  return when(!cache().enabled, {
    kind: 'cacheDisabled',
    severity: 'notice',
    summary: 'The cache is disabled',
    detail: 'Every request goes to the nodes (cache.enabled).',
    view: 'cache',
  })
}

function when(holds: boolean, problem: Problem): Problem[] {
  return holds ? [problem] : []
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return shortened(named.map(({ name }) => name))
}

function shortened(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMES
  return more > 0 ? `${texts.slice(0, MAX_NAMES).join(', ')} and ${more} more` : texts.join(', ')
}
