/** Formats times like the manager; all in UTC, as in its `tz_name`. */

const DAY = 86_400_000

/** `YYYY-MM-DD hh:mm:ss`, the form of agents, logs and scans. */
export function stamp(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ')
}

/** `YYYY/MM/DD hh:mm:ss`, the form of inventory scans. */
export function inventoryStamp(at: Date): string {
  return stamp(at).replaceAll('-', '/')
}

/** Returns the time after the given number of seconds (before it if negative). */
export function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}

/** Returns the midnight at the begin of the day, the given number of days ago. */
export function midnight(at: Date, daysBack = 0): Date {
  return new Date(Math.floor(at.getTime() / DAY) * DAY - daysBack * DAY)
}
