/** Faults of the simulated nodes, set and cleared while they run. */
import type { SeenRequest } from './model.ts'

export interface Fault {
  /** Milliseconds before each answer, also to calls that come from inside the cluster. */
  readonly delay?: number
  /** Nobody listens: connections are refused. */
  readonly refuse?: true
  /** The connection is reset as soon as a request has come. */
  readonly reset?: true
  /** Requests are taken and never answered. */
  readonly stall?: true
  /** The connection is cut after so many bytes of the body. */
  readonly truncate?: number
  /** A page of HTML stands where the JSON should. */
  readonly html?: true
  /** This HTTP status with an empty body. */
  readonly status?: number
  /** This error of the framework, with HTTP 200, also inside the cluster (1017: not for the status calls). */
  readonly error?: number
  /** The API process of the node is stopped; the cluster goes on. */
  readonly apiDown?: true
  /** The cluster daemon of the node is stopped: the node is gone from the cluster, its own API answers 3012. */
  readonly clusterDown?: true
  /** The node is gone: both of the above. */
  readonly nodeDown?: true
  /** Only so many requests to its API are struck, none from inside; not for faults that close the listener. */
  readonly times?: number
  /** Only these requests to its API are struck, none from inside; not for faults that close the listener. */
  readonly only?: (request: SeenRequest) => boolean
}

export interface Faults {
  /** Puts this fault in the place of the one before; resolves when it is in force. */
  set(node: string, fault: Fault): Promise<void>
  /** Of one node, or of all. */
  clear(node?: string): Promise<void>
  of(node: string): Fault
}

/** What a node does with its faults. */
export interface FaultTable extends Faults {
  /** The fault that strikes this request, which is counted; `{}` for none. */
  strike(request: SeenRequest): Fault
  /** The fault for a call from inside the cluster. */
  inside(node: string): Fault
}

export function listens(fault: Fault): boolean {
  return fault.refuse === undefined && fault.apiDown === undefined && fault.nodeDown === undefined
}

export function isAway(fault: Fault): boolean {
  return fault.nodeDown === true || fault.clusterDown === true
}

/** `names` are the nodes that there are now; `change` opens and closes listeners, and takes nodes out of the cluster. */
export function faultTable(
  names: () => readonly string[],
  change: (node: string, fault: Fault) => Promise<void>,
): FaultTable {
  const faults = new Map<string, { fault: Fault; left: number }>()
  const of = (node: string) => faults.get(node)?.fault ?? {}
  const set = async (node: string, fault: Fault) => {
    if (!names().includes(node)) throw new RangeError(`There is no node ${node}; there are ${names().join(', ')}`)
    faults.set(node, { fault, left: fault.times ?? Number.POSITIVE_INFINITY })
    await change(node, fault)
  }
  return {
    of,
    set,
    async clear(node) {
      for (const name of node === undefined ? names() : [node]) await set(name, {})
    },
    strike(request) {
      const entry = faults.get(request.node)
      if (entry === undefined || entry.left <= 0 || entry.fault.only?.(request) === false) return {}
      entry.left -= 1
      return entry.fault
    },
    inside: (node) => (of(node).only === undefined && of(node).times === undefined ? of(node) : {}),
  }
}
