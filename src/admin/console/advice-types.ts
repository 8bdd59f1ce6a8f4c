/** JSON body of `GET /api/advice`: what other settings would change, replayed from the recorded reads. Times are milliseconds. */
import type { SettingChange } from '../../core/settings.ts'

export interface Advice {
  /** The time that the replayed reads cover. */
  readonly time: number
  /** The replicas whose counts are added. The reads are those of the replica that was asked. */
  readonly replicas: number
  /** The part of the stored responses whose reads were replayed, 0 to 1. */
  readonly share: number
  /** The settings of lifetimes whose endpoints were read, most fetches first. */
  readonly lifetimes: readonly LifetimeAdvice[]
  /** The recommended lifetimes as YAML; empty: none is recommended. */
  readonly settings: string
  /** What the settings of the query would change. */
  readonly whatIf?: WhatIf
}

export interface LifetimeAdvice extends ReadCounts {
  /** Such as `cache.ttl.agents`. */
  readonly setting: string
  /** Its present value. */
  readonly ttl: number
  readonly endpoints: readonly EndpointReads[]
  readonly model: ModelCheck
  readonly comparisons: ComparisonCounts
  readonly candidates: readonly Candidate[]
  readonly text: string
}

/** Observed by all replicas. */
export interface ReadCounts {
  readonly reads: number
  readonly hits: number
  /** A fetch is one call, of a joined response one call to each node. */
  readonly fetches: number
}

export interface EndpointReads extends ReadCounts {
  readonly endpoint: string
}

/** How well the model of the cache with the present settings agrees with what this replica observed. */
export interface ModelCheck {
  readonly fetches: number
  readonly observedFetches: number
  readonly hits: number
  readonly observedHits: number
}

/** Hits that were compared with the current responses of the nodes since the start. */
export interface ComparisonCounts {
  readonly compared: number
  readonly different: number
  /** The mean age of the compared hits. */
  readonly age: number
}

export interface Candidate {
  readonly ttl: number
  /** Expected fetches of all replicas in the same time. */
  readonly fetches: number
  /** The part of the fetches that it saves, 0 to 1; negative: it causes more. */
  readonly saved: number
  /** Reads that would have differed from the current response, 0 to 1. Absent: too few comparisons. */
  readonly differing?: Differing
  readonly isRecommended: boolean
}

export interface Differing {
  readonly share: number
  /** With a confidence of 95 %. */
  readonly atMost: number
}

export interface WhatIf {
  readonly changes: readonly SettingChange[]
  readonly fetches: Change
  readonly hits: Change
  /** Of the local tier of the replica that was asked. */
  readonly localHits: Change
  readonly evictions: Change
  /** Requests that would have got 429. */
  readonly limited: Change
  /** One sentence for each change. */
  readonly texts: readonly string[]
  /** The changes as YAML. */
  readonly settings: string
}

/** `now`: with the present settings, by the same model. */
export interface Change {
  readonly now: number
  readonly tried: number
}
