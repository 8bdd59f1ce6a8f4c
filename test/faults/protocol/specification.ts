/**
 * The specification of the coherence protocol: its states, its actions and its invariant. `explore.ts` checks every
 * execution (`npm run check:protocol`), and `traces.ts` checks that runs of real replicas are executions of it.
 *
 * One key with one tag is enough: keys share nothing but the order of messages. A value is its place in the order of the
 * writes that the node carried out; it begins as 0. Messages between replicas and Redis take any time and may be lost,
 * and Redis may lose its data. Time is left out: a lease may end in any state in which the protocol does not depend on
 * its length, and where a replica waits until a lease has ended, the action is possible after the end only.
 *
 * INVARIANT. A read never returns less than the newest value that was acknowledged to a client, or returned by another
 * read, before it began. A refused write (930) has not reached the node. Each function below yields the possible actions.
 */

import { lacks, type Setting } from './settings.ts'

/** The steps of a write in order, then the ways in which it can end otherwise. */
type Progress = 'new' | 'fencing' | 'fenced' | 'carried out' | 'lifting' | 'lifted' | 'acknowledged'
type WriteStep = Progress | 'refused' | 'unconfirmed' | 'no response' | 'carried out late'

export interface Write {
  step: WriteStep
  /** The replica that it passes through. */
  replica: number
  value: number
  /** Its fence is in Redis. */
  isFenced: boolean
  /** Its command that Redis has not processed yet, and whether the reply to one is on its way. */
  inFlight: 'nothing' | 'fence' | 'lift'
  hasReply: boolean
  /** Bit set of the replicas whose acknowledgement, or the end of whose lease, it waits for. */
  awaited: number
}

export interface Read {
  step: 'none' | 'fetching' | 'fetched' | 'joined' | 'storing' | 'storing locally'
  replica: number
  /** The epoch of its lookup, and whether there was a fence, or no reply in time. */
  epoch: number
  isFenced: boolean
  value: number
  /** The newest value that was acknowledged or returned before it began. */
  floor: number
  /** Since its lookup, its replica has received no invalidation and has not lost its lease. */
  isUndisturbed: boolean
}

export interface Replica {
  /** The value in the local tier with known epochs; -1: none. */
  local: number
  /** The replica may serve its local tier. Redis lists it as registered at least as long, unless it loses its data. */
  hasLease: boolean
  isRegistered: boolean
}

export interface State {
  /** Writes that the node has carried out, and the value in the cache of the node; -1: none. */
  carriedOut: number
  nodeCache: number
  epoch: number
  /** The stored response in Redis; -1: none. */
  stored: number
  storedEpoch: number
  /** How often Redis may still lose its data, and whether replicas do not use it until fences are set again. */
  losses: number
  isDistrusted: boolean
  /** The newest value that was acknowledged or, if the invariant includes it, returned. */
  newest: number
  isMonotonic: boolean
  writes: Write[]
  replicas: Replica[]
  reads: Read[]
}

/** An action: `change` modifies a copy of the state. It returns the value and the floor of a read that returns. */
export type Action = readonly [name: string, change: (next: State) => Returned | undefined]
export type Returned = Pick<Read, 'value' | 'floor'>

const NO_READ: Read = { step: 'none', replica: 0, epoch: 0, isFenced: false, value: 0, floor: 0, isUndisturbed: false }

export function initialState(setting: Setting): State {
  const { replicas, writers, reads = 2, local = true, loss = false, slowReplies = false } = setting
  const write: Omit<Write, 'replica'> = {
    step: 'new',
    value: 0,
    isFenced: false,
    inFlight: 'nothing',
    hasReply: false,
    awaited: 0,
  }
  return {
    carriedOut: 0,
    nodeCache: -1,
    epoch: 0,
    stored: -1,
    storedEpoch: -1,
    losses: loss ? 1 : 0,
    isDistrusted: false,
    newest: 0,
    isMonotonic: !slowReplies,
    writes: Array.from({ length: writers }, (_, at) => ({ ...write, replica: at % replicas })),
    replicas: Array.from({ length: replicas }, () => ({ local: -1, hasLease: local, isRegistered: local })),
    reads: Array.from({ length: reads }, () => ({ ...NO_READ })),
  }
}

/** Whether a read breaks the invariant. */
export const isStale = ({ value, floor }: Returned): boolean => value < floor

/** All actions that are possible in a state. */
export function* actions(state: State, setting: Setting): Generator<Action> {
  for (let at = 0; at < state.reads.length; at += 1) yield* readActions(state, at, setting)
  for (let at = 0; at < state.writes.length; at += 1) yield* writeActions(state, at, setting)
  if (setting.local !== false) {
    for (let at = 0; at < state.replicas.length; at += 1) yield* replicaActions(state, at, setting)
  }
  yield* redisActions(state, setting)
}

/** An action that is no end of a read. */
function act(name: string, change: (next: State) => void): Action {
  return [name, (next) => void change(next)]
}

function of<T>(list: readonly T[], at: number): T {
  const found = list[at]
  if (found === undefined) throw new Error(`there is no ${at} of ${list.length}`)
  return found
}

type StepOf = (name: string, change: (next: State, own: Write) => void) => Action

/** WRITE: fence → wait → node → lift → wait → acknowledge. */
function* writeActions(state: State, at: number, setting: Setting): Generator<Action> {
  const write = of(state.writes, at)
  const step: StepOf = (name, change) => act(`write ${at + 1}: ${name}`, (next) => change(next, of(next.writes, at)))
  // A writer goes on only when no replica can serve what it has invalidated.
  const goesOn = write.awaited === 0 || lacks(setting, 'a writer does not wait for acknowledgements')
  switch (write.step) {
    case 'new':
      yield step('sends its fence', (next, own) => send(next, own, 'fence', setting))
      break
    case 'fenced':
      if (!goesOn && !lacks(setting, 'a writer waits for acknowledgements before the 2xx only')) break
      yield step('the node carries it out', (next, own) => {
        next.carriedOut += 1
        Object.assign(own, { step: 'carried out', value: next.carriedOut })
      })
      yield step('the node does not respond', (_, own) => {
        own.step = 'no response'
        if (lacks(setting, 'a write with an unknown outcome removes its fence')) own.isFenced = false
      })
      break
    case 'no response':
      yield step('the node carries it out late', (next, own) => {
        next.carriedOut += 1
        own.step = 'carried out late'
      })
      break
    case 'carried out':
      yield step('sends its lift', (next, own) => send(next, own, 'lift', setting))
      break
    case 'lifted':
      if (!goesOn) break
      yield step(`is acknowledged with ${write.value}`, (next, own) => {
        next.newest = Math.max(next.newest, own.value)
        Object.assign(own, { step: 'acknowledged', value: 0, awaited: 0 })
      })
      break
    default:
  }
  if (setting.links) yield* linkActions(write, step, setting)
}

/** The commands of a write and their replies as messages. A writer sends again, and gives up at its deadline. */
function* linkActions(write: Write, step: StepOf, setting: Setting): Generator<Action> {
  const { step: at, inFlight, hasReply, isFenced } = write
  if (inFlight !== 'nothing') {
    yield step(`Redis processes its ${inFlight}`, (next, own) => processCommand(next, own, setting))
    yield step(`its ${inFlight} is lost`, (_, own) => Object.assign(own, { inFlight: 'nothing' }))
  }
  if (hasReply) {
    yield step('receives the reply', (next, own) => continueAfterReply(next, own))
    yield step('the reply is lost', (_, own) => Object.assign(own, { hasReply: false }))
  }
  if (at === 'fencing' || at === 'lifting') {
    const command = at === 'fencing' ? 'fence' : 'lift'
    if (inFlight === 'nothing' && !hasReply) {
      yield step(`sends its ${command} again`, (next, own) => send(next, own, command, setting))
    }
    const isImpatient = lacks(setting, 'a writer without a reply takes Redis for lost and acknowledges')
    const forwards = at === 'fencing' && lacks(setting, 'a writer without a reply forwards its write')
    const otherwise: WriteStep = at === 'fencing' ? 'refused' : 'unconfirmed'
    const end = isImpatient || forwards ? (at === 'fencing' ? 'fenced' : 'lifted') : otherwise
    yield step(`gives up its ${command}`, (next, own) => {
      forget(next, own.replica)
      Object.assign(own, { step: end, hasReply: false })
    })
  }
  if ((at === 'refused' || at === 'unconfirmed') && isFenced) {
    yield step('its fence is lifted late, or its lease ends', (_, own) => Object.assign(own, { isFenced: false }))
  }
}

/** Before a writer sends a command, it forgets the epochs itself. Without links, the command takes effect at once. */
function send(next: State, own: Write, command: 'fence' | 'lift', setting: Setting): void {
  if (setting.links) forget(next, own.replica)
  Object.assign(own, { step: command === 'fence' ? 'fencing' : 'lifting', inFlight: command, hasReply: false })
  if (setting.links) return
  processCommand(next, own, setting)
  Object.assign(own, { step: command === 'fence' ? 'fenced' : 'lifted', hasReply: false })
}

/**
 * Redis, in one step: increments the epoch, sets or removes the fence, publishes the invalidation, and returns the
 * replicas that are registered. It also does so for a writer that no longer waits for it.
 */
function processCommand(next: State, own: Write, setting: Setting): void {
  const isFence = own.inFlight === 'fence'
  Object.assign(own, { inFlight: 'nothing', hasReply: own.step === 'fencing' || own.step === 'lifting' })
  if (lacks(setting, 'a write invalidates nothing')) return
  if (isFence && lacks(setting, 'epochs are incremented after the write only')) return
  next.epoch += 1
  own.isFenced = isFence && !lacks(setting, 'epochs are incremented, but no fence is set')
  own.awaited = 0
  for (const [replica, { hasLease, isRegistered }] of next.replicas.entries()) {
    // A writer has emptied its own local tier. Of an unregistered replica it waits for the longest possible lease.
    const isOther = !setting.links || replica !== own.replica
    const isListed = isRegistered || !lacks(setting, 'after a loss of data, writers wait for registered replicas only')
    if (isOther && hasLease && isListed) own.awaited |= 1 << replica
  }
}

function continueAfterReply(next: State, own: Write): void {
  forget(next, own.replica)
  Object.assign(own, { step: own.step === 'fencing' ? 'fenced' : 'lifted', hasReply: false })
}

/** A replica learns of an invalidation: no epoch is known, and what is being fetched stays out of its local tier. */
function forget(next: State, replica: number): void {
  of(next.replicas, replica).local = -1
  for (const read of next.reads) if (read.replica === replica) read.isUndisturbed = false
}

type ReadStepOf = (name: string, change: Action[1]) => Action
/** The place of a read in the state, and the replica that it passes through. */
type Place = { readonly at: number; readonly replica: number }

/** READ: local hit; or lookup in Redis → hit, or fetch → return → store in Redis → store locally. */
function* readActions(state: State, at: number, setting: Setting): Generator<Action> {
  const read = of(state.reads, at)
  const step: ReadStepOf = (name, change) => [`read ${at + 1}: ${name}`, change]
  const become = (next: State, changed: Read) => {
    next.reads[at] = changed
    return undefined
  }
  switch (read.step) {
    case 'none':
      for (let replica = 0; replica < state.replicas.length; replica += 1) {
        yield* lookupActions(state, { at, replica }, setting, step)
      }
      break
    case 'fetching':
      yield step('the node responds', (next) => {
        const usesNodeCache = lacks(setting, 'the cache of the node is used')
        if (usesNodeCache && next.nodeCache < 0) next.nodeCache = next.carriedOut
        const value = usesNodeCache ? next.nodeCache : next.carriedOut
        return become(next, { ...read, step: 'fetched', value })
      })
      break
    case 'fetched':
      yield step(`returns ${read.value}, with the reads that joined it`, (next) => endFetch(next, at))
      break
    case 'storing':
      // Nothing is compared now: a stored response is compared when it is read.
      yield step(`stores ${read.value}`, (next) => {
        Object.assign(next, { stored: read.value, storedEpoch: read.epoch })
        return become(next, storingLocally(read, setting))
      })
      break
    case 'storing locally':
      yield step(`stores ${read.value} locally`, (next) => {
        const isUnchecked = lacks(setting, 'a response is stored locally in spite of an invalidation since its lookup')
        if (read.isUndisturbed || isUnchecked) of(next.replicas, read.replica).local = read.value
        return become(next, { ...NO_READ })
      })
      break
    default:
  }
}

function* lookupActions(state: State, { at, replica }: Place, setting: Setting, step: ReadStepOf): Generator<Action> {
  const { local, hasLease } = of(state.replicas, replica)
  const place = `through replica ${replica + 1}`
  const floor = state.newest
  if (local >= 0 && (hasLease || lacks(setting, 'the local tier is served without a lease'))) {
    yield step(`${place}: local hit, returns ${local}`, (next) => returned(next, local, floor))
  }
  const begin = (next: State, changed: Partial<Read>) => {
    next.reads[at] = { ...NO_READ, replica, floor, ...changed }
    return undefined
  }
  // As under a fence: the read calls the node, and stores nothing.
  if (setting.links)
    yield step(`${place}: no reply in time`, (next) => begin(next, { step: 'fetching', isFenced: true }))
  const isFenced = state.isDistrusted || state.writes.some((write) => write.isFenced)
  const found = { epoch: state.epoch, isFenced, isUndisturbed: hasLease }
  // No write to the data happened since the epochs of the stored response were read.
  const isHit = !isFenced && state.storedEpoch === state.epoch
  if (state.stored >= 0 && (isHit || lacks(setting, 'a stored response is served whatever its epochs are'))) {
    yield step(`${place}: hit, returns ${state.stored}`, (next) => {
      next.reads[at] = storingLocally({ ...NO_READ, replica, ...found, value: state.stored }, setting)
      return returned(next, state.stored, floor)
    })
    return
  }
  yield step(`${place}: miss`, (next) => begin(next, { step: 'fetching', ...found }))
  const joins = lacks(setting, 'a read joins a fetch that began with other epochs')
  const isJoinable = state.reads.some(
    (other, index) =>
      index !== at &&
      other.replica === replica &&
      (other.step === 'fetching' || other.step === 'fetched') &&
      (joins || (!isFenced && !other.isFenced && other.epoch === state.epoch)),
  )
  if (isJoinable) yield step(`${place}: joins the fetch in flight`, (next) => begin(next, { step: 'joined' }))
}

function storingLocally(read: Read, { local = true }: Setting): Read {
  return local ? { ...read, step: 'storing locally', epoch: 0, isFenced: false, floor: 0 } : { ...NO_READ }
}

/** A fetch returns for its read and for those that joined it. Under a fence nothing is stored. */
function endFetch(next: State, at: number): Returned {
  const read = of(next.reads, at)
  let floor = read.floor
  for (const [index, other] of next.reads.entries()) {
    if (other.step !== 'joined' || other.replica !== read.replica) continue
    floor = Math.max(floor, other.floor)
    next.reads[index] = { ...NO_READ }
  }
  next.reads[at] = read.isFenced ? { ...NO_READ } : { ...read, step: 'storing', floor: 0 }
  return returned(next, read.value, floor)
}

function returned(next: State, value: number, floor: number): Returned {
  if (next.isMonotonic) next.newest = Math.max(next.newest, value)
  return { value, floor }
}

/** REPLICA: receives invalidations and acknowledges them; its lease ends, and begins again with an empty local tier. */
function* replicaActions(state: State, at: number, setting: Setting): Generator<Action> {
  const own = of(state.replicas, at)
  const step = (name: string, change: (next: State) => void) => act(`replica ${at + 1}: ${name}`, change)
  for (const [index, { awaited }] of state.writes.entries()) {
    if ((awaited & (1 << at)) === 0) continue
    yield step(`acknowledges write ${index + 1}`, (next) => {
      of(next.writes, index).awaited &= ~(1 << at)
      forget(next, at)
    })
  }
  if (!own.hasLease) {
    yield step('a new lease', (next) =>
      Object.assign(of(next.replicas, at), { local: -1, hasLease: true, isRegistered: true }),
    )
    return
  }
  yield step('its lease ends', (next) => {
    forget(next, at)
    const local = lacks(setting, 'the local tier is served without a lease') ? own.local : -1
    next.replicas[at] = { local, hasLease: false, isRegistered: false }
    for (const write of next.writes) write.awaited &= ~(1 << at)
  })
}

/** REDIS: loses its data. Replicas use it again when every write in progress has set its fence again. */
function* redisActions(state: State, setting: Setting): Generator<Action> {
  if (state.nodeCache >= 0) yield act('the cache of the node expires', (next) => Object.assign(next, { nodeCache: -1 }))
  if (state.losses > 0) {
    yield act('Redis loses its data', (next) => {
      const isDistrusted = !lacks(setting, 'after a loss of data, Redis is used at once')
      Object.assign(next, { losses: 0, isDistrusted, stored: -1, epoch: next.epoch + 1 })
      for (const write of next.writes) write.isFenced = false
      if (lacks(setting, 'after a loss of data, writers wait for registered replicas only'))
        for (const replica of next.replicas) replica.isRegistered = false
    })
  }
  if (!state.isDistrusted) return
  // A slow reply is accepted for a fence that was lost meanwhile.
  const isAwaited = ({ step, hasReply }: Write) => step === 'fencing' && hasReply && !setting.slowReplies
  const isRunning = ({ step }: Write) => ['fenced', 'carried out', 'no response'].includes(step)
  const needsFence = (write: Write) => !write.isFenced && (isRunning(write) || isAwaited(write))
  for (const [index, write] of state.writes.entries()) {
    if (!needsFence(write)) continue
    yield act(`write ${index + 1}: sets its fence again`, (next) => {
      of(next.writes, index).isFenced = true
    })
  }
  if (!state.writes.some(needsFence))
    yield act('Redis is used again', (next) => Object.assign(next, { isDistrusted: false }))
}
