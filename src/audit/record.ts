/**
 * The format of audit records. One record is one line of JSON with a sequence number, the digest of the previous record
 * and its own digest. A digest covers everything before it in the line, so also the previous digest: a record that is
 * changed, removed, inserted or moved makes all later digests wrong. A writer of the file could recompute all of them;
 * only the last digest, noted elsewhere, reveals that.
 *
 * The format is fixed: files of earlier releases must verify, so field names and their order never change.
 */
import { hash } from 'node:crypto'
import type { Endpoint, Param } from '../contracts/endpoint.ts'
import { describedFields, routeOf } from '../core/endpoint-names.ts'
import { digestInTurns } from '../core/long-values.ts'
import type { EdgeWrite, RequestBody } from '../core/request.ts'
import { isObject, parseJson } from '../core/values.ts'

/** A write or purge, as far as its values may be recorded. Values that a client chooses freely may be secrets. */
export interface AuditedRequest {
  /** The request id. */
  readonly request: string
  readonly caller: string
  /** Address of the client. */
  readonly client: string
  readonly method: string
  /** The name of the endpoint. */
  readonly route: string
  readonly params?: Readonly<Record<string, string>>
  /** Query values of closed kinds: numbers, booleans, dates. */
  readonly query?: Readonly<Record<string, string>>
  /** Names of the other query parameters. */
  readonly queryNames?: readonly string[]
  /** Names of the fields in the body. */
  readonly fields?: readonly string[]
  /** Ids of the agents that the body names. */
  readonly ids?: readonly string[]
  readonly upload?: { readonly type: string; readonly bytes: number; readonly sha256: string }
  /** The digest of the authorization context of the caller's token (`hash_auth_context`): the caller logged in with `run_as`. */
  readonly runAs?: string
}

/** `unknown`: the request was sent, but there is no evidence whether it was carried out. */
export type Outcome = 'done' | 'refused' | 'failed' | 'unknown'

export type AuditEvent =
  | ({ readonly kind: 'intent' } & AuditedRequest)
  | ({
      readonly kind: 'outcome'
      readonly outcome: Outcome
      /** Status and error number of the response; absent if there was none. */
      readonly status?: number
      readonly error?: number
      /** Nodes that the request was sent to. */
      readonly nodes: readonly string[]
      readonly ms: number
    } & AuditedRequest)
  /** The edge refused an authenticated caller's write before it could act. Unvalidated values are not recorded. */
  | ({
      readonly kind: 'refused'
      readonly outcome: 'refused'
      readonly status: number
      readonly error: number
      readonly nodes: readonly []
    } & Pick<AuditedRequest, 'request' | 'caller' | 'client' | 'method' | 'route'>)
  /** A process starts to write this file. `torn`: the file ended with an incomplete record. */
  | { readonly kind: 'opened'; readonly torn?: true }
  /** The process continues in another file, or ends. */
  | { readonly kind: 'closed' }

/** Kinds of parameters whose values cannot hold a secret. */
const CLOSED_KINDS: ReadonlySet<string> = new Set([
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

/** Returns what may be recorded of a request. */
export async function describeRequest(request: EdgeWrite): Promise<AuditedRequest> {
  const { endpoint, params, query, body, caller, clientAddress, requestId } = request
  const recorded = Object.keys(query).filter((name) => mayRecordValue(endpoint, name))
  const queryNames = Object.keys(query).filter((name) => !recorded.includes(name))
  return {
    request: requestId,
    caller: caller.name,
    client: clientAddress,
    method: endpoint.method,
    route: routeOf(endpoint),
    ...(Object.keys(params).length > 0 && { params }),
    ...(recorded.length > 0 && { query: Object.fromEntries(recorded.map((name) => [name, query[name] ?? ''])) }),
    ...(queryNames.length > 0 && { queryNames }),
    ...(body.kind !== 'none' && (await describeBody(endpoint, body))),
    ...(caller.context !== undefined && { runAs: caller.context }),
  }
}

/** Endpoints of the edge itself take only names of cache groups, endpoints and tags, cache keys and flags. */
function mayRecordValue({ target, query }: Endpoint, name: string): boolean {
  const known: Readonly<Record<string, Param>> = query
  return target.kind === 'edge' || CLOSED_KINDS.has(known[name]?.kind ?? '')
}

/** Of an authorization context, whose names the client chooses. A record has a limit (`MAX_RECORD_BYTES`). */
const MAX_NAMES = 200
const MAX_NAME_LENGTH = 100

async function describeBody(
  endpoint: Endpoint,
  body: Exclude<RequestBody, { kind: 'none' }>,
): Promise<Pick<AuditedRequest, 'fields' | 'ids' | 'upload'>> {
  if (body.kind === 'upload') {
    const { type, bytes } = body
    return { upload: { type, bytes: bytes.length, sha256: await digestInTurns(bytes, 'hex') } }
  }
  const spec = describedFields(endpoint)
  const agentFields = Object.keys(body.fields).filter((name) => spec[name]?.canonical?.startsWith('agentId'))
  const ids = agentFields.flatMap((name) => body.fields[name]).map(String)
  const names = Object.keys(body.fields).slice(0, MAX_NAMES)
  return { fields: names.map((name) => name.slice(0, MAX_NAME_LENGTH)), ...(ids.length > 0 && { ids }) }
}

/** The end of a chain, to which the next record is linked. */
export interface ChainLink {
  readonly seq: number
  readonly digest: string
}

export const CHAIN_START: ChainLink = { seq: 0, digest: '0'.repeat(64) }

interface FormattedRecord {
  /** The line, without its line feed. */
  readonly text: string
  readonly link: ChainLink
}

/** Formats an event as the record that follows `previous`. */
export function formatRecord(
  event: AuditEvent,
  at: { readonly time: Date; readonly replica: string },
  previous: ChainLink,
): FormattedRecord {
  const seq = previous.seq + 1
  const record = { seq, time: at.time.toISOString(), replica: at.replica, ...event, before: previous.digest }
  const body = JSON.stringify(record).slice(0, -1)
  const digest = hash('sha256', body, 'hex')
  return { text: `${body},"digest":"${digest}"}`, link: { seq, digest } }
}

export interface ParsedRecord extends ChainLink {
  /** Digest of the previous record. */
  readonly before: string
  readonly kind: string
  readonly torn: boolean
  readonly request: string | undefined
  /** Whether the digest is wrong for the content. */
  readonly isChanged: boolean
}

const RECORD = /^(\{.*),"digest":"([0-9a-f]{64})"\}$/s

/** Parses one line. Returns `undefined` for a line that is no audit record. */
export function parseRecord(text: string): ParsedRecord | undefined {
  const [, body, digest] = RECORD.exec(text) ?? []
  if (body === undefined || digest === undefined) return undefined
  const fields = parseJson(`${body}}`)
  if (!isObject(fields)) return undefined
  const { seq, before, kind, torn, request } = fields
  if (!Number.isSafeInteger(seq) || typeof before !== 'string' || typeof kind !== 'string') return undefined
  return {
    seq: Number(seq),
    before,
    kind,
    torn: torn === true,
    request: typeof request === 'string' ? request : undefined,
    digest,
    isChanged: hash('sha256', body, 'hex') !== digest,
  }
}
