/** The calls that describe actions and resources of policies. */
import { V4Error } from '../../errors.ts'
import { type Asked, type Call, NO_TEXTS } from '../../model.ts'
import { operationsOf } from '../../operations/index.ts'
import { repr } from '../../python.ts'
import descriptionsOf4 from '../../rbac/descriptions.json' with { type: 'json' }
import descriptionsOf5 from '../../rbac/descriptions-5.json' with { type: 'json' }
import { hasRelease5, minorOf } from '../../releases.ts'

interface Descriptions {
  readonly actions: Readonly<Record<string, { readonly related_endpoints: readonly string[] }>>
  readonly resources: Readonly<Record<string, object>>
}

const descriptionsAt = (asked: Asked): Descriptions => (hasRelease5(asked) ? descriptionsOf5 : descriptionsOf4)

function actions(asked: Asked) {
  const { query, node, world } = asked
  const { endpoint } = query
  const descriptions = descriptionsAt(asked)
  const all = Object.entries(descriptions.actions)
  if (endpoint === undefined) return { kind: 'data', data: Object.fromEntries(all) } as const
  const known = operationsOf(minorOf(node.version ?? world.version))
  if (!known.includes(endpoint)) {
    throw new V4Error(4020, '', { remediation: `Valid endpoints are: : ${repr(known)}` })
  }
  const found = all.filter(([, { related_endpoints: related }]) => related.includes(endpoint))
  return { kind: 'data', data: Object.fromEntries(found) } as const
}

function resources(asked: Asked) {
  const { resource } = asked.query
  const found = Object.entries(descriptionsAt(asked).resources).filter(([name]) => (resource ?? name) === name)
  return { kind: 'data', data: Object.fromEntries(found) } as const
}

const common = { method: 'GET', runs: 'here', needs: [], texts: NO_TEXTS } as const

export const descriptionCalls: readonly Call[] = [
  { ...common, path: '/security/actions', run: actions },
  { ...common, path: '/security/resources', run: resources },
]
