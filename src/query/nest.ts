import type { Row } from './source.ts'

/** Columns with these prefixes are parts of an object, even a single one. */
const ALWAYS: ReadonlySet<string> = new Set(['scan', 'os', 'ram', 'cpu', 'local', 'remote'])
/** Columns with these are only when two parts at least are there, so that `select=tx_packets` stays flat. */
const WHEN_SEVERAL: ReadonlySet<string> = new Set(['rx', 'tx'])

/**
 * Nests a flat inventory row as the manager answers it: `scan_id` and `scan_time` become `scan: {id, time}`.
 * Nested objects come first, by name, then the flat fields in their own order.
 */
export function nest(row: Row): Row {
  const nested: Record<string, Record<string, unknown>> = {}
  const flat: [string, unknown][] = []
  for (const [name, value] of Object.entries(row)) {
    if (value === undefined || value === null) continue
    const [prefix, part] = splitName(name)
    if (part === undefined || !(ALWAYS.has(prefix) || severalOf(prefix, row))) flat.push([name, value])
    else nested[prefix] = { ...nested[prefix], [part]: value }
  }
  return Object.fromEntries([...Object.entries(nested).sort(([a], [b]) => (a < b ? -1 : 1)), ...flat])
}

/** Where the value of a flat name may stand once its row was nested (`scan_id`: `scan`, `id`). */
export function nestedName(name: string): readonly [outer: string, inner: string] | undefined {
  const [prefix, part] = splitName(name)
  return part !== undefined && (ALWAYS.has(prefix) || WHEN_SEVERAL.has(prefix)) ? [prefix, part] : undefined
}

/** The flat row of a nested one. */
export function flatten(row: Row): Row {
  const flat: [string, unknown][] = Object.entries(row).flatMap(([name, value]) => {
    const parts = ALWAYS.has(name) || WHEN_SEVERAL.has(name) ? value : undefined
    if (typeof parts !== 'object' || parts === null || Array.isArray(parts)) return [[name, value]]
    return Object.entries(parts).map(([part, inner]): [string, unknown] => [`${name}_${part}`, inner])
  })
  return Object.fromEntries(flat)
}

function splitName(name: string): [prefix: string, part: string | undefined] {
  const at = name.indexOf('_')
  return at < 0 ? [name, undefined] : [name.slice(0, at), name.slice(at + 1)]
}

function severalOf(prefix: string, row: Row): boolean {
  if (!WHEN_SEVERAL.has(prefix)) return false
  return Object.keys(row).filter((name) => name.startsWith(`${prefix}_`) && row[name] !== undefined).length > 1
}
