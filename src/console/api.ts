/** How the page asks the edge, and what it knows of their contact. */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Contact {
  /** By the clock of the page; 0: never yet. */
  readonly heard: number
  /** Why there is none now. */
  readonly fault?: string
}

export const contact = signal<Contact>({ heard: 0 })
/** Ticks each second, for ages. */
export const tick = signal(performance.now())
setInterval(() => {
  tick.value = performance.now()
}, 1000)

/** Nothing is asked any more: each try with a password that holds no longer is one more failed login of this user. */
export const signedOut = signal(false)
const SIGNED_OUT = 'you are not signed in any more: reload the page'

/** The beat of the page: without an answer to it there is no contact. */
const BEAT = '/api/now'
const PATIENCE = 5000
/** Long lists take their time where they are read from Redis. */
const LONG_PATIENCE = 30_000

/** Rejects with words for people. */
export async function ask<T>(path: string, body?: object): Promise<T> {
  if (signedOut.value) throw new Error(SIGNED_OUT)
  const answer = await reach(path, body)
  const said = (await answer.json().catch(() => undefined)) as { message?: string } | undefined
  const fault = answer.ok && said !== undefined ? undefined : (said?.message ?? `the edge answered ${answer.status}`)
  signedOut.value ||= answer.status === 401
  if (signedOut.value) lose(SIGNED_OUT)
  else if (path === BEAT && fault !== undefined) lose(fault)
  else contact.value = { heard: performance.now() }
  if (fault !== undefined) throw new Error(fault)
  return said as T
}

async function reach(path: string, body: object | undefined): Promise<Response> {
  const headers = { accept: 'application/json', 'x-edge-console': '1' }
  const beat = path === BEAT
  try {
    return await fetch(path, {
      signal: AbortSignal.timeout(beat ? PATIENCE : LONG_PATIENCE),
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
  } catch (fault) {
    const late = fault instanceof DOMException && fault.name === 'TimeoutError'
    if (late && !beat) throw new Error('the edge takes long to answer this')
    lose('the edge does not answer')
    throw new Error('the edge does not answer')
  }
}

function lose(fault: string): void {
  contact.value = { heard: contact.value.heard, fault }
}

export interface Seen<T> {
  readonly data?: T
  /** When the data came, by the clock of the page. */
  readonly at: number
  readonly fault?: string
}

/** Asks again and again while the page is looked at; what came last stays until something newer comes. */
export function usePoll<T>(path: string | undefined, every: number): Seen<T> & { reload(): void } {
  const [seen, setSeen] = useState<Seen<T>>({ at: 0 })
  const again = useRef(() => {})
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = path === undefined
    const run = async (): Promise<void> => {
      clearTimeout(timer)
      if (ended || path === undefined) return
      if (!document.hidden) {
        try {
          const data = await ask<T>(path)
          if (!ended) setSeen({ data, at: performance.now() })
        } catch (fault) {
          if (!ended) setSeen((before) => ({ ...before, fault: String((fault as Error).message) }))
        }
      }
      clearTimeout(timer)
      if (!ended) timer = setTimeout(() => void run(), every)
    }
    again.current = () => void run()
    const look = () => {
      if (!document.hidden) void run()
    }
    document.addEventListener('visibilitychange', look)
    void run()
    return () => {
      ended = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [path, every])
  return { ...seen, reload: () => again.current() }
}
