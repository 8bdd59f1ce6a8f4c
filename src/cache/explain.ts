/** Explains to operators why the next request of a URL is a hit or a miss, and which writes invalidate its response. */

import type { CacheSettings } from '../config/schema.ts'
import type { ConditionalTags, Endpoint, Tag, WriteEndpoint } from '../contracts/endpoint.ts'
import type { CacheExplanation } from '../core/cache.ts'
import type { CacheIndex, EntryContents } from '../core/cache-index.ts'
import { nameOf } from '../core/endpoint-names.ts'
import { EdgeError } from '../core/errors.ts'
import type { NodeReads } from '../core/node-call.ts'
import type { Caller, EdgeRead } from '../core/request.ts'
import type { Lookup, StoredForms } from '../core/stored-response.ts'
import { type ResolveTarget, SNAPSHOT_MARK } from './key.ts'
import { derivableOf } from './snapshots/derivable.ts'
import { needsResponse, patternOf } from './tags.ts'

type NextRequest = NonNullable<CacheExplanation['next']>
type InvalidatingWrite = NonNullable<CacheExplanation['invalidatedBy']>[number]

export interface ExplainPorts {
  readonly settings: () => CacheSettings
  readonly resolveTarget: ResolveTarget
  readonly nodeReads: () => NodeReads
  readonly index: Pick<CacheIndex, 'peek'>
  /** The records of the contracts that clients can use. */
  readonly catalogue: readonly Endpoint[]
  readonly isNode: (name: string) => boolean
  /** Returns the validated GET request of the name of a path and query. Throws the EdgeError that the request would get. */
  resolveUrl(url: string, caller: Caller): Promise<EdgeRead>
}

/**
 * Returns the request of a URL as the index shows it: after `#` is the node whose part of a joined response it is.
 * Throws 604 for a malformed node name, 3022 for an unknown node, and what `resolveUrl` throws.
 */
async function resolveIndexUrl(ports: ExplainPorts, indexUrl: string, caller: Caller): Promise<EdgeRead> {
  const [url = '', encodedNode, ...rest] = indexUrl.split('#')
  const request = await ports.resolveUrl(url, caller)
  if (indexUrl === url + SNAPSHOT_MARK) return { ...request, query: {}, extent: 'allRows' }
  if (encodedNode === undefined) return request
  if (rest.length > 0) throw new EdgeError(604, '. The url has more than one #')
  const node = decodeNode(encodedNode)
  if (!ports.isNode(node)) throw new EdgeError(3022)
  return { ...request, extent: { node } }
}

/**
 * Returns the key of the snapshot from which the response of such a URL may be computed; `undefined`: there is none, or
 * the caller may not read the response.
 */
export async function snapshotKeyOf(
  ports: ExplainPorts,
  indexUrl: string,
  caller: Caller,
): Promise<string | undefined> {
  try {
    return derivableOf(ports, await resolveIndexUrl(ports, indexUrl, caller))?.target.key
  } catch (fault) {
    if (fault instanceof EdgeError) return undefined
    throw fault
  }
}

function decodeNode(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch (cause) {
    throw new EdgeError(604, '. The node after # is not valid percent-encoding', { cause })
  }
}

/** The explanation of every URL if the cache is off. */
export const CACHE_OFF = { cacheable: false, reason: 'the cache is off' } as const

/** Explains a URL as the index shows it. Throws as `resolveIndexUrl` does. */
export async function explain(ports: ExplainPorts, indexUrl: string, caller: Caller): Promise<CacheExplanation> {
  const request = await resolveIndexUrl(ports, indexUrl, caller)
  const endpoint = `${request.endpoint.method} ${nameOf(request.endpoint)}`
  const target = ports.resolveTarget(request)
  if (typeof target === 'string') {
    return {
      endpoint,
      cacheable: false,
      reason: target,
      next: { hit: false, reason: 'never stored' },
      invalidatedBy: [],
    }
  }
  const { key, tags, info } = target
  const { url, group, scope } = info
  const next = explainLookup(await ports.index.peek(key, tags))
  const derived = next.hit ? undefined : await explainSnapshot(ports, request)
  return {
    endpoint,
    cacheable: true,
    url,
    key,
    group,
    scope,
    tags,
    next: derived ?? next,
    invalidatedBy: invalidatingWrites(ports.catalogue, tags),
  }
}

/** Reads an entry as this caller would receive it. Throws as `resolveIndexUrl` does. `ports`: undefined if the cache is off. */
export async function readEntry(
  ports: ExplainPorts | undefined,
  { key, url }: { readonly key: string; readonly url: string },
  caller: Caller,
): Promise<EntryContents> {
  if (ports === undefined) return { kind: 'missing' }
  const resolved = ports.resolveTarget(await resolveIndexUrl(ports, url, caller))
  // The key contains the permissions: another key is a response for other permissions.
  if (typeof resolved === 'string' || resolved.key !== key) return { kind: 'otherPermissions' }
  const lookup = await ports.index.peek(key, resolved.tags)
  if (lookup.kind !== 'hit') return { kind: 'missing' }
  const { response } = lookup
  const { body: bytes, ttl } = response
  const { fenced } = lookup.epochs
  const [etag, encodings] = response.kind === 'response' ? [response.etag, encodedSizes(response.forms)] : ['', {}]
  return { kind: 'stored', etag, bytes, fenced, local: lookup.isLocal, freshFor: ttl - lookup.age, encodings }
}

/** Returns what the next request is, if a snapshot of the collection can answer it. */
async function explainSnapshot(ports: ExplainPorts, request: EdgeRead): Promise<NextRequest | undefined> {
  const target = derivableOf(ports, request)?.target
  if (target === undefined) return undefined
  const found = explainLookup(await ports.index.peek(target.key, target.tags))
  return found.hit
    ? { ...found, reason: `computed from a snapshot of the collection, which is ${found.reason}` }
    : undefined
}

function explainLookup(lookup: Lookup): NextRequest {
  if (lookup.kind === 'unavailable') return { hit: false, reason: 'the store is unreachable' }
  if (lookup.epochs.fenced) {
    return { hit: false, reason: 'a write to the data is in progress, or its outcome is unknown' }
  }
  if (lookup.kind === 'miss') {
    return { hit: false, reason: lookup.changed ? 'a write or a purge has changed the data since' : 'not stored' }
  }
  const { age, response } = lookup
  const { ttl, staleWhileRevalidate, staleIfError, staleInOutage, staleWhileHot } = response
  const times = { age, timeLeft: ttl - age }
  if (age < ttl) return { hit: true, reason: 'fresh', ...times }
  if (age < ttl + staleWhileRevalidate) return { hit: true, reason: 'stale, served while it is refreshed', ...times }
  if (age < ttl + staleIfError) return { hit: false, reason: 'stale, served only when nodes fail', ...times }
  if (age < ttl + staleWhileHot)
    return { hit: false, reason: 'stale, served only while it is requested often', ...times }
  if (age < ttl + staleInOutage) return { hit: false, reason: 'stale, served only while no node answers', ...times }
  return { hit: false, reason: 'stale, never served', ...times }
}

function invalidatingWrites(catalogue: readonly Endpoint[], tags: readonly Tag[]): readonly InvalidatingWrite[] {
  return catalogue.flatMap((record) => {
    if (!('invalidates' in record)) return []
    const always = record.invalidates.filter((entry) => typeof entry === 'string').filter(matchesTags)
    const conditional = record.invalidates
      .filter((entry) => typeof entry !== 'string')
      .filter((entry) => entry.tags.some(matchesTags))
    return always.length + conditional.length === 0 ? [] : [describeWrite(record, always, conditional)]
  })

  /** Whether some values make one of the tags from the template. */
  function matchesTags(template: Tag): boolean {
    const pattern = patternOf(template, needsResponse(template) ? '.+' : '[^*]+')
    return tags.some((tag) => new RegExp(`^${pattern}$`).test(tag))
  }

  function describeWrite(
    record: WriteEndpoint,
    always: readonly Tag[],
    conditional: readonly ConditionalTags[],
  ): InvalidatingWrite {
    const when = always.length > 0 ? [] : conditional.map(({ value, matches }) => `${value} matches ${matches}`)
    const matching = [...always, ...conditional.flatMap((entry) => entry.tags.filter(matchesTags))]
    return {
      write: `${record.method} ${nameOf(record)}`,
      tags: [...new Set(matching)],
      ...(when.length > 0 && { when }),
    }
  }
}

/** Returns the size in bytes of each encoded form that exists, by coding. */
function encodedSizes(forms: StoredForms): Readonly<Record<string, number>> {
  const sizes = (['br', 'gzip'] as const).map((coding) => [coding, forms[coding]?.encoded] as const)
  return Object.fromEntries(
    sizes.flatMap(([coding, bytes]) => (Buffer.isBuffer(bytes) ? [[coding, bytes.length]] : [])),
  )
}
