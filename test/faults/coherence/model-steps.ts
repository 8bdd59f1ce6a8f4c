/**
 * The steps of the model, each atomic. Where a real step takes time, the model assumes the strictest order: a read begins
 * with its lookup and ends as soon as its value is known.
 */
import { forgetAt } from './model-invalidation.ts'
import { readerSteps } from './model-reads.ts'
import type { AddStep, Faults, Replica, State, Step } from './model-state.ts'
import { writerSteps } from './model-writes.ts'

const replicas = [0, 1] as const

/** Returns all possible next steps. */
export function steps(state: State, faults: Faults): Step[] {
  const found: Step[] = []
  const addStep: AddStep = (label, change) => {
    const next = copy(state)
    const wrong = change(next)
    found.push({ label, next, wrong })
  }
  for (const index of [0, 1] as const) readerSteps(state, index, faults, addStep)
  for (const index of state.writers.keys()) writerSteps(state, index, faults, addStep)
  if (state.shared.hasLocalTiers) for (const replica of replicas) replicaSteps(state, replica, faults, addStep)
  storeSteps(state, faults, addStep)
  return found
}

function copy({ shared, writers, replicas: [one, two], readers: [first, second] }: State): State {
  return {
    shared: { ...shared },
    writers: writers.map((writer) => ({ ...writer, awaited: [writer.awaited[0], writer.awaited[1]] })),
    replicas: [{ ...one }, { ...two }],
    readers: [{ ...first }, { ...second }],
  }
}

function replicaSteps(state: State, replica: 0 | 1, faults: Faults, addStep: AddStep): void {
  const own: Replica = state.replicas[replica]
  const name = `replica ${replica + 1}`
  for (const [index, { awaited }] of state.writers.entries()) {
    if (!awaited[replica]) continue
    addStep(`${name}: receives the invalidation of writer ${index + 1}`, (next) => {
      const writer = next.writers[index]
      if (writer !== undefined) writer.awaited[replica] = false
      forgetAt(next, replica)
      return false
    })
  }
  if (own.lease) {
    addStep(`${name}: its lease expires, messages are lost`, (next) => {
      forgetAt(next, replica)
      next.replicas[replica] = { local: faults.has('no lease') ? own.local : -1, lease: false, registered: false }
      for (const writer of next.writers) writer.awaited[replica] = false
      return false
    })
    return
  }
  addStep(`${name}: a new lease`, (next) => {
    next.replicas[replica] = { local: -1, lease: true, registered: true }
    return false
  })
}

function storeSteps({ shared, writers }: State, faults: Faults, addStep: AddStep): void {
  if (shared.upstreamCached >= 0) {
    addStep('the cache of the upstream expires', (next) => {
      next.shared.upstreamCached = -1
      return false
    })
  }
  if (shared.flushes > 0) {
    addStep('Redis loses its data', (next) => {
      const distrust = faults.has('no distrust') ? 0 : 1
      Object.assign(next.shared, { flushes: 0, distrust, fences: 0, entry: -1, epoch: shared.epoch + 1 })
      for (const writer of next.writers) writer.fence = false
      if (faults.has('no waiting for unregistered replicas'))
        for (const replica of next.replicas) replica.registered = false
      return false
    })
  }
  if (shared.distrust === 0) return
  const lost = writers.filter(({ at, fence }) => !fence && (at === 'invalidated' || at === 'applied' || at === 'sent'))
  for (const [index, writer] of writers.entries()) {
    if (!lost.includes(writer)) continue
    addStep(`writer ${index + 1}: renews its fence`, (next) => {
      next.shared.fences += 1
      Object.assign(next.writers[index] ?? {}, { fence: true })
      return false
    })
  }
  if (lost.length === 0) {
    addStep('the store is trusted again', (next) => {
      next.shared.distrust = 0
      return false
    })
  }
}
