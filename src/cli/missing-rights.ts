/** What the roles of the edge promise, and the account of the edge may not do. */
import type { Config } from '../config/schema.ts'
import { catalogue } from '../contracts/index.ts'
import accountRights from '../contracts/translations/account-rights.json' with { type: 'json' }
import { rightsNeeded } from '../contracts/v4/index.ts'
import { allows, builtInRoles } from '../core/access.ts'
import { isRelease5 } from '../core/node-call.ts'
import { ownEntry } from '../core/values.ts'
import type { AccountRights } from '../upstream/probes.ts'

/**
 * Compares the rights of the account of the edge with what the roles of the edge promise to users. Returns a text for
 * each role in use that promises more than the account may do, or why that is not known. `release`: of the node.
 */
export function findMissingRights(
  { access }: Pick<Config, 'access'>,
  rights: AccountRights | undefined,
  release?: string,
): readonly string[] {
  if (rights === undefined) {
    return ['the node does not show the rights of the account']
  }
  const roles: Readonly<Record<string, readonly string[]>> = { ...builtInRoles, ...access.customRoles }
  const hasAction = actionsOf(release)
  return rolesInUse(access).flatMap((role) => describeRole(role, roles[role] ?? [], { rights, hasAction }))
}

const exceptions: Readonly<Record<string, readonly string[]>> = accountRights

/** Which rights an account needs for a permission: those of the exception, or else of the calls of its endpoints. */
const rightsOfPermissions: ReadonlyMap<string, readonly string[]> = new Map(
  [...new Set(catalogue.filter(({ target }) => target.kind !== 'edge').map(({ permission }) => permission))]
    .filter((permission) => permission !== 'signedIn')
    .map((permission) => [permission, ownEntry(exceptions, permission) ?? rightsOfCalls(permission)]),
)

/** `rules:read on rule:file:{filename}` as the action and the type of object, of which an account needs all. */
function rightsOfCalls(permission: string): readonly string[] {
  const needed = catalogue
    .filter((endpoint) => endpoint.permission === permission)
    .flatMap(rightsNeeded)
    .flat()
  return [...new Set(needed.map((right) => right.replace(/^(\S+ on [^:]+:[^:]+).*$/, '$1')))]
}

/** The actions of releases 4 that release 5.0 does not have. */
const GONE_ACTIONS = /^(?:active-response|ciscat|decoders|lists|rootcheck|rules|sca|syscheck|syscollector):/

function actionsOf(release: string | undefined): Having['hasAction'] {
  return (name) => !(isRelease5(release) && GONE_ACTIONS.test(name))
}

interface Having {
  readonly rights: AccountRights
  readonly hasAction: (name: string) => boolean
}

function rolesInUse({ roles, customRoles, tokens }: Config['access']): readonly string[] {
  // The words of a claim are the names of roles, unless the setting maps them: its tokens may have any role.
  if (tokens.issuers.some((issuer) => issuer.roles === undefined)) {
    return [...Object.keys(builtInRoles), ...Object.keys(customRoles)]
  }
  const ofIssuers = tokens.issuers.flatMap((issuer) => Object.values(issuer.roles ?? {}).flat())
  return [...new Set([...Object.values(roles).flat(), ...ofIssuers])]
}

function describeRole(role: string, granted: readonly string[], { rights, hasAction }: Having): readonly string[] {
  const promised = [...rightsOfPermissions].filter(([permission]) => allows(granted, permission))
  const needed = [...new Set(promised.flatMap(([, names]) => names.filter(hasAction)))]
  const having = (extent: 'some' | 'none') =>
    needed.flatMap((name) => {
      // An action on all objects of a type, as policies of the manager name both.
      const [action = '', on = ''] = name.split(' on ')
      return rights({ action, on }) === extent ? [`${name}:*`] : []
    })
  const [none, some] = [having('none'), having('some')]
  return [
    ...(none.length > 0
      ? [`role ${role}: the account may not do what the role promises; it lacks ${none.join(', ')}`]
      : []),
    ...(some.length > 0
      ? [
          `role ${role}: the node leaves out of lists what the account may not do; it has only parts of ${some.join(', ')}`,
        ]
      : []),
  ]
}
