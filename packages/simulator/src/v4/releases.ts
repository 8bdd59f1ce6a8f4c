/** Returns the minor version of a release: 5 for `4.5.4`. Any other text stands for the newest one. */
export function minorOf(version: string): number {
  return Number(/^v?4\.(\d+)/.exec(version)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** Whether logins that are being checked count as failed until they have succeeded: from 4.14.8 on. */
export function countsLoginsInFlight(version: string): boolean {
  const patch = Number(/^v?4\.14\.(\d+)/.exec(version)?.[1] ?? 0)
  return minorOf(version) > 14 || patch >= 8
}

/** Whether the release has the later HTTP framework, which is stricter with paths, parameters and types of bodies. */
export function hasLaterFramework(version: string): boolean {
  return minorOf(version) >= 9
}
