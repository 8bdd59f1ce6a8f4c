/** The live tail: each answered request to those who watch, and no more of them than they can read. */
import type { NodeCallEvent, RequestEvent } from '../../core/events.ts'
import type { TailBatch, TailLine } from './api-types.ts'

export interface TailFilter {
  /** `2xx`, `404`, … */
  readonly status?: string | undefined
  readonly endpoint?: string | undefined
  readonly user?: string | undefined
  readonly node?: string | undefined
  readonly cache?: string | undefined
}

export interface Tail {
  /** A call comes before the answer that it was for, and says which node gave it. */
  called(event: NodeCallEvent): void
  request(event: RequestEvent): void
  /** Gives what ends it; `undefined`: too many watch already. `send` says whether more can be taken. */
  watch(filter: TailFilter, send: (batch: TailBatch) => boolean): (() => void) | undefined
  close(): void
}

interface Watcher {
  readonly wanted: (line: TailLine) => boolean
  readonly send: (batch: TailBatch) => boolean
  lines: TailLine[]
  skipped: number
}

const WATCHERS = 20
/** Shown to one who begins to watch. */
const BEFORE = 200
/** Lines of one batch; what comes beyond is counted. */
const BATCH = 100
const EVERY = 250
/** Requests under way whose nodes are remembered. */
const UNDER_WAY = 2000

export function createTail(clock: () => number = Date.now): Tail {
  const watchers = new Set<Watcher>()
  const before: TailLine[] = []
  const nodes = new Map<string, string>()
  const timer = setInterval(() => {
    for (const watcher of watchers) flush(watcher)
  }, EVERY)
  timer.unref()
  return {
    called({ requestId, node }) {
      const known = nodes.get(requestId)
      if (known === undefined) nodes.set(requestId, node)
      else if (!known.split(', ').includes(node)) nodes.set(requestId, `${known}, ${node}`)
      const oldest = nodes.keys().next()
      if (nodes.size > UNDER_WAY && !oldest.done) nodes.delete(oldest.value)
    },
    request(event) {
      // A hit asked no node before it was answered.
      const node = event.cache === 'hit' ? undefined : nodes.get(event.requestId)
      if (node !== undefined) nodes.delete(event.requestId)
      const line = lineOf(event, clock(), node)
      before.push(line)
      if (before.length >= 2 * BEFORE) before.splice(0, BEFORE)
      for (const watcher of watchers) take(watcher, line)
    },
    watch(filter, send) {
      if (watchers.size >= WATCHERS) return undefined
      const wanted = matcher(filter)
      const watcher: Watcher = { wanted, send, lines: before.filter(wanted).slice(-BEFORE), skipped: 0 }
      watchers.add(watcher)
      flush(watcher)
      return () => void watchers.delete(watcher)
    },
    close() {
      clearInterval(timer)
      watchers.clear()
    },
  }
}

function take(watcher: Watcher, line: TailLine): void {
  if (!watcher.wanted(line)) return
  if (watcher.lines.length < BATCH) watcher.lines.push(line)
  else watcher.skipped += 1
}

function flush(watcher: Watcher): void {
  const { lines, skipped } = watcher
  if (lines.length === 0 && skipped === 0) return
  // Who cannot take more loses these lines and is told how many.
  const taken = watcher.send({ lines, skipped })
  watcher.skipped = taken ? 0 : skipped + lines.length
  watcher.lines = []
}

function lineOf(event: RequestEvent, at: number, node: string | undefined): TailLine {
  const { requestId: id, method, route, status, ms, bytes, cache, caller, client } = event
  const line = { id, at, method, route, status, ms, bytes, cache, user: caller ?? '–', client }
  return node === undefined ? line : { ...line, node }
}

function matcher({ status, endpoint, user, node, cache }: TailFilter): (line: TailLine) => boolean {
  const has = (text: string | undefined, part: string | undefined) =>
    part === undefined || part === '' || (text ?? '').toLowerCase().includes(part.toLowerCase())
  const start = status?.replace(/x+$/i, '') ?? ''
  return (line) =>
    String(line.status).startsWith(start) &&
    has(`${line.method} ${line.route}`, endpoint) &&
    has(line.user, user) &&
    has(line.node, node) &&
    (cache === undefined || cache === '' || line.cache === cache)
}
