/** What is wrong with the settings: every fault says where it stands and what to do. */
import type { Source } from './file.ts'
import { type Path, written } from './tree.ts'

export interface Fault {
  /** `edge.yaml:3:9`, the name of an environment variable, or empty. */
  readonly place: string
  readonly path: Path
  readonly says: string
  /** Position in the file, for the order; faults of the environment come last. */
  readonly order: number
}

/** After everything that stands in the file. */
export const LAST = Number.MAX_SAFE_INTEGER

/** Collects what is wrong, and knows where each setting came from. */
export class FaultList {
  readonly #faults: Fault[] = []
  readonly #source: Source
  readonly #overrides: readonly { readonly variable: string; readonly path: Path }[]

  constructor(source: Source, overrides: readonly { readonly variable: string; readonly path: Path }[]) {
    this.#source = source
    this.#overrides = overrides
  }

  add(...faults: readonly Fault[]): void {
    this.#faults.push(...faults)
  }

  /** `of` says whether the key is wrong or its value. */
  readonly report = (path: Path, says: string, of: 'key' | 'value' = 'value'): void => {
    const variable = this.variableOf(path)
    const where = variable === undefined ? this.#source.place(path, of) : { place: variable, order: LAST }
    this.#faults.push({ ...where, path, says })
  }

  /** The variable that set this path, or a group above it. */
  readonly variableOf = (path: Path): string | undefined =>
    this.#overrides.find((override) => startsWith(path, override.path))?.variable

  /** No fault at this path, above it or below it. */
  readonly sound = (path: Path): boolean =>
    !this.#faults.some(
      (fault) => fault.path.length > 0 && (startsWith(path, fault.path) || startsWith(fault.path, path)),
    )

  get empty(): boolean {
    return this.#faults.length === 0
  }

  /** `edge.yaml:3:9 listen.port: must be an integer, got "80"`, in the order of the file. */
  lines(): string[] {
    const sorted = [...this.#faults].sort((a, b) => a.order - b.order)
    return [...new Set(sorted.map(line))]
  }
}

function startsWith(path: Path, head: Path): boolean {
  return head.every((key, i) => path[i] === key)
}

function line({ place, path, says }: Fault): string {
  const where = [place, written(path)].filter((part) => part !== '').join(' ')
  return where === '' ? says : `${where}: ${says}`
}

/** The candidate that the word was probably meant to be. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const allowed = Math.max(2, Math.floor(word.length / 3))
  const ranked = candidates
    .map((name) => ({ name, distance: edits(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ distance }) => distance <= allowed)
    .sort((a, b) => a.distance - b.distance)
  return ranked[0]?.name
}

/** `; did you mean "port"?`, or the names that there are. */
export function suggestion(word: string, candidates: readonly string[]): string {
  const name = nearest(word.slice(0, 64), candidates)
  return name === undefined ? `; known here: ${candidates.join(', ')}` : `; did you mean "${name}"?`
}

/** Levenshtein distance. */
function edits(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
