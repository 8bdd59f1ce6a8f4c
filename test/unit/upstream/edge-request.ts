/** Requests as validation creates them, for endpoints of the catalogue. */
import { catalogue } from '../../../src/catalogue/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'

export function edgeRequest(method: string, path: string, overrides: Partial<EdgeRequest> = {}): EdgeRequest {
  const endpoint = catalogue.find((record) => record.method === method && record.path === path)
  if (endpoint === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return {
    endpoint,
    params: {},
    query: {},
    caller: { name: 'ann', permissions: ['*:*'] },
    waitForComplete: false,
    requestId: 'a',
    client: new AbortController(),
    ...overrides,
  }
}
