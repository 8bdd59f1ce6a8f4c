/** Bodies that recur. */
import type { Field } from '../endpoint.ts'

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
