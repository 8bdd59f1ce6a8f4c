/** Drains nodes for maintenance and puts them back: for all replicas through Redis, without Redis for this one. */
import type { Logger } from 'pino'
import { type DrainState, NO_DRAINS } from '../core/drains.ts'
import { EdgeError } from '../core/errors.ts'
import type { RedisReplica } from '../redis/replica.ts'
import { createSharedDrains } from '../redis/shared-drains.ts'
import { type DrainRequest, stateWithDrain, stateWithoutDrain } from '../upstream/drains.ts'
import type { Cluster } from '../upstream/index.ts'

export interface Drains {
  /** Whether a change applies to all replicas. */
  readonly areShared: boolean
  /** Rejects with 603 or 940 if the node cannot be drained, and with 941 if Redis is unreachable. */
  drain(request: Omit<DrainRequest, 'verifiesUsersAtMaster'>): Promise<void>
  /** Rejects with 603 for an unknown node, and with 941 if Redis is unreachable. */
  putBack(node: string): Promise<void>
  /** Resolves when the drained nodes are known, or when Redis is unreachable. No node may be called before. */
  start(): Promise<void>
  stop(): void
}

interface DrainsParts {
  readonly cluster: Pick<Cluster, 'view' | 'drains'>
  /** Absent: replicas share nothing. */
  readonly replica: RedisReplica | undefined
  /** Whether the master verifies the users of the edge. */
  readonly verifiesUsersAtMaster: boolean
  readonly log: Logger
}

/** Must be called before the replica starts. */
export function createDrains({ cluster, replica, verifiesUsersAtMaster, log }: DrainsParts): Drains {
  const { view, drains } = cluster
  const onChange = (state: DrainState) => drains.replace(state.drains)
  const shared =
    replica &&
    createSharedDrains({ replica, onChange, log: (level, message, fields) => log[level](fields ?? {}, message) })
  let own = NO_DRAINS
  const update = async (change: (state: DrainState) => DrainState): Promise<void> => {
    if (shared !== undefined) {
      if ((await shared.update(change)) === undefined) throw new EdgeError(941)
      return
    }
    own = change(own)
    onChange(own)
  }
  return {
    areShared: shared !== undefined,
    drain: (request) => {
      const checked = { ...request, verifiesUsersAtMaster }
      return update((state) => stateWithDrain(state, checked, view, Date.now()))
    },
    putBack: (node) => update((state) => stateWithoutDrain(state, node, view, Date.now())),
    start: async () => shared?.start(),
    stop: () => shared?.stop(),
  }
}
