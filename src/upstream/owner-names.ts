/** The nodes that agents report to, as the master names them in the newer layout. Asked only while a node is cut off. */

import type { NodeCall, NodeResult } from '../core/node-call.ts'
import { growingLru } from '../core/recently-used.ts'
import { ownField, parseJson } from '../core/values.ts'
import { encode } from './dialects/dialect.ts'
import type { Send } from './layer.ts'
import { createOwnCall } from './probes.ts'

const MAX_AGENTS = 10_000
const LIFETIME_MS = 60_000
const TIMEOUT_MS = 5_000

export class OwnerNames {
  readonly #clock: () => number
  readonly #known = growingLru<string, { readonly name: string; readonly until: number }>(MAX_AGENTS)

  /** `clock`: monotonic milliseconds. */
  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** Returns `undefined` if the node that `call` asks does not answer, or does not know. `call`: on whose behalf. */
  async find(agent: string, { node, credentials, signal }: NodeCall, send: Send): Promise<string | undefined> {
    const known = this.#known.get(agent)
    if (known !== undefined && this.#clock() < known.until) return known.name
    const own = createOwnCall({
      node,
      path: `/agents?agents_list=${encode(agent)}&select=node_name`,
      endpoint: 'GET /agents',
      timeout: TIMEOUT_MS,
      caller: 'owners',
      requestId: 'owners',
      signal,
      ...(credentials && { credentials }),
    })
    const name = nameIn(await send(own))
    if (name !== undefined) this.#known.set(agent, { name, until: this.#clock() + LIFETIME_MS })
    return name
  }
}

function nameIn(result: NodeResult): string | undefined {
  if (!result.ok || result.response.status !== 200 || !Buffer.isBuffer(result.response.body)) return undefined
  const items = ownField(ownField(parseJson(result.response.body), 'data'), 'affected_items')
  const name = Array.isArray(items) ? ownField(items[0], 'node_name') : undefined
  return typeof name === 'string' && name !== '' && name !== 'unknown' ? name : undefined
}
