/**
 * The agents of one joined read and their nodes: by the owner table, and by what the master says of agents whose rows
 * another node returned. Such an agent may have moved a moment ago. Or an address leads to the wrong node: its rows would
 * appear twice, and the rows of the right node would be missing without an error.
 */

import { compareText } from '../collections/order.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRead } from '../core/request.ts'
import { withTimeout } from '../core/timing.ts'
import { type AgentIndex, compareAgents, indexAgents, MAX_LISTED_AGENTS, type OwnedAgent } from './agent-index.ts'
import type { JoinCollectionsPorts, JoinedRead } from './joined-read.ts'
import { createPartError, type NodeRows, type PartError, toPartError } from './node-part.ts'
import { type AgentOwnerMap, MANAGER_AGENT_ID } from './owner-lookup.ts'
import { createOwnerUnknownError } from './owner-unknown.ts'
import { throwIfAbandoned } from './proxy-errors.ts'

const MAX_IDS_IN_MESSAGE = 10

export type LoadedAgents =
  | { readonly agents: ReadAgents; readonly error?: never }
  | { readonly agents?: never; readonly error: PartError }

/** Reads the owner table. Runs while the nodes are asked for their pages, which often need no owners. */
export async function loadAgents(read: JoinedRead): Promise<LoadedAgents> {
  const { request, fanOut } = read
  try {
    const table = await withTimeout(findOwners(read), fanOut.deadline - performance.now(), undefined)
    if (table !== undefined) return { agents: new ReadAgents(read, table, await indexAgents(table)) }
    return { error: toPartError(createOwnerUnknownError('the master did not respond in time')) }
  } catch (error) {
    throwIfAbandoned(error, request.client)
    return { error: toPartError(error) }
  }
}

async function findOwners({ request, ports }: JoinedRead): Promise<AgentOwnerMap> {
  const owners = await ports.owners.allOwners(request)
  const unknown = [...(namedIds(request) ?? [])].filter((id) => !owners.has(id))
  if (unknown.length === 0) return owners
  // Agents that the request names may be newer than the table.
  await ports.owners.verifiedOwners(unknown, request)
  return ports.owners.allOwners(request)
}

function namedIds({ query }: EdgeRead): ReadonlySet<string> | undefined {
  return query.agent_id === undefined ? undefined : new Set(query.agent_id.split(','))
}

/** What one node contributes to a joined read. */
export interface NodeContent {
  readonly rows: readonly NodeRows[]
  /** The agents whose rows were asked for; absent if the node failed. */
  readonly ids?: readonly string[]
  /** The number of its agents that were not asked, because they would cost too many calls. */
  readonly cut?: number
  /** The number of its agents whose calls failed. */
  readonly failed?: number
}

export type ContentByNode = ReadonlyMap<string, NodeContent>

type ReadOfAgents = Pick<JoinedRead, 'request' | 'report'> & { readonly ports: Pick<JoinCollectionsPorts, 'owners'> }

export class ReadAgents {
  readonly #read: ReadOfAgents
  readonly #table: AgentOwnerMap
  readonly index: AgentIndex
  readonly #named: ReadonlySet<string> | undefined
  /** By agent id: the node that the master named during this read. */
  readonly #verified = new Map<string, string>()

  constructor(read: ReadOfAgents, table: AgentOwnerMap, index: AgentIndex) {
    this.#read = read
    this.#table = table
    this.index = index
    this.#named = namedIds(read.request)
  }

  /** Whether the list of a node over all agents may lack some of its agents. `node` is absent: of any node. */
  exceedsList(node?: string): boolean {
    if (node === undefined) return this.#table.size > MAX_LISTED_AGENTS
    const last = this.index.byNode.get(node)?.at(-1)
    const lastListed = this.exceedsList() ? Number(this.index.listedIds.at(-1)) : Number.POSITIVE_INFINITY
    return last !== undefined && Number(last.id) > lastListed
  }

  /** The number of agents in the owner table. */
  get size(): number {
    return this.#table.size
  }

  isRequested(id: string): boolean {
    return this.#named?.has(id) ?? true
  }

  /** Returns the requested agents of a node in the order of their ids, with `000` for the node itself. */
  of(node: string): readonly OwnedAgent[] {
    const agents = [{ id: MANAGER_AGENT_ID, node }, ...this.#agentsOf(node)]
    return this.#named === undefined ? agents : agents.filter(({ id }) => this.isRequested(id))
  }

  #agentsOf(node: string): readonly OwnedAgent[] {
    const agents = this.index.byNode.get(node) ?? []
    if (this.#verified.size === 0) return agents
    const moved = [...this.#verified].flatMap(([id, owner]) => (owner === node ? [{ id, node }] : []))
    return [...agents.filter(({ id }) => !this.#verified.has(id)), ...moved].sort(compareAgents)
  }

  /** Returns the requested agents with a known node: master first, then by name of the node, then by id. */
  inOrder(master: string): readonly OwnedAgent[] {
    const names = new Set([...this.index.byNode.keys(), ...this.#verified.values()])
    names.delete(master)
    const others = [...names].sort(compareText).flatMap((node) => this.#agentsOf(node))
    return [...this.of(master), ...(this.#named ? others.filter(({ id }) => this.isRequested(id)) : others)]
  }

  /** Returns the node that an agent reports to; `undefined`: it is unknown. */
  nodeOf(id: string): string | undefined {
    const owner = this.#table.get(id)
    return this.#verified.get(id) ?? (owner?.kind === 'node' ? owner.node : undefined)
  }

  /**
   * Asks the master for the agents on the page of a node that report to another one by the table. Returns whether all rows
   * belong there, or the error of a page with rows of other nodes only, or of the master.
   */
  async checkPage(ids: readonly string[], node: string): Promise<{ readonly isOwn: boolean } | PartError> {
    const others = ids.filter((id) => (this.nodeOf(id) ?? node) !== node)
    if (others.length === 0) return { isOwn: true }
    try {
      // The table may be older than a move of the agent to this node.
      const verified = await this.#read.ports.owners.verifiedOwners(others, this.#read.request)
      const departed = others.filter((id) => {
        const owner = verified.get(id)
        if (typeof owner === 'string') this.#verified.set(id, owner)
        return typeof owner === 'string' && owner !== node
      })
      const hasOwnRows = departed.length < others.length || ids.some((id) => this.nodeOf(id) === node)
      if (hasOwnRows || departed.length === 0) return { isOwn: departed.length === 0 }
      return createPartError(
        925,
        ` (rows of agents of another node: ${departed.slice(0, MAX_IDS_IN_MESSAGE).join(', ')})`,
      )
    } catch (error) {
      throwIfAbandoned(error, this.#read.request.client)
      if (error instanceof EdgeError) return toPartError(error)
      throw error
    }
  }

  /**
   * Whether a node has returned rows of agents that report to another node, which has returned them too: they are older
   * than the move. Pages are checked one after the other, and the master may name another node in between.
   */
  hasRowsOfOthers(node: string, contents: ContentByNode): boolean {
    const ids = contents.get(node)?.ids ?? []
    return ids.some((id) => {
      const owner = this.nodeOf(id) ?? node
      return owner !== node && contents.get(owner)?.ids?.includes(id) === true
    })
  }

  /** Returns agents that have moved to a node whose rows may be older than the move. */
  missingIn(contents: ContentByNode): readonly OwnedAgent[] {
    return [...this.#verified].flatMap(([id, node]) =>
      contents.get(node)?.ids?.includes(id) === false ? [{ id, node }] : [],
    )
  }

  /** The number of agents that have connected, without `000`. */
  get connected(): number {
    const { byNode, unknown } = this.index
    return [...byNode.values()].reduce((sum, { length }) => sum + length, unknown.length)
  }

  /** Reports agents that have connected, but whose node is unknown: no node returns their rows. Returns their number. */
  reportUnreachable(isKnownNode: (node: string) => boolean): number {
    let count = 0
    const report = (node: string, all: readonly string[]) => {
      const ids = this.#named === undefined ? all : all.filter((id) => this.isRequested(id))
      if (ids.length === 0) return
      count += ids.length
      const first = ids.slice(0, MAX_IDS_IN_MESSAGE).join(', ') + (ids.length > MAX_IDS_IN_MESSAGE ? ' …' : '')
      this.#read.report.addError(node, toPartError(createOwnerUnknownError(first)))
    }
    const { byNode, unknown } = this.index
    for (const [node, agents] of byNode) {
      if (!isKnownNode(node))
        report(
          node,
          agents.map(({ id }) => id),
        )
    }
    report('unknown', unknown)
    return count
  }
}
