/**
 * When a call that is not sent yet is dropped because no client awaits it: at once if all have left, and after
 * `HALF_CLOSED_MS` if those that are left have closed their side of the connection, for a FIN does not show whether a client
 * still reads.
 */
import type { NodeCall } from '../core/node-call.ts'
import type { Rejection } from './node-response.ts'

const HALF_CLOSED_MS = 1_000

export const ABANDONED: Rejection = {
  ok: false,
  fault: 'abandoned',
  reason: 'notAwaited',
  retryAfter: 1,
}

interface AbandonedCallListeners {
  /** Called when the call is no longer awaited. */
  onAbandon(): void
  /** Called when no client is connected any more, and when one is again. */
  onChange?(isConnected: boolean): void
}

/** Watches a call that waits, until the returned function is called. Calls a listener at once if no client is connected. */
export function watchAbandonment(
  { presence }: { readonly presence?: NodeCall['presence'] | undefined },
  listeners: AbandonedCallListeners,
): () => void {
  if (presence === undefined) return () => undefined
  let timer: NodeJS.Timeout | undefined
  const check = () => {
    clearTimeout(timer)
    timer = undefined
    if (presence.state === 'left') return listeners.onAbandon()
    if (presence.state === 'halfClosed') timer = setTimeout(listeners.onAbandon, HALF_CLOSED_MS)
    listeners.onChange?.(presence.state === 'connected')
  }
  const stop = presence.onChange(check)
  if (presence.state !== 'connected') check()
  return () => {
    stop()
    clearTimeout(timer)
  }
}
