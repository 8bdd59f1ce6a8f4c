/** The accounts that calls are sent for: that of the edge, or in mode `passthrough` those of the callers. */
import { createHmac, randomBytes } from 'node:crypto'
import type { NodeCall } from '../../core/node-call.ts'
import type { NodeCredentials } from '../options.ts'

export interface Account {
  /** A digest of name and password with a key of this process. */
  readonly key: string
  readonly username: string
  /** The account of the edge. */
  readonly isOwn: boolean
  /** Returns the header of a login. A function, so that no dump of an object shows the password. */
  basic(): string
}

type NameAndPassword = NonNullable<NodeCall['credentials']>

/** Returns the account of a call; `undefined`: it has none, such as a probe of the edge in mode `passthrough`. */
export type AccountOf = (call: Pick<NodeCall, 'credentials'>) => Account | undefined

export function createAccounts(credentials: NodeCredentials): AccountOf {
  const service = credentials.mode === 'service' ? createAccount(credentials, true) : undefined
  return (call) => service ?? (call.credentials && createAccount(call.credentials, false))
}

const DIGEST_KEY = randomBytes(32)

/** The length of the name comes first: without it, `a` + `bc` and `ab` + `c` would be the same account. */
function createAccount({ username, password }: NameAndPassword, isOwn: boolean): Account {
  const text = `${Buffer.byteLength(username)}:${username}${password}`
  return {
    key: createHmac('sha256', DIGEST_KEY).update(text).digest('base64'),
    username,
    isOwn,
    basic: () => basicAuthorization({ username, password }),
  }
}

/** Returns the header of HTTP Basic (RFC 7617). */
export function basicAuthorization({ username, password }: NameAndPassword): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`
}
