/** Shapes of the `data` of a response, and of request bodies, that several records share. */
import type { Field, ResponseShape, RowsOf } from '../endpoint.ts'

/** Returns the shape of a collection, `{items, totalItems}`. */
export function collectionOf(of: string, rows?: RowsOf): ResponseShape {
  return { data: 'collection', description: of, ...(rows && { rows }) }
}

/** Returns the shape of a single object. */
export function objectOf(of: string, rows?: RowsOf): ResponseShape {
  return { data: 'object', description: of, ...(rows && { rows }) }
}

/** Returns the shape of a plain text. */
export function textOf(of: string): ResponseShape {
  return { data: 'text', description: of }
}

/** A sentence for people. */
export const message: ResponseShape = { data: 'message', description: 'message' }

/** `{msg, affected_agents}`, with `failed_ids` if some agents failed. */
export const affected: ResponseShape = { data: 'affected', description: 'affected agents' }

export const scanTimes = objectOf('scan time range {start, end}')

/** Every endpoint that accepts JSON also accepts a form: the user interface and the example scripts send forms. */
export const fieldTypes = ['application/json', 'application/x-www-form-urlencoded'] as const

/** A list is an array in JSON and a text with commas in a form. */
export const agentIdList: Field = {
  type: 'strings',
  kind: 'array_numbers',
  role: 'agent ids',
  required: 604,
  canonical: 'agentIds',
}
