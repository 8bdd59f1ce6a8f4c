/** Sends notices to the webhook of the operators, one after the other, each with a few attempts. It follows no redirects. */
import { readFile } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { startDeadline } from '../core/timing.ts'

/** Where notices go: the setting `operations.webhook`. */
export interface WebhookTarget {
  /** Absent: no notices are sent. */
  readonly url?: string | undefined
  /** A file of lines `name: value`, read for each notice, so that a secret can be replaced. */
  readonly headersFile?: string | undefined
}

export interface WebhookOptions {
  readonly target: () => WebhookTarget
  /** Returns the headers of the file. Throws an error that does not contain them. */
  readonly parseHeaders: (text: string, file: string) => Readonly<Record<string, string>>
  readonly log: {
    info(fields: object, message: string): void
    warn(fields: object, message: string): void
  }
  /** Milliseconds; tests have shorter ones. */
  readonly times?: { readonly attempt: number; readonly delays: readonly number[] }
}

export interface Webhook {
  /** Queues a notice. Returns false if there is no webhook. */
  send(notice: { readonly event: string }): boolean
  /** Notices that were accepted, and that were given up. */
  counts(): { readonly sent: number; readonly failed: number }
  /** Aborts what is in progress. */
  close(): Promise<void>
}

const TIMES = { attempt: 5000, delays: [1000, 5000, 15_000] }
/** More notices are given up: incidents do not begin this often. */
const MAX_QUEUED = 20
/** The body of a response is read to free the connection, and discarded. */
const MAX_RESPONSE_BYTES = 65_536

export function createWebhook({ target, parseHeaders, log, times = TIMES }: WebhookOptions): Webhook {
  const agent = new Agent({
    connections: 1,
    pipelining: 1,
    connect: { timeout: times.attempt, rejectUnauthorized: true },
  })
  const closed = new AbortController()
  const counts = { sent: 0, failed: 0 }
  let queued = 0
  let last: Promise<void> = Promise.resolve()

  const post = async (body: string): Promise<string | undefined> => {
    const { url, headersFile } = target()
    if (url === undefined) return 'no operations.webhook.url any more'
    const secret = headersFile === undefined ? {} : parseHeaders(await readFile(headersFile, 'utf8'), headersFile)
    const { origin, pathname, search } = new URL(url)
    const headers = { ...secret, 'content-type': 'application/json', 'user-agent': 'manager-edge' }
    const deadline = startDeadline(times.attempt, closed.signal, () => performance.now())
    const { signal } = deadline
    try {
      const response = await agent.request({ origin, path: pathname + search, method: 'POST', headers, body, signal })
      await response.body.dump({ limit: MAX_RESPONSE_BYTES, signal })
      const { statusCode } = response
      return statusCode >= 200 && statusCode <= 299 ? undefined : `status ${statusCode}`
    } catch (error) {
      return signal.aborted ? ABORTED[deadline.fault()] : reasonOf(error)
    } finally {
      deadline.end()
    }
  }
  /** Returns why the last attempt failed. */
  const attempt = async (body: string): Promise<string | undefined> => {
    for (let count = 0; ; count += 1) {
      const fault = await post(body).catch((error: Error) => error.message)
      const delay = times.delays[count]
      if (fault === undefined || delay === undefined || isFinal(fault) || closed.signal.aborted) return fault
      await sleep(delay, undefined, { signal: closed.signal, ref: false }).catch(() => undefined)
    }
  }
  const sendNow = async (notice: { readonly event: string }): Promise<void> => {
    const fault = await attempt(JSON.stringify(notice))
    queued -= 1
    counts[fault === undefined ? 'sent' : 'failed'] += 1
    const { event } = notice
    if (fault === undefined) log.info({ event }, 'webhook notified')
    else log.warn({ event, reason: fault }, 'webhook not notified')
  }
  return {
    send: (notice) => {
      if (target().url === undefined) return false
      if (queued >= MAX_QUEUED) counts.failed += 1
      else {
        queued += 1
        last = last.then(() => sendNow(notice))
      }
      return true
    },
    counts: () => counts,
    close: async () => {
      closed.abort()
      await agent.destroy()
      await last
    },
  }
}

/** A request that the receiver refuses is refused again, except for the statuses that ask for another attempt. */
function isFinal(fault: string): boolean {
  return /^status [34]/.test(fault) && !/408|425|429/.test(fault)
}

const ABORTED = { timeout: 'timed out', cancelled: 'stopped' } as const

/** Returns a code or a name, never text that the receiver sent. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
