import type { NodeCall } from '../core/node-call.ts'

/** A read that the edge sends for itself. `timeout` in milliseconds. */
export type OwnCall = Pick<NodeCall, 'node' | 'path' | 'endpoint' | 'caller' | 'credentials' | 'requestId'> & {
  readonly timeout: number
  readonly signal?: AbortSignal
}

/** Completes a call that the edge sends for itself: it goes before those of clients. */
export function createOwnCall({ signal = new AbortController().signal, ...call }: OwnCall): NodeCall {
  return { ...call, method: 'GET', retryable: true, expect: 'bytes', priority: 'health', signal }
}
