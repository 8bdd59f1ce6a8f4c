/** Returns the minor version of a release: 5 for `4.5.4`. Any other text stands for the newest one. */
export function minorOf(version: string): number {
  return Number(/^v?4\.(\d+)/.exec(version)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** Whether the release has the later HTTP framework, which is stricter with paths, parameters and types of bodies. */
export function hasLaterFramework(version: string): boolean {
  return minorOf(version) >= 9
}
