/**
 * An example response for each operation. `examples.json`: `data` of a successful response by method and path, from the
 * recorded exchanges, with fewer elements and placeholders for secrets, hosts and addresses. `/cluster/:node_ids/…` has
 * those of one node.
 */
import type { Endpoint } from '../../catalogue/endpoint.ts'
import recorded from '../../catalogue/items/examples.json' with { type: 'json' }

const examples: Readonly<Record<string, unknown>> = recorded

/** Returns the body of a successful response; `undefined` if there is none. */
export function exampleResponse(endpoint: Endpoint): unknown {
  const { method, path, target, response } = endpoint
  if (target.kind !== 'severalNodes') return bodyOf(endpoint, examples[`${method} ${path}`])
  const data = examples[`${method} ${target.ofNode}`]
  if (data === undefined) return undefined
  const [first] = itemsOf(data)
  const rest = typeof first === 'object' ? first : { contents: first }
  return { error: 0, data: { items: [{ [response.adds ?? 'node_name']: 'worker-1', ...rest }], totalItems: 1 } }
}

function bodyOf({ response }: Endpoint, data: unknown): unknown {
  if (data === undefined || response.data === 'document') return data
  return { error: 0, data }
}

/** The items that the edge makes of the response of a node. */
function itemsOf(data: unknown): readonly unknown[] {
  if (Array.isArray(data)) return data
  const items = (data as { items?: readonly unknown[] }).items
  return items ?? [data]
}
