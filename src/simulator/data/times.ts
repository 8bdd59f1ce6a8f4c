/** Time as the manager writes it; everything in UTC, as its `tz_name` says. */

const DAY = 86_400_000

/** `YYYY-MM-DD hh:mm:ss`, the form of agents, logs and scans. */
export function stamp(at: Date): string {
  return at.toISOString().slice(0, 19).replace('T', ' ')
}

/** `YYYY/MM/DD hh:mm:ss`, the form of inventory scans. */
export function inventoryStamp(at: Date): string {
  return stamp(at).replaceAll('-', '/')
}

/** The moment so many seconds later (earlier, when negative). */
export function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1000)
}

/** Midnight that began the day, so many days back. */
export function midnight(at: Date, daysBack = 0): Date {
  return new Date(Math.floor(at.getTime() / DAY) * DAY - daysBack * DAY)
}
