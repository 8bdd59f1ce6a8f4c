/** Advice in sentences. */
import type { SettingChange } from '../../core/settings.ts'
import type { Candidate, ComparisonCounts, LifetimeAdvice, WhatIf } from './advice-types.ts'
import { MIN_COMPARISONS } from './divergence-estimate.ts'

/** Less than this part of the fetches is not worth a change. */
export const MIN_SAVED = 0.1
/** With fewer observed fetches, no lifetime is recommended. */
export const MIN_FETCHES = 10

/** `maxDiffering`: the part of the reads that may differ for a recommendation. */
export function textOfLifetime(
  { setting, ttl, fetches, candidates, comparisons }: Omit<LifetimeAdvice, 'text'>,
  maxDiffering: number,
): string {
  const name = setting.replace(/^cache\.(?:ttl|endpoints)\./, '')
  if (fetches < MIN_FETCHES) return `${name}: too few calls for advice, ${fetches} of ${MIN_FETCHES}.`
  const shown = bestOf(candidates) ?? candidates.find(({ saved }) => saved >= MIN_SAVED)
  if (shown === undefined) return `${name}: no longer lifetime saves ${percent(MIN_SAVED)} of the calls.`
  const text = savingText(`${name} ${lifetime(ttl)} → ${lifetime(shown.ttl)}`, shown, comparisons)
  const isTooOld = !shown.isRecommended && shown.differing !== undefined
  return `${text}.${isTooOld ? ` Not recommended: the limit is ${percent(maxDiffering)}.` : ''}`
}

type Saving = Pick<Candidate, 'saved' | 'differing'>

function savingText(change: string, { saved, differing }: Saving, { compared }: ComparisonCounts): string {
  const calls = saved < 0 ? `causes ${percent(-saved)} more calls` : `saves ${percent(saved)} of the calls`
  return differing === undefined
    ? `${change} ${calls}; how many reads would have differed is not known yet: ${compared} comparisons of ${MIN_COMPARISONS}`
    : `${change} ${calls}; ${percent(differing.share)} of the reads would have differed (at most ${percent(differing.atMost)}, by ${compared} comparisons)`
}

/** Returns the recommended candidate that saves most. */
export function bestOf(candidates: readonly Candidate[]): Candidate | undefined {
  return candidates.filter(({ isRecommended }) => isRecommended).sort((a, b) => b.saved - a.saved || a.ttl - b.ttl)[0]
}

interface TriedLifetimes {
  /** The number of requests that a rate limit counts. */
  readonly requests: number
  /** Of the endpoints whose lifetimes change. */
  readonly lifetimes: Saving
  readonly comparisons: ComparisonCounts
}

export function textsOfWhatIf(
  { changes, fetches, localHits, evictions, limited }: Omit<WhatIf, 'settings' | 'texts'>,
  { requests, lifetimes, comparisons }: TriedLifetimes,
): readonly string[] {
  const textOf = ({ setting, from, to }: SettingChange) => `${setting} ${from} → ${to}`
  const ttls = changes.filter(({ setting }) => !(setting in otherTexts))
  const others = changes.flatMap((change) => {
    const text = otherTexts[change.setting as keyof typeof otherTexts]
    return text === undefined
      ? []
      : [`${textOf(change)}: ${text({ fetches, localHits, evictions, limited, requests })}.`]
  })
  return [
    ...(ttls.length > 0 ? [`${savingText(ttls.map(textOf).join(', '), lifetimes, comparisons)}.`] : []),
    ...others,
  ]
}

type Numbers = Pick<WhatIf, 'fetches' | 'localHits' | 'evictions' | 'limited'> & { readonly requests: number }

const otherTexts = {
  'cache.localBytes': ({ fetches, localHits, evictions }: Numbers) =>
    `${evictions.tried} responses would have been evicted instead of ${evictions.now}, with ${localHits.tried} hits of the local tier instead of ${localHits.now}, and ${fetches.tried} calls instead of ${fetches.now}`,
  'access.limits.requestsPerSecond': ({ limited, requests }: Numbers) =>
    `${limited.tried} of ${requests} requests that are no hits would have got 429, with the present limit ${limited.now}`,
} as const

function percent(share: number): string {
  const value = share * 100
  return `${Math.abs(value) < 10 ? Number(value.toFixed(1)) : Math.round(value)} %`
}

function lifetime(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}
