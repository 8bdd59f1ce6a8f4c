/** What Redis does for a writer in the model, and what a replica does that learns of it. */
import type { Faults, Replica, State, Writer } from './model-state.ts'

/** Redis increments the epoch, sets or removes the fence, and sends the invalidation to all replicas. */
export function invalidate(
  { shared, replicas }: State,
  writer: Writer,
  command: 'fence' | 'lift',
  faults: Faults,
): void {
  if (faults.has('no invalidation') || (faults.has('no invalidation before') && command === 'fence')) return
  shared.epoch += 1
  const fence = command === 'fence' && !faults.has('no fence')
  shared.fences += Number(fence) - Number(writer.fence)
  writer.fence = fence
  const waitedFor = ({ lease, registered }: Replica): boolean =>
    lease && (registered || !faults.has('no waiting for unregistered replicas'))
  // With links, a writer has emptied the local tier of its own replica itself.
  const isOther = (replica: number): boolean => !shared.hasLinks || writer.replica !== replica
  writer.awaited = [isOther(0) && waitedFor(replicas[0]), isOther(1) && waitedFor(replicas[1])]
}

/** A replica learns of an invalidation: its local tier is empty, and responses that are being fetched stay out of it. */
export function forgetAt(next: State, replica: 0 | 1): void {
  next.replicas[replica].local = -1
  for (const reader of next.readers) if (reader.replica === replica) reader.trusted = false
}
