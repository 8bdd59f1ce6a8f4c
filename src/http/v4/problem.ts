/** The errors of the v4 contract: `application/problem+json` with `title`, `detail` and, for some, `remediation` and `error`. */

import { STATUS_CODES } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Endpoint } from '../../contracts/endpoint.ts'
import { type EdgeError, type ErrorCode, ProblemError } from '../../core/errors.ts'
import type { RejectionForm } from '../../listener/reject.ts'
import { PROBLEM_CONTENT } from '../../representation/headers.ts'
import { pretty } from '../../representation/pretty.ts'
import { toEdgeError } from '../contract.ts'

/** Titles that differ from the name of the status. */
const TITLES: Readonly<Record<number, string>> = { 403: 'Permission Denied', 413: 'Request Entity Too Large' }
const SERVER_TITLE = 'Wazuh Internal Error'

function titleOf(status: number): string {
  const title = TITLES[status] ?? STATUS_CODES[status]
  return status >= 500 || title === undefined ? SERVER_TITLE : title
}

/** The codes that the v4 contract has for errors of the edge. All others keep their own. */
const CODES: Partial<Record<ErrorCode, number>> = { 902: 4000, 903: 6001, 904: 6000 }

/** Codes of the v3 contract that the v4 one writes without a number. */
const WITHOUT_CODE: ReadonlySet<number> = new Set([901, 603, 905, 701])

export function sendProblem(request: FastifyRequest, reply: FastifyReply, thrown: EdgeError): FastifyReply {
  const { edge } = request
  const isUnnamed = thrown.code === 901 && !(thrown instanceof ProblemError)
  const error = isUnnamed
    ? unauthorized(takesPassword(request.routeOptions.config?.endpoint) ? 'Invalid credentials' : 'Invalid token')
    : thrown
  const text = textOf(error)
  // The redirect of the manager has no body.
  if (error.status === 307) return reply.send()
  reply.code(statusOf(error)).header('content-type', PROBLEM_CONTENT)
  return reply.send(edge.flags.pretty ? pretty(text) : text)
}

function textOf(error: EdgeError): string {
  return `${JSON.stringify(contentsOf(error))}\n`
}

/** For errors that the listener sends. */
export const problemForm: RejectionForm = {
  type: PROBLEM_CONTENT,
  bodyOf: (error) => textOf(error.code === 905 ? methodNotAllowed(error.headers) : error),
}

/** Whether the operation is a login, which has a name and a password; all others have a token. */
export function takesPassword(endpoint: Endpoint | undefined): boolean {
  const target = endpoint?.target
  return target?.kind === 'edge' && target.operation === 'logIn'
}

/** A fault of a parameter or a body has 400 in both contracts; what the v3 one answers with 200 has 400 here. */
function statusOf(error: EdgeError): number {
  if (error.code === 701) return 413
  return error.status === 200 ? 400 : error.status
}

function contentsOf(error: EdgeError): object {
  if (error.code === 701) return { title: titleOf(413), detail: 'Maximum request body size exceeded' }
  if (error instanceof ProblemError) {
    const { title, detail, remediation, number } = error
    return { title, detail, ...(remediation && { remediation }), ...(number !== undefined && { error: number }) }
  }
  const title = titleOf(statusOf(error))
  const code = WITHOUT_CODE.has(error.code) ? undefined : (CODES[error.code] ?? error.code)
  return { title, detail: error.message, ...(code !== undefined && { error: code }) }
}

export function methodNotAllowed(headers: Readonly<Record<string, string>>): EdgeError {
  return new ProblemError(905, { title: 'Method Not Allowed', detail: '405: Method Not Allowed', headers })
}

export function unauthorized(detail: string): EdgeError {
  return new ProblemError(901, { title: 'Unauthorized', detail })
}

export function badRequest(detail: string, headers: Readonly<Record<string, string>> = {}): EdgeError {
  return new ProblemError(614, { title: 'Bad Request', detail, headers })
}

/** Returns the error of the v4 contract for an error of a handler, a hook or Fastify. */
export function problemOf(thrown: unknown): EdgeError {
  const error = toEdgeError(thrown)
  if (error instanceof ProblemError || error.code !== 614) return error
  return badRequest(error.message)
}
