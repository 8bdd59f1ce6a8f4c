/** Writes the response of a repeated hit, whose head is prepared. */
import type { ServerResponse } from 'node:http'
import { commonHeaders, type Representation } from '../representation/represent.ts'

/** `id`: of the request. */
export function writeHit(response: ServerResponse, id: string, representation: Representation): void {
  const { status, stableHeaders, ownHeaders, bytes } = representation
  response.writeHead(status, [...commonHeaders(id), ...stableHeaders, ...ownHeaders])
  response.end(bytes)
}
