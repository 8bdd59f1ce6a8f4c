/** Requests as validation creates them, for endpoints of the catalogue. */
import type { WriteMethod } from '../../../src/contracts/endpoint.ts'
import type { EdgeRead, EdgeRequest, EdgeWrite } from '../../../src/core/request.ts'
import { edgeRequest as requestOf } from '../../support/edge-requests.ts'

type Overrides = Partial<EdgeRead> | Partial<EdgeWrite>

export function edgeRequest(method: 'GET', path: string, overrides?: Partial<EdgeRead>): EdgeRead
export function edgeRequest(method: WriteMethod, path: string, overrides?: Partial<EdgeWrite>): EdgeWrite
export function edgeRequest(method: string, path: string, overrides?: Overrides): EdgeRequest
export function edgeRequest(method: string, path: string, overrides: Overrides = {}): EdgeRequest {
  const caller = { name: 'ann', permissions: ['*:*'] }
  return requestOf(`${method} ${path}`, { caller, requestId: 'a', ...overrides } as Overrides)
}
