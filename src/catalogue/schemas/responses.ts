/** Shapes of the `data` of a response, and of request bodies, that several records share. */
import type { Field, ResponseShape, RowsOf } from '../endpoint.ts'
import type { SchemaName } from '../items/index.ts'

/** Returns the shape of a collection, `{items, totalItems}`. `schema`: of each item. */
export function collectionOf(schema: SchemaName, rows?: RowsOf): ResponseShape {
  return { data: 'collection', schema, ...(rows && { rows }) }
}

/** Returns the shape of a single object. */
export function objectOf(schema: SchemaName, rows?: RowsOf): ResponseShape {
  return { data: 'object', schema, ...(rows && { rows }) }
}

/** Returns the shape of a plain text. */
export function textOf(schema: SchemaName): ResponseShape {
  return { data: 'text', schema }
}

/** Returns the shape of the same collection over all agents: each item names its agent. */
export function ofEachAgent(shape: ResponseShape): ResponseShape {
  return { ...shape, adds: 'agent_id' }
}

/** A sentence for people. */
export const message: ResponseShape = { data: 'message', schema: 'Message' }

/** `{msg, affected_agents}`, with `failed_ids` if some agents failed. */
export const affected: ResponseShape = { data: 'affected', schema: 'AffectedAgents' }

export const scanTimes = objectOf('ScanTimes')

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
