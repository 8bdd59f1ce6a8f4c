/**
 * Creates the access checks: from the users file, or by passing credentials through to the nodes. And the endpoints of the
 * edge that issue and revoke tokens.
 */
import { Readable } from 'node:stream'
import { envelopeOf } from '../core/envelope.ts'
import { EdgeError, ProblemError } from '../core/errors.ts'
import type { Caller, EdgeRequest, Handler } from '../core/request.ts'
import { type EnvelopeResponse, OF_EDGE } from '../core/response.ts'
import type { Access, AccessOptions } from './access.ts'
import { createFileAccess } from './file-access.ts'
import { createPassthroughAccess } from './passthrough-access.ts'
import { createRoles } from './roles.ts'

/** Rejects with an `Error` for the operator if a setting, the users file or the folder of keys is invalid. */
export async function createAccess(options: AccessOptions): Promise<Access> {
  const roles = createRoles(options.roles, options.customRoles, options.knownPermissions)
  const { users } = options
  return 'file' in users ? createFileAccess(options, users.file, roles) : createPassthroughAccess(options, users, roles)
}

interface TokenActions {
  /** Returns a token for the caller of a request: one that the edge has signed, or one of the node for a user of the manager. */
  issue(request: EdgeRequest): Promise<string>
  /** Revokes all tokens of the caller. */
  revoke(caller: Caller): Promise<void>
}

/** Responds `{error, data: {token}}` and `{error, data}`. Throws 902 for a caller that may not have a token. */
export function createTokenOperations({ issue, revoke }: TokenActions): {
  issueToken: Handler
  revokeTokens: Handler
  logIn: Handler
  logOut: Handler
} {
  return {
    async logIn(request) {
      const { caller, query } = request
      const isRunAs = 'body' in request && request.body.kind === 'fields'
      // The token would have the roles of the user, who may do more than the context is meant for. A node decides it.
      if (isRunAs && caller.credentials === undefined) throw runAsRefused()
      const token = await issue(request)
      if (query.raw === 'true') {
        const stream = Readable.from([token])
        return { kind: 'file', status: 200, type: 'text/plain; charset=utf-8', length: token.length, stream }
      }
      return v4Response({ data: { token }, error: 0 })
    },
    async logOut({ caller }) {
      await revoke(caller)
      return v4Response({ message: `User ${caller.name} was successfully logged out`, error: 0 })
    },
    async issueToken(request) {
      const { caller } = request
      // If a token could be exchanged for a new one, a stolen token would never expire.
      if (caller.token !== undefined) throw new EdgeError(902, '. A token is issued for Basic credentials only')
      rejectPassthrough(caller)
      return envelopeOf({ error: 0, data: { token: await issue(request) } }, OF_EDGE)
    },
    async revokeTokens({ caller }) {
      rejectPassthrough(caller)
      await revoke(caller)
      return envelopeOf({ error: 0, data: 'All tokens of the user were revoked' }, OF_EDGE)
    },
  }
}

/** No user of the edge may use authorization contexts, and tokens of the manager are not issued for them. */
function runAsRefused(): EdgeError {
  const detail = 'The current user does not have authentication enabled through authorization context'
  return new ProblemError(902, { title: 'Permission Denied', detail, number: 6004 })
}

function v4Response(contents: object): EnvelopeResponse {
  return { kind: 'envelope', status: 200, body: Buffer.from(JSON.stringify(contents)), errorNumber: 0, origin: OF_EDGE }
}

function rejectPassthrough({ credentials }: Caller): void {
  if (credentials !== undefined) throw new EdgeError(902, '. Mode passthrough has no tokens')
}
