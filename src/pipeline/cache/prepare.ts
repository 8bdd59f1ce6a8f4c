/** From an Ask to what the store is asked: key, tags, and the line that `/cache` shows. */
import type { Tag } from '../../catalogue/endpoint.ts'
import type { Listed } from '../kept.ts'
import type { Ask } from '../ports.ts'
import { canonical, type KeySettings, keyOf, keyText, urlOf } from './key.ts'
import { type Plan, planOf } from './plan.ts'

export interface Prepared {
  readonly plan: Plan
  readonly key: string
  readonly tags: readonly Tag[]
  readonly listed: Listed
}

/** In words, why the answer is never kept. */
export type Unkept = string
export type Prepare = (ask: Ask) => Prepared | Unkept

/** A hit must not pay for an HMAC and for filling tags again; so many requests are remembered, twice. */
const REMEMBERED = 5000

export function createPrepare(settings: KeySettings, master: () => string): Prepare {
  let young = new Map<string, Prepared>()
  let old = new Map<string, Prepared>()
  return (ask) => {
    const plan = planOf(ask.endpoint)
    if (typeof plan === 'string') return plan
    if (plan.rawWhen !== undefined && Object.hasOwn(ask.query, plan.rawWhen)) return 'a file passes through'
    const request = canonical(ask, plan, settings.policy)
    const name = master()
    const text = keyText(request)
    const remembered = `${name} ${text}`
    const known = young.get(remembered) ?? old.get(remembered)
    const prepared = known ?? make()
    if (!young.has(remembered)) {
      if (young.size >= REMEMBERED) [old, young] = [young, new Map()]
      young.set(remembered, prepared)
    }
    return prepared

    function make(): Prepared {
      const tags = (plan as Plan).tagsOf(ask, name)
      const listed = {
        url: urlOf(request),
        group: (plan as Plan).group,
        endpoint: ask.endpoint.path,
        scope: request.scope,
        tags,
      }
      return { plan: plan as Plan, key: keyOf(text, settings.secret), tags, listed }
    }
  }
}
