/** The sort of calls of the newer layout. */
import type { Order } from '../../../catalogue/newer/translation.ts'
import { parseSort } from '../../../query/order.ts'

/**
 * Returns the sort with which the node keeps its order from page to page: that of the client, else the default one, and
 * behind it the fields that no two rows have in common. The direction of the node is that of all fields.
 */
export function withTies(sort: string | undefined, { byDefault, ties }: Order): string {
  const asked = parseSort(sort ?? byDefault)
  const fields = asked.fields.length > 0 ? asked.fields : parseSort(byDefault).fields
  return `${asked.descending ? '-' : '+'}${[...new Set([...fields, ...ties])].join(',')}`
}
