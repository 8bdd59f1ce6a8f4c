/** The Authorization header of a request. Node keeps the first of several and other software the last, so several are rejected. */
import type { FastifyRequest } from 'fastify'
import { EdgeError } from '../core/errors.ts'

const AUTHORIZATION = 'authorization'
const MAX_HEADER_LENGTH = 8192

/** Returns the one Authorization header, or an empty text if there is none. Throws 900 for several, and for a long one. */
export function authorizationOf(request: FastifyRequest): string {
  if (countAuthorizations(request) > 1) throw new EdgeError(900, ': more than one Authorization header')
  const { authorization = '' } = request.headers
  if (authorization.length > MAX_HEADER_LENGTH) throw new EdgeError(900, ': Authorization header too long')
  return authorization
}

/** Returns the Authorization header, or `undefined` if there is none or more than one. */
export function singleAuthorizationOf(request: FastifyRequest): string | undefined {
  return countAuthorizations(request) === 1 ? request.headers.authorization : undefined
}

function countAuthorizations({ raw: { rawHeaders } }: FastifyRequest): number {
  let count = 0
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (name.length === AUTHORIZATION.length && name.toLowerCase() === AUTHORIZATION) count++
  }
  return count
}
