/**
 * Sends spans to a collector by OTLP over HTTP, as JSON. Not by the SDK's own exporter: that adds headers and certificates
 * which it finds in the environment, and its waiting keeps a process alive that has ended.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

export interface CollectorOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** Milliseconds for one batch, with all its attempts. */
  readonly patience: number
}

/** `why`: in a word, for the log. */
export type Sent = { readonly ok: true } | { readonly ok: false; readonly why: string }

export interface Collector {
  /** Never rejects. */
  send(batch: Uint8Array): Promise<Sent>
  /** Cuts what is under way. */
  stop(): Promise<void>
}

/** OTLP, section "Retryable response codes". */
const AGAIN: ReadonlySet<number> = new Set([429, 502, 503, 504])
/** Milliseconds before the next attempt. */
const PAUSES = [1000, 2000]
/** Of an answer, which nobody reads. */
const MOST_ANSWER = 65_536

export function createCollector({ url, headers, patience }: CollectorOptions): Collector {
  const { origin, pathname } = new URL(url)
  const pool = new Pool(origin, {
    connections: 2,
    pipelining: 1,
    connect: { timeout: patience, rejectUnauthorized: true },
  })
  const stopped = new AbortController()
  const all = { ...headers, 'content-type': 'application/json', 'user-agent': 'manager-edge' }

  const attempt = async (body: Uint8Array, signal: AbortSignal): Promise<number> => {
    const answer = await pool.request({ method: 'POST', path: pathname, headers: all, body, signal })
    await answer.body.dump({ limit: MOST_ANSWER, signal })
    return answer.statusCode
  }
  return {
    send: async (batch) => {
      const signal = AbortSignal.any([stopped.signal, AbortSignal.timeout(patience)])
      let last: Sent = { ok: false, why: 'not asked' }
      for (const pause of [...PAUSES, undefined]) {
        const { sent, again } = judge(await attempt(batch, signal).catch((fault: unknown) => fault))
        last = sent
        if (!again || signal.aborted || pause === undefined) break
        await sleep(pause, undefined, { signal, ref: false }).catch(() => undefined)
        if (signal.aborted) break
      }
      return last
    },
    stop: async () => {
      stopped.abort()
      await pool.destroy()
    },
  }
}

/** Nothing of what the collector says goes into the log: a number or one of Node's words does. */
function judge(came: unknown): { readonly sent: Sent; readonly again: boolean } {
  if (typeof came !== 'number') return { sent: { ok: false, why: wordOf(came) }, again: true }
  if (came >= 200 && came <= 299) return { sent: { ok: true }, again: false }
  return { sent: { ok: false, why: `status ${came}` }, again: AGAIN.has(came) }
}

function wordOf(fault: unknown): string {
  if (!(fault instanceof Error)) return 'error'
  if (fault.name === 'TimeoutError' || fault.name === 'AbortError') return 'no answer in time'
  return 'code' in fault && typeof fault.code === 'string' ? fault.code : fault.name
}
