/** Merge rule `verdict`: KO of one node is KO of all. A node that does not judge leaves no verdict at all. */

import type { EdgeResponse } from '../../core/response.ts'
import { ownField, ownText } from '../../core/values.ts'
import { type Act, jsonAnswer, named, refusedByAll, statusOf } from '../node-outcome.ts'

export function joinVerdicts(acts: readonly Act[]): EdgeResponse {
  const silent = acts.find(({ acted }) => !acted)
  if (silent !== undefined) return withoutVerdict(acts, silent)
  const bad = acts.filter((one) => verdictOf(one) !== 'OK')
  const details = bad.flatMap(({ contents }) => listOf(ownField(contents.data, 'details')))
  const status = statusOf(acts, (one) => ({ detail: verdictOf(one) }))
  const data = bad.length === 0 ? { status: 'OK' } : { status: 'KO', details: [...new Set(details)] }
  return jsonAnswer(data, acts, status)
}

/** What all of them say alike, or what the first that does not judge says, under its name. */
function withoutVerdict(acts: readonly Act[], { answer, fault, node, error }: Act): EdgeResponse {
  if (!acts.some(({ acted }) => acted)) return refusedByAll(acts)
  if (fault !== undefined || answer === undefined) throw fault
  return { ...named(answer, node, error), clusterStatus: statusOf(acts) }
}

/** Whatever is no OK is a KO. */
function verdictOf({ contents }: Act): 'OK' | 'KO' {
  return ownText(contents.data, 'status') === 'OK' ? 'OK' : 'KO'
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
