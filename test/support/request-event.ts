import { type RequestEvent, RequestRecord } from '../../src/core/events.ts'

/** A hit by its caller `admin`, which took one millisecond, and has just ended. */
export function requestEvent(overrides: Partial<RequestEvent> = {}): RequestEvent {
  return {
    ...new RequestRecord(),
    at: Date.now(),
    endedAt: performance.now(),
    requestId: 'id',
    method: 'GET',
    sentMethod: 'GET',
    route: '/agents',
    group: 'agents',
    status: 200,
    ms: 1,
    bytes: 100,
    cache: 'hit',
    caller: 'admin',
    client: '127.0.0.1',
    message: 'request',
    ...overrides,
  }
}
