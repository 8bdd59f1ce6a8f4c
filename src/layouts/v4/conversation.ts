/** What a plan of the v4 layout works with: one request, and calls to one node on its behalf. */
import type { RowRule, Translation } from '../../contracts/translations/translation.ts'
import { isRelease5, type NodeCall, type NodeResponse } from '../../core/node-call.ts'
import { type EdgeRequest, onlyNodeOf } from '../../core/request.ts'
import { ownEntry } from '../../core/values.ts'
import { type Candidate, createNodeCall, type DialectTools, pause } from '../dialect.ts'
import { ALL_ROWS, LIST_OF_AGENTS, namedRead, passedOnTo, type V4Call } from './call.ts'
import { isUnknownCall, readContent } from './content.ts'
import { failed, type Reply, successOf, unreadable } from './reply.ts'
import { checkRequestLine, lineBytesOf, urlOf } from './request-line.ts'

export class Conversation {
  readonly request: EdgeRequest
  readonly tools: DialectTools
  /** That of the record, or the one for the release of the node. */
  translation: Translation
  /** The node that is asked. */
  readonly node: string
  /** The node that the request is about: the one that it was given, the one in the path, or the master. */
  readonly about: string
  readonly #end: number
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
    this.about = onlyNodeOf(request) ?? ownEntry(request.params, 'node_id') ?? tools.master
    this.tools = tools
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
    return this.about === this.tools.master
  }

  /** The version of the asked node, as far as it is known. */
  get version(): string | undefined {
    return this.tools.view.versions.of(this.node)
  }

  /** The release of the asked node, also if it was read long ago. */
  get release(): string | undefined {
    return this.tools.view.releaseOf(this.node) ?? this.version
  }

  /** Whether what is about the asked node has the path of another node: it has no `/manager`. */
  get hasClusterPathsOnly(): boolean {
    return this.isElsewhere || isRelease5(this.release)
  }

  noteVersion(version: string | undefined): void {
    if (version !== undefined) this.tools.view.versions.note(this.node, version)
  }

  /** Whether the node does not know the call that was sent last, and has done nothing before: its release is another one than assumed. */
  get isUnknownCall(): boolean {
    return this.#isUnknownCall
  }

  /** The parameter with which a node has no separate time limit, if the request has it. */
  get waiting(): V4Call['query'] {
    return this.request.waitForComplete ? { wait_for_complete: 'true' } : {}
  }

  /** Waits for the node. With a signal, rejects with its reason as soon as it is aborted. */
  get pause(): typeof pause {
    return this.tools.pause ?? pause
  }

  /** Milliseconds that are left for all further calls. */
  get remaining(): number {
    return this.#end - performance.now()
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
    const named = namedRead(call, this)
    const url = urlOf(named)
    checkRequestLine(node, method, url)
    if (method !== 'GET') this.#writes += 1
    const { call: callNode, read } = this.tools
    const nodeCall = createNodeCall(request, {
      node,
      method,
      path: url,
      ...(body && { body }),
      expect,
      timeout: this.tools.timeout === undefined ? undefined : this.remaining,
      endpoint: `${method} ${path}`,
      // A worker that replaces the master asks it.
      passedOnTo: this.#replacesMaster ? { node: this.tools.master } : passedOnTo(path, this),
    })
    const result = await (read === undefined || method !== 'GET' ? callNode(nodeCall) : read(nodeCall, named))
    if (!result.ok) throw failed(this.#isReadBefore(method) ? { ...result, sent: false } : result)
    return result.response
  }

  lineBytesOf(call: V4Call): number {
    return lineBytesOf(call.method, urlOf(namedRead(call, this)))
  }

  /** A read that prepares a write: nothing of the write has been sent. */
  #isReadBefore(method: string): boolean {
    return method === 'GET' && this.request.endpoint.method !== 'GET' && this.#writes === 0
  }
}

export const NO_ROWS = 'no affected_items'
