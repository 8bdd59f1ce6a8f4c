/** Sends random reads and writes of registers through random replicas, and records their history. */
import { setTimeout as pause } from 'node:timers/promises'
import { Agent, request } from 'undici'
import type { Operation } from './history.ts'
import { authorization } from './processes.ts'
import type { Random } from './random.ts'
import { isNotCarriedOut } from './write-log.ts'

export interface LoadOptions {
  readonly replicas: readonly string[]
  /** The name of the header in which a response names its replica, if `replicas` are balancers. */
  readonly replicaHeader?: string
  /** Of the port for the v4 contract of each replica: half of all requests are sent there. Absent: there is none. */
  readonly v4?: ReadonlyMap<string, string>
  /** Resolves to the value that a write has set, if its response does not name it. */
  readonly writtenValue?: (path: string) => Promise<number>
  readonly operations: number
  /** Number of callers, each with one request at a time. */
  readonly callers: number
  readonly random: Random
  /** Milliseconds after which a caller gives up and the outcome is unknown. */
  readonly patience: number
  /** `snapshots`: almost all reads are different queries of one collection, which a replica computes from a snapshot. */
  readonly reads?: 'registers' | 'snapshots'
  /** Share of reads of registers that no caller writes, so that they stay stored; default 0. */
  readonly unwritten?: number
  /** Milliseconds between two operations of a caller; default 0. */
  readonly interval?: number
  /** Called with the status of every response, 0 for none, and with the message of what was thrown. */
  readonly onOutcome?: (outcome: Outcome) => void
  /**
   * Each caller uses one replica only, and every second caller only reads: a slow replica, and writes that wait for it, do
   * not hold up the reads of the others.
   */
  readonly bound?: boolean
  /** Whether callers write through this replica now. Otherwise they read instead. Absent: they always do. */
  readonly mayWrite?: (replica: string) => boolean
  /** Called regularly. True: no further operation begins. */
  readonly enough: (history: readonly Operation[]) => boolean
  /** Whether the load goes on after its number of operations, as long as it is not enough. Default: no. */
  readonly isUnfinished?: (counted: Counted) => boolean
}

export interface Outcome {
  /** URL of the replica, or of the balancer. */
  readonly by: string
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
  /** By `performance.now()`. */
  readonly begin: number
  readonly end: number
}

/** What the responses so far were. */
export interface Counted {
  /** Number of reads that were cache hits. */
  readonly hits: number
  readonly reads: number
  /** Number of reads that were computed from a snapshot. */
  readonly derived: number
  /** Number of reads that are marked `detail=outage`, and `detail=without-redis`. */
  readonly inOutage: number
  readonly withoutRedis: number
  /** Numbers of those that no client had requested before at this port, so they were computed. */
  readonly derivedInOutage: number
  readonly derivedWithoutRedis: number
  /** Number of operations without a response in time, or with another status than 200. */
  readonly unanswered: number
  /** Number of writes that were answered as not carried out. */
  readonly refused: number
  /** Number of writes with an unknown outcome, which leave their fence. */
  readonly unknown: number
}

export interface Load extends Counted {
  readonly operations: number
  readonly history: readonly Operation[]
}

const KEYS = 8
/** The first of as many registers that no caller writes. */
const FIRST_UNWRITTEN = 1990
/**
 * After so many unknown outcomes, the load goes on with other keys: a write with an unknown outcome leaves its fence,
 * and reads under a fence prove nothing about the cache.
 */
const UNKNOWN_OUTCOMES_PER_KEYS = 4
/** Share of writes; with snapshots, in a burst. Each write invalidates the snapshot. */
const WRITES = { registers: 0.1, snapshots: 0.08 }
/** With bound callers: share of writes of those that write. */
const BOUND_WRITES = 0.1
/** Milliseconds. */
const CHECK_EVERY_MS = 250
const AFTER_REFUSAL = 50
/** Share of reads that read several registers. */
const LISTS = { registers: 0.1, snapshots: 0.95 }
/** So many different limits and ids, all above those of registers, that queries hardly ever repeat. */
const LIMITS = 900
const FIRST_ID_ABOVE = 3000
const IDS_ABOVE = 6000
/**
 * Milliseconds. With snapshots, callers write in bursts. In between the snapshots are valid, so the next burst begins when
 * this many reads were computed from one: a busy machine takes longer for them.
 */
const BURST_MS = 500
const LEAST_BETWEEN_BURSTS_MS = 1500
const MOST_BETWEEN_BURSTS_MS = 6000
const DERIVED_BETWEEN_BURSTS = 20
/** Share of the writes of registers between two reads of the same register: the first is in flight when the write begins. */
const BETWEEN_READS = 0.3
/** Milliseconds in which the first read reaches the node, at most. */
const AHEAD_OF_WRITE = 20

export interface Running {
  readonly finished: Promise<Load>
  readonly counted: Counted
  /** Sends one more write through one replica. */
  write(replica: string): Promise<boolean>
}

export function startLoad(options: LoadOptions): Running {
  const { random, operations, replicas, reads = 'registers' } = options
  const agent = new Agent({ pipelining: 1, connections: options.callers, headersTimeout: 0, bodyTimeout: 0 })
  const history: Operation[] = []
  const counted = {
    hits: 0,
    reads: 0,
    derived: 0,
    inOutage: 0,
    withoutRedis: 0,
    derivedInOutage: 0,
    derivedWithoutRedis: 0,
    unanswered: 0,
    refused: 0,
    unknown: 0,
  }
  const isBurst = createBursts(counted)
  const firstKey = () => 1 + KEYS * Math.floor(counted.unknown / UNKNOWN_OUTCOMES_PER_KEYS)
  const nextKey = () => padded(firstKey() + random.below(KEYS))
  let writes = 0
  let begun = 0
  let enough = false
  let checkedAt = performance.now()

  /** Tokens of replicas, whose keys end with the process. */
  const tokens = new Map<string, string>()
  async function tokenOf(base: string, signal: AbortSignal): Promise<string> {
    const known = tokens.get(base)
    if (known !== undefined) return known
    const { statusCode, body } = await request(`${base}/security/user/authenticate?raw=true`, {
      method: 'POST',
      headers: { authorization },
      dispatcher: agent,
      signal,
    })
    const text = await body.text()
    if (statusCode !== 200) return ''
    tokens.set(base, text)
    return text
  }

  /** Returns the same read or write in the v4 contract. */
  function inV4(path: string): string {
    return path.replace(/^\/agents\/(\d+)$/, '/agents?agents_list=$1')
  }

  async function send(method: 'GET' | 'PUT', by: string, path: string): Promise<Reply | undefined> {
    const v4 = options.v4 !== undefined && random.chance(0.5) ? options.v4.get(by) : undefined
    return v4 === undefined
      ? exchange({ method, by, url: by + path, path })
      : exchange({ method, by, url: v4 + inV4(path), path, tokenFrom: v4 })
  }

  const requested = new Set<string>()

  async function exchange({ method, by, url, path, tokenFrom }: Exchange): Promise<Reply | undefined> {
    const isFirst = !requested.has(url)
    requested.add(url)
    const signal = AbortSignal.timeout(options.patience)
    const begin = performance.now()
    const report = (outcome: Pick<Outcome, 'status' | 'headers' | 'text'>) =>
      options.onOutcome?.({ by, method, path, ...outcome, begin, end: performance.now() })
    try {
      const token = tokenFrom === undefined ? undefined : await tokenOf(tokenFrom, signal)
      const { statusCode, headers, body } = await request(url, {
        method,
        headers: { authorization: token === undefined ? authorization : `Bearer ${token}` },
        dispatcher: agent,
        signal,
      })
      const text = await body.text()
      report({ status: statusCode, headers, text })
      const cacheStatus = String(headers['cache-status'] ?? '')
      const detail = /;\s*detail=([\w/-]+)/.exec(cacheStatus)?.[1]
      const isAnswered = statusCode === 200
      if (statusCode === 401 && tokenFrom !== undefined) tokens.delete(tokenFrom)
      if (!isAnswered) counted.unanswered += 1
      const named = options.replicaHeader === undefined ? undefined : headers[options.replicaHeader]
      return { by: String(named ?? by), text, isAnswered, isHit: /;\s*hit\b/.test(cacheStatus), isFirst, detail }
    } catch (fault) {
      // The replica was killed or paused: the outcome is unknown.
      report({ status: 0, headers: {}, text: `${method} ${path}: ${fault}` })
      counted.unanswered += 1
      return undefined
    }
  }

  async function write(by: string, key = nextKey()): Promise<boolean> {
    const begin = performance.now()
    // A write begins before any read can return it, so it is added to the history at once.
    const at = history.push({ key, kind: 'write', begin, end: Number.POSITIVE_INFINITY, by }) - 1
    writes += 1
    const number = writes
    const reply = await send('PUT', by, `/agents/${key}/group/w${number}`)
    const answered = performance.now()
    const shown = Number(/value (\d+)/.exec(reply?.text ?? '')?.[1])
    const set = `/agents/${key}/group/w${number}`
    const value = !reply?.isAnswered ? 0 : shown > 0 ? shown : ((await options.writtenValue?.(set)) ?? 0)
    if (value > 0) history[at] = { key, kind: 'write', value, begin, end: answered, by: reply?.by ?? by }
    else if (reply !== undefined && isNotCarriedOut(reply.text)) {
      counted.refused += 1
      history[at] = { key, kind: 'refused', begin, end: answered, by }
    } else counted.unknown += 1
    return reply?.isAnswered === true
  }

  /** The reads go through one replica. The second begins when the write is acknowledged. */
  async function writeBetweenReads(by: string): Promise<boolean> {
    const key = nextKey()
    const [path, reader] = [`/agents/${key}`, random.of(replicas)]
    const before = read(reader, path)
    await pause(random.below(AHEAD_OF_WRITE))
    const isWritten = await write(by, key)
    await Promise.all([before, read(reader, path)])
    return isWritten
  }

  async function read(by: string, path = readPath()): Promise<boolean> {
    const begin = performance.now()
    const reply = await send('GET', by, path)
    const end = performance.now()
    if (reply?.isAnswered !== true) return false
    counted.reads += 1
    if (reply.isHit) counted.hits += 1
    if (reply.detail === 'snapshot') counted.derived += 1
    if (reply.detail === 'outage') counted.inOutage += 1
    if (reply.detail === 'outage' && reply.isFirst) counted.derivedInOutage += 1
    const isWithoutRedis = reply.detail === 'without-redis'
    if (isWithoutRedis) counted.withoutRedis += 1
    if (isWithoutRedis && reply.isFirst) counted.derivedWithoutRedis += 1
    const first = firstKey()
    const listed = rows(reply.text)
    const keys = Array.from({ length: KEYS }, (_, at) => padded(first + at))
    for (const { id, value } of [...listed, ...missingOf(path, listed, keys)]) {
      if (Number(id) >= first)
        history.push({
          key: id,
          kind: 'read',
          value,
          begin,
          end,
          by: reply.by,
          ...(isWithoutRedis && { isWithoutRedis }),
        })
    }
    return true
  }

  function readPath(): string {
    if (options.unwritten !== undefined && random.chance(options.unwritten))
      return `/agents/${FIRST_UNWRITTEN + random.below(KEYS)}`
    return random.chance(LISTS[reads]) ? listUrl() : `/agents/${nextKey()}`
  }

  /** Different pages of one collection, which the edge computes from a snapshot. */
  function listUrl(): string {
    if (reads === 'snapshots') {
      const above = `>${padded(firstKey() + random.below(KEYS) - 1)}`
      const condition = random.chance(0.3) ? above : `<${FIRST_ID_ABOVE + random.below(IDS_ABOVE)}`
      const sort = random.of(['id', '-id', 'name', '-name'])
      return `/agents?limit=${KEYS + random.below(LIMITS)}&sort=${sort}&q=id${condition}`
    }
    return random.chance(0.5)
      ? '/agents'
      : `/agents?limit=${1 + random.below(KEYS)}&offset=${firstKey() - 1 + random.below(3)}`
  }

  async function caller(_: unknown, index: number): Promise<void> {
    const place = Math.floor(index / replicas.length)
    const share = options.bound ? (place % 2) * BOUND_WRITES : WRITES[reads]
    while ((begun < operations || options.isUnfinished?.(counted) === true) && !enough) {
      begun += 1
      if (performance.now() - checkedAt > CHECK_EVERY_MS) {
        enough = options.enough(history)
        checkedAt = performance.now()
      }
      const by = (options.bound ? replicas[index % replicas.length] : undefined) ?? random.of(replicas)
      const hasBurst = reads === 'registers' || options.bound || isBurst()
      const writes = hasBurst && random.chance(share) && options.mayWrite?.(by) !== false
      const isBetween = writes && reads === 'registers' && !options.bound && random.chance(BETWEEN_READS)
      const answered = await (isBetween ? writeBetweenReads(by) : writes ? write(by) : read(by))
      // A killed replica refuses at once. Without this pause it would take most of the operations.
      if (!answered) await pause(AFTER_REFUSAL)
      else if (options.interval !== undefined) await pause(options.interval)
    }
  }

  const finished = Promise.all(Array.from({ length: options.callers }).map(caller)).then(async () => {
    await agent.destroy()
    return { operations: begun, history, ...counted }
  })
  return { finished, write, counted }
}

/** Returns whether callers write now. */
function createBursts(counted: Pick<Counted, 'derived'>): () => boolean {
  let end = performance.now() + BURST_MS
  let { derived } = counted
  return () => {
    const since = performance.now() - end
    if (since < LEAST_BETWEEN_BURSTS_MS) return since < 0
    if (since < MOST_BETWEEN_BURSTS_MS && counted.derived - derived < DERIVED_BETWEEN_BURSTS) return false
    end = performance.now() + BURST_MS
    derived = counted.derived
    return true
  }
}

interface Reply {
  /** The replica, by its URL or by the name in the response. */
  readonly by: string
  readonly text: string
  /** Its status is 200. */
  readonly isAnswered: boolean
  readonly isHit: boolean
  /** Its URL was not requested before. */
  readonly isFirst: boolean
  /** Of `Cache-Status`. */
  readonly detail: string | undefined
}

interface Exchange {
  readonly method: 'GET' | 'PUT'
  /** URL of the replica. */
  readonly by: string
  readonly url: string
  /** In the v3 contract. */
  readonly path: string
  /** The port of the v4 contract, which issues the token. Absent: the request has name and password. */
  readonly tokenFrom?: string
}

interface Row {
  readonly id: string
  readonly value: number
}

/** The row of an agent. `registerIP`: its register, in the v4 layout. */
type AnyRow = Row | { readonly id: string; readonly registerIP: string }
interface Body {
  readonly data: AnyRow | { readonly items: readonly AnyRow[] } | { readonly affected_items: readonly AnyRow[] }
}

function rows(text: string): readonly Row[] {
  const { data } = JSON.parse(text) as Body
  const all = 'items' in data ? data.items : 'affected_items' in data ? data.affected_items : [data]
  return all.map((row) => ('value' in row ? row : { id: row.id, value: Number(row.registerIP) }))
}

const padded = (id: number) => String(id).padStart(3, '0')

const DEFAULT_LIMIT = 500
/** With more digits, a node that compares texts has another order. */
const MAX_COMPARED_ID = 999

/** Returns the keys that a list lacks, as registers with their first value, if it shows all rows that its query selects. */
export function missingOf(path: string, listed: readonly Row[], keys: readonly string[]): readonly Row[] {
  const { pathname, searchParams } = new URL(path, 'http://edge')
  const isWhole = listed.length < Number(searchParams.get('limit') ?? DEFAULT_LIMIT)
  if (pathname !== '/agents' || searchParams.has('offset') || !isWhole) return []
  const [, order, bound] = /^id([<>])(\d+)$/.exec(searchParams.get('q') ?? 'id>000') ?? []
  const isSelected = (id: number) => id <= MAX_COMPARED_ID && (order === '>' ? id > Number(bound) : id < Number(bound))
  const shown = new Set(listed.map(({ id }) => id))
  return keys.filter((key) => isSelected(Number(key)) && !shown.has(key)).map((id) => ({ id, value: 0 }))
}
