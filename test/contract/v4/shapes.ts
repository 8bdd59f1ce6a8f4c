/** The shape of JSON: which keys it has, and the types of their values. */

/** Path of a key → names of types. Elements of an array are `[]`. */
export type Shape = Map<string, Set<string>>

const DATES: readonly (readonly [RegExp, string])[] = [
  [/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/, 'date'],
  [/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$/, 'precise date'],
  [/^\d{4}\/\d\d\/\d\d \d\d:\d\d:\d\d$/, 'date with slashes'],
  [/^\d{4}-\d\d-\d\dT/, 'ISO date'],
]

export function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction'
  if (typeof value !== 'string') return typeof value
  return DATES.find(([pattern]) => pattern.test(value))?.[1] ?? 'text'
}

/** Adds the shape of a value; `isOpen`: the keys at this path are data, such as names of nodes, and become `*`. */
export function addShape(shape: Shape, value: unknown, path: string, isOpen: (path: string) => boolean): void {
  const types = shape.get(path) ?? new Set()
  shape.set(path, types.add(typeOf(value)))
  if (Array.isArray(value)) {
    for (const element of value) addShape(shape, element, `${path}[]`, isOpen)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value))
    addShape(shape, inner, `${path}.${isOpen(path) ? '*' : key}`, isOpen)
}

export interface ShapeDifference {
  readonly path: string
  /** `missing`: only the v3 layout has it; `extra`: only the translation has it; otherwise both types. */
  readonly what: string
}

/** Inner keys of a missing or extra key are not repeated. */
export function differencesOf(v3: Shape, translated: Shape): ShapeDifference[] {
  const differences: ShapeDifference[] = []
  const paths = [...new Set([...v3.keys(), ...translated.keys()])].sort((a, b) => a.length - b.length)
  for (const path of paths) {
    if (differences.some((one) => path.startsWith(`${one.path}.`) || path.startsWith(`${one.path}[]`))) continue
    const wanted = v3.get(path)
    const got = translated.get(path)
    if (wanted === undefined) differences.push({ path, what: 'extra' })
    else if (got === undefined) differences.push({ path, what: 'missing' })
    else {
      const others = [...got].filter((type) => !wanted.has(type) && !(type === 'integer' && wanted.has('fraction')))
      if (others.length > 0)
        differences.push({ path, what: `${[...wanted].sort().join('|')} became ${others.sort().join('|')}` })
    }
  }
  return differences
}
