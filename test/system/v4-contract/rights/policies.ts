/** Random policies, roles and users of the manager. The same seed gives the same ones. */
import type { Random } from '../../../faults/coherence/random.ts'

interface Policy {
  readonly actions: readonly string[]
  readonly resources: readonly string[]
  readonly effect: 'allow' | 'deny'
}

export interface RandomUser {
  readonly name: string
  /** The same for users that have the same policies, in whatever order. */
  readonly part: number
  /** Numbers of policies in their order: of two policies about one thing, the later one counts. */
  readonly policies: readonly number[]
}

const ACTIONS = [
  'agent:read',
  'group:read',
  'cluster:read',
  'ciscat:read',
  'cluster:status',
  'cluster:read_api_config',
  'lists:read',
  'manager:read',
  'manager:read_api_config',
  'mitre:read',
  'rootcheck:read',
  'rules:read',
  'sca:read',
  'syscheck:read',
  'decoders:read',
  'syscollector:read',
  'security:read',
  'security:read_config',
  'task:status',
  'vulnerability:read',
] as const

/** Resources of some kinds, of which the simulated cluster has the named ones. */
const RESOURCES = [
  [
    'agent:id:*',
    'agent:id:000',
    'agent:id:001',
    'agent:id:002',
    'agent:id:003',
    'agent:group:web',
    'agent:group:default',
  ],
  ['group:id:*', 'group:id:default', 'group:id:web', 'group:id:dmz'],
  ['node:id:*', 'node:id:master', 'node:id:worker-1'],
  ['rule:file:*', 'rule:file:local_rules.xml', 'decoder:file:*', 'decoder:file:local_decoder.xml'],
  ['list:file:*', 'list:file:audit-keys'],
  ['user:id:*', 'user:id:1', 'role:id:*', 'role:id:1', 'policy:id:*', 'policy:id:1', 'rule:id:*'],
  ['*:*:*'],
] as const

export function randomPolicies(count: number, random: Random): Policy[] {
  return Array.from({ length: count }, () => {
    const actions = new Set(Array.from({ length: 2 + random.below(8) }, () => random.of(ACTIONS)))
    const resources = RESOURCES.flatMap((kind) => {
      if (random.chance(0.2)) return []
      return [...new Set(Array.from({ length: 1 + random.below(2) }, () => random.of<string>(kind)))]
    })
    return {
      actions: [...actions],
      resources: resources.length > 0 ? resources : ['*:*:*'],
      effect: random.chance(0.25) ? 'deny' : 'allow',
    }
  })
}

/** Each policy is that of some user. Of each pair, one user has the policies of the other, or these in another order. */
export function randomUsers(policies: number, random: Random): RandomUser[] {
  const users: RandomUser[] = []
  for (let first = 0; first < policies; first += 1) {
    const more = Array.from({ length: random.below(3) }, () => random.below(policies))
    const own = [...new Set([first, ...more])]
    users.push({ name: `user-${first}`, part: first, policies: own })
    if (first % 4 === 0) users.push({ name: `equal-${first}`, part: first, policies: own })
    if (own.length > 1) users.push({ name: `turned-${first}`, part: first, policies: [...own].reverse() })
  }
  return users
}
