/** Posts JSON to a receiver of the operators, with a few attempts. Follows no redirects, and takes nothing from the environment. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { type Deadline, startDeadline } from '../core/timing.ts'

export interface PosterOptions {
  readonly connections: number
  /** Milliseconds of one attempt, and of all attempts together. */
  readonly timeouts: { readonly attempt?: number; readonly all?: number }
  /** Milliseconds before the second attempt and each further one. */
  readonly delays: readonly number[]
  /** Matches the faults after which there is no further attempt, such as `status 404`. */
  readonly final: RegExp
}

interface Posted {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array
}

export interface Poster {
  /**
   * `prepare`: returns the request of each attempt. Resolves to undefined, or to why the last attempt failed: a status or a code
   * for the log, never text that the receiver sent, or the message of the error of `prepare`.
   */
  post(prepare: () => Promise<Posted>): Promise<string | undefined>
  /** Aborts what is in progress and closes the connections. */
  close(): Promise<void>
}

/** The body of a response is read to free the connection, and discarded. */
const MAX_RESPONSE_BYTES = 65_536
const clock = () => performance.now()

export function createPoster({ connections, timeouts, delays, final }: PosterOptions): Poster {
  const timeout = timeouts.attempt ?? timeouts.all
  const connect = { ...(timeout !== undefined && { timeout }), rejectUnauthorized: true }
  const agent = new Agent({ connections, pipelining: 1, connect })
  const closed = new AbortController()

  const attempt = async ({ url, headers, body }: Posted, all: Deadline): Promise<string | undefined> => {
    const { origin, pathname, search } = new URL(url)
    const sent = { ...headers, 'content-type': 'application/json', 'user-agent': 'manager-edge' }
    const deadline = startDeadline(timeouts.attempt, all.signal, clock)
    const { signal } = deadline
    try {
      const request = { origin, path: pathname + search, method: 'POST', headers: sent, body, signal } as const
      const { statusCode, body: ignored } = await agent.request(request)
      await ignored.dump({ limit: MAX_RESPONSE_BYTES, signal })
      return statusCode >= 200 && statusCode <= 299 ? undefined : `status ${statusCode}`
    } catch (error) {
      if (!signal.aborted) return reasonOf(error)
      return [deadline, all].some((each) => each.fault() === 'timeout') ? 'timed out' : 'stopped'
    } finally {
      deadline.end()
    }
  }
  return {
    post: async (prepare) => {
      const all = startDeadline(timeouts.all, closed.signal, clock)
      const { signal } = all
      try {
        for (let count = 0; ; count += 1) {
          const fault = await prepare().then(
            (posted) => attempt(posted, all),
            (error: Error) => error.message,
          )
          const delay = delays[count]
          if (fault === undefined || delay === undefined || final.test(fault)) return fault
          await sleep(delay, undefined, { signal, ref: false }).catch(() => undefined)
          if (signal.aborted) return fault
        }
      } finally {
        all.end()
      }
    },
    close: async () => {
      closed.abort()
      await agent.destroy()
    },
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'failed'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}
