/** What each operation of the newer contract accepts, by release. */
import { type CallBody, parseBodyType } from '../bodies.ts'
import { type Params, parseType } from '../parameter-types.ts'
import agents from './agents.json' with { type: 'json' }
import cluster from './cluster.json' with { type: 'json' }
import experimental from './experimental.json' with { type: 'json' }
import groups from './groups.json' with { type: 'json' }
import manager from './manager.json' with { type: 'json' }
import mitre from './mitre.json' with { type: 'json' }
import others from './others.json' with { type: 'json' }
import rules from './rules.json' with { type: 'json' }
import scans from './scans.json' with { type: 'json' }
import security from './security.json' with { type: 'json' }
import syscollector from './syscollector.json' with { type: 'json' }

/** A parameter whose type changes with the releases has several texts. */
type TypeTexts = Readonly<Record<string, string | readonly string[]>>

interface Described {
  readonly since?: number
  readonly until?: number
  readonly without?: readonly string[]
  readonly path?: TypeTexts
  readonly query?: TypeTexts
  readonly body?: string
}

export interface Accepted {
  readonly params: Params
  readonly query: Params
  /** The parameters of every operation that this one does not take. */
  readonly without: readonly string[]
  readonly body?: CallBody
}

const described: Readonly<Record<string, Described>> = {
  ...others,
  ...agents,
  ...groups,
  ...cluster,
  ...manager,
  ...rules,
  ...mitre,
  ...scans,
  ...syscollector,
  ...experimental,
  ...security,
}

/** Returns the operations of a release. */
export function operationsOf(minor: number): string[] {
  return Object.entries(described)
    .filter(([, one]) => isWithin(minor, one))
    .map(([operation]) => operation)
}

/** Returns what a release accepts; undefined if it does not have the operation. Throws for an unknown operation. */
export function acceptedBy(operation: string, minor: number): Accepted | undefined {
  const found = described[operation]
  if (found === undefined) throw new Error(`Describe ${operation} in packages/simulator/src/newer/operations`)
  if (!isWithin(minor, found)) return undefined
  const { path = {}, query = {}, without = [], body } = found
  return {
    params: paramsIn(minor, path),
    query: paramsIn(minor, query),
    without,
    ...(body !== undefined && { body: parseBodyType(body) }),
  }
}

function paramsIn(minor: number, texts: TypeTexts): Params {
  const params = Object.entries(texts).flatMap(([name, text]) => {
    const param = [text]
      .flat()
      .map(parseType)
      .find((one) => isWithin(minor, one))
    return param === undefined ? [] : [[name, param] as const]
  })
  return Object.fromEntries(params)
}

function isWithin(minor: number, { since = 0, until = Number.POSITIVE_INFINITY }: Pick<Described, 'since' | 'until'>) {
  return minor >= since && minor <= until
}
