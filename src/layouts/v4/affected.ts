/** The answer of a write: what was affected, and the items that failed. */

import type { AffectedRule } from '../../contracts/translations/translation.ts'
import v3 from '../../contracts/v3/texts.json' with { type: 'json' }
import { ownEntry } from '../../core/values.ts'
import { fill } from './call.ts'
import type { Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { errorOf, meaningOf, RefusedError } from './errors.ts'
import { listOf } from './request-line.ts'

interface Failure {
  readonly id: string
  /** The element of `failed_ids`. */
  readonly listed: unknown
}

/**
 * Returns the v3 data, in the order of the requested list if there is one. Items whose error is success count as
 * affected. Throws RefusedError.
 */
export function affectedOf(conversation: Conversation, { items = [], failed }: Success, rule: AffectedRule): unknown {
  const affected = items.map(String)
  const failures: Failure[] = []
  for (const { code, message, ids } of failed) {
    const meaning = meaningOf(code, conversation.translation.errors)
    if (meaning === 'success') affected.push(...ids)
    if (meaning === 'success' || meaning === 'empty') continue
    const v3 = meaning === 'failedItems' ? code : meaning
    for (const id of ids) {
      const failure = { id, error: itemError(conversation, v3, { id, code, message }) }
      failures.push({ id, listed: rule.failed === 'ids' ? id : failure })
    }
  }
  const isNone = affected.length === 0 && failures.length === 0
  if (isNone && typeof rule.none === 'number') throw new RefusedError(rule.none)
  const text = failures.length > 0 ? rule.some : isNone ? (rule.none ?? rule.all) : rule.all
  const placeOf = placesIn(conversation)
  return {
    msg: fill(String(text), conversation),
    affected_agents: affected.sort((a, b) => placeOf(a) - placeOf(b)),
    ...(failures.length > 0 && {
      failed_ids: failures.sort((a, b) => placeOf(a.id) - placeOf(b.id)).map((failure) => failure.listed),
    }),
    ...(rule.totals && {
      older_than: fill('{query.older_than|7d}', conversation),
      total_affected_agents: affected.length,
      ...(failures.length > 0 && { total_failed_ids: failures.length }),
    }),
  }
}

interface FailedItem {
  readonly id: string
  readonly code: number
  readonly message: string
}

/** Returns the place of an id in the list of the request. Without a list the order of the node stays. */
function placesIn(conversation: Conversation): (id: string) => number {
  const places = new Map(listOf(conversation)?.map((id, place) => [id, place]))
  return (id) => places.get(id) ?? 0
}

/** Returns the error of a failed item, with the detail that only the texts of items have. */
export function itemError(
  conversation: Conversation,
  meaning: number,
  { id, code, message }: FailedItem,
): { readonly message: string; readonly code: number } {
  const { message: text } = errorOf(meaning, code, message)
  const detail = fill(ownEntry<string>(v3.itemDetails, String(meaning)) ?? '', conversation).replace('{id}', () => id)
  return { message: text + detail, code: meaning }
}
