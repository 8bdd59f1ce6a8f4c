/**
 * The permits of a node: how many calls this process may send to a node that answers a limited number of calls per minute.
 * Replicas that share a Redis share the limit of each node; without Redis, a process has the whole limit.
 */
import { type BudgetShare, CallWindow } from '../core/call-window.ts'

/** Numbers of calls. */
export type PermitCounts = Readonly<Record<BudgetShare, number>>

/** The permits of one node. */
export interface NodePermits {
  /** Counts calls and returns how many of them may be sent now. A call must be sent within `PERMIT_LIFETIME_MS`. */
  take(wanted: PermitCounts): Promise<PermitCounts>
  /** Returns the milliseconds until this number of calls is permitted, as far as it is known; Infinity if it never is. */
  waitFor(share: BudgetShare, calls: number): number
  /** Calls that count now, of all replicas. */
  readonly used: number
  /** Reads that would be permitted at once. */
  readonly free: number
  /** The node refused a call because its limit is reached: others use it too. */
  recordRefusal(): void
  /** The node answered a call that was sent `ago` milliseconds ago. */
  recordAnswer(ago: number): void
  close(): void
}

/** The permits of all nodes over all replicas. */
export interface SharedPermits {
  /** `limit`: calls per minute of all replicas together. */
  open(node: string, limit: () => number): NodePermits
}

/** Between permit and sending, in milliseconds. */
export const PERMIT_LIFETIME_MS = 500

/** Permits of a process that shares with no other. */
export function createOwnPermits(clock: () => number): SharedPermits {
  return {
    open: (_node, limit) => {
      const window = new CallWindow(clock())
      const takeAll = (share: BudgetShare, wanted: number): number => {
        let taken = 0
        while (taken < wanted && window.take(share, limit(), clock())) taken += 1
        return taken
      }
      return {
        take: async ({ read, reserved }) => ({ reserved: takeAll('reserved', reserved), read: takeAll('read', read) }),
        waitFor: (share, calls) => window.waitFor(share, calls, limit(), clock()),
        get used() {
          return window.used(clock())
        },
        get free() {
          return window.free(limit(), clock())
        },
        recordRefusal: () => window.close(clock()),
        recordAnswer: (ago) => window.recordAnswer(clock() - ago),
        close: () => undefined,
      }
    },
  }
}
