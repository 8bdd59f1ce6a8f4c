/**
 * Reads that get no response while the node answers its probes: all that its API process does not answer by itself, those of
 * its databases, or those of one agent or endpoint.
 *
 * | group | its reads | subject |
 * |---|---|---|
 * | `databases` | of the databases of agents | the agent |
 * | `agent` | of the database of one agent | the URL |
 * | `others` | others that the API process does not answer by itself, and that no other node may delay | the endpoint |
 * | `endpoint` | those of one endpoint | the URL |
 *
 * A read is lost when it gets no response for half of its timeout, at least `silence.maxWait`. A group is suspected when reads
 * about `hangs` subjects were lost since its last response. Its reads in flight end then, and later ones fail at once. Some are
 * sent as trials, one at a time: at once if no read about the subject was lost, otherwise at the times of `suspicion.ts`. Any
 * response to a read of the group ends the suspicion.
 */

import type { NodeCall } from '../../core/node-call.ts'
import { growingLru } from '../../core/recently-used.ts'
import { mayWaitForOther, type UpstreamCall } from '../call.ts'
import { provesExecution } from '../node-problems.ts'
import type { Rejection } from '../node-response.ts'
import type { ClusterSettings } from '../options.ts'
import { type Admission, Suspicion } from './suspicion.ts'

/** Agents and endpoints whose reads are remembered. */
const MAX_GROUPS = 1_000
/** Most subjects of lost reads that a group remembers. Beyond them, another subject is no reason for a trial at once. */
const MAX_LOST = 100

interface Group {
  /** The reads, for operators. */
  readonly reads: string
  readonly subjectOf: (call: NodeCall) => string
  /** What the reads without a response since the last one were about. */
  readonly lost: Set<string>
  answeredAt: number
  suspicion: Suspicion | undefined
}

interface StuckReadsOptions extends Pick<ClusterSettings, 'ejection' | 'clock'> {
  /** Called when a group is suspected: `isOf` tells its reads. */
  readonly onStuck: (reads: string, isOf: (call: NodeCall) => boolean) => void
  /** Called when a group that was suspected answers. */
  readonly onAnswer: (reads: string) => void
}

const endpointOf = ({ endpoint }: NodeCall) => endpoint
const agentOf = ({ agentData }: NodeCall) => `${agentData}`
const urlOf = ({ path }: NodeCall) => path

export class StuckReads {
  readonly #options: StuckReadsOptions
  readonly #databases = newGroup('reads of the databases of agents', agentOf)
  readonly #others = newGroup('reads that the API process does not answer by itself', endpointOf)
  /** Of one agent or endpoint. */
  readonly #single = growingLru<string, Group>(MAX_GROUPS, (group) => this.#clear(group))
  /** Suspicions that have not ended. */
  #suspicions = 0

  constructor(options: StuckReadsOptions) {
    this.#options = options
  }

  /** Whether reads of all agents or endpoints are suspected. */
  get areAny(): boolean {
    return this.#databases.suspicion !== undefined || this.#others.suspicion !== undefined
  }

  /** The caller reports the end of the call with `record`, and ends the probe then. */
  admit(call: NodeCall): Admission | Rejection {
    const group = this.#suspicions === 0 ? undefined : this.#suspectedOf(call)
    if (group === undefined) return { ok: true }
    const { suspicion: probeOf } = group
    const retryAfter = probeOf.admit(isNew(group, call))
    return retryAfter === undefined ? { ok: true, probeOf } : rejectionOf(group, call, retryAfter)
  }

  /** Returns why a call that was admitted before must not be sent now. */
  recheck(call: UpstreamCall): Rejection | undefined {
    if (this.#suspicions === 0 || call.probeOf !== undefined) return undefined
    const group = this.#suspectedOf(call)
    return group && rejectionOf(group, call, group.suspicion.retryAfter)
  }

  /** `isLate`: without a response for so long. `elapsed`: milliseconds on the node. */
  record(call: UpstreamCall, { isAnswered, isLate }: { isAnswered: boolean; isLate: boolean }, elapsed: number): void {
    const now = this.#options.clock()
    for (const group of this.#groupsOf(call)) {
      if (isAnswered) {
        group.answeredAt = now
        if (group.lost.size > 0) this.#clear(group)
      } else if (isLate && now - elapsed >= group.answeredAt) this.#lose(group, call)
    }
  }

  forget(): void {
    for (const group of [this.#databases, this.#others, ...this.#single.values()]) this.#clear(group)
  }

  #lose(group: Group, call: UpstreamCall): void {
    const { ejection, clock, onStuck } = this.#options
    if (isNew(group, call)) group.lost.add(group.subjectOf(call))
    if (call.probeOf === group.suspicion) group.suspicion?.begin()
    if (group.suspicion !== undefined || group.lost.size < ejection.hangs) return
    group.suspicion = new Suspicion(ejection, clock)
    group.suspicion.begin()
    this.#suspicions += 1
    onStuck(group.reads, (other) => this.#groupsOf(other).includes(group))
  }

  #clear(group: Group): void {
    const { suspicion } = group
    group.lost.clear()
    if (suspicion === undefined) return
    group.suspicion = undefined
    this.#suspicions -= 1
    this.#options.onAnswer(group.reads)
  }

  #suspectedOf(call: NodeCall) {
    return this.#groupsOf(call).find(
      (group): group is Group & { suspicion: Suspicion } => group.suspicion !== undefined,
    )
  }

  /** The larger one first. Calls of the edge itself show nothing: clients need no answer to them. */
  #groupsOf(call: NodeCall): readonly Group[] {
    if (call.method !== 'GET' || call.priority === 'own' || !provesExecution(call)) return []
    const { agentData, endpoint } = call
    if (agentData !== undefined) return [this.#databases, this.#singleOf(`reads about agent ${agentData}`)]
    return mayWaitForOther(call) ? [] : [this.#others, this.#singleOf(`reads of ${endpoint}`)]
  }

  #singleOf(reads: string): Group {
    const known = this.#single.get(reads)
    if (known !== undefined) return known
    const group = newGroup(reads, urlOf)
    this.#single.set(reads, group)
    return group
  }
}

function newGroup(reads: string, subjectOf: (call: NodeCall) => string): Group {
  return { reads, subjectOf, lost: new Set(), answeredAt: Number.NEGATIVE_INFINITY, suspicion: undefined }
}

/** Whether the read is about a subject of which none was lost. */
function isNew({ lost, subjectOf }: Group, call: NodeCall): boolean {
  return lost.size < MAX_LOST && !lost.has(subjectOf(call))
}

/** Another node may answer other reads from its own copy. It would only pass on a read of an agent's database. */
function rejectionOf({ reads }: Group, { agentData }: NodeCall, retryAfter: number): Rejection {
  const fault = agentData === undefined ? 'ejected' : 'timeout'
  return { ok: false, fault, reason: 'earlierReadsStuck', about: reads, lastFault: 'timeout', retryAfter }
}
