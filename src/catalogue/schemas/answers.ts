/** The shapes of `data`, by the seed's abbreviations. */
import type { AnswerShape, RowsOf } from '../endpoint.ts'

/** COL: `{items, totalItems}`. */
export function collectionOf(of: string, rows?: RowsOf): AnswerShape {
  return { data: 'collection', of, ...(rows && { rows }) }
}

export function objectOf(of: string, rows?: RowsOf): AnswerShape {
  return { data: 'object', of, ...(rows && { rows }) }
}

export function textOf(of: string): AnswerShape {
  return { data: 'text', of }
}

/** MSG: a sentence for people. */
export const message: AnswerShape = { data: 'message', of: 'message' }

/** AFF: `{msg, affected_agents}`, and `failed_ids` where some failed. */
export const affected: AnswerShape = { data: 'affected', of: 'affected agents' }

export const scanTimes = objectOf('scan time range {start, end}')
