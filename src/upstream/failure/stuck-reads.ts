/**
 * Reads that get no response while the node answers its probes: its databases hang, or all that its API process does not
 * answer by itself.
 *
 * | group | its reads | subject |
 * |---|---|---|
 * | `databases` | of the databases of agents | the agent |
 * | `others` | others that the API process does not answer by itself, and that no other node may delay | the endpoint |
 *
 * A group is suspected when reads about `hangs` subjects got no response for half of their timeout, at least
 * `silence.maxWait`, and none of the group was answered since. One agent whose database is stuck, or one endpoint, is not enough.
 * The reads in flight end then. Later ones fail at once, except for trials: one at a time, about another subject at once,
 * otherwise at the times of `suspicion.ts`. Any response to a read of the group ends this.
 */
import type { NodeCall } from '../../core/node-call.ts'
import { mayWaitForOther, type UpstreamCall } from '../call.ts'
import { provesExecution, type Rejection } from '../node-response.ts'
import type { EjectionSettings } from '../options.ts'
import { type Admission, Suspicion } from './suspicion.ts'

type GroupName = 'databases' | 'others'

interface Group {
  readonly name: GroupName
  /** What the reads without a response since the last one were about. */
  readonly lost: Set<string>
  answeredAt: number
  suspicion: Suspicion | undefined
}

interface StuckReadsOptions {
  readonly ejection: EjectionSettings
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Called when a group is suspected: `isOf` tells its reads. */
  readonly onStuck: (reads: string, isOf: (call: NodeCall) => boolean) => void
  /** Called when a group that was suspected answers. */
  readonly onAnswer: (reads: string) => void
}

const READS: Readonly<Record<GroupName, string>> = {
  databases: 'reads of the databases of agents',
  others: 'reads that the API process does not answer by itself',
}

export class StuckReads {
  readonly #options: StuckReadsOptions
  readonly #groups = { databases: newGroup('databases'), others: newGroup('others') }

  constructor(options: StuckReadsOptions) {
    this.#options = options
  }

  /** Whether a group is suspected. */
  get areAny(): boolean {
    return Object.values(this.#groups).some(({ suspicion }) => suspicion !== undefined)
  }

  /** The caller reports the end of the call with `record`, and ends the probe then. */
  admit(call: NodeCall): Admission | Rejection {
    const group = this.#groupOf(call)
    if (group?.suspicion === undefined) return { ok: true }
    const { lost, suspicion: probeOf } = group
    const retryAfter = probeOf.admit(!lost.has(subjectOf(call)))
    return retryAfter === undefined ? { ok: true, probeOf } : rejectionOf(group, retryAfter)
  }

  /** Returns why a call that was admitted before must not be sent now. */
  recheck(call: UpstreamCall): Rejection | undefined {
    const group = call.probeOf === undefined ? this.#groupOf(call) : undefined
    return group?.suspicion && rejectionOf(group, group.suspicion.retryAfter)
  }

  /** `isLate`: without a response for so long. `elapsed`: milliseconds on the node. */
  record(call: UpstreamCall, { isAnswered, isLate }: { isAnswered: boolean; isLate: boolean }, elapsed: number): void {
    const group = this.#groupOf(call)
    if (group === undefined) return
    const now = this.#options.clock()
    if (isAnswered) {
      group.answeredAt = now
      this.#clear(group)
    } else if (isLate && now - elapsed >= group.answeredAt) this.#lose(group, call)
  }

  forget(): void {
    for (const group of Object.values(this.#groups)) this.#clear(group)
  }

  #lose(group: Group, call: UpstreamCall): void {
    const { ejection, clock, onStuck } = this.#options
    group.lost.add(subjectOf(call))
    if (call.probeOf === group.suspicion) group.suspicion?.begin()
    if (group.suspicion !== undefined || group.lost.size < ejection.hangs) return
    group.suspicion = new Suspicion(group.name, ejection, clock)
    group.suspicion.begin()
    onStuck(READS[group.name], (other) => this.#groupOf(other) === group)
  }

  #clear(group: Group): void {
    const { suspicion } = group
    group.lost.clear()
    group.suspicion = undefined
    if (suspicion !== undefined) this.#options.onAnswer(READS[group.name])
  }

  /** Calls of the edge itself show nothing: clients need no answer to them. */
  #groupOf(call: NodeCall): Group | undefined {
    if (call.method !== 'GET' || call.priority === 'own' || !provesExecution(call)) return undefined
    if (call.agentData !== undefined) return this.#groups.databases
    return mayWaitForOther(call) ? undefined : this.#groups.others
  }
}

function newGroup(name: GroupName): Group {
  return { name, lost: new Set(), answeredAt: Number.NEGATIVE_INFINITY, suspicion: undefined }
}

function subjectOf({ agentData, endpoint }: NodeCall): string {
  return agentData ?? endpoint
}

/** Another node may answer other reads from its own copy. It would only pass on a read of an agent's database. */
function rejectionOf({ name }: Group, retryAfter: number): Rejection {
  const fault = name === 'databases' ? 'timeout' : 'ejected'
  return { ok: false, fault, reason: 'earlierReadsStuck', about: READS[name], lastFault: 'timeout', retryAfter }
}
