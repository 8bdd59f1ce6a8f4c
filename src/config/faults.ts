/** The faults of a configuration: each one has its place and a remedy. */
import { findSimilar } from '../core/errors.ts'
import { formatPath, type Path, startsWith } from './tree.ts'

export interface Fault {
  /** `edge.yaml:3:9`, the name of an environment variable, or empty. */
  readonly place: string
  readonly path: Path
  readonly message: string
  /** Position in the file; faults of the environment come last. */
  readonly order: number
}

/**
 * Returns the place of a value or its key; for a value that is not written, the place of the group that should hold it.
 */
export type PlaceOf = (path: Path, target?: 'key' | 'value') => Pick<Fault, 'place' | 'order'>

/** The order of faults outside the file. */
export const ORDER_LAST = Number.MAX_SAFE_INTEGER

/** A mistake in a table of thousands of rows would fill the log and the screen. */
const MAX_LINES = 100

/** Collects faults and finds the place of each setting, in the file or in the environment. */
export class FaultList {
  readonly #faults: Fault[] = []
  readonly #placeOf: PlaceOf
  readonly #overrides: readonly { readonly variable: string; readonly path: Path }[]

  constructor(placeOf: PlaceOf, overrides: readonly { readonly variable: string; readonly path: Path }[]) {
    this.#placeOf = placeOf
    this.#overrides = overrides
  }

  add(...faults: readonly Fault[]): void {
    this.#faults.push(...faults)
  }

  /** `target`: whether the key is wrong or its value. */
  readonly report = (path: Path, message: string, target: 'key' | 'value' = 'value'): void => {
    const variable = this.variableOf(path)
    const where = variable === undefined ? this.#placeOf(path, target) : { place: variable, order: ORDER_LAST }
    this.#faults.push({ ...where, path, message })
  }

  /** Returns the environment variable that set this path, or a group above it. */
  readonly variableOf = (path: Path): string | undefined =>
    this.#overrides.find((override) => startsWith(path, override.path))?.variable

  /** Returns whether there is no fault at this path, above it or below it. */
  readonly isValid = (path: Path): boolean =>
    !this.#faults.some(
      (fault) => fault.path.length > 0 && (startsWith(path, fault.path) || startsWith(fault.path, path)),
    )

  get isEmpty(): boolean {
    return this.#faults.length === 0
  }

  /** Returns lines such as `edge.yaml:3:9 listen.port: must be an integer, got "80"`, in the order of the file: the first ones. */
  lines(): string[] {
    const sorted = [...this.#faults].sort((a, b) => a.order - b.order)
    const lines = [...new Set(sorted.map(formatFault))]
    const more = lines.length - MAX_LINES
    return more > 0 ? [...lines.slice(0, MAX_LINES), `${more} more lines like these are not shown`] : lines
  }
}

function formatFault({ place, path, message }: Fault): string {
  const where = [place, formatPath(path)].filter((part) => part !== '').join(' ')
  return where === '' ? message : `${where}: ${message}`
}

/** Returns `; did you mean "port"?`, or all candidates if none is similar. */
export function formatSuggestion(word: string, candidates: readonly string[]): string {
  const name = findSimilar(word.slice(0, 64), candidates)
  return name === undefined ? `; known here: ${candidates.join(', ')}` : `; did you mean "${name}"?`
}
