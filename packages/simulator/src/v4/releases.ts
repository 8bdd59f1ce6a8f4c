import type { SimNode, World } from '../model.ts'

/** Release 5.0 in the order of the minor versions of releases 4, after all of them. */
export const RELEASE_5 = 50

/** The last minor version of releases 4. */
const NEWEST_OF_4 = 14

/** Returns the place of a release in their order: 5 for `4.5.4`, 50 for `5.0.0`. Any other text stands for the newest of releases 4. */
export function minorOf(version: string): number {
  const [, major, minor] = /^v?([45])\.(\d+)/.exec(version) ?? []
  return minor === undefined ? NEWEST_OF_4 : Number(minor) + (major === '5' ? RELEASE_5 : 0)
}

/** Returns the release as links to its documentation have it: `4.5`. Undefined: any other text. */
export function documentedAs(version: string): string | undefined {
  return /^v?([45]\.\d+)/.exec(version)?.[1]
}

/** Whether the release has its API on the master only: from 5.0 on. */
export function isMasterOnly(version: string): boolean {
  return minorOf(version) >= RELEASE_5
}

/** Whether a node has release 5.0 or a later one. */
export function hasRelease5({ world, node }: { readonly world: World; readonly node: SimNode }): boolean {
  return isMasterOnly(node.version ?? world.version)
}

/** Whether logins that are being checked count as failed, and the window of failures slides: from 4.14.8 on. */
export function countsLoginsInFlight(version: string): boolean {
  const patch = Number(/^v?4\.14\.(\d+)/.exec(version)?.[1] ?? 0)
  return minorOf(version) > 14 || patch >= 8
}

/** Whether the release has the later HTTP framework, which is stricter with paths, parameters and types of bodies. */
export function hasLaterFramework(version: string): boolean {
  return minorOf(version) >= 9
}
