/** Requests to the console API, and the state of the connection to the edge. */
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface Contact {
  /** Time of the last response, in milliseconds of `performance.now()`; 0 before the first. */
  readonly lastResponseAt: number
  /** Why there is no connection. */
  readonly error?: string
}

export const contact = signal<Contact>({ lastResponseAt: 0 })
/** Updated each second, so that shown ages grow. */
export const clock = signal(performance.now())
setInterval(() => {
  clock.value = performance.now()
}, 1000)

/** After a 401 the page sends no more requests: each would count as a failed login of this user. */
export const signedOut = signal(false)
const UNREACHABLE_MESSAGE = 'the edge is unreachable'
const SIGNED_OUT_MESSAGE = 'your sign-in is no longer valid: reload the page'

/** The page counts as connected while this request succeeds. */
const HEARTBEAT_PATH = '/api/now'
const HEARTBEAT_TIMEOUT_MS = 5000
/** Reading a long list from Redis takes a while. */
const REQUEST_TIMEOUT_MS = 30_000

/** Sends a GET, a POST if there is a body, or the named method. Rejects with an error whose message can be shown. */
export async function callApi<T>(path: string, body?: object, method?: 'PUT' | 'DELETE'): Promise<T> {
  if (signedOut.value) throw new Error(SIGNED_OUT_MESSAGE)
  const response = await fetchApi(path, body, method)
  const json = (await response.json().catch(() => undefined)) as { message?: string } | undefined
  const message =
    response.ok && json !== undefined
      ? undefined
      : (json?.message ?? `the edge responded with status ${response.status}`)
  signedOut.value ||= response.status === 401
  if (signedOut.value) setContactError(SIGNED_OUT_MESSAGE)
  else if (path === HEARTBEAT_PATH && message !== undefined) setContactError(message)
  else contact.value = { lastResponseAt: performance.now() }
  if (message !== undefined) throw new Error(message)
  return json as T
}

async function fetchApi(path: string, body?: object, method?: string): Promise<Response> {
  const headers = { accept: 'application/json', 'x-edge-console': '1' }
  const isHeartbeat = path === HEARTBEAT_PATH
  try {
    // Without the credentials that the address of the page may contain: browsers refuse to fetch such addresses.
    return await fetch(new URL(path, location.origin), {
      signal: AbortSignal.timeout(isHeartbeat ? HEARTBEAT_TIMEOUT_MS : REQUEST_TIMEOUT_MS),
      headers: body === undefined ? headers : { ...headers, 'content-type': 'application/json' },
      ...(method !== undefined && { method }),
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
  } catch (error) {
    const isTimeout = error instanceof DOMException && error.name === 'TimeoutError'
    if (isTimeout && !isHeartbeat) throw new Error('the edge did not respond in time')
    setContactError(UNREACHABLE_MESSAGE)
    throw new Error(UNREACHABLE_MESSAGE)
  }
}

function setContactError(error: string): void {
  contact.value = { lastResponseAt: contact.value.lastResponseAt, error }
}

export interface Polled<T> {
  readonly data?: T
  /** The path that returned the data. */
  readonly path?: string
  /** Time of the response, in milliseconds of `performance.now()`. */
  readonly receivedAt: number
  readonly error?: string
}

/** Polls the path while the page is visible. The last data stays until newer data arrives. */
export function usePoll<T>(path: string | undefined, every: number): Polled<T> & { reload(): void } {
  const [polled, setPolled] = useState<Polled<T>>({ receivedAt: 0 })
  const reload = useRef(() => {})
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = path === undefined
    const run = async (): Promise<void> => {
      clearTimeout(timer)
      if (ended || path === undefined) return
      if (!document.hidden) {
        try {
          const data = await callApi<T>(path)
          if (!ended) setPolled({ data, path, receivedAt: performance.now() })
        } catch (error) {
          if (!ended) setPolled((before) => ({ ...before, error: (error as Error).message }))
        }
      }
      clearTimeout(timer)
      if (!ended) timer = setTimeout(() => void run(), every)
    }
    reload.current = () => void run()
    const onVisible = () => {
      if (!document.hidden) void run()
    }
    document.addEventListener('visibilitychange', onVisible)
    void run()
    return () => {
      ended = true
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', onVisible)
    }
  }, [path, every])
  return { ...polled, reload: () => reload.current() }
}
