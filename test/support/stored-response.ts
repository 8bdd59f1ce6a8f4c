import { StoredForms, type StoredResponse } from '../../src/core/stored-response.ts'

/** A stored response that is fresh for 20 s. */
export function storedResponse(body: Buffer | string, more: Partial<StoredResponse> = {}): StoredResponse {
  const times = {
    ttl: 20_000,
    staleWhileRevalidate: 0,
    staleIfError: 0,
    staleInOutage: 0,
    staleWithoutRedis: 0,
    staleWhileHot: 0,
    fetchTime: 1,
  }
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const content = {
    kind: 'response',
    status: 200,
    errorNumber: 0,
    contentType: '',
    body: bytes,
    etag: '"v1"',
    clusterStatus: '',
  } as const
  return { ...content, forms: new StoredForms(), ...times, ...more }
}
