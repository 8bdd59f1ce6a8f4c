/** The steps of a reader in the model: lookup; hit, fetch or join; return; store in Redis and in the local tier. */
import type { AddStep, Faults, Reader, State } from './model-state.ts'

const replicas = [0, 1] as const
const idle: Reader = { at: 'idle', replica: 0, epoch: 0, fenced: false, value: 0, floor: 0, trusted: false }

/** A read returns `value`. `floor`: the newest value that was acknowledged or returned before it began. */
function returns({ shared }: State, value: number, floor: number): boolean {
  shared.known = Math.max(shared.known, value)
  return value < floor
}

/** Returns the next possible steps of reader `index`. */
export function readerSteps(state: State, index: 0 | 1, faults: Faults, addStep: AddStep): void {
  const reader = state.readers[index]
  const name = `reader ${index + 1}`
  if (reader.at === 'idle') for (const replica of replicas) beginSteps(state, index, replica, faults, addStep)
  if (reader.at === 'fetch') {
    addStep(`${name}: upstream read`, (next) => {
      const { shared } = next
      if (faults.has('no bypass') && shared.upstreamCached < 0) shared.upstreamCached = shared.up
      next.readers[index] = {
        ...reader,
        at: 'read',
        value: faults.has('no bypass') ? shared.upstreamCached : shared.up,
      }
      return false
    })
  }
  if (reader.at === 'read') addStep(`${name}: returns ${reader.value}`, (next) => complete(next, index))
  if (reader.at === 'store') {
    addStep(`${name}: stores ${reader.value}`, (next) => {
      next.shared.entry = reader.value
      next.shared.entryEpoch = reader.epoch
      next.readers[index] = beforeLocalStore(next, reader)
      return false
    })
  }
  if (reader.at === 'local store') {
    addStep(`${name}: stores locally at replica ${reader.replica + 1}`, (next) => {
      if (reader.trusted || faults.has('no second check')) next.replicas[reader.replica].local = reader.value
      next.readers[index] = idle
      return false
    })
  }
}

function beginSteps(state: State, index: 0 | 1, replica: 0 | 1, faults: Faults, addStep: AddStep): void {
  const { shared } = state
  const { local, lease } = state.replicas[replica]
  const other = state.readers[index === 0 ? 1 : 0]
  const name = `reader ${index + 1} at replica ${replica + 1}`
  if (local >= 0 && (lease || faults.has('no lease'))) {
    addStep(`${name}: local hit, returns ${local}`, (next) => returns(next, local, shared.known))
  }
  if (shared.hasLinks) {
    addStep(`${name}: gets no epochs in time`, (next) => {
      next.readers[index] = { ...idle, at: 'fetch', replica, fenced: true, floor: shared.known }
      return false
    })
  }
  const fenced = shared.fences > 0 || shared.distrust > 0
  const same = shared.entryEpoch === shared.epoch && !fenced
  const begun: Reader = { ...idle, replica, epoch: shared.epoch, fenced, floor: shared.known, trusted: lease }
  if (shared.entry >= 0 && (same || faults.has('no compare'))) {
    addStep(`${name}: hit, returns ${shared.entry}`, (next) => {
      next.readers[index] = beforeLocalStore(next, { ...begun, value: shared.entry })
      return returns(next, shared.entry, shared.known)
    })
    return
  }
  addStep(`${name}: reads the epochs, misses`, (next) => {
    next.readers[index] = { ...begun, at: 'fetch' }
    return false
  })
  const inFlight = (other.at === 'fetch' || other.at === 'read') && other.replica === replica
  const isEqual = !fenced && !other.fenced && other.epoch === shared.epoch
  if (inFlight && (isEqual || faults.has('collapsing without epochs'))) {
    addStep(`${name}: reads the epochs, misses, joins the fetch in flight`, (next) => {
      next.readers[index] = { ...begun, at: 'joined', epoch: 0, fenced: false, trusted: false }
      return false
    })
  }
}

/** The rest of a read that returned: its value may still be stored in the local tier. */
function beforeLocalStore({ shared }: State, reader: Reader): Reader {
  return shared.hasLocalTiers ? { ...reader, at: 'local store', epoch: 0, floor: 0 } : idle
}

/** The fetch has ended: its reader and those that joined it return. */
function complete(state: State, index: 0 | 1): boolean {
  const reader = state.readers[index]
  const follower = index === 0 ? 1 : 0
  let wrong = returns(state, reader.value, reader.floor)
  if (state.readers[follower].at === 'joined') {
    wrong = returns(state, reader.value, state.readers[follower].floor) || wrong
    state.readers[follower] = idle
  }
  state.readers[index] = reader.fenced ? idle : { ...reader, at: 'store', floor: 0 }
  return wrong
}
