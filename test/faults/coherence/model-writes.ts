/** The steps of a writer in the model: invalidate and fence, forward, invalidate and lift, wait, acknowledge. */
import type { Faults, Replica, Say, State, Writer } from './model-state.ts'

/** Returns the next possible steps of writer `index`. */
export function writerSteps(state: State, index: number, faults: Faults, say: Say): void {
  const writer = state.writers[index]
  if (writer === undefined) return
  const name = `writer ${index + 1}`
  const told = !writer.owed[0] && !writer.owed[1]
  const step = (label: string, change: (next: State, writer: Writer) => void): void =>
    say(`${name}: ${label}`, (next) => {
      const own = next.writers[index]
      if (own !== undefined) change(next, own)
      return false
    })
  if (writer.at === 'ready') step('raises, fences', (next, own) => raise(next, own, 'raised', faults))
  if (writer.at === 'raised' && (told || faults.has('no waiting') || faults.has('no waiting before'))) {
    step('the upstream acts', (next, own) => apply(next, own, 'applied'))
    step('forwards, hears nothing', (next, own) => leave(next, own, 'sent', faults))
  }
  if (writer.at === 'sent') step('the upstream acts late', (next, own) => apply(next, own, 'gone'))
  if (writer.at === 'applied') step('raises, lifts', (next, own) => raise(next, own, 'lifted', faults))
  if (writer.at === 'lifted' && (told || faults.has('no waiting'))) {
    step(`acknowledged (${writer.value})`, (next, own) => {
      next.shared.known = Math.max(next.shared.known, own.value)
      Object.assign(own, { at: 'done', value: 0, owed: [false, false] })
    })
  }
}

function raise({ shared, replicas: all }: State, writer: Writer, at: 'raised' | 'lifted', faults: Faults): void {
  writer.at = at
  if (faults.has('no raise') || (faults.has('no raise before') && at === 'raised')) return
  shared.epoch += 1
  const fence = at === 'raised' && !faults.has('no fence')
  shared.fences += Number(fence) - Number(writer.fence)
  writer.fence = fence
  const waitedFor = ({ lease, registered }: Replica): boolean =>
    lease && (registered || !faults.has('no waiting for the forgotten'))
  writer.owed = [waitedFor(all[0]), waitedFor(all[1])]
}

function apply({ shared }: State, writer: Writer, at: 'applied' | 'gone'): void {
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
