/**
 * The steps of a writer in the model whose link to Redis has faults: commands and replies are messages that take any time
 * and may be lost. A writer sends a command again, refuses a write whose fence is not confirmed in time, and answers with
 * an unknown outcome if its lift is not.
 */

import { forgetAt, invalidate } from './model-invalidation.ts'
import type { AddStep, Faults, State, Writer } from './model-state.ts'

type Change = (next: State, writer: Writer) => void

/** Returns the next possible steps of writer `index` that concern its link. */
export function linkSteps(state: State, index: number, faults: Faults, addStep: AddStep): void {
  const writer = state.writers[index]
  if (writer === undefined) return
  const { at, toRedis, hasReply } = writer
  const step = (label: string, change: Change): void =>
    addStep(`writer ${index + 1}: ${label}`, (next) => {
      const own = next.writers[index]
      if (own !== undefined) change(next, own)
      return false
    })
  if (at === 'ready') step('sends its fence', (next, own) => send(next, own, 'fence'))
  if (at === 'applied') step('sends its lift', (next, own) => send(next, own, 'lift'))
  if (toRedis !== 'nothing') {
    step(`Redis receives its ${toRedis}`, (next, own) => receive(next, own, faults))
    step(`its ${toRedis} is lost`, (_, own) => {
      own.toRedis = 'nothing'
    })
  }
  if (hasReply) {
    step('receives the reply', continueAfterReply)
    step('the reply is lost', (_, own) => {
      own.hasReply = false
    })
  }
  if (at === 'fencing' || at === 'lifting') waitingSteps(writer, faults, step)
  const hasEnded = at === 'refused' || at === 'unconfirmed'
  if (hasEnded && writer.fence) step('its fence is lifted late, or expires', removeFence)
}

function waitingSteps(
  { at, toRedis, hasReply }: Writer,
  faults: Faults,
  step: (label: string, change: Change) => void,
) {
  const command = at === 'fencing' ? 'fence' : 'lift'
  if (toRedis === 'nothing' && !hasReply) step(`sends its ${command} again`, (next, own) => send(next, own, command))
  const end =
    (to: Writer['at']): Change =>
    (next, own) => {
      forgetAt(next, own.replica)
      Object.assign(own, { at: to, hasReply: false })
    }
  const isImpatient = faults.has('no waiting for Redis')
  if (at === 'fencing' && (isImpatient || faults.has('forwarded without its fence')))
    step('takes Redis for lost, continues without its fence', end('invalidated'))
  else if (at === 'lifting' && isImpatient) step('takes Redis for lost, continues', end('lifted'))
  else step(`ends, its ${command} is not confirmed`, end(at === 'fencing' ? 'refused' : 'unconfirmed'))
}

function send(next: State, writer: Writer, command: 'fence' | 'lift'): void {
  forgetAt(next, writer.replica)
  Object.assign(writer, { at: command === 'fence' ? 'fencing' : 'lifting', toRedis: command, hasReply: false })
}

/** Redis runs the command, also if the writer does not wait for it any more. */
function receive(next: State, writer: Writer, faults: Faults): void {
  invalidate(next, writer, writer.toRedis === 'fence' ? 'fence' : 'lift', faults)
  Object.assign(writer, { toRedis: 'nothing', hasReply: writer.at === 'fencing' || writer.at === 'lifting' })
}

function continueAfterReply(next: State, writer: Writer): void {
  forgetAt(next, writer.replica)
  Object.assign(writer, { at: writer.at === 'fencing' ? 'invalidated' : 'lifted', hasReply: false })
}

function removeFence({ shared }: State, writer: Writer): void {
  shared.fences -= 1
  writer.fence = false
}
