/** The calls that describe actions and resources of policies. */
import { V4Error } from '../../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../../model.ts'
import { operationsOf } from '../../operations/index.ts'
import { repr } from '../../python.ts'
import descriptions from '../../rbac/descriptions.json' with { type: 'json' }
import { minorOf } from '../../releases.ts'

function actions({ query, node, world }: Asked) {
  const { endpoint } = query
  const all = Object.entries(descriptions.actions)
  if (endpoint === undefined) return { kind: 'data', data: Object.fromEntries(all) } as const
  const known = operationsOf(minorOf(node.version ?? world.version))
  if (!known.includes(endpoint)) {
    throw new V4Error(4020, '', { remediation: `Valid endpoints are: : ${repr(known)}` })
  }
  const found = all.filter(([, { related_endpoints: related }]) => related.includes(endpoint))
  return { kind: 'data', data: Object.fromEntries(found) } as const
}

function resources({ query: { resource } }: Asked) {
  const found = Object.entries(descriptions.resources).filter(([name]) => (resource ?? name) === name)
  return { kind: 'data', data: Object.fromEntries(found) } as const
}

const common = { method: 'GET', runs: 'here', needs: [], texts: NO_TEXTS } as const

export const descriptionCalls: readonly Call[] = [
  { ...common, path: '/security/actions', run: actions },
  { ...common, path: '/security/resources', run: resources },
]
