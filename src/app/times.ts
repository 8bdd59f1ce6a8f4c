import type { ClusterOptions } from '../upstream/options.ts'

/** Times that are no settings. All in milliseconds. Absent: those that apply; tests have shorter ones. */
export interface EdgeTimes {
  readonly cluster?: Pick<ClusterOptions, 'ejection' | 'hangTimeout' | 'loginInterval' | 'contactTimes'>
  /** Between two reports of a replica to the others. */
  readonly reportInterval?: number
  /** Between two looks at how full the cache is. */
  readonly capacityInterval?: number
  /** Between the end of a span and its way to the collector. */
  readonly spanDelay?: number
}
