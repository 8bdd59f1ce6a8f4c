/** The endpoints of the edge that issue and revoke tokens. */
import { envelopeOf } from '../core/envelope.ts'
import { EdgeError } from '../core/errors.ts'
import type { Caller, Handler } from '../core/request.ts'
import { OF_EDGE } from '../core/response.ts'

export interface TokenActions {
  /** Returns a signed token for the user of that name. */
  issue(name: string): Promise<string>
  /** Revokes all tokens of the caller. */
  revoke(caller: Caller): Promise<void>
}

/** Responds `{error, data: {token}}` and `{error, data}`. Throws 902 for a caller that may not have a token. */
export function createTokenOperations({ issue, revoke }: TokenActions): {
  issueToken: Handler
  revokeTokens: Handler
} {
  return {
    async issueToken({ caller }) {
      // If a token could be exchanged for a new one, a stolen token would never expire.
      if (caller.token !== undefined) throw new EdgeError(902, '. A token is issued for Basic credentials only')
      rejectPassthrough(caller)
      return envelopeOf({ error: 0, data: { token: await issue(caller.name) } }, OF_EDGE)
    },
    async revokeTokens({ caller }) {
      rejectPassthrough(caller)
      await revoke(caller)
      return envelopeOf({ error: 0, data: 'All tokens of the user were revoked' }, OF_EDGE)
    },
  }
}

function rejectPassthrough({ credentials }: Caller): void {
  if (credentials !== undefined) throw new EdgeError(902, '. Mode passthrough has no tokens')
}
