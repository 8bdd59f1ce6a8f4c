/** What the simulated v4 layout accepts: the facts of the v4 contract, without those that only its clients need. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export const SIMULATED_OPERATIONS = 'packages/simulator/src/v4/operations/described.json'

interface Facts {
  readonly operations: readonly {
    readonly endpoint: string
    /** Such as `since 4.5, until 4.7`. */
    readonly releases?: string
    readonly without?: readonly string[]
    readonly path?: object
    readonly query?: object
    readonly body?: string
  }[]
}

/** Returns the text of the file. */
export function simulatedOperations(): string {
  const text = readFileSync(new URL('../../contract/data/v4-endpoints.yaml', import.meta.url), 'utf8')
  const { operations } = parse(text) as Facts
  const described = operations.map(({ endpoint, releases = '', without, path, query, body }) => {
    const since = minorIn(releases, /since 4\.(\d+)/)
    const until = minorIn(releases, /until 4\.(\d+)/)
    return [endpoint, { since, until, without, path, query, body }]
  })
  const json = JSON.stringify(Object.fromEntries(described), null, 2)
  // The formatter has short lists on one line.
  return `${json.replace(/\[\s+([^\]{]*?)\s+\]/g, (_, items: string) => `[${items.replace(/\s*\n\s*/g, ' ')}]`)}\n`
}

function minorIn(releases: string, pattern: RegExp): number | undefined {
  const [, minor] = pattern.exec(releases) ?? []
  return minor === undefined ? undefined : Number(minor)
}
