/**
 * The state of the simulated cluster. `World` contains the state that all nodes share, `SimNode` the state of one node
 * (log, counters, copies of files).
 */

/** A row of the manager's database: flat column names, absent without a value. */
export type Row = Readonly<Record<string, string | number | boolean | undefined>>

export interface SimAgent {
  readonly id: string
  name: string
  ip: string
  registerIP: string
  key: string
  /** Absent: never connected. */
  lastKeepAlive?: Date
  dateAdd: Date
  version?: string
  /** The node that the agent reports to; absent: never connected. */
  node?: string
  groups: string[]
  os?: Readonly<Record<string, string>>
  configSum?: string
  mergedSum?: string
  /** Cleared scan data remains cleared until the next scan. */
  cleared: Set<'syscheck' | 'rootcheck'>
  lastScan?: Date
  upgrade?: string
  /** Whether it has begun to connect, and not reported yet. */
  readonly isPending?: boolean
  /** Restarts of the agent, for tests. */
  restarts: number
}

export interface SimNode {
  readonly name: string
  /** Changes when another node becomes the master. */
  type: 'master' | 'worker'
  readonly ip: string
  url: string
  /** `path` relative to the installation directory → text. The master copies its files to the workers. */
  readonly files: Map<string, string>
  restarts: number
  /** The time until which its daemons restart and it answers 1017. */
  startedAt: Date
  /** The cluster daemon is stopped: the node is not in the cluster, and its own API answers 3012. */
  clusterDaemonDown?: boolean
  /** The version that it was upgraded to; absent: that of the cluster. v4 layout. */
  version?: string
  /** Whether it distributes requests itself; absent: as the cluster does. */
  distributes?: boolean
}

export interface SimGroup {
  readonly name: string
  /** File name → text; `agent.conf` always exists. */
  readonly files: Map<string, string>
}

export interface World {
  readonly seed: number
  readonly version: string
  /** In id order; `000` is the manager itself. */
  readonly agents: Map<string, SimAgent>
  readonly groups: Map<string, SimGroup>
  /** Master first; changes when workers join and leave. */
  readonly nodes: SimNode[]
  readonly clusterKey: string
  /** false: each node answers only for its own agents (the manager's distribution is off). */
  readonly distributed: boolean
  /** Milliseconds for which a node is not ready (1017) after a restart; absent: none. */
  readonly restartTakes?: number
  /** v4 layout: milliseconds for which the database still has an agent that was removed; absent: none. */
  readonly databaseDelay?: number
  /** v4 layout: milliseconds after which workers have a file that was written on the master; absent: none. */
  readonly copyDelay?: number
  /** v4 layout: false: nodes have not downloaded the data about MITRE and vulnerabilities. Absent: they have. */
  readonly hasFeeds?: boolean
  /**
   * v4 layout: rows of inventories in place of generated ones, by path of the call and agent:
   * `/syscollector/{agent_id}/packages 001`.
   */
  readonly reported?: ReadonlyMap<string, readonly Readonly<Record<string, unknown>>[]>
  now(): Date
}

/** A request after the node's filters, as a handler receives it. */
export interface SimRequest {
  readonly world: World
  readonly node: SimNode
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Fields of a JSON or form body, or the text of an upload. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string
  readonly client: string
  /** The client asked for no time limit. */
  readonly waitForComplete?: boolean
}

/** A request as it arrived at a node. */
export interface SeenRequest {
  readonly node: string
  /** Milliseconds since 1970. */
  readonly at: number
  readonly method: string
  /** The raw request target. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty until the body has arrived. */
  body: string
}

/** Returns `data`; a `FrameworkError` becomes HTTP 200 with `{error, message}`. */
export type SimHandler = (request: SimRequest) => unknown

/** Handlers by the catalogue's method and path: `GET /rules/:rule_id`. */
export type SimHandlers = Readonly<Record<string, SimHandler>>

/** A file instead of JSON. */
export class RawFile {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** An error of the framework; on the wire the message ends before its first colon. */
export class FrameworkError extends Error {
  readonly code: number
  readonly status: number
  constructor(code: number, message: string, status = 200) {
    super(message)
    this.name = 'FrameworkError'
    this.code = code
    this.status = status
  }
}
