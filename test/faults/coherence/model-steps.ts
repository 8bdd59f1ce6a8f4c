/**
 * The steps of the model, each atomic. Where a real step takes time, the model assumes the strictest order: a read begins
 * with its lookup and ends as soon as its value is known.
 */
import { readerSteps } from './model-reads.ts'
import type { Faults, Replica, Say, State, Step } from './model-state.ts'
import { writerSteps } from './model-writes.ts'

const replicas = [0, 1] as const

/** Returns all possible next steps. */
export function steps(state: State, faults: Faults): Step[] {
  const found: Step[] = []
  const say: Say = (label, change) => {
    const next = copy(state)
    const wrong = change(next)
    found.push({ label, next, wrong })
  }
  for (const index of [0, 1] as const) readerSteps(state, index, faults, say)
  for (const index of state.writers.keys()) writerSteps(state, index, faults, say)
  if (state.shared.nearCopies) for (const replica of replicas) replicaSteps(state, replica, faults, say)
  storeSteps(state, faults, say)
  return found
}

function copy({ shared, writers, replicas: [one, two], readers: [first, second] }: State): State {
  return {
    shared: { ...shared },
    writers: writers.map((writer) => ({ ...writer, owed: [writer.owed[0], writer.owed[1]] })),
    replicas: [{ ...one }, { ...two }],
    readers: [{ ...first }, { ...second }],
  }
}

function replicaSteps(state: State, replica: 0 | 1, faults: Faults, say: Say): void {
  const forget = (next: State): void => {
    for (const reader of next.readers) if (reader.replica === replica) reader.trusted = false
  }
  const own: Replica = state.replicas[replica]
  const name = `replica ${replica + 1}`
  for (const [index, { owed }] of state.writers.entries()) {
    if (!owed[replica]) continue
    say(`${name}: the raise of writer ${index + 1} comes in`, (next) => {
      const writer = next.writers[index]
      if (writer !== undefined) writer.owed[replica] = false
      next.replicas[replica].near = -1
      forget(next)
      return false
    })
  }
  if (own.lease) {
    say(`${name}: its lease runs out, messages are lost`, (next) => {
      next.replicas[replica] = { near: faults.has('no lease') ? own.near : -1, lease: false, registered: false }
      for (const writer of next.writers) writer.owed[replica] = false
      forget(next)
      return false
    })
    return
  }
  say(`${name}: a new lease`, (next) => {
    next.replicas[replica] = { near: -1, lease: true, registered: true }
    return false
  })
}

function storeSteps({ shared, writers }: State, faults: Faults, say: Say): void {
  if (shared.upKept >= 0) {
    say("the upstream's own entry runs out", (next) => {
      next.shared.upKept = -1
      return false
    })
  }
  if (shared.flushes > 0) {
    say('Redis loses its memory', (next) => {
      const distrust = faults.has('no distrust') ? 0 : 1
      Object.assign(next.shared, { flushes: 0, distrust, fences: 0, entry: -1, epoch: shared.epoch + 1 })
      for (const writer of next.writers) writer.fence = false
      if (faults.has('no waiting for the forgotten')) for (const replica of next.replicas) replica.registered = false
      return false
    })
  }
  if (shared.distrust === 0) return
  const lost = writers.filter(({ at, fence }) => !fence && (at === 'raised' || at === 'applied' || at === 'sent'))
  for (const [index, writer] of writers.entries()) {
    if (!lost.includes(writer)) continue
    say(`writer ${index + 1}: renews its fence`, (next) => {
      next.shared.fences += 1
      Object.assign(next.writers[index] ?? {}, { fence: true })
      return false
    })
  }
  if (lost.length === 0) {
    say('the store is trusted again', (next) => {
      next.shared.distrust = 0
      return false
    })
  }
}
