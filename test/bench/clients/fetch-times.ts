/** Collects the fetch times of stored responses during a run, as the index of the cache lists them. */

/** Longest fetch time by endpoint, in milliseconds, with the time in the queue of the edge. */
export type FetchTimes = ReadonlyMap<string, number>

/** Shorter than the shortest TTL, so that each stored response of the session is listed before the next one replaces it. */
const INTERVAL_MS = 400

interface Listing {
  readonly data: { readonly items: readonly { readonly endpoint: string; readonly fetchTime: number }[] }
}

/** Reads the index until the returned function is called. That function rejects if a reading failed. */
export function collectFetchTimes(url: string, authorization: string): () => Promise<FetchTimes> {
  const longest = new Map<string, number>()
  let isOver = false
  const read = async (): Promise<void> => {
    const response = await fetch(`${url}/cache?details=true&limit=500`, { headers: { authorization } })
    const { data } = (await response.json()) as Listing
    for (const { endpoint, fetchTime } of data.items) {
      longest.set(endpoint, Math.max(longest.get(endpoint) ?? 0, fetchTime))
    }
  }
  const readings = (async () => {
    while (!isOver) {
      await read()
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
