/** Sends many identical requests at once through two replicas, one of which may be killed meanwhile. */
import { Agent, request } from 'undici'
import { authorization } from './coherence/processes.ts'
import type { Stage } from './redis-stage.ts'

export interface FloodResult {
  readonly answered: number
  /** Why the others were not. */
  readonly failures: readonly string[]
  /** Calls that reached the upstream. */
  readonly calls: number
  /** Milliseconds until the last response. */
  readonly time: number
}

/** Sends a read to the next replica if one does not answer, as a load balancer does. Resolves with what went wrong. */
async function get(agent: Agent, urls: readonly string[], path: string): Promise<string | undefined> {
  let failure: string | undefined
  for (const url of urls) {
    try {
      const { statusCode, body } = await request(url + path, { headers: { authorization }, dispatcher: agent })
      const text = await body.text()
      return statusCode === 200 ? undefined : `${statusCode} ${text.slice(0, 160)}`
    } catch (error) {
      // Try the next replica.
      failure = String(error)
    }
  }
  return failure
}

export interface FloodOptions {
  readonly requests: number
  readonly path: string
  /** Kills the replica that holds the fetch lock during its fetch. */
  readonly killHolder: boolean
}

/** Response time of the upstream. */
export const FETCH_MS = 600

export async function flood(stage: Stage, { requests, path, killHolder }: FloodOptions): Promise<FloodResult> {
  const { upstream, replicas } = stage
  const urls = replicas.map(({ url }) => url)
  const agent = new Agent({ pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  upstream.behave({ delay: 0, steady: FETCH_MS, heedsBypass: true })
  await upstream.report()
  const begin = performance.now()
  const first = get(agent, urls, path)
  let calls = 0
  while (calls === 0) calls = (await upstream.report()).calls
  const others = Array.from({ length: requests - 1 }, (_, index) =>
    get(agent, index % 2 === 0 ? urls : [...urls].reverse(), path),
  )
  if (killHolder) {
    // The other requests have reached the replicas by then.
    await new Promise((done) => setTimeout(done, FETCH_MS / 4))
    await replicas[0]?.kill()
  }
  const responses = await Promise.all([first, ...others])
  const time = performance.now() - begin
  await agent.destroy()
  upstream.behave({ delay: 5, heedsBypass: true })
  calls += (await upstream.report()).calls
  const failures = responses.flatMap((failure) => failure ?? [])
  return { answered: requests - failures.length, failures, calls, time }
}
