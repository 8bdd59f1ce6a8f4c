import { createHash } from 'node:crypto'
import type { Endpoint, Param } from '../catalogue/endpoint.ts'
import type { EdgeRequest, RequestBody } from '../core/request.ts'

/**
 * One line of the audit: JSON, with a number that counts on, the digest of the line before, and its own. The digest of a
 * line covers all that stands before it in the line, so also the digest before: no line can be changed, taken out, put in
 * or moved without every later digest being wrong. Whoever may write the file can make all of them anew; what shows that
 * is the last digest, noted elsewhere.
 */

/** Who did what, as far as it may be written down: names of fields, never their values. */
export interface Deed {
  readonly request: string
  readonly caller: string
  /** Address of the client. */
  readonly client?: string | undefined
  readonly method: string
  /** The route template. */
  readonly route: string
  readonly params?: Readonly<Record<string, string>>
  /** Query values of closed kinds (numbers, yes or no, digests); of the others the names alone. */
  readonly query?: Readonly<Record<string, string>>
  readonly queryNames?: readonly string[]
  readonly fields?: readonly string[]
  /** Agents that the body names. */
  readonly ids?: readonly string[]
  readonly upload?: { readonly type: string; readonly bytes: number; readonly sha256: string }
}

/** `unknown`: it was sent, and nobody knows whether it was carried out. */
export type Outcome = 'done' | 'refused' | 'failed' | 'unknown'

export type Entry =
  | ({ readonly kind: 'intent' } & Deed)
  | ({
      readonly kind: 'outcome'
      readonly outcome: Outcome
      /** Of the answer; absent: there was none. */
      readonly status?: number
      readonly error?: number
      readonly nodes: readonly string[]
      readonly ms: number
    } & Deed)
  /** It was refused before it could act, by whoever had let its caller in. What it said was not checked: it is not told. */
  | ({
      readonly kind: 'refused'
      readonly outcome: 'refused'
      readonly status: number
      readonly error: number
      readonly nodes: readonly []
    } & Pick<Deed, 'request' | 'caller' | 'client' | 'method' | 'route'>)
  /** A process begins to write here. `torn`: the end of what it found was no whole line. */
  | { readonly kind: 'opened'; readonly torn?: true }
  /** It goes on elsewhere, or ends. */
  | { readonly kind: 'closed' }

/** Where the next line is joined on. */
export interface Link {
  readonly seq: number
  readonly digest: string
}

export const beginning: Link = { seq: 0, digest: '0'.repeat(64) }

export interface Written {
  readonly text: string
  readonly link: Link
}

/** `text` has no line feed. */
export function writeLine(entry: Entry, at: { readonly time: Date; readonly replica: string }, before: Link): Written {
  const seq = before.seq + 1
  const facts = { seq, time: at.time.toISOString(), replica: at.replica, ...entry, before: before.digest }
  const body = JSON.stringify(facts).slice(0, -1)
  const digest = digestOf(body)
  return { text: `${body},"digest":"${digest}"}`, link: { seq, digest } }
}

export interface Read extends Link {
  readonly before: string
  readonly kind: string
  readonly torn: boolean
  /** The id of its request, and what it speaks of. */
  readonly request: string | undefined
  readonly about: string
}

const TAIL = /^(\{.*),"digest":"([0-9a-f]{64})"\}$/s

/** `undefined`: it is no line of an audit. `changed`: it is one, but its own digest is wrong. */
export function readLine(text: string): (Read & { readonly changed: boolean }) | undefined {
  const [, body, digest] = TAIL.exec(text) ?? []
  const facts = body === undefined ? undefined : parsed(`${body}}`)
  if (body === undefined || digest === undefined || facts === undefined) return undefined
  const { seq, before, kind, torn, request, method, route } = facts
  if (!Number.isSafeInteger(seq) || typeof before !== 'string' || typeof kind !== 'string') return undefined
  return {
    seq: Number(seq),
    before,
    kind,
    torn: torn === true,
    request: typeof request === 'string' ? request : undefined,
    about: typeof route === 'string' ? `${String(method)} ${route}` : kind,
    digest,
    changed: digestOf(body) !== digest,
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** What of a request may stand in the audit. Values that a client writes freely may be secrets: their names alone stand there. */

/** Kinds whose values say nothing but what they are. */
const CLOSED: ReadonlySet<string> = new Set([
  'numbers',
  'array_numbers',
  'boolean',
  'yes_no',
  'empty_boolean',
  'flag',
  'timeframe',
  'ranges',
  'dates',
])

export function deedOf(ask: EdgeRequest): Deed {
  const { endpoint, params, query, body, caller, clientAddress: client, requestId } = ask
  const told = Object.keys(query).filter((name) => mayBeTold(endpoint, name))
  const names = Object.keys(query).filter((name) => !told.includes(name))
  return {
    request: requestId,
    caller: caller.name,
    ...(client !== undefined && { client }),
    method: endpoint.method,
    route: endpoint.path,
    ...(Object.keys(params).length > 0 && { params }),
    ...(told.length > 0 && { query: Object.fromEntries(told.map((name) => [name, query[name] ?? ''])) }),
    ...(names.length > 0 && { queryNames: names }),
    ...(body && ofBody(endpoint, body)),
  }
}

/** What the edge answers itself takes names of its own making: groups, keys of entries, flags. */
function mayBeTold({ target, query }: Endpoint, name: string): boolean {
  const known: Readonly<Record<string, Param>> = query
  return target.kind === 'edge' || CLOSED.has(known[name]?.kind ?? '')
}

function ofBody(endpoint: Endpoint, body: RequestBody): Pick<Deed, 'fields' | 'ids' | 'upload'> {
  if (body.kind === 'upload') {
    const { type, bytes } = body
    return { upload: { type, bytes: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') } }
  }
  const spec = 'body' in endpoint && endpoint.body?.kind === 'fields' ? endpoint.body.fields : {}
  const agents = Object.keys(body.fields).filter((name) => spec[name]?.canonical?.startsWith('agentId'))
  const ids = agents.flatMap((name) => body.fields[name]).map(String)
  return { fields: Object.keys(body.fields), ...(ids.length > 0 && { ids }) }
}
