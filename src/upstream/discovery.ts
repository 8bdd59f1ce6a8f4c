import type { NodeCall, NodeResult } from '../core/node-call.ts'
import type { ClusterLog } from './options.ts'
import { isNodeName, type ListedNode } from './topology.ts'

/** When the master's list of nodes is asked for. The answer's use is the topology's affair. */

/** An unknown name may be that of a new node; clients that guess names get one look for all of them. */
const HINT_GAP = 5_000
/** A start, or a client, waits no longer than that for the list. */
const FIRST_WAIT = 5_000

export interface DiscoveryParts {
  readonly call: (call: NodeCall) => Promise<NodeResult>
  readonly master: () => string
  readonly learn: (list: readonly ListedNode[]) => void
  readonly interval: number
  readonly timeout: number
  readonly log: ClusterLog
  readonly clock: () => number
}

export class Discovery {
  readonly #parts: DiscoveryParts
  readonly #stopped = new AbortController()
  #began = Number.NEGATIVE_INFINITY
  #running = false
  #failing = false
  #timer: NodeJS.Timeout | undefined

  constructor(parts: DiscoveryParts) {
    this.#parts = parts
  }

  /** Resolves when the first list is there, or is not there in time; the next ones follow by themselves. */
  async start(): Promise<void> {
    let patience: NodeJS.Timeout | undefined
    const waited = new Promise<void>((done) => {
      patience = setTimeout(done, FIRST_WAIT)
    })
    await Promise.race([this.#rounds(), waited])
    clearTimeout(patience)
  }

  stop(): void {
    this.#stopped.abort()
    clearTimeout(this.#timer)
  }

  /** Somebody asked for a node that is not known. Looks again in the background; the asker does not wait. */
  hint(): void {
    if (this.#running || this.#stopped.signal.aborted) return
    if (this.#parts.clock() - this.#began < HINT_GAP) return
    void this.#refresh()
  }

  async #rounds(): Promise<void> {
    await this.#refresh()
    if (this.#stopped.signal.aborted) return
    this.#timer = setTimeout(() => void this.#rounds(), this.#parts.interval).unref()
  }

  async #refresh(): Promise<void> {
    if (this.#running) return
    this.#running = true
    this.#began = this.#parts.clock()
    try {
      this.#take(await this.#parts.call(this.#question()))
    } finally {
      this.#running = false
    }
  }

  #take(result: NodeResult): void {
    if (this.#stopped.signal.aborted) return
    const body = result.ok && result.response.status === 200 ? result.response.body : undefined
    const list = Buffer.isBuffer(body) ? readNodeList(body) : undefined
    if (list !== undefined) {
      this.#failing = false
      this.#parts.learn(list)
      return
    }
    // Once, not at each round: what is known of the nodes stays in use.
    if (!this.#failing) {
      const why = result.ok ? 'the answer is no list of nodes' : `${result.fault}: ${result.detail}`
      this.#parts.log('warn', 'nodes not discovered', { node: this.#parts.master(), why })
    }
    this.#failing = true
  }

  #question(): NodeCall {
    return {
      node: this.#parts.master(),
      method: 'GET',
      path: '/cluster/nodes?limit=1000',
      retryable: true,
      expect: 'bytes',
      timeout: this.#parts.timeout,
      signal: this.#stopped.signal,
      priority: 'health',
      caller: 'discovery',
      endpoint: 'GET /cluster/nodes',
      requestId: 'discovery',
    }
  }
}

/** The answer to `GET /cluster/nodes`, read as foreign input. Addresses in it are not even looked at. */

/** A list beyond these is no list of nodes. */
const MOST_BYTES = 1024 * 1024
const MOST_NODES = 1000
const VERSION = /^v?([0-9]{1,4}\.[0-9]{1,4}\.[0-9]{1,4})$/

/** Undefined when the bytes are no list; entries that are none are left out. */
export function readNodeList(bytes: Buffer): readonly ListedNode[] | undefined {
  if (bytes.length > MOST_BYTES) return undefined
  const items = itemsOf(parse(bytes))
  if (items === undefined || items.length > MOST_NODES) return undefined
  return items.map(readNode).filter((node) => node !== undefined)
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

function itemsOf(answer: unknown): readonly unknown[] | undefined {
  if (member(answer, 'error') !== 0) return undefined
  const items = member(member(answer, 'data'), 'items')
  return Array.isArray(items) ? items : undefined
}

function readNode(item: unknown): ListedNode | undefined {
  const name = member(item, 'name')
  const type = member(item, 'type')
  const version = member(item, 'version')
  if (typeof name !== 'string' || !isNodeName(name) || (type !== 'master' && type !== 'worker')) return undefined
  const number = typeof version === 'string' ? VERSION.exec(version)?.[1] : undefined
  return { name, type, ...(number !== undefined && { version: number }) }
}

function member(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Readonly<Record<string, unknown>>)[name]
}
