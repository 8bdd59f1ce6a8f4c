/** Asks as validation hands them on, for records of the catalogue. */
import { catalogue } from '../../../src/catalogue/index.ts'
import type { EdgeRequest } from '../../../src/core/request.ts'

export function ask(method: string, path: string, more: Partial<EdgeRequest> = {}): EdgeRequest {
  const endpoint = catalogue.find((record) => record.method === method && record.path === path)
  if (endpoint === undefined) throw new Error(`the catalogue has no ${method} ${path}`)
  return {
    endpoint,
    params: {},
    query: {},
    caller: { name: 'ann', permissions: ['*:*'] },
    waitForComplete: false,
    requestId: 'a',
    signal: new AbortController().signal,
    ...more,
  }
}
