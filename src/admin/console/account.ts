/** `/api/me`: who the caller is, with which roles, and whether the caller can sign out. */
import type { Caller } from '../../core/request.ts'
import type { OperationsPart } from '../listener.ts'
import type { Account } from './account-types.ts'

/** `rolesOf` returns `undefined` if only the permissions are known. */
export function accountPart(rolesOf: (caller: Caller) => readonly string[] | undefined): OperationsPart {
  return (app) => {
    app.get('/api/me', async ({ caller }): Promise<Account> => {
      const { name, permissions, session } = caller
      const issuer = session?.issuer
      return {
        user: session?.user ?? name,
        ...(issuer !== undefined && { issuer: new URL(issuer).host }),
        roles: rolesOf(caller) ?? null,
        permissions,
        ...(session && { session: { endsIn: Math.max(0, session.expiresAt - Date.now()) } }),
      }
    })
  }
}
