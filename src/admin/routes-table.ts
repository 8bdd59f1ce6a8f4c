import type { Endpoint } from '../catalogue/endpoint.ts'

const columns: readonly (readonly [string, (endpoint: Endpoint) => string])[] = [
  ['METHOD', ({ method }) => method],
  ['PATH', ({ path }) => path],
  ['PERMISSION', ({ permission }) => permission],
  ['TARGET', ({ target }) => target.kind],
  ['CACHE', (endpoint) => ('cache' in endpoint && 'group' in endpoint.cache ? endpoint.cache.group : '-')],
  ['SECRET', ({ secret }) => (secret === 'none' ? '-' : secret)],
]

/** Returns the catalogue as an aligned table: a line of column titles, then one line per endpoint. Ends with a line feed. */
export function routesTable(catalogue: readonly Endpoint[]): string {
  const lines = [
    columns.map(([title]) => title),
    ...catalogue.map((endpoint) => columns.map(([, cell]) => cell(endpoint))),
  ]
  const widths = columns.map((_, at) => Math.max(...lines.map((line) => line[at]?.length ?? 0)))
  return lines
    .map(
      (line) =>
        `${line
          .map((cell, at) => cell.padEnd(widths[at] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('')
}
