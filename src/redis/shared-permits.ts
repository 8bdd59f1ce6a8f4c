/**
 * The permits of each node, shared by all replicas: together they send at most as many calls per minute to a node as it
 * answers. The count of a node is one text in Redis. A replica computes the next count and replaces the text if no other
 * replica has changed it meanwhile (`core/call-window.ts` has the rules).
 *
 * If Redis is unreachable, a replica goes on with the count that it knows, and counts each call of its own as often as
 * there are replicas: each has its share of what is left.
 */
import { PermitLease } from './permit-lease.ts'
import type { RedisReplica } from './replica.ts'

/** Permits of this replica; see `SharedPermits` in src/upstream/permits.ts. */
export interface SharedPermits {
  open(name: string, limit: () => number): PermitLease
}

export function createSharedPermits(replica: RedisReplica): SharedPermits {
  const leases = new Set<PermitLease>()
  replica.heartbeat.onBeat(() => {
    for (const lease of leases) lease.refresh()
  })
  return {
    open: (name, limit) => {
      const lease = new PermitLease({ replica, name, limit, onClose: () => void leases.delete(lease) })
      leases.add(lease)
      return lease
    },
  }
}
