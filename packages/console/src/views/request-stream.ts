/** The event stream of the live tail, and the requests that it has delivered, newest first. */
import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { TailBatch, TailRequest } from '../../server/request-types.ts'
import { signedOut } from '../api.ts'

const MAX_SHOWN = 200
/** The page reconnects after these times: if the edge refused the stream, and if not even a heartbeat arrived. */
const RETRY_REFUSED_MS = 10_000
const MAX_SILENCE_MS = 15_000

/** A page in the background closes its stream: the edge has a limited number of them. */
const isVisible = signal(document.visibilityState === 'visible')
document.addEventListener('visibilitychange', () => {
  isVisible.value = document.visibilityState === 'visible'
})

/** Kept while another view is shown, so that a paused list is still there afterwards. */
export const tail = {
  requests: signal<readonly TailRequest[]>([]),
  /** Requests that the edge did not send. */
  skipped: signal(0),
  isLive: signal(false),
  isPaused: signal(false),
  /** A newer page took the place of this one. */
  isReplaced: signal(false),
  /** The filter of the shown requests, as the query of the API. */
  filter: signal<string | undefined>(undefined),
}

/**
 * Follows the requests that match the filter. A pause and a hidden page keep the list as it is. After a change of the
 * filter during a pause, the list is read once.
 */
export function useTail(filter: string): void {
  const { requests, skipped, isLive, isPaused, isReplaced, filter: shownFilter } = tail
  const isOpen = isVisible.value && (!isPaused.value || shownFilter.value !== filter)
  useEffect(() => {
    if (!isOpen) return
    isReplaced.value = false
    if (tail.filter.peek() !== filter) {
      requests.value = []
      skipped.value = 0
    }
    const settle = (): void => {
      shownFilter.value = filter
    }
    return subscribe(`/api/requests?${filter}`, {
      onState(isConnected) {
        isLive.value = isConnected
      },
      onBatch(batch) {
        requests.value = merged(batch.requests, requests.value)
        skipped.value += batch.skipped
        settle()
      },
      onHeartbeat: settle,
      onReplaced() {
        isReplaced.value = true
        isPaused.value = true
        settle()
      },
    })
  }, [filter, isOpen])
}

/** The first batch of a stream repeats requests that are shown already. `batch`: oldest first. */
function merged(batch: readonly TailRequest[], shown: readonly TailRequest[]): readonly TailRequest[] {
  const known = new Set(shown.map(({ id }) => id))
  const added = batch.filter(({ id }) => !known.has(id)).reverse()
  return [...added, ...shown].slice(0, MAX_SHOWN)
}

interface StreamHandlers {
  onState(isConnected: boolean): void
  onBatch(batch: TailBatch): void
  onHeartbeat(): void
  onReplaced(): void
}

function subscribe(url: string, handlers: StreamHandlers): () => void {
  let source: EventSource
  let timer: ReturnType<typeof setTimeout> | undefined
  const open = (): void => {
    source = new EventSource(url)
    source.onopen = () => {
      handlers.onState(true)
      restartTimer()
    }
    source.onmessage = ({ data }) => {
      handlers.onBatch(JSON.parse(data) as TailBatch)
      restartTimer()
    }
    source.addEventListener('heartbeat', () => {
      handlers.onHeartbeat()
      restartTimer()
    })
    source.addEventListener('replaced', handlers.onReplaced)
    source.onerror = () => {
      handlers.onState(false)
      // EventSource reconnects after a broken connection, but not after a refusal.
      if (source.readyState === EventSource.CLOSED) reconnectAfter(RETRY_REFUSED_MS)
    }
  }
  const restartTimer = (): void => reconnectAfter(MAX_SILENCE_MS)
  const reconnectAfter = (ms: number): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      source.close()
      handlers.onState(false)
      if (signedOut.value) reconnectAfter(ms)
      else open()
    }, ms)
  }
  open()
  return () => {
    clearTimeout(timer)
    source.close()
  }
}
