/** What problems are derived from, and what their texts have in common. */

import type { LayoutMixture } from '../../core/node-call.ts'
import type { CertificateState, ReloadStatus } from '../../core/settings.ts'
import type { CapacityState } from '../capacity.ts'
import type { NodeState, ReplicaSummary } from '../node-types.ts'
import type { CacheState, FoundProblem } from '../problem-types.ts'
import type { Readiness } from '../readiness.ts'
import type { RecentErrors } from '../recent-errors.ts'
import type { ServedInOutage } from '../served-in-outage.ts'
import type { SettingDifference } from '../setting-differences.ts'

/** What the problems are derived from. */
export interface ProblemSources {
  ready(): Readiness
  /** Returns the names of the nodes that refuse the credentials of the edge, and whether its password is easily guessed. */
  credentials(): { readonly refusedBy: readonly string[]; readonly isWeak: boolean }
  configuration(): Pick<ReloadStatus, 'fault' | 'pendingRestart'>
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
  layoutMixture(): LayoutMixture | undefined
  /** Returns undefined while Redis is unreachable. Absent if this replica shares nothing with others. */
  readonly replicas?: () => readonly ReplicaSummary[] | undefined
  /** What other replicas were given otherwise than this one. Absent: replicas share nothing. */
  readonly settingDifferences?: () => readonly SettingDifference[]
}

/** Names in one text. */
const MAX_NAMES = 5

export function when(holds: boolean, problem: FoundProblem): FoundProblem[] {
  return holds ? [problem] : []
}

export function namesOf(named: readonly { readonly name: string }[]): string {
  return shortened(named.map(({ name }) => name))
}

export function shortened(texts: readonly string[]): string {
  const more = texts.length - MAX_NAMES
  return more > 0 ? `${texts.slice(0, MAX_NAMES).join(', ')} and ${more} more` : texts.join(', ')
}
