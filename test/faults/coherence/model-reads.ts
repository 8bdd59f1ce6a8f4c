/** The steps of a reader in the model: lookup; hit, fetch or join; return; store in Redis and in the local tier. */
import type { Faults, Reader, Say, State } from './model-state.ts'

const replicas = [0, 1] as const
const idle: Reader = { at: 'idle', replica: 0, epoch: 0, fenced: false, value: 0, floor: 0, trusted: false }

/** A read returns `value`. `floor`: the newest value that was acknowledged or returned before it began. */
function returns({ shared }: State, value: number, floor: number): boolean {
  shared.known = Math.max(shared.known, value)
  return value < floor
}

/** Returns the next possible steps of reader `index`. */
export function readerSteps(state: State, index: 0 | 1, faults: Faults, say: Say): void {
  const reader = state.readers[index]
  const name = `reader ${index + 1}`
  if (reader.at === 'idle') for (const replica of replicas) beginSteps(state, index, replica, faults, say)
  if (reader.at === 'fill') {
    say(`${name}: upstream read`, (next) => {
      const { shared } = next
      if (faults.has('no bypass') && shared.upKept < 0) shared.upKept = shared.up
      next.readers[index] = { ...reader, at: 'read', value: faults.has('no bypass') ? shared.upKept : shared.up }
      return false
    })
  }
  if (reader.at === 'read') say(`${name}: returns ${reader.value}`, (next) => complete(next, index))
  if (reader.at === 'keep') {
    say(`${name}: stores ${reader.value}`, (next) => {
      next.shared.entry = reader.value
      next.shared.entryEpoch = reader.epoch
      next.readers[index] = beforeNear(next, reader)
      return false
    })
  }
  if (reader.at === 'near') {
    say(`${name}: near copy at replica ${reader.replica + 1}`, (next) => {
      if (reader.trusted || faults.has('no look again')) next.replicas[reader.replica].near = reader.value
      next.readers[index] = idle
      return false
    })
  }
}

function beginSteps(state: State, index: 0 | 1, replica: 0 | 1, faults: Faults, say: Say): void {
  const { shared } = state
  const { near, lease } = state.replicas[replica]
  const other = state.readers[index === 0 ? 1 : 0]
  const name = `reader ${index + 1} at replica ${replica + 1}`
  if (near >= 0 && (lease || faults.has('no lease'))) {
    say(`${name}: near hit, returns ${near}`, (next) => returns(next, near, shared.known))
  }
  const fenced = shared.fences > 0 || shared.distrust > 0
  const same = shared.entryEpoch === shared.epoch && !fenced
  const looked: Reader = { ...idle, replica, epoch: shared.epoch, fenced, floor: shared.known, trusted: lease }
  if (shared.entry >= 0 && (same || faults.has('no compare'))) {
    say(`${name}: hit, returns ${shared.entry}`, (next) => {
      next.readers[index] = beforeNear(next, { ...looked, value: shared.entry })
      return returns(next, shared.entry, shared.known)
    })
    return
  }
  say(`${name}: reads the epochs, misses`, (next) => {
    next.readers[index] = { ...looked, at: 'fill' }
    return false
  })
  const flight = (other.at === 'fill' || other.at === 'read') && other.replica === replica
  const alike = !fenced && !other.fenced && other.epoch === shared.epoch
  if (flight && (alike || faults.has('joining without epochs'))) {
    say(`${name}: reads the epochs, misses, joins the flight`, (next) => {
      next.readers[index] = { ...looked, at: 'joined', epoch: 0, fenced: false, trusted: false }
      return false
    })
  }
}

/** The rest of a read that returned: its value may still be stored in the local tier. */
function beforeNear({ shared }: State, reader: Reader): Reader {
  return shared.nearCopies ? { ...reader, at: 'near', epoch: 0, floor: 0 } : idle
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
  state.readers[index] = reader.fenced ? idle : { ...reader, at: 'keep', floor: 0 }
  return wrong
}
