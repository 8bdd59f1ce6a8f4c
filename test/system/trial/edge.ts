/** An edge in a read-only trial, in front of a simulated cluster. */
import type { Test } from 'tap'
import { samplesOf, sumOf } from '../../support/scrape.ts'
import { simulated } from '../../support/simulated.ts'

const AUTHORIZATION = `Basic ${Buffer.from('edge:only-for-tests').toString('base64')}`

export interface TrialResponse {
  readonly status: number
  readonly cacheStatus: string | null
  readonly body: string
}

/** Stored responses live for ten minutes, so that only changes of the data make a difference. */
export async function trialEdge(t: Test) {
  const ttl = { agents: '10m', rules: '10m' }
  const settings = { cache: { trial: true, ttl } }
  const { simulator, edge } = await simulated(t, { workers: 0, agents: 5, username: 'edge' }, { settings })
  const send = async (url: string, authorization: string, init: RequestInit = {}): Promise<TrialResponse> => {
    const response = await fetch(url, { ...init, headers: { authorization, ...init.headers } })
    const cacheStatus = response.headers.get('cache-status')
    return { status: response.status, cacheStatus, body: await response.text() }
  }
  return {
    simulator,
    edge,
    throughEdge: (path: string, init?: RequestInit) => send(`${edge.url}${path}`, edge.authorization('admin'), init),
    /** Past the edge. */
    atManager: (path: string, init?: RequestInit) => send(`${simulator.nodes[0]?.url}${path}`, AUTHORIZATION, init),
    /** Returns the number of reads of a group, by what the cache would have done and the comparison. */
    count: async (group: string, cache: string, comparison: string): Promise<number> => {
      const metrics = await send(`${edge.operationsUrl}/metrics`, edge.authorization('admin'))
      return sumOf(samplesOf(metrics.body), 'edge_cache_trial_total', { group, cache, comparison })
    },
  }
}
