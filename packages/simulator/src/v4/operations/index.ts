/** What each operation of the v4 contract accepts, by release. */
import { type CallBody, parseBodyType } from '../bodies.ts'
import { type Params, parseType } from '../parameter-types.ts'
import { RELEASE_5 } from '../releases.ts'
import facts from './described.json' with { type: 'json' }
import measuredFacts from './measured.json' with { type: 'json' }
import factsOf5 from './release-5.json' with { type: 'json' }

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

/** What releases publish, written by `npm run docs:reference`. */
const described: Readonly<Record<string, Described>> = facts
/** What a real cluster has and the published descriptions lack, or have in another way. */
const measured: Readonly<Record<string, Described>> = measuredFacts
/** What release 5.0 has new or in another way. */
const of5: Readonly<Record<string, Described>> = factsOf5

/** Returns the operations of a release. */
export function operationsOf(minor: number): string[] {
  const all = new Set([...Object.keys(described), ...(minor >= RELEASE_5 ? Object.keys(of5) : [])])
  return [...all].filter((operation) => isWithin(minor, describedIn(operation, minor)))
}

/** Throws for an operation that no release has. */
function describedIn(operation: string, minor: number): Described {
  const found = described[operation]
  const later = of5[operation]
  if (later !== undefined && minor >= RELEASE_5) return later
  if (found === undefined && later !== undefined) return { since: RELEASE_5 }
  if (found === undefined) {
    throw new Error(`Add ${operation} to test/contract/data/v4-endpoints.yaml, then run npm run docs:reference`)
  }
  const differing = measured[operation]
  return { ...found, ...differing, query: { ...found.query, ...differing?.query } }
}

/** Returns what a release accepts; undefined if it does not have the operation. Throws for an unknown operation. */
export function acceptedBy(operation: string, minor: number): Accepted | undefined {
  const { path = {}, query = {}, without = [], body, ...release } = describedIn(operation, minor)
  if (!isWithin(minor, release)) return undefined
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
