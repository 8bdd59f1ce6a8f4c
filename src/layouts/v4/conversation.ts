/** What a plan of the v4 layout works with: one request, and calls to one node on its behalf. */
import type { CallTemplate, RowRule, Translation } from '../../contracts/translations/translation.ts'
import { isRelease5, type NamedRead, type NodeCall, type NodeResponse, type PassedOnTo } from '../../core/node-call.ts'
import { type EdgeRequest, nodeOf, priceOfRead } from '../../core/request.ts'
import { ownEntry } from '../../core/values.ts'
import { type Candidate, createNodeCall, type DialectTools, pause } from '../dialect.ts'
import { layoutRules } from '../layout-rules.ts'
import { isUnknownCall, readContent } from './content.ts'
import { failed, type Reply, successOf, unreadable } from './reply.ts'
import { checkRequestLine, lineBytesOf, urlOf } from './request-line.ts'

/** A call of the v4 layout, with values that are not encoded. */
export interface V4Call extends Pick<CallTemplate, 'path'> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Values for the path. Absent: those of the request. */
  readonly params?: Readonly<Record<string, string>>
  /** In the order in which they are sent. */
  readonly query: Readonly<Record<string, string>>
  readonly body?: NodeCall['body'] | Promise<NodeCall['body']>
  /** The response is the text of a file. */
  readonly isFile?: true
}

export class Conversation {
  readonly request: EdgeRequest
  /** That of the record, or the one for the release of the node. */
  translation: Translation
  /** The node that is asked. */
  readonly node: string
  /** The node that the request is about: the one that it was given, the one in the path, or the master. */
  readonly about: string
  readonly #tools: DialectTools
  readonly #end: number
  /** A worker is asked, which asks the master. */
  readonly #replacesMaster: boolean
  /** Writes that the node has received, without those that it does not know. */
  #writes = 0
  #isUnknownCall = false

  constructor(
    request: EdgeRequest,
    translation: Translation,
    { node, replacesMaster }: Candidate,
    tools: DialectTools,
  ) {
    this.request = request
    this.translation = translation
    this.node = node
    this.about = nodeOf(request) ?? ownEntry(request.params, 'node_id') ?? tools.master
    this.#tools = tools
    this.#replacesMaster = replacesMaster === true
    this.#end = tools.timeout === undefined ? Number.POSITIVE_INFINITY : performance.now() + tools.timeout
  }

  /** The rule for the rows of the response, if it has rows. */
  get rows(): RowRule | undefined {
    const { response } = this.translation
    return 'rows' in response ? response.rows : undefined
  }

  /** Whether the asked node is another one than the request is about. */
  get isElsewhere(): boolean {
    return this.about !== this.node
  }

  get isAboutMaster(): boolean {
    return this.about === this.#tools.master
  }

  /** The version of the asked node, as far as it is known. */
  get version(): string | undefined {
    return this.#tools.view.versions?.of(this.node)
  }

  /** The release of the asked node, also if it was read long ago. */
  get release(): string | undefined {
    return this.#tools.view.releaseOf?.(this.node) ?? this.version
  }

  /** Whether a release that was read is known later. */
  get knowsReleases(): boolean {
    return this.#tools.view.releaseOf !== undefined
  }

  /** Whether what is about the asked node has the path of another node: it has no `/manager`. */
  get hasClusterPathsOnly(): boolean {
    return this.isElsewhere || isRelease5(this.release)
  }

  noteVersion(version: string | undefined): void {
    if (version !== undefined) this.#tools.view.versions?.note(this.node, version)
  }

  /** Whether the node does not know the call that was sent last, and has done nothing before: its release is another one than assumed. */
  get isUnknownCall(): boolean {
    return this.#isUnknownCall
  }

  /** The names of all workers, connected or not. */
  workers(): readonly string[] {
    return this.#tools.view.nodes().flatMap(({ type, name }) => (type === 'worker' ? [name] : []))
  }

  /** Calls that one read may send: half of those of a minute, which all clients share. */
  get maxCalls(): number {
    const perMinute = this.#tools.perMinute ?? layoutRules.v4.perMinute
    return perMinute === 0 ? Number.POSITIVE_INFINITY : Math.floor(perMinute / 2)
  }

  /**
   * Calls that this read may cost. No client waits for a complete read of all agents, which may cost half of the calls of a
   * minute.
   */
  get price(): number {
    const { request } = this
    const isComplete = request.kind === 'read' && request.effort === 'complete'
    return isComplete ? Number.POSITIVE_INFINITY : priceOfRead(this.#tools.view.nodes().length)
  }

  get agentsPerCollection(): number {
    return this.#tools.agentsPerCollection ?? Number.POSITIVE_INFINITY
  }

  /** The parameter with which a node has no time limit of its own, if the request has it. */
  get waiting(): V4Call['query'] {
    return this.request.waitForComplete ? { wait_for_complete: 'true' } : {}
  }

  /** Waits for the node. With a signal, rejects with its reason as soon as it is aborted. */
  get pause(): typeof pause {
    return this.#tools.pause ?? pause
  }

  /** Milliseconds that are left for all further calls. */
  get remaining(): number {
    return this.#end - performance.now()
  }

  /**
   * Throws `EndedError` if the limit per minute of the node does not permit this number of reads in the remaining time.
   * To be called before a read that needs several calls: without the last one, the others would be wasted.
   */
  checkRoom(calls: number): void {
    const { node } = this
    const wait = this.#tools.view.waitForReads?.(node, calls) ?? 0
    if (wait === 0 || (wait <= this.remaining && Number.isFinite(wait))) return
    const retryAfter = Number.isFinite(wait) ? Math.ceil(wait / 1000) : MINUTE_SECONDS
    throw failed({ ok: false, node, fault: 'overloaded', sent: false, reason: 'noRoom', about: calls, retryAfter })
  }

  /** Sends a call. Throws `EndedError`. */
  async send(call: V4Call): Promise<Reply> {
    const response = await this.#call(call, call.isFile ? 'text' : 'bytes')
    const content = await readContent(response)
    const isUnknown = typeof content === 'object' && isUnknownCall(content)
    if (isUnknown && call.method !== 'GET') this.#writes -= 1
    this.#isUnknownCall = isUnknown && this.#writes === 0
    return typeof content === 'string' ? this.#failUnread(call, response, content) : { response, content }
  }

  /** Sends a read of one path. Throws as `send` does. */
  get(path: string, query: V4Call['query'] = {}): Promise<Reply> {
    return this.send({ method: 'GET', path, query })
  }

  /** Sends a read of rows. A success without a list of rows is unreadable: it is not the same as no rows. */
  async sendForRows(call: V4Call): Promise<Reply> {
    const reply = await this.send(call)
    const isWithoutRows = reply.content.kind === 'success' && reply.content.items === undefined
    return isWithoutRows ? this.#failUnread(call, reply.response, NO_ROWS) : reply
  }

  /** Reads the fields of all agents that the query finds. Throws as `sendForRows` does, and `NotDoneError`. */
  async readAgents(query: V4Call['query']): Promise<readonly unknown[]> {
    const call = { method: 'GET', path: LIST_OF_AGENTS, query: { ...query, limit: ALL_ROWS } } as const
    return successOf(await this.sendForRows(call)).items ?? []
  }

  #failUnread({ method }: V4Call, response: NodeResponse, reason: string): never {
    if (!this.#isReadBefore(method)) throw unreadable(response, reason)
    throw failed({
      ok: false,
      node: this.node,
      fault: 'unreadable',
      sent: false,
      reason: 'unreadableBody',
      about: reason,
    })
  }

  /** Sends a call whose response may be a stream, the bytes of a file. Throws `EndedError`. */
  open(call: V4Call): Promise<NodeResponse> {
    return this.#call(call, 'stream')
  }

  /** Reads a response that is no stream. Throws `EndedError`. */
  async read(response: NodeResponse): Promise<Reply> {
    const content = await readContent(response)
    if (typeof content === 'string') throw unreadable(response, content)
    return { response, content }
  }

  async #call(call: V4Call, expect: NodeCall['expect']): Promise<NodeResponse> {
    const { method, path } = call
    const body = await call.body
    const { request, node } = this
    const named = this.#named(call)
    const url = urlOf(named)
    checkRequestLine(node, method, url)
    if (method !== 'GET') this.#writes += 1
    const { call: callNode, read } = this.#tools
    const nodeCall = createNodeCall(request, {
      node,
      method,
      path: url,
      ...(body && { body }),
      expect,
      timeout: this.#tools.timeout === undefined ? undefined : this.remaining,
      endpoint: `${method} ${path}`,
      passedOnTo: this.#passedOnTo(path),
    })
    const result = await (read === undefined || method !== 'GET' ? callNode(nodeCall) : read(nodeCall, named))
    if (!result.ok) throw failed(this.#isReadBefore(method) ? { ...result, sent: false } : result)
    return result.response
  }

  /** Returns where the asked node passes a call on to, as far as its path and the record of the request show it. */
  #passedOnTo(path: string): PassedOnTo | undefined {
    if (this.#replacesMaster) return { node: this.#tools.master }
    if (path.startsWith('{node}')) return this.isElsewhere ? { node: this.about } : undefined
    if (path === LIST_OF_AGENTS) return undefined
    const { endpoint, params } = this.request
    switch (endpoint.target.kind) {
      case 'agentOwner':
        return { agent: ownEntry(params, 'agent_id') ?? '' }
      case 'agentOwners':
      case 'everyNode':
        return 'several'
      default:
        return undefined
    }
  }

  lineBytesOf(call: V4Call): number {
    return lineBytesOf(call.method, urlOf(this.#named(call)))
  }

  /** Returns the call by its record. What is about the asked node itself has another path than what is about another one. */
  #named({ path, params = this.request.params, query }: V4Call): NamedRead {
    if (!path.startsWith('{node}')) return { path, params, query }
    const rest = path.slice('{node}'.length)
    if (!this.hasClusterPathsOnly) return { path: `/manager${rest}`, params, query }
    return { path: `/cluster/:node_id${rest}`, params: { ...params, node_id: this.about }, query }
  }

  fill(template: string): string {
    const { params, query } = this.request
    return template.replace(PLACEHOLDER, (whole, param?: string, name?: string, otherwise?: string) => {
      if (param !== undefined) return ownEntry(params, param) ?? whole
      return name === undefined ? this.about : (ownEntry(query, name) ?? otherwise ?? '')
    })
  }

  /** A read that prepares a write: nothing of the write has been sent. */
  #isReadBefore(method: string): boolean {
    return method === 'GET' && this.request.endpoint.method !== 'GET' && this.#writes === 0
  }
}

export const NO_ROWS = 'no affected_items'

/** The most rows that a node returns at once. */
export const ALL_ROWS = '100000'
/** The ids of the agents that may have sent data. */
export const CONNECTED_AGENTS = { select: 'id', status: 'active,disconnected' } as const

/** Retry-After of a request that needs more calls than the limit: fewer may be enough later. */
const MINUTE_SECONDS = 60

/** The master itself lists agents, whatever the request is about. */
const LIST_OF_AGENTS = '/agents'

/** `:name`, `{query.name}`, `{query.name|otherwise}`, `{node}`. */
const PLACEHOLDER = /:([a-z_]+)|\{query\.([A-Za-z_.]+)(?:\|([^}]*))?\}|\{node\}/g
