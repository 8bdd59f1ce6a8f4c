import type { Test } from 'tap'
import { type Simulator, type SimulatorOptions, startSimulator } from '../src/index.ts'

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The envelope; undefined if the body is not JSON. */
  readonly json: { error: number; data?: unknown; message?: string } | undefined
}

export interface AskOptions {
  readonly node?: string
  readonly headers?: Record<string, string>
  readonly type?: string
  readonly body?: string
}

export type Ask = (request: string, options?: AskOptions) => Promise<Reply>

/** Starts a simulator that ends with the test, and returns a client for it: `ask('PUT /agents/restart')`. */
export async function start(t: Test, options: SimulatorOptions = {}): Promise<{ sim: Simulator; ask: Ask }> {
  const sim = await startSimulator({ agents: 40, ...options })
  t.teardown(() => sim.close())
  const authorization = `Basic ${Buffer.from('edge:simulated').toString('base64')}`
  const ask: Ask = async (request, { node = 'master', headers = {}, type, body } = {}) => {
    const [method = 'GET', path = '/'] = request.split(' ')
    const url = sim.nodes.find((known) => known.name === node)?.url ?? ''
    const sent = { authorization, ...(type === undefined ? {} : { 'content-type': type }), ...headers }
    const response = await fetch(url + path, { method, headers: sent, ...(body === undefined ? {} : { body }) })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: read(text) }
  }
  return { sim, ask }
}

function read(text: string): Reply['json'] {
  try {
    return JSON.parse(text) as Reply['json']
  } catch {
    return undefined
  }
}
