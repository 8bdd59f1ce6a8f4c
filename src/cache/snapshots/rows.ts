/**
 * The rows of snapshots. The stored response of a snapshot is short: it names the rows by an id. This process has the
 * rows as text and as columns, within their own bound of memory, so that they never evict other responses. All replicas
 * find them in the shared store, in parts. Each part carries the id, so rows of two snapshots are never mixed.
 */
import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { parseEnvelope } from '../../core/envelope.ts'
import type { JsonResponse } from '../../core/response.ts'
import type { Source } from '../../query/sources.ts'
import type { SharedParts } from '../stores/contract.ts'
import type { CollectionRows } from './build.ts'
import { type QueriedRows, readParts } from './queried-rows.ts'

/** What the stored response of a snapshot names. */
export interface SnapshotHead {
  readonly id: string
  /** Where its parts are stored: a snapshot and the one that replaces it use different places. */
  readonly place: 0 | 1
  readonly parts: number
  readonly bytes: number
  /** Members of `data` beside the rows and their number: `failed_nodes` of a joined collection. */
  readonly others?: Readonly<Record<string, unknown>>
  readonly totalItems: number
}

interface Storing {
  readonly ms: number
  readonly replaced: SnapshotHead | undefined
  /** Whether other replicas may read the rows. Default: yes. */
  readonly isShared?: boolean
}

type StoredRows = Promise<QueriedRows | undefined>

export interface SnapshotRowsOptions {
  /** Absent: no other replica reads the rows. */
  readonly shared: SharedParts | undefined
  /** Returns the maximum of the bytes of all rows, as text. The setting may change. */
  readonly maxBytes: () => number
}

export class SnapshotRows {
  readonly #options: SnapshotRowsOptions
  /** By key and place: at most two snapshots of one collection. */
  readonly #rows = new LRUCache<string, { readonly head: SnapshotHead; readonly rows: StoredRows }>({
    maxSize: Number.MAX_SAFE_INTEGER,
    sizeCalculation: ({ head }) => Math.max(1, head.bytes),
    // A timer for each snapshot: the memory is freed although no request comes.
    ttlAutopurge: true,
    ttl: 0,
  })

  constructor(options: SnapshotRowsOptions) {
    this.#options = options
  }

  /** The bytes of all rows in this process, as text, and the number of snapshots. */
  get size(): { readonly bytes: number; readonly snapshots: number } {
    return { bytes: this.#rows.calculatedSize, snapshots: this.#rows.size }
  }

  /**
   * Stores the rows of a new snapshot for `ms` milliseconds, and returns its head. Returns undefined if other replicas
   * could not read them. `key`: of the stored response. `replaced`: the head of the snapshot that is stored now.
   */
  async add(
    key: string,
    { totalItems, parts, bytes, others = {} }: CollectionRows & Pick<SnapshotHead, 'others'>,
    source: Source,
    { ms, replaced, isShared = true }: Storing,
  ): Promise<SnapshotHead | undefined> {
    const shared = isShared ? this.#options.shared : undefined
    const place = replaced?.place === 0 ? 1 : 0
    const named = Object.keys(others).length > 0 ? { others } : undefined
    const head = { id: randomUUID(), place, parts: parts.length, bytes, ...named, totalItems } as const
    for (const [at, part] of shared === undefined ? [] : parts.entries()) {
      if (!(await shared?.set(nameOf(key, head, at), head.id, part, ms))) return undefined
    }
    this.#put(key, head, readParts(parts, source), ms)
    return head
  }

  /** Returns the rows of a snapshot; undefined if some of them are missing. `ms`: how long they may be needed. */
  find(key: string, head: SnapshotHead, source: Source, ms: number): StoredRows {
    const known = this.#rows.get(placeOf(key, head))
    if (known?.head.id === head.id) return known.rows
    const rows = this.#read(key, head, source)
    // Also if some are missing: each query would read the others again.
    this.#put(key, head, rows, ms)
    return rows
  }

  #put(key: string, head: SnapshotHead, rows: StoredRows, ms: number): void {
    const maxBytes = this.#options.maxBytes()
    if (head.bytes > maxBytes) return
    this.#rows.set(placeOf(key, head), { head, rows }, { ttl: Math.max(1, Math.ceil(ms)) })
    while (this.#rows.calculatedSize > maxBytes) this.#rows.pop()
  }

  async #read(key: string, head: SnapshotHead, source: Source): StoredRows {
    const { shared, maxBytes } = this.#options
    if (shared === undefined || head.bytes > maxBytes()) return undefined
    const parts: Buffer[] = []
    for (let at = 0; at < head.parts; at += 1) {
      const part = await shared.get(nameOf(key, head, at), head.id)
      if (part === undefined) return undefined
      parts.push(part)
    }
    const rows = await readParts(parts, source)
    return [rows.table.length, rows.texts.length].every((length) => length === head.totalItems) ? rows : undefined
  }
}

function placeOf(key: string, { place }: SnapshotHead): string {
  return `${key}:${place}`
}

function nameOf(key: string, head: SnapshotHead, at: number): string {
  return `${placeOf(key, head)}:${at}`
}

/** Returns the response that is stored for a snapshot. */
export function toResponse(head: SnapshotHead): JsonResponse {
  const body = Buffer.from(JSON.stringify({ error: 0, data: head }))
  return { kind: 'json', status: 200, body, errorNumber: 0, rowBytes: head.bytes }
}

/** Parses the stored response of a snapshot. Returns undefined for any other, such as one of an older release. */
export function parseHead(response: Pick<JsonResponse, 'body'>): SnapshotHead | undefined {
  if (response.body.length > MAX_HEAD_BYTES) return undefined
  const { data } = parseEnvelope({ kind: 'json', status: 200, body: response.body })
  const { id, place, parts, bytes, others, totalItems } = (data ?? {}) as Partial<SnapshotHead>
  if (typeof id !== 'string' || (place !== 0 && place !== 1)) return undefined
  if (![parts, bytes, totalItems].every((count) => Number.isSafeInteger(count))) return undefined
  return { id, place, parts, bytes, ...(others && { others }), totalItems } as SnapshotHead
}

/** It may name hundreds of nodes. */
const MAX_HEAD_BYTES = 128 * 1024
