/** The steps of a writer in the model: invalidate and fence, forward, invalidate and lift, wait, acknowledge. */
import { invalidate } from './model-invalidation.ts'
import { linkSteps } from './model-links.ts'
import type { AddStep, Faults, State, Writer } from './model-state.ts'

/** Returns the next possible steps of writer `index`. */
export function writerSteps(state: State, index: number, faults: Faults, addStep: AddStep): void {
  const writer = state.writers[index]
  if (writer === undefined) return
  const name = `writer ${index + 1}`
  const allAcknowledged = !writer.awaited[0] && !writer.awaited[1]
  const step = (label: string, change: (next: State, writer: Writer) => void): void =>
    addStep(`${name}: ${label}`, (next) => {
      const own = next.writers[index]
      if (own !== undefined) change(next, own)
      return false
    })
  const { hasLinks } = state.shared
  if (hasLinks) linkSteps(state, index, faults, addStep)
  if (writer.at === 'ready' && !hasLinks) {
    step('invalidates, sets the fence', (next, own) => {
      own.at = 'invalidated'
      invalidate(next, own, 'fence', faults)
    })
  }
  if (writer.at === 'invalidated' && (allAcknowledged || faults.has('no waiting') || faults.has('no waiting before'))) {
    step('the upstream acts', (next, own) => apply(next, own, 'applied'))
    step('forwards, gets no response', (next, own) => leave(next, own, 'sent', faults))
  }
  if (writer.at === 'sent') step('the upstream acts late', (next, own) => apply(next, own, 'applied late'))
  if (writer.at === 'applied' && !hasLinks) {
    step('invalidates, lifts the fence', (next, own) => {
      own.at = 'lifted'
      invalidate(next, own, 'lift', faults)
    })
  }
  if (writer.at === 'lifted' && (allAcknowledged || faults.has('no waiting'))) {
    step(`acknowledged (${writer.value})`, (next, own) => {
      next.shared.known = Math.max(next.shared.known, own.value)
      Object.assign(own, { at: 'done', value: 0, awaited: [false, false] })
    })
  }
}

function apply({ shared }: State, writer: Writer, at: 'applied' | 'applied late'): void {
  shared.up += 1
  writer.at = at
  writer.value = at === 'applied' ? shared.up : 0
}

function leave({ shared }: State, writer: Writer, at: 'sent', faults: Faults): void {
  writer.at = at
  if (!faults.has('no fence left') || !writer.fence) return
  shared.fences -= 1
  writer.fence = false
}
