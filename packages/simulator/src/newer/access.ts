/** The accounts of the newer API and what their policies allow. */

export type Action = `${string}:${string}`
/** A kind of resource: `agent:id`, `group:id`, `node:id`, `rule:file`, `*:*` … */
export type ResourceType = `${string}:${string}`

export interface Policy {
  readonly actions: readonly Action[]
  /** `agent:id:001`, `agent:group:web`, `node:id:*`, `*:*:*` … */
  readonly resources: readonly string[]
  readonly effect?: 'allow' | 'deny'
}

export type RoleName =
  | 'administrator'
  | 'readonly'
  | 'agents_readonly'
  | 'agents_admin'
  | 'cluster_readonly'
  | 'cluster_admin'

export interface NewerUser {
  readonly password: string
  /** No roles: lists are empty, and named targets are denied. */
  readonly roles?: readonly (RoleName | Policy)[]
  /** May log in through `run_as`. */
  readonly runAs?: boolean
}

const readAgents: Policy[] = [
  { actions: ['agent:read'], resources: ['agent:id:*', 'agent:group:*'] },
  { actions: ['group:read'], resources: ['group:id:*'] },
]
const allAgents: Policy[] = [
  ...readAgents,
  { actions: ['agent:create', 'group:create'], resources: ['*:*:*'] },
  {
    actions: ['agent:delete', 'agent:modify_group', 'agent:restart', 'agent:upgrade'],
    resources: ['agent:id:*', 'agent:group:*'],
  },
  { actions: ['group:delete', 'group:update_config', 'group:modify_assignments'], resources: ['group:id:*'] },
]
const readCluster: Policy[] = [
  { actions: ['cluster:read', 'manager:read'], resources: ['node:id:*'] },
  { actions: ['cluster:status'], resources: ['*:*:*'] },
]

const rolePolicies: Readonly<Record<RoleName, readonly Policy[]>> = {
  administrator: [
    ...allAgents,
    ...readCluster,
    {
      actions: [
        'active-response:command',
        'ciscat:read',
        'rootcheck:clear',
        'rootcheck:read',
        'rootcheck:run',
        'sca:read',
        'syscheck:clear',
        'syscheck:read',
        'syscheck:run',
        'syscollector:read',
      ],
      resources: ['agent:id:*', 'agent:group:*'],
    },
    { actions: ['cluster:restart', 'cluster:update_config'], resources: ['node:id:*'] },
    { actions: ['rules:read', 'rules:delete'], resources: ['rule:file:*'] },
    { actions: ['decoders:read', 'decoders:delete'], resources: ['decoder:file:*'] },
    { actions: ['lists:read', 'lists:delete'], resources: ['list:file:*'] },
    {
      actions: [
        'rules:update',
        'decoders:update',
        'lists:update',
        'task:status',
        'security:revoke',
        'security:update_config',
      ],
      resources: ['*:*:*'],
    },
  ],
  readonly: [
    ...readAgents,
    ...readCluster,
    {
      actions: ['ciscat:read', 'rootcheck:read', 'sca:read', 'syscheck:read', 'syscollector:read'],
      resources: ['agent:id:*'],
    },
    { actions: ['decoders:read'], resources: ['decoder:file:*'] },
    { actions: ['lists:read'], resources: ['list:file:*'] },
    { actions: ['rules:read'], resources: ['rule:file:*'] },
    { actions: ['mitre:read', 'task:status'], resources: ['*:*:*'] },
  ],
  agents_readonly: readAgents,
  agents_admin: allAgents,
  cluster_readonly: readCluster,
  cluster_admin: [...readCluster, { actions: ['cluster:restart', 'cluster:update_config'], resources: ['node:id:*'] }],
}

/** What a user may do. */
export interface Rights {
  /** Whether everything is allowed. */
  readonly unlimited: boolean
  /** `groups`: of the agent, whose rights may come from a group. */
  may(action: Action, type: ResourceType, id: string, groups?: readonly string[]): boolean
  /** Whether any resource of the type is allowed. */
  mayAny(action: Action): boolean
  /** Returns the effect of each action on each resource, as `GET /security/users/me/policies` shows it. */
  processed(): Readonly<Record<string, Readonly<Record<string, 'allow' | 'deny'>>>>
}

export function rightsOf(roles: readonly (RoleName | Policy)[]): Rights {
  const policies = roles.flatMap((role) => (typeof role === 'string' ? rolePolicies[role] : [role]))
  const unlimited = roles.includes('administrator')
  const about = (action: Action) => policies.filter(({ actions }) => actions.includes(action))
  return {
    unlimited,
    processed: () => {
      const effects: Record<string, Record<string, 'allow' | 'deny'>> = {}
      for (const { actions, resources, effect = 'allow' } of policies) {
        for (const action of actions) {
          const added = Object.fromEntries(resources.map((resource) => [resource, effect]))
          effects[action] = { ...effects[action], ...added }
        }
      }
      return effects
    },
    mayAny: (action) => unlimited || about(action).some(({ effect }) => effect !== 'deny'),
    may: (action, type, id, groups = []) => {
      if (unlimited) return true
      const names = [`${type}:${id}`, `${type}:*`, '*:*:*']
      if (type === 'agent:id') names.push('agent:group:*', ...groups.map((group) => `agent:group:${group}`))
      const found = about(action).filter(({ resources }) => resources.some((resource) => names.includes(resource)))
      return found.length > 0 && found.every(({ effect }) => effect !== 'deny')
    },
  }
}
