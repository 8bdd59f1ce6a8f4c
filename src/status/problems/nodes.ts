/** Problems of the nodes, and of their queues. */
import type { NodeState, ReplicaSummary } from '../node-types.ts'
import type { FoundProblem } from '../problem-types.ts'
import { namesOf, type ProblemSources, shortened, when } from './sources.ts'

/** States of nodes that get no calls. */
const UNUSED: readonly NodeState['state'][] = ['drained', 'no address']

/** Share of the calls per minute from which on reads wait for permits. The last tenth is reserved for writes. */
const BUDGET_WARNING_SHARE = 0.9

/** Replicas describe a fault alike: one with a failing node takes the state and the failure of a replica that knows more. */
export function withReports(nodes: readonly NodeState[], replicas: readonly ReplicaSummary[]): readonly NodeState[] {
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

export function credentialProblems({ credentials }: ProblemSources, nodes: readonly NodeState[]): FoundProblem[] {
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

export function nodeProblems(nodes: readonly NodeState[]): FoundProblem[] {
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

export function queueProblems({ queueLimit }: ProblemSources, nodes: readonly NodeState[]): FoundProblem[] {
  const limit = queueLimit()
  const full = nodes.filter(({ queue }) => queue >= limit)
  return when(full.length > 0, {
    kind: 'queueFull',
    severity: 'error',
    summary: `The queue of ${namesOf(full)} is full`,
    detail: `${limit} calls are queued, and further calls are rejected. The node is slower than its load requires.`,
    openDetail: `the queues of ${full.length} of ${nodes.length} nodes are full`,
    view: 'nodes',
  })
}

export function budgetProblems(nodes: readonly NodeState[]): FoundProblem[] {
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

export function layoutProblems({ layoutMixture }: ProblemSources): FoundProblem[] {
  const mixture = layoutMixture()
  const names = Object.entries(mixture ?? {}).map(([layout, nodes]) => `${layout} ${shortened(nodes)}`)
  return when(mixture !== undefined, {
    kind: 'mixedLayouts',
    severity: 'warning',
    summary: 'Nodes have different layouts, and writes are refused',
    openDetail: 'nodes have different layouts, as during an upgrade; writes are refused',
    detail: `${names.join('; ')}. Upgrade the older nodes, or remove them from cluster.nodes.`,
    view: 'nodes',
  })
}

export function drainProblems(nodes: readonly NodeState[]): FoundProblem[] {
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
