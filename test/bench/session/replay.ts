/** Replays the plans through the replicas, and verifies each response. */
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, request } from 'undici'
import { CLIENT_TIMEOUT_MS } from '../clients/session.ts'
import { SOURCES, type Source, sourceOf } from '../clients/taken.ts'
import { collectionOf, faultOfPage } from './oracle.ts'
import type { PlannedRequest } from './plan.ts'

export interface ReplayOptions {
  readonly urls: readonly string[]
  readonly authorization: string
  readonly plans: readonly (readonly PlannedRequest[])[]
  /** Seconds in which the clients start one after the other. */
  readonly rampSeconds: number
}

export interface Replayed {
  /** Milliseconds until each request was answered, with its repetitions. */
  readonly times: number[]
  readonly sources: Readonly<Record<Source, number>>
  /** Requests that were rejected because the nodes were overloaded, and were sent again. */
  readonly repeated: number
  /** What was wrong, and how often. */
  readonly errors: ReadonlyMap<string, number>
  /** The latest response of each URL that was computed from a snapshot. */
  readonly derived: ReadonlyMap<string, string>
  readonly seconds: number
}

interface Answer {
  readonly status: number
  readonly text: string
  readonly source: Source
}

/** Responses of the edge if the nodes reject more calls, or do not answer in time: the operator tries again. */
const OVERLOADED: readonly number[] = [502, 503, 504]
const MAX_ATTEMPTS = 100

/** Resolves when each client has sent all its requests and has all answers. */
export async function replay({ urls, authorization, plans, rampSeconds }: ReplayOptions): Promise<Replayed> {
  const agent = new Agent({ pipelining: 1, headersTimeout: CLIENT_TIMEOUT_MS, bodyTimeout: CLIENT_TIMEOUT_MS })
  const times: number[] = []
  const sources = Object.fromEntries(SOURCES.map((source) => [source, 0])) as Record<Source, number>
  const errors = new Map<string, number>()
  const derived = new Map<string, string>()
  const addError = (text: string): void => void errors.set(text, (errors.get(text) ?? 0) + 1)

  let repeated = 0

  /** Returns the response, or the seconds after which to send the request again. */
  const send = async (url: string): Promise<Answer | number> => {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      headers: { authorization, 'wazuh-app-version': '3.11.5' },
      signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS),
    })
    const text = await body.text()
    if (OVERLOADED.includes(statusCode)) return Number(headers['retry-after'] ?? 1)
    // If Redis exceeds its timeout, a node answers, and the response has no Cache-Status.
    return { status: statusCode, text, source: sourceOf(String(headers['cache-status'] ?? 'fwd=bypass')) }
  }
  const ask = async (base: string, target: string): Promise<void> => {
    const start = performance.now()
    try {
      let answer = await send(base + target)
      for (let attempt = 1; typeof answer === 'number' && attempt < MAX_ATTEMPTS; attempt += 1) {
        repeated += 1
        await wait(1000 * answer)
        answer = await send(base + target)
      }
      times.push(performance.now() - start)
      if (typeof answer === 'number') return addError(`rejected ${MAX_ATTEMPTS} times`)
      const { status, text, source } = answer
      const fault = status === 200 ? faultOfPage(target, text) : `status ${status}: ${text.slice(0, 60)}`
      if (fault !== undefined) return addError(fault)
      sources[source] += 1
      if (source === 'snapshot' && collectionOf(target) !== undefined) derived.set(target, text)
    } catch (error) {
      times.push(performance.now() - start)
      addError((error as Error).name)
    }
  }
  const client = async (number: number): Promise<void> => {
    const base = urls[number % urls.length] ?? ''
    await wait((1000 * rampSeconds * number) / plans.length)
    for (const { target, thinkMs } of plans[number] ?? []) {
      await wait(thinkMs)
      await ask(base, target)
    }
  }
  const start = performance.now()
  await Promise.all(plans.map((_, number) => client(number)))
  const seconds = (performance.now() - start) / 1000
  await agent.destroy()
  return { times, sources, repeated, errors, derived, seconds }
}
