/**
 * The problems of the edge, derived from its state. Everything that shows problems (banner, page title, API,
 * `/readyz?verbose`, `edge_degraded`) reads this list. The texts contain no durations that change with each second: a
 * screen reader would read them again and again.
 */
import { type ErrorCode, errorTable } from '../core/errors.ts'
import type { CertificateState } from '../core/settings.ts'
import { CLOCK_TOLERANCE_S } from '../core/timing.ts'
import type { CapacityState } from './capacity.ts'
import type { NodeState, Nodes, ReplicaSummary } from './node-types.ts'
import type { CacheState, GrowingQueue } from './problem-types.ts'
import {
  type FoundProblem,
  PROBLEM_KINDS,
  type Problem,
  type ProblemKind,
  type ProblemSeverity,
} from './problem-types.ts'
import type { Degradation, Readiness } from './readiness.ts'
import type { RecentErrors } from './recent-errors.ts'
import type { SettingDifference } from './replicas.ts'
import type { ServedInOutage } from './served-in-outage.ts'

/** What the problems are derived from. */
export interface ProblemSources {
  ready(): Readiness
  /** Returns the names of the nodes that refuse the credentials of the edge, and whether its password is easily guessed. */
  credentials(): { readonly refusedBy: readonly string[]; readonly isWeak: boolean }
  /** `fault`: why the latest reload failed. `pendingRestart`: changed settings that take effect after a restart only. */
  configuration(): { readonly fault?: string; readonly pendingRestart: readonly string[] }
  cache(): CacheState
  /** `isFailing`: the latest audit record could not be written. `refuses`: writes are rejected then. */
  audit(): { readonly isFailing: boolean; readonly refuses: boolean }
  readonly recentErrors: RecentErrors['all']
  /** Absent: no response is served in an outage. */
  readonly servedInOutage?: ServedInOutage['oldest']
  capacity(): CapacityState
  nodes(): readonly NodeState[]
  /** Returns how many calls to one node may be queued. */
  queueLimit(): number
  growingQueues(): readonly GrowingQueue[]
  /** Returns the limit of open files if the process has reached it. */
  readonly exhaustedFiles?: () => string | undefined
  /**
   * Returns after how many milliseconds tokens of the manager's users are checked again, now and by the settings. Absent:
   * there are none.
   */
  readonly tokenRecheck?: () => { readonly interval: number; readonly configured: number }
  /** Returns the certificates that the edge presents, and the authorities that it trusts. */
  certificates(): readonly CertificateState[]
  /** Returns the nodes by the layout of their API if they have different ones. */
  layoutMixture(): Nodes['mixture']
  /** Returns undefined while Redis is unreachable. Absent if this replica shares nothing with others. */
  readonly replicas?: () => readonly ReplicaSummary[] | undefined
  /** What other replicas were given otherwise than this one. Absent: replicas share nothing. */
  readonly settingDifferences?: () => readonly SettingDifference[]
}

const DAY_MS = 24 * 3600 * 1000
export const CERTIFICATE_WARNING_MS = 14 * DAY_MS
/** Share of the calls per minute from which on reads wait for permits. The last tenth is reserved for writes. */
const BUDGET_WARNING_SHARE = 0.9
/** Names in one text. */
const MAX_NAMES = 5
const ORDER: Readonly<Record<ProblemSeverity, number>> = { error: 0, warning: 1, notice: 2 }

/** Returns the problems, the most severe first. `now`: milliseconds since 1970. */
export function problemsOf(sources: ProblemSources, now: number = Date.now()): FoundProblem[] {
  const nodes = withReports(sources.nodes(), sources.replicas?.() ?? [])
  const found = [
    ...readinessProblems(sources),
    ...credentialProblems(sources, nodes),
    ...nodeProblems(nodes),
    ...outageProblems(sources),
    ...queueProblems(sources, nodes),
    ...budgetProblems(nodes),
    ...openFileProblems(sources),
    ...tokenProblems(sources),
    ...auditProblems(sources),
    ...redisProblems(sources),
    ...capacityProblems(sources),
    ...certificateProblems(sources, now),
    ...configurationProblems(sources),
    ...layoutProblems(sources),
    ...replicaProblems(sources),
    ...drainProblems(nodes),
    ...cacheProblems(sources),
  ]
  return [...found, ...failureProblems(sources, found)].sort((a, b) => ORDER[a.severity] - ORDER[b.severity])
}

/** Replicas describe a fault alike: one with a failing node takes the state and the failure of a replica that knows more. */
function withReports(nodes: readonly NodeState[], replicas: readonly ReplicaSummary[]): readonly NodeState[] {
  const reports = replicas.flatMap((replica) => replica.nodes).filter(({ lastFailure }) => lastFailure !== undefined)
  return nodes.map((node) => {
    if (node.state !== 'failing') return node
    const ofNode = reports.filter(({ name }) => name === node.name)
    const known = ofNode.find(({ state }) => state === 'ejected' || state === 'hangs' || state === 'stuck')
    const found =
      known ?? (node.lastFailure === undefined ? ofNode.find(({ state }) => state === 'failing') : undefined)
    return found?.lastFailure === undefined ? node : { ...node, state: found.state, lastFailure: found.lastFailure }
  })
}

/** A replica that is not ready is no degradation: `edge_ready` and the status of `/readyz` show it. */
export const DEGRADATION_REASONS: readonly ProblemKind[] = PROBLEM_KINDS.filter((kind) => kind !== 'notReady')

/** Returns the problems as `/readyz?verbose` shows them. */
export function degradationsOf(problems: readonly Problem[]): Degradation[] {
  return problems
    .filter(({ kind }) => DEGRADATION_REASONS.includes(kind))
    .map(({ kind, openDetail, summary, since, meanwhile }) => ({
      reason: kind,
      detail: openDetail ?? summary,
      since,
      ...meanwhile,
    }))
}

function readinessProblems({ ready }: ProblemSources): FoundProblem[] {
  const { ok, reasons } = ready()
  const detail = 'Load balancers send no requests to this replica.'
  return when(!ok, { kind: 'notReady', severity: 'error', summary: `Not ready: ${reasons.join(', ')}`, detail })
}

function credentialProblems({ credentials }: ProblemSources, nodes: readonly NodeState[]): FoundProblem[] {
  const { refusedBy, isWeak } = credentials()
  const used = nodes.filter(({ state }) => !UNUSED.includes(state)).length
  return [
    ...when(refusedBy.length > 0, {
      kind: 'credentialsRefused',
      severity: 'error',
      summary: `${shortened(refusedBy)} ${refusedBy.length === 1 ? 'refuses' : 'refuse'} the credentials of the edge`,
      detail:
        'Correct cluster.credentials, or the account of the edge on the nodes. Until then, responses that were stored are served stale.',
      openDetail: `${refusedBy.length} of ${used} nodes refuse the credentials`,
      view: 'nodes',
    }),
    ...when(isWeak, {
      kind: 'weakCredentials',
      severity: 'warning',
      summary: 'The manager has a password that is easily guessed',
      detail:
        'Everyone who reaches the API of the nodes can sign in there. Set a new password, also in cluster.credentials.',
      openDetail: 'the password of the account on the nodes (cluster.credentials) is easily guessed',
    }),
  ]
}

/** States of nodes that get no calls. */
const UNUSED: readonly NodeState['state'][] = ['drained', 'no address']

function nodeProblems(nodes: readonly NodeState[]): FoundProblem[] {
  const used = nodes.filter(({ state }) => !UNUSED.includes(state))
  const blocked = used.filter(({ state, lastFailure }) => state === 'ejected' && lastFailure?.fault === 'blocked')
  const hanging = used.filter(({ state }) => state === 'hangs' || state === 'stuck')
  const unreachable = used.filter(
    (node) => (node.state === 'ejected' || node.state === 'failing') && !blocked.includes(node),
  )
  const cutOff = used.filter(({ state }) => state === 'cut off')
  // A node that is stuck answers other reads.
  const lost = [...blocked, ...hanging, ...unreachable].filter(({ state }) => state !== 'stuck').length
  const failure = unreachable[0]?.lastFailure
  const reason = failure === undefined ? '' : `${failure.fault}: ${failure.detail}. `
  const shares = (named: readonly NodeState[], what: string) => `${named.length} of ${used.length} nodes ${what}`
  return [
    ...when(lost > 0 && lost === used.length, {
      kind: 'noNode',
      severity: 'error',
      summary: used.length === 1 ? 'The only node does not answer' : 'No node answers',
      detail: `${reason}Stored responses are served stale, and everything else is answered with error 920.`,
      openDetail: shares(used, 'cannot be reached'),
      view: 'nodes',
    }),
    ...when(blocked.length > 0, {
      kind: 'addressBlocked',
      severity: 'error',
      summary: `The address of the edge is blocked by ${namesOf(blocked)}`,
      detail: 'Too many logins failed. The node refuses every call until the block ends. Check the credentials.',
      openDetail: shares(blocked, 'block the address of the edge'),
      view: 'nodes',
    }),
    ...when(hanging.length > 0, {
      kind: 'nodeHangs',
      severity: 'error',
      summary: `${namesOf(hanging)} ${hanging.length === 1 ? 'hangs' : 'hang'}: calls are accepted and not answered`,
      detail: 'Restart the API of the manager there. Calls fail at once until a probe is answered.',
      openDetail: shares(hanging, 'hang'),
      view: 'nodes',
    }),
    ...when(unreachable.length > 0 && lost < used.length, {
      kind: 'nodeUnreachable',
      severity: unreachable.some(({ state }) => state === 'ejected') ? 'error' : 'warning',
      summary: `${namesOf(unreachable)} ${areDown(unreachable.length, nodes.length)}`,
      detail: `${reason}Calls fail until a probe succeeds.`,
      openDetail: shares(unreachable, 'cannot be reached'),
      view: 'nodes',
    }),
    ...when(cutOff.length > 0, {
      kind: 'nodeCutOff',
      severity: 'error',
      summary: `${namesOf(cutOff)} cut off from the master`,
      detail: 'Calls for these nodes and their agents fail at once until one call is answered.',
      openDetail: shares(cutOff, 'are cut off from the master'),
      view: 'nodes',
    }),
  ]
}

function areDown(down: number, all: number): string {
  return down === 1 ? 'is down' : `are down (${down} of ${all} nodes)`
}

/** Minutes at which the text about the age changes: it must not change with each second. */
const AGE_STEPS = [1, 2, 5, 10, 15, 30, 60]

function outageProblems({ servedInOutage }: ProblemSources): FoundProblem[] {
  const oldest = servedInOutage?.()
  const minutes = (oldest ?? 0) / 60_000
  const step = AGE_STEPS.findLast((each) => each <= minutes)
  const hours = Math.floor(minutes / 60)
  const age = step === undefined ? 'a minute' : hours > 0 ? countOf(hours, 'hour') : countOf(step, 'minute')
  return when(oldest !== undefined, {
    kind: 'servedInOutage',
    severity: 'warning',
    summary: `Responses of before the outage are served, ${step === undefined ? 'less than' : 'some more than'} ${age} old`,
    detail: 'No node answers these reads (cache.outage). They are marked with Age and detail=outage. Writes fail.',
    view: 'nodes',
  })
}

function countOf(count: number, unit: string): string {
  return count === 1 ? `1 ${unit}` : `${count} ${unit}s`
}

function queueProblems({ queueLimit, growingQueues }: ProblemSources, nodes: readonly NodeState[]): FoundProblem[] {
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
      openDetail: `the queues of ${full.length} of ${nodes.length} nodes are full`,
      view: 'nodes',
    }),
    ...when(growing.length > 0, {
      kind: 'queueGrowing',
      severity: 'warning',
      summary: `The queue grows: ${shortened(lengths)} calls`,
      detail: 'Requests wait longer and longer. The node is slower than its load requires.',
      openDetail: `the queues of ${growing.length} of ${nodes.length} nodes grow`,
      view: 'nodes',
    }),
  ]
}

function budgetProblems(nodes: readonly NodeState[]): FoundProblem[] {
  const usedUp = nodes.filter(({ budget }) => budget && budget.used >= budget.limit * BUDGET_WARNING_SHARE)
  return when(usedUp.length > 0, {
    kind: 'budgetUsedUp',
    severity: 'warning',
    summary: `Calls per minute used up: ${namesOf(usedUp)}`,
    detail: 'Reads are queued until the node permits more (cluster.limits.perMinute).',
    openDetail: `the calls per minute of ${usedUp.length} of ${nodes.length} nodes are used up`,
    view: 'nodes',
  })
}

function openFileProblems({ exhaustedFiles }: ProblemSources): FoundProblem[] {
  const limit = exhaustedFiles?.()
  return when(limit !== undefined, {
    kind: 'openFilesUsedUp',
    severity: 'error',
    summary: 'The limit of open files is reached, and new connections are refused',
    detail: `The limit is ${limit}. Raise it, for example with LimitNOFILE in the unit of the service.`,
    openDetail: 'the limit of open files is reached; new connections are refused',
  })
}

function tokenProblems({ tokenRecheck }: ProblemSources): FoundProblem[] {
  const { interval, configured } = tokenRecheck?.() ?? { interval: 0, configured: 0 }
  return when(interval > configured, {
    kind: 'tokensCheckedLate',
    severity: 'notice',
    summary: 'Tokens are checked less often than access.tokens.recheck',
    detail:
      'Many users of the manager are in use. If the manager ends a token past the edge, the edge notices it later, after access.tokens.recheckMax at the latest.',
  })
}

function auditProblems({ audit }: ProblemSources): FoundProblem[] {
  const { isFailing, refuses } = audit()
  const effect = refuses ? 'Every write is rejected with error 936' : 'Writes are carried out without a record'
  return when(isFailing, {
    kind: 'auditNotWritten',
    severity: refuses ? 'error' : 'warning',
    summary: 'The latest audit record could not be written',
    detail: `${effect} until a record is written again. Check the disk of audit.file; the log has the reason.`,
  })
}

/** Problems that show the cause of an error: while one of them is present, the error is no further problem. */
const CAUSES: Readonly<Record<number, readonly ProblemKind[]>> = {
  920: ['noNode', 'nodeUnreachable', 'nodeHangs', 'nodeCutOff', 'addressBlocked', 'nodeDrained', 'mixedLayouts'],
  921: ['queueFull', 'queueGrowing', 'budgetUsedUp', 'nodeHangs'],
  922: ['nodeHangs', 'nodeUnreachable', 'noNode', 'nodeCutOff'],
  923: ['nodeHangs', 'nodeUnreachable', 'noNode', 'nodeCutOff'],
  924: ['nodeUnreachable', 'noNode', 'nodeHangs', 'nodeCutOff'],
  927: ['credentialsRefused'],
  930: ['redisUnreachable', 'redisSlow'],
  936: ['auditNotWritten'],
  939: ['mixedLayouts'],
  941: ['redisUnreachable', 'redisSlow'],
  943: ['redisUnreachable', 'redisSlow'],
  944: ['redisUnreachable', 'redisSlow'],
}
const RECENT_MS = 60_000
/** An error with a cause that is not present any more ends with the cause, or with the next update of a state. */
const RECENT_WITH_CAUSE_MS = 10_000

/** Whatever the cause, an error of the edge itself is a problem: its code, its message and its remedy. */
function failureProblems({ recentErrors }: ProblemSources, found: readonly FoundProblem[]): FoundProblem[] {
  const present = new Set(found.map(({ kind }) => kind))
  const unexplained = recentErrors().flatMap(({ code, ago }) => {
    const causes = CAUSES[code] ?? []
    const isRecent = ago <= (causes.length > 0 ? RECENT_WITH_CAUSE_MS : RECENT_MS)
    return isRecent && !causes.some((kind) => present.has(kind)) ? [code] : []
  })
  const texts = unexplained.map((code) => {
    const { message, remedy } = errorTable[code as ErrorCode]
    return `${code} ${message}: ${remedy}`
  })
  return when(unexplained.length > 0, {
    kind: 'requestsFail',
    severity: 'warning',
    summary: `Requests fail with ${unexplained.length === 1 ? 'error' : 'errors'} ${shortened(unexplained.map(String))}`,
    detail: `${texts.join('. ')}.`,
  })
}

function redisProblems({ cache }: ProblemSources): FoundProblem[] {
  return cache().faults.map(({ reason, detail }) => ({
    kind: reason,
    ...REDIS_PROBLEMS[reason],
    detail: `${REDIS_PROBLEMS[reason].detail} ${detail}.`,
    openDetail: detail,
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

function capacityProblems({ capacity, cache }: ProblemSources): FoundProblem[] {
  const { shortages, local, redis } = capacity()
  const isFull = cache().faults.some(({ reason }) => reason === 'redisFull')
  const { limit, policy = '' } = redis?.memory ?? {}
  const maxmemory = limit === undefined ? 'maxmemory' : `maxmemory (${inMiB(limit)})`
  return [
    ...when(shortages.includes('redisNearlyFull') && !isFull, {
      kind: 'redisNearlyFull',
      severity: 'warning',
      summary: 'Redis is nearly full',
      detail: `More than 90 % of ${maxmemory} is used. With the policy ${policy}, Redis refuses to store responses when it is full. Raise maxmemory, or set maxmemory-policy volatile-lru.`,
      view: 'cache',
    }),
    ...when(shortages.includes('redisEvicting'), {
      kind: 'redisEvicting',
      severity: 'warning',
      summary: 'Redis evicts stored responses for lack of memory',
      detail: `Redis uses all of ${maxmemory}, and has removed responses in each of the last five minutes that could still be served. They are fetched from nodes again. Raise maxmemory.`,
      view: 'cache',
    }),
    ...when(shortages.includes('localTierEvicting'), {
      kind: 'localTierEvicting',
      severity: 'warning',
      summary: 'The local tier is too small for the responses in use',
      detail: `In the last five minutes, half or more of the responses that this replica stored have removed another one that could still be served. ${redis === undefined ? 'Those are fetched from nodes again.' : 'Those are read from Redis again.'} Raise cache.localBytes (${inMiB(local?.limit ?? 0)}), and the memory limit of the process by twice as much.`,
      view: 'cache',
    }),
  ]
}

function inMiB(bytes: number): string {
  return `${Number((bytes / 2 ** 20).toFixed(1))} MiB`
}

function certificateProblems({ certificates }: ProblemSources, now: number): FoundProblem[] {
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

function configurationProblems({ configuration }: ProblemSources): FoundProblem[] {
  const { fault, pendingRestart } = configuration()
  return [
    ...when(fault !== undefined, {
      kind: 'configurationNotReloaded',
      severity: 'warning',
      summary: 'The changed configuration is not valid, and the last valid one stays in use',
      detail: fault ?? '',
      openDetail: 'the changed configuration has a fault; the last valid one is in use',
    }),
    ...when(pendingRestart.length > 0, {
      kind: 'pendingRestart',
      severity: 'warning',
      summary: 'Changed settings take effect after a restart only',
      detail: `${pendingRestart.join(', ')}.`,
    }),
  ]
}

function layoutProblems({ layoutMixture }: ProblemSources): FoundProblem[] {
  const mixture = layoutMixture()
  const { v3, v4 } = mixture ?? { v3: [], v4: [] }
  return when(mixture !== undefined, {
    kind: 'mixedLayouts',
    severity: 'warning',
    summary: 'Nodes have different layouts, and writes are refused',
    openDetail: 'nodes have different layouts, as during an upgrade; writes are refused',
    detail: `v3 ${shortened(v3)}; v4 ${shortened(v4)}. Upgrade the v3 nodes, or remove them from cluster.nodes.`,
    view: 'nodes',
  })
}

function secondsOf(ahead: number): string {
  return `${Math.round(Math.abs(ahead) / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'}`
}

function replicaProblems({ replicas, settingDifferences }: ProblemSources): FoundProblem[] {
  const others = replicas?.() ?? []
  const notReady = others.filter(({ ready, draining }) => !ready && draining !== true)
  const otherClocks = others.flatMap(({ name, clockAhead = 0 }) =>
    Math.abs(clockAhead) > CLOCK_TOLERANCE_S * 1000 ? [{ name, clockAhead }] : [],
  )
  const differences = settingDifferences?.() ?? []
  const differing = [...new Set(differences.flatMap((each) => each.replicas))]
  return [
    ...when(notReady.length > 0, {
      kind: 'replicaNotReady',
      severity: 'warning',
      summary: `Another replica is not ready: ${namesOf(notReady)}`,
      detail: 'Load balancers send no requests to it. Its own console names the reason.',
      openDetail:
        notReady.length === 1 ? '1 other replica is not ready' : `${notReady.length} other replicas are not ready`,
      view: 'nodes',
    }),
    ...when(otherClocks.length > 0, {
      kind: 'clocksDiffer',
      severity: 'error',
      summary: `Clocks of replicas differ: ${shortened(otherClocks.map(({ name, clockAhead }) => `${name} is ${secondsOf(clockAhead)} this replica`))}`,
      detail: 'Replicas refuse tokens and sessions of each other. Synchronise the clocks of their hosts (NTP).',
      openDetail: 'the clocks of replicas differ',
      view: 'nodes',
    }),
    ...when(differences.length > 0, {
      kind: 'replicasDiffer',
      severity: 'warning',
      summary: `Replicas have different settings or files: ${shortened(differences.map(({ setting }) => setting))}`,
      detail: `Clients get another answer from ${shortened(differing)} than from this replica. Copy the settings and the files that they name to all replicas.`,
      openDetail: `${differences.length === 1 ? '1 setting differs' : `${differences.length} settings differ`} between replicas`,
      view: 'nodes',
    }),
  ]
}

function drainProblems(nodes: readonly NodeState[]): FoundProblem[] {
  const drained = nodes.filter(({ state }) => state === 'drained')
  return when(drained.length > 0, {
    kind: 'nodeDrained',
    severity: 'notice',
    summary: `Drained for maintenance: ${shortened(drained.map(describeDrain))}`,
    detail: 'These nodes get no calls until the drain ends, or an operator puts them back.',
    openDetail: `${drained.length} of ${nodes.filter(({ state }) => state !== 'no address').length} nodes are drained for maintenance`,
    view: 'nodes',
  })
}

function describeDrain({ name, drain }: NodeState): string {
  const end = drain?.endsIn === undefined ? [] : ['with an end']
  const details = [...(drain?.reason === undefined ? [] : [drain.reason]), ...end]
  return details.length === 0 ? name : `${name} (${details.join(', ')})`
}

function cacheProblems({ cache }: ProblemSources): FoundProblem[] {
  return when(!cache().enabled, {
    kind: 'cacheDisabled',
    severity: 'notice',
    summary: 'The cache is disabled',
    detail: 'Every request goes to the nodes (cache.enabled).',
    view: 'cache',
  })
}

function when(holds: boolean, problem: FoundProblem): FoundProblem[] {
  return holds ? [problem] : []
}

function namesOf(named: readonly { readonly name: string }[]): string {
  return shortened(named.map(({ name }) => name))
}

function shortened(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMES
  return more > 0 ? `${texts.slice(0, MAX_NAMES).join(', ')} and ${more} more` : texts.join(', ')
}
