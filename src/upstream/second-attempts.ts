/**
 * Sends a late read once more, so that the requests that share it do not all fail with one call. The first answer counts, and
 * the other attempt ends. Late: on the node for five times its usual time, and for 5 s. Second attempts are at most 2 % of the
 * calls of a node.
 */
import { Cancellation } from '../core/cancellation.ts'
import type { NodeResult } from '../core/node-call.ts'
import { copyWith, type Send, type UpstreamCall } from './call.ts'
import type { ClusterSettings } from './options.ts'

const SECOND_ATTEMPT_FACTOR = 5
const MIN_LATE_MS = 5000
const ATTEMPTS_PER_CALL = 0.02
const MAX_ATTEMPTS = 10

type Options = Pick<ClusterSettings, 'clock'>

export const sendLateAgain =
  ({ clock }: Options) =>
  (next: Send): Send => {
    let budget = 1
    const spend = () => {
      if (budget < 1) return false
      budget -= 1
      return true
    }
    return (call) => {
      budget = Math.min(MAX_ATTEMPTS, budget + ATTEMPTS_PER_CALL)
      // Another read of an agent whose database is stuck would be late too.
      const mayRepeat =
        call.isShared === true && call.retryable && call.expect === 'bytes' && call.agentData === undefined
      return mayRepeat ? sendTwiceIfLate(call, next, { clock, spend }) : next(call)
    }
  }

async function sendTwiceIfLate(
  call: UpstreamCall,
  next: Send,
  { clock, spend }: Options & { readonly spend: () => boolean },
): Promise<NodeResult> {
  const { signal, timeout } = call
  if (signal.aborted) return next(call)
  const one = new Cancellation()
  let other: Cancellation | undefined
  const abort = () => {
    one.abort(signal.reason)
    other?.abort(signal.reason)
  }
  signal.addEventListener('abort', abort, { once: true })
  const start = clock()
  let timer: NodeJS.Timeout | undefined
  let onLate = () => {}
  try {
    const onSlot = (usualTime: number) => {
      timer ??= setTimeout(() => onLate(), Math.max(MIN_LATE_MS, SECOND_ATTEMPT_FACTOR * usualTime))
    }
    const first = next(copyWith(call, { signal: one.signal, onSlot }))
    // Not Promise.race, which makes three promises more.
    const early = await new Promise<NodeResult | undefined>((resolve, reject) => {
      onLate = () => resolve(undefined)
      first.then(resolve, reject)
    })
    if (early !== undefined) return early
    if (!spend()) return await first
    // Clients do not wait longer than for the first attempt.
    const left = timeout === undefined ? {} : { timeout: timeout - (clock() - start) }
    other = new Cancellation()
    const second = next(copyWith(call, { ...left, signal: other.signal }))
    // A second attempt that was held back, or has failed, shows nothing about the first one.
    const result = await Promise.race([first, second.then((each) => (each.ok ? each : first))])
    if (result.ok || result.fault === 'timeout') return result
    const last = await second
    return last.ok ? last : result
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    // Without a second attempt, the first one has ended: an abort would only cost its error.
    if (other !== undefined) abort()
  }
}
