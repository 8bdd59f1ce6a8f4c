/** Owners that the master cannot report are one error, 931. */

import { OWNER_UNKNOWN } from '../core/error-meanings.ts'
import { EdgeError } from '../core/errors.ts'
import type { EdgeRequest, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'

const RETRY_AFTER_SECONDS = '5'

/** Creates error 931. Headers of `cause` replace its own `Retry-After`. */
export function createOwnerUnknownError(why: string, cause?: EdgeError): EdgeError {
  const headers = { 'retry-after': RETRY_AFTER_SECONDS, ...cause?.headers }
  return new EdgeError(OWNER_UNKNOWN, ` (${why})`, { headers, ...(cause && { cause }) })
}

export function isOwnerUnknownError(error: unknown): error is EdgeError {
  return error instanceof EdgeError && error.code === OWNER_UNKNOWN
}

/** Wrong credentials and rate limits concern one caller only. */
export function isErrorOfCaller(error: unknown): boolean {
  return error instanceof EdgeError && (error.code === 901 || error.code === 903)
}

/** Error 931 because the master is not ready; `response` is what it answered. */
export class MasterNotReadyError extends EdgeError {
  readonly response: EdgeResponse

  constructor(why: string, response: EdgeResponse) {
    super(OWNER_UNKNOWN, ` (${why})`, { headers: { 'retry-after': RETRY_AFTER_SECONDS } })
    this.response = response
  }
}

/**
 * Returns a handler that responds as the master does while it is not ready and `handler` needs it to find owners. Clients
 * wait until that error is over.
 */
export function passNotReady<R extends EdgeRequest>(handler: Handler<R>): Handler<R> {
  return async (request) => {
    try {
      return await handler(request)
    } catch (error) {
      if (error instanceof MasterNotReadyError) return error.response
      throw error
    }
  }
}
