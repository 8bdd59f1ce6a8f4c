/**
 * The outcome of a group-wide write for each agent: the responses of nodes with these outcomes, and the response that
 * clients must get. Written for clarity; shares no code with `src`.
 */

export type Fate = 'restarted' | 'refused' | 'unmentioned' | 'listedAsBoth' | 'nodeRefuses' | 'nodeFails' | 'noOwner'

export interface FatedAgent {
  readonly id: string
  readonly node: string
  readonly fate: Fate
}

interface ExpectedFailure {
  readonly id: string
  readonly error: { readonly code: number }
}

/** Returns the results that the response must contain, in the order of the agents. */
export function expectedResults(agents: readonly FatedAgent[]): {
  readonly affected: readonly string[]
  readonly failed: readonly ExpectedFailure[]
} {
  const codes: Readonly<Record<Exclude<Fate, 'restarted'>, number>> = {
    refused: 1707,
    unmentioned: 925,
    listedAsBoth: 1703,
    nodeRefuses: 1017,
    nodeFails: 924,
    noOwner: 931,
  }
  const affected: string[] = []
  const failed: ExpectedFailure[] = []
  for (const { id, fate } of agents) {
    if (fate === 'restarted') affected.push(id)
    else failed.push({ id, error: { code: codes[fate] } })
  }
  return { affected, failed }
}

/** Returns the response body of a node for these agents, or `fails` if the node fails. */
export function nodeResponse(ids: readonly string[], fateOf: ReadonlyMap<string, Fate>): object | 'fails' {
  const affected: string[] = []
  const failed: object[] = []
  for (const id of ids) {
    const fate = fateOf.get(id)
    if (fate === 'nodeRefuses') return { error: 1017, message: 'Some daemons are not ready yet' }
    if (fate === 'nodeFails') return 'fails'
    if (fate === 'restarted' || fate === 'listedAsBoth') affected.push(id)
    if (fate === 'refused') failed.push({ id, error: { message: 'Agent is not active', code: 1707 } })
    if (fate === 'listedAsBoth') failed.push({ id, error: { message: 'Action not available', code: 1703 } })
  }
  const data = { msg: 'of the node', affected_agents: affected, ...(failed.length > 0 && { failed_ids: failed }) }
  return { error: 0, data }
}
