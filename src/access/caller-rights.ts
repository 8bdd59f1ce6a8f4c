/**
 * What users of the manager may do, as the manager shows it, in the store of the cache: all replicas share it, it expires, and a
 * write that changes rights invalidates it. The edge asks before it reads a large body, so that a user without the right cannot
 * make it receive and check the body. The node decides about each request that is passed on, and in doubt it is.
 */

import type { BytesKey, BytesLookup, EpochStore } from '../cache/stores/contract.ts'
import { epochsText } from '../cache/stores/epochs.ts'
import { type EdgeError, ProblemError } from '../core/errors.ts'
import type { Caller } from '../core/request.ts'
import { REFUSED_BY_RIGHTS } from '../core/response.ts'
import { bytesOf } from '../core/stored-response.ts'
import { withTimeout } from '../core/timing.ts'
import { isObject, isStringArray, parseJson } from '../core/values.ts'
import { RIGHTS_TAG, tagsOfUser } from './stored-acceptances.ts'

/** A request waits this long for the node, in milliseconds. The client sends its body meanwhile. */
const MAX_WAIT_MS = 2_000

interface CallerRightsOptions {
  readonly store: EpochStore
  /** Resolves to the policies that the manager shows the caller; `undefined`: it shows none. */
  readonly ask: (caller: Caller) => Promise<unknown>
  /** Milliseconds for which they hold. */
  readonly lifetime: number
  /** The node that is asked: each has its own users and roles. */
  readonly node: () => string
}

export class CallerRights {
  readonly #options: CallerRightsOptions
  readonly #asking = new Map<string, Promise<readonly string[] | undefined>>()

  constructor(options: CallerRightsOptions) {
    this.#options = options
  }

  /**
   * Returns the refusal of the manager if the caller lacks the rights of each alternative, for all resources. A right is an
   * `action on resource`. Returns `undefined` in doubt, and never rejects.
   */
  async refusalOf(caller: Caller, alternatives: readonly (readonly string[])[]): Promise<EdgeError | undefined> {
    if (alternatives.length === 0) return undefined
    const allowed = await withTimeout(this.#allowedActions(caller), MAX_WAIT_MS, undefined)
    if (allowed === undefined) return undefined
    const isAllowed = (right: string) => namesOf(right).some((action) => allowed.includes(action))
    const missing = alternatives.map((rights) => rights.find((right) => !isAllowed(right)))
    return missing[0] === undefined || missing.includes(undefined) ? undefined : refusal(missing[0])
  }

  async #allowedActions(caller: Caller): Promise<readonly string[] | undefined> {
    const { store, node } = this.#options
    const { name, rights } = caller
    const key: BytesKey = `bytes:rights ${node()} ${rights === undefined ? `of ${name}` : rights}`
    const tags = rights === undefined ? tagsOfUser(name) : [RIGHTS_TAG]
    const before = await store.lookup(key, tags)
    const known = before.kind === 'hit' && !before.epochs.fenced ? parseJson(before.response.body) : undefined
    if (isObject(known)) return isStringArray(known.allowed) ? known.allowed : undefined
    const id = `${key} ${epochsText(before)}`
    const begun = this.#asking.get(id)
    if (begun !== undefined) return begun
    const asking = this.#ask(caller, { key, tags, before }).finally(() => this.#asking.delete(id))
    this.#asking.set(id, asking)
    return asking
  }

  async #ask(
    caller: Caller,
    { key, tags, before }: { readonly key: BytesKey; readonly tags: readonly string[]; readonly before: BytesLookup },
  ): Promise<readonly string[] | undefined> {
    const policies = await this.#options.ask(caller).catch(() => undefined)
    if (!isObject(policies)) return undefined
    const allowed = allowedIn(policies)
    if (before.kind !== 'unavailable' && !before.epochs.fenced) {
      const stored = bytesOf({ allowed }, this.#options.lifetime)
      void this.#options.store.store({ key, tags, epochs: before.epochs, stored })?.catch(() => undefined)
    }
    return allowed
  }
}

/** Returns the actions that are allowed for some resource; `undefined`: what no policy names is allowed. */
function allowedIn({ rbac_mode: mode, ...actions }: Readonly<Record<string, unknown>>): readonly string[] | undefined {
  if (mode !== 'white') return undefined
  return Object.keys(actions).filter((action) => Object.values(Object(actions[action])).includes('allow'))
}

/** Without a cluster, the manager checks the actions of `manager` instead of those of `cluster`. */
function namesOf(right: string): readonly string[] {
  const [action = ''] = right.split(' on ')
  return action.startsWith('cluster:') ? [action, action.replace('cluster:', 'manager:')] : [action]
}

function refusal(right: string): EdgeError {
  const type = (right.split(' on ')[1] ?? '').split(':').slice(0, 2).join(':')
  const detail = `Permission denied: Resource type: ${type}`
  return new ProblemError(902, { title: 'Permission Denied', detail, number: REFUSED_BY_RIGHTS })
}
