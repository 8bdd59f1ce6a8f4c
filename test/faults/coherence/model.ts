/**
 * A model of the coherence protocol: one key with one tag, two replicas, two readers, some writers, Redis and an upstream.
 * Every order of their steps is explored, breadth first, so that the first violation found is a shortest one. A value
 * is its place in the upstream's order of writes. A read is wrong if it returns less than what was acknowledged, or
 * returned by another read, before it began.
 */
import { type Fault, type State, type Step, start } from './model-state.ts'
import { steps } from './model-steps.ts'

export interface Search {
  readonly writers: number
  /** The part of the protocol that is left out. */
  readonly faults?: readonly Fault[]
  /** Redis may lose its data once, at any moment. */
  readonly flush?: boolean
  /** False: replicas have no local tier, and every read asks Redis. */
  readonly local?: boolean
  /** Links between replicas and Redis have faults. */
  readonly links?: boolean
}

export interface Found {
  /** Number of distinct states. Symmetrical states count once. */
  readonly states: number
  /** The steps of a shortest violation. The last one is the wrong read. Absent: there is none. */
  readonly violation?: readonly string[]
}

/** With more states, the model has a mistake. */
const LIMIT = 3_000_000

interface Reached {
  readonly state: State
  readonly from: number
  readonly label: string
}

/** Explores every execution. Throws if there are too many states. */
export function explore({ writers, faults = [], flush = false, local = true, links = false }: Search): Found {
  const planted = new Set(faults)
  const first = start(writers, flush, local, links)
  const seen = new Set([key(first)])
  const reached: Reached[] = [{ state: first, from: -1, label: '' }]
  for (let at = 0; at < reached.length; at += 1) {
    const here = reached[at]
    if (here === undefined) break
    for (const step of steps(here.state, planted)) {
      if (step.wrong) return { states: reached.length, violation: [...labels(reached, at), step.label] }
      remember(step, at, seen, reached)
    }
  }
  return { states: reached.length }
}

function remember({ next, label }: Step, from: number, seen: Set<string>, reached: Reached[]): void {
  const name = key(next)
  if (seen.has(name)) return
  seen.add(name)
  if (reached.push({ state: next, from, label }) > LIMIT) throw new Error(`more than ${LIMIT} states`)
}

function labels(reached: readonly Reached[], last: number): string[] {
  const trace: string[] = []
  for (let each = reached[last]; each !== undefined && each.from >= 0; each = reached[each.from]) {
    trace.unshift(each.label)
  }
  return trace
}

/**
 * Returns the name of a state. Replicas are interchangeable, and so are readers and writers: all permutations
 * have the smallest of their names. Of epochs it only matters whether they are current, since no epoch is used twice.
 */
function key(state: State): string {
  const one = image(state, 0)
  const other = image(state, 1)
  return one < other ? one : other
}

function image({ shared, writers, replicas, readers }: State, turn: 0 | 1): string {
  const { up, upstreamCached, fences, entry, entryEpoch, known, flushes, distrust } = shared
  const store = [up, upstreamCached, fences, entry, entryEpoch === shared.epoch, known, flushes, distrust].join()
  const own = (index: number): string =>
    `${replicas[index]?.local}${replicas[index]?.lease}${replicas[index]?.registered}`
  const writing = writers.map(({ at, value, awaited, fence, replica, toRedis, hasReply }) => {
    const link = shared.hasLinks ? [replica ^ turn, toRedis, hasReply] : []
    return [at, value, fence, awaited[turn], awaited[1 - turn], ...link].join()
  })
  const reading = readers.map(({ at, replica, epoch, fenced, value, floor, trusted }) =>
    at === 'idle' ? at : [at, replica ^ turn, epoch === shared.epoch, fenced, value, floor, trusted].join(),
  )
  return `${store}|${own(turn)}|${own(1 - turn)}|${writing.sort().join(';')}|${reading.sort().join(';')}`
}
