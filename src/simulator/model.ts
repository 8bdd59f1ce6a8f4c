/**
 * What the simulated cluster consists of. State that all nodes share lives in `World`; what only one node
 * holds (its log, its counters, its copies of files) in `SimNode`.
 */

/** A row as the manager's database holds it: flat column names, absent where there is no value. */
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
  /** The node it reports to; absent: never connected. */
  node?: string
  groups: string[]
  os?: Readonly<Record<string, string>>
  configSum?: string
  mergedSum?: string
  /** Cleared scan data stays cleared until the next scan. */
  cleared: Set<'syscheck' | 'rootcheck'>
  lastScan?: Date
  upgrade?: string
  /** Restarts that reached it, for tests. */
  restarts: number
}

export interface SimNode {
  readonly name: string
  /** Changes when another node takes over. */
  type: 'master' | 'worker'
  readonly ip: string
  url: string
  /** `path` relative to the installation directory → text. Masters copy theirs to the workers. */
  readonly files: Map<string, string>
  restarts: number
  /** In the future while its daemons restart: it answers 1017 till then. */
  startedAt: Date
  /** Its cluster daemon is gone: it has vanished from the cluster, and its own API answers 3012. */
  away?: boolean
}

export interface SimGroup {
  readonly name: string
  /** File name → text; `agent.conf` is always there. */
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
  /** Milliseconds that a node is not ready (1017) after its restart; absent: none. */
  readonly restartTakes?: number
  now(): Date
}

/** A request as a handler sees it, after the node's own filters. */
export interface SimRequest {
  readonly world: World
  readonly node: SimNode
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Fields of a JSON or form body, or the text of an upload. */
  readonly fields: Readonly<Record<string, unknown>>
  readonly text: string
  readonly client: string
  /** The client lifted the limit of time. */
  readonly waitForComplete?: boolean
}

/** A request as it reached a node, whatever became of it. */
export interface SeenRequest {
  readonly node: string
  readonly method: string
  /** As it stood in the request line. */
  readonly url: string
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Empty until the body has come. */
  body: string
}

/** Gives `data`; a `FrameworkError` becomes HTTP 200 with `{error, message}`. */
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

/** An error as the framework gives it; the message is cut at its first colon on the wire (contract, errors.yaml). */
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
