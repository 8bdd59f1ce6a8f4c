/** Faults of the simulated nodes, which tests set and clear at run time. */
import type { SeenRequest } from './model.ts'

export interface Fault {
  /** Milliseconds before each response, also for calls from inside the cluster. */
  readonly delay?: number
  /** Connections are refused. */
  readonly refuse?: true
  /** The connection is reset as soon as a request arrives. */
  readonly reset?: true
  /** Requests are accepted, and answered when it resolves. */
  readonly busyUntil?: Promise<void>
  /** Requests are accepted and never answered. */
  readonly stall?: true
  /** The connection is closed after this number of bytes of the body. */
  readonly truncate?: number
  /** The response is an HTML page instead of JSON. */
  readonly html?: true
  /** The response has this HTTP status and an empty body. */
  readonly status?: number
  /**
   * The response is this error of the framework with HTTP 200, also inside the cluster (1017: not for status requests).
   */
  readonly error?: number
  /** The API process of the node is stopped; its cluster daemon continues. */
  readonly apiDown?: true
  /** The cluster daemon of the node is stopped: the node leaves the cluster, and its own API answers 3012. */
  readonly clusterDown?: true
  /** The node is down: both of the above. */
  readonly nodeDown?: true
  /**
   * The node is cut off the network, and the cluster has not noticed: its API does not answer, and calls that another
   * node passes on to it fail with 3020 after this number of milliseconds (v4 layout only; real nodes: 200 s).
   */
  readonly cutOff?: number
  /**
   * Limits the fault to this number of API requests, none from inside the cluster; not for faults that close the
   * listener.
   */
  readonly times?: number
  /** Limits the fault to these API requests, none from inside the cluster; not for faults that close the listener. */
  readonly only?: (request: SeenRequest) => boolean
}

export interface Faults {
  /** Replaces the previous fault; resolves when the new one is active. */
  set(node: string, fault: Fault): Promise<void>
  /** Clears the faults of one node or of all nodes. */
  clear(node?: string): Promise<void>
  of(node: string): Fault
}

/** The faults of a node, as the node reads them. */
export interface FaultTable extends Faults {
  /** Returns the fault for this request and counts the request; `{}` for none. */
  strike(request: SeenRequest): Fault
  /** Returns the fault for a call from inside the cluster. */
  inside(node: string): Fault
}

export function listens(fault: Fault): boolean {
  return fault.refuse === undefined && fault.apiDown === undefined && fault.nodeDown === undefined
}

export function isAway(fault: Fault): boolean {
  return fault.nodeDown === true || fault.clusterDown === true
}

/** `names` returns the present nodes; `change` opens and closes listeners and removes nodes from the cluster. */
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
