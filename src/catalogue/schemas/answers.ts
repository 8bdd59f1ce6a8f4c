/** The shapes of `data`, by the seed's abbreviations. */
import type { ResponseShape, RowsOf } from '../endpoint.ts'

/** COL: `{items, totalItems}`. */
export function collectionOf(of: string, rows?: RowsOf): ResponseShape {
  return { data: 'collection', description: of, ...(rows && { rows }) }
}

export function objectOf(of: string, rows?: RowsOf): ResponseShape {
  return { data: 'object', description: of, ...(rows && { rows }) }
}

export function textOf(of: string): ResponseShape {
  return { data: 'text', description: of }
}

/** MSG: a sentence for people. */
export const message: ResponseShape = { data: 'message', description: 'message' }

/** AFF: `{msg, affected_agents}`, and `failed_ids` where some failed. */
export const affected: ResponseShape = { data: 'affected', description: 'affected agents' }

export const scanTimes = objectOf('scan time range {start, end}')
