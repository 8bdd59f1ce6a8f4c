/** What the steps of a read share. */
import type { EdgeRead } from '../core/request.ts'
import type { createDivergenceCheck, DivergenceCheck } from './compare-responses.ts'
import type { Fetcher } from './fetch.ts'
import type { CachePorts, ReadContext } from './read-context.ts'
import type { RefreshAhead, RefreshAheadOptions, WaitingRefreshes } from './refresh-ahead.ts'
import type { SnapshotPorts } from './snapshots/build.ts'

export interface ReadThroughPorts extends CachePorts {
  readonly refreshAhead: RefreshAheadOptions
  readonly waiting: WaitingRefreshes
  /** Whether the node that would be called is known not to answer at all. */
  readonly isSilent: (request: EdgeRead) => boolean
  /** Whether a call would leave no free slot of the node that would be called. */
  readonly isSaturated: (request: EdgeRead) => boolean
  /** Absent: hits are not verified, because a trial compares each of them. */
  readonly divergenceSettings?: Parameters<typeof createDivergenceCheck>[0]
  readonly snapshots: Pick<SnapshotPorts, 'rows' | 'nodeReads'>
}

/** The parts behind the lookup. */
export interface ReadPath {
  readonly ports: ReadThroughPorts
  readonly fetcher: Fetcher
  readonly refreshAhead: RefreshAhead
  readonly divergenceCheck: DivergenceCheck | undefined
}

/** At the limit of the node, the call is left to clients that wait for one. `servedFor`: milliseconds. */
export function refreshSoon(
  { fetcher, refreshAhead }: ReadPath,
  context: ReadContext,
  wait: number,
  servedFor: number,
): void {
  if (wait === 0) void fetcher.refresh(context)
  else if (fetcher.mayRefresh(context)) refreshAhead.refreshWhenIdle(context, servedFor)
}
