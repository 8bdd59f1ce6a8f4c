/** The form of a proof that a changed setting takes effect, and helpers of several proofs. */
import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import type { Test } from 'tap'
import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import type { Reloadable } from './edge.ts'

/** What a client or an operator sees of a setting. The values before and after the change must differ. */
export interface Proof {
  /** Settings and cluster at the start, if the defaults do not show the effect. */
  readonly start?: StartOptions | ((t: Test) => Promise<StartOptions>)
  /** Path of a setting, or of a group of settings, → value after the change. */
  readonly changes: Readonly<Record<string, unknown>>
  readonly before: unknown
  readonly after: unknown
  /** The observation ends the edge or changes the cluster for good: "before" and "after" have an edge each. */
  readonly isFinal?: true
  observe(edge: Reloadable): Promise<unknown>
}

export interface StartOptions {
  readonly settings?: Readonly<Record<string, unknown>>
  readonly world?: SimulatorOptions
}

export const OK = [200, 0]

/** A text that no other request contains, so that the response is not in the cache. */
export const unique = () => randomBytes(6).toString('hex')

/** Observes the status and the error code of a read. */
export const answer =
  (path: () => string, headers: Readonly<Record<string, string>> = {}): Proof['observe'] =>
  async ({ get }) => {
    const response = await get(path(), headers)
    const { error } = (await response.json()) as { error: number }
    return [response.status, error]
  }

/** Observes the status and the error code of a request with a method and, if needed, a body. */
export const answerTo =
  (method: string, path: string, { body, type = 'application/json' }: { body?: string; type?: string } = {}) =>
  async ({ edge }: Reloadable): Promise<unknown> => {
    const headers = { authorization: edge.authorization('admin'), ...(body !== undefined && { 'content-type': type }) }
    const response = await fetch(`${edge.url}${path}`, { method, headers, ...(body !== undefined && { body }) })
    const { error } = (await response.json()) as { error: number }
    return [response.status, error]
  }

/** Observes the answer while the master has a fault. */
export const duringFault =
  (fault: Parameters<Reloadable['simulator']['faults']['set']>[1], observe: Proof['observe']): Proof['observe'] =>
  async (edge) => {
    await edge.simulator.faults.set('master', fault)
    try {
      return await observe(edge)
    } finally {
      await edge.simulator.faults.clear()
    }
  }

/** Opens a new connection to the listener for clients. */
export function open({ edge }: Reloadable, bytes: string): Socket {
  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1')
  // The edge may reset the connection; the observation counts what arrived until then.
  socket.on('error', () => undefined)
  socket.write(bytes)
  return socket
}

/** Resolves to `otherwise` if the promise has not settled after `ms` milliseconds. */
export function within<T, U>(ms: number, promise: Promise<T>, otherwise: U): Promise<T | U> {
  return Promise.race([promise, new Promise<U>((resolve) => setTimeout(resolve, ms, otherwise).unref())])
}
