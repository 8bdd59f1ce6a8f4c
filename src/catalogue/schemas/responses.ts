import type { Field, ResponseShape, RowsOf } from '../endpoint.ts'

/** The shapes of `data`, by the seed's abbreviations. */

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

/** Bodies that recur. */

/** Wherever JSON is taken, a form is too: the user interface and the example scripts send forms. */
export const fieldTypes = ['application/json', 'application/x-www-form-urlencoded'] as const

/** Lists may come as an array, or as text with commas in a form. */
export const agentIdList: Field = {
  type: 'strings',
  kind: 'array_numbers',
  role: 'agent ids',
  required: 604,
  canonical: 'agentIds',
}
