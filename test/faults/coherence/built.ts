/**
 * Finds the modules of the edge for a replica: the build if it is newer than the sources, because it starts in a tenth of
 * the time, and the sources otherwise.
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runnableOf } from '../../support/typescript/script.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A module of the edge, such as `app`, as a URL. */
export function edgeModule(name: string): string {
  const file = isFresh() ? `.compiled/${name}.js` : `src/${name}.ts`
  return runnableOf(new URL(`../../../${file}`, import.meta.url)).href
}

function isFresh(): boolean {
  const built = statSync(join(root, '.compiled/app/index.js'), { throwIfNoEntry: false })?.mtimeMs ?? 0
  return newest(join(root, 'src')) < built
}

function newest(folder: string): number {
  const times = readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(
    (name) => statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0,
  )
  return Math.max(...times)
}
