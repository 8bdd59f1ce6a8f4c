/** An edge whose configuration file the test changes. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { parse, stringify } from 'yaml'
import type { SimulatorOptions } from '../../../packages/simulator/src/index.ts'
import type { EdgeTimes } from '../../../src/app/times.ts'
import { pathOf, setIn } from '../../../src/config/tree.ts'
import { simulated } from '../../support/simulated.ts'

export interface Line {
  readonly level: number
  readonly msg: string
  readonly [field: string]: unknown
}

export async function reloadable(
  t: Test,
  settings: Record<string, unknown> = {},
  world: SimulatorOptions = {},
  times: EdgeTimes = {},
) {
  const started = await simulated(t, { workers: 1, agents: 3, ...world }, { reloads: true, settings, times })
  const { edge } = started
  const file = join(edge.folder, 'edge.yaml')
  const lines = (): Line[] => edge.logged.map((line) => JSON.parse(line))
  const put = async (text: string): Promise<void> => {
    // A rename: the edge must not see half of the file.
    await writeFile(`${file}.new`, text)
    await rename(`${file}.new`, file)
    await edge.edge.reload()
  }
  return {
    ...started,
    lines,
    logged: (msg: string) => lines().filter((line) => line.msg === msg),
    put,
    /** Writes these settings to the file (path → value) and reloads. */
    change: async (changes: Readonly<Record<string, unknown>>): Promise<void> => {
      const tree = parse(await readFile(file, 'utf8'))
      for (const [path, value] of Object.entries(changes)) setIn(tree, pathOf(path), value)
      await put(stringify(tree))
    },
    get: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`${edge.url}${path}`, { headers: { authorization: edge.authorization('admin'), ...headers } }),
    operations: async (path: string) =>
      (await fetch(`${edge.operationsUrl}${path}`, { headers: { authorization: edge.authorization('admin') } })).text(),
  }
}

export type Reloadable = Awaited<ReturnType<typeof reloadable>>
