/**
 * Sends a late read once more, so that the requests that share it do not all fail with one call. The first answer counts, and
 * the other attempt ends. Late: on the node for five times its usual time, and for 5 s. Second attempts are at most 2 % of the
 * calls of a node.
 */
import type { NodeResult } from '../core/node-call.ts'
import type { Send, UpstreamCall } from './call.ts'

const LATE_FACTOR = 5
const MIN_LATE_MS = 5000
const ATTEMPTS_PER_CALL = 0.02
const MAX_ATTEMPTS = 10

export const sendLateAgain =
  (minLate = MIN_LATE_MS) =>
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
      return mayRepeat ? sendTwiceIfLate(call, next, { minLate, spend }) : next(call)
    }
  }

async function sendTwiceIfLate(
  call: UpstreamCall,
  next: Send,
  { minLate, spend }: { readonly minLate: number; readonly spend: () => boolean },
): Promise<NodeResult> {
  const attempts: AbortController[] = []
  const abort = () => {
    for (const attempt of attempts) attempt.abort(call.signal.reason)
  }
  const send = (onSlot?: UpstreamCall['onSlot']) => {
    const attempt = new AbortController()
    attempts.push(attempt)
    return next({ ...call, signal: attempt.signal, ...(onSlot && { onSlot }) })
  }
  if (call.signal.aborted) return next(call)
  call.signal.addEventListener('abort', abort, { once: true })
  let timer: NodeJS.Timeout | undefined
  let onLate: (late: undefined) => void = () => undefined
  const late = new Promise<undefined>((resolve) => {
    onLate = resolve
  })
  try {
    const first = send((usualTime) => {
      timer = setTimeout(onLate, Math.max(minLate, LATE_FACTOR * usualTime), undefined)
    })
    const early = await Promise.race([first, late])
    if (early !== undefined) return early
    if (!spend()) return await first
    const second = send()
    const result = await Promise.race([first, second])
    // Clients do not wait longer than for the first attempt.
    if (result.ok || result.fault === 'timeout') return result
    const results = await Promise.all([first, second])
    return results.find(({ ok }) => ok) ?? results[0]
  } finally {
    clearTimeout(timer)
    call.signal.removeEventListener('abort', abort)
    abort()
  }
}
