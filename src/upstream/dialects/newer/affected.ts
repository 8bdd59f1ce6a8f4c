/** `{msg, affected_agents, failed_ids}`: what was done to items, and what failed. */
import type { AffectedRule } from '../../../catalogue/newer/translation.ts'
import { ownEntry } from '../../../core/values.ts'
import { RefusedError } from './classic-error.ts'
import type { Success } from './content.ts'
import type { Conversation } from './conversation.ts'
import { errorOf, meaningOf } from './errors.ts'
import { itemDetails } from './texts.ts'

/** Returns the classic data. Items whose error is success count as affected. Throws RefusedError. */
export function affectedOf(conversation: Conversation, { items = [], failed }: Success, rule: AffectedRule): unknown {
  const affected = items.map(String)
  const failedIds: unknown[] = []
  for (const { code, message, ids } of failed) {
    const meaning = meaningOf(code, conversation.translation.errors)
    if (meaning === 'success') affected.push(...ids)
    if (typeof meaning !== 'number') continue
    for (const id of ids) {
      failedIds.push(
        rule.failed === 'ids' ? id : { id, error: itemError(conversation, meaning, { id, code, message }) },
      )
    }
  }
  const isNone = affected.length === 0 && failedIds.length === 0
  if (isNone && typeof rule.none === 'number') throw new RefusedError(rule.none)
  const text = failedIds.length > 0 ? rule.some : isNone ? (rule.none ?? rule.all) : rule.all
  return {
    msg: conversation.fill(String(text)),
    affected_agents: affected,
    ...(failedIds.length > 0 && { failed_ids: failedIds }),
    ...(rule.totals && totalsOf(conversation, affected.length, failedIds.length)),
  }
}

function totalsOf(conversation: Conversation, affected: number, failed: number): object {
  return {
    older_than: conversation.fill('{query.older_than|7d}'),
    total_affected_agents: affected,
    ...(failed > 0 && { total_failed_ids: failed }),
  }
}

/** Returns the error of a failed item, with the detail that only the texts of items have. */
export function itemError(
  conversation: Conversation,
  meaning: number,
  { id, code, message }: { readonly id: string; readonly code: number; readonly message: string },
): { readonly message: string; readonly code: number } {
  const { message: text } = errorOf(meaning, code, message)
  const detail = conversation.fill(ownEntry(itemDetails, String(meaning)) ?? '').replace('{id}', () => id)
  return { message: text + detail, code: meaning }
}
