/**
 * One write of a name at a time over all replicas: registrations, and uploads to one path. Within the process writers
 * stand in line; the first of each line claims the name in the store, whose lease ends with a holder that dies. While
 * Redis is away each replica has its own turns.
 */
import { createHash } from 'node:crypto'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Stage } from '../core/request.ts'
import type { TagEpochs } from '../core/response.ts'
import { withTimeout } from '../core/timing.ts'
import type { CacheStore } from './stores/contract.ts'
import { lockNameOf } from './tags.ts'

export interface WriteLocks {
  /** Resolves when it is the caller's turn; with nothing when that did not come within `patience`, in milliseconds. */
  acquire(name: string, patience: number, signal: AbortSignal): Promise<WriteLock | undefined>
}

export interface WriteLock {
  release(): Promise<void>
}

export interface WriteLockPorts {
  readonly locks: WriteLocks
  /** Name of the master. */
  readonly master: () => string
  /** Milliseconds that a writer waits at most. */
  readonly timeoutOf: (ask: EdgeRequest) => number
}

/** Seconds after which a writer that gave up may come again. */
const RETRY_AFTER = '5'

/** Throws 934 for a writer whose turn did not come in time; nothing was sent then. */
export function writeLockStage({ locks: turns, master, timeoutOf: patience }: WriteLockPorts): Stage {
  return (next) => async (ask) => {
    const { endpoint } = ask
    if (!('writeLock' in endpoint) || endpoint.writeLock === undefined) return next(ask)
    const turn = await turns.acquire(lockNameOf(endpoint.writeLock, ask, master()), patience(ask), ask.signal)
    if (turn === undefined) throw new EdgeError(934, '', { headers: { 'retry-after': RETRY_AFTER } })
    try {
      return await next(ask)
    } finally {
      // The others are not to wait for the store to hear of it.
      void turn.release()
    }
  }
}

/** Milliseconds after which a holder that died, or stands still, loses its turn. */
const LEASE = 10_000
const ALWAYS: TagEpochs = { generation: 'turn', epochs: [], fenced: false }

/** `claim`: of the store that replicas share; absent: turns of this process alone. */
export function createWriteLocks(claim?: CacheStore['acquireFetchLock'], lease = LEASE): WriteLocks {
  const lines = new Map<string, Promise<void>>()
  return {
    acquire: async (name, patience, signal) => {
      const until = performance.now() + patience
      const mine = line(lines, name)
      try {
        if (!(await settledBy(mine.before, until, signal))) return mine.leave()
        const release = claim === undefined ? undefined : await claimed(claim, name, { lease, until, signal })
        if (release === 'late') return mine.leave()
        return {
          release: async () => {
            await release?.()
            mine.leave()
          },
        }
      } catch (fault) {
        mine.leave()
        throw fault
      }
    },
  }
}

interface Place {
  readonly before: Promise<void>
  leave(): undefined
}

/** A place at the end of the line; who leaves before its turn lets those behind wait for those before. */
function line(lines: Map<string, Promise<void>>, name: string): Place {
  const before = lines.get(name) ?? Promise.resolve()
  let leave = () => {}
  const left = new Promise<void>((resolve) => {
    leave = resolve
  })
  const end = before.then(() => left)
  lines.set(name, end)
  void end.then(() => {
    if (lines.get(name) === end) lines.delete(name)
  })
  return {
    before,
    leave: () => {
      leave()
      return undefined
    },
  }
}

interface Waiting {
  readonly lease: number
  readonly until: number
  readonly signal: AbortSignal
}

async function claimed(claim: CacheStore['acquireFetchLock'], name: string, { lease, until, signal }: Waiting) {
  // Names hold paths, and keys of the store are plain.
  const key = `turn:${createHash('sha256').update(name).digest('base64url')}`
  for (;;) {
    const tried = await claim(key, ALWAYS, lease)
    if (tried.held) return tried.release
    if (!(await settledBy(tried.settled, until, signal))) return 'late'
  }
}

/** Did it end in time? Rejects when the signal is aborted before. */
function settledBy(ended: Promise<void>, until: number, signal: AbortSignal): Promise<boolean> {
  const settled = ended.then(() => true)
  return withTimeout(settled, Math.max(0, until - performance.now()), false, signal)
}
