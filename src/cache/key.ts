/**
 * Keys of kept answers: the operation, its parameters in their one canonical form, and, where the
 * answer depends on rights, a digest of them. Never a token, never a raw URL. Each field stands behind its length, so
 * that no value can pose as a delimiter, and all pass through an HMAC, so that nobody can aim at a key.
 */
import { createHash, createHmac } from 'node:crypto'
import type { Param } from '../catalogue/endpoint.ts'
import type { EdgeRequest } from '../core/request.ts'
import { ownEntry } from '../core/values.ts'
import type { CompiledPolicy } from './policy.ts'

export interface KeySettings {
  readonly secret: Buffer | string
  /** Changes when roles mean something else: keys of another policy are other keys. */
  readonly policy: string
}

/** Raised when an answer of the same request begins to look otherwise: what older releases kept is then not found. */
const CONTRACT = '1'

type Named = readonly (readonly [string, string])[]

/** A request with nothing left of how it was written: defaults filled in, names in order. */
export interface CanonicalRequest {
  readonly path: string
  readonly params: Named
  readonly query: Named
  /** `everyone`, or a digest of rights. */
  readonly scope: string
  /** The one node that answers a part of a joined answer. */
  readonly node?: string
  /** The nodes that a joined answer is of: with a node that joins or leaves it is another answer. */
  readonly nodes: string
}

/** `nodes`: the names of all nodes, as one text. */
export function canonicalRequest(
  ask: EdgeRequest,
  plan: CompiledPolicy,
  { policy, nodes }: { policy: string; nodes: string },
): CanonicalRequest {
  return {
    path: ask.endpoint.path,
    params: present(plan.params, ask.params),
    query: present(plan.query, ask.query),
    scope: plan.scope === 'everyone' ? 'everyone' : scopeOf(ask.caller.permissions, policy),
    ...(ask.node !== undefined && { node: ask.node }),
    nodes: plan.isJoined && ask.node === undefined ? nodes : '',
  }
}

/** People with the same rights share answers, in whatever order their roles list them. */
function scopeOf(permissions: readonly string[], policy: string): string {
  const text = lengthPrefixed([policy, ...[...new Set(permissions)].sort()])
  return createHash('sha256').update(text, 'utf16le').digest('base64url').slice(0, 22)
}

/** The text that an HMAC is made of. Two requests have the same one only if they are equal. */
export function serializeKey({ path, params, query, scope, node = '', nodes }: CanonicalRequest): string {
  return lengthPrefixed([
    CONTRACT,
    path,
    scope,
    lengthPrefixed(params.flat()),
    lengthPrefixed(query.flat()),
    node,
    nodes,
  ])
}

/** Bytes as UTF-16, in which no two texts are the same: as UTF-8 all lone surrogates would be. */
export function hashKey(text: string, secret: Buffer | string): string {
  return createHmac('sha256', secret).update(text, 'utf16le').digest('base64url')
}

/** Path and query as `/cache` shows them; behind a `#` the node whose part of a joined answer it is. */
export function urlOf({ path, params, query, node }: CanonicalRequest): string {
  const values = new Map(params)
  const filled = path.replaceAll(/:([^/]+)/g, (_, name: string) => encode(values.get(name) ?? ''))
  const text = query.map(([name, value]) => `${encode(name)}=${encode(value)}`).join('&')
  const url = text === '' ? filled : `${filled}?${text}`
  return node === undefined ? url : `${url}#${encode(node)}`
}

/** Half a character, which no URL can hold, is shown as a replacement character. */
function encode(value: string): string {
  return encodeURIComponent(Buffer.from(value).toString())
}

function lengthPrefixed(fields: readonly string[]): string {
  return fields.map((field) => `${field.length}:${field}`).join('')
}

function present(named: CompiledPolicy['query'], values: EdgeRequest['query']): Named {
  const found: (readonly [string, string])[] = []
  for (const [name, param] of named) {
    const value = ownEntry(values, name) ?? param.default
    if (value !== undefined) found.push([name, spelling(String(value), param)])
  }
  return found
}

/** One spelling for what the manager reads as one value: numbers with zeros in front, a sort that ascends. */
function spelling(value: string, param: Param): string {
  if (param.kind === 'numbers' && typeof param.default === 'number') return value.replace(/^0+(?=[0-9])/, '')
  if (param.kind === 'sort' && value.startsWith('+')) return value.slice(1)
  return value
}
