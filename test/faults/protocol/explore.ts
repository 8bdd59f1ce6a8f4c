/** Explores every execution of the specification, breadth first, so that a violation that is found is a shortest one. */
import type { Setting } from './settings.ts'
import { actions, initialState, isStale, type State } from './specification.ts'

export interface Explored {
  /** Distinct states. States that differ in the numbers of replicas, reads or writes only count once. */
  readonly states: number
  /** The actions of a shortest violation; the last one is the stale read. Absent: there is none. */
  readonly violation?: readonly string[]
  /** The names of all actions, without numbers. */
  readonly actions: ReadonlySet<string>
}

/** With more states, the specification has a mistake, or the setting is too large. */
const MAX_STATES = 6_000_000

/** Throws if there are too many states. */
export function explore(setting: Setting): Explored {
  const first = initialState(setting)
  const order = permutations(setting.replicas)
  const seen = new Set([nameOf(first, order)])
  const parents = [-1]
  const labels = ['']
  const taken = new Set<string>()
  // Only the states that are not explored yet stay in memory.
  let generation: { readonly state: State; readonly index: number }[] = [{ state: first, index: 0 }]
  while (generation.length > 0) {
    const next: typeof generation = []
    for (const { state, index } of generation) {
      for (const [label, change] of actions(state, setting)) {
        const copy = copyOf(state)
        const returned = change(copy)
        taken.add(label.replaceAll(/\d+/g, '#'))
        if (returned !== undefined && isStale(returned)) {
          return { states: seen.size, violation: [...pathTo(index, parents, labels), label], actions: taken }
        }
        const name = nameOf(copy, order)
        if (seen.has(name)) continue
        seen.add(name)
        if (seen.size > MAX_STATES) throw new Error(`more than ${MAX_STATES} states`)
        parents.push(index)
        labels.push(label)
        next.push({ state: copy, index: parents.length - 1 })
      }
    }
    generation = next
  }
  return { states: seen.size, actions: taken }
}

function pathTo(last: number, parents: readonly number[], labels: readonly string[]): string[] {
  const path: string[] = []
  for (let at = last; at > 0; at = parents[at] ?? 0) path.unshift(labels[at] ?? '')
  return path
}

function copyOf(state: State): State {
  return {
    ...state,
    writes: state.writes.map((write) => ({ ...write })),
    replicas: state.replicas.map((replica) => ({ ...replica })),
    reads: state.reads.map((read) => ({ ...read })),
  }
}

/** Returns the name that a state shares with those that differ in the numbers of replicas, reads or writes only. */
function nameOf(state: State, orders: readonly (readonly number[])[]): string {
  let least = ''
  for (const order of orders) {
    const name = nameIn(state, order)
    if (least === '' || name < least) least = name
  }
  return least
}

/** `order`: the new number of each replica. Of an epoch it only matters whether it is the present one: none is used twice. */
function nameIn(state: State, order: readonly number[]): string {
  const { carriedOut, nodeCache, stored, storedEpoch, epoch, losses, isDistrusted, newest } = state
  const own: string[] = []
  for (const [at, { local, hasLease, isRegistered }] of state.replicas.entries()) {
    own[order[at] ?? 0] = `${local}${hasLease ? 1 : 0}${isRegistered ? 1 : 0}`
  }
  const writes = state.writes.map(({ step, replica, value, isFenced, inFlight, hasReply, awaited }) => {
    let moved = 0
    for (const [at, to] of order.entries()) if ((awaited & (1 << at)) !== 0) moved |= 1 << to
    return `${step}${order[replica]}${value}${isFenced ? 1 : 0}${inFlight}${hasReply ? 1 : 0}${moved}`
  })
  const reads = state.reads.map((read) => {
    if (read.step === 'none') return ''
    const isPresent = read.epoch === epoch
    return `${read.step}${order[read.replica]}${isPresent ? 1 : 0}${read.isFenced ? 1 : 0}${read.value}.${read.floor}${read.isUndisturbed ? 1 : 0}`
  })
  const shared = `${carriedOut}.${nodeCache}.${stored}.${storedEpoch === epoch ? 1 : 0}${losses}${isDistrusted ? 1 : 0}${newest}`
  return `${shared}|${own.join()}|${writes.sort().join()}|${reads.sort().join()}`
}

function permutations(count: number): readonly (readonly number[])[] {
  if (count === 0) return [[]]
  return permutations(count - 1).flatMap((rest) =>
    Array.from({ length: count }, (_, at) => [...rest.slice(0, at), count - 1, ...rest.slice(at)]),
  )
}
