/** An edge in front of a simulated cluster of the v4 layout, and its v3 clients. */
import type { Test } from 'tap'
import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import type { EdgeUnderTest } from '../../support/edge.ts'
import { simulated } from '../../support/simulated.ts'

export interface Response {
  readonly status: number
  readonly headers: Headers
  readonly error: number
  readonly data: unknown
  readonly message: string
}

type Send = (path: string, init?: RequestInit) => Promise<Response>

export async function v4Cluster(
  t: Test,
  world: SimulatorOptions = {},
  settings: NonNullable<EdgeUnderTest['settings']> = {},
) {
  const { simulator, edge } = await simulated(
    t,
    { layout: 'v4', ...world },
    { settings: { ...settings, cluster: { layout: 'v4', ...(settings.cluster ?? {}) } } },
  )
  /** Sends requests of `admin`, `operator` or `reader`. */
  const as =
    (user: string): Send =>
    async (path, { headers, ...init } = {}) => {
      const response = await fetch(edge.url + path, {
        ...init,
        headers: { authorization: edge.authorization(user), ...headers },
      })
      const { error = -1, data, message = '' } = JSON.parse(await response.text())
      return { status: response.status, headers: response.headers, error, data, message }
    }
  return { simulator, edge, as, send: as('admin') }
}
