/** The nodes that agents report to, as the master names them in the newer layout. Asked only while a node is cut off. */
import { growingLru } from '../core/growing-lru.ts'
import type { CallNode, ClusterView, NodeCall, NodeResult } from '../core/node-call.ts'
import { ownField } from '../core/values.ts'
import { encode } from './dialects/node-call.ts'
import { createOwnCall } from './own-call.ts'

export interface OwnerNamesPorts {
  readonly call: CallNode
  readonly view: Pick<ClusterView, 'master'>
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

const MAX_AGENTS = 10_000
const LIFETIME_MS = 60_000
const TIMEOUT_MS = 5_000

export class OwnerNames {
  readonly #ports: OwnerNamesPorts
  readonly #known = growingLru<string, { readonly name: string; readonly until: number }>(MAX_AGENTS)

  constructor(ports: OwnerNamesPorts) {
    this.#ports = ports
  }

  /** Returns `undefined` if the master does not answer, or does not know. `call`: on whose behalf. */
  async find(agent: string, { node, credentials, signal }: NodeCall): Promise<string | undefined> {
    const { call, clock } = this.#ports
    const known = this.#known.get(agent)
    if (known !== undefined && clock() < known.until) return known.name
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
    const name = nameIn(await call(own))
    if (name !== undefined) this.#known.set(agent, { name, until: clock() + LIFETIME_MS })
    return name
  }
}

function nameIn(result: NodeResult): string | undefined {
  if (!result.ok || result.response.status !== 200 || !Buffer.isBuffer(result.response.body)) return undefined
  const items = ownField(ownField(parse(result.response.body), 'data'), 'affected_items')
  const name = Array.isArray(items) ? ownField(items[0], 'node_name') : undefined
  return typeof name === 'string' && name !== '' && name !== 'unknown' ? name : undefined
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}
