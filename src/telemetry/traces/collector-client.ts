/** Posts batches of spans to the collector, with a few attempts. Follows no redirects, and takes nothing from the environment. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'

interface CollectorOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for one batch, with all its attempts. */
  readonly timeout: number
}

export type CollectorClient = ReturnType<typeof createCollectorClient>

/** Why an attempt failed. */
interface Fault {
  readonly text: string
  readonly isFinal: boolean
}

const CONNECTIONS = 2
/** OTLP specification, section "Retryable Response Codes": after other statuses there is no further attempt. */
const RETRYABLE_STATUSES = [429, 502, 503, 504]
const RETRY_DELAYS_MS = [1000, 2000]
/** The body of a response is read to free the connection, and discarded. */
const MAX_RESPONSE_BYTES = 65_536

export function createCollectorClient({ url, headers, timeout }: CollectorOptions) {
  const connect = { timeout, rejectUnauthorized: true }
  const agent = new Agent({ connections: CONNECTIONS, pipelining: 1, connect })
  /** The batches in progress. */
  const running = new Set<AbortController>()
  const { origin, pathname, search } = new URL(url)
  const sent = { ...headers, 'content-type': 'application/json', 'user-agent': 'manager-edge' }

  const attempt = async (body: Uint8Array, signal: AbortSignal): Promise<Fault | undefined> => {
    try {
      const request = { origin, path: pathname + search, method: 'POST', headers: sent, body, signal } as const
      const { statusCode, body: ignored } = await agent.request(request)
      await ignored.dump({ limit: MAX_RESPONSE_BYTES, signal })
      if (statusCode >= 200 && statusCode <= 299) return undefined
      return { text: `status ${statusCode}`, isFinal: !RETRYABLE_STATUSES.includes(statusCode) }
    } catch (error) {
      return { text: signal.aborted ? String(signal.reason) : reasonOf(error), isFinal: false }
    }
  }
  return {
    /**
     * Resolves to undefined, or to why the last attempt failed: a status or a code for the log, never text that the collector
     * sent.
     */
    send: async (body: Uint8Array): Promise<string | undefined> => {
      const batch = new AbortController()
      const { signal } = batch
      running.add(batch)
      const timer = setTimeout(() => batch.abort('timed out'), timeout)
      try {
        for (let count = 0; ; count += 1) {
          const fault = await attempt(body, signal)
          const delay = RETRY_DELAYS_MS[count]
          if (fault === undefined || delay === undefined || fault.isFinal) return fault?.text
          await sleep(delay, undefined, { ref: false, signal }).catch(() => undefined)
          if (signal.aborted) return fault.text
        }
      } finally {
        clearTimeout(timer)
        running.delete(batch)
      }
    },
    /** Aborts what is in progress and closes the connections. */
    stop: async (): Promise<void> => {
      for (const batch of running) batch.abort('stopped')
      await agent.destroy()
    },
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
