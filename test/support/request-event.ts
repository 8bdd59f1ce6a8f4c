import type { RequestEvent } from '../../src/core/events.ts'

/** A hit by its caller `admin`, which took one millisecond, and has just ended. */
export function requestEvent(overrides: Partial<RequestEvent> = {}): RequestEvent {
  return {
    at: Date.now(),
    endedAt: performance.now(),
    requestId: 'id',
    method: 'GET',
    sentMethod: 'GET',
    route: '/agents',
    path: undefined,
    group: 'agents',
    status: 200,
    ms: 1,
    bytes: 100,
    cache: 'hit',
    fetchTime: undefined,
    cacheStatus: undefined,
    errorCode: undefined,
    caller: 'admin',
    client: '127.0.0.1',
    traceId: undefined,
    rejectedWith: undefined,
    isOfListener: false,
    message: 'request',
    ...overrides,
  }
}
