/** Many equal requests at once through two replicas, of which one may die meanwhile. */
import { Agent, request } from 'undici'
import { authorization } from './coherence/processes.ts'
import type { Stage } from './redis-stage.ts'

export interface Flood {
  readonly answered: number
  /** Calls that reached the upstream. */
  readonly calls: number
  /** Milliseconds until the last had its answer. */
  readonly time: number
}

/** A balancer sends a read again that a dead replica did not answer: so does this, to the others. */
async function ask(agent: Agent, urls: readonly string[], path: string): Promise<boolean> {
  for (const url of urls) {
    try {
      const { statusCode, body } = await request(url + path, { headers: { authorization }, dispatcher: agent })
      await body.text()
      return statusCode === 200
    } catch {
      // That replica is gone.
    }
  }
  return false
}

export interface FloodOptions {
  readonly requests: number
  readonly path: string
  /** The replica that has begun the fill is killed in the middle of it. */
  readonly killHolder: boolean
}

/** How long the upstream takes for the one answer. */
export const STEADY = 600

export async function flood(stage: Stage, { requests, path, killHolder }: FloodOptions): Promise<Flood> {
  const { upstream, replicas } = stage
  const urls = replicas.map(({ url }) => url)
  const agent = new Agent({ pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })
  upstream.behave({ delay: 0, steady: STEADY, heedsBypass: true })
  await upstream.report()
  const begin = performance.now()
  const first = ask(agent, urls, path)
  await new Promise((done) => setTimeout(done, STEADY / 4))
  const others = Array.from({ length: requests - 1 }, (_, index) =>
    ask(agent, index % 2 === 0 ? urls : [...urls].reverse(), path),
  )
  if (killHolder) {
    await new Promise((done) => setTimeout(done, STEADY / 4))
    await replicas[0]?.kill()
  }
  const answers = await Promise.all([first, ...others])
  const time = performance.now() - begin
  await agent.destroy()
  upstream.behave({ delay: 5, heedsBypass: true })
  const { calls } = await upstream.report()
  return { answered: answers.filter(Boolean).length, calls, time }
}
