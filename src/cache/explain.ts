/** Why a request hits or does not, and what would drop its answer: for operators, about one URL. */
import type { ConditionalTags, Endpoint, Tag, WriteEndpoint } from '../catalogue/endpoint.ts'
import type { EdgeRequest } from '../core/request.ts'
import type { CacheIndex, Lookup } from '../core/response.ts'
import type { ResolveTarget } from './policy.ts'
import { needsResponse, parseTag } from './tags.ts'

export interface ExplainPorts {
  readonly resolveTarget: ResolveTarget
  readonly index: Pick<CacheIndex, 'peek'>
  readonly catalogue: readonly Endpoint[]
}

/** Ages and times in milliseconds. */
export interface Explanation {
  readonly endpoint: string
  readonly kept: boolean
  /** Why it is never kept. */
  readonly why?: string
  readonly url?: string
  readonly key?: string
  readonly group?: string
  readonly scope?: string
  readonly tags?: readonly Tag[]
  readonly next: { readonly hit: boolean; readonly reason: string; readonly age?: number; readonly timeLeft?: number }
  /** Writes that would drop it; `when`: only with such a value. */
  readonly droppedBy: readonly Dropper[]
}

interface Dropper {
  readonly write: string
  readonly tags: readonly Tag[]
  readonly when?: readonly string[]
}

export async function explain(
  { resolveTarget: prepare, index, catalogue }: ExplainPorts,
  ask: EdgeRequest,
): Promise<Explanation> {
  const endpoint = `${ask.endpoint.method} ${ask.endpoint.path}`
  const prepared = prepare(ask)
  if (typeof prepared === 'string') {
    return { endpoint, kept: false, why: prepared, next: { hit: false, reason: 'never kept' }, droppedBy: [] }
  }
  const { key, tags, info: listed } = prepared
  const { url, group, scope } = listed
  const next = nextOf(await index.peek(key, tags))
  return { endpoint, kept: true, url, key, group, scope, tags, next, droppedBy: droppers(catalogue, tags) }
}

function nextOf(look: Lookup): Explanation['next'] {
  if (look.kind === 'unavailable') return { hit: false, reason: 'the store is away' }
  if (look.epochs.fenced) return { hit: false, reason: 'a write to the data is under way, or its outcome is unknown' }
  if (look.kind === 'miss') {
    return { hit: false, reason: look.changed ? 'a write or a purge has changed the data since' : 'nothing is kept' }
  }
  const { age, ttl, staleWhileRevalidate } = look.response
  const times = { age, timeLeft: ttl - age }
  if (age < ttl) return { hit: true, reason: 'fresh', ...times }
  if (age < ttl + staleWhileRevalidate) return { hit: true, reason: 'stale, served while fetched anew', ...times }
  return { hit: false, reason: 'stale, served only when nodes fail', ...times }
}

function droppers(catalogue: readonly Endpoint[], tags: readonly Tag[]): readonly Dropper[] {
  return catalogue.flatMap((record) => {
    if (!('invalidates' in record)) return []
    const always = record.invalidates.filter((entry) => typeof entry === 'string').filter(reaches)
    const conditional = record.invalidates.filter((entry) => typeof entry !== 'string')
    const sometimes = conditional.filter((entry) => entry.tags.some(reaches))
    return always.length + sometimes.length === 0 ? [] : [dropper(record, always, sometimes)]
  })

  function reaches(template: Tag): boolean {
    const parts = parseTag(template)
    const anything = needsResponse(parts) ? '.+' : '[^*]+'
    const pattern = parts.map((part) => (typeof part === 'string' ? part.replaceAll(/\W/g, '\\$&') : anything)).join('')
    return tags.some((tag) => new RegExp(`^${pattern}$`).test(tag))
  }

  function dropper(record: WriteEndpoint, always: readonly Tag[], sometimes: readonly ConditionalTags[]): Dropper {
    const { method, path } = record
    const when = always.length > 0 ? [] : sometimes.map(({ value, matches }) => `${value} matches ${matches}`)
    const reaching = [...always, ...sometimes.flatMap((entry) => entry.tags.filter(reaches))]
    return { write: `${method} ${path}`, tags: [...new Set(reaching)], ...(when.length > 0 && { when }) }
  }
}
