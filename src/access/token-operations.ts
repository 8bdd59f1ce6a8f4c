/** Tokens: issued to those who show their password, and ended for those who ask. */
import { EdgeError } from '../core/errors.ts'
import type { Caller, Handler } from '../core/request.ts'
import type { EdgeResponse } from '../core/response.ts'

export interface TokenPorts {
  /** A signed token for the user of that name. */
  issue(name: string): Promise<string>
  /** Ends all tokens of the caller. */
  revoke(caller: Caller): Promise<void>
}

/** Answers `{error, data: {token}}` and `{error, data}`; 902 for a caller that may have no token. */
export function tokenOperations({ issue, revoke }: TokenPorts): {
  issueToken: Handler
  revokeTokens: Handler
} {
  return {
    async issueToken({ caller }) {
      // A token that buys the next one would never end.
      if (caller.token !== undefined) throw new EdgeError(902, '. A token is issued for Basic credentials only')
      refusePassthrough(caller)
      return answer({ token: await issue(caller.name) })
    },
    async revokeTokens({ caller }) {
      refusePassthrough(caller)
      await revoke(caller)
      return answer('All tokens of the user were revoked')
    },
  }
}

function refusePassthrough({ credentials }: Caller): void {
  if (credentials !== undefined) throw new EdgeError(902, '. No tokens where credentials are passed on to the manager')
}

function answer(data: unknown): EdgeResponse {
  return { kind: 'json', status: 200, body: Buffer.from(JSON.stringify({ error: 0, data })) }
}
