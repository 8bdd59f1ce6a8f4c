/** A call of the v4 layout as a plan or a record writes it, and what its templates mean for one request to one node. */
import type { CallTemplate } from '../../contracts/translations/translation.ts'
import type { NamedRead, NodeCall, PassedOnTo } from '../../core/node-call.ts'
import type { EdgeRequest } from '../../core/request.ts'
import { ownEntry } from '../../core/values.ts'

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

/** The request that a call is for. */
interface Subject {
  readonly request: EdgeRequest
  /** The node that the request is about. */
  readonly about: string
}

/** The most rows that a node returns at once. */
export const ALL_ROWS = '100000'
/** The ids of the agents that may have sent data. */
export const CONNECTED_AGENTS = { select: 'id', status: 'active,disconnected' } as const

/** The master itself lists agents, whatever the request is about. */
export const LIST_OF_AGENTS = '/agents'

/**
 * Returns the call by its record. `hasClusterPathsOnly`: what is about the asked node has the path of another node; otherwise
 * it has another one.
 */
export function namedRead(
  { path, params, query }: V4Call,
  { request, about, hasClusterPathsOnly }: Subject & { readonly hasClusterPathsOnly: boolean },
): NamedRead {
  const values = params ?? request.params
  if (!path.startsWith('{node}')) return { path, params: values, query }
  const rest = path.slice('{node}'.length)
  if (!hasClusterPathsOnly) return { path: `/manager${rest}`, params: values, query }
  return { path: `/cluster/:node_id${rest}`, params: { ...values, node_id: about }, query }
}

/**
 * Returns where the asked node passes a call on to, as far as its path and the record of the request show it. `isElsewhere`: the
 * request is about another node.
 */
export function passedOnTo(
  path: string,
  { request: { endpoint, params }, about, isElsewhere }: Subject & { readonly isElsewhere: boolean },
): PassedOnTo | undefined {
  if (path.startsWith('{node}')) return isElsewhere ? { node: about } : undefined
  if (path === LIST_OF_AGENTS) return undefined
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

/** `:name`, `{query.name}`, `{query.name|otherwise}`, `{node}`. */
const PLACEHOLDER = /:([a-z_]+)|\{query\.([A-Za-z_.]+)(?:\|([^}]*))?\}|\{node\}/g

/** Fills a template with values of the request. */
export function fill(template: string, { request: { params, query }, about }: Subject): string {
  return template.replace(PLACEHOLDER, (whole, param?: string, name?: string, otherwise?: string) => {
    if (param !== undefined) return ownEntry(params, param) ?? whole
    return name === undefined ? about : (ownEntry(query, name) ?? otherwise ?? '')
  })
}
