/** What the simulated v4 layout accepts: the facts of the v4 contract, without those that only its clients need. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

export const SIMULATED_OPERATIONS = 'packages/simulator/src/v4/operations/described.json'
export const SIMULATED_OPERATIONS_OF_5 = 'packages/simulator/src/v4/operations/release-5.json'

interface Facts {
  readonly endpoint: string
  /** Such as `since 4.5, until 4.7`. */
  readonly releases?: string
  readonly without?: readonly string[]
  readonly path?: object
  readonly query?: object
  readonly body?: string
}

interface Release5 {
  readonly new: readonly Facts[]
  readonly changed: readonly Facts[]
}

function readFacts(name: string): unknown {
  return parse(readFileSync(new URL(`../../contract/data/${name}`, import.meta.url), 'utf8'))
}

/** Returns the text of the file for releases 4, and for release 5.0 what it does not change. */
export function simulatedOperations(): string {
  const { operations } = readFacts('v4-endpoints.yaml') as { readonly operations: readonly Facts[] }
  return textOf(operations, ({ releases = '' }) => ({
    since: minorIn(releases, /since 4\.(\d+)/),
    until: minorIn(releases, /until 4\.(\d+)/),
  }))
}

/** Returns the text of the file for the operations that are new with release 5.0 or that it changes. */
export function simulatedOperationsOf5(): string {
  const { new: added, changed } = readFacts('v5-operations.yaml') as Release5
  return textOf([...added, ...changed], () => ({}))
}

function textOf(operations: readonly Facts[], releasesOf: (facts: Facts) => object): string {
  const described = operations.map((facts) => {
    const { endpoint, without, path, query, body } = facts
    // Which bodies may be absent was described first for release 5.0, and no release checks it.
    const checked = body?.replace(' (may be absent)', '')
    return [endpoint, { ...releasesOf(facts), without, path, query, body: checked }]
  })
  const json = JSON.stringify(Object.fromEntries(described), null, 2)
  // The formatter has short lists on one line.
  return `${json.replace(/\[\s+([^\]{]*?)\s+\]/g, (_, items: string) => `[${items.replace(/\s*\n\s*/g, ' ')}]`)}\n`
}

function minorIn(releases: string, pattern: RegExp): number | undefined {
  const [, minor] = pattern.exec(releases) ?? []
  return minor === undefined ? undefined : Number(minor)
}
