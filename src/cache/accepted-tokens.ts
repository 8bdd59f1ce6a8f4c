/**
 * The tokens that a node has accepted lately, as stored responses of the cache: all replicas share them, they expire, and a
 * write to users, roles, policies or settings of the manager invalidates them before it is answered. The keys are HMACs, so
 * no token is in Redis.
 */
import { createHmac } from 'node:crypto'
import { StoredForms } from '../core/stored-forms.ts'
import type { CacheStore } from './stores/contract.ts'

/** What every write to the rights of users invalidates (`rights` in catalogue/newer-contract/security-writes.ts). */
const TAGS = ['security', 'cache'] as const
const BODY = Buffer.from('{}')
const PATH = '/security/user/authenticate'

export interface AcceptedTokens {
  /**
   * Resolves to the acceptance of a token: of any replica, or what `ask` gets from the node now. Resolves to `undefined` for
   * a token that the node refuses, and rejects as `ask` does.
   */
  check(token: string, ask: () => Promise<boolean>): Promise<Acceptance | undefined>
}

/** The answer of a node about a token. */
export interface Acceptance {
  /** Whether it still holds, as far as this process knows. Never asks a node or Redis. */
  holds(): boolean
}

export interface AcceptedTokensOptions {
  readonly store: Pick<CacheStore, 'lookup' | 'lookupLocal' | 'store'>
  readonly secret: () => Buffer | string
  /** Milliseconds. */
  readonly lifetime: () => number
}

export function createAcceptedTokens({ store, secret, lifetime }: AcceptedTokensOptions): AcceptedTokens {
  const pending = new Map<string, Promise<boolean>>()
  const isFresh = (lookup: Awaited<ReturnType<CacheStore['lookup']>> | undefined): boolean =>
    lookup?.kind === 'hit' && !lookup.epochs.fenced && lookup.response.age < lookup.response.ttl
  const ask = async (key: string, askNode: () => Promise<boolean>): Promise<boolean> => {
    const before = await store.lookup(key, TAGS)
    if (isFresh(before)) return true
    const isAccepted = await askNode()
    if (isAccepted && before.kind !== 'unavailable' && !before.epochs.fenced && lifetime() > 0) {
      const response = {
        status: 200,
        body: BODY,
        etag: '""',
        forms: new StoredForms(),
        ttl: lifetime(),
        staleWhileRevalidate: 0,
        staleIfError: 0,
        fetchTime: 0,
      }
      const info = { url: `${PATH}#${key.slice(0, 8)}`, group: 'manager', endpoint: PATH, scope: 'rights', tags: TAGS }
      await store.store({ key, tags: TAGS, epochs: before.epochs, response, info })
    }
    return isAccepted
  }
  return {
    check: async (token, askNode) => {
      const key = createHmac('sha256', secret()).update(`token ${token}`).digest('base64url')
      const begun = pending.get(key) ?? ask(key, askNode).finally(() => pending.delete(key))
      pending.set(key, begun)
      return (await begun) ? { holds: () => isFresh(store.lookupLocal(key, TAGS)) } : undefined
    },
  }
}
