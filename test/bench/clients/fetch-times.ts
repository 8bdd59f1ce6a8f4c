/** Collects the fetch times of stored responses during a run, as the index of the cache lists them. */

import type { Contract } from '../../../src/contracts/endpoint.ts'

/** Longest fetch time by endpoint, in milliseconds, with the time in the queue of the edge. */
export type FetchTimes = ReadonlyMap<string, number>

/** Shorter than the shortest TTL, so that each stored response of the session is listed before the next one replaces it. */
const INTERVAL_MS = 400

interface Entry {
  /** In the v4 contract with the prefix of the contract. */
  readonly endpoint: string
  readonly fetchTime: number
}

/** In the v3 contract, and in the v4 one. */
type Data = { readonly items: readonly Entry[] } | { readonly affected_items: readonly Entry[] }

/**
 * Reads the index until the returned function is called. That function rejects if a reading failed. `authorizations`: of
 * callers who see all stored responses together.
 */
export function collectFetchTimes(
  { url, contract }: { readonly url: string; readonly contract: Contract },
  authorizations: () => Promise<readonly string[]>,
): () => Promise<FetchTimes> {
  const query = contract === 'v3' ? 'details=true&' : ''
  const longest = new Map<string, number>()
  let isOver = false
  const read = async (authorization: string): Promise<void> => {
    const response = await fetch(`${url}/cache?${query}limit=500`, { headers: { authorization } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`GET /cache: ${response.status} ${text}`)
    const { data } = JSON.parse(text) as { readonly data: Data }
    const entries = 'items' in data ? data.items : data.affected_items
    for (const { endpoint, fetchTime } of entries) {
      const path = endpoint.replace(/^v4:/, '')
      longest.set(path, Math.max(longest.get(path) ?? 0, fetchTime))
    }
  }
  const readings = (async () => {
    const callers = await authorizations()
    while (!isOver) {
      for (const caller of callers) await read(caller)
      await new Promise((resolve) => setTimeout(resolve, INTERVAL_MS))
    }
  })()
  // Rejections are reported at the end of the run.
  readings.catch(() => undefined)
  return async () => {
    isOver = true
    await readings
    return longest
  }
}
