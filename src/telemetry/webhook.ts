/** Sends notices to the webhook of the operators, one after the other, each with a few attempts. It follows no redirects. */
import { readFile } from 'node:fs/promises'
import { createPoster } from './poster.ts'

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
/** A request that the receiver refuses is refused again, except for the statuses that ask for another attempt. */
const FINAL = /^status (?!408|425|429)[34]/

export function createWebhook({ target, parseHeaders, log, times = TIMES }: WebhookOptions): Webhook {
  const poster = createPoster({
    connections: 1,
    timeouts: { attempt: times.attempt },
    delays: times.delays,
    final: FINAL,
  })
  const counts = { sent: 0, failed: 0 }
  let queued = 0
  let last: Promise<void> = Promise.resolve()

  const prepare = async (body: string) => {
    const { url, headersFile } = target()
    if (url === undefined) throw new Error('no operations.webhook.url any more')
    const headers = headersFile === undefined ? {} : parseHeaders(await readFile(headersFile, 'utf8'), headersFile)
    return { url, headers, body }
  }
  const sendNow = async (notice: { readonly event: string }): Promise<void> => {
    const body = JSON.stringify(notice)
    const fault = await poster.post(() => prepare(body))
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
      await poster.close()
      await last
    },
  }
}
