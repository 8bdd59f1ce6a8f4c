/** What the policies of a user allow. */
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
  | 'users_admin'
  | 'agents_readonly'
  | 'agents_admin'
  | 'cluster_readonly'
  | 'cluster_admin'
  | 'wazuh_indexer_admin'

export interface V4User {
  readonly password: string
  /** No roles: lists are empty, and named targets are denied. */
  readonly roles?: readonly (RoleName | Policy)[]
  /** May log in through `run_as`. */
  readonly runAs?: boolean
}

/** Whether what no policy names is denied (`white`) or allowed (`black`). */
export type Mode = 'white' | 'black'

/** What a user may do. */
export interface Rights {
  /** Whether everything is allowed. */
  readonly unlimited: boolean
  /** `groups`: of the agent, whose rights may come from a group. */
  may(action: Action, type: ResourceType, id: string, groups?: readonly string[]): boolean
  /** Returns the effect of each action on each resource, as `GET /security/users/me/policies` shows it. */
  processed(): Effects
}

type Effects = Readonly<Record<string, Readonly<Record<string, 'allow' | 'deny'>>>>

/** `unlimited`: without looking at the policies. In the mode `black`, what no policy names is allowed. */
export function rightsOf(
  policies: readonly Policy[],
  { unlimited, mode }: { readonly unlimited: boolean; readonly mode: Mode },
): Rights {
  const effects = effectsOf(policies)
  return {
    unlimited,
    processed: () => effects,
    may: (action, type, id, groups = []) => {
      if (unlimited) return true
      const names = [`${type}:${id}`, `${type}:*`, '*:*:*']
      if (type === 'agent:id') names.push('agent:group:*', ...groups.map((group) => `agent:group:${group}`))
      const found = Object.entries(effects[action] ?? {}).filter(([resource]) => names.includes(resource))
      const last = found.at(-1)?.[1]
      return last === undefined ? mode === 'black' : last === 'allow'
    },
  }
}

/** A later policy overrules an earlier one; one about all resources of a kind replaces those about single ones. */
function effectsOf(policies: readonly Policy[]): Effects {
  const effects: Record<string, Record<string, 'allow' | 'deny'>> = {}
  for (const { actions, resources, effect = 'allow' } of policies) {
    for (const action of actions) {
      for (const resource of resources) {
        const known = effects[action] ?? {}
        const replaced = (name: string) =>
          name === resource || (resource.endsWith(':*') && name.startsWith(resource.slice(0, -1)))
        const left = Object.entries(known).filter(([name]) => !replaced(name))
        effects[action] = { ...Object.fromEntries(left), [resource]: effect }
      }
    }
  }
  return effects
}
